//! Checks what neither the compiler nor clippy checks: that files say what they are for, stay readable, and name nothing
//! that readers of a clone cannot have.
//!
//! Looks at the files that git tracks or would track, as text. It understands neither Rust nor protobuf; each check is a
//! rule on lines, simple enough that its complaint can be believed.

mod promises;
mod proto;
mod rust;
mod words;

use std::{fs, path::Path, process::Command};

use crate::{
    failure::{Failure, Result},
    output, toolchain,
};

/// One thing that is not tidy.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// Path below the root.
    path: String,
    /// Line, counted from 1; 0 if it is about the whole file.
    line: usize,
    complaint: String,
}

/// Runs all checks on the workspace.
pub(crate) fn run() -> Result<()> {
    let root = toolchain::root()?;
    let paths = tracked_files(&root)?;
    let mut findings = Vec::new();
    for path in &paths {
        let bytes = fs::read(root.join(path)).map_err(|cause| Failure::io(format!("cannot read `{path}`"), &cause))?;
        // Binary files have no lines.
        if let Ok(text) = String::from_utf8(bytes) {
            findings.extend(check(path, &text));
        }
    }
    findings.extend(rust::unneeded_exemptions(&paths));
    findings.extend(promises::check(|path| fs::read_to_string(root.join(path)).ok()));
    for finding in &findings {
        output::err(&format!("{}:{}: {}", finding.path, finding.line, finding.complaint));
    }
    match findings.len() {
        0 => {
            output::err(&format!("{} files are tidy", paths.len()));
            Ok(())
        }
        1 => Err(Failure::new("one thing is not tidy")),
        count => Err(Failure::new(format!("{count} things are not tidy"))),
    }
}

fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = words::check(path, text);
    if path.ends_with(".rs") {
        findings.extend(rust::check(path, text));
    }
    if path.ends_with(".proto") {
        findings.extend(proto::check(path, text));
    }
    findings
}

/// What git tracks, and new files it does not ignore; so that a check fails before the commit, not after.
fn tracked_files(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        // A clone may belong to another user than the one who tests it.
        .args([
            "-c",
            "safe.directory=*",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root)
        .output()
        .map_err(|cause| Failure::io("cannot run `git ls-files`", &cause))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failure::new(format!("cannot list the files of the workspace: {why}"))
            .help("run this in a clone made by git"));
    }
    let mut paths: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .split('\0')
        // Deleted, but not yet for git; and symlinks are not followed.
        .filter(|path| root.join(path).symlink_metadata().is_ok_and(|data| data.is_file()))
        .map(str::to_owned)
        .collect();
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
}

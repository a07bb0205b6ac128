//! `cargo xtask test`: every check there is, in the order in which they are cheap.
//!
//! CI runs this task and nothing else, so what is green here is green there. It stops at the first step that fails, names
//! it, and shows every tool's own output as it is. All steps use the same profile, features and target directory, so that
//! nothing is built twice.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use crate::{
    docs,
    failure::{Failure, Result},
    fuzz, output, tidy, toolchain,
};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Leave out the end-to-end tests and the examples in the documentation
    #[arg(long)]
    quick: bool,
}

/// Runs the task.
pub(crate) fn run(options: &Options) -> Result<()> {
    let begin = Instant::now();
    toolchain::require_compilers()?;
    require_visible_places(&toolchain::target_directory()?)?;
    provide_tools()?;
    let nextest = toolchain::answers("cargo", &["nextest", "--version"]);
    if !nextest {
        output::err(
            "cargo-nextest is not installed: the tests run under `cargo test`, which is slower and tests the same",
        );
    }

    step("tidy", tidy::run)?;
    cargo_step("format", &["fmt", "--all", "--check"])?;
    cargo_step(
        "clippy",
        &[
            "clippy",
            "--locked",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
    )?;
    // Tests, examples and programs in one command: were the programs built alone, cargo would give some dependencies
    // fewer features than the tests need, and build those again.
    cargo_step(
        "build",
        &["build", "--locked", "--workspace", "--bins", "--tests", "--examples"],
    )?;
    fuzz_targets()?;
    step("docs", docs::check)?;
    let mut test = if nextest {
        vec!["nextest", "run"]
    } else {
        vec!["test", "--tests", "--no-fail-fast"]
    };
    test.extend(["--locked", "--workspace"]);
    if options.quick {
        test.extend(["--exclude", "portcullis-tests"]);
    }
    if !options.quick {
        cargo_step(
            "examples in the documentation",
            &["test", "--locked", "--workspace", "--doc"],
        )?;
    }
    // Last, so that the runner's summary of all tests stands at the end.
    cargo_step("tests", &test)?;
    output::err(&format!("\nall checks passed in {} s", begin.elapsed().as_secs()));
    Ok(())
}

/// The tests' workspaces lie below the target directory. In `/tmp` a sandboxed command would not see them: it has one of its own.
fn require_visible_places(target: &Path) -> Result<()> {
    let real = target.canonicalize().unwrap_or_else(|_| target.to_path_buf());
    if !real.starts_with("/tmp") {
        return Ok(());
    }
    let what = format!(
        "the target directory `{}` lies in /tmp, which sandboxed commands do not see, and the tests run such commands there",
        target.display()
    );
    Err(Failure::new(what).help("clone elsewhere, or set CARGO_TARGET_DIR to a folder outside of /tmp"))
}

/// The fuzz targets are a workspace of their own: they compile, and hold for their seeds.
fn fuzz_targets() -> Result<()> {
    let folder = toolchain::target_directory()?;
    let folder = folder
        .to_str()
        .ok_or_else(|| Failure::new("the target directory is no text"))?;
    let of = |task| {
        [
            task,
            "--locked",
            "--manifest-path",
            fuzz::MANIFEST,
            "--target-dir",
            folder,
            "--no-default-features",
        ]
    };
    cargo_step(
        "fuzz targets compile",
        &[&of("check")[..], &["--bins", "--examples"]].concat(),
    )?;
    cargo_step(
        "fuzz targets hold for their seeds",
        &[&of("test")[..], &["--lib"]].concat(),
    )
}

fn cargo_step(name: &str, arguments: &[&str]) -> Result<()> {
    step(name, || {
        let mut command = toolchain::cargo()?;
        command.args(arguments).stdin(Stdio::null());
        let status = command
            .status()
            .map_err(|cause| Failure::io(format!("cannot run `{}`", line(&command)), &cause))?;
        if status.success() {
            Ok(())
        } else {
            Err(Failure::new(format!("`{}` failed ({status})", line(&command))))
        }
    })
}

fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    output::err(&format!("\n==> {name}"));
    let begin = Instant::now();
    work().inspect_err(|_| output::err(&format!("\nstep `{name}` failed")))?;
    output::err(&format!("==> {name}: ok ({:.1} s)", begin.elapsed().as_secs_f64()));
    Ok(())
}

fn line(command: &Command) -> String {
    let mut words = vec!["cargo".to_owned()];
    words.extend(command.get_args().map(OsStr::to_string_lossy).map(String::from));
    words.join(" ")
}

/// A program the tests start, and how the package manager names it.
struct Tool {
    program: &'static str,
    package: &'static str,
    needed_for: &'static str,
}

const TOOLS: [Tool; 6] = [
    Tool {
        program: "git",
        package: "git",
        needed_for: "the tests make repositories",
    },
    Tool {
        program: "bash",
        package: "bash",
        needed_for: "commands of agents are bash scripts",
    },
    Tool {
        program: "unshare",
        package: "util-linux",
        needed_for: "hostile sandbox cases run in namespaces of their own",
    },
    Tool {
        program: "python3",
        package: "python3",
        needed_for: "sandbox cases speak to sockets",
    },
    Tool {
        program: "curl",
        package: "curl",
        needed_for: "sandbox cases fetch",
    },
    Tool {
        program: "ps",
        package: "procps",
        needed_for: "sandbox cases look at processes",
    },
];

/// Installs what is missing, and says so first.
fn provide_tools() -> Result<()> {
    let missing: Vec<&Tool> = TOOLS
        .iter()
        .filter(|tool| !toolchain::answers(tool.program, &["--version"]))
        .collect();
    if !missing.is_empty() {
        for tool in &missing {
            output::err(&format!("missing: `{}` ({})", tool.program, tool.needed_for));
        }
        let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
        install_packages(&packages)?;
    }
    let components: Vec<&str> = [("rustfmt", "fmt"), ("clippy", "clippy")]
        .iter()
        .filter(|(_, subcommand)| !toolchain::answers("cargo", &[subcommand, "--version"]))
        .map(|(component, _)| *component)
        .collect();
    if components.is_empty() {
        return Ok(());
    }
    let mut command = Command::new("rustup");
    command.args(["component", "add"]).args(&components);
    install(&format!("rustup component add {}", components.join(" ")), &mut command)
}

fn install_packages(packages: &[&str]) -> Result<()> {
    let by_hand = format!("apt-get install -y {}", packages.join(" "));
    if !rustix::process::geteuid().is_root() || !toolchain::answers("apt-get", &["--version"]) {
        return Err(
            Failure::new(format!("cannot install {} here", packages.join(", "))).help(format!(
                "install with your package manager, for example `sudo {by_hand}`"
            )),
        );
    }
    // A fresh container has no package lists.
    let mut update = Command::new("apt-get");
    install("apt-get update", update.arg("update"))?;
    let mut command = Command::new("apt-get");
    command
        .args(["install", "-y", "--no-install-recommends"])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive");
    install(&by_hand, &mut command)
}

fn install(line: &str, command: &mut Command) -> Result<()> {
    output::err(&format!("installing: `{line}`"));
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("`{line}` failed ({status})"))),
        Err(cause) => Err(Failure::io(format!("cannot run `{line}`"), &cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_directory_that_commands_do_not_see_is_refused_at_once() {
        assert!(require_visible_places(Path::new("/tmp/checkout/target")).is_err());
        assert!(require_visible_places(Path::new("/home/dev/checkout/target")).is_ok());
        assert!(require_visible_places(Path::new("/tmpfiles/target")).is_ok());
    }
}

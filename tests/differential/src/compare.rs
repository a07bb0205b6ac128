//! What bash did that the analysis does not know of.

use portcullis_policy::{
    AbsPath,
    shell::{Access, Analysis, FileTarget, Limits, ShellContext, Word, analyse},
};

use crate::oracle::Happened;

/// Programs that are shells: what a script file holds is not part of the line.
const READ_FILES: &[&str] = &["bash", "sh", "dash", "source", "."];

/// Analyses a line as it stands in the oracle's folder.
#[must_use]
pub fn analysed(line: &str, folder: &str) -> Analysis {
    let path = |text: String| AbsPath::parse(&text).expect("the oracle's folder is absolute");
    let context = ShellContext {
        cwd: path(format!("{folder}/proj")),
        home: Some(path(format!("{folder}/home"))),
    };
    analyse(line, &context, Limits::default())
}

/// The first thing that happened and is not in the analysis.
#[must_use]
pub fn missed(analysis: &Analysis, happened: &Happened) -> Option<String> {
    if !analysis.opaque.is_empty() {
        return None;
    }
    let script_file = analysis.commands.iter().any(|command| {
        let shell = command.program_name().is_some_and(|name| READ_FILES.contains(&name));
        let sed = command.program_name() == Some("sed") && command.escape_option().as_deref() == Some("-f");
        sed || (shell && command.class != portcullis_policy::shell::CommandClass::Wrapper)
    });
    if script_file {
        return None;
    }
    // `time` is a keyword in bash, and in other shells a program, whose words are judged.
    // `command -p` finds the system's own npm, which is a script for node.
    let of_the_system = |run: &[String]| matches!(run, [program, script, ..] if program == "node" && (script.starts_with("/bin/") || script.starts_with("/usr/bin/")));
    let harmless = |run: &&Vec<String>| run.first().map(String::as_str) != Some("time") && !of_the_system(run);
    let runs = happened.runs.iter().filter(harmless);
    for run in runs {
        let known = analysis.commands.iter().any(|command| {
            command.program_name() == run.first().map(String::as_str)
                && fits(
                    command.words.get(1..).unwrap_or_default(),
                    run.get(1..).unwrap_or_default(),
                )
        });
        if !known {
            return Some(format!("ran {run:?}"));
        }
    }
    let writes: Vec<&FileTarget> = analysis
        .commands
        .iter()
        .flat_map(|command| &command.files)
        .filter(|file| file.access != Access::Read)
        .map(|file| &file.target)
        .collect();
    happened
        .files
        .iter()
        .find(|file| !writes.iter().any(|target| covers(target, file)))
        .map(|file| format!("changed {file}"))
}

/// Whether these words can have become those.
fn fits(words: &[Word], run: &[String]) -> bool {
    // Which beginnings of `run` the words so far can stand for.
    let mut reached = vec![false; run.len() + 1];
    reached[0] = true;
    for word in words {
        let mut next = vec![false; run.len() + 1];
        match word {
            Word::Literal(text) => {
                for at in 0..run.len() {
                    next[at + 1] = reached[at] && *text == run[at];
                }
            }
            Word::Dynamic { .. } => {
                let mut any = false;
                for at in 0..=run.len() {
                    any |= reached[at];
                    next[at] = any;
                }
            }
        }
        reached = next;
    }
    reached[run.len()]
}

/// A file is covered by its own name, by that of a folder above it (`cp -r`), and by that of a file below it (`mkdir -p`).
fn covers(target: &FileTarget, file: &str) -> bool {
    let below = |inner: &str, outer: &str| {
        inner == outer
            || inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.starts_with('/') || outer == "/")
    };
    match target {
        FileTarget::Unknown(_) => true,
        FileTarget::Path(path) => below(file, path.as_str()) || below(path.as_str(), file),
        FileTarget::Pattern { folder, .. } => below(file, folder.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn happened(run: &[&str], file: Option<&str>) -> Happened {
        Happened {
            runs: vec![run.iter().map(|word| (*word).to_owned()).collect()],
            files: file.map(str::to_owned).into_iter().collect(),
            late: false,
        }
    }

    #[test]
    fn what_is_not_listed_is_found() {
        let miss = |line: &str, run: &[&str], file| missed(&analysed(line, "/w"), &happened(run, file));
        assert_eq!(miss("ls a", &["ls", "a"], None), None);
        assert!(miss("ls a", &["ls", "b"], None).is_some(), "other words");
        assert!(miss("ls a", &["curl", "a"], None).is_some(), "another program");
        assert_eq!(miss("ls $X b", &["ls", "b"], None), None);
        assert!(
            miss("ls $X b", &["ls", "c"], None).is_some(),
            "the certain word differs"
        );
        assert!(miss("ls > out", &["ls"], Some("/w/proj/other")).is_some());
        assert_eq!(miss("ls > out", &["ls"], Some("/w/proj/out")), None);
        assert_eq!(miss("$X", &["curl"], Some("/etc/x")), None, "opaque");
    }
}

//! Options of build tools, test runners and package managers that run another program, or code from elsewhere.
//!
//! A rule `Bash(cargo test *)` means tests of this project, with whatever arguments. It does not mean `cargo test --config
//! 'target.x.runner="./x"'`. So an allow with a wildcard does not cover a command with one of these options; one that names
//! the whole command does. The shell analysis knows such options of the programs that only look (`sort`, `git`, `tar`); this
//! table has those of programs that it otherwise knows nothing about, above all those whose words suggestions leave free.
//!
//! Options that name a configuration file of the project are missing: what a project's tools run is the project's.

use crate::shell::Command;

/// Programs, with the options that run something.
const OPTIONS: &[(&str, &[&str])] = &[
    // Keys such as `build.rustc-wrapper`, `target.….runner`, `alias.…`.
    ("cargo", &["--config"]),
    ("eslint", &["--rulesdir"]),
    ("go", &["-exec", "-overlay", "-toolexec", "-vettool"]),
    ("helm", &["--kubeconfig", "--post-renderer"]),
    (
        "jest",
        &["--globalSetup", "--globalTeardown", "--setupFiles", "--testRunner"],
    ),
    // A kubeconfig names programs that fetch credentials.
    ("kubectl", &["--kubeconfig"]),
    ("mocha", &["--import", "--require", "-r"]),
    ("mypy", &["--python-executable"]),
    // Another folder has other scripts.
    ("npm", &["--node-options", "--prefix", "--script-shell", "-C"]),
    ("pnpm", &["--dir", "--node-options", "--script-shell", "-C"]),
    ("pylint", &["--init-hook", "--load-plugins"]),
    ("rubocop", &["--require", "-r"]),
    ("uv", &["--python", "-p"]),
    ("yarn", &["--cwd", "--script-shell"]),
];

/// Options of these whose value is the folder to work in: one of the workspace has the project's own scripts.
const FOLDERS: &[&str] = &["--cwd", "--dir", "--prefix", "-C"];

/// Whether a folder, as a word names it, surely lies below the working directory.
fn is_below(folder: &str) -> bool {
    !folder.is_empty() && !folder.starts_with(['/', '~']) && folder.split('/').all(|segment| segment != "..")
}

/// The first option of a command that runs something; `None` if there is none that is known.
pub(super) fn option(command: &Command) -> Option<&'static str> {
    let name = command.program_name()?;
    let (_, options) = OPTIONS.iter().find(|(program, _)| *program == name)?;
    // What stands behind `--` is for the script or test.
    let words: Vec<&str> = command
        .words
        .iter()
        .skip(1)
        .map(|word| word.literal().unwrap_or_default())
        .take_while(|word| *word != "--")
        .collect();
    words.iter().enumerate().find_map(|(at, word)| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (*word, words.get(at + 1).copied()),
        };
        let option = options.iter().copied().find(|option| {
            // Go's tools take one dash or two.
            name == *option
                || (!option.starts_with("--") && option.len() > 2 && name.strip_prefix('-') == Some(*option))
        })?;
        let here = FOLDERS.contains(&option) && value.is_some_and(is_below);
        (!here).then_some(option)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AbsPath,
        shell::{self, Limits, ShellContext},
    };

    #[test]
    fn options_are_found_in_each_spelling_and_not_behind_two_dashes() {
        let context = ShellContext {
            cwd: AbsPath::root(),
            home: None,
        };
        for (line, found) in [
            ("cargo test --config 'build.rustc-wrapper=\"x\"'", Some("--config")),
            ("cargo test --config=a.toml", Some("--config")),
            ("cargo test -- --config x", None),
            ("cargo test --configx", None),
            ("/usr/bin/cargo test --config x", Some("--config")),
            ("go test -exec ./x ./...", Some("-exec")),
            ("go test --exec=./x ./...", Some("-exec")),
            ("go build -toolexec=x", Some("-toolexec")),
            ("go test ./...", None),
            ("npm run lint --script-shell=/tmp/x", Some("--script-shell")),
            ("npm run lint -- -C x", None),
            ("npm --prefix web run build", None),
            ("npm --prefix=./web run build", None),
            ("npm --prefix ../web run build", Some("--prefix")),
            ("npm --prefix=/tmp/x test", Some("--prefix")),
            ("npm --prefix $X test", Some("--prefix")),
            ("pnpm -C a/../../b test", Some("-C")),
            ("pylint --init-hook='import x' a.py", Some("--init-hook")),
            ("echo --config", None),
        ] {
            let analysis = shell::analyse(line, &context, Limits::default());
            assert_eq!(option(&analysis.commands[0]), found, "{line}");
        }
        assert!(OPTIONS.is_sorted_by_key(|(program, _)| *program));
    }
}

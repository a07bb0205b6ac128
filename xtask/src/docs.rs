//! `cargo xtask docs`: writes `docs/cli.md` from what the programs themselves say.
//!
//! The help texts in the code are the reference; the page is their `--help`, asked for command by command. `cargo xtask
//! test` fails if the page is not what would be written. It documents nothing that the programs do not say.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    failure::{Failure, Result},
    output,
    toolchain::{self, Profile, Programs},
};

/// The page, below the root.
const PAGE: &str = "docs/cli.md";

const HEAD: &str = "# Commands

Written by `cargo xtask docs` from the programs' own `--help`; do not edit. How the programs find each other, and what
can be configured, is in [configuration.md](configuration.md).
";

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only say whether the page is what would be written
    #[arg(long)]
    check: bool,
    /// Ask the programs that were built before
    #[arg(long)]
    no_build: bool,
}

/// Runs the task.
pub(crate) fn run(options: &Options) -> Result<()> {
    let programs = if options.no_build {
        Programs::find(Profile::Debug)?
    } else {
        toolchain::build(Profile::Debug)?
    };
    if options.check {
        return compare(&programs);
    }
    let path = toolchain::root()?.join(PAGE);
    fs::write(&path, page(&programs)?)
        .map_err(|cause| Failure::io(format!("cannot write `{}`", path.display()), &cause))?;
    output::err(&format!("`{PAGE}` is written"));
    Ok(())
}

/// Fails if the page is not what the programs built before would make it.
pub(crate) fn check() -> Result<()> {
    compare(&Programs::find(Profile::Debug)?)
}

fn compare(programs: &Programs) -> Result<()> {
    let path = toolchain::root()?.join(PAGE);
    let there = fs::read_to_string(&path).unwrap_or_default();
    if there == page(programs)? {
        output::err(&format!("`{PAGE}` is what the programs say"));
        Ok(())
    } else {
        Err(Failure::new(format!("`{PAGE}` is not what the programs say")).help("write it anew: `cargo xtask docs`"))
    }
}

fn page(programs: &Programs) -> Result<String> {
    let mut page = HEAD.to_owned();
    for program in [&programs.client, &programs.sandboxd, &programs.server] {
        describe(program, &[], &mut page)?;
    }
    Ok(page)
}

/// Appends a command and all below it.
fn describe(program: &Path, words: &[String], page: &mut String) -> Result<()> {
    let help = help(program, words)?;
    let name = program
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let title = [&[name][..], words].concat().join(" ");
    let level = "#".repeat(2 + words.len().min(2));
    page.push_str(&format!("\n{level} {title}\n\n```text\n{help}```\n"));
    for command in commands(&help) {
        describe(program, &[words, &[command.to_owned()]].concat(), page)?;
    }
    Ok(())
}

/// What a command says about itself. Neither the terminal nor the environment of whoever asks changes it.
fn help(program: &Path, words: &[String]) -> Result<String> {
    let mut command = Command::new(program);
    command.args(words).arg("--help").env_clear().stdin(Stdio::null());
    let said = command
        .output()
        .map_err(|cause| Failure::io(format!("cannot run `{}`", program.display()), &cause))?;
    if !said.status.success() {
        return Err(Failure::new(format!(
            "`{} {} --help` failed ({})",
            program.display(),
            words.join(" "),
            said.status
        )));
    }
    let text = String::from_utf8_lossy(&said.stdout);
    Ok(text.lines().map(|line| format!("{}\n", line.trim_end())).collect())
}

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<&str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    list.take_while(|line| !line.is_empty())
        // Lines that are indented deeper go on with a description.
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn commands_are_read_from_a_help_text() {
        let help = "Does it.\n\nUsage: x <COMMAND>\n\nCommands:\n  one    Does one,\n         and more\n  two    \
                    Two\n  help   Print this\n\nOptions:\n  -h     Help\n";
        assert_eq!(commands(help), ["one", "two"]);
        assert!(commands("Usage: x\n\nOptions:\n  -h\n").is_empty());
    }
}

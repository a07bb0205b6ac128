//! What of a line means Portcullis although the command itself does not say so: a process that another command of the
//! line looked up, a variable that moves our socket, our program as another one's argument.
//!
//! The plain forms (`portcullis trust`, `pkill portcullis`) are a class of the shell analysis. Everything here is a
//! suspicion, and only asks.

use crate::shell::{Analysis, Command, CommandClass, Context, Word};

use super::commands::is_feeder;

const OURS: &[&str] = &["portcullis", "sandboxd"];
/// Programs that end, slow or enter processes, by number or by what they hold open.
const ENDERS: &[&str] = &[
    "criu", "fuser", "gdb", "kill", "lldb", "ltrace", "nsenter", "renice", "reptyr", "strace", "taskkill",
];
/// Programs that change or remove files, whose names a line can look up, too.
const CHANGERS: &[&str] = &[
    "chmod", "chown", "cp", "dd", "ln", "mv", "rm", "shred", "tee", "truncate", "unlink",
];
/// Programs that tell the numbers of processes, or where programs lie.
const FINDERS: &[&str] = &[
    "command",
    "lsof",
    "pgrep",
    "pidof",
    "ps",
    "ss",
    "systemctl",
    "type",
    "whereis",
    "which",
];
/// Programs that take packages, services or start-up entries away, and the words by which they do.
const REMOVERS: &[(&str, &[&str])] = &[
    ("apk", &["del"]),
    ("apt", &["remove", "purge", "autoremove", "autopurge"]),
    ("apt-get", &["remove", "purge", "autoremove"]),
    ("aptitude", &["remove", "purge"]),
    ("brew", &["uninstall", "remove", "rm", "unlink", "services"]),
    ("cargo", &["uninstall"]),
    ("chkconfig", &["off", "--del"]),
    ("dnf", &["remove", "erase", "autoremove"]),
    ("dpkg", &["-r", "-P", "--remove", "--purge"]),
    ("flatpak", &["uninstall", "remove"]),
    ("npm", &["uninstall", "remove", "rm", "r", "un", "unlink"]),
    ("pacman", &["-R", "-Rs", "-Rns", "-Rn", "--remove"]),
    ("pip", &["uninstall"]),
    ("pip3", &["uninstall"]),
    ("pnpm", &["remove", "uninstall", "rm"]),
    ("rpm", &["-e", "--erase"]),
    ("snap", &["remove", "disable", "stop"]),
    (
        "systemctl",
        &["set-environment", "unset-environment", "import-environment"],
    ),
    ("update-rc.d", &["disable", "remove"]),
    ("yarn", &["remove"]),
    ("yum", &["remove", "erase", "autoremove"]),
    ("zypper", &["remove", "rm"]),
];
/// Subcommands of our program that change its state, as another program's arguments.
const VERBS: &[&str] = &[
    "approve",
    "audit",
    "deny",
    "policy",
    "resolve",
    "sandbox",
    "session",
    "token",
    "trust",
    "uninstall",
    "untrust",
];

/// Whether a command is about Portcullis in a way that its own class does not say.
pub(super) fn is_meant(analysis: &Analysis, command: &Command) -> bool {
    moves_us(command) || removes(command) || runs_us(command) || ends_what_was_found(analysis, command)
}

fn literals(command: &Command) -> impl Iterator<Item = &str> {
    command.words.iter().skip(1).filter_map(Word::literal)
}

fn names_us(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    OURS.iter().any(|own| lower.contains(own))
}

/// A variable of ours, set for a command or for those after it.
fn moves_us(command: &Command) -> bool {
    let ours = |name: &str| name.starts_with("PORTCULLIS_");
    let sets = matches!(
        command.program(),
        Some("declare" | "env" | "export" | "readonly" | "typeset" | "unset")
    );
    command.assignments.iter().any(|assignment| ours(&assignment.name)) || (sets && literals(command).any(ours))
}

fn removes(command: &Command) -> bool {
    let Some(program) = command.program_name() else {
        return false;
    };
    REMOVERS
        .iter()
        .any(|(name, verbs)| *name == program && literals(command).any(|word| verbs.contains(&word)))
        && literals(command).any(names_us)
}

/// A runner that is not known to be one, with our program among its words.
fn runs_us(command: &Command) -> bool {
    if command.class != CommandClass::Other {
        return false;
    }
    let words: Vec<&str> = literals(command).collect();
    words.windows(2).any(|pair| match pair {
        [program, verb] => program.rsplit('/').next() == Some("portcullis") && VERBS.contains(verb),
        _ => false,
    })
}

/// Ends processes whose numbers come from elsewhere, in a line that looks ours up; or what holds our socket.
fn ends_what_was_found(analysis: &Analysis, command: &Command) -> bool {
    let is_one_of = |programs: &[&str]| {
        command
            .program_name()
            .is_some_and(|program| programs.contains(&program))
    };
    let ends = is_one_of(ENDERS);
    if !ends && !is_one_of(CHANGERS) {
        return false;
    }
    let fed = command
        .seen_through
        .iter()
        .any(|context| matches!(context, Context::Changing(label) if is_feeder(label)));
    let unknown = fed || command.words.iter().any(|word| word.literal().is_none());
    let found = || {
        analysis.commands.iter().any(|other| {
            other
                .program_name()
                .is_some_and(|program| FINDERS.contains(&program) || program == "grep")
                && literals(other).any(names_us)
        })
    };
    (ends && literals(command).any(names_us)) || (unknown && found())
}

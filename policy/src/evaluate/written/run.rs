//! The files that a command runs as programs or shell scripts, by its words.

use crate::shell::{Command, Word, runs_scripts};

/// Programs that run what they are given later, as one of a queue.
pub(super) const QUEUES: &[&str] = &["nq", "pm2", "pueue", "sem", "tsp"];

/// The files that a command runs as programs or shell scripts, as they are written. A text behind `-c` is no file, and is walked;
/// behind the script stand words for it. A word that may be the value of an option counts, and so does the one behind it.
pub(super) fn run_by(command: &Command) -> impl Iterator<Item = &str> {
    let script = command.program().filter(|program| program.contains('/'));
    // `pm2 start ./x.sh`
    let queued = command.program_name() == Some("pm2");
    let name = command.program_name().filter(|name| runs_scripts(name));
    let sources = matches!(name, Some("." | "source"));
    let (mut operands, mut valued, mut done) = (false, false, name.is_none());
    let of_files = command
        .words
        .iter()
        .skip(1)
        .filter_map(Word::literal)
        .map_while(move |word| {
            if done {
                return None;
            }
            let option = !operands && word.len() > 1 && word.starts_with(['-', '+']);
            if word == "--" && !operands {
                operands = true;
                return Some(None);
            }
            if option {
                done = !sources && takes_a_text(word);
                valued = sources || !is_flag(word);
                return Some(None);
            }
            done = !std::mem::take(&mut valued);
            Some(Some(word))
        });
    let started = command
        .words
        .iter()
        .skip(2)
        .filter_map(Word::literal)
        .filter(move |_| queued);
    script.into_iter().chain(of_files.flatten()).chain(started)
}

/// Whether an option of a shell says that a text follows: `-c`, `-euxc`. bash takes its long options with one dash, too (`-norc`).
fn takes_a_text(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or_default();
    letters.contains('c') && letters.chars().all(|letter| "acehiklmnpsuvx".contains(letter))
}

/// Whether an option of a shell surely has no value: letters that stand for themselves, and some long ones.
fn is_flag(option: &str) -> bool {
    const LONG: &[&str] = &[
        "login",
        "noediting",
        "noprofile",
        "norc",
        "posix",
        "restricted",
        "verbose",
    ];
    let name = option.trim_start_matches(['-', '+']);
    LONG.contains(&name)
        || (!option.starts_with("--") && name.chars().all(|letter| "aehiklmnpstuvxBCEHPT".contains(letter)))
}

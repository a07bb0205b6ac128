//! Portcullis' own programs in a shell line: what changes its state or ends it, and what only asks it.
//!
//! Everything it does not know of a command of ours counts as a change: a person looks at it.

use super::{Word, class::base_name};

/// Options of every subcommand that take a value: they choose another installation or another identity.
const PLACES: &[&str] = &["--data-dir", "--socket", "--token-file", "--server", "--ca-file"];

/// Further options with a value, of `run`, `decide` and `hook`, that change what is judged or by which rules.
const WIDENS: &[&str] = &[
    "--permission-mode",
    "--mode",
    "--allowedTools",
    "--allowed-tools",
    "--workspace",
    "--cwd",
];

/// Options with a value that change nothing a rule looks at.
const NEUTRAL: &[&str] = &[
    "--timeout",
    "--format",
    "--deadline-ms",
    "--disallowedTools",
    "--disallowed-tools",
    "--tool",
    "--input",
    "--agent",
    "--ticket",
];

/// Options without a value that change nothing a rule looks at.
const NEUTRAL_FLAGS: &[&str] = &["--explain", "--help", "-h", "--version", "-V"];

/// The parts of a `portcullis` command.
#[derive(Debug, Default)]
pub(super) struct Own<'a> {
    /// The subcommand, if it is certain: `run`, `policy`. For `sandbox run`: `run`.
    pub(super) verb: Option<&'a str>,
    /// Number of the word where the command to run or to ask about begins, counted from the program's name.
    pub(super) program: Option<usize>,
    /// An option that widens, or that is not known.
    pub(super) widens: Option<&'a str>,
}

impl Own<'_> {
    /// Whether it runs the command that it is given.
    pub(super) fn runs(&self) -> bool {
        matches!(self.verb, Some("run" | "exec"))
    }
}

/// Reads `portcullis [options] VERB [options] [--] [COMMAND…]`; `arguments` are the words after the program's name.
pub(super) fn read<'a>(arguments: &[Option<&'a str>]) -> Own<'a> {
    let mut own = Own::default();
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let Some(text) = *word else {
            // It could be any option, and any verb.
            own.widens.get_or_insert("an option that is only known when it runs");
            if own.verb.is_some() {
                own.program = Some(at + 1);
                return own;
            }
            at += 1;
            continue;
        };
        at += 1;
        if text == "--" {
            own.program = (at < arguments.len()).then_some(at + 1);
            return own;
        }
        if text.len() > 1 && text.starts_with('-') {
            let (name, attached) = match text.split_once('=') {
                Some((name, _)) => (name, true),
                None => (text, false),
            };
            let known = |options: &[&str]| options.contains(&name);
            if known(PLACES) || known(WIDENS) || known(NEUTRAL) {
                at += usize::from(!attached);
            }
            let neutral = known(NEUTRAL) || (known(NEUTRAL_FLAGS) && !attached);
            if !neutral {
                own.widens.get_or_insert(name);
            }
        } else if own.verb.is_none() && text == "sandbox" && arguments.get(at) == Some(&Some("run")) {
            own.verb = Some("run");
            at += 1;
        } else if own.verb.is_none() {
            own.verb = Some(text);
        } else if matches!(own.verb, Some("run" | "exec" | "decide")) {
            own.program = Some(at);
            return own;
        }
    }
    own
}

/// Commands that change Portcullis' own state, use its administrator's token, or end its processes.
pub(super) fn changes_ourselves(name: &str, arguments: &[Word]) -> bool {
    let texts: Vec<&str> = arguments.iter().filter_map(Word::literal).collect();
    let ours = |text: &&str| base_name(text).to_ascii_lowercase().contains("portcullis");
    let uncertain = arguments.iter().any(|word| word.literal().is_none());
    match name {
        "portcullis" => {
            let words: Vec<Option<&str>> = arguments.iter().map(Word::literal).collect();
            let own = read(&words);
            let harmless = match own.verb {
                // What it runs or asks about is looked at by itself; `decide` and `hook` grant nothing.
                Some("run" | "exec" | "decide") => true,
                Some("hook" | "status" | "completions" | "help" | "doctor") => !uncertain,
                // Which choice is in force; the others change it.
                Some("sandbox") => !uncertain && texts.contains(&"status") && own.program.is_none(),
                None => !uncertain && texts.iter().all(|text| NEUTRAL_FLAGS.contains(text)),
                // The team's policy and the audit trail are read with the administrator's token.
                _ => texts.iter().any(|text| matches!(*text, "--help" | "-h")) && !uncertain,
            };
            !harmless || own.widens.is_some()
        }
        "portcullis-server" | "portcullis-sandboxd" | "portcullis-launch" => !texts
            .first()
            .is_some_and(|text| matches!(*text, "--version" | "--help" | "-V" | "-h")),
        "pkill" | "killall" | "killall5" | "skill" => {
            let asks = matches!(texts.as_slice(), ["--help" | "-h" | "--version" | "-V"] | ["-l"]);
            !asks && (name == "killall5" || uncertain || kills_by_name(name, &texts))
        }
        "kill" => {
            // `-1` as a target is everybody; as the first word it is a signal.
            let everybody = texts.iter().skip(1).any(|text| matches!(*text, "-1" | "0"));
            let found = |source: &str| source.contains("portcullis") || source.contains("sandboxd");
            everybody
                || texts.iter().any(ours)
                || arguments
                    .iter()
                    .any(|word| matches!(word, Word::Dynamic { source, .. } if found(source)))
        }
        "systemctl" | "service" | "launchctl" | "rc-service" | "initctl" => {
            texts.iter().any(ours)
                && !texts.iter().any(|text| {
                    matches!(
                        *text,
                        "status" | "show" | "is-active" | "is-enabled" | "cat" | "list" | "print"
                    )
                })
        }
        _ => false,
    }
}

/// Whether the pattern or name of `pkill` and kin can mean one of our programs.
fn kills_by_name(name: &str, texts: &[&str]) -> bool {
    const PROGRAMS: &[&str] = &[
        "portcullis",
        "portcullis-server serve",
        "portcullis-sandboxd serve",
        "portcullis-launch run",
    ];
    let patterns: Vec<String> = texts
        .iter()
        .filter(|text| !text.starts_with('-'))
        .map(|text| text.to_ascii_lowercase())
        .collect();
    let regex = name != "killall" || texts.iter().any(|text| matches!(*text, "-r" | "--regexp"));
    // A signal, or an option that only says how the name is compared. By others it is not only the name that counts.
    let plain = |text: &&str| {
        let letters = text.trim_start_matches('-');
        letters.chars().all(|c| c.is_ascii_digit())
            || letters.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
            || letters.chars().all(|c| "fxinoecqwrI".contains(c))
            || matches!(
                letters,
                "full" | "exact" | "ignore-case" | "newest" | "oldest" | "echo" | "regexp" | "wait" | "quiet"
            )
    };
    let others = texts
        .iter()
        .filter(|text| text.starts_with('-'))
        .any(|text| !plain(text));
    patterns.is_empty()
        || others
        || patterns.iter().any(|pattern| {
            pattern.contains("portcullis")
                || (regex
                    && (PROGRAMS.iter().any(|program| program.contains(pattern.as_str()))
                        || pattern.chars().any(|c| "*?[(|^\\+{".contains(c))
                        || pattern.trim_matches('.').is_empty()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str) -> (Option<&str>, Option<usize>, Option<&str>) {
        let words: Vec<Option<&str>> = line.split(' ').skip(1).map(Some).collect();
        let own = read(&words);
        (own.verb, own.program, own.widens)
    }

    #[test]
    fn the_command_is_found_behind_every_form_of_option() {
        assert_eq!(parts("portcullis run rm x"), (Some("run"), Some(2), None));
        assert_eq!(parts("portcullis run -- rm x"), (Some("run"), Some(3), None));
        assert_eq!(parts("portcullis run --timeout 5 rm"), (Some("run"), Some(4), None));
        assert_eq!(parts("portcullis run --timeout=5 rm"), (Some("run"), Some(3), None));
        assert_eq!(
            parts("portcullis --data-dir d run rm"),
            (Some("run"), Some(4), Some("--data-dir"))
        );
        assert_eq!(parts("portcullis sandbox run rm"), (Some("run"), Some(3), None));
        assert_eq!(
            parts("portcullis run --headless rm"),
            (Some("run"), Some(3), Some("--headless"))
        );
        assert_eq!(
            parts("portcullis run rm --cwd /"),
            (Some("run"), Some(2), None),
            "an option of rm"
        );
    }
}

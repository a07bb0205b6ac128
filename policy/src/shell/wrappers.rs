//! Programs that run the program named by their arguments.
//!
//! A table, because each option that takes a value has to be known: skipping one word too few or too many would judge
//! the wrong program. An option that is not in the table is reported; the analysis goes on as if it took no value.

use super::Word;

/// A wrapper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// It changes who runs the program, or with which words.
    pub(super) changes: bool,
    /// Short options without a value.
    pub(super) flags: &'static str,
    /// Short options with a value.
    pub(super) valued: &'static str,
    /// Short options whose value, if any, is attached.
    pub(super) attached: &'static str,
    /// Long options without a value, or with one only after `=`.
    pub(super) long_flags: &'static [&'static str],
    /// Long options with a value.
    pub(super) long_valued: &'static [&'static str],
    /// Operands before the program.
    pub(super) operands: usize,
    /// `NAME=value` before the program.
    pub(super) assignments: bool,
    /// `-5` is an option (`nice`).
    pub(super) numbers: bool,
}

const PLAIN: Wrapper = Wrapper {
    name: "",
    changes: false,
    flags: "",
    valued: "",
    attached: "",
    long_flags: &[],
    long_valued: &[],
    operands: 0,
    assignments: false,
    numbers: false,
};

/// All wrappers whose arguments follow one scheme. `find`, shells and `eval` have their own code.
const WRAPPERS: &[Wrapper] = &[
    // `-S` splits a text into words and is handled apart; `-u` and `-C` take a value.
    Wrapper {
        name: "env",
        flags: "i0v",
        valued: "uCSP",
        long_flags: &[
            "ignore-environment",
            "null",
            "debug",
            "default-signal",
            "ignore-signal",
            "block-signal",
            "list-signal-handling",
        ],
        long_valued: &["unset", "chdir", "split-string"],
        assignments: true,
        ..PLAIN
    },
    // The duration comes first.
    Wrapper {
        name: "timeout",
        flags: "vfp",
        valued: "ks",
        long_flags: &["preserve-status", "foreground", "verbose"],
        long_valued: &["kill-after", "signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "nice",
        valued: "n",
        long_valued: &["adjustment"],
        numbers: true,
        ..PLAIN
    },
    Wrapper { name: "nohup", ..PLAIN },
    // `time` as a program (`/usr/bin/time`, `env time`), besides the keyword. `-o` writes a file.
    Wrapper {
        name: "time",
        flags: "pvaq",
        valued: "of",
        long_flags: &["portability", "verbose", "append", "quiet"],
        long_valued: &["output", "format"],
        ..PLAIN
    },
    Wrapper {
        name: "stdbuf",
        valued: "ioe",
        long_valued: &["input", "output", "error"],
        ..PLAIN
    },
    Wrapper {
        name: "setsid",
        flags: "cfw",
        long_flags: &["ctty", "fork", "wait"],
        ..PLAIN
    },
    Wrapper {
        name: "ionice",
        flags: "t",
        valued: "cnpPu",
        long_flags: &["ignore"],
        long_valued: &["class", "classdata", "pid", "pgid", "uid"],
        ..PLAIN
    },
    Wrapper {
        name: "chrt",
        flags: "abfior",
        valued: "TPD",
        long_flags: &[
            "all-tasks",
            "batch",
            "fifo",
            "idle",
            "other",
            "rr",
            "deadline",
            "reset-on-fork",
        ],
        long_valued: &["sched-runtime", "sched-period", "sched-deadline"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "taskset",
        flags: "ac",
        long_flags: &["all-tasks", "cpu-list"],
        operands: 1,
        ..PLAIN
    },
    // `-c` takes a script and is handled apart.
    Wrapper {
        name: "flock",
        flags: "snxoueF",
        valued: "wEc",
        long_flags: &[
            "shared",
            "nonblock",
            "nb",
            "exclusive",
            "close",
            "unlock",
            "no-fork",
            "verbose",
        ],
        long_valued: &["wait", "timeout", "conflict-exit-code", "command"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "noglob",
        ..PLAIN
    },
    Wrapper {
        name: "nocorrect",
        ..PLAIN
    },
    Wrapper {
        name: "caffeinate",
        flags: "dimsu",
        valued: "tw",
        ..PLAIN
    },
    // `-v` and `-V` only look; handled apart.
    Wrapper {
        name: "command",
        flags: "p",
        ..PLAIN
    },
    Wrapper {
        name: "builtin",
        ..PLAIN
    },
    Wrapper {
        name: "exec",
        flags: "cl",
        valued: "a",
        ..PLAIN
    },
    Wrapper {
        name: "sudo",
        changes: true,
        flags: "AbBEeHiKklNnPSsVv",
        valued: "CDghpRrTtuU",
        long_flags: &[
            "askpass",
            "background",
            "bell",
            "preserve-env",
            "edit",
            "set-home",
            "login",
            "remove-timestamp",
            "reset-timestamp",
            "list",
            "no-update",
            "non-interactive",
            "preserve-groups",
            "stdin",
            "shell",
            "validate",
        ],
        long_valued: &[
            "close-from",
            "chdir",
            "group",
            "host",
            "prompt",
            "chroot",
            "role",
            "command-timeout",
            "type",
            "other-user",
            "user",
        ],
        assignments: true,
        ..PLAIN
    },
    Wrapper {
        name: "doas",
        changes: true,
        flags: "Lns",
        valued: "aCu",
        ..PLAIN
    },
    // The words it adds come from its input.
    Wrapper {
        name: "xargs",
        changes: true,
        flags: "0optrx",
        valued: "adEILnPs",
        attached: "eil",
        long_flags: &[
            "null",
            "open-tty",
            "interactive",
            "no-run-if-empty",
            "exit",
            "verbose",
            "eof",
            "replace",
            "max-lines",
            "show-limits",
        ],
        long_valued: &[
            "arg-file",
            "delimiter",
            "max-args",
            "max-procs",
            "max-chars",
            "process-slot-var",
        ],
        ..PLAIN
    },
    // The words are joined and given to a shell; `-x` runs them as they are. Either way they are a command.
    Wrapper {
        name: "watch",
        changes: true,
        flags: "bcegprtwxC",
        valued: "nq",
        attached: "d",
        long_flags: &[
            "beep",
            "color",
            "no-color",
            "differences",
            "errexit",
            "chgexit",
            "precise",
            "no-rerun",
            "no-title",
            "no-wrap",
            "exec",
        ],
        long_valued: &["interval", "equexit"],
        ..PLAIN
    },
    Wrapper {
        name: "chroot",
        changes: true,
        long_flags: &["skip-chdir"],
        long_valued: &["groups", "userspec"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        name: "unshare",
        changes: true,
        flags: "imnpuUCTfrc",
        valued: "RwSG",
        long_flags: &[
            "fork",
            "map-root-user",
            "map-current-user",
            "user",
            "pid",
            "net",
            "mount",
            "ipc",
            "uts",
            "cgroup",
        ],
        long_valued: &["root", "wd", "setuid", "setgid"],
        ..PLAIN
    },
    Wrapper {
        name: "strace",
        changes: true,
        flags: "cCfFqrtTvyYikwxdD",
        valued: "eopsSPaEOuIbX",
        ..PLAIN
    },
    // The rest of busybox' first word is the program: `busybox sh -c`.
    Wrapper {
        name: "busybox",
        changes: true,
        ..PLAIN
    },
    Wrapper {
        name: "toybox",
        changes: true,
        ..PLAIN
    },
    Wrapper {
        name: "coproc",
        ..PLAIN
    },
];

/// The wrapper of this name.
pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

/// The names of all wrappers and shells.
pub(super) fn names() -> impl Iterator<Item = &'static &'static str> {
    WRAPPERS.iter().map(|wrapper| &wrapper.name).chain(SHELLS)
}

/// Shells: they run a script.
pub(super) const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish"];

/// What the options of a wrapper say.
#[derive(Debug, Default)]
pub(super) struct Unwrapped {
    /// Number of the word that names the program, counted from the wrapper's name; none if it names none.
    pub(super) program: Option<usize>,
    /// Options with their value's place.
    pub(super) options: Vec<(String, Option<Place>)>,
    /// Numbers of the words that are assignments.
    pub(super) assignments: Vec<usize>,
    /// Operands before the program.
    pub(super) operands: Vec<usize>,
    /// The first option that is not in the table.
    pub(super) unknown: Option<String>,
}

/// Where an option's value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The word of this number.
    Word(usize),
    /// In the option's own word.
    Text(String),
}

impl Unwrapped {
    /// Whether one of these options was given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The place of the value of the last of these options.
    pub(super) fn place(&self, names: &[&str]) -> Option<&Place> {
        let named = |(name, _): &&(String, Option<Place>)| names.contains(&name.as_str());
        self.options
            .iter()
            .rev()
            .find(named)
            .and_then(|(_, place)| place.as_ref())
    }
}

/// Finds the program behind a wrapper. `words` begins with the wrapper's name.
pub(super) fn unwrap(wrapper: &Wrapper, words: &[Word]) -> Unwrapped {
    let mut found = Unwrapped::default();
    let mut at = 1;
    let mut operands = wrapper.operands;
    while let Some(word) = words.get(at) {
        let text = match word {
            Word::Literal(text) => text.as_str(),
            Word::Dynamic { source, .. } => {
                // An option or an assignment whose value is not known; anything else is the program's place.
                let source = source.trim_start_matches(['"', '\'']);
                if source.starts_with('-') {
                    found.unknown.get_or_insert_with(|| source.to_owned());
                } else if wrapper.assignments && is_assignment(source) {
                    found.assignments.push(at);
                } else if operands > 0 {
                    operands -= 1;
                    found.operands.push(at);
                } else {
                    break;
                }
                at += 1;
                continue;
            }
        };
        if text == "--" {
            at += 1;
            // Operands and assignments may still follow.
            while operands > 0 && at < words.len() {
                found.operands.push(at);
                operands -= 1;
                at += 1;
            }
            while wrapper.assignments && words.get(at).and_then(Word::literal).is_some_and(is_assignment) {
                found.assignments.push(at);
                at += 1;
            }
            break;
        }
        if text.len() > 1 && text.starts_with('-') {
            at = option(wrapper, text, at, &mut found);
        } else if wrapper.assignments && is_assignment(text) {
            found.assignments.push(at);
            at += 1;
        } else if text == "-" && wrapper.name == "env" {
            at += 1;
        } else if operands > 0 {
            found.operands.push(at);
            operands -= 1;
            at += 1;
        } else {
            break;
        }
    }
    found.program = (at < words.len()).then_some(at);
    found
}

fn is_assignment(text: &str) -> bool {
    // `env` takes any text with `=`, but one that begins with an expansion may be a program's name.
    !text.starts_with(['$', '`']) && text.find('=').is_some_and(|at| at > 0)
}

/// Reads one option word; gives the number of the word after it.
fn option(wrapper: &Wrapper, text: &str, at: usize, found: &mut Unwrapped) -> usize {
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let option = format!("--{name}");
        if let Some(value) = value {
            if !wrapper.long_valued.contains(&name) && !wrapper.long_flags.contains(&name) {
                found.unknown.get_or_insert_with(|| option.clone());
            }
            found.options.push((option, Some(Place::Text(value.to_owned()))));
        } else if wrapper.long_valued.contains(&name) {
            found.options.push((option, Some(Place::Word(at + 1))));
            return at + 2;
        } else {
            if !wrapper.long_flags.contains(&name) {
                found.unknown.get_or_insert_with(|| option.clone());
            }
            found.options.push((option, None));
        }
        return at + 1;
    }
    let letters = text.get(1..).unwrap_or_default();
    if wrapper.numbers
        && letters
            .trim_start_matches(['-', '+'])
            .chars()
            .all(|c| c.is_ascii_digit())
    {
        return at + 1;
    }
    for (offset, letter) in letters.char_indices() {
        let name = format!("-{letter}");
        let rest = letters.get(offset + letter.len_utf8()..).unwrap_or_default();
        if wrapper.valued.contains(letter) {
            if rest.is_empty() {
                found.options.push((name, Some(Place::Word(at + 1))));
                return at + 2;
            }
            found.options.push((name, Some(Place::Text(rest.to_owned()))));
            return at + 1;
        }
        if wrapper.attached.contains(letter) {
            found
                .options
                .push((name, (!rest.is_empty()).then(|| Place::Text(rest.to_owned()))));
            return at + 1;
        }
        if !wrapper.flags.contains(letter) {
            found.unknown.get_or_insert_with(|| name.clone());
        }
        found.options.push((name, None));
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(line: &str) -> Option<&str> {
        let words: Vec<&str> = line.split(' ').collect();
        let wrapper = find(words.first()?)?;
        let texts: Vec<Word> = words.iter().map(|word| Word::Literal((*word).to_owned())).collect();
        let found = unwrap(wrapper, &texts);
        assert_eq!(found.unknown, None, "{line}");
        words.get(found.program?).copied()
    }

    #[test]
    fn options_with_values_are_skipped() {
        for line in [
            "timeout -k 5 -s KILL 10 rm x",
            "timeout --kill-after=5 --foreground 10 rm x",
            "env -i -u HOME A=1 B= rm x",
            "env -- A=1 rm x",
            "nice -n 5 rm x",
            "nice -5 rm x",
            "nice --adjustment=5 rm x",
            "sudo -n -u root -- rm x",
            "sudo -nu root A=1 rm x",
            "xargs -0 -n1 -P 4 -I {} rm x",
            "stdbuf -oL -e 0 rm x",
            "flock -n lock rm x",
            "ionice -c2 -n 7 rm x",
            "exec -a ls rm x",
            "setsid -w rm x",
            "chrt -b 0 rm x",
        ] {
            assert_eq!(program(line), Some("rm"), "{line}");
        }
    }

    #[test]
    fn an_option_outside_the_table_is_told() {
        let words = ["x", "--new", "rm"].map(|word| Word::Literal(word.to_owned()));
        let found = unwrap(&PLAIN, &words);
        assert_eq!((found.unknown.as_deref(), found.program), (Some("--new"), Some(2)));
    }

    #[test]
    fn a_wrapper_alone_runs_nothing() {
        assert_eq!(program("env A=1"), None);
        assert_eq!(program("nice"), None);
    }
}

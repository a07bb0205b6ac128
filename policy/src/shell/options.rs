//! Tells options from operands, as `getopt` does, given which options take a value.
//!
//! An option wrongly taken for one with a value hides the word after it, and so a file or a program. Hence an
//! abbreviated long option (`--out`) gives its value *and* leaves the next word an operand.

use super::{Word, data, programs};

/// Which options of a program take a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spec {
    /// Short ones, as letters.
    pub(super) short: &'static str,
    /// Long ones, without the dashes.
    pub(super) long: &'static [&'static str],
    /// Short ones whose value stands in the same word, if they have one: `sed -i.bak`, as letters.
    pub(super) attached: &'static str,
    /// Options without a value, dashes and all, as far as they are listed. `-#` is any number: `head -5`.
    pub(super) flags: &'static [&'static str],
    /// With one dash, options whose value may stand in the same word: `gcc -oout`.
    pub(super) joined: &'static [&'static str],
    /// Long options have one dash, and short ones are not joined: `openssl -in`, `find -name`.
    pub(super) one_dash: bool,
}

/// The options of a data file: with a value, and without.
pub(super) fn spec(valued: &str, attached: &str, flags: &str, one_dash: bool) -> Spec {
    let valued = data::words(valued);
    let names = valued.iter().filter_map(|option| {
        if one_dash {
            return option.strip_prefix('-');
        }
        option.strip_prefix("--")
    });
    let long: Vec<&'static str> = names.collect();
    let letters = valued.iter().filter(|option| !one_dash && !option.starts_with("--"));
    let short: String = letters.filter_map(|option| option.chars().nth(1)).collect();
    let attached: String = data::words(attached)
        .iter()
        .filter(|option| !option.starts_with("--"))
        .filter_map(|option| option.chars().nth(1))
        .collect();
    Spec {
        short: data::keep_text(&short),
        attached: data::keep_text(&attached),
        long: data::keep(long),
        flags: data::words(flags),
        joined: &[],
        one_dash,
    }
}

impl Spec {
    /// Whether a long option is the whole name of one that is listed.
    pub(super) fn is_whole(&self, name: &str) -> bool {
        self.flags.contains(&name) || name.strip_prefix("--").is_some_and(|long| self.long.contains(&long))
    }

    /// Whether an option is listed, with or without a value; a beginning of a long one counts where it can only be that.
    pub(super) fn knows(&self, name: &str) -> bool {
        if self.flags.contains(&name) {
            return true;
        }
        let bare = name.trim_start_matches('-');
        if self.one_dash {
            return self.long.contains(&bare) || self.long.iter().any(|long| name.strip_prefix('-') == Some(long));
        }
        let Some(long) = name.strip_prefix("--") else {
            let digits = self.flags.contains(&"-#") && bare.chars().all(|c| c.is_ascii_digit());
            let listed = |letter| self.short.contains(letter) || self.attached.contains(letter);
            return digits || bare.chars().all(listed);
        };
        let cut_short = |known: &&str| !long.is_empty() && known.trim_start_matches("--").starts_with(long);
        self.long.iter().any(cut_short) || self.flags.iter().filter(|flag| flag.starts_with("--")).any(cut_short)
    }
}

/// An option with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// `-o` or `--output`; a long one written short is completed.
    pub(super) name: String,
    pub(super) value: Attached,
}

/// Where an option's value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attached {
    /// It has none.
    Nothing,
    /// The word of this number.
    Word(usize),
    /// In the same word: `-ofile`, `--output=file`.
    Text(String),
    /// In the same word, known only at run time.
    Unknown,
}

/// Arguments, told apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Parsed {
    pub(super) options: Vec<Found>,
    /// Numbers of the words that are operands.
    pub(super) operands: Vec<usize>,
}

impl Parsed {
    /// Whether one of these options was given.
    ///
    /// A long option may be cut short (`--recur`), as GNU programs and git take it. Where two options begin alike the
    /// program refuses to run, so it does not matter which is meant.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        let means = |found: &str, name: &str| {
            found == name || (found.len() > 2 && found.starts_with("--") && name.starts_with(found))
        };
        self.options
            .iter()
            .any(|found| names.iter().any(|name| means(&found.name, name)))
    }

    /// The values of these options.
    pub(super) fn values<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Attached> {
        let named = |found: &&Found| names.contains(&found.name.as_str());
        self.options.iter().filter(named).map(|found| &found.value)
    }
}

/// Tells the arguments apart: `words` begins after the program's name, and numbers count from there.
pub(super) fn parse<'a>(words: impl IntoIterator<Item = &'a Word>, spec: Spec) -> Parsed {
    let mut parsed = Parsed::default();
    let mut ended = false;
    // The option that waits for the next word.
    let mut waiting: Option<String> = None;
    for (number, word) in words.into_iter().enumerate() {
        if let Some(name) = waiting.take() {
            parsed.options.push(Found {
                name,
                value: Attached::Word(number),
            });
            continue;
        }
        let (text, known) = match word {
            Word::Literal(text) => (text.as_str(), true),
            Word::Dynamic { source, .. } => (source.trim_start_matches(['"', '\'']), false),
        };
        if ended || !text.starts_with('-') || text == "-" {
            parsed.operands.push(number);
        } else if text == "--" {
            ended = true;
        } else if spec.one_dash {
            one_dash_option(text, known, spec, &mut parsed, &mut waiting);
        } else if let Some(begun) = begun_option(text).filter(|_| !known) {
            begun_options(begun, spec, &mut parsed);
        } else if let Some(long) = text.strip_prefix("--") {
            long_option(long, known, number, spec, &mut parsed, &mut waiting);
        } else {
            short_options(text, known, spec, &mut parsed, &mut waiting);
        }
    }
    if let Some(name) = waiting {
        parsed.options.push(Found {
            name,
            value: Attached::Nothing,
        });
    }
    parsed
}

/// `-out file`, `-out=file`, `--out file`.
fn one_dash_option(text: &str, known: bool, spec: Spec, parsed: &mut Parsed, waiting: &mut Option<String>) {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let name = format!("-{}", name.trim_start_matches('-'));
    if let Some((name, value)) = joined_value(text, &name, spec) {
        let value = if known {
            Attached::Text(value.to_owned())
        } else {
            Attached::Unknown
        };
        parsed.options.push(Found { name, value });
        return;
    }
    let valued = spec.long.contains(&name.trim_start_matches('-'));
    let value = match value {
        Some(_) if !known => Attached::Unknown,
        Some(value) => Attached::Text(value.to_owned()),
        None if valued && known => {
            *waiting = Some(name);
            return;
        }
        None if known => Attached::Nothing,
        None => Attached::Unknown,
    };
    parsed.options.push(Found { name, value });
}

/// `-oout`: the option and its value, where both stand in one word and the word is no other option.
fn joined_value<'t>(text: &'t str, name: &str, spec: Spec) -> Option<(String, &'t str)> {
    let bare = name.trim_start_matches('-');
    if spec.long.contains(&bare) || spec.flags.contains(&name) {
        return None;
    }
    let mut begun: Vec<(&str, &str)> = spec
        .joined
        .iter()
        .filter_map(|option| Some((*option, text.strip_prefix(option)?)))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    begun.sort_by_key(|(option, _)| option.len());
    begun.last().map(|(option, value)| ((*option).to_owned(), *value))
}

/// What is known of a long option whose name is not known to its end: `--o` of `--o$X`, which may become `--output=a`.
pub(super) fn begun_option(source: &str) -> Option<&str> {
    if !source.starts_with("--") {
        return None;
    }
    let end = source.find(['$', '`', '"', '\'', '\\', '*', '?', '[', '{', '<', '>'])?;
    source.get(..end).filter(|begun| !begun.contains('='))
}

/// All long options that may become of a beginning, with values that are not known.
fn begun_options(begun: &str, spec: Spec, parsed: &mut Parsed) {
    let valued = spec.long.iter().map(|long| format!("--{long}"));
    let flags = spec
        .flags
        .iter()
        .filter(|flag| flag.starts_with("--"))
        .map(|flag| (*flag).to_owned());
    let names = valued.chain(flags).filter(|name| name.starts_with(begun));
    // An option of another table that begins so counts as one that is cut short.
    let all = names.chain((begun.len() > 2).then(|| begun.to_owned()));
    parsed.options.extend(all.map(|name| Found {
        name,
        value: Attached::Unknown,
    }));
}

fn long_option(long: &str, known: bool, number: usize, spec: Spec, parsed: &mut Parsed, waiting: &mut Option<String>) {
    let (name, value) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    let exact = spec.long.contains(&name);
    let flag = !exact && spec.flags.iter().any(|flag| flag.strip_prefix("--") == Some(name));
    let whole = if exact || flag {
        exact.then_some(name)
    } else {
        spec.long
            .iter()
            .copied()
            .find(|whole| !name.is_empty() && whole.starts_with(name))
    };
    let value = match value {
        Some(_) if !known => Attached::Unknown,
        Some(value) => Attached::Text(value.to_owned()),
        None if exact => {
            *waiting = Some(format!("--{name}"));
            return;
        }
        None if whole.is_some() => Attached::Word(number + 1),
        None if known => Attached::Nothing,
        None => Attached::Unknown,
    };
    parsed.options.push(Found {
        name: format!("--{}", whole.unwrap_or(name)),
        value,
    });
}

fn short_options(text: &str, known: bool, spec: Spec, parsed: &mut Parsed, waiting: &mut Option<String>) {
    let letters = text.get(1..).unwrap_or_default();
    for (at, letter) in letters.char_indices() {
        let name = format!("-{letter}");
        let attached = spec.attached.contains(letter);
        let rest = letters.get(at + letter.len_utf8()..).unwrap_or_default();
        if spec.short.contains(letter) || (attached && !rest.is_empty()) {
            if rest.is_empty() {
                *waiting = Some(name);
            } else {
                let value = if known {
                    Attached::Text(rest.to_owned())
                } else {
                    Attached::Unknown
                };
                parsed.options.push(Found { name, value });
            }
            return;
        }
        parsed.options.push(Found {
            name,
            value: if known { Attached::Nothing } else { Attached::Unknown },
        });
    }
}

/// The options of a command as the table knows those of `program`, in their order, each with its value: `None` where that is
/// only known at run time, empty where it has none.
pub(crate) fn given(program: &str, words: &[Word]) -> Vec<(String, Option<String>)> {
    let spec = programs::find(program).map(|entry| entry.spec).unwrap_or_default();
    let arguments = words.get(1..).unwrap_or_default();
    let options = parse(arguments, spec).options.into_iter();
    options
        .map(|found| {
            let value = match found.value {
                Attached::Nothing => Some(String::new()),
                Attached::Text(text) => Some(text),
                Attached::Word(at) => arguments.get(at).and_then(Word::literal).map(str::to_owned),
                Attached::Unknown => None,
            };
            (found.name, value)
        })
        .collect()
}

/// Whether a value of `-d` or `--directories` of `grep` tells it to go through folders: it takes the beginning of the word.
pub(super) fn is_recursion(value: &str) -> bool {
    !value.is_empty() && "recurse".starts_with(value)
}

/// Whether the words of a `grep` tell it by the name of an action to go through folders; so does one that is not known.
pub(crate) fn recurses(words: &[Word]) -> bool {
    given("grep", words).iter().any(|(name, value)| {
        let named = name == "-d" || (name.len() > 3 && "--directories".starts_with(name.as_str()));
        named && value.as_deref().is_none_or(is_recursion)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str, spec: Spec) -> (Vec<String>, Vec<usize>) {
        let words: Vec<Word> = line.split(' ').map(|word| Word::Literal(word.to_owned())).collect();
        let parsed = parse(&words, spec);
        let shown = parsed.options.iter().map(|found| match &found.value {
            Attached::Nothing => found.name.clone(),
            Attached::Word(number) => format!("{}@{number}", found.name),
            Attached::Text(text) => format!("{}={text}", found.name),
            Attached::Unknown => format!("{}=?", found.name),
        });
        (shown.collect(), parsed.operands)
    }

    const SPEC: Spec = Spec {
        short: "no",
        attached: "i",
        long: &["output", "lines"],
        flags: &["--out-of-the-way", "--line", "-r", "-#"],
        joined: &[],
        one_dash: false,
    };

    #[test]
    fn a_flag_is_not_taken_for_the_beginning_of_an_option_with_a_value() {
        assert_eq!(told("--line x a", SPEC), (vec!["--line".into()], vec![1, 2]));
        assert_eq!(told("--lin x a", SPEC), (vec!["--lines@1".into()], vec![1, 2]));
    }

    #[test]
    fn listed_options_are_known_and_others_are_not() {
        for name in ["-n", "-r", "-5", "--line", "--lines", "--out", "--o"] {
            assert!(SPEC.knows(name), "{name}");
        }
        for name in ["-x", "--", "--outer", "--exec"] {
            assert!(!SPEC.knows(name), "{name}");
        }
    }

    #[test]
    fn long_options_with_one_dash() {
        let spec = spec("-in -out", "", "-text", true);
        assert_eq!(
            told("-in a -out b -text c", spec),
            (vec!["-in@1".into(), "-out@3".into(), "-text".into()], vec![5])
        );
        assert_eq!(
            told("-out=b --in a", spec),
            (vec!["-out=b".into(), "-in@2".into()], vec![])
        );
        assert!(spec.knows("-in") && spec.knows("-text") && !spec.knows("-i"));
    }

    #[test]
    fn long_options_may_be_cut_short() {
        assert_eq!(told("--o x a", SPEC), (vec!["--output@1".into()], vec![1, 2]));
        assert_eq!(told("--out=x a", SPEC), (vec!["--output=x".into()], vec![1]));
        let words = [Word::Literal("--recur".to_owned()), Word::Literal("a".to_owned())];
        let parsed = parse(&words, SPEC);
        assert!(parsed.has(&["-r", "--recursive"]) && !parsed.has(&["-r", "--record"]));
    }

    #[test]
    fn values_are_not_operands() {
        assert_eq!(told("-n 5 a", SPEC), (vec!["-n@1".into()], vec![2]));
        assert_eq!(told("-rn5 a", SPEC), (vec!["-r".into(), "-n=5".into()], vec![1]));
        assert_eq!(told("-i a", SPEC), (vec!["-i".into()], vec![1]));
        assert_eq!(told("-ri.n a", SPEC), (vec!["-r".into(), "-i=.n".into()], vec![1]));
        assert_eq!(told("--output=x a", SPEC), (vec!["--output=x".into()], vec![1]));
        assert_eq!(told("--output x a", SPEC), (vec!["--output@1".into()], vec![2]));
    }

    #[test]
    fn an_abbreviation_hides_no_operand() {
        assert_eq!(told("--out x a", SPEC), (vec!["--output@1".into()], vec![1, 2]));
    }

    #[test]
    fn two_dashes_end_the_options() {
        assert_eq!(told("-- -n -", SPEC), (vec![], vec![1, 2]));
        assert_eq!(told("-", SPEC), (vec![], vec![0]));
    }
}

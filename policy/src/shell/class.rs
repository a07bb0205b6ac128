//! What a command is: only looks, changes files, changes our own state, or anything else.
//!
//! Which commands need no rule follows what Claude Code was seen to run without one; when in doubt, it is "anything else".

use super::{
    CommandClass, Word,
    escapes::escape,
    git,
    options::{self, Attached, Parsed},
    own,
    programs::{self, Kind, Known},
    reader, scripts, sed, settings, shows, wrappers,
};

/// Classifies a command by its words.
pub(super) fn classify(words: &[Word]) -> CommandClass {
    let Some((program, arguments)) = words.split_first() else {
        return CommandClass::ReadOnly;
    };
    let Some(written) = program.literal() else {
        return CommandClass::Other;
    };
    let name = base_name(written);
    if own::changes_ourselves(name, arguments) {
        return CommandClass::SelfChange;
    }
    // A program named by a path need not be the known one.
    if written.contains('/') {
        return CommandClass::Other;
    }
    match name {
        "cd" | "pushd" | "popd" | "chdir" => return CommandClass::ChangeDirectory,
        "git" if git::only_looks(arguments) => return CommandClass::ReadOnlyGit,
        "[[" => return CommandClass::ReadOnly,
        "command" if matches!(arguments.first().and_then(Word::literal), Some("-v" | "-V")) => {
            return CommandClass::ReadOnly;
        }
        _ if steers(name, arguments) || shows::only_shows(name, arguments) => return CommandClass::ReadOnly,
        _ => {}
    }
    let Some(known) = programs::know(name, arguments) else {
        return CommandClass::Other;
    };
    if escape(words).is_some() {
        return CommandClass::Other;
    }
    let program = known.last();
    let own = arguments.get(known.from()..).unwrap_or_default();
    let parsed = options::parse(own, program.spec);
    // `<(…)` becomes the name of a pipe, which is no option.
    let pipe =
        |word: &Word| matches!(word, Word::Dynamic { source, .. } if source.starts_with("<(") && source.ends_with(')'));
    let certain = arguments
        .iter()
        .all(|word| word.literal().is_some() || pipe(word) || (program.kind == Kind::Looks && word.is_operand()));
    let listed = !program.strict || parsed.options.iter().all(|found| program.spec.knows(&found.name));
    let looks = || {
        if evaluates(name, arguments) || (name == "jq" && shows_environment(own, &parsed)) {
            CommandClass::Other
        } else {
            CommandClass::ReadOnly
        }
    };
    match program.kind {
        Kind::Looks | Kind::LooksIf if !listed || !plain_globals(known, arguments) => CommandClass::Other,
        // A word that is not certain could be the option that writes.
        Kind::Looks if certain || (program.escapes.is_empty() && name != "printf" && name != "test" && name != "[") => {
            looks()
        }
        Kind::Looks if matches!(name, "test" | "[" | "printf") => looks(),
        Kind::LooksIf if (certain || only_operands_vary(name, own, &parsed)) && only_looks(name, own, &parsed) => {
            CommandClass::ReadOnly
        }
        Kind::Changes => CommandClass::FileChange,
        Kind::LooksIf if name.ends_with("sed") && edits_in_place(&parsed) && plain_edit(own, &parsed) => {
            CommandClass::FileChange
        }
        _ => CommandClass::Other,
    }
}

/// Whether a program only looks, with any words: it has no option and no operand by which it does more.
pub(super) fn looks_whatever_the_words(words: &[Word]) -> bool {
    let Some((name, arguments)) = words
        .split_first()
        .and_then(|(program, rest)| Some((program.literal()?, rest)))
    else {
        return false;
    };
    programs::know(name, arguments).is_some_and(|known| {
        let program = known.last();
        let whole =
            known.verb.is_none() && program.kind == Kind::Looks && program.escapes.is_empty() && !program.strict;
        whole && !matches!(name, "jq" | "test" | "[" | "printf")
    })
}

/// Whether the options before a subcommand change nothing.
fn plain_globals(known: Known, arguments: &[Word]) -> bool {
    let Some((_, from)) = known.verb else { return true };
    let spec = known.program.spec;
    let parsed = options::parse(arguments.get(..from).unwrap_or_default(), spec);
    parsed
        .options
        .iter()
        .all(|found| spec.flags.contains(&found.name.as_str()))
}

/// Builtins that only steer the script, or set what only the script itself can see.
fn steers(name: &str, arguments: &[Word]) -> bool {
    // The words of an array in a declaration are only put away: `declare -a x=(a b)`.
    let array = |source: &str| {
        source.split_once("=(").is_some_and(|(name, _)| reader::is_name(name))
            && source.ends_with(')')
            && !source.contains(['$', '`', '<', '>', '~', '*', '?', '{'])
    };
    let text = |word: &'_ Word| match word {
        Word::Dynamic { source, .. }
            if matches!(name, "declare" | "typeset" | "local" | "readonly") && array(source) =>
        {
            Some(source.as_str().to_owned())
        }
        word => word.literal().map(str::to_owned),
    };
    let owned = arguments.iter().map(text).collect::<Option<Vec<String>>>();
    let Some(texts) = owned
        .as_ref()
        .map(|texts| texts.iter().map(String::as_str).collect::<Vec<_>>())
    else {
        return name == ":";
    };
    let plain = || texts.iter().all(|text| reader::is_name(text.trim_start_matches('-')));
    match name {
        ":" => true,
        "exit" | "return" | "break" | "continue" | "shift" => {
            texts.len() <= 1 && texts.iter().all(|text| text.chars().all(|c| c.is_ascii_digit()))
        }
        "wait" => texts
            .iter()
            .all(|text| text.chars().all(|c| c.is_ascii_digit() || c == '%')),
        // Without an option it prints every variable, secrets too.
        "set" => !texts.is_empty() && settings::only_harmless(&texts) && texts.iter().all(|text| !text.is_empty()),
        "shopt" => !texts.is_empty() && settings::shopt_is_harmless(&texts),
        // Of what name, is judged with dangerous variables.
        "unset" => plain(),
        // Without a value they only show what the shell allows its programs.
        "umask" => texts.iter().all(|text| matches!(*text, "-S" | "-p")),
        "ulimit" => texts.iter().all(|text| {
            text.len() > 1 && text.starts_with('-') && text.chars().skip(1).all(|c| c.is_ascii_alphabetic())
        }),
        "times" => texts.is_empty(),
        // A job of this shell alone.
        "kill" => {
            let job = |text: &&str| text.starts_with('%');
            let signal = |text: &&str| {
                text.strip_prefix('-').is_some_and(|name| {
                    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
                })
            };
            // Behind a job, what begins with a dash is a group of processes.
            let behind = texts
                .get(usize::from(texts.first().is_some_and(signal))..)
                .unwrap_or_default();
            !behind.is_empty() && behind.iter().all(job)
        }
        "export" => {
            let harmless = |text: &&str| {
                text.split_once('=').is_some_and(|(name, value)| {
                    super::variables::is_harmless(name) || super::variables::is_switch(name, value)
                })
            };
            !texts.is_empty() && texts.iter().all(harmless)
        }
        // What was found in the search path is shown or forgotten.
        "hash" => texts.iter().all(|text| *text == "-r" || *text == "-l"),
        "disown" => texts
            .iter()
            .all(|text| matches!(*text, "-a" | "-h" | "-r") || text.starts_with('%') || is_number(text)),
        // Kinds of variables of the script's own; `-x` would hand them to programs, `-p` and `-f` show what there is.
        "declare" | "typeset" | "local" => {
            let (options, names): (Vec<&str>, Vec<&str>) = texts.iter().partition(|text| text.starts_with('-'));
            let kinds = |text: &&str| {
                text.len() > 1
                    && text
                        .chars()
                        .skip(1)
                        .all(|c| matches!(c, 'a' | 'A' | 'l' | 'u' | 'g' | 'r'))
            };
            !names.is_empty() && options.iter().all(kinds) && names.iter().all(|name| declares(name))
        }
        // Of bash alone; `-p` shows what there is, and `-f` and `-x` are about functions and programs.
        "readonly" => {
            let (options, names): (Vec<&str>, Vec<&str>) = texts.iter().partition(|text| text.starts_with('-'));
            !names.is_empty()
                && options.iter().all(|text| matches!(*text, "-a" | "-A"))
                && names.iter().all(|name| declares(name))
        }
        "read" => {
            named_behind(&texts, "rs", "adNntup").is_some_and(|names| names.iter().all(|name| reader::is_name(name)))
        }
        // `-C` runs a command for each line.
        "mapfile" | "readarray" => named_behind(&texts, "t", "dnOsu")
            .is_some_and(|names| names.len() <= 1 && names.iter().all(|name| is_own_name(name))),
        _ => false,
    }
}

/// The words of a builtin that are no options, if it is given none but these letters; `valued` are those whose value is the next
/// word. An array is a name as the others are.
fn named_behind<'t>(texts: &[&'t str], flags: &str, valued: &str) -> Option<Vec<&'t str>> {
    let mut names = Vec::new();
    let mut texts = texts.iter();
    while let Some(text) = texts.next() {
        let Some(letters) = text.strip_prefix('-').filter(|_| names.is_empty()) else {
            names.push(*text);
            continue;
        };
        let last = letters.chars().next_back()?;
        let before = letters.strip_suffix(last)?;
        if !before.chars().all(|c| flags.contains(c)) {
            return None;
        }
        if valued.contains(last) {
            let value = texts.next()?;
            // What is read goes into the array.
            if last == 'a' {
                names.push(*value);
                if texts.next().is_some() {
                    return None;
                }
            }
        } else if !flags.contains(last) {
            return None;
        }
    }
    Some(names)
}

/// Whether a word declares a variable of the script's own, with a value or without one.
fn declares(word: &str) -> bool {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    // The text of an array is read again.
    let text = |value: &str| !value.starts_with('(') || !value.contains(['$', '`']);
    is_own_name(name) && value.is_none_or(text)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// A variable's name that no program of the host looks at, as far as the table says.
fn is_own_name(name: &str) -> bool {
    reader::is_name(name) && name.chars().any(|c| c.is_ascii_lowercase())
}

/// The name without its folder.
pub(super) fn base_name(program: &str) -> &str {
    let slash = program.bytes().rposition(|byte| byte == b'/');
    slash.and_then(|at| program.get(at + 1..)).unwrap_or(program)
}

fn edits_in_place(parsed: &Parsed) -> bool {
    parsed
        .options
        .iter()
        .any(|found| found.name == "-i" || (found.name.len() > 3 && "--in-place".starts_with(&found.name)))
}

/// A sed call whose scripts are all known and only edit.
fn plain_edit(arguments: &[Word], parsed: &Parsed) -> bool {
    let scripts = sed::scripts(arguments, parsed);
    !scripts.is_empty() && !parsed.has(&["-f", "--file"]) && scripts.iter().all(|script| !sed::escapes(script))
}

/// Whether a program of jq's shows the environment, which holds secrets: `env`, `$ENV`. It does not if the word is a
/// field (`.env`), a key (`env:`) or part of a text.
fn shows_environment(arguments: &[Word], parsed: &Parsed) -> bool {
    // `--arg NAME VALUE` and kin leave a second word before the program.
    let before = arguments
        .iter()
        .filter_map(Word::literal)
        .filter(|text| matches!(*text, "--arg" | "--argjson" | "--slurpfile" | "--rawfile" | "--argfile"))
        .count();
    let programs = parsed.operands.iter().take(before + 1);
    let text = |word: &Word| match word {
        Word::Literal(text) => text.clone(),
        Word::Dynamic { source, .. } => known_parts(source),
    };
    programs
        .filter_map(|number| arguments.get(*number).map(text))
        .any(|program| {
            let named = |c: char| c.is_ascii_alphanumeric() || c == '_';
            program.contains("$ENV")
                || program.match_indices("env").any(|(at, word)| {
                    let before = program.get(..at).and_then(|text| text.chars().next_back());
                    let after = program.get(at + word.len()..).and_then(|text| text.chars().next());
                    !before.is_some_and(|c| named(c) || matches!(c, '.' | '$' | '"' | '-' | '/'))
                        && !after.is_some_and(|c| named(c) || matches!(c, ':' | '"'))
                })
        })
}

/// The known parts of a word as it is written, with [`UNKNOWN`] for what the shell puts in.
fn known_parts(source: &str) -> String {
    let mut text = String::new();
    let mut chars = source.chars().peekable();
    let (mut single, mut double) = (false, false);
    while let Some(c) = chars.next() {
        match c {
            '\'' if !double => single = !single,
            _ if single => text.push(c),
            '\\' => text.extend(chars.next()),
            '"' => double = !double,
            '$' | '`' => {
                text.push(UNKNOWN);
                let mut depth = 0_usize;
                while let Some(next) = chars.peek().copied() {
                    let opens = matches!(next, '(' | '{');
                    let closes = matches!(next, ')' | '}');
                    if c == '`' {
                        chars.next();
                        if next == '`' {
                            break;
                        }
                        continue;
                    }
                    if depth == 0 && !opens && !(next.is_ascii_alphanumeric() || next == '_') {
                        break;
                    }
                    depth = (depth + usize::from(opens)).saturating_sub(usize::from(closes));
                    chars.next();
                    if depth == 0 && closes {
                        break;
                    }
                }
            }
            _ => text.push(c),
        }
    }
    text
}

/// Stands for a part of a word that is only known at run time.
const UNKNOWN: char = '\0';

/// Whether what is not certain surely is one of the files that are read: behind the program of awk, which looks for no
/// options there; and words that are no options, behind the script of sed and for `find` and `fd`.
fn only_operands_vary(name: &str, arguments: &[Word], parsed: &Parsed) -> bool {
    let varies = |(_, word): &(usize, &Word)| word.literal().is_none();
    let mut varying = arguments.iter().enumerate().filter(varies);
    let first = parsed.operands.first().copied();
    match name {
        "awk" | "gawk" | "mawk" | "nawk" => varying.all(|(at, _)| first.is_some_and(|first| at > first)),
        "sed" | "gsed" => varying.all(|(at, word)| {
            let script = first == Some(at) && !parsed.has(&["-e", "--expression"]);
            !script && word.is_operand() && parsed.operands.contains(&at)
        }),
        "find" | "gfind" | "fd" | "fdfind" => varying.all(|(_, word)| word.is_operand()),
        _ => false,
    }
}

/// Programs that only look with certain arguments.
fn only_looks(name: &str, arguments: &[Word], parsed: &Parsed) -> bool {
    let texts: Vec<&str> = arguments.iter().filter_map(Word::literal).collect();
    match name {
        // Escapes were refused before.
        "find" | "gfind" => true,
        "sed" | "gsed" => {
            let others = parsed
                .options
                .iter()
                .all(|found| SED_READS.contains(&found.name.as_str()));
            let scripts = sed::scripts(arguments, parsed);
            others && !scripts.is_empty() && scripts.iter().all(|script| scripts::sed_only_prints(script))
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            let others = parsed
                .options
                .iter()
                .all(|found| AWK_READS.contains(&found.name.as_str()));
            let first = parsed.operands.first().and_then(|number| arguments.get(*number));
            others
                && first
                    .and_then(Word::literal)
                    .is_some_and(|program| scripts::awk(program) == scripts::Reading::Prints)
        }
        // Shows the date; `-s` and an operand without `+` set it.
        "date" | "gdate" => {
            let sets = parsed
                .options
                .iter()
                .any(|found| found.name == "-s" || (found.name.len() > 2 && "--set".starts_with(&found.name)));
            let operands = parsed.operands.iter().filter_map(|number| texts.get(*number));
            !sets && operands.into_iter().all(|text| text.starts_with('+'))
        }
        // A name sets it, `-F` and `-b` too.
        "hostname" => parsed.operands.is_empty() && !parsed.has(&["-F", "--file", "-b", "--boot"]),
        // `-c`, `-d`, `-w` and kin change the history.
        "history" => texts.iter().all(|text| text.chars().all(|c| c.is_ascii_digit())),
        // How the shell itself goes on after a failure, and what it shows.
        "set" => {
            !texts.is_empty()
                && texts.iter().all(|text| {
                    let flags = text.strip_prefix(['-', '+']).unwrap_or_default();
                    matches!(*text, "pipefail" | "errexit" | "nounset" | "xtrace")
                        || (!flags.is_empty() && flags.chars().all(|c| "euxo".contains(c)))
                })
        }
        // Into variables that no program looks at.
        "read" => texts.iter().all(|text| {
            matches!(*text, "-r" | "-s")
                || (!text.ends_with("_proxy")
                    && !text.is_empty()
                    && text.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        }),
        "uniq" | "guniq" => parsed.operands.len() <= 1,
        // A second operand is written, `-r` writes what it reads. Letters are not joined: only whole options are known. Behind
        // the operand it takes none.
        "xxd" => {
            let known = |found: &options::Found| match (found.name.as_str(), &found.value) {
                ("-p" | "-ps" | "-u" | "-b" | "-e" | "-i" | "-a" | "-E", Attached::Nothing) => true,
                ("-c" | "-g" | "-l" | "-o" | "-s", Attached::Word(at)) => {
                    texts.get(*at).is_some_and(|value| is_place(value))
                }
                _ => false,
            };
            let last = match parsed.operands.as_slice() {
                [] => true,
                [one] => one + 1 == arguments.len(),
                _ => false,
            };
            last && parsed.options.iter().all(known) && arguments.len() == texts.len() && !texts.contains(&"--")
        }
        "fd" | "fdfind" => true,
        "node" | "nodejs" => matches!(texts.as_slice(), ["-v" | "--version"]),
        "python3" => matches!(texts.as_slice(), ["--version"]),
        _ => false,
    }
}

/// A place in a file, or a length: `64`, `0x10`, `-16`, `+4`.
fn is_place(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit() || c == 'x')
}

/// Options of sed that change how it reads and prints, and no file.
const SED_READS: &[&str] = &[
    "-n",
    "--quiet",
    "--silent",
    "-e",
    "--expression",
    "-E",
    "-r",
    "--regexp-extended",
    "-u",
    "--unbuffered",
    "-z",
    "--null-data",
    "-s",
    "--separate",
];

/// Options of awk that say how it splits lines, and what its variables are.
const AWK_READS: &[&str] = &["-F", "--field-separator", "-v", "--assign"];

/// Whether arithmetic on a word of `test` or `printf` can run a command: `a[$(…)]` as a variable's name.
fn evaluates(name: &str, arguments: &[Word]) -> bool {
    matches!(name, "test" | "[" | "printf")
        && arguments
            .iter()
            .filter_map(Word::literal)
            .any(|text| text.contains('[') && text.contains(['$', '`']))
}

/// Values of the options that programs use for the files they write, of a program that is not known.
pub(super) fn named_outputs(words: &[Word]) -> Vec<&str> {
    const OPTIONS: &[&str] = &[
        "-o",
        "-out",
        "-output",
        "--out",
        "--out-file",
        "--outfile",
        "--output",
        "--output-file",
        "--output-path",
        "--report-file",
        "--save",
        "--save-to",
        "--write-to",
        "--dest",
        "--destination",
        "--log-file",
        "--logfile",
    ];
    let Some((name, arguments)) = words
        .split_first()
        .and_then(|(program, rest)| Some((base_name(program.literal()?), rest)))
    else {
        return Vec::new();
    };
    if programs::find(name).is_some() || is_wrapper(name) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut waiting = false;
    for text in arguments.iter().map(|word| word.literal().unwrap_or_default()) {
        if std::mem::take(&mut waiting) && !text.starts_with('-') {
            out.push(text);
        }
        match text.split_once('=') {
            Some((option, value)) if OPTIONS.contains(&option) => out.push(value),
            _ if OPTIONS.contains(&text) => waiting = true,
            // `-ofile`
            _ => out.extend(text.strip_prefix("-o").filter(|rest| rest.contains(['/', '.']))),
        }
    }
    out.retain(|text| !text.is_empty() && *text != "-");
    out
}

/// Whether what the command writes is a product of its program.
pub(super) fn writes_products(words: &[Word]) -> bool {
    let Some((name, arguments)) = words
        .split_first()
        .and_then(|(program, rest)| Some((program.literal()?, rest)))
    else {
        return false;
    };
    programs::know(name, arguments).is_some_and(|known| known.last().products)
}

/// The words up to a command that another machine runs; all, if it runs none there.
pub(super) fn words_here(words: &[Word]) -> &[Word] {
    let resolved = words
        .first()
        .and_then(Word::literal)
        .and_then(|program| wrappers::resolve(base_name(program), words));
    match resolved.filter(|(wrapper, _)| wrapper.remote) {
        Some((wrapper, start)) => {
            let program = wrappers::unwrap(wrapper, words, start).program.unwrap_or(words.len());
            words.get(..program).unwrap_or(words)
        }
        None => words,
    }
}

/// Whether it is a wrapper by a subcommand for which a rule on the program alone does not speak.
pub(super) fn needs_own_rule(words: &[Word]) -> bool {
    let name = words.first().and_then(Word::literal).map(base_name);
    name.and_then(|name| wrappers::resolve(name, words))
        .is_some_and(|(wrapper, _)| wrapper.own_rule)
}

/// Whether a program of this name only runs others: a wrapper that changes nothing, a shell, `xargs`.
pub(super) fn is_plain_wrapper(name: &str) -> bool {
    let plain = |wrapper: &wrappers::Wrapper| wrapper.kind == wrappers::Kind::Plain || wrapper.name == "xargs";
    wrappers::find(name).is_some_and(plain) || wrappers::SHELLS.contains(&name) || matches!(name, "eval" | "trap")
}

/// Whether a program of this name runs the file that it is given as a script of a shell.
pub(crate) fn runs_scripts(name: &str) -> bool {
    matches!(name, "." | "source") || wrappers::SHELLS.contains(&name)
}

/// Whether a program of this name always runs another one, or a script: not one that does so behind a subcommand alone.
pub(crate) fn always_wraps(name: &str) -> bool {
    wrappers::find(name).is_some() || wrappers::SHELLS.contains(&name) || name == "eval"
}

/// Whether the name is that of a wrapper, of a program with a subcommand that is one, or of a shell.
pub(crate) fn is_wrapper(name: &str) -> bool {
    wrappers::can_wrap(name) || wrappers::SHELLS.contains(&name) || name == "eval"
}

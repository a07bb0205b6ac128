//! Options and words by which a program runs another one, or writes or reads elsewhere than a rule for it says.
//!
//! Most of them are data, in the tables of programs; here is how they are looked for, and the few that are no option of their
//! own. It judges nothing: the evaluator does.

use super::{
    Word, acts,
    class::{always_wraps, base_name},
    dots, executing, git,
    options::{self, Attached, Parsed},
    programs::{self, Known},
    scripts,
    sed::{self, Does},
    wrappers,
};

/// An option, or another word, that makes a command run another program or write elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Escape {
    /// As it is called in the tables: `--output` for `--out=x`.
    pub(super) option: String,
    /// What it does.
    pub(super) why: &'static str,
}

impl Escape {
    fn new(option: impl Into<String>, why: &'static str) -> Self {
        Self {
            option: option.into(),
            why,
        }
    }
}

/// The first option that makes the command run another program or write elsewhere.
pub(super) fn escape(words: &[Word]) -> Option<Escape> {
    own_escape(words).or_else(|| {
        // What `npx` runs is judged by itself; its options stand in the table of what they execute.
        let wraps = words.first().and_then(Word::literal).is_some_and(always_wraps);
        own_escape(&executing::handed(words).filter(|_| !wraps)?)
    })
}

/// The escape among the words of the program itself.
fn own_escape(words: &[Word]) -> Option<Escape> {
    let (program, arguments) = words.split_first()?;
    let name = base_name(program.literal()?);
    if name == "git" {
        let why = "it makes git run another program, or write elsewhere than into the repository";
        return git::escape(arguments).map(|option| Escape::new(option, why));
    }
    if let Some((wrapper, start)) = wrappers::resolve(name, words) {
        let found = wrappers::unwrap(wrapper, words, start);
        if let Some(escape) = wrapper.escape(&found, words) {
            return Some(Escape::new(escape.option, escape.why));
        }
    }
    let known = programs::know(name, arguments)?;
    let split = known.verb.map_or(arguments.len(), |(_, from)| from);
    let globals = listed_escape(known.program, arguments.get(..split).unwrap_or_default());
    let own = || {
        let (verb, from) = known.verb?;
        listed_escape(verb, arguments.get(from..).unwrap_or_default())
    };
    globals.or_else(own).or_else(|| special_escape(name, known, arguments))
}

/// The first escape that a program's entry lists.
fn listed_escape(program: &programs::Program, arguments: &[Word]) -> Option<Escape> {
    if program.escapes.is_empty() {
        return None;
    }
    let parsed = options::parse(arguments, program.spec);
    let by_option = parsed.options.iter().find_map(|found| {
        let value = match &found.value {
            Attached::Nothing => None,
            Attached::Word(at) => arguments.get(*at).map(Word::literal),
            Attached::Text(text) => Some(Some(text.as_str())),
            Attached::Unknown => Some(None),
        };
        // A long option cut short may be the one that is meant, unless it is another one's whole name.
        let cut_short = |option: &str| {
            found.name.len() > 2
                && found.name.starts_with("--")
                && option.starts_with(&found.name)
                && !program.spec.is_whole(&found.name)
        };
        program
            .escapes
            .iter()
            .find(|escape| escape.covers(&found.name, value) || cut_short(escape.option))
            .map(|escape| Escape::new(found.name.clone(), escape.why))
    });
    // A word taken for an option's value may be an option itself, where the program knows that option without a value, or
    // with one that may be left out: `make -j --eval=…`.
    let by_value = || {
        parsed.options.iter().find_map(|found| {
            let Attached::Word(at) = found.value else { return None };
            let word = arguments.get(at).filter(|word| word.literal().is_some_and(is_option))?;
            let alone = options::parse([word], program.spec);
            let escape = alone.options.iter().find_map(|option| {
                let value = match &option.value {
                    Attached::Text(text) => Some(Some(text.as_str())),
                    Attached::Nothing => None,
                    Attached::Word(_) | Attached::Unknown => Some(None),
                };
                program.escapes.iter().find(|escape| escape.covers(&option.name, value))
            })?;
            Some(Escape::new(escape.option, escape.why))
        })
    };
    let by_word = || {
        arguments.iter().filter_map(Word::literal).find_map(|text| {
            // `vim +5` goes to a line.
            let line = text
                .strip_prefix('+')
                .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()));
            let escape = program.escapes.iter().find(|escape| escape.begins(text))?;
            (!line).then(|| Escape::new(text, escape.why))
        })
    };
    by_option.or_else(by_value).or_else(by_word)
}

/// Whether a text in SQL can reach files other than the data base that is named.
fn reaches_files(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    // `attach` is a word of its own: `attachments` is a table.
    let attaches = lower
        .split("attach")
        .skip(1)
        .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
    attaches
        || [
            "writefile",
            "readfile",
            "vacuum",
            "load_extension",
            "edit",
            "fsdir",
            "zipfile",
            "lsdir",
        ]
        .iter()
        .any(|call| {
            lower.contains(call)
                && (*call != "vacuum" || lower.contains("into"))
                && (*call != "edit" || lower.contains("edit("))
        })
}

fn is_option(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-')
}

/// Escapes that are no option of their own.
fn special_escape(name: &str, known: Known, arguments: &[Word]) -> Option<Escape> {
    let parsed = options::parse(arguments, known.program.spec);
    let texts = || arguments.iter().filter_map(Word::literal);
    let operand = |rank: usize| {
        let number = parsed.operands.get(rank)?;
        arguments.get(*number).and_then(Word::literal)
    };
    match name {
        // Wherever they stand: a word that a test takes as its value is rare.
        "find" | "gfind" => {
            let escapes = known.program.escapes;
            texts().find_map(|text| {
                let escape = escapes.iter().find(|escape| {
                    escape.option == text || (text.starts_with("-fprint") && escape.option == "-fprint")
                })?;
                Some(Escape::new(text, escape.why))
            })
        }
        "sed" | "gsed" => script_that_writes(name, arguments, &parsed)
            .or_else(|| parsed.has(&["-f", "--file"]).then(|| "-f".to_owned()))
            .map(|script| {
                Escape::new(
                    script,
                    "a script that runs programs or writes files, or is not looked into",
                )
            }),
        "awk" | "gawk" | "mawk" | "nawk" => script_that_writes(name, arguments, &parsed)
            .map(|script| Escape::new(script, "its program runs programs or writes files")),
        // A toolchain by its folder: its compiler is run.
        "cargo" | "rustc" | "rustdoc" | "rustfmt" | "cargo-fmt" | "cargo-clippy" | "clippy-driver" | "rust-gdb"
        | "rust-lldb" | "rust-analyzer"
            if texts()
                .next()
                .is_some_and(|text| text.starts_with('+') && text.contains('/')) =>
        {
            texts()
                .next()
                .map(|text| Escape::new(text, "runs the compiler that lies in the folder it names"))
        }
        // What stands behind `--` is for the compiler.
        "cargo" if texts().any(|text| matches!(text, "clippy" | "rustc" | "rustdoc")) => {
            let dashes = arguments.iter().position(|word| word.literal() == Some("--"))?;
            listed_escape(programs::find("rustc")?, arguments.get(dashes + 1..)?)
        }
        "go" if operand(0) == Some("env") => texts()
            .find(|text| matches!(*text, "-w" | "-u" | "--w" | "--u"))
            .map(|text| Escape::new(text, "it changes the settings of every later call, programs among them")),
        "curl" => texts()
            .find(|text| text.contains("%output{"))
            .map(|text| Escape::new(text, "what it prints is written to the file it names")),
        // `tar czf` without a dash: letters are options.
        "tar" | "gtar" | "bsdtar" => {
            let first = texts().next().unwrap_or_default();
            (!first.starts_with('-') && first.contains(['I', 'F', 'P']))
                .then(|| Escape::new(first, "among the letters is one that runs a program or lifts a bound"))
        }
        "less" | "more" => texts()
            .find(|text| text.starts_with('+') && text.contains('!'))
            .map(|text| Escape::new(text, "a first command that runs a program")),
        "uniq" | "guniq" | "xxd" => operand(1).map(|text| Escape::new(text, "the second operand is written")),
        "sqlite3" | "duckdb" => arguments
            .iter()
            .enumerate()
            .filter(|(at, _)| parsed.operands.first() != Some(at))
            .filter_map(|(_, word)| word.literal())
            .find_map(|text| told_escape(name, text)),
        "psql" | "mysql" | "mariadb" => texts().find_map(|text| told_escape(name, text)),
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "gfortran" | "icc" | "nvcc" => {
            // `-Wl,--as-needed,-plugin,x.so`, `-Xlinker -plugin`, `-Wl,@x`: words for the linker.
            let handed = |text: &&str| {
                let mut linkers = text.strip_prefix("-Wl,").into_iter().flat_map(|rest| rest.split(','));
                linkers.any(|word| word.starts_with('@') || loads_into_linker(word)) || loads_into_linker(text)
            };
            texts().find(handed).map(|text| {
                Escape::new(
                    text,
                    "loads a shared library into the linker, or options that are not looked into",
                )
            })
        }
        "convert" | "magick" | "mogrify" | "composite" | "montage" => texts()
            .find(|text| text.contains(":|"))
            .map(|text| Escape::new(text, "what follows `|` in the name of a file is run")),
        "printf" => texts()
            .next()
            .filter(|text| text.starts_with("-v"))
            .map(|text| Escape::new(text, "it sets a variable")),
        "make" | "gmake" | "bmake" | "remake" => texts()
            .find(|text| {
                let value = text.split_once('=').filter(|(name, _)| !name.starts_with('-'));
                value.is_some_and(|(name, value)| {
                    // `X!=command` runs it.
                    name.ends_with('!')
                        || value.contains(['$', '`', ';', '|', '&', '<', '>', '\n'])
                        || runs_a_script(value)
                })
            })
            .map(|text| {
                Escape::new(
                    text,
                    "the value is text for make or for a shell, which can run programs",
                )
            }),
        _ => None,
    }
}

/// Whether a word for the linker loads a library into it.
fn loads_into_linker(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    matches!(name, "-plugin" | "--plugin")
}

/// Whether a text is the call of a shell, or of an interpreter with its program in a word: `sh x`, `python3 -c …`.
fn runs_a_script(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let Some(program) = words.next().map(base_name) else {
        return false;
    };
    let interpreters = ["bun", "deno", "lua", "node", "perl", "php", "python", "ruby"];
    let coded = |word: &str| matches!(word, "-c" | "-e" | "-E" | "-r" | "--eval" | "eval");
    match wrappers::SHELLS.contains(&program) {
        true => words.next().is_some(),
        false => interpreters.iter().any(|name| program.starts_with(name)) && words.any(coded),
    }
}

/// Whether a text tells the client itself to run a program (backquotes behind a command of its own), or to use a file or folder.
fn tells_psql(text: &str) -> bool {
    const OF_FILES: &[&str] = &[
        "cd",
        "e",
        "edit",
        "ef",
        "ev",
        "lo_export",
        "lo_import",
        "setenv",
        "write",
    ];
    let mut commands = text.split('\\').skip(1);
    commands.any(|command| {
        let name = command.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next();
        command.contains('`') || name.is_some_and(|name| OF_FILES.contains(&name))
    })
}

/// What `COPY … TO PROGRAM 'x'` in SQL runs, as far as it can be read, however the text is quoted and whatever stands between.
pub(super) fn copied_by_program(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    lower.match_indices("program").find_map(|(at, word)| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if text.get(..at).is_some_and(|before| before.ends_with(is_word)) {
            return None;
        }
        let rest = text.get(at + word.len()..)?;
        // `'program'`
        if rest.starts_with('\'') && text.get(..at).is_some_and(|before| before.ends_with('\'')) {
            return None;
        }
        let rest = without_blanks(rest);
        // `E'…'`, `U&'…'`, `:'name'` of psql, `$tag$…$tag$`.
        let quoted = rest.trim_start_matches(['E', 'e', 'U', 'u', '&', ':']);
        if let Some(inner) = quoted.strip_prefix('\'') {
            return Some(inner.split('\'').next().unwrap_or_default());
        }
        let dollars = rest.strip_prefix('$')?;
        let (tag, inner) = dollars.split_once('$').filter(|(tag, _)| tag.chars().all(is_word))?;
        Some(inner.split(&format!("${tag}$")).next().unwrap_or_default())
    })
}

/// A text of SQL without the blanks and comments that it begins with.
fn without_blanks(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let behind = match rest.strip_prefix("--") {
            Some(comment) => comment.split_once('\n').map(|(_, behind)| behind),
            None => rest
                .strip_prefix("/*")
                .and_then(|comment| Some(comment.split_once("*/")?.1)),
        };
        match behind {
            Some(behind) => rest = behind.trim_start(),
            None => return rest,
        }
    }
}

/// What in a text that a program obeys runs programs, or reads or writes files.
pub(super) fn told_escape(name: &str, text: &str) -> Option<Escape> {
    let found = |why| Some(Escape::new(text, why));
    match name {
        "sqlite3" | "duckdb" if text.lines().any(dots::is_open) || reaches_files(text) => {
            found("a dot command or a call that can read, write or load other files")
        }
        "sqlite3" | "duckdb" => None,
        "psql" | "mysql" | "mariadb" => {
            let lower = text.to_ascii_lowercase();
            let begins = |word: &str| lower.lines().any(|line| line.trim_start().starts_with(word));
            let client = ["\\!", "\\o", "\\copy"].iter().any(|word| text.contains(word))
                || (name == "psql" && tells_psql(text))
                || copied_by_program(text).is_some()
                || (name != "psql" && ["system ", "tee "].into_iter().any(begins));
            // `\g |x`, `\w x`, `\gset`: what is behind it counts only where it is a file or a program.
            let given = ["\\g ", "\\g|", "\\gx ", "\\w ", "\\s ", "\\i ", "\\ir ", "\\include"]
                .iter()
                .any(|word| name == "psql" && text.contains(word));
            match client || given {
                true => found("a command of the client: it runs a shell, or reads or writes a file"),
                false => None,
            }
        }
        _ => {
            let runs = |line: &str| acts::console_call(line.trim_start()).is_some();
            match acts::obeys_input(name) && text.lines().any(runs) {
                true => found("a command in its input runs a program"),
                false => None,
            }
        }
    }
}

/// Whether a program takes a script of sed or awk.
pub(crate) fn takes_script(name: &str) -> bool {
    matches!(name, "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk")
}

/// What in a script of sed or awk runs programs or writes files, if its text is certain.
pub(super) fn script_that_writes(name: &str, arguments: &[Word], parsed: &Parsed) -> Option<String> {
    match name {
        "sed" | "gsed" => {
            let certain = sed::scripts(arguments, parsed)
                .into_iter()
                .find(|script| sed::escapes(script));
            let unsure = || {
                sed::all_done(arguments, parsed)
                    .into_iter()
                    .find(|does| !matches!(does, Does::Reads(_)))
            };
            certain.or_else(|| unsure().map(|_| "a script with a value in it".to_owned()))
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            let first = parsed.operands.first().and_then(|number| arguments.get(*number));
            scripts::awk_escape(first.and_then(Word::literal)?)
        }
        _ => None,
    }
}

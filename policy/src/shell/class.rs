//! What a command is: only looks, changes files, changes our own state, or anything else.
//!
//! Which commands need no rule follows what Claude Code was seen to run without one; when in doubt, it is "anything else".

use super::{
    CommandClass, Word, git,
    options::{self, Parsed},
    own,
    programs::{self, Kind, Program},
    reader, settings, wrappers,
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
        _ if steers(name, arguments) => return CommandClass::ReadOnly,
        _ => {}
    }
    let Some(known) = programs::find(name) else {
        return CommandClass::Other;
    };
    let parsed = options::parse(arguments, known.spec);
    if escape_of(name, known, &parsed, arguments).is_some() {
        return CommandClass::Other;
    }
    let certain = arguments.iter().all(|word| word.literal().is_some());
    match known.kind {
        // A word that is not certain could be the option that writes.
        Kind::Looks if certain || (known.escapes.is_empty() && name != "printf" && name != "test" && name != "[") => {
            if evaluates(name, arguments) {
                CommandClass::Other
            } else {
                CommandClass::ReadOnly
            }
        }
        Kind::Looks if matches!(name, "test" | "[" | "printf") => {
            if evaluates(name, arguments) {
                CommandClass::Other
            } else {
                CommandClass::ReadOnly
            }
        }
        Kind::LooksIf if certain && only_looks(name, arguments, &parsed) => CommandClass::ReadOnly,
        Kind::Changes => CommandClass::FileChange,
        Kind::LooksIf if name.ends_with("sed") && edits_in_place(&parsed) && plain_edit(arguments, &parsed) => {
            CommandClass::FileChange
        }
        _ => CommandClass::Other,
    }
}

/// Builtins that only steer the script, or set what only the script itself can see.
fn steers(name: &str, arguments: &[Word]) -> bool {
    let Some(texts) = arguments.iter().map(Word::literal).collect::<Option<Vec<_>>>() else {
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
        "read" => texts
            .iter()
            .all(|text| matches!(*text, "-r" | "-s" | "-rs" | "-sr") || reader::is_name(text)),
        _ => false,
    }
}

/// The name without its folder.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The first option that makes the command run another program or write elsewhere.
pub(super) fn escape(words: &[Word]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let name = base_name(program.literal()?);
    if name == "git" {
        return git::escape(arguments);
    }
    let known = programs::find(name)?;
    let parsed = options::parse(arguments, known.spec);
    escape_of(name, known, &parsed, arguments)
}

fn escape_of(name: &str, known: &Program, parsed: &Parsed, arguments: &[Word]) -> Option<String> {
    let whole = |found: &str| {
        known.escapes.iter().any(|escape| {
            *escape == found
                || (found.len() > 4
                    && found.starts_with("--")
                    && escape.starts_with(found)
                    && !known.spec.long.iter().any(|long| found.get(2..) == Some(*long)))
        })
    };
    if let Some(found) = parsed.options.iter().find(|found| whole(&found.name)) {
        return Some(found.name.clone());
    }
    let texts = || arguments.iter().filter_map(Word::literal);
    match name {
        "find" | "gfind" => texts()
            .find(|text| {
                matches!(
                    *text,
                    "-exec" | "-execdir" | "-ok" | "-okdir" | "-delete" | "-fls" | "-files0-from"
                ) || text.starts_with("-fprint")
            })
            .map(str::to_owned),
        "sed" | "gsed" => script_that_writes(name, arguments, parsed)
            .or_else(|| parsed.has(&["-f", "--file"]).then(|| "-f".to_owned())),
        "awk" | "gawk" | "mawk" | "nawk" => script_that_writes(name, arguments, parsed),
        // `tar czf` without a dash: letters are options.
        "tar" | "gtar" | "bsdtar" => {
            let first = texts().next().unwrap_or_default();
            (!first.starts_with('-') && first.contains(['I', 'F', 'P'])).then(|| first.to_owned())
        }
        "less" | "more" => texts()
            .find(|text| text.starts_with('+') && text.contains('!'))
            .map(str::to_owned),
        "socat" => texts()
            .find(|text| {
                text.to_ascii_uppercase().starts_with("EXEC:") || text.to_ascii_uppercase().starts_with("SYSTEM:")
            })
            .map(str::to_owned),
        "uniq" | "xxd" => parsed
            .operands
            .get(1)
            .and_then(|number| arguments.get(*number))
            .and_then(Word::literal)
            .map(str::to_owned),
        "printf" => texts().next().filter(|text| text.starts_with("-v")).map(str::to_owned),
        _ => None,
    }
}

/// What in a script of sed or awk runs programs or writes files, if its text is certain.
pub(super) fn script_that_writes(name: &str, arguments: &[Word], parsed: &Parsed) -> Option<String> {
    match name {
        "sed" | "gsed" => sed_scripts(arguments, parsed)
            .into_iter()
            .find(|script| sed_escapes(script)),
        "awk" | "gawk" | "mawk" | "nawk" => {
            let first = parsed.operands.first().and_then(|number| arguments.get(*number));
            awk_escape(first.and_then(Word::literal)?)
        }
        _ => None,
    }
}

/// What an awk program runs or writes: a pipe, `system`, a file behind `>`.
fn awk_escape(program: &str) -> Option<String> {
    // Outside of texts and patterns `|` is `||` or a pipe, and `>` a comparison or a file.
    let mut quote = false;
    let mut escaped = false;
    let mut pattern = false;
    let mut bare = String::new();
    for c in program.chars() {
        if pattern && !escaped && c != '\\' {
            pattern = c != '/';
            bare.push('_');
        } else if escaped {
            escaped = false;
            bare.push('_');
        } else if c == '\\' {
            escaped = true;
        } else if c == '"' {
            quote = !quote;
            bare.push('"');
        } else if quote {
            bare.push('_');
        } else if c == '/'
            && bare.trim_end().is_empty()
                | bare
                    .trim_end()
                    .ends_with(['~', '(', ',', '!', '&', '|', '{', '}', ';', '\n'])
        {
            // A pattern, because a division has something before it.
            pattern = true;
            bare.push('_');
        } else {
            bare.push(c);
        }
    }
    let without_or = bare.replace("||", "  ");
    if without_or.contains('|') {
        return Some("|".to_owned());
    }
    for word in ["system", "getline", "@load", "@include"] {
        if bare.contains(word) {
            return Some(word.to_owned());
        }
    }
    // `print … > "file"`, unless the comparison stands in parentheses or a condition.
    let mut statements = without_or.split([';', '}', '\n', '{']);
    statements
        .any(|statement| {
            let trimmed = statement.trim_start();
            let outer: String = {
                let mut depth = 0_i32;
                trimmed
                    .chars()
                    .filter(|c| {
                        match c {
                            '(' => depth += 1,
                            ')' => depth -= 1,
                            _ => {}
                        }
                        depth == 0
                    })
                    .collect()
            };
            (outer.contains("print")) && outer.contains('>')
        })
        .then(|| ">".to_owned())
}

/// The scripts of a sed command that are certain.
fn sed_scripts(arguments: &[Word], parsed: &Parsed) -> Vec<String> {
    let mut scripts = Vec::new();
    for value in parsed.values(&["-e", "--expression"]) {
        match value {
            options::Attached::Word(number) => {
                scripts.extend(arguments.get(*number).and_then(Word::literal).map(str::to_owned))
            }
            options::Attached::Text(text) => scripts.push(text.clone()),
            _ => {}
        }
    }
    if scripts.is_empty() && !parsed.has(&["-f", "--file", "-e", "--expression"]) {
        let first = parsed.operands.first().and_then(|number| arguments.get(*number));
        scripts.extend(first.and_then(Word::literal).map(str::to_owned));
    }
    scripts
}

/// Whether a sed script has a command that runs programs or writes files: `e`, `w`, `W`, and the flags `e`, `w` of `s`.
fn sed_escapes(script: &str) -> bool {
    let mut chars = script.chars().peekable();
    // At the beginning of a command: addresses are skipped.
    while let Some(c) = chars.next() {
        match c {
            'e' | 'w' | 'W' => return true,
            's' | 'y' => {
                let Some(end) = chars.next() else { return false };
                for _ in 0..2 {
                    skip_to(&mut chars, end);
                }
                while let Some(flag) = chars.next_if(|c| !matches!(c, ';' | '\n' | '}')) {
                    if matches!(flag, 'e' | 'w') {
                        return true;
                    }
                }
            }
            '/' => skip_to(&mut chars, '/'),
            '\\' => {
                if let Some(end) = chars.next() {
                    skip_to(&mut chars, end);
                }
            }
            // Labels end at `;`. Text and file names go on to the end of the line.
            'b' | 't' | 'T' | ':' => while chars.next_if(|c| !matches!(c, '\n' | ';' | '}')).is_some() {},
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => while chars.next_if(|c| *c != '\n').is_some() {},
            _ => {}
        }
    }
    false
}

fn skip_to(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, end: char) {
    let mut escaped = false;
    for c in chars.by_ref() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == end {
            return;
        }
    }
}

fn edits_in_place(parsed: &Parsed) -> bool {
    parsed
        .options
        .iter()
        .any(|found| found.name == "-i" || (found.name.len() > 3 && "--in-place".starts_with(&found.name)))
}

/// A sed call whose scripts are all known and only edit.
fn plain_edit(arguments: &[Word], parsed: &Parsed) -> bool {
    let scripts = sed_scripts(arguments, parsed);
    !scripts.is_empty() && !parsed.has(&["-f", "--file"]) && scripts.iter().all(|script| !sed_escapes(script))
}

/// Programs that only look with certain arguments.
fn only_looks(name: &str, arguments: &[Word], parsed: &Parsed) -> bool {
    let texts: Vec<&str> = arguments.iter().filter_map(Word::literal).collect();
    match name {
        // Escapes were refused before.
        "find" | "gfind" => true,
        // `-n` and a script that only prints lines: `1,5p`, `1p;5p`, `$p`.
        "sed" | "gsed" => {
            let quiet = parsed.has(&["-n", "--quiet", "--silent"]);
            let others = parsed.options.iter().all(|found| {
                matches!(
                    found.name.as_str(),
                    "-n" | "--quiet" | "--silent" | "-e" | "--expression" | "-E" | "-r" | "--regexp-extended"
                )
            });
            let scripts = sed_scripts(arguments, parsed);
            quiet && others && !scripts.is_empty() && scripts.iter().all(|script| prints_lines(script))
        }
        // Shows the date; `-s` and an operand without `+` set it.
        "date" => {
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
        "uniq" => parsed.operands.len() <= 1,
        "fd" | "fdfind" => true,
        "node" | "nodejs" => matches!(texts.as_slice(), ["-v" | "--version"]),
        "python3" => matches!(texts.as_slice(), ["--version"]),
        "docker" => matches!(texts.first(), Some(&("ps" | "images" | "logs" | "inspect"))),
        _ => false,
    }
}

/// A sed script of the form `<line>p`, `<line>,<line>p`, several joined by `;`.
fn prints_lines(script: &str) -> bool {
    let line = |text: &str| text == "$" || (!text.is_empty() && text.chars().all(|c| c.is_ascii_digit()));
    script
        .split([';', '\n'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .all(|part| {
            part.strip_suffix('p').is_some_and(|lines| match lines.split_once(',') {
                Some((from, to)) => line(from) && line(to.trim_start_matches('+')),
                None => line(lines),
            })
        })
}

/// Whether arithmetic on a word of `test` or `printf` can run a command: `a[$(…)]` as a variable's name.
fn evaluates(name: &str, arguments: &[Word]) -> bool {
    matches!(name, "test" | "[" | "printf")
        && arguments
            .iter()
            .filter_map(Word::literal)
            .any(|text| text.contains('[') && text.contains(['$', '`']))
}

/// Whether the name is that of a wrapper or of a shell.
pub(crate) fn is_wrapper(name: &str) -> bool {
    wrappers::find(name).is_some() || wrappers::SHELLS.contains(&name) || name == "eval"
}

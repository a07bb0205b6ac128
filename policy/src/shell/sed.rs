//! What a script of sed does besides changing text: programs that it runs, files that it reads and writes.
//!
//! Scripts are read as GNU's sed reads them, and once more as BSD's and busybox' do, for which brackets hide the character
//! that ends a pattern. What either does counts. Whatever is not understood is skipped, so a command may be seen where none
//! is (a nag), never the other way around.

use std::{iter::Peekable, str::Chars};

use super::{
    Word,
    options::{Attached, Parsed},
};

/// Something that a script does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// Gives this text to a shell: `e CMD`.
    Runs(String),
    /// Gives a text to a shell that it makes while it runs: `e` alone, the flag `e` of `s`.
    RunsUnknown,
    /// Reads a file: `r`, `R`.
    Reads(String),
    /// Writes a file: `w`, `W`, the flag `w` of `s`.
    Writes(String),
}

/// The scripts of a sed command that are certain.
pub(super) fn scripts(arguments: &[Word], parsed: &Parsed) -> Vec<String> {
    let mut scripts = Vec::new();
    for value in parsed.values(&["-e", "--expression"]) {
        match value {
            Attached::Word(number) => {
                scripts.extend(arguments.get(*number).and_then(Word::literal).map(str::to_owned));
            }
            Attached::Text(text) => scripts.push(text.clone()),
            _ => {}
        }
    }
    if scripts.is_empty() && !parsed.has(&["-f", "--file", "-e", "--expression"]) {
        let mut operands = parsed
            .operands
            .iter()
            .map(|number| arguments.get(*number).and_then(Word::literal));
        let first = operands.next().flatten();
        scripts.extend(first.map(str::to_owned));
        // BSD's `-i` takes the next word: `sed -i '' SCRIPT FILE`.
        let ending = first.is_some_and(|text| text.is_empty() || text.starts_with('.'));
        if ending && parsed.has(&["-i", "-I"]) {
            scripts.extend(operands.next().flatten().map(str::to_owned));
        }
    }
    scripts
}

/// Whether one of its scripts comes from its input, or from a file that is made while it runs: `-f /dev/stdin`.
pub(super) fn reads_its_script(arguments: &[Word], parsed: &Parsed) -> bool {
    parsed.values(&["-f", "--file"]).any(|value| {
        let file = match value {
            Attached::Word(number) => arguments.get(*number).and_then(Word::literal),
            Attached::Text(text) => Some(text.as_str()),
            Attached::Nothing | Attached::Unknown => None,
        };
        file.is_none_or(|file| file == "-" || file.starts_with("/dev/") || file.starts_with("/proc/"))
    })
}

/// Whether a script runs programs or writes files.
pub(super) fn escapes(script: &str) -> bool {
    does(script).iter().any(|does| !matches!(does, Does::Reads(_)))
}

/// What all scripts of a sed command do, as far as they are known: of `"1e $X"` that it runs something. A file's name that
/// is not known is empty.
pub(super) fn all_done(arguments: &[Word], parsed: &Parsed) -> Vec<Does> {
    let mut found: Vec<Does> = scripts(arguments, parsed)
        .iter()
        .flat_map(|script| does(script))
        .collect();
    let given = parsed.values(&["-e", "--expression"]).filter_map(|value| match value {
        Attached::Word(number) => Some(*number),
        _ => None,
    });
    let scripted = parsed.has(&["-e", "-f", "--expression", "--file"]);
    let first = parsed.operands.first().filter(|_| !scripted).copied();
    for number in given.chain(first) {
        let Some(Word::Dynamic { source, .. }) = arguments.get(number) else {
            continue;
        };
        let script = without_values(source);
        // All of it comes from elsewhere, such as a file: it may hold any command.
        if script.contains(UNKNOWN) && script.chars().all(|c| c == UNKNOWN || c == ';' || c.is_whitespace()) {
            found.push(Does::RunsUnknown);
        }
        let known = |file: String| if file.contains(UNKNOWN) { String::new() } else { file };
        found.extend(does(&script).into_iter().map(|does| match does {
            Does::Runs(_) | Does::RunsUnknown => Does::RunsUnknown,
            Does::Reads(file) => Does::Reads(known(file)),
            Does::Writes(file) => Does::Writes(known(file)),
        }));
    }
    found
}

/// Stands for what only the shell knows.
const UNKNOWN: char = '\u{fffd}';

/// The text of a word as written, with a mark for each expansion in it, and without its quotes.
fn without_values(source: &str) -> String {
    let mut text = String::new();
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' | '\'' => {}
            '`' => {
                while chars.next().is_some_and(|c| c != '`') {}
                text.push(UNKNOWN);
            }
            '$' => {
                let mut depth = 0_usize;
                while let Some(c) = chars.next_if(|c| depth > 0 || c.is_alphanumeric() || matches!(c, '_' | '{' | '('))
                {
                    match c {
                        '{' | '(' => depth += 1,
                        '}' | ')' => {
                            depth = depth.saturating_sub(1);
                            if depth == 0 {
                                break;
                            }
                        }
                        _ => {}
                    }
                }
                text.push(UNKNOWN);
            }
            c => text.push(c),
        }
    }
    text
}

/// What a script does, in no certain order.
pub(super) fn does(script: &str) -> Vec<Does> {
    let mut found = Vec::new();
    read(script, false, &mut found);
    if script.contains('[') {
        read(script, true, &mut found);
    }
    found
}

fn add(found: &mut Vec<Does>, does: Does) {
    // Few in any script that does something; past that it is only one that asks.
    if found.len() < MOST && !found.contains(&does) {
        found.push(does);
    }
}

/// Most things noted of one script.
const MOST: usize = 64;

fn read(script: &str, brackets: bool, found: &mut Vec<Does>) {
    let mut chars = script.chars().peekable();
    // At the beginning of a command: addresses are skipped.
    while let Some(c) = chars.next() {
        match c {
            'e' => runs(&mut chars, found),
            'w' | 'W' => names(&mut chars, Does::Writes, found),
            'r' | 'R' => names(&mut chars, Does::Reads, found),
            's' | 'y' => {
                let Some(end) = chars.next() else { return };
                skip_to(&mut chars, end, brackets);
                skip_to(&mut chars, end, false);
                while let Some(flag) = chars.next_if(|c| !matches!(c, ';' | '\n' | '}' | '#')) {
                    match flag {
                        'e' => add(found, Does::RunsUnknown),
                        'w' => names(&mut chars, Does::Writes, found),
                        _ => {}
                    }
                }
            }
            '/' => skip_to(&mut chars, '/', brackets),
            '\\' => {
                if let Some(end) = chars.next() {
                    skip_to(&mut chars, end, brackets);
                }
            }
            // A label ends at a blank, too, and a command may follow it.
            'b' | 't' | 'T' | ':' => {
                while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                while chars
                    .next_if(|c| !matches!(c, ';' | '}') && !c.is_whitespace())
                    .is_some()
                {}
            }
            // A backslash takes the text to the next line.
            'a' | 'i' | 'c' => {
                while let Some(c) = chars.next_if(|c| *c != '\n') {
                    if c == '\\' {
                        chars.next();
                    }
                }
            }
            '#' => drop(line(&mut chars)),
            _ => {}
        }
    }
}

/// The rest of the line.
fn line(chars: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        text.push(c);
    }
    text
}

/// The name of a file on the rest of a line: GNU's sed leaves out ASCII blanks before it and keeps those behind it, others
/// may leave out both.
fn names(chars: &mut Peekable<Chars<'_>>, does: fn(String) -> Does, found: &mut Vec<Does>) {
    let line = line(chars);
    let name = line.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}');
    for name in [name, name.trim()] {
        add(found, does(name.to_owned()));
    }
}

/// The command behind `e`: the rest of the line, and of the next where a backslash stands at its end.
fn runs(chars: &mut Peekable<Chars<'_>>, found: &mut Vec<Does>) {
    let (mut text, mut escaped) = (String::new(), false);
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        if c == '\\' {
            escaped = true;
            text.extend(chars.next().filter(|c| *c != '\n'));
        } else {
            text.push(c);
        }
    }
    let text = text.trim();
    if text.is_empty() || escaped {
        // What sed makes of a backslash is not read here.
        add(found, Does::RunsUnknown);
    }
    if !text.is_empty() {
        add(found, Does::Runs(text.to_owned()));
    }
}

fn skip_to(chars: &mut Peekable<Chars<'_>>, end: char, brackets: bool) {
    while let Some(c) = chars.next() {
        if c == end {
            return;
        }
        match c {
            '\\' => drop(chars.next()),
            '[' if brackets => {
                // `[]a]` and `[^]a]` hold a closing one.
                chars.next_if_eq(&'^');
                chars.next_if_eq(&']');
                while chars.next().is_some_and(|c| c != ']') {}
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(script: &str) -> Vec<String> {
        let text = |does| match does {
            Does::Runs(text) => text,
            Does::RunsUnknown => "?".to_owned(),
            Does::Reads(file) => format!("< {file}"),
            Does::Writes(file) => format!("> {file}"),
        };
        does(script).into_iter().map(text).collect()
    }

    /// Each of these was tried with GNU's sed 4.9.
    #[test]
    fn what_gnu_sed_runs_is_found() {
        for (script, expected) in [
            ("1e rm x", vec!["rm x"]),
            ("e rm x;rm y", vec!["rm x;rm y"]),
            ("1eecho", vec!["echo"]),
            ("$!N;/a/,+2e rm x", vec!["rm x"]),
            ("/a;b/Ie rm x", vec!["rm x"]),
            ("\\,a/,e rm x", vec!["rm x"]),
            ("1{e rm x\n}", vec!["rm x"]),
            (":a e rm x", vec!["rm x"]),
            ("b\ne rm x", vec!["rm x"]),
            ("1e\\\nrm x", vec!["?", "rm x"]),
            ("s/a/b/e", vec!["?"]),
            ("s/a/b/;e", vec!["?"]),
            ("s,a,b,gw x y\ne rm x", vec!["> x y", "rm x"]),
            ("1r in\n1e rm x", vec!["< in", "rm x"]),
            ("a text\\\nof two\n1e rm x", vec!["rm x"]),
            ("i\\\n  text\ne rm x", vec!["rm x"]),
            ("1l 5;1e rm x", vec!["rm x"]),
            ("W out", vec!["> out"]),
        ] {
            assert_eq!(ran(script), expected, "{script:?}");
        }
    }

    #[test]
    fn what_only_edits_runs_nothing() {
        for script in [
            "s/e/w/g",
            "s/a/b/ # every one",
            "/we/d",
            "y/ew/we/",
            "a\\\nevery word",
            "1i every",
            ":e;N;b e",
            "$d;1,5p",
        ] {
            assert_eq!(ran(script), Vec::<String>::new(), "{script:?}");
        }
    }

    #[test]
    fn a_script_with_values_in_it_tells_what_it_does() {
        let done = |source: &str| {
            let words = [Word::Dynamic {
                source: source.to_owned(),
                pattern: false,
            }];
            let parsed = Parsed {
                operands: vec![0],
                ..Parsed::default()
            };
            all_done(&words, &parsed)
        };
        assert_eq!(done("\"1e $X\""), [Does::RunsUnknown]);
        assert_eq!(done("\"s/$A/${B/e/w}/;w out\""), [Does::Writes("out".to_owned())]);
        assert_eq!(done("\"1w $(echo a)\""), [Does::Writes(String::new())]);
        assert_eq!(done("\"s/$A/$(echo e)/g\""), []);
    }

    #[test]
    fn brackets_hide_the_end_of_a_pattern_in_some_seds() {
        assert_eq!(ran("s/[/]/;s,/;w out"), ["> out"]);
    }
}

//! The output of commands that print a constant: `$(echo rm)`, `$(printf 'r\155')`, `cat <<EOF`.
//!
//! Only a guess for the deny side: it is never taken as certain, because `echo` may be a function by then. The folder that
//! `$(pwd)` or `$(git rev-parse --show-toplevel)` prints is known as `$PWD` is.

use super::{
    ShellContext, commits,
    expand::{Digits, State, Text, Value},
    syntax::{Form, List, Node, Piece, RawWord, Redirect, RedirectOperator, Simple},
};

/// What a command substitution may give; never exact.
pub(super) fn output(list: &List, state: &State) -> Value {
    let text = match list.0.as_slice() {
        [item] if item.rest.is_empty() && !item.background => match item.first.stages.as_slice() {
            [node] => printed(node),
            _ => None,
        },
        _ => None,
    };
    let digits = prints_number(list)
        .filter(|_| !state.may_be_another())
        .unwrap_or_default();
    Value {
        choices: text
            .map(|text| Text {
                text: text.trim_end_matches('\n').to_owned(),
                glob: false,
            })
            .into_iter()
            .collect(),
        exact: false,
        numeric: digits != Digits::No,
        digits,
        single: false,
        hash: super::commits::are_printed(list),
    }
}

/// Whether a substitution prints numbers, in one word or several, or nothing, if its program is the one that its name says.
fn prints_number(list: &List) -> Option<Digits> {
    let [item] = list.0.as_slice() else { return None };
    let [node] = item.first.stages.as_slice() else {
        return None;
    };
    let Form::Simple(Simple { assignments, words }) = &node.form else {
        return None;
    };
    let reads = |redirect: &Redirect| {
        matches!(
            redirect,
            Redirect::File {
                operator: RedirectOperator::Read,
                ..
            }
        ) || commits::drops_messages(redirect)
    };
    let plain = item.rest.is_empty() && !item.background && !item.first.negated && assignments.is_empty();
    if !plain || !node.redirects.iter().all(reads) {
        return None;
    }
    let reads_a_file = || node.redirects.iter().any(|redirect| !commits::drops_messages(redirect));
    let number = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
    // What is counted up to may be a number that is not known, too.
    let words: Option<Vec<&str>> = words
        .iter()
        .map(|word| match word.pieces.as_slice() {
            [Piece::Arithmetic(_)] => Some("-1"),
            _ => word.bare(),
        })
        .collect();
    match words.unwrap_or_default().as_slice() {
        ["seq", ends @ ..] if !ends.is_empty() && ends.iter().all(number) => Some(Digits::Natural),
        ["seq", ends @ ..] if !ends.is_empty() => {
            let whole = |word: &&str| number(&word.strip_prefix('-').unwrap_or(word));
            ends.iter().all(whole).then_some(Digits::Whole)
        }
        ["wc", "-l" | "-c" | "-w" | "-m"] => reads_a_file().then_some(Digits::Natural),
        ["nproc"] | ["id", "-u" | "-g"] | ["date", "+%s"] => Some(Digits::Natural),
        ["git", "rev-list", "--count", revision] => (!revision.starts_with('-')).then_some(Digits::Natural),
        _ => None,
    }
}

/// The folder that a substitution prints: where the shell is, or git's work tree around where the line begins.
///
/// A function or alias of the name would print something else, so the line must have no sign of any; for git also none of
/// another search path, of a variable of git's, and no command of git's before that changes something.
pub(super) fn place(list: &List, state: &State, context: &ShellContext) -> Option<Value> {
    let [item] = list.0.as_slice() else { return None };
    let [node] = item.first.stages.as_slice() else {
        return None;
    };
    let Form::Simple(Simple { assignments, words }) = &node.form else {
        return None;
    };
    let alone = item.rest.is_empty() && !item.background && !item.first.negated;
    if !alone
        || !assignments.is_empty()
        || !node.redirects.iter().all(commits::drops_messages)
        || state.may_be_another()
    {
        return None;
    }
    let words: Vec<&str> = words.iter().map(RawWord::bare).collect::<Option<_>>()?;
    let value = match words.as_slice() {
        ["pwd"] if node.redirects.is_empty() => state.here(),
        ["git", "rev-parse", "--show-toplevel"] => {
            let where_it_began = !state.elsewhere && state.directories == [context.cwd.clone()];
            let toplevel = state
                .toplevel
                .as_ref()
                .filter(|_| where_it_began && !state.signs.moves_git && !sets_git(state))?;
            Value::literal(toplevel.as_str())
        }
        _ => return None,
    };
    Some(value)
}

/// Whether a variable was set from which git takes its work tree, or by which it is found.
fn sets_git(state: &State) -> bool {
    let steers = |name: &String| name == "PATH" || name.starts_with("GIT_");
    state.variables.keys().any(steers)
}

/// What a command prints, if that is a constant.
pub(super) fn printed(node: &Node) -> Option<String> {
    let Form::Simple(simple) = &node.form else {
        return None;
    };
    let words = simple
        .words
        .iter()
        .map(super::syntax::RawWord::flat)
        .collect::<Option<Vec<_>>>()?;
    let mut words = words.iter().map(String::as_str);
    match (words.next()?, node.redirects.as_slice()) {
        ("echo", []) => {
            let mut escapes = false;
            let words: Vec<&str> = words
                .skip_while(|word| {
                    escapes |= matches!(*word, "-e" | "-ne" | "-en");
                    matches!(*word, "-n" | "-e" | "-E" | "-ne" | "-en")
                })
                .collect();
            let text = words.join(" ");
            Some(if escapes { unescape(&text) } else { text } + "\n")
        }
        ("printf", []) => {
            let format = words.next().filter(|format| !format.starts_with('-'))?;
            let mut text = String::new();
            for (number, part) in unescape(format).split("%s").enumerate() {
                if number > 0 {
                    text.push_str(words.next().unwrap_or_default());
                }
                if part.contains('%') {
                    return None;
                }
                text.push_str(part);
            }
            words.next().is_none().then_some(text)
        }
        ("cat", [redirect]) if words.next().is_none() => script(redirect),
        _ => None,
    }
}

/// The pieces of a here-document or here-string, and what stands behind them.
fn given(redirect: &Redirect) -> Option<(&[Piece], &'static str)> {
    match redirect {
        Redirect::Here { body, stdin: true } => Some((body.get()?.as_slice(), "")),
        Redirect::HereString { word, stdin: true } => Some((word.pieces.as_slice(), "\n")),
        Redirect::Here { .. } | Redirect::HereString { .. } | Redirect::File { .. } => None,
    }
}

/// What stands in a here-document or here-string, without what only the shell puts there.
pub(super) fn said(redirect: &Redirect) -> String {
    let (pieces, _) = given(redirect).unwrap_or_default();
    let texts = pieces.iter().filter_map(|piece| match piece {
        Piece::Plain(part) | Piece::Quoted(part) => Some(&**part),
        _ => None,
    });
    texts.collect()
}

/// The text of a here-document or here-string, if it is a constant.
pub(super) fn script(redirect: &Redirect) -> Option<String> {
    let (pieces, end) = given(redirect)?;
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Plain(part) | Piece::Quoted(part) => text.push_str(part),
            _ => return None,
        }
    }
    text.push_str(end);
    Some(text)
}

/// Resolves the backslash sequences of `printf` and `echo -e`.
fn unescape(text: &str) -> String {
    let mut result = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            result.push(c);
            continue;
        }
        let Some(code) = chars.next() else {
            result.push('\\');
            break;
        };
        let (radix, most, mut value) = match code {
            'n' => {
                result.push('\n');
                continue;
            }
            't' => {
                result.push('\t');
                continue;
            }
            '0'..='7' => (8, 2, code.to_digit(8).unwrap_or(0)),
            'x' => (16, 2, 0),
            other => {
                result.push(other);
                continue;
            }
        };
        for _ in 0..most {
            let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            chars.next();
            value = value * radix + digit;
        }
        result.extend(char::from_u32(value));
    }
    result
}

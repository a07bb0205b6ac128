//! The output of commands that print a constant: `$(echo rm)`, `$(printf 'r\155')`, `cat <<EOF`.
//!
//! Only a guess for the deny side: it is never taken as certain, because `echo` may be a function by then. The folder that
//! `$(pwd)` or `$(git rev-parse --show-toplevel)` prints is known as `$PWD` is.

use super::{
    ShellContext, commits,
    expand::{Digits, State, Text, Value, Words},
    syntax::{Form, Item, List, Node, Piece, RawWord, Redirect, RedirectOperator, Simple},
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
    let surely = !state.may_be_another();
    let (digits, counted) = numbers(list).filter(|_| surely).unwrap_or_default();
    let hash = commits::are_printed(list);
    let words = match hash {
        Some(words) => words,
        None if surely && is_name(list) => Words::AtMostOne,
        None => counted,
    };
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
        words,
        hash: hash.is_some(),
    }
}

/// The command whose output alone a substitution is: the last one of its only pipeline.
fn last(list: &List) -> Option<(&Item, &Node)> {
    match list.0.as_slice() {
        [item] if !item.background => Some((item, item.first.stages.last()?)),
        _ => None,
    }
}

/// The words of a command that is given nothing but words that are known, and whose output is not turned elsewhere; and whether
/// it is given an input.
fn plain_words(node: &Node) -> Option<(Vec<String>, bool)> {
    let Form::Simple(Simple { assignments, words }) = &node.form else {
        return None;
    };
    let reads = |redirect: &Redirect| {
        matches!(
            redirect,
            Redirect::File {
                operator: RedirectOperator::Read,
                stdin: true,
                ..
            }
        )
    };
    let given = node.redirects.iter().any(reads);
    let quiet = |redirect: &Redirect| reads(redirect) || commits::drops_messages(redirect);
    if !assignments.is_empty() || !node.redirects.iter().all(quiet) {
        return None;
    }
    // What is counted up to may be a number that is not known, too.
    let word = |word: &RawWord| match word.pieces.as_slice() {
        [Piece::Arithmetic(_)] => Some("-1".to_owned()),
        [Piece::Plain(text)] if text.contains(['*', '?', '[']) || text.starts_with('~') || has_braces(text) => None,
        _ => word.flat(),
    };
    Some((words.iter().map(word).collect::<Option<_>>()?, given))
}

/// Whether a substitution prints numbers, and how many words, if its programs are those that their names say. Behind `||`
/// something else may print, a number as well.
fn numbers(list: &List) -> Option<(Digits, Words)> {
    let (item, _) = last(list)?;
    let mut stages = item.first.stages.as_slice();
    // Of what the last one prints it takes characters away.
    while let [before @ .., node] = stages
        && !before.is_empty()
        && only_takes_away(node)
    {
        stages = before;
    }
    let [before @ .., node] = stages else { return None };
    let (digits, mut words) = counts(node, !before.is_empty()).filter(|_| !item.first.negated)?;
    let mut least = digits;
    for (_, pipeline) in &item.rest {
        let [node] = pipeline.stages.as_slice() else {
            return None;
        };
        let (own, _) = plain_words(node).filter(|_| !pipeline.negated)?;
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        match own.as_slice() {
            ["true" | ":"] => {}
            ["echo", number] if is_digits(number) => words = Words::Any,
            _ => {
                least = least.min(counts(node, false)?.0);
                words = Words::Any;
            }
        }
    }
    Some((least, words))
}

/// Whether a command passes on its input but for some characters: `tr -d ' '`.
fn only_takes_away(node: &Node) -> bool {
    plain_words(node).is_some_and(|(words, given)| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        !given && matches!(words.as_slice(), ["tr", "-d", set] if !set.starts_with('-'))
    })
}

/// Whether a text may become several words: `{a,b}`, `{1..3}`; not `@{u}`.
fn has_braces(text: &str) -> bool {
    let mut behind = text.split('{').skip(1);
    behind.any(|rest| rest.contains(',') || rest.split('}').next().is_some_and(|inner| inner.contains("..")))
}

fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_digit())
}

/// Whether a command prints numbers, and how many words; `fed`: by a pipe.
fn counts(node: &Node, fed: bool) -> Option<(Digits, Words)> {
    let (words, given) = plain_words(node)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let one = Some((Digits::Natural, Words::AtMostOne));
    match words.as_slice() {
        ["seq", ends @ ..] if !ends.is_empty() && ends.iter().all(|end| is_digits(end)) => {
            Some((Digits::Natural, Words::Any))
        }
        ["seq", ends @ ..] if !ends.is_empty() => {
            let whole = |word: &&str| is_digits(word.strip_prefix('-').unwrap_or(word));
            ends.iter().all(whole).then_some((Digits::Whole, Words::Any))
        }
        // With the name of a file it prints that, too.
        ["wc", "-l" | "-c" | "-w" | "-m"] if given || fed => one,
        ["nproc"] | ["nproc", "--all"] | ["id", "-u" | "-g"] | ["date", "+%s"] => one,
        // Of one file: of several it prints the names, too.
        ["grep", "-c", pattern] if !pattern.starts_with('-') && (given || fed) => one,
        ["grep", "-c", pattern, file] if !pattern.starts_with('-') && !file.starts_with('-') => one,
        ["git", "rev-list", "--count", revision] if !revision.starts_with('-') => one,
        _ => None,
    }
}

/// Whether a substitution prints one name that cannot hold blanks.
fn is_name(list: &List) -> bool {
    let Some((item, node)) = last(list).filter(|(item, _)| item.rest.is_empty() && !item.first.negated) else {
        return false;
    };
    let words = plain_words(node).filter(|_| item.first.stages.len() == 1);
    let words = words.unwrap_or_default().0;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["uname"] | ["uname", "-s" | "-m"] => true,
        words => words == ["git", "branch", "--show-current"],
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

//! Texts that reach a command by another way than its own words: its input, what stands in front of the pipe, the values of
//! arrays and parameters.
//!
//! For questions only: a text is given too often rather than too seldom, and nothing is allowed for its sake.

use crate::shell::{
    Analysis, Command, CommandClass, Context, Word,
    inert::{self, Words},
};

/// Programs that print their words.
const PRINTERS: &[&str] = &["echo", "print", "printf"];
/// Most texts that are given for one command, and most commands of the line that are looked at for it.
const MOST: usize = 1024;

/// The text of a word, as it is known or as it is written.
pub(super) fn source(word: &Word) -> &str {
    match word {
        Word::Literal(text) | Word::Dynamic { source: text, .. } => text,
    }
}

/// What is known about the words of a command. A call of a function of the line is what the commands in there do with what
/// they are given.
pub(super) fn words_of(analysis: &Analysis, command: &Command) -> Words {
    let Some(name) = command.program().filter(|_| command.class == CommandClass::Function) else {
        return inert::words(command);
    };
    let within = |inner: &&Command| {
        let is_its =
            |context: &Context| matches!(context, Context::Group(label) if label.strip_suffix("()") == Some(name));
        inner.seen_through.iter().any(is_its)
    };
    let hands_on = |inner: &Command| inner.words.iter().any(is_given) && inert::words(inner) == Words::Unknown;
    // Of more commands than are looked at, one may hand it on.
    let many = analysis.commands.len() > MOST;
    if many || analysis.commands.iter().filter(within).any(hands_on) {
        Words::Unknown
    } else {
        Words::Inert
    }
}

/// Whether a word may be what another part of the line put into it.
fn is_given(word: &Word) -> bool {
    matches!(word, Word::Dynamic { source, pattern: false } if source.contains('$'))
}

/// The texts that reach a command from elsewhere in the line; `None` if they are more than are looked at.
pub(super) fn texts<'c>(
    line: &'c str,
    analysis: &'c Analysis,
    index: usize,
    command: &'c Command,
) -> Option<Vec<&'c str>> {
    let here = |at: usize| match analysis.inputs.get(&at) {
        Some(Some(text)) => Some(text.as_str()),
        // Not certain to its end: then the line has it.
        Some(None) => line.split_once("<<").map(|(_, text)| text),
        None => None,
    };
    let said = |at: usize| analysis.said.get(&at).map(String::as_str);
    let mut out: Vec<&str> = here(index).into_iter().chain(said(index)).collect();
    let before = analysis.pipes.iter().filter(|pipe| pipe.to.contains(&index));
    let mut left = MOST;
    for at in before.flat_map(|pipe| pipe.from.clone()) {
        left = left.checked_sub(1)?;
        out.extend(here(at));
        out.extend(said(at));
        let printer = analysis.commands.get(at).filter(|command| {
            let name = command.program_name().unwrap_or_default();
            PRINTERS.contains(&name)
        });
        let words = printer.into_iter().flat_map(|printer| printer.words.iter().skip(1));
        out.extend(words.map(source).take(MOST + 1));
    }
    if command.words.iter().any(is_given) {
        for other in &analysis.commands {
            left = left.checked_sub(1)?;
            let sets = other.program_name() == Some("set");
            out.extend(other.words.iter().skip(1).filter(|_| sets).map(source).take(MOST + 1));
            // `a=(x y)`: several words, of which one value alone says nothing.
            let arrays = other.assignments.iter().map(|assignment| source(&assignment.value));
            out.extend(arrays.filter(|value| value.starts_with('(')).take(MOST + 1));
        }
    }
    (out.len() <= MOST).then_some(out)
}

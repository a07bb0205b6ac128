//! Tests of the analysis as a whole: tables of lines, laws, and bounds.

mod bounds;
mod laws;
mod table;

use super::{Analysis, FileTarget, Limits, OpaqueReason, ShellContext, Word, analyse};
use crate::AbsPath;

fn context() -> ShellContext {
    ShellContext {
        cwd: AbsPath::parse("/home/dev/proj").unwrap(),
        home: Some(AbsPath::parse("/home/dev").unwrap()),
    }
}

fn analysed(line: &str) -> Analysis {
    analyse(line, &context(), Limits::default())
}

/// Words for people: literals quoted as bash would need them, the others in angle brackets.
fn shown(words: &[Word]) -> String {
    let words: Vec<String> = words
        .iter()
        .map(|word| match word {
            Word::Literal(text) if text.is_empty() => "''".to_owned(),
            Word::Literal(text) => text.clone(),
            Word::Dynamic { source, .. } => format!("<{source}>"),
        })
        .collect();
    words.join(" ")
}

fn commands(analysis: &Analysis) -> Vec<String> {
    analysis.commands.iter().map(|command| shown(&command.words)).collect()
}

fn files(analysis: &Analysis) -> Vec<String> {
    let all = analysis.commands.iter().flat_map(|command| &command.files);
    all.map(|file| {
        let target = match &file.target {
            FileTarget::Path(path) => path.to_string(),
            FileTarget::Pattern { pattern, .. } => pattern.clone(),
            FileTarget::Unknown(source) => format!("?{source}"),
        };
        format!("{:?} {target}", file.access)
    })
    .collect()
}

fn reasons(analysis: &Analysis) -> Vec<OpaqueReason> {
    analysis.opaque.iter().map(|opaque| opaque.reason).collect()
}

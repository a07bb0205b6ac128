//! The texts that a command is compared as, restated: an allow sees it as written and in canonical form, a deny or ask also
//! without quotes, without the program's folder, with and without assignments, and without git's global options.

use portcullis_policy::shell::{Command, Word, quote};

fn joined(words: &[Word], quoted: bool) -> String {
    let texts: Vec<String> = words
        .iter()
        .map(|word| match word {
            Word::Literal(text) if quoted => quote(&["x", text])[2..].to_owned(),
            Word::Literal(text) | Word::Dynamic { source: text, .. } => text.clone(),
        })
        .collect();
    texts.join(" ")
}

fn assigned(command: &Command) -> String {
    command
        .assignments
        .iter()
        .map(|assignment| {
            format!(
                "{}={} ",
                assignment.name,
                joined(std::slice::from_ref(&assignment.value), true)
            )
        })
        .collect()
}

pub(crate) fn narrow(command: &Command) -> Vec<String> {
    if command.words.is_empty() {
        return Vec::new();
    }
    let plain = [command.text.clone(), joined(&command.words, true)];
    let front = assigned(command);
    let with = plain.iter().map(|text| format!("{front}{text}")).collect();
    if front.is_empty() || !command.assignments_harmless() {
        return with;
    }
    [with, plain.to_vec()].concat()
}

pub(crate) fn wide(command: &Command) -> Vec<String> {
    let Some(first) = command.words.first() else {
        return Vec::new();
    };
    let mut spellings = vec![command.words.clone()];
    if let Word::Literal(program) = first {
        let name = program.rsplit('/').next().unwrap().to_owned();
        let mut words = command.words.clone();
        words[0] = Word::Literal(name.clone());
        spellings.push(words.clone());
        if name == "git" {
            while words.len() > 1 && words[1].literal().is_some_and(|word| word.starts_with('-')) {
                let takes_value = words[1].literal() == Some("-C");
                words.remove(1);
                if takes_value && words.len() > 1 {
                    words.remove(1);
                }
            }
            spellings.push(words);
        }
    }
    let mut texts = vec![command.text.clone()];
    texts.extend(
        spellings
            .iter()
            .flat_map(|words| [joined(words, true), joined(words, false)]),
    );
    let front = assigned(command);
    let with: Vec<String> = texts.iter().map(|text| format!("{front}{text}")).collect();
    texts.extend(with);
    texts
}

/// The command with `\0` for each word that is only known at run time; `None` if there is none.
pub(crate) fn with_gaps(command: &Command) -> Option<String> {
    let unknown = |word: &Word| matches!(word, Word::Dynamic { .. });
    command.words.iter().any(unknown).then(|| {
        let words: Vec<&str> = command
            .words
            .iter()
            .enumerate()
            .map(|(at, word)| match word {
                Word::Dynamic { .. } => "\0",
                Word::Literal(text) if at == 0 => text.rsplit('/').next().unwrap(),
                Word::Literal(text) => text,
            })
            .collect();
        words.join(" ")
    })
}

//! Files of a project that builders run without being told their names, written by the line itself: `printf 'x:;curl x' > Makefile
//! && make`.
//!
//! `written` follows the files that a line runs by their names. A builder finds its file by itself (`shell::builders`), and editing
//! one and then building is everyday work; so it asks only beside a deny on commands whose program the line mentions in front of the
//! build. It does not look at what scripts of the project run in turn, nor at what runs in an image that is built.

use crate::shell::{Access, Analysis, Command, FileTarget, Word, builders::Written};

use super::world::World;

impl World<'_> {
    /// Commands, by number, that find and run a file which the line wrote before, where it mentions a program that a deny or ask
    /// is about.
    pub(super) fn builds_what_it_wrote(&self, analysis: &Analysis) -> Vec<usize> {
        let mut written = Written::default();
        let mut out = Vec::new();
        for (index, command) in analysis.commands.iter().enumerate() {
            // What its words substitute is run before it.
            let end = substituted_until(analysis, index);
            for inner in analysis.commands.get(index + 1..end).unwrap_or_default() {
                note(&mut written, inner);
            }
            if written.is_found_by(command) {
                out.push(index);
            }
            note(&mut written, command);
        }
        let Some(last) = out.last() else {
            return Vec::new();
        };
        let Some(first) = self.first_mention(analysis, *last) else {
            return Vec::new();
        };
        out.retain(|index| first < substituted_until(analysis, *index));
        out
    }

    /// The first command up to one that names, by its words or in a text that it is given, a program that a deny or ask is about.
    fn first_mention(&self, analysis: &Analysis, last: usize) -> Option<usize> {
        let of_text = |text: &str| {
            let words = ["text", text].map(|word| Word::Literal(word.to_owned()));
            self.names_denied_program(&Command::of_words(text.to_owned(), words.to_vec()))
        };
        let mentions = |(index, command): &(usize, &Command)| {
            let input = analysis.inputs.get(index);
            // A text that is not certain may name any.
            input.is_some_and(|text| text.as_deref().is_none_or(of_text))
                || (*index != last
                    && (self.names_denied_program(command) || printed(command).is_none_or(|text| of_text(&text))))
        };
        let end = substituted_until(analysis, last);
        let mut commands = analysis.commands.iter().enumerate().take(end);
        commands.find(mentions).map(|(index, _)| index)
    }
}

/// The number behind a command and behind what its own words substitute.
fn substituted_until(analysis: &Analysis, index: usize) -> usize {
    let mut end = index + 1;
    if let Some(command) = analysis.commands.get(index) {
        let behind = analysis.commands.iter().skip(end);
        end += behind.take_while(|inner| inner.is_substituted_in(command)).count();
    }
    end
}

/// Notes the names of the files that a command writes.
fn note<'c>(written: &mut Written<'c>, command: &'c Command) {
    let writes = command.files.iter().filter(|file| file.access == Access::Write);
    for file in writes {
        match &file.target {
            FileTarget::Path(path) => written.note(path.file_name()),
            // Of a folder that is not known the name may be: `$T/Makefile`.
            FileTarget::Pattern { pattern: source, .. } | FileTarget::Unknown(source) => {
                let name = source.trim_end_matches('"').rsplit_once('/').map(|(_, name)| name);
                let known = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
                if let Some(name) = name.filter(|name| !name.is_empty() && name.chars().all(known)) {
                    written.note(name);
                }
            }
        }
    }
}

/// The words of a command as `printf` would print them; `None` where it puts them together in a way that is not followed.
fn printed(command: &Command) -> Option<String> {
    let mut words = command.words.iter().skip(1).filter_map(Word::literal);
    let plain = |text: &str| text.replace("\\n", " ").replace("\\t", " ");
    if command.program_name() != Some("printf") {
        return Some(plain(&words.collect::<Vec<_>>().join(" ")));
    }
    let format = words.next().unwrap_or_default();
    let mut out = String::new();
    let mut pieces = format.split('%');
    out.push_str(pieces.next().unwrap_or_default());
    while let Some(piece) = pieces.next() {
        match piece.strip_prefix(['s', 'b', 'd']) {
            Some(rest) => {
                out.push_str(words.next().unwrap_or_default());
                out.push_str(rest);
            }
            // `%%`
            None if piece.is_empty() => out.push_str(pieces.next().unwrap_or_default()),
            None => return None,
        }
    }
    for word in words {
        out.push(' ');
        out.push_str(word);
    }
    // `\\x63url`
    let spelled = out.contains("\\x")
        || out.match_indices('\\').any(|(at, _)| {
            out.get(at + 1..)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == 'u' || c == 'U'))
        });
    (!spelled).then(|| plain(&out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_printf_prints() {
        for (words, expected) in [
            (&["printf", "x:\\n\\tcu%s x", "rl"][..], Some("x:  curl x")),
            (&["printf", "%s\\n", "a", "b"], Some("a  b")),
            (&["printf", "100%%"], Some("100")),
            (&["printf", "%q", "a"], None),
            (&["printf", "\\x63url"], None),
            (&["printf", "\\143url"], None),
            (&["echo", "a", "b\\nc"], Some("a b c")),
        ] {
            let words: Vec<Word> = words.iter().map(|word| Word::Literal((*word).to_owned())).collect();
            let command = Command::of_words(String::new(), words);
            assert_eq!(printed(&command).as_deref(), expected, "{:?}", command.words);
        }
    }
}

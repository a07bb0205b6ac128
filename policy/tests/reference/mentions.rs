//! What stands among the words of a program of which nobody knows what it does with them (decision 0051), restated: denied
//! programs, hosts and files. Such a program of the generator is `foo` alone; of git, some subcommands speak to hosts or put
//! files into the index.

use portcullis_policy::{
    Effect,
    rule::host_of,
    shell::{Analysis, Command, CommandClass, Word},
};

use super::{
    judge::{Judge, Part},
    rules::Rule,
    texts,
};

fn is_unknown(command: &Command) -> bool {
    command.program_name() == Some("foo") && command.class == CommandClass::Other
}

/// Runs of letters that names are made of.
fn runs<'t>(text: &'t str, also: &'static [char]) -> Vec<(usize, &'t str)> {
    let of_a_name = |c: char| c.is_alphanumeric() || also.contains(&c);
    let mut out: Vec<(usize, &str)> = Vec::new();
    let mut begin = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (begin, of_a_name(c)) {
            (None, true) => begin = Some(at),
            (Some(from), false) => {
                out.push((from, &text[from..at]));
                begin = None;
            }
            _ => {}
        }
    }
    out
}

const OF_A_PROGRAM: &[char] = &['.', '_', '-', '+', '/'];

fn command_of(words: Vec<Word>) -> Command {
    let text: Vec<&str> = words.iter().map(source).collect();
    Command::of_words(text.join(" "), words)
}

fn source(word: &Word) -> &str {
    match word {
        Word::Literal(text) | Word::Dynamic { source: text, .. } => text,
    }
}

/// All commands that the words behind a program may be.
fn commands_within(command: &Command) -> Vec<Command> {
    let mut out = Vec::new();
    for (at, word) in command.words.iter().enumerate().skip(1) {
        let text = source(word);
        let behind = &command.words[at + 1..];
        for (from, run) in runs(text, OF_A_PROGRAM) {
            let from_the_root = run.starts_with('/') && !run.starts_with("//");
            if run.contains('/') && !from_the_root && !run.starts_with("./") && !run.starts_with("../") {
                continue;
            }
            let name = Word::Literal(run.rsplit('/').next().unwrap().to_owned());
            let rest = &text[from + run.len()..];
            let cut = rest.find(['\'', '"', ';', '|', '&']);
            let literal = |text: &str| Word::Literal(text.to_owned());
            let mut own: Vec<Word> = rest[..cut.unwrap_or(rest.len())]
                .split_whitespace()
                .map(literal)
                .collect();
            if cut.is_none() {
                own.extend_from_slice(behind);
            }
            let apart = runs(rest, OF_A_PROGRAM)
                .into_iter()
                .map(|(_, run)| literal(run))
                .collect();
            for rest in [own, apart, behind.to_vec()] {
                out.push(command_of(std::iter::once(name.clone()).chain(rest).collect()));
            }
        }
    }
    out
}

impl Judge<'_> {
    /// A deny or ask that names a program, and is about what an unknown program may run of its words.
    pub(crate) fn mentioned(&self, command: &Command) -> Option<Rule> {
        if !is_unknown(command) {
            return None;
        }
        let texts: Vec<String> = commands_within(command).iter().flat_map(texts::wide).collect();
        let about = |rule: &Rule| rule.names_a_program() && texts.iter().any(|text| rule.covers_command(text));
        self.first_with(Effect::Deny, about)
            .or_else(|| self.first_with(Effect::Ask, about))
    }

    /// Hosts that a command names and may contact.
    pub(crate) fn named_hosts(&self, command: &Command) -> Vec<Part> {
        let git = command.program_name() == Some("git") && command.class == CommandClass::Other;
        if !git && !is_unknown(command) {
            return Vec::new();
        }
        let words = command.words.iter().skip(1).map(source);
        let texts: Vec<&str> = if git {
            words.filter(|word| word.contains("://")).collect()
        } else {
            let assigned = command.assignments.iter().map(|assignment| source(&assignment.value));
            assigned.chain(words).collect()
        };
        let mut parts = Vec::new();
        for text in texts {
            for (_, run) in runs(text, &['.', '-', '_']) {
                let Some(host) = host_of(&format!("https://{}", run.trim_matches(['.', '-']))) else {
                    continue;
                };
                let about = |rule: &Rule| {
                    let named = text.contains("://") || rule.names_a_host();
                    rule.effect != Effect::Allow && named && rule.fetches(Some(&host))
                };
                parts.extend(self.first(about).as_ref().map(Part::perhaps));
            }
        }
        parts
    }

    /// Files that stand inside a text of an unknown program, and those that git is told to put into its index.
    pub(crate) fn files_in_texts(&self, analysis: &Analysis, command: &Command) -> Vec<Part> {
        assert!(analysis.inputs.is_empty(), "the generator makes no here-documents");
        let mut names: Vec<&str> = Vec::new();
        if is_unknown(command) {
            for text in command.words.iter().skip(1).filter_map(Word::literal) {
                let inside = runs(text, &['.', '_', '-', '/', '~', '+'])
                    .into_iter()
                    .map(|(_, run)| run);
                names.extend(inside.filter(|run| *run != text && run.contains(['.', '/'])));
                // The value of a short option in the same word.
                let short = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
                names.extend(short.and_then(|rest| rest.get(1..)));
            }
        }
        let of_words = names
            .into_iter()
            .filter(|name| name.len() > 1 && !name.starts_with("//"));
        let rules = of_words.filter_map(|name| self.about_reading(name));
        rules.map(|rule| Part::perhaps(&rule)).collect()
    }

    /// Files that git is told to put into its index.
    pub(crate) fn added(&self, command: &Command) -> Vec<Part> {
        let literal = |at: usize| command.words.get(at).and_then(Word::literal);
        if (command.program_name(), literal(1)) != (Some("git"), Some("add")) {
            return Vec::new();
        }
        let files = command.words.iter().skip(2).filter_map(Word::literal);
        let judged = files.filter_map(|name| {
            if self.is_own_secret(&self.resolve(name)) {
                return Some(Part::secret());
            }
            self.about_reading(name).as_ref().map(Part::perhaps)
        });
        judged.collect()
    }

    fn about_reading(&self, name: &str) -> Option<Rule> {
        let path = self.resolve(name);
        self.narrowed(&path, Effect::Deny, &["Read"])
            .or_else(|| self.narrowed(&path, Effect::Ask, &["Read"]))
    }
}

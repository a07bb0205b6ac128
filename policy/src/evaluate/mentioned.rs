//! Denied programs among the words of a command that may run them.
//!
//! There are more programs that run other programs than any table can list. So it is told of programs that they do *not* run
//! their words (`policy/data/inert.toml` and the other tables); of all others, a word that a deny or ask on commands begins
//! with, in whatever text it stands, may be a call of that program, and asks. What is known to run something (wrappers,
//! shells, options) is taken apart before, and denied there; this is for the rest.
//!
//! It never allows anything, and knows no languages: it looks for whole words.

use crate::{
    Effect,
    ruleset::RuleId,
    shell::{
        Access, Analysis, Command, CommandClass, Context, FileAccess, Word, acts,
        inert::{self, Words},
        interpreters, mentions, takes_script,
    },
};

use super::{
    commands::is_feeder,
    reaching::{self, source, words_of},
    texts, told,
    world::World,
};

/// Most places of one command where a program that a rule is about was found and the rule was not met.
const MOST_HITS: usize = 64;
/// Most words behind the name of a program that a rule is compared with.
const MOST_WORDS: usize = 64;
/// Most comparisons of words with regular expressions.
const MOST_REGEXES: usize = 1_000_000;
/// How a word begins that many programs take as a command: `!cmd` of editors and consoles, `|cmd` of what prints.
/// `- cmd` is a command of zsh.
const COMMANDS_BEGIN: &[&str] = &["!", "|", ":!", "$(", "`", "- "];

/// What quotes in the languages of shells.
const QUOTES: &[char] = &['\'', '"', '\\'];
/// What a program text holds that runs a command, in the languages of tracers and of many others.
const CALL: &str = "system(";

/// What a command may run.
pub(super) enum Mention {
    /// Something that this rule is about.
    Of(RuleId),
    /// More words than are looked at.
    TooMany,
}

/// Which words of a text count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// Each.
    Anywhere,
    /// Those at places where a command can begin.
    AtBeginnings,
}

/// A search through the texts of one command.
struct Search<'w, 'a> {
    world: &'w World<'a>,
    regexes: Vec<RuleId>,
    compared: usize,
    hits: usize,
    too_many: bool,
    /// A bare name at the end is a word like others.
    last_is_plain: bool,
    deny: Option<RuleId>,
    ask: Option<RuleId>,
}

impl World<'_> {
    /// A deny or ask on commands that is about a program among the words of a command, where the command may run it.
    pub(super) fn mentioned_command(
        &self,
        line: &str,
        analysis: &Analysis,
        index: usize,
        command: &Command,
    ) -> Option<Mention> {
        let may_run = matches!(
            command.class,
            CommandClass::Other | CommandClass::Wrapper | CommandClass::Function
        );
        if !may_run || !self.has_scoped_shell_rule() {
            return None;
        }
        let console = acts::is_console(command);
        let program = command.program_name()?;
        let known = words_of(analysis, command);
        if known == Words::Inert && !console {
            return None;
        }
        let mut search = Search::new(self);
        search.last_is_plain = last_is_plain(analysis, index, command);
        let interprets = interpreters::is_language(program) && known != Words::Inert;
        let words = command.words.get(1..).unwrap_or_default();
        match known {
            // Code in an argument is looked into elsewhere: here for what the code is given.
            _ if interprets => {
                for (at, word) in words.iter().enumerate() {
                    let whole = word.literal().filter(|text| token_at(text, 0) == Some(text));
                    search.text(whole.unwrap_or_default(), Where::Anywhere, words.get(at + 1..));
                }
                search.commands_in(words);
            }
            Words::Unknown => {
                // `=cmd` of zsh.
                let equals = command.program().and_then(|program| program.strip_prefix('='));
                search.text(equals.unwrap_or_default(), Where::Anywhere, Some(words));
                for (at, word) in words.iter().enumerate() {
                    if mentions::is_prose(at.checked_sub(1).and_then(|before| words.get(before)), word) {
                        continue;
                    }
                    search.text(source(word), Where::Anywhere, words.get(at + 1..));
                }
                for assignment in &command.assignments {
                    search.text(source(&assignment.value), Where::Anywhere, None);
                }
            }
            Words::Declared => {
                search.commands_in(words);
                search.told_by_option(command);
            }
            Words::Wrapper(program) => {
                search.commands_in(command.words.get(1..program).unwrap_or_default());
                for at in inert::operands_of_wrapper(command) {
                    let word = command.words.get(at).map_or("", source);
                    search.text(word, Where::Anywhere, command.words.get(at + 1..));
                }
            }
            Words::Inert => {}
        }
        if !interprets && (console || known == Words::Unknown) {
            let at = if known == Words::Unknown {
                Where::Anywhere
            } else {
                Where::AtBeginnings
            };
            match reaching::texts(line, analysis, index, command) {
                Some(texts) => texts.into_iter().for_each(|text| search.text(text, at, None)),
                None => search.too_many = true,
            }
        }
        if console {
            for word in words.iter().filter(|word| word.literal().is_none()) {
                search.text(source(word), Where::AtBeginnings, None);
            }
        }
        search.found()
    }
}

impl World<'_> {
    /// Whether a word of a command, in whatever text it stands, names a program that a deny or ask is about.
    pub(super) fn names_denied_program(&self, command: &Command) -> bool {
        let mut search = Search::new(self);
        for word in command.words.iter().skip(1) {
            search.text(source(word), Where::Anywhere, None);
        }
        for assignment in &command.assignments {
            search.text(source(&assignment.value), Where::Anywhere, None);
        }
        search.found().is_some()
    }
}

impl<'w, 'a> Search<'w, 'a> {
    fn new(world: &'w World<'a>) -> Self {
        let open = world.rules.index().commands(std::iter::empty());
        let regex = |id: &RuleId| world.naming(*id).is_some_and(|pattern| pattern.as_regex().is_some());
        Self {
            world,
            regexes: open.into_iter().filter(regex).collect(),
            compared: 0,
            hits: 0,
            too_many: false,
            last_is_plain: false,
            deny: None,
            ask: None,
        }
    }

    fn found(self) -> Option<Mention> {
        match self.deny.or(self.ask) {
            Some(id) => Some(Mention::Of(id)),
            None => self.too_many.then_some(Mention::TooMany),
        }
    }

    /// Words that say by their beginning that they are a command.
    fn commands_in(&mut self, words: &[Word]) {
        for text in words.iter().map(source) {
            if COMMANDS_BEGIN.iter().any(|begin| text.starts_with(begin)) || text.contains(CALL) {
                self.text(text, Where::AtBeginnings, None);
            }
        }
    }

    /// The value of an option by which a program of the tables runs another one.
    fn told_by_option(&mut self, command: &Command) {
        let Some(option) = command.escape_option().filter(|option| option.starts_with('-')) else {
            return;
        };
        if command.program_name().is_some_and(takes_script) {
            return;
        }
        let mut words = command.words.iter().skip(1).map(source);
        while let Some(word) = words.next() {
            if word == option {
                self.text(words.next().unwrap_or_default(), Where::Anywhere, None);
            } else if let Some(value) = word.strip_prefix(&option) {
                self.text(value, Where::Anywhere, None);
            }
        }
    }

    /// Looks through one text; `behind` are the words that follow it.
    fn text(&mut self, text: &str, at: Where, behind: Option<&[Word]>) {
        match at {
            Where::Anywhere => {
                self.each_word(text, behind);
                // What a shell of its own would join: `cu""rl`, `c\url`.
                if text.contains(QUOTES) {
                    self.each_word(&text.replace(QUOTES, ""), behind);
                }
            }
            Where::AtBeginnings => {
                self.too_many |= !told::is_looked_through(text);
                for begin in told::beginnings(text) {
                    // `@` and `-` in front of a line of make.
                    let begin = begin.trim_start_matches(['@', '-', '+', ' ', '\t', '!', '|', '=', '`', '$']);
                    if let Some(token) = token_at(begin, 0) {
                        self.token(token, begin.get(token.len()..).unwrap_or_default(), None);
                    }
                    if self.too_many {
                        return;
                    }
                }
            }
        }
    }

    fn each_word(&mut self, text: &str, behind: Option<&[Word]>) {
        let mut from = 0;
        while let Some((begin, token)) = next_token(text, from).filter(|_| !self.too_many) {
            from = begin + token.len();
            self.token(token, text.get(from..).unwrap_or_default(), behind);
        }
    }

    /// Looks at one word of a text, and what stands behind it.
    fn token(&mut self, token: &str, rest: &str, behind: Option<&[Word]>) {
        if !self.world.one_word_more() {
            self.too_many = true;
            return;
        }
        let Some(name) = program_named(token) else {
            return;
        };
        if !self.is_named_by_a_rule(name) {
            return;
        }
        self.hits += 1;
        if self.hits > MOST_HITS {
            self.too_many = true;
            return;
        }
        let literal = |text: &str| Word::Literal(text.to_owned());
        // `curl x; ls`: up to where a command can end.
        let end = rest
            .find(['\'', '"', '`', ')', ';', '|', '&', '\n', ']', '}'])
            .unwrap_or(rest.len());
        let own = rest.get(..end).unwrap_or_default().split_whitespace().map(literal);
        let following = || behind.unwrap_or_default().iter().cloned();
        // Called with nothing it does nothing.
        let alone = token == name && rest.is_empty() && behind.is_some_and(<[Word]>::is_empty);
        if alone && self.last_is_plain && mentions::is_idle(name) {
            self.compare_alone(name);
            return;
        }
        self.compare(name, own.chain(following().filter(|_| end == rest.len())).collect());
        // `["git","push"]`, `git,push`.
        let mut apart = Vec::new();
        let mut from = 0;
        while let Some((begin, token)) = next_token(rest, from).filter(|_| apart.len() < MOST_WORDS) {
            from = begin + token.len();
            apart.push(literal(token));
        }
        if !apart.is_empty() {
            self.compare(name, apart);
        }
        self.compare(name, following().collect());
    }

    /// Whether a deny or ask that holds is about a program of this name.
    fn is_named_by_a_rule(&mut self, name: &str) -> bool {
        let world = self.world;
        let named = world.rules.index().commands_of_program(name);
        if named.iter().any(|id| world.naming(*id).is_some()) {
            return true;
        }
        self.compared += self.regexes.len();
        if self.compared > MOST_REGEXES {
            self.too_many = true;
            return false;
        }
        let concerns = |id: &RuleId| {
            let pattern = world.naming(*id);
            pattern
                .and_then(|pattern| pattern.as_regex())
                .is_some_and(|regex| regex.concerns(name))
        };
        self.regexes.iter().any(concerns)
    }

    /// A rule that names the program without any words means just that.
    fn compare_alone(&mut self, name: &str) {
        let command = Command::of_words(name.to_owned(), vec![Word::Literal(name.to_owned())]);
        let narrow = |pattern: &crate::rule::TextPattern| pattern.is_exact() || pattern.as_regex().is_some();
        let (deny, ask) = self.world.rule_on_words_that(&command, narrow);
        self.deny = self.deny.into_iter().chain(deny).min();
        self.ask = self.ask.into_iter().chain(ask).min();
    }

    fn compare(&mut self, name: &str, mut rest: Vec<Word>) {
        rest.truncate(MOST_WORDS);
        let mut words = vec![Word::Literal(name.to_owned())];
        words.append(&mut rest);
        let command = Command::of_words(texts::joined(&words), words);
        // Long words leave no room for all spellings: then nobody knows.
        self.too_many |= texts::has_more(&command, texts::SOME_ROOM);
        let (deny, ask) = self.world.rule_on_words(&command);
        self.deny = self.deny.into_iter().chain(deny).min();
        self.ask = self.ask.into_iter().chain(ask).min();
    }
}

impl World<'_> {
    /// The pattern of a deny or ask on commands that holds and names a program, or is a regular expression.
    fn naming(&self, id: RuleId) -> Option<&crate::rule::TextPattern> {
        let rule = self.rule(id).filter(|rule| rule.effect != Effect::Allow)?;
        match &rule.matcher {
            crate::rule::Matcher::Shell(pattern) if pattern.program().is_some() || pattern.as_regex().is_some() => {
                Some(pattern)
            }
            _ => None,
        }
    }

    /// Whether a deny or ask that holds is about a program of this name, but for expressions.
    pub(super) fn is_named(&self, name: &str) -> bool {
        let named = self.rules.index().commands_of_program(name);
        named.iter().any(|id| self.naming(*id).is_some())
    }

    /// The deny and the ask that a command of these words is a case for.
    pub(super) fn rule_on_texts<'t>(&self, words: impl Iterator<Item = &'t str>) -> (Option<RuleId>, Option<RuleId>) {
        let words: Vec<Word> = words.map(|word| Word::Literal(word.to_owned())).collect();
        self.rule_on_words(&Command::of_words(texts::joined(&words), words))
    }

    /// The deny and the ask that these words are a case for.
    fn rule_on_words(&self, command: &Command) -> (Option<RuleId>, Option<RuleId>) {
        self.rule_on_words_that(command, |_| true)
    }

    /// The same, of rules whose pattern is such a one.
    fn rule_on_words_that(
        &self,
        command: &Command,
        counts: impl Fn(&crate::rule::TextPattern) -> bool,
    ) -> (Option<RuleId>, Option<RuleId>) {
        let wide = texts::wide(command, texts::SOME_ROOM);
        let ids = self.rules.index().commands(wide.iter().map(String::as_str));
        let meets = |effect| {
            let mut ids = self.rules.index().with_effect(&ids, effect).iter().copied();
            ids.find(|id| {
                let pattern = self.naming(*id);
                pattern.is_some_and(|pattern| counts(pattern) && wide.iter().any(|text| pattern.matches(text)))
            })
        };
        (meets(Effect::Deny), meets(Effect::Ask))
    }
}

/// Whether a bare name at the end of a command's words is a word like others: the command is a script of the project, which
/// runs what it was written for, and not whatever it is given; no word says that it runs the next one, and no more words come.
fn last_is_plain(analysis: &Analysis, index: usize, command: &Command) -> bool {
    let Some((last, before)) = command.words.split_last() else {
        return false;
    };
    let text = last.literal().unwrap_or("-");
    let option = text.split_once('=').map(|(option, _)| option);
    let said = option.or_else(|| before.last().and_then(Word::literal));
    is_script(before) && !said.is_none_or(mentions::says_run) && !may_get_more(analysis, index, command)
}

/// Whether the words of a command call a script or a module of the project: by a path, or as an interpreter's.
fn is_script(words: &[Word]) -> bool {
    let Some((program, rest)) = words
        .split_first()
        .and_then(|(first, rest)| Some((first.literal()?, rest)))
    else {
        return false;
    };
    let ending = |text: &str| {
        text.rsplit_once('.')
            .is_some_and(|(name, end)| !name.is_empty() && SCRIPTS.contains(&end))
    };
    if !interpreters::is_language(program) {
        let programs = program.starts_with('/') || program.contains("/.bin/");
        return ending(program) || (program.contains('/') && !programs);
    }
    let first = rest.first().and_then(Word::literal).unwrap_or("-");
    let module = first == "-m" && rest.len() > 1;
    // `php artisan`, `ruby bin/x`.
    module || !first.starts_with('-')
}

/// Endings of scripts.
const SCRIPTS: &[&str] = &["cjs", "js", "mjs", "php", "pl", "py", "rb", "sh", "ts"];

/// Whether a command may put more words behind those that it is given: from its input, or from parameters.
fn may_get_more(analysis: &Analysis, index: usize, command: &Command) -> bool {
    let reads = |file: &FileAccess| file.redirection && file.access == Access::Read;
    let is_fed = |context: &Context| match context {
        Context::Transparent(_) => false,
        Context::Changing(label) => is_feeder(label),
        Context::Script(_) | Context::Substitution(_) | Context::Group(_) => true,
    };
    let parts =
        |word: &Word| matches!(word, Word::Dynamic { source, pattern: false } if source.contains(['$', '`', '<']));
    analysis.inputs.contains_key(&index)
        || analysis.redirected.contains(&index)
        || analysis.pipes.iter().any(|pipe| pipe.to.contains(&index))
        || command.files.iter().any(reads)
        || command.words.iter().any(parts)
        || command.seen_through.iter().any(is_fed)
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '/')
}

/// The word that begins at a place of a text.
fn token_at(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at..)?;
    let end = rest.find(|c| !is_of_a_name(c)).unwrap_or(rest.len());
    rest.get(..end).filter(|token| !token.is_empty())
}

/// The next word of a text, and where it begins.
fn next_token(text: &str, from: usize) -> Option<(usize, &str)> {
    let begin = from + text.get(from..)?.find(is_of_a_name)?;
    Some((begin, token_at(text, begin)?))
}

/// The program that a word can name: by its bare name, from the root, or in a folder of programs. `tests/curl` is a file, and
/// `//host/curl` part of an address.
fn program_named(token: &str) -> Option<&str> {
    let token = token.trim_end_matches(['.', '/']);
    let Some((folder, name)) = token.rsplit_once('/') else {
        return Some(token).filter(|name| !name.is_empty());
    };
    let placed = token.starts_with('/') && !token.starts_with("//");
    let here = token.starts_with("./") || token.starts_with("../");
    let programs = matches!(folder.rsplit('/').next(), Some("bin" | "sbin" | ".bin"));
    (placed || here || programs)
        .then_some(name)
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_can_name_a_program() {
        for (token, name) in [
            ("curl", Some("curl")),
            ("curl.", Some("curl")),
            ("/usr/bin/curl", Some("curl")),
            ("./curl", Some("curl")),
            ("vendor/bin/curl", Some("curl")),
            ("tests/curl", None),
            ("//host/curl", None),
            ("curl.md", Some("curl.md")),
            ("", None),
        ] {
            assert_eq!(program_named(token), name, "{token}");
        }
    }

    #[test]
    fn a_text_is_cut_into_words() {
        let text = "=curl x;{\"a\":[\"g++\",\"é\"]}";
        let (mut from, mut out) = (0, Vec::new());
        while let Some((begin, token)) = next_token(text, from) {
            from = begin + token.len();
            out.push(token);
        }
        assert_eq!(out, ["curl", "x", "a", "g++", "é"]);
    }
}

//! A rule as the documents have it, and what it covers: its text is looked at anew each time.

use portcullis_policy::{
    AbsPath, Effect, Layer, Mode,
    shell::{Command, Word},
};

use super::matchers;

/// In which words a rule is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// Claude Code's, which are ours.
    Native,
    /// Those of Cursor's command line.
    Cursor,
    /// An entry of `terminalAllowlist`.
    Terminal,
    /// An entry of `mcpAllowlist`.
    McpList,
    /// A line of `ignore.patterns`.
    Ignore,
}

#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) effect: Effect,
    pub(crate) layer: Layer,
    pub(crate) document: String,
    pub(crate) folder: Option<AbsPath>,
    pub(crate) line: u32,
    pub(crate) spelling: Spelling,
    pub(crate) text: String,
    /// The modes in which it holds; `None` = all.
    pub(crate) modes: Option<Vec<Mode>>,
    /// The patterns of the exceptions that stand after it in its list.
    pub(crate) exceptions: Vec<String>,
}

/// What a rule on commands says.
pub(crate) enum Words {
    /// `*` is anything, and at the end behind a blank nothing, too.
    Native(String),
    /// This text, with `*` for anything.
    Glob(String),
    /// These words, with or without more of them.
    Begin(String),
}

impl Rule {
    /// What stands before the bracket.
    pub(crate) fn head(&self) -> &str {
        self.text.split('(').next().unwrap()
    }

    /// What stands in the brackets.
    pub(crate) fn inner(&self) -> Option<&str> {
        let (_, rest) = self.text.split_once('(')?;
        rest.strip_suffix(')')
    }

    /// Whether it is a rule of ours on this tool.
    pub(crate) fn is_native(&self, tool: &str) -> bool {
        self.spelling == Spelling::Native && self.head() == tool
    }

    fn widens(&self) -> bool {
        self.effect == Effect::Allow
    }

    /// What it says about commands, if it is about commands.
    pub(crate) fn words(&self) -> Option<Words> {
        match self.spelling {
            Spelling::Native if self.head() == "Bash" => {
                let pattern = self.inner().unwrap_or("*");
                (!pattern.starts_with("description:")).then(|| Words::Native(matchers::spelled_out(pattern)))
            }
            Spelling::Terminal => Some(self.cursor_words(&self.text)),
            Spelling::Cursor if self.head() == "Shell" => Some(self.cursor_words(self.inner().unwrap_or("*"))),
            _ => None,
        }
    }

    /// `base`, or `base:arguments`.
    fn cursor_words(&self, entry: &str) -> Words {
        match entry.split_once(':') {
            None if entry.contains('*') => Words::Glob(entry.to_owned()),
            None | Some((_, "*")) => Words::Begin(entry.trim_end_matches(":*").to_owned()),
            Some((base, arguments)) if self.widens() => Words::Glob(format!("{base} {arguments}")),
            // What denies these arguments denies them with more behind them.
            Some((base, arguments)) if arguments.contains('*') => Words::Glob(format!("{base} {arguments}*")),
            Some((base, arguments)) => Words::Begin(format!("{base} {arguments}")),
        }
    }

    pub(crate) fn covers_command(&self, text: &str) -> bool {
        self.words().is_some_and(|words| match words {
            Words::Native(pattern) => matchers::command(&pattern, text),
            Words::Glob(pattern) => matchers::stars(&pattern, text),
            Words::Begin(begin) => text == begin || text.starts_with(&format!("{begin} ")),
        })
    }

    /// Whether it can cover one of the texts that `known` is with anything in its gaps (`\0`). Only of a rule that names the
    /// program: another one could be about everything that has a gap.
    pub(crate) fn may_cover_command(&self, known: &str) -> bool {
        let Some(words) = self.words() else {
            return false;
        };
        let pattern = match &words {
            Words::Native(pattern) | Words::Glob(pattern) => pattern.clone(),
            Words::Begin(begin) => format!("{begin} *"),
        };
        let program = pattern.split(' ').next().unwrap();
        let first = known.split(['\0', ' ']).next().unwrap();
        let bare = !matches!(words, Words::Glob(_));
        !program.contains('*') && program == first && matchers::command_with_gaps(&pattern, bare, known)
    }

    /// Whether it begins with the whole name of a program.
    pub(crate) fn names_a_program(&self) -> bool {
        match self.words() {
            Some(Words::Native(pattern) | Words::Glob(pattern)) => match pattern.split_once(' ') {
                Some((first, _)) => !first.contains('*'),
                None => !pattern.contains('*'),
            },
            Some(Words::Begin(_)) => true,
            None => false,
        }
    }

    /// Whether it is the rule of the alphabet that names two options, and a push has both, in whatever order.
    pub(crate) fn has_its_options(&self, command: &Command) -> bool {
        let words: Vec<&str> = command.words.iter().filter_map(Word::literal).collect();
        let has = |word: &str| words.contains(&word);
        self.text == "Bash(git push -q --tags *)"
            && words.first().is_some_and(|word| word.rsplit('/').next() == Some("git"))
            && has("push")
            && has("-q")
            && has("--tags")
    }

    /// Whether the last label of the hosts that it is about is not left open.
    pub(crate) fn names_a_host(&self) -> bool {
        self.host()
            .is_some_and(|pattern| !pattern.rsplit('.').next().unwrap().contains('*') && pattern != "*.b.*")
    }

    pub(crate) fn is_for_every_command(&self) -> bool {
        matches!(self.words(), Some(Words::Native(pattern) | Words::Glob(pattern)) if pattern == "*")
    }

    /// Whether it names the whole command.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.words(), Some(Words::Native(pattern) | Words::Glob(pattern)) if !pattern.contains('*'))
    }

    /// What is done to files that it speaks about: `Read`, `Edit` or `Delete`.
    pub(crate) fn verb(&self) -> Option<&str> {
        match (self.spelling, self.head()) {
            (Spelling::Native, verb @ ("Read" | "Edit" | "Delete")) => Some(verb),
            (Spelling::Cursor, "Read") | (Spelling::Ignore, _) => Some("Read"),
            (Spelling::Cursor, "Write") => Some("Edit"),
            _ => None,
        }
    }

    /// The pattern over hosts of a rule on fetching; `*` if there is none.
    fn host(&self) -> Option<&str> {
        match self.spelling {
            Spelling::Native if self.head() == "WebFetch" => {
                Some(self.inner().map_or("*", |inner| inner.strip_prefix("domain:").unwrap()))
            }
            Spelling::Cursor if self.head() == "WebFetch" => self.inner(),
            _ => None,
        }
    }

    /// Whether it is about this host; of one that is not known only if it is about every fetch.
    pub(crate) fn fetches(&self, host: Option<&str>) -> bool {
        match (self.host(), host) {
            (Some(pattern), Some(host)) => matchers::host(pattern, host),
            (Some(_), None) => self.inner().is_none(),
            (None, _) => false,
        }
    }

    /// Whether it covers a tool of an MCP server: an allow only its own server's, a deny or ask in whatever way the name is
    /// split.
    pub(crate) fn covers_mcp(&self, server: &str, tool: &str) -> bool {
        let halves = match self.spelling {
            Spelling::Native => {
                let body = self.text.strip_prefix("mcp__");
                return body.is_some_and(|body| matchers::mcp(body, !self.widens(), server, tool));
            }
            Spelling::McpList => &self.text,
            Spelling::Cursor if self.head() == "Mcp" => self.inner().unwrap(),
            _ => return false,
        };
        let (own_server, own_tool) = halves.split_once(':').unwrap();
        if !self.widens() {
            return matchers::mcp_halves(own_server, own_tool, server, tool);
        }
        let folded = |text: &str| {
            if self.spelling == Spelling::McpList {
                text.to_ascii_lowercase()
            } else {
                text.to_owned()
            }
        };
        matchers::stars(&folded(own_server), &folded(server)) && matchers::stars(&folded(own_tool), &folded(tool))
    }

    /// Whether it allows whatever anybody writes, so that no classifier would ever be asked. Such allows are suspended where
    /// one decides.
    pub(crate) fn is_broad(&self) -> bool {
        // A word that nobody writes, where a program's name or code could stand.
        let anything = [
            "\u{1}",
            "LANG=C \u{1}",
            "bash \u{1}",
            "sudo \u{1}",
            "timeout \u{1}",
            "npm exec \u{1}",
            "gdb \u{1}",
            "foot \u{1}",
            "python \u{1}",
            "npx \u{1}",
        ];
        let open = matches!(self.words(), Some(Words::Native(p) | Words::Glob(p)) if p.starts_with('*'));
        open || anything.iter().any(|text| self.covers_command(text)) || self.covers_mcp("\u{1}", "\u{1}")
    }
}

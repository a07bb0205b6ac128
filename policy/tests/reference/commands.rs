//! Judges a shell line in the plainest code: what a rule on a command covers (decision 0010), restated.

use portcullis_policy::{
    AbsPath, Effect, Mode,
    facts::Repository,
    mode::{ActionClass, Answer},
    rule::host_of,
    shell::{
        self, Access, Analysis, Command, CommandClass, Context, FileAccess, FileTarget, Limits, Opaque, OpaqueReason,
        ShellContext, Word,
    },
};

use super::{
    judge::{Cover, Judge, Part, Rule, allowed_by_mode, by_rule, fetches, perhaps, secret, unknown},
    matchers, texts,
};

enum Reach {
    Nothing,
    Wildcard(Rule),
    Exact(Rule),
    Everything(Rule),
}

impl Judge<'_> {
    pub(crate) fn line(&self, line: &str) -> Vec<Part> {
        let workspace = &self.request.workspace;
        let context = ShellContext {
            cwd: workspace.cwd.clone(),
            home: workspace.home.clone(),
        };
        let analysis = shell::analyse(line, &context, Limits::default());
        let mut parts = Vec::new();
        for (index, command) in analysis.commands.iter().enumerate() {
            parts.extend(self.command(line, &analysis, index, command));
        }
        parts.extend(analysis.opaque.iter().map(|opaque| self.opaque(opaque)));
        if parts.is_empty() {
            parts.push(self.mode(ActionClass::NoProgram));
        }
        parts
    }

    fn has_scoped_command_rule(&self) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.effect != Effect::Allow && rule.command().is_some() && !rule.is_for_every_command())
    }

    fn allow_for_everything(&self) -> Option<Rule> {
        self.first_with(Effect::Allow, Rule::is_for_every_command)
            .filter(|_| self.request.mode != Mode::Plan)
    }

    fn opaque(&self, opaque: &Opaque) -> Part {
        let never = matches!(opaque.reason, OpaqueReason::Unparsable | OpaqueReason::TooLarge);
        if never || self.has_scoped_command_rule() {
            if self.request.mode == Mode::Plan {
                return self.mode(ActionClass::OpaqueCommand);
            }
            return unknown();
        }
        match self.allow_for_everything() {
            Some(rule) => by_rule(&rule),
            None => self.mode(ActionClass::OpaqueCommand),
        }
    }

    fn command(&self, _line: &str, analysis: &Analysis, index: usize, command: &Command) -> Vec<Part> {
        let wide = texts::wide(command);
        let meets = |effect| {
            self.first_with(effect, |rule| {
                rule.command()
                    .is_some_and(|pattern| wide.iter().any(|text| matchers::command(pattern, text)))
            })
        };
        let (own, reach) = if let Some(rule) = meets(Effect::Deny) {
            (by_rule(&rule), Reach::Nothing)
        } else if command.class == CommandClass::SelfChange {
            (self.mode(ActionClass::Protected), Reach::Nothing)
        } else if let Some(rule) = meets(Effect::Ask) {
            (by_rule(&rule), Reach::Nothing)
        } else if let Some(rule) = self.perhaps_narrowed(command) {
            (perhaps(&rule), Reach::Nothing)
        } else {
            self.allow_or_mode(analysis, index, command)
        };
        let mut parts = vec![own];
        for access in &command.files {
            let cover = self.cover(&reach, command, access);
            parts.push(match &access.target {
                FileTarget::Path(path) => self.path(path, access.access, cover),
                FileTarget::Unknown(source) => self.not_known(source, access.access, cover),
                FileTarget::Pattern { .. } => panic!("the generator makes no patterns of the shell"),
            });
        }
        parts.extend(command.urls.iter().filter_map(|url| self.contact(url)));
        parts.extend(self.named_files(command));
        parts
    }

    /// A deny or ask that the command would meet if its unknown words became what they might.
    fn perhaps_narrowed(&self, command: &Command) -> Option<Rule> {
        let known = texts::with_gaps(command)?;
        let first = known.split(['\0', ' ']).next().unwrap();
        let meets = |effect| {
            self.first_with(effect, |rule| {
                rule.command().is_some_and(|pattern| {
                    let words = matchers::spelled_out(pattern);
                    let program = words.split(' ').next().unwrap();
                    !program.contains('*') && program == first && matchers::command_with_gaps(pattern, &known)
                })
            })
        };
        meets(Effect::Deny).or_else(|| meets(Effect::Ask))
    }

    fn allow_or_mode(&self, analysis: &Analysis, index: usize, command: &Command) -> (Part, Reach) {
        if let Some(rule) = self.allow_for_everything() {
            return (by_rule(&rule), Reach::Everything(rule));
        }
        let Some(program) = command.program() else {
            // The generator assigns `A` and `LANG`; no program looks at the first.
            let private = command.assignments.iter().all(|assignment| assignment.name == "A");
            let class = if command.words.is_empty() && private {
                ActionClass::NoProgram
            } else {
                ActionClass::OtherCommand
            };
            return (self.mode(class), Reach::Nothing);
        };
        let sudo = command
            .seen_through
            .iter()
            .any(|context| matches!(context, Context::Changing(_)));
        let system = self.is_system_program(program);
        if command.class == CommandClass::Other || system || program.contains('/') {
            let allowed = if sudo {
                // Only a rule that says so: on the command that wraps this one.
                let outer = analysis.commands[..index]
                    .iter()
                    .rev()
                    .find(|outer| outer.program() == Some("sudo"));
                outer.and_then(|outer| self.allowed(outer))
            } else {
                self.allowed(command)
            };
            if let Some(rule) = allowed {
                let reach = if rule.is_exact() {
                    Reach::Exact(rule.clone())
                } else {
                    Reach::Wildcard(rule.clone())
                };
                return (by_rule(&rule), reach);
            }
        }
        let known = system && !sudo && command.assignments_harmless();
        (self.by_class(analysis, index, command, known), Reach::Nothing)
    }

    /// The allow for a command by its words; one without a wildcard first.
    fn allowed(&self, command: &Command) -> Option<Rule> {
        let narrow = texts::narrow(command);
        let covers = |rule: &Rule| {
            rule.command()
                .is_some_and(|pattern| narrow.iter().any(|text| matchers::command(pattern, text)))
                && !rule.is_for_every_command()
        };
        let exact = self.first_with(Effect::Allow, |rule| rule.is_exact() && covers(rule));
        let escapes = command.escape_option().is_some() && command.class != CommandClass::Wrapper;
        exact.or_else(|| self.first_with(Effect::Allow, covers).filter(|_| !escapes))
    }

    fn by_class(&self, analysis: &Analysis, index: usize, command: &Command, known: bool) -> Part {
        let tee = command.program() == Some("tee") && !command.files.is_empty();
        let looking_is_free = self.request.mode.answer(ActionClass::ReadOnlyCommand) == Answer::Allow;
        let quiet = match &self.request.facts.repository {
            Repository::Known { executing_keys, .. } => executing_keys.is_empty() || self.request.facts.project_trusted,
            Repository::None => true,
            Repository::Unknown => false,
        };
        self.mode(match command.class {
            _ if !known => ActionClass::OtherCommand,
            _ if tee => ActionClass::FileCommand,
            CommandClass::ReadOnly => ActionClass::ReadOnlyCommand,
            CommandClass::ReadOnlyGit if quiet && !self.moved_before(analysis, index) => ActionClass::ReadOnlyCommand,
            CommandClass::FileChange if !command.files.is_empty() => ActionClass::FileCommand,
            CommandClass::ChangeDirectory if !looking_is_free => ActionClass::ReadOnlyCommand,
            CommandClass::ChangeDirectory => {
                // The generator changes to a folder once in a line.
                let folder = self.resolve(command.words[1].literal().unwrap());
                if self.inside(&folder) {
                    ActionClass::ReadInside
                } else {
                    ActionClass::ReadOutside
                }
            }
            CommandClass::Wrapper if matches!(command.program(), Some("bash" | "timeout")) => return allowed_by_mode(),
            _ => ActionClass::OtherCommand,
        })
    }

    fn moved_before(&self, analysis: &Analysis, index: usize) -> bool {
        analysis.commands[..index].iter().any(|before| {
            before.class == CommandClass::ChangeDirectory
                && self.resolve(before.words[1].literal().unwrap()) != self.request.workspace.cwd
        })
    }

    fn is_system_program(&self, name: &str) -> bool {
        let builtins = ["cd", "echo", "true", "eval"];
        let root = &self.request.workspace.root;
        !name.contains('/')
            && (builtins.contains(&name)
                || matches!(self.request.facts.programs.get(name), Some(Some(found)) if !found.is_within(root)))
    }

    /// What a rule on a command says about the files that the command touches: decision 0010.
    fn cover(&self, reach: &Reach, command: &Command, access: &FileAccess) -> Cover {
        let (inside, unknown) = match &access.target {
            FileTarget::Path(path) => (self.inside(path), false),
            _ => (false, true),
        };
        let shapes = matches!(
            command.program(),
            Some("mkdir" | "touch" | "rm" | "rmdir" | "unlink" | "chmod" | "ln" | "git")
        );
        match reach {
            Reach::Nothing => None,
            Reach::Everything(rule) => Some(rule.clone()),
            _ if access.redirection => None,
            Reach::Exact(rule) => Some(rule.clone()),
            Reach::Wildcard(rule) => match access.access {
                Access::Read if inside || unknown => Some(rule.clone()),
                Access::Write if inside && shapes => Some(rule.clone()),
                Access::Delete | Access::DeleteTree if inside => Some(rule.clone()),
                _ => None,
            },
        }
    }

    /// Denies and asks on hosts hold for commands that contact them.
    fn contact(&self, url: &str) -> Option<Part> {
        let host = host_of(url).unwrap();
        let rule = self.first(|rule| rule.effect != Effect::Allow && fetches(rule, &host))?;
        Some(by_rule(&rule))
    }

    /// A program that is not known may read any file that it names.
    fn named_files(&self, command: &Command) -> Vec<Part> {
        let git = command.program_name() == Some("git");
        let texts = command
            .program_name()
            .is_none_or(|program| matches!(program, "echo" | "grep" | "find"));
        let relevant =
            git || command.class == CommandClass::Other || (command.class == CommandClass::ReadOnly && !texts);
        if !relevant {
            return Vec::new();
        }
        let known = |path: &AbsPath| {
            command
                .files
                .iter()
                .any(|access| matches!(&access.target, FileTarget::Path(own) if own == path))
        };
        let mut parts = Vec::new();
        for word in command.words.iter().skip(1).filter_map(Word::literal) {
            let candidates: Vec<&str> = if git {
                word.split_once(':').map(|(_, path)| path).into_iter().collect()
            } else {
                let value = word.split_once('=').map(|(_, value)| value);
                let file = word.rsplit_once('@').map(|(_, file)| file);
                std::iter::once(word).chain(value).chain(file).collect()
            };
            for text in candidates {
                let fine = !text.is_empty() && text != "/" && !text.contains("://") && !word.contains(' ');
                let path = self.resolve(text);
                if !fine || known(&path) {
                    continue;
                }
                let spellings = || std::iter::once(&path).chain(self.real(&path));
                let own = &self.request.facts.own_secret_paths;
                if own.iter().any(|own| spellings().any(|path| path.is_within(own))) {
                    parts.push(secret());
                    continue;
                }
                let rule = self
                    .narrowed(&path, Effect::Deny, &["Read"])
                    .or_else(|| self.narrowed(&path, Effect::Ask, &["Read"]));
                parts.extend(rule.as_ref().map(perhaps));
            }
        }
        parts
    }
}

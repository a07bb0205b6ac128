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
    files::Cover,
    judge::{Judge, Part},
    rules::Rule,
    texts,
};

enum Reach {
    Nothing,
    Wildcard(Rule),
    Exact(Rule),
    Everything(Rule),
}

fn through_sudo(command: &Command) -> bool {
    let sudo = |context: &Context| matches!(context, Context::Changing(_));
    command.seen_through.iter().any(sudo)
}

/// Options by which a program runs or writes what its rule does not name. Of build tools the generator has npm alone, in a
/// folder of the project or elsewhere.
fn escapes(command: &Command) -> bool {
    let words: Vec<&str> = command.words.iter().filter_map(Word::literal).collect();
    let npm = words.first() == Some(&"npm") && words.iter().any(|word| word.ends_with("../x"));
    npm || (command.escape_option().is_some() && command.class != CommandClass::Wrapper)
}

/// Of git's commands that change files the generator has these.
fn changes_work_tree(command: &Command) -> bool {
    let mut words = command.words.iter().map(Word::literal);
    let git = words.next().flatten() == Some("git");
    let verb = words.find(|word| word.is_none_or(|word| !word.starts_with('-') && word != "src"));
    git && matches!(
        verb,
        Some(None | Some("checkout" | "stash" | "pull" | "rm" | "mv" | "clean" | "restore" | "merge"))
    )
}

impl Judge<'_> {
    /// The parts of a line, and whether some are allowed in the sandbox only.
    pub(crate) fn line(&self, line: &str) -> (Vec<Part>, bool) {
        let workspace = &self.request.workspace;
        let context = ShellContext {
            cwd: workspace.cwd.clone(),
            home: workspace.home.clone(),
        };
        let analysis = shell::analyse(line, &context, Limits::default());
        let mut parts = Vec::new();
        for (index, command) in analysis.commands.iter().enumerate() {
            parts.extend(self.command(&analysis, index, command));
        }
        parts.extend(analysis.opaque.iter().map(|opaque| self.opaque(opaque)));
        parts.extend(self.other_names(&analysis));
        parts.extend(self.runs_what_it_wrote(&analysis));
        if parts.is_empty() {
            parts.push(self.mode(ActionClass::NoProgram));
        }
        let in_sandbox = self.sandbox_first(&analysis, &mut parts);
        (parts, in_sandbox)
    }

    /// What the generator has of files that a line writes and runs: what is written into a link, which may be any file. Of `echo x >
    /// $X` nobody knows the name, but the text is one that no rule is about.
    fn runs_what_it_wrote(&self, analysis: &Analysis) -> Option<Part> {
        let first = |command: &Command| command.program().unwrap_or_default().to_owned();
        let is_link = |command: &Command| first(command) == "ln";
        // Neither gives a file contents.
        let is_empty = |command: &Command| matches!(first(command).as_str(), "mkdir" | "touch");
        let writes = |access: &&FileAccess| access.access == Access::Write;
        let links: Vec<&FileAccess> = (analysis.commands.iter().filter(|command| is_link(command)))
            .flat_map(|command| command.files.iter().filter(writes))
            .collect();
        let into_link = |access: &FileAccess| match &access.target {
            FileTarget::Path(path) => links
                .iter()
                .any(|link| !matches!(&link.target, FileTarget::Path(link) if !path.is_within(link))),
            _ => !links.is_empty(),
        };
        let written = |command: &Command| {
            let mut files = command.files.iter().filter(writes);
            !is_link(command) && !is_empty(command) && files.any(into_link)
        };
        let runs = |command: &Command| command.program().is_some_and(|program| program == "./foo");
        let found = analysis.commands.iter().any(runs) && analysis.commands.iter().any(written);
        (found && self.has_scoped_command_rule()).then(Part::unknown)
    }

    pub(crate) fn has_scoped_command_rule(&self) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.effect != Effect::Allow && rule.words().is_some() && !rule.is_for_every_command())
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
            return Part::unknown();
        }
        match self.allow_for_everything() {
            Some(rule) => Part::by_rule(&rule),
            None => self.mode(ActionClass::OpaqueCommand),
        }
    }

    fn command(&self, analysis: &Analysis, index: usize, command: &Command) -> Vec<Part> {
        let wide = texts::wide(command);
        let meets = |effect| {
            self.first_with(effect, |rule| {
                let without_text = wide.is_empty() && rule.is_for_every_command();
                without_text || wide.iter().any(|text| rule.covers_command(text)) || rule.has_its_options(command)
            })
        };
        let literal = |at: usize| command.words.get(at).and_then(Word::literal);
        let (own, reach) = if let Some(rule) = meets(Effect::Deny) {
            (Part::by_rule(&rule), Reach::Nothing)
        } else if self.request.mode == Mode::Plan && changes_work_tree(command) {
            (self.mode(ActionClass::EditInside), Reach::Nothing)
        } else if command.program_name() == Some("shutdown") {
            (self.mode(ActionClass::Critical), Reach::Nothing)
        } else if command.program_name() == Some("git") && literal(1) == Some("config") {
            // The generator only has one that sets something.
            (self.mode(ActionClass::Protected), Reach::Nothing)
        } else if command.class == CommandClass::SelfChange {
            (self.mode(ActionClass::Protected), Reach::Nothing)
        } else if let Some(rule) = meets(Effect::Ask) {
            (Part::by_rule(&rule), Reach::Nothing)
        } else if let Some(rule) = self.perhaps_narrowed(command) {
            (Part::perhaps(&rule), Reach::Nothing)
        } else if let Some(rule) = self.mentioned(command) {
            (Part::perhaps(&rule), Reach::Nothing)
        } else {
            self.allow_or_mode(analysis, index, command)
        };
        let mut parts = vec![own];
        for access in &command.files {
            let cover = self.cover(&reach, command, access);
            let part = match &access.target {
                FileTarget::Path(path)
                    if command.program() != Some("cd")
                        && access.through.iter().flatten().any(|folder| self.is_link(folder)) =>
                {
                    self.astray(path.as_str(), access.access, cover)
                }
                FileTarget::Path(path) => self.path(path, access.access, cover),
                FileTarget::Unknown(source) => self.not_known(source, access.access, cover),
                FileTarget::Pattern { .. } => panic!("the generator makes no patterns of the shell"),
            };
            // What is moved is not lost.
            let moved = access.access == Access::Delete && command.program_name() == Some("mv");
            parts.push(if moved { part.guarded(None) } else { part });
        }
        if let Reach::Wildcard(_) = reach {
            parts.extend(self.outside(command));
        }
        parts.extend(command.urls.iter().filter_map(|url| self.contact(url)));
        parts.extend(self.named_hosts(command));
        parts.extend(
            command
                .sockets
                .iter()
                .map(|socket| self.connection(&socket.name, &reach)),
        );
        parts.extend(self.named_files(command));
        parts.extend(self.added(command));
        parts.extend(self.taken_along(command));
        parts.extend(self.files_in_texts(analysis, command));
        parts
    }

    /// A deny or ask that the command would meet if its unknown words became what they might.
    fn perhaps_narrowed(&self, command: &Command) -> Option<Rule> {
        let known = texts::with_gaps(command);
        let meets = |effect| self.first_with(effect, |rule| known.iter().any(|known| rule.may_cover_command(known)));
        meets(Effect::Deny).or_else(|| meets(Effect::Ask))
    }

    fn allow_or_mode(&self, analysis: &Analysis, index: usize, command: &Command) -> (Part, Reach) {
        if let Some(rule) = self.allow_for_everything() {
            return (Part::by_rule(&rule), Reach::Everything(rule));
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
        let sudo = through_sudo(command);
        let system = self.is_system_program(program);
        if command.class == CommandClass::Other || system || program.contains('/') {
            let allowed = if sudo {
                // Only a rule that says so: on the command that wraps this one, and not on the wrapper alone.
                let outer = analysis.commands[..index]
                    .iter()
                    .rev()
                    .find(|outer| outer.program() == Some("sudo"));
                outer
                    .and_then(|outer| self.allowed(outer))
                    .filter(|rule| !rule.covers_command("sudo \u{1}"))
            } else {
                self.allowed(command)
            };
            if let Some(rule) = allowed {
                let reach = if rule.is_exact() {
                    Reach::Exact(rule.clone())
                } else {
                    Reach::Wildcard(rule.clone())
                };
                return (Part::by_rule(&rule), reach);
            }
        }
        let known = system && !sudo && command.assignments_harmless();
        (self.by_class(analysis, index, command, known), Reach::Nothing)
    }

    /// The allow for a command by its words; one without a wildcard first.
    fn allowed(&self, command: &Command) -> Option<Rule> {
        let narrow = texts::narrow(command);
        let covers = |rule: &Rule| narrow.iter().any(|text| rule.covers_command(text)) && !rule.is_for_every_command();
        let exact = self.first_with(Effect::Allow, |rule| rule.is_exact() && covers(rule));
        exact.or_else(|| self.first_with(Effect::Allow, covers).filter(|_| !escapes(command)))
    }

    fn by_class(&self, analysis: &Analysis, index: usize, command: &Command, known: bool) -> Part {
        let tee = command.program() == Some("tee") && !command.files.is_empty();
        let device = |word: &Word| word.literal() == Some("/dev/null");
        let only_to_devices = command.program() == Some("tee") && command.words.iter().skip(1).all(device);
        let looking_is_free = self.request.mode.answer(ActionClass::ReadOnlyCommand) == Answer::Allow;
        self.mode(match command.class {
            _ if !known => ActionClass::OtherCommand,
            _ if tee => ActionClass::FileCommand,
            // The generator's devices keep nothing, so what is left of `tee` looks.
            CommandClass::Other if only_to_devices => ActionClass::ReadOnlyCommand,
            CommandClass::ReadOnly => ActionClass::ReadOnlyCommand,
            CommandClass::ReadOnlyGit if self.git_only_looks(analysis, index, command) => ActionClass::ReadOnlyCommand,
            CommandClass::FileChange if !command.files.is_empty() => ActionClass::FileCommand,
            CommandClass::ChangeDirectory if !looking_is_free => ActionClass::ReadOnlyCommand,
            CommandClass::ChangeDirectory => {
                let certain = analysis.goes.get(&index);
                let certain = certain.is_some_and(|folders| folders.iter().all(|folder| self.inside(folder)));
                if certain || self.inside(&self.after_all(&analysis.commands[..=index])) {
                    ActionClass::ReadInside
                } else {
                    ActionClass::ReadOutside
                }
            }
            CommandClass::Wrapper if matches!(command.program(), Some("bash" | "timeout")) => {
                return Part::allowed_by_mode();
            }
            _ => ActionClass::OtherCommand,
        })
    }

    /// Where one change of folder after the other leads.
    fn after_all(&self, commands: &[Command]) -> AbsPath {
        let mut here = self.request.workspace.cwd.clone();
        for command in commands {
            if command.class == CommandClass::ChangeDirectory {
                let text = command.words[1].literal().unwrap();
                here = if text.starts_with('~') {
                    self.resolve(text)
                } else {
                    here.join(text)
                };
            }
        }
        here
    }

    /// Whether git runs nothing else where it works. The generator makes no repositories out of files.
    fn git_only_looks(&self, analysis: &Analysis, index: usize, command: &Command) -> bool {
        let facts = &self.request.facts;
        let project = &facts.paths[&self.request.workspace.root].real;
        let cwd = &self.request.workspace.cwd;
        let runs_nothing = |repository: &Repository| match repository {
            Repository::Unknown => false,
            Repository::None => true,
            Repository::Known { root, executing_keys } => {
                let trusted = facts.project_trusted && project.as_ref().is_some_and(|project| project.is_within(root));
                executing_keys.is_empty() || trusted
            }
        };
        let from = if analysis.moved.contains(&index) {
            match analysis.git_places.get(&index) {
                Some(places) => places.clone(),
                None => return false,
            }
        } else {
            vec![cwd.clone()]
        };
        // `git -C x` works in `x`.
        let to = match command.words.as_slice() {
            [_, option, folder, ..] if option.literal() == Some("-C") => match folder.literal() {
                Some(folder) => folder,
                None => return false,
            },
            _ => "",
        };
        let words = || command.words.iter().filter_map(Word::literal);
        let names_a_path = words().any(|word| word.contains(':'));
        if to.contains("src/..") {
            return false;
        }
        let strange = |folder: &AbsPath| facts.paths.get(folder).and_then(|fact| fact.real.as_ref()) != Some(folder);
        from.iter().all(|begin| {
            let folder = begin.join(to);
            if to.contains("..") && strange(begin) {
                return false;
            }
            if folder == *cwd && !analysis.moved.contains(&index) {
                return runs_nothing(&facts.repository);
            }
            let top = match facts.git_folders.get(&folder) {
                Some(Repository::Known { root, .. }) => facts.paths[&folder].real.as_ref() == Some(root),
                _ => false,
            };
            if names_a_path && !top {
                return false;
            }
            let replaced = analysis
                .commands
                .iter()
                .flat_map(|command| &command.files)
                .any(|access| {
                    access.access != Access::Read
                        && match &access.target {
                            FileTarget::Path(path) => folder.is_within(path),
                            _ => true,
                        }
                });
            if replaced {
                return false;
            }
            if folder == *cwd {
                return runs_nothing(&facts.repository);
            }
            let Some(there) = facts.git_folders.get(&folder).filter(|_| self.inside(&folder)) else {
                return false;
            };
            match (there, &facts.repository) {
                (Repository::Known { root, .. }, Repository::Known { root: own, .. }) if root == own => {
                    runs_nothing(&facts.repository)
                }
                (Repository::Known { root, executing_keys }, _) => {
                    let inside = project.as_ref().is_some_and(|project| root.is_within(project));
                    executing_keys.is_empty() && inside
                }
                (other, _) => runs_nothing(other),
            }
        })
    }

    fn is_system_program(&self, name: &str) -> bool {
        let builtins = ["cd", "echo", "true", "eval"];
        let tmp = AbsPath::parse("/tmp").unwrap();
        let open = |path: &AbsPath| path.is_within(&self.request.workspace.root) || path.is_within(&tmp);
        !name.contains('/')
            && (builtins.contains(&name)
                || matches!(self.request.facts.programs.get(name), Some(Some(found)) if !open(found)))
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
                Access::Write if inside && (shapes || command.writes_products()) => Some(rule.clone()),
                Access::Delete | Access::DeleteTree if inside => Some(rule.clone()),
                _ => None,
            },
        }
    }

    /// Denies and asks on hosts hold for commands that contact them.
    fn contact(&self, url: &str) -> Option<Part> {
        let web = url.replacen("tcp://", "http://", 1).replacen("udp://", "http://", 1);
        let host = host_of(&web).unwrap();
        let rule = self.first(|rule| rule.effect != Effect::Allow && rule.fetches(Some(&host)))?;
        Some(Part::by_rule(&rule))
    }

    /// A connection that a redirection opens: denies and asks on such a file count, allows do not.
    fn connection(&self, name: &str, reach: &Reach) -> Part {
        let path = AbsPath::root().join(name);
        let verbs = ["Edit", "Read"];
        let narrowed = self
            .narrowed(&path, Effect::Deny, &verbs)
            .or_else(|| self.narrowed(&path, Effect::Ask, &verbs));
        if let Some(rule) = narrowed {
            return Part::by_rule(&rule);
        }
        match reach {
            Reach::Everything(rule) => Part::by_rule(rule),
            _ => self.mode(ActionClass::Fetch),
        }
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
            let behind_colon = word.split_once(':').map(|(_, path)| path);
            let candidates: Vec<&str> = if git {
                behind_colon.into_iter().collect()
            } else {
                let value = word.split_once('=').map(|(_, value)| value);
                let file = word.rsplit_once('@').map(|(_, file)| file);
                let socket = behind_colon.filter(|path| path.starts_with('/'));
                std::iter::once(word).chain(value).chain(file).chain(socket).collect()
            };
            for text in candidates {
                let fine = !text.is_empty() && text != "/" && !text.contains("://") && !word.contains(' ');
                let path = self.resolve(text);
                if !fine || known(&path) {
                    continue;
                }
                if self.is_own_secret(&path) {
                    parts.push(Part::secret());
                    continue;
                }
                let rule = self
                    .narrowed(&path, Effect::Deny, &["Read"])
                    .or_else(|| self.narrowed(&path, Effect::Ask, &["Read"]));
                parts.extend(rule.as_ref().map(Part::perhaps));
            }
        }
        parts
    }

    /// Files under names that the line itself gives them: what stands below a copy or a new name is what stood below the old
    /// one. What rules and protections say of the old name holds for the new one.
    fn other_names(&self, analysis: &Analysis) -> Vec<Part> {
        let mut parts = Vec::new();
        let paths = |command: &Command, sought: Access| -> Vec<AbsPath> {
            let accesses = command.files.iter();
            let sought = accesses.filter(|access| access.access == sought && !access.redirection);
            let path = |access: &FileAccess| match &access.target {
                FileTarget::Path(path) => Some(path.clone()),
                _ => None,
            };
            sought.filter_map(path).collect()
        };
        for (at, command) in analysis.commands.iter().enumerate() {
            let symbolic = command.words.iter().any(|word| word.literal() == Some("-s"));
            // A hard link to a protected file is that file.
            if command.program_name() == Some("ln") && !symbolic {
                let protected = paths(command, Access::Read).iter().any(|path| self.protects(path));
                parts.extend(protected.then(|| self.mode(ActionClass::Protected)));
            }
            for access in &command.files {
                let FileTarget::Path(path) = &access.target else {
                    continue;
                };
                for before in &analysis.commands[..at] {
                    let link = before.program_name() == Some("ln");
                    let gives_names = link || matches!(before.program_name(), Some("cp" | "mv"));
                    if !gives_names || (access.access != Access::Read && !link) {
                        continue;
                    }
                    for old in paths(before, Access::Read) {
                        for new in paths(before, Access::Write) {
                            if let Some(rest) = path.below(&new).filter(|_| new != old) {
                                parts.push(self.path(&old.join(rest), access.access, None));
                            }
                        }
                    }
                }
            }
        }
        use portcullis_policy::{DecidedBy, Verdict};
        let ours = [DecidedBy::Rule, DecidedBy::Protection, DecidedBy::Control];
        parts.retain(|part| part.verdict != Verdict::Allow && ours.contains(&part.by));
        parts
    }
}

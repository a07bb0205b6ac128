//! The order of judgement in the plainest code: every rule of every layer is looked at for every part, in the order of
//! steps that the design names. No index, no sorting, no shortcut.
//!
//! It takes from the engine what is no part of the claim: the analysis of a shell line, the table of modes, the table of
//! protected paths. It takes nothing of the evaluator, of the index, or of the matchers.

use portcullis_policy::{
    AbsPath, Action, DecidedBy, Effect, Layer, Mode, Request, Verdict,
    call::Search,
    credentials,
    facts::Repository,
    mode::{ActionClass, Answer},
    protected,
    request::Interactivity,
    rule::host_of,
    shell::{
        self, Access, Analysis, Command, CommandClass, Context, FileAccess, FileTarget, Limits, Opaque, OpaqueReason,
        ShellContext, Word,
    },
};

use super::{
    matchers::{self, Places},
    texts,
};

/// A rule as the documents have it.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) effect: Effect,
    pub(crate) layer: Layer,
    pub(crate) document: String,
    pub(crate) folder: Option<AbsPath>,
    pub(crate) line: u32,
    pub(crate) text: String,
    /// The patterns of the exceptions that stand after it in its list.
    pub(crate) exceptions: Vec<String>,
}

impl Rule {
    fn tool(&self) -> &str {
        self.text.split('(').next().unwrap()
    }

    fn inner(&self) -> Option<&str> {
        let (_, rest) = self.text.split_once('(')?;
        rest.strip_suffix(')')
    }

    /// The pattern of a rule on commands.
    fn command(&self) -> Option<&str> {
        let pattern = self.inner().unwrap_or("*");
        (self.tool() == "Bash" && !pattern.starts_with("description:")).then_some(pattern)
    }

    fn is_for_every_command(&self) -> bool {
        self.command() == Some("*")
    }

    fn is_exact(&self) -> bool {
        self.command().is_some_and(|pattern| !pattern.contains('*'))
    }
}

/// How one part came out.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) verdict: Verdict,
    pub(crate) by: DecidedBy,
    pub(crate) rule: Option<Rule>,
}

/// What already allows an access to a file.
type Cover = Option<Rule>;

enum Reach {
    Nothing,
    Wildcard(Rule),
    Exact(Rule),
    Everything(Rule),
}

pub(crate) struct Judge<'a> {
    pub(crate) rules: &'a [Rule],
    pub(crate) request: &'a Request,
}

/// Decides a request: the parts, strictest first.
pub(crate) fn judge(rules: &[Rule], request: &Request) -> Vec<Part> {
    // An allow of a project that nobody trusts is none.
    let counting: Vec<Rule> = rules
        .iter()
        .filter(|rule| {
            let inside = matches!(rule.layer, Layer::Project | Layer::Local);
            rule.effect != Effect::Allow || !inside || request.facts.project_trusted
        })
        .cloned()
        .collect();
    let judge = Judge {
        rules: &counting,
        request,
    };
    let mut parts = judge.parts();
    for part in &mut parts {
        judge.settle(part);
    }
    let weight = |by: DecidedBy| match by {
        DecidedBy::Rule => 0,
        DecidedBy::Control => 1,
        DecidedBy::Protection => 2,
        DecidedBy::Failure => 3,
        DecidedBy::Mode => 4,
        _ => 5,
    };
    parts.sort_by_key(|part| (std::cmp::Reverse(part.verdict), weight(part.by)));
    parts
}

/// Of rules the one that decides: strictest effect, highest layer, then as documents and lines come.
fn decisive<'r>(rules: impl Iterator<Item = &'r Rule>) -> Option<Rule> {
    let mut best: Option<&Rule> = None;
    for rule in rules {
        let stands_before = |other: &Rule| {
            let (own, their) = ((rule.effect, rule.layer), (other.effect, other.layer));
            own > their || (own == their && (&rule.document, rule.line) < (&other.document, other.line))
        };
        if best.is_none_or(stands_before) {
            best = Some(rule);
        }
    }
    best.cloned()
}

fn by_rule(rule: &Rule) -> Part {
    Part {
        verdict: rule.effect.into(),
        by: DecidedBy::Rule,
        rule: Some(rule.clone()),
    }
}

fn perhaps(rule: &Rule) -> Part {
    Part {
        verdict: Verdict::Ask,
        ..by_rule(rule)
    }
}

fn unknown() -> Part {
    Part {
        verdict: Verdict::Ask,
        by: DecidedBy::Failure,
        rule: None,
    }
}

fn allowed_by_mode() -> Part {
    Part {
        verdict: Verdict::Allow,
        by: DecidedBy::Mode,
        rule: None,
    }
}

fn secret() -> Part {
    Part {
        verdict: Verdict::Deny,
        by: DecidedBy::Protection,
        rule: None,
    }
}

impl Judge<'_> {
    fn mode(&self, class: ActionClass) -> Part {
        let protection = matches!(class, ActionClass::Protected | ActionClass::Critical);
        Part {
            verdict: self.request.mode.answer(class).alone(),
            by: if protection {
                DecidedBy::Protection
            } else {
                DecidedBy::Mode
            },
            rule: None,
        }
    }

    fn settle(&self, part: &mut Part) {
        let facts = &self.request.facts;
        let of_the_host = matches!(
            self.request.call.action,
            Action::Shell { .. }
                | Action::Read { .. }
                | Action::Edit { .. }
                | Action::Delete { .. }
                | Action::Search(Search::Files { .. })
                | Action::Skill { .. }
        );
        if part.verdict == Verdict::Allow && (!facts.failures.is_empty() || (!facts.vouched && of_the_host)) {
            part.verdict = Verdict::Ask;
            part.by = DecidedBy::Failure;
        }
        let nobody = self.request.interactivity == Interactivity::Headless || self.request.mode == Mode::DontAsk;
        if part.verdict == Verdict::Ask && nobody {
            part.verdict = Verdict::Deny;
        }
    }

    fn parts(&self) -> Vec<Part> {
        let request = self.request;
        let call = &request.call;
        let mut parts = Vec::new();
        for effect in [Effect::Deny, Effect::Ask] {
            if parts.is_empty() {
                parts.extend(self.tool_rule(effect).as_ref().map(by_rule));
            }
        }
        let tool = self.tool_rule(Effect::Allow);
        let file = |text: &String, access| self.path(&self.resolve(text), access, tool.clone());
        match &call.action {
            Action::Shell { command } => parts.extend(self.line(command)),
            Action::Read { path } => parts.push(file(path, Access::Read)),
            Action::Edit { paths } => parts.extend(paths.iter().map(|path| file(path, Access::Write))),
            Action::Delete { paths } => parts.extend(paths.iter().map(|path| file(path, Access::DeleteTree))),
            Action::Search(Search::Web { query }) => {
                let rule = self.first(|rule| rule.tool() == "WebSearch" && rule.inner().is_none_or(|own| own == query));
                parts.push(rule.map_or_else(|| self.mode(ActionClass::WebSearch), |rule| by_rule(&rule)));
            }
            Action::Search(Search::Files { path, pattern: None }) => {
                parts.push(file(path.as_ref().unwrap_or(&".".to_owned()), Access::Read));
            }
            Action::Fetch { urls } => parts.extend(urls.iter().map(|url| self.fetch(url))),
            Action::Mcp { server, tool } => parts.push(self.mcp(server, tool)),
            Action::Agent { kind } => {
                let rule = self.first(|rule| rule.tool() == "Agent" && rule.inner().is_none_or(|own| own == kind));
                parts.push(rule.map_or_else(|| self.mode(ActionClass::StartAgent), |rule| by_rule(&rule)));
            }
            Action::Skill { name, .. } => parts.push(self.skill(name)),
            Action::Other => {
                parts.push(tool.map_or_else(|| self.mode(ActionClass::UnknownTool), |rule| by_rule(&rule)));
            }
            other => panic!("the generator makes no {other:?}"),
        }
        parts
    }

    fn first(&self, mut covers: impl FnMut(&Rule) -> bool) -> Option<Rule> {
        decisive(self.rules.iter().filter(|rule| covers(rule)))
    }

    fn first_with(&self, effect: Effect, mut covers: impl FnMut(&Rule) -> bool) -> Option<Rule> {
        self.first(|rule| rule.effect == effect && covers(rule))
    }

    /// A rule on the tool itself.
    fn tool_rule(&self, effect: Effect) -> Option<Rule> {
        let call = &self.request.call;
        let mut names = vec![call.tool_name.clone()];
        if let Action::Mcp { server, tool } = &call.action {
            names.push(format!("mcp__{server}__{tool}"));
        }
        let special = [
            "Bash",
            "Read",
            "Edit",
            "Delete",
            "WebFetch",
            "WebSearch",
            "Agent",
            "Skill",
        ];
        self.first_with(effect, |rule| match rule.inner() {
            _ if rule.text == "*" => true,
            None => {
                let known = special.contains(&rule.tool()) || rule.tool().starts_with("mcp__");
                !known && names.iter().any(|name| matchers::stars(&rule.text, name))
            }
            // A field of the input.
            Some(inner) => {
                let field = inner.split_once(':');
                field.is_some_and(|(field, value)| {
                    let given = call.input.get(field).and_then(|given| given.as_str());
                    names.contains(&rule.tool().to_owned())
                        && !(rule.tool() == "Bash" && field != "description")
                        && rule.tool() != "WebFetch"
                        && given.is_some_and(|given| matchers::stars(value, given))
                })
            }
        })
    }

    fn fetch(&self, url: &str) -> Part {
        let Some(host) = host_of(url) else {
            let every = |rule: &Rule| rule.text == "WebFetch" && rule.effect != Effect::Allow;
            return match self.first(every) {
                Some(rule) => by_rule(&rule),
                None if self.request.mode == Mode::Plan => self.mode(ActionClass::Fetch),
                None => unknown(),
            };
        };
        match self.first(|rule| fetches(rule, &host)) {
            Some(rule) => by_rule(&rule),
            None => self.mode(ActionClass::Fetch),
        }
    }

    fn mcp(&self, server: &str, tool: &str) -> Part {
        let covers = |rule: &Rule| {
            let body = rule.text.strip_prefix("mcp__");
            body.is_some_and(|body| matchers::mcp(body, rule.effect != Effect::Allow, server, tool))
        };
        match self.first(covers) {
            Some(rule) if rule.effect == Effect::Allow && self.request.mode == Mode::Plan => {
                self.mode(ActionClass::McpTool)
            }
            Some(rule) => by_rule(&rule),
            None => self.mode(ActionClass::McpTool),
        }
    }

    fn skill(&self, name: &str) -> Part {
        let covers = |rule: &Rule| {
            rule.tool() == "Skill"
                && match rule.inner() {
                    None => true,
                    Some(own) => match own.strip_suffix(":*") {
                        Some(group) => name.starts_with(&format!("{group}:")),
                        None => own.strip_suffix(" *").unwrap_or(own) == name,
                    },
                }
        };
        match self.first(covers) {
            Some(rule) => by_rule(&rule),
            None if self.request.facts.project_trusted => self.mode(ActionClass::RunSkill),
            None => {
                let part = self.mode(ActionClass::UnknownTool);
                Part {
                    verdict: part.verdict.max(Verdict::Ask),
                    ..part
                }
            }
        }
    }

    // ---- files ----

    fn resolve(&self, text: &str) -> AbsPath {
        let workspace = &self.request.workspace;
        match text.strip_prefix("~/") {
            Some(rest) => workspace.home.as_ref().unwrap().join(rest),
            None if text == "~" => workspace.home.clone().unwrap(),
            None => workspace.cwd.join(text),
        }
    }

    fn real(&self, path: &AbsPath) -> Option<&AbsPath> {
        self.request.facts.paths.get(path)?.real.as_ref()
    }

    fn inside(&self, path: &AbsPath) -> bool {
        let workspace = &self.request.workspace;
        let root = self.real(&workspace.root).unwrap_or(&workspace.root);
        path.is_within(&workspace.root) && self.real(path).is_some_and(|real| real.is_within(root))
    }

    /// The places of a rule's document: as named, and where these really are.
    fn places(&self, rule: &Rule) -> [Places; 2] {
        let workspace = &self.request.workspace;
        let inside = workspace.cwd.is_within(&workspace.root);
        let named = Places {
            document: rule.folder.clone().unwrap_or_else(|| workspace.root.clone()),
            home: workspace.home.clone().unwrap(),
            cwd: if inside {
                workspace.cwd.clone()
            } else {
                workspace.root.clone()
            },
            root: workspace.root.clone(),
        };
        let real = |path: &AbsPath| self.real(path).unwrap_or(path).clone();
        let really = Places {
            document: real(&named.document),
            home: real(&named.home),
            cwd: real(&named.cwd),
            root: real(&named.root),
        };
        [named, really]
    }

    /// Whether a rule on files covers one spelling of a path, whatever it says about it.
    fn covers_spelling(&self, rule: &Rule, path: &AbsPath) -> bool {
        let wide = rule.effect != Effect::Allow;
        let places = self.places(rule);
        let meant = |pattern: &str, wide: bool| places.iter().any(|at| matchers::path(pattern, wide, path, at));
        rule.inner().is_none_or(|pattern| meant(pattern, wide))
            // What is taken out of an allow is read widely, what is taken out of a deny narrowly.
            && !rule.exceptions.iter().any(|pattern| meant(pattern, !wide))
    }

    /// The deny or ask that speaks about an access to a path, as named or where it really leads.
    fn narrowed(&self, path: &AbsPath, effect: Effect, verbs: &[&str]) -> Option<Rule> {
        self.first_with(effect, |rule| {
            verbs.contains(&rule.tool())
                && (self.covers_spelling(rule, path)
                    || self.real(path).is_some_and(|real| self.covers_spelling(rule, real)))
        })
    }

    /// The allow for a path, if where it really leads is allowed too.
    fn permitted(&self, path: &AbsPath, verb: &str) -> Option<Rule> {
        let allows = |path: &AbsPath| {
            self.first_with(Effect::Allow, |rule| {
                rule.tool() == verb && self.covers_spelling(rule, path)
            })
        };
        let named = allows(path)?;
        allows(self.real(path)?).map(|_| named)
    }

    fn path(&self, path: &AbsPath, access: Access, cover: Cover) -> Part {
        let verbs = verbs(access);
        if path.as_str() == "/dev/null" && matches!(access, Access::Read | Access::Write) {
            return allowed_by_mode();
        }
        let facts = &self.request.facts;
        let spellings = || std::iter::once(path).chain(self.real(path));
        let secret_there = facts
            .own_secret_paths
            .iter()
            .any(|own| spellings().any(|path| path.is_within(own)));
        let secrets_below = spellings().any(|path| {
            facts.own_paths.iter().any(|own| path.is_within(own))
                && facts.own_secret_paths.iter().any(|own| own.is_within(path))
        });
        if secret_there || secrets_below {
            return secret();
        }
        if let Some(rule) = self.narrowed(path, Effect::Deny, verbs) {
            return by_rule(&rule);
        }
        if access != Access::Read {
            let whole_tree = access == Access::DeleteTree;
            let own = facts.own_paths.iter().chain(&facts.own_secret_paths);
            let is_own = own
                .clone()
                .any(|own| spellings().any(|path| path.is_within(own) || (whole_tree && own.is_within(path))));
            let guarded = spellings().any(protects);
            if is_own || guarded {
                return self.mode(ActionClass::Protected);
            }
            if access != Access::Write && protected::is_critical(path, &self.request.workspace) {
                return self.mode(ActionClass::Critical);
            }
            if self.request.mode == Mode::Plan {
                return self.mode(ActionClass::EditInside);
            }
        }
        if let Some(rule) = self.narrowed(path, Effect::Ask, verbs) {
            return by_rule(&rule);
        }
        let known = self.real(path).is_some();
        let unless_unknown = |part: Part| {
            if known || part.verdict != Verdict::Allow {
                part
            } else {
                unknown()
            }
        };
        if let Some(rule) = cover {
            return unless_unknown(by_rule(&rule));
        }
        if let Some(rule) = self.permitted(path, verbs[0]) {
            return by_rule(&rule);
        }
        let credential = spellings().any(|path| credentials::holds(path).is_some());
        unless_unknown(self.by_place(self.inside(path), access, credential))
    }

    fn by_place(&self, inside: bool, access: Access, credential: bool) -> Part {
        self.mode(match (access, inside) {
            (Access::Read, true) => ActionClass::ReadInside,
            (Access::Read, false) if credential => ActionClass::ReadCredential,
            (Access::Read, false) => ActionClass::ReadOutside,
            (_, true) => ActionClass::EditInside,
            (_, false) => ActionClass::EditOutside,
        })
    }

    fn not_known(&self, source: &str, access: Access, cover: Cover) -> Part {
        if access != Access::Read {
            let words: String = source.chars().filter(|c| *c != '"').collect();
            if protects(&AbsPath::root().join(&words)) {
                return self.mode(ActionClass::Protected);
            }
            let variable_in_front = source.split_once('$').is_some_and(|(_, rest)| rest.contains('/'));
            if access != Access::Write && variable_in_front {
                return self.mode(ActionClass::Critical);
            }
            if self.request.mode == Mode::Plan {
                return self.mode(ActionClass::EditInside);
            }
        }
        let verbs = verbs(access);
        let narrows = |rule: &Rule| rule.effect != Effect::Allow && verbs.contains(&rule.tool());
        if let Some(rule) = self.first(narrows) {
            return perhaps(&rule);
        }
        if let Some(rule) = cover {
            return by_rule(&rule);
        }
        self.mode(if access == Access::Read {
            ActionClass::ReadCredential
        } else {
            ActionClass::EditOutside
        })
    }

    // ---- commands ----

    fn line(&self, line: &str) -> Vec<Part> {
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

fn protects(path: &AbsPath) -> bool {
    protected::protects(path).is_some()
}

fn verbs(access: Access) -> &'static [&'static str] {
    match access {
        Access::Read => &["Read"],
        Access::Write => &["Edit", "Read"],
        Access::Delete | Access::DeleteTree => &["Delete", "Edit", "Read"],
    }
}

fn fetches(rule: &Rule, host: &str) -> bool {
    rule.tool() == "WebFetch"
        && rule
            .inner()
            .is_none_or(|inner| matchers::host(inner.strip_prefix("domain:").unwrap(), host))
}

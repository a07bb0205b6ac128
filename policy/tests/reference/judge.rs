//! The order of judgement in the plainest code: every rule of every layer is looked at for every part, in the order of
//! steps that the design names. No index, no sorting, no shortcut.
//!
//! It takes from the engine what is no part of the claim: the analysis of a shell line, the table of modes, the table of
//! protected paths. It takes nothing of the evaluator, of the index, or of the matchers.

use portcullis_policy::{
    AbsPath, Action, DecidedBy, Effect, Layer, Mode, Request, Verdict, call::Search, credentials, mode::ActionClass,
    protected, request::Interactivity, rule::host_of, shell::Access,
};

use super::matchers::{self, Places};

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
    pub(crate) fn command(&self) -> Option<&str> {
        let pattern = self.inner().unwrap_or("*");
        (self.tool() == "Bash" && !pattern.starts_with("description:")).then_some(pattern)
    }

    pub(crate) fn is_for_every_command(&self) -> bool {
        self.command() == Some("*")
    }

    pub(crate) fn is_exact(&self) -> bool {
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
pub(crate) type Cover = Option<Rule>;

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

pub(crate) fn by_rule(rule: &Rule) -> Part {
    Part {
        verdict: rule.effect.into(),
        by: DecidedBy::Rule,
        rule: Some(rule.clone()),
    }
}

pub(crate) fn perhaps(rule: &Rule) -> Part {
    Part {
        verdict: Verdict::Ask,
        ..by_rule(rule)
    }
}

pub(crate) fn unknown() -> Part {
    Part {
        verdict: Verdict::Ask,
        by: DecidedBy::Failure,
        rule: None,
    }
}

pub(crate) fn allowed_by_mode() -> Part {
    Part {
        verdict: Verdict::Allow,
        by: DecidedBy::Mode,
        rule: None,
    }
}

pub(crate) fn secret() -> Part {
    Part {
        verdict: Verdict::Deny,
        by: DecidedBy::Protection,
        rule: None,
    }
}

impl Judge<'_> {
    pub(crate) fn mode(&self, class: ActionClass) -> Part {
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

    pub(crate) fn first(&self, mut covers: impl FnMut(&Rule) -> bool) -> Option<Rule> {
        decisive(self.rules.iter().filter(|rule| covers(rule)))
    }

    pub(crate) fn first_with(&self, effect: Effect, mut covers: impl FnMut(&Rule) -> bool) -> Option<Rule> {
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

    pub(crate) fn resolve(&self, text: &str) -> AbsPath {
        let workspace = &self.request.workspace;
        match text.strip_prefix("~/") {
            Some(rest) => workspace.home.as_ref().unwrap().join(rest),
            None if text == "~" => workspace.home.clone().unwrap(),
            None => workspace.cwd.join(text),
        }
    }

    pub(crate) fn real(&self, path: &AbsPath) -> Option<&AbsPath> {
        self.request.facts.paths.get(path)?.real.as_ref()
    }

    pub(crate) fn inside(&self, path: &AbsPath) -> bool {
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
    pub(crate) fn narrowed(&self, path: &AbsPath, effect: Effect, verbs: &[&str]) -> Option<Rule> {
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

    pub(crate) fn path(&self, path: &AbsPath, access: Access, cover: Cover) -> Part {
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

    pub(crate) fn not_known(&self, source: &str, access: Access, cover: Cover) -> Part {
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
}

fn protects(path: &AbsPath) -> bool {
    protected::protects(path, protected::Switches::default()).is_some()
}

fn verbs(access: Access) -> &'static [&'static str] {
    match access {
        Access::Read => &["Read"],
        Access::Write => &["Edit", "Read"],
        Access::Delete | Access::DeleteTree => &["Delete", "Edit", "Read"],
    }
}

pub(crate) fn fetches(rule: &Rule, host: &str) -> bool {
    rule.tool() == "WebFetch"
        && rule
            .inner()
            .is_none_or(|inner| matchers::host(inner.strip_prefix("domain:").unwrap(), host))
}

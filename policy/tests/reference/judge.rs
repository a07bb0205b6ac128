//! The order of judgement in the plainest code: every rule of every layer is looked at for every part, in the order of
//! steps that the design names. No index, no sorting, no shortcut.
//!
//! It takes from the engine what is no part of the claim: the analysis of a shell line, the table of modes, the table of
//! protected paths. It takes nothing of the evaluator, of the index, or of the matchers.

use portcullis_policy::{
    AbsPath, Action, DecidedBy, Effect, Mode, Request, Verdict,
    call::Search,
    mode::{ActionClass, Guard},
    rule::{file_of, host_of},
    shell::Access,
};

use super::{
    documents::Document,
    matchers,
    policy::Policy,
    rules::{Rule, Spelling},
};

/// How one part came out.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) verdict: Verdict,
    pub(crate) by: DecidedBy,
    pub(crate) rule: Option<Rule>,
    /// What the mode was asked about; of a part that is a person's alone, `None`.
    pub(crate) class: Option<ActionClass>,
    /// The protection that can take an allow of it back.
    pub(crate) guard: Option<Guard>,
}

impl Part {
    pub(crate) fn new(verdict: Verdict, by: DecidedBy) -> Self {
        Self {
            verdict,
            by,
            rule: None,
            class: None,
            guard: None,
        }
    }

    pub(crate) fn by_rule(rule: &Rule) -> Self {
        let by = if rule.spelling == Spelling::Ignore {
            DecidedBy::Control
        } else {
            DecidedBy::Rule
        };
        Self {
            rule: Some(rule.clone()),
            ..Self::new(rule.effect.into(), by)
        }
    }

    /// A rule could be about it.
    pub(crate) fn perhaps(rule: &Rule) -> Self {
        Self {
            rule: Some(rule.clone()),
            ..Self::new(Verdict::Ask, DecidedBy::Rule)
        }
    }

    pub(crate) fn unknown() -> Self {
        Self::new(Verdict::Ask, DecidedBy::Failure)
    }

    pub(crate) fn allowed_by_mode() -> Self {
        Self::new(Verdict::Allow, DecidedBy::Mode)
    }

    pub(crate) fn asked_by_mode() -> Self {
        Self::new(Verdict::Ask, DecidedBy::Mode)
    }

    pub(crate) fn secret() -> Self {
        Self::new(Verdict::Deny, DecidedBy::Protection)
    }

    pub(crate) fn guarded(self, guard: Option<Guard>) -> Self {
        Self { guard, ..self }
    }

    /// Not knowing is never allow, and what is asked for a person has to answer.
    pub(crate) fn unless_unknown(self, known: bool) -> Self {
        match self.verdict {
            _ if known => self,
            Verdict::Allow => Self {
                guard: self.guard,
                ..Self::unknown()
            },
            Verdict::Ask | Verdict::Deny => Self { class: None, ..self },
        }
    }
}

pub(crate) struct Judge<'a> {
    /// Those that hold for the call.
    pub(crate) rules: &'a [Rule],
    pub(crate) policy: Policy<'a>,
    /// In the mode that is in force.
    pub(crate) request: &'a Request,
}

/// How a call came out.
pub(crate) struct Judged {
    /// The parts, strictest first.
    pub(crate) parts: Vec<Part>,
    /// Whether an allow holds in the sandbox only.
    pub(crate) in_sandbox: bool,
}

/// Decides a request.
pub(crate) fn judge(documents: &[Document], request: &Request) -> Judged {
    let policy = Policy {
        documents,
        trusted: request.facts.project_trusted,
    };
    let stated = request.mode;
    let request = &Request {
        mode: policy.mode_in_force(stated, request.session.started_in),
        ..request.clone()
    };
    let rules = policy.rules_that_hold(request.mode);
    let judge = Judge {
        rules: &rules,
        policy,
        request,
    };
    let (mut parts, mut in_sandbox) = if judge.refuses_mode(stated) {
        (vec![Part::new(Verdict::Deny, DecidedBy::Control)], false)
    } else {
        judge.parts()
    };
    for part in &mut parts {
        judge.ask_classifier(part);
        judge.guard(part);
    }
    judge.sandbox_always(&mut parts, &mut in_sandbox);
    for part in &mut parts {
        judge.settle(part);
    }
    let weight = |by: DecidedBy| match by {
        DecidedBy::Rule => 0,
        DecidedBy::Control => 1,
        DecidedBy::Protection => 2,
        DecidedBy::Failure => 3,
        DecidedBy::Classifier => 4,
        DecidedBy::Mode => 5,
        DecidedBy::Sandbox => 6,
    };
    parts.sort_by_key(|part| (std::cmp::Reverse(part.verdict), weight(part.by)));
    let shell = matches!(request.call.action, Action::Shell { .. });
    let in_sandbox = parts[0].verdict == Verdict::Allow && (in_sandbox || (shell && request.sandboxed_execution));
    Judged { parts, in_sandbox }
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

impl Judge<'_> {
    pub(crate) fn mode(&self, class: ActionClass) -> Part {
        let protection = matches!(class, ActionClass::Protected | ActionClass::Critical);
        let by = if protection {
            DecidedBy::Protection
        } else {
            DecidedBy::Mode
        };
        Part {
            class: Some(class),
            ..Part::new(self.request.mode.answer(class).alone(), by)
        }
    }

    fn settle(&self, part: &mut Part) {
        let facts = &self.request.facts;
        let of_the_host = !matches!(
            self.request.call.action,
            Action::Internal
                | Action::LeavePlan
                | Action::Fetch { .. }
                | Action::Browser { .. }
                | Action::Agent { .. }
                | Action::Other
                | Action::Search(Search::Web { .. })
        );
        if part.verdict == Verdict::Allow && (!facts.failures.is_empty() || (!facts.vouched && of_the_host)) {
            part.verdict = Verdict::Ask;
            part.by = DecidedBy::Failure;
        }
        let nobody = self.request.interactivity == portcullis_policy::request::Interactivity::Headless
            || self.request.mode == Mode::DontAsk;
        if part.verdict == Verdict::Ask && nobody {
            part.verdict = Verdict::Deny;
        }
    }

    /// The parts, and whether some are allowed in the sandbox only.
    fn parts(&self) -> (Vec<Part>, bool) {
        let request = self.request;
        let call = &request.call;
        if let Some(part) = self.repository() {
            return (vec![part], false);
        }
        let mut parts = Vec::new();
        for effect in [Effect::Deny, Effect::Ask] {
            if parts.is_empty() {
                parts.extend(self.tool_rule(effect).as_ref().map(Part::by_rule));
            }
        }
        let tool = self.tool_rule(Effect::Allow);
        let by_tool = |class| tool.as_ref().map_or_else(|| self.mode(class), Part::by_rule);
        let file = |text: &String, access| self.named_file(text, access, tool.clone());
        match &call.action {
            Action::Shell { command } => {
                let (line, in_sandbox) = self.line(command);
                parts.extend(line);
                return (parts, in_sandbox);
            }
            Action::Read { path } => parts.push(file(path, Access::Read)),
            Action::Edit { paths } => parts.extend(paths.iter().map(|path| file(path, Access::Write))),
            Action::Delete { paths } => {
                parts.extend(paths.iter().map(|path| file(path, Access::DeleteTree)));
                parts.extend(paths.iter().flat_map(|path| self.removed(&self.resolve(path), false)));
            }
            Action::Search(Search::Web { query }) => {
                let covers = |rule: &Rule| {
                    rule.is_native("WebSearch") && rule.inner().is_none_or(|own| matchers::stars(own, query))
                };
                parts.push(self.by_first(covers, ActionClass::WebSearch));
            }
            Action::Search(Search::Files { path, pattern: None }) => {
                parts.push(file(path.as_ref().unwrap_or(&".".to_owned()), Access::Read));
            }
            Action::Fetch { urls } => {
                parts.extend(urls.iter().filter_map(|url| self.file_address(url)));
                parts.extend(urls.iter().map(|url| self.fetch(url)));
            }
            Action::Browser { url: Some(url) } => {
                parts.extend(self.origin(url));
                parts.extend(self.file_address(url));
                parts.push(self.fetch(url).guarded(Some(Guard::Browser)));
            }
            Action::Browser { url: None } => {
                let lists = self.policy.lists_origins() && tool.is_none();
                parts.extend(lists.then(|| Part::new(Verdict::Ask, DecidedBy::Control)));
                parts.push(by_tool(ActionClass::Fetch).guarded(Some(Guard::Browser)));
            }
            Action::Mcp { server, tool } => parts.extend(self.mcp(server, tool)),
            Action::Agent { kind } => {
                let covers = |rule: &Rule| rule.is_native("Agent") && rule.inner().is_none_or(|own| own == kind);
                parts.push(self.by_first(covers, ActionClass::StartAgent));
            }
            Action::Skill { name, .. } => parts.push(self.skill(name)),
            Action::LeavePlan => parts.push(self.mode(ActionClass::LeavePlan)),
            Action::Internal => parts.push(self.mode(ActionClass::Internal)),
            // Which command it runs is not known.
            Action::Other if call.tool_name == "PowerShell" => {
                let for_all = |effect| self.first_with(effect, Rule::is_for_every_command);
                parts.push(match for_all(Effect::Deny).or_else(|| for_all(Effect::Ask)) {
                    Some(rule) => Part::by_rule(&rule),
                    None => by_tool(ActionClass::UnknownTool).unless_unknown(!self.has_scoped_command_rule()),
                });
            }
            Action::Other => parts.push(by_tool(ActionClass::UnknownTool)),
            other => panic!("the generator makes no {other:?}"),
        }
        (parts, false)
    }

    pub(crate) fn first(&self, mut covers: impl FnMut(&Rule) -> bool) -> Option<Rule> {
        decisive(self.rules.iter().filter(|rule| covers(rule)))
    }

    pub(crate) fn first_with(&self, effect: Effect, mut covers: impl FnMut(&Rule) -> bool) -> Option<Rule> {
        self.first(|rule| rule.effect == effect && covers(rule))
    }

    /// The first rule that covers it, else what the mode says.
    fn by_first(&self, covers: impl FnMut(&Rule) -> bool, class: ActionClass) -> Part {
        match self.first(covers) {
            Some(rule) => Part::by_rule(&rule),
            None => self.mode(class),
        }
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
        let native = |rule: &Rule| rule.spelling == Spelling::Native;
        self.first_with(effect, |rule| match rule.inner() {
            _ if !native(rule) => false,
            _ if rule.text == "*" => true,
            None => {
                let known = special.contains(&rule.head()) || rule.head().starts_with("mcp__");
                !known && names.iter().any(|name| matchers::stars(&rule.text, name))
            }
            // A field of the input.
            Some(inner) => {
                let field = inner.split_once(':');
                field.is_some_and(|(field, value)| {
                    let given = call.input.get(field).and_then(|given| given.as_str());
                    names.contains(&rule.head().to_owned())
                        && !(rule.head() == "Bash" && field != "description")
                        && rule.head() != "WebFetch"
                        && given.is_some_and(|given| matchers::stars(value, given))
                })
            }
        })
    }

    fn fetch(&self, url: &str) -> Part {
        let Some(host) = host_of(url) else {
            // Which host it is, is not known: rules for every host are about it all the same.
            return match self.first(|rule| rule.effect != Effect::Allow && rule.fetches(None)) {
                Some(rule) => Part::by_rule(&rule),
                None if self.request.mode == Mode::Plan => self.mode(ActionClass::Fetch),
                None => Part::unknown(),
            };
        };
        self.by_first(|rule| rule.fetches(Some(&host)), ActionClass::Fetch)
    }

    /// A file under an address is read like one, and never allowed by it.
    fn file_address(&self, url: &str) -> Option<Part> {
        let path = AbsPath::root().join(&file_of(url)?);
        Some(self.path(&path, Access::Read, None).unless_unknown(false))
    }

    fn skill(&self, name: &str) -> Part {
        let covers = |rule: &Rule| {
            rule.is_native("Skill")
                && match rule.inner() {
                    None => true,
                    Some(own) => match own.strip_suffix(":*") {
                        Some(group) => name.starts_with(&format!("{group}:")),
                        None => own.strip_suffix(" *").unwrap_or(own) == name,
                    },
                }
        };
        match self.first(covers) {
            Some(rule) => Part::by_rule(&rule),
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
}

//! The order of judgement.
//!
//! A call is taken apart (commands of a line, files, hosts), each part is judged in the order below, and the call is as
//! strict as its strictest part. For each part the first that decides wins:
//!
//! 1. deny rules of all layers, and what the team controls (modes, repositories, MCP servers, browser origins);
//! 2. (hooks, once the host runs them);
//! 3. protected paths, critical paths, Portcullis' own files and commands, MCP servers that nobody approved;
//! 4. ask rules;
//! 5. allow rules;
//! 6. the mode's table ([`crate::mode`]);
//! 7. the sandbox, where mode or policy let it stand for a question;
//! 8. the classifier, where the mode leaves a question to it.
//!
//! Protections of deletion, external files and browser take back an allow of the last three. Whatever is not known takes an allow back. At the end an ask becomes a deny where nobody can be asked.

mod automatic;
mod below;
mod classed;
mod coded;
mod commands;
mod controls;
mod critical;
mod fed;
mod files;
mod found;
mod globs;
mod handed;
mod hosts;
mod indirect;
mod lent;
mod listed;
mod mentioned;
mod mentioned_files;
mod names;
mod needed;
mod opaque;
mod ourselves;
mod outside;
mod part;
mod projects;
mod push;
mod reaching;
mod repositories;
mod rewrites;
mod sandbox;
pub mod suggest;
mod texts;
mod told;
mod tools;
mod touched;
mod trees;
mod ways;
mod work;
mod world;
mod written;

use std::borrow::Cow;

use crate::{
    Action, DecidedBy, Decision, Effect, EffectiveRuleset, Mode, Request, Verdict,
    decision::Obligation,
    mode::{ActionClass, Guard},
    rule::Matcher,
    ruleset::RuleId,
    shell::Access,
};

pub use automatic::classifier_matters;
pub use needed::{MAX_GIT_FOLDERS, MAX_PATHS, MAX_TREES, facts_needed};
pub(crate) use texts::matches_command;

use part::Part;
use world::World;

/// Most entries of a trace. The strictest come first, so what is cut off never decided.
pub const MAX_TRACE: usize = 256;
/// Most suggested rules.
const MAX_SUGGESTIONS: usize = 5;
/// Longest subject in a message, in characters; the trace has the whole.
const MAX_SUBJECT: usize = 200;

/// Decides a request.
///
/// Never fails: what cannot be understood is a decision too, and never an allow.
#[must_use]
pub fn evaluate(ruleset: &EffectiveRuleset, request: &Request) -> Decision {
    let (mode, mode_note) = automatic::in_force(ruleset, request);
    let judged;
    let asked = request;
    let request = if mode == asked.mode {
        asked
    } else {
        judged = Request { mode, ..asked.clone() };
        &judged
    };
    let world = World::new(ruleset, request, mode_note);
    let (mut parts, mut obligations) = match world.refused_mode(asked.mode) {
        Some(refused) => (vec![refused], Vec::new()),
        None => world.judge(),
    };
    for part in &mut parts {
        world.ask_classifier(part);
        world.guard(part);
    }
    world.sandbox_always(&mut parts, &mut obligations);
    for part in &mut parts {
        world.settle(part);
    }
    parts.sort_by_key(|part| (std::cmp::Reverse(part.verdict), weight(part.decided_by), !part.misleads));
    let Some(first) = parts.first() else {
        // INVARIANT: judge() gives at least one part. Without one nothing is known, so nothing is allowed.
        return Decision::failure(
            crate::decision::FailureVerdict::Deny,
            &request.call.tool_name,
            "nothing was judged",
        );
    };
    let verdict = first.verdict;
    if verdict != Verdict::Allow {
        obligations.clear();
    } else if request.sandboxed_execution && matches!(request.call.action, Action::Shell { .. }) {
        obligations = vec![Obligation::RunInSandbox];
    }
    let suggested_rules = if world.a_rule_could_allow() {
        suggestions(&parts)
    } else {
        Vec::new()
    };
    let alone = message(first);
    Decision {
        verdict,
        decided_by: first.decided_by,
        rule: first
            .rule
            .and_then(|id| world.any_rule(id))
            .map(|rule| rule.source.clone()),
        user_message: if verdict == Verdict::Allow && parts.len() > 1 {
            message_for_all(first, parts.len())
        } else {
            alone.clone()
        },
        agent_message: agent_message(&world, first, alone, &suggested_rules),
        trace: parts.iter().take(MAX_TRACE).map(|part| part.trace(&world)).collect(),
        left_out: parts.len().saturating_sub(MAX_TRACE),
        obligations,
        suggested_rules,
    }
}

/// Among parts of one verdict, who stands first in the trace: what people can do least about.
fn weight(by: DecidedBy) -> u8 {
    match by {
        DecidedBy::Rule => 0,
        DecidedBy::Control => 1,
        DecidedBy::Protection => 2,
        DecidedBy::Failure => 3,
        DecidedBy::Classifier => 4,
        DecidedBy::Mode => 5,
        DecidedBy::Sandbox => 6,
    }
}

impl World<'_> {
    /// A denial, if the team does not permit the mode that the agent says, or the one that is in force instead; or if a
    /// file of the agent itself forbids it.
    fn refused_mode(&self, stated: Mode) -> Option<Part> {
        let forbidden = [stated, self.request.mode]
            .into_iter()
            .find_map(|mode| Some((mode, self.rules.forbids(mode)?)));
        if let Some((mode, document)) = forbidden {
            let reason = format!("{document} forbids the mode {mode}");
            return Some(Part::new(
                &self.request.call.tool_name,
                Verdict::Deny,
                DecidedBy::Control,
                reason,
            ));
        }
        let permitted = self.rules.permitted_modes()?;
        let mode = [stated, self.request.mode]
            .into_iter()
            .find(|mode| !permitted.contains(mode))?;
        let names: Vec<String> = permitted.iter().map(Mode::to_string).collect();
        let note = self
            .mode_note
            .as_deref()
            .map(|note| format!(" ({note})"))
            .unwrap_or_default();
        let reason = format!(
            "the team does not permit mode {mode}{note}; permitted are: {}",
            names.join(", ")
        );
        let subject = &self.request.call.tool_name;
        Some(Part::new(subject, Verdict::Deny, DecidedBy::Control, reason))
    }

    fn judge(&self) -> (Vec<Part>, Vec<Obligation>) {
        let call = &self.request.call;
        if let Some(part) = self.judge_repository() {
            return (vec![part], Vec::new());
        }
        let rules = self.tool_rules();
        let judged = |effect| {
            self.tool_rule(&rules, effect)
                .map(|id| Part::by_rule(self, id, &call.tool_name))
        };
        let mut parts: Vec<Part> = judged(Effect::Deny)
            .or_else(|| judged(Effect::Ask))
            .into_iter()
            .collect();
        let mut obligations = Vec::new();
        let tool_allow = self.tool_rule(&rules, Effect::Allow);
        let cover = tool_allow.map_or(files::Cover::None, files::Cover::Rule);
        match &call.action {
            Action::Shell { command } => {
                let line = self.judge_line(command);
                parts.extend(line.parts);
                obligations = line.obligations;
            }
            Action::Read { path } => parts.push(self.judge_named(path, Access::Read, cover)),
            Action::Edit { paths } => {
                parts.extend(paths.iter().map(|path| self.judge_named(path, Access::Write, cover)))
            }
            Action::Delete { paths } => {
                parts.extend(
                    paths
                        .iter()
                        .map(|path| self.judge_named(path, Access::DeleteTree, cover)),
                );
                parts.extend(paths.iter().flat_map(|path| self.judge_deleted(path)));
            }
            Action::Search(search) => parts.extend(self.judge_search(search, cover)),
            Action::Fetch { urls } => {
                parts.extend(urls.iter().filter_map(|url| self.judge_file_address(url)));
                parts.extend(urls.iter().map(|url| self.judge_fetch(url)));
            }
            Action::Browser { url: Some(url) } => {
                parts.extend(self.judge_origin(Some(url)));
                parts.extend(self.judge_file_address(url));
                parts.push(self.judge_fetch(url).guarded(Some(Guard::Browser)));
            }
            Action::Browser { url: None } => {
                parts.extend(self.judge_origin(None).filter(|_| tool_allow.is_none()));
                let part = self.by_tool(tool_allow, ActionClass::Fetch, "an act on the page that is open");
                parts.push(part.guarded(Some(Guard::Browser)));
            }
            Action::Mcp { server, tool } => parts.extend(self.judge_mcp(server, tool)),
            Action::Agent { kind } => parts.push(self.judge_agent(kind)),
            Action::Skill { name, arguments } => parts.push(self.judge_skill(name, arguments)),
            Action::LeavePlan => {
                parts.push(Part::by_mode(
                    self,
                    ActionClass::LeavePlan,
                    &call.tool_name,
                    "leaving plan mode",
                ));
            }
            Action::Internal => {
                parts.push(Part::by_mode(
                    self,
                    ActionClass::Internal,
                    &call.tool_name,
                    "it stays within the agent",
                ));
            }
            Action::Other => parts.push(self.judge_other_tool(tool_allow)),
        }
        if parts.is_empty() {
            parts.push(Part::unknown(&call.tool_name, "the call names nothing that it acts on"));
        }
        (parts, obligations)
    }

    /// What holds for every part: without facts of a host nothing of the host's is allowed, and a host that failed to
    /// read something allows nothing; and an ask is a deny where nobody can be asked.
    fn settle(&self, part: &mut Part) {
        let facts = &self.request.facts;
        if part.verdict == Verdict::Allow {
            if let Some(failure) = facts.failures.first() {
                part.verdict = Verdict::Ask;
                part.decided_by = DecidedBy::Failure;
                part.reason = format!("the host could not read all that the decision rests on: {failure}");
                part.suggestions.clear();
            } else if !facts.vouched && self.rests_on_the_host() {
                part.verdict = Verdict::Ask;
                part.decided_by = DecidedBy::Failure;
                "no host vouches for the facts that the decision rests on".clone_into(&mut part.reason);
                part.suggestions.clear();
            }
        } else if part.verdict == Verdict::Ask
            && part.decided_by == DecidedBy::Mode
            && let Some(failure) = facts.failures.first()
        {
            // The rule that would have allowed it may stand in what could not be read: the person has to know.
            part.reason = format!("{}; the host could not read all: {failure}", part.reason);
        }
        if part.verdict == Verdict::Ask && self.request.nobody_can_be_asked() {
            part.verdict = Verdict::Deny;
            part.reason.push_str(Request::NOBODY);
        }
    }

    fn rests_on_the_host(&self) -> bool {
        !matches!(
            self.request.call.action,
            Action::Internal
                | Action::LeavePlan
                | Action::Fetch { .. }
                | Action::Browser { .. }
                | Action::Agent { .. }
                | Action::Other
                | Action::Search(crate::call::Search::Web { .. })
        )
    }

    /// Whether a rule could change the answer at all: not in plan mode, and not where facts are missing.
    fn a_rule_could_allow(&self) -> bool {
        let facts = &self.request.facts;
        self.request.mode != Mode::Plan && facts.failures.is_empty() && (facts.vouched || !self.rests_on_the_host())
    }

    /// Rules that can be on the tool itself or on a field of its input.
    fn tool_rules(&self) -> ToolRules {
        let call = &self.request.call;
        let names = tools::names(&call.action, &call.tool_name);
        let index = self.rules.index();
        let of_fields = call.input.keys().flat_map(|field| index.parameters(field)).copied();
        let ids = names
            .iter()
            .flat_map(|name| index.tools(name))
            .chain(of_fields)
            .collect();
        ToolRules { names, ids }
    }

    /// The strictest rule on the tool itself or a field of its input, with this effect.
    fn tool_rule(&self, ToolRules { names, ids }: &ToolRules, effect: Effect) -> Option<RuleId> {
        let call = &self.request.call;
        ids.iter()
            .copied()
            .filter(|id| {
                self.rule(*id).is_some_and(|rule| {
                    rule.effect == effect
                        && match &rule.matcher {
                            Matcher::EveryTool => true,
                            Matcher::Tool(own) if effect == Effect::Allow => *own == call.tool_name,
                            Matcher::Tool(own) => names.contains(own),
                            Matcher::Tools(pattern) => names.iter().any(|name| pattern.matches(name)),
                            Matcher::Parameter(own) => {
                                names.contains(&own.tool)
                                    && call
                                        .input
                                        .get(&own.name)
                                        .and_then(tools::scalar)
                                        .is_some_and(|text| own.value.matches(&text))
                            }
                            _ => false,
                        }
                })
            })
            .min()
    }
}

/// The names under which rules may speak about a tool, and the rules that may.
struct ToolRules {
    names: Vec<String>,
    ids: Vec<RuleId>,
}

/// A subject as messages show it.
fn short(subject: &str) -> Cow<'_, str> {
    match subject.char_indices().nth(MAX_SUBJECT) {
        _ if subject.len() <= MAX_SUBJECT => Cow::Borrowed(subject),
        None => Cow::Borrowed(subject),
        Some((end, _)) => Cow::Owned(format!("{}…", subject.get(..end).unwrap_or_default())),
    }
}

/// What people read where all parts are allowed.
fn message_for_all(first: &Part, parts: usize) -> String {
    format!(
        "allowed: each of its {parts} parts is; `{}`: {}",
        short(&first.subject),
        first.reason
    )
}

/// What people read about one part.
fn message(part: &Part) -> String {
    let word = match part.verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "needs a person's yes",
        Verdict::Deny => "denied",
    };
    let seen = if part.seen_through.is_empty() {
        String::new()
    } else {
        format!(" (seen inside {})", part.seen_through.join(", "))
    };
    [word, ": `", &short(&part.subject), "`", &seen, ": ", &part.reason].concat()
}

fn agent_message(world: &World<'_>, part: &Part, why: String, suggested: &[String]) -> String {
    let advice = part
        .rule
        .and_then(|id| world.rule(id))
        .and_then(|rule| rule.advice.as_deref());
    let what = match (part.verdict, advice) {
        (Verdict::Allow, _) => return why,
        (_, Some(advice)) => advice.to_owned(),
        (Verdict::Deny, None) => match part.decided_by {
            DecidedBy::Rule => "do not try it in another form; find a way without it, or tell the person that this rule stands in the way".to_owned(),
            DecidedBy::Control if part.rule.is_some() => {
                "go on without it; if it is needed, tell the person which line keeps it away".to_owned()
            }
            DecidedBy::Control => {
                "the team has settled this; tell the person, and do not try it in another form".to_owned()
            }
            DecidedBy::Protection => "a person has to do this; go on without it, or tell them what to change and why".to_owned(),
            DecidedBy::Mode if world.request.mode == Mode::Plan => {
                "plan mode only looks: put it into the plan, and leave plan mode to do it".to_owned()
            }
            DecidedBy::Classifier => "do not repeat it: try another way, or tell the person what is needed and why".to_owned(),
            DecidedBy::Failure | DecidedBy::Mode | DecidedBy::Sandbox => match suggested.first() {
                Some(rule) => format!("go on without it; the rule `{rule}` would allow it"),
                None => "go on without it, or tell the person what is needed and why".to_owned(),
            },
        },
        (Verdict::Ask, None) => match part.decided_by {
            // However plainly it is said: what the host could not read has to be repaired first.
            DecidedBy::Failure if !world.request.facts.failures.is_empty() => "tell the person what the host could not read: until that is repaired, nothing is allowed without them".to_owned(),
            DecidedBy::Failure => "say plainly what is to be run: one command with literal words can be judged without a person".to_owned(),
            _ => "wait for the person's answer; do not try it in another form".to_owned(),
        },
    };
    format!("{why}. {what}")
}

/// Rules that would allow the same call: only where nothing but a missing rule stands in the way, and one for each part.
fn suggestions(parts: &[Part]) -> Vec<String> {
    let open: Vec<&Part> = parts.iter().filter(|part| part.verdict != Verdict::Allow).collect();
    let only_rules_missing = open.iter().all(|part| {
        matches!(
            part.decided_by,
            DecidedBy::Mode | DecidedBy::Protection | DecidedBy::Classifier
        ) && !part.suggestions.is_empty()
    });
    if open.is_empty() || !only_rules_missing {
        return Vec::new();
    }
    let mut out: Vec<String> = Vec::new();
    let narrow = open.iter().filter_map(|part| part.suggestions.first());
    let wider = open.iter().flat_map(|part| part.suggestions.iter().skip(1));
    for rule in narrow.chain(wider) {
        if !out.contains(rule) {
            out.push(rule.clone());
        }
    }
    out.truncate(MAX_SUGGESTIONS);
    out
}

#[cfg(test)]
mod tests;

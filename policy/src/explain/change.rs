//! Looks for changes that would turn an answer: tries each on a copy, and keeps those that do.

use std::{fmt, sync::Arc};

use super::Trial;
use crate::{
    AbsPath, DecidedBy, Decision, DocumentOrigin, Effect, Layer, Mode, PolicyDocument, RuleRef, Verdict,
    facts::SandboxOffer, request::Interactivity,
};

/// Most changes that are shown.
const MAX_CHANGES: usize = 5;
/// Most steps of one change: with more, it is no change any more but another policy.
const MAX_STEPS: usize = 4;

/// What would turn an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What has to be done, in this order; never empty.
    pub steps: Vec<Step>,
    /// What the call comes to then: less strict than it is.
    pub verdict: Verdict,
}

/// One step of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// An allow rule in a layer.
    AddRule {
        /// The layer.
        layer: Layer,
        /// The rule.
        rule: String,
    },
    /// A rule that stands in the way.
    RemoveRule(RuleRef),
    /// The project, declared trustworthy by the person.
    TrustProject,
    /// Another mode of the session.
    Mode(Mode),
    /// A session in which somebody can be asked.
    Interactive,
    /// A sandbox instead of a question, switched on in the user's own policy.
    SandboxFirst,
    /// A host that can read what it failed to.
    RepairHost,
    /// A call through the host's daemon, whose facts count.
    ThroughHost,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddRule { layer, rule } => {
                write!(f, "add `{rule}` to allow in {}", place(*layer))
            }
            Self::RemoveRule(rule) => write!(f, "remove the {rule}; {}", who(rule.layer)),
            Self::TrustProject => f.write_str("trust the project: `portcullis trust`"),
            Self::Mode(mode) => write!(f, "start the session in mode {mode}"),
            Self::Interactive => f.write_str("run it in a session where somebody can be asked"),
            Self::SandboxFirst => f.write_str(
                "set `sandbox.autoAllowIfSandboxed` to true in your own policy: it then runs in the sandbox",
            ),
            Self::RepairHost => f.write_str("correct what the host could not read"),
            Self::ThroughHost => f.write_str("ask through portcullis-sandboxd, so that a host vouches for the facts"),
        }
    }
}

fn place(layer: Layer) -> &'static str {
    match layer {
        Layer::Local => "the local layer (.portcullis/local.jsonc)",
        Layer::Project => "the project layer (.portcullis/policy.jsonc)",
        Layer::User => "the user layer (your own policy.jsonc)",
        Layer::Session => "the session (--allowedTools)",
        Layer::Team | Layer::Builtin => "the team's policy, which only an admin can change",
    }
}

fn who(layer: Layer) -> &'static str {
    match layer {
        Layer::Local | Layer::User => "it is your own",
        Layer::Project => "whoever works on the project can",
        Layer::Session => "start the session without it",
        Layer::Team => "only an admin of the team can",
        Layer::Builtin => "it is built in",
    }
}

/// The folder that `/x` stands for in a document that a step writes.
fn folder(layer: Layer, trial: &Trial) -> Option<AbsPath> {
    let workspace = &trial.request.workspace;
    match layer {
        Layer::Local | Layer::Project => Some(workspace.root.clone()),
        Layer::User => workspace.home.as_ref().map(|home| home.join(".config/portcullis")),
        Layer::Builtin | Layer::Team | Layer::Session => None,
    }
}

fn with_rules(trial: &Trial, layer: Layer, rules: &[String]) -> Trial {
    let origin = DocumentOrigin {
        layer,
        name: "a change that is tried".to_owned(),
        folder: folder(layer, trial),
    };
    let (document, _) = PolicyDocument::from_agent_rules(rules, &[], &[], origin);
    let mut more = trial.clone();
    more.documents.push(Arc::new(document));
    more
}

impl Step {
    /// The trial with this step done; `None` if there is nothing to do.
    pub(super) fn apply(&self, trial: &Trial) -> Option<Trial> {
        let mut out = trial.clone();
        let facts = &mut out.request.facts;
        match self {
            Self::AddRule { layer, rule } => return Some(with_rules(trial, *layer, std::slice::from_ref(rule))),
            Self::RemoveRule(rule) => return trial.without(std::slice::from_ref(rule)),
            Self::TrustProject if !facts.project_trusted => facts.project_trusted = true,
            Self::Mode(mode) if *mode != out.request.mode => out.request.mode = *mode,
            Self::Interactive if out.request.interactivity == Interactivity::Headless => {
                out.request.interactivity = Interactivity::Interactive;
            }
            Self::SandboxFirst if facts.sandbox == SandboxOffer::Full => {
                let origin = DocumentOrigin {
                    layer: Layer::User,
                    name: "a change that is tried".to_owned(),
                    folder: None,
                };
                let text = r#"{ "sandbox": { "autoAllowIfSandboxed": true } }"#;
                out.documents.push(Arc::new(PolicyDocument::parse(text, origin).ok()?));
            }
            Self::RepairHost if !facts.failures.is_empty() => facts.failures.clear(),
            Self::ThroughHost if !facts.vouched => facts.vouched = true,
            _ => return None,
        }
        Some(out)
    }
}

/// Changes that make the answer less strict, nearest first, and why none leads to an allow if none does.
pub(super) fn search(trial: &Trial, decision: &Decision) -> (Vec<Change>, Option<String>) {
    let mut found: Vec<Change> = Vec::new();
    for step in singles(trial, decision) {
        let Some(changed) = step.apply(trial) else { continue };
        let verdict = changed.decide().verdict;
        if verdict < decision.verdict {
            found.push(Change {
                steps: vec![step],
                verdict,
            });
        }
    }
    found.extend(chain(trial, decision));
    // An allow is what is wanted; of those, what costs least. What costs the same stays in the order of trying.
    found.sort_by_key(|change| (change.verdict, change.steps.iter().map(cost).sum::<u32>()));
    found.truncate(MAX_CHANGES);
    let allows = found.iter().any(|change| change.verdict == Verdict::Allow);
    let no_change = (!allows).then(|| nothing_helps(trial, decision));
    (found, no_change)
}

/// How far away a step is, for those who want the answer: their own rule is nearest, a mode that asks for nothing furthest.
fn cost(step: &Step) -> u32 {
    match step {
        Step::AddRule { layer, .. } | Step::RemoveRule(RuleRef { layer, .. }) => match layer {
            Layer::Local | Layer::User | Layer::Session => 10,
            Layer::Project => 15,
            Layer::Team | Layer::Builtin => 30,
        },
        Step::TrustProject | Step::Interactive | Step::RepairHost | Step::ThroughHost => 20,
        Step::SandboxFirst => 25,
        Step::Mode(mode) if mode.lets_everything_run() => 200,
        Step::Mode(mode) if mode.is_automatic() => 100,
        Step::Mode(_) => 50,
    }
}

/// Single steps that are worth a try, nearest first.
fn singles(trial: &Trial, decision: &Decision) -> Vec<Step> {
    let mut out = Vec::new();
    out.extend(added(trial, &decision.suggested_rules));
    out.extend([Step::TrustProject, Step::RepairHost, Step::ThroughHost]);
    if let [rule] = blocking(decision).as_slice() {
        out.push(Step::RemoveRule(rule.clone()));
    }
    out.push(Step::SandboxFirst);
    let mut least: Option<(Verdict, Step)> = None;
    for mode in Mode::ALL {
        // One mode is enough: the first, as listed, that gives most.
        let step = Step::Mode(mode);
        let Some(verdict) = step.apply(trial).map(|changed| changed.decide().verdict) else {
            continue;
        };
        if verdict < decision.verdict && least.as_ref().is_none_or(|(best, _)| verdict < *best) {
            least = Some((verdict, step));
        }
    }
    out.extend(least.map(|(_, step)| step));
    out.push(Step::Interactive);
    out
}

/// The rules that were suggested, each in the nearest layer where it helps.
fn added(trial: &Trial, rules: &[String]) -> Vec<Step> {
    let before = trial.decide().verdict;
    rules
        .iter()
        .filter_map(|rule| {
            layers(trial).into_iter().find_map(|layer| {
                let rule = rule.clone();
                let step = Step::AddRule { layer, rule };
                step.apply(trial)
                    .is_some_and(|changed| changed.decide().verdict < before)
                    .then_some(step)
            })
        })
        .collect()
}

/// Layers that a person can write an allow into, nearest first. In a project that is not trusted the local one says
/// nothing.
fn layers(trial: &Trial) -> Vec<Layer> {
    if trial.request.facts.project_trusted {
        vec![Layer::Local, Layer::User, Layer::Team]
    } else {
        vec![Layer::User, Layer::Team]
    }
}

/// The deny and ask rules that the answer rests on.
fn blocking(decision: &Decision) -> Vec<RuleRef> {
    let mut out: Vec<RuleRef> = Vec::new();
    let parts = decision.trace.iter().filter(|part| part.verdict == decision.verdict);
    for rule in parts.filter_map(|part| part.rule.as_ref()) {
        if rule.effect != Effect::Allow && !out.contains(rule) {
            out.push(rule.clone());
        }
    }
    out
}

/// Several steps, each of which takes away what stands in the way next.
fn chain(trial: &Trial, decision: &Decision) -> Option<Change> {
    let (mut trial, mut current) = (trial.clone(), decision.clone());
    let mut steps: Vec<Step> = Vec::new();
    while current.verdict != Verdict::Allow {
        let blocking = blocking(&current);
        let mut next: Vec<Step> = blocking.into_iter().map(Step::RemoveRule).collect();
        if next.is_empty() {
            // One rule for each part that lacks one: the narrowest come first.
            let layer = layers(&trial)
                .into_iter()
                .find(|layer| with_rules(&trial, *layer, &current.suggested_rules).decide().verdict < current.verdict);
            let mut with = trial.clone();
            for rule in current.suggested_rules.iter().filter(|_| layer.is_some()) {
                if with.decide().verdict == Verdict::Allow {
                    break;
                }
                let step = Step::AddRule {
                    layer: layer?,
                    rule: rule.clone(),
                };
                with = step.apply(&with)?;
                next.push(step);
            }
        }
        if next.is_empty() {
            next.extend(
                [
                    Step::TrustProject,
                    Step::RepairHost,
                    Step::ThroughHost,
                    Step::Interactive,
                ]
                .into_iter()
                .find(|step| step.apply(&trial).is_some()),
            );
        }
        if next.is_empty() || steps.len() + next.len() > MAX_STEPS {
            return None;
        }
        for step in &next {
            trial = step.apply(&trial)?;
        }
        steps.extend(next);
        current = trial.decide();
    }
    (steps.len() > 1).then_some(Change {
        steps,
        verdict: current.verdict,
    })
}

/// Why no change leads to an allow: even the widest rules were tried.
fn nothing_helps(trial: &Trial, decision: &Decision) -> String {
    let mut wide: Vec<String> = [
        "Bash",
        "Read",
        "Edit",
        "Delete",
        "WebFetch",
        "WebSearch",
        "Agent",
        "Skill",
    ]
    .map(str::to_owned)
    .to_vec();
    wide.push(trial.request.call.tool_name.clone());
    let after = with_rules(trial, Layer::Team, &wide).decide();
    let reason = |decision: &Decision| {
        let first = decision.trace.first();
        first.map_or_else(
            || decision.user_message.clone(),
            |part| format!("`{}`: {}", part.subject, part.reason),
        )
    };
    if after.verdict == Verdict::Allow {
        return format!(
            "only a rule for every command or file would allow it, which nobody should write: {}",
            reason(decision)
        );
    }
    match after.decided_by {
        DecidedBy::Protection => format!(
            "no rule can allow this, only a person's yes each time: {}",
            reason(&after)
        ),
        DecidedBy::Control => format!(
            "no rule can allow this, a control of the team forbids it: {}",
            reason(&after)
        ),
        DecidedBy::Rule => format!("several rules stand in the way, first: {}", reason(&after)),
        _ => format!("no rule can allow this: {}", reason(&after)),
    }
}

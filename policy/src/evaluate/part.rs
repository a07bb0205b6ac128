//! One part of a call, judged.

use crate::{DecidedBy, Verdict, decision::TraceEntry, mode::ActionClass, ruleset::RuleId};

use super::world::World;

/// One part of a call, judged.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) subject: String,
    pub(super) seen_through: Vec<String>,
    pub(super) verdict: Verdict,
    pub(super) decided_by: DecidedBy,
    pub(super) rule: Option<RuleId>,
    pub(super) reason: String,
    /// What the mode was asked about, where it decided.
    pub(super) class: Option<ActionClass>,
    /// Rules that would allow it, narrowest first.
    pub(super) suggestions: Vec<String>,
}

impl Part {
    pub(super) fn new(
        subject: impl Into<String>,
        verdict: Verdict,
        decided_by: DecidedBy,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            subject: subject.into(),
            seen_through: Vec::new(),
            verdict,
            decided_by,
            rule: None,
            reason: reason.into(),
            class: None,
            suggestions: Vec::new(),
        }
    }

    /// Decided by a rule, with the rule's own effect.
    pub(super) fn by_rule(world: &World<'_>, id: RuleId, subject: impl Into<String>) -> Self {
        let (verdict, reason) = match world.rule(id) {
            Some(rule) => (rule.effect.into(), rule.source.to_string()),
            None => (Verdict::Ask, "a rule that is not there".to_owned()),
        };
        Self {
            rule: Some(id),
            ..Self::new(subject, verdict, DecidedBy::Rule, reason)
        }
    }

    /// Asked for because a rule could be about it.
    pub(super) fn perhaps(world: &World<'_>, id: RuleId, subject: impl Into<String>, why: &str) -> Self {
        let rule = world.rule(id).map(|rule| rule.source.to_string()).unwrap_or_default();
        Self {
            rule: Some(id),
            ..Self::new(subject, Verdict::Ask, DecidedBy::Rule, format!("{why} {rule}"))
        }
    }

    /// Decided by the mode.
    pub(super) fn by_mode(world: &World<'_>, class: ActionClass, subject: impl Into<String>, what: &str) -> Self {
        let mode = world.request.mode;
        let verdict = mode.answer(class).alone();
        let reason = match verdict {
            Verdict::Allow => format!("{what}: mode {mode} allows it"),
            Verdict::Ask => format!("{what}: no rule allows it, and mode {mode} asks"),
            Verdict::Deny => format!("{what}: no rule allows it, and mode {mode} denies it"),
        };
        let by = match class {
            ActionClass::Protected | ActionClass::Critical => DecidedBy::Protection,
            _ => DecidedBy::Mode,
        };
        let reason = if by == DecidedBy::Protection {
            what.to_owned()
        } else {
            reason
        };
        Self {
            class: Some(class),
            ..Self::new(subject, verdict, by, reason)
        }
    }

    /// Something could not be known: asked, or denied where the mode would deny it anyway.
    pub(super) fn unknown(subject: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(subject, Verdict::Ask, DecidedBy::Failure, reason)
    }

    pub(super) fn through(mut self, seen_through: &[String]) -> Self {
        self.seen_through = seen_through.to_vec();
        self
    }

    pub(super) fn suggest(mut self, rules: impl IntoIterator<Item = String>) -> Self {
        self.suggestions.extend(rules);
        self
    }

    /// Takes an allow back, because something about it is not known.
    pub(super) fn unless_unknown(self, known: bool, reason: &str) -> Self {
        if known || self.verdict != Verdict::Allow {
            return self;
        }
        Self {
            verdict: Verdict::Ask,
            decided_by: DecidedBy::Failure,
            rule: None,
            class: None,
            suggestions: Vec::new(),
            reason: reason.to_owned(),
            ..self
        }
    }

    pub(super) fn trace(&self, world: &World<'_>) -> TraceEntry {
        TraceEntry {
            subject: self.subject.clone(),
            seen_through: self.seen_through.clone(),
            verdict: self.verdict,
            decided_by: self.decided_by,
            rule: self.rule.and_then(|id| world.rule(id)).map(|rule| rule.source.clone()),
            reason: self.reason.clone(),
        }
    }
}

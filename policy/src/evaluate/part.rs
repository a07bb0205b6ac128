//! One part of a call, judged.

use crate::{
    DecidedBy, Verdict,
    decision::TraceEntry,
    mode::{ActionClass, Guard},
    ruleset::RuleId,
    shell::visible,
};

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
    /// The same in words.
    pub(super) what: String,
    /// What else a person should know about why it is asked for.
    pub(super) note: Option<String>,
    /// The protection that speaks about it, if it is on.
    pub(super) guard: Option<Guard>,
    /// Rules that would allow it, narrowest first.
    pub(super) suggestions: Vec<String>,
    /// It looks like something else than it is: a person who reads the call cannot see that unless they are told.
    pub(super) misleads: bool,
}

impl Part {
    pub(super) fn new(
        subject: impl Into<String>,
        verdict: Verdict,
        decided_by: DecidedBy,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            subject: visible(&subject.into()).into_owned(),
            seen_through: Vec::new(),
            verdict,
            decided_by,
            rule: None,
            reason: reason.into(),
            class: None,
            what: String::new(),
            note: None,
            guard: None,
            suggestions: Vec::new(),
            misleads: false,
        }
    }

    /// Decided by a rule, with the rule's own effect.
    pub(super) fn by_rule(world: &World<'_>, id: RuleId, subject: impl Into<String>) -> Self {
        let (verdict, reason) = match world.rule(id) {
            Some(rule) if rule.is_ignore_line() => {
                let reason = format!("ignored by {}", rule.source.place());
                return Self {
                    rule: Some(id),
                    ..Self::new(subject, rule.effect.into(), DecidedBy::Control, reason)
                };
            }
            Some(rule) => (rule.effect.into(), rule.source.in_words()),
            None => (Verdict::Ask, "a rule that is not there".to_owned()),
        };
        Self {
            rule: Some(id),
            ..Self::new(subject, verdict, DecidedBy::Rule, reason)
        }
    }

    /// Asked for because a rule could be about it.
    pub(super) fn perhaps(world: &World<'_>, id: RuleId, subject: impl Into<String>, why: &str) -> Self {
        let rule = world
            .any_rule(id)
            .map(|rule| rule.source.to_string())
            .unwrap_or_default();
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
        // Another mode than the agent says is in force: whoever reads that it asks has to know.
        let other_mode = world.mode_note.as_deref().filter(|_| verdict != Verdict::Allow);
        let reason = other_mode.map_or(reason.clone(), |note| format!("{reason} ({note})"));
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
            what: what.to_owned(),
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

    /// Adds what else a person should know.
    pub(super) fn remark(&mut self, text: String) {
        self.reason.push_str("; ");
        self.reason.push_str(&text);
        self.note = Some(match self.note.take() {
            Some(before) => format!("{before}; {text}"),
            None => text,
        });
    }

    /// The same about what is said in other words.
    pub(super) fn renamed(self, subject: String) -> Self {
        Self {
            subject: visible(&subject).into_owned(),
            ..self
        }
    }

    pub(super) fn guarded(mut self, guard: Option<Guard>) -> Self {
        self.guard = guard;
        self
    }

    pub(super) fn suggest(mut self, rules: impl IntoIterator<Item = String>) -> Self {
        self.suggestions.extend(rules);
        self
    }

    /// Takes an allow back, because something about it is not known; and what would be asked is left to a person, never to
    /// a classifier or the sandbox.
    pub(super) fn unless_unknown(self, known: bool, reason: &str) -> Self {
        if known {
            return self;
        }
        if self.verdict != Verdict::Allow {
            return Self { class: None, ..self };
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
            rule: self
                .rule
                .and_then(|id| world.any_rule(id))
                .map(|rule| rule.source.clone()),
            reason: self.reason.clone(),
        }
    }
}

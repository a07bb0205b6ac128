//! What a document says for Cursor's modes: entries of `terminalAllowlist` and `mcpAllowlist`, and the instructions of
//! `autoRun`.
//!
//! Their merge differs from that of rules: where the team has a list, the lists of lower layers add nothing; a list that
//! is there but empty is a list. Each of the three is settled by itself. An entry is an allow rule that holds in Cursor's
//! modes alone; what such a rule never covers is said where rules are judged.

use std::sync::Arc;

use super::PolicyDocument;
use crate::{Layer, Mode, Rule};

/// The lists of one document. What it does not say is `None`.
#[derive(Clone, Debug, Default)]
pub struct Allowlists {
    /// `terminalAllowlist`.
    pub terminal: Option<Vec<Rule>>,
    /// `mcpAllowlist`.
    pub mcp: Option<Vec<Rule>>,
    /// `autoRun`.
    pub auto_run: Option<AutoRun>,
}

/// Sentences for the classifier of the auto-review mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AutoRun {
    /// What it may lean towards allowing.
    pub allow_instructions: Vec<String>,
    /// What it has to lean towards blocking.
    pub block_instructions: Vec<String>,
}

impl Allowlists {
    /// The modes in which the lists count.
    #[must_use]
    pub fn modes() -> Vec<Mode> {
        vec![Mode::AutoReview, Mode::Allowlist, Mode::AllowlistSandbox]
    }

    /// Leaves of a text that is not understood what allows nothing: a list that is there still takes the place of others.
    pub(super) fn keep_what_narrows(&mut self) {
        for list in [&mut self.terminal, &mut self.mcp].into_iter().flatten() {
            list.clear();
        }
        if let Some(auto_run) = &mut self.auto_run {
            auto_run.allow_instructions.clear();
        }
    }

    fn entries(&self) -> impl Iterator<Item = &Rule> {
        self.terminal.iter().chain(&self.mcp).flatten()
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().count()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What is in force of the lists of all documents: the entries, each with the number of its document, and the
/// instructions. `counts` says whether allows of a document count.
pub(crate) fn in_force(
    documents: &[Arc<PolicyDocument>],
    counts: impl Fn(&PolicyDocument) -> bool,
) -> (Vec<(usize, &Rule)>, AutoRun) {
    let team = |has: fn(&Allowlists) -> bool| {
        documents
            .iter()
            .any(|document| document.origin.layer >= Layer::Team && has(&document.allowlists))
    };
    let team_terminal = team(|lists| lists.terminal.is_some());
    let team_mcp = team(|lists| lists.mcp.is_some());
    let team_auto_run = team(|lists| lists.auto_run.is_some());
    let (mut entries, mut auto_run) = (Vec::new(), AutoRun::default());
    for (number, document) in documents.iter().enumerate() {
        let layer = document.origin.layer;
        let heard = |replaced: bool| layer >= Layer::Team || !replaced;
        let lists = &document.allowlists;
        for (list, replaced) in [(&lists.terminal, team_terminal), (&lists.mcp, team_mcp)] {
            if counts(document) && heard(replaced) {
                entries.extend(list.iter().flatten().map(|rule| (number, rule)));
            }
        }
        if let Some(own) = lists.auto_run.as_ref().filter(|_| heard(team_auto_run)) {
            if counts(document) {
                auto_run
                    .allow_instructions
                    .extend(own.allow_instructions.iter().cloned());
            }
            auto_run
                .block_instructions
                .extend(own.block_instructions.iter().cloned());
        }
    }
    (entries, auto_run)
}

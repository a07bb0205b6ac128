//! The merge of all layers into what is in force for one call.

use crate::{Fault, PolicyDocument};

/// What is in force: the documents of all layers, merged and indexed. Immutable; shared between requests.
#[derive(Clone, Debug)]
pub struct EffectiveRuleset {}

impl EffectiveRuleset {
    /// Merges documents of any layers, in any order within a layer.
    ///
    /// `project_trusted`: whether allow rules and further folders of the project and local layers count.
    #[must_use]
    pub fn merge(_documents: &[std::sync::Arc<PolicyDocument>], _project_trusted: bool) -> Self {
        Self {}
    }

    /// Reads rules given by flags of the session.
    ///
    /// # Errors
    /// All faults; positions count within the rule that `Fault::line` numbers.
    pub fn session_document(_allow: &[String], _deny: &[String]) -> Result<PolicyDocument, Vec<Fault>> {
        Err(Vec::new())
    }
}

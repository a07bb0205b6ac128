//! The merge of all layers into what is in force for one call.
//!
//! Lists are united; what a layer may not say was refused when its document was read. What depends on the project being
//! trusted, and the locks of the team, is settled here: whatever is dropped is dropped before anything is matched.

mod index;

use std::{cmp::Reverse, collections::HashSet, sync::Arc};

use crate::{
    AbsPath, DocumentOrigin, Effect, Fault, Layer, Mode, PolicyDocument, Rule,
    controls::Controls,
    document::AutoRun,
    mode::RunPolicy,
    path::DenialText,
    protected::Switches,
    rule::{Matcher, PathVerb},
    sandbox::{self, EffectiveSandbox, PlacedPath, Said},
};

pub(crate) use index::{Bases, Index, RuleId};

/// What is in force: the documents of all layers, merged and indexed. Immutable; shared between requests.
#[derive(Clone, Debug)]
pub struct EffectiveRuleset {
    /// The documents whose rules are in force.
    documents: Vec<InDocument>,
    /// Where all rules in force stand, strictest effect first, then highest layer first: the first that matches decides.
    rules: Box<[Position]>,
    /// The folders that `/x` stands for in their documents, each once; `None` = the workspace root.
    places: Vec<Option<AbsPath>>,
    index: Index,
    directories: Vec<PlacedPath>,
    permitted_modes: Option<Vec<Mode>>,
    /// Modes that an agent's own file forbids, and its name.
    forbidden_modes: Vec<(Mode, Arc<str>)>,
    default_mode: Option<Mode>,
    auto_allow_if_sandboxed: bool,
    protection: Switches,
    run: RunPolicy,
    auto_run: AutoRun,
    /// Each document's own, of those that have any.
    controls: Vec<Controls>,
    sandbox: Arc<EffectiveSandbox>,
}

/// A document, and what `/x` stands for in it.
#[derive(Clone, Debug)]
struct InDocument {
    document: Arc<PolicyDocument>,
    /// Which of [`EffectiveRuleset::places`].
    place: usize,
}

/// A rule's document and its place there. Rules stay where they were read: a ruleset shares them with its documents.
#[derive(Clone, Copy, Debug)]
struct Position {
    document: u32,
    rule: u32,
}

/// A rule in force, and what `/x` stands for in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InForce<'r> {
    pub(crate) rule: &'r Rule,
    /// Which of [`EffectiveRuleset::places`].
    pub(crate) place: usize,
}

impl EffectiveRuleset {
    /// Merges documents of any layers, in any order within a layer.
    ///
    /// `project_trusted`: whether allow rules and further folders of the project and local layers count.
    #[must_use]
    pub fn merge(documents: &[Arc<PolicyDocument>], project_trusted: bool) -> Self {
        let managed_only = documents
            .iter()
            .any(|document| document.origin.layer >= Layer::Team && document.settings.managed_rules_only);
        // Heard from the files of one agent, and so for its calls alone.
        let installed_only = documents
            .iter()
            .any(|document| document.settings.installed && document.settings.installed_rules_only);
        let counts = |document: &PolicyDocument| {
            let layer = document.origin.layer;
            let trusted = project_trusted || !layer.is_inside_project();
            let below = !managed_only && (!installed_only || document.settings.installed);
            trusted && (layer >= Layer::Team || below)
        };
        let mut sorted = Vec::new();
        let mut held: Vec<InDocument> = Vec::new();
        let mut places: Vec<Option<AbsPath>> = Vec::new();
        let mut directories = Vec::new();
        let mut names: Vec<&String> = documents.iter().map(|document| &document.origin.name).collect();
        names.sort_unstable();
        let mut place = |origin: &DocumentOrigin| {
            let known = places.iter().position(|known| *known == origin.folder);
            known.unwrap_or_else(|| {
                places.push(origin.folder.clone());
                places.len() - 1
            })
        };
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let mut hold = |document: Arc<PolicyDocument>, place: usize, keep: &dyn Fn(&Rule) -> bool| {
            let origin = &document.origin;
            let name = names.partition_point(|name| **name < origin.name);
            for (index, rule) in document.rules.iter().enumerate().filter(|(_, rule)| keep(rule)) {
                let position = Position {
                    document: number(held.len()),
                    rule: number(index),
                };
                let rank = (Reverse((rule.effect, origin.layer)), name);
                sorted.push((rank, (rule.source.line, rule.source.column, position.rule), position));
            }
            held.push(InDocument { document, place });
        };
        let mut permitted_modes: Option<Vec<Mode>> = None;
        let mut forbidden_modes = Vec::new();
        let mut default_mode: Option<(Layer, Mode)> = None;
        let (mut sandbox_on, mut sandbox_off) = (false, false);
        let (mut agents_on, mut agents_off) = (false, false);
        let mut controls = Vec::new();
        let mut run = RunPolicy::default();
        for document in documents {
            let origin = &document.origin;
            let DocumentOrigin { layer, folder, .. } = origin;
            let settings = &document.settings;
            hold(document.clone(), place(origin), &|rule| {
                rule.effect != Effect::Allow || counts(document)
            });
            if counts(document) {
                directories.extend(settings.additional_directories.iter().map(|text| PlacedPath {
                    text: text.clone(),
                    folder: folder.clone(),
                }));
                sandbox_on |= settings.auto_allow_if_sandboxed == Some(true);
            }
            run.add(&settings.run, *layer, counts(document));
            sandbox_off |= settings.auto_allow_if_sandboxed == Some(false);
            if *layer >= Layer::Team {
                agents_on |= settings.protect_agent_directories == Some(true);
                agents_off |= settings.protect_agent_directories == Some(false);
            }
            // Only the team's document and the session's flags can hold any; with managed rules the flag does not count.
            if *layer >= Layer::Session && settings.controls != Controls::default() {
                let own = settings.controls.clone();
                controls.push(if counts(document) { own } else { own.without_grants() });
            }
            if let Some(modes) = settings.permitted_modes.as_ref().filter(|_| *layer >= Layer::Team) {
                // Two documents of the team that permit different modes permit what both do.
                permitted_modes = Some(match permitted_modes {
                    Some(before) => before.into_iter().filter(|mode| modes.contains(mode)).collect(),
                    None => modes.clone(),
                });
            }
            // It narrows, so it counts whoever says it.
            forbidden_modes.extend(
                settings
                    .forbidden_modes
                    .iter()
                    .map(|mode| (*mode, Arc::from(origin.name.as_str()))),
            );
            if let Some(mode) = settings.default_mode
                && (project_trusted || !layer.is_inside_project())
                && default_mode
                    .is_none_or(|(other, other_mode)| (*layer, strictness(mode)) > (other, strictness(other_mode)))
            {
                default_mode = Some((*layer, mode));
            }
        }
        let mut sandbox = sandbox::merge(
            &documents
                .iter()
                .map(|document| Said {
                    layer: document.origin.layer,
                    widens: counts(document),
                    // A person's file lies in a folder of settings, which no path of it is meant to start at.
                    folder: document
                        .origin
                        .folder
                        .as_ref()
                        .filter(|_| document.origin.layer.is_inside_project()),
                    settings: &document.settings.sandbox,
                })
                .collect::<Vec<_>>(),
        );
        let (entries, auto_run) = crate::document::in_force(documents, counts);
        for entries in entries.chunk_by(|(one, _), (other, _)| one == other) {
            let Some(document) = entries.first().and_then(|(number, _)| documents.get(*number)) else {
                continue;
            };
            let list = Arc::new(PolicyDocument::of_rules(
                document.origin.clone(),
                entries.iter().map(|(_, rule)| (*rule).clone()).collect(),
            ));
            hold(list, place(&document.origin), &|_| true);
        }
        sorted.sort_by_key(|(rank, place, _)| (*rank, *place));
        let rules: Box<[Position]> = sorted.into_iter().map(|(.., position)| position).collect();
        sandbox.ruled_out = ruled_out(rules.iter().filter_map(|position| in_force(&held, *position)), &places);
        let index = Index::build(rules.iter().filter_map(|position| in_force(&held, *position)));
        Self {
            index,
            rules,
            documents: held,
            places,
            directories,
            permitted_modes,
            forbidden_modes,
            default_mode: default_mode.map(|(_, mode)| mode),
            auto_allow_if_sandboxed: sandbox_on && !sandbox_off,
            protection: Switches {
                agent_directories_off: agents_off && !agents_on,
            },
            run,
            auto_run,
            controls,
            sandbox: Arc::new(sandbox),
        }
    }

    /// Reads rules given by flags of the session.
    ///
    /// # Errors
    /// All faults; positions count within the rule that `Fault::line` numbers.
    pub fn session_document(allow: &[String], deny: &[String]) -> Result<PolicyDocument, Vec<Fault>> {
        let origin = DocumentOrigin {
            layer: Layer::Session,
            name: "session flags".to_owned(),
            folder: None,
        };
        let (document, mut faults) = PolicyDocument::from_agent_rules(allow, &[], deny, origin);
        if faults.is_empty() {
            return Ok(document);
        }
        for fault in &mut faults {
            fault.column = u32::try_from(fault.span.start + 1).unwrap_or(u32::MAX);
        }
        Err(faults)
    }

    /// How many rules are in force.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether no rule is in force.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The mode that sessions start in, if a document says so.
    #[must_use]
    pub fn default_mode(&self) -> Option<Mode> {
        self.default_mode
    }

    /// The modes that the team permits; `None` = all.
    #[must_use]
    pub fn permitted_modes(&self) -> Option<&[Mode]> {
        self.permitted_modes.as_deref()
    }

    /// The document that forbids a mode beside the team, if one does.
    #[must_use]
    pub fn forbids(&self, mode: Mode) -> Option<&str> {
        let found = self.forbidden_modes.iter().filter(|(own, _)| *own == mode);
        found.map(|(_, name)| &**name).min()
    }

    /// Whether a command that runs in the sandbox needs no question.
    #[must_use]
    pub fn auto_allow_if_sandboxed(&self) -> bool {
        self.auto_allow_if_sandboxed
    }

    /// What a command in the sandbox may do.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<EffectiveSandbox> {
        &self.sandbox
    }

    /// What of the protection of paths the team has switched off.
    pub(crate) fn protection(&self) -> Switches {
        self.protection
    }

    /// What the documents say about run modes and protections.
    #[must_use]
    pub fn run(&self) -> &RunPolicy {
        &self.run
    }

    /// What the classifier of the auto-review mode is told.
    #[must_use]
    pub fn auto_run(&self) -> &AutoRun {
        &self.auto_run
    }

    /// What is controlled beside rules, document by document: a call has to pass all.
    #[must_use]
    pub fn controls(&self) -> &[Controls] {
        &self.controls
    }

    /// Whether the team permits a model, by its name; see [`Controls::permits_model`].
    #[must_use]
    pub fn permits_model(&self, model: &str) -> bool {
        self.controls.iter().all(|controls| controls.permits_model(model))
    }

    /// Further folders of the workspace. Relative ones start at the document's folder, else at `root`.
    pub(crate) fn directories(&self, root: &AbsPath, home: Option<&AbsPath>) -> Vec<AbsPath> {
        self.directories
            .iter()
            .filter_map(|directory| directory.resolve(root, home))
            .filter(|folder| *folder != AbsPath::root())
            .collect()
    }

    /// The rule behind an id.
    pub(crate) fn get(&self, id: RuleId) -> Option<InForce<'_>> {
        in_force(&self.documents, *self.rules.get(id.0 as usize)?)
    }

    /// All rules in force, in the order in which they decide.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules
            .iter()
            .filter_map(|position| in_force(&self.documents, *position))
            .map(|item| item.rule)
    }

    /// The folders that `/x` stands for, by the number in [`InForce::place`].
    pub(crate) fn places(&self) -> &[Option<AbsPath>] {
        &self.places
    }

    /// The index.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }
}

/// What no command in the sandbox can read, each once: every deny rule on reading that names paths and always holds, and every
/// line of an ignore list. A rule that holds only under a condition is left to the decision.
fn ruled_out<'r>(rules: impl Iterator<Item = InForce<'r>>, places: &[Option<AbsPath>]) -> Vec<DenialText> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for InForce { rule, place } in rules {
        let Matcher::Path {
            verb: PathVerb::Read,
            pattern: Some(pattern),
        } = &rule.matcher
        else {
            continue;
        };
        if rule.effect != Effect::Deny || rule.when.is_some() {
            continue;
        }
        let denial = DenialText {
            folder: places.get(place).cloned().flatten(),
            ..pattern.as_denial(&rule.exceptions)
        };
        if seen.insert(denial.clone()) {
            found.push(denial);
        }
    }
    found
}

/// Of two documents of one layer the stricter mode counts.
fn strictness(mode: Mode) -> u8 {
    match mode {
        Mode::Bypass => 0,
        Mode::RunEverything => 1,
        Mode::Auto => 2,
        Mode::AutoReview => 3,
        Mode::AllowlistSandbox => 4,
        Mode::Allowlist => 5,
        Mode::AcceptEdits => 6,
        Mode::Default => 7,
        Mode::DontAsk => 8,
        Mode::Plan => 9,
    }
}

fn in_force(documents: &[InDocument], position: Position) -> Option<InForce<'_>> {
    let held = documents.get(position.document as usize)?;
    Some(InForce {
        rule: held.document.rules.get(position.rule as usize)?,
        place: held.place,
    })
}

#[cfg(test)]
mod tests;

//! A request and its facts as the judges see them: what a path means, where it leads, whether it lies inside.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::BTreeMap,
};

use crate::{
    AbsPath, Effect, EffectiveRuleset, Request,
    facts::{PathKind, Repository},
    path::{Anchor, Anchors, PathPattern},
    request::Workspace,
    rule::{PathVerb, Rule},
    ruleset::{Bases, InForce, RuleId},
};

/// A rule on paths with a pattern, and what its words are anchored at: as named, and where it really is.
pub(super) struct PathRule<'a, 'w> {
    pub(super) rule: &'a Rule,
    pub(super) pattern: &'a PathPattern,
    pub(super) named: &'w Anchors,
    pub(super) really: &'w Anchors,
}

/// What the judges of one request share.
pub(super) struct World<'a> {
    pub(super) rules: &'a EffectiveRuleset,
    pub(super) request: &'a Request,
    /// Why another mode is in force than the agent says, if one is.
    pub(super) mode_note: Option<String>,
    /// With the further folders that policy adds.
    pub(super) workspace: Workspace,
    /// Where its folders really are.
    real_roots: Vec<AbsPath>,
    /// Per place of the ruleset: anchors as named, and where they really are.
    anchors: OnceCell<Vec<(Anchors, Anchors)>>,
    /// All places that a pattern can be anchored at.
    bases: OnceCell<Bases>,
    /// The input as conditions look at it, once one did.
    input_text: OnceCell<String>,
    /// Which conditions hold, as far as they were looked at.
    conditions: RefCell<BTreeMap<RuleId, bool>>,
    /// How many words inside texts may still be looked at for this call.
    words_left: Cell<usize>,
}

/// Most words inside texts that are looked at for one call. Beyond it nothing is known of them.
const MOST_WORDS: usize = 131_072;

impl<'a> World<'a> {
    pub(super) fn new(rules: &'a EffectiveRuleset, request: &'a Request, mode_note: Option<String>) -> Self {
        let mut workspace = request.workspace.clone();
        workspace
            .additional_roots
            .extend(rules.directories(&workspace.root, workspace.home.as_ref()));
        let real_roots = workspace
            .roots()
            .map(|path| real_of(request, path).unwrap_or(path).clone())
            .collect();
        Self {
            bases: OnceCell::new(),
            rules,
            request,
            mode_note,
            real_roots,
            workspace,
            anchors: OnceCell::new(),
            input_text: OnceCell::new(),
            conditions: RefCell::new(BTreeMap::new()),
            words_left: Cell::new(MOST_WORDS),
        }
    }

    /// Counts a word inside a text that is looked at; no more, if there were too many.
    pub(super) fn one_word_more(&self) -> bool {
        let left = self.words_left.get();
        self.words_left.set(left.saturating_sub(1));
        left > 0
    }

    /// What a path in the agent's words means; `None` if it begins with `~` and the home folder is not known.
    pub(super) fn resolve(&self, text: &str) -> Option<AbsPath> {
        resolve(&self.workspace, text)
    }

    /// Where a path really leads, if the host found out.
    pub(super) fn real(&self, path: &AbsPath) -> Option<&'a AbsPath> {
        real_of(self.request, path)
    }

    /// Whether a path lies in the workspace, by its words and where it really leads.
    pub(super) fn is_inside(&self, path: &AbsPath) -> bool {
        self.workspace.contains(path)
            && self
                .real(path)
                .is_some_and(|real| self.real_roots.iter().any(|root| real.is_within(root)))
    }

    /// The rule behind an id, if it holds for this call.
    pub(super) fn rule(&self, id: RuleId) -> Option<&'a Rule> {
        self.item(id).map(|item| item.rule)
    }

    /// The rule behind an id, whether its condition holds or not.
    pub(super) fn any_rule(&self, id: RuleId) -> Option<&'a Rule> {
        self.rules.get(id).map(|item| item.rule)
    }

    /// A rule that holds for this call but for its condition on the input, and that condition.
    pub(super) fn rule_but_for_input(&self, id: RuleId) -> Option<(&'a Rule, &'a crate::rule::RegexPattern)> {
        let rule = self.any_rule(id).filter(|_| self.rule(id).is_none())?;
        let when = rule.when.as_ref()?;
        let input = when.input.as_ref()?;
        let in_mode = when
            .modes
            .as_ref()
            .is_none_or(|modes| modes.contains(&self.request.mode));
        in_mode.then_some((rule, input))
    }

    /// The rule in force behind an id, if its condition holds for this call.
    fn item(&self, id: RuleId) -> Option<InForce<'a>> {
        let item = self.rules.get(id)?;
        let Some(when) = &item.rule.when else {
            return Some(item);
        };
        let known = self.conditions.borrow().get(&id).copied();
        let holds = known.unwrap_or_else(|| {
            let input = || {
                self.input_text
                    .get_or_init(|| crate::rule::input_text(&self.request.call.input))
                    .as_str()
            };
            let holds = when.holds(self.request.mode, input);
            self.conditions.borrow_mut().insert(id, holds);
            holds
        });
        holds.then_some(item)
    }

    /// Whether a deny or ask on commands that holds for this call says less than "every command": what is not understood
    /// could then hide a case for it.
    pub(super) fn has_scoped_shell_rule(&self) -> bool {
        self.rules.index().has_scoped_shell_rule(|id| self.rule(id).is_some())
    }

    /// Whether a deny or ask on files says something about reading.
    pub(super) fn has_path_rules(&self) -> bool {
        let index = self.rules.index();
        [Effect::Deny, Effect::Ask]
            .into_iter()
            .any(|effect| !index.paths(PathVerb::Read, effect).is_empty())
    }

    fn anchors(&self, item: InForce<'_>) -> Option<&(Anchors, Anchors)> {
        self.all_anchors().get(item.place)
    }

    /// Most calls that name no file need none of them.
    fn all_anchors(&self) -> &[(Anchors, Anchors)] {
        self.anchors.get_or_init(|| self.anchors_of_places())
    }

    fn anchors_of_places(&self) -> Vec<(Anchors, Anchors)> {
        let workspace = &self.workspace;
        let real = |path: &AbsPath| self.real(path).unwrap_or(path).clone();
        // Outside the workspace the working directory is no place that relative rules could mean.
        let cwd = if workspace.contains(&workspace.cwd) {
            &workspace.cwd
        } else {
            &workspace.root
        };
        let places = self.rules.places().iter().map(|folder| {
            let named = Anchors {
                document: folder.as_ref().unwrap_or(&workspace.root).clone(),
                home: workspace.home.clone(),
                cwd: cwd.clone(),
                root: workspace.root.clone(),
            };
            let really = Anchors {
                document: real(&named.document),
                home: named.home.as_ref().map(real),
                cwd: real(&named.cwd),
                root: real(&named.root),
            };
            (named, really)
        });
        places.collect()
    }

    /// A rule on paths that has a pattern and holds for this call.
    pub(super) fn path_rule(&self, id: RuleId) -> Option<PathRule<'a, '_>> {
        let item = self.item(id)?;
        let crate::rule::Matcher::Path {
            pattern: Some(pattern), ..
        } = &item.rule.matcher
        else {
            return None;
        };
        let (named, really) = self.anchors(item)?;
        Some(PathRule {
            rule: item.rule,
            pattern,
            named,
            really,
        })
    }

    /// Whether a path rule covers one spelling of a path.
    fn covers_spelling(&self, item: InForce<'_>, path: &AbsPath) -> bool {
        let crate::rule::Matcher::Path { pattern, .. } = &item.rule.matcher else {
            return false;
        };
        let Some((named, really)) = self.anchors(item) else {
            return false;
        };
        let either = |pattern: &crate::path::PathPattern| {
            pattern.matches(path, named) || (named != really && pattern.matches(path, really))
        };
        // A line of an ignore list that ends with a slash speaks of folders.
        let kind = self.request.facts.paths.get(path).map(|fact| fact.kind);
        let of_folders = |pattern: &crate::path::PathPattern| pattern.ignore().is_some_and(|line| line.folders);
        let covers = |pattern: &crate::path::PathPattern| {
            either(pattern) && !(of_folders(pattern) && matches!(kind, Some(PathKind::File | PathKind::Other)))
        };
        let excepts = |pattern: &crate::path::PathPattern| {
            either(pattern) && (!of_folders(pattern) || kind == Some(PathKind::Directory))
        };
        pattern.as_ref().is_none_or(covers) && !item.rule.exceptions.iter().any(excepts)
    }

    /// Rules on files that can cover a path as named or where it really leads.
    pub(super) fn rules_on(&self, path: &AbsPath) -> Vec<RuleId> {
        let real = self.real(path).filter(|real| *real != path);
        self.rules.index().files(
            std::iter::once(path).chain(real),
            self.bases.get_or_init(|| bases(self.all_anchors())),
        )
    }

    /// The strictest allow that covers a path as named, if one (that one or another) also covers where it really leads.
    pub(super) fn allow_covering(&self, ids: &[RuleId], path: &AbsPath) -> Option<RuleId> {
        let covering = |path: &AbsPath| {
            let covers = |id: &RuleId| self.item(*id).is_some_and(|item| self.covers_spelling(item, path));
            ids.iter().copied().find(covers)
        };
        let named = covering(path)?;
        covering(self.real(path)?).and(Some(named))
    }

    /// Whether one spelling of a path is covered, without asking where it leads.
    pub(super) fn covers_name(&self, id: RuleId, path: &AbsPath) -> bool {
        self.item(id).is_some_and(|item| self.covers_spelling(item, path))
    }

    /// Whether a deny or ask covers a path: as named or where it really leads.
    pub(super) fn deny_covers(&self, id: RuleId, path: &AbsPath) -> bool {
        self.item(id).is_some_and(|item| {
            let real = self.real(path).filter(|real| *real != path);
            self.covers_spelling(item, path) || real.is_some_and(|real| self.covers_spelling(item, real))
        })
    }

    /// Whether a deny or ask can cover one of the paths that a pattern of the shell stands for.
    pub(super) fn deny_meets(&self, id: RuleId, folder: &AbsPath, pattern: &str) -> bool {
        let Some(item) = self.item(id) else {
            // Its condition does not hold; every id given out has a rule.
            return false;
        };
        let crate::rule::Matcher::Path { pattern: own, .. } = &item.rule.matcher else {
            return false;
        };
        let (Some(own), Some((named, really))) = (own, self.anchors(item)) else {
            return true;
        };
        let really_pattern = self
            .real(folder)
            .filter(|real| *real != folder)
            .and_then(|real| Some(format!("{real}{}", pattern.strip_prefix(folder.as_str())?)));
        own.meets(pattern, named)
            || own.meets(pattern, really)
            || really_pattern.is_some_and(|pattern| own.meets(&pattern, named) || own.meets(&pattern, really))
    }

    /// Whether git's read-only commands really only read here: its configuration is known to run nothing, or the person
    /// trusts the project whose configuration it is.
    pub(super) fn repository_is_quiet(&self) -> bool {
        let facts = &self.request.facts;
        match &facts.repository {
            Repository::Unknown => false,
            Repository::None => true,
            Repository::Known { root, executing_keys } => {
                executing_keys.is_empty() || (facts.project_trusted && self.is_around_the_project(root))
            }
        }
    }

    /// Whether a repository is the one around the workspace's root: trust in a project is trust in that one, and not in
    /// what lies somewhere below.
    fn is_around_the_project(&self, root: &AbsPath) -> bool {
        self.real(&self.workspace.root).is_some_and(|real| real.is_within(root))
    }

    /// Whether a real path lies in the workspace.
    pub(super) fn is_really_inside(&self, real: &AbsPath) -> bool {
        self.real_roots.iter().any(|root| real.is_within(root))
    }

    /// Whether a program's name leads to the program that everybody means by it: not to a file of the workspace or of a
    /// folder that everybody writes to.
    pub(super) fn is_system_program(&self, name: &str) -> bool {
        if name.contains('/') {
            return false;
        }
        if BUILTINS.binary_search(&name).is_ok() {
            return true;
        }
        let Some(Some(found)) = self.request.facts.programs.get(name) else {
            return false;
        };
        let open = |path: &AbsPath| {
            self.workspace.contains(path)
                || self.real_roots.iter().any(|root| path.is_within(root))
                || OPEN_FOLDERS.iter().any(|folder| {
                    let rest = path.as_str().strip_prefix(folder);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                })
        };
        !open(found) && !self.real(found).is_some_and(open)
    }

    /// Whether one of Portcullis' own paths is meant, or lies below what is.
    pub(super) fn is_own(&self, path: &AbsPath, with_what_is_below: bool) -> bool {
        let facts = &self.request.facts;
        touches(
            facts.own_paths.iter().chain(&facts.own_secret_paths),
            path,
            self.real(path),
            with_what_is_below,
        )
    }

    /// Whether it is a folder of Portcullis' own with secrets below: `grep -r` would read them.
    pub(super) fn holds_own_secrets(&self, path: &AbsPath) -> bool {
        let facts = &self.request.facts;
        let holds = |path: &AbsPath| {
            facts.own_paths.iter().any(|own| path.is_within(own))
                && facts.own_secret_paths.iter().any(|secret| secret.is_within(path))
        };
        holds(path) || self.real(path).is_some_and(holds)
    }

    /// The same for those that hold secrets.
    pub(super) fn is_own_secret(&self, path: &AbsPath) -> bool {
        touches(self.request.facts.own_secret_paths.iter(), path, self.real(path), false)
    }
}

fn bases(anchors: &[(Anchors, Anchors)]) -> Bases {
    let mut bases = Bases::default();
    bases.add(Anchor::Root, &AbsPath::root());
    for place in anchors.iter().flat_map(|(named, really)| [named, really]) {
        bases.add(Anchor::Document, &place.document);
        bases.add(Anchor::Relative, &place.cwd);
        bases.add(Anchor::Relative, &place.root);
        bases.add(Anchor::Workspace, &place.root);
        if let Some(home) = &place.home {
            bases.add(Anchor::Home, home);
        }
    }
    bases
}

fn touches<'p>(
    mut own: impl Iterator<Item = &'p AbsPath>,
    path: &AbsPath,
    real: Option<&AbsPath>,
    with_what_is_below: bool,
) -> bool {
    own.any(|own| {
        [Some(path), real]
            .into_iter()
            .flatten()
            .any(|path| path.is_within(own) || (with_what_is_below && own.is_within(path)))
    })
}

fn real_of<'r>(request: &'r Request, path: &AbsPath) -> Option<&'r AbsPath> {
    request.facts.paths.get(path)?.real.as_ref()
}

/// What a path in the agent's words means in a workspace.
pub(super) fn resolve(workspace: &Workspace, text: &str) -> Option<AbsPath> {
    if text == "~" {
        return workspace.home.clone();
    }
    match text.strip_prefix("~/") {
        Some(rest) => Some(workspace.home.as_ref()?.join(rest)),
        None => Some(workspace.cwd.join(text)),
    }
}

/// The folders that a path in the agent's words leaves by `..`; `None` if it leaves too many to follow.
pub(super) fn left_behind(workspace: &Workspace, text: &str) -> Option<Vec<AbsPath>> {
    match (text.strip_prefix("~/"), &workspace.home) {
        (Some(rest), Some(home)) => crate::shell::left_again(home, rest),
        _ if text.starts_with('/') => crate::shell::left_again(&AbsPath::root(), text),
        _ => crate::shell::left_again(&workspace.cwd, text),
    }
}

/// Folders that everybody writes to.
const OPEN_FOLDERS: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// Words that bash runs itself before it looks for a program, in order.
const BUILTINS: &[&str] = &[
    "!",
    ":",
    "[",
    "[[",
    "alias",
    "bg",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "test",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unset",
    "wait",
];

#[cfg(test)]
mod tests {
    #[test]
    fn builtins_are_in_the_order_in_which_they_are_looked_for() {
        assert!(super::BUILTINS.is_sorted());
    }
}

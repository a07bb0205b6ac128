//! What goes along with a folder: it is removed, moved, put on another one, or changed with all that lies below it.
//!
//! `rm -rf src` takes `src/gen` along, and a rule for `src/gen/**` would be an ornament if it did not speak about that.
//! A rule whose own words name a place below the folder (`src/gen/**`, `//etc/x/*.conf`) decides as it stands, whatever
//! the host says. A rule that finds its files by name (`.env`, `**/*.pem`) is asked about the names that the host says
//! stand there ([`crate::facts::Tree`]): one that is there is a case for the rule, and if none is the folder is free.
//! What the host did not say asks, if the pattern could match there at all. A deny on *reading* that is met by a name
//! alone asks: what is removed is not read, and copies of such files lie in many folders that tools make.
//!
//! It says nothing about the folder itself, which is judged as a path like any other.

use std::{cell::LazyCell, collections::BTreeSet};

use crate::{
    AbsPath, Effect,
    facts::Tree,
    mode::ActionClass,
    path::plain,
    protected,
    rule::{Matcher, PathVerb},
    ruleset::RuleId,
    shell::{Access, Command, FileAccess, FileTarget, acts},
};

use super::{
    critical::changes_whole_trees,
    files::{noun, verbs},
    part::Part,
    touched::{FOUND, is_search_with_tests},
    trees::{self, Names, Wanted},
    world::{PathRule, World},
};

/// Most pairs of a folder that is copied or moved and a place where it is put.
const MOST_LANDINGS: usize = 4096;
/// Folders that tools fill and fill again. What lies there under a protected name, or one that a rule is about at any depth
/// (`Read(.env)`, `Edit(*.lock)`), is a copy that nothing looks at, so that their removal needs no person; a rule whose own
/// words name something there counts.
const MADE: &[&str] = &[
    ".cache",
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nuxt",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".svelte-kit",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    "DerivedData",
    "Pods",
    "__pycache__",
    "_build",
    "bower_components",
    "build",
    "coverage",
    "dist",
    "htmlcov",
    "node_modules",
    "out",
    "target",
    "venv",
];

/// Whether tools fill folders of this name.
pub(super) fn is_made_name(name: &str) -> bool {
    MADE.contains(&name)
}

/// How sure it is that a rule is about something below a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    /// The rule's own words name a place there.
    Named,
    /// A name that it covers stands there.
    Found,
    /// It could.
    Perhaps,
}

/// Whether an access of a command is to all that lies below, without naming it. The words are looked through once, however many
/// accesses there are.
fn takes_all(command: &Command) -> impl Fn(&FileAccess) -> bool {
    let removes = LazyCell::new(|| moves(command) || command.program_name() == Some("rsync"));
    let changes = LazyCell::new(|| changes_whole_trees(command));
    move |access| match access.access {
        Access::DeleteTree => true,
        Access::Delete => *removes,
        Access::Write => !access.redirection && *changes,
        Access::Read => false,
    }
}

/// Whether a command moves files.
pub(super) fn moves(command: &Command) -> bool {
    let git = || acts::git_verb(command).is_some_and(|(verb, _)| verb == "mv");
    match command.program_name() {
        Some("mv" | "gmv") => true,
        Some("git") => git(),
        _ => false,
    }
}

/// The folders that a command changes with all that lies below: of these the host says which names stand there.
pub(super) fn wanted(command: &Command) -> Vec<Wanted> {
    let found_by_name = is_search_with_tests(command);
    let takes = takes_all(command);
    let taken = command.files.iter().filter(|access| !found_by_name && takes(access));
    taken
        .filter_map(|access| match &access.target {
            FileTarget::Path(folder) | FileTarget::Pattern { folder, .. } => Some(Wanted {
                folder: folder.clone(),
                deep: true,
            }),
            FileTarget::Unknown(_) => None,
        })
        .collect()
}

impl World<'_> {
    /// What a command takes along with what it names.
    pub(super) fn judge_taken_along(&self, command: &Command) -> Vec<Part> {
        let mut steps = 0;
        let mut parts = Vec::new();
        let takes = takes_all(command);
        for access in self.accesses(command) {
            if takes(&access) {
                parts.extend(self.judge_all_below(&access.target, access.access, &mut steps));
            }
        }
        parts.extend(self.judge_landing(command, &mut steps));
        if command.files.iter().any(|access| access.access == Access::DeleteTree) {
            parts.extend(self.judge_found(command));
        }
        parts
    }

    /// The same for a tool that deletes what it is given.
    pub(super) fn judge_deleted(&self, text: &str) -> Vec<Part> {
        self.resolve(text).map_or_else(Vec::new, |path| {
            self.judge_all_below(&FileTarget::Path(path), Access::DeleteTree, &mut 0)
        })
    }

    fn judge_all_below(&self, target: &FileTarget, access: Access, steps: &mut usize) -> Vec<Part> {
        let (folder, pattern) = match target {
            FileTarget::Path(folder) => (folder, None),
            FileTarget::Pattern { pattern, .. } if pattern.ends_with(FOUND) => return Vec::new(),
            FileTarget::Pattern { folder, pattern } => (folder, Some(pattern.as_str())),
            FileTarget::Unknown(_) => return Vec::new(),
        };
        let tree = self.request.facts.trees.get(folder);
        let ruled = self.rule_below(folder, pattern, access, tree, steps);
        let protected = (access != Access::Write)
            .then(|| self.judge_protected_below(folder, pattern, tree))
            .flatten();
        ruled.into_iter().chain(protected).collect()
    }

    /// Denies and asks on files that an access may be about, deny first.
    fn narrowing(&self, access: Access) -> Vec<RuleId> {
        let index = self.rules.index();
        let mut out = Vec::new();
        for effect in [Effect::Deny, Effect::Ask] {
            let mut ids: Vec<RuleId> = verbs(access)
                .iter()
                .flat_map(|verb| index.paths(*verb, effect).iter().copied())
                .filter(|id| self.rule(*id).is_some())
                .collect();
            ids.sort_unstable();
            out.extend(ids);
        }
        out
    }

    /// The strictest rule about something below a folder, or below what a pattern in it stands for.
    fn rule_below(
        &self,
        folder: &AbsPath,
        pattern: Option<&str>,
        access: Access,
        tree: Option<&Tree>,
        steps: &mut usize,
    ) -> Option<Part> {
        // What lies in a folder that is denied is denied with it.
        if self
            .covering(folder, &self.rules_on(folder), Effect::Deny, verbs(access))
            .is_some()
        {
            return None;
        }
        let complete = tree.filter(|tree| tree.complete);
        let mut names = Names::all(complete, steps);
        let made = access == Access::DeleteTree && self.is_made(folder);
        // The first that surely meets a deny, else the first that may meet anything.
        let mut best: Option<(Met, RuleId)> = None;
        for id in self.narrowing(access) {
            let Some(rule) = self.rule(id) else { continue };
            if best.is_some() && rule.effect == Effect::Ask {
                break;
            }
            let Some(met) = self.met_below(id, folder, pattern, complete, &mut names) else {
                continue;
            };
            if made && met != Met::Named {
                continue;
            }
            // A name alone is not enough for a deny on reading.
            let read = matches!(
                &rule.matcher,
                Matcher::Path {
                    verb: PathVerb::Read,
                    ..
                }
            );
            if pattern.is_none() && !(read && met == Met::Found) && met != Met::Perhaps {
                best = Some((met, id));
                break;
            }
            best = best.or(Some((Met::Perhaps, id)));
        }
        let (met, id) = best?;
        let all = pattern.map_or_else(|| folder.to_string(), str::to_owned);
        let subject = format!("{} all below {all}", noun(access));
        Some(match (met, tree) {
            (Met::Named | Met::Found, _) => Part::by_rule(self, id, subject),
            (Met::Perhaps, Some(tree)) if tree.complete => {
                Part::perhaps(self, id, subject, "it holds what seems to be a case for")
            }
            (Met::Perhaps, Some(_)) => {
                let why = "it is too large to look through, and could hold a case for";
                Part::perhaps(self, id, subject, why)
            }
            (Met::Perhaps, None) => {
                let why = "the host did not say what it holds, which could be a case for";
                Part::perhaps(self, id, subject, why)
            }
        })
    }

    /// Whether a tool fills a folder: by its name, in the workspace or below the home folder, and no link.
    fn is_made(&self, folder: &AbsPath) -> bool {
        MADE.contains(&folder.file_name()) && self.is_home_or_workspace(folder) && self.real(folder) == Some(folder)
    }

    fn met_below(
        &self,
        id: RuleId,
        folder: &AbsPath,
        pattern: Option<&str>,
        tree: Option<&Tree>,
        names: &mut Names<'_>,
    ) -> Option<Met> {
        // Whether the folder itself is a case for it was said where the folder is judged.
        if self.deny_covers(id, folder) {
            return None;
        }
        if let Some(pattern) = pattern
            && !self.deny_meets(id, folder, &format!("{pattern}/**"))
        {
            return None;
        }
        if self.names_place_below(id, folder) {
            return Some(Met::Named);
        }
        // A pattern that stands for no folder takes nothing along.
        let opens = pattern
            .zip(tree)
            .is_none_or(|(pattern, tree)| opens_folder(folder, pattern, tree));
        let known = if tree.is_some() { Met::Found } else { Met::Perhaps };
        (opens && self.can_cover_below(id, folder, names)).then_some(known)
    }

    /// Whether the words of a deny or ask name a place below a folder, as named or where it really is.
    pub(super) fn names_place_below(&self, id: RuleId, folder: &AbsPath) -> bool {
        let Some(PathRule {
            pattern, named, really, ..
        }) = self.path_rule(id)
        else {
            return false;
        };
        let elsewhere = self.real(folder).filter(|real| *real != folder || named != really);
        pattern.names_place_below(folder, named)
            || elsewhere.is_some_and(|real| pattern.names_place_below(real, really))
    }

    /// Protected names below a folder of the workspace or the home folder that is removed.
    fn judge_protected_below(&self, folder: &AbsPath, pattern: Option<&str>, tree: Option<&Tree>) -> Option<Part> {
        if MADE.contains(&folder.file_name()) || !self.is_home_or_workspace(folder) {
            return None;
        }
        let all = pattern.unwrap_or(folder.as_str());
        let subject = format!("deletes all below {all}");
        let Some(tree) = tree.filter(|tree| tree.complete) else {
            let why = "what it holds is not known, and could be protected";
            return Some(Part::unknown(subject, why));
        };
        if pattern.is_some_and(|pattern| !opens_folder(folder, pattern, tree)) {
            return None;
        }
        let (name, entry) = self.protected_name(tree)?;
        let what = format!("it holds `{name}`, a protected name: {}", entry.reason);
        Some(Part::by_mode(self, ActionClass::Protected, subject, &what))
    }

    /// A protected name in a tree.
    pub(super) fn protected_name<'t>(&self, tree: &'t Tree) -> Option<(&'t String, &'static protected::Protected)> {
        let switches = self.rules.protection();
        tree.folders.iter().chain(&tree.files).find_map(|name| {
            let entry = protected::protects_name(name, switches)?;
            Some((name, entry))
        })
    }

    pub(super) fn is_home_or_workspace(&self, path: &AbsPath) -> bool {
        self.workspace.contains(path) || self.workspace.home.as_ref().is_some_and(|home| path.is_within(home))
    }

    /// What a folder that is copied or moved brings to where it is put: `mv new src` makes `src/gen` of `new/gen`.
    fn judge_landing(&self, command: &Command, steps: &mut usize) -> Option<Part> {
        if !trees::brings_folders(command) {
            return None;
        }
        let targets = command
            .files
            .iter()
            .filter(|access| access.access == Access::Write && !access.redirection);
        let targets: BTreeSet<&AbsPath> = targets
            .filter_map(|access| match &access.target {
                FileTarget::Path(path) => Some(path),
                FileTarget::Pattern { folder, .. } => Some(folder),
                FileTarget::Unknown(_) => None,
            })
            .collect();
        let ids = self.narrowing(Access::Write);
        if ids.is_empty() {
            return None;
        }
        let wanted = trees::wanted(command, |text| self.resolve(text));
        let sources: BTreeSet<&AbsPath> = wanted
            .iter()
            .filter(|wanted| wanted.deep)
            .map(|wanted| &wanted.folder)
            .collect();
        if sources.len().saturating_mul(targets.len()) > MOST_LANDINGS {
            let (id, subject) = (ids.first()?, "puts many folders elsewhere".to_owned());
            let why = "more than are looked through, which could bring a case for";
            return Some(Part::perhaps(self, *id, subject, why));
        }
        for folder in sources {
            let tree = self.request.facts.trees.get(folder).filter(|tree| tree.complete);
            let mut names = Names::all(tree, steps);
            for target in &targets {
                let met = ids
                    .iter()
                    .find(|id| !self.deny_covers(**id, target) && self.can_cover_below(**id, target, &mut names));
                if let Some(id) = met {
                    let subject = format!("puts all below {folder} on {target}");
                    return Some(Part::perhaps(self, *id, subject, "it seems to bring a case for"));
                }
            }
        }
        None
    }
}

/// Whether a pattern of the shell in a folder can stand for one of the folders there.
fn opens_folder(folder: &AbsPath, pattern: &str, tree: &Tree) -> bool {
    let rest = plain::parse(pattern);
    let names: Vec<Vec<plain::Token>> = tree
        .folders
        .iter()
        .map(|name| name.chars().map(plain::Token::Char).collect())
        .collect();
    rest.iter()
        .skip(folder.segments().count())
        .all(|segment| match segment {
            plain::Segment::Deep | plain::Segment::Shown => true,
            plain::Segment::One(tokens) => names.iter().any(|name| plain::segment_meets(name, tokens)),
        })
}

//! What goes along with a folder that is removed or moved, in the plainest code: the paths that could stand below it are
//! written out, and rules are asked about each.

use portcullis_policy::{
    AbsPath, Effect,
    facts::Tree,
    mode::ActionClass,
    shell::{Access, Command, FileTarget},
};

use super::{
    files::verbs,
    judge::{Judge, Part},
    matchers::{self, Places},
    rules::{Rule, Spelling},
};

/// Names that could stand in a folder of which nothing is known: one for each name of a pattern of the alphabet.
const NAMES: &[&str] = &[
    ".env", "a.rs", "b.key", "src", "docs", "lib", "hosts", ".ssh", "link", "build", "out", "x.md", "notes",
];

/// The paths of up to three names below a folder.
fn paths_below(folder: &AbsPath, folders: &[String], files: &[String]) -> Vec<AbsPath> {
    let mut open = vec![folder.clone()];
    let mut out = Vec::new();
    for _ in 0..3 {
        for place in &open {
            out.extend(files.iter().map(|name| place.join(name)));
            out.extend(folders.iter().map(|name| place.join(name)));
        }
        open = open
            .iter()
            .flat_map(|place| folders.iter().map(|name| place.join(name)))
            .collect();
    }
    out
}

fn wildcard(segment: &str) -> bool {
    segment.contains(['*', '?', '['])
}

impl Judge<'_> {
    /// A folder as named with the places as named, and both as they really are.
    fn both(&self, rule: &Rule, folder: &AbsPath) -> Vec<(AbsPath, Places)> {
        let [named, really] = self.places(rule);
        let real = self.real(folder).cloned();
        std::iter::once((folder.clone(), named))
            .chain(real.map(|real| (real, really)))
            .collect()
    }

    /// Whether the pattern of a rule covers a path, whatever its exceptions say. A line of an ignore list speaks of two: what
    /// it names, and what lies below that.
    fn pattern_covers(rule: &Rule, what_lies_below: bool, path: &AbsPath, at: &Places) -> bool {
        match rule.spelling {
            Spelling::Ignore => {
                let (itself, below) = matchers::ignore(&rule.text, path, at);
                if what_lies_below { below } else { itself }
            }
            // A rule for every file is about the folder itself.
            _ => rule.inner().is_some_and(|pattern| match rule.spelling {
                Spelling::Cursor => matchers::cursor_path(pattern, true, path, at),
                _ => matchers::path(pattern, true, path, at),
            }),
        }
    }

    fn taken_out(rule: &Rule, what_lies_below: bool, path: &AbsPath, at: &Places) -> bool {
        rule.exceptions.iter().any(|own| match rule.spelling {
            Spelling::Ignore => {
                let (itself, below) = matchers::ignore(own, path, at);
                if what_lies_below { below } else { itself }
            }
            _ => matchers::path(own, false, path, at),
        })
    }

    /// Whether a deny or ask can be about something below a folder.
    fn can_cover_below(&self, rule: &Rule, folder: &AbsPath, tree: Option<&Tree>) -> bool {
        let list = |names: &std::collections::BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>();
        let any: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
        let (folders, files) = tree.map_or_else(|| (any, Vec::new()), |tree| (list(&tree.folders), list(&tree.files)));
        let parts: &[bool] = if rule.spelling == Spelling::Ignore {
            &[false, true]
        } else {
            &[false]
        };
        let mut ways = self
            .both(rule, folder)
            .into_iter()
            .flat_map(|way| parts.iter().map(move |part| (way.clone(), *part)));
        ways.any(|((folder, at), part)| {
            paths_below(&folder, &folders, &files).iter().any(|path| {
                let parent = path.parent().unwrap();
                let name = path.file_name();
                // A name that is taken out wherever it lies is none. Of what is not known, only a name in words is.
                let places = [folder.join(name), folder.join(&format!("\u{1}/{name}"))];
                // Cursor's pattern covers a folder of that name with all below, of which an exception takes out only the name.
                let in_words = !part && !wildcard(last_of(rule)) && rule.spelling != Spelling::Cursor;
                let excepted =
                    (tree.is_some() || in_words) && places.iter().all(|place| Self::taken_out(rule, part, place, &at));
                let covers = |path: &AbsPath| Self::pattern_covers(rule, part, path, &at);
                covers(path) && !covers(&parent) && !excepted
            })
        })
    }

    /// Whether the words of a rule name a place below a folder.
    fn names_place_below(&self, rule: &Rule, folder: &AbsPath) -> bool {
        let text = match rule.spelling {
            Spelling::Ignore => rule.text.as_str(),
            _ => rule.inner().unwrap_or("**"),
        };
        let root = AbsPath::root();
        let words: Vec<&str> = text
            .trim_start_matches('~')
            .split('/')
            .filter(|segment| !segment.is_empty() && *segment != ".")
            .collect();
        let placed = match rule.spelling {
            Spelling::Ignore => text.trim_end_matches('/').contains('/'),
            Spelling::Cursor => true,
            _ => match words.as_slice() {
                [_] => text.starts_with(['/', '~', '.']) && !text.starts_with(".env"),
                [_, "**"] => text.starts_with(['/', '~']),
                _ => true,
            },
        };
        placed
            && self.both(rule, folder).iter().any(|(folder, at)| {
                let bases = match rule.spelling {
                    Spelling::Ignore => vec![&at.root],
                    Spelling::Cursor if text.starts_with('/') => vec![&root],
                    Spelling::Cursor => vec![&at.root],
                    _ if text.starts_with("//") => vec![&root],
                    _ if text.starts_with('~') => vec![&at.home],
                    _ if text.starts_with('/') => vec![&at.document],
                    _ => vec![&at.cwd, &at.root],
                };
                bases.into_iter().any(|base| {
                    let own = words.iter().take_while(|segment| !wildcard(segment));
                    let place = own.fold(base.clone(), |place, name| place.join(name));
                    place != *base && place != *folder && place.is_within(folder)
                })
            })
    }

    fn complete(&self, folder: &AbsPath) -> Option<&Tree> {
        self.request.facts.trees.get(folder).filter(|tree| tree.complete)
    }

    fn about(rule: &Rule, verbs: &[&str]) -> bool {
        rule.effect != Effect::Allow && rule.verb().is_some_and(|verb| verbs.contains(&verb))
    }

    fn protected_name(&self, tree: &Tree) -> bool {
        let mut names = tree.folders.iter().chain(&tree.files);
        names.any(|name| self.protects(&AbsPath::root().join(name)))
    }

    fn at_home(&self, path: &AbsPath) -> bool {
        let workspace = &self.request.workspace;
        path.is_within(&workspace.root) || path.is_within(workspace.home.as_ref().unwrap())
    }

    /// A folder that is removed, with all that lies below it.
    pub(crate) fn removed(&self, folder: &AbsPath, moved: bool) -> Vec<Part> {
        let verbs = verbs(Access::DeleteTree);
        let tree = self.complete(folder);
        // Of folders that tools fill the generator has these: what a rule does not place there is a copy.
        let made = !moved
            && ["build", "out"].contains(&folder.file_name())
            && self.at_home(folder)
            && self.real(folder) == Some(folder);
        // 0: surely; 1: perhaps.
        let met = |rule: &Rule| {
            let covered = self.spellings(folder).any(|path| self.covers_spelling(rule, path));
            if !Self::about(rule, verbs) || covered {
                None
            } else if self.names_place_below(rule, folder) {
                Some(0)
            } else if !made && self.can_cover_below(rule, folder, tree) {
                Some(u8::from(tree.is_none() || rule.verb() == Some("Read")))
            } else {
                None
            }
        };
        let denied = self.narrowed(folder, Effect::Deny, verbs).is_some();
        let surely_denied = self.first_with(Effect::Deny, |rule| met(rule) == Some(0));
        let at_all = || self.first_with(Effect::Deny, |rule| met(rule).is_some());
        let mut parts: Vec<Part> = match &surely_denied {
            // What lies in a folder that is denied is denied with it.
            _ if denied => Vec::new(),
            Some(rule) => vec![Part::by_rule(rule)],
            None => at_all()
                .or_else(|| self.first_with(Effect::Ask, |rule| met(rule).is_some()))
                .iter()
                .map(|rule| {
                    // An ignore list is not a rule where it only may be met.
                    if rule.effect == Effect::Ask && met(rule) == Some(0) {
                        Part::by_rule(rule)
                    } else {
                        Part::perhaps(rule)
                    }
                })
                .collect(),
        };
        if folder.file_name() != "build" && folder.file_name() != "out" && self.at_home(folder) {
            match tree {
                None => parts.push(Part::unknown()),
                Some(tree) if self.protected_name(tree) => parts.push(self.mode(ActionClass::Protected)),
                Some(_) => {}
            }
        }
        parts
    }

    /// What `rm -r` and `mv` take along, and what `mv` brings to where it puts a folder.
    pub(crate) fn taken_along(&self, command: &Command) -> Vec<Part> {
        let moves = command.program_name() == Some("mv");
        let paths = |sought: Access| -> Vec<&AbsPath> {
            let own = command
                .files
                .iter()
                .filter(|access| access.access == sought && !access.redirection);
            own.filter_map(|access| match &access.target {
                FileTarget::Path(path) => Some(path),
                _ => None,
            })
            .collect()
        };
        let mut parts = Vec::new();
        let removed = paths(Access::DeleteTree);
        let moved = if moves { paths(Access::Delete) } else { Vec::new() };
        parts.extend(removed.into_iter().flat_map(|folder| self.removed(folder, false)));
        parts.extend(moved.into_iter().flat_map(|folder| self.removed(folder, true)));
        let targets = paths(Access::Write);
        let sources = if moves { paths(Access::Read) } else { Vec::new() };
        for source in sources {
            let tree = self.complete(source);
            let met = |folder: &AbsPath, effect, verbs: &[&str]| {
                self.first_with(effect, |rule| {
                    Self::about(rule, verbs) && self.can_cover_below(rule, folder, tree)
                })
            };
            let either = |folder: &AbsPath, verbs: &[&str]| {
                met(folder, Effect::Deny, verbs).or_else(|| met(folder, Effect::Ask, verbs))
            };
            let landing = targets.iter().find_map(|target| either(target, verbs(Access::Write)));
            parts.extend(landing.as_ref().map(Part::perhaps));
            if targets.iter().any(|target| self.at_home(target)) {
                match tree {
                    None => parts.push(Part::unknown()),
                    Some(tree) if self.protected_name(tree) => parts.push(self.mode(ActionClass::Protected)),
                    Some(_) => {}
                }
            }
            parts.extend(either(source, verbs(Access::Read)).as_ref().map(Part::perhaps));
        }
        parts
    }
}

/// The last name that a rule's pattern has.
fn last_of(rule: &Rule) -> &str {
    let text = match rule.spelling {
        Spelling::Ignore => rule.text.as_str(),
        _ => rule.inner().unwrap_or("**"),
    };
    text.split('/')
        .rfind(|segment| !segment.is_empty() && *segment != "**")
        .unwrap_or("**")
}

//! What happens to one file, in the plainest code: every rule is asked about the path as named and where it really leads.

use portcullis_policy::{
    AbsPath, DecidedBy, Effect, Mode, Verdict, credentials,
    facts::PathKind,
    mode::{ActionClass, Guard, is_below_plans},
    protected,
    shell::Access,
};

use super::{
    judge::{Judge, Part},
    matchers::{self, Places},
    rules::{Rule, Spelling},
};

/// What already allows an access to a file.
pub(crate) type Cover = Option<Rule>;

/// Rules that deny or ask speak about more than their own verb: what must not be read must not be changed.
pub(crate) fn verbs(access: Access) -> &'static [&'static str] {
    match access {
        Access::Read => &["Read"],
        Access::Write => &["Edit", "Read"],
        Access::Delete | Access::DeleteTree => &["Delete", "Edit", "Read"],
    }
}

fn guard(access: Access, inside: bool) -> Option<Guard> {
    match access {
        Access::Delete | Access::DeleteTree => Some(Guard::Deletion),
        Access::Write if !inside => Some(Guard::ExternalFiles),
        Access::Write | Access::Read => None,
    }
}

impl Judge<'_> {
    pub(crate) fn resolve(&self, text: &str) -> AbsPath {
        let workspace = &self.request.workspace;
        match text.strip_prefix("~/") {
            Some(rest) => workspace.home.as_ref().unwrap().join(rest),
            None if text == "~" => workspace.home.clone().unwrap(),
            None => workspace.cwd.join(text),
        }
    }

    pub(crate) fn real(&self, path: &AbsPath) -> Option<&AbsPath> {
        self.request.facts.paths.get(path)?.real.as_ref()
    }

    /// A path as named, and where it really leads.
    pub(crate) fn spellings<'a>(&'a self, path: &'a AbsPath) -> impl Iterator<Item = &'a AbsPath> {
        std::iter::once(path).chain(self.real(path))
    }

    pub(crate) fn inside(&self, path: &AbsPath) -> bool {
        let workspace = &self.request.workspace;
        let root = self.real(&workspace.root).unwrap_or(&workspace.root);
        path.is_within(&workspace.root) && self.real(path).is_some_and(|real| real.is_within(root))
    }

    /// The places of a rule's document: as named, and where these really are.
    pub(crate) fn places(&self, rule: &Rule) -> [Places; 2] {
        let workspace = &self.request.workspace;
        let inside = workspace.cwd.is_within(&workspace.root);
        let named = Places {
            document: rule.folder.clone().unwrap_or_else(|| workspace.root.clone()),
            home: workspace.home.clone().unwrap(),
            cwd: if inside {
                workspace.cwd.clone()
            } else {
                workspace.root.clone()
            },
            root: workspace.root.clone(),
        };
        let real = |path: &AbsPath| self.real(path).unwrap_or(path).clone();
        let really = Places {
            document: real(&named.document),
            home: real(&named.home),
            cwd: real(&named.cwd),
            root: real(&named.root),
        };
        [named, really]
    }

    /// Whether a rule on files covers one spelling of a path, whatever it says about it.
    pub(crate) fn covers_spelling(&self, rule: &Rule, path: &AbsPath) -> bool {
        let wide = rule.effect != Effect::Allow;
        let places = self.places(rule);
        if rule.spelling == Spelling::Ignore {
            return self.ignores(rule, path, &places);
        }
        let native = |pattern: &str, wide: bool| places.iter().any(|at| matchers::path(pattern, wide, path, at));
        let meant = |pattern: &str| match rule.spelling {
            Spelling::Cursor => places.iter().any(|at| matchers::cursor_path(pattern, wide, path, at)),
            _ => native(pattern, wide),
        };
        rule.inner().is_none_or(meant)
            // What is taken out of an allow is read widely, what is taken out of a deny narrowly.
            && !rule.exceptions.iter().any(|pattern| native(pattern, !wide))
    }

    /// A line of an ignore list, and the `!lines` behind it: what is itself named can be taken out again, and what lies below
    /// it only together with the folder that is named.
    fn ignores(&self, rule: &Rule, path: &AbsPath, places: &[Places; 2]) -> bool {
        let kind = self.request.facts.paths.get(path).map(|fact| fact.kind);
        let ended = |line: &str| line.ends_with('/');
        let named = |line: &str| places.iter().any(|at| matchers::ignore(line, path, at).0);
        let below = |line: &str| places.iter().any(|at| matchers::ignore(line, path, at).1);
        let is_file = matches!(kind, Some(PathKind::File | PathKind::Other));
        let is_folder = kind == Some(PathKind::Directory);
        let taken_out = |line: &String| named(line) && (!ended(line) || is_folder);
        let itself = named(&rule.text) && !(ended(&rule.text) && is_file) && !rule.exceptions.iter().any(taken_out);
        itself || (below(&rule.text) && !rule.exceptions.iter().any(|line| below(line)))
    }

    /// The deny or ask that speaks about an access to a path, as named or where it really leads.
    pub(crate) fn narrowed(&self, path: &AbsPath, effect: Effect, verbs: &[&str]) -> Option<Rule> {
        self.first_with(effect, |rule| {
            rule.verb().is_some_and(|verb| verbs.contains(&verb))
                && self.spellings(path).any(|path| self.covers_spelling(rule, path))
        })
    }

    /// The allow for a path, if where it really leads is allowed too.
    fn permitted(&self, path: &AbsPath, verb: &str) -> Option<Rule> {
        let allows = |path: &AbsPath| {
            self.first_with(Effect::Allow, |rule| {
                rule.verb() == Some(verb) && self.covers_spelling(rule, path)
            })
        };
        if let (Some(named), Some(_)) = (allows(path), allows(self.real(path)?)) {
            return Some(named);
        }
        // Whoever may read everything below a folder may look into it.
        let folder = self.request.facts.paths.get(path)?.kind == PathKind::Directory;
        let below = |folder: &AbsPath| {
            self.first_with(Effect::Allow, |rule| {
                let names = [folder.join("\u{1}a"), folder.join("\u{1}a/\u{1}b")];
                let all = names.iter().all(|name| self.covers_spelling(rule, name));
                rule.verb() == Some("Read") && rule.exceptions.is_empty() && all
            })
        };
        let named = below(path).filter(|_| folder && verb == "Read")?;
        below(self.real(path)?).map(|_| named)
    }

    pub(crate) fn protects(&self, path: &AbsPath) -> bool {
        let switches = protected::Switches {
            agent_directories_off: self.policy.agent_directories_off(),
        };
        self.spellings(path)
            .any(|path| protected::protects(path, switches).is_some())
    }

    pub(crate) fn is_own_secret(&self, path: &AbsPath) -> bool {
        let facts = &self.request.facts;
        self.spellings(path)
            .any(|path| facts.own_secret_paths.iter().any(|own| path.is_within(own)))
    }

    pub(crate) fn named_file(&self, text: &str, access: Access, cover: Cover) -> Part {
        let by_words = self.path(&self.resolve(text), access, cover.clone());
        // `..` leaves the folder that a link leads to, unless the agent takes it out of the words: the stricter counts.
        let segments: Vec<&str> = text.split('/').collect();
        let ups = (0..segments.len()).filter(|at| segments[*at] == "..");
        let mut left = ups.map(|at| self.resolve(&segments[..at].join("/")));
        if left.any(|folder| self.is_link(&folder)) {
            let by_links = self.astray(text, access, cover);
            if by_links.verdict > by_words.verdict {
                return by_links;
            }
        }
        by_words
    }

    /// Whether a folder is a link, or may be one.
    pub(crate) fn is_link(&self, folder: &AbsPath) -> bool {
        let Some(above) = folder.parent() else { return false };
        match (self.real(folder), self.real(&above)) {
            (Some(real), _) if real == folder => false,
            (Some(real), Some(above)) => real.parent().as_ref() != Some(above),
            _ => true,
        }
    }

    pub(crate) fn path(&self, path: &AbsPath, access: Access, cover: Cover) -> Part {
        let verbs = verbs(access);
        let request = self.request;
        let facts = &request.facts;
        if path.as_str() == "/dev/null" && matches!(access, Access::Read | Access::Write) {
            return Part::allowed_by_mode();
        }
        let secrets_below = self.spellings(path).any(|path| {
            facts.own_paths.iter().any(|own| path.is_within(own))
                && facts.own_secret_paths.iter().any(|own| own.is_within(path))
        });
        if self.is_own_secret(path) || secrets_below {
            return Part::secret();
        }
        if let Some(rule) = self.narrowed(path, Effect::Deny, verbs) {
            return Part::by_rule(&rule);
        }
        // In plan mode the agent's own plan: the exact path that it named, and no link.
        let claimed = request.mode == Mode::Plan
            && access == Access::Write
            && request.session.plan_file.as_ref() == Some(path)
            && self.real(path) == Some(path);
        let known_plan = claimed && is_below_plans(path, &request.workspace);
        if access != Access::Read {
            let whole_tree = access == Access::DeleteTree;
            let mut own = facts.own_paths.iter().chain(&facts.own_secret_paths);
            let is_own = own.any(|own| {
                self.spellings(path)
                    .any(|path| path.is_within(own) || (whole_tree && own.is_within(path)))
            });
            if is_own {
                return self.mode(ActionClass::Protected);
            }
            if self.spellings(path).any(protected::is_raw_device) {
                return self.mode(ActionClass::Critical);
            }
            if self.protects(path) && !known_plan {
                return self.mode(ActionClass::Protected);
            }
            if access != Access::Write && protected::is_critical(path, &request.workspace) {
                return self.mode(ActionClass::Critical);
            }
            if request.mode == Mode::Plan && !claimed {
                return self.mode(ActionClass::EditInside);
            }
        }
        if let Some(rule) = self.narrowed(path, Effect::Ask, verbs) {
            return Part::by_rule(&rule);
        }
        if known_plan {
            return Part::allowed_by_mode();
        }
        let known = self.real(path).is_some();
        if let Some(rule) = cover {
            return Part::by_rule(&rule).unless_unknown(known);
        }
        if let Some(rule) = self.permitted(path, verbs[0]) {
            return Part::by_rule(&rule);
        }
        if claimed {
            return Part::asked_by_mode();
        }
        let inside = self.inside(path);
        let credential = self.spellings(path).any(|path| credentials::holds(path).is_some());
        let part = self.mode(match (access, inside) {
            (Access::Read, true) => ActionClass::ReadInside,
            (Access::Read, false) if credential => ActionClass::ReadCredential,
            (Access::Read, false) => ActionClass::ReadOutside,
            (_, true) => ActionClass::EditInside,
            (_, false) => ActionClass::EditOutside,
        });
        part.guarded(guard(access, inside)).unless_unknown(known)
    }

    /// An access to a path that is only known when the line runs.
    /// A path that may lead elsewhere than its words say: nobody writes there without a person's yes, as it may be protected.
    pub(crate) fn astray(&self, source: &str, access: Access, cover: Cover) -> Part {
        let part = self.not_known(source, access, cover);
        let lets_write = access != Access::Read && (part.verdict, part.by) == (Verdict::Allow, DecidedBy::Mode);
        if lets_write {
            self.mode(ActionClass::Protected)
        } else {
            part
        }
    }

    pub(crate) fn not_known(&self, source: &str, access: Access, cover: Cover) -> Part {
        if access != Access::Read {
            let words: String = source.chars().filter(|c| *c != '"').collect();
            if self.protects(&AbsPath::root().join(&words)) {
                return self.mode(ActionClass::Protected);
            }
            let variable_in_front = source.split_once('$').is_some_and(|(_, rest)| rest.contains('/'));
            if access != Access::Write && variable_in_front {
                return self.mode(ActionClass::Critical);
            }
            if self.request.mode == Mode::Plan {
                return self.mode(ActionClass::EditInside);
            }
        }
        let verbs = verbs(access);
        let narrows =
            |rule: &Rule| rule.effect != Effect::Allow && rule.verb().is_some_and(|verb| verbs.contains(&verb));
        if let Some(rule) = self.first(narrows) {
            return Part::perhaps(&rule);
        }
        if let Some(rule) = cover {
            return Part::by_rule(&rule);
        }
        if access == Access::Read {
            // Whatever it is, it may be a secret.
            return self.mode(ActionClass::ReadCredential);
        }
        // It may be a protected one, so what is asked is a person's to answer.
        let part = self.mode(ActionClass::EditOutside).guarded(guard(access, false));
        let may_be_protected = part.verdict != Verdict::Allow;
        part.unless_unknown(!may_be_protected)
    }
}

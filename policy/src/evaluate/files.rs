//! Judges what happens to one file, be it by a tool, an operand or a redirection.

use crate::{
    AbsPath, DecidedBy, Effect, Mode, Verdict,
    credentials::{self, Credential},
    facts::PathKind,
    mode::{ActionClass, Guard, is_below_plans},
    path::plain,
    protected,
    rule::{Matcher, PathVerb, Rule},
    ruleset::RuleId,
    shell::Access,
};

use super::{part::Part, world::World};

const RAW_DEVICE: &str = "it is a device that holds a disk, memory, or the machine's controls";

/// What already allows the access, before rules on files are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover {
    /// Nothing.
    None,
    /// This rule.
    Rule(RuleId),
}

/// What a write in plan mode has to do with the agent's plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// Nothing.
    None,
    /// The agent says that it is its plan.
    Claimed,
    /// The same, and it lies below a known folder of plans.
    Known,
}

/// Verbs whose deny and ask rules speak about an access: a path that must not be read must not be changed either, and
/// one that must not be changed must not be deleted.
pub(super) fn verbs(access: Access) -> &'static [PathVerb] {
    match access {
        Access::Read => &[PathVerb::Read],
        Access::Write => &[PathVerb::Edit, PathVerb::Read],
        Access::Delete | Access::DeleteTree => &[PathVerb::Delete, PathVerb::Edit, PathVerb::Read],
    }
}

/// The verb whose allow rules speak about an access: only its own.
fn allow_verb(access: Access) -> PathVerb {
    match access {
        Access::Read => PathVerb::Read,
        Access::Write => PathVerb::Edit,
        Access::Delete | Access::DeleteTree => PathVerb::Delete,
    }
}

/// The protection that speaks about an access.
pub(super) fn guard_of(access: Access, inside: bool) -> Option<Guard> {
    match (access, inside) {
        (Access::Delete | Access::DeleteTree, _) => Some(Guard::Deletion),
        (Access::Write, false) => Some(Guard::ExternalFiles),
        (Access::Write, true) | (Access::Read, _) => None,
    }
}

pub(super) fn noun(access: Access) -> &'static str {
    match access {
        Access::Read => "reads",
        Access::Write => "writes",
        Access::Delete | Access::DeleteTree => "deletes",
    }
}

/// Devices that take and give nothing that matters.
fn is_harmless_device(path: &AbsPath, access: Access) -> bool {
    let text = path.as_str();
    let sink = matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
        || text
            .strip_prefix("/dev/fd/")
            .is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()));
    match access {
        Access::Write => sink,
        Access::Read => sink || matches!(text, "/dev/stdin" | "/dev/zero" | "/dev/random" | "/dev/urandom"),
        Access::Delete | Access::DeleteTree => false,
    }
}

/// Whether a pattern of the shell can stand for a path or something below it; for the deletion of whole trees, also for
/// something above it.
fn can_reach(pattern: &str, own: &AbsPath, whole_tree: bool) -> bool {
    let mut ours = plain::literal(own.segments());
    let mut theirs = plain::parse(pattern);
    if whole_tree {
        theirs.push(plain::Segment::Deep);
    }
    ours.push(plain::Segment::Deep);
    plain::meet(&ours.iter().collect::<Vec<_>>(), &theirs)
}

/// A text without the names of variables in it, as if all were empty.
fn without_variables(text: &str) -> String {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(match part.strip_prefix('{') {
            Some(braced) => braced.split_once('}').map_or("", |(_, rest)| rest),
            None => part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_'),
        });
    }
    out
}

/// Whether it is the output of a command that lists all that lies here: `$(ls -A)`.
fn lists_all(source: &str) -> bool {
    let inner = source
        .strip_prefix("$(")
        .and_then(|rest| rest.strip_suffix(')'))
        .or_else(|| source.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')));
    let mut words = inner.unwrap_or_default().split_whitespace();
    matches!(words.next(), Some("ls" | "dir" | "find")) && words.all(|word| word.starts_with('-') || word == ".")
}

impl World<'_> {
    fn ids(&self, access: Access, effect: Effect) -> impl Iterator<Item = RuleId> {
        verbs(access)
            .iter()
            .flat_map(move |verb| self.rules.index().paths(*verb, effect).iter().copied())
    }

    fn strictest(&self, ids: impl Iterator<Item = RuleId>, mut covers: impl FnMut(RuleId) -> bool) -> Option<RuleId> {
        ids.filter(|id| self.rule(*id).is_some() && covers(*id)).min()
    }

    /// Of rules on files those with an effect that are about one of some verbs, in order.
    fn on_verbs(&self, ids: &[RuleId], effect: Effect, verbs: &[PathVerb]) -> Vec<RuleId> {
        let about = |rule: &Rule| matches!(&rule.matcher, Matcher::Path { verb, .. } if verbs.contains(verb));
        let ids = self.rules.index().with_effect(ids, effect).iter().copied();
        ids.filter(|id| self.rule(*id).is_some_and(about)).collect()
    }

    /// The strictest deny or ask of one effect that covers a path, of those in `ids`.
    pub(super) fn covering(
        &self,
        path: &AbsPath,
        ids: &[RuleId],
        effect: Effect,
        verbs: &[PathVerb],
    ) -> Option<RuleId> {
        let mut ids = self.on_verbs(ids, effect, verbs).into_iter();
        ids.find(|id| self.deny_covers(*id, path))
    }

    /// The strictest deny or ask that covers a path, of those in `ids`.
    pub(super) fn narrowed(&self, path: &AbsPath, ids: &[RuleId], verbs: &[PathVerb]) -> Option<RuleId> {
        self.covering(path, ids, Effect::Deny, verbs)
            .or_else(|| self.covering(path, ids, Effect::Ask, verbs))
    }

    /// Judges an access to a known path. `cover` is what allows it already.
    pub(super) fn judge_path(&self, path: &AbsPath, access: Access, cover: Cover) -> Part {
        let subject = format!("{} {path}", noun(access));
        if is_harmless_device(path, access) {
            return Part::new(subject, Verdict::Allow, DecidedBy::Mode, "the device keeps nothing");
        }
        let mut own_plan = Plan::None;
        if self.is_own_secret(path) || self.holds_own_secrets(path) {
            return Part::new(
                subject,
                Verdict::Deny,
                DecidedBy::Protection,
                "it holds Portcullis' own secrets",
            );
        }
        let ids = self.rules_on(path);
        if let Some(id) = self.covering(path, &ids, Effect::Deny, verbs(access)) {
            return Part::by_rule(self, id, subject);
        }
        if access != Access::Read {
            let whole_tree = access == Access::DeleteTree;
            if self.is_own(path, whole_tree) {
                let what = if self.is_own(path, false) {
                    "it belongs to Portcullis itself"
                } else if protected::is_critical(path, &self.workspace) {
                    "deleting it would take more along than anybody means, and what belongs to Portcullis itself lies in it"
                } else {
                    "what belongs to Portcullis itself lies in it"
                };
                return Part::by_mode(self, ActionClass::Protected, subject, what);
            }
            if protected::is_raw_device(path) || self.real(path).is_some_and(protected::is_raw_device) {
                return Part::by_mode(self, ActionClass::Critical, subject, RAW_DEVICE);
            }
            let plan = self.plan(path, access);
            if let Some(entry) = self.protected(path).filter(|_| plan != Plan::Known) {
                let what = format!("a protected path: {}", entry.reason);
                return Part::by_mode(self, ActionClass::Protected, subject, &what);
            }
            let critical = |path: &AbsPath| protected::is_critical(path, &self.workspace);
            let deletes = matches!(access, Access::Delete | Access::DeleteTree);
            if deletes && critical(path) {
                let what = "deleting it would take more along than anybody means";
                return Part::by_mode(self, ActionClass::Critical, subject, what);
            }
            if plan == Plan::None
                && let Some(part) = self.refused_by_plan(&subject)
            {
                return part;
            }
            own_plan = plan;
        }
        if let Some(id) = self.covering(path, &ids, Effect::Ask, verbs(access)) {
            return Part::by_rule(self, id, subject);
        }
        if own_plan == Plan::Known {
            return Part::new(subject, Verdict::Allow, DecidedBy::Mode, "it is the agent's own plan");
        }
        let known = self.real(path).is_some();
        let unknown = "the host could not tell where the path really leads";
        if let Cover::Rule(id) = cover {
            return Part::by_rule(self, id, subject).unless_unknown(known, unknown);
        }
        let allows = self.on_verbs(&ids, Effect::Allow, &[allow_verb(access)]);
        if let Some(id) = self.allow_covering(&allows, path) {
            return Part::by_rule(self, id, subject);
        }
        if let Some(id) = self.allow_below(path).filter(|_| access == Access::Read) {
            return Part::by_rule(self, id, subject).unless_unknown(known, unknown);
        }
        let inside = self.is_inside(path);
        if own_plan == Plan::Claimed {
            // Where it lies, the claim alone allows nothing: what plan mode denies is a person's to say.
            let what = "the agent says that it is its plan, and it lies in no folder of plans";
            return Part {
                reason: format!("{what}: no rule allows it"),
                ..Part::new(subject, Verdict::Ask, DecidedBy::Mode, what)
            }
            .suggest(self.path_suggestion(path, access, inside));
        }
        let secret = credentials::holds(path).or_else(|| self.real(path).and_then(credentials::holds));
        self.by_place(inside, access, secret, subject)
            .guarded(guard_of(access, inside))
            .suggest(self.path_suggestion(path, access, inside))
            .unless_unknown(known, unknown)
    }

    /// The entry that protects a path, as named or where it really leads.
    pub(super) fn protected(&self, path: &AbsPath) -> Option<&'static protected::Protected> {
        let switches = self.rules.protection();
        protected::protects(path, switches).or_else(|| protected::protects(self.real(path)?, switches))
    }

    /// Whether a write in plan mode is one of the agent's own plan: exactly the path that it named, and no link.
    fn plan(&self, path: &AbsPath, access: Access) -> Plan {
        let request = self.request;
        let named = request.session.plan_file.as_ref() == Some(path);
        let plain = self.real(path) == Some(path);
        if request.mode != Mode::Plan || access != Access::Write || !named || !plain {
            Plan::None
        } else if is_below_plans(path, &request.workspace) {
            Plan::Known
        } else {
            Plan::Claimed
        }
    }

    /// Plan mode changes nothing, whatever a rule says.
    pub(super) fn refused_by_plan(&self, subject: &str) -> Option<Part> {
        (self.request.mode == Mode::Plan)
            .then(|| Part::by_mode(self, ActionClass::EditInside, subject, "a change of files"))
    }

    fn by_place(&self, inside: bool, access: Access, secret: Option<&Credential>, subject: String) -> Part {
        let (class, what) = match (access, inside) {
            (Access::Read, true) => (ActionClass::ReadInside, "inside the workspace"),
            (Access::Read, false) if secret.is_some() => {
                let reason = secret.map_or("", |entry| entry.reason);
                let what = format!("outside the workspace, and {reason}");
                return Part::by_mode(self, ActionClass::ReadCredential, subject, &what);
            }
            (Access::Read, false) => (ActionClass::ReadOutside, "outside the workspace"),
            (_, true) => (ActionClass::EditInside, "inside the workspace"),
            (_, false) => (ActionClass::EditOutside, "outside the workspace"),
        };
        Part::by_mode(self, class, subject, what)
    }

    /// The rule that would allow exactly this path.
    fn path_suggestion(&self, path: &AbsPath, access: Access, inside: bool) -> Option<String> {
        let tool = match allow_verb(access) {
            PathVerb::Read => "Read",
            PathVerb::Edit => "Edit",
            PathVerb::Delete => "Delete",
        };
        let text = path.as_str();
        if text.contains(['*', '?', '[', ']', '{', '}', '\\', '\n']) || text.len() > 500 {
            return None;
        }
        match path
            .below(&self.workspace.cwd)
            .filter(|rest| inside && !rest.is_empty())
        {
            Some(rest) => Some(format!("{tool}(./{rest})")),
            None => Some(format!("{tool}(/{text})")),
        }
    }

    /// Judges an access to whatever a pattern of the shell expands to. Where it is `unsettled` what that is by then, by a
    /// redirection or because the line itself puts something there, a link among it may lead outside.
    pub(super) fn judge_pattern(
        &self,
        folder: &AbsPath,
        pattern: &str,
        access: Access,
        unsettled: bool,
        cover: Cover,
    ) -> Part {
        let subject = match pattern.strip_suffix("/what find finds") {
            Some(below) => format!(
                "{} what find finds in {}",
                noun(access),
                if below.is_empty() { "/" } else { below }
            ),
            None => format!("{} {}", noun(access), plain::written(pattern)),
        };
        let spellings = self.spellings(folder, pattern);
        let whole_tree = access == Access::DeleteTree;
        let reaches = |own: &AbsPath| {
            folder.is_within(own)
                || self.real(folder).is_some_and(|real| real.is_within(own))
                || spellings.iter().any(|pattern| can_reach(pattern, own, whole_tree))
        };
        let facts = &self.request.facts;
        if facts.own_secret_paths.iter().any(reaches) {
            return Part::new(
                subject,
                Verdict::Deny,
                DecidedBy::Protection,
                "it can reach Portcullis' own secrets",
            );
        }
        let ids = self.rules_on(folder);
        if let Some(id) = self.covering(folder, &ids, Effect::Deny, verbs(access)) {
            return Part::by_rule(self, id, subject);
        }
        let may = "it can expand to what this rule is about:";
        let met = self.strictest(self.ids(access, Effect::Deny), |id| {
            self.deny_meets(id, folder, pattern)
                && !(access == Access::Read
                    && (self.expands_to_others_than(id, folder, pattern)
                        || self.holds_nothing_for(id, folder, pattern)))
        });
        if access != Access::Read {
            let real_folder = self.real(folder);
            if protected::may_be_raw_device(pattern) {
                return Part::by_mode(self, ActionClass::Critical, subject, RAW_DEVICE);
            }
            let switches = self.rules.protection();
            let met = protected::protects_pattern(pattern, switches).or_else(|| self.protected(folder));
            if let Some(entry) = met {
                let what = format!("it can reach a protected path: {}", entry.reason);
                return Part::by_mode(self, ActionClass::Protected, subject, &what);
            }
            if facts.own_paths.iter().chain(&facts.own_secret_paths).any(reaches) {
                return Part::by_mode(
                    self,
                    ActionClass::Protected,
                    subject,
                    "it can reach what belongs to Portcullis",
                );
            }
            let deletes = matches!(access, Access::Delete | Access::DeleteTree);
            // Where the folder is a link, what lies in its target goes.
            let all_there = spellings.iter().any(|pattern| {
                let named = pattern.starts_with(folder.as_str());
                let folder = if named { folder } else { real_folder.unwrap_or(folder) };
                protected::is_critical_pattern(folder, pattern, &self.workspace)
            });
            if all_there && (deletes || !self.workspace.contains(folder)) {
                let what = "deleting it would take more along than anybody means";
                return Part::by_mode(self, ActionClass::Critical, subject, what);
            }
            if let Some(part) = self.refused_by_plan(&subject) {
                return part;
            }
        }
        if let Some(id) = met {
            return Part::perhaps(self, id, subject, may);
        }
        let met = self.strictest(self.ids(access, Effect::Ask), |id| {
            self.deny_meets(id, folder, pattern)
                && !(access == Access::Read
                    && (self.expands_to_others_than(id, folder, pattern)
                        || self.holds_nothing_for(id, folder, pattern)))
        });
        let covering = self.covering(folder, &ids, Effect::Ask, verbs(access));
        if let Some(id) = covering.into_iter().chain(met).min() {
            return Part::by_rule(self, id, subject);
        }
        let known = self.real(folder).is_some();
        let unknown = "the host could not tell where the path really leads";
        if let Cover::Rule(id) = cover {
            return Part::by_rule(self, id, subject).unless_unknown(known, unknown);
        }
        // A name that only a wildcard covers: a rule that covers it covers all names there.
        let any_name = folder.join("\u{1}any\u{1}");
        let allow_verb = [allow_verb(access)];
        // Where the folder is no link, the spelling of a name in it decides.
        let by_name = || {
            let covers = |id: &RuleId| self.covers_name(*id, &any_name);
            self.on_verbs(&self.rules_on(&any_name), Effect::Allow, &allow_verb)
                .into_iter()
                .find(covers)
                .filter(|_| self.is_plain_folder(folder))
        };
        let allows = self.on_verbs(&ids, Effect::Allow, &allow_verb);
        if let Some(id) = self.allow_covering(&allows, folder).or_else(by_name) {
            return Part::by_rule(self, id, subject);
        }
        // Which file is written is not known, and a link among them may lead outside; a deletion takes the link itself.
        let taken = if access == Access::Write {
            self.writes_no_link(folder, pattern)
        } else {
            true
        };
        let inside = self.is_inside(folder) && taken && !unsettled;
        if !inside && self.is_inside(folder) {
            let what =
                "which files of the workspace these are is not known, and one of them may be a link that leads outside";
            return Part::by_mode(
                self,
                if access == Access::Read {
                    ActionClass::ReadOutside
                } else {
                    ActionClass::EditOutside
                },
                subject,
                what,
            )
            .guarded(guard_of(access, inside))
            .unless_unknown(known, unknown);
        }
        let secret = credentials::holds_pattern(pattern).or_else(|| self.real(folder).and_then(credentials::holds));
        self.by_place(inside, access, secret, subject)
            .guarded(guard_of(access, inside))
            .unless_unknown(known, unknown)
    }

    /// The allow to read all that lies below a folder, which covers looking into the folder itself: `Read(~/x/**)`.
    fn allow_below(&self, path: &AbsPath) -> Option<RuleId> {
        let fact = self.request.facts.paths.get(path)?;
        let real = fact.real.as_ref().filter(|_| fact.kind == PathKind::Directory)?;
        let below = |folder: &AbsPath| {
            let names = ["\u{1}any\u{1}", "\u{1}any\u{1}/\u{1}any\u{1}"].map(|name| folder.join(name));
            let [_, deep] = &names;
            let ids = self.on_verbs(&self.rules_on(deep), Effect::Allow, &[PathVerb::Read]);
            let whole = |id: &RuleId| self.rule(*id).is_some_and(|rule| rule.exceptions.is_empty());
            let covers = |id: &RuleId| whole(id) && names.iter().all(|name| self.covers_name(*id, name));
            ids.into_iter().find(covers)
        };
        let named = below(path)?;
        below(real).and(Some(named))
    }

    /// A pattern as named, and with its folder where that really is.
    fn spellings(&self, folder: &AbsPath, pattern: &str) -> Vec<String> {
        let real = self
            .real(folder)
            .filter(|real| *real != folder)
            .zip(pattern.strip_prefix(folder.as_str()))
            .map(|(real, rest)| {
                format!(
                    "{}/{}",
                    real.as_str().trim_end_matches('/'),
                    rest.trim_start_matches('/')
                )
            });
        std::iter::once(pattern.to_owned()).chain(real).collect()
    }

    fn is_plain_folder(&self, folder: &AbsPath) -> bool {
        self.real(folder) == Some(folder)
    }

    /// Judges an access to a path that is only known when the line runs.
    pub(super) fn judge_unknown(&self, source: &str, access: Access, cover: Cover) -> Part {
        let subject = format!("{} {source}", noun(access));
        let why = "which file it is, is only known at run time; it could be a case for";
        if access != Access::Read {
            if protected::may_be_raw_device(source) {
                return Part::by_mode(self, ActionClass::Critical, subject, RAW_DEVICE);
            }
            if source.to_ascii_lowercase().contains("portcullis") {
                let what = "it can belong to Portcullis itself";
                return Part::by_mode(self, ActionClass::Protected, subject, what);
            }
            if let Some(entry) = self.protected_ending(source) {
                let what = format!("it can be a protected path: {}", entry.reason);
                return Part::by_mode(self, ActionClass::Protected, subject, &what);
            }
            let deletes = matches!(access, Access::Delete | Access::DeleteTree);
            let everything = deletes && self.can_be_critical(source);
            let behind_variable = source
                .split_once('$')
                .is_some_and(|(_, rest)| rest.contains(['/', '*']));
            if everything {
                let what = "it can be a folder that holds more than anybody means to delete";
                return Part::by_mode(self, ActionClass::Critical, subject, what);
            }
            if deletes && behind_variable {
                let what = "if the variable is empty, it deletes far more than anybody means";
                return Part::by_mode(self, ActionClass::Critical, subject, what);
            }
            if let Some(part) = self.refused_by_plan(&subject) {
                return part;
            }
        }
        // Whatever the file is, the strictest rule may be about it.
        let strictest = |effect| {
            let index = self.rules.index();
            let firsts = verbs(access).iter().filter_map(|verb| {
                let mut ids = index.paths(*verb, effect).iter().copied();
                ids.find(|id| self.rule(*id).is_some())
            });
            firsts.min()
        };
        if let Some(id) = strictest(Effect::Deny).or_else(|| strictest(Effect::Ask)) {
            return Part::perhaps(self, id, subject, why);
        }
        if let Cover::Rule(id) = cover {
            return Part::by_rule(self, id, subject);
        }
        let class = if access == Access::Read {
            // Whatever it is, it may be a secret.
            ActionClass::ReadCredential
        } else {
            ActionClass::EditOutside
        };
        let part = Part::by_mode(self, class, subject, "which file it is, is only known at run time")
            .guarded(guard_of(access, false));
        // It may be a protected one, about which no classifier decides.
        let may_be_protected = access != Access::Read && part.verdict != Verdict::Allow;
        part.unless_unknown(!may_be_protected, "which file it is, is only known at run time")
    }

    /// Whether words that are only known at run time say enough to fear for a folder that is critical: all of a folder that
    /// is not known (`.`, `..`, `*` after `cd $D`), the working directory by another name (`$(pwd)`, `~+`), somebody's home (`~root`), or what is left if the variable is empty
    /// (`/$X`, `./$X`).
    pub(super) fn can_be_critical(&self, source: &str) -> bool {
        let text: String = source.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect();
        if text.starts_with('~') && !text.contains('/') {
            return true;
        }
        let all = |segment: &str| segment.chars().all(|c| "*.?[!^]{,}".contains(c));
        if text.contains(['.', '*']) && text.split('/').all(all) {
            return true;
        }
        if lists_all(&text) {
            return true;
        }
        let Some((before, _)) = text.split_once(['$', '`']) else {
            return false;
        };
        if before.is_empty() {
            let places = [
                "pwd",
                "PWD",
                "HOME",
                "--show-toplevel",
                "realpath",
                "readlink",
                "dirname",
                "~",
            ];
            return places.iter().any(|place| text.contains(place));
        }
        // `/tmp` is a usual place to clean up in.
        self.resolve(before)
            .is_some_and(|path| path.as_str() != "/tmp" && protected::is_critical(&path, &self.workspace))
    }

    /// A protected name among the known words: `$D/.git/hooks/x`, or `.git/hooks/x` in a folder that is not known.
    fn protected_ending(&self, source: &str) -> Option<&'static protected::Protected> {
        let rest: String = source.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect();
        let protects = |text: &str| protected::protects(&AbsPath::root().join(text), self.rules.protection());
        // A variable may be empty: `.git$X/config`.
        protects(&rest).or_else(|| protects(&without_variables(&rest)))
    }

    /// Judges a path that leads elsewhere than its words say. That is never meant as a place to write to, so whatever the mode
    /// lets be written there may be protected.
    pub(super) fn judge_astray(&self, text: &str, access: Access, cover: Cover) -> Part {
        let part = self.judge_unknown(text, access, cover);
        if access == Access::Read || part.verdict != Verdict::Allow || part.decided_by != DecidedBy::Mode {
            return part;
        }
        let what = "a link leads it elsewhere than its words say, where it can be a protected path";
        Part::by_mode(self, ActionClass::Protected, format!("{} {text}", noun(access)), what)
    }

    /// Judges a path in the agent's own words.
    pub(super) fn judge_named(&self, text: &str, access: Access, cover: Cover) -> Part {
        match self.resolve(text) {
            Some(path) if super::touched::leads_into_a_process(&path) => self.judge_astray(text, access, cover),
            // Some agents take `..` out of the words, others leave it to the kernel, which follows links first.
            Some(path) => {
                let by_words = self.judge_path(&path, access, cover);
                let left = super::world::left_behind(&self.workspace, text);
                let strays = left.is_none_or(|left| self.strays(&left));
                let by_links = strays.then(|| self.judge_astray(text, access, cover));
                match by_links {
                    Some(by_links) if by_links.verdict > by_words.verdict => by_links,
                    _ => by_words,
                }
            }
            None => Part::unknown(
                format!("{} {text}", noun(access)),
                "the home folder is not known, so the path is not either",
            ),
        }
    }
}

//! Judges a shell line by its parts: every command it can run, every file and host these touch, and what stayed opaque.

use std::collections::HashSet;

use crate::{
    AbsPath, DecidedBy, Effect, Mode, Verdict,
    decision::Obligation,
    facts::Repository,
    mode::ActionClass,
    protected,
    rule::Matcher,
    ruleset::RuleId,
    shell::{self, Access, Analysis, Command, CommandClass, Context, FileAccess, FileTarget, Limits, Word},
};

use super::{
    below, files::Cover, globs, mentioned::Mention, ourselves, part::Part, rewrites, suggest, texts, ways::Judged,
    work, world::World,
};

/// A judged line.
pub(super) struct Line {
    pub(super) parts: Vec<Part>,
    pub(super) obligations: Vec<Obligation>,
}

/// What a rule on a command says about the files that the command touches.
#[derive(Clone, Copy, Debug)]
enum Reach {
    /// No rule allows the command.
    Nothing,
    /// A rule with a wildcard: the operands that are the command's own business inside the workspace.
    Wildcard(RuleId),
    /// A rule that names the whole command: its operands, wherever they are.
    Exact(RuleId),
    /// A rule that names the whole of a search that runs the command on what it finds: what is read.
    Found(RuleId),
    /// A rule for every command: everything.
    Everything(RuleId),
}

/// Programs that make names rather than contents, or contents that the repository has: a rule for the program covers what
/// it does inside the workspace.
const SHAPERS: &[&str] = &["mkdir", "touch", "rm", "rmdir", "unlink", "chmod", "ln", "git"];

/// Programs that run others as somebody else on this host. A rule for one of them has to say what it may run.
const RAISERS: &[&str] = &["doas", "gosu", "pkexec", "run0", "runuser", "setpriv", "su", "sudo"];

/// Programs that run others on names from elsewhere, and change nothing else about them.
const FEEDERS: &[&str] = &["fd", "fdfind", "find", "parallel", "xargs"];

/// Programs that run another one on what they find, with all of it in their own words.
const SEARCHES: &[&str] = &["fd", "fdfind", "find"];

impl World<'_> {
    pub(super) fn analyse(&self, line: &str) -> Analysis {
        analyse(&self.workspace, self.toplevel(), line)
    }

    /// Git's work tree around the directory of the call, if the host says which it is and it is the project's.
    fn toplevel(&self) -> Option<AbsPath> {
        let root = &self.workspace.root;
        match &self.request.facts.repository {
            Repository::Known { root: own, .. } if self.real(root).unwrap_or(root) == own => Some(root.clone()),
            _ => None,
        }
    }

    pub(super) fn judge_line(&self, line: &str) -> Line {
        let analysis = Judged::of(self.analyse(line), &self.workspace);
        let mut parts = Vec::with_capacity(analysis.commands.len());
        let mut work = work::BUDGET;
        let documents = line.contains("<<");
        for (index, command) in analysis.commands.iter().enumerate() {
            match work.checked_sub(work::of(line, documents, command)) {
                Some(left) => {
                    work = left;
                    self.judge_command(line, &analysis, index, command, &mut parts);
                }
                None => parts.push(self.judge_too_large(command)),
            }
        }
        parts.extend(analysis.opaque.iter().map(|opaque| self.judge_opaque(opaque)));
        parts.extend(self.judge_indirect(&analysis));
        parts.extend(self.judge_other_names(&analysis));
        parts.extend(self.judge_forks(line, &analysis));
        if parts.is_empty() {
            parts.push(Part::by_mode(self, ActionClass::NoProgram, line, "it runs nothing"));
        }
        let obligations = self.sandbox_first(&analysis, &mut parts);
        Line { parts, obligations }
    }

    pub(super) fn shell_rule(
        &self,
        ids: &[RuleId],
        effect: Effect,
        mut covers: impl FnMut(&crate::rule::TextPattern) -> bool,
    ) -> Option<RuleId> {
        self.rules.index().with_effect(ids, effect).iter().copied().find(|id| {
            self.rule(*id)
                .is_some_and(|rule| matches!(&rule.matcher, Matcher::Shell(pattern) if covers(pattern)))
        })
    }

    /// The allow rule for every command, if there is one. In plan mode none counts: it only looks, and a rule that names
    /// no command says nothing about looking.
    pub(super) fn allows_everything(&self) -> Option<RuleId> {
        if self.request.mode == Mode::Plan {
            return None;
        }
        self.rule_for_everything().filter(|id| !self.is_suspended(*id))
    }

    pub(super) fn rule_for_everything(&self) -> Option<RuleId> {
        let mut ids = self.rules.index().every_command(Effect::Allow).iter().copied();
        ids.find(|id| self.rule(*id).is_some())
    }

    fn judge_command(&self, line: &str, analysis: &Judged, index: usize, command: &Command, parts: &mut Vec<Part>) {
        let seen: Vec<String> = command
            .seen_through
            .iter()
            .map(|context| context.label().to_owned())
            .collect();
        let subject = display(command);
        let room = analysis.room();
        let wide = texts::wide(command, room);
        let mut ids = self.rules.index().commands(wide.iter().map(String::as_str));
        let in_any_order = self
            .rules
            .index()
            .option_sets(command.program_name().unwrap_or_default());
        let mut spelled = Vec::new();
        if !in_any_order.is_empty() {
            spelled = texts::without_options(command, room);
            ids.extend_from_slice(in_any_order);
            ids.sort_unstable();
            ids.dedup();
        }
        let matching = |effect| {
            self.shell_rule(&ids, effect, |pattern| {
                let in_any_order = || !in_any_order.is_empty() && texts::has_options_of(pattern, command, &spelled);
                // A redirection alone has no text; rules for every command are about it.
                let without_text = wide.is_empty() && pattern.is_everything();
                without_text || wide.iter().any(|text| pattern.matches(text)) || in_any_order()
            })
        };
        let (own, reach) = if let Some(id) = matching(Effect::Deny) {
            let part = if texts::is_guess(line, analysis, command) {
                let why = "its program's name is the output of a command, and seems to be a case for";
                Part::perhaps(self, id, subject, why)
            } else {
                Part::by_rule(self, id, subject)
            };
            (part, Reach::Nothing)
        } else if self.request.mode == Mode::Plan
            && (shell::changes::changes_files(command) || rewrites::changes_in_container(analysis, index, command))
        {
            // Whatever a rule says, as for files that a command names.
            let what = "it changes files of the work tree";
            (
                Part::by_mode(self, ActionClass::EditInside, subject, what),
                Reach::Nothing,
            )
        } else if let Some(what) = protected::destroys(command) {
            (
                Part::by_mode(self, ActionClass::Critical, subject, what),
                Reach::Nothing,
            )
        } else if !command.spelled_out && texts::changes_git_configuration(command) {
            let what = "it changes git's configuration, which can name programs for git to run";
            (
                Part::by_mode(self, ActionClass::Protected, subject, what),
                Reach::Nothing,
            )
        } else if command.class == CommandClass::SelfChange || ourselves::is_meant(analysis, command) {
            let what = "it changes Portcullis itself";
            (
                Part::by_mode(self, ActionClass::Protected, subject, what),
                Reach::Nothing,
            )
        } else if let Some(id) = matching(Effect::Ask) {
            (Part::by_rule(self, id, subject), Reach::Nothing)
        } else if command.spelled_out && command.class == CommandClass::Other {
            let why = "each command that its words can become is judged by itself";
            (Part::new(subject, Verdict::Allow, DecidedBy::Mode, why), Reach::Nothing)
        } else if command.spelled_out {
            self.allow_or_mode(analysis, index, command, subject)
        } else if let Some(id) = self.perhaps_denied(command, room) {
            let why = "a word that is only known at run time could make it a case for";
            (Part::perhaps(self, id, subject, why), Reach::Nothing)
        } else if let Some(mention) = self.told_command(line, analysis, index, command) {
            let why = "it is told to run a text that seems to be a case for";
            let many = "it may run texts that are too many to be looked through";
            (self.mentioned_part(mention, subject, why, many), Reach::Nothing)
        } else if let Some(mention) = self.mentioned_command(line, analysis, index, command) {
            let why = "it may run one of its words, which seems to be a case for";
            let many = "it may run its words, which are too many to look for a command that a rule is about";
            (self.mentioned_part(mention, subject, why, many), Reach::Nothing)
        } else {
            self.allow_or_mode(analysis, index, command, subject)
        };
        parts.push(own.through(&seen));
        let moves = below::moves(command);
        let (mut patterns, mut unknown) = (HashSet::new(), HashSet::new());
        for access in self.accesses(command) {
            // Thousands of words may be one pattern.
            if let FileTarget::Pattern { folder, pattern } = &access.target
                && !patterns.insert((folder.clone(), pattern.clone(), access.access, access.redirection))
            {
                continue;
            }
            if let FileTarget::Unknown(source) = &access.target
                && !unknown.insert((source.clone(), access.access, access.redirection))
            {
                continue;
            }
            // Those of the commands that it can become are judged there.
            if command.spelled_out && command.class == CommandClass::Other && !access.redirection {
                continue;
            }
            let cover = self.cover(reach, command, &access);
            let part = match &access.target {
                // `cd` follows the words of a path, unless it is told otherwise.
                FileTarget::Path(path) if !follows_words(command) && self.goes_astray(&access) => {
                    self.judge_astray(path.as_str(), access.access, cover)
                }
                FileTarget::Path(path) => self.judge_path(path, access.access, cover),
                FileTarget::Pattern { pattern, .. } if super::touched::can_lead_into_a_process(pattern) => {
                    self.judge_astray(pattern, access.access, cover)
                }
                FileTarget::Pattern { folder, pattern } => {
                    // What is read through `<` is read as an operand is.
                    let unsettled = (access.redirection && access.access != Access::Read)
                        || (access.access == Access::Write && globs::brings_names(analysis, index, folder));
                    self.judge_pattern(folder, pattern, access.access, unsettled, cover)
                }
                // All that a listing of the workspace prints lies there, as what a pattern stands for does.
                FileTarget::Unknown(_)
                    if access.access == Access::Read && self.is_listed_inside(analysis, index, command, &access) =>
                {
                    self.judge_listed(analysis, index, cover)
                }
                FileTarget::Unknown(source) => self
                    .judge_handed(analysis, index, command, &access, cover)
                    .unwrap_or_else(|| self.judge_unknown(source, access.access, cover)),
            };
            // What is moved is gone from its place and not lost.
            let moved = access.access == Access::Delete && moves;
            let part = if moved { part.guarded(None) } else { part };
            parts.push(part.through(&seen));
        }
        if let Reach::Wildcard(id) = reach {
            parts.extend(
                self.judge_outside(command, id)
                    .into_iter()
                    .map(|part| part.through(&seen)),
            );
        }
        parts.extend(self.judge_urls(command).map(|part| part.through(&seen)));
        let named = self.judge_named_hosts(line, analysis, index, command);
        parts.extend(named.into_iter().map(|part| part.through(&seen)));
        let everything = match reach {
            Reach::Everything(id) => Some(id),
            _ => None,
        };
        parts.extend(self.judge_sockets(command, everything).map(|part| part.through(&seen)));
        parts.extend(self.judge_words(command).map(|part| part.through(&seen)));
        parts.extend(self.judge_globs(command).into_iter().map(|part| part.through(&seen)));
        parts.extend(self.judge_outputs(command).map(|part| part.through(&seen)));
        let rewritten = self.judge_rewritten_folders(analysis, index, command);
        parts.extend(rewritten.into_iter().map(|part| part.through(&seen)));
        parts.extend(self.judge_mounts(command).into_iter().map(|part| part.through(&seen)));
        parts.extend(self.judge_tree_change(command).map(|part| part.through(&seen)));
        parts.extend(self.judge_copies(command).map(|part| part.through(&seen)));
        parts.extend(
            self.judge_taken_along(command)
                .into_iter()
                .map(|part| part.through(&seen)),
        );
        parts.extend(self.judge_trees(command).into_iter().map(|part| part.through(&seen)));
        parts.extend(
            self.judge_told_files(line, analysis, index, command)
                .map(|part| part.through(&seen)),
        );
        let named = self.judge_mentioned_files(line, analysis, index, command);
        parts.extend(named.into_iter().map(|part| part.through(&seen)));
        parts.extend(self.judge_fed(analysis, index, command).map(|part| part.through(&seen)));
    }

    /// A deny or ask that the command would meet if a word of it became what it might.
    fn perhaps_denied(&self, command: &Command, room: usize) -> Option<RuleId> {
        let pieces = texts::pieces(command, room);
        let known: Vec<Vec<&str>> = pieces
            .iter()
            .map(|pieces| pieces.iter().map(String::as_str).collect())
            .collect();
        let first = known
            .first()?
            .first()
            .and_then(|piece| piece.split(' ').next())
            .unwrap_or_default();
        // Expressions name no program that the index knows.
        let with_expressions = self.rules.index().commands(std::iter::once(first));
        let mut ids = self.rules.index().commands_of_program(first).to_vec();
        ids.extend(with_expressions);
        ids.sort_unstable();
        ids.dedup();
        let meets = |effect| {
            self.shell_rule(&ids, effect, |pattern| {
                known.iter().any(|pieces| pattern.may_match(pieces))
            })
        };
        let on_condition = |effect| self.perhaps_on_condition(&ids, effect, first, &texts::wide(command, room));
        meets(Effect::Deny)
            .or_else(|| on_condition(Effect::Deny))
            .or_else(|| meets(Effect::Ask))
            .or_else(|| on_condition(Effect::Ask))
    }

    /// A rule whose condition on the input does not hold for the words as written, and names the program whose words are not
    /// all known.
    fn perhaps_on_condition(&self, ids: &[RuleId], effect: Effect, program: &str, wide: &[String]) -> Option<RuleId> {
        let mut ids = self.rules.index().with_effect(ids, effect).iter().copied();
        ids.find(|id| {
            self.rule_but_for_input(*id).is_some_and(|(rule, input)| {
                let covers = |pattern: &crate::rule::TextPattern| {
                    pattern.is_everything() || wide.iter().any(|text| pattern.matches(text))
                };
                input.concerns(program) && matches!(&rule.matcher, Matcher::Shell(pattern) if covers(pattern))
            })
        })
    }

    /// No deny and no ask speaks about the command itself.
    fn allow_or_mode(&self, analysis: &Judged, index: usize, command: &Command, subject: String) -> (Part, Reach) {
        if let Some(id) = self.allows_everything() {
            return (Part::by_rule(self, id, subject), Reach::Everything(id));
        }
        let Some(program) = command.program() else {
            return (self.judge_assignments(command, subject), Reach::Nothing);
        };
        let identity = command
            .seen_through
            .iter()
            .any(|context| matches!(context, Context::Changing(label) if !is_feeder(label)));
        // A known name that leads into the workspace is another program under that name.
        let known_class = command.class != CommandClass::Other;
        let trustworthy = !known_class || self.is_system_program(program) || program.contains('/');
        if trustworthy {
            let allowed = if identity {
                self.allowed_with_its_wrapper(analysis, index, command)
            } else {
                self.allowed_by_text(command)
            };
            if let Some(id) = allowed {
                let exact = matches!(self.rule(id).map(|rule| &rule.matcher), Some(Matcher::Shell(p)) if p.is_exact());
                let reach = if exact { Reach::Exact(id) } else { Reach::Wildcard(id) };
                return (Part::by_rule(self, id, subject), reach);
            }
        }
        let part = self.judge_class(analysis, index, command, program, identity, subject);
        let suggestions = if command.seen_through.is_empty() || !identity {
            suggest::command(command)
        } else {
            Vec::new()
        };
        let mut part = part.suggest(suggestions);
        if self.request.mode.is_automatic() {
            let suspended = self
                .rule_for_everything()
                .or_else(|| self.covered_by_text(command, true));
            self.note_suspended(&mut part, suspended);
        }
        let search = (command.class == CommandClass::ReadOnly && !identity)
            .then(|| self.whole_search(analysis, index, command))
            .flatten();
        (part, search.map_or(Reach::Nothing, Reach::Found))
    }

    /// The rule that names the whole of a `find … -exec` that runs a command, word by word: a `*` in it stands in the
    /// command, too.
    fn whole_search(&self, analysis: &Judged, index: usize, command: &Command) -> Option<RuleId> {
        let (last, before) = command.seen_through.split_last()?;
        let Context::Changing(label) = last else { return None };
        if !SEARCHES.contains(&first_word(label)) {
            return None;
        }
        let mut earlier = analysis.commands.iter().take(index).rev();
        let search = earlier.find(|outer| outer.seen_through.len() < command.seen_through.len())?;
        if search.seen_through != before || search.program() != Some(first_word(label)) {
            return None;
        }
        let narrow = texts::narrow(search);
        let ids = self.rules.index().commands(narrow.iter().map(String::as_str));
        let named = |id: &RuleId| {
            self.rule(*id).is_some_and(|rule| {
                let Matcher::Shell(pattern) = &rule.matcher else {
                    return false;
                };
                rule.effect == Effect::Allow
                    && pattern.as_regex().is_none()
                    && narrow.iter().any(|text| *text == pattern.text())
            })
        };
        ids.into_iter().find(|id| named(id) && !self.is_suspended(*id))
    }

    fn allowed_by_text(&self, command: &Command) -> Option<RuleId> {
        self.covered_by_text(command, false)
    }

    /// The rule whose text covers a command; among those that are suspended, or among those that are not.
    fn covered_by_text(&self, command: &Command, suspended: bool) -> Option<RuleId> {
        let narrow = texts::narrow(command);
        let ids = self.rules.index().commands(narrow.iter().map(String::as_str));
        let ids = self.rules.index().with_effect(&ids, Effect::Allow);
        if ids.is_empty() {
            return None;
        }
        let leads_elsewhere = |text: &str| self.resolve(text).is_none_or(|path| !self.is_inside(&path));
        let escapes = self.escapes(command) || command.code_operands().into_iter().any(leads_elsewhere);
        let exact_first = |id: &RuleId| {
            let exact = matches!(self.rule(*id).map(|rule| &rule.matcher), Some(Matcher::Shell(p)) if p.is_exact());
            (!exact, *id)
        };
        ids.iter()
            .copied()
            .filter(|id| {
                self.rule(*id).is_some_and(|rule| {
                    let Matcher::Shell(pattern) = &rule.matcher else {
                        return false;
                    };
                    rule.effect == Effect::Allow
                        && (pattern.is_exact() || !escapes)
                        && !pattern.is_everything()
                        && narrow.iter().any(|text| pattern.matches(text))
                        && self.covers_what_is_lent(pattern, command)
                })
            })
            .filter(|id| self.is_suspended(*id) == suspended)
            .min_by_key(exact_first)
    }

    /// What runs as somebody else is allowed only by a rule on the line that says so: `Bash(sudo systemctl status *)`.
    fn allowed_with_its_wrapper(&self, analysis: &Analysis, index: usize, command: &Command) -> Option<RuleId> {
        let label = command.seen_through.iter().rev().find_map(|context| match context {
            Context::Changing(label) if !is_feeder(label) => Some(first_word(label)),
            _ => None,
        })?;
        analysis
            .commands
            .iter()
            .take(index)
            .rev()
            .find(|outer| {
                outer.seen_through.len() < command.seen_through.len()
                    && outer
                        .program()
                        .is_some_and(|program| program.rsplit('/').next() == Some(label))
            })
            .and_then(|outer| {
                if !RAISERS.contains(&label) {
                    let id = self.allowed_by_text(outer)?;
                    if !outer.needs_own_rule() || !self.names_the_program_alone(id, outer) {
                        return Some(id);
                    }
                    // `cargo watch -x test` is `cargo test` once more.
                    return self
                        .allowed_by_text(command)
                        .filter(|_| command.program() == outer.program());
                }
                // `sudo *` names the wrapper alone: it would cover every program there is.
                let before = outer.words.len().saturating_sub(command.words.len()).max(1);
                let anything = texts::with_any_program(outer, before);
                self.allowed_by_text(outer).filter(|id| {
                    let rule = self.rule(*id).map(|rule| &rule.matcher);
                    !matches!(rule, Some(Matcher::Shell(pattern)) if pattern.matches(&anything))
                })
            })
    }

    fn mentioned_part(&self, mention: Mention, subject: String, why: &str, many: &str) -> Part {
        match mention {
            Mention::Of(id) => Part::perhaps(self, id, subject, why),
            Mention::TooMany => Part::unknown(subject, many),
        }
    }

    /// Assignments or redirections alone.
    fn judge_assignments(&self, command: &Command, subject: String) -> Part {
        let private = command
            .assignments
            .iter()
            .all(|assignment| texts::assignment_is_private(&assignment.name));
        if command.words.is_empty() && private {
            Part::by_mode(self, ActionClass::NoProgram, subject, "it runs no program")
        } else if !command.words.is_empty() {
            let what = "a command whose program is not known";
            Part::by_mode(self, ActionClass::OtherCommand, subject, what)
        } else {
            let what = "it sets a variable that programs may look at";
            Part::by_mode(self, ActionClass::OtherCommand, subject, what)
        }
    }

    fn cover(&self, reach: Reach, command: &Command, access: &FileAccess) -> Cover {
        let inside = match &access.target {
            FileTarget::Path(path) => self.is_inside(path),
            FileTarget::Pattern { folder, .. } => self.is_inside(folder),
            FileTarget::Unknown(_) => false,
        };
        let program = command.program().unwrap_or_default();
        match reach {
            Reach::Everything(id) => Cover::Rule(id),
            Reach::Exact(id) if !access.redirection => Cover::Rule(id),
            Reach::Found(id) if !access.redirection && access.access == Access::Read => Cover::Rule(id),
            Reach::Wildcard(id) if !access.redirection => {
                let covered = match access.access {
                    Access::Read => inside || matches!(access.target, FileTarget::Unknown(_)),
                    Access::Write => {
                        inside && (access.variable || SHAPERS.contains(&program) || command.writes_products())
                    }
                    Access::Delete | Access::DeleteTree => inside,
                };
                if covered { Cover::Rule(id) } else { Cover::None }
            }
            _ => Cover::None,
        }
    }
}

/// Analyses a line where it would run, and where git's work tree is this one.
pub(super) fn analyse(workspace: &crate::request::Workspace, toplevel: Option<AbsPath>, line: &str) -> Analysis {
    let context = shell::ShellContext {
        cwd: workspace.cwd.clone(),
        home: workspace.home.clone(),
    };
    shell::analyse_in(line, &context, toplevel, Limits::default())
}

/// Whether a command takes `..` out of its words before it looks at links.
fn follows_words(command: &Command) -> bool {
    let told = |word: &Word| {
        word.literal()
            .is_none_or(|word| word.starts_with('-') && word.contains('P'))
    };
    command.class == CommandClass::ChangeDirectory && !command.words.iter().any(told)
}

pub(super) fn first_word(label: &str) -> &str {
    let word = label.split_whitespace().next().unwrap_or_default();
    word.rsplit('/').next().unwrap_or_default()
}

pub(super) fn is_feeder(label: &str) -> bool {
    FEEDERS.contains(&first_word(label))
}

/// A command for people: with its assignments.
pub(super) fn display(command: &Command) -> String {
    if command.words.is_empty() {
        let names: Vec<String> = command
            .assignments
            .iter()
            .map(|assignment| format!("{}=…", assignment.name))
            .collect();
        if names.is_empty() {
            return if command.text.is_empty() {
                "a redirection".to_owned()
            } else {
                command.text.clone()
            };
        }
        return names.join(" ");
    }
    let mut out = String::new();
    for assignment in &command.assignments {
        out.push_str(&assignment.name);
        out.push_str("=… ");
    }
    out.push_str(&command.text);
    out
}

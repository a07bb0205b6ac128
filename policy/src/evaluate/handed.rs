//! Names that a search or a listing hands to a command that acts on them: `find src -name '*.ts' -exec sed -i … {} +`,
//! `find . -name '*.pyc' -delete`, `rg -l x src | xargs sed -i …`.
//!
//! [`listed`](super::listed) says which names a listing prints, and judges what only reads them behind `xargs`. Here is what a
//! search acts on itself, and what is changed. It is known only where the host has looked through the folders, no link is among
//! the names, and each name surely comes as one word that is no option. Where that is not so, it has no answer, and the files
//! count as any.

use crate::{
    AbsPath, Effect,
    facts::Tree,
    mode::ActionClass,
    protected,
    rule::Matcher,
    shell::{Access, Analysis, Command, CommandClass, Context, FileAccess, FileTarget, Loop, Word, runs_later},
};

use super::{
    commands::first_word,
    fed,
    files::{Cover, guard_of, noun, verbs},
    listed::{self, Fed, Fits},
    part::Part,
    touched::{FOUND, is_search_with_tests},
    trees,
    ways::Judged,
    world::World,
};

/// Most folders that the listings in front of one command look in.
const MOST_FOLDERS: usize = 16;

/// Most other commands of a line that are looked through for one that may make names; with more, one may.
const MOST_OTHERS: usize = 128;

/// Names that come from a folder: those that fit, or any.
struct Handed<'a> {
    folder: AbsPath,
    listing: &'a Command,
    fits: Fits,
    tree: &'a Tree,
}

/// The search that a command is run by, if it is one by `find -exec`, or that the command is and acts by itself.
pub(super) fn searched<'a>(analysis: &'a Analysis, index: usize, command: &'a Command) -> Option<&'a Command> {
    let is = |command: &Command| matches!(command.program_name(), Some("find" | "gfind"));
    if is(command) {
        let deletes = command.words.iter().any(|word| word.literal() == Some("-delete"));
        return deletes.then_some(command);
    }
    let label = fed::feeder(command)?;
    if !label.starts_with("find -") {
        return None;
    }
    let before = analysis.commands.get(..index)?;
    // What it runs stands behind it, one deeper; nothing else of that depth is in between.
    let search = before
        .iter()
        .rev()
        .find(|outer| outer.seen_through.len() < command.seen_through.len())?;
    (is(search) && search.seen_through.len() + 1 == command.seen_through.len()).then_some(search)
}

/// The loop whose variable a word is, with nothing around it, where a command stands in its body.
fn loop_of<'a>(analysis: &'a Analysis, index: usize, source: &str) -> Option<&'a Loop> {
    let name = source.trim_matches('"').strip_prefix('$')?;
    let name = name
        .strip_prefix('{')
        .and_then(|name| name.strip_suffix('}'))
        .unwrap_or(name);
    let seen = &analysis.commands.get(index)?.seen_through;
    let mut within = analysis.loops.iter().filter(|own| own.body.contains(&index));
    let found = within.find(|own| own.variable == name)?;
    // In a script or behind a wrapper it may be another variable.
    let in_groups = |context: &Context| matches!(context, Context::Group(_));
    seen.iter().skip(found.depth).all(in_groups).then_some(found)
}

/// Whether nothing else in the line may make names, between the look at the folders and the listing of them: neither before a
/// command nor, where it stands in a group, in a trap or in front of a pipe, after it.
fn others_only_look(analysis: &Analysis, index: usize) -> bool {
    let later = |context: &Context| match context {
        Context::Group(_) => true,
        Context::Script(label) => label == "trap",
        // A process that stands for a file runs beside the others; what `$( )` prints is awaited.
        Context::Substitution(label) => label.starts_with(['<', '>']),
        Context::Transparent(label) | Context::Changing(label) => runs_later(first_word(label)),
    };
    let runs_later = |command: &Command| command.seen_through.iter().any(later);
    // All of a pipeline runs at the same time.
    let at_once = || analysis.pipes.iter().any(|pipe| pipe.from.contains(&index));
    let all = analysis.commands.get(index).is_none_or(runs_later) || at_once();
    let before = if all { analysis.commands.len() } else { index };
    if before > MOST_OTHERS {
        return false;
    }
    let looks = |command: &Command| {
        let only_looks = matches!(
            command.class,
            CommandClass::ReadOnly | CommandClass::ReadOnlyGit | CommandClass::ChangeDirectory | CommandClass::Wrapper
        );
        let writes = |access: &FileAccess| access.access != Access::Read && !access.goes_nowhere();
        // `sed -i` changes what is there.
        let edits = command.program_name() == Some("sed") && command.class == CommandClass::FileChange;
        edits && !command.files.iter().any(|access| access.redirection)
            || (only_looks || only_hands_on(command)) && !command.files.iter().any(writes)
    };
    let others = analysis.commands.iter().take(before).enumerate();
    others.filter(|(at, _)| *at != index).all(|(_, command)| looks(command))
}

/// The listings of the loops over whose names a command goes.
pub(super) fn looped<'a>(
    analysis: &'a Analysis,
    index: usize,
    command: &'a Command,
) -> impl Iterator<Item = &'a Command> {
    let loops = command.files.iter().filter_map(move |access| match &access.target {
        FileTarget::Unknown(source) => loop_of(analysis, index, source),
        _ => None,
    });
    let printers = loops
        .take(1)
        .flat_map(|own| analysis.commands.get(own.words.clone()).unwrap_or_default());
    printers.filter(|printer| listed::is_listing(printer))
}

/// The folders that a search looks in, and what else it names.
pub(super) fn roots(search: &Command, here: &AbsPath) -> Vec<AbsPath> {
    let named = search.files.iter().filter(|access| access.access != Access::Write);
    let mut folders: Vec<AbsPath> = named
        .filter_map(|access| match &access.target {
            FileTarget::Path(folder) | FileTarget::Pattern { folder, .. } => Some(folder.clone()),
            FileTarget::Unknown(_) => None,
        })
        .collect();
    if folders.is_empty() {
        folders.push(here.clone());
    }
    folders
}

/// Whether a `find` does nothing itself but run commands that are judged by themselves.
pub(super) fn only_hands_on(command: &Command) -> bool {
    let runs = |word: &Word| matches!(word.literal(), Some("-exec" | "-execdir"));
    let acts = |text: &str| {
        matches!(text, "-delete" | "-fls" | "-files0-from" | "-ok" | "-okdir") || text.starts_with("-fprint")
    };
    command.program() == Some("find")
        && command.words.iter().any(runs)
        && command
            .words
            .iter()
            .all(|word| word.literal().is_some_and(|text| !acts(text)))
}

/// Whether a `tee` has only devices that keep nothing for its files.
pub(super) fn writes_to_devices(command: &Command) -> bool {
    let device = |text: &str| matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty");
    let plain = |text: &str| matches!(text, "-a" | "-i" | "--append" | "--ignore-interrupts");
    let mut words = command.words.iter().skip(1);
    command.files.is_empty() && words.all(|word| word.literal().is_some_and(|text| device(text) || plain(text)))
}

impl World<'_> {
    /// Judges an access to names that a search or listing of the workspace hands to a command. `None`: nothing is known of them.
    pub(super) fn judge_handed(
        &self,
        analysis: &Judged,
        index: usize,
        command: &Command,
        access: &FileAccess,
        cover: Cover,
    ) -> Option<Part> {
        // A folder would go with all that lies below.
        if access.access == Access::DeleteTree || access.redirection {
            return None;
        }
        let is_old = access.access == Access::Read && fed::is_fed_name(access);
        if !is_old && !others_only_look(analysis, index) {
            return None;
        }
        let handed = self.handed(analysis, index, command, access)?;
        let first = handed.first()?;
        let subject = format!("{} what is found in {}", noun(access.access), first.folder);
        if access.access != Access::Read {
            if let Some(part) = self.refused_by_plan(&subject) {
                return Some(part);
            }
            // Which protected names the tests of a search can meet is compared there.
            let searched = handed.iter().find_map(|own| self.judge_found(own.listing));
            if searched.is_some() {
                return searched;
            }
            if let Some(entry) = handed.iter().find_map(|own| self.protected_among(own)) {
                let what = format!("it may be a protected path: {}", entry.reason);
                return Some(Part::by_mode(self, ActionClass::Protected, subject, &what));
            }
        }
        let mut steps = 0;
        for effect in [Effect::Deny, Effect::Ask] {
            for own in &handed {
                if let Some(id) = self.rule_among(own, access.access, effect, &mut steps) {
                    return Some(Part::perhaps(self, id, subject, "what it is given may be a case for"));
                }
            }
        }
        if let Cover::Rule(id) = cover {
            return Some(Part::by_rule(self, id, subject));
        }
        let class = match access.access {
            Access::Read => ActionClass::ReadInside,
            _ => ActionClass::EditInside,
        };
        let part = Part::by_mode(self, class, subject, "inside the workspace");
        Some(part.guarded(guard_of(access.access, true)))
    }

    /// Where the names come from, if all of that is known, and none of them is a link.
    fn handed<'a>(
        &'a self,
        analysis: &'a Judged,
        index: usize,
        command: &'a Command,
        access: &FileAccess,
    ) -> Option<Vec<Handed<'a>>> {
        let is_found = matches!(&access.target, FileTarget::Unknown(source) if source == FOUND);
        let found = searched(analysis, index, command);
        if let FileTarget::Unknown(source) = &access.target
            && let Some(own) = loop_of(analysis, index, source)
        {
            return self.in_a_loop(analysis, index, own);
        }
        if !fed::is_fed_name(access) && !is_found {
            return None;
        }
        let here = &self.workspace.cwd;
        let mut out = Vec::new();
        if let Some(search) = found {
            let follows = |word: &Word| {
                word.literal()
                    .is_none_or(|text| matches!(text, "-L" | "-follow" | "-files0-from"))
            };
            if analysis.moved.contains(&index) || search.words.iter().any(follows) || search.files.is_empty() {
                return None;
            }
            let roots = roots(search, here);
            if roots.len() > MOST_FOLDERS {
                return None;
            }
            let fits = listed::acted_on(search);
            for folder in roots {
                out.push(self.of_folder(folder, search, fits.clone())?);
            }
        } else if access.access != Access::Read {
            // Behind `xargs`.
            if analysis.moved.contains(&index) || !self.is_fed_from_inside(analysis, index, command) {
                return None;
            }
            let producers = listed::producers(analysis, index);
            let fed = Fed {
                command,
                parted: Some(listed::parted(command)?),
                filtered: producers.iter().any(|producer| !listed::is_listing(producer)),
            };
            if !fed
                .parted
                .as_ref()
                .is_some_and(|parted| listed::takes_bare_names(command, parted))
            {
                return None;
            }
            for listing in producers.into_iter().filter(|producer| listed::is_listing(producer)) {
                for folder in listed::places(listing, here) {
                    let own = self.of_folder(folder, listing, listed::names_of(listing))?;
                    if !fed.splits_surely(listing, own.tree) || may_begin_with_dash(listing, own.tree) {
                        return None;
                    }
                    out.push(own);
                    if out.len() > MOST_FOLDERS {
                        return None;
                    }
                }
            }
        }
        (!out.is_empty()).then_some(out)
    }

    /// Names that a loop goes over, `for f in $(git ls-files)`: each is one word, and no pattern of the shell.
    fn in_a_loop<'a>(&'a self, analysis: &'a Judged, index: usize, own: &Loop) -> Option<Vec<Handed<'a>>> {
        let printers = analysis.commands.get(own.words.clone())?;
        if printers.len() > MOST_FOLDERS {
            return None;
        }
        if analysis.moved.contains(&index) || own.words.clone().any(|at| analysis.moved.contains(&at)) {
            return None;
        }
        let mut out = Vec::new();
        for (at, printer) in own.words.clone().zip(printers) {
            if !listed::is_listing(printer) {
                if fed::passes_on(printer) {
                    continue;
                }
                return None;
            }
            if fed::has_feeder(printer) || !self.lists_inside(analysis, at, printer) {
                return None;
            }
            for folder in listed::places(printer, &self.workspace.cwd) {
                let names = self.of_folder(folder, printer, listed::names_of(printer))?;
                let tree = names.tree;
                let whole = |name: &String| listed::is_one_word(name, false) && !name.contains(['*', '?', '[']);
                if may_begin_with_dash(printer, tree) || !tree.files.iter().chain(&tree.folders).all(whole) {
                    return None;
                }
                out.push(names);
                if out.len() > MOST_FOLDERS {
                    return None;
                }
            }
        }
        (!out.is_empty()).then_some(out)
    }

    fn of_folder<'a>(&'a self, folder: AbsPath, listing: &'a Command, fits: Fits) -> Option<Handed<'a>> {
        let facts = &self.request.facts;
        let tree = facts.trees.get(&folder).filter(|tree| tree.complete)?;
        let own = facts.own_paths.iter().chain(&facts.own_secret_paths);
        let mut near = own.filter(|path| path.is_within(&folder) || folder.is_within(path));
        let is_taken = |link: &AbsPath| fits.as_ref().is_none_or(|fits| listed::meets(fits, link.file_name()));
        let linked = tree.links.keys().any(is_taken);
        let known = self.is_inside(&folder) && self.real(&folder) == Some(&folder) && near.next().is_none() && !linked;
        known.then_some(Handed {
            folder,
            listing,
            fits,
            tree,
        })
    }

    /// A deny or ask that a name may be a case for.
    fn rule_among(
        &self,
        handed: &Handed<'_>,
        access: Access,
        effect: Effect,
        steps: &mut usize,
    ) -> Option<crate::ruleset::RuleId> {
        let mut names = trees::Names::new(handed.listing, Some(handed.tree), steps);
        if let Some(fits) = handed.fits.clone() {
            names.take_only(fits);
        }
        let index = self.rules.index();
        let ids = verbs(access)
            .iter()
            .flat_map(|verb| index.paths(*verb, effect).iter().copied());
        let mut ids: Vec<_> = ids.collect();
        ids.sort_unstable();
        ids.into_iter().find(|id| {
            let Some(rule) = self.rule(*id) else { return false };
            let every = matches!(&rule.matcher, Matcher::Path { pattern: None, .. });
            every || self.covers_name(*id, &handed.folder) || self.can_cover_below(*id, &handed.folder, &mut names)
        })
    }

    /// A protected path that stands where names come from, and may be one of them.
    fn protected_among(&self, handed: &Handed<'_>) -> Option<&'static protected::Protected> {
        let switches = self.rules.protection();
        if let Some(entry) = self.protected(&handed.folder) {
            return Some(entry);
        }
        if is_search_with_tests(handed.listing) {
            return None;
        }
        let skips_hidden = skips_hidden(handed.listing);
        let known = protected::known_paths().filter(|(path, _)| {
            let name = path.rsplit('/').next().unwrap_or(path);
            // What a wildcard stands for may be any name.
            let taken = |fits: &Vec<Vec<_>>| name.contains('*') || listed::meets(fits, name);
            let hidden = path.split('/').any(|name| name.starts_with('.'));
            handed.fits.as_ref().is_none_or(taken)
                && !(skips_hidden && hidden)
                && super::found::stands_there(path, handed.tree)
        });
        let protects = |path: &str| protected::protects(&handed.folder.join(path), switches).is_some();
        known
            .into_iter()
            .find(|(path, _)| protects(path))
            .map(|(_, entry)| entry)
    }
}

/// Whether a listing leaves out what lies behind a dot: `rg` and `fd` do unless they are told otherwise, and git lists nothing
/// of its own folder.
fn skips_hidden(listing: &Command) -> bool {
    let told = |word: &Word| {
        word.literal().is_none_or(|text| {
            let long = ["--hidden", "--unrestricted", "--no-ignore"]
                .iter()
                .any(|option| text.starts_with(option));
            let short = text.starts_with('-') && !text.starts_with("--") && text.contains(['u', '.', 'H', 'g']);
            // What it is told to take by a pattern, it takes behind a dot, too.
            let chosen = text.starts_with("--glob") || text.starts_with("--iglob");
            let named = text.starts_with('.') && text.len() > 1 && !text.starts_with("./");
            let inside = ["/.", "{.", ",."].iter().any(|dot| text.contains(dot));
            long || short || chosen || named || inside
        })
    };
    matches!(listing.program_name(), Some("rg" | "fd" | "fdfind")) && !listing.words.iter().any(told)
}

/// Whether a name that a listing prints may begin with a dash: they do not where each is behind a folder that was named.
fn may_begin_with_dash(listing: &Command, tree: &Tree) -> bool {
    let named = match listing.program_name() {
        Some("find" | "gfind") => true,
        Some("grep" | "egrep" | "fgrep" | "rg") => !listing.files.is_empty() && names_a_place(listing),
        _ => false,
    };
    !named && tree.files.iter().chain(&tree.folders).any(|name| name.starts_with('-'))
}

/// Whether a search in texts names a place to look in, behind its pattern.
fn names_a_place(listing: &Command) -> bool {
    let words = listing.words.iter().skip(1).filter_map(Word::literal);
    words.filter(|word| !word.starts_with('-')).count() > 1
}

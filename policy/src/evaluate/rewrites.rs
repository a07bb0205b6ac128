//! Folders whose files a command puts into another state without naming them: `git restore .`, `prettier --write .`.
//!
//! Naming the file that a deny or ask on editing is about is a case for the rule; so is naming a folder in which the rule's own
//! words name a place, or the folder itself. It asks then: which of the files are changed depends on what they hold. Rules that only
//! could cover something there are left alone, or each formatter of a folder would ask; so are rules for files that the program
//! leaves alone (`policy/data/rewriting.toml`). Programs that rewrite files of one language only (`gofmt`, `black`) are left out, and
//! so is what another branch holds. It allows nothing.

use std::collections::BTreeSet;

use crate::{
    AbsPath, Effect,
    rule::{Matcher, PathVerb},
    ruleset::RuleId,
    shell::{Access, Analysis, Command, FileTarget, Pathspec, Word, acts, changes, rewriting},
};

use super::{part::Part, trees, world::World};

/// Most places of one command that are looked at; of more it is not known what they are.
const MOST_PLACES: usize = 64;

/// What a command names to be rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named<'a> {
    /// A file, a folder or a pattern, in the words of git.
    Spec(&'a str),
    /// A word of git that may be a branch.
    Branch(&'a str),
    /// The same in the words of another program.
    Text(&'a str),
    /// What a list says, or what is left out.
    Anything,
}

/// Where that is.
struct Place {
    folder: AbsPath,
    /// Patterns of which one meets what is changed; all below the folder, if there are none.
    patterns: Vec<String>,
}

impl World<'_> {
    /// Denies and asks on editing something in a folder that a command rewrites.
    pub(super) fn judge_rewritten_folders(&self, analysis: &Analysis, index: usize, command: &Command) -> Vec<Part> {
        let ids = self.edit_rules();
        if ids.is_empty() || command.remote {
            return Vec::new();
        }
        let mut seen = BTreeSet::new();
        let mut parts = Vec::new();
        let mut note = |id: Option<RuleId>, folder: &AbsPath| {
            if let Some(id) = id.filter(|id| seen.insert(*id)) {
                let subject = format!("may rewrite what lies below {folder}");
                let why = "it rewrites files of a folder, among them what seems to be a case for";
                parts.push(Part::perhaps(self, id, subject, why));
            }
        };
        for folder in made_folders(command) {
            let place = Place {
                folder: folder.clone(),
                patterns: Vec::new(),
            };
            note(self.rule_in(&ids, "", &place), folder);
        }
        if changes::changes_modules(command) {
            let folder = &self.workspace.cwd;
            let about = |id: &RuleId| {
                ["go.mod", "go.sum"]
                    .iter()
                    .any(|name| self.deny_covers(*id, &folder.join(name)))
            };
            note(ids.iter().copied().find(about), folder);
        }
        let named = rewritten(command);
        if named.len() > MOST_PLACES {
            note(ids.first().copied(), &self.workspace.root);
        }
        let program = command.program_name().unwrap_or_default();
        let bases = if named.is_empty() {
            Some(Vec::new())
        } else {
            self.bases(analysis, index, command)
        };
        for named in named.into_iter().take(MOST_PLACES) {
            if let Named::Branch(text) = named {
                let about = |id: &RuleId| self.names_word(*id, text) && self.may_change(*id, program);
                note(ids.iter().copied().find(about), &self.workspace.cwd);
                continue;
            }
            let places = match &bases {
                Some(bases) => bases.iter().map(|base| self.place(base, named)).collect(),
                None => vec![self.everything()],
            };
            for place in places {
                note(self.rule_in(&ids, program, &place), &place.folder);
            }
        }
        parts
    }

    /// Denies, then asks, on editing.
    fn edit_rules(&self) -> Vec<RuleId> {
        let index = self.rules.index();
        let ids = [Effect::Deny, Effect::Ask].map(|effect| index.paths(PathVerb::Edit, effect));
        let mut ids = ids.into_iter().flat_map(|ids| ids.iter().copied());
        ids.by_ref().filter(|id| self.rule(*id).is_some()).collect()
    }

    /// The folders in which a command begins; `None` if they are not known.
    fn bases(&self, analysis: &Analysis, index: usize, command: &Command) -> Option<Vec<AbsPath>> {
        let begins = match analysis.moved.contains(&index) {
            true => analysis.git_places.get(&index).cloned()?,
            false => vec![self.workspace.cwd.clone()],
        };
        match command.git_folder().filter(|_| command.program_name() == Some("git")) {
            None => Some(begins),
            Some(folder) => folder.map(|folder| begins.iter().map(|begin| begin.join(folder)).collect()),
        }
    }

    fn everything(&self) -> Place {
        Place {
            folder: self.workspace.root.clone(),
            patterns: Vec::new(),
        }
    }

    fn place(&self, base: &AbsPath, named: Named<'_>) -> Place {
        let (text, top, literal, of_git) = match named {
            Named::Anything => return self.everything(),
            Named::Text(text) | Named::Branch(text) => (text, false, false, false),
            Named::Spec(text) => match Pathspec::read(text) {
                None => return self.everything(),
                Some(spec) => (spec.path, spec.top, spec.literal, true),
            },
        };
        let base = if top { &self.workspace.root } else { base };
        let from_home = |text: &str| match text.starts_with('~') {
            true => self.resolve(text).unwrap_or_else(|| base.clone()),
            false => base.join(text),
        };
        let Some(at) = text.find(['*', '?', '[', '{']).filter(|_| !literal) else {
            return Place {
                folder: from_home(text),
                patterns: Vec::new(),
            };
        };
        let known = text.get(..at).unwrap_or_default();
        let folder = known.rfind('/').and_then(|end| known.get(..=end)).unwrap_or(".");
        let rest = text
            .get(known.rfind('/').map_or(0, |end| end + 1)..)
            .unwrap_or_default();
        let folder = from_home(folder);
        let begin = folder.as_str().trim_end_matches('/');
        // What a brace or a class stands for, anything may.
        let rest = if rest.contains(['{', '[']) { "*" } else { rest };
        let mut patterns = vec![format!("{begin}/{rest}"), format!("{begin}/{rest}/**")];
        if of_git && rest.contains('*') {
            // A `*` of git is also a slash.
            let last = rest.rsplit('/').next().unwrap_or(rest);
            patterns.extend([format!("{begin}/**/{last}"), format!("{begin}/**/{last}/**")]);
        }
        Place { folder, patterns }
    }

    /// The first rule whose own words name something in a place, which the program may change.
    fn rule_in(&self, ids: &[RuleId], program: &str, place: &Place) -> Option<RuleId> {
        let folder = &place.folder;
        let meets = |id: RuleId| {
            let mut patterns = place.patterns.iter();
            place.patterns.is_empty() || patterns.any(|pattern| self.deny_meets(id, folder, pattern))
        };
        let mut ids = ids.iter().copied();
        ids.find(|id| {
            (self.names_place_below(*id, folder) || self.names_itself(*id, folder) || self.names_in_root(*id, folder))
                && meets(*id)
                && self.may_change(*id, program)
        })
    }

    /// Whether a rule names the folder, or is about what lies in it: `Edit(src/**)` of `src`.
    fn names_itself(&self, id: RuleId, folder: &AbsPath) -> bool {
        let above = folder.parent().unwrap_or_else(AbsPath::root);
        let in_it = || self.names_place_below(id, &above) && self.deny_meets(id, folder, &format!("{folder}/**"));
        self.deny_covers(id, folder) || in_it()
    }

    /// Whether the words of a rule begin with a word, which may be a branch as well: `git checkout src` of `Edit(src/**)`.
    fn names_word(&self, id: RuleId, word: &str) -> bool {
        let word = word.strip_prefix("./").unwrap_or(word);
        let begins = |names: &String| {
            names
                .strip_prefix(word)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.path_rule(id)
            .is_some_and(|rule| rule.pattern.first_names().any(|names| begins(&names)))
    }

    /// Whether a rule for any depth names something that, as the one meant most likely, lies right in the workspace's root or the
    /// working directory: `Edit(package.json)`.
    fn names_in_root(&self, id: RuleId, folder: &AbsPath) -> bool {
        let roots = [&self.workspace.cwd, &self.workspace.root];
        let Some(rule) = self.path_rule(id) else {
            return false;
        };
        roots.into_iter().filter(|root| root.is_within(folder)).any(|root| {
            rule.pattern.first_names().any(|names| {
                let place = root.join(&names);
                self.deny_covers(id, &place) || self.deny_meets(id, root, &format!("{place}/**"))
            })
        })
    }

    /// Whether a program may change what a rule is about, by the last names of the rule.
    fn may_change(&self, id: RuleId, program: &str) -> bool {
        let Some(Matcher::Path {
            pattern: Some(pattern), ..
        }) = self.rule(id).map(|rule| &rule.matcher)
        else {
            return true;
        };
        pattern
            .last_names()
            .is_none_or(|names| names.iter().any(|name| rewriting::may_change(program, name)))
    }
}

/// The folders into which cargo puts what it makes, and makes anew: `--target-dir x`, `CARGO_TARGET_DIR=x`.
fn made_folders(command: &Command) -> impl Iterator<Item = &AbsPath> {
    let files = command
        .files
        .iter()
        .filter(|file| file.access == Access::Write && !file.redirection);
    let whole = command.program_name() == Some("cargo");
    files
        .filter(move |file| whole || file.variable)
        .filter_map(|file| match &file.target {
            FileTarget::Path(folder) => Some(folder),
            FileTarget::Pattern { .. } | FileTarget::Unknown(_) => None,
        })
}

/// Whether a command changes files that a container got from the host: by a mount that may be written, or as the file of compose
/// says.
pub(super) fn changes_in_container(analysis: &Analysis, index: usize, command: &Command) -> bool {
    if !command.remote || !changes::changes_there(command) {
        return false;
    }
    let mut before = analysis.commands.iter().take(index).rev();
    let outer = before.find(|outer| !outer.remote && outer.seen_through.len() < command.seen_through.len());
    outer.is_some_and(|outer| {
        let mut words = outer.words.iter().take(8).filter_map(Word::literal);
        words.any(|word| word.ends_with("compose")) || trees::mounts(outer).into_iter().any(|(_, read_only)| !read_only)
    })
}

/// The text of a word that the command gets, or of a pattern that the shell leaves to it.
fn text_of(word: &Word) -> Option<&str> {
    match word {
        Word::Literal(text) => Some(text),
        Word::Dynamic { source, pattern: true } if !source.contains(['$', '`', '"', '\'', '\\']) => Some(source),
        Word::Dynamic { .. } => None,
    }
}

/// Whether a word could be the name of a branch: it is no folder by its last letter, and no pattern.
fn may_be_branch(text: &str) -> bool {
    !matches!(text, "." | "..")
        && !text.starts_with([':', '/', '~'])
        && !text.starts_with("../")
        && !text.ends_with('/')
        && !text.contains(['*', '?', '['])
}

/// What a command rewrites, as it names it.
fn rewritten(command: &Command) -> Vec<Named<'_>> {
    let Some(program) = command.program_name().filter(|name| rewriting::is_rewriter(name)) else {
        return Vec::new();
    };
    if program != "git" {
        let words = command.words.iter().skip(1).filter_map(text_of);
        return match acts::rewrites(command) {
            true => words.filter(|word| !word.starts_with('-')).map(Named::Text).collect(),
            false => Vec::new(),
        };
    }
    let (verb, rest) = match acts::git_verb(command) {
        Some((verb @ ("checkout" | "restore"), rest)) => (verb, rest),
        Some(("checkout-index", rest)) => {
            let all = |word: &Word| matches!(word.literal(), Some("-a" | "--all" | "-fa" | "-af" | "--stdin"));
            return rest.iter().any(all).then_some(Named::Anything).into_iter().collect();
        }
        _ => return Vec::new(),
    };
    let dashes = rest
        .iter()
        .position(|word| word.literal() == Some("--"))
        .unwrap_or(rest.len());
    let (own, behind) = rest.split_at_checked(dashes).unwrap_or((rest, &[]));
    let has = |options: &[&str]| own.iter().filter_map(Word::literal).any(|text| options.contains(&text));
    if verb == "restore" && has(&["--staged", "-S"]) && !has(&["--worktree", "-W"]) {
        return Vec::new();
    }
    // It begins a branch, and takes no paths.
    if verb == "checkout" && has(&["-b", "-B", "--orphan", "--detach", "-d"]) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut words = own.iter();
    while let Some(word) = words.next() {
        match text_of(word) {
            Some("-s" | "--source" | "--conflict") => drop(words.next()),
            Some(text) if text.starts_with("--pathspec-") => out.push(Named::Anything),
            Some(text) if text.starts_with('-') => {}
            // The first word of `checkout` may be a branch, too.
            Some(text) if verb == "checkout" && out.is_empty() && may_be_branch(text) => out.push(Named::Branch(text)),
            Some(text) => out.push(Named::Spec(text)),
            None => {}
        }
    }
    out.extend(behind.iter().skip(1).filter_map(text_of).map(Named::Spec));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(line: &str) -> Vec<String> {
        let words: Vec<Word> = line.split(' ').map(|word| Word::Literal(word.to_owned())).collect();
        let command = Command::of_words(line.to_owned(), words);
        let text = |named: Named<'_>| match named {
            Named::Spec(text) | Named::Text(text) | Named::Branch(text) => text.to_owned(),
            Named::Anything => "(anything)".to_owned(),
        };
        rewritten(&command).into_iter().map(text).collect()
    }

    #[test]
    fn folders_that_are_rewritten() {
        for (line, expected) in [
            ("git restore .", vec!["."]),
            ("git restore --source=HEAD~2 :/", vec![":/"]),
            ("git restore -S -W src", vec!["src"]),
            ("git restore -S .", vec![]),
            ("git checkout .", vec!["."]),
            ("git checkout HEAD~1 -- src", vec!["HEAD~1", "src"]),
            ("git checkout HEAD~1 .", vec!["HEAD~1", "."]),
            ("git checkout main", vec!["main"]),
            ("git checkout -b src", vec![]),
            ("git restore -s src .", vec!["."]),
            ("git restore --pathspec-from-file=x", vec!["(anything)"]),
            ("git -C x checkout .", vec!["."]),
            ("prettier --write .", vec!["."]),
            ("prettier --check .", vec![]),
            ("biome format --write src", vec!["format", "src"]),
            ("black .", vec![]),
            ("ls .", vec![]),
        ] {
            assert_eq!(places(line), expected, "{line}");
        }
    }
}

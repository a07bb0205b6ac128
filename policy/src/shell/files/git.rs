//! Which files a git command touches, and which addresses it speaks to.
//!
//! What of git only looks, and which options run other programs, is in `shell/git.rs`.

use super::{Access, Call, FROM_A_LIST, Field, is, options::Attached};
use crate::{
    path::plain,
    shell::{Word, git, options},
};

/// Most colons of a word behind which a path is looked for.
const MOST_COLONS: usize = 16;

/// A pathspec of git, without its magic.
#[derive(Debug)]
pub(crate) struct Pathspec<'t> {
    pub(crate) path: &'t str,
    /// It begins at the top of the repository.
    pub(crate) top: bool,
    /// Small and capital letters are the same.
    icase: bool,
    /// Its wildcards are letters like others.
    pub(crate) literal: bool,
}

impl<'t> Pathspec<'t> {
    /// `None` for one that leaves files out.
    pub(crate) fn read(text: &'t str) -> Option<Self> {
        let mut read = Self {
            path: text,
            top: false,
            icase: false,
            literal: false,
        };
        let Some(behind) = text.strip_prefix(':') else {
            return Some(read);
        };
        // `:(top,icase)path`
        if let Some((words, path)) = behind.strip_prefix('(').and_then(|words| words.split_once(')')) {
            read.path = path;
            for word in words.split(',') {
                match word {
                    "top" => read.top = true,
                    "icase" => read.icase = true,
                    "literal" => read.literal = true,
                    "exclude" => return None,
                    _ => {}
                }
            }
            return Some(read);
        }
        // `:/path`
        let path = behind.trim_start_matches(['/', '!', '^']);
        let magic = behind.strip_suffix(path).unwrap_or_default();
        if magic.contains(['!', '^']) {
            return None;
        }
        read.top = magic.contains('/');
        read.path = path.strip_prefix(':').unwrap_or(path);
        Some(read)
    }
}

/// The patterns of the shell for what a pathspec covers; none if it has no wildcard. Those of git also match a dot at the
/// beginning of a name, and `*` a slash. Too many names rather than too few.
fn patterns(path: &str, icase: bool, literal: bool) -> Vec<String> {
    let mut pattern = String::new();
    let mut class = false;
    for c in path.chars() {
        match c {
            '*' | '?' if literal => pattern.extend(['\\', c]),
            '[' if !literal && !class => {
                class = true;
                pattern.push('?');
            }
            ']' if class => class = false,
            _ if class => {}
            c if icase && c.is_alphabetic() => pattern.push('?'),
            c => pattern.push(c),
        }
    }
    let wild = |text: &str| text.replace("\\*", "").replace("\\?", "").contains(['*', '?']);
    if !wild(&pattern) {
        return Vec::new();
    }
    let (folder, last) = pattern.rsplit_once('/').unwrap_or(("", &pattern));
    let mut names = vec![last.to_owned()];
    let rest = last.trim_start_matches('*');
    if rest.len() < last.len() && !rest.is_empty() {
        names.extend([rest.to_owned(), format!(".*{rest}")]);
    } else if let Some(rest) = last.strip_prefix('?').filter(|rest| !rest.is_empty()) {
        names.push(format!(".{rest}"));
    }
    let mut out: Vec<String> = Vec::new();
    let known: Vec<&str> = folder.split('/').take_while(|segment| !wild(segment)).collect();
    for name in names {
        out.push(if folder.is_empty() && !pattern.starts_with('/') {
            name.clone()
        } else {
            format!("{folder}/{name}")
        });
        if pattern.contains('*') && (last.starts_with('*') || wild(folder)) {
            let known = known.join("/");
            let begin = if known.is_empty() && !pattern.starts_with('/') {
                String::new()
            } else {
                format!("{known}/")
            };
            // Folders whose names begin with a dot are left to the pattern itself: `*.rs` means none of them.
            out.push(format!("{begin}**/{name}"));
        }
    }
    out.into_iter().map(|pattern| plain::of_git(&pattern)).collect()
}

fn is_pattern(word: &Word) -> bool {
    matches!(word, Word::Dynamic { pattern: true, .. })
}

impl Call<'_> {
    pub(super) fn git(&mut self) {
        let words = self.arguments.iter().map(|field| &field.word);
        let git::Split {
            globals,
            folder,
            verb,
            rest,
        } = git::split(words);
        let icase = globals.contains(&"--icase-pathspecs");
        let Some(verb) = verb else { return };
        self.files.base = folder.and_then(|number| self.argument(number)).cloned();
        // The same letter takes a value with one verb and none with another.
        let (short, attached) = match verb {
            "log" | "show" | "whatchanged" | "shortlog" => ("nGSLU", "CMBO"),
            "diff" | "diff-index" | "diff-files" | "diff-tree" => ("GSLU", "CMBO"),
            "stash" => ("mGSLU", "CMBO"),
            "commit" => ("mCcFt", "Su"),
            "blame" | "annotate" => ("LS", "CMU"),
            "cat-file" | "rm" | "mv" | "hash-object" => ("", ""),
            "grep" => ("efmABC", "O"),
            "archive" => ("o", ""),
            "clone" => ("bocuj", ""),
            "format-patch" => ("onv", "CMBO"),
            "config" => ("f", ""),
            "ls-files" => ("xX", ""),
            "difftool" => ("xtGSLU", "CMBO"),
            "checkout-index" => ("", ""),
            // The name that is left alone is no operand: all else goes.
            "clean" => ("e", ""),
            _ => ("mCcFbGLUo", "S"),
        };
        let spec = options::Spec {
            short,
            attached,
            long: &[
                "message",
                "file",
                "author",
                "date",
                "format",
                "pretty",
                "grep",
                "since",
                "until",
                "output",
                "output-directory",
                "contents",
                "ignore-revs-file",
                "exclude",
                "exclude-from",
                "exclude-per-directory",
                "extcmd",
                "prefix",
                "stage",
                "tool",
                "directory",
                "template",
                "cleanup",
                "trailer",
                "branch",
                "depth",
                "origin",
                "upload-pack",
                "pathspec-from-file",
                "config",
                "reference",
            ],
            ..options::Spec::default()
        };
        let arguments = self.arguments.get(rest..).unwrap_or_default();
        let parsed = options::parse(arguments.iter().map(|field| &field.word), spec);
        let operands: Vec<&Field> = parsed
            .operands
            .iter()
            .filter_map(|number| arguments.get(*number))
            .collect();
        // Names from a file, or from the input.
        for value in parsed.values(&["--pathspec-from-file"]) {
            self.git_value(value, arguments, Access::Read);
            let access = match verb {
                "rm" if !parsed.has(&["--cached"]) => Access::DeleteTree,
                "checkout" | "restore" => Access::Write,
                _ => Access::Read,
            };
            self.files.unknown(FROM_A_LIST, access);
        }
        // Cut short, but not to `--stdin`, which is the text itself.
        let paths = |name: &str| name.len() > "--stdin".len() && "--stdin-paths".starts_with(name);
        if verb == "hash-object" && parsed.options.iter().any(|found| paths(&found.name))
            || verb == "update-index" && parsed.has(&["--stdin", "--index-info"])
        {
            self.files.unknown(FROM_A_LIST, Access::Read);
        }
        match verb {
            // A revision, or a path, or `revision:path`.
            "show" | "cat-file" | "diff" | "blame" | "log" | "grep" | "archive" | "annotate" | "fast-export"
            | "whatchanged" | "diff-index" | "diff-files" | "diff-tree" | "difftool" | "stash" | "reflog" => {
                // Making or taking a stash shows nothing.
                if verb == "stash" && !operands.first().is_some_and(|field| is(&field.word, "show")) {
                    self.files.base = None;
                    return;
                }
                // The names of what is shown come from the input.
                if verb == "cat-file" && parsed.has(&["--batch", "--batch-command"]) {
                    self.files.unknown(FROM_A_LIST, Access::Read);
                }
                // `-L :function:file`, `-L 1,9:file`.
                for value in parsed.values(&["-L"]) {
                    if let Attached::Text(text) = value
                        && let Some((_, file)) = text.rsplit_once(':')
                    {
                        self.files.name(file, Access::Read);
                    }
                    if let Attached::Word(number) = value
                        && let Some((_, file)) = (arguments.get(*number))
                            .and_then(Field::text)
                            .and_then(|text| text.rsplit_once(':'))
                    {
                        self.files.name(file, Access::Read);
                    }
                }
                let pattern_first = verb == "grep" && !parsed.has(&["-e", "-f", "--file"]);
                for (rank, field) in operands.iter().enumerate() {
                    let Some(text) = field.text() else {
                        let source = field.source.as_str();
                        // `**/.env`: what the shell leaves of it, git expands.
                        if is_pattern(&field.word) && !source.contains(['$', '`', '"', '\'', '\\', '{']) {
                            self.pathspec(source, icase);
                            continue;
                        }
                        // `$(git rev-parse HEAD):.env`: the revision is not known, the path is.
                        let path = source.rsplit_once(':').map_or("", |(_, path)| path);
                        if !path.contains(['$', '`', '"', '\'', '\\', ')', '}']) {
                            self.files.name(path, Access::Read);
                        }
                        continue;
                    };
                    // A revision may hold colons of its own, and `:0:path` has a stage.
                    let magic = text.starts_with(":/") || text.starts_with(":(");
                    for (at, _) in text.match_indices(':').take(MOST_COLONS) {
                        if at == 0 && magic {
                            continue;
                        }
                        self.files.name(text.get(at + 1..).unwrap_or_default(), Access::Read);
                    }
                    // A word such as `main` may be a file too, but a file of that name is no secret of its own.
                    // A pattern that begins with a slash is no path: `git grep /api/v1`.
                    let pattern = rank == 0 && pattern_first && text.starts_with('/');
                    if !text.contains(':') && text.contains(['.', '/']) && !pattern {
                        self.files.name(text, Access::Read);
                    }
                    if rank > 0 || !pattern_first {
                        self.pathspec(text, icase);
                    }
                }
                // The text that is told apart line by line.
                if matches!(verb, "blame" | "annotate") {
                    for value in parsed.values(&["--contents", "--ignore-revs-file", "-S"]) {
                        self.git_value(value, arguments, Access::Read);
                    }
                }
                let no_index = parsed.has(&["--no-index"]);
                for field in operands.iter().filter(|_| no_index) {
                    self.file(field, Access::Read);
                }
                if verb == "grep" {
                    // Patterns from a file, whose lines are shown where they match.
                    for value in parsed.values(&["-f", "--file"]) {
                        self.git_value(value, arguments, Access::Read);
                    }
                }
                let output = if verb == "archive" {
                    &["--output", "-o"][..]
                } else {
                    &["--output"]
                };
                for value in parsed.values(output) {
                    self.git_output(value, arguments);
                }
            }
            // The text of the message comes from a file.
            "commit" | "tag" | "notes" | "merge" => {
                let options = if verb == "commit" {
                    &["-F", "--file", "-t", "--template"][..]
                } else {
                    &["-F", "--file"]
                };
                for value in parsed.values(options) {
                    self.git_value(value, arguments, Access::Read);
                }
            }
            // `--in-place` rewrites the message.
            "interpret-trailers" => {
                let access = if parsed.has(&["--in-place"]) {
                    Access::Write
                } else {
                    Access::Read
                };
                operands.iter().for_each(|field| self.file(field, access));
            }
            // A report of the machine, or an archive of the repository's own files, in a folder.
            "bugreport" | "diagnose" => {
                for value in parsed.values(&["-o", "--output-directory"]) {
                    self.git_output(value, arguments);
                }
            }
            "commit-tree" => {
                for value in parsed.values(&["-F", "--file"]) {
                    self.git_value(value, arguments, Access::Read);
                }
            }
            "merge-file" | "mailinfo" => {
                operands.iter().for_each(|field| self.file(field, Access::Read));
            }
            "format-patch" => {
                for value in parsed.values(&["-o", "--output-directory", "--output"]) {
                    self.git_output(value, arguments);
                }
                // What stands behind `--` is shown as it changed.
                let dashes = arguments.iter().position(|field| field.text() == Some("--"));
                let paths = dashes.and_then(|at| arguments.get(at + 1..)).unwrap_or_default();
                for field in paths {
                    self.file(field, Access::Read);
                    self.pathspec(field.text().unwrap_or_default(), icase);
                }
            }
            // Another file than git's own, which it shows and changes.
            "config" => {
                for value in parsed.values(&["-f", "--file"]) {
                    self.git_value(value, arguments, Access::Read);
                }
            }
            // What is left out stands in it; an untracked name tells what a line of it says.
            "ls-files" => {
                for value in parsed.values(&["-X", "--exclude-from", "--exclude-per-directory"]) {
                    self.git_value(value, arguments, Access::Read);
                }
            }
            // Writes files out of the index, or copies of them under other names.
            "checkout-index" => {
                if parsed.has(&["-a", "--all"]) {
                    self.files.here(Access::Write);
                }
                if parsed.has(&["--stdin"]) {
                    self.files.unknown(FROM_A_LIST, Access::Write);
                }
                for field in &operands {
                    self.file(field, Access::Read);
                    self.file(field, Access::Write);
                }
                for value in parsed.values(&["--prefix"]) {
                    self.git_output(value, arguments);
                }
            }
            "mergetool" => operands.iter().for_each(|field| self.file(field, Access::Write)),
            "bundle" if arguments.first().is_some_and(|field| is(&field.word, "create")) => {
                if let Some(file) = operands.get(1) {
                    self.file(file, Access::Write);
                }
            }
            "hash-object" => operands.iter().for_each(|field| self.file(field, Access::Read)),
            "init" => {
                if let Some(folder) = operands.first() {
                    self.file(folder, Access::Write);
                }
                // What lies in the template becomes hooks and configuration.
                if parsed.has(&["--template"]) {
                    self.files.name(".git/hooks", Access::Write);
                }
            }
            "rm" if !parsed.has(&["--cached"]) => {
                let access = if parsed.has(&["-r"]) {
                    Access::DeleteTree
                } else {
                    Access::Delete
                };
                operands.iter().for_each(|field| self.file(field, access));
            }
            "mv" => {
                if let Some((target, sources)) = operands.split_last() {
                    for source in sources {
                        self.file(source, Access::Read);
                        self.file(source, Access::Delete);
                    }
                    self.file(target, Access::Write);
                }
            }
            "clean" if !parsed.has(&["-n", "--dry-run"]) => {
                // `:/` is all of the work tree.
                let magic = |field: &&Field| field.text().is_none_or(|text| text.starts_with(':'));
                if operands.is_empty() || operands.iter().any(magic) {
                    self.files.here(Access::DeleteTree);
                }
                operands.iter().for_each(|field| self.file(field, Access::DeleteTree));
            }
            "clone" | "fetch" | "pull" | "push" | "ls-remote" => {
                for field in operands.iter().take(1) {
                    if field.text().is_none_or(|text| text.contains([':', '/'])) {
                        self.url(field);
                    }
                }
                if verb == "clone"
                    && let Some(folder) = operands.get(1)
                {
                    self.file(folder, Access::Write);
                }
            }
            "remote"
                if arguments
                    .first()
                    .is_some_and(|field| is(&field.word, "add") || is(&field.word, "set-url")) =>
            {
                if let Some(field) = operands.get(2) {
                    self.url(field);
                }
            }
            // What stands behind `--` is overwritten; without it, a word may be a branch.
            "checkout" => {
                let dashes = arguments.iter().position(|field| field.text() == Some("--"));
                let paths = dashes.and_then(|at| arguments.get(at + 1..)).unwrap_or_default();
                paths.iter().for_each(|field| self.file(field, Access::Write));
            }
            "restore" if !parsed.has(&["--staged"]) || parsed.has(&["--worktree", "-W"]) => {
                operands.iter().for_each(|field| self.file(field, Access::Write));
            }
            "worktree" if arguments.first().is_some_and(|field| is(&field.word, "add")) => {
                if let Some(folder) = operands.get(1) {
                    self.file(folder, Access::Write);
                }
            }
            "apply" if parsed.has(&["--directory"]) => {
                for value in parsed.values(&["--directory"]) {
                    self.git_output(value, arguments);
                }
                operands.iter().for_each(|field| self.file(field, Access::Read));
            }
            "apply" | "am" => operands.iter().for_each(|field| self.file(field, Access::Read)),
            _ => {}
        }
        self.files.base = None;
    }

    /// What a pathspec names beside the file of that very name: git expands its wildcards and its magic itself.
    fn pathspec(&mut self, text: &str, icase: bool) {
        let Some(Pathspec {
            path,
            top,
            icase: own_icase,
            literal,
        }) = Pathspec::read(text)
        else {
            return;
        };
        let base = self.files.base.clone();
        let folders = if top && base.is_some() {
            vec![base.clone(), None]
        } else {
            vec![base.clone()]
        };
        let patterns = patterns(path, icase || own_icase, literal);
        for folder in folders {
            self.files.base = folder;
            if patterns.is_empty() && (top || path != text) {
                self.files.name(path, Access::Read);
            }
            for pattern in &patterns {
                self.files.pattern(pattern, Access::Read);
            }
        }
        self.files.base = base;
    }

    fn git_output(&mut self, value: &Attached, arguments: &[Field]) {
        self.git_value(value, arguments, Access::Write);
    }

    /// A file that is the value of an option.
    fn git_value(&mut self, value: &Attached, arguments: &[Field], access: Access) {
        match value {
            Attached::Word(number) => {
                if let Some(field) = arguments.get(*number)
                    && field.text() != Some("-")
                {
                    self.file(field, access);
                }
            }
            other => self.attached(other, access),
        }
    }
}

//! Which files a git command touches, and which addresses it speaks to.
//!
//! What of git only looks, and which options run other programs, is in `shell/git.rs`.

use super::{Access, Call, FROM_A_LIST, Field, is, options::Attached};
use crate::shell::{git, options};

impl Call<'_> {
    pub(super) fn git(&mut self) {
        let words = self.arguments.iter().map(|field| &field.word);
        let git::Split { folder, verb, rest, .. } = git::split(words);
        let Some(verb) = verb else { return };
        self.files.base = folder.and_then(|number| self.argument(number)).cloned();
        // The same letter takes a value with one verb and none with another.
        let (short, attached) = match verb {
            "log" | "show" | "whatchanged" | "shortlog" => ("nGSLU", "CMBO"),
            "diff" => ("GSLU", "CMBO"),
            "blame" | "annotate" => ("LS", "CMU"),
            "cat-file" | "rm" | "mv" | "hash-object" => ("", ""),
            "grep" => ("efmABC", "O"),
            "archive" => ("o", ""),
            "clone" => ("bocuj", ""),
            "format-patch" => ("onv", "CMBO"),
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
            self.files.unknown(FROM_A_LIST, Access::Read);
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
            "show" | "cat-file" | "diff" | "blame" | "log" | "grep" | "archive" | "annotate" | "fast-export" => {
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
                for field in &operands {
                    let Some(text) = field.text() else {
                        // `$(git rev-parse HEAD):.env`: the revision is not known, the path is.
                        let path = field.source.rsplit_once(':').map_or("", |(_, path)| path);
                        if !path.contains(['$', '`', '"', '\'', '\\', ')', '}']) {
                            self.files.name(path, Access::Read);
                        }
                        continue;
                    };
                    let path = text.split_once(':').map_or(text, |(_, path)| path);
                    let path = path.trim_start_matches(":/");
                    // A word such as `main` may be a file too, but a file of that name is no secret of its own.
                    if text.contains(':') || path.contains(['.', '/']) {
                        self.files.name(path, Access::Read);
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
            }
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
                if operands.is_empty() {
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

//! Programs whose arguments follow no common scheme.

use super::{Access, Call, Field, is, options::Attached};
use crate::{
    path::AbsPath,
    shell::{git, options},
};

impl Call<'_> {
    pub(super) fn special(&mut self) {
        match self.name {
            "find" | "gfind" => self.find(),
            "sed" | "gsed" => self.sed(),
            "jq" => self.jq(),
            "tar" | "gtar" | "bsdtar" => self.tar(),
            "dd" => self.dd(),
            "openssl" => self.openssl(),
            "perl" | "ruby" => self.one_liner(),
            "unzip" => self.unzip(),
            "zip" => {
                self.operand(0, Access::Write);
                self.operands_from(1, Access::Read);
            }
            "patch" => self.patch(),
            "rsync" | "scp" | "sftp" => self.remote_copy(),
            "curl" => self.curl(),
            "wget" => self.wget(),
            "ssh" => {
                if let Some(host) = self.field(0) {
                    self.url(host);
                }
            }
            "nc" | "ncat" | "netcat" | "telnet" | "socat" => {
                if let Some(host) = self.field(0) {
                    self.url(host);
                }
            }
            "git" => self.git(),
            _ => {}
        }
    }

    fn url(&mut self, field: &Field) {
        match field.text() {
            Some(text) => self.urls.push(text.to_owned()),
            // `?` in an address is a glob too; bash leaves it as it is where no file has the name.
            None => {
                let candidates: Vec<String> = field.single_candidates().map(|text| text.text.clone()).collect();
                if !field.exact || candidates.is_empty() {
                    self.urls.push(field.source.clone());
                }
                self.urls.extend(candidates);
            }
        }
    }

    /// A `file:` URL is a file.
    fn address(&mut self, field: &Field) {
        self.url(field);
        let texts: Vec<String> = field.single_candidates().map(|text| text.text.clone()).collect();
        for text in texts {
            let Some(scheme) = text.get(..5) else { continue };
            if scheme.eq_ignore_ascii_case("file:") {
                let rest = text.get(5..).unwrap_or_default();
                let path = rest
                    .strip_prefix("//")
                    .map_or(rest, |rest| rest.find('/').and_then(|at| rest.get(at..)).unwrap_or(""));
                self.files.name(&percent_decoded(path), Access::Read);
            }
        }
    }

    /// `find`: options, roots, then an expression.
    fn find(&mut self) {
        let mut roots = Vec::new();
        let mut at = 0;
        while let Some(field) = self.argument(at) {
            match field.text() {
                Some("-H" | "-L" | "-P" | "--") => at += 1,
                Some("-D") => at += 2,
                Some(text) if text.starts_with("-O") => at += 1,
                Some(text) if text.starts_with('-') || matches!(text, "(" | "!" | ")" | ",") => break,
                _ => {
                    roots.push(field);
                    at += 1;
                }
            }
        }
        let mut access = Access::Read;
        while let Some(field) = self.argument(at) {
            let value = self.argument(at + 1);
            match (field.text(), value) {
                (Some("-delete"), _) => access = Access::DeleteTree,
                (Some("-fprint" | "-fprint0" | "-fprintf" | "-fls"), Some(value)) => self.file(value, Access::Write),
                (Some("-newer" | "-anewer" | "-cnewer" | "-samefile" | "-files0-from"), Some(value)) => {
                    self.file(value, Access::Read);
                }
                _ => {}
            }
            at += 1;
        }
        if roots.is_empty() {
            self.files.here(access);
        }
        for root in roots {
            self.file(root, access);
        }
    }

    fn sed(&mut self) {
        let in_place = self.parsed.has(&["-i", "--in-place"])
            || self
                .parsed
                .options
                .iter()
                .any(|found| found.name.len() > 3 && "--in-place".starts_with(&found.name));
        let scripted = self.parsed.has(&["-e", "-f", "--expression", "--file"]);
        self.operands_from(usize::from(!scripted), Access::Read);
        if in_place {
            self.operands_from(usize::from(!scripted), Access::Write);
            // `-i.bak` keeps the old text beside it; with `*` or `/` in it, anywhere.
            let suffix = |field: &Field| {
                let text = field.text()?;
                let long = text.strip_prefix("--in-place=");
                let short = || {
                    text.strip_prefix('-')?
                        .trim_start_matches(['n', 'E', 'r', 's', 'u', 'z'])
                        .strip_prefix('i')
                };
                long.or_else(short)
                    .filter(|suffix| !suffix.is_empty())
                    .map(str::to_owned)
            };
            let suffixes: Vec<String> = self.arguments.iter().filter_map(suffix).collect();
            for suffix in suffixes {
                for field in self.fields().into_iter().skip(usize::from(!scripted)) {
                    match field.text().filter(|_| !suffix.contains(['*', '/'])) {
                        Some(file) => self.files.name(&format!("{file}{suffix}"), Access::Write),
                        None => self.files.unknown(&suffix, Access::Write),
                    }
                }
            }
        }
    }

    fn jq(&mut self) {
        // `--arg name value` and kin take two words; `--args` ends the files.
        let mut at = 0;
        let mut filter = !self.parsed.has(&["-f", "--from-file"]);
        while let Some(field) = self.argument(at) {
            match field.text() {
                Some("--arg" | "--argjson") => at += 2,
                Some("--slurpfile" | "--rawfile" | "--argfile") => {
                    if let Some(file) = self.argument(at + 2) {
                        self.file(file, Access::Read);
                    }
                    at += 2;
                }
                Some("-f" | "--from-file" | "-L" | "--indent") => at += 1,
                Some("--args" | "--jsonargs") => return,
                Some(text) if text.starts_with('-') && text != "-" => {}
                _ if filter => filter = false,
                _ => self.file(field, Access::Read),
            }
            at += 1;
        }
    }

    fn tar(&mut self) {
        let first = self.argument(0).and_then(Field::text).unwrap_or_default();
        let bundled = !first.is_empty() && !first.starts_with('-');
        let letters: String = if bundled {
            first.to_owned()
        } else {
            let short = self
                .parsed
                .options
                .iter()
                .filter_map(|found| found.name.strip_prefix('-'));
            short.filter(|name| !name.starts_with('-')).collect()
        };
        let long = |names: &[&str]| self.parsed.has(names);
        let extract = letters.contains('x') || long(&["--extract", "--get"]);
        let create = letters.contains(['c', 'r', 'u', 'A'])
            || long(&[
                "--create",
                "--append",
                "--update",
                "--catenate",
                "--concatenate",
                "--delete",
            ]);
        let mut operands = self.fields();
        let mut archives: Vec<Field> = Vec::new();
        let mut folders: Vec<Field> = Vec::new();
        if bundled {
            // Each letter that takes a value takes the next word.
            operands = operands.into_iter().skip(1).collect();
            for letter in first.chars().filter(|letter| "fCTXbLINVgKF".contains(*letter)) {
                if operands.is_empty() {
                    break;
                }
                let value = operands.remove(0);
                match letter {
                    'f' => archives.push(value.clone()),
                    'C' => folders.push(value.clone()),
                    'T' | 'X' => self.file(value, Access::Read),
                    _ => {}
                }
            }
        }
        let values = self.values(&["-f", "--file"]);
        archives.extend(values.iter().filter_map(|value| self.value_field(value)));
        let values = self.values(&["-C", "--directory"]);
        folders.extend(values.iter().filter_map(|value| self.value_field(value)));
        for archive in &archives {
            self.file(archive, if create { Access::Write } else { Access::Read });
        }
        if create {
            self.files.base = folders.first().cloned();
            for operand in &operands {
                self.file(operand, Access::Read);
            }
            // `--remove-files` moves them into the archive.
            if self.parsed.has(&["--remove-files"]) {
                for operand in &operands {
                    self.file(operand, Access::DeleteTree);
                }
            }
            self.files.base = None;
        } else if extract {
            if folders.is_empty() {
                self.files.here(Access::Write);
            }
            for folder in &folders {
                self.file(folder, Access::Write);
            }
        }
    }

    fn dd(&mut self) {
        for field in self.arguments {
            let Some(text) = field.text() else {
                if let Some(rest) = field.source.trim_start_matches('"').strip_prefix("of=") {
                    self.files.field(&Field::unknown(rest), Access::Write);
                } else {
                    self.files.field(&Field::unknown(&field.source), Access::Read);
                }
                continue;
            };
            if let Some(file) = text.strip_prefix("of=") {
                self.files.name(file, Access::Write);
            } else if let Some(file) = text.strip_prefix("if=") {
                self.files.name(file, Access::Read);
            }
        }
    }

    /// `-in` and `-out` with one dash.
    fn openssl(&mut self) {
        for (at, field) in self.arguments.iter().enumerate() {
            let access = match field.text() {
                Some("-in") => Access::Read,
                Some("-out" | "-keyout") => Access::Write,
                _ => continue,
            };
            if let Some(value) = self.argument(at + 1) {
                self.file(value, access);
            }
        }
    }

    /// `perl -pi -e …`, `ruby -i …`: the operands are changed. Letters after `-i` are the ending of the copy.
    fn one_liner(&mut self) {
        let in_place = self.arguments.iter().filter_map(Field::text).any(|text| {
            let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            letters.is_some_and(|letters| {
                let before: String = letters.chars().take_while(|c| *c != 'i').collect();
                before.len() < letters.len() && before.chars().all(|c| "pnlaws0123456789".contains(c))
            })
        });
        if in_place {
            let scripted = self.parsed.has(&["-e", "-E"])
                || self
                    .arguments
                    .iter()
                    .filter_map(Field::text)
                    .any(|text| text.starts_with('-') && text.ends_with('e'));
            self.operands_from(usize::from(!scripted), Access::Write);
        }
    }

    fn unzip(&mut self) {
        self.operand(0, Access::Read);
        if self.parsed.has(&["-l", "-t", "-p", "-Z", "-v", "-z"]) {
            return;
        }
        let folders = self.values(&["-d"]);
        if folders.is_empty() {
            self.files.here(Access::Write);
        }
        for folder in folders {
            self.attached(&folder, Access::Write);
        }
    }

    fn patch(&mut self) {
        if let Some(file) = self.field(0) {
            self.file(file, Access::Write);
        }
        if let Some(file) = self.field(1) {
            self.file(file, Access::Read);
        }
        // Without a file, the patch says which; all lie below the directory, unless the patch says otherwise.
        if self.field(0).is_none() {
            let folders = self.values(&["-d", "--directory"]);
            if folders.is_empty() {
                self.files.here(Access::Write);
            }
            for folder in folders {
                self.attached(&folder, Access::Write);
            }
        }
    }

    /// `rsync`, `scp`: `host:path` is on another machine.
    fn remote_copy(&mut self) {
        let mut operands = self.fields();
        let target = operands.pop();
        for (field, access) in operands
            .into_iter()
            .map(|field| (field, Access::Read))
            .chain(target.map(|field| (field, Access::Write)))
        {
            let text = field.text().unwrap_or(&field.source);
            let colon = text.find(':');
            let slash = text.find('/');
            if colon.is_some_and(|colon| slash.is_none_or(|slash| colon < slash)) || text.contains("://") {
                self.url(field);
                continue;
            }
            self.file(field, access);
            if access == Access::Write && self.parsed.options.iter().any(|found| found.name.starts_with("--del")) {
                self.file(field, Access::DeleteTree);
            }
        }
        if self.parsed.has(&["--remove-source-files"]) {
            let count = self.parsed.operands.len().saturating_sub(1);
            for field in self.fields().into_iter().take(count) {
                self.file(field, Access::Delete);
            }
        }
    }

    fn curl(&mut self) {
        for field in self.fields() {
            self.address(field);
        }
        for value in self.values(&["--url", "-x", "--proxy"]) {
            if let Some(field) = self.value_field(&value) {
                self.address(&field);
            }
        }
        // `@file` is read.
        let bodies = [
            "-d",
            "--data",
            "--data-ascii",
            "--data-binary",
            "--data-urlencode",
            "--json",
            "-F",
            "--form",
            "-H",
            "--header",
            "-b",
            "--cookie",
            "-w",
            "--write-out",
            "--url-query",
        ];
        for value in self.values(&bodies) {
            let Some(field) = self.value_field(&value) else {
                continue;
            };
            match field.text() {
                Some(text) => {
                    let file = text.strip_prefix(['@', '<']).or_else(|| {
                        let (_, value) = text.split_once(['=', '@'])?;
                        text.split_once("=@")
                            .or_else(|| text.split_once("=<"))
                            .map(|(_, file)| file)
                            .or_else(|| {
                                // `name@file` of --data-urlencode.
                                (!text.contains('=')).then_some(value)
                            })
                    });
                    if let Some(file) = file.filter(|file| *file != "-") {
                        let file = file.split(';').next().unwrap_or_default();
                        self.files.name(file, Access::Read);
                    }
                }
                None if field.source.contains('@') => self.files.field(&Field::unknown(&field.source), Access::Read),
                None => {}
            }
        }
        if self
            .parsed
            .has(&["-O", "--remote-name", "--remote-name-all", "-J", "--remote-header-name"])
        {
            let folder = self
                .values(&["--output-dir"])
                .first()
                .and_then(|value| self.value_field(value));
            self.named_by_url(folder);
        }
    }

    fn wget(&mut self) {
        for field in self.fields() {
            self.address(field);
        }
        let named = self.parsed.has(&["-O", "--output-document"]);
        if !named {
            let folder = self
                .values(&["-P", "--directory-prefix"])
                .first()
                .and_then(|value| self.value_field(value));
            self.named_by_url(folder);
        }
    }

    /// The file is named as the last part of the URL.
    fn named_by_url(&mut self, folder: Option<Field>) {
        let fields = self.fields();
        self.files.base = folder;
        for field in fields {
            let name = field.text().map(|text| {
                let path = text.split(['?', '#']).next().unwrap_or_default();
                let path = path.split_once("://").map_or(path, |(_, rest)| rest);
                path.split_once('/')
                    .map_or("index.html", |(_, rest)| rest.rsplit('/').next().unwrap_or_default())
            });
            match name {
                Some(name) if !name.is_empty() => self.files.name(name, Access::Write),
                _ => self.files.name("index.html", Access::Write),
            }
        }
        self.files.base = None;
    }

    fn git(&mut self) {
        let words: Vec<_> = self.arguments.iter().map(|field| field.word.clone()).collect();
        let git::Split { folder, verb, rest, .. } = git::split(&words);
        let Some(verb) = verb else { return };
        self.files.base = folder.and_then(|number| self.argument(number)).cloned();
        let spec = options::Spec {
            short: "mCcFbSGnLUo",
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
                "exclude",
                "directory",
                "template",
                "branch",
                "depth",
                "origin",
                "upload-pack",
                "config",
                "reference",
            ],
        };
        let arguments = self.arguments.get(rest..).unwrap_or_default();
        let parsed = options::parse(arguments.iter().map(|field| &field.word), spec);
        let operands: Vec<&Field> = parsed
            .operands
            .iter()
            .filter_map(|number| arguments.get(*number))
            .collect();
        match verb.as_str() {
            // A revision, or a path, or `revision:path`.
            "show" | "cat-file" | "diff" | "blame" | "log" | "grep" | "archive" | "annotate" => {
                for field in &operands {
                    let Some(text) = field.text() else { continue };
                    let path = text.split_once(':').map_or(text, |(_, path)| path);
                    let path = path.trim_start_matches(":/");
                    // A word such as `main` may be a file too, but a file of that name is no secret of its own.
                    if text.contains(':') || path.contains(['.', '/']) {
                        self.files.name(path, Access::Read);
                    }
                }
                for value in parsed.values(&["--output"]) {
                    self.git_output(value, arguments);
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
        match value {
            Attached::Word(number) => {
                if let Some(field) = arguments.get(*number) {
                    self.file(field, Access::Write);
                }
            }
            other => self.attached(other, Access::Write),
        }
    }
}

/// A path with `%41` decoded.
fn percent_decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        let ahead = rest.clone();
        let digits: Vec<u8> = ahead.take(2).collect();
        let code = std::str::from_utf8(&digits)
            .ok()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) if byte == b'%' && digits.len() == 2 => {
                bytes.push(code);
                rest.next();
                rest.next();
            }
            _ => bytes.push(byte),
        }
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    AbsPath::parse(&text).map_or(text, |path| path.as_str().to_owned())
}

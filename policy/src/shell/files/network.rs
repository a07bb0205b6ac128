//! Programs that speak to other machines: addresses, files that are sent, files that are written.

use super::{Access, Call, Field};
use crate::path::AbsPath;

/// Most files of one field of a form that are looked at.
const MAX_PARTS: usize = 64;

impl Call<'_> {
    pub(super) fn url(&mut self, field: &Field) {
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
    pub(super) fn address(&mut self, field: &Field) {
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
                // curl has wildcards of its own: `{a,b}`, `[1-9]`.
                if path.contains(['{', '[']) {
                    self.files.unknown(path, Access::Read);
                }
            }
        }
    }

    /// `rsync`, `scp`: `host:path` is on another machine.
    pub(super) fn remote_copy(&mut self) {
        let mut operands = self.fields();
        // `rsync src/` only lists, and so do these.
        let lists =
            self.name == "rsync" && (operands.len() < 2 || self.parsed.has(&["-n", "--dry-run", "--list-only"]));
        let target = operands.pop().filter(|_| !lists);
        // What is copied into a folder keeps its name there.
        if let Some(folder) = target
            .as_ref()
            .and_then(|field| field.text())
            .filter(|folder| !folder.contains(':'))
        {
            for source in operands.iter().filter_map(|field| field.text()) {
                let name = source.rsplit(['/', ':']).next().unwrap_or_default();
                if !name.is_empty() && name != "." && name != ".." && (folder.ends_with('/') || folder.ends_with('.')) {
                    self.files.name(&format!("{folder}/{name}"), Access::Write);
                }
            }
        }
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

    pub(super) fn curl(&mut self) {
        for field in self.fields() {
            self.address(field);
        }
        // In another folder, too.
        let folders = self.values(&["--output-dir"]);
        if let Some(folder) = folders.first().and_then(|value| self.value_field(value)) {
            self.files.base = Some(folder);
            for value in self.values(&["-o", "--output"]) {
                self.attached(&value, Access::Write);
            }
            self.files.base = None;
        }
        // `%output{file}` in what is written out.
        for value in self.values(&["-w", "--write-out"]) {
            let text = self
                .value_field(&value)
                .and_then(|field| field.text().map(str::to_owned));
            for part in text
                .iter()
                .flat_map(|text| text.split("%output{").skip(1))
                .take(MAX_PARTS)
            {
                let file = part.split('}').next().unwrap_or_default();
                self.files.name(file.trim_start_matches(">>"), Access::Write);
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
            "--proxy-header",
            "-b",
            "--cookie",
            "-w",
            "--write-out",
            "--url-query",
            "--variable",
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
                        // A form takes several files, each perhaps in quotes: `f=@a,".env"`.
                        if file.contains([',', '"']) {
                            for part in file.split(',').take(MAX_PARTS) {
                                self.files.name(part.trim().trim_matches('"'), Access::Read);
                            }
                        }
                    }
                }
                None if field.source.contains('@') => self.files.field(&Field::unknown(&field.source), Access::Read),
                None => {}
            }
        }
        // A cookie without a value is the name of a file of them.
        for value in self.values(&["-b", "--cookie"]) {
            let field = self.value_field(&value);
            if let Some(file) = field.as_ref().and_then(Field::text).filter(|text| !text.contains('=')) {
                self.files.name(file, Access::Read);
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

    /// Addresses, whose files are named as they are, unless an option names one.
    pub(super) fn downloads(&mut self, folders: &[&str], names: &[&str]) {
        for field in self.fields() {
            self.address(field);
        }
        if !self.parsed.has(names) {
            let folder = self.values(folders).first().and_then(|value| self.value_field(value));
            self.named_by_url(folder);
        } else if let Some(folder) = self.values(folders).first().and_then(|value| self.value_field(value)) {
            // The name counts from the folder.
            self.files.base = Some(folder);
            for value in self.values(names) {
                self.attached(&value, Access::Write);
            }
            self.files.base = None;
        }
    }

    /// `http [METHOD] URL [ITEM…]`: items with `@` are files that are sent.
    pub(super) fn httpie(&mut self) {
        let fields = self.fields();
        let method = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_uppercase());
        let skip = usize::from(fields.first().and_then(|field| field.text()).is_some_and(method));
        let Some(url) = fields.get(skip) else { return };
        self.address(url);
        for field in fields.iter().skip(skip + 1) {
            match field.text() {
                Some(text) => {
                    if let Some((_, file)) = text.split_once('@').filter(|(_, file)| !file.is_empty()) {
                        self.files.name(file, Access::Read);
                    }
                }
                None if field.source.contains('@') => self.files.field(&Field::unknown(&field.source), Access::Read),
                None => {}
            }
        }
        if self.parsed.has(&["-d", "--download"]) && !self.parsed.has(&["-o", "--output"]) {
            self.files.here(Access::Write);
        }
    }

    pub(super) fn wget(&mut self) {
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
    pub(super) fn named_by_url(&mut self, folder: Option<Field>) {
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

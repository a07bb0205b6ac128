//! Archives and compressed files: what is packed, and where it is unpacked.

use super::{Access, Call, FROM_A_LIST, Field};

impl Call<'_> {
    pub(super) fn tar(&mut self) {
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
                    'X' => self.file(value, Access::Read),
                    'T' => {
                        self.file(value, Access::Read);
                        self.files.unknown(FROM_A_LIST, Access::Read);
                    }
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
            self.unpacked(&operands, folders.last().cloned());
        }
    }

    /// Members that are named come out under their names.
    fn unpacked(&mut self, members: &[&Field], folder: Option<Field>) {
        self.files.base = folder;
        for member in members {
            self.files.field(member, Access::Write);
        }
        self.files.base = None;
    }

    pub(super) fn unzip(&mut self) {
        self.operand(0, Access::Read);
        if self.parsed.has(&["-l", "-t", "-p", "-Z", "-v", "-z"]) {
            return;
        }
        let folders = self.values(&["-d"]);
        if folders.is_empty() {
            self.files.here(Access::Write);
        }
        for folder in &folders {
            self.attached(folder, Access::Write);
        }
        let members: Vec<Field> = self.fields().into_iter().skip(1).cloned().collect();
        let folder = folders.last().and_then(|value| self.value_field(value));
        self.unpacked(&members.iter().collect::<Vec<_>>(), folder);
    }

    /// `7z x archive -oDIR`, `unrar x archive dir/`: the first word says what is done.
    pub(super) fn verb_first_archiver(&mut self) {
        let verb = self.argument(0).and_then(Field::text).unwrap_or_default().to_owned();
        let words: Vec<&Field> = self.arguments.iter().skip(1).collect();
        let is_option = |field: &&&Field| field.text().is_some_and(|text| text.starts_with('-'));
        let operands: Vec<&Field> = words.iter().filter(|field| !is_option(field)).copied().collect();
        let folder = words
            .iter()
            .filter_map(|field| field.text()?.strip_prefix("-o"))
            .find(|text| !text.is_empty());
        // `7z a x.7z @list`, `-i@list`.
        let lists = |text: &str| text.starts_with('@') || text.starts_with("-i@") || text.starts_with("-ir@");
        for list in words.iter().filter_map(|field| field.text()).filter(|text| lists(text)) {
            let name = list.split_once('@').map_or("", |(_, name)| name);
            self.files.name(name, Access::Read);
            self.files.unknown(FROM_A_LIST, Access::Read);
        }
        let Some((archive, rest)) = operands.split_first() else {
            return;
        };
        match verb.as_str() {
            "x" | "e" => {
                self.file(archive, Access::Read);
                match (folder, rest.last()) {
                    (Some(folder), _) => self.files.name(folder, Access::Write),
                    (None, Some(last)) if self.name.ends_with("rar") => self.file(last, Access::Write),
                    _ => self.files.here(Access::Write),
                }
            }
            "l" | "t" | "v" | "p" | "lb" | "lt" | "vt" | "h" | "i" => self.file(archive, Access::Read),
            _ => {
                self.file(archive, Access::Write);
                rest.iter().for_each(|field| self.file(field, Access::Read));
                if words.iter().any(|field| field.text() == Some("-sdel")) {
                    rest.iter().for_each(|field| self.file(field, Access::DeleteTree));
                }
            }
        }
    }

    /// `-i` unpacks here, `-p` into its operand, `-o` packs; `-F` names the archive.
    pub(super) fn cpio(&mut self) {
        let has = |names: &[&str]| self.parsed.has(names);
        let (unpacks, lists, passes) = (
            has(&["-i", "--extract"]),
            has(&["-t", "--list"]),
            has(&["-p", "--pass-through"]),
        );
        let access = if has(&["-o", "--create"]) {
            Access::Write
        } else {
            Access::Read
        };
        for value in self.values(&["-F", "--file"]) {
            self.attached(&value, access);
        }
        if passes {
            self.operand(0, Access::Write);
        } else if unpacks && !lists {
            match self.values(&["-D", "--directory"]).first().cloned() {
                Some(folder) => self.attached(&folder, Access::Write),
                None => self.files.here(Access::Write),
            }
        }
    }

    /// Each operand is replaced by another file, unless the result goes to the output.
    pub(super) fn compresses(&mut self) {
        let output = ["-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test"];
        if self.parsed.has(&output) {
            self.operands_from(0, Access::Read);
            return;
        }
        let ending = match self.name {
            "gzip" | "pigz" => ".gz",
            "bzip2" | "pbzip2" => ".bz2",
            "xz" => ".xz",
            "zstd" => ".zst",
            "lz4" => ".lz4",
            "brotli" => ".br",
            _ => "",
        };
        let unpacks = self.parsed.has(&["-d", "--decompress", "--uncompress"]);
        self.operands_from(0, Access::Write);
        for field in self.fields() {
            let Some(name) = field.text().filter(|name| *name != "-") else {
                continue;
            };
            // Endings may be of other tools, but the name without one is what comes out.
            let known = [".gz", ".bz2", ".xz", ".zst", ".lz4", ".br", ".lzma", ".Z", ".tgz"];
            let bare = known.iter().find_map(|ending| name.strip_suffix(ending));
            match bare {
                Some(bare) if unpacks || ending.is_empty() => self.files.name(bare, Access::Write),
                _ if !unpacks && !ending.is_empty() => self.files.name(&format!("{name}{ending}"), Access::Write),
                _ => {}
            }
        }
    }
}

//! Programs whose arguments follow no common scheme.

use super::{Access, Call, Field};
use crate::shell::{
    Word,
    expand::Text,
    options::Attached,
    sed::{self, Does},
};

impl Call<'_> {
    pub(super) fn special(&mut self) {
        match self.name {
            "7z" | "7za" | "7zr" | "7zz" | "p7zip" | "unrar" | "rar" => self.verb_first_archiver(),
            "cpio" | "gcpio" => self.cpio(),
            "mktemp" | "gmktemp" => self.operand(0, Access::Write),
            "yq" => self.yq(),
            "man" => self.pages(),
            "ffmpeg" | "avconv" => self.operands_from(0, Access::Write),
            "convert" | "magick" | "composite" | "montage" | "mogrify" => self.image(),
            "gpg" | "gpg2" | "gpgsm" => self.operands_from(0, Access::Read),
            "ssh-keygen" => self.ssh_keygen(),
            "aria2c" | "axel" => self.downloads(&["-d", "--dir"], &["-o", "--out"]),
            "http" | "https" | "httpie" | "xh" | "xhs" | "curlie" => self.httpie(),
            "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "lzma" | "unlzma" | "zstd" | "unzstd" | "lz4"
            | "unlz4" | "lzop" | "compress" | "uncompress" | "pigz" | "unpigz" | "pbzip2" | "brotli" | "dos2unix"
            | "unix2dos" => {
                self.compresses();
            }
            "find" | "gfind" => self.find(),
            "sed" | "gsed" => self.sed(),
            "jq" => self.jq(),
            "tar" | "gtar" | "bsdtar" => self.tar(),
            "perl" | "ruby" => self.one_liner(),
            "unzip" | "funzip" => self.unzip(),
            "patch" | "gpatch" => self.patch(),
            "dd" | "gdd" => self.dd(),
            "split" | "gsplit" | "csplit" | "gcsplit" => self.split(),
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

    /// To `man` a name with a slash in it is a file.
    fn pages(&mut self) {
        for field in self.fields() {
            let page = |text: &Text| !text.glob && !text.text.contains('/');
            if !(field.exact && field.single_candidates().all(page)) {
                self.files.field(field, Access::Read);
            }
        }
    }

    /// Files that sed's scripts read and write. What they run may write any.
    pub(super) fn sed_script(&mut self, words: &[Word]) {
        // What an unknown file is feared to be is told by the words.
        let sources = self.arguments.iter().map(|field| field.source.as_str());
        let written = sources.collect::<Vec<_>>().join(" ");
        for does in sed::all_done(words, &self.parsed) {
            match does {
                // Its own streams.
                Does::Reads(file) | Does::Writes(file)
                    if matches!(file.as_str(), "/dev/stdin" | "/dev/stdout" | "/dev/stderr") => {}
                Does::Reads(file) if !file.is_empty() => self.files.name(&file, Access::Read),
                Does::Writes(file) if !file.is_empty() => self.files.name(&file, Access::Write),
                Does::Reads(_) => self.files.unknown(&written, Access::Read),
                Does::Writes(_) | Does::Runs(_) | Does::RunsUnknown => self.files.unknown(&written, Access::Write),
            }
        }
    }

    /// `yq [eval] EXPRESSION FILE…`; with `-i` the files are changed.
    fn yq(&mut self) {
        let verb = self
            .field(0)
            .and_then(Field::text)
            .is_some_and(|text| matches!(text, "e" | "ea" | "eval" | "eval-all"));
        let text = !self.parsed.has(&["--from-file", "--expression"]);
        let access = if self.parsed.has(&["-i", "--inplace", "--in-place"]) {
            Access::Write
        } else {
            Access::Read
        };
        let first = usize::from(verb);
        // `yq -i -P x.yml`: without an expression the one operand is the file.
        let alone = text && self.field(first).is_some() && self.field(first + 1).is_none();
        let named = |text: &str| {
            let ending = text.rsplit_once('.').map_or("", |(_, ending)| ending);
            text.contains('/') || matches!(ending, "yml" | "yaml" | "json" | "xml" | "toml" | "csv" | "properties")
        };
        let is_file = access == Access::Write || self.field(first).and_then(Field::text).is_some_and(named);
        self.operands_from(first + usize::from(text && !(alone && is_file)), access);
    }

    /// The last operand is written, `mogrify` rewrites all. `png:out` is the file `out`.
    fn image(&mut self) {
        let fields = self.fields();
        let count = fields.len();
        for (at, field) in fields.into_iter().enumerate() {
            let written = self.name == "mogrify" || at + 1 == count;
            let access = if written { Access::Write } else { Access::Read };
            match field.text().and_then(|text| text.split_once(':')) {
                Some((format, file)) if !format.contains('/') && !file.is_empty() => self.files.name(file, access),
                _ => self.file(field, access),
            }
        }
    }

    /// `-f` names the key: made, or only looked at. Its public half lies beside it.
    fn ssh_keygen(&mut self) {
        let looks = self.parsed.has(&["-l", "-y", "-e", "-B", "-F"]);
        for value in self.values(&["-f"]) {
            self.attached(&value, if looks { Access::Read } else { Access::Write });
            if let (false, Some(field)) = (looks, self.value_field(&value))
                && let Some(name) = field.text()
            {
                self.files.name(&format!("{name}.pub"), Access::Write);
            }
        }
        self.operands_from(0, Access::Read);
    }

    fn jq(&mut self) {
        // `--arg name value` and kin take two words; `--args` ends the files.
        let mut at = 0;
        let mut filter = !self.parsed.has(&["-f", "--from-file"]);
        // A program in a file is not looked into; `import` and `include` read a file that the program's text names.
        let imports = |field: &Field| {
            let text = field.text().unwrap_or(&field.source);
            let behind = |word: &str| {
                text.split(word)
                    .skip(1)
                    .any(|rest| rest.trim_start().starts_with(['"', '\\']))
            };
            behind("import") || behind("include")
        };
        if !filter || self.arguments.iter().any(imports) {
            self.files.unknown("files that a program of jq names", Access::Read);
        }
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

    /// `split FILE PREFIX`, `csplit -f PREFIX FILE …`: each piece is a file whose name begins with the prefix.
    fn split(&mut self) {
        self.operand(0, Access::Read);
        let splits_at_lines = self.name.ends_with("csplit");
        let prefix = if splits_at_lines {
            let given: Vec<Attached> = self.values(&["-f", "--prefix"]);
            given.last().and_then(|value| self.value_field(value))
        } else {
            self.field(1).cloned()
        };
        let usual = if splits_at_lines { "xx" } else { "x" };
        match prefix.as_ref().map(|field| (field.text(), &field.source)) {
            None => self.files.beginning(usual, Access::Write),
            Some((Some(text), _)) => self.files.beginning(text, Access::Write),
            Some((None, source)) => self.files.unknown(source, Access::Write),
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

    fn patch(&mut self) {
        // It goes to the directory first.
        let folder = self.values(&["-d", "--directory"]);
        self.files.base = folder.first().and_then(|value| self.value_field(value));
        if let Some(file) = self.field(0) {
            self.file(file, Access::Write);
        }
        if let Some(file) = self.field(1) {
            self.file(file, Access::Read);
        }
        self.files.base = None;
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
}

//! Reads git's configuration format, without running git, for the keys that make git run a program.
//!
//! Not a full reader: it only has to find every key that git would find. Where it is unsure it reports too much.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Largest configuration file that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Reads a configuration file: a regular file, not a link, not too large. `None` otherwise.
#[must_use]
pub fn read_bounded(path: &Path) -> Option<Vec<u8>> {
    use std::os::unix::fs::OpenOptionsExt as _;
    // Not to hang on a pipe, not to follow a link.
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= MAX_BYTES).then_some(text)
}

/// The git folder that a pointer file `.git` names (`gitdir: …`): a real path. `None` if it names none.
#[must_use]
pub fn pointed_to(pointer: &Path) -> Option<PathBuf> {
    let text = String::from_utf8(read_bounded(pointer)?).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim();
    pointer.parent()?.join(target).canonicalize().ok()
}

/// The folder that a file `commondir` in a git folder names: a real path. `None` if it names none.
#[must_use]
pub fn common_folder(file: &Path) -> Option<PathBuf> {
    let text = String::from_utf8(read_bounded(file)?).ok()?;
    file.parent()?.join(text.trim()).canonicalize().ok()
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Section, subsection and key joined by dots; section and key in lower case.
    pub(crate) name: String,
    /// The value, unquoted.
    pub(crate) value: String,
}

/// The keys that make git run a program or read further files, each once, in the order of the file.
#[must_use]
pub fn executing_keys(text: &[u8]) -> Vec<String> {
    let mut keys = Vec::new();
    for setting in settings(text) {
        if executes(&setting.name) && !keys.contains(&setting.name) {
            keys.push(setting.name);
        }
    }
    keys
}

/// What a setting names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A further configuration file, relative to the file that names it.
    Include(String),
    /// A file or folder that git takes hooks or drivers from, relative to the work tree.
    Path(String),
    /// A command line that git runs by itself, in the work tree.
    Program(String),
}

/// Everything that a configuration names, in the order of the file. Aliases only where they are command lines.
#[must_use]
pub fn references(text: &[u8]) -> Vec<Reference> {
    let mut found = Vec::new();
    for Setting { name, value } in settings(text) {
        if value.is_empty() {
            continue;
        }
        let section = name.split('.').next().unwrap_or_default();
        if matches!(section, "include" | "includeif") && name.ends_with(".path") {
            found.push(Reference::Include(value));
        } else if matches!(name.as_str(), "core.hookspath" | "core.attributesfile") {
            found.push(Reference::Path(value));
        } else if executes(&name) && (section != "alias" || value.starts_with('!')) {
            found.push(Reference::Program(value));
        }
    }
    found
}

/// Whether git runs a program, or reads further settings, because of this key.
fn executes(name: &str) -> bool {
    let (section, key) = (
        name.split('.').next().unwrap_or_default(),
        name.rsplit('.').next().unwrap_or_default(),
    );
    match section {
        "core" => matches!(
            key,
            "fsmonitor"
                | "hookspath"
                | "pager"
                | "editor"
                | "sshcommand"
                | "askpass"
                | "gitproxy"
                | "alternaterefscommand"
                | "attributesfile"
                | "worktree"
        ),
        UNREADABLE => true,
        "include" | "includeif" | "alias" | "pager" | "hook" => true,
        "diff" => matches!(key, "external" | "command" | "textconv" | "tool" | "guitool"),
        "difftool" | "mergetool" | "browser" | "man" | "guitool" => matches!(key, "cmd" | "path"),
        "filter" => matches!(key, "clean" | "smudge" | "process"),
        "merge" => matches!(key, "driver" | "tool" | "guitool"),
        "gpg" => matches!(key, "program" | "defaultkeycommand"),
        "credential" => key == "helper",
        "sequence" => key == "editor",
        "interactive" => key == "difffilter",
        "remote" => matches!(key, "uploadpack" | "receivepack" | "vcs" | "proxy"),
        "uploadpack" => key == "packobjectshook",
        "receive" => key == "procreceiverefs",
        "submodule" => key == "update",
        "sendemail" => matches!(key, "smtpserver" | "tocmd" | "cccmd" | "headercmd" | "sendmailcmd"),
        "trailer" => matches!(key, "command" | "cmd"),
        "web" => key == "browser",
        "log" => key == "showsignature",
        "instaweb" => true,
        "tar" => key == "command",
        "imap" => key == "tunnel",
        "protocol" => key == "allow",
        "maintenance" | "gc" => matches!(key, "recentobjectshook"),
        _ => false,
    }
}

/// Stands for a line that git would refuse: what follows it is not known to be harmless.
pub(crate) const UNREADABLE: &str = "unreadable";

/// All settings that git would find, by git's own grammar, character by character.
///
/// git stops at a line it cannot read. Here it counts as an executing key, and reading goes on behind it.
pub(crate) fn settings(text: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(text).replace("\r\n", "\n");
    let mut reader = Reader {
        rest: text.strip_prefix('\u{feff}').unwrap_or(&text).chars().peekable(),
    };
    let mut section = String::new();
    let mut found = Vec::new();
    while let Some(&c) = reader.rest.peek() {
        let read = if c.is_whitespace() {
            reader.rest.next();
            continue;
        } else if c == '#' || c == ';' {
            reader.skip_line();
            continue;
        } else if c == '[' {
            reader.rest.next();
            reader.header().map(|name| section = name)
        } else if c.is_ascii_alphabetic() {
            reader.setting(&section).map(|setting| found.push(setting))
        } else {
            None
        };
        if read.is_none() {
            reader.skip_line();
            found.push(Setting {
                name: UNREADABLE.to_owned(),
                value: String::new(),
            });
        }
    }
    found
}

/// The text that is still ahead.
struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
}

impl Reader<'_> {
    fn skip_line(&mut self) {
        self.rest.by_ref().find(|&c| c == '\n');
    }

    fn skip_blanks(&mut self) {
        while self.rest.next_if(|&c| c == ' ' || c == '\t').is_some() {}
    }

    /// After `[`: `core]`, `branch.x]`, `remote "x"]`. `None` for what git refuses.
    fn header(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            match self.rest.next()? {
                ']' => return Some(name),
                c if c.is_ascii_alphanumeric() || c == '-' || c == '.' => name.push(c.to_ascii_lowercase()),
                ' ' | '\t' => break,
                _ => return None,
            }
        }
        self.skip_blanks();
        self.rest.next_if_eq(&'"')?;
        name.push('.');
        loop {
            match self.rest.next()? {
                '"' => break,
                '\n' => return None,
                '\\' => name.push(self.rest.next().filter(|&c| c != '\n')?),
                c => name.push(c),
            }
        }
        self.rest.next_if_eq(&']')?;
        Some(name)
    }

    fn setting(&mut self, section: &str) -> Option<Setting> {
        let mut key = String::new();
        while let Some(c) = self.rest.next_if(|&c| c.is_ascii_alphanumeric() || c == '-') {
            key.push(c.to_ascii_lowercase());
        }
        let name = format!("{section}.{key}");
        self.skip_blanks();
        match self.rest.peek() {
            None | Some('\n') => Some(Setting {
                name,
                value: String::new(),
            }),
            Some('=') => {
                self.rest.next();
                self.value().map(|value| Setting { name, value })
            }
            Some(_) => None,
        }
    }

    /// After `=`, up to the end of the line: without quotes, comment and outer blanks.
    fn value(&mut self) -> Option<String> {
        let mut value = String::new();
        // Where what must be kept ends: blanks at the end go, unless they were quoted.
        let (mut kept, mut quoted) = (0, false);
        loop {
            match self.rest.next() {
                None | Some('\n') => {
                    value.truncate(kept);
                    return (!quoted).then_some(value);
                }
                Some('#' | ';') if !quoted => {
                    // A backslash at the end of a comment joins nothing.
                    self.skip_line();
                    value.truncate(kept);
                    return Some(value);
                }
                Some('"') => quoted = !quoted,
                Some('\\') => {
                    match self.rest.next()? {
                        '\n' => continue,
                        'n' => value.push('\n'),
                        't' => value.push('\t'),
                        'b' => value.push('\u{8}'),
                        c @ ('\\' | '"') => value.push(c),
                        _ => return None,
                    }
                    kept = value.len();
                }
                Some(c) if c.is_whitespace() && !quoted => {
                    if !value.is_empty() {
                        value.push(c);
                    }
                }
                Some(c) => {
                    value.push(c);
                    kept = value.len();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        executing_keys(text.as_bytes())
    }

    #[test]
    fn an_ordinary_repository_executes_nothing() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
            [remote \"origin\"]\n\turl = git@example.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
            [branch \"main\"]\n\tremote = origin\n[user]\n\temail = a@b.c\n";
        assert!(keys(text).is_empty());
    }

    #[test]
    fn every_spelling_is_found() {
        for (text, key) in [
            ("[core]\nfsmonitor=evil", "core.fsmonitor"),
            ("[CORE]\n  FsMonitor", "core.fsmonitor"),
            ("[core] fsmonitor = evil", "core.fsmonitor"),
            ("[a][core] sshCommand = x", "core.sshcommand"),
            ("[filter \"l fs\"]\n clean = x", "filter.l fs.clean"),
            ("[filter \"a]b\"]\n process = x", "filter.a]b.process"),
            ("[filter.x]\nsmudge=y", "filter.x.smudge"),
            ("[diff \"a\"]\n textconv = x", "diff.a.textconv"),
            ("[alias]\n st = !evil", "alias.st"),
            ("[include]\n path = ../x", "include.path"),
            ("[includeIf \"gitdir:/\"]\n path = x", "includeif.gitdir:/.path"),
            ("# c\n; c\n[gpg \"ssh\"]\n program = x # y", "gpg.ssh.program"),
            ("\u{feff}[core]\r\n\tpager = x\r\n", "core.pager"),
            ("[x]\na = b \\\n[core]\n[core]\nhooksPath=h", "core.hookspath"),
            // What looks like a joined line to a careless reader.
            ("[user]\nname = x # \\\n[core]\nfsmonitor = evil", "core.fsmonitor"),
            ("[user]\nname = x\\\\\n[core]\nfsmonitor = evil", "core.fsmonitor"),
            ("[user]\nname = \"#\" ; \"\n[core]\nfsmonitor = evil", "core.fsmonitor"),
            ("[core]\nfsmonitor = \"\\\n\"", "core.fsmonitor"),
        ] {
            assert_eq!(keys(text), [key], "{text}");
        }
    }

    #[test]
    fn what_git_would_refuse_is_not_harmless() {
        for text in ["[core", "[a b]", "= x", "[a]\nb c", "[a]\nb = \"x", "[a]\nb = \\q"] {
            assert_eq!(keys(text), [UNREADABLE], "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_before_hides_what_follows(text in "[\\[\\]a-c.=\"\\\\#; \t\r\n]{0,40}") {
            // An empty line ends whatever was joined or left open.
            let found = keys(&format!("{text}\n\n[core]\nfsmonitor = evil\n"));
            let hidden = !found.iter().any(|key| key == "core.fsmonitor" || key == UNREADABLE);
            proptest::prop_assert!(!hidden, "{found:?}");
        }

        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>) {
            let _ = executing_keys(&bytes);
        }
    }

    #[test]
    fn values_lose_quotes_and_comments() {
        for (text, path) in [
            ("[core]\nhooksPath = \"a b\" ; c", "a b"),
            ("[core]\nhooksPath = .husky\\\n/_", ".husky/_"),
        ] {
            assert_eq!(
                references(text.as_bytes()),
                [Reference::Path(path.to_owned())],
                "{text}"
            );
        }
    }
}

//! Reads git's configuration format, without running git, for the keys that make git run a program.
//!
//! Not a full reader: it only has to find every key that git would find. Where it is unsure it reports too much. Values
//! matter for one key only (`core.hooksPath`).

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
struct Setting {
    /// Section, subsection and key joined by dots; section and key in lower case.
    name: String,
    /// The value, unquoted.
    value: String,
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

/// All values of a key, which is given in lower case.
#[must_use]
pub fn values(text: &[u8], name: &str) -> Vec<String> {
    settings(text)
        .into_iter()
        .filter(|setting| setting.name == name)
        .map(|setting| setting.value)
        .collect()
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

/// All settings that git would find. Lines that make no sense to git stop git; they are skipped here.
fn settings(text: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(text);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut section = String::new();
    let mut found = Vec::new();
    let mut lines = text.split('\n');
    while let Some(line) = lines.next() {
        let mut rest = line.trim_start();
        // A section header may be followed by a setting on the same line.
        while let Some(inner) = rest.strip_prefix('[') {
            let Some((name, after)) = header(inner) else {
                break;
            };
            section = name;
            rest = after.trim_start();
        }
        let key: String = rest
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '-')
            .collect();
        if key.is_empty() {
            continue;
        }
        let after = rest.get(key.len()..).unwrap_or_default().trim_start();
        let mut value = after.strip_prefix('=').unwrap_or_default().to_owned();
        // A backslash at the end of a line joins the next one.
        while value.trim_end_matches('\r').ends_with('\\') {
            value = value.trim_end_matches('\r').trim_end_matches('\\').to_owned();
            match lines.next() {
                Some(next) => value.push_str(next),
                None => break,
            }
        }
        found.push(Setting {
            name: format!("{section}.{}", key.to_ascii_lowercase()),
            value: unquote(&value),
        });
    }
    found
}

/// `core]…`, `remote "x"]…`, `branch.x]…`: the section's name and what follows the bracket.
fn header(inner: &str) -> Option<(String, &str)> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => {
                let (name, after) = (inner.get(..at)?, inner.get(at + 1..)?);
                let name = match name.split_once(|c: char| c.is_whitespace()) {
                    None => name.to_ascii_lowercase(),
                    Some((section, sub)) => {
                        format!("{}.{}", section.to_ascii_lowercase(), sub.trim().trim_matches('"'))
                    }
                };
                return Some((name, after));
            }
            _ => {}
        }
    }
    None
}

/// A value without its quotes, comment and outer blanks.
fn unquote(value: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = value.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            '#' | ';' if !quoted => break,
            other => out.push(other),
        }
    }
    out.trim_end().to_owned()
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
        ] {
            assert_eq!(keys(text), [key], "{text}");
        }
    }

    #[test]
    fn values_lose_quotes_and_comments() {
        assert_eq!(values(b"[core]\nhooksPath = \"a b\" ; c", "core.hookspath"), ["a b"]);
        assert_eq!(
            values(b"[core]\nhooksPath = .husky\\\n/_", "core.hookspath"),
            [".husky/_"]
        );
    }
}

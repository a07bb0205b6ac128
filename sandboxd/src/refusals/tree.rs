//! Holds complaints against the file tree that a command was given.
//!
//! Paths are compared as they are written: nothing is looked up, so that what is hidden from the command is not told to it
//! by this. A relative path counts from the working directory that the command began in.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use portcullis_proto::v1::{RefusedKind, SandboxRefusal};

use super::OUTSIDE;
use super::output::{Complaint, Complaints, Failure};
use super::sensitive;
use crate::launch::mounts::is_special;
use crate::launch::spec::{Layout, Spec};

/// Most words of a line that are tried as a path.
const MAX_WORDS: usize = 64;

/// Most complaints that are looked into.
const MAX_COMPLAINTS: usize = 128;

/// Longest path that is told, in bytes.
const MAX_PATH: usize = 1024;

/// What a command was given.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    cwd: PathBuf,
    read_write: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    masked: Vec<PathBuf>,
    tmp_closed: bool,
    network: bool,
    /// The person's home folder.
    home: Option<PathBuf>,
    /// Portcullis' own folders and files.
    own: Vec<PathBuf>,
}

impl Tree {
    /// With what else no refusal offers to open.
    #[must_use]
    pub fn keeping(self, home: Option<PathBuf>, own: Vec<PathBuf>) -> Self {
        Self { home, own, ..self }
    }

    /// The tree that the launcher was told to build.
    #[must_use]
    pub fn of(spec: &Spec) -> Self {
        let paths = |list: &[Vec<u8>]| list.iter().map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
        let layout = spec.layout.clone().unwrap_or_default();
        let Layout {
            read_write,
            protected,
            masked,
            tmp_read_only,
            ..
        } = &layout;
        Self {
            cwd: PathBuf::from(OsStr::from_bytes(&spec.cwd)),
            read_write: paths(read_write),
            protected: paths(protected),
            masked: paths(masked),
            tmp_closed: *tmp_read_only,
            network: spec.filtered_network,
            ..Self::default()
        }
    }

    fn is_writable(&self, path: &Path) -> bool {
        let private = ["/dev", "/run"].iter().any(|folder| path.starts_with(folder));
        let tmp = path.starts_with("/tmp") && !self.tmp_closed;
        private || tmp || self.read_write.iter().any(|root| path.starts_with(root))
    }

    /// Why a path could not be written, if the tree explains it.
    fn read_only(&self, path: &Path) -> Option<(&'static str, String)> {
        if self.protected.iter().any(|protected| path.starts_with(protected)) {
            return Some((
                "it is protected and stays as it is in every sandbox",
                "change it with an edit of its own, or ask the person to change it".to_owned(),
            ));
        }
        if self.is_writable(path) {
            return None;
        }
        if path.starts_with("/tmp") {
            return Some(("`/tmp` is closed", "use the folder that `TMPDIR` names".to_owned()));
        }
        if is_special(path) {
            return Some(("it belongs to the machine", OUTSIDE.to_owned()));
        }
        // Output is what the command, or a text that it read, wants it to be: nobody is led to open these by it.
        let kept = self.masked.iter().chain(&self.own).any(|kept| overlap(kept, path));
        if kept || sensitive::is(path, self.home.as_deref()) {
            return Some((
                "it lies outside what the sandbox may write, and is, holds or belongs to something that is kept from commands",
                "do not widen the sandbox for it; ask the person".to_owned(),
            ));
        }
        Some((
            "it lies outside what the sandbox may write",
            format!("{OUTSIDE}, or to add the path, or the folder that holds it, to `additionalReadwritePaths`"),
        ))
    }

    /// The same for a path that could not be renamed or removed.
    fn held(&self, path: &Path) -> Option<(&'static str, String)> {
        let within = self.read_write.iter().any(|root| path.starts_with(root));
        let holds = self
            .protected
            .iter()
            .chain(&self.masked)
            .any(|other| other.starts_with(path));
        (within && holds).then(|| {
            (
                "it is, or holds, a protected path, so it can be neither renamed nor removed",
                OUTSIDE.to_owned(),
            )
        })
    }

    fn hidden(&self, path: &Path) -> Option<(&'static str, String)> {
        let hidden = self.masked.iter().any(|masked| path.starts_with(masked));
        hidden.then(|| {
            (
                "it is hidden in the sandbox",
                "do not widen the sandbox for it; ask the person".to_owned(),
            )
        })
    }

    fn explain(&self, failure: Failure, path: &Path) -> Option<(RefusedKind, &'static str, String)> {
        let write = |(reason, remedy): (&'static str, String)| {
            if is_git_configuration(path) && self.read_write.iter().any(|root| path.starts_with(root)) {
                return (RefusedKind::Write, GIT_CONFIGURATION, GIT_OUTSIDE.to_owned());
            }
            (RefusedKind::Write, reason, remedy)
        };
        match failure {
            Failure::ReadOnly => self.read_only(path).map(write),
            Failure::Busy => self.held(path).map(write),
            Failure::Denied => self
                .hidden(path)
                .map(|(reason, remedy)| (RefusedKind::Read, reason, remedy)),
            Failure::NoNetwork => None,
        }
    }
}

/// What is said of git's configuration, which many subcommands write without being asked to.
const GIT_CONFIGURATION: &str = "git's configuration is read-only in the sandbox, as it names programs that git runs (`git submodule update --init`, \
     `git branch -m`, `git push -u`, `git checkout --track` and `git config` write it)";

const GIT_OUTSIDE: &str = "ask to run this one git command outside the sandbox, or do without what it remembers (`git push origin BRANCH` without `-u`)";

/// Whether this is a file with settings of a repository, a submodule or a work tree.
fn is_git_configuration(path: &Path) -> bool {
    let settings = ["config", "config.lock", "config.worktree"];
    let named = path.file_name().and_then(|name| name.to_str());
    named.is_some_and(|name| settings.contains(&name)) && path.components().any(|part| part.as_os_str() == ".git")
}

/// Whether one of two paths lies in the other.
fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// What the tree explains of these complaints; each thing once.
pub(super) fn explained(tree: &Tree, complaints: &Complaints) -> Vec<SandboxRefusal> {
    let mut found: Vec<SandboxRefusal> = Vec::new();
    for complaint in complaints.0.iter().take(MAX_COMPLAINTS) {
        if found.len() >= super::MAX_TOLD {
            break;
        }
        let Some(refusal) = one(tree, complaint) else { continue };
        let known = found
            .iter_mut()
            .find(|known| (known.kind, &known.subject) == (refusal.kind, &refusal.subject));
        match known {
            Some(known) => known.times += 1,
            None => found.push(refusal),
        }
    }
    found
}

fn one(tree: &Tree, complaint: &Complaint) -> Option<SandboxRefusal> {
    let probable = |kind: RefusedKind, subject: String, reason: &str, remedy: String| SandboxRefusal {
        kind: kind.into(),
        subject: portcullis_policy::redact::text(&subject),
        reason: reason.to_owned(),
        remedy,
        certain: false,
        times: 1,
    };
    if complaint.failure == Failure::NoNetwork {
        // With a filter, the filter says what it refused.
        return (!tree.network).then(|| {
            probable(
                RefusedKind::Host,
                host(&complaint.line).unwrap_or_default(),
                "the sandbox has no network",
                format!("add the host to `networkPolicy.allow`, or {OUTSIDE}"),
            )
        });
    }
    // The lines before count only for a failure that a path outside of the sandbox's tree hardly has for another reason.
    let before = complaint
        .before
        .iter()
        .filter(|_| complaint.failure == Failure::ReadOnly);
    std::iter::once(&complaint.line).chain(before).find_map(|line| {
        candidates(line, &tree.cwd).into_iter().find_map(|path| {
            let (kind, reason, remedy) = tree.explain(complaint.failure, &path)?;
            Some(probable(kind, path.display().to_string(), reason, remedy))
        })
    })
}

/// What in a line may be a path: first what is quoted, then what has a slash, then what stands between two colons.
fn candidates(line: &str, cwd: &Path) -> Vec<PathBuf> {
    let quotes = ['\'', '"', '`', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}'];
    let quoted = line.split(quotes).skip(1).step_by(2);
    let around = [':', ',', ';', '(', ')', '[', ']', '\'', '"', '`'];
    let words = line
        .split([' ', '='])
        .map(|word| word.trim_matches(around).trim_end_matches(['.', ':']).to_owned())
        .filter(|word| word.contains('/'));
    let pieces = line.split(": ").map(str::trim).filter(|piece| !piece.contains(' '));
    let mut found: Vec<PathBuf> = quoted
        .map(str::to_owned)
        .chain(words)
        .chain(pieces.map(str::to_owned))
        .filter(|text| !text.is_empty() && text.len() <= MAX_PATH && !text.contains("://"))
        .take(MAX_WORDS)
        .filter_map(|text| absolute(&text, cwd))
        .collect();
    // A line says most paths twice; the first place counts.
    let mut seen = HashSet::new();
    found.retain(|path| seen.insert(path.clone()));
    found
}

/// The path without `.` and `..`, which are read as they stand.
fn absolute(text: &str, cwd: &Path) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in cwd.join(text).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    (path.is_absolute() && path.parent().is_some()).then_some(path)
}

/// A word that looks like the name of a host.
fn host(line: &str) -> Option<String> {
    let ends = [' ', '\'', '"', '`', ',', ';', '(', ')', '[', ']', '/'];
    line.split(ends)
        .map(|word| word.trim_matches([':', '.']))
        .find_map(|word| {
            let name = word.split(':').next().unwrap_or_default();
            let labels = name.split('.').count();
            let last = name.rsplit('.').next().unwrap_or_default();
            let plain = name
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "-.".contains(letter));
            let fits = labels > 1
                && plain
                && name.len() <= 253
                && last.len() > 1
                && !last.chars().any(|letter| letter.is_ascii_digit());
            fits.then(|| name.to_owned())
        })
}

#[cfg(test)]
mod tests {
    use super::super::output::Watch;
    use super::*;

    fn tree() -> Tree {
        let path = |text: &str| PathBuf::from(text);
        Tree {
            cwd: path("/w/p"),
            read_write: vec![path("/w/p")],
            protected: vec![path("/w/p/.git/hooks"), path("/w/p/.git/config")],
            masked: vec![path("/h/.aws"), path("/w/p/.env")],
            tmp_closed: true,
            network: false,
            home: Some(path("/far/me")),
            own: vec![path("/srv/p")],
        }
    }

    fn told(output: &str) -> Vec<(RefusedKind, String)> {
        let mut watch = Watch::default();
        watch.look(output.as_bytes());
        explained(&tree(), &Complaints(watch.found()))
            .into_iter()
            .inspect(|refusal| assert!(!refusal.certain && !refusal.reason.is_empty() && !refusal.remedy.is_empty()))
            .map(|refusal| (refusal.kind(), refusal.subject))
            .collect()
    }

    #[test]
    fn what_programs_print_is_understood() {
        use RefusedKind::{Host, Read, Write};
        let samples = [
            ("touch: cannot touch '/etc/x': Read-only file system", Write, "/etc/x"),
            (
                "mkdir: cannot create directory \u{2018}/opt/a b\u{2019}: Read-only file system",
                Write,
                "/opt/a b",
            ),
            ("bash: line 1: /etc/x: Read-only file system", Write, "/etc/x"),
            ("bash: line 1: ../x: Read-only file system", Write, "/w/x"),
            (
                "OSError: [Errno 30] Read-only file system: '/usr/lib/x'",
                Write,
                "/usr/lib/x",
            ),
            ("Error: EROFS: read-only file system, mkdir '/h/.npm'", Write, "/h/.npm"),
            (
                "open /h/.cache/go-build/00: read-only file system",
                Write,
                "/h/.cache/go-build/00",
            ),
            (
                "error: failed to create directory `/h/.cargo/registry`\n\nCaused by:\n  Read-only file system (os error 30)",
                Write,
                "/h/.cargo/registry",
            ),
            (
                "java.io.FileNotFoundException: /etc/x (Read-only file system)",
                Write,
                "/etc/x",
            ),
            (
                "Errno::EROFS (Read-only file system @ rb_sysopen - /etc/x)",
                Write,
                "/etc/x",
            ),
            (
                "error: could not lock config file .git/config: Read-only file system",
                Write,
                "/w/p/.git/config",
            ),
            (
                "error: could not write config file .git/config: Device or resource busy",
                Write,
                "/w/p/.git/config",
            ),
            (
                "touch: cannot touch './.git/hooks/a': Read-only file system",
                Write,
                "/w/p/.git/hooks/a",
            ),
            ("touch: cannot touch '/tmp/a': Read-only file system", Write, "/tmp/a"),
            (
                "mv: cannot move '.git' to 'x': Device or resource busy",
                Write,
                "/w/p/.git",
            ),
            (
                "cat: /h/.aws/credentials: Permission denied",
                Read,
                "/h/.aws/credentials",
            ),
            ("cat: .env: Permission denied", Read, "/w/p/.env"),
            (
                "PermissionError: [Errno 13] Permission denied: '/h/.aws'",
                Read,
                "/h/.aws",
            ),
            ("curl: (6) Could not resolve host: a.example", Host, "a.example"),
            (
                "npm error request to https://r.example/x failed, reason: getaddrinfo EAI_AGAIN r.example",
                Host,
                "r.example",
            ),
            (
                "dial tcp: lookup p.example: Temporary failure in name resolution",
                Host,
                "p.example",
            ),
        ];
        for (line, kind, subject) in samples {
            assert_eq!(told(line), [(kind, subject.to_owned())], "{line}");
        }
    }

    #[test]
    fn what_the_sandbox_does_not_explain_is_not_said() {
        for line in [
            "cat: /root/x: Permission denied",
            "cat: secret: Permission denied",
            "bash: ./a.sh: Permission denied",
            "touch: cannot touch 'src/x': Read-only file system",
            "umount: /mnt: device is busy",
            "mv: cannot move 'src' to 'x': Device or resource busy",
            "the text speaks of a read-only file system",
            "Read-only file system",
        ] {
            assert_eq!(told(line), [], "{line}");
        }
        let filtered = Tree {
            network: true,
            ..tree()
        };
        let mut watch = Watch::default();
        watch.look(b"Could not resolve host: a.example\n");
        assert_eq!(explained(&filtered, &Complaints(watch.found())), []);
    }

    #[test]
    fn what_is_said_twice_is_told_once() {
        let line = "touch: cannot touch '/etc/x': Read-only file system\n";
        assert_eq!(told(&line.repeat(5)).len(), 1);
    }

    #[test]
    fn nobody_is_led_to_widen_the_sandbox_for_what_is_kept_from_commands() {
        for path in [
            "/h",
            "/h/.aws/credentials",
            "/far/me",
            "/far",
            "/far/me/.profile",
            "/srv/p/x",
            "/home/ada",
            "/home",
            "/root",
            "/home/ada/.ssh/authorized_keys",
            "/home/ada/.config/portcullis/policy.jsonc",
            "/home/ada/.local/state/portcullis/x",
            "/home/ada/.config",
            "/home/ada/.claude/settings.json",
            "/home/ada/.cursor/hooks.json",
            "/home/ada/.bashrc",
            "/etc/portcullis/team.jsonc",
        ] {
            let mut watch = Watch::default();
            watch.look(format!("touch: cannot touch '{path}': Read-only file system\n").as_bytes());
            let found = explained(&tree(), &Complaints(watch.found()));
            let [refusal] = &found[..] else {
                panic!("{path}: {found:?}")
            };
            let said = format!("{} {}", refusal.reason, refusal.remedy);
            assert!(
                !said.contains("Paths") && !said.contains("outside the sandbox"),
                "{path}: {said}"
            );
        }
    }

    #[test]
    fn a_secret_in_a_path_is_not_told() {
        let secret = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
        let mut watch = Watch::default();
        watch.look(format!("touch: cannot touch '/opt/{secret}/x': Read-only file system\n").as_bytes());
        let found = explained(&tree(), &Complaints(watch.found()));
        assert_eq!(found.len(), 1);
        assert!(!found[0].subject.contains(&secret), "{}", found[0].subject);
    }

    #[test]
    fn a_remedy_names_the_key() {
        let mut watch = Watch::default();
        watch.look(b"touch: cannot touch '/opt/a/x': Read-only file system\n");
        let found = explained(&tree(), &Complaints(watch.found()));
        let remedy = &found[0].remedy;
        assert!(
            remedy.contains("outside the sandbox") && remedy.contains("additionalReadwritePaths"),
            "{remedy}"
        );
    }
}

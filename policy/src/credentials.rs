//! Files that hold keys, passwords or tokens, by where programs keep them.
//!
//! Cursor's modes read outside the workspace without a question; these files they ask for. The table knows names, not
//! contents: a secret that lies in a file of another name is not found here, and a `deny` rule is the way to keep it.
//! `.env` files are not in it: they lie in projects, and whether they are secret is a project's to say.

use std::sync::LazyLock;

use crate::{AbsPath, path::plain};

/// One place where secrets are kept.
#[derive(Clone, Copy, Debug)]
pub struct Credential {
    /// Segments in lower case that stand anywhere in a path, one after the other. A `*` stands for any characters.
    pub segments: &'static [&'static str],
    /// Names directly below that are no secret.
    pub exempt: &'static [&'static str],
    /// What it holds, for people.
    pub reason: &'static str,
}

const fn kept(segments: &'static [&'static str], reason: &'static str) -> Credential {
    Credential {
        segments,
        exempt: &[],
        reason,
    }
}

const KEY: &str = "it is or holds a private key";
const CLOUD: &str = "it holds keys to a cloud account";
const TOKEN: &str = "it holds a token or password of a service";
const STORE: &str = "it is a store of passwords";
const AGENT: &str = "it holds the agent's own login";
const SYSTEM: &str = "it holds passwords of this machine";

/// The table.
pub const CREDENTIALS: &[Credential] = &[
    Credential {
        segments: &[".ssh"],
        exempt: &["config", "known_hosts", "known_hosts.old", "authorized_keys", "*.pub"],
        reason: KEY,
    },
    kept(&["id_rsa"], KEY),
    kept(&["id_dsa"], KEY),
    kept(&["id_ecdsa"], KEY),
    kept(&["id_ecdsa_sk"], KEY),
    kept(&["id_ed25519"], KEY),
    kept(&["id_ed25519_sk"], KEY),
    kept(&["ssh_host_*_key"], KEY),
    kept(&["*.pem"], KEY),
    kept(&["*.key"], KEY),
    kept(&["*.ppk"], KEY),
    kept(&["*.p12"], KEY),
    kept(&["*.pfx"], KEY),
    kept(&["*.jks"], KEY),
    kept(&["*.keystore"], KEY),
    kept(&[".gnupg"], KEY),
    // Where containers are given theirs.
    kept(&["run", "secrets"], TOKEN),
    kept(&[".aws"], CLOUD),
    kept(&[".azure"], CLOUD),
    kept(&[".boto"], CLOUD),
    kept(&[".s3cfg"], CLOUD),
    kept(&[".oci"], CLOUD),
    kept(&[".config", "gcloud"], CLOUD),
    kept(&[".config", "doctl"], CLOUD),
    kept(&[".config", "rclone"], CLOUD),
    kept(&["application_default_credentials.json"], CLOUD),
    kept(&["service-account*.json"], CLOUD),
    kept(&["service_account*.json"], CLOUD),
    kept(&["credentials.json"], TOKEN),
    kept(&["client_secret*.json"], TOKEN),
    kept(&[".kube"], TOKEN),
    kept(&["kubeconfig"], TOKEN),
    kept(&[".docker", "config.json"], TOKEN),
    kept(&[".config", "containers", "auth.json"], TOKEN),
    kept(&[".netrc"], TOKEN),
    kept(&["_netrc"], TOKEN),
    kept(&[".npmrc"], TOKEN),
    kept(&[".yarnrc.yml"], TOKEN),
    kept(&[".pypirc"], TOKEN),
    kept(&[".git-credentials"], TOKEN),
    kept(&[".config", "git", "credentials"], TOKEN),
    kept(&[".config", "gh"], TOKEN),
    kept(&[".config", "hub"], TOKEN),
    kept(&[".config", "glab-cli"], TOKEN),
    kept(&[".cargo", "credentials"], TOKEN),
    kept(&[".cargo", "credentials.toml"], TOKEN),
    kept(&[".gem", "credentials"], TOKEN),
    kept(&[".m2", "settings.xml"], TOKEN),
    kept(&[".m2", "settings-security.xml"], TOKEN),
    kept(&[".gradle", "gradle.properties"], TOKEN),
    kept(&[".nuget", "nuget.config"], TOKEN),
    kept(&[".terraformrc"], TOKEN),
    kept(&[".terraform.d"], TOKEN),
    kept(&[".vault-token"], TOKEN),
    kept(&[".pgpass"], TOKEN),
    kept(&[".my.cnf"], TOKEN),
    kept(&[".mylogin.cnf"], TOKEN),
    kept(&[".fly"], TOKEN),
    kept(&[".config", "heroku"], TOKEN),
    kept(&[".password-store"], STORE),
    kept(&["keyrings"], STORE),
    kept(&["keychains"], STORE),
    kept(&["*.kdbx"], STORE),
    kept(&[".config", "op"], STORE),
    kept(&[".mozilla"], STORE),
    kept(&[".config", "google-chrome"], STORE),
    kept(&[".config", "chromium"], STORE),
    kept(&[".claude", ".credentials.json"], AGENT),
    kept(&[".claude.json"], AGENT),
    kept(&[".codex", "auth.json"], AGENT),
    kept(&[".gemini", "oauth_creds.json"], AGENT),
    kept(&[".config", "cursor", "auth.json"], AGENT),
    kept(&[".local", "share", "opencode", "auth.json"], AGENT),
    kept(&["etc", "shadow"], SYSTEM),
    kept(&["etc", "shadow-"], SYSTEM),
    kept(&["etc", "gshadow"], SYSTEM),
    kept(&["etc", "gshadow-"], SYSTEM),
    kept(&["etc", "security", "opasswd"], SYSTEM),
    kept(
        &["proc", "*", "environ"],
        "it holds the environment of a process, tokens included",
    ),
];

/// Folders of certificates that everybody may have: what ends in `.pem` there is no private key.
const CERTIFICATES: &[&[&str]] = &[&["ssl", "certs"], &["ca-certificates"], &["tls", "certs"], &["certifi"]];

/// The first segments of all entries: most paths hold none of them, and need no look at the entries.
struct Beginnings {
    /// Whole names, sorted.
    names: Vec<&'static str>,
    /// Names with a `*`.
    patterns: Vec<&'static str>,
}

static BEGINNINGS: LazyLock<Beginnings> = LazyLock::new(|| {
    let first = CREDENTIALS.iter().filter_map(|entry| entry.segments.first().copied());
    let (patterns, mut names): (Vec<_>, Vec<_>) = first.partition(|name| name.contains('*'));
    names.sort_unstable();
    Beginnings { names, patterns }
});

impl Beginnings {
    /// Whether an entry may begin with this segment, which is in lower case.
    fn hold(&self, segment: &str) -> bool {
        self.names.binary_search(&segment).is_ok() || self.patterns.iter().any(|name| named(segment, name))
    }
}

/// The entry that says why a path is secret, if one does.
#[must_use]
pub fn holds(path: &AbsPath) -> Option<&'static Credential> {
    let segments: Vec<String> = path.segments().map(str::to_lowercase).collect();
    if !segments.iter().any(|segment| BEGINNINGS.hold(segment)) {
        return None;
    }
    let public = CERTIFICATES.iter().any(|folder| {
        segments
            .windows(folder.len())
            .any(|window| window.iter().zip(*folder).all(|(own, name)| own == name))
    });
    CREDENTIALS.iter().find(|entry| {
        let certificate = public && entry.segments == ["*.pem"];
        !certificate
            && segments.windows(entry.segments.len()).enumerate().any(|(at, window)| {
                window.iter().zip(entry.segments).all(|(own, name)| named(own, name))
                    && !segments
                        .get(at + window.len())
                        .is_some_and(|next| entry.exempt.iter().any(|free| named(next, free)))
            })
    })
}

/// Whether a pattern of the shell (an absolute path with wildcards) can stand for a secret file.
#[must_use]
pub fn holds_pattern(pattern: &str) -> Option<&'static Credential> {
    let theirs = plain::parse(&pattern.to_lowercase());
    CREDENTIALS.iter().find(|entry| {
        let mut ours = plain::parse(&format!("**/{}", entry.segments.join("/")));
        // A `*` stands for no dot at the beginning, so what lies below a hidden folder is only meant where that is named.
        // Below the others every `*` could: those are files.
        if entry.segments.first().is_some_and(|name| name.starts_with('.')) {
            ours.push(plain::Segment::Deep);
        }
        plain::meet(&ours.iter().collect::<Vec<_>>(), &theirs)
    })
}

/// Whether one segment has a name, in which one `*` stands for any characters.
fn named(segment: &str, name: &str) -> bool {
    match name.split_once('*') {
        None => segment == name,
        Some((before, after)) => {
            segment.len() >= before.len() + after.len() && segment.starts_with(before) && segment.ends_with(after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_places_and_near_misses_are_free() {
        for (path, expected) in [
            ("/home/dev/.ssh/id_ed25519", true),
            ("/home/dev/.ssh/deploy", true),
            ("/home/dev/.ssh", true),
            ("/home/dev/.ssh/config", false),
            ("/home/dev/.ssh/id_ed25519.pub", false),
            ("/home/dev/.ssh/known_hosts", false),
            ("/home/dev/.SSH/id_rsa", true),
            ("/home/dev/backup/id_rsa", true),
            ("/home/dev/backup/id_rsa.md", false),
            ("/home/dev/.aws/credentials", true),
            ("/home/dev/.config/gcloud/credentials.db", true),
            ("/home/dev/.config/gcloudx/x", false),
            ("/home/dev/.netrc", true),
            ("/home/dev/.docker/config.json", true),
            ("/home/dev/.docker/daemon.json", false),
            ("/srv/tls/server.pem", true),
            ("/srv/tls/server.key", true),
            ("/etc/ssl/certs/isrg.pem", false),
            ("/etc/ssl/private/server.key", true),
            ("/etc/ssl/certs/server.key", true),
            ("/etc/shadow", true),
            ("/etc/passwd", false),
            ("/proc/1/environ", true),
            ("/proc/1/status", false),
            ("/srv/app/.env", false),
            ("/usr/share/doc/keyboard.txt", false),
        ] {
            let path = AbsPath::parse(path).unwrap();
            assert_eq!(holds(&path).is_some(), expected, "{path}");
        }
    }

    /// A path is first looked at for the beginning of any entry; that must not pass over one.
    #[test]
    fn every_entry_is_found_in_every_case_and_place() {
        for entry in CREDENTIALS {
            let names = entry.segments.join("/").replace('*', "x");
            for path in [
                format!("/{names}"),
                format!("/srv/a/{names}/below"),
                format!("/srv/{}", names.to_uppercase()),
            ] {
                assert!(holds(&AbsPath::parse(&path).unwrap()).is_some(), "{path}");
            }
        }
    }

    #[test]
    fn a_pattern_is_secret_if_it_can_become_a_secret() {
        for (pattern, expected) in [
            ("/home/dev/.ssh/*", true),
            ("/home/dev/.s*/id", true),
            ("/home/dev/.aws/cred*", true),
            ("/srv/tls/*.pem", true),
            ("/srv/tls/*", true),
            ("/usr/include/*.h", false),
            ("/usr/*/share/x.txt", false),
            ("/home/dev/notes/*.md", false),
        ] {
            assert_eq!(holds_pattern(pattern).is_some(), expected, "{pattern}");
        }
    }

    #[test]
    fn the_table_is_sound() {
        for entry in CREDENTIALS {
            assert!(!entry.segments.is_empty() && !entry.reason.is_empty());
            let low = |name: &&str| **name == name.to_lowercase() && name.matches('*').count() < 2;
            assert!(entry.segments.iter().chain(entry.exempt).all(low), "{entry:?}");
        }
    }
}

//! The places of credentials that the sandbox hides, as data (`policy/data/hidden.toml`).
//!
//! Names only. What lies there on a host, and whether a file holds one of the words, is the host's to look at.

use std::sync::LazyLock;

use serde::Deserialize;

const FILE: &str = include_str!("../../data/hidden.toml");

/// One place.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hidden {
    /// A file or folder: begins with `~/` or `/`.
    pub path: String,
    /// Words, in lower case, of which a file has to hold one; empty = it is hidden whatever it holds.
    #[serde(default)]
    pub holds: Vec<String>,
    /// It is a folder of which only private keys are hidden.
    #[serde(default)]
    pub keys: bool,
    /// What is secret about it.
    pub why: String,
}

/// A folder that a variable can put elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elsewhere {
    /// The variable.
    pub variable: String,
    /// The folder that it stands for: begins with `~/`.
    pub folder: String,
}

/// The table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HiddenPlaces {
    /// Folders that variables can put elsewhere.
    pub elsewhere: Vec<Elsewhere>,
    /// Places.
    pub hidden: Vec<Hidden>,
}

static TABLE: LazyLock<Option<HiddenPlaces>> = LazyLock::new(|| toml::from_str(FILE).ok());

/// The table; `None` if it cannot be read, which a test holds never to be. Whoever hides by it then hides nothing, and says so.
#[must_use]
pub fn hidden_places() -> Option<&'static HiddenPlaces> {
    TABLE.as_ref()
}

/// Whether a name is one that private keys of ssh have by custom: `id_rsa`, and not `id_rsa.pub`.
#[must_use]
pub fn is_named_as_key(name: &str) -> bool {
    name.starts_with("id_") && !name.contains('.')
}

/// Whether the beginning of a file is that of a private key.
#[must_use]
pub fn begins_as_key(bytes: &[u8]) -> bool {
    const HEADERS: [&str; 2] = ["-----BEGIN ", "PuTTY-User-Key-File"];
    let text = String::from_utf8_lossy(bytes);
    // Whatever stands before: programs skip comments, blanks and marks of the byte order.
    HEADERS.iter().any(|header| {
        text.match_indices(header).any(|(at, _)| {
            let line = text.get(at..).and_then(|rest| rest.lines().next()).unwrap_or_default();
            line.starts_with("PuTTY") || line.contains("PRIVATE KEY")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_read_has_a_reason_and_stands_once() {
        let table: HiddenPlaces = toml::from_str(FILE).unwrap();
        assert!(hidden_places().is_some());
        for entry in &table.hidden {
            let rest = entry.path.strip_prefix('~').unwrap_or(&entry.path);
            assert!(rest.starts_with('/') && rest.len() > 1, "{}", entry.path);
            assert!(!rest.contains(['*', '?', '[', '~']), "{}", entry.path);
            assert!(
                rest.split('/').skip(1).all(|name| !["", ".", ".."].contains(&name)),
                "{}",
                entry.path
            );
            assert!(!entry.why.is_empty(), "{}", entry.path);
            assert!(
                entry
                    .holds
                    .iter()
                    .all(|word| *word == word.to_lowercase() && !word.is_empty())
            );
            assert!(!entry.keys || entry.holds.is_empty(), "{}", entry.path);
        }
        assert!(table.elsewhere.iter().all(|entry| entry.folder.starts_with("~/")));
        let mut paths: Vec<_> = table.hidden.iter().map(|entry| &entry.path).collect();
        let all = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), all);
    }

    #[test]
    fn keys_are_known_by_name_and_by_their_first_line() {
        for (name, key) in [
            ("id_rsa", true),
            ("id_ed25519_sk", true),
            ("id_rsa.pub", false),
            ("config", false),
        ] {
            assert_eq!(is_named_as_key(name), key, "{name}");
        }
        for (text, key) in [
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nx", true),
            ("\n# mine\n-----BEGIN RSA PRIVATE KEY-----\n", true),
            ("PuTTY-User-Key-File-3: ssh-ed25519", true),
            ("-----BEGIN CERTIFICATE-----\nPRIVATE KEY", false),
            ("ssh-ed25519 AAAA ada", false),
            ("Host *\n  IdentityFile ~/.ssh/id_rsa", false),
        ] {
            assert_eq!(begins_as_key(text.as_bytes()), key, "{text}");
        }
    }
}

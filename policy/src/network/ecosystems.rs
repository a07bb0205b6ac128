//! The hosts where languages and tools fetch from, as data (`policy/data/ecosystems.toml`).

use std::sync::LazyLock;

use serde::Deserialize;

use super::HostRule;
use crate::rule::HostPattern;

const FILE: &str = include_str!("../../data/ecosystems.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    host: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    domain: String,
    #[serde(default)]
    apex: bool,
    why: String,
}

static RULES: LazyLock<Vec<(HostRule, String)>> = LazyLock::new(|| {
    // A file that cannot be read allows nothing; that it can is held by a test.
    let file: File = toml::from_str(FILE).unwrap_or(File { host: Vec::new() });
    let rule = |text: &str, why: &str| {
        HostPattern::parse(text)
            .ok()
            .map(|found| (HostRule::Name(found), why.to_owned()))
    };
    let entries = file.host.iter().flat_map(|entry| {
        let apex = entry.domain.strip_prefix("*.").filter(|_| entry.apex);
        [Some(entry.domain.as_str()), apex]
            .into_iter()
            .flatten()
            .filter_map(|text| rule(text, &entry.why))
    });
    entries.collect()
});

/// The hosts, each with what it is for.
#[must_use]
pub fn ecosystems() -> &'static [(HostRule, String)] {
    &RULES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_read_has_a_reason_and_covers_no_whole_top_level_domain() {
        let file: File = toml::from_str(FILE).unwrap();
        let apexes = file.host.iter().filter(|entry| entry.apex).count();
        assert_eq!(ecosystems().len(), file.host.len() + apexes);
        for entry in &file.host {
            assert!(
                entry.domain.starts_with("*.") && entry.domain.matches('.').count() >= 2,
                "{}",
                entry.domain
            );
            assert!(!entry.why.is_empty(), "{}", entry.domain);
        }
        let mut domains: Vec<_> = file.host.iter().map(|entry| &entry.domain).collect();
        domains.sort();
        domains.dedup();
        assert_eq!(domains.len(), file.host.len(), "one stands twice");
    }
}

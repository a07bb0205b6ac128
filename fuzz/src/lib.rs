#![forbid(unsafe_code)]
//! What must hold for any bytes at all, one function per fuzz target.
//!
//! A target under `fuzz_targets/` only hands its bytes to the function of its name. The functions live here so that the
//! ordinary test run checks them, too: with the collected cases, which are also the fuzzer's seeds. Each panics where
//! something does not hold.

mod document;
mod import;
mod path;
mod rule;
mod shell;

pub use document::document;
pub use import::importer;
pub use path::path;
pub use rule::rule;
pub use shell::shell;

/// Bytes as text; what is no UTF-8 is no input, because it never gets past the wire.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// The functions by their names.
pub const TARGETS: &[(&str, fn(&[u8]))] = &[
    ("document", document),
    ("importer", importer),
    ("path", path),
    ("rule", rule),
    ("shell", shell),
];

#[cfg(test)]
#[path = "../examples/seeds/collect.rs"]
mod collect;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_holds() {
        let mut seen = 0;
        for (target, seed) in collect::seeds() {
            let (_, check) = TARGETS.iter().find(|(name, _)| *name == target).unwrap();
            check(seed.as_bytes());
            seen += 1;
        }
        assert!(seen > 800, "{seen}");
    }

    #[test]
    fn every_target_is_listed() {
        let manifest = include_str!("../Cargo.toml");
        for (name, _) in TARGETS {
            assert!(
                manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")),
                "{name}"
            );
        }
        assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    }
}

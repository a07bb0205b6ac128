//! Collects seeds from the cases that the tests use.

use std::collections::BTreeSet;

/// Pairs of a target and an input for it.
pub fn seeds() -> BTreeSet<(&'static str, String)> {
    let mut found = BTreeSet::new();
    for line in include_str!("../../../tests/cases/permission-cases.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("each line is a case");
        if let Some(command) = case["call"]["command"].as_str() {
            found.insert(("shell", command.to_owned()));
        }
        for list in ["allow", "ask", "deny"] {
            for text in case["rules"][list].as_array().into_iter().flatten() {
                let text = text.as_str().expect("a rule is a text");
                found.insert(("rule", text.to_owned()));
                if let Some((_, inner)) = text.split_once('(') {
                    found.insert(("path", format!("{}\0src/a.rs", inner.trim_end_matches(')'))));
                }
            }
        }
        found.insert((
            "document",
            serde_json::json!({ "permissions": case["rules"] }).to_string(),
        ));
    }
    for file in [
        include_str!("../../../tests/fixtures/settings/cursor/cli-config.json"),
        include_str!("../../../tests/fixtures/settings/cursor/cli.json"),
        include_str!("../../../tests/fixtures/settings/cursor/permissions.json"),
        include_str!("../../../tests/fixtures/settings/cursor/permissions-empty-list.json"),
    ] {
        found.insert(("importer", file.to_owned()));
        found.insert(("document", file.to_owned()));
    }
    found
}

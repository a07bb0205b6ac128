//! A document that is printed is read as the same document, whatever it holds: parse ∘ print is the identity.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test program stops at the first surprise"
)]

mod generated;

use generated::{Choices, example, read};
use portcullis_policy::{
    AbsPath, DocumentOrigin, Layer, PolicyDocument, Rule,
    cases::{file, rows},
    document::{CannotPrint, schema},
    starter,
};
use proptest::prelude::*;

/// All that a document says, list by list, without the places where it stands. Written apart from the comparison that the
/// printer makes.
fn said(document: &PolicyDocument) -> String {
    let rule = |rule: &Rule| {
        let mut rule = rule.clone();
        (rule.source.line, rule.source.column) = (0, 0);
        format!("{rule:?}")
    };
    let of = |effect: &str, ignored: bool| -> Vec<String> {
        document
            .rules
            .iter()
            .map(rule)
            .filter(|text| {
                text.starts_with(&format!("Rule {{ effect: {effect}")) && text.contains("IgnoreKind") == ignored
            })
            .collect()
    };
    let lists = &document.allowlists;
    let entries = |list: &Option<Vec<Rule>>| list.as_ref().map(|rules| rules.iter().map(rule).collect::<Vec<_>>());
    format!(
        "{:#?}",
        (
            [
                of("Deny", false),
                of("Ask", false),
                of("Allow", false),
                of("Deny", true)
            ],
            (entries(&lists.terminal), entries(&lists.mcp), &lists.auto_run),
            &document.settings,
            &document.origin,
        )
    )
}

/// Prints a document, and the same once more when it was read again.
fn comes_back(document: &PolicyDocument) -> String {
    let printed = document
        .print()
        .unwrap_or_else(|fault| panic!("{fault}: {document:#?}"));
    let again = PolicyDocument::parse(&printed, document.origin.clone())
        .unwrap_or_else(|faults| panic!("{faults:#?}\n{printed}"));
    assert_eq!(said(&again), said(document), "{printed}");
    assert!(again.says_the_same_as(document));
    assert_eq!(again.print().unwrap(), printed, "the printed form is the one form");
    printed
}

#[test]
fn the_documents_that_are_shipped_come_back() {
    for (text, golden) in [
        (starter::TEAM, None),
        (
            include_str!("../../docs/examples/team.jsonc"),
            Some(include_str!("print/team.jsonc")),
        ),
        ("{}", Some("{\n  \"version\": 1\n}\n")),
    ] {
        let printed = comes_back(&read(text).unwrap());
        if let Some(golden) = golden {
            assert_eq!(printed, golden);
        }
    }
}

#[test]
fn the_documents_of_the_cases_come_back() {
    let mut count = 0;
    for text in [
        include_str!("../../tests/cases/permission-cases.jsonl"),
        include_str!("../../tests/cases/permission-cases-more.jsonl"),
    ] {
        for case in rows::read(text).into_iter().filter_map(|row| row.case.ok()) {
            for document in &case.documents {
                comes_back(document);
            }
            for (layer, text) in &case.texts {
                let origin = DocumentOrigin {
                    layer: *layer,
                    name: "a case".to_owned(),
                    folder: AbsPath::parse("/home/dev/proj").ok(),
                };
                // Of a document with a fault, which some rows are about, there is nothing to print.
                if let Ok(document) = PolicyDocument::parse(text, origin) {
                    comes_back(&document);
                    count += 1;
                }
            }
        }
    }
    assert!(count > 4000, "only {count} documents");
    for text in [
        include_str!("../starter/team.tests.toml"),
        include_str!("../../docs/examples/team.tests.toml"),
    ] {
        let mut files = |_: &str| {
            Ok(file::PolicyFile {
                name: "team.jsonc".to_owned(),
                text: starter::TEAM.to_owned(),
            })
        };
        let tests = file::read(text, "tests", &mut files).unwrap();
        for document in tests.cases.iter().flat_map(|case| &case.documents) {
            comes_back(document);
        }
    }
}

#[test]
fn exceptions_stand_again_where_they_stood() {
    let text = r#"{"permissions":{"deny":["Read(a)","Read(!b)","Edit(c)","Read(d)","Grep(!e)","Edit(!f)","Bash"]}}"#;
    let printed = comes_back(&read(text).unwrap());
    let rules: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with("      "))
        .map(str::trim)
        .collect();
    assert_eq!(
        rules,
        [
            "\"Read(a)\",",
            "\"Read(!b)\",",
            "\"Edit(c)\",",
            "\"Edit(!f)\",",
            "\"Read(d)\",",
            "\"Read(!e)\",",
            "\"Bash\""
        ]
    );
}

#[test]
fn what_hides_is_printed_in_escapes() {
    let printed = comes_back(&read("{\"permissions\":{\"deny\":[\"Bash(echo \u{202e}x\u{e0061})\"]}}").unwrap());
    assert!(printed.contains(r"Bash(echo \u202ex\udb40\udc61)"), "{printed}");
}

#[test]
fn what_no_policy_can_say_is_not_printed() {
    let origin = |layer| DocumentOrigin {
        layer,
        name: "x".to_owned(),
        folder: AbsPath::parse("/w").ok(),
    };
    let (ignored, _) = PolicyDocument::parse_ignore_file("*.key\n/x\n", origin(Layer::Project));
    assert_eq!(ignored.print(), Err(CannotPrint::NotNative));
    // What is left of a faulty text approves no server; as a text it would.
    let faulty = r#"{"mcp":{"servers":[{"command":"x"}]},"unheard":1}"#;
    let left = PolicyDocument::restrictions(faulty, origin(Layer::Team));
    assert_eq!(left.print(), Err(CannotPrint::NotNative));
}

#[test]
fn a_text_near_the_limit_is_printed_without_blanks_or_not_at_all() {
    let of = |rules: usize, length: usize| {
        let rules: Vec<String> = (0..rules)
            .map(|number| format!("\"Bash({number:04} {})\"", "x".repeat(length)))
            .collect();
        read(&format!("{{\"permissions\":{{\"deny\":[{}]}}}}", rules.join(","))).unwrap()
    };
    let printed = comes_back(&of(4900, 35));
    assert_eq!(printed.lines().count(), 1);
    assert!(comes_back(&of(4000, 35)).lines().count() > 4000);
    assert_eq!(of(4900, 39).print(), Err(CannotPrint::TooLarge));
}

/// A list of rules in which exceptions of several verbs stand among rules of several verbs.
fn list() -> impl Strategy<Value = Vec<String>> {
    let verb = prop::sample::select(vec!["Read", "Edit", "Delete", "Grep", "Write"]);
    let entry = (verb, any::<bool>(), "[a-c]{1,2}", 0_u8..6).prop_map(|(verb, excepts, path, kind)| match kind {
        0 => "Bash".to_owned(),
        1 => "mcp__x".to_owned(),
        _ => format!("{verb}({}{path})", if excepts { "!" } else { "" }),
    });
    prop::collection::vec(entry, 0..10)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_document_that_the_schema_describes_comes_back(bytes in prop::collection::vec(any::<u8>(), 1..256)) {
        let schema = schema();
        let text = example(&schema, &schema, "", &mut Choices::of(&bytes)).to_string();
        match read(&text) {
            Ok(document) => drop(comes_back(&document)),
            Err(faults) => panic!("{text}\n{faults:#?}"),
        }
    }

    #[test]
    fn lists_with_exceptions_come_back(deny in list(), ask in list(), allow in list(), patterns in prop::collection::vec("!?/?[a-c]{1,2}/?", 0..6)) {
        let value = serde_json::json!({
            "ignore": { "patterns": patterns },
            "permissions": { "allow": allow, "deny": deny, "ask": ask },
        });
        // An exception without a rule before it is a fault.
        if let Ok(document) = read(&value.to_string()) {
            comes_back(&document);
        }
    }
}

//! Runs the tables under `policy/tests/shell/`: one behaviour per entry.

use serde::Deserialize;

use super::{analysed, commands, files, reasons};

/// The tables. A test below says so if a file is missing here.
const TABLES: &[(&str, &str)] = &[
    ("class", include_str!("../../../tests/shell/class.toml")),
    ("directories", include_str!("../../../tests/shell/directories.toml")),
    ("files", include_str!("../../../tests/shell/files.toml")),
    ("grammar", include_str!("../../../tests/shell/grammar.toml")),
    ("opaque", include_str!("../../../tests/shell/opaque.toml")),
    ("substitutions", include_str!("../../../tests/shell/substitutions.toml")),
    ("words", include_str!("../../../tests/shell/words.toml")),
    ("wrappers", include_str!("../../../tests/shell/wrappers.toml")),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    case: Vec<Case>,
}

/// A line, and what is expected of its analysis. What is not given is not compared, except that a line is expected to be
/// understood whole.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    line: String,
    commands: Option<Vec<String>>,
    files: Option<Vec<String>>,
    urls: Option<Vec<String>>,
    classes: Option<Vec<String>>,
    via: Option<Vec<Vec<String>>>,
    escapes: Option<Vec<String>>,
    #[serde(default)]
    opaque: Vec<String>,
}

#[test]
fn each_line_is_understood_as_its_table_says() {
    let mut faults = Vec::new();
    for (name, text) in TABLES {
        let table: Table = toml::from_str(text).unwrap_or_else(|fault| panic!("{name}.toml: {fault}"));
        for case in table.case {
            let analysis = analysed(&case.line);
            let mut compare = |what: &str, expected: &Option<Vec<String>>, found: Vec<String>| {
                if expected.as_ref().is_some_and(|expected| *expected != found) {
                    faults.push(format!(
                        "{name}.toml: {}: `{}`: {what} {found:?}",
                        case.about, case.line
                    ));
                }
            };
            compare("commands", &case.commands, commands(&analysis));
            compare("files", &case.files, files(&analysis));
            let urls = analysis.commands.iter().flat_map(|command| command.urls.clone());
            compare("urls", &case.urls, urls.collect());
            let classes = analysis.commands.iter().map(|command| format!("{:?}", command.class));
            compare("classes", &case.classes, classes.collect());
            let via = analysis.commands.iter().map(|command| {
                let labels: Vec<&str> = command.seen_through.iter().map(|context| context.label()).collect();
                format!("{labels:?}")
            });
            let expected = case
                .via
                .as_ref()
                .map(|via| via.iter().map(|labels| format!("{labels:?}")).collect());
            compare("via", &expected, via.collect());
            let escapes = analysis.commands.iter().filter_map(|command| command.escape_option());
            compare("escapes", &case.escapes, escapes.collect());
            let opaque = reasons(&analysis).iter().map(|reason| format!("{reason:?}")).collect();
            compare("opaque", &Some(case.opaque), opaque);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Lines that agents write every day, one a line (`\n` is a line end), and those of them that stay opaque, with the reason.
#[test]
fn everyday_lines_are_understood() {
    let mut opaque = Vec::new();
    for line in include_str!("../../../tests/shell/everyday.txt").lines() {
        let found = reasons(&analysed(&line.replace("\\n", "\n").replace("\\t", "\t")));
        if !found.is_empty() {
            opaque.push(format!("{line}\n    {found:?}\n"));
        }
    }
    assert_eq!(
        opaque.concat(),
        include_str!("../../../tests/shell/everyday-opaque.txt")
    );
}

#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "a test looks into its own folder; the crate itself reads nothing"
)]
fn every_table_is_run() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shell");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    let listed: Vec<&str> = TABLES.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, listed);
}

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{AbsPath, DocumentOrigin, Layer, Mode, call::normalise, cases::Setting};

fn documents(list: &[(Layer, &str, &str)]) -> Vec<Arc<PolicyDocument>> {
    list.iter()
        .map(|(layer, effect, rule)| {
            let origin = DocumentOrigin {
                layer: *layer,
                name: format!("{layer}.jsonc"),
                folder: None,
            };
            let text = json!({ "permissions": { *effect: [rule] } }).to_string();
            Arc::new(PolicyDocument::parse(&text, origin).unwrap())
        })
        .collect()
}

fn setting(mode: Mode) -> Setting {
    let path = |text| AbsPath::parse(text).unwrap();
    Setting::ordinary(&path("/w/app"), Some(&path("/home/dev")), mode)
}

fn bash(line: &str, setting: &Setting) -> Request {
    let input = json!({ "command": line }).as_object().unwrap().clone();
    setting.request(normalise("claude", "Bash", input).unwrap())
}

fn steps(explanation: &Explanation) -> Vec<String> {
    explanation
        .changes
        .iter()
        .map(|change| {
            let steps: Vec<String> = change.steps.iter().map(Step::to_string).collect();
            format!("{}: {}", change.verdict, steps.join(", then "))
        })
        .collect()
}

#[test]
fn every_rule_that_speaks_about_a_part_is_named_in_the_order_in_which_it_counts() {
    let documents = documents(&[
        (Layer::User, "allow", "Bash(git push:*)"),
        (Layer::Team, "deny", "Bash(git push --force:*)"),
        (Layer::Local, "ask", "Bash(git push:*)"),
        (Layer::Project, "allow", "Bash(make)"),
    ]);
    let explained = explain(&documents, &bash("make && git push --force", &setting(Mode::Default)));
    let rules: Vec<Vec<(Layer, bool)>> = explained
        .parts
        .iter()
        .map(|part| {
            part.rules
                .iter()
                .map(|found| (found.rule.layer, found.decided))
                .collect()
        })
        .collect();
    assert_eq!(
        rules,
        [
            vec![(Layer::Team, true), (Layer::Local, false), (Layer::User, false)],
            vec![(Layer::Project, true)]
        ]
    );
    let standing: Vec<Standing> = explained.parts.iter().map(|part| part.standing).collect();
    assert_eq!(standing, [Standing::Forbidden, Standing::Allowed]);
    assert_eq!(
        steps(&explained),
        [
            "allow: remove the deny rule `Bash(git push --force:*)` (team: team.jsonc:1); only an admin of the team can, then \
             remove the ask rule `Bash(git push:*)` (local: local.jsonc:1); it is your own",
            "ask: remove the deny rule `Bash(git push --force:*)` (team: team.jsonc:1); only an admin of the team can",
        ]
    );
}

#[test]
fn where_nothing_matched_a_rule_in_the_nearest_layer_is_the_change() {
    let request = bash("npm run lint -- --fix", &setting(Mode::Default));
    let explained = explain(&[], &request);
    assert_eq!(explained.parts[0].standing, Standing::NothingMatched);
    assert_eq!(
        steps(&explained)[..2],
        [
            "allow: add `Bash(npm run lint -- --fix)` to allow in the local layer (.portcullis/local.jsonc)",
            "allow: add `Bash(npm run lint:*)` to allow in the local layer (.portcullis/local.jsonc)",
        ]
    );
    assert_eq!(explained.no_change, None);

    let mut untrusted = request.clone();
    untrusted.facts.project_trusted = false;
    let explained = explain(
        &documents(&[(Layer::Local, "allow", "Bash(npm run lint:*)")]),
        &untrusted,
    );
    let found = steps(&explained);
    assert!(
        found[0].starts_with("allow: add `Bash(npm run lint -- --fix)` to allow in the user layer"),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|step| step == "allow: trust the project: `portcullis trust`"),
        "{found:?}"
    );
}

#[test]
fn what_no_rule_can_allow_is_said() {
    let explained = explain(&[], &bash("echo x > .git/config", &setting(Mode::Bypass)));
    assert_eq!(explained.parts[0].standing, Standing::Forbidden);
    assert_eq!(explained.changes, []);
    let why = explained.no_change.unwrap();
    assert!(
        why.starts_with("no rule can allow this, only a person's yes each time"),
        "{why}"
    );
}

#[test]
fn several_missing_rules_are_one_change_and_an_allow_needs_none() {
    let explained = explain(&[], &bash("make a; make b", &setting(Mode::Default)));
    let found = steps(&explained);
    assert!(
        found
            .iter()
            .any(|step| step.contains("add `Bash(make a)`") && step.contains("add `Bash(make b)`")),
        "{found:?}"
    );
    let allowed = explain(&[], &bash("ls", &setting(Mode::Default)));
    assert!(allowed.changes.is_empty() && allowed.no_change.is_none());
    assert_eq!(allowed.parts[0].standing, Standing::Allowed);
}

#[test]
fn a_person_and_a_host_can_be_what_is_missing() {
    let mut request = bash("make", &setting(Mode::Default));
    request.interactivity = crate::request::Interactivity::Headless;
    let found = steps(&explain(&[], &request));
    assert!(
        found.contains(&"ask: run it in a session where somebody can be asked".to_owned()),
        "{found:?}"
    );
    let mut request = bash("ls", &setting(Mode::Default));
    request.facts.vouched = false;
    let explained = explain(&[], &request);
    assert_eq!(explained.parts[0].standing, Standing::Unknown);
    assert!(
        steps(&explained)[0].starts_with("allow: ask through portcullis-sandboxd"),
        "{:?}",
        steps(&explained)
    );
}

#[test]
fn every_change_that_is_shown_does_what_it_says() {
    // Each is applied again, from the outside.
    for (line, mode) in [
        ("make", Mode::Default),
        ("make && curl https://a.example", Mode::Default),
        ("git push", Mode::Plan),
        ("rm -rf build", Mode::DontAsk),
        ("cat /etc/passwd", Mode::Default),
        ("sudo make install", Mode::Default),
        ("$X", Mode::Default),
    ] {
        let trial = Trial {
            documents: documents(&[
                (Layer::Team, "deny", "Bash(curl:*)"),
                (Layer::Local, "ask", "Bash(git:*)"),
            ]),
            request: bash(line, &setting(mode)),
        };
        let explained = explain(&trial.documents, &trial.request);
        assert!(!explained.changes.is_empty() || explained.no_change.is_some(), "{line}");
        for change in &explained.changes {
            let mut changed = trial.clone();
            for step in &change.steps {
                changed = step.apply(&changed).unwrap();
            }
            assert_eq!(changed.decide().verdict, change.verdict, "{line}: {change:?}");
            assert!(change.verdict < explained.decision.verdict, "{line}: {change:?}");
        }
    }
}

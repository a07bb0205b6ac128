//! What the modes do beyond the table of `mode_matrix.txt`: a table per rule, with near misses and positive controls.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test program stops at the first surprise"
)]

mod common;

use common::{bash, call, decide, document, edit, fetch, merged, read, request, rules};
use portcullis_policy::{
    Decision, DocumentOrigin, Layer, Mode, PolicyDocument, ToolCall, Verdict,
    evaluate::classifier_matters,
    facts::{PathFact, PathKind, SandboxOffer},
    mode::{ClassifierReport, ClassifierVerdict, Pause},
};
use serde_json::json;

fn without_rules(call: ToolCall, mode: Mode) -> Verdict {
    decide(&[], &request(call, mode)).verdict
}

#[test]
fn in_the_allowlist_modes_every_command_needs_an_entry() {
    for line in [
        "ls",
        "git status",
        "cd src",
        "cd src && ls",
        "mkdir x",
        "npm test",
        "export A=b",
    ] {
        for mode in [Mode::Allowlist, Mode::AllowlistSandbox] {
            assert_eq!(without_rules(bash(line), mode), Verdict::Ask, "{mode}: {line}");
        }
    }
    // A wrapper hides nothing and adds nothing; a line that runs nothing needs no entry; tools need none.
    for (call, expected) in [
        (bash("bash -c ls"), Verdict::Ask),
        (bash("# nothing"), Verdict::Allow),
        (bash("A=1"), Verdict::Allow),
        (read("src/a.rs"), Verdict::Allow),
        (read("/usr/include/stdio.h"), Verdict::Allow),
        (edit("src/a.rs"), Verdict::Allow),
        (call("Grep", json!({"pattern": "x"})), Verdict::Allow),
        (call("WebSearch", json!({"query": "x"})), Verdict::Allow),
        (fetch("https://a.test"), Verdict::Ask),
        (call("mcp__a__b", json!({})), Verdict::Ask),
    ] {
        let name = format!("{call:?}");
        assert_eq!(without_rules(call, Mode::Allowlist), expected, "{name}");
    }
    let entry = [rules(Layer::User, &["Bash(ls *)", "Bash(npm test)"], &[], &[])];
    for (line, expected) in [
        ("ls src", Verdict::Allow),
        ("ls src && npm test", Verdict::Allow),
        ("ls src && cat a", Verdict::Ask),
        ("timeout 5 npm test", Verdict::Allow),
        ("npm test > src/out.txt", Verdict::Allow),
        ("ls ~/.aws/credentials", Verdict::Ask),
    ] {
        assert_eq!(
            decide(&entry, &request(bash(line), Mode::Allowlist)).verdict,
            expected,
            "{line}"
        );
    }
}

#[test]
fn credential_files_outside_the_workspace_ask_in_the_modes_of_cursor() {
    for mode in [
        Mode::AutoReview,
        Mode::Allowlist,
        Mode::AllowlistSandbox,
        Mode::RunEverything,
    ] {
        for (file, expected) in [
            ("/home/dev/.ssh/id_ed25519", Verdict::Ask),
            ("/home/dev/.ssh/config", Verdict::Allow),
            ("/home/dev/.aws/credentials", Verdict::Ask),
            ("/home/dev/.netrc", Verdict::Ask),
            ("/srv/tls/server.key", Verdict::Ask),
            ("/srv/tls/readme.txt", Verdict::Allow),
            ("server.key", Verdict::Allow),
        ] {
            assert_eq!(without_rules(read(file), mode), expected, "{mode}: {file}");
        }
    }
    for (line, expected) in [
        ("cat ~/.ssh/id_rsa", Verdict::Ask),
        ("cat ~/.ssh/*", Verdict::Ask),
        ("cat \"$X\"", Verdict::Ask),
        ("cat ~/notes.txt", Verdict::Allow),
        ("head < ~/.netrc", Verdict::Ask),
    ] {
        assert_eq!(without_rules(bash(line), Mode::AutoReview), expected, "{line}");
        assert_eq!(without_rules(bash(line), Mode::RunEverything), expected, "{line}");
    }
    // In the other modes the table has one row for all that lies outside.
    assert_eq!(without_rules(read("/home/dev/.netrc"), Mode::Bypass), Verdict::Allow);
    // A rule that names it is a person's word.
    let named = [rules(Layer::User, &["Read(~/.netrc)"], &[], &[])];
    assert_eq!(
        decide(&named, &request(read("/home/dev/.netrc"), Mode::AutoReview)).verdict,
        Verdict::Allow
    );
}

fn with(documents: &[std::sync::Arc<portcullis_policy::PolicyDocument>], call: ToolCall, mode: Mode) -> Decision {
    decide(documents, &request(call, mode))
}

fn auto_enabled(layer: Layer) -> std::sync::Arc<portcullis_policy::PolicyDocument> {
    document(layer, &json!({"modes": {"auto": true}}))
}

fn classified(
    documents: &[std::sync::Arc<portcullis_policy::PolicyDocument>],
    call: ToolCall,
    mode: Mode,
    report: ClassifierReport,
) -> Decision {
    let mut request = request(call, mode);
    request.session.classifier = report;
    decide(documents, &request)
}

fn allows() -> ClassifierReport {
    ClassifierReport::Verdict(ClassifierVerdict::Allow)
}

#[test]
fn auto_exists_only_if_user_or_team_enable_it() {
    for (documents, exists) in [
        (vec![], false),
        (vec![auto_enabled(Layer::User)], true),
        (vec![auto_enabled(Layer::Team)], true),
        (
            vec![
                auto_enabled(Layer::User),
                document(Layer::Team, &json!({"modes": {"auto": false}})),
            ],
            false,
        ),
        (
            vec![
                auto_enabled(Layer::Team),
                document(Layer::Project, &json!({"modes": {"auto": false}})),
            ],
            false,
        ),
        (
            vec![
                auto_enabled(Layer::User),
                document(Layer::Team, &json!({"locks": {"managedRulesOnly": true}})),
            ],
            false,
        ),
    ] {
        let decision = classified(&documents, bash("npm test"), Mode::Auto, allows());
        let expected = if exists { Verdict::Allow } else { Verdict::Ask };
        assert_eq!(decision.verdict, expected, "{}", decision.user_message);
        if !exists {
            assert!(
                decision.user_message.contains("neither user nor team"),
                "{}",
                decision.user_message
            );
            assert_eq!(with(&documents, read("a"), Mode::Auto).verdict, Verdict::Allow);
        }
    }
    // A team that permits auto and not default permits nothing where auto does not exist.
    let only_auto = document(Layer::Team, &json!({"modes": {"permitted": ["auto"]}}));
    assert_eq!(with(&[only_auto], read("a"), Mode::Auto).verdict, Verdict::Deny);
}

#[test]
fn a_project_selects_no_mode_that_takes_the_decision_from_the_person() {
    let origin = |layer| DocumentOrigin {
        layer,
        name: "x.jsonc".to_owned(),
        folder: None,
    };
    for mode in Mode::ALL {
        let text = json!({"permissions": {"defaultMode": mode.to_string()}}).to_string();
        let refused = matches!(mode, Mode::Auto | Mode::AutoReview | Mode::Bypass | Mode::RunEverything);
        for layer in [Layer::Project, Layer::Local] {
            let read = PolicyDocument::parse(&text, origin(layer));
            assert_eq!(read.is_err(), refused, "{layer}: {mode}");
        }
        assert!(PolicyDocument::parse(&text, origin(Layer::User)).is_ok(), "{mode}");
    }
    for (section, refused) in [
        (json!({"modes": {"auto": true}}), true),
        (json!({"modes": {"auto": false}}), false),
        (json!({"modes": {"permitted": ["plan"]}}), true),
        (json!({"protections": {"deletion": false}}), true),
        (json!({"protections": {"externalFiles": true, "browser": true}}), false),
        (json!({"sandbox": {"always": true}}), false),
        (json!({"sandbox": {"autoAllowIfSandboxed": true}}), true),
    ] {
        let read = PolicyDocument::parse(&section.to_string(), origin(Layer::Local));
        assert_eq!(read.is_err(), refused, "{section}");
        assert!(
            PolicyDocument::parse(&section.to_string(), origin(Layer::Team)).is_ok(),
            "{section}"
        );
    }
}

#[test]
fn broad_rules_are_suspended_in_the_automatic_modes_and_said_so() {
    let auto = auto_enabled(Layer::User);
    for (rule, line, suspended) in [
        ("Bash", "npm test", true),
        ("Bash(*)", "npm test", true),
        ("Bash(python *)", "python x.py", true),
        ("Bash(python x.py)", "python x.py", false),
        ("Bash(npx *)", "npx thing", true),
        ("Bash(npm run *)", "npm run lint", false),
        ("Bash(ssh *)", "ssh host uptime", true),
        ("Bash(cargo *)", "cargo publish", false),
    ] {
        let documents = [auto.clone(), rules(Layer::User, &[rule], &[], &[])];
        for mode in [Mode::Auto, Mode::AutoReview] {
            let decision = with(&documents, bash(line), mode);
            let expected = if suspended { Verdict::Ask } else { Verdict::Allow };
            assert_eq!(decision.verdict, expected, "{mode} {rule}: {}", decision.user_message);
            let said = decision
                .trace
                .iter()
                .any(|entry| entry.reason.contains("is suspended in"));
            assert_eq!(said, suspended, "{mode} {rule}: {:?}", decision.trace);
        }
        // The control: in another mode the same rule allows.
        assert_eq!(
            with(&documents, bash(line), Mode::Default).verdict,
            Verdict::Allow,
            "{rule}"
        );
    }
    // Deny and ask rules are never suspended.
    let deny = [auto.clone(), rules(Layer::User, &[], &[], &["Bash(python *)"])];
    assert_eq!(
        classified(&deny, bash("python x.py"), Mode::Auto, allows()).verdict,
        Verdict::Deny
    );
    let server = [auto, rules(Layer::User, &["mcp__github"], &[], &[])];
    assert_eq!(
        with(&server, call("mcp__github__x", json!({})), Mode::Auto).verdict,
        Verdict::Allow
    );
}

#[test]
fn what_the_classifier_says_counts_where_the_mode_leaves_it_to_it_and_nowhere_else() {
    let documents = [auto_enabled(Layer::User)];
    let deny = || {
        ClassifierReport::Verdict(ClassifierVerdict::Deny {
            advice: "use the test server".to_owned(),
        })
    };
    let pause = ClassifierReport::Paused(Pause { in_a_row: 3, total: 7 });
    let failed = ClassifierReport::Failed {
        reason: "it took too long".to_owned(),
    };
    for (report, verdict, words) in [
        (ClassifierReport::Off, Verdict::Ask, "none is configured"),
        (ClassifierReport::NotAsked, Verdict::Ask, "was not asked"),
        (allows(), Verdict::Allow, "the classifier allows"),
        (deny(), Verdict::Deny, "use the test server"),
        (
            ClassifierReport::Verdict(ClassifierVerdict::Ask {
                reason: "it deploys".to_owned(),
            }),
            Verdict::Ask,
            "it deploys",
        ),
        (
            ClassifierReport::BlockedBefore,
            Verdict::Ask,
            "blocked the same call before",
        ),
        (pause, Verdict::Ask, "is paused"),
        (failed, Verdict::Ask, "it took too long"),
    ] {
        let decision = classified(&documents, bash("npm publish"), Mode::Auto, report.clone());
        assert_eq!(decision.verdict, verdict, "{report:?}: {}", decision.user_message);
        assert!(
            decision.user_message.contains(words),
            "{report:?}: {}",
            decision.user_message
        );
        let mut headless = request(bash("npm publish"), Mode::Auto);
        headless.interactivity = portcullis_policy::request::Interactivity::Headless;
        headless.session.classifier = report.clone();
        let decision = decide(&documents, &headless);
        let expected = if verdict == Verdict::Allow {
            Verdict::Allow
        } else {
            Verdict::Deny
        };
        assert_eq!(decision.verdict, expected, "{report:?} with nobody there");
    }
    let other = |call: ToolCall| classified(&documents, call, Mode::Auto, allows()).verdict;
    for (call, expected) in [
        (edit("src/a.rs"), Verdict::Allow),
        (read("/etc/hosts"), Verdict::Allow),
        (fetch("https://a.test"), Verdict::Allow),
        (call("mcp__a__b", json!({})), Verdict::Allow),
        (edit(".git/hooks/pre-commit"), Verdict::Ask),
        (edit(".claude/settings.local.json"), Verdict::Ask),
        (bash("echo x > .git/hooks/pre-commit"), Verdict::Ask),
        (bash("rm -rf /"), Verdict::Ask),
        (bash("rm -rf ~"), Verdict::Ask),
        (bash("git config core.pager x"), Verdict::Ask),
        (bash("portcullis trust"), Verdict::Ask),
        (call("ExitPlanMode", json!({"plan": "x"})), Verdict::Ask),
        (call("Mystery", json!({})), Verdict::Ask),
        (bash("ls ) ("), Verdict::Ask),
    ] {
        let name = format!("{:?}", call.action);
        assert_eq!(other(call), expected, "{name}");
    }
    // In a mode that leaves nothing to it, its word is nothing.
    for mode in [
        Mode::Default,
        Mode::AcceptEdits,
        Mode::Allowlist,
        Mode::DontAsk,
        Mode::Plan,
    ] {
        let verdict = classified(&documents, bash("npm publish"), mode, allows()).verdict;
        assert_ne!(verdict, Verdict::Allow, "{mode}");
    }
    // Nor does it lift an ask of a rule, or what a person has to say about another part.
    let ask = [
        documents[0].clone(),
        rules(Layer::User, &[], &["Bash(npm publish *)"], &[]),
    ];
    assert_eq!(
        classified(&ask, bash("npm publish"), Mode::Auto, allows()).verdict,
        Verdict::Ask
    );
    let two = classified(&documents, bash("npm publish && rm -rf ~"), Mode::Auto, allows());
    assert_eq!(two.verdict, Verdict::Ask);
}

#[test]
fn what_is_not_known_is_left_to_no_classifier_and_no_sandbox() {
    let documents = [auto_enabled(Layer::User)];
    for (call, expected) in [
        (edit("src/a.rs"), Verdict::Ask),
        (read("/srv/a"), Verdict::Ask),
        (bash("touch src/a.rs"), Verdict::Ask),
        (bash("echo x > \"$F\""), Verdict::Ask),
        (bash("rm \"$F\""), Verdict::Ask),
    ] {
        let name = format!("{:?}", call.action);
        for mode in [Mode::Auto, Mode::AutoReview] {
            let mut request = offered(call.clone(), mode);
            request.session.classifier = allows();
            // The control: with the facts the classifier decides, but of what only the shell knows.
            let known = decide(&documents, &request);
            assert_eq!(
                known.verdict == Verdict::Allow,
                !name.contains('$'),
                "{mode} {name}: {}",
                known.user_message
            );
            request.facts.paths.clear();
            let decision = decide(&documents, &request);
            assert_eq!(decision.verdict, expected, "{mode} {name}: {}", decision.user_message);
        }
    }
}

#[test]
fn a_classifier_is_asked_only_if_its_word_can_decide() {
    let documents = merged(&[auto_enabled(Layer::User)]);
    for (line, mode, expected) in [
        ("npm publish", Mode::Auto, true),
        ("npm publish", Mode::AutoReview, true),
        ("npm publish", Mode::Default, false),
        ("npm publish", Mode::Bypass, false),
        ("ls", Mode::Auto, false),
        ("rm -rf ~", Mode::Auto, false),
        ("npm publish && echo x > .git/config", Mode::Auto, false),
        // Deletion protection asks a person whatever it says.
        ("rm src/a.rs", Mode::AutoReview, false),
        ("rm src/a.rs", Mode::Auto, true),
    ] {
        let asked = classifier_matters(&documents, &request(bash(line), mode));
        assert_eq!(asked, expected, "{mode}: {line}");
    }
    assert!(!classifier_matters(
        &merged(&[]),
        &request(bash("npm publish"), Mode::Auto)
    ));
}

fn offered(call: ToolCall, mode: Mode) -> portcullis_policy::Request {
    let mut request = request(call, mode);
    request.facts.sandbox = SandboxOffer::Full;
    request
}

#[test]
fn in_plan_mode_only_the_agents_own_plan_may_be_written() {
    let plan = "/home/dev/.claude/plans/work.md";
    let led = |file: &str, named: Option<&str>, mode: Mode, real: Option<&str>, deny: &[&str]| {
        let mut request = request(edit(file), mode);
        request.session.plan_file = named.map(common::path);
        if let Some(real) = real {
            request.facts.paths.insert(
                common::path(file),
                PathFact {
                    real: Some(common::path(real)),
                    kind: PathKind::File,
                },
            );
        }
        decide(&[rules(Layer::User, &[], &[], deny)], &request).verdict
    };
    for (file, named, expected) in [
        (plan, Some(plan), Verdict::Allow),
        (plan, None, Verdict::Deny),
        ("/home/dev/.claude/plans/other.md", Some(plan), Verdict::Deny),
        (
            "/home/dev/.claude/settings.json",
            Some("/home/dev/.claude/settings.json"),
            Verdict::Deny,
        ),
        (
            "/home/dev/proj/.git/config",
            Some("/home/dev/proj/.git/config"),
            Verdict::Deny,
        ),
        ("/home/dev/.bashrc", Some("/home/dev/.bashrc"), Verdict::Deny),
        // A claim about another file lifts the denial, and a person says.
        ("/home/dev/proj/PLAN.md", Some("/home/dev/proj/PLAN.md"), Verdict::Ask),
        ("/home/dev/proj/PLAN.md", Some(plan), Verdict::Deny),
    ] {
        assert_eq!(led(file, named, Mode::Plan, None, &[]), expected, "{file} {named:?}");
    }
    assert_eq!(
        led(plan, Some(plan), Mode::Plan, Some("/home/dev/.bashrc"), &[]),
        Verdict::Deny,
        "a link"
    );
    assert_eq!(
        led(plan, Some(plan), Mode::Plan, None, &["Edit(~/.claude/**)"]),
        Verdict::Deny,
        "a rule"
    );
    // It is for plan mode alone.
    assert_eq!(led(plan, Some(plan), Mode::Bypass, None, &[]), Verdict::Ask);
    let mut delete = request(bash(&format!("rm {plan}")), Mode::Plan);
    delete.session.plan_file = Some(common::path(plan));
    assert_eq!(decide(&[], &delete).verdict, Verdict::Deny);
}

#[test]
fn plan_mode_is_entered_freely_and_left_by_a_person() {
    for mode in Mode::ALL {
        assert_eq!(
            without_rules(call("EnterPlanMode", json!({})), mode),
            Verdict::Allow,
            "{mode}"
        );
        let leave = decide(
            &[rules(Layer::Team, &["ExitPlanMode"], &[], &[])],
            &request(call("ExitPlanMode", json!({"plan": "x"})), mode),
        );
        let expected = if mode == Mode::DontAsk {
            Verdict::Deny
        } else {
            Verdict::Ask
        };
        assert_eq!(leave.verdict, expected, "{mode}");
    }
}

#[test]
fn a_session_lets_everything_run_only_if_it_started_so() {
    for (mode, started, expected) in [
        (Mode::Bypass, None, Verdict::Allow),
        (Mode::Bypass, Some(Mode::Bypass), Verdict::Allow),
        (Mode::Bypass, Some(Mode::Default), Verdict::Ask),
        (Mode::Bypass, Some(Mode::RunEverything), Verdict::Ask),
        (Mode::RunEverything, Some(Mode::RunEverything), Verdict::Allow),
        (Mode::RunEverything, Some(Mode::Allowlist), Verdict::Ask),
        (Mode::AcceptEdits, Some(Mode::Default), Verdict::Ask),
    ] {
        let mut request = request(bash("npm publish"), mode);
        request.session.started_in = started;
        let decision = decide(&[], &request);
        assert_eq!(decision.verdict, expected, "{mode} after {started:?}");
        let said = decision.user_message.contains("started in");
        assert_eq!(
            said,
            mode.lets_everything_run() && expected == Verdict::Ask,
            "{}",
            decision.user_message
        );
    }
    // Judged as Cursor's allowlist: edits go on.
    let mut request = request(edit("src/a.rs"), Mode::RunEverything);
    request.session.started_in = Some(Mode::Allowlist);
    assert_eq!(decide(&[], &request).verdict, Verdict::Allow);
}

#[test]
fn where_the_team_sets_the_mode_lower_layers_add_nothing() {
    let mode = |layer, mode: &str| document(layer, &json!({"permissions": {"defaultMode": mode}}));
    for (documents, expected) in [
        (vec![mode(Layer::User, "bypass")], Some(Mode::Bypass)),
        (
            vec![mode(Layer::User, "bypass"), mode(Layer::Team, "default")],
            Some(Mode::Default),
        ),
        (
            vec![mode(Layer::Project, "plan"), mode(Layer::Team, "acceptEdits")],
            Some(Mode::AcceptEdits),
        ),
        (
            vec![mode(Layer::User, "run-everything"), mode(Layer::Local, "allowlist")],
            Some(Mode::Allowlist),
        ),
        // Of two documents of one layer the stricter counts.
        (
            vec![mode(Layer::Team, "run-everything"), mode(Layer::Team, "allowlist")],
            Some(Mode::Allowlist),
        ),
        (vec![], None),
    ] {
        assert_eq!(merged(&documents).default_mode(), expected, "{documents:?}");
    }
}

#[test]
fn protections_take_back_what_no_rule_allowed() {
    let outside = "/srv/notes.txt";
    for (call, cursor, others) in [
        (bash("rm src/a.rs"), Verdict::Ask, Verdict::Allow),
        (bash("find src -name x -delete"), Verdict::Ask, Verdict::Allow),
        (bash("echo x > /srv/notes.txt"), Verdict::Ask, Verdict::Allow),
        (edit(outside), Verdict::Ask, Verdict::Allow),
        (bash("mv src/a.rs src/b.rs"), Verdict::Allow, Verdict::Allow),
        (bash("mv src/a.rs /srv/b.rs"), Verdict::Ask, Verdict::Allow),
        (bash("git clean -fdx src"), Verdict::Ask, Verdict::Allow),
        (edit("src/a.rs"), Verdict::Allow, Verdict::Allow),
        (bash("npm publish"), Verdict::Allow, Verdict::Allow),
        (bash("npm test > /dev/null"), Verdict::Allow, Verdict::Allow),
    ] {
        let name = format!("{:?}", call.action);
        assert_eq!(without_rules(call.clone(), Mode::RunEverything), cursor, "{name}");
        assert_eq!(without_rules(call.clone(), Mode::Bypass), others, "{name}");
        let off = document(
            Layer::User,
            &json!({"protections": {"deletion": false, "externalFiles": false, "browser": false}}),
        );
        assert_eq!(
            with(&[off], call.clone(), Mode::RunEverything).verdict,
            Verdict::Allow,
            "{name} off"
        );
        let on = document(
            Layer::Project,
            &json!({"protections": {"deletion": true, "externalFiles": true}}),
        );
        assert_eq!(with(&[on], call, Mode::Bypass).verdict, cursor, "{name} on");
    }
    // Never one that came from a rule.
    for (rule, call) in [
        ("Bash(rm *)", bash("rm src/a.rs")),
        ("Delete(src/**)", bash("rm src/a.rs")),
        ("Edit(//srv/**)", edit(outside)),
        ("Edit(//srv/**)", bash("echo x > /srv/notes.txt")),
    ] {
        let documents = [rules(Layer::User, &[rule], &[], &[])];
        let decision = with(&documents, call, Mode::RunEverything);
        assert_eq!(decision.verdict, Verdict::Allow, "{rule}: {}", decision.user_message);
    }
    // The classifier's allow as well.
    let documents = [
        auto_enabled(Layer::User),
        document(Layer::User, &json!({"protections": {"deletion": true}})),
    ];
    assert_eq!(
        classified(&documents, bash("rm src/a.rs"), Mode::Auto, allows()).verdict,
        Verdict::Ask
    );
    assert_eq!(
        classified(&documents[..1], bash("rm src/a.rs"), Mode::Auto, allows()).verdict,
        Verdict::Allow
    );
}

//! When the sandbox stands for a question, and when every command has to run in it.

mod common;

use common::{bash, decide, document, read, request, rules};
use portcullis_policy::{
    DecidedBy, EffectiveRuleset, Layer, Mode, Obligation, Request, ToolCall, Verdict, evaluate,
    facts::SandboxOffer,
    mode::{ClassifierReport, ClassifierVerdict},
};
use serde_json::json;

fn offered(call: ToolCall, mode: Mode) -> Request {
    let mut request = request(call, mode);
    request.facts.sandbox = SandboxOffer::Full;
    request
}

#[test]
fn the_sandbox_comes_first_where_the_mode_or_policy_says_so() {
    let by_policy = [document(
        Layer::User,
        &json!({"sandbox": {"autoAllowIfSandboxed": true}}),
    )];
    for (mode, alone, policy) in [
        (Mode::Default, Verdict::Ask, Verdict::Allow),
        (Mode::AcceptEdits, Verdict::Ask, Verdict::Allow),
        (Mode::Plan, Verdict::Deny, Verdict::Deny),
        (Mode::DontAsk, Verdict::Deny, Verdict::Deny),
        (Mode::AutoReview, Verdict::Allow, Verdict::Allow),
        (Mode::Allowlist, Verdict::Ask, Verdict::Allow),
        (Mode::AllowlistSandbox, Verdict::Allow, Verdict::Allow),
    ] {
        for (documents, expected) in [(&[][..], alone), (&by_policy[..], policy)] {
            let decision = decide(documents, &offered(bash("npm test"), mode));
            assert_eq!(decision.verdict, expected, "{mode}: {}", decision.user_message);
            let bound = decision.obligations == [Obligation::RunInSandbox];
            assert_eq!(bound, expected == Verdict::Allow, "{mode}");
        }
    }
    let first = |line: &str| decide(&[], &offered(bash(line), Mode::AllowlistSandbox));
    for (line, fits) in [
        ("npm test", true),
        ("ls", true),
        ("cd src && make", true),
        ("python x.py > src/out.txt", true),
        ("mkdir src/x", true),
        ("timeout 5 make", true),
        ("cat /usr/include/stdio.h", true),
        ("make > /srv/out.txt", false),
        ("cat ~/.ssh/id_rsa", false),
        ("make > .git/config", false),
        ("$X y", false),
        ("make | sh", false),
        ("sudo make install", false),
        ("su -c make", false),
        ("docker ps", false),
        ("systemctl status x", false),
        ("kubectl get pods", false),
        ("crontab -l", false),
        ("curl https://a.test", false),
        ("git push", false),
        ("git commit -m push", true),
        ("git -C src fetch", false),
        ("ssh host make", false),
        ("make && docker ps", false),
        ("portcullis trust", false),
        ("rm src/a.rs", false),
    ] {
        let decision = first(line);
        let expected = if fits { Verdict::Allow } else { Verdict::Ask };
        assert_eq!(decision.verdict, expected, "{line}: {}", decision.user_message);
    }
    // It has to be offered, by a host, whole.
    for change in [
        |r: &mut Request| r.facts.sandbox = SandboxOffer::None,
        |r: &mut Request| r.facts.sandbox = SandboxOffer::Partial,
        |r: &mut Request| r.facts.vouched = false,
    ] {
        let mut request = offered(bash("npm test"), Mode::AllowlistSandbox);
        change(&mut request);
        assert_eq!(decide(&[], &request).verdict, Verdict::Ask);
    }
    let decision = first("docker ps");
    assert!(
        decision.user_message.contains("speaks to a service"),
        "{}",
        decision.user_message
    );
    // In auto-review what does not fit goes to the classifier.
    let mut request = offered(bash("docker build ."), Mode::AutoReview);
    request.session.classifier = ClassifierReport::Verdict(ClassifierVerdict::Allow);
    let decision = decide(&[], &request);
    assert_eq!(
        (decision.verdict, decision.decided_by, decision.obligations.len()),
        (Verdict::Allow, DecidedBy::Classifier, 0)
    );
}

#[test]
fn where_policy_wants_every_command_in_the_sandbox_rules_are_bound_to_it_too() {
    for layer in [Layer::User, Layer::Project, Layer::Local, Layer::Team] {
        let documents = [
            document(layer, &json!({"sandbox": {"always": true}})),
            rules(Layer::User, &["Bash(npm test)"], &[], &[]),
            // No other layer takes it back.
            document(Layer::Team, &json!({"sandbox": {"always": false}})),
        ];
        let ruleset = EffectiveRuleset::merge(&documents, false);
        for line in ["npm test", "ls"] {
            let decision = evaluate(&ruleset, &offered(bash(line), Mode::Default));
            assert_eq!(decision.verdict, Verdict::Allow, "{layer}: {}", decision.user_message);
            assert_eq!(decision.obligations, [Obligation::RunInSandbox], "{layer}: {line}");
            let none = evaluate(&ruleset, &request(bash(line), Mode::Default));
            assert_eq!(
                (none.verdict, none.decided_by),
                (Verdict::Ask, DecidedBy::Control),
                "{layer}: {line}"
            );
        }
        // It is about commands.
        let tool = evaluate(&ruleset, &request(read("a"), Mode::Default));
        assert_eq!((tool.verdict, tool.obligations.len()), (Verdict::Allow, 0));
    }
    let without = [rules(Layer::User, &["Bash(npm test)"], &[], &[])];
    assert!(
        decide(&without, &offered(bash("npm test"), Mode::Default))
            .obligations
            .is_empty()
    );
}

//! What decisions say about the sandbox: what the documents describe, what policy accepts, and trials.

//! With the real engine: pushed policy, host documents and the starter policy decide.

use portcullis_proto::v1;
use prost::Message as _;

use crate::{
    engine::{push, start},
    harness::{execution, facts},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_without_landlock_counts_only_where_policy_accepts_it() {
    let server = start().await;
    let policy = |accepts: &str| {
        format!(r#"{{ "permissions": {{ "allow": [] }}, "sandbox": {{ {accepts} "autoAllowIfSandboxed": true }} }}"#)
    };
    let asked = |missing: &[&str], project: &str| v1::DecideRequest {
        facts: Some(v1::HostFacts {
            sandbox: Some(v1::Enforcement {
                status: v1::EnforcementStatus::Partial.into(),
                tier: v1::SandboxTier::WithoutLandlock.into(),
                missing: missing.iter().map(ToString::to_string).collect(),
                ..v1::Enforcement::default()
            }),
            documents: vec![v1::HostDocument {
                format: v1::DocumentFormat::SandboxFile.into(),
                layer: v1::Layer::Project.into(),
                path: "/w/.portcullis/sandbox.json".into(),
                content: project.into(),
            }],
            ..facts()
        }),
        ..execution(&["acme-build", "now"])
    };
    let landlock = ["landlock: the kernel does not offer it"];
    let both = ["landlock: the kernel does not offer it", "hidden sockets: too many"];
    let accepts = r#""acceptWithoutLandlock": true,"#;
    let refuses = r#"{ "acceptWithoutLandlock": false }"#;
    let wants = r#"{ "acceptWithoutLandlock": true }"#;
    for (team, missing, project, effect) in [
        (accepts, &landlock[..], "{}", v1::Effect::Allow),
        ("", &landlock, "{}", v1::Effect::Ask),
        // A project that nobody trusts may narrow and not widen.
        ("", &landlock, wants, v1::Effect::Ask),
        (accepts, &landlock, refuses, v1::Effect::Ask),
        (accepts, &both, "{}", v1::Effect::Ask),
    ] {
        push(&server, &policy(team)).await;
        let answer = server
            .host()
            .decide(asked(missing, project))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(answer.effect(), effect, "{team} {missing:?} {project}: {answer:?}");
        if effect == v1::Effect::Allow {
            assert!(answer.sandbox.unwrap().accept_without_landlock);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_without_namespaces_counts_only_for_what_reads_and_where_policy_accepts_it() {
    let server = start().await;
    let reads = r#""type": "workspace_readonly", "networkMode": "sandbox_json_only""#;
    let policy = |keys: &str, rest: &str| {
        format!(
            r#"{{ "permissions": {{ "allow": [] }}, "sandbox": {{ {keys}, "autoAllowIfSandboxed": true }} {rest} }}"#
        )
    };
    let accepts = format!(r#"{reads}, "acceptWithoutNamespaces": true"#);
    let asked = |tier: v1::SandboxTier, missing: &[&str]| v1::DecideRequest {
        facts: Some(v1::HostFacts {
            sandbox: Some(v1::Enforcement {
                status: v1::EnforcementStatus::Partial.into(),
                tier: tier.into(),
                missing: missing.iter().map(ToString::to_string).collect(),
                ..v1::Enforcement::default()
            }),
            ..facts()
        }),
        ..execution(&["acme-build", "now"])
    };
    let alone = [
        "namespaces: none can be made here",
        "namespaces: other processes can be seen",
    ];
    let more = ["namespaces: none can be made here", "hidden sockets: too many"];
    let without = v1::SandboxTier::WithoutNamespaces;
    let and = |key: &str| format!("{accepts}, {key}");
    for (team, tier, missing, effect) in [
        (policy(&accepts, ""), without, &alone[..], v1::Effect::Allow),
        (
            policy(&and(r#""denyRead": ["~/.aws/**"]"#), ""),
            without,
            &alone,
            v1::Effect::Allow,
        ),
        (policy(reads, ""), without, &alone, v1::Effect::Ask),
        (policy(&accepts, ""), without, &more, v1::Effect::Ask),
        (policy(&accepts, ""), v1::SandboxTier::None, &alone, v1::Effect::Ask),
        (
            policy(&format!(r#"{reads}, "acceptWithoutLandlock": true"#), ""),
            without,
            &alone[..1],
            v1::Effect::Ask,
        ),
        (
            policy(&accepts.replace("readonly", "readwrite"), ""),
            without,
            &alone,
            v1::Effect::Ask,
        ),
        (
            policy(&and(r#""additionalReadwritePaths": ["/x"]"#), ""),
            without,
            &alone,
            v1::Effect::Ask,
        ),
        (
            policy(&and(r#""networkPolicy": { "allow": ["a.example"] }"#), ""),
            without,
            &alone,
            v1::Effect::Ask,
        ),
        (
            policy(&and(r#""denyRead": [".env"]"#), ""),
            without,
            &alone,
            v1::Effect::Ask,
        ),
        (
            policy(&accepts, r#", "ignore": { "patterns": [".env"] }"#),
            without,
            &alone,
            v1::Effect::Ask,
        ),
    ] {
        push(&server, &team).await;
        let answer = server.host().decide(asked(tier, missing)).await.unwrap().into_inner();
        assert_eq!(answer.effect(), effect, "{team} {missing:?}: {answer:?}");
        if effect == v1::Effect::Allow {
            assert!(answer.sandbox.unwrap().accept_without_namespaces);
        }
    }
}

/// Teams, people and projects say what the sandbox may do; what an untrusted project grants does not count.
#[tokio::test(flavor = "multi_thread")]
async fn an_allow_carries_the_sandbox_that_the_documents_describe() {
    let server = start().await;
    push(
        &server,
        r#"{ "permissions": { "allow": ["Bash(acme-build *)"], "deny": ["Read(/keys/**)"] },
            "ignore": { "patterns": ["*.key", "!a.key"] }, "sandbox": { "denyRead": ["*.pem"] } }"#,
    )
    .await;
    let project = r#"{ "type": "workspace_readonly", "additionalReadwritePaths": ["/w/p/out", "cache"],
        "additionalReadonlyPaths": ["/w/p/token"],
        "networkPolicy": { "allow": ["api.example.com"], "deny": ["evil.example.com"] } }"#;
    let asked = |text: &str, project_trusted| {
        let document = v1::HostDocument {
            format: v1::DocumentFormat::SandboxFile.into(),
            layer: v1::Layer::Project.into(),
            path: "/w/.portcullis/sandbox.json".into(),
            content: text.into(),
        };
        v1::DecideRequest {
            facts: Some(v1::HostFacts {
                documents: vec![document],
                project_trusted,
                ..facts()
            }),
            ..execution(&["acme-build", "now"])
        }
    };
    let decide = async |text: &str, trusted| server.host().decide(asked(text, trusted)).await.unwrap().into_inner();

    let trusted = decide(project, true).await;
    let profile = trusted.sandbox.unwrap();
    assert_eq!(profile.read_write_paths, ["/w/p/out", "/w/cache"]);
    assert_eq!(profile.workspace(), v1::WorkspaceAccess::ReadOnly);
    let denials = |profile: &v1::SandboxProfile| {
        let denials = profile.read_denials.iter();
        denials
            .map(|denial| (denial.reading(), denial.pattern.clone(), denial.exceptions.clone()))
            .collect::<Vec<_>>()
    };
    let expected = [
        (v1::DenialReading::Entry, "*.pem".to_owned(), Vec::new()),
        (v1::DenialReading::Rule, "/keys/**".to_owned(), Vec::new()),
        (
            v1::DenialReading::IgnoreList,
            "*.key".to_owned(),
            vec!["!a.key".to_owned()],
        ),
    ];
    assert_eq!(denials(&profile), expected);
    assert_eq!(profile.revealed_paths, ["/w/p/token", "/w/p/out", "/w/cache"]);
    let rules = profile.network_rules.unwrap();
    assert!(rules.allow.contains(&"api.example.com".to_owned()));
    assert_eq!(rules.deny, ["evil.example.com"]);

    let untrusted = decide(project, false).await.sandbox.unwrap();
    assert_eq!(untrusted.workspace(), v1::WorkspaceAccess::ReadOnly);
    assert_eq!(untrusted.read_write_paths, [""; 0]);
    assert_eq!(
        (denials(&untrusted), untrusted.revealed_paths.as_slice()),
        (expected.to_vec(), &[][..])
    );
    let rules = untrusted.network_rules.unwrap();
    assert!(!rules.allow.contains(&"api.example.com".to_owned()));
    assert_eq!(rules.deny, ["evil.example.com"]);

    // What it narrows cannot be told: nothing is allowed, and the place of the fault is named.
    let faulty = decide("{\n  \"typ\": 1\n}", true).await;
    assert_eq!(faulty.effect(), v1::Effect::Ask);
    assert!(
        faulty.user_message.contains("sandbox.json:2:3"),
        "{}",
        faulty.user_message
    );
}

#[tokio::test]
async fn a_trial_is_recorded_bounded_by_the_team_and_for_hosts_only() {
    let server = start().await;
    let trial = |policy: &str| {
        let mut message = execution(&["rm", "-rf", "x"]);
        let input = format!(r#"{{"command":"rm -rf x","sandbox":{policy}}}"#);
        message.call.as_mut().unwrap().input_json = input.into_bytes();
        message.execution.as_mut().unwrap().trial = true;
        message
    };
    let wide = r#"{ "additionalReadwritePaths": ["/srv"], "networkPolicy": { "default": "allow" }, "networkMode": "sandbox_json_only" }"#;
    push(
        &server,
        r#"{ "permissions": { "deny": ["Bash(rm *)", "Read(//keys/**)"] } }"#,
    )
    .await;
    let answer = server.host().decide(trial(wide)).await.unwrap().into_inner();
    assert_eq!(
        (answer.effect(), answer.decided_by()),
        (v1::Effect::Allow, v1::DecidedBy::Sandbox)
    );
    let profile = answer.sandbox.unwrap();
    assert_eq!(profile.read_write_paths, ["/srv"]);
    assert_eq!(profile.environment, ["*"]);
    assert!(profile.network_rules.unwrap().default_allow);
    assert!(profile.read_denials.iter().any(|denial| denial.pattern == "//keys/**"));
    let claims = v1::TicketClaims::decode(answer.ticket.unwrap().claims.as_slice()).unwrap();
    assert_eq!(claims.profile.unwrap().environment, ["*"]);

    push(
        &server,
        r#"{ "sandbox": { "type": "workspace_readonly", "networkPolicy": { "default": "deny", "allow": [] } }, "locks": { "managedRulesOnly": true } }"#,
    )
    .await;
    let answer = server.host().decide(trial(wide)).await.unwrap().into_inner();
    let profile = answer.sandbox.unwrap();
    assert_eq!(profile.workspace(), v1::WorkspaceAccess::ReadOnly);
    assert_eq!(profile.network(), v1::NetworkAccess::None);
    assert!(profile.read_write_paths.is_empty(), "{:?}", profile.read_write_paths);

    push(&server, r#"{ "sandbox": { "allowTrials": false } }"#).await;
    let answer = server.host().decide(trial(wide)).await.unwrap().into_inner();
    assert_eq!(
        (answer.effect(), answer.decided_by()),
        (v1::Effect::Deny, v1::DecidedBy::Control)
    );
    assert!(answer.ticket.is_none() && answer.sandbox.is_none());
    push(&server, "{}").await;
    let answer = server.agent().decide(trial(wide)).await.unwrap().into_inner();
    assert_eq!(
        (answer.effect(), answer.decided_by()),
        (v1::Effect::Ask, v1::DecidedBy::Failure)
    );
    assert!(answer.ticket.is_none());
    assert_eq!(server.decision_records().await.len(), 4, "each is on record");

    let explained = v1::ExplainRequest {
        request: Some(execution(&["ls"])),
    };
    let explained = server.host().explain(explained).await.unwrap().into_inner();
    let expected = v1::SandboxInForce {
        r#type: "workspace_readwrite".to_owned(),
        team_type: String::new(),
        trials_allowed: true,
    };
    assert_eq!(explained.sandbox, Some(expected));
}

//! What the team controls beside rules, and MCP servers that need an approval: decided as a whole.

#![allow(clippy::unwrap_used, reason = "a test program stops at the first surprise")]

mod common;

use common::{bash, call, decide, document, fetch, read, request, rules, server};
use portcullis_policy::{
    Action, DecidedBy, Decision, EffectiveRuleset, Facts, Layer, Mode, Request, ToolCall, Verdict,
    facts::{Approval, Launch, McpServer, Repositories, RepositoryIdentity},
    request::Interactivity,
};
use serde_json::{Value, json};

fn mcp(name: &str) -> ToolCall {
    call(name, json!({}))
}

/// A call of `mcp__github__get_issue` with these definitions of its server.
fn github(mode: Mode, definitions: Vec<McpServer>) -> Request {
    let mut request = request(mcp("mcp__github__get_issue"), mode);
    request.facts.mcp_servers = definitions;
    request
}

fn with(approval: Approval) -> McpServer {
    McpServer {
        approval,
        ..server("github")
    }
}

/// Decided under a rule that allows every tool of the server, and what the team controls.
fn under(team: &Value, request: &Request) -> Decision {
    let documents = [
        rules(Layer::User, &["mcp__github"], &[], &[]),
        document(Layer::Team, team),
    ];
    decide(&documents, request)
}

#[test]
fn a_server_that_nobody_approved_asks_in_every_mode_whatever_rules_say() {
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::Bypass] {
        assert_eq!(
            under(&json!({}), &github(mode, vec![with(Approval::Given)])).verdict,
            Verdict::Allow
        );
        for approval in [Approval::None, Approval::Changed, Approval::Disabled] {
            let decision = under(&json!({}), &github(mode, vec![with(approval)]));
            assert_eq!(decision.verdict, Verdict::Ask, "{mode} {approval:?}");
            assert_eq!(decision.decided_by, DecidedBy::Protection);
        }
        assert_eq!(under(&json!({}), &github(mode, vec![])).verdict, Verdict::Ask, "{mode}");
    }
    for mode in [Mode::Plan, Mode::DontAsk] {
        assert_eq!(
            under(&json!({}), &github(mode, vec![with(Approval::None)])).verdict,
            Verdict::Deny,
            "{mode}"
        );
    }
    let mut headless = github(Mode::Default, vec![with(Approval::None)]);
    headless.interactivity = Interactivity::Headless;
    assert_eq!(under(&json!({}), &headless).verdict, Verdict::Deny);
}

#[test]
fn the_person_is_told_how_to_approve_and_sees_no_secret() {
    let definition = McpServer {
        launch: Launch::Command {
            words: ["npx", "srv", "--token=hunter2hunter2"].map(str::to_owned).to_vec(),
            environment: Vec::new(),
        },
        ..with(Approval::None)
    };
    let decision = under(&json!({}), &github(Mode::Default, vec![definition]));
    for part in ["portcullis mcp approve github", "npx srv", "/home/dev/.claude.json"] {
        assert!(decision.user_message.contains(part), "{}", decision.user_message);
    }
    let all = format!("{decision:?}");
    assert!(!all.contains("hunter2"), "{all}");
    assert!(decision.suggested_rules.is_empty(), "no rule approves a server");
}

#[test]
fn all_definitions_of_a_name_have_to_be_approved() {
    let project = McpServer {
        launch: Launch::Url("https://evil.example/mcp".to_owned()),
        ..with(Approval::None)
    };
    let both = github(Mode::Default, vec![with(Approval::Given), project]);
    assert_eq!(under(&json!({}), &both).verdict, Verdict::Ask);
}

#[test]
fn names_that_cannot_be_told_apart_are_not_allowed() {
    // `mcp__my_server__x` may come from `my server` or `my_server`, `mcp__a__b__c` from `a` or `a__b`.
    for (tool, rule, names, expected) in [
        (
            "mcp__my_server__x",
            "mcp__my_server",
            &["my server"][..],
            Verdict::Allow,
        ),
        (
            "mcp__my_server__x",
            "mcp__my_server",
            &["my server", "my_server"],
            Verdict::Ask,
        ),
        ("mcp__a__b__c", "mcp__a", &["a"], Verdict::Allow),
        ("mcp__a__b__c", "mcp__a", &["a__b"], Verdict::Ask),
        ("mcp__a__b__c", "mcp__a", &["a", "a__b"], Verdict::Ask),
        ("mcp__github__x", "mcp__github", &["gitlab"], Verdict::Ask),
        ("mcp__github__x", "mcp__github", &["GitHub"], Verdict::Ask),
    ] {
        let mut request = request(mcp(tool), Mode::Default);
        request.facts.mcp_servers = names.iter().map(|name| server(name)).collect();
        let decision = decide(&[rules(Layer::User, &[rule], &[], &[])], &request);
        assert_eq!(
            decision.verdict, expected,
            "{tool} {names:?}: {}",
            decision.user_message
        );
    }
    // A deny on the server that is really meant holds, however the name is cut.
    let mut request = request(mcp("mcp__a__b__c"), Mode::Bypass);
    request.facts.mcp_servers = vec![server("a__b")];
    let decision = decide(&[rules(Layer::User, &[], &[], &["mcp__a__b__c"])], &request);
    assert_eq!(decision.verdict, Verdict::Deny);
}

#[test]
fn an_empty_server_is_never_allowed() {
    let call = ToolCall {
        tool_name: "mcp____x".to_owned(),
        input: serde_json::Map::new(),
        action: Action::Mcp {
            server: String::new(),
            tool: "x".to_owned(),
        },
    };
    for mode in [Mode::Default, Mode::Bypass] {
        let mut request = request(call.clone(), mode);
        request.facts.mcp_servers = vec![server("")];
        assert_ne!(decide(&[], &request).verdict, Verdict::Allow, "{mode}");
    }
}

#[test]
fn the_team_approves_by_command_or_address_and_not_by_name() {
    let entry = |command: &str| json!({"mcp": {"servers": [{"name": "github", "command": command}]}});
    let open = || github(Mode::Default, vec![with(Approval::None)]);
    assert_eq!(under(&entry("mcp-github"), &open()).verdict, Verdict::Allow);
    assert_eq!(under(&entry("mcp-gitlab"), &open()).verdict, Verdict::Ask);
    let renamed = json!({"mcp": {"servers": [{"name": "gh", "command": "mcp-github"}]}});
    assert_eq!(under(&renamed, &open()).verdict, Verdict::Ask);
}

#[test]
fn servers_that_the_team_does_not_list_are_denied_where_it_says_so() {
    let listed = json!({"mcp": {"servers": [{"command": "mcp-github", "tools": {"deny": ["delete_*", "get_issue"]}}],
        "onlyListed": true}});
    let tool = |name: &str, definition: &str| {
        let mut request = request(mcp(name), Mode::Bypass);
        request.facts.mcp_servers = vec![McpServer {
            name: "github".to_owned(),
            ..server(definition)
        }];
        under(&listed, &request)
    };
    assert_eq!(tool("mcp__github__list", "github").verdict, Verdict::Allow);
    assert_eq!(tool("mcp__github__list", "evil").verdict, Verdict::Deny);
    for denied in ["mcp__github__get_issue", "mcp__github__delete_all"] {
        let decision = tool(denied, "github");
        assert_eq!(
            (decision.verdict, decision.decided_by),
            (Verdict::Deny, DecidedBy::Control),
            "{denied}"
        );
    }
    assert_eq!(under(&listed, &github(Mode::Bypass, vec![])).verdict, Verdict::Deny);
    let denied = json!({"mcp": {"deny": ["GitHub"]}});
    assert_eq!(
        under(&denied, &github(Mode::Bypass, vec![with(Approval::Given)])).verdict,
        Verdict::Deny
    );
}

#[test]
fn the_flag_of_the_session_approves_what_is_configured_if_a_host_vouches() {
    let flagged = |managed: bool, vouched: bool, approval: Option<Approval>| {
        let mut session = EffectiveRuleset::session_document(&["mcp__github".to_owned()], &[]).unwrap();
        session.settings.controls.approve_mcp_servers = true;
        let locks = json!({"locks": {"managedRulesOnly": managed}, "permissions": {"allow": ["mcp__github"]}});
        let documents = [session.into(), document(Layer::Team, &locks)];
        let mut request = github(Mode::Default, approval.map(with).into_iter().collect());
        request.facts.vouched = vouched;
        decide(&documents, &request).verdict
    };
    assert_eq!(flagged(false, true, Some(Approval::None)), Verdict::Allow);
    assert_eq!(
        flagged(false, true, None),
        Verdict::Allow,
        "one that the agent got from elsewhere"
    );
    assert_eq!(flagged(false, true, Some(Approval::Disabled)), Verdict::Ask);
    assert_eq!(
        flagged(true, true, Some(Approval::None)),
        Verdict::Ask,
        "managed rules only"
    );
    assert_eq!(
        flagged(false, false, Some(Approval::None)),
        Verdict::Ask,
        "nobody vouches"
    );
}

#[test]
fn plan_mode_takes_a_rule_and_a_tool_that_only_reads() {
    let reading = McpServer {
        read_only_tools: ["get_issue".to_owned()].into(),
        ..with(Approval::Given)
    };
    let plan = |definition: &McpServer| github(Mode::Plan, vec![definition.clone()]);
    assert_eq!(under(&json!({}), &plan(&reading)).verdict, Verdict::Allow);
    assert_eq!(under(&json!({}), &plan(&with(Approval::Given))).verdict, Verdict::Deny);
    let no_rule = decide(&[], &plan(&reading));
    assert_eq!(no_rule.verdict, Verdict::Deny);
    let vouched = json!({"mcp": {"servers": [{"command": "mcp-github", "tools": {"readOnly": ["get_*"]}}]}});
    assert_eq!(under(&vouched, &plan(&with(Approval::Given))).verdict, Verdict::Allow);
}

fn in_repository(call: ToolCall, remotes: &[&str]) -> Request {
    let mut request = request(call, Mode::Bypass);
    request.facts.repositories = Repositories::Known(vec![RepositoryIdentity {
        root: common::path("/home/dev/proj"),
        remotes: remotes.iter().map(|text| (*text).to_owned()).collect(),
    }]);
    request
}

#[test]
fn nothing_runs_in_a_repository_that_the_team_blocks() {
    let team = document(
        Layer::Team,
        &json!({"repositories": {"blocked": ["github.com/acme/secret"]}}),
    );
    for call in [
        bash("ls"),
        read("a"),
        fetch("https://a.test/"),
        mcp("mcp__github__x"),
        call("TodoWrite", json!({})),
    ] {
        let secret = in_repository(call.clone(), &["https://a.test/b", "git@github.com:Acme/Secret.git"]);
        let decision = decide(std::slice::from_ref(&team), &secret);
        assert_eq!(
            (decision.verdict, decision.decided_by),
            (Verdict::Deny, DecidedBy::Control),
            "{call:?}"
        );
        let other = in_repository(call.clone(), &["git@github.com:acme/site.git"]);
        assert_eq!(
            decide(std::slice::from_ref(&team), &other).verdict,
            Verdict::Allow,
            "{call:?}"
        );
        let mut unknown = in_repository(call, &[]);
        unknown.facts.repositories = Repositories::Unknown;
        assert_eq!(decide(std::slice::from_ref(&team), &unknown).verdict, Verdict::Deny);
        unknown.facts = Facts::default();
        assert_eq!(decide(std::slice::from_ref(&team), &unknown).verdict, Verdict::Ask);
    }
}

#[test]
fn only_known_repositories_where_the_team_says_so() {
    let team = document(
        Layer::Team,
        &json!({"repositories": {"known": ["github.com/acme"], "requireKnown": true}}),
    );
    let known = in_repository(bash("ls"), &["git@github.com:acme/site.git"]);
    assert_eq!(decide(std::slice::from_ref(&team), &known).verdict, Verdict::Allow);
    for remotes in [&["https://github.com/evil/site"][..], &[]] {
        let other = in_repository(bash("ls"), remotes);
        assert_eq!(
            decide(std::slice::from_ref(&team), &other).verdict,
            Verdict::Deny,
            "{remotes:?}"
        );
    }
}

#[test]
fn a_browser_keeps_to_what_the_team_lists() {
    let team = document(
        Layer::Team,
        &json!({"browser": {"origins": ["http://localhost:3000"], "blocked": ["*.evil.test"]}}),
    );
    let browse = |url: Option<&str>, mode: Mode, allow: &[&str]| {
        let action = Action::Browser {
            url: url.map(str::to_owned),
        };
        let call = ToolCall {
            tool_name: "Browser".to_owned(),
            input: serde_json::Map::new(),
            action,
        };
        decide(
            &[team.clone(), rules(Layer::User, allow, &[], &[])],
            &request(call, mode),
        )
        .verdict
    };
    assert_eq!(
        browse(Some("http://localhost:3000/x"), Mode::Bypass, &[]),
        Verdict::Allow
    );
    assert_eq!(
        browse(Some("http://localhost:3000/x"), Mode::Default, &[]),
        Verdict::Ask
    );
    assert_eq!(
        browse(Some("https://other.test/"), Mode::Bypass, &["WebFetch"]),
        Verdict::Ask
    );
    assert_eq!(
        browse(Some("https://a.evil.test/"), Mode::Bypass, &["WebFetch"]),
        Verdict::Deny
    );
    assert_eq!(browse(Some("javascript:x"), Mode::Bypass, &["WebFetch"]), Verdict::Deny);
    assert_eq!(browse(None, Mode::Bypass, &[]), Verdict::Ask);
    assert_eq!(browse(None, Mode::Default, &["Browser"]), Verdict::Allow);
}

#[test]
fn a_file_behind_an_address_is_read_like_one() {
    let denied = rules(Layer::User, &["WebFetch"], &[], &["Read(//etc/passwd)"]);
    for url in [
        "file:///etc/passwd",
        "FILE:/etc/pass%77d",
        "view-source:file:///etc/passwd",
    ] {
        let decision = decide(std::slice::from_ref(&denied), &request(fetch(url), Mode::Bypass));
        assert_eq!(decision.verdict, Verdict::Deny, "{url}");
    }
    let other = decide(&[denied], &request(fetch("file:///etc/hosts"), Mode::Bypass));
    assert_eq!(other.verdict, Verdict::Ask);
}

#[test]
fn only_the_team_controls_and_every_fault_is_told() {
    use portcullis_policy::{DocumentOrigin, PolicyDocument};
    let read = |layer: Layer, text: &Value| {
        let origin = DocumentOrigin {
            layer,
            name: "x".to_owned(),
            folder: None,
        };
        PolicyDocument::parse(&text.to_string(), origin)
    };
    for section in ["mcp", "repositories", "browser", "models"] {
        for layer in [Layer::User, Layer::Project, Layer::Local, Layer::Session] {
            let faults = read(layer, &json!({ section: {} })).unwrap_err();
            assert!(faults[0].message.contains("team policy"), "{section} {layer}");
        }
        assert!(read(Layer::Team, &json!({ section: {} })).is_ok(), "{section}");
    }
    for (text, message) in [
        (
            json!({"mcp": {"servers": [{"name": "x"}]}}),
            "needs the command or address",
        ),
        (json!({"mcp": {"servers": [{"command": "*"}]}}), "names no program"),
        (
            json!({"mcp": {"servers": [{"command": "a", "url": "https://a.test"}]}}),
            "not both",
        ),
        (
            json!({"mcp": {"servers": [{"url": "a.test"}]}}),
            "begins with its scheme",
        ),
        (
            json!({"mcp": {"servers": [{"command": "a", "networkMode": "x"}]}}),
            "no network mode",
        ),
        (json!({"mcp": {"deny": [{}]}}), "names a server"),
        (json!({"mcp": {"allow": []}}), "unknown key"),
        (
            json!({"repositories": {"blocked": ["https://github.com/a"]}}),
            "no scheme",
        ),
        (
            json!({"repositories": {"requireKnown": true}}),
            "no repository is known",
        ),
        (json!({"browser": {"origins": ["a.test/x"]}}), "ends with host and port"),
        (json!({"models": {"allowed": "x"}}), "expected an array, found a string"),
    ] {
        let faults = read(Layer::Team, &text).unwrap_err();
        assert!(
            faults.iter().any(|fault| fault.message.contains(message)),
            "{text}: {faults:?}"
        );
    }
    let origin = read(Layer::Team, &json!({"browser": {"origins": ["a.test/x"]}})).unwrap_err();
    assert_eq!(
        origin[0].column,
        1 + u32::try_from(r#"{"browser":{"origins":["a.test"#.len()).unwrap()
    );
}

#[test]
fn a_model_that_the_team_blocks_is_not_permitted() {
    let ruleset = |team: Value| EffectiveRuleset::merge(&[document(Layer::Team, &team)], true);
    let blocked = ruleset(json!({"models": {"blocked": ["grok-*"]}}));
    assert!(blocked.permits_model("claude-x") && !blocked.permits_model("Grok-4") && !blocked.permits_model(""));
    assert!(ruleset(json!({})).permits_model(""));
}

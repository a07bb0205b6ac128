use std::collections::BTreeSet;

use super::*;
use crate::facts::{Approval, ConfiguredIn};

fn command(text: &str) -> Launch {
    Launch::Command {
        words: text.split(' ').map(str::to_owned).collect(),
        environment: Vec::new(),
    }
}

fn server(name: &str, launch: Launch) -> McpServer {
    McpServer {
        name: name.to_owned(),
        launch,
        place: ConfiguredIn::User,
        file: "/home/dev/.claude.json".to_owned(),
        read_only_tools: BTreeSet::new(),
        approval: Approval::None,
    }
}

fn entry(launch: LaunchPattern) -> McpEntry {
    McpEntry {
        name: None,
        launch,
        approves: true,
        tools: ToolLists::default(),
        network: None,
    }
}

fn commands(text: &str) -> LaunchPattern {
    LaunchPattern::Command(CommandPattern::parse(text).unwrap())
}

fn urls(text: &str) -> LaunchPattern {
    LaunchPattern::Url(UrlPattern::parse(text).unwrap())
}

#[test]
fn a_command_is_covered_word_by_word() {
    for (pattern, text, expected) in [
        ("npx -y @corp/*", "npx -y @corp/github", true),
        ("npx -y @corp/*", "npx -y @corp/github --log x", false),
        ("npx -y @corp/*", "npx -y @corpevil/github", false),
        ("npx -y @corp/*", "npx -y evil @corp/github", false),
        ("npx -y @corp/*", "npx @corp/github", false),
        ("npx -y @corp/* *", "npx -y @corp/github --log x", true),
        ("npx -y @corp/* *", "npx -y @corp/github", true),
        ("npx -y @corp/github", "npx -y @corp/github-evil", false),
        ("/opt/corp/bin/*", "/opt/corp/bin/mcp", true),
        ("mcp-corp", "/tmp/mcp-corp", false),
        ("mcp-corp", "mcp-corp", true),
        ("mcp-corp", "MCP-corp", false),
    ] {
        let covered = entry(commands(pattern)).covers(&server("x", command(text)));
        assert_eq!(covered, expected, "`{pattern}` on {text}");
    }
}

#[test]
fn a_pattern_for_every_program_is_none() {
    for text in ["", "*", "** x", "  "] {
        assert!(CommandPattern::parse(text).is_none(), "{text}");
    }
}

#[test]
fn variables_that_change_what_runs_are_not_covered() {
    let launch = |names: &[&str]| Launch::Command {
        words: vec!["mcp-corp".to_owned()],
        environment: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let entry = entry(commands("mcp-corp"));
    assert!(entry.covers(&server("x", launch(&[]))));
    assert!(!entry.covers(&server("x", launch(&["NODE_OPTIONS"]))));
}

#[test]
fn an_address_is_covered_by_its_parts() {
    for (pattern, url, expected) in [
        (
            "https://mcp.corp.example/*",
            "https://mcp.corp.example/github?x=y",
            true,
        ),
        (
            "https://mcp.corp.example/*",
            "https://MCP.corp.example:443/github",
            true,
        ),
        ("https://mcp.corp.example/*", "http://mcp.corp.example/github", false),
        (
            "https://mcp.corp.example/*",
            "https://mcp.corp.example:8443/github",
            false,
        ),
        (
            "https://mcp.corp.example:8443/*",
            "https://mcp.corp.example:8443/github",
            true,
        ),
        (
            "https://mcp.corp.example/*",
            "https://mcp.corp.example.evil.example/",
            false,
        ),
        (
            "https://mcp.corp.example/*",
            "https://mcp.corp.example@evil.example/",
            false,
        ),
        ("https://mcp.corp.example/*", "https://u@mcp.corp.example/x", false),
        (
            "https://mcp.corp.example/a/*",
            "https://mcp.corp.example/a/../evil",
            false,
        ),
        (
            "https://mcp.corp.example/a/*",
            "https://mcp.corp.example/a/%2e%2E/evil",
            false,
        ),
        ("https://*.corp.example/mcp", "https://a.corp.example/mcp", true),
        ("https://*.corp.example/mcp", "https://a.corp.example/mcp2", false),
        ("https://mcp.corp.example", "https://mcp.corp.example", true),
        ("https://mcp.corp.example", "https://mcp.corp.example/x", false),
        ("https://mcp.corp.example/*", "https://mcp.corp.example\\@evil/", false),
    ] {
        let covered = entry(urls(pattern)).covers(&server("x", Launch::Url(url.to_owned())));
        assert_eq!(covered, expected, "`{pattern}` on {url}");
    }
    for text in ["mcp.corp.example", "ws://a.example", "https:///x", ""] {
        assert!(UrlPattern::parse(text).is_err(), "{text}");
    }
}

#[test]
fn only_what_is_listed_runs_where_the_team_says_so() {
    let controls = McpControls {
        servers: vec![McpEntry {
            name: Some("github".to_owned()),
            ..entry(commands("mcp-github *"))
        }],
        only_listed: true,
        deny: Vec::new(),
    };
    let (own, renamed) = (
        server("github", command("mcp-github x")),
        server("gh", command("mcp-github x")),
    );
    let other = server("github", command("evil"));
    assert_eq!(controls.objection("github", "t", &[&own]), None);
    assert!(controls.objection("gh", "t", &[&renamed]).is_some());
    assert!(controls.objection("github", "t", &[&other]).is_some());
    // One of two definitions is not enough: nobody can say which one the agent takes.
    assert!(controls.objection("github", "t", &[&own, &other]).is_some());
    assert!(controls.objection("github", "t", &[]).is_some());
    assert!(
        controls
            .objection("github", "t", &[&server("github", Launch::Unknown)])
            .is_some()
    );
    assert!(controls.approves(&own) && !controls.approves(&other));
}

#[test]
fn a_server_is_denied_by_name_command_or_address() {
    let by_name = McpSelector {
        name: Some(TextPattern::parse("evil*")),
        launch: None,
    };
    let by_command = McpSelector {
        name: None,
        launch: Some(commands("npx *bad-server*")),
    };
    let by_url = McpSelector {
        name: None,
        launch: Some(urls("https://*.bad.example/")),
    };
    let controls = McpControls {
        deny: vec![by_name, by_command, by_url],
        ..Default::default()
    };
    for (name, launch, denied) in [
        ("evil", Launch::Unknown, true),
        ("Evil_2", Launch::Unknown, true),
        ("good", command("npx -y bad-server@latest"), true),
        ("good", command("/usr/bin/npx bad-server"), true),
        ("good", command("npx good-server"), false),
        ("good", Launch::Url("http://x.bad.example:8080/mcp".to_owned()), true),
        (
            "good",
            Launch::Url("https://bad.example.good.example/mcp".to_owned()),
            false,
        ),
        ("good", Launch::Unknown, false),
    ] {
        let own = server(name, launch);
        assert_eq!(controls.objection(name, "t", &[&own]).is_some(), denied, "{own:?}");
    }
    assert!(controls.objection("evil", "t", &[]).is_some());
}

#[test]
fn tools_are_permitted_one_by_one() {
    let patterns = |list: &[&str]| list.iter().map(|text| TextPattern::parse(text)).collect::<Vec<_>>();
    let mut own = entry(commands("mcp-db"));
    own.tools = ToolLists {
        allow: Some(patterns(&["get_*", "drop_table"])),
        deny: patterns(&["*drop*"]),
        read_only: patterns(&["get_*"]),
    };
    let controls = McpControls {
        servers: vec![own],
        ..Default::default()
    };
    let (db, other) = (server("db", command("mcp-db")), server("other", command("x")));
    for (tool, permitted) in [
        ("get_row", true),
        ("put_row", false),
        ("drop_table", false),
        ("", false),
    ] {
        assert_eq!(controls.objection("db", tool, &[&db]).is_none(), permitted, "{tool}");
        assert_eq!(controls.objection("other", tool, &[&other]), None);
    }
    assert!(controls.reads_only(&db, "get_row") && !controls.reads_only(&other, "get_row"));
}

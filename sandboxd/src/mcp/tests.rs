use std::fs;
use std::os::unix::fs::symlink;

use portcullis_policy::facts::{Approval, Launch};
use tempfile::TempDir;

use super::*;
use crate::approvals::Approvals;

struct Fixture {
    _folder: TempDir,
    home: PathBuf,
    project: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, project) = (root.join("home"), root.join("work/project"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(project.join("sub")).unwrap();
        Self {
            _folder: folder,
            home,
            project,
        }
    }

    fn write(&self, path: &str, text: &str) {
        let path = match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => self.project.join(path),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("PROJECT", self.project.to_str().unwrap())).unwrap();
    }

    fn read(&self, agent: &str) -> Configured {
        let roots = [self.project.join("sub"), self.project.clone()];
        configured(
            Some(agent),
            &Place {
                home: Some(&self.home),
                roots: &roots,
                project: Some(&self.project),
            },
        )
    }

    /// The only definition of an agent.
    fn one(&self, agent: &str) -> Definition {
        let found = self.read(agent);
        assert_eq!(found.failures, Vec::<String>::new());
        assert_eq!(found.definitions.len(), 1, "{:?}", found.definitions);
        found.definitions.into_iter().next().unwrap()
    }
}

fn shown(found: &Configured) -> Vec<String> {
    let mut all: Vec<String> = found
        .definitions
        .iter()
        .map(|own| format!("{} {} {}", own.name, own.place, own.launch.shown()))
        .collect();
    all.sort();
    all
}

#[test]
fn each_agents_own_files_are_read_and_no_others() {
    let fixture = Fixture::new();
    for (agent, file, text, expected) in [
        (
            "claude",
            "~/.claude.json",
            r#"{"mcpServers": {"a": {"command": "x", "args": ["y"]}}}"#,
            "a user command `x y`",
        ),
        (
            "claude",
            "~/.claude.json",
            r#"{"projects": {"PROJECT": {"mcpServers": {"a": {"command": "x"}}}, "/elsewhere": {"mcpServers": {"b": {"command": "x"}}}}}"#,
            "a local command `x`",
        ),
        (
            "claude",
            ".mcp.json",
            r#"{"mcpServers": {"a": {"type": "http", "url": "https://a.example/mcp"}}}"#,
            "a project address `https://a.example/mcp`",
        ),
        (
            "cursor",
            "~/.cursor/mcp.json",
            "{// mine\n\"mcpServers\": {\"a\": {\"command\": \"x\",},}}",
            "a user command `x`",
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            r#"{"mcpServers": {"a": {"command": "x"}}}"#,
            "a project command `x`",
        ),
        (
            "codex",
            "~/.codex/config.toml",
            "[mcp_servers.a]\ncommand = \"x\"\nargs = [\"y\"]",
            "a user command `x y`",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.a]\nurl = \"https://a.example\"",
            "a project address `https://a.example`",
        ),
        (
            "gemini",
            "~/.gemini/settings.json",
            r#"{"mcpServers": {"a": {"httpUrl": "https://a.example/m"}}}"#,
            "a user address `https://a.example/m`",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            r#"{"mcpServers": {"a": {"command": "x"}}}"#,
            "a project command `x`",
        ),
        (
            "copilot",
            "~/.copilot/mcp-config.json",
            r#"{"mcpServers": {"a": {"command": "x"}}}"#,
            "a user command `x`",
        ),
        (
            "vscode",
            ".vscode/mcp.json",
            r#"{"servers": {"a": {"command": "x"}}}"#,
            "a project command `x`",
        ),
        (
            "opencode",
            "opencode.json",
            r#"{"mcp": {"a": {"type": "local", "command": ["x", "y"]}}}"#,
            "a project command `x y`",
        ),
    ] {
        fixture.write(file, text);
        let found = fixture.read(agent);
        assert_eq!(found.failures, Vec::<String>::new(), "{agent} {file}");
        assert_eq!(shown(&found), [expected], "{agent} {file}");
        let other = if agent == "cursor" { "gemini" } else { "cursor" };
        assert!(fixture.read(other).definitions.is_empty(), "{agent} {file}");
        // An agent that nobody knows may use any file.
        assert_eq!(shown(&fixture.read("own-agent")), [expected], "{agent} {file}");
        let path = file
            .strip_prefix("~/")
            .map_or_else(|| fixture.project.join(file), |rest| fixture.home.join(rest));
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_file_in_a_folder_above_counts_and_every_definition_of_a_name() {
    let fixture = Fixture::new();
    fixture.write("../.mcp.json", r#"{"mcpServers": {"a": {"command": "above"}}}"#);
    fixture.write("sub/.mcp.json", r#"{"mcpServers": {"a": {"command": "below"}}}"#);
    fixture.write(
        "~/.claude.json",
        r#"{"mcpServers": {"a": {"command": "own"}, "b c": {"command": "x"}}}"#,
    );
    let found = fixture.read("claude");
    assert_eq!(found.named(&["a".to_owned()]).count(), 3);
    // As the name stands in a tool's name.
    assert_eq!(found.named(&["b_c".to_owned()]).count(), 1);
    assert_eq!(found.named(&["B_c".to_owned(), "b c".to_owned()]).count(), 0);
}

#[test]
fn what_cannot_be_read_is_said() {
    let fixture = Fixture::new();
    let fault = |why: &str| {
        let found = fixture.read("cursor");
        assert!(found.definitions.is_empty(), "{why}");
        assert_eq!(found.failures.len(), 1, "{why}: {:?}", found.failures);
        assert!(found.failures[0].contains(why), "{:?}", found.failures);
        assert!(!found.failures[0].contains("hunter2"), "{:?}", found.failures);
    };
    fixture.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"a\": {\"env\": {\"T\": \"hunter2\"",
    );
    fault("no JSON");
    fixture.write(".cursor/mcp.json", r#"{"mcpServers": ["hunter2"]}"#);
    fault("no object");
    fixture.write(".cursor/mcp.json", &format!("{{{}", "[".repeat(100_000)));
    fault("no JSON");
    fixture.write(".cursor/mcp.json", &" ".repeat(usize::try_from(MAX_BYTES).unwrap() + 1));
    fault("larger than 16 MiB");
    let file = fixture.project.join(".cursor/mcp.json");
    fs::write(&file, [0xff, 0xfe]).unwrap();
    fault("not UTF-8");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    fault("not a regular file");
    fs::remove_dir(&file).unwrap();
    // A project cannot present another file as its own; a person may keep theirs elsewhere.
    fixture.write("~/elsewhere.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    symlink(fixture.home.join("elsewhere.json"), &file).unwrap();
    fault("leads out of its folder");
    fs::remove_file(&file).unwrap();
    fs::create_dir_all(fixture.home.join(".cursor")).unwrap();
    symlink(
        fixture.home.join("elsewhere.json"),
        fixture.home.join(".cursor/mcp.json"),
    )
    .unwrap();
    assert_eq!(fixture.one("cursor").name, "a");
}

#[test]
fn a_definition_that_is_not_certain_has_no_launch() {
    let fixture = Fixture::new();
    for text in [
        r#"{"command": "x", "url": "https://a.example"}"#,
        r#"{"url": "https://a.example", "httpUrl": "https://b.example"}"#,
        r#"{"command": ""}"#,
        r#"{"command": ["x", 1]}"#,
        r#"{"command": "x", "args": "y"}"#,
        r#"{"command": "x", "env": "y"}"#,
        r#"{"type": "sdk"}"#,
        "7",
    ] {
        fixture.write(".cursor/mcp.json", &format!(r#"{{"mcpServers": {{"a": {text}}}}}"#));
        assert_eq!(fixture.one("cursor").launch, Launch::Unknown, "{text}");
    }
}

#[test]
fn the_digest_covers_what_changes_what_runs() {
    let fixture = Fixture::new();
    let digest = |text: &str| {
        fixture.write(".cursor/mcp.json", &format!(r#"{{"mcpServers": {{"a": {text}}}}}"#));
        fixture.one("cursor").digest
    };
    let plain = digest(r#"{"command": "x", "args": ["y"], "env": {"TOKEN": "1"}}"#);
    assert_eq!(
        plain,
        digest(r#"{"args": ["y"], "env": {"TOKEN": "2"}, "command": "x", "type": "stdio"}"#)
    );
    for other in [
        r#"{"command": "z", "args": ["y"], "env": {"TOKEN": "1"}}"#,
        r#"{"command": "x", "args": ["y", "z"], "env": {"TOKEN": "1"}}"#,
        r#"{"command": "x", "args": ["y"], "env": {"TOKEN": "1", "NODE_OPTIONS": "--require ./evil.js"}}"#,
        r#"{"command": "x", "args": ["y"], "env": {"TOKEN": "1"}, "cwd": "/elsewhere"}"#,
        r#"{"command": "x", "args": ["y"], "env": {"TOKEN": "1"}, "envFile": ".env"}"#,
        r#"{"url": "https://a.example"}"#,
    ] {
        assert_ne!(plain, digest(other), "{other}");
    }
    let options = |value: &str| digest(&format!(r#"{{"command": "x", "env": {{"NODE_OPTIONS": "{value}"}}}}"#));
    assert_ne!(options("a"), options("b"));
    // What a project starts is another program in another project.
    let here = digest(r#"{"command": "node", "args": ["server.js"]}"#);
    let other = Fixture::new();
    other.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "node", "args": ["server.js"]}}}"#,
    );
    assert_ne!(here, other.one("cursor").digest);
}

#[test]
fn an_approval_is_for_what_was_approved_and_survives() {
    let fixture = Fixture::new();
    let file = fixture.home.join("approvals.json");
    let approvals = || Approvals::open(file.clone());
    fixture.write("~/.cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    let own = fixture.one("cursor");
    assert_eq!(approvals().of(&own, false), Ok(Approval::None));
    approvals().approve([&own].into_iter()).unwrap();
    assert_eq!(approvals().of(&own, false), Ok(Approval::Given));
    fixture.write("~/.cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "evil"}}}"#);
    assert_eq!(approvals().of(&fixture.one("cursor"), false), Ok(Approval::Changed));
    fixture.write("~/.cursor/mcp.json", r#"{"mcpServers": {"b": {"command": "x"}}}"#);
    assert_eq!(approvals().of(&fixture.one("cursor"), false), Ok(Approval::None));
    let stored = fs::read_to_string(&file).unwrap();
    assert!(!stored.contains("\"x\""), "{stored}");
    assert_eq!(approvals().revoke("a"), Ok(1));
    assert_eq!(approvals().of(&own, false), Ok(Approval::None));
    assert_eq!(approvals().revoke("a"), Ok(0));
}

#[test]
fn a_project_that_is_not_trusted_brings_no_server() {
    let fixture = Fixture::new();
    let approvals = Approvals::open(fixture.home.join("approvals.json"));
    fixture.write(".mcp.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    // Nor does its own consent count.
    fixture.write(
        ".claude/settings.json",
        r#"{"enableAllProjectMcpServers": true, "enabledMcpjsonServers": ["a"]}"#,
    );
    let own = fixture.one("claude");
    assert_eq!(approvals.of(&own, true), Ok(Approval::None));
    approvals.approve([&own].into_iter()).unwrap();
    assert_eq!(approvals.of(&own, true), Ok(Approval::Given));
    assert_eq!(approvals.of(&own, false), Ok(Approval::None));
    fixture.write(".claude/settings.local.json", r#"{"disabledMcpjsonServers": ["a"]}"#);
    assert_eq!(approvals.of(&fixture.one("claude"), true), Ok(Approval::Disabled));
}

#[test]
fn a_broken_list_approves_nothing_and_is_not_overwritten() {
    let fixture = Fixture::new();
    fixture.write("~/.cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    fixture.write("~/approvals.json", "{");
    let file = fixture.home.join("approvals.json");
    let approvals = Approvals::open(file.clone());
    let own = fixture.one("cursor");
    assert!(approvals.of(&own, true).is_err() && approvals.approve([&own].into_iter()).is_err());
    assert!(approvals.revoke("a").is_err());
    assert_eq!(fs::read(&file).unwrap(), b"{");
}

#[test]
fn a_server_that_its_own_agent_switches_off_is_off() {
    let fixture = Fixture::new();
    fixture.write(
        "~/.codex/config.toml",
        "[mcp_servers.a]\ncommand = \"x\"\nenabled = false",
    );
    let approvals = Approvals::open(fixture.home.join("approvals.json"));
    let own = fixture.one("codex");
    approvals.approve([&own].into_iter()).unwrap();
    assert_eq!(approvals.of(&own, true), Ok(Approval::Disabled));
}

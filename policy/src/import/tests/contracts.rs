//! What the owners' own references and programs say about their files, one fact a line.

use super::*;
use crate::{Rule, document::covers};

/// Whether a file's rules of this effect cover an example: a command, a path, an address, or an MCP tool.
fn covered(rules: &[Rule], effect: Effect, example: &str) -> bool {
    rules
        .iter()
        .filter(|rule| rule.effect == effect)
        .any(|rule| covers(rule, example) == Some(true))
}

fn claude(effect: &str, rule: &str) -> Imported {
    let text = serde_json::json!({ "permissions": { effect: [rule] } }).to_string();
    read(Format::ClaudeSettings, &text)
}

#[test]
fn rules_of_claude_code_cover_what_its_program_was_seen_to_cover() {
    for (rule, example, allowed, denied) in [
        ("Bash(ls *)", "ls", true, true),
        ("Bash(ls *)", "ls -la", true, true),
        ("Bash(ls *)", "lsof", false, false),
        ("Bash(ls*)", "lsof", true, true),
        ("Bash(npm run test:*)", "npm run test --x", true, true),
        ("Bash(npm run test:*)", "npm run tests", false, false),
        // The colon is literal unless it stands before a star at the end, and the rule then never matches. A denial that is no
        // rule here is kept as widely as its writer may have meant it.
        ("Bash(git:* push)", "git x push", false, true),
        // Accepted without effect by the agent; as a deny it must not be lost where it means something.
        ("Bash(:*)", "ls", false, true),
        ("Write(src/**)", "src/a", false, true),
        ("MultiEdit(src/**)", "src/a", false, true),
        ("NotebookEdit(src/**)", "src/a", false, true),
        ("Glob(src/**)", "src/a", false, true),
        // Paths: a folder of one name is one place as an allow, any depth as a deny.
        ("Read(.env)", "a/b/.env", true, true),
        ("Read(src/**)", "src/a/b", true, true),
        ("Read(src/**)", "x/src/a", false, true),
        ("Read(docs)", "x/docs/a", true, true),
        ("Read(src/secret/**)", "x/src/secret/a", false, false),
        ("Read(m/*/c.txt)", "m/x/c.txt", true, true),
        ("Read(m/*/c.txt)", "z/m/x/c.txt", false, false),
        ("Read(**/src/**)", "x/y/src/a", true, true),
        ("Read(one/*)", "one/a/b", true, true),
        ("Read(//etc/hosts)", "/etc/hosts", true, true),
        ("Read(~/x/**)", "~/x/y", true, true),
        ("Edit(SRC/**)", "src/a", false, false),
        ("WebFetch(domain:a.test)", "https://A.test.:8443/x", true, true),
        ("WebFetch(domain:a.test)", "https://b.a.test/", false, false),
        ("WebFetch(domain:*.a.test)", "https://x.y.a.test/", true, true),
        ("WebFetch(domain:*.a.test)", "https://a.test/", false, false),
        ("WebFetch(domain:*)", "https://a.test/", true, true),
        ("mcp__srv", "mcp__srv__x", true, true),
        ("mcp__srv", "mcp__srv2__x", false, false),
        ("mcp__srv__*", "mcp__srv__x", true, true),
        ("mcp__srv__get_*", "mcp__srv__get_x", true, true),
        ("mcp__srv__get_*", "mcp__srv__set_x", false, false),
        // No star in the tool's name of an allow, except behind a server.
        ("mcp__*", "mcp__a__b", false, true),
        ("mcp__*__delete_*", "mcp__a__delete_x", false, true),
        ("Skill(deploy)", "deploy", true, true),
        ("Skill(ops:*)", "ops:x", true, true),
        ("Task(Explore)", "Explore", true, true),
        ("KillShell", "TaskStop", true, true),
    ] {
        for (effect, word, expected) in [(Effect::Allow, "allow", allowed), (Effect::Deny, "deny", denied)] {
            let imported = claude(word, rule);
            let found = covered(&imported.document.rules, effect, example);
            assert_eq!(found, expected, "{word} {rule} on {example}: {:#?}", imported.report);
            assert_eq!(imported.report.len(), 1, "{rule}: nothing is dropped in silence");
        }
    }
}

#[test]
fn what_claude_code_skips_is_no_allow_and_is_reported() {
    for rule in [
        "bash(ls *)",
        "Bash (ls *)",
        "Bash(ls *",
        "Bash()",
        "",
        "B*",
        "*",
        "mcp__*",
        "WebSearch(x *)",
        "Bash(command:rm *)",
        "Read(file_path:x)",
        "Agent(model:opus)",
        "Cd(src)",
        "PowerShell(Get-Item *)",
        "Read(!x)",
    ] {
        let imported = claude("allow", rule);
        assert!(
            imported.document.rules.is_empty(),
            "{rule}: {:#?}",
            imported.document.rules
        );
        assert_eq!(imported.report.len(), 1, "{rule}");
        assert_eq!(imported.report[0].outcome.word(), "not expressible", "{rule}");
    }
    // What narrows is kept, be it wider than it was.
    for rule in ["*", "mcp__*", "Agent(model:opus)", "PowerShell(Get-Item *)", "Unheard"] {
        assert_eq!(claude("deny", rule).document.rules.len(), 1, "{rule}");
    }
}

#[test]
fn keys_of_claude_code_mean_something_in_the_managed_file_or_as_one_word_only() {
    for (layer, text, permitted, locked) in [
        (
            Layer::Team,
            r#"{"permissions":{"disableBypassPermissionsMode":"disable"}}"#,
            true,
            false,
        ),
        (
            Layer::Team,
            r#"{"permissions":{"disableBypassPermissionsMode":true}}"#,
            false,
            false,
        ),
        (
            Layer::User,
            r#"{"permissions":{"disableAutoMode":"disable"}}"#,
            false,
            false,
        ),
        (Layer::Team, r#"{"allowManagedPermissionRulesOnly":true}"#, false, true),
        (
            Layer::Team,
            r#"{"allowManagedPermissionRulesOnly":"true"}"#,
            false,
            false,
        ),
        (
            Layer::Project,
            r#"{"allowManagedPermissionRulesOnly":true}"#,
            false,
            false,
        ),
    ] {
        let imported = import(Format::ClaudeSettings, text, origin(layer));
        let settings = &imported.document.settings;
        assert_eq!(
            (settings.permitted_modes.is_some(), settings.managed_rules_only),
            (permitted, locked),
            "{text}"
        );
        assert_eq!(imported.report.len(), 1, "{text}");
    }
    for (folder, layer, kept) in [
        ("/srv/x", Layer::User, true),
        ("~/x", Layer::User, true),
        ("../x", Layer::Project, true),
        ("../x", Layer::User, false),
        // The agent takes it for a place in the network.
        ("//srv/x", Layer::User, false),
        ("/", Layer::User, false),
    ] {
        let text = serde_json::json!({ "permissions": { "additionalDirectories": [folder] } }).to_string();
        let imported = import(Format::ClaudeSettings, &text, origin(layer));
        assert_eq!(
            imported.document.settings.additional_directories.len(),
            usize::from(kept),
            "{folder}"
        );
    }
}

#[test]
fn tokens_of_cursors_command_line() {
    for (rule, example, allowed, denied) in [
        ("Shell(git)", "git push", true, true),
        ("Shell(git)", "gitk", false, false),
        ("Shell(git:push*)", "git push origin", true, true),
        ("Shell(git:push*)", "git pull", false, false),
        ("Shell(curl:*)", "curl -s x", true, true),
        ("Read(src/**/*.ts)", "src/a/b.ts", true, true),
        ("Read(src/*.ts)", "src/a/b.ts", false, false),
        ("Read(/etc/**)", "/etc/hosts", true, true),
        ("Write(src/?.ts)", "src/a.ts", true, true),
        ("Write(src/?.ts)", "src/ab.ts", false, false),
        ("WebFetch(*.a.test)", "https://x.a.test/", true, true),
        ("WebFetch(*)", "https://a.test/", true, true),
        ("Mcp(*:drop_*)", "mcp__a__drop_x", true, true),
        ("Mcp(a:*)", "mcp__b__x", false, false),
    ] {
        for (effect, word, expected) in [(Effect::Allow, "allow", allowed), (Effect::Deny, "deny", denied)] {
            let text = serde_json::json!({ "permissions": { word: [rule] } }).to_string();
            let imported = read(Format::CursorCli, &text);
            let found = covered(&imported.document.rules, effect, example);
            assert_eq!(found, expected, "{word} {rule} on {example}: {:#?}", imported.report);
        }
    }
    // Its program knows no `ask`.
    let imported = read(Format::CursorCli, r#"{"permissions":{"ask":["Shell(git)"]}}"#);
    assert_eq!(outcome(&imported, "ask"), "not expressible");
}

#[test]
fn entries_of_cursors_editor() {
    for (key, entry, example, expected) in [
        ("terminalAllowlist", "git", "git push", true),
        ("terminalAllowlist", "git", "gitk", false),
        ("terminalAllowlist", "git", "Git push", false),
        ("terminalAllowlist", "git status", "git status -s", true),
        ("terminalAllowlist", "git status", "git stash", false),
        ("terminalAllowlist", "npm:install*", "npm install x", true),
        ("terminalAllowlist", "npm:install*", "npm run x", false),
        ("mcpAllowlist", "GitHub:List_*", "mcp__github__list_x", true),
        ("mcpAllowlist", "*:search", "mcp__a__search", true),
        ("mcpAllowlist", "github", "mcp__github__x", false),
    ] {
        // With a comment and a comma at the end, which its owner reads.
        let text = format!("{{ // mine\n \"{key}\": [\"{entry}\",], }}");
        let imported = read(Format::CursorDesktop, &text);
        assert!(!imported.is_broken(), "{text}");
        let lists = &imported.document.allowlists;
        let list = if key == "mcpAllowlist" {
            &lists.mcp
        } else {
            &lists.terminal
        };
        let list = list.as_deref().unwrap();
        assert_eq!(covered(list, Effect::Allow, example), expected, "{entry} on {example}");
    }
}

#[test]
fn a_file_with_nothing_but_a_comment_is_none() {
    for format in [
        Format::ClaudeSettings,
        Format::Cusp,
        Format::CursorCli,
        Format::CursorDesktop,
    ] {
        assert!(read(format, "// nothing\n").is_broken(), "{format:?}");
    }
    // A file of rules may hold none.
    for format in [Format::CodexRules, Format::CodexConfig, Format::GeminiPolicy] {
        let imported = read(format, "# nothing\n");
        assert!(!imported.is_broken() && allows(&imported) == 0, "{format:?}");
    }
}

/// Its owner ignores such a file, or takes the one of two keys that we would not take.
#[test]
fn a_mode_of_a_file_that_its_owner_may_not_read_does_not_widen() {
    for (format, text, mode) in [
        (
            Format::ClaudeSettings,
            r#"{"permissions":{"defaultMode":"bypassPermissions"}}"#,
            Some(Mode::Bypass),
        ),
        (
            Format::ClaudeSettings,
            r#"{"permissions":{"defaultMode":"bypassPermissions",}}"#,
            None,
        ),
        (
            Format::ClaudeSettings,
            r#"{"permissions":{"defaultMode":"default","defaultMode":"acceptEdits"}}"#,
            Some(Mode::Default),
        ),
        (
            Format::ClaudeSettings,
            r#"{"permissions":{"defaultMode":"auto"},"permissions":{}}"#,
            None,
        ),
        // What narrows is kept.
        (
            Format::ClaudeSettings,
            r#"{"permissions":{"defaultMode":"dontAsk",}}"#,
            Some(Mode::DontAsk),
        ),
        (
            Format::CursorCli,
            r#"{"approvalMode":"unrestricted"}"#,
            Some(Mode::RunEverything),
        ),
        (Format::CursorCli, r#"{"approvalMode":"unrestricted",}"#, None),
        (Format::CursorCli, r#"{/**/"approvalMode":"auto-review"}"#, None),
        (
            Format::CursorCli,
            r#"{"approvalMode":"allowlist","approvalMode":"unrestricted"}"#,
            None,
        ),
    ] {
        let imported = read(format, text);
        assert_eq!(imported.mode, mode, "{text}: {:#?}", imported.report);
    }
}

#[test]
fn requirements_of_codex_restrict_and_allow_nothing() {
    for rule in [
        r#"{pattern=[{token="ls"}], decision="allow"}"#,
        r#"{pattern=[{token="ls"}]}"#,
        r#"{pattern=[{token="ls", any_of=["a"]}], decision="prompt"}"#,
        r#"{pattern=[], decision="prompt"}"#,
        r#"{decision="prompt"}"#,
    ] {
        let imported = import(
            Format::CodexRequirements,
            &format!("[rules]\nprefix_rules = [{rule}]\n"),
            origin(Layer::Team),
        );
        assert!(imported.is_broken(), "{rule}: {:#?}", imported.report);
        assert!(imported.document.rules.is_empty(), "{rule}");
    }
    // Read live, the file of the machine is no team policy, and still keeps sessions of Codex from running everything.
    for (text, forbidden) in [
        (r#"allowed_sandbox_modes = ["read-only", "workspace-write"]"#, true),
        (r#"allowed_approval_policies = ["untrusted", "on-request"]"#, true),
        (r#"allowed_sandbox_modes = ["danger-full-access"]"#, false),
    ] {
        let live = import(Format::CodexRequirements, text, origin(Layer::User));
        assert_eq!(live.forbidden_modes.contains(&Mode::Bypass), forbidden, "{text}");
        assert!(!live.forbidden_modes.contains(&Mode::DontAsk), "{text}");
        let team = import(Format::CodexRequirements, text, origin(Layer::Team));
        assert_eq!(team.document.settings.permitted_modes.is_some(), forbidden, "{text}");
    }
}

/// A file of each format that allows one thing and denies another.
fn plain(format: Format) -> &'static str {
    match format {
        Format::ClaudeSettings | Format::Cusp => r#"{"permissions":{"allow":["Bash(ls *)"],"deny":["Bash(rm *)"]}}"#,
        Format::CursorCli => r#"{"permissions":{"allow":["Shell(ls)"],"deny":["Shell(rm)"]}}"#,
        Format::CursorDesktop => r#"{"terminalAllowlist":["ls"]}"#,
        Format::CodexRules => "prefix_rule(pattern=['ls'])\nprefix_rule(pattern=['rm'], decision='forbidden')\n",
        Format::CodexConfig => "approval_policy = \"on-request\"\n",
        Format::CodexRequirements => "[rules]\nprefix_rules = [{pattern=[{token=\"rm\"}], decision=\"forbidden\"}]\n",
        Format::GeminiPolicy => {
            "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"ls\"\ndecision = \"allow\"\npriority = 1\n"
        }
        Format::GeminiSettings => {
            r#"{"tools":{"allowed":["run_shell_command(ls)"],"exclude":["run_shell_command(rm)"]}}"#
        }
    }
}

/// How much a file allows by itself.
fn allows(imported: &Imported) -> usize {
    let rules = imported.document.rules.iter();
    let lists = &imported.document.allowlists;
    rules.filter(|rule| rule.effect == Effect::Allow).count()
        + lists.terminal.as_ref().map_or(0, Vec::len)
        + lists.mcp.as_ref().map_or(0, Vec::len)
}

#[test]
fn a_mark_of_the_byte_order_or_a_nul_allows_nothing_in_any_format() {
    for format in Format::ALL {
        let text = plain(format);
        assert!(
            !read(format, text).is_broken(),
            "{format:?} {:#?}",
            read(format, text).report
        );
        for spoiled in [format!("\u{feff}{text}"), format!("{text}\0"), format!("\0{text}")] {
            let imported = read(format, &spoiled);
            assert!(imported.is_broken(), "{format:?} {spoiled:?} {:#?}", imported.report);
            assert_eq!(allows(&imported), 0, "{format:?} {spoiled:?}");
        }
        // Line ends of another system are none of that.
        let imported = read(format, &text.replace('\n', "\r\n"));
        assert!(!imported.is_broken(), "{format:?}");
        assert_eq!(allows(&imported), allows(&read(format, text)), "{format:?}");
    }
}

#[test]
fn hostile_values_allow_nothing() {
    let many = "9".repeat(400);
    for (format, text) in [
        (
            Format::ClaudeSettings,
            format!(r#"{{"permissions":{{"allow":[{many}]}}}}"#),
        ),
        (
            Format::ClaudeSettings,
            r#"{"permissions":{"allow":["\ud800"]}}"#.to_owned(),
        ),
        (
            Format::ClaudeSettings,
            r#"{"permissions":{"allow":["Bash(ls\u0000*)\u0000"]}}"#.to_owned(),
        ),
        (
            Format::ClaudeSettings,
            r#"{"permissions":{"allow":{"0":"Bash"}}}"#.to_owned(),
        ),
        (
            Format::ClaudeSettings,
            r#"{"permissions":{"allow":[["Bash"]]}}"#.to_owned(),
        ),
        (
            Format::ClaudeSettings,
            r#"{"permissions":{"allow":["Bash"]},"permissions":null}"#.to_owned(),
        ),
        (
            Format::ClaudeSettings,
            r#"{"permissions":{"allow":["Bash"],"allow":1}}"#.to_owned(),
        ),
        (Format::Cusp, r#"{"permissions":[{"allow":["Bash"]}]}"#.to_owned()),
        (
            Format::CursorCli,
            r#"{"permissions":{"allow":"Shell(git)"}}"#.to_owned(),
        ),
        (Format::CursorDesktop, r#"{"mcpAllowlist":{"a:b":true}}"#.to_owned()),
        (
            Format::CodexRules,
            format!("prefix_rule(pattern={}'ls'{})", "[".repeat(500), "]".repeat(500)),
        ),
        (
            Format::CodexRules,
            "prefix_rule(pattern=['ls'], pattern=['rm'])".to_owned(),
        ),
        (Format::CodexRules, "prefix_rule(pattern=['ls'], decision=1)".to_owned()),
        (Format::CodexRules, "prefix_rule(pattern=[1])".to_owned()),
        (
            Format::GeminiPolicy,
            format!("[[rule]]\ntoolName='a'\ndecision='allow'\npriority={many}\n"),
        ),
        (
            Format::GeminiPolicy,
            "[[rule]]\ntoolName='a'\ntoolName='b'\ndecision='allow'\npriority=1\n".to_owned(),
        ),
        (
            Format::GeminiPolicy,
            "[[rule]]\ntoolName=1\ndecision='allow'\npriority=1\n".to_owned(),
        ),
        (
            Format::GeminiPolicy,
            "[rule]\ntoolName='a'\ndecision='allow'\npriority=1\n".to_owned(),
        ),
    ] {
        let imported = read(format, &text);
        assert_eq!(
            allows(&imported),
            0,
            "{format:?} {text}: {:#?}",
            imported.document.rules
        );
        assert!(
            !imported.report.is_empty(),
            "{format:?} {text}: nothing is dropped in silence"
        );
    }
}

use super::*;

fn text(rule: &str, effect: Effect) -> Option<TextPattern> {
    match parse(rule, effect) {
        Ok(Matcher::Shell(pattern)) => Some(pattern),
        _ => None,
    }
}

#[test]
fn commands_and_near_misses() {
    for (rule, command, allow, deny) in [
        ("Shell(git)", "git", true, true),
        ("Shell(git)", "git push origin", true, true),
        ("Shell(git)", "gitk --all", false, false),
        ("Shell(git status)", "git status -s", true, true),
        ("Shell(git status)", "git statusx", false, false),
        ("Shell(curl:*)", "curl", true, true),
        ("Shell(curl:*)", "curl -s x", true, true),
        ("Shell(curl:*)", "curlx", false, false),
        ("Shell(git:push*)", "git push", true, true),
        ("Shell(git:push*)", "git push origin main", true, true),
        ("Shell(git:push*)", "git pull", false, false),
        ("Shell(npm:run test:*)", "npm run test:unit", true, true),
        ("Shell(npm:run test:*)", "npm run test", false, false),
        ("Shell(npm run test:unit)", "npm run test:unit --watch", true, true),
        ("Shell(npm run test:unit)", "npm run test", false, false),
        ("Shell(npm run test:unit)", "npm run test unit", false, true),
        ("Shell(docker compose:up*)", "docker compose up -d", true, true),
        ("Shell(docker compose:up*)", "docker compose down", false, false),
        ("Shell(git:fetch)", "git fetch", true, true),
        ("Shell(git:fetch)", "git fetch origin", false, true),
        ("Shell(git:)", "git", true, true),
        ("Shell(git:)", "git x", false, true),
        ("Shell(*)", "anything at all", true, true),
        ("Shell(*:*)", "anything at all", true, true),
        ("Shell(python*)", "python3 x.py", true, true),
        ("Shell(python*)", "pytest", false, false),
        ("Shell(py*n)", "python x", false, true),
        ("Shell(*:push*)", "git push x", false, true),
        ("Shell(git:push?)", "git pushx", false, true),
        ("Shell(Git)", "git x", false, false),
        ("shell(rm)", "rm x", false, true),
        ("Shell", "rm x", false, true),
    ] {
        let covers = |effect| text(rule, effect).is_some_and(|pattern| pattern.matches(command));
        assert_eq!(covers(Effect::Allow), allow, "allow {rule} on `{command}`");
        assert_eq!(covers(Effect::Deny), deny, "deny {rule} on `{command}`");
    }
}

#[test]
fn what_is_no_rule_gives_an_allow_nothing() {
    for rule in [
        "",
        "Shell",
        "Shell()",
        "Shell(git",
        "Shell (git)",
        "shell(git)",
        "Bash(git *)",
        "Edit(x)",
        "Shell(:x)",
        "Shell(py*:x)",
        "Read()",
        "Read(../x)",
        "WebFetch(https://a.test/x)",
        "Mcp(github)",
        "Mcp(:x)",
        "Mcp(x:)",
    ] {
        assert!(parse(rule, Effect::Allow).is_err(), "{rule}");
    }
    for rule in ["Bash(git *)", "Edit(x)", "Shell()", "Foo(x)"] {
        assert!(parse(rule, Effect::Deny).is_err(), "{rule}");
    }
}

#[test]
fn hosts_and_servers() {
    let host = |rule: &str, effect, host: &str| match parse(rule, effect) {
        Ok(Matcher::Fetch(Some(pattern))) => pattern.matches(host),
        _ => false,
    };
    assert!(host("WebFetch(docs.a.test)", Effect::Allow, "docs.a.test"));
    assert!(host("WebFetch(*.a.test)", Effect::Allow, "x.y.a.test"));
    assert!(!host("WebFetch(*.a.test)", Effect::Allow, "a.test"));
    assert!(host("WebFetch(*)", Effect::Allow, "a.test"));
    assert!(host("WebFetch(https://a.test:8080/x)", Effect::Deny, "a.test"));
    let mcp = |rule: &str, effect, server: &str, tool: &str| match (parse(rule, effect), effect) {
        (Ok(Matcher::Mcp(pattern)), Effect::Allow) => pattern.covers(server, tool),
        (Ok(Matcher::Mcp(pattern)), _) => pattern.touches(server, tool),
        _ => false,
    };
    assert!(mcp("Mcp(github:*)", Effect::Allow, "github", "x"));
    assert!(!mcp("Mcp(GitHub:*)", Effect::Allow, "github", "x"));
    assert!(mcp("Mcp(GitHub:*)", Effect::Deny, "github", "x"));
    assert!(mcp("Mcp(prod)", Effect::Deny, "prod", "x"));
}

#[test]
fn entries_of_the_allowlists() {
    for (entry, command, expected) in [
        ("git", "git log --oneline", true),
        ("git", "gitk", false),
        ("git status", "git status -s", true),
        ("git status", "git stash", false),
        ("  git   status ", "git status", true),
        ("npm:install*", "npm install express", true),
        ("npm:install*", "npm run build", false),
        ("git:fetch origin", "git fetch origin --upload-pack=x", false),
        ("npm run test:unit", "npm run test:unit", true),
        ("npm run test:*", "npm run test --watch", true),
        ("npm run test:*", "npm run testx", false),
        ("Git", "git log", false),
    ] {
        let covers = terminal_entry(entry).unwrap().matches(command);
        assert_eq!(covers, expected, "{entry} on `{command}`");
    }
    for entry in ["", " ", "*", "git *", "npm*", "*:install", ":x"] {
        assert!(terminal_entry(entry).is_err(), "{entry}");
    }
    for (entry, server, tool, expected) in [
        ("github:*", "GitHub", "List", true),
        ("*:Search", "wiki", "search", true),
        ("my-server:list_*", "my-server", "list_x", true),
        ("my-server:list_*", "my-server", "get_x", false),
        ("a*:x", "abc", "x", true),
    ] {
        assert_eq!(mcp_entry(entry).unwrap().covers(server, tool), expected, "{entry}");
    }
    for entry in ["github", "", ":x", "x:"] {
        assert!(mcp_entry(entry).is_err(), "{entry}");
    }
}

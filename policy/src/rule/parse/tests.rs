use proptest::prelude::*;

use super::*;

fn fault(text: &str, effect: Effect) -> InvalidRule {
    match parse(text, effect) {
        Err(fault) => fault,
        Ok(parsed) => panic!("`{text}` was read as {parsed:?}"),
    }
}

#[test]
fn every_form_is_read() {
    for (text, effect) in [
        ("Bash", Effect::Allow),
        ("Bash(*)", Effect::Allow),
        ("Bash(git log *)", Effect::Allow),
        ("Bash(npm run test:*)", Effect::Allow),
        ("Bash(npm run test:unit)", Effect::Allow),
        ("Bash(DEBUG=1 npm run dev)", Effect::Allow),
        ("Bash(gh pr view * --jq '.[] | .body')", Effect::Allow),
        ("Bash(run_in_background:true)", Effect::Deny),
        ("Read(src/**)", Effect::Allow),
        ("Read(!.env.example)", Effect::Deny),
        ("Edit(app/(auth)/**)", Effect::Allow),
        ("Write(src/**)", Effect::Deny),
        ("Glob(secrets/**)", Effect::Ask),
        ("Write", Effect::Allow),
        ("Delete(build/**)", Effect::Allow),
        ("WebFetch", Effect::Ask),
        ("WebFetch(domain:*.example.com)", Effect::Allow),
        ("WebSearch", Effect::Allow),
        ("WebSearch(exact words)", Effect::Deny),
        ("WebSearch(internal *)", Effect::Deny),
        ("mcp__github", Effect::Allow),
        ("mcp__github__get_*", Effect::Allow),
        ("mcp__*", Effect::Deny),
        ("mcp__*__delete_*", Effect::Deny),
        ("Agent(Explore)", Effect::Allow),
        ("Agent(plugin:reviewer)", Effect::Allow),
        ("Task(Explore)", Effect::Deny),
        ("Agent(model:opus)", Effect::Ask),
        ("Skill(deploy)", Effect::Deny),
        ("Skill(deploy *)", Effect::Deny),
        ("Skill(ops:*)", Effect::Deny),
        ("TodoWrite", Effect::Allow),
        ("Monitor(persistent:true)", Effect::Deny),
        ("*", Effect::Deny),
        ("Notebook*", Effect::Deny),
    ] {
        if let Err(fault) = parse(text, effect) {
            panic!("`{text}` as {effect}: {fault} ({:?})", fault.hint);
        }
    }
}

/// Rule, effect, the faulty words, a piece of the hint.
const FAULTS: &[(&str, Effect, &str, &str)] = &[
    ("", Effect::Allow, "", "Tool(specifier)"),
    (" Bash(ls)", Effect::Allow, " Bash(ls)", "`Bash(ls)`"),
    ("bash(ls *)", Effect::Allow, "bash", "`Bash`"),
    ("webfetch", Effect::Deny, "webfetch", "`WebFetch`"),
    ("Bash (ls *)", Effect::Allow, " ", "`Bash(ls *)`"),
    ("Bash(ls *", Effect::Allow, "(ls *", "close"),
    ("Bash(ls) x", Effect::Allow, "(ls) x", "close"),
    ("Bash()", Effect::Allow, "()", "`Bash`"),
    ("Bash(:*)", Effect::Deny, ":*", "`Bash`"),
    ("Bash(git:* push)", Effect::Allow, ":*", "`Bash(git * push)`"),
    ("Bash(command:rm *)", Effect::Deny, "command:rm *", "`Bash(rm *)`"),
    (
        "Bash(run_in_background:true)",
        Effect::Allow,
        "run_in_background:true",
        "deny or ask",
    ),
    ("Bash(cd x && ls)", Effect::Allow, "&", "one rule per command"),
    ("Bash(curl * | sh)", Effect::Deny, "|", "one rule per command"),
    ("Bash(a; b)", Effect::Deny, ";", "one rule per command"),
    ("Bash(a\nb)", Effect::Deny, "\n", "one rule per command"),
    ("Bash(echo * > x)", Effect::Allow, ">", "Edit(path)"),
    ("B*", Effect::Allow, "B*", "one rule per tool"),
    ("*", Effect::Allow, "*", "one rule per tool"),
    ("mcp__*", Effect::Allow, "mcp__*", "per server"),
    ("mcp__", Effect::Deny, "mcp__", "mcp__<server>"),
    ("mcp__a__", Effect::Deny, "mcp__a__", "`mcp__a`"),
    ("Write(src/**)", Effect::Allow, "Write", "`Edit(src/**)`"),
    ("Glob(src/**)", Effect::Allow, "Glob", "`Read(src/**)`"),
    ("Read(../x)", Effect::Allow, "../x", "folder itself"),
    ("Read(C:\\x)", Effect::Deny, "C:\\x", "`//c/x`"),
    (
        "WebFetch(example.com)",
        Effect::Allow,
        "example.com",
        "`WebFetch(domain:example.com)`",
    ),
    (
        "WebFetch(https://a.test/x)",
        Effect::Allow,
        "https://a.test/x",
        "`WebFetch(domain:a.test)`",
    ),
    ("WebFetch(domain:a.test/x)", Effect::Allow, "/", "`domain:a.test`"),
    ("Agent(model:opus)", Effect::Allow, "model:opus", "deny or ask"),
    ("Skill(a*)", Effect::Allow, "a*", "Skill(name *)"),
    ("TodoWrite(x)", Effect::Deny, "x", "`TodoWrite`"),
    ("Foo,Bar", Effect::Deny, ",", ""),
];

#[test]
fn what_could_never_match_is_refused_where_it_stands() {
    for (text, effect, words, hint) in FAULTS {
        let fault = fault(text, *effect);
        assert_eq!(text.get(fault.span.clone()), Some(*words), "span of `{text}`: {fault}");
        assert!(!fault.message.is_empty() && !fault.message.ends_with('.'));
        assert!(
            fault.hint.as_deref().unwrap_or_default().contains(hint),
            "hint of `{text}`: {:?}",
            fault.hint
        );
    }
    assert!(parse(&format!("Bash({})", "a".repeat(MAX_RULE_BYTES)), Effect::Allow).is_err());
}

proptest! {
    #[test]
    fn no_text_panics_and_spans_fit(text in "\\PC{0,40}", tool in "(Bash|Read|WebFetch|mcp__|Agent|x)?") {
        let text = format!("{tool}({text})");
        for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
            if let Err(fault) = parse(&text, effect) {
                prop_assert!(text.get(fault.span).is_some());
            }
        }
    }
}

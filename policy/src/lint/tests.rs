use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{DocumentOrigin, starter};

fn read(layer: Layer, text: &str) -> Arc<PolicyDocument> {
    let origin = DocumentOrigin {
        layer,
        name: format!("{layer}.jsonc"),
        folder: None,
    };
    Arc::new(PolicyDocument::parse(text, origin).unwrap_or_else(|faults| panic!("{faults:#?}")))
}

fn found(documents: &[(Layer, Value)]) -> Vec<(Layer, String, Code)> {
    let texts: Vec<(Layer, String)> = documents
        .iter()
        .map(|(layer, value)| (*layer, value.to_string()))
        .collect();
    let linted: Vec<Linted<'_>> = texts
        .iter()
        .map(|(layer, text)| Linted {
            document: read(*layer, text),
            text,
        })
        .collect();
    lint(&linted)
        .into_iter()
        .map(|finding| (finding.layer, finding.rule, finding.code))
        .collect()
}

/// The codes of what is found about a rule in one document of the team.
fn codes(effect: &str, rule: &str) -> Vec<Code> {
    let document = json!({ "permissions": { effect: [rule] } });
    found(&[(Layer::Team, document)])
        .into_iter()
        .map(|(.., code)| code)
        .collect()
}

#[test]
fn each_rule_has_the_findings_of_its_kind_and_near_misses_have_none() {
    for (rule, code) in [
        ("Bash", Some(Code::Everything)),
        ("Bash(*)", Some(Code::Everything)),
        ("Edit", Some(Code::Everything)),
        ("Edit(//**)", Some(Code::Everything)),
        ("Edit(./src/**)", None),
        ("Edit(src/**)", None),
        ("Read(src/**)", None),
        ("Read(//srv/app/**)", None),
        ("Read(~/projects/**)", None),
        ("Read(*.md)", None),
        ("Read(**/*.md)", None),
        ("Read(//**)", Some(Code::Everything)),
        ("Read(**)", Some(Code::WholeProject)),
        ("Read(**/*)", Some(Code::WholeProject)),
        ("Read(*)", Some(Code::WholeProject)),
        ("Read(./**)", Some(Code::WholeProject)),
        ("Edit(/**)", Some(Code::WholeProject)),
        ("Delete(/**)", Some(Code::WholeProject)),
        ("Read(~/**)", Some(Code::WholeHome)),
        ("Edit(~/**)", Some(Code::WholeHome)),
        ("Read(//home/dev/**)", Some(Code::WholeHome)),
        ("Read(//home/**)", Some(Code::WholeHome)),
        ("Read(//home/dev/app/**)", None),
        ("Read(~/.ssh/**)", Some(Code::Secrets)),
        ("Read(~/.ssh/*.pub)", None),
        ("Read(~/.ssh/config)", None),
        ("Read(~/.config/**)", Some(Code::Secrets)),
        ("Read(~/.config/app/**)", None),
        ("Read(**/*.pem)", Some(Code::Secrets)),
        ("WebFetch", Some(Code::Everything)),
        ("WebFetch(domain:a.example)", None),
        ("Bash(git * main)", Some(Code::WildcardBeforeSubcommand)),
        ("Bash(git checkout *)", None),
        ("Bash(git *)", Some(Code::EverySubcommand)),
        ("Bash(git:*)", Some(Code::EverySubcommand)),
        ("Bash(docker *)", Some(Code::EverySubcommand)),
        ("Bash(ls *)", None),
        ("Bash(ls*)", Some(Code::WildcardInProgram)),
        ("Bash(* --version)", Some(Code::WildcardInProgram)),
        ("Bash(python *)", Some(Code::Interpreter)),
        ("Bash(python3.12:*)", Some(Code::Interpreter)),
        ("Bash(bash *)", Some(Code::Interpreter)),
        ("Bash(node -e *)", Some(Code::Interpreter)),
        ("Bash(python3 -c *)", Some(Code::Interpreter)),
        ("Bash(python3 -Ic:*)", Some(Code::Interpreter)),
        ("Bash(python3 -m *)", Some(Code::Interpreter)),
        ("Bash(python3 -u *)", Some(Code::Interpreter)),
        ("Bash(perl -ne *)", Some(Code::Interpreter)),
        ("Bash(deno eval *)", Some(Code::Interpreter)),
        ("Bash(node build.js *)", None),
        ("Bash(node --test tests/*)", None),
        ("Bash(deno task *)", None),
        ("Bash(python3 -m http.server:*)", None),
        ("Bash(bash -c *)", Some(Code::Wrapper)),
        ("Bash(bash -lc *)", Some(Code::Wrapper)),
        ("Bash(sh -c:*)", Some(Code::Wrapper)),
        ("Bash(bash ci/build.sh *)", None),
        ("Bash(env *)", Some(Code::Wrapper)),
        ("Bash(env CI=1 *)", Some(Code::Wrapper)),
        ("Bash(env CI=1 make *)", None),
        ("Bash(timeout 60 *)", Some(Code::Wrapper)),
        ("Bash(timeout 60 make *)", None),
        ("Bash(xargs -n 1 *)", Some(Code::Wrapper)),
        ("Bash(xargs grep *)", None),
        ("Bash(sudo -u root *)", Some(Code::Wrapper)),
        ("Bash(sudo systemctl status *)", None),
        ("Bash(eval *)", Some(Code::Wrapper)),
        ("Bash(docker run --rm *)", Some(Code::Wrapper)),
        ("Bash(docker run --rm alpine *)", None),
        ("Bash(find * -exec *)", Some(Code::ExecutingOption)),
        ("Bash(find . -name * -exec grep *)", Some(Code::ExecutingOption)),
        ("Bash(find * -delete)", Some(Code::ExecutingOption)),
        ("Bash(find * -name *)", None),
        ("Bash(git -c core.pager=* log)", Some(Code::ExecutingOption)),
        ("Bash(tar * --to-command *)", Some(Code::ExecutingOption)),
        ("Bash(cargo test *)", None),
        ("Bash(npm run lint:*)", None),
        ("Bash(npm *)", Some(Code::EverySubcommand)),
        ("Bash(*test)", Some(Code::WildcardInProgram)),
        ("Bash(python3 -m pytest *)", None),
        ("Bash(sudo *)", Some(Code::Wrapper)),
        ("Bash(xargs *)", Some(Code::Wrapper)),
        ("Bash(npx *)", Some(Code::Wrapper)),
        ("Bash(docker run *)", Some(Code::Wrapper)),
        ("Bash(npx tsc *)", None),
        ("Bash(curl *)", Some(Code::Network)),
        ("Bash(curl https://a.example/*)", None),
        ("Bash(echo \"x)", Some(Code::NeverMatches)),
        ("Bash(echo \"x\")", None),
        ("Bash(make # all)", Some(Code::NeverMatches)),
        ("Bash(A=1 make)", None),
        ("Edit(.git/config)", Some(Code::Protected)),
        ("Edit(.git/hooks/**)", Some(Code::Protected)),
        ("Edit(~/.bashrc)", Some(Code::Protected)),
        ("WebFetch(domain:*)", Some(Code::Everything)),
        ("WebFetch(domain:*.*)", Some(Code::Everything)),
        ("WebFetch(domain:*.com)", Some(Code::Everything)),
        ("WebFetch(domain:*.example.com)", None),
        ("WebFetch(domain:api-*.example.com)", None),
        ("Bash(poetry run *)", Some(Code::Wrapper)),
        ("Bash(poetry run pytest *)", None),
        ("Bash(bundle exec *)", Some(Code::Wrapper)),
        ("Bash(bundle exec rspec *)", None),
        ("Bash(bundle *)", Some(Code::EverySubcommand)),
        ("Bash(bundle install *)", None),
        ("Bash(git bisect run *)", Some(Code::ExecutingOption)),
        ("Bash(vim *)", Some(Code::Interpreter)),
        ("Bash(nvim:*)", Some(Code::Interpreter)),
        ("Bash(vim README.md)", None),
        ("Bash(tmux *)", Some(Code::Interpreter)),
        ("Bash(psql *)", Some(Code::Interpreter)),
        ("Bash(psql -d app -c *)", Some(Code::Interpreter)),
        ("Bash(sqlite3 app.db *)", Some(Code::Interpreter)),
        ("Bash(psql -l)", None),
        ("Bash(make *)", None),
        ("Bash(rm *)", Some(Code::WholeProject)),
        ("Bash(rm -rf *)", Some(Code::WholeProject)),
        ("Bash(rm -rf ./*)", Some(Code::WholeProject)),
        ("Bash(rm -rf dist)", None),
        ("Bash(rm -rf dist/*)", None),
        ("Bash(rm -rf build/*.o)", None),
        ("Bash(sed *)", None),
        ("Bash(source *)", Some(Code::Interpreter)),
        ("Bash(. *)", Some(Code::Interpreter)),
        ("Bash(source venv/bin/activate *)", None),
        ("Bash(cat ~/.ssh/*)", Some(Code::Secrets)),
        ("Bash(cat $HOME/.aws/*)", Some(Code::Secrets)),
        ("Bash(cp /home/dev/.gnupg/* *)", Some(Code::Secrets)),
        ("Bash(dd if=~/.ssh/* *)", Some(Code::Secrets)),
        ("Bash(base64 *.pem)", Some(Code::Secrets)),
        ("Bash(cat ~/.config/*)", Some(Code::Secrets)),
        ("Bash(cat ~/.ssh/*.pub)", None),
        ("Bash(cat src/*)", None),
        ("Bash(g\u{200b}it status)", Some(Code::Hidden)),
        ("Bash(git\u{202e} status)", Some(Code::Hidden)),
        ("Bash(g\u{456}t status)", Some(Code::Hidden)),
        ("Bash(echo 'Größe 日本語 привет')", None),
        ("mcp__g\u{456}thub__get", Some(Code::Hidden)),
        ("mcp__github__get", None),
        ("Read(src/\u{200b}x)", Some(Code::Hidden)),
        ("Read(p\u{430}ss/x)", Some(Code::Hidden)),
        ("Read(документы/x)", None),
        ("Edit(.github/**)", None),
        ("Read(.git/config)", None),
    ] {
        assert_eq!(codes("allow", rule), code.into_iter().collect::<Vec<_>>(), "{rule}");
    }
    // What is broad as an allow is what a deny wants to be.
    for rule in [
        "Bash",
        "Bash(git * main)",
        "Bash(python *)",
        "Bash(sudo *)",
        "Bash(bash -c *)",
        "Bash(find * -exec *)",
        "Edit",
        "Read(~/**)",
        "Read(~/.ssh/**)",
        "Read(**)",
    ] {
        assert_eq!(codes("deny", rule), [], "{rule}");
    }
    // What hides, hides in every effect.
    for effect in ["allow", "ask", "deny"] {
        assert_eq!(codes(effect, "Bash(g\u{200b}it push)"), [Code::Hidden], "{effect}");
    }
}

/// No wrapper and no console of the tables is left out, by whatever way it is one.
#[test]
fn every_wrapper_and_console_of_the_tables_is_found() {
    let (mut seen, mut missed) = (0, Vec::new());
    for name in shell::whole_wrapper_names().chain(shell::wrapper_names()) {
        let rule = format!("Bash({name} *)");
        if codes("allow", &rule).is_empty() {
            missed.push(rule);
        }
        seen += 1;
    }
    assert_eq!(missed, [""; 0]);
    assert!(seen > 200, "{seen}");
}

/// Thousands of rules that begin or end alike are not each compared with each.
#[test]
fn few_rules_are_compared_with_a_rule() {
    const MANY: usize = 2_000;
    let kinds: [fn(usize) -> String; 8] = [
        |i| format!("Bash(*tool{i})"),
        |i| format!("Bash(git push origin{i} *)"),
        |i| format!("Bash(python3 *x{i})"),
        |i| format!("Bash(*x{i}y*)"),
        |i| format!("Bash(git * x{i}y * main)"),
        |i| format!("WebFetch(domain:*.a{i}.example)"),
        |i| format!("Skill(a{i})"),
        |_| "Bash(git *)".to_owned(),
    ];
    for kind in kinds {
        let rules: Vec<String> = (0..MANY).map(kind).collect();
        let text = json!({ "permissions": { "allow": rules } }).to_string();
        let document = read(Layer::Team, &text);
        let all: Vec<Placed<'_>> = document.rules.iter().map(|rule| Placed { document: 0, rule }).collect();
        assert_eq!(all.len(), MANY);
        let index = index::Index::build(&all);
        let compared: usize = all.iter().map(|placed| index.candidates(placed).len()).sum();
        assert!(compared < 10 * MANY, "{}: {compared}", rules.first().unwrap());
    }
}

/// The rule that a finding suggests, where it suggests one.
fn suggested(fix: &str) -> Option<&str> {
    let (_, rest) = fix.split_once("such as `")?;
    rest.split_once('`').map(|(rule, _)| rule)
}

/// Whoever follows the advice gets a rule that can be read, is about the same program, and has no finding itself.
#[test]
fn what_is_suggested_makes_sense() {
    let programs = broad::PROGRAMS.iter().map(|program| format!("Bash({program} *)"));
    let early = broad::PROGRAMS
        .iter()
        .map(|program| format!("Bash({program} * --verbose)"));
    let others = [
        "Bash(python3 -c *)",
        "Bash(node -e *)",
        "Bash(awk *)",
        "Bash(sudo *)",
        "Bash(ssh *)",
        "Bash(npx *)",
        "Bash(uvx *)",
        "Bash(docker run *)",
        "Read",
        "Edit",
        "Delete",
        "Read(//**)",
        "Read(~/**)",
        "Edit(/**)",
        "Read(**)",
        "WebFetch",
        "Bash(git * main)",
    ];
    let mut seen = 0;
    for rule in programs.chain(early).chain(others.map(str::to_owned)) {
        let text = json!({ "permissions": { "allow": [rule] } }).to_string();
        let linted = [Linted {
            document: read(Layer::Team, &text),
            text: &text,
        }];
        for finding in lint(&linted) {
            let Some(better) = suggested(&finding.fix) else {
                continue;
            };
            seen += 1;
            let word = |rule: &str| rule.split([' ', ':', ')']).next().unwrap_or_default().to_owned();
            assert!(
                !better.starts_with("Bash(") || word(better) == word(&rule),
                "{rule}: {better}"
            );
            assert_eq!(codes("allow", better), [], "{rule}: {better}");
        }
    }
    assert!(seen > 60, "{seen}");
    let text = r#"{"permissions":{"allow":["Bash(npm *)","Bash(* --version)"]}}"#;
    let linted = [Linted {
        document: read(Layer::Team, text),
        text,
    }];
    let said = lint(&linted);
    assert!(said[0].fix.contains("`Bash(npm run lint:*)`"), "{said:#?}");
    assert!(said[1].reason.contains("followed by `--version`"), "{said:#?}");
}

#[test]
fn a_deny_by_one_of_many_ways_is_found_and_one_on_the_program_is_not() {
    for (rule, fix) in [
        ("Bash(cat .env)", Some("`Read(.env)`")),
        ("Bash(cat .env:*)", Some("`Read(.env)`")),
        ("Bash(cat *.env*)", Some("`Read(*.env*)`")),
        ("Bash(grep -r key ~/.ssh/*)", Some("`Read(~/.ssh/**)`")),
        ("Bash(head /etc/shadow)", Some("`Read(//etc/shadow)`")),
        (
            "Bash(curl https://evil.example/*)",
            Some("`WebFetch(domain:evil.example)`"),
        ),
        ("Bash(curl *evil.example*)", Some("`WebFetch(domain:evil.example)`")),
        ("Bash(cat *)", None),
        ("Bash(curl *)", None),
        ("Bash(curl -X POST *)", None),
        ("Bash(rm -rf ./build)", None),
        ("Bash(git push origin main)", None),
        ("Bash(npm publish *)", None),
        ("Bash(grep password *)", None),
    ] {
        let text = json!({ "permissions": { "deny": [rule] } }).to_string();
        let linted = [Linted {
            document: read(Layer::Team, &text),
            text: &text,
        }];
        let found = lint(&linted);
        assert_eq!(found.len(), usize::from(fix.is_some()), "{rule}: {found:#?}");
        for (finding, fix) in found.iter().zip(fix) {
            assert_eq!(finding.code, Code::OtherWords, "{rule}");
            assert!(finding.fix.contains(fix), "{rule}: {finding:#?}");
            let better = finding.fix.split('`').nth(1).unwrap();
            assert_eq!(codes("deny", better), [], "{better}");
        }
    }
    // The better rule stands beside it.
    let both = json!({ "permissions": { "deny": ["Bash(cat .env)", "Read(.env)"] } });
    assert_eq!(found(&[(Layer::Team, both)]), []);
}

#[test]
fn what_another_rule_covers_is_found_with_the_layer_that_covers_it() {
    use Layer::{Local, Project, Team, User};
    let permissions = |effect: &str, rule: &str| json!({ "permissions": { effect: [rule] } });
    for ((outer_layer, outer_effect, outer), (layer, effect, inner), code) in [
        (
            (Team, "deny", "Bash(git push *)"),
            (User, "allow", "Bash(git push origin *)"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "Bash(git push *)"),
            (User, "allow", "Bash(git push)"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "Bash(git push * main)"),
            (User, "allow", "Bash(git push *)"),
            None,
        ),
        (
            (User, "deny", "Bash(git push *)"),
            (Team, "allow", "Bash(git push origin *)"),
            Some(Code::Outranked),
        ),
        (
            (Team, "ask", "Bash(git push *)"),
            (Local, "allow", "Bash(git push -v)"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "Bash(git push *)"),
            (Local, "deny", "Bash(git push -f *)"),
            Some(Code::Covered),
        ),
        (
            (User, "allow", "Bash(make *)"),
            (Local, "allow", "Bash(make -j *)"),
            Some(Code::Covered),
        ),
        // An exact allow covers what the command touches besides.
        ((User, "allow", "Bash(make *)"), (Local, "allow", "Bash(make -j)"), None),
        // An untrusted project's allow does not count, so it makes no other superfluous.
        (
            (Project, "allow", "Bash(make *)"),
            (User, "allow", "Bash(make -j *)"),
            None,
        ),
        (
            (Project, "allow", "Bash(make *)"),
            (Local, "allow", "Bash(make -j *)"),
            Some(Code::Covered),
        ),
        (
            (Team, "deny", "Read(~/.ssh/**)"),
            (User, "allow", "Read(~/.ssh/config)"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "Read(~/.ssh/**)"),
            (User, "allow", "Edit(~/.ssh/config)"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "Edit(~/.ssh/**)"),
            (User, "allow", "Read(~/.ssh/config)"),
            None,
        ),
        (
            (Team, "deny", "Read(~/.ssh/**)"),
            (User, "allow", "Read(~/.sshx)"),
            None,
        ),
        ((Team, "deny", "Read(.env)"), (User, "allow", "Read(.env)"), None),
        (
            (Team, "deny", "WebFetch(domain:*.a.example)"),
            (User, "allow", "WebFetch(domain:x.a.example)"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "WebFetch(domain:*.a.example)"),
            (User, "allow", "WebFetch(domain:a.example)"),
            None,
        ),
        (
            (Team, "deny", "mcp__a"),
            (User, "allow", "mcp__a"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "*"),
            (User, "allow", "Skill(x)"),
            Some(Code::Contradicts),
        ),
    ] {
        let documents = [
            (outer_layer, permissions(outer_effect, outer)),
            (layer, permissions(effect, inner)),
        ];
        let expected: Vec<_> = code.into_iter().map(|code| (layer, inner.to_owned(), code)).collect();
        let relevant = [Code::Covered, Code::Outranked, Code::Contradicts];
        let found: Vec<_> = found(&documents)
            .into_iter()
            .filter(|(.., code)| relevant.contains(code))
            .collect();
        assert_eq!(found, expected, "{outer_effect} {outer}, {effect} {inner}");
    }
}

#[test]
fn of_two_rules_that_say_the_same_one_is_found() {
    let document = json!({ "permissions": { "deny": ["Bash(rm *)", "Bash(rm:*)"] } });
    assert_eq!(
        found(&[(Layer::Team, document)]),
        [(Layer::Team, "Bash(rm:*)".to_owned(), Code::Covered)]
    );
}

#[test]
fn locks_modes_and_hollow_denies_are_found() {
    let team = json!({
        "permissions": { "deny": ["Read(secrets/**)"], "defaultMode": "bypass" },
        "modes": { "permitted": ["default"] },
        "locks": { "managedRulesOnly": true },
    });
    let user = json!({ "permissions": { "allow": ["Bash(python3 *)", { "rule": "Bash(make)", "when": { "modes": ["plan"] } }] } });
    let codes: Vec<_> = found(&[(Layer::Team, team), (Layer::User, user)])
        .into_iter()
        .map(|(.., code)| code)
        .collect();
    assert_eq!(
        codes,
        [
            Code::ModeNotPermitted,
            Code::Locked,
            Code::Interpreter,
            Code::Evaded,
            Code::NeverHolds,
            Code::Locked
        ]
    );
}

#[test]
fn the_words_are_underlined_where_they_stand() {
    let text = "{\n  \"permissions\": {\n    // ü\n    \"allow\": [\"Bash(ls)\", /* ü */ \"Bash(git *)\"] } }";
    let linted = [Linted {
        document: read(Layer::Team, text),
        text,
    }];
    let [finding] = <[Finding; 1]>::try_from(lint(&linted)).unwrap();
    assert_eq!(
        (text.get(finding.span.clone()).unwrap(), finding.line),
        ("\"Bash(git *)\"", 4)
    );
    assert!(finding.as_fault().message.starts_with("L0306: "), "{finding:?}");
}

/// One document for each kind of which the linter speaks, and what it says of it.
#[test]
fn every_kind_has_a_place_a_reason_and_a_way_out() {
    let team = r#"{
        "permissions": {
            "deny": ["Bash(git push *)", "Read(secrets/**)", "Bash(rm *)", "Bash(cat .env)"],
            "ask": ["Bash(git fetch *)"],
            "allow": [
                "Bash(echo \"x)", "Edit(.git/config)", "Bash(make *)", "Bash(make -j *)", "Bash(git fetch -p)", "Read",
                "Bash(find * -exec *)", "Read(**)", "Read(~/**)", "Read(~/.ssh/**)",
                "Bash(git * main)", "Bash(ls*)", "Bash(python *)", "Bash(sudo *)", "Bash(docker *)", "Bash(curl *)",
                "Bash(lѕ -l)"
            ],
            "defaultMode": "bypass"
        },
        "modes": { "permitted": ["default"] },
        "locks": { "managedRulesOnly": true }
    }"#;
    let user = r#"{ "permissions": { "allow": [
        "Bash(git push origin *)", { "rule": "Bash(x)", "when": { "modes": ["plan"] } }
    ] } }"#;
    let texts = [(Layer::Team, team), (Layer::User, user)];
    let linted: Vec<Linted<'_>> = texts
        .iter()
        .map(|(layer, text)| Linted {
            document: read(*layer, text),
            text,
        })
        .collect();
    let findings = lint(&linted);
    for finding in &findings {
        let (_, text) = texts.iter().find(|(layer, _)| *layer == finding.layer).unwrap();
        let words = text.get(finding.span.clone()).unwrap();
        let named = serde_json::Value::String(finding.rule.clone()).to_string();
        assert!(words == named || words == "\"defaultMode\"", "{words}: {finding:?}");
        assert!(!finding.reason.is_empty() && !finding.fix.is_empty(), "{finding:?}");
    }
    let found: std::collections::BTreeSet<Code> = findings.iter().map(|finding| finding.code).collect();
    assert_eq!(found, Code::ALL.into_iter().collect());
}

#[test]
fn a_broad_allow_is_asked_for_examples_until_it_has_some() {
    for (rule, asked) in [
        (json!("Bash(git *)"), true),
        (json!({ "rule": "Bash(git *)", "advice": "x" }), true),
        (json!({ "rule": "Bash(git *)", "match": ["git log"] }), false),
        (json!({ "rule": "Bash(git *)", "not_match": ["gitk"] }), false),
    ] {
        let text = json!({ "permissions": { "allow": [rule] } }).to_string();
        let linted = [Linted {
            document: read(Layer::Team, &text),
            text: &text,
        }];
        let [finding] = <[Finding; 1]>::try_from(lint(&linted)).unwrap();
        assert_eq!(finding.code, Code::EverySubcommand);
        assert_eq!(finding.fix.contains("`match`"), asked, "{text}: {finding:?}");
    }
}

#[test]
fn the_starter_policy_has_no_findings() {
    let linted = [Linted {
        document: read(Layer::Team, starter::TEAM),
        text: starter::TEAM,
    }];
    assert_eq!(lint(&linted), []);
}

#[test]
fn every_code_has_its_page_and_stands_in_order() {
    let page = include_str!("../../../docs/lint.md");
    let codes: Vec<String> = Code::ALL.iter().map(Code::to_string).collect();
    assert!(codes.is_sorted());
    for code in codes {
        assert!(
            page.contains(&format!("## {code} ")),
            "{code} is not described in docs/lint.md"
        );
    }
}

/// Each of them may be covered by the others, as far as their first word tells.
#[test]
fn thousands_of_rules_about_one_program_or_one_place_are_looked_at_in_one_go() {
    let mut rules: Vec<String> = (0..2400).map(|number| format!("Bash(git x{number} *)")).collect();
    rules.extend((0..2400).map(|number| format!("Read(//srv/d{number}/**)")));
    rules.push("Read(//srv/d7/x/y)".to_owned());
    rules.push("Bash(git x7 y *)".to_owned());
    let document = json!({ "permissions": { "deny": rules } });
    let covered = |rule: &str| (Layer::Team, rule.to_owned(), Code::Covered);
    assert_eq!(
        found(&[(Layer::Team, document)]),
        [covered("Read(//srv/d7/x/y)"), covered("Bash(git x7 y *)")]
    );
}

#[test]
fn thousands_of_rules_are_looked_at_in_one_go() {
    let rules: Vec<String> = (0..5000).map(|number| format!("Bash(tool{number} x *)")).collect();
    let document = json!({ "permissions": { "deny": rules } });
    assert_eq!(found(&[(Layer::Team, document)]), []);
}

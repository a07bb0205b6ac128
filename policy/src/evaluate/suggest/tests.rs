use super::*;
use crate::{
    AbsPath,
    shell::{self, Limits, ShellContext},
};

/// What is suggested for the first command of a line.
fn suggested(line: &str) -> Vec<String> {
    let context = ShellContext {
        cwd: AbsPath::parse("/w").unwrap(),
        home: None,
    };
    let analysis = shell::analyse(line, &context, Limits::default());
    command(
        analysis
            .commands
            .first()
            .unwrap_or_else(|| panic!("{line} runs nothing")),
    )
}

#[test]
fn each_kind_of_command_gets_rules_as_narrow_as_is_useful() {
    // A line, and what may be free behind the exact rule; `None`: nothing is suggested at all.
    let table: &[(&str, &str, Option<&[&str]>)] = &[
        (
            "package managers",
            "npm run lint -- --fix",
            Some(&["Bash(npm run lint:*)"]),
        ),
        ("package managers", "npm run lint", Some(&["Bash(npm run lint:*)"])),
        ("package managers", "npm install left-pad", Some(&[])),
        ("package managers", "npm publish --dry-run", Some(&[])),
        ("package managers", "npm run ../x", Some(&[])),
        (
            "package managers",
            "pnpm run build --watch",
            Some(&["Bash(pnpm run build:*)"]),
        ),
        ("package managers", "yarn test --ci", Some(&["Bash(yarn test:*)"])),
        ("package managers", "yarn add x", Some(&[])),
        ("package managers", "pip install x", Some(&[])),
        (
            "package managers",
            "cargo build --release",
            Some(&["Bash(cargo build:*)"]),
        ),
        ("package managers", "cargo install x", Some(&[])),
        ("package managers", "cargo run -- x", Some(&[])),
        (
            "package managers",
            "cargo nextest run -p a",
            Some(&["Bash(cargo nextest run:*)"]),
        ),
        ("git", "git add src", Some(&["Bash(git add:*)"])),
        ("git", "git commit -m x", Some(&["Bash(git commit:*)"])),
        ("git", "git push origin main", Some(&[])),
        ("git", "git reset --hard", Some(&[])),
        ("git", "git clean -fd", Some(&[])),
        ("git", "git -c core.pager=x log", None),
        ("tests", "pytest -q tests", Some(&["Bash(pytest:*)"])),
        ("tests", "pytest", Some(&[])),
        ("tests", "go test ./...", Some(&["Bash(go test:*)"])),
        ("tests", "npx vitest run", None),
        ("tests", "make test", Some(&[])),
        ("tests", "eslint --fix src", Some(&["Bash(eslint:*)"])),
        ("files", "mkdir -p a/b", Some(&["Bash(mkdir:*)"])),
        ("files", "cp a b", Some(&[])),
        ("files", "rm -rf build", Some(&[])),
        ("files", "chmod +x a", Some(&[])),
        ("network", "curl https://a.example", Some(&[])),
        ("network", "ssh host ls", None),
        ("interpreters", "python3 build.py --all", Some(&[])),
        ("interpreters", "python3 -m pytest -q", Some(&[])),
        ("interpreters", "python3 -c 'print(1)'", None),
        ("interpreters", "node -e 1", None),
        ("interpreters", "perl -ne print x", None),
        ("wrappers", "sudo systemctl restart x", None),
        ("wrappers", "bash -c 'make x'", None),
        ("wrappers", "xargs rm", None),
        ("wrappers", "env A=1 make", None),
        ("options that run programs", "cargo test --config a=b", None),
        ("options that run programs", "go test -exec ./x", None),
        ("options that run programs", "find . -exec rm {} ;", None),
        ("options that run programs", "tar --to-command=x -xf a", None),
        ("run time", "make $X", None),
        ("assignments", "A=1 make", Some(&[])),
        ("assignments", "FOO=1 BAR=a,b make test", Some(&[])),
        ("assignments", "FOO=1 npm run lint", Some(&[])),
        ("assignments", "A=$X make", None),
        ("assignments", "A='*' make", None),
        ("assignments", "LD_PRELOAD=/tmp/x.so make", None),
        ("assignments", "API_TOKEN=hunter2hunter2 make", None),
        ("assignments", "DB=postgres://u:hunter2hunter2@h/d make", None),
        ("assignments", "A=1 python3 -c 'print(1)'", None),
        ("assignments", "A=1 sudo make", None),
    ];
    let mut wrong = Vec::new();
    for (kind, line, expected) in table {
        let got = suggested(line);
        let right = match expected {
            None => got.is_empty(),
            Some(free) => {
                let exact = format!("Bash({line})");
                got.first() == Some(&exact) && got.get(1..).unwrap_or_default() == *free
            }
        };
        if !right {
            wrong.push(format!("{kind}: {line}: {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_rule_is_shown_with_what_it_covers_and_what_it_leaves() {
    for (rule, covers, leaves) in [
        (
            "Bash(npm run lint:*)",
            vec!["npm run lint", "npm run lint --verbose", "npm run lint x y"],
            vec!["npm run lint-other", "npm run other", "npm run"],
        ),
        (
            "Bash(python3 build.py)",
            vec!["python3 build.py"],
            vec![
                "python3 build.py --verbose",
                "python3 build.py x y",
                "python3 build.py-other",
            ],
        ),
        (
            "Edit(./src/a.rs)",
            vec!["src/a.rs", "src/a.rs/below"],
            vec!["src/other", "src/a.rs.bak"],
        ),
        (
            "Read(//etc/hosts)",
            vec!["/etc/hosts", "/etc/hosts/below"],
            vec!["/etc/other", "/etc/hosts.bak"],
        ),
        (
            "WebFetch(domain:a.example)",
            vec!["https://a.example/", "https://a.example/any/page"],
            vec!["https://sub.a.example/", "https://a.example.evil.example/"],
        ),
        ("mcp__a__b", vec!["mcp__a__b"], vec!["mcp__a__b_other", "mcp__other__b"]),
        ("Skill(x)", vec!["x"], vec!["x-other"]),
    ] {
        let found = examples(rule).unwrap();
        assert_eq!(
            (found.covers, found.leaves),
            (
                covers.into_iter().map(str::to_owned).collect(),
                leaves.into_iter().map(str::to_owned).collect()
            ),
            "{rule}"
        );
    }
    assert_eq!(examples("Bash(a;b)"), None);
    assert_eq!(examples("WebSearch"), Some(Examples::default()));
}

#[test]
fn no_table_names_what_runs_code() {
    let programs = FREE
        .iter()
        .map(|(program, _)| *program)
        .filter(|program| *program != "bun" && *program != "deno");
    for program in programs.chain(FREE_PROGRAMS.iter().copied()) {
        assert!(!is_interpreter(program), "{program}");
    }
    for (program, subcommands) in FREE {
        assert!(subcommands.is_sorted(), "{program}");
    }
    assert!(FREE.is_sorted_by_key(|(program, _)| *program) && FREE_PROGRAMS.is_sorted());
}

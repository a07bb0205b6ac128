//! Random rule sets and calls over small alphabets, so that rules and calls meet often.
//!
//! What is generated stays within what [`super::judge`] restates: no interpreters, no `find -exec`, no patterns of the shell
//! as operands. The engine is held to other specifications there (`shell/*.toml`, `permission_cases.rs`, `oracle.rs`).

use std::sync::Arc;

use portcullis_policy::{
    AbsPath, DocumentOrigin, Effect, Facts, Layer, Mode, PolicyDocument, Request, ToolCall,
    call::normalise,
    facts::{PathFact, PathKind, Repository},
    facts_needed,
    mode::Session,
    request::{Interactivity, Workspace},
};
use serde_json::{Value, json};

use super::judge::Rule;

/// A small generator of numbers (xorshift): the same seed gives the same cases everywhere.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.roll()).unwrap() % bound
    }

    /// True once in `n` times.
    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

const FILES: &[&str] = &[
    ".env",
    "src/a.rs",
    "src/b.key",
    "src/.env",
    "docs/x.md",
    "lib/src/y.rs",
    "link/a",
    "link",
    "build",
    "out",
    ".",
    "src",
    "../out",
    "/etc/hosts",
    "/tmp/x",
    "/dev/null",
    "~/.ssh/id_rsa",
    "~/notes",
    ".git/hooks/x",
    "/own/policy",
    "/own/secret/token",
];

const PATTERNS: &[&str] = &[
    ".env",
    "*.rs",
    "*.key",
    "src/**",
    "src/*",
    "./src/**",
    "src",
    "src/a.rs",
    "s?c/**",
    "src/[ab].rs",
    "/docs/**",
    "docs/",
    "lib/**",
    "*/src/*",
    "**/.env",
    "**/src/**",
    "//etc/**",
    "//etc/hosts",
    "//tmp/*",
    "~/.ssh/**",
    "~/**",
    "link/**",
    "build/",
    "out",
    "**",
    "./**",
    "//**",
    "a*",
    "*o*",
];

const COMMANDS: &[&str] = &[
    "git *",
    "git push *",
    "git push:*",
    "git push origin main",
    "git status",
    "git pu*",
    "* push *",
    "*push*",
    "*",
    "npm test",
    "npm run *",
    "npm run build",
    "npm *",
    "ls *",
    "ls",
    "cat *",
    "cat src/a.rs",
    "cat .env",
    "rm *",
    "rm -rf *",
    "foo *",
    "foo",
    "foo x *",
    "fo*",
    "sudo *",
    "sudo foo *",
    "LANG=C *",
    "A=1 foo",
    "bash *",
    "cp *",
    "curl *",
    "g*",
    "echo *",
    "timeout *",
    "tee *",
    "mkdir *",
    "touch *",
    "cd *",
    "sort *",
];

const HOSTS: &[&str] = &[
    "a.test",
    "b.a.test",
    "c.b.a.test",
    "b.test",
    "*.a.test",
    "*",
    "*.test",
    "b*.test",
    "*.b.*",
];
const MCP: &[&str] = &[
    "git",
    "github",
    "git__push",
    "git__*",
    "git__p*",
    "github__*",
    "git__hub__x",
    "git__hub",
    "my_srv__x",
    "my_srv",
];
const SKILLS: &[&str] = &[
    "Skill",
    "Skill(deploy)",
    "Skill(deploy *)",
    "Skill(ops:*)",
    "Skill(ops:x)",
];
const OTHERS: &[&str] = &[
    "Agent",
    "Agent(Explore)",
    "Agent(Plan)",
    "WebSearch",
    "WebSearch(cats)",
    "WebFetch",
    "Mystery",
];
/// In deny and ask only.
const NARROWING: &[&str] = &[
    "*",
    "Myst*",
    "mcp__*",
    "mcp__*__push",
    "mcp__gi*",
    "Bash(description:x*)",
    "Mystery(field:v*)",
];

fn rule_text(dice: &mut Dice, effect: Effect) -> String {
    match dice.below(if effect == Effect::Allow { 19 } else { 40 }) {
        0..7 => match dice.of(COMMANDS) {
            "*" if dice.once_in(2) => "Bash".to_owned(),
            pattern => format!("Bash({pattern})"),
        },
        7..14 => {
            let verb = dice.of(&["Read", "Read", "Edit", "Edit", "Delete"]);
            if dice.once_in(12) {
                verb.to_owned()
            } else {
                format!("{verb}({})", dice.of(PATTERNS))
            }
        }
        14 => format!("WebFetch(domain:{})", dice.of(HOSTS)),
        15 => format!("mcp__{}", dice.of(MCP)),
        16 => dice.of(SKILLS).to_owned(),
        17 | 18 => dice.of(OTHERS).to_owned(),
        // Few, for they stop much.
        19 | 20 => dice.of(NARROWING).to_owned(),
        _ => match dice.below(3) {
            0 => format!("Read({})", dice.of(PATTERNS)),
            1 => format!("Bash({})", dice.of(&COMMANDS[..8])),
            _ => format!("mcp__{}", dice.of(MCP)),
        },
    }
}

/// Documents as the engine reads them, and the same rules in the plain form.
pub(crate) struct Ruleset {
    pub(crate) documents: Vec<Arc<PolicyDocument>>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) texts: Vec<String>,
}

pub(crate) fn ruleset(dice: &mut Dice) -> Ruleset {
    let mut out = Ruleset {
        documents: Vec::new(),
        rules: Vec::new(),
        texts: Vec::new(),
    };
    for number in 0..dice.below(4) {
        let layer = [Layer::User, Layer::Project, Layer::Local, Layer::Session, Layer::Team][dice.below(5)];
        let folder = (layer <= Layer::Local && !dice.once_in(3)).then(|| {
            let folder = if layer == Layer::User {
                "/home/dev/.config"
            } else {
                "/home/dev/proj"
            };
            AbsPath::parse(folder).unwrap()
        });
        let name = format!("{}.jsonc", ["b", "a", "c"][number]);
        let mut lists = Vec::new();
        let mut line = 1;
        for (word, effect) in [("deny", Effect::Deny), ("ask", Effect::Ask), ("allow", Effect::Allow)] {
            let mut entries: Vec<String> = Vec::new();
            let begin = out.rules.len();
            line += 1;
            for _ in 0..dice.below(if effect == Effect::Allow { 6 } else { 3 }) {
                let previous: Vec<&str> = out.rules[begin..]
                    .iter()
                    .filter_map(|rule| rule.text.split_once('('))
                    .map(|(tool, _)| tool)
                    .filter(|tool| ["Read", "Edit", "Delete"].contains(tool))
                    .collect();
                if !previous.is_empty() && dice.once_in(3) {
                    let verb = previous[dice.below(previous.len())].to_owned();
                    let pattern = dice.of(PATTERNS);
                    entries.push(format!("{verb}(!{pattern})"));
                    for rule in &mut out.rules[begin..] {
                        if rule.text == verb || rule.text.starts_with(&format!("{verb}(")) {
                            rule.exceptions.push(pattern.to_owned());
                        }
                    }
                } else {
                    let text = rule_text(dice, effect);
                    entries.push(text.clone());
                    out.rules.push(Rule {
                        effect,
                        layer,
                        document: name.clone(),
                        folder: folder.clone(),
                        line: line + u32::try_from(entries.len()).unwrap(),
                        text,
                        exceptions: Vec::new(),
                    });
                }
            }
            line += u32::try_from(entries.len()).unwrap() + 1;
            let entries: Vec<String> = entries.iter().map(|text| format!("\n{}", json!(text))).collect();
            lists.push(format!("\n\"{word}\": [{}\n]", entries.join(",")));
        }
        let text = format!("{{\"permissions\": {{{}}}}}", lists.join(","));
        let origin = DocumentOrigin { layer, name, folder };
        let document = PolicyDocument::parse(&text, origin);
        let document = document.unwrap_or_else(|faults| panic!("{text}\n{faults:?}"));
        out.documents.push(Arc::new(document));
        out.texts.push(format!("{layer} {text}"));
    }
    out
}

fn simple_command(dice: &mut Dice) -> String {
    let file = |dice: &mut Dice| dice.of(FILES).to_owned();
    let (one, other) = (file(dice), file(dice));
    match dice.below(46) {
        0 | 1 => "git status".to_owned(),
        2 => "git push origin main".to_owned(),
        3 => "git -C src push origin".to_owned(),
        4 => "/usr/bin/git push".to_owned(),
        5 => "LANG=C git push".to_owned(),
        6 => format!("git show HEAD:{one}"),
        7 => "npm test".to_owned(),
        8 => "npm run build".to_owned(),
        9 => "ls".to_owned(),
        10 => format!("ls {one}"),
        11..14 => format!("cat {one}"),
        14 => format!("cat {one} {other}"),
        15..17 => format!("rm {one}"),
        17 => format!("rm -rf {one}"),
        18..20 => format!("cp {one} {other}"),
        20 => format!("mkdir {one}"),
        21 => format!("touch {one}"),
        22 | 23 => format!("echo x > {one}"),
        24 => format!("tee {one}"),
        25 | 26 => format!("foo {one}"),
        27 => format!("foo --in={one}"),
        28 => "foo x y".to_owned(),
        29 => format!("foo @{one}"),
        30 => format!("sudo foo {one}"),
        31 => format!("sudo rm {one}"),
        32 => "foo $X".to_owned(),
        33 => "git $X origin".to_owned(),
        34 => "cat $X".to_owned(),
        35 => "rm $X/a".to_owned(),
        36 => "$X push".to_owned(),
        37 => "curl https://b.a.test/x".to_owned(),
        38 => "./foo".to_owned(),
        39 => "A=1 foo".to_owned(),
        40 => "A=1".to_owned(),
        41 => format!("bash -c 'cat {one}'"),
        42 => "timeout 5 git push".to_owned(),
        43 => format!("sort -o {one} {other}"),
        44 => "portcullis trust".to_owned(),
        _ => format!("cat < {one}"),
    }
}

fn line(dice: &mut Dice) -> String {
    let mut line = if dice.once_in(10) {
        format!("cd {} && ", dice.of(&["src", "link", "/tmp", "docs"]))
    } else {
        String::new()
    };
    line.push_str(&simple_command(dice));
    while dice.once_in(4) {
        line.push_str(dice.of(&[" && ", "; ", " | ", " || "]));
        line.push_str(&simple_command(dice));
    }
    line
}

fn tool(name: &str, input: &Value) -> ToolCall {
    normalise("claude", name, input.as_object().unwrap().clone()).unwrap()
}

pub(crate) fn call(dice: &mut Dice) -> ToolCall {
    let file = dice.of(FILES);
    match dice.below(30) {
        0..12 => tool(
            "Bash",
            &json!({ "command": line(dice), "description": dice.of(&["x1", "y"]) }),
        ),
        12..16 => tool("Read", &json!({ "file_path": file })),
        16..20 => tool(
            "Edit",
            &json!({ "file_path": file, "old_string": "a", "new_string": "b" }),
        ),
        20 => tool("Grep", &json!({ "pattern": "x", "path": file })),
        21 | 22 => {
            let url = dice.of(&[
                "https://a.test/x",
                "https://b.a.test",
                "http://c.b.a.test:80/",
                "https://b.test/?q",
                "https://bb.test",
                r"https://a.test\@b.test",
            ]);
            tool("WebFetch", &json!({ "url": url, "prompt": "x" }))
        }
        23..26 => {
            let name = dice.of(&[
                "mcp__git__push",
                "mcp__git__pull",
                "mcp__github__push",
                "mcp__git__hub__x",
                "mcp__my_srv__x",
            ]);
            tool(name, &json!({}))
        }
        26 => tool("WebSearch", &json!({ "query": dice.of(&["cats", "dogs"]) })),
        27 => tool(
            "Skill",
            &json!({ "skill": dice.of(&["deploy", "ops:x", "ops", "other"]) }),
        ),
        28 => {
            let kind = dice.of(&["Explore", "Plan", "Other"]);
            tool(
                "Agent",
                &json!({ "subagent_type": kind, "prompt": "x", "description": "x" }),
            )
        }
        _ => tool("Mystery", &json!({ "field": dice.of(&["v1", "w"]) })),
    }
}

/// Where a path leads, if `link` in the project is a symlink.
fn real(path: &AbsPath, link: Option<&AbsPath>) -> AbsPath {
    let here = AbsPath::parse("/home/dev/proj/link").unwrap();
    match (path.below(&here), link) {
        (Some(rest), Some(target)) => target.join(rest),
        _ => path.clone(),
    }
}

pub(crate) fn request(dice: &mut Dice) -> Request {
    let path = |text: &str| AbsPath::parse(text).unwrap();
    let call = call(dice);
    let workspace = Workspace {
        root: path("/home/dev/proj"),
        additional_roots: Vec::new(),
        cwd: path(dice.of(&["/home/dev/proj", "/home/dev/proj", "/home/dev/proj/src", "/tmp"])),
        home: Some(path("/home/dev")),
    };
    let link = match dice.below(4) {
        0 => None,
        1 => Some(path("/etc")),
        2 => Some(path("/home/dev/proj/src")),
        _ => Some(path("/home/dev/proj/.git")),
    };
    let needed = facts_needed(&call.action, &workspace);
    let facts = Facts {
        vouched: !dice.once_in(10),
        paths: needed
            .paths
            .into_iter()
            .map(|named| {
                let real = (!dice.once_in(25)).then(|| real(&named, link.as_ref()));
                let kind = PathKind::Unknown;
                (named, PathFact { real, kind })
            })
            .collect(),
        programs: needed
            .programs
            .into_iter()
            .map(|name| {
                let folder = if dice.once_in(12) {
                    "/home/dev/proj/bin"
                } else {
                    "/usr/bin"
                };
                let found = (!dice.once_in(20)).then(|| path(folder).join(&name));
                (name, found)
            })
            .collect(),
        repository: match dice.below(4) {
            0 => Repository::Unknown,
            1 => Repository::None,
            n => Repository::Known {
                root: workspace.root.clone(),
                executing_keys: if n == 2 {
                    vec!["core.fsmonitor".to_owned()]
                } else {
                    Vec::new()
                },
            },
        },
        project_trusted: !dice.once_in(3),
        failures: if dice.once_in(30) {
            vec!["a document".to_owned()]
        } else {
            Vec::new()
        },
        own_paths: vec![path("/own")],
        own_secret_paths: vec![path("/own/secret")],
        ..Facts::default()
    };
    Request {
        agent: "claude".to_owned(),
        mode: Mode::ALL[dice.below(Mode::ALL.len())],
        interactivity: if dice.once_in(8) {
            Interactivity::Headless
        } else {
            Interactivity::Interactive
        },
        workspace,
        call,
        facts,
        sandboxed_execution: false,
        session: Session::default(),
    }
}

//! Random calls, and what a host found out about them.
//!
//! What is generated stays within what [`super::judge`] restates: no interpreters, no `find -exec`, no recursive readers, no
//! patterns of the shell as operands. The engine is held to other specifications there (`shell/*.toml`,
//! `permission_cases.rs`, `oracle.rs`).

use std::collections::BTreeMap;

use portcullis_policy::{
    AbsPath, Facts, Mode, Request, ToolCall,
    call::normalise,
    facts::{
        Approval, ConfiguredIn, Launch, McpServer, PathFact, PathKind, Repositories, Repository, RepositoryIdentity,
        SandboxOffer, Tree, TreeNeeded,
    },
    facts_needed,
    mode::{ClassifierReport, ClassifierVerdict, Session},
    request::{Interactivity, Workspace},
};
use serde_json::{Value, json};

use super::dice::Dice;

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
    ".claude/settings.json",
    ".claude/plans/p.md",
    ".cursor/rules/a.md",
    "/dev/sda",
    "/own/policy",
    "/own/secret/token",
];

fn simple_command(dice: &mut Dice) -> String {
    let file = |dice: &mut Dice| dice.of(FILES).to_owned();
    let (one, other) = (file(dice), file(dice));
    match dice.below(80) {
        0 | 1 => "git status".to_owned(),
        61 | 62 => format!(
            "git -C {} {}",
            dice.of(&[
                "src",
                "..",
                "link",
                "/tmp",
                "docs",
                "src/..",
                ".",
                "../other",
                "/home/dev/proj/docs"
            ]),
            dice.of(&["status", "log -1", "show HEAD:.env", "push"])
        ),
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
        25 => format!("foo {one}"),
        26 => format!("foo rm -rf {one}"),
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
        45 => "git push -f origin main".to_owned(),
        46 => "git push origin +main".to_owned(),
        47 => "git config core.pager x".to_owned(),
        48 => "shutdown now".to_owned(),
        49 | 50 => format!("mv {one} {other}"),
        51 => format!("ln -s {one} {other}"),
        52 => format!("ln {one} {other}"),
        53 => "echo x > $X".to_owned(),
        54 => "echo x > $X/.git/hooks/a".to_owned(),
        55 => format!("npm test --prefix={}", dice.of(&["src", "../x"])),
        56 => format!("rm --recursive --force {one}"),
        57 => format!("rm -r {one}"),
        64 => "npm --silent run build".to_owned(),
        65 => "npm -w a run build".to_owned(),
        66 => "foo -v x y".to_owned(),
        67 => "foo -v $X y".to_owned(),
        68 => "git -C src push -q origin main".to_owned(),
        58 => "echo x > /dev/tcp/b.a.test/80".to_owned(),
        59 => "cat < /dev/udp/c.b.a.test/53".to_owned(),
        69 => "foo git push origin main".to_owned(),
        70 => format!("foo --run=rm {one}"),
        71 => format!("foo 'ls; cat {one}'"),
        72 => "./foo /usr/bin/curl x".to_owned(),
        73 => "npm run rm".to_owned(),
        74 => "foo b.a.test:80".to_owned(),
        75 => "git archive --remote=https://b.a.test x".to_owned(),
        76 => "HOST=c.b.a.test foo".to_owned(),
        77 => format!("foo -e{one}"),
        78 => format!("git add {one}"),
        79 => dice
            .of(&["git subtree push origin main", "git push --tags -q origin"])
            .to_owned(),
        60 => "git stash".to_owned(),
        63 => "git checkout main".to_owned(),
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

fn browser(dice: &mut Dice) -> serde_json::Map<String, Value> {
    let urls = [
        "https://a.test/x",
        "http://c.b.a.test:80/",
        "https://b.test",
        "file:///etc/hosts",
    ];
    let input = match dice.below(6) {
        0 => json!({ "action": "click" }),
        _ => json!({ "action": "launch", "url": dice.of(&urls) }),
    };
    input.as_object().unwrap().clone()
}

pub(crate) fn call(dice: &mut Dice) -> ToolCall {
    let file = dice.of(FILES);
    match dice.below(40) {
        38 | 39 => tool("PowerShell", &json!({ "command": "Get-ChildItem" })),
        36 | 37 => {
            let input = json!({ "path": file });
            normalise("cursor", "Delete", input.as_object().unwrap().clone()).unwrap()
        }
        30 | 31 => normalise("cline", "browser_action", browser(dice)).unwrap(),
        32 => tool("ExitPlanMode", &json!({ "plan": "x" })),
        33 => tool("TodoWrite", &json!({ "todos": [] })),
        34 | 35 => tool("Bash", &json!({ "command": line(dice), "description": "y" })),
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
                "file:///etc/hosts",
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

/// What stands at a path: files of the alphabet with an ending are files, the others folders.
fn kind(dice: &mut Dice, path: &AbsPath) -> PathKind {
    match path.as_str().rsplit('/').next().unwrap() {
        _ if dice.once_in(4) => PathKind::Unknown,
        name if name.contains('.') => PathKind::File,
        _ => PathKind::Directory,
    }
}

/// Definitions of MCP servers under the names that calls are about.
fn mcp_servers(dice: &mut Dice) -> Vec<McpServer> {
    let mut out = Vec::new();
    for name in ["git", "github", "git__hub", "my_srv", "my srv"] {
        if dice.once_in(if name == "my srv" { 8 } else { 4 }) {
            continue;
        }
        let commands: [&[&str]; 3] = [&["npx", "-y", "@corp/git"], &["srv", "--stdio"], &["./srv"]];
        let launch = if dice.once_in(12) {
            Launch::Unknown
        } else {
            Launch::Command {
                words: commands[dice.below(3)].iter().map(|word| (*word).to_owned()).collect(),
                environment: dice.once_in(8).then(|| "NODE_OPTIONS".to_owned()).into_iter().collect(),
            }
        };
        let given = Approval::Given;
        out.push(McpServer {
            name: name.to_owned(),
            launch,
            place: ConfiguredIn::User,
            file: "mcp.json".to_owned(),
            read_only_tools: dice.once_in(2).then(|| "pull".to_owned()).into_iter().collect(),
            approval: [
                given,
                given,
                given,
                Approval::None,
                Approval::Changed,
                Approval::Disabled,
            ][dice.below(6)],
        });
    }
    out
}

fn repositories(dice: &mut Dice) -> Repositories {
    let remotes: &[&str] = match dice.below(8) {
        0 => return Repositories::Unknown,
        1 => &["git@github.com:acme/x.git"],
        2 => &[],
        3 => &["https://github.com/other/y", "https://github.com/acme/x"],
        _ => &["https://github.com/other/y"],
    };
    Repositories::Known(vec![RepositoryIdentity {
        root: AbsPath::parse("/home/dev/proj").unwrap(),
        remotes: remotes.iter().map(|text| (*text).to_owned()).collect(),
    }])
}

/// What stands below folders that are moved or removed; of some nothing is known, or not all.
fn trees(dice: &mut Dice, needed: Vec<TreeNeeded>) -> BTreeMap<AbsPath, Tree> {
    let mut out = BTreeMap::new();
    for wanted in needed {
        let mut some = |names: &[&str], one_in: usize| {
            let names = names.iter().filter(|_| dice.once_in(one_in));
            names.map(|name| (*name).to_owned()).collect()
        };
        let tree = Tree {
            complete: true,
            files: some(&[".env", "a.rs", "b.key", "x.md", ".npmrc"], 6),
            folders: some(&["src", "docs", "lib", "out", ".vscode"], 6),
            ..Tree::default()
        };
        match dice.below(20) {
            0 => {}
            1 => drop(out.insert(
                wanted.folder,
                Tree {
                    complete: false,
                    ..tree
                },
            )),
            _ => drop(out.insert(wanted.folder, tree)),
        }
    }
    out
}

fn session(dice: &mut Dice, mode: Mode) -> Session {
    Session {
        started_in: match dice.below(6) {
            0 => Some(dice.mode()),
            1 | 2 => Some(mode),
            _ => None,
        },
        plan_file: match dice.below(3) {
            0 => None,
            1 => Some(AbsPath::parse("/home/dev/proj/.claude/plans/p.md").unwrap()),
            _ => Some(AbsPath::parse("/home/dev/proj/docs/x.md").unwrap()),
        },
        classifier: match dice.below(9) {
            0 => ClassifierReport::Off,
            1 => ClassifierReport::NotAsked,
            2 => ClassifierReport::BlockedBefore,
            3 => ClassifierReport::Failed {
                reason: "late".to_owned(),
            },
            4 => ClassifierReport::Verdict(ClassifierVerdict::Ask { reason: "x".to_owned() }),
            5 => ClassifierReport::Verdict(ClassifierVerdict::Deny { advice: "x".to_owned() }),
            _ => ClassifierReport::Verdict(ClassifierVerdict::Allow),
        },
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
                let kind = kind(dice, &named);
                (named, PathFact { real, kind })
            })
            .collect(),
        programs: needed
            .programs
            .into_iter()
            .map(|name| {
                let folder = match dice.below(24) {
                    0 => "/home/dev/proj/bin",
                    1 => "/tmp/bin",
                    _ => "/usr/bin",
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
        git_folders: needed
            .git_folders
            .into_iter()
            .map(|folder| {
                let (root, keys): (_, &[&str]) = match dice.below(8) {
                    0 => return (folder, Repository::Unknown),
                    1 => return (folder, Repository::None),
                    2 => ("/home/dev/proj/src", &["core.fsmonitor"]),
                    3 => ("/home/dev/proj/src", &[]),
                    4 => ("/home", &[]),
                    _ => ("/home/dev/proj", &[]),
                };
                let executing_keys = keys.iter().map(|key| (*key).to_owned()).collect();
                (
                    folder,
                    Repository::Known {
                        root: path(root),
                        executing_keys,
                    },
                )
            })
            .collect(),
        repositories: repositories(dice),
        mcp_servers: mcp_servers(dice),
        sandbox: [
            SandboxOffer::Full,
            SandboxOffer::Full,
            SandboxOffer::Partial,
            SandboxOffer::None,
        ][dice.below(4)],
        project_trusted: !dice.once_in(3),
        failures: if dice.once_in(30) {
            vec!["a document".to_owned()]
        } else {
            Vec::new()
        },
        trees: trees(dice, needed.trees),
        own_paths: vec![path("/own")],
        own_secret_paths: vec![path("/own/secret")],
    };
    let mode = dice.mode();
    Request {
        agent: "claude".to_owned(),
        mode,
        interactivity: if dice.once_in(8) {
            Interactivity::Headless
        } else {
            Interactivity::Interactive
        },
        workspace,
        call,
        facts,
        sandboxed_execution: dice.once_in(12),
        session: session(dice, mode),
    }
}

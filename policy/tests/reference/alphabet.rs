//! The texts that rules are made of: few, so that rules and calls meet often.

use portcullis_policy::Effect;

use super::dice::Dice;

pub(crate) const PATTERNS: &[&str] = &[
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
    "src/[[:alpha:]].rs",
    "src/[]a].rs",
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
    "git push --force *",
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
    "mv *",
    "ln *",
    "touch *",
    "cd *",
    "sort *",
    "git push -q --tags *",
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
    "WebSearch(c*)",
    "WebFetch",
    "Mystery",
    "PowerShell",
    "browser_action",
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

/// A rule of ours that may carry an effect.
pub(crate) fn rule_text(dice: &mut Dice, effect: Effect) -> String {
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

/// In Cursor's words, as allow and as deny.
pub(crate) const CURSOR: &[&str] = &[
    "Shell(git)",
    "Shell(git:push*)",
    "Shell(git:status)",
    "Shell(npm:run*)",
    "Shell(npm)",
    "Shell(foo:*)",
    "Shell(g*)",
    "Shell(*)",
    "Shell(rm)",
    "Shell(sudo)",
    "Read(src/**)",
    "Read(.env)",
    "Read(**/.env)",
    "Read(/etc/*)",
    "Read(**)",
    "Write(src/*.rs)",
    "Write(docs)",
    "Write(/tmp/**)",
    "Write(**/*.key)",
    "Write(link/**)",
    "WebFetch(*.a.test)",
    "WebFetch(b.test)",
    "Mcp(git:*)",
    "Mcp(*:push)",
    "Mcp(github:p*)",
    "Mcp(git:hub__x)",
    "Mcp(git__hub:*)",
    "Mcp(*:*)",
];
pub(crate) const TERMINAL: &[&str] = &[
    "git",
    "git status",
    "npm:run*",
    "npm test",
    "ls",
    "cat",
    "rm",
    "foo",
    "foo:x*",
    "sudo",
    "bash",
];
pub(crate) const MCP_LIST: &[&str] = &[
    "git:*",
    "GIT:push",
    "github:p*",
    "*:push",
    "*:*",
    "my_srv:x",
    "git__hub:x",
];
pub(crate) const IGNORE: &[&str] = &[
    ".env",
    "*.key",
    "src/",
    "docs/x.md",
    "lib/**",
    "**/src",
    "/build",
    "link",
    "notes",
];

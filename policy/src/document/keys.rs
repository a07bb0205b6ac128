//! The keys of a policy document: the one table from which the reader knows them and the JSON Schema is made.
//!
//! A schema kept beside the reader would drift from it, and an editor would then praise what the server refuses. So the
//! reader takes its keys from here, and so does [`super::schema`]. What a value means is the reader's business.

use crate::{
    Layer,
    sandbox::{NetworkMode, SandboxType},
};

/// An object of a document.
#[derive(Debug)]
pub(crate) struct Section {
    /// What messages call it: `` `permissions` ``.
    pub(crate) place: &'static str,
    /// Its keys.
    pub(crate) keys: &'static [Key],
    /// Keys that must be there.
    pub(crate) required: &'static [&'static str],
}

/// One key of an object.
#[derive(Debug)]
pub(crate) struct Key {
    /// As written.
    pub(crate) name: &'static str,
    /// What it means, for people who hover over it in an editor.
    pub(crate) about: &'static str,
    /// Who may write it.
    pub(crate) layers: Layers,
    /// What its value looks like.
    pub(crate) shape: Shape,
}

/// The layers whose documents may hold a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layers {
    /// All.
    All,
    /// The team's alone.
    Team,
}

impl Layers {
    /// Whether a document of this layer may hold the key.
    pub(crate) fn include(self, layer: Layer) -> bool {
        match self {
            Self::All => true,
            Self::Team => layer >= Layer::Team,
        }
    }
}

/// What a value looks like.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Anything; not looked at.
    Any,
    /// The number 1: the version of the format.
    Version,
    /// True or false.
    Boolean,
    /// A text of 1 to so many bytes.
    Text(usize),
    /// A list of texts.
    Texts,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A run mode.
    Mode,
    /// A list of run modes, not empty.
    Modes,
    /// A list of rules: texts, or objects as [`RULE`] describes them.
    Rules,
    /// Another object.
    Section(&'static Section),
    /// A list of other objects.
    Sections(&'static Section),
    /// A list whose entries are texts or other objects.
    TextsOrSections(&'static Section),
    /// A text, or a list of texts.
    TextOrTexts,
}

const fn key(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key {
        name,
        about,
        layers: Layers::All,
        shape,
    }
}

const fn team(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key {
        layers: Layers::Team,
        ..key(name, shape, about)
    }
}

const fn section(place: &'static str, keys: &'static [Key]) -> Section {
    Section {
        place,
        keys,
        required: &[],
    }
}

/// Longest `name` and `advice`, in bytes: people read them.
pub(crate) const MAX_WORDS: usize = 1000;

/// A whole document.
pub(crate) const DOCUMENT: Section = section(
    "the policy",
    &[
        // References to a schema are what editors need to help; they say nothing.
        key("$schema", Shape::Any, "Where editors find the schema; ignored."),
        key("version", Shape::Version, "The version of the format."),
        key(
            "permissions",
            Shape::Section(&PERMISSIONS),
            "Rules, and what goes with them.",
        ),
        key("modes", Shape::Section(&MODES), "Which run modes exist."),
        team("locks", Shape::Section(&LOCKS), "What lower layers may not say."),
        key(
            "sandbox",
            Shape::Section(&SANDBOX),
            "What commands in the sandbox may do, and when it stands for a question.",
        ),
        key(
            "ignore",
            Shape::Section(&IGNORE),
            "Files that tools and commands must not read.",
        ),
        key(
            "protections",
            Shape::Section(&PROTECTIONS),
            "What asks although the mode, the sandbox or the classifier would allow it. On in Cursor's modes.",
        ),
        key(
            "terminalAllowlist",
            Shape::Texts,
            "Commands that run without a question in the allowlist modes, by their first words, as Cursor has them. An \
             empty list allows none.",
        ),
        key(
            "mcpAllowlist",
            Shape::Texts,
            "Tools of MCP servers that run without a question in the allowlist modes: `server:tool`, `*` in either half.",
        ),
        key(
            "autoRun",
            Shape::Section(&AUTO_RUN),
            "What leans the classifier, in words.",
        ),
        team(
            "mcp",
            Shape::Section(&MCP),
            "Which MCP servers, and which of their tools.",
        ),
        team(
            "repositories",
            Shape::Section(&REPOSITORIES),
            "Which repositories agents may work in, by their remotes.",
        ),
        team("browser", Shape::Section(&BROWSER), "Which origins a browser may open."),
        team("models", Shape::Section(&MODELS), "Which models may be used."),
    ],
);

/// `mcp`.
pub(crate) const MCP: Section = section(
    "`mcp`",
    &[
        team(
            "servers",
            Shape::Sections(&MCP_SERVER),
            "Servers that the team knows, by command or address: they count as approved.",
        ),
        team("onlyListed", Shape::Boolean, "Every other server is denied."),
        team(
            "deny",
            Shape::TextsOrSections(&MCP_DENIED),
            "Servers that are denied, by name, command or address.",
        ),
    ],
);

const NAME: &str = "The server's configured name.";
const COMMAND: &str =
    "Its command, word by word; a `*` stays within its word, and as the last word stands for all further.";
const URL: &str = "Its address: `https://mcp.corp.example/*`.";

/// An entry of `mcp.servers`.
pub(crate) const MCP_SERVER: Section = section(
    "an entry of `mcp.servers`",
    &[
        team("name", Shape::Text(MAX_WORDS), NAME),
        team("command", Shape::TextOrTexts, COMMAND),
        team("url", Shape::Text(MAX_WORDS), URL),
        team("tools", Shape::Section(&MCP_TOOLS), "Which of its tools."),
        team(
            "networkMode",
            Shape::Word(&["sandbox_json_only", "sandbox_json_plus_defaults", "allow_all"]),
            "What network it may have. Kept, not enforced yet.",
        ),
    ],
);

/// An entry of `mcp.deny`.
pub(crate) const MCP_DENIED: Section = section(
    "an entry of `mcp.deny`",
    &[
        team("name", Shape::Text(MAX_WORDS), NAME),
        team("command", Shape::TextOrTexts, COMMAND),
        team("url", Shape::Text(MAX_WORDS), URL),
    ],
);

/// `tools` of an entry of `mcp.servers`.
pub(crate) const MCP_TOOLS: Section = section(
    "`tools`",
    &[
        team("allow", Shape::Texts, "Only these of its tools are permitted."),
        team("deny", Shape::Texts, "These of its tools are denied."),
        team(
            "readOnly",
            Shape::Texts,
            "These of its tools only read: a rule may allow them in plan mode.",
        ),
    ],
);

/// `repositories`.
pub(crate) const REPOSITORIES: Section = section(
    "`repositories`",
    &[
        team(
            "blocked",
            Shape::Texts,
            "Nothing runs in a repository with a remote in one of these: `github.com/acme/x`.",
        ),
        team("known", Shape::Texts, "The repositories that the team knows."),
        team("requireKnown", Shape::Boolean, "Nothing runs in any other repository."),
    ],
);

/// `browser`.
pub(crate) const BROWSER: Section = section(
    "`browser`",
    &[
        team(
            "origins",
            Shape::Texts,
            "Origins that a browser may open; any other asks.",
        ),
        team("blocked", Shape::Texts, "Origins that are denied."),
    ],
);

/// `models`.
pub(crate) const MODELS: Section = section(
    "`models`",
    &[
        team("allowed", Shape::Texts, "Only these models are permitted."),
        team("blocked", Shape::Texts, "These models are not."),
    ],
);

/// `permissions`.
pub(crate) const PERMISSIONS: Section = section(
    "`permissions`",
    &[
        key(
            "deny",
            Shape::Rules,
            "Calls that are refused, whatever another rule, layer or mode says.",
        ),
        key("ask", Shape::Rules, "Calls that need a person's yes in every mode."),
        key(
            "allow",
            Shape::Rules,
            "Calls that need no question. Deny and ask rules go before it.",
        ),
        key(
            "defaultMode",
            Shape::Mode,
            "The run mode of calls whose agent names none. Project and local documents cannot widen by it.",
        ),
        key(
            "additionalDirectories",
            Shape::Texts,
            "Folders that belong to the workspace: absolute, `~/x`, or relative to the document's folder.",
        ),
    ],
);

/// `modes`.
pub(crate) const MODES: Section = section(
    "`modes`",
    &[
        team(
            "permitted",
            Shape::Modes,
            "The modes that sessions may be in; in any other every call is denied.",
        ),
        key(
            "auto",
            Shape::Boolean,
            "Whether the mode auto exists. Project and local documents can only say no; a `false` of any layer wins.",
        ),
    ],
);

/// `protections`.
pub(crate) const PROTECTIONS: Section = section(
    "`protections`",
    &[
        key(
            "deletion",
            Shape::Boolean,
            "Deleting files asks, unless a rule allows it.",
        ),
        key(
            "externalFiles",
            Shape::Boolean,
            "Changing files outside the workspace asks, unless a rule allows it.",
        ),
        key(
            "browser",
            Shape::Boolean,
            "Driving a browser asks, unless a rule allows it.",
        ),
        team(
            "agentDirectories",
            Shape::Boolean,
            "Whether changes in the folders of agents (`.cursor`, `.claude`, …) need a person; `true` if nothing says so.",
        ),
    ],
);

/// `locks`.
pub(crate) const LOCKS: Section = section(
    "`locks`",
    &[team(
        "managedRulesOnly",
        Shape::Boolean,
        "Allow rules and further folders of lower layers do not count; their denies and asks do.",
    )],
);

/// The keys of an object about the sandbox: its own, and those that a `sandbox.json` and the section `sandbox` share.
macro_rules! sandbox_keys {
    ($($own:expr),+) => {
        &[
            $($own,)+
        key(
            "type",
            Shape::Word(&SandboxType::WORDS),
            "How much of the workspace may be changed. A project never does away with the sandbox.",
        ),
        key(
            "additionalReadwritePaths",
            Shape::Texts,
            "Further files and folders that may be written.",
        ),
        key(
            "additionalReadonlyPaths",
            Shape::Texts,
            "Files and folders that stay read-only in a writable one, and visible below a private one.",
        ),
        key(
            "denyRead",
            Shape::Texts,
            "Files and folders, or patterns in the syntax of gitignore, that cannot be read.",
        ),
        key(
            "disableTmpWrite",
            Shape::Boolean,
            "`/tmp` cannot be written. A `true` of any file wins.",
        ),
        key(
            "shareTmp",
            Shape::Boolean,
            "`/tmp` is the host's. A `false` of any file wins.",
        ),
        key(
            "enableSharedBuildCache",
            Shape::Boolean,
            "Caches of package managers are one shared place. A `false` of any file wins.",
        ),
        key(
            "allowRootOwner",
            Shape::Boolean,
            "A caller with uid 0 keeps it inside, without any right. A `false` of any file wins.",
        ),
        key(
            "acceptWithoutLandlock",
            Shape::Boolean,
            "Commands run where the kernel has no Landlock, too. A `false` of any file wins.",
        ),
        key(
            "acceptWithoutNamespaces",
            Shape::Boolean,
            "Commands that only read run where no namespaces can be made, too. A `false` of any file wins.",
        ),
        key(
            "allowUnixSockets",
            Shape::Texts,
            "Unix sockets of the outside that commands may connect to. A list of the team replaces all others.",
        ),
        key(
            "networkMode",
            Shape::Word(&NetworkMode::WORDS),
            "Which hosts count: those of the files, those and the usual ones of languages and tools, or all public ones.",
        ),
        key("networkPolicy", Shape::Section(&NETWORK_POLICY), "Hosts."),
        ]
    };
}

/// `sandbox`.
pub(crate) const SANDBOX: Section = section(
    "`sandbox`",
    sandbox_keys!(
        key(
            "autoAllowIfSandboxed",
            Shape::Boolean,
            "A command that runs in the sandbox needs no question. A `false` of any layer wins.",
        ),
        key(
            "always",
            Shape::Boolean,
            "Every allowed command runs in the sandbox. A `true` of any layer wins.",
        ),
        team(
            "allowTrials",
            Shape::Boolean,
            "`false`: nobody tries policies with `portcullis sandbox run`.",
        )
    ),
);

/// A whole `sandbox.json`.
pub(crate) const SANDBOX_FILE: Section = section(
    "the sandbox policy",
    sandbox_keys!(key("$schema", Shape::Any, "Where editors find the schema; ignored.")),
);

/// `networkPolicy`.
pub(crate) const NETWORK_POLICY: Section = section(
    "`networkPolicy`",
    &[
        key(
            "default",
            Shape::Word(&["allow", "deny"]),
            "What holds for hosts in no list. `deny` of any file wins.",
        ),
        key(
            "allow",
            Shape::Texts,
            "Hosts: names, patterns such as `*.example.com`, addresses, ranges such as `10.0.0.0/8`.",
        ),
        key(
            "deny",
            Shape::Texts,
            "The same, for hosts that may not be reached whatever allows them.",
        ),
    ],
);

/// `ignore`.
pub(crate) const IGNORE: Section = section(
    "`ignore`",
    &[
        key(
            "patterns",
            Shape::Texts,
            "Patterns in the syntax of gitignore, in order; a later `!pattern` takes files out again.",
        ),
        key(
            "hierarchical",
            Shape::Boolean,
            "Whether `.cursorignore` files in the folders around the project count too; in the user's document.",
        ),
    ],
);

/// `autoRun`.
pub(crate) const AUTO_RUN: Section = section(
    "`autoRun`",
    &[
        key("allow_instructions", Shape::Texts, "Sentences that say what may run."),
        key(
            "block_instructions",
            Shape::Texts,
            "Sentences that say what needs a person.",
        ),
    ],
);

/// `when` of a rule.
pub(crate) const WHEN: Section = section(
    "`when`",
    &[
        key("modes", Shape::Modes, "The rule only holds in these modes."),
        key(
            "input",
            Shape::Text(4096),
            "A regular expression over the call's input as JSON with sorted keys.",
        ),
        key(
            "command",
            Shape::Text(4096),
            "A regular expression over each command of a line.",
        ),
    ],
);

/// A rule as an object.
pub(crate) const RULE: Section = Section {
    place: "a rule",
    required: &["rule"],
    keys: &[
        key("rule", Shape::Text(4096), "The rule: `Tool` or `Tool(specifier)`."),
        key(
            "spelling",
            Shape::Word(&["native", "cursor"]),
            "How the rule is spelled: as here, or as in Cursor's command line (`Shell(git)`, `Write(src/**)`).",
        ),
        key("when", Shape::Section(&WHEN), "Conditions under which the rule holds."),
        key("name", Shape::Text(MAX_WORDS), "Its name, shown beside it."),
        key(
            "advice",
            Shape::Text(MAX_WORDS),
            "Told to the agent when the rule asks or denies: what to do instead.",
        ),
        key(
            "match",
            Shape::Texts,
            "Examples that the rule has to cover; checked when the document is read.",
        ),
        key(
            "not_match",
            Shape::Texts,
            "Examples that the rule must not cover; checked when the document is read.",
        ),
    ],
};

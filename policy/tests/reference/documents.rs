//! Random rule sets: documents as the engine reads them, and the same in the plain form.

use std::sync::Arc;

use portcullis_policy::{AbsPath, DocumentOrigin, Effect, Layer, Mode, PolicyDocument};
use serde_json::json;

use super::{
    alphabet::{CURSOR, IGNORE, MCP_LIST, PATTERNS, TERMINAL, rule_text},
    dice::Dice,
    rules::{Rule, Spelling},
};

/// What a document says beside rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Says {
    pub(crate) auto: Option<bool>,
    pub(crate) permitted: Option<Vec<Mode>>,
    pub(crate) managed_rules_only: bool,
    pub(crate) allow_if_sandboxed: Option<bool>,
    pub(crate) sandbox_always: bool,
    /// Whether there is a list of sockets that may be connected to, and whether it holds one.
    pub(crate) sockets: Option<bool>,
    /// Deletion, external files, browser.
    pub(crate) protections: [Option<bool>; 3],
    pub(crate) agent_directories: Option<bool>,
    /// Whether there is a `terminalAllowlist`, be it empty; and a `mcpAllowlist`.
    pub(crate) terminal_list: bool,
    pub(crate) mcp_list: bool,
    pub(crate) approve_mcp_servers: bool,
    pub(crate) listed_servers: Vec<ListedServer>,
    pub(crate) only_listed: bool,
    pub(crate) denied_server: Option<&'static str>,
    pub(crate) blocked_repositories: Option<&'static str>,
    pub(crate) known_repositories: Option<&'static str>,
    pub(crate) origins: Option<&'static str>,
    pub(crate) blocked_origin: Option<&'static str>,
}

/// An entry of `mcp.servers`.
#[derive(Clone, Debug)]
pub(crate) struct ListedServer {
    pub(crate) name: Option<&'static str>,
    pub(crate) command: &'static str,
    pub(crate) denied_tool: Option<&'static str>,
    pub(crate) read_only_tool: Option<&'static str>,
}

/// A document in the plain form.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) layer: Layer,
    pub(crate) rules: Vec<Rule>,
    pub(crate) says: Says,
}

/// A rule set in both forms.
pub(crate) struct Ruleset {
    pub(crate) documents: Vec<Arc<PolicyDocument>>,
    pub(crate) plain: Vec<Document>,
    pub(crate) texts: Vec<String>,
}

pub(crate) fn ruleset(dice: &mut Dice) -> Ruleset {
    let mut out = Ruleset {
        documents: Vec::new(),
        plain: Vec::new(),
        texts: Vec::new(),
    };
    for number in 0..dice.below(4) {
        let layer = [Layer::User, Layer::Project, Layer::Local, Layer::Session, Layer::Team][dice.below(5)];
        let folder = (layer <= Layer::Local && !dice.once_in(3)).then(|| {
            AbsPath::parse(if layer == Layer::User {
                "/home/dev/.config"
            } else {
                "/home/dev/proj"
            })
            .unwrap()
        });
        let name = format!("{}.jsonc", ["b", "a", "c"][number]);
        let mut writer = Writer::new(DocumentOrigin { layer, name, folder });
        writer.permissions(dice);
        writer.lists(dice);
        writer.settings(dice);
        writer.controls(dice);
        let (text, origin, document) = writer.finish();
        let read = PolicyDocument::parse(&text, origin);
        let mut read = read.unwrap_or_else(|faults| panic!("{text}\n{faults:?}"));
        // A flag of the session, which no text says.
        read.settings.controls.approve_mcp_servers = document.says.approve_mcp_servers;
        out.documents.push(Arc::new(read));
        out.texts.push(format!("{layer} {text}\n{:?}", document.says));
        out.plain.push(document);
    }
    out
}

/// Writes a document line by line, each rule on its own.
struct Writer {
    origin: DocumentOrigin,
    lines: Vec<String>,
    rules: Vec<Rule>,
    says: Says,
}

impl Writer {
    fn new(origin: DocumentOrigin) -> Self {
        Self {
            origin,
            lines: vec!["{".to_owned()],
            rules: Vec::new(),
            says: Says::default(),
        }
    }

    fn line(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    fn finish(mut self) -> (String, DocumentOrigin, Document) {
        self.line("}");
        let document = Document {
            layer: self.origin.layer,
            rules: self.rules,
            says: self.says,
        };
        (self.lines.join("\n"), self.origin, document)
    }

    /// A rule of which `entry` is the next line.
    fn rule(&mut self, entry: String, effect: Effect, spelling: Spelling, text: &str, modes: Option<Vec<Mode>>) {
        self.line(entry);
        self.rules.push(Rule {
            effect,
            layer: self.origin.layer,
            document: self.origin.name.clone(),
            folder: self.origin.folder.clone(),
            line: u32::try_from(self.lines.len()).unwrap(),
            spelling,
            text: text.to_owned(),
            modes,
            exceptions: Vec::new(),
        });
    }

    fn permissions(&mut self, dice: &mut Dice) {
        self.line("\"permissions\": {");
        for (word, effect) in [("deny", Effect::Deny), ("ask", Effect::Ask), ("allow", Effect::Allow)] {
            self.line(format!("\"{word}\": ["));
            let begin = self.rules.len();
            for _ in 0..dice.below(if effect == Effect::Allow { 14 } else { 3 }) {
                self.permission(dice, effect, begin);
            }
            self.line("],");
        }
        self.line("},");
    }

    /// A rule, or an exception to those of its verb since `begin`.
    fn permission(&mut self, dice: &mut Dice, effect: Effect, begin: usize) {
        let verbs: Vec<String> = (self.rules[begin..].iter())
            .filter(|rule| rule.inner().is_some())
            .filter_map(|rule| rule.verb().map(str::to_owned))
            .collect();
        if !verbs.is_empty() && dice.once_in(3) {
            let verb = &verbs[dice.below(verbs.len())];
            let pattern = dice.of(PATTERNS);
            self.line(format!("{},", json!(format!("{verb}(!{pattern})"))));
            for rule in self.rules[begin..].iter_mut().filter(|rule| rule.verb() == Some(verb)) {
                rule.exceptions.push(pattern.to_owned());
            }
            return;
        }
        let cursor = dice.once_in(6);
        let text = if cursor {
            dice.of(CURSOR).to_owned()
        } else {
            rule_text(dice, effect)
        };
        let modes = dice
            .once_in(8)
            .then(|| (0..=dice.below(6)).map(|_| dice.mode()).collect::<Vec<Mode>>());
        let (spelling, entry) = match (cursor, &modes) {
            (true, None) => (Spelling::Cursor, json!({ "rule": text, "spelling": "cursor" })),
            (false, None) => (Spelling::Native, json!(text)),
            (_, Some(modes)) => {
                let words: Vec<String> = modes.iter().map(Mode::to_string).collect();
                let spelling = if cursor { Spelling::Cursor } else { Spelling::Native };
                let word = if cursor { "cursor" } else { "native" };
                (
                    spelling,
                    json!({ "rule": text, "spelling": word, "when": { "modes": words } }),
                )
            }
        };
        self.rule(format!("{entry},"), effect, spelling, &text, modes);
    }

    /// Ignore patterns and Cursor's allowlists.
    fn lists(&mut self, dice: &mut Dice) {
        if dice.once_in(12) {
            self.line("\"ignore\": { \"patterns\": [");
            let begin = self.rules.len();
            for _ in 0..=dice.below(3) {
                let text = dice.of(IGNORE);
                if dice.once_in(3) {
                    self.line(format!("\"!{text}\","));
                    for rule in &mut self.rules[begin..] {
                        rule.exceptions.push(text.to_owned());
                    }
                } else {
                    self.rule(format!("\"{text}\","), Effect::Deny, Spelling::Ignore, text, None);
                }
            }
            self.line("] },");
        }
        for (key, spelling, alphabet) in [
            ("terminalAllowlist", Spelling::Terminal, TERMINAL),
            ("mcpAllowlist", Spelling::McpList, MCP_LIST),
        ] {
            if !dice.once_in(4) {
                continue;
            }
            match spelling {
                Spelling::Terminal => self.says.terminal_list = true,
                _ => self.says.mcp_list = true,
            }
            self.line(format!("\"{key}\": ["));
            for _ in 0..dice.below(4) {
                let text = dice.of(alphabet);
                let modes = vec![Mode::AutoReview, Mode::Allowlist, Mode::AllowlistSandbox];
                self.rule(format!("\"{text}\","), Effect::Allow, spelling, text, Some(modes));
            }
            self.line("],");
        }
    }

    fn settings(&mut self, dice: &mut Dice) {
        let layer = self.origin.layer;
        let in_project = matches!(layer, Layer::Project | Layer::Local);
        let team = layer == Layer::Team;
        // What a document inside a project may only set one way.
        let switch = |dice: &mut Dice, n: usize, narrows: bool| {
            let on = if in_project { narrows } else { dice.once_in(2) };
            dice.once_in(n).then_some(on)
        };
        self.says.auto = if in_project {
            switch(dice, 20, false)
        } else {
            dice.once_in(2).then(|| !dice.once_in(8))
        };
        self.says.allow_if_sandboxed = switch(dice, 4, false);
        self.says.sandbox_always = dice.once_in(30);
        // Beside the row of dice, so that every seed gives the calls that it gave before there were such lists.
        let mut aside = dice.clone();
        self.says.sockets = aside.once_in(29).then(|| aside.once_in(2));
        self.says.protections = [(); 3].map(|()| switch(dice, 5, true));
        self.says.agent_directories = (team && dice.once_in(4)).then(|| dice.once_in(3));
        self.says.managed_rules_only = team && dice.once_in(12);
        let permitted = |dice: &mut Dice| (0..6 + dice.below(6)).map(|_| dice.mode()).collect();
        self.says.permitted = (team && dice.once_in(20)).then(|| permitted(dice));
        self.says.approve_mcp_servers = layer == Layer::Session && dice.once_in(2);
        let says = self.says.clone();
        if let Some(on) = says.auto {
            let modes: Option<Vec<String>> =
                (says.permitted.as_ref()).map(|all| all.iter().map(Mode::to_string).collect());
            self.line(match modes {
                Some(modes) => format!("\"modes\": {},", json!({ "auto": on, "permitted": modes })),
                None => format!("\"modes\": {{ \"auto\": {on} }},"),
            });
        } else {
            self.says.permitted = None;
        }
        if says.managed_rules_only {
            self.line("\"locks\": { \"managedRulesOnly\": true },");
        }
        self.line("\"sandbox\": {");
        if let Some(on) = says.allow_if_sandboxed {
            self.line(format!("\"autoAllowIfSandboxed\": {on},"));
        }
        if let Some(any) = says.sockets {
            let list: &[&str] = if any { &["/run/x"] } else { &[] };
            self.line(format!("\"allowUnixSockets\": {},", json!(list)));
        }
        self.line(format!("\"always\": {} }},", says.sandbox_always));
        self.line("\"protections\": {");
        let keys = ["deletion", "externalFiles", "browser", "agentDirectories"];
        for (key, on) in keys
            .into_iter()
            .zip(says.protections.into_iter().chain([says.agent_directories]))
        {
            if let Some(on) = on {
                self.line(format!("\"{key}\": {on},"));
            }
        }
        self.line("},");
    }

    /// What only the team's document says.
    fn controls(&mut self, dice: &mut Dice) {
        if self.origin.layer != Layer::Team {
            return;
        }
        for _ in 0..dice.below(3) {
            let entry = ListedServer {
                name: dice.once_in(3).then(|| dice.of(&["git", "github", "my srv"])),
                command: dice.of(&["npx -y @corp/*", "npx -y @corp/git", "srv --stdio"]),
                denied_tool: dice.once_in(4).then(|| dice.of(&["push", "x"])),
                read_only_tool: dice.once_in(2).then(|| dice.of(&["pull", "x"])),
            };
            self.says.listed_servers.push(entry);
        }
        self.says.only_listed = dice.once_in(12);
        self.says.denied_server = dice.once_in(8).then(|| dice.of(&["git", "github", "my_*", "*hub"]));
        let servers: Vec<_> = (self.says.listed_servers.iter())
            .map(|entry| {
                let mut server = json!({ "command": entry.command, "tools": {} });
                if let Some(name) = entry.name {
                    server["name"] = json!(name);
                }
                if let Some(tool) = entry.denied_tool {
                    server["tools"]["deny"] = json!([tool]);
                }
                if let Some(tool) = entry.read_only_tool {
                    server["tools"]["readOnly"] = json!([tool]);
                }
                server
            })
            .collect();
        let denied: Vec<&str> = self.says.denied_server.into_iter().collect();
        let mcp = json!({ "servers": servers, "onlyListed": self.says.only_listed, "deny": denied });
        self.line(format!("\"mcp\": {mcp},"));
        if dice.once_in(12) {
            self.says.blocked_repositories = Some("github.com/acme");
            self.line(r#""repositories": { "blocked": ["github.com/acme"] },"#);
        } else if dice.once_in(16) {
            self.says.known_repositories = Some("github.com/other");
            self.line(r#""repositories": { "known": ["github.com/other"], "requireKnown": true },"#);
        }
        if dice.once_in(3) {
            let listed = dice.once_in(2).then(|| dice.of(&["*.a.test", "b.test"]));
            let blocked = (listed.is_none() || dice.once_in(2)).then(|| dice.of(&["a.test", "*.b.a.test"]));
            (self.says.origins, self.says.blocked_origin) = (listed, blocked);
            let mut browser = json!({});
            if let Some(pattern) = listed {
                browser["origins"] = json!([pattern]);
            }
            if let Some(pattern) = blocked {
                browser["blocked"] = json!([pattern]);
            }
            self.line(format!("\"browser\": {browser},"));
        }
    }
}

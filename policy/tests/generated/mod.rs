//! Policy documents of every shape, generated from the schema: what a document may hold is written in one place.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test program stops at the first surprise"
)]

use portcullis_policy::{DocumentOrigin, Fault, Layer, PolicyDocument};
use serde_json::{Map, Value, json};

pub(crate) fn read(text: &str) -> Result<PolicyDocument, Vec<Fault>> {
    let origin = DocumentOrigin {
        layer: Layer::Team,
        name: "team".to_owned(),
        folder: None,
    };
    PolicyDocument::parse(text, origin)
}

/// A source of choices that never runs dry.
pub(crate) struct Choices<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Choices<'a> {
    /// One of these.
    pub(crate) fn one(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }

    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        let byte = self.bytes.get(self.at % self.bytes.len().max(1)).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % n.max(1)
    }
}

/// A value that the schema accepts and whose words the reader understands.
pub(crate) fn example(schema: &Value, root: &Value, key: &str, choices: &mut Choices<'_>) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        return example(&root["$defs"][name], root, key, choices);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words[choices.below(words.len())].clone();
    }
    if let Some(choice) = schema["oneOf"].as_array() {
        return example(&choice[choices.below(choice.len())], root, key, choices);
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(choices.below(2) == 0),
        Some("integer") => schema["minimum"].clone(),
        Some("string") => json!(word(key, choices)),
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
            let count = least + choices.below(4);
            Value::Array(
                (0..count)
                    .map(|_| example(&schema["items"], root, key, choices))
                    .collect(),
            )
        }
        Some("object") => {
            let mut out = Map::new();
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            for (name, inner) in schema["properties"].as_object().unwrap() {
                if required.contains(&json!(name)) || choices.below(3) > 0 {
                    out.insert(name.clone(), example(inner, root, name, choices));
                }
            }
            fitting(key, &mut out, choices);
            Value::Object(out)
        }
        _ => json!("anything"),
    }
}

/// Gives a rule words that fit its spelling and its condition: what goes with what, a schema does not say.
fn fitting(key: &str, object: &mut Map<String, Value>, choices: &mut Choices<'_>) {
    // A server is named by its command or its address.
    let is_server = key == "servers" || (key == "deny" && !object.contains_key("rule"));
    if is_server && object.contains_key("url") {
        object.remove("command");
    } else if is_server {
        object.insert("command".to_owned(), json!("mcp-server"));
    }
    if object.get("requireKnown") == Some(&json!(true)) {
        object.insert("known".to_owned(), json!(["a.example"]));
    }
    if !object.contains_key("rule") {
        return;
    }
    let on_command = object.get("when").is_some_and(|when| when.get("command").is_some());
    if on_command {
        object.remove("spelling");
        object.insert("rule".to_owned(), json!("Bash"));
        // The one that examples meet.
        object["when"]["command"] = json!("git log.*");
    } else if object.get("spelling") == Some(&json!("cursor")) {
        object.insert("rule".to_owned(), json!("Shell(git:log*)"));
    } else if !object.contains_key("match") && !object.contains_key("not_match") {
        object.insert("rule".to_owned(), json!(rule(choices)));
    }
}

/// A rule that any list may hold.
fn rule(choices: &mut Choices<'_>) -> &'static str {
    choices.one(&[
        "Bash",
        "Bash(git log *)",
        "Bash(npm run test:*)",
        "Bash(echo \"a\\tb\")",
        "Bash(echo \u{202e}x)",
        "Read(src/**)",
        "Read(~/.ssh/**)",
        "Edit(//tmp/a b)",
        "Delete(/x)",
        "Grep",
        "WebFetch(domain:*.A.example.)",
        "WebSearch(cats)",
        "mcp__github__get_*",
        "Agent(Explore)",
        "Skill(ops:*)",
        "Mystery",
    ])
}

/// A text that means something under a key.
fn word(key: &str, choices: &mut Choices<'_>) -> &'static str {
    match key {
        "additionalDirectories" => choices.one(&["../lib", "~/x", "/srv/a b"]),
        "match" => "git log -1",
        "not_match" => "git push",
        "name" | "advice" => choices.one(&["some words", "say \"no\" \\ twice\n", "ünïcode 😀", "\u{202e}sdrow"]),
        "mcpAllowlist" => choices.one(&["github:*", "*:search", "no-colon"]),
        "terminalAllowlist" => choices.one(&["git log", "npm:install*"]),
        "command" => choices.one(&["git log.*", "npx -y @corp/*", "node *"]),
        "url" => choices.one(&[
            "https://mcp.example/*",
            "http://LOCALHOST:8080/x:*",
            "https://[::1]:8443/mcp",
            "https://ünï.example",
        ]),
        "blocked" | "known" => choices.one(&["a.example", "*.B.example"]),
        "origins" => choices.one(&["a.example", "https://*.B.example:8443", "http://[::1]:3000"]),
        "input" => choices.one(&[".*", "\"path\":\"[^\"]+\""]),
        "patterns" => choices.one(&["*.key", "!a.key", "/x/", "# remark", "a\\ ", "**/y", "", "b\r"]),
        // A rule, the name of a tool, and a host.
        "allow" | "deny" => choices.one(&["api.example.com", "b.example"]),
        "additionalReadwritePaths" | "additionalReadonlyPaths" | "denyRead" => {
            choices.one(&["out/x", "~/c d", "/srv", "*.pem"])
        }
        "allowUnixSockets" => choices.one(&["/run/a.sock", "~/c d", "sub/s"]),
        "readOnly" | "tools" => choices.one(&["get_*", "list:*"]),
        _ => "Bash(git log *)",
    }
}

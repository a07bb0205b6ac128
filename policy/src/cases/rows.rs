//! Rows: one JSON object a line, each a case by itself.
//!
//! The form is made for cases that are collected from reports: the rules in the spelling of the agent they come from, the
//! call in five common tools, and the few files that matter. A field that is not known makes the row a fault, because
//! what it says would otherwise not be tested.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Case, Setting, setting::approved};
use crate::{
    AbsPath, DocumentOrigin, Effect, Fault, Layer, Mode, PolicyDocument, ToolCall,
    call::normalise,
    import::{Format, Outcome, import},
    rule::parse,
};

/// Fields that say something to people only.
const REMARKS: &[&str] = &["source", "note"];

/// One line of a file of rows.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its line, counted from 1.
    pub line: u32,
    /// Its id, as far as it can be read.
    pub id: Option<String>,
    /// The case, or why there is none.
    pub case: Result<Case, RowFault>,
}

/// Why a row is no case that can be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowFault {
    /// The line is no JSON.
    #[error("the line is no JSON: {0}")]
    NoJson(String),
    /// A field is missing, unknown, or holds the wrong thing.
    #[error("{0}")]
    Field(String),
    /// The input does not fit the tool.
    #[error("{0}")]
    Call(crate::call::InvalidCall),
}

/// Reads rows. Empty lines are none; every other line is a row or a fault.
#[must_use]
pub fn read(text: &str) -> Vec<Row> {
    // Editors of some systems begin a file with a byte order mark.
    text.strip_prefix('\u{feff}')
        .unwrap_or(text)
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| row(line, u32::try_from(index + 1).unwrap_or(u32::MAX)))
        .collect()
}

fn row(text: &str, line: u32) -> Row {
    let fields = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => {
            let case = Err(RowFault::Field("a row is one JSON object".to_owned()));
            return Row { line, id: None, case };
        }
        Err(error) => {
            let case = Err(RowFault::NoJson(error.to_string()));
            return Row { line, id: None, case };
        }
    };
    let id = fields.get("id").and_then(Value::as_str).map(str::to_owned);
    let case = case(&fields, line);
    Row { line, id, case }
}

fn field(text: impl Into<String>) -> RowFault {
    RowFault::Field(text.into())
}

/// A string that has to be there.
fn string<'a>(object: &'a Map<String, Value>, name: &str) -> Result<&'a str, RowFault> {
    match object.get(name) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(field(format!("`{name}`: expected a string, found {other}"))),
        None => Err(field(format!("the field `{name}` is missing"))),
    }
}

fn object<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a Map<String, Value>, RowFault> {
    match fields.get(name) {
        Some(Value::Object(object)) => Ok(object),
        Some(other) => Err(field(format!("`{name}`: expected an object, found {other}"))),
        None => Err(field(format!("the field `{name}` is missing"))),
    }
}

/// Refuses fields that nothing would look at.
fn only(object: &Map<String, Value>, place: &str, known: &[&str]) -> Result<(), RowFault> {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(field(format!(
            "unknown field `{key}`{place}; known are {}",
            known.join(", ")
        ))),
        None => Ok(()),
    }
}

fn path(object: &Map<String, Value>, name: &str) -> Result<AbsPath, RowFault> {
    AbsPath::parse(string(object, name)?).map_err(|fault| field(format!("`{name}`: {fault}")))
}

fn case(row: &Map<String, Value>, line: u32) -> Result<Case, RowFault> {
    let known = [
        &[
            "id", "mode", "rules", "format", "cwd", "home", "call", "fs", "expect", "why",
        ],
        REMARKS,
    ]
    .concat();
    only(row, "", &known)?;
    let name = string(row, "id")?.to_owned();
    let expected = string(row, "expect")?
        .parse()
        .map_err(|fault: super::UnknownExpectation| field(format!("`expect`: {fault}")))?;
    let (cwd, home) = (path(row, "cwd")?, path(row, "home")?);
    let format = string(row, "format")?;
    let stated: Mode = string(row, "mode")?
        .parse()
        .map_err(|fault| field(format!("`mode`: {}", crate::mode::UnknownMode::to_string(&fault))))?;
    // What a row says of the editor's lists, it says of the mode in which they count, without a sandbox.
    let mode = if format == "cursor-desktop" {
        Mode::Allowlist
    } else {
        stated
    };
    let mut setting = Setting::ordinary(&cwd, Some(&home), mode);
    place_files(row, &cwd, &mut setting)?;
    let call = object(row, "call")?;
    if string(call, "tool")? == "Mcp" {
        // A row says which server it is for; an agent only says both names in one.
        setting.facts.mcp_servers = vec![approved(string(call, "server")?)];
    }
    let rules = rules_of(format, object(row, "rules")?, &cwd, call)?;
    Ok(Case {
        name,
        line,
        why: match row.get("why") {
            Some(_) => string(row, "why")?.to_owned(),
            None => String::new(),
        },
        documents: vec![Arc::new(rules.document)],
        texts: vec![(Layer::User, rules.native)],
        left_out: rules.left_out,
        request: setting.request(tool_call(call)?),
        setting,
        expected,
        because: None,
    })
}

/// The files that a row names, relative to its working directory.
fn place_files(row: &Map<String, Value>, cwd: &AbsPath, setting: &mut Setting) -> Result<(), RowFault> {
    let entries = match row.get("fs") {
        None => return Ok(()),
        Some(Value::Array(entries)) => entries,
        Some(other) => return Err(field(format!("`fs`: expected an array, found {other}"))),
    };
    for entry in entries {
        let Value::Object(entry) = entry else {
            return Err(field(format!("an entry of `fs`: expected an object, found {entry}")));
        };
        only(entry, " in `fs`", &["path", "symlink"])?;
        let at = cwd.join(string(entry, "path")?);
        if entry.contains_key("symlink") {
            setting.links.insert(at, string(entry, "symlink")?.to_owned());
        } else {
            setting.files.insert(at);
        }
    }
    Ok(())
}

/// Tool and input as the agent would send them.
fn tool_call(call: &Map<String, Value>) -> Result<ToolCall, RowFault> {
    let (known, tool, input) = match string(call, "tool")? {
        "Bash" => (
            &["tool", "command"][..],
            "Bash".to_owned(),
            json!({ "command": string(call, "command")? }),
        ),
        "Read" => (
            &["tool", "path"][..],
            "Read".to_owned(),
            json!({ "file_path": string(call, "path")? }),
        ),
        "Edit" => (
            &["tool", "path"][..],
            "Edit".to_owned(),
            json!({ "file_path": string(call, "path")?, "old_string": "a", "new_string": "b" }),
        ),
        "WebFetch" => (
            &["tool", "url"][..],
            "WebFetch".to_owned(),
            json!({ "url": string(call, "url")?, "prompt": "read it" }),
        ),
        "Mcp" => (
            &["tool", "server", "name"][..],
            format!("mcp__{}__{}", string(call, "server")?, string(call, "name")?),
            json!({}),
        ),
        other => {
            return Err(field(format!(
                "unknown tool `{other}` in `call`; known are Bash, Read, Edit, WebFetch, Mcp"
            )));
        }
    };
    only(call, " in `call`", known)?;
    let Value::Object(input) = input else {
        return Err(field("the input of a call is an object"));
    };
    normalise("claude", &tool, input).map_err(RowFault::Call)
}

/// The rules of a row: as a document, as the text of a native one, and what of them counts for nothing.
struct Rules {
    document: PolicyDocument,
    native: String,
    left_out: Vec<String>,
}

fn rules_of(
    format: &str,
    rules: &Map<String, Value>,
    cwd: &AbsPath,
    call: &Map<String, Value>,
) -> Result<Rules, RowFault> {
    only(rules, " in `rules`", &["allow", "ask", "deny"])?;
    let (allow, ask, deny) = (list(rules, "allow")?, list(rules, "ask")?, list(rules, "deny")?);
    let origin = DocumentOrigin {
        layer: Layer::User,
        name: "rules of the case".to_owned(),
        folder: Some(cwd.clone()),
    };
    let (document, faults) = match format {
        "claude" => PolicyDocument::from_agent_rules(&allow, &ask, &deny, origin),
        "cursor-cli" => {
            if !ask.is_empty() {
                return Err(field("Cursor's command line has no `ask`"));
            }
            let file = json!({ "permissions": { "allow": allow, "deny": deny } });
            return Ok(imported(Format::CursorCli, &file, origin));
        }
        "cursor-desktop" => {
            if !ask.is_empty() || !deny.is_empty() {
                return Err(field("Cursor's editor has allowlists only"));
            }
            let list = if string(call, "tool")? == "Mcp" {
                "mcpAllowlist"
            } else {
                "terminalAllowlist"
            };
            return Ok(imported(Format::CursorDesktop, &json!({ list: allow }), origin));
        }
        other => {
            return Err(field(format!(
                "unknown format `{other}`; known are claude, cursor-cli, cursor-desktop"
            )));
        }
    };
    let kept = |rules: &[String], effect| -> Vec<String> {
        let can_be_read = |rule: &&String| parse(rule, effect).is_ok();
        rules.iter().filter(can_be_read).cloned().collect()
    };
    let native = json!({ "permissions": {
        "allow": kept(&allow, Effect::Allow),
        "ask": kept(&ask, Effect::Ask),
        "deny": kept(&deny, Effect::Deny),
    } });
    Ok(Rules {
        document,
        native: native.to_string(),
        left_out: faults.iter().map(sentence).collect(),
    })
}

/// Rules read from the file they would stand in.
fn imported(format: Format, file: &Value, origin: DocumentOrigin) -> Rules {
    let imported = import(format, &file.to_string(), origin);
    let left_out = imported
        .report
        .iter()
        .filter(|note| matches!(note.outcome, Outcome::NotExpressible { .. } | Outcome::Fault { .. }))
        .map(|note| format!("`{}`: {}", note.text, note.outcome.detail()))
        .collect();
    Rules {
        document: imported.document,
        native: imported.native,
        left_out,
    }
}

fn sentence(fault: &Fault) -> String {
    match &fault.hint {
        Some(hint) => format!("{} ({hint})", fault.message),
        None => fault.message.clone(),
    }
}

/// A list of rules; one that is not there is empty.
fn list(rules: &Map<String, Value>, effect: &str) -> Result<Vec<String>, RowFault> {
    let entries = match rules.get(effect) {
        None => return Ok(Vec::new()),
        Some(Value::Array(entries)) => entries,
        Some(other) => return Err(field(format!("`{effect}`: expected an array, found {other}"))),
    };
    entries
        .iter()
        .map(|entry| match entry {
            Value::String(rule) => Ok(rule.clone()),
            other => Err(field(format!("a rule in `{effect}`: expected a string, found {other}"))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    const ROW: &str = r#"{"id":"x","mode":"default","rules":{"allow":["Edit(a.txt)"]},"format":"claude",
        "cwd":"/home/dev/proj","home":"/home/dev","call":{"tool":"Edit","path":"a.txt"},"expect":"allow","why":"w"}"#;

    fn changed(change: impl FnOnce(&mut Map<String, Value>)) -> Row {
        let mut row: Map<String, Value> = serde_json::from_str(ROW).unwrap();
        change(&mut row);
        read(&Value::Object(row).to_string()).remove(0)
    }

    #[test]
    fn a_byte_order_mark_belongs_to_no_row() {
        let row = ROW.replace('\n', " ");
        assert!(read(&format!("\u{feff}{row}\r\n"))[0].case.is_ok());
        // Anywhere else it is a fault, as any stray character.
        assert!(read(&format!("{row}\n\u{feff}{row}"))[1].case.is_err());
    }

    #[test]
    fn a_row_is_decided_by_its_rules() {
        let case = changed(|_| ()).case.unwrap();
        assert_eq!((case.name.as_str(), case.why.as_str(), case.line), ("x", "w", 1));
        assert!(case.mismatches(&case.decide()).is_empty());
        let without = changed(|row| drop(row.insert("rules".to_owned(), json!({}))))
            .case
            .unwrap();
        let decision = without.decide();
        assert_eq!(decision.verdict, Verdict::Ask);
        assert_eq!(without.mismatches(&decision), ["expected allow, got ask"]);
    }

    #[test]
    fn every_line_is_a_row_or_a_fault() {
        let rows = read(&format!("\n{}\n\nnothing\n[]\n", ROW.replace('\n', " ")));
        let lines: Vec<(u32, bool)> = rows.iter().map(|row| (row.line, row.case.is_ok())).collect();
        assert_eq!(lines, [(2, true), (4, false), (5, false)]);
    }

    #[test]
    fn what_cannot_be_run_says_why() {
        for (name, value, part) in [
            ("id", json!(1), "`id`: expected a string"),
            ("mode", json!("fast"), "unknown mode `fast`"),
            ("format", json!("vim"), "unknown format `vim`"),
            ("expect", json!("maybe"), "`maybe` is no decision"),
            ("cwd", json!("proj"), "not an absolute path"),
            ("call", json!({"tool": "Grep"}), "unknown tool `Grep`"),
            ("call", json!({"tool": "Bash"}), "`command` is missing"),
            (
                "call",
                json!({"tool": "Bash", "command": "ls", "cwd": "/"}),
                "unknown field `cwd` in `call`",
            ),
            ("rules", json!({"allow": [1]}), "a rule in `allow`: expected a string"),
            ("rules", json!({"allowed": []}), "unknown field `allowed` in `rules`"),
            ("rules", json!([]), "`rules`: expected an object"),
            ("fs", json!([{"path": "a", "mode": 1}]), "unknown field `mode` in `fs`"),
            ("network", json!("none"), "unknown field `network`"),
        ] {
            let row = changed(|row| drop(row.insert(name.to_owned(), value)));
            let text = row.case.unwrap_err().to_string();
            assert!(text.contains(part), "{text}");
        }
        let row = changed(|row| drop(row.remove("call")));
        assert!(row.case.unwrap_err().to_string().contains("`call` is missing"));
    }

    #[test]
    fn a_rule_that_counts_for_nothing_is_told() {
        let rules = json!({"allow": ["Edit(a.txt)", "Write(b)"]});
        let case = changed(|row| drop(row.insert("rules".to_owned(), rules))).case.unwrap();
        assert!(
            case.left_out.iter().any(|line| line.contains("Write(b)")),
            "{:?}",
            case.left_out
        );
    }
}

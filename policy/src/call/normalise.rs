//! From an agent's words to an [`Action`].
//!
//! Each agent has a vocabulary, a table of tool names and where their inputs say what they act on. A name that is in no
//! table becomes [`Action::Other`]; a name that is, with an input that does not fit, is an error, because a call half
//! understood would be judged as something that it is not. It reads no more of the input than it has to.

mod fields;
mod names;
mod patch;
mod urls;
mod vocabulary;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use self::{
    fields::{Fields, optional, required, required_list},
    vocabulary::{Shape, shape_of},
};
use super::{Action, Search, ToolCall};

/// The input does not fit the tool it names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot understand the input of tool `{tool}`: {fault}")]
pub struct InvalidCall {
    /// The tool.
    pub tool: String,
    /// What is wrong, naming the field.
    pub fault: String,
}

/// The tool by which an agent, named as for [`normalise`], runs a shell line; the line is the field `command` of its input.
#[must_use]
pub fn shell_tool(agent: &str) -> &'static str {
    vocabulary::shell_tool(agent)
}

/// Turns an agent's words into a [`ToolCall`].
///
/// `agent` is the agent's short name; it settles spellings that two agents use differently (`mcp_a_b_c`, `srv-tool`). An
/// agent that is not known by name speaks as Claude Code does.
///
/// # Errors
/// If the tool is one we know and its input lacks the field that says what it acts on. An unknown tool is no error.
pub fn normalise(agent: &str, tool_name: &str, input: Map<String, Value>) -> Result<ToolCall, InvalidCall> {
    let action = match shape_of(agent, tool_name) {
        Some(shape) => action(shape, &input).map_err(|fault| InvalidCall {
            tool: tool_name.to_owned(),
            fault,
        })?,
        None => names::mcp_tool(agent, tool_name).unwrap_or(Action::Other),
    };
    Ok(ToolCall {
        tool_name: tool_name.to_owned(),
        input,
        action,
    })
}

/// The folder that a shell call names for itself, as written: Cursor's `working_directory`, Gemini CLI's `dir_path`.
///
/// Whoever builds a request has to make it the request's working directory, or relative paths are judged in one folder
/// and used in another.
///
/// # Errors
/// If it is given and is not a text.
pub fn working_directory<'a>(
    agent: &str,
    tool_name: &str,
    input: &'a Map<String, Value>,
) -> Result<Option<&'a str>, InvalidCall> {
    let Some(Shape::Shell { folder, .. } | Shape::ShellIfAny { folder, .. }) = shape_of(agent, tool_name) else {
        return Ok(None);
    };
    optional(input, folder).map_err(|fault| InvalidCall {
        tool: tool_name.to_owned(),
        fault,
    })
}

/// What a call of this shape does.
fn action(shape: Shape, input: &Map<String, Value>) -> Result<Action, String> {
    Ok(match shape {
        Shape::Shell { command, .. } => shell(required(input, command)?, command)?,
        Shape::ShellIfAny { command, otherwise, .. } => match optional(input, command)? {
            Some(line) => shell(line, command)?,
            None => otherwise,
        },
        Shape::Read(path) => Action::Read {
            path: required(input, path)?.to_owned(),
        },
        Shape::Edit(path) => Action::Edit {
            paths: vec![required(input, path)?.to_owned()],
        },
        Shape::EditList(paths) => Action::Edit {
            paths: required_list(input, paths)?,
        },
        Shape::Patch(text) => patch::action(required(input, text)?).map_err(|fault| named(text, fault))?,
        Shape::Delete(path) => Action::Delete {
            paths: vec![required(input, path)?.to_owned()],
        },
        Shape::ViewOrEdit { command, path } => {
            let path = required(input, path)?.to_owned();
            match required(input, command)? {
                "view" => Action::Read { path },
                _ => Action::Edit { paths: vec![path] },
            }
        }
        Shape::ReadOperations => read_operations(input)?,
        Shape::Fetch(url) => Action::Fetch {
            urls: vec![required(input, url)?.to_owned()],
        },
        Shape::FetchFromText { text, url } => {
            let mut urls: Vec<String> = optional(input, url)?.map(str::to_owned).into_iter().collect();
            match optional(input, text)? {
                Some(prompt) => urls.extend(urls::in_text(prompt)),
                None if urls.is_empty() => return Err(named(text, "is missing")),
                None => {}
            }
            if urls.is_empty() {
                return Err(named(text, "names no address"));
            }
            Action::Fetch { urls }
        }
        Shape::SearchFiles { folder, pattern } => Action::Search(Search::Files {
            path: optional(input, folder)?.map(str::to_owned),
            pattern: optional(input, pattern)?.map(str::to_owned),
        }),
        Shape::SearchWeb(query) => Action::Search(Search::Web {
            query: required(input, query)?.to_owned(),
        }),
        Shape::Agent(kind) => Action::Agent {
            kind: optional(input, kind)?.unwrap_or_default().to_owned(),
        },
        Shape::Skill { name, arguments } => Action::Skill {
            name: required(input, name)?.to_owned(),
            arguments: optional(input, arguments)?.unwrap_or_default().to_owned(),
        },
        Shape::Mcp { server, tool } => Action::Mcp {
            server: required(input, server)?.to_owned(),
            tool: required(input, tool)?.to_owned(),
        },
        Shape::Browser(url) => Action::Browser {
            url: optional(input, url)?.map(str::to_owned),
        },
        Shape::Is(action) => action,
    })
}

/// A line that holds more than blanks.
fn shell(line: &str, field: Fields) -> Result<Action, String> {
    if line.trim().is_empty() {
        return Err(named(field, "is blank"));
    }
    Ok(Action::Shell {
        command: line.to_owned(),
    })
}

/// Kiro's `fs_read`: one path, or a list of operations. Several at once, or a kind of operation that we do not know, is a
/// call that no single action describes.
fn read_operations(input: &Map<String, Value>) -> Result<Action, String> {
    let Some(operations) = input.get("operations") else {
        return Ok(Action::Read {
            path: required(input, &["path"])?.to_owned(),
        });
    };
    let Value::Array(operations) = operations else {
        return Err("`operations` is not a list".to_owned());
    };
    let [Value::Object(operation)] = operations.as_slice() else {
        return Ok(Action::Other);
    };
    let mode = optional(operation, &["mode"])?;
    let path = || required(operation, &["path"]).map(str::to_owned);
    Ok(match mode {
        Some("Line") => Action::Read { path: path()? },
        Some("Directory" | "Search") => Action::Search(Search::Files {
            path: Some(path()?),
            pattern: None,
        }),
        _ => Action::Other,
    })
}

/// A fault under the name of its field.
fn named(field: Fields, fault: &str) -> String {
    format!("`{}` {fault}", field.first().copied().unwrap_or_default())
}

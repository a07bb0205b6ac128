//! The tools of each agent: name, and where the input says what they act on.
//!
//! A tool is listed only if its input was seen or is documented. One that is not listed is unknown, which is never
//! allowed by a rule for something narrower; so forgetting one costs a question, listing one wrongly costs more.

use super::fields::Fields;
use crate::call::Action;

/// How to read the input of a tool.
pub(super) enum Shape {
    /// Runs a shell line.
    Shell {
        /// The line.
        command: Fields,
        /// The folder it runs in.
        folder: Fields,
    },
    /// Runs a shell line if there is one.
    ShellIfAny {
        /// The line.
        command: Fields,
        /// The folder it runs in.
        folder: Fields,
        /// What the call does without a line.
        otherwise: Action,
    },
    /// Reads this file.
    Read(Fields),
    /// Changes this file.
    Edit(Fields),
    /// Changes the files of this list.
    EditList(&'static str),
    /// Changes the files that are named in this patch.
    Patch(Fields),
    /// Deletes this file.
    Delete(Fields),
    /// Reads or changes a file, as `command` says.
    ViewOrEdit {
        /// Which of both.
        command: Fields,
        /// The file.
        path: Fields,
    },
    /// Kiro's list of read operations.
    ReadOperations,
    /// Fetches this address.
    Fetch(Fields),
    /// Fetches the addresses in a text.
    FetchFromText {
        /// The text.
        text: Fields,
        /// An address of its own, where one is given.
        url: Fields,
    },
    /// Searches or lists files.
    SearchFiles {
        /// The folder.
        folder: Fields,
        /// The file pattern.
        pattern: Fields,
    },
    /// Searches the web.
    SearchWeb(Fields),
    /// Starts an agent of this kind.
    Agent(Fields),
    /// Runs a skill.
    Skill {
        /// Its name.
        name: Fields,
        /// Its arguments.
        arguments: Fields,
    },
    /// Calls the MCP tool that two fields name.
    Mcp {
        /// The server.
        server: Fields,
        /// The tool.
        tool: Fields,
    },
    /// Drives a browser.
    Browser(Fields),
    /// Does this, whatever the input.
    Is(Action),
}

/// The file of a tool that takes one. Claude Code and Cursor say `file_path`, Copilot and Cline `path`, OpenCode
/// `filePath`, older versions of Gemini CLI `absolute_path`.
const FILE: Fields = &["file_path", "path", "filePath", "absolute_path"];

/// The folder of a search.
const FOLDER: Fields = &["path", "dir_path", "directory", "target_directory"];

const COMMAND: Fields = &["command"];
const URL: Fields = &["url"];
const QUERY: Fields = &["query", "search_term"];
const NONE: Fields = &[];

/// How to read a call; `None` if the agent has no such tool that we know.
pub(super) fn shape_of(agent: &str, tool: &str) -> Option<Shape> {
    match agent {
        "cursor" => cursor(tool).or_else(|| claude(tool)),
        "codex" => codex(tool),
        "gemini" | "qwen" => gemini(tool),
        "copilot" => copilot(tool).or_else(|| claude(tool)),
        "opencode" => opencode(tool),
        "vscode" => vscode(tool),
        "cline" => cline(tool),
        "windsurf" => windsurf(tool),
        "kiro" => kiro(tool),
        // Claude Code itself, our own programs, and agents that nobody told us about.
        _ => claude(tool),
    }
}

/// The tool by which an agent runs a shell line that stands in the field `command`.
pub(super) fn shell_tool(agent: &str) -> &'static str {
    match agent {
        "cursor" => "Shell",
        "gemini" | "qwen" => "run_shell_command",
        "copilot" | "opencode" => "bash",
        "vscode" => "runTerminalCommand",
        "cline" => "execute_command",
        "windsurf" => "run_command",
        "kiro" => "execute_bash",
        _ => "Bash",
    }
}

/// Claude Code, and whoever speaks like it. `PowerShell` is missing on purpose: its lines are no bash.
fn claude(tool: &str) -> Option<Shape> {
    Some(match tool {
        "Bash" => shell(NONE),
        // Runs a command in the background and watches it; without one it watches something else.
        "Monitor" => Shape::ShellIfAny {
            command: COMMAND,
            folder: NONE,
            otherwise: Action::Other,
        },
        "Read" => Shape::Read(FILE),
        "NotebookRead" => Shape::Read(&["notebook_path"]),
        "Write" | "Edit" | "MultiEdit" => Shape::Edit(FILE),
        "NotebookEdit" => Shape::Edit(&["notebook_path"]),
        "Glob" => files(&["pattern"]),
        "Grep" => files(&["glob"]),
        "LS" => files(NONE),
        "WebFetch" => Shape::Fetch(URL),
        "WebSearch" => Shape::SearchWeb(QUERY),
        "Agent" | "Task" => Shape::Agent(&["subagent_type", "agent_type"]),
        "Skill" => Shape::Skill {
            name: &["skill", "name"],
            arguments: &["args"],
        },
        "ExitPlanMode" => Shape::Is(Action::LeavePlan),
        // Lists of things to do, questions to the person, the agent's own background work.
        "TodoWrite" | "TodoRead" | "EnterPlanMode" | "AskUserQuestion" | "BashOutput" | "TaskOutput" | "KillShell"
        | "KillBash" | "TaskStop" => Shape::Is(Action::Internal),
        _ => return None,
    })
}

/// Cursor's `preToolUse`, and its `before…` events as the adapter names them. Its `MCP:tool` lacks the server: unknown.
fn cursor(tool: &str) -> Option<Shape> {
    Some(match tool {
        "Shell" => shell(&["working_directory"]),
        "TabRead" => Shape::Read(FILE),
        "TabWrite" => Shape::Edit(FILE),
        "Delete" => Shape::Delete(FILE),
        _ => return None,
    })
}

/// Codex. MCP resources are missing on purpose: reading one asks a server whose name does not tell.
fn codex(tool: &str) -> Option<Shape> {
    Some(match tool {
        "Bash" => shell(&["workdir"]),
        "apply_patch" => Shape::Patch(&["command", "patch", "input"]),
        "view_image" => Shape::Read(&["path"]),
        "web_search" => Shape::SearchWeb(QUERY),
        "update_plan" => Shape::Is(Action::Internal),
        _ => return None,
    })
}

/// Gemini CLI and Qwen Code. `save_memory` writes a file that the input does not name; `read_many_files` takes many
/// patterns: both stay unknown.
fn gemini(tool: &str) -> Option<Shape> {
    Some(match tool {
        "run_shell_command" => shell(&["dir_path", "directory"]),
        "read_file" => Shape::Read(FILE),
        "write_file" | "replace" | "edit" => Shape::Edit(FILE),
        "glob" => files(&["pattern"]),
        "grep_search" | "search_file_content" => files(&["include_pattern", "include", "glob"]),
        "list_directory" => files(NONE),
        "web_fetch" => Shape::FetchFromText {
            text: &["prompt"],
            url: URL,
        },
        "google_web_search" | "web_search" => Shape::SearchWeb(QUERY),
        "invoke_agent" | "task" => Shape::Agent(&["agent_name", "subagent_type"]),
        "activate_skill" => Shape::Skill {
            name: &["name", "skill"],
            arguments: NONE,
        },
        "exit_plan_mode" => Shape::Is(Action::LeavePlan),
        "enter_plan_mode" | "write_todos" | "todo_write" | "ask_user" => Shape::Is(Action::Internal),
        _ => return None,
    })
}

/// Copilot CLI. Its events in Claude's spelling use Claude's names with Copilot's fields. `write_bash` types into a
/// program that runs: unknown.
fn copilot(tool: &str) -> Option<Shape> {
    Some(match tool {
        "bash" => shell(NONE),
        "view" => Shape::Read(FILE),
        "create" | "edit" => Shape::Edit(FILE),
        "str_replace_editor" => Shape::ViewOrEdit {
            command: COMMAND,
            path: FILE,
        },
        "apply_patch" => Shape::Patch(&["command", "patch", "input"]),
        "grep" => files(&["glob"]),
        "glob" => files(&["pattern"]),
        "web_fetch" => Shape::Fetch(URL),
        "web_search" => Shape::SearchWeb(QUERY),
        "task" => Shape::Agent(&["agent_type", "subagent_type"]),
        "skill" => Shape::Skill {
            name: &["skill", "name"],
            arguments: &["args"],
        },
        "exit_plan_mode" => Shape::Is(Action::LeavePlan),
        "report_intent" | "update_todo" | "ask_user" | "read_bash" | "list_bash" | "stop_bash" => {
            Shape::Is(Action::Internal)
        }
        _ => return None,
    })
}

/// OpenCode.
fn opencode(tool: &str) -> Option<Shape> {
    Some(match tool {
        "bash" => shell(&["workdir"]),
        "read" => Shape::Read(FILE),
        "write" | "edit" => Shape::Edit(FILE),
        "patch" | "apply_patch" => Shape::Patch(&["patchText", "command", "input"]),
        "grep" => files(&["include"]),
        "glob" => files(&["pattern"]),
        "list" => files(NONE),
        "webfetch" => Shape::Fetch(URL),
        "websearch" => Shape::SearchWeb(QUERY),
        "task" => Shape::Agent(&["subagent_type"]),
        "skill" => Shape::Skill {
            name: &["name"],
            arguments: NONE,
        },
        "todowrite" | "todoread" | "question" => Shape::Is(Action::Internal),
        _ => return None,
    })
}

/// VS Code's agent hooks.
fn vscode(tool: &str) -> Option<Shape> {
    Some(match tool {
        "editFiles" => Shape::EditList("files"),
        "runTerminalCommand" => shell(NONE),
        _ => return None,
    })
}

/// Cline. Its `attempt_completion` may run a command to show the result.
fn cline(tool: &str) -> Option<Shape> {
    Some(match tool {
        "execute_command" => shell(NONE),
        "read_file" => Shape::Read(FILE),
        "write_to_file" | "replace_in_file" => Shape::Edit(FILE),
        "search_files" => files(&["file_pattern"]),
        "list_files" | "list_code_definition_names" => files(NONE),
        "web_fetch" => Shape::Fetch(URL),
        "web_search" => Shape::SearchWeb(QUERY),
        "browser_action" => Shape::Browser(URL),
        "use_mcp_tool" => Shape::Mcp {
            server: &["server_name"],
            tool: &["tool_name"],
        },
        "attempt_completion" => Shape::ShellIfAny {
            command: COMMAND,
            folder: NONE,
            otherwise: Action::Internal,
        },
        "ask_followup_question" | "plan_mode_respond" => Shape::Is(Action::Internal),
        _ => return None,
    })
}

/// Windsurf, by the names of its events.
fn windsurf(tool: &str) -> Option<Shape> {
    Some(match tool.strip_prefix("pre_").unwrap_or(tool) {
        "run_command" => Shape::Shell {
            command: &["command_line", "command"],
            folder: &["cwd"],
        },
        "read_code" => Shape::Read(FILE),
        "write_code" => Shape::Edit(FILE),
        "mcp_tool_use" => Shape::Mcp {
            server: &["mcp_server_name"],
            tool: &["mcp_tool_name"],
        },
        _ => return None,
    })
}

/// Kiro CLI.
fn kiro(tool: &str) -> Option<Shape> {
    Some(match tool {
        "execute_bash" => shell(&["working_dir"]),
        "fs_read" => Shape::ReadOperations,
        "fs_write" => Shape::Edit(FILE),
        "todo_list" => Shape::Is(Action::Internal),
        _ => return None,
    })
}

/// A tool that runs `command`.
fn shell(folder: Fields) -> Shape {
    Shape::Shell {
        command: COMMAND,
        folder,
    }
}

/// A tool that searches files by this pattern.
fn files(pattern: Fields) -> Shape {
    Shape::SearchFiles {
        folder: FOLDER,
        pattern,
    }
}

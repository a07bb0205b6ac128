//! Hand-written `Debug` for the messages that carry raw input, so that a stray `{:?}` logs sizes, not contents.

use std::fmt;

use crate::v1;

impl fmt::Debug for v1::ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("tool_name", &self.tool_name)
            .field("input_json", &format_args!("[{} bytes]", self.input_json.len()))
            .field("tool_use_id", &self.tool_use_id)
            .finish()
    }
}

impl fmt::Debug for v1::HostDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostDocument")
            .field("layer", &self.layer)
            .field("path", &self.path)
            .field("content", &format_args!("[{} bytes]", self.content.len()))
            .finish()
    }
}

impl fmt::Debug for v1::McpServerFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServerFact")
            .field("name", &self.name)
            .field("configured_in", &self.configured_in)
            .field("file", &self.file)
            .field("approval", &self.approval)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for v1::McpCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpCommand")
            .field("words", &format_args!("[{} words]", self.words.len()))
            .field("environment", &self.environment)
            .finish()
    }
}

impl fmt::Debug for v1::Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution")
            .field("argv", &format_args!("[{} words]", self.argv.len()))
            .field("timeout", &self.timeout)
            .field("trial", &self.trial)
            .finish()
    }
}

impl fmt::Debug for v1::RunStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunStart")
            .field("argv", &format_args!("[{} words]", self.argv.len()))
            .field("cwd", &self.cwd)
            .field("environment", &format_args!("[{} variables]", self.environment.len()))
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for v1::RunRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use v1::run_request::Message;
        let mut out = f.debug_tuple("RunRequest");
        match &self.message {
            None => out.field(&format_args!("nothing")),
            Some(Message::Start(start)) => out.field(start),
            Some(Message::Stdin(bytes)) => out.field(&format_args!("stdin [{} bytes]", bytes.len())),
            Some(Message::StdinClosed(_)) => out.field(&format_args!("stdin closed")),
            Some(Message::Signal(number)) => out.field(&format_args!("signal {number}")),
        };
        out.finish()
    }
}

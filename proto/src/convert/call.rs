//! The question on the wire to the question in the domain.
//!
//! Every field is checked here, once: what comes out needs no second look. It decides nothing.

mod json;

use std::{fmt, time::Duration};

use portcullis_policy::{
    AbsPath, Action, DocumentOrigin, EffectiveRuleset, Fault, Layer, PolicyDocument, Request, ToolCall,
    call::{normalise, working_directory},
    mode::Session,
    request::Workspace,
    sandbox::SandboxType,
    shell,
};
use uuid::Uuid;

use super::{
    InvalidMessage, check,
    facts::{self, HostClaims},
    text::shorten,
    time,
    words::{interactivity_from_wire, mode_from_wire},
};
use crate::v1;

/// Largest tool input, in bytes. Also the most that the words of an execution may come to, which the input repeats.
const MAX_INPUT: usize = 1 << 20;

/// Most folders of a workspace.
const MAX_ROOTS: usize = 64;

/// Most rules of one kind from the session's flags.
const MAX_SESSION_RULES: usize = 256;

/// Longest rule, in bytes: longer than any that a person types, short enough to be shown.
const MAX_RULE: usize = 8 * 1024;

/// Most words of a command.
const MAX_WORDS: usize = 16_384;

/// Longest limit on a run: a week. Whoever wants no limit leaves it out.
const MAX_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A request for a decision after all of its fields were checked.
#[derive(Clone)]
pub struct Question {
    /// What the engine is asked.
    pub request: Request,
    /// Whether the caller named a run mode. If not, `request.mode` is the default one, and a document's `defaultMode` takes
    /// its place.
    pub mode_stated: bool,
    /// The caller's id of the request.
    pub request_id: Uuid,
    /// The agent's version; may be empty.
    pub agent_version: String,
    /// The agent's session; may be empty.
    pub session_id: String,
    /// The agent's id of the call; may be empty.
    pub tool_use_id: String,
    /// The raw tool input, for the fingerprint. Never stored.
    pub raw_input: Vec<u8>,
    /// Rules from the session's flags, read; `None` if there are none.
    pub session_document: Option<PolicyDocument>,
    /// The command the host is to run; `None` if the caller only asks.
    pub execution: Option<Execution>,
    /// The sandbox policy that the command is to be tried under, unjudged; `None` if it is to be judged.
    pub trial: Option<PolicyDocument>,
    /// What the host said about itself; `None` if no host vouched for the call.
    pub host: Option<HostClaims>,
    /// The decision by which the same call ran in the sandbox and failed; `None` if this is no retry.
    pub retry_of: Option<Uuid>,
}

impl fmt::Debug for Question {
    /// Without the input, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("request_id", &self.request_id)
            .field("agent", &self.request.agent)
            .field("tool_name", &self.request.call.tool_name)
            .field("raw_input", &format_args!("[{} bytes]", self.raw_input.len()))
            .finish_non_exhaustive()
    }
}

/// The command that the host is to run.
#[derive(Clone, PartialEq, Eq)]
pub struct Execution {
    /// Program and arguments; never empty. `portcullis_policy::shell::quote` of it is the call's command.
    pub argv: Vec<String>,
    /// The caller's own limit.
    pub timeout: Option<Duration>,
}

impl fmt::Debug for Execution {
    /// Without the words, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution")
            .field("argv", &format_args!("[{} words]", self.argv.len()))
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// Whether the sender of a request is a host whose facts count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vouching {
    /// The caller presented a host's token.
    Host,
    /// It did not: facts can only narrow, documents of the host only deny and ask.
    Nobody,
}

/// Checks a request.
///
/// # Errors
/// Names the first field that is missing, too long, or of the wrong form.
pub fn question(message: v1::DecideRequest, vouching: Vouching) -> Result<Question, InvalidMessage> {
    let request_id = uuid("request_id", &message.request_id)?;
    let (call, workspace) = call_in_workspace(&message)?;
    let v1::DecideRequest {
        agent,
        session_id,
        mode,
        interactivity,
        call: wire_call,
        session_rules,
        execution,
        facts,
        plan_file,
        retry_of,
        ..
    } = message;
    let agent = check::present("agent", agent)?;
    let wire_call = check::present("call", wire_call)?;
    check::text("agent.version", &agent.version, 64)?;
    check::text("session_id", &session_id, 256)?;
    // Cursor's ids hold newlines, so control characters are no fault here.
    check::length("call.tool_use_id", &wire_call.tool_use_id, 256)?;
    let mode_stated = mode != i32::from(v1::Mode::Unspecified);
    let mode = mode_from_wire(mode)?;
    let plan_file = check::optional_path("plan_file", &plan_file, check::MAX_PATH)?;
    let interactivity = interactivity_from_wire(interactivity)?;
    let session_document = session_rules.map(session_document).transpose()?.flatten();
    let tried = execution.as_ref().is_some_and(|execution| execution.trial);
    let trial = tried.then(|| tried_policy(&call)).transpose()?;
    let execution = execution.map(|wire| execution_of(wire, &call)).transpose()?;
    let retry_of = retry(&retry_of, tried)?;
    let (mut facts, host) = facts::facts(facts, vouching)?;
    facts.failures.extend(other_folder(&agent.name, &call, &workspace)?);
    Ok(Question {
        request: Request {
            agent: agent.name,
            mode,
            interactivity,
            workspace,
            call,
            facts,
            session: Session {
                plan_file,
                ..Session::default()
            },
            sandboxed_execution: execution.is_some(),
        },
        mode_stated,
        request_id,
        agent_version: agent.version,
        session_id,
        tool_use_id: wire_call.tool_use_id,
        raw_input: wire_call.input_json,
        session_document,
        execution,
        trial,
        host,
        retry_of,
    })
}

/// The call and where it is made: all that has to be known to say which facts it needs.
pub(super) fn call_in_workspace(message: &v1::DecideRequest) -> Result<(ToolCall, Workspace), InvalidMessage> {
    let agent = check::present("agent", message.agent.as_ref())?;
    agent_name(&agent.name)?;
    let workspace = workspace(check::present("workspace", message.workspace.as_ref())?)?;
    let call = check::present("call", message.call.as_ref())?;
    check::name("call.tool_name", &call.tool_name, 256)?;
    if call.input_json.len() > MAX_INPUT {
        let fault = format!("is {} bytes long; at most {MAX_INPUT} are read", call.input_json.len());
        return Err(InvalidMessage::new("call.input_json", fault));
    }
    let input = json::object(&call.input_json).map_err(|fault| InvalidMessage::new("call.input_json", fault))?;
    let call = normalise(&agent.name, &call.tool_name, input)
        .map_err(|invalid| InvalidMessage::new("call.input_json", invalid.to_string()))?;
    Ok((call, workspace))
}

/// A UUID in its usual form of 36 characters.
fn uuid(field: &str, text: &str) -> Result<Uuid, InvalidMessage> {
    // `parse_str` also takes braces, `urn:` and no hyphens; one form keeps ids comparable as texts.
    if text.len() != 36 {
        return Err(InvalidMessage::new(field, "is not a UUID of 36 characters"));
    }
    Uuid::parse_str(text).map_err(|_| InvalidMessage::new(field, "is not a UUID"))
}

/// The decision that a request is a retry of; `None` if it is no retry.
fn retry(text: &str, tried: bool) -> Result<Option<Uuid>, InvalidMessage> {
    let field = "retry_of";
    if text.is_empty() {
        return Ok(None);
    }
    if tried {
        let fault = "makes no sense of a trial, which runs in the sandbox only: leave it out";
        return Err(InvalidMessage::new(field, fault));
    }
    uuid(field, text).map(Some)
}

/// 1 to 64 of `a-z 0-9 . _ -`: the name becomes a label of metrics and a field of records.
fn agent_name(name: &str) -> Result<(), InvalidMessage> {
    check::name("agent.name", name, 64)?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    if !name.chars().all(plain) {
        let fault = "may hold lower-case letters, digits, `.`, `_` and `-` only";
        return Err(InvalidMessage::new("agent.name", fault));
    }
    Ok(())
}

/// Where the agent works.
fn workspace(wire: &v1::Workspace) -> Result<Workspace, InvalidMessage> {
    let mut roots = check::paths("workspace.roots", &wire.roots, MAX_ROOTS, check::MAX_PATH)?.into_iter();
    let root = check::present("workspace.roots", roots.next())?;
    Ok(Workspace {
        root,
        additional_roots: roots.collect(),
        cwd: check::path("workspace.cwd", &wire.cwd, check::MAX_PATH)?,
        home: check::optional_path("workspace.home", &wire.home, check::MAX_PATH)?,
    })
}

/// Says if the call itself names another working directory than the request: its relative paths would be judged in one
/// folder and used in another. A failure, not an invalid message: the call is understood, only not where it happens.
fn other_folder(agent: &str, call: &ToolCall, workspace: &Workspace) -> Result<Option<String>, InvalidMessage> {
    let folder = working_directory(agent, &call.tool_name, &call.input)
        .map_err(|invalid| InvalidMessage::new("call.input_json", invalid.to_string()))?;
    let Some(folder) = folder else {
        return Ok(None);
    };
    let cwd = &workspace.cwd;
    // A relative folder starts from where the agent was, which the request does not tell: from a root, or from where
    // adding it gives the working directory.
    let fits = if folder.starts_with('/') {
        cwd.join(folder) == *cwd
    } else {
        let below = AbsPath::root().join(folder);
        let climbs = folder.split('/').any(|segment| segment == "..");
        workspace.roots().any(|root| root.join(folder) == *cwd)
            || (!climbs && (below == AbsPath::root() || cwd.as_str().ends_with(below.as_str())))
    };
    Ok((!fits).then(|| format!("the call runs in `{}`, the request says `{cwd}`", shorten(folder, 256))))
}

/// The rules of the session's flags as a document; `None` if there are none.
fn session_document(rules: v1::SessionRules) -> Result<Option<PolicyDocument>, InvalidMessage> {
    let v1::SessionRules {
        allow,
        deny,
        approve_mcp_servers,
    } = rules;
    for (field, list) in [("session_rules.allow", &allow), ("session_rules.deny", &deny)] {
        check::count(field, list, MAX_SESSION_RULES)?;
        for (at, rule) in list.iter().enumerate() {
            check::length(&format!("{field}[{at}]"), rule, MAX_RULE)?;
        }
    }
    if allow.is_empty() && deny.is_empty() && !approve_mcp_servers {
        return Ok(None);
    }
    EffectiveRuleset::session_document(&allow, &deny)
        .map(|mut document| {
            document.settings.controls.approve_mcp_servers = approve_mcp_servers;
            Some(document)
        })
        .map_err(|faults| session_fault(&allow, &deny, &faults))
}

/// Which of the session's rules is at fault. Each list is read alone, so that the answer does not depend on how the
/// engine counts through both.
fn session_fault(allow: &[String], deny: &[String], together: &[Fault]) -> InvalidMessage {
    let alone = [
        ("session_rules.allow", EffectiveRuleset::session_document(allow, &[])),
        ("session_rules.deny", EffectiveRuleset::session_document(&[], deny)),
    ];
    for (field, read) in &alone {
        if let Err(faults) = read
            && let Some(fault) = faults.first()
        {
            let at = fault.line.saturating_sub(1);
            return InvalidMessage::new(format!("{field}[{at}]"), fault_text(fault));
        }
    }
    let fault = together.first().map_or_else(|| "cannot be read".to_owned(), fault_text);
    InvalidMessage::new("session_rules", fault)
}

/// A fault and its way out.
fn fault_text(fault: &Fault) -> String {
    match &fault.hint {
        Some(hint) => format!("{}; {hint}", fault.message),
        None => fault.message.clone(),
    }
}

/// Under which key of a call's input the policy to be tried stands.
const TRIED: &str = "sandbox";

/// The sandbox policy that a command is to be tried under: what the call's input says, so that it is on record with it.
fn tried_policy(call: &ToolCall) -> Result<PolicyDocument, InvalidMessage> {
    let field = "call.input_json.sandbox";
    let Some(policy) = call.input.get(TRIED) else {
        return Err(InvalidMessage::new(field, "is missing: it is the policy to be tried"));
    };
    let origin = DocumentOrigin {
        layer: Layer::User,
        name: "the policy that is tried".to_owned(),
        folder: None,
    };
    let document = PolicyDocument::parse_sandbox_file(&policy.to_string(), origin).map_err(|faults| {
        let fault = faults.first().map_or_else(|| "cannot be read".to_owned(), fault_text);
        InvalidMessage::new(field, fault)
    })?;
    if document.settings.sandbox.kind == Some(SandboxType::InsecureNone) {
        let fault = "asks for no sandbox at all (`insecure_none`): run the command itself";
        return Err(InvalidMessage::new(field, fault));
    }
    Ok(document)
}

/// The command to run: exactly what the call says.
fn execution_of(wire: v1::Execution, call: &ToolCall) -> Result<Execution, InvalidMessage> {
    let v1::Execution { argv, timeout, .. } = wire;
    check::count("execution.argv", &argv, MAX_WORDS)?;
    match argv.first() {
        None => {
            return Err(InvalidMessage::new(
                "execution.argv",
                "is empty; it names the program to run",
            ));
        }
        Some(program) if program.is_empty() => {
            return Err(InvalidMessage::new(
                "execution.argv[0]",
                "is empty; it names the program to run",
            ));
        }
        Some(_) => {}
    }
    if argv.iter().map(String::len).sum::<usize>() > MAX_INPUT {
        let fault = format!("is longer than {MAX_INPUT} bytes altogether");
        return Err(InvalidMessage::new("execution.argv", fault));
    }
    if let Some(at) = argv.iter().position(|word| word.contains('\0')) {
        return Err(InvalidMessage::new(format!("execution.argv[{at}]"), "holds a NUL"));
    }
    match &call.action {
        Action::Shell { command } if *command == shell::quote(&argv) => {}
        Action::Shell { .. } => {
            let fault = "is not what the call's command says: the command must be the shell quoting of these words";
            return Err(InvalidMessage::new("execution.argv", fault));
        }
        _ => {
            let fault = format!("only a shell command can be run, and `{}` is none", call.tool_name);
            return Err(InvalidMessage::new("execution", fault));
        }
    }
    let timeout = timeout
        .map(|wire| {
            let timeout = time::duration_from_wire("execution.timeout", &wire)?;
            if timeout.is_zero() || timeout > MAX_TIMEOUT {
                let fault = "is not between a nanosecond and 7 days; leave it out for no limit";
                return Err(InvalidMessage::new("execution.timeout", fault));
            }
            Ok(timeout)
        })
        .transpose()?;
    Ok(Execution { argv, timeout })
}

#[cfg(test)]
pub(super) mod tests;

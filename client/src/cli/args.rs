//! Commands and options. Their help texts are the reference: they feed `--help` and the completions.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use jiff::Timestamp;
use portcullis_client::{ConnectError, HostOptions, Mode, Places, ServerOptions, audit::RecordKind};
use portcullis_policy::Verdict;

use super::{
    exec::ExecArgs,
    failure::Failure,
    mcp::McpCommand,
    policy::{ImportArgs, LintArgs, TestArgs},
    sandbox::SandboxCommand,
};

/// Decides whether a tool call of a coding agent may run, and runs allowed commands in a sandbox.
#[derive(Debug, Parser)]
#[command(name = "portcullis", version, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage or invalid input, 5 portcullis-sandboxd or \
    portcullis-server cannot be reached or cannot decide. `decide`, `run`, `exec`, `sandbox` and `hook` have codes of their own: see their \
    help.\n\nEnvironment: PORTCULLIS_DATA_DIR (data directory), PORTCULLIS_SERVER (the server's address), NO_COLOR."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) host: HostArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Hook(HookArgs),
    Decide(DecideArgs),
    Explain(ExplainArgs),
    Run(RunArgs),
    Exec(ExecArgs),
    /// Tries policies of the sandbox, and keeps your choice whether it stands for questions.
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Pushes, reads and tests policies.
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Reads the audit trail.
    #[command(subcommand)]
    Audit(AuditCommand),
    Trust(TrustArgs),
    /// Lists MCP servers, approves them, and takes approvals back.
    #[command(subcommand)]
    Mcp(McpCommand),
    Status(StatusArgs),
    Doctor(DoctorArgs),
    /// Prints a completion script for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// Where Portcullis lies on this host.
#[derive(Debug, Args)]
pub(crate) struct HostArgs {
    /// Data directory [default: PORTCULLIS_DATA_DIR, else $XDG_DATA_HOME/portcullis, else ~/.local/share/portcullis].
    #[arg(long, global = true, value_name = "DIR", help_heading = "Where Portcullis is")]
    data_dir: Option<PathBuf>,
    /// Socket of portcullis-sandboxd [default: run/sandboxd.sock in the data directory].
    #[arg(long, global = true, value_name = "PATH", help_heading = "Where Portcullis is")]
    socket: Option<PathBuf>,
    /// File with the token to present [default: in the data directory, tokens/admin.token for `policy` and `audit`, else
    /// tokens/agent.token].
    #[arg(long, global = true, value_name = "FILE", help_heading = "Where Portcullis is")]
    token_file: Option<PathBuf>,
}

impl HostArgs {
    pub(crate) fn places(&self) -> Result<Places, Failure> {
        match &self.data_dir {
            Some(data) => Ok(Places::at(data)),
            None => Places::from_environment().map_err(Failure::usage),
        }
    }

    pub(crate) fn options(&self, deadline: Duration) -> Result<HostOptions, Failure> {
        let mut options = match (&self.socket, &self.token_file) {
            (Some(socket), Some(token_file)) => HostOptions {
                socket: socket.clone(),
                token_file: token_file.clone(),
                deadline,
            },
            _ => HostOptions::new(&self.places()?),
        };
        options.deadline = deadline;
        if let Some(socket) = &self.socket {
            options.socket.clone_from(socket);
        }
        if let Some(file) = &self.token_file {
            options.token_file.clone_from(file);
        }
        Ok(options)
    }
}

/// Where the server is.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Address of the server [default: that of the server running on this host].
    #[arg(long, value_name = "URL", env = "PORTCULLIS_SERVER", hide_env_values = true)]
    server: Option<String>,
    /// PEM file with the certificates to trust instead of the system's.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

impl ServerArgs {
    pub(crate) fn options(&self, host: &HostArgs) -> Result<ServerOptions, Failure> {
        let places = host.places()?;
        let address = match self.server.clone().filter(|address| !address.is_empty()) {
            Some(address) => address,
            None => places.server_address().ok_or_else(|| {
                Failure::from(ConnectError::NoAddress {
                    address_file: places.server_address_file(),
                })
            })?,
        };
        Ok(ServerOptions {
            address,
            token_file: host.token_file.clone().unwrap_or_else(|| places.admin_token()),
            ca_file: self.ca_file.clone(),
            deadline: ServerOptions::DEADLINE,
        })
    }
}

/// What the session's flags say.
#[derive(Clone, Debug, Args)]
pub(crate) struct SessionArgs {
    /// Run mode: default, acceptEdits, plan, auto, dontAsk, bypass, auto-review, allowlist, allowlist-sandbox or
    /// run-everything. In a hook it goes before what the agent reports.
    #[arg(long, alias = "mode", value_name = "MODE")]
    pub(crate) permission_mode: Option<Mode>,
    /// Everything runs that no rule denies or asks for: mode run-everything, in the words of Cursor's command line.
    #[arg(long, visible_alias = "yolo", conflicts_with = "permission_mode")]
    pub(crate) force: bool,
    /// The file in which the agent keeps its plan: in plan mode the only one that it may write.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan_file: Option<String>,
    /// Rules to allow in this session, separated by commas or blanks outside parentheses. May be given several times.
    #[arg(
        long = "allowedTools",
        alias = "allowed-tools",
        value_name = "RULES",
        allow_hyphen_values = true
    )]
    pub(crate) allowed_tools: Vec<String>,
    /// Rules to deny in this session.
    #[arg(
        long = "disallowedTools",
        alias = "disallowed-tools",
        value_name = "RULES",
        allow_hyphen_values = true
    )]
    pub(crate) disallowed_tools: Vec<String>,
    /// Nobody can be asked: an ask becomes a deny.
    #[arg(long)]
    pub(crate) headless: bool,
    /// All configured MCP servers count as approved in this session. Rules and the mode still judge their tools.
    #[arg(long)]
    pub(crate) approve_mcps: bool,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Default)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs; a stable contract.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentKind {
    /// Claude Code.
    Claude,
    /// Cursor.
    Cursor,
}

/// Answers a hook of a coding agent.
///
/// Reads one payload from stdin to its end and prints exactly one JSON object in the agent's own format. Whatever goes
/// wrong (a payload that cannot be read, no portcullis-sandboxd, no answer in time) is answered with ask, or with deny
/// where the agent enforces no ask. Events that permit nothing are answered neutrally and are not recorded yet.
///
/// Contents that no rule looks at do not leave this process: of a file tool's input, large texts are left out and named in
/// `portcullis_omitted`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 with one JSON object on stdout; 2 with the reason on stderr if not even that is \
    possible, which agents take as a denial."
)]
pub(crate) struct HookArgs {
    /// The agent that calls.
    pub(crate) agent: AgentKind,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Milliseconds until the answer is out, whatever happens. Must lie within the agent's own limit for hooks.
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    pub(crate) deadline_ms: u64,
}

/// Says whether a command or tool call may run.
///
/// The words after `--` are one command; words with blanks are quoted. A single word that holds blanks is taken as a shell
/// line: `portcullis decide -- 'make | tee log'`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 allow, 3 ask, 4 deny, 5 cannot decide (portcullis-sandboxd or the server out of \
    reach), 2 wrong usage or invalid input, 1 other failure."
)]
pub(crate) struct DecideArgs {
    /// Only explain, as `explain` does: nothing is recorded and nothing granted.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Get a ticket too, if it is allowed: `portcullis exec --ticket` then runs exactly this command once, in its sandbox.
    #[arg(long, conflicts_with_all = ["explain", "tool"])]
    pub(crate) ticket: bool,
    #[command(flatten)]
    pub(crate) call: CallArgs,
}

/// The call that is asked about.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Tool to ask about instead of a command, as the agent spells it.
    #[arg(long, value_name = "TOOL", requires = "input")]
    pub(crate) tool: Option<String>,
    /// Input of the tool: one JSON object.
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub(crate) input: Option<String>,
    /// Agent in whose spelling the call is.
    #[arg(long, value_name = "NAME", default_value = "cli")]
    pub(crate) agent: String,
    /// Ask about a retry outside of the sandbox: the same call ran in it by this decision and failed because of it. The answer is never
    /// allow; it says what the sandbox refused then.
    #[arg(long, value_name = "ID")]
    pub(crate) retry_of: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// The command.
    #[arg(
        trailing_var_arg = true,
        value_name = "COMMAND",
        conflicts_with = "tool",
        required_unless_present = "tool"
    )]
    pub(crate) argv: Vec<OsString>,
}

/// Says why a command or tool call is decided as it is, and what would turn the answer.
///
/// Part by part it names every rule that speaks about the part, by layer, and which of them decided; it says what is
/// forbidden apart from what no rule matched; and it lists changes that would turn the answer, nearest first, each of which
/// was tried. Nothing is recorded and nothing granted. The words after `--` are taken as `decide` takes them.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 it would be allowed, 3 asked, 4 denied, 5 cannot decide (portcullis-sandboxd or the \
    server out of reach), 2 wrong usage or invalid input, 1 other failure."
)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) call: CallArgs,
}

/// Where the call happens.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// Working directory of the call [default: the current one].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Root of the workspace [default: the repository around the working directory, else that directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

/// Runs a command in the sandbox, if it is allowed.
///
/// Standard input, output and error are passed through, as are the signals INT, TERM, HUP, QUIT, WINCH, USR1, USR2 and TSTP. The words are
/// run as they are; for a shell line write `sh -c '…'`.
///
/// If the sandbox refused something and the command failed, it is said how to ask for a retry outside: `portcullis decide --retry-of`.
/// There is no such option here, for its answer is an ask, and nobody can say yes to one yet.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: that of the command, or 128+n if signal n killed it; 126 not allowed (ask or deny); \
    125 portcullis itself failed, or nobody could decide; 2 wrong usage."
)]
pub(crate) struct RunArgs {
    /// Give the command a terminal of its own, connected with these streams: for programs that want one where there is none, and
    /// for shells inside, which then have job control.
    #[arg(short, long)]
    pub(crate) tty: bool,
    /// Longest run, such as 90s, 5m or 1h.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The command.
    #[arg(trailing_var_arg = true, value_name = "COMMAND", required = true)]
    pub(crate) argv: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Checks a team policy and makes it active. All its faults are shown at once.
    #[command(
        after_help = "Exit codes: 0 pushed (with --dry-run: without fault), 2 the policy has faults, 1 other \
        failure, 5 the server cannot be reached."
    )]
    Push {
        /// File with the team's policy; `-` = stdin.
        #[arg(long, value_name = "FILE")]
        team: PathBuf,
        /// Why, for those who read the history.
        #[arg(long, default_value = "")]
        comment: String,
        /// Push only if this version is active.
        #[arg(long, value_name = "N")]
        expect_version: Option<u64>,
        /// Only check.
        #[arg(long)]
        dry_run: bool,
        /// Form of the output.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        #[command(flatten)]
        server: ServerArgs,
    },
    Lint(LintArgs),
    Test(TestArgs),
    Import(ImportArgs),
    /// Prints the text of a version.
    #[command(after_help = "Exit codes: 0 printed, 1 failed (no such version), 5 the server cannot be reached.")]
    Get {
        /// Which version [default: the active one].
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        version: Option<u64>,
        /// Print it in the one form that all texts of the same meaning have: keys in order, nothing that holds anyway, no
        /// comments.
        #[arg(long)]
        canonical: bool,
        /// Form of the output.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Prints the JSON Schema of policy documents, for editors: name the file in the document's `$schema`.
    #[command(
        after_help = "Example: portcullis policy schema > policy.schema.json, and \"$schema\": \
        \"./policy.schema.json\" in the document.\n\nExit codes: 0 printed, 1 failed, 5 the server cannot be reached."
    )]
    Schema {
        /// Ask the server what it reads, which may be of another version than this program.
        #[arg(long)]
        from_server: bool,
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Lists the versions, newest first.
    #[command(after_help = "Exit codes: 0 printed, 1 failed, 5 the server cannot be reached.")]
    List {
        /// At most this many.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Form of the output: with json, one object a line.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        #[command(flatten)]
        server: ServerArgs,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Prints records that match, newest first.
    #[command(
        after_help = "Exit codes: 0 printed (also if nothing matches), 1 failed, 2 wrong usage, 5 the server \
        cannot be reached."
    )]
    Query {
        #[command(flatten)]
        filter: FilterArgs,
        /// Only at or after this time: RFC 3339, or a time ago such as 30m, 1h or 7d.
        #[arg(long, value_name = "TIME", value_parser = moment)]
        since: Option<Timestamp>,
        /// Only before this time.
        #[arg(long, value_name = "TIME", value_parser = moment)]
        until: Option<Timestamp>,
        /// Only this decision and its outcome.
        #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
        decision: String,
        /// At most this many.
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
        limit: u64,
        /// Form of the output: with json, one object a line.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Prints records as they are committed, until Ctrl-C. Goes on where it was when the server comes back.
    #[command(after_help = "Exit codes: 0 ended by Ctrl-C, 1 failed, 5 the server cannot be reached at the start.")]
    Tail {
        #[command(flatten)]
        filter: FilterArgs,
        /// Begin with the first record of the trail.
        #[arg(long, conflicts_with = "after")]
        from_start: bool,
        /// Begin after this sequence number.
        #[arg(long, value_name = "SEQ")]
        after: Option<u64>,
        /// Form of the output: with json, one object a line.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Writes the team's whole trail with its chain, to be kept and verified elsewhere.
    #[command(after_help = "Exit codes: 0 written, 1 failed, 2 wrong usage, 5 the server cannot be reached.")]
    Export {
        /// The file to write; without it standard output. It appears whole or not at all.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Form of the file.
        #[arg(long, value_enum, default_value_t)]
        format: ExportFormat,
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Prints the newest signed checkpoint of every chain of the team: one line, to be kept outside of the server.
    #[command(after_help = "Exit codes: 0 printed, 1 failed, 2 wrong usage, 5 the server cannot be reached.")]
    Anchor {
        /// The file to append it to; without it standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Verifies an exported trail, or a database, offline: what was changed, removed, inserted, reordered or cut off, and where.
    #[command(
        after_help = "Exit codes: 0 intact, 1 something is wrong with the trail, 2 wrong usage, or it cannot be read."
    )]
    Verify(VerifyArgs),
}

/// What to verify, and by what.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// An exported trail; `-` reads standard input.
    #[arg(value_name = "FILE", required_unless_present = "database")]
    pub(crate) file: Option<PathBuf>,
    /// The server's data directory: verifies the database in it, of all teams, by `portcullis-server verify`.
    #[arg(long, value_name = "DIR", conflicts_with = "file")]
    pub(crate) database: Option<PathBuf>,
    /// File with anchors that were kept outside; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) anchor: Vec<PathBuf>,
    /// A public key to trust, 64 hexadecimal digits; may be given several times.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Vec<String>,
    /// Form of the report.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Form of an exported trail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object a line, as docs/audit.md describes it.
    #[default]
    Ndjson,
}

/// Which records.
#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    /// Only decisions with this effect.
    #[arg(long, value_enum)]
    pub(crate) effect: Option<EffectArg>,
    /// Only records of this kind.
    #[arg(long, value_enum)]
    pub(crate) kind: Option<KindArg>,
    /// Only of this session.
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    pub(crate) session: String,
    /// Only of this principal.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) principal: String,
    /// Only of this tool, as the agent spells it.
    #[arg(long, value_name = "TOOL", default_value = "", hide_default_value = true)]
    pub(crate) tool: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffectArg {
    Allow,
    Ask,
    Deny,
}

impl From<EffectArg> for Verdict {
    fn from(effect: EffectArg) -> Self {
        match effect {
            EffectArg::Allow => Self::Allow,
            EffectArg::Ask => Self::Ask,
            EffectArg::Deny => Self::Deny,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArg {
    Decision,
    Outcome,
    PolicyChange,
}

impl From<KindArg> for RecordKind {
    fn from(kind: KindArg) -> Self {
        match kind {
            KindArg::Decision => Self::Decision,
            KindArg::Outcome => Self::Outcome,
            KindArg::PolicyChange => Self::PolicyChange,
        }
    }
}

/// Declares a project trustworthy: its own allow rules count from then on.
///
/// Asks for confirmation on the terminal, and refuses where there is none: an agent must not do it for you.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 done, 1 not confirmed or failed, 5 portcullis-sandboxd cannot be reached.")]
pub(crate) struct TrustArgs {
    /// The project's folder [default: the repository around the current directory].
    #[arg(value_name = "PATH", conflicts_with_all = ["list", "remove"])]
    pub(crate) path: Option<PathBuf>,
    /// List the trusted projects.
    #[arg(long)]
    pub(crate) list: bool,
    /// Take the trust in this project back.
    #[arg(long, value_name = "PATH", conflicts_with = "list")]
    pub(crate) remove: Option<PathBuf>,
    /// Form of the output of --list.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Says how this host is doing.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 all is well, 1 something is not (see the output), 5 portcullis-sandboxd cannot be \
    reached."
)]
pub(crate) struct StatusArgs {
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Says what this host's sandbox can do, why not more, and how to mend it.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 commands run in a sandbox that is fully enforced, 1 they do not (see the output)."
)]
pub(crate) struct DoctorArgs {
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Reads `90s`, `5m`, `1h`, `7d`, `2w`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let fault = || format!("`{text}` is not a time such as 90s, 5m, 1h or 7d");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let number: u64 = digits.parse().map_err(|_| fault())?;
    let unit = match text.strip_prefix(digits).unwrap_or_default() {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err(fault()),
    };
    let seconds = number
        .checked_mul(unit)
        .filter(|seconds| (1..=315_360_000).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(fault)
}

/// Reads RFC 3339, or a time ago.
fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    let ago =
        duration(text).map_err(|_| format!("`{text}` is neither RFC 3339 nor a time ago such as 30m, 1h or 7d"))?;
    let ago = jiff::SignedDuration::try_from(ago).map_err(|error| error.to_string())?;
    Timestamp::now().checked_sub(ago).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        for (text, seconds) in [("90s", 90), ("5m", 300), ("1h", 3600), ("7d", 604_800), ("3", 3)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "s",
            "0s",
            "-1s",
            "1y",
            "1.5h",
            "1h30m",
            "99999999999999999999s",
            "18446744073709551615w",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_moment_is_a_date_or_an_age() {
        assert_eq!(moment("2026-01-02T03:04:05Z").unwrap().as_second(), 1_767_323_045);
        let hour = Timestamp::now().as_second() - moment("1h").unwrap().as_second();
        assert!((3599..=3601).contains(&hour), "{hour}");
        assert!(moment("yesterday").is_err());
    }
}

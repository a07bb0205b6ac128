//! `portcullis sandbox run`: one command in the sandbox that the person describes, to see what that does.
//!
//! The command is not judged, so it is no way around a policy but a way to try one: it runs in the sandbox or not at all, the team
//! can forbid it, what the team says about sandboxes bounds it, and it is on record, with the policy, before it starts.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use annotate_snippets::Level;
use clap::Args;
use portcullis_client::{
    Host, HostOptions, Permit, Question,
    run::{Outcome, RefusedHost, Started},
};
use portcullis_policy::{
    PolicyDocument,
    network::HostRule,
    sandbox::{NetworkMode, NetworkPolicy, SandboxSettings},
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::super::{
    args::{Format, HostArgs, PlaceArgs, duration},
    attend::{self, Signals, tell},
    decide,
    failure::Failure,
    faults, files, run, session,
};

/// Runs one command in the sandbox without asking for a decision, to try a policy.
///
/// Without a policy the workspace is writable but for protected paths, and there is no network. A policy file has the keys of
/// sandbox.json; options are added to it. Where the team's policy speaks about the sandbox it goes before. Each trial is recorded
/// before the command starts; nothing runs that is not on record. The command has this program's standard streams as they are, and
/// the variables of this terminal but for secrets.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: portcullis sandbox run --network '*.example.com' --blocked-patterns .env --debug -- npm ci\n\nExit codes: that \
    of the command, or death by the same signal; 127 no such program, 126 the team forbids it, or the program cannot be executed, 125 \
    portcullis itself failed, 2 wrong usage or faults in the policy file."
)]
pub(crate) struct TrialArgs {
    /// Policy file, with the keys of sandbox.json; `-` = stdin.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Root of the workspace [default: the repository around the working directory, else that directory].
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Further files and folders that may be written, separated by commas. May be given several times.
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    allow_paths: Vec<PathBuf>,
    /// Files and folders that stay read-only, also in a writable folder.
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    readonly_paths: Vec<PathBuf>,
    /// Files that cannot be read: paths, or patterns as in .gitignore.
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    blocked_patterns: Vec<String>,
    /// Hosts that may be reached (names, `*.example.com`, addresses, ranges), or one of the words off, defaults (where languages and
    /// tools fetch from) and all (every public host).
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    network: Vec<String>,
    /// Say what was set up, before the command, and what was refused, after it.
    #[arg(long)]
    debug: bool,
    /// Give the command a terminal of its own, connected with these streams: for programs that want one where there is none, and
    /// for shells inside, which then have job control.
    #[arg(short, long)]
    tty: bool,
    /// Longest run, such as 90s, 5m or 1h.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// Form of what --debug says, on standard error: with json, one object a line.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The command.
    #[arg(trailing_var_arg = true, value_name = "COMMAND", required = true)]
    argv: Vec<OsString>,
}

pub(super) async fn main(command: &TrialArgs, host: &HostArgs) -> Result<u8, Failure> {
    let argv = decide::words(&command.argv)?;
    let here = match attend::here(command.tty) {
        Ok(here) => here,
        Err(failure) => {
            failure.show();
            return Ok(run::FAILED);
        }
    };
    let place = PlaceArgs {
        cwd: None,
        workspace: command.workspace.clone(),
    };
    let place = place.find()?;
    let shown = portcullis_policy::redact::text(&portcullis_policy::shell::quote(&argv));
    let settings = command.settings()?;
    let mut question = Question::trial(&place.cwd, argv, command.timeout, written(&settings));
    question.roots = vec![place.root];
    let host = Host::connect(&host.options(HostOptions::DEADLINE)?).await?;
    let answer = host.decide(&question).await?;
    let decision_id = answer.decision_id.clone().unwrap_or_default();
    let permit = match answer.into_permit() {
        Ok(permit) => permit,
        Err(answer) => return Ok(run::refused(&answer, &shown)),
    };
    let report = command.debug.then_some(Report {
        format: command.format,
        decision_id: &decision_id,
    });
    if let Some(report) = &report {
        report.permit(&permit);
    }
    // Signals are caught before the command starts, so that none ends this program and leaves the command behind.
    let signals = Signals::new()?;
    let running = host.run_here(permit, std::env::vars_os(), command.debug, here).await?;
    let tell_start = |started: &Started| {
        if let Some(report) = &report {
            report.started(started);
        }
    };
    let ended = attend::to_the_end(running, signals, here.into(), tell_start).await?;
    Ok(match ended {
        Ok(outcome) => {
            if let Some(report) = &report {
                report.ended(&outcome);
            }
            attend::end_as(&outcome)
        }
        Err(code) => code,
    })
}

impl TrialArgs {
    /// What file and options say together.
    fn settings(&self) -> Result<SandboxSettings, Failure> {
        let mut settings = match &self.policy {
            Some(path) => read(path)?,
            None => SandboxSettings::default(),
        };
        let absolute = |path: &PathBuf| {
            let path = std::path::absolute(path)
                .map_err(|cause| Failure::usage_io(format!("cannot use the path `{}`", path.display()), cause))?;
            session::text(path)
        };
        for path in &self.allow_paths {
            settings.read_write.push(absolute(path)?);
        }
        for path in &self.readonly_paths {
            settings.read_only.push(absolute(path)?);
        }
        settings.deny_read.extend_from_slice(&self.blocked_patterns);
        for word in &self.network {
            match word.as_str() {
                "off" => {
                    settings.network_mode = Some(NetworkMode::SandboxJsonOnly);
                    settings.network.default_allow = Some(false);
                    settings.network.allow = Some(Vec::new());
                }
                "defaults" => settings.network_mode = Some(NetworkMode::SandboxJsonPlusDefaults),
                "all" => settings.network_mode = Some(NetworkMode::AllowAll),
                host => {
                    let rule = HostRule::parse(host).map_err(|(_, message, hint)| {
                        let failure = Failure::usage_text(format!("`--network {host}` cannot be used: {message}"));
                        match hint {
                            Some(hint) => failure.with_help(hint),
                            None => failure.with_help("write a host, or one of off, defaults, all"),
                        }
                    })?;
                    settings.network.allow.get_or_insert_default().push(rule);
                }
            }
        }
        // It stands alone, so it opens the hosts that it names and no others, unless it says so itself.
        settings.network_mode.get_or_insert(NetworkMode::SandboxJsonOnly);
        Ok(settings)
    }
}

/// Reads a policy file; its faults are shown where they stand.
fn read(path: &Path) -> Result<SandboxSettings, Failure> {
    let name = if files::is_stdin(path) {
        "standard input".to_owned()
    } else {
        format!("`{}`", path.display())
    };
    let most = PolicyDocument::MAX_BYTES as u64;
    let unusable = |cause| Failure::usage_io(format!("cannot read the policy {name}"), cause);
    let Some(bytes) = files::read(path, most).map_err(unusable)? else {
        let text = format!("the policy {name} is larger than {}", files::size(most));
        return Err(Failure::usage_text(text));
    };
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage_text(format!("the policy {name} is not UTF-8")))?;
    SandboxSettings::parse(&text).map_err(|found| {
        use std::io::Write as _;
        for fault in &found {
            let shown = faults::render(fault, Level::ERROR, &text, &path.to_string_lossy());
            let _ = anstream::stderr().write_all(format!("{shown}\n\n").as_bytes());
        }
        Failure::usage_text(format!("the policy {name} has {} faults", found.len()))
    })
}

/// Settings as the keys of `sandbox.json`.
fn written(settings: &SandboxSettings) -> Map<String, Value> {
    // All of them by name, so that a new one cannot be forgotten here.
    let SandboxSettings {
        kind,
        read_write,
        read_only,
        deny_read,
        disable_tmp_write,
        share_tmp,
        shared_build_cache,
        allow_root_owner,
        accept_without_landlock,
        accept_without_namespaces,
        unix_sockets,
        network_mode,
        network: NetworkPolicy {
            default_allow,
            allow,
            deny,
        },
    } = settings;
    let hosts = |rules: &[HostRule]| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
    let list = |list: &[String]| (!list.is_empty()).then(|| json!(list));
    let mut network = Map::new();
    let said = [
        (
            "default",
            default_allow.map(|allow| json!(if allow { "allow" } else { "deny" })),
        ),
        ("allow", allow.as_deref().map(|rules| json!(hosts(rules)))),
        ("deny", list(&hosts(deny))),
    ];
    network.extend(
        said.into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?))),
    );
    let said = [
        ("type", kind.map(|kind| json!(kind.word()))),
        ("additionalReadwritePaths", list(read_write)),
        ("additionalReadonlyPaths", list(read_only)),
        ("denyRead", list(deny_read)),
        ("disableTmpWrite", disable_tmp_write.map(Value::from)),
        ("shareTmp", share_tmp.map(Value::from)),
        ("enableSharedBuildCache", shared_build_cache.map(Value::from)),
        ("allowRootOwner", allow_root_owner.map(Value::from)),
        ("acceptWithoutLandlock", accept_without_landlock.map(Value::from)),
        ("acceptWithoutNamespaces", accept_without_namespaces.map(Value::from)),
        ("allowUnixSockets", unix_sockets.as_deref().map(Value::from)),
        ("networkMode", network_mode.map(|mode| json!(mode.word()))),
        ("networkPolicy", (!network.is_empty()).then_some(Value::Object(network))),
    ];
    said.into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect()
}

/// What `--debug` says.
struct Report<'a> {
    format: Format,
    decision_id: &'a str,
}

impl Report<'_> {
    fn permit(&self, permit: &Permit) {
        let network = permit.network();
        if self.format == Format::Json {
            return line(&json!({ "event": "permitted", "decision_id": self.decision_id, "network": network }));
        }
        tell(&format!("decision   {} is on record", self.decision_id));
        let hosts = |list: &[String]| {
            if list.is_empty() {
                "none".to_owned()
            } else {
                list.join(" ")
            }
        };
        let default = if network.default_allow { "allowed" } else { "refused" };
        let (allow, deny) = (hosts(&network.allow), hosts(&network.deny));
        tell(&format!(
            "network    allowed: {allow}; refused: {deny}; others: {default}"
        ));
    }

    fn started(&self, started: &Started) {
        if self.format == Format::Json {
            return line(&WithEvent {
                event: "started",
                what: started,
            });
        }
        let enforcement = &started.enforcement;
        tell(&format!(
            "enforced   {} (Landlock {})",
            enforcement.mechanisms.join(" "),
            enforcement.landlock_abi
        ));
        for missing in &enforcement.missing {
            tell(&format!("missing    {missing}"));
        }
        for (what, paths) in [
            ("writable ", &started.writable_paths),
            ("protected", &started.protected_paths),
            ("hidden   ", &started.hidden_paths),
            ("variables", &started.removed_variables),
        ] {
            for path in paths {
                let left_out = if what == "variables" { " left out" } else { "" };
                tell(&format!("{what}  {path}{left_out}"));
            }
        }
        if started.left_out > 0 {
            tell(&format!("           and {} more paths", started.left_out));
        }
    }

    /// What was refused to the command. Hosts, and what was put aside after it, the daemon has said in text already.
    fn ended(&self, outcome: &Outcome) {
        if self.format == Format::Json {
            return line(&WithEvent {
                event: "ended",
                what: outcome,
            });
        }
        for RefusedHost {
            host,
            port,
            reason,
            times,
        } in &outcome.refused_hosts
        {
            tell(&format!("refused    {host}:{port} ({times} times): {reason}"));
        }
        tell(&format!("ended      after {} ms", outcome.duration.as_millis()));
    }
}

/// An object with the name of what happened.
#[derive(Serialize)]
struct WithEvent<'a, T> {
    event: &'static str,
    #[serde(flatten)]
    what: &'a T,
}

/// One JSON object on standard error.
fn line(value: &impl Serialize) {
    use std::io::Write as _;
    if let Ok(text) = serde_json::to_string(value) {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_says_what_was_read() {
        for text in [
            "{}",
            r#"{"type": "workspace_readonly", "additionalReadwritePaths": ["a"], "additionalReadonlyPaths": ["~/b"],
                "denyRead": ["*.pem"], "disableTmpWrite": true, "shareTmp": false, "enableSharedBuildCache": true,
                "allowRootOwner": false, "acceptWithoutLandlock": true, "acceptWithoutNamespaces": true, "allowUnixSockets": ["~/s"], "networkMode": "allow_all",
                "networkPolicy": {"default": "deny", "allow": [], "deny": ["10.0.0.0/8", "*.x.test"]}}"#,
            r#"{"allowUnixSockets": []}"#,
            r#"{"networkPolicy": {"default": "allow", "allow": ["a.test", "127.0.0.1/32", "[::1]"]}}"#,
        ] {
            let settings = SandboxSettings::parse(text).unwrap();
            let sent = Value::Object(written(&settings)).to_string();
            assert_eq!(SandboxSettings::parse(&sent).unwrap(), settings, "{sent}");
        }
    }
}

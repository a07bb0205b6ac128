//! `portcullis mcp`: which MCP servers the agents' configuration defines here, and which of them a person approved.
//!
//! A rule names a server; what runs under the name stands in files that others may write. So a person approves each
//! server once, as it is: command and arguments, or address. What changes asks again.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::Subcommand;
use portcullis_client::{
    Host, HostOptions,
    host::{McpApproval, McpPlace, McpServer},
    question::project_root,
};

use super::{
    args::{Format, HostArgs},
    confirm::confirmed,
    failure::Failure,
    files,
    output::{self, printable},
    session,
};

/// What is done with MCP servers.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Lists the MCP servers that agents would use in a project.
    #[command(
        after_help = "Exit codes: 0 printed, 1 a configuration could not be read (the rest is printed), 5 \
        portcullis-sandboxd cannot be reached."
    )]
    List {
        /// The project's folder [default: the repository around the current directory].
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
        /// Form of the output.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Approves MCP servers as they are configured now.
    ///
    /// Shows what each starts or where it is, asks for confirmation on the terminal, and refuses where there is none. One
    /// approval holds for every agent and session, until the command or address changes. A server that a project brings
    /// needs the project to be trusted first, and is approved for that project.
    #[command(
        after_help = "Exit codes: 0 approved (or nothing was left to approve), 1 not confirmed or failed, 2 wrong \
        usage, 5 portcullis-sandboxd cannot be reached."
    )]
    Approve {
        /// The server's configured name.
        #[arg(value_name = "NAME", required_unless_present = "mine")]
        name: Option<String>,
        /// All servers that stand in your own configuration, not those that a project brings.
        #[arg(long, conflicts_with = "name")]
        mine: bool,
        /// The project's folder [default: the repository around the current directory].
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
    },
    /// Takes all approvals of a name back.
    #[command(after_help = "Exit codes: 0 done, 1 failed, 5 portcullis-sandboxd cannot be reached.")]
    Revoke {
        /// The server's configured name.
        #[arg(value_name = "NAME")]
        name: String,
    },
}

pub(crate) async fn main(command: &McpCommand, host: &HostArgs) -> Result<u8, Failure> {
    let host = Host::connect(&host.options(HostOptions::DEADLINE)?).await?;
    match command {
        McpCommand::List { project, format } => list(&host, &root(project.clone())?, *format).await,
        McpCommand::Approve { name, mine: _, project } => {
            approve(&host, &root(project.clone())?, name.as_deref()).await
        }
        McpCommand::Revoke { name } => {
            let text = match host.revoke_mcp_server(name).await? {
                0 => "was not approved".to_owned(),
                1 => "is no longer approved".to_owned(),
                several => format!("is no longer approved ({several} definitions)"),
            };
            output::text(&format!("{} {text}\n", printable(name)))?;
            Ok(0)
        }
    }
}

fn root(project: Option<PathBuf>) -> Result<String, Failure> {
    session::text(match project {
        Some(path) => files::folder(&path)
            .map_err(|cause| Failure::io(format!("cannot use the project `{}`", path.display()), cause))?,
        None => project_root(
            &std::env::current_dir()
                .map_err(|cause| Failure::io("cannot tell what the current directory is", cause))?,
        ),
    })
}

async fn list(host: &Host, root: &str, format: Format) -> Result<u8, Failure> {
    let (servers, failures) = host.mcp_servers(root).await?;
    for server in &servers {
        let reads_on = match format {
            Format::Text => output::text(&line(server))?,
            Format::Json => output::json(server)?,
        };
        if !reads_on {
            return Ok(0);
        }
    }
    if failures.is_empty() {
        if servers.is_empty() {
            let _ = writeln!(
                anstream::stderr(),
                "note: no MCP server is configured for {}",
                printable(root)
            );
        }
        return Ok(0);
    }
    Err(Failure::text(failures.join("; "))
        .with_help("repair the file: until then no MCP tool of that agent is allowed"))
}

/// One server on two lines.
fn line(server: &McpServer) -> String {
    let state = match server.approval {
        McpApproval::Given => "approved",
        McpApproval::Changed => "NOT approved: it has changed",
        McpApproval::Disabled => "switched off by the agent",
        McpApproval::None if server.digest.is_none() => "not understood",
        McpApproval::None => "NOT approved",
    };
    format!(
        "{:<24} {state}\n    {}, {} configuration {} ({})\n",
        printable(&server.name),
        printable(&server.launch),
        place(server.configured_in),
        printable(&server.file),
        printable(&server.agents.join(", ")),
    )
}

fn place(place: McpPlace) -> &'static str {
    match place {
        McpPlace::Managed => "managed",
        McpPlace::User => "user",
        McpPlace::Local => "local",
        McpPlace::Project => "project",
    }
}

/// Whether a server is among those that are to be approved; without a name, the person's own are.
fn is_meant(server: &McpServer, name: Option<&str>) -> bool {
    match name {
        Some(name) => server.name == name,
        None => server.configured_in == McpPlace::User,
    }
}

/// Whether a folder is, or lies in, a project that is trusted.
fn is_trusted(trusted: &[String], root: &str) -> bool {
    trusted.iter().any(|project| Path::new(root).starts_with(project))
}

async fn approve(host: &Host, root: &str, name: Option<&str>) -> Result<u8, Failure> {
    let (servers, failures) = host.mcp_servers(root).await?;
    let meant: Vec<&McpServer> = servers.iter().filter(|server| is_meant(server, name)).collect();
    if meant.is_empty() {
        let what = name.map_or_else(
            || "your own configuration defines no MCP server".to_owned(),
            |name| {
                format!(
                    "no MCP server `{}` is configured for {}",
                    printable(name),
                    printable(root)
                )
            },
        );
        let more = if failures.is_empty() {
            String::new()
        } else {
            format!(" ({})", failures.join("; "))
        };
        return Err(Failure::text(format!("{what}{more}")).with_help(
            "`portcullis mcp list` shows what is; one that the agent gets from elsewhere cannot be approved",
        ));
    }
    let open: Vec<&McpServer> = meant
        .iter()
        .copied()
        .filter(|server| matches!(server.approval, McpApproval::None | McpApproval::Changed) && server.digest.is_some())
        .collect();
    if open.is_empty() {
        for server in &meant {
            output::text(&line(server))?;
        }
        return Ok(0);
    }
    // Before the question: a yes that counts for nothing is no answer.
    if let Some(server) = open.iter().find(|server| server.configured_in == McpPlace::Project)
        && !is_trusted(&host.trusted_projects().await?, root)
    {
        return Err(Failure::text(format!(
            "the project {} brings the MCP server `{}`, and is not trusted",
            printable(root),
            printable(&server.name)
        ))
        .with_help(format!(
            "if you trust whoever writes to it: `portcullis trust {}`, then approve the server",
            printable(root)
        )));
    }
    let mut question = String::from("Approve for every agent on this host, as they are now:\n");
    for server in &open {
        let _ = write!(question, "{}", line(server));
    }
    question.push_str("Their tools are judged by rules and the mode from then on. [yes/no] ");
    if !confirmed(&question, "only a person can approve an MCP server")? {
        return Err(Failure::text("no MCP server was approved: not confirmed"));
    }
    let digests = open.iter().filter_map(|server| server.digest.clone()).collect();
    host.approve_mcp_servers(root, digests).await?;
    for server in &open {
        output::text(&format!("{} is approved\n", printable(&server.name)))?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, configured_in: McpPlace) -> McpServer {
        McpServer {
            name: name.to_owned(),
            agents: vec!["claude".to_owned()],
            launch: "command `x`\u{1b}[2J".to_owned(),
            configured_in,
            file: "/f".to_owned(),
            approval: McpApproval::None,
            digest: Some("d".to_owned()),
        }
    }

    #[test]
    fn without_a_name_only_the_persons_own_servers_are_meant() {
        for (place, expected) in [
            (McpPlace::User, true),
            (McpPlace::Local, false),
            (McpPlace::Project, false),
            (McpPlace::Managed, false),
        ] {
            assert_eq!(is_meant(&server("a", place), None), expected, "{place:?}");
            assert!(is_meant(&server("a", place), Some("a")) && !is_meant(&server("a", place), Some("A")));
        }
    }

    #[test]
    fn what_is_shown_drives_no_terminal() {
        assert!(!line(&server("a\u{1b}", McpPlace::User)).contains('\u{1b}'));
    }
}

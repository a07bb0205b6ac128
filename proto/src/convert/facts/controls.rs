//! Facts on MCP servers and repositories.
//!
//! Only a host can say them: they are what approvals and the team's blocklist rest on.

use std::collections::BTreeSet;

use portcullis_policy::facts::{Approval, ConfiguredIn, Launch, McpServer, Repositories, RepositoryIdentity};

use super::super::{InvalidMessage, check};
use crate::v1;

/// Most definitions of the server that a call names.
const MAX_SERVERS: usize = 64;

/// Longest name of a server, in bytes.
const MAX_NAME: usize = 512;

/// Most words of a command, variables of a definition, tools of a server.
const MAX_WORDS: usize = 1024;

/// Longest word of a command and longest address, in bytes.
const MAX_WORD: usize = 64 * 1024;

/// Most repositories: one for each folder of a workspace, and one for the working directory.
const MAX_REPOSITORIES: usize = 65;

/// Most remotes of one repository.
const MAX_REMOTES: usize = 1024;

/// Longest address of a remote, in bytes.
const MAX_REMOTE: usize = 4096;

/// The definitions of the MCP server that the call names.
pub(super) fn mcp_servers(wire: Vec<v1::McpServerFact>) -> Result<Vec<McpServer>, InvalidMessage> {
    check::count("facts.mcp_servers", &wire, MAX_SERVERS)?;
    wire.into_iter()
        .enumerate()
        .map(|(at, fact)| mcp_server(&format!("facts.mcp_servers[{at}]"), fact))
        .collect()
}

fn mcp_server(field: &str, fact: v1::McpServerFact) -> Result<McpServer, InvalidMessage> {
    let unknown = |name: &str, number: i32| {
        let fault = format!("the number {number} stands for nothing known here");
        InvalidMessage::new(format!("{field}.{name}"), fault)
    };
    check::name(&format!("{field}.name"), &fact.name, MAX_NAME)?;
    check::text(&format!("{field}.file"), &fact.file, check::MAX_PATH)?;
    let place = match v1::ConfiguredIn::try_from(fact.configured_in) {
        Ok(v1::ConfiguredIn::Project) => ConfiguredIn::Project,
        Ok(v1::ConfiguredIn::Local) => ConfiguredIn::Local,
        Ok(v1::ConfiguredIn::User) => ConfiguredIn::User,
        Ok(v1::ConfiguredIn::Managed) => ConfiguredIn::Managed,
        Ok(v1::ConfiguredIn::Unspecified) | Err(_) => return Err(unknown("configured_in", fact.configured_in)),
    };
    let approval = match v1::McpApproval::try_from(fact.approval) {
        Ok(v1::McpApproval::Unspecified) => Approval::None,
        Ok(v1::McpApproval::Changed) => Approval::Changed,
        Ok(v1::McpApproval::Disabled) => Approval::Disabled,
        Ok(v1::McpApproval::Given) => Approval::Given,
        Err(_) => return Err(unknown("approval", fact.approval)),
    };
    let launch = match fact.launch {
        None => Launch::Unknown,
        Some(v1::mcp_server_fact::Launch::Command(command)) => {
            words(&format!("{field}.command.words"), &command.words)?;
            words(&format!("{field}.command.environment"), &command.environment)?;
            if command.words.first().is_none_or(String::is_empty) {
                return Err(InvalidMessage::new(
                    format!("{field}.command.words"),
                    "names no program",
                ));
            }
            Launch::Command {
                words: command.words,
                environment: command.environment,
            }
        }
        Some(v1::mcp_server_fact::Launch::Url(url)) => {
            check::length(&format!("{field}.url"), &url, MAX_WORD)?;
            Launch::Url(url)
        }
    };
    words(&format!("{field}.read_only_tools"), &fact.read_only_tools)?;
    Ok(McpServer {
        name: fact.name,
        launch,
        place,
        file: fact.file,
        read_only_tools: fact.read_only_tools.into_iter().collect::<BTreeSet<_>>(),
        approval,
    })
}

fn words(field: &str, words: &[String]) -> Result<(), InvalidMessage> {
    check::count(field, words, MAX_WORDS)?;
    words
        .iter()
        .enumerate()
        .try_for_each(|(at, word)| check::length(&format!("{field}[{at}]"), word, MAX_WORD))
}

/// The repositories that the call is made in. An empty list says nothing: there is at least the working directory.
pub(super) fn repositories(wire: Option<v1::RepositoryIdentities>) -> Result<Repositories, InvalidMessage> {
    let field = "facts.repositories";
    let Some(wire) = wire.filter(|wire| !wire.repositories.is_empty()) else {
        return Ok(Repositories::Unknown);
    };
    check::count(field, &wire.repositories, MAX_REPOSITORIES)?;
    let identity = |(at, wire): (usize, v1::RepositoryIdentity)| {
        let field = format!("{field}[{at}]");
        check::count(&format!("{field}.remotes"), &wire.remotes, MAX_REMOTES)?;
        for (at, remote) in wire.remotes.iter().enumerate() {
            check::length(&format!("{field}.remotes[{at}]"), remote, MAX_REMOTE)?;
        }
        Ok(RepositoryIdentity {
            root: check::path(&format!("{field}.root"), &wire.root, check::MAX_PATH)?,
            remotes: wire.remotes,
        })
    };
    let all: Result<Vec<_>, InvalidMessage> = wire.repositories.into_iter().enumerate().map(identity).collect();
    all.map(Repositories::Known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact() -> v1::McpServerFact {
        v1::McpServerFact {
            name: "github".into(),
            launch: Some(v1::mcp_server_fact::Launch::Command(v1::McpCommand {
                words: vec!["mcp-github".into()],
                environment: Vec::new(),
            })),
            configured_in: v1::ConfiguredIn::User.into(),
            file: "/home/dev/.claude.json".into(),
            read_only_tools: vec!["get".into()],
            approval: v1::McpApproval::Given.into(),
        }
    }

    #[test]
    fn a_server_is_read_field_by_field() {
        let server = mcp_server("f", fact()).unwrap();
        assert_eq!((server.place, server.approval), (ConfiguredIn::User, Approval::Given));
        assert!(server.read_only_tools.contains("get"));
        let unknown = mcp_server(
            "f",
            v1::McpServerFact {
                launch: None,
                approval: 0,
                ..fact()
            },
        )
        .unwrap();
        assert_eq!((unknown.launch, unknown.approval), (Launch::Unknown, Approval::None));
    }

    #[test]
    fn each_fault_names_its_field() {
        let fault = |change: &dyn Fn(&mut v1::McpServerFact)| {
            let mut wire = fact();
            change(&mut wire);
            mcp_server("f", wire).unwrap_err().field
        };
        let command = |words: Vec<String>| {
            Some(v1::mcp_server_fact::Launch::Command(v1::McpCommand {
                words,
                environment: Vec::new(),
            }))
        };
        assert_eq!(fault(&|f| f.name.clear()), "f.name");
        assert_eq!(fault(&|f| f.name = "a\nb".into()), "f.name");
        assert_eq!(fault(&|f| f.name = "a".repeat(513)), "f.name");
        assert_eq!(fault(&|f| f.configured_in = 0), "f.configured_in");
        assert_eq!(fault(&|f| f.configured_in = 99), "f.configured_in");
        assert_eq!(fault(&|f| f.approval = 99), "f.approval");
        assert_eq!(fault(&|f| f.launch = command(Vec::new())), "f.command.words");
        assert_eq!(fault(&|f| f.launch = command(vec![String::new()])), "f.command.words");
        let long = || Some(v1::mcp_server_fact::Launch::Url("x".repeat(MAX_WORD + 1)));
        assert_eq!(fault(&|f| f.launch = long()), "f.url");
        assert_eq!(
            mcp_servers(vec![fact(); MAX_SERVERS + 1]).unwrap_err().field,
            "facts.mcp_servers"
        );
    }

    #[test]
    fn no_repository_at_all_is_not_known() {
        assert_eq!(repositories(None), Ok(Repositories::Unknown));
        let empty = v1::RepositoryIdentities {
            repositories: Vec::new(),
        };
        assert_eq!(repositories(Some(empty)), Ok(Repositories::Unknown));
        let one = |root: &str, remotes: usize| {
            repositories(Some(v1::RepositoryIdentities {
                repositories: vec![v1::RepositoryIdentity {
                    root: root.into(),
                    remotes: vec!["x".into(); remotes],
                }],
            }))
        };
        assert!(matches!(one("/w", 2), Ok(Repositories::Known(all)) if all.len() == 1));
        assert_eq!(one("w", 0).unwrap_err().field, "facts.repositories[0].root");
        assert_eq!(one("/w", 1025).unwrap_err().field, "facts.repositories[0].remotes");
    }
}

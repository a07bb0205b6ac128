//! The definitions of the MCP server that a call names, and whether the person approved them.

use std::path::{Path, PathBuf};

use portcullis_policy::facts::{Approval, ConfiguredIn, Launch};
use portcullis_proto::v1::{self, McpApproval, McpCommand, McpServerFact, mcp_server_fact};

use super::Host;
use crate::mcp::{Definition, Place, configured};

/// Most definitions that are told; the wire takes no more.
const MAX_TOLD: usize = 64;

/// Looks the server up under all the names it may have.
pub(super) fn servers(
    names: &[String],
    message: &v1::DecideRequest,
    project: Option<&Path>,
    project_trusted: bool,
    host: &Host<'_>,
    failures: &mut Vec<String>,
) -> Vec<McpServerFact> {
    let workspace = message.workspace.clone().unwrap_or_default();
    let home = host.places.home.as_deref();
    if !workspace.home.is_empty() && !is_same(home, Path::new(&workspace.home)) {
        failures.push(format!(
            "the agent's home folder `{}` is not that of this daemon's user, so its MCP configuration is not known",
            workspace.home
        ));
        return Vec::new();
    }
    let roots: Vec<PathBuf> = workspace
        .roots
        .iter()
        .map(PathBuf::from)
        .chain([workspace.cwd.into()])
        .collect();
    let place = Place {
        home,
        roots: &roots,
        project,
    };
    let agent = message.agent.as_ref().map(|agent| agent.name.as_str());
    let configured = configured(agent, &place);
    let mut facts = Vec::new();
    for definition in configured.named(names) {
        match host.approvals.of(definition, project_trusted) {
            Ok(approval) => facts.push(fact(definition, approval)),
            Err(failure) => {
                if !failures.contains(&failure) {
                    failures.push(failure);
                }
                facts.push(fact(definition, Approval::None));
            }
        }
    }
    failures.extend(configured.failures);
    if facts.len() > MAX_TOLD {
        failures.push(format!("more than {MAX_TOLD} MCP servers have this name"));
        facts.truncate(MAX_TOLD);
    }
    facts
}

fn is_same(own: Option<&Path>, theirs: &Path) -> bool {
    own.is_some_and(|own| {
        own == theirs || matches!((own.canonicalize(), theirs.canonicalize()), (Ok(a), Ok(b)) if a == b)
    })
}

fn fact(definition: &Definition, approval: Approval) -> McpServerFact {
    McpServerFact {
        name: definition.name.clone(),
        launch: match definition.launch.clone() {
            Launch::Unknown => None,
            Launch::Command { words, environment } => {
                Some(mcp_server_fact::Launch::Command(McpCommand { words, environment }))
            }
            Launch::Url(url) => Some(mcp_server_fact::Launch::Url(url)),
        },
        configured_in: configured_in(definition.place).into(),
        file: definition.file.clone(),
        // Annotations are told by the server itself, which nobody here asks.
        read_only_tools: Vec::new(),
        approval: approval_on_wire(approval).into(),
    }
}

/// As it travels.
#[must_use]
pub(crate) fn configured_in(place: ConfiguredIn) -> v1::ConfiguredIn {
    match place {
        ConfiguredIn::Project => v1::ConfiguredIn::Project,
        ConfiguredIn::Local => v1::ConfiguredIn::Local,
        ConfiguredIn::User => v1::ConfiguredIn::User,
        ConfiguredIn::Managed => v1::ConfiguredIn::Managed,
    }
}

/// As it travels.
#[must_use]
pub(crate) fn approval_on_wire(approval: Approval) -> McpApproval {
    match approval {
        Approval::None => McpApproval::Unspecified,
        Approval::Changed => McpApproval::Changed,
        Approval::Disabled => McpApproval::Disabled,
        Approval::Given => McpApproval::Given,
    }
}

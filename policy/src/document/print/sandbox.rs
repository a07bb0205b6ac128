//! What a document says about the sandbox, as text again.

use super::super::{keys, tree::Node};
use crate::{
    network::HostRule,
    sandbox::{NetworkMode, SandboxSettings, SandboxType},
};

/// The value of one key of the section; `None` if the document does not say it.
pub(super) fn key(own: &SandboxSettings, name: &str) -> Option<Node> {
    let paths = |list: &[String]| Node::texts(true, list).unless_empty();
    match name {
        "type" => own.kind.map(SandboxType::word).map(Node::text),
        "additionalReadwritePaths" => paths(&own.read_write),
        "additionalReadonlyPaths" => paths(&own.read_only),
        "denyRead" => paths(&own.deny_read),
        "disableTmpWrite" => own.disable_tmp_write.map(Node::boolean),
        "shareTmp" => own.share_tmp.map(Node::boolean),
        "enableSharedBuildCache" => own.shared_build_cache.map(Node::boolean),
        "allowRootOwner" => own.allow_root_owner.map(Node::boolean),
        "acceptWithoutLandlock" => own.accept_without_landlock.map(Node::boolean),
        "acceptWithoutNamespaces" => own.accept_without_namespaces.map(Node::boolean),
        // An empty list of a team says that none may be reached.
        "allowUnixSockets" => own.unix_sockets.as_deref().map(|list| Node::texts(true, list)),
        "networkMode" => own.network_mode.map(NetworkMode::word).map(Node::text),
        "networkPolicy" => Node::section(&keys::NETWORK_POLICY, true, |key| match key.name {
            "default" => own
                .network
                .default_allow
                .map(|allow| Node::text(if allow { "allow" } else { "deny" })),
            // An empty list of a team says that no host may be reached.
            "allow" => own.network.allow.as_deref().map(hosts),
            "deny" => hosts(&own.network.deny).unless_empty(),
            _ => None,
        })
        .unless_empty(),
        _ => None,
    }
}

fn hosts(list: &[HostRule]) -> Node {
    Node::texts(true, list.iter().map(ToString::to_string))
}

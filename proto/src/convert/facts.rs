//! What a host says about itself and about a call.
//!
//! From a host, facts count. From anybody else those that could widen (trust, the sandbox, the repository, programs, MCP
//! servers, the host's documents) are dropped, so that the worst case holds; the rest is marked as not vouched for.

mod controls;

mod trees;

use std::{collections::BTreeMap, fmt, sync::Arc};

use portcullis_policy::{
    AbsPath, DocumentOrigin, Facts, Layer, PolicyDocument,
    evaluate::MAX_GIT_FOLDERS,
    facts::{FactsNeeded, PathFact, Repository},
    import::Format,
};
use sha2::{Digest as _, Sha256};

use super::{
    InvalidMessage, Vouching,
    call::call_in_workspace,
    check,
    text::shorten,
    words::{document_format_from_wire, layer_from_wire, path_kind_from_wire, sandbox_offer_from_wire},
};
use crate::v1;

/// Most facts on paths; as many on programs.
const MAX_FACTS: usize = 20_000;

/// Longest path of a fact, in bytes. A command can name longer ones than the kernel takes, and they need a fact too.
const MAX_FACT_PATH: usize = 1 << 20;

/// Most documents of a host.
const MAX_DOCUMENTS: usize = 128;

/// Most of Portcullis' own paths.
const MAX_OWN_PATHS: usize = 1024;

/// Most keys of a repository's configuration.
const MAX_KEYS: usize = 4096;

/// Failures that are kept; the rest is counted.
const KEPT_FAILURES: usize = 100;

/// What the host said, beside the facts that go to the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostClaims {
    /// Fingerprint of the host's key: 64 lower-case hexadecimal digits.
    pub host_id: String,
    /// The user who asked.
    pub uid: u32,
    /// Policy documents of the host's layers, as text.
    pub documents: Vec<HostDocument>,
    /// Portcullis' own secret places on that host, to be masked in the sandbox.
    pub masked_paths: Vec<String>,
    /// Its sandbox lacks Landlock, and nothing else.
    pub lacks_only_landlock: bool,
    /// Its sandbox has no namespaces, and nothing else is missing.
    pub lacks_only_namespaces: bool,
}

/// How each line of [`v1::Enforcement::missing`] begins that says what does not hold because there are no namespaces.
pub const LACKS_NAMESPACES: &str = "namespaces: ";

/// How a document of the host is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DocumentFormat {
    /// Our own.
    Native,
    /// An ignore file.
    Ignore,
    /// A `sandbox.json`: ours, or that of an agent.
    Sandbox,
    /// The permission file of an agent, read with its meaning.
    Agent(Format),
}

/// A policy document of the host.
#[derive(Clone, PartialEq, Eq)]
pub struct HostDocument {
    /// How it is written.
    pub format: DocumentFormat,
    /// Where it comes from.
    pub origin: DocumentOrigin,
    /// The text.
    pub text: Arc<str>,
    /// SHA-256 of the text.
    pub digest: [u8; 32],
}

impl fmt::Debug for HostDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostDocument")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// Which facts the host has to look up for a request that it is about to forward.
///
/// # Errors
/// If the request cannot be understood; the server would refuse it too.
pub fn facts_needed(message: &v1::DecideRequest) -> Result<FactsNeeded, InvalidMessage> {
    let (call, workspace) = call_in_workspace(message)?;
    Ok(portcullis_policy::facts_needed(&call.action, &workspace))
}

/// Reads the facts of a request, and what the host says about itself if it is one.
pub(super) fn facts(
    wire: Option<v1::HostFacts>,
    vouching: Vouching,
) -> Result<(Facts, Option<HostClaims>), InvalidMessage> {
    let Some(wire) = wire else {
        return match vouching {
            Vouching::Host => Err(InvalidMessage::new(
                "facts",
                "is missing; a host has to send what it found out",
            )),
            Vouching::Nobody => Ok((Facts::default(), None)),
        };
    };
    let mut failures = failures(wire.failures);
    let paths = paths(wire.paths)?;
    let programs = programs(wire.programs)?;
    let git_folders = git_folders(wire.git_folders)?;
    let repository = repository("facts.repository", wire.repository)?;
    let lacks_only_landlock = wire
        .sandbox
        .as_ref()
        .is_some_and(|sandbox| sandbox.tier() == v1::SandboxTier::WithoutLandlock && sandbox.missing.len() == 1);
    let lacks_only_namespaces = wire.sandbox.as_ref().is_some_and(|sandbox| {
        let follows = |line: &String| line.starts_with(LACKS_NAMESPACES);
        sandbox.tier() == v1::SandboxTier::WithoutNamespaces && sandbox.missing.iter().all(follows)
    });
    let sandbox = sandbox_offer_from_wire(wire.sandbox.map_or(0, |sandbox| sandbox.status))
        .map_err(|invalid| invalid.at("facts.sandbox.status"))?;
    let own_paths = check::paths("facts.own_paths", &wire.own_paths, MAX_OWN_PATHS, check::MAX_PATH)?;
    let field = "facts.own_secret_paths";
    let own_secret_paths = check::paths(field, &wire.own_secret_paths, MAX_OWN_PATHS, check::MAX_PATH)?;
    let documents = documents(wire.documents, &mut failures)?;
    let trees = trees::trees(wire.trees)?;
    let repositories = controls::repositories(wire.repositories)?;
    let mcp_servers = controls::mcp_servers(wire.mcp_servers)?;

    if vouching == Vouching::Nobody {
        let facts = Facts {
            paths,
            failures,
            own_paths,
            own_secret_paths,
            // What somebody else says of a folder could only widen.
            ..Facts::default()
        };
        return Ok((facts, None));
    }
    let claims = HostClaims {
        host_id: host_id(wire.host_id)?,
        uid: wire.uid,
        documents,
        masked_paths: own_secret_paths.iter().map(ToString::to_string).collect(),
        lacks_only_landlock,
        lacks_only_namespaces,
    };
    let facts = Facts {
        vouched: true,
        paths,
        programs,
        repository,
        git_folders,
        repositories,
        mcp_servers,
        project_trusted: wire.project_trusted,
        sandbox,
        failures,
        own_paths,
        own_secret_paths,
        trees,
    };
    Ok((facts, Some(claims)))
}

/// 64 lower-case hexadecimal digits.
fn host_id(text: String) -> Result<String, InvalidMessage> {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() == 64 && text.bytes().all(digit) {
        Ok(text)
    } else {
        let fault = "is not a fingerprint of 64 lower-case hexadecimal digits";
        Err(InvalidMessage::new("facts.host_id", fault))
    }
}

/// Failures, shortened in number and length: that there are any is what counts, and many must not make the message invalid.
fn failures(wire: Vec<String>) -> Vec<String> {
    let left_out = wire.len().saturating_sub(KEPT_FAILURES);
    let mut kept: Vec<String> = wire
        .iter()
        .take(KEPT_FAILURES)
        .map(|line| shorten(line, 1024))
        .collect();
    if left_out > 0 {
        kept.push(format!("{left_out} further failures"));
    }
    kept
}

fn paths(wire: Vec<v1::PathFact>) -> Result<BTreeMap<AbsPath, PathFact>, InvalidMessage> {
    check::count("facts.paths", &wire, MAX_FACTS)?;
    let mut facts = BTreeMap::new();
    for (at, fact) in wire.into_iter().enumerate() {
        let field = format!("facts.paths[{at}]");
        let path = check::path(&format!("{field}.path"), &fact.path, MAX_FACT_PATH)?;
        let fact = PathFact {
            real: check::optional_path(&format!("{field}.real_path"), &fact.real_path, MAX_FACT_PATH)?,
            kind: path_kind_from_wire(fact.kind).map_err(|invalid| invalid.at(format!("{field}.kind")))?,
        };
        if facts.insert(path, fact.clone()).is_some_and(|earlier| earlier != fact) {
            return Err(InvalidMessage::new(
                field,
                "contradicts an earlier fact on the same path",
            ));
        }
    }
    Ok(facts)
}

fn programs(wire: Vec<v1::ProgramFact>) -> Result<BTreeMap<String, Option<AbsPath>>, InvalidMessage> {
    check::count("facts.programs", &wire, MAX_FACTS)?;
    let mut facts = BTreeMap::new();
    for (at, fact) in wire.into_iter().enumerate() {
        let field = format!("facts.programs[{at}]");
        check::length(&format!("{field}.name"), &fact.name, MAX_FACT_PATH)?;
        let path = check::optional_path(&format!("{field}.path"), &fact.path, MAX_FACT_PATH)?;
        if facts
            .insert(fact.name, path.clone())
            .is_some_and(|earlier| earlier != path)
        {
            return Err(InvalidMessage::new(
                field,
                "contradicts an earlier fact on the same program",
            ));
        }
    }
    Ok(facts)
}

fn git_folders(wire: Vec<v1::GitFolderFact>) -> Result<BTreeMap<AbsPath, Repository>, InvalidMessage> {
    check::count("facts.git_folders", &wire, MAX_GIT_FOLDERS)?;
    let mut folders = BTreeMap::new();
    for (at, fact) in wire.into_iter().enumerate() {
        let field = format!("facts.git_folders[{at}]");
        let folder = check::path(&format!("{field}.folder"), &fact.folder, check::MAX_PATH)?;
        let repository = repository(&format!("{field}.repository"), fact.repository)?;
        if folders.insert(folder, repository).is_some() {
            return Err(InvalidMessage::new(field, "speaks of a folder for the second time"));
        }
    }
    Ok(folders)
}

fn repository(at: &str, wire: Option<v1::RepositoryFact>) -> Result<Repository, InvalidMessage> {
    let Some(fact) = wire else {
        return Ok(Repository::Unknown);
    };
    match v1::RepositoryState::try_from(fact.state) {
        Ok(v1::RepositoryState::Unspecified) => Ok(Repository::Unknown),
        Ok(v1::RepositoryState::None) => Ok(Repository::None),
        Ok(v1::RepositoryState::Read) => {
            let field = &format!("{at}.executing_keys");
            check::count(field, &fact.executing_keys, MAX_KEYS)?;
            for (number, key) in fact.executing_keys.iter().enumerate() {
                check::length(&format!("{field}[{number}]"), key, 1024)?;
            }
            Ok(Repository::Known {
                root: check::path(&format!("{at}.root"), &fact.root, check::MAX_PATH)?,
                executing_keys: fact.executing_keys,
            })
        }
        Err(_) => {
            let fault = format!("the number {} stands for nothing known here", fact.state);
            Err(InvalidMessage::new(format!("{at}.state"), fault))
        }
    }
}

/// Documents of the host. One that is not text is a failure, not an invalid message: a broken file must not disable the
/// agent that is to repair it, and a failure already rules out any allow.
fn documents(wire: Vec<v1::HostDocument>, failures: &mut Vec<String>) -> Result<Vec<HostDocument>, InvalidMessage> {
    check::count("facts.documents", &wire, MAX_DOCUMENTS)?;
    let mut documents = Vec::with_capacity(wire.len());
    for (at, document) in wire.into_iter().enumerate() {
        let field = format!("facts.documents[{at}]");
        let layer = layer_from_wire(document.layer).map_err(|invalid| invalid.at(format!("{field}.layer")))?;
        let path = check::path(&format!("{field}.path"), &document.path, check::MAX_PATH)?;
        let format =
            document_format_from_wire(document.format).map_err(|invalid| invalid.at(format!("{field}.format")))?;
        let folder = rule_anchor(&field, layer, format, &path)?;
        if document.content.len() > PolicyDocument::MAX_BYTES {
            let (length, most) = (document.content.len(), PolicyDocument::MAX_BYTES);
            let fault = format!("is {length} bytes long; at most {most} are read");
            return Err(InvalidMessage::new(format!("{field}.content"), fault));
        }
        let digest = Sha256::digest(&document.content).into();
        match String::from_utf8(document.content) {
            Ok(text) => documents.push(HostDocument {
                format,
                origin: DocumentOrigin {
                    layer,
                    name: path.to_string(),
                    folder: Some(folder),
                },
                text: text.into(),
                digest,
            }),
            Err(_) => failures.push(format!("the policy document {path} is not UTF-8")),
        }
    }
    Ok(documents)
}

/// What `/x` means in a document's rules: the project's folder, or the user's configuration folder. A project's document
/// has to lie where its format has its place, so that no other file of the project can pass for one.
fn rule_anchor(field: &str, layer: Layer, format: DocumentFormat, path: &AbsPath) -> Result<AbsPath, InvalidMessage> {
    let misplaced = |fault: String| InvalidMessage::new(format!("{field}.path"), fault);
    let is_cursors = path.parent().is_some_and(|folder| folder.file_name() == ".cursor");
    let folder = path.parent().ok_or_else(|| misplaced("names no file".to_owned()))?;
    let place: &[&str] = match (layer, format) {
        (Layer::Session | Layer::Team | Layer::Builtin, _) => {
            return Err(InvalidMessage::new(
                format!("{field}.layer"),
                "is not a layer of the host: local, project or user",
            ));
        }
        (Layer::Project, DocumentFormat::Ignore) if PolicyDocument::is_ignore_file(path.file_name()) => {
            return Ok(folder);
        }
        (_, DocumentFormat::Ignore) => return Err(misplaced("is no ignore file of a project".to_owned())),
        (Layer::User, _) => return Ok(folder),
        (_, DocumentFormat::Sandbox) if is_cursors => &[".cursor"],
        (_, DocumentFormat::Native | DocumentFormat::Sandbox) => &[".portcullis"],
        (_, DocumentFormat::Agent(Format::ClaudeSettings)) => &[".claude"],
        (_, DocumentFormat::Agent(Format::Cusp)) => &[".cusp"],
        (_, DocumentFormat::Agent(Format::CursorCli | Format::CursorDesktop)) => &[".cursor"],
        (_, DocumentFormat::Agent(Format::CodexRules)) => &["rules", ".codex"],
        (_, DocumentFormat::Agent(Format::CodexConfig | Format::CodexRequirements)) => &[".codex"],
        (_, DocumentFormat::Agent(Format::GeminiPolicy)) => &["policies", ".gemini"],
        (_, DocumentFormat::Agent(Format::GeminiSettings)) => &[".gemini"],
    };
    let mut at = folder;
    for name in place {
        let above = at.parent().filter(|_| at.file_name() == *name);
        at = above.ok_or_else(|| {
            let names: Vec<&str> = place.iter().rev().copied().collect();
            misplaced(format!("does not lie in the `{}` folder of a project", names.join("/")))
        })?;
    }
    Ok(at)
}

#[cfg(test)]
mod tests;

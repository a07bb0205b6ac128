//! What a sandbox may do: what each document says (the fields of `sandbox.json`), and what follows from all of them.
//!
//! Pure: paths are texts here, resolved by the host that builds the sandbox. What a project says counts as far as it narrows,
//! and as a whole once the project is trusted; `insecure_none` of a project never counts. The keys are described in
//! `docs/sandbox.md`.

use crate::{
    AbsPath, Layer,
    document::{self, Fault},
    network::{HostRule, NetworkRules, ecosystems},
    path::{DenialReading, DenialText},
};

mod hidden;

pub use hidden::{Elsewhere, Hidden, HiddenPlaces, begins_as_key, hidden_places, is_named_as_key};

/// How much of the workspace a command may change. In order, the strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SandboxType {
    /// Nothing.
    WorkspaceReadonly,
    /// All but what is protected.
    WorkspaceReadwrite,
    /// There is no sandbox.
    InsecureNone,
}

impl SandboxType {
    /// Its words in a document, in order.
    pub const WORDS: [&'static str; 3] = ["workspace_readonly", "workspace_readwrite", "insecure_none"];

    /// Reads a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let [readonly, readwrite, none] = Self::WORDS;
        match word {
            _ if word == readonly => Some(Self::WorkspaceReadonly),
            _ if word == readwrite => Some(Self::WorkspaceReadwrite),
            _ if word == none => Some(Self::InsecureNone),
            _ => None,
        }
    }

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        let [readonly, readwrite, none] = Self::WORDS;
        match self {
            Self::WorkspaceReadonly => readonly,
            Self::WorkspaceReadwrite => readwrite,
            Self::InsecureNone => none,
        }
    }
}

/// Which lists of hosts count. In order, the strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkMode {
    /// Those of the documents.
    SandboxJsonOnly,
    /// Those, and where languages and tools fetch from ([`ecosystems`]).
    SandboxJsonPlusDefaults,
    /// Every host that is public, and that the team does not deny.
    AllowAll,
}

impl NetworkMode {
    /// Its words in a document, in order.
    pub const WORDS: [&'static str; 3] = ["sandbox_json_only", "sandbox_json_plus_defaults", "allow_all"];

    /// Reads a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let all = [Self::SandboxJsonOnly, Self::SandboxJsonPlusDefaults, Self::AllowAll];
        all.into_iter().find(|mode| mode.word() == word)
    }

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        let [only, plus, all] = Self::WORDS;
        match self {
            Self::SandboxJsonOnly => only,
            Self::SandboxJsonPlusDefaults => plus,
            Self::AllowAll => all,
        }
    }
}

/// What one document says about hosts. What it does not say is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// Whether hosts that no list covers may be reached.
    pub default_allow: Option<bool>,
    /// Hosts that may be reached. An empty list says something: of the team, that no host may.
    pub allow: Option<Vec<HostRule>>,
    /// Hosts that may not.
    pub deny: Vec<HostRule>,
}

/// What one document says about the sandbox. What it does not say is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    /// How much of the workspace may be changed.
    pub kind: Option<SandboxType>,
    /// Further paths that may be written: absolute, `~/x`, or relative to the project's folder.
    pub read_write: Vec<String>,
    /// Paths that stay read-only in a writable folder, and visible below a private one.
    pub read_only: Vec<String>,
    /// Paths and gitignore patterns that cannot be read.
    pub deny_read: Vec<String>,
    /// `/tmp` cannot be written.
    pub disable_tmp_write: Option<bool>,
    /// `/tmp` is the host's.
    pub share_tmp: Option<bool>,
    /// Caches of package managers are one shared place.
    pub shared_build_cache: Option<bool>,
    /// A caller with uid 0 keeps it inside.
    pub allow_root_owner: Option<bool>,
    /// Commands run where the kernel has no Landlock, too.
    pub accept_without_landlock: Option<bool>,
    /// Commands that only read run where no namespaces can be made, too.
    pub accept_without_namespaces: Option<bool>,
    /// Sockets of the outside that may be connected to. An empty list says something: of the team, that none may.
    pub unix_sockets: Option<Vec<String>>,
    /// Which lists of hosts count.
    pub network_mode: Option<NetworkMode>,
    /// Hosts.
    pub network: NetworkPolicy,
}

impl SandboxSettings {
    /// Reads a `sandbox.json`: JSON with comments and trailing commas. What each key means stands in `docs/sandbox.md`.
    ///
    /// # Errors
    /// All faults with their places, in the order of the text; never empty.
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        document::sandbox_settings(text)
    }
}

/// One document's settings with what they are worth.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// The layer of the document.
    pub layer: Layer,
    /// Whether what widens counts: not in a document of a project that nobody trusts.
    pub widens: bool,
    /// Where its relative paths start; `None` = at the workspace's root.
    pub folder: Option<&'a AbsPath>,
    /// What it says.
    pub settings: &'a SandboxSettings,
}

/// A path as a document names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedPath {
    /// Absolute, `~/x`, or relative.
    pub text: String,
    /// Where it starts if it is relative; `None` = at the workspace's root.
    pub folder: Option<AbsPath>,
}

impl PlacedPath {
    /// The path it stands for; `None` if it starts at the home folder and that is not known.
    #[must_use]
    pub fn resolve(&self, root: &AbsPath, home: Option<&AbsPath>) -> Option<AbsPath> {
        match self.text.strip_prefix('~') {
            Some("") => home.cloned(),
            Some(rest) if rest.starts_with('/') => Some(home?.join(rest.trim_start_matches('/'))),
            _ => Some(self.folder.as_ref().unwrap_or(root).join(&self.text)),
        }
    }
}

/// What follows from all documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveSandbox {
    /// How much of the workspace may be changed.
    pub kind: SandboxType,
    /// A project wants no sandbox at all, which does not count: said, and a reason to ask.
    pub project_wants_none: bool,
    /// Further paths that may be written.
    pub read_write: Vec<PlacedPath>,
    /// Paths that stay read-only.
    pub read_only: Vec<PlacedPath>,
    /// Paths and patterns that cannot be read.
    pub deny_read: Vec<PlacedPath>,
    /// What deny rules on reading and ignore lists keep from being read; put in by whoever merges the rules.
    pub ruled_out: Vec<DenialText>,
    /// Paths that are named as readable or writable by somebody who may widen: of credentials, those that are not hidden.
    pub revealed: Vec<PlacedPath>,
    /// `/tmp` cannot be written.
    pub disable_tmp_write: bool,
    /// `/tmp` is the host's.
    pub share_tmp: bool,
    /// Caches of package managers are one shared place.
    pub shared_build_cache: bool,
    /// A caller with uid 0 keeps it inside.
    pub allow_root_owner: bool,
    /// Commands run where the kernel has no Landlock, too.
    pub accept_without_landlock: bool,
    /// Commands that only read run where no namespaces can be made, too; see [`EffectiveSandbox::needs_namespaces`].
    pub accept_without_namespaces: bool,
    /// Sockets of the outside that may be connected to. Whoever listens there acts outside.
    pub unix_sockets: Vec<PlacedPath>,
    /// Hosts.
    pub network: NetworkRules,
}

impl EffectiveSandbox {
    /// Why this cannot be enforced without namespaces, by the key that says so; `None` if it can: nothing is written, nobody is
    /// reached, and nothing that lies in the workspace is kept from being read. Landlock's rules only add, so that nothing can be
    /// taken out of what may be written or read as a whole. What is denied by its place (`~/.aws/**`, `//**/id_rsa`) is hidden as
    /// credentials are; whether some of it lies in the workspace the host sees before it runs anything.
    #[must_use]
    pub fn needs_namespaces(&self) -> Option<&'static str> {
        let needs = [
            (self.kind != SandboxType::WorkspaceReadonly, "type"),
            (!self.read_write.is_empty(), "additionalReadwritePaths"),
            (!self.network.reach_nothing(), "networkPolicy"),
            (self.deny_read.iter().any(|entry| !is_elsewhere(entry)), "denyRead"),
            (
                !self.ruled_out.iter().all(DenialText::has_its_own_place),
                "rules and ignore lists on reading",
            ),
            (self.share_tmp, "shareTmp"),
            (self.shared_build_cache, "enableSharedBuildCache"),
            (!self.unix_sockets.is_empty(), "allowUnixSockets"),
        ];
        needs.into_iter().find_map(|(needs, key)| needs.then_some(key))
    }
}

fn is_elsewhere(entry: &PlacedPath) -> bool {
    let denial = DenialText {
        reading: DenialReading::Entry,
        pattern: entry.text.clone(),
        folder: None,
        exceptions: Vec::new(),
    };
    denial.has_its_own_place()
}

/// Puts together what the documents say.
#[must_use]
pub fn merge(documents: &[Said<'_>]) -> EffectiveSandbox {
    let counting = || documents.iter().filter(|said| said.widens);
    let any = |field: fn(&SandboxSettings) -> Option<bool>, value: bool| {
        documents.iter().any(|said| field(said.settings) == Some(value))
    };
    let granted = |field: fn(&SandboxSettings) -> Option<bool>| {
        counting().any(|said| field(said.settings) == Some(true)) && !any(field, false)
    };
    EffectiveSandbox {
        kind: kind(documents),
        project_wants_none: documents
            .iter()
            .any(|said| said.layer.is_inside_project() && said.settings.kind == Some(SandboxType::InsecureNone)),
        read_write: united(counting(), |settings| &settings.read_write),
        read_only: united(documents.iter(), |settings| &settings.read_only),
        deny_read: united(documents.iter(), |settings| &settings.deny_read),
        ruled_out: Vec::new(),
        revealed: {
            let mut named = united(counting(), |settings| &settings.read_only);
            named.extend(united(counting(), |settings| &settings.read_write));
            named
        },
        disable_tmp_write: any(|settings| settings.disable_tmp_write, true),
        share_tmp: granted(|settings| settings.share_tmp),
        shared_build_cache: granted(|settings| settings.shared_build_cache),
        allow_root_owner: !any(|settings| settings.allow_root_owner, false),
        accept_without_landlock: granted(|settings| settings.accept_without_landlock),
        accept_without_namespaces: granted(|settings| settings.accept_without_namespaces),
        unix_sockets: unix_sockets(documents),
        network: network(documents),
    }
}

/// The team's word bounds everybody's. Below it the project's counts before the user's where it is trusted, the stricter one
/// where not.
fn kind(documents: &[Said<'_>]) -> SandboxType {
    let of = |belongs: &dyn Fn(Layer) -> bool, widens: Option<bool>| {
        documents
            .iter()
            .filter(|said| belongs(said.layer) && widens.is_none_or(|widens| said.widens == widens))
            .filter_map(|said| said.settings.kind)
            // No project does away with the sandbox; what it wants then is all that it may want.
            .map(|kind| {
                if belongs(Layer::Project) {
                    kind.min(SandboxType::WorkspaceReadwrite)
                } else {
                    kind
                }
            })
            .min()
    };
    let inside = |layer: Layer| layer.is_inside_project();
    let user = of(&|layer: Layer| layer == Layer::User, None);
    let session = of(&|layer: Layer| layer == Layer::Session, None);
    let below = of(&inside, Some(true))
        .or(user)
        .unwrap_or(SandboxType::WorkspaceReadwrite);
    let stricter = [
        of(&inside, Some(false)),
        session,
        of(&|layer: Layer| layer >= Layer::Team, None),
    ];
    stricter.into_iter().flatten().fold(below, SandboxType::min)
}

fn network(documents: &[Said<'_>]) -> NetworkRules {
    let team = || documents.iter().filter(|said| said.layer >= Layer::Team);
    let counting = || documents.iter().filter(|said| said.widens);
    let mode = documents.iter().filter_map(|said| {
        said.settings
            .network_mode
            .filter(|mode| said.widens || *mode != NetworkMode::AllowAll)
    });
    let mode = mode.min().unwrap_or(NetworkMode::SandboxJsonPlusDefaults);
    let deny = |said: &Said<'_>| said.settings.network.deny.clone();
    if mode == NetworkMode::AllowAll {
        return NetworkRules {
            default_allow: true,
            allow: Vec::new(),
            deny: team().flat_map(deny).collect(),
        };
    }
    let lists = |said: &Said<'_>| said.settings.network.allow.clone();
    let of_team: Vec<_> = team().filter_map(lists).collect();
    let mut allow: Vec<HostRule> = if of_team.is_empty() {
        counting().filter_map(lists).flatten().collect()
    } else {
        of_team.into_iter().flatten().collect()
    };
    if mode == NetworkMode::SandboxJsonPlusDefaults {
        allow.extend(ecosystems().iter().map(|(rule, _)| rule.clone()));
    }
    let said_default = |value| {
        documents
            .iter()
            .any(|said| said.settings.network.default_allow == Some(value))
    };
    let granted = counting().any(|said| said.settings.network.default_allow == Some(true));
    NetworkRules {
        default_allow: granted && !said_default(false),
        allow,
        deny: documents.iter().flat_map(deny).collect(),
    }
}

/// The team's lists, where there are any; else those of all who may widen.
fn unix_sockets(documents: &[Said<'_>]) -> Vec<PlacedPath> {
    let says = |said: &&Said<'_>| said.settings.unix_sockets.is_some();
    let of_team = || documents.iter().filter(|said| said.layer >= Layer::Team).filter(says);
    let list = |settings: &SandboxSettings| settings.unix_sockets.clone().unwrap_or_default();
    if of_team().next().is_some() {
        united(of_team(), list)
    } else {
        united(documents.iter().filter(|said| said.widens), list)
    }
}

fn united<'a, L: IntoIterator<Item = impl ToString>>(
    documents: impl Iterator<Item = &'a Said<'a>>,
    list: impl Fn(&'a SandboxSettings) -> L,
) -> Vec<PlacedPath> {
    let mut all: Vec<PlacedPath> = Vec::new();
    for said in documents {
        for text in list(said.settings) {
            let path = PlacedPath {
                text: text.to_string(),
                folder: said.folder.cloned(),
            };
            if !all.contains(&path) {
                all.push(path);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests;

//! The made-up world of a case: what it says about files, links, programs, repository and sandbox, and for the rest the
//! ordinary.
//!
//! It stands in for the host's daemon, which looks the same facts up on a real file system. It looks nothing up: what a
//! case does not name exists as far as it has to.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    AbsPath, Facts, Mode, Request, ToolCall,
    facts::{
        Approval, ConfiguredIn, Launch, McpServer, PathFact, PathKind, Repositories, Repository, RepositoryIdentity,
        SandboxOffer, Tree,
    },
    facts_needed,
    mode::Session,
    request::{Interactivity, Workspace},
};

/// Most links that are followed for one path, as on Linux; a path that needs more leads nowhere that is known.
const MAX_LINKS: usize = 40;

/// Where a case plays, and what is known there.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Short name of the agent in lower case.
    pub agent: String,
    /// Its run mode.
    pub mode: Mode,
    /// Whether a person can be asked.
    pub interactivity: Interactivity,
    /// Where it works.
    pub workspace: Workspace,
    /// The files that exist.
    pub files: BTreeSet<AbsPath>,
    /// The symbolic links that exist, with their target as written.
    pub links: BTreeMap<AbsPath, String>,
    /// What program names resolve to; `None` = nothing is found. Those not named here resolve into `/usr/bin`.
    pub programs: BTreeMap<String, Option<AbsPath>>,
    /// The facts that do not depend on the call. Paths and programs in them are ignored.
    pub facts: Facts,
}

impl Setting {
    /// The ordinary world around a working directory: the project is trusted, it is a repository whose configuration runs
    /// nothing, programs are the system's, the MCP servers named are approved, nobody offers a sandbox, a person can be asked, and a host vouches for all this.
    #[must_use]
    pub fn ordinary(cwd: &AbsPath, home: Option<&AbsPath>, mode: Mode) -> Self {
        Self {
            agent: "claude".to_owned(),
            mode,
            interactivity: Interactivity::Interactive,
            workspace: Workspace {
                root: cwd.clone(),
                additional_roots: Vec::new(),
                cwd: cwd.clone(),
                home: home.cloned(),
            },
            files: BTreeSet::new(),
            links: BTreeMap::new(),
            programs: BTreeMap::new(),
            facts: Facts {
                vouched: true,
                project_trusted: true,
                repository: Repository::Known {
                    root: cwd.clone(),
                    executing_keys: Vec::new(),
                },
                repositories: Repositories::Known(vec![RepositoryIdentity {
                    root: cwd.clone(),
                    remotes: Vec::new(),
                }]),
                sandbox: SandboxOffer::None,
                ..Facts::default()
            },
        }
    }

    /// The request for a call, with the facts that it needs.
    #[must_use]
    pub fn request(&self, call: ToolCall) -> Request {
        let needed = facts_needed(&call.action, &self.workspace);
        let fact = |named: &AbsPath| {
            let real = self.real(named);
            let kind = real.as_ref().map_or(PathKind::Unknown, |real| self.kind(real));
            PathFact { real, kind }
        };
        let program = |name: &String| match self.programs.get(name) {
            Some(found) => found.clone(),
            None => Some(AbsPath::root().join("usr/bin").join(name)),
        };
        Request {
            agent: self.agent.clone(),
            mode: self.mode,
            interactivity: self.interactivity,
            workspace: self.workspace.clone(),
            facts: Facts {
                paths: needed.paths.iter().map(|named| (named.clone(), fact(named))).collect(),
                programs: needed
                    .programs
                    .iter()
                    .map(|name| (name.clone(), program(name)))
                    .collect(),
                trees: needed
                    .trees
                    .iter()
                    .map(|tree| (tree.folder.clone(), self.tree(&tree.folder)))
                    .collect(),
                git_folders: needed
                    .git_folders
                    .iter()
                    .map(|folder| (folder.clone(), self.repository_around(folder)))
                    .collect(),
                mcp_servers: match needed.mcp_servers.first() {
                    Some(name) if self.facts.mcp_servers.is_empty() => vec![approved(name)],
                    _ => self.facts.mcp_servers.clone(),
                },
                ..self.facts.clone()
            },
            call,
            session: Session::default(),
            sandboxed_execution: false,
        }
    }

    /// Where a path leads once links are followed, segment by segment; `None` if they lead in a circle.
    fn real(&self, named: &AbsPath) -> Option<AbsPath> {
        let mut ahead: Vec<String> = named.segments().map(str::to_owned).collect();
        ahead.reverse();
        let (mut real, mut followed) = (AbsPath::root(), 0);
        while let Some(segment) = ahead.pop() {
            let next = real.join(&segment);
            let Some(target) = self.links.get(&next) else {
                real = next;
                continue;
            };
            followed += 1;
            if followed > MAX_LINKS {
                return None;
            }
            if target.starts_with('/') {
                real = AbsPath::root();
            }
            // A `..` of the target counts from where the link really lies, so it is walked like any other segment.
            let segments = target.split('/').filter(|segment| !matches!(*segment, "" | "."));
            ahead.extend(segments.rev().map(str::to_owned));
        }
        Some(real)
    }

    /// The names that stand below a folder.
    fn tree(&self, folder: &AbsPath) -> Tree {
        let Some(real) = self.real(folder) else {
            return Tree::default();
        };
        let mut tree = Tree {
            complete: true,
            ..Tree::default()
        };
        for path in self.files.iter().chain(self.links.keys()) {
            let Some(rest) = path.below(&real).filter(|rest| !rest.is_empty()) else {
                continue;
            };
            let mut names: Vec<String> = rest.split('/').map(str::to_owned).collect();
            tree.files.extend(names.pop());
            tree.folders.extend(names);
            if self.links.contains_key(path) {
                match self.real(path) {
                    Some(target) => drop(tree.links.insert(folder.join(rest), target)),
                    // A link in a circle leads nowhere that could be known.
                    None => tree.complete = false,
                }
            }
        }
        tree
    }

    /// The repository around a folder that exists: one whose `.git` is among the files, which runs nothing, or that of the
    /// case.
    fn repository_around(&self, folder: &AbsPath) -> Repository {
        let real = self.real(folder).filter(|real| self.kind(real) == PathKind::Directory);
        let Some(real) = real else {
            return Repository::Unknown;
        };
        let mut around = Some(real.clone());
        while let Some(root) = around {
            let dot_git = root.join(".git");
            if self.files.iter().any(|file| file.is_within(&dot_git)) {
                return match &self.facts.repository {
                    own @ Repository::Known { root: at, .. } if *at == root => own.clone(),
                    _ => Repository::Known {
                        root,
                        executing_keys: Vec::new(),
                    },
                };
            }
            around = root.parent();
        }
        match &self.facts.repository {
            Repository::Known { root, .. } if !real.is_within(root) => Repository::None,
            own => own.clone(),
        }
    }

    /// What stands at a real path.
    fn kind(&self, real: &AbsPath) -> PathKind {
        let known = self.files.iter().chain(self.links.keys());
        if self.files.contains(real) {
            PathKind::File
        } else if known.chain([&self.workspace.cwd]).any(|file| file.is_within(real)) {
            PathKind::Directory
        } else {
            PathKind::Absent
        }
    }
}

/// A server of the person's own that they approved: what a call is taken to be for if a case says nothing else.
pub(super) fn approved(name: &str) -> McpServer {
    McpServer {
        name: name.to_owned(),
        launch: Launch::Command {
            words: vec![format!("mcp-{name}")],
            environment: Vec::new(),
        },
        place: ConfiguredIn::User,
        file: "the agent's own configuration".to_owned(),
        read_only_tools: BTreeSet::new(),
        approval: Approval::Given,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(text: &str) -> AbsPath {
        AbsPath::parse(text).unwrap()
    }

    fn setting(files: &[&str], links: &[(&str, &str)]) -> Setting {
        let mut setting = Setting::ordinary(&p("/w/app"), Some(&p("/w")), Mode::Default);
        setting.files = files.iter().map(|file| p(file)).collect();
        setting.links = links.iter().map(|(at, to)| (p(at), (*to).to_owned())).collect();
        setting
    }

    #[test]
    fn links_are_followed_as_the_kernel_does() {
        let setting = setting(
            &["/etc/x/real"],
            &[
                ("/w/app/out", "/etc"),
                ("/etc/x/up", "../y"),
                ("/w/app/again", "out/x/./up"),
                ("/w/app/a", "b"),
                ("/w/app/b", "a"),
            ],
        );
        for (named, real) in [
            ("/w/app/out/x/real", Some("/etc/x/real")),
            ("/w/app/again/z", Some("/etc/y/z")),
            ("/w/app/plain", Some("/w/app/plain")),
            ("/w/app/a/x", None),
        ] {
            assert_eq!(setting.real(&p(named)), real.map(p), "{named}");
        }
    }

    #[test]
    fn a_tree_has_each_name_once_and_links_as_the_folder_is_named() {
        let setting = setting(
            &["/w/app/src/a.rs", "/w/app/src/x/a.rs", "/w/other"],
            &[("/w/app/src/l", "../../other"), ("/w/app/s", "src")],
        );
        let tree = setting.tree(&p("/w/app/s"));
        assert!(tree.complete);
        assert_eq!(tree.files, ["a.rs".to_owned(), "l".to_owned()].into());
        assert_eq!(tree.folders, ["x".to_owned()].into());
        assert_eq!(tree.links, [(p("/w/app/s/l"), p("/w/other"))].into());
    }

    #[test]
    fn files_and_their_parents_are_there_and_nothing_else() {
        let setting = setting(&["/w/app/src/a.rs"], &[]);
        for (path, kind) in [
            ("/w/app/src/a.rs", PathKind::File),
            ("/w/app/src", PathKind::Directory),
            ("/w/app", PathKind::Directory),
            ("/", PathKind::Directory),
            ("/w/app/src/a.rs/x", PathKind::Absent),
            ("/w/other", PathKind::Absent),
        ] {
            assert_eq!(setting.kind(&p(path)), kind, "{path}");
        }
    }
}

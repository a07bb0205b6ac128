//! What the host has to look up before a call can be decided.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    AbsPath, Action,
    call::Search,
    facts::{FactsNeeded, TreeNeeded},
    request::Workspace,
    rule::file_of,
    shell::{CommandClass, FileTarget},
};

use super::{
    below, commands, controls, fed, found, globs, listed, repositories, told, trees, ways,
    world::{left_behind, resolve},
};

/// Most paths and most programs that are asked about. What lies beyond is not known, so it is not allowed.
pub const MAX_PATHS: usize = 20_000;

/// Most folders that are looked through for one call.
pub const MAX_TREES: usize = 64;

/// Most folders whose repository is looked up for one call, beside that of the working directory.
pub const MAX_GIT_FOLDERS: usize = 64;

/// Says what the host has to look up before a call can be decided.
#[must_use]
pub fn facts_needed(action: &Action, workspace: &Workspace) -> FactsNeeded {
    let mut needed = Needed::default();
    needed.paths(workspace.roots().cloned());
    needed.paths([workspace.cwd.clone()]);
    needed.paths(workspace.home.clone());
    let named = |text: &String| resolve(workspace, text);
    match action {
        Action::Shell { command } => line(command, workspace, &mut needed),
        Action::Read { path } => needed.named(workspace, path),
        Action::Edit { paths } => paths.iter().for_each(|path| needed.named(workspace, path)),
        Action::Delete { paths } => paths.iter().for_each(|path| {
            needed.named(workspace, path);
            if let Some(folder) = named(path) {
                needed.tree(trees::Wanted { folder, deep: true });
            }
        }),
        Action::Search(Search::Files { path, pattern }) => {
            let base = match path {
                Some(path) => named(path),
                None => Some(workspace.cwd.clone()),
            };
            if let Some((base, pattern)) = base.as_ref().zip(pattern.as_ref()) {
                let fixed: Vec<&str> = pattern
                    .split('/')
                    .take_while(|segment| !segment.contains(['*', '?', '[', '{']))
                    .collect();
                let fixed = fixed.join("/");
                needed.paths(if pattern.starts_with('~') {
                    resolve(workspace, &fixed)
                } else if pattern.starts_with('/') {
                    Some(AbsPath::root().join(&fixed))
                } else {
                    Some(base.join(&fixed))
                });
            }
            needed.paths(base);
            path.iter()
                .for_each(|path| needed.left(left_behind(workspace, path).unwrap_or_default()));
        }
        Action::Fetch { urls } => needed.paths(urls.iter().filter_map(|url| file_behind(url))),
        Action::Browser { url } => needed.paths(url.iter().filter_map(|url| file_behind(url))),
        Action::Mcp { server, tool } => {
            needed.mcp_servers = controls::splits(server, tool)
                .into_iter()
                .map(|(name, _)| name)
                .collect();
        }
        Action::Search(Search::Web { .. })
        | Action::Agent { .. }
        | Action::Skill { .. }
        | Action::LeavePlan
        | Action::Internal
        | Action::Other => {}
    }
    FactsNeeded {
        paths: needed.paths.into_iter().collect(),
        programs: needed.programs.into_iter().collect(),
        trees: needed
            .trees
            .into_iter()
            .map(|(folder, deep)| TreeNeeded { folder, deep })
            .collect(),
        git_folders: needed.git_folders.into_iter().collect(),
        mcp_servers: needed.mcp_servers,
    }
}

/// The file that a `file:` address stands for.
fn file_behind(url: &str) -> Option<AbsPath> {
    file_of(url).map(|path| AbsPath::root().join(&path))
}

#[derive(Default)]
struct Needed {
    paths: BTreeSet<AbsPath>,
    programs: BTreeSet<String>,
    trees: BTreeMap<AbsPath, bool>,
    git_folders: BTreeSet<AbsPath>,
    mcp_servers: Vec<String>,
}

impl Needed {
    fn paths(&mut self, paths: impl IntoIterator<Item = AbsPath>) {
        for path in paths {
            if self.paths.len() >= MAX_PATHS {
                return;
            }
            self.paths.insert(path);
        }
    }

    /// A path in the agent's words, and the folders that it leaves by `..`.
    fn named(&mut self, workspace: &Workspace, text: &str) {
        self.paths(resolve(workspace, text));
        self.left(left_behind(workspace, text).unwrap_or_default());
    }

    /// Whether a folder is a link is seen by where it and the one above it really are.
    fn left(&mut self, folders: Vec<AbsPath>) {
        self.paths(folders.iter().filter_map(AbsPath::parent));
        self.paths(folders);
    }

    fn tree(&mut self, wanted: trees::Wanted) {
        self.paths([wanted.folder.clone()]);
        if self.trees.len() < MAX_TREES || self.trees.contains_key(&wanted.folder) {
            *self.trees.entry(wanted.folder).or_default() |= wanted.deep;
        }
    }
}

fn line(line: &str, workspace: &Workspace, needed: &mut Needed) {
    let analysis = commands::analyse(workspace, Some(workspace.root.clone()), line);
    needed.paths(analysis.goes.values().flatten().cloned());
    let handed_on = fed::changes_what_it_is_fed(&analysis);
    for (index, command) in analysis.commands.iter().enumerate() {
        for folder in repositories::folders(&analysis, index, command, &workspace.cwd).unwrap_or_default() {
            needed.paths([folder.clone()]);
            if folder != workspace.cwd && needed.git_folders.len() < MAX_GIT_FOLDERS {
                needed.git_folders.insert(folder);
            }
        }
        if let Some(program) = command.program() {
            if program.contains('/') {
                needed.paths(resolve(workspace, program));
            } else if needed.programs.len() < MAX_PATHS {
                needed.programs.insert(program.to_owned());
            }
        }
        if command.class == CommandClass::ChangeDirectory {
            needed.paths(ways::folder_of_cd(workspace, command));
        }
        needed.paths(
            command
                .code_operands()
                .into_iter()
                .filter_map(|text| resolve(workspace, text)),
        );
        needed.paths(command.files.iter().filter_map(|access| match &access.target {
            FileTarget::Path(path) => Some(path.clone()),
            FileTarget::Pattern { folder, .. } => Some(folder.clone()),
            FileTarget::Unknown(_) => None,
        }));
        needed.paths(command.named.iter().filter_map(|named| match &named.target {
            FileTarget::Path(path) => Some(path.clone()),
            FileTarget::Pattern { .. } | FileTarget::Unknown(_) => None,
        }));
        for named in &command.named {
            needed.left(named.through.clone().unwrap_or_default());
        }
        for access in &command.files {
            needed.left(access.through.clone().unwrap_or_default());
        }
        let read = trees::wanted(command, |text| resolve(workspace, text));
        let all = read.into_iter().chain(globs::written(command));
        let found = found::wanted(command, handed_on, |text| resolve(workspace, text));
        let listed = listed::wanted(&analysis, index, command, &workspace.cwd);
        for wanted in all.chain(below::wanted(command)).chain(found).chain(listed) {
            needed.tree(wanted);
        }
        for (_, path) in told::patched(line, command) {
            needed.named(workspace, path);
        }
        // An address of a file is read like one.
        needed.paths(command.urls.iter().filter_map(|url| file_behind(url)));
    }
}

//! Globs that are written to: `sed -i … src/*.ts`.
//!
//! Which files they are is only known when the line runs, and a link among them may lead outside the workspace. The host
//! says which links and folders stand where the names are; where none of them is met, what is written stays inside.

use crate::{
    AbsPath,
    path::plain::{self, Token},
    shell::{Access, Analysis, Command, FileTarget},
};

use super::{
    trees::{MAX_EXPANDED, Wanted},
    world::World,
};

/// The folders in which a command writes to names that a pattern of the shell stands for.
pub(super) fn written(command: &Command) -> Vec<Wanted> {
    let writes = command.files.iter().filter(|access| access.access == Access::Write);
    let wanted = writes.filter_map(|access| match &access.target {
        FileTarget::Pattern { folder, .. } => Some(Wanted {
            folder: folder.clone(),
            deep: false,
        }),
        FileTarget::Path(_) | FileTarget::Unknown(_) => None,
    });
    wanted.collect()
}

/// Programs that make no links: they change what is in a file, or make or remove one.
const LINKLESS: &[&str] = &["mkdir", "rm", "rmdir", "sed", "tee", "touch"];

/// Whether a line may put a link into a folder before a command of it writes to names there.
pub(super) fn brings_names(analysis: &Analysis, index: usize, folder: &AbsPath) -> bool {
    let commands = analysis.commands.iter().enumerate().filter(|(at, command)| {
        let program = command.program().unwrap_or_default();
        // A file that is moved to a name replaces what is there.
        !(LINKLESS.contains(&program) || (*at == index && program == "mv"))
    });
    let mut written = commands.flat_map(|(_, command)| {
        let files = command.files.iter();
        files.filter(|access| access.access == Access::Write && !access.redirection)
    });
    written.any(|access| match &access.target {
        FileTarget::Path(path) => folder.is_within(path) || path.parent().as_ref() == Some(folder),
        FileTarget::Pattern { folder: other, .. } => folder.is_within(other),
        FileTarget::Unknown(_) => true,
    })
}

/// The pattern for names directly in the folder, if it is one.
fn last_name(folder: &AbsPath, pattern: &str) -> Option<Vec<Token>> {
    let rest = pattern.strip_prefix(folder.as_str())?.trim_start_matches('/');
    match plain::parse(rest).as_slice() {
        [plain::Segment::One(tokens)] => Some(tokens.clone()),
        _ => None,
    }
}

impl World<'_> {
    /// Whether what a pattern stands for is no link, and no folder that something could be put into: what is written to it
    /// stays where the pattern says. A link that leads nowhere, which a write would make a file of, is a link, too.
    pub(super) fn writes_no_link(&self, folder: &AbsPath, pattern: &str) -> bool {
        let tree = self.request.facts.trees.get(folder).filter(|tree| tree.complete);
        let (Some(tree), Some(tokens)) = (tree, last_name(folder, pattern)) else {
            // Below further folders, none may be there at all.
            return false;
        };
        if tree.links.len() + tree.folders.len() > MAX_EXPANDED {
            return false;
        }
        let met = |name: &str| plain::segment_meets(&name.chars().map(Token::Char).collect::<Vec<_>>(), &tokens);
        let links = tree.links.keys().map(AbsPath::file_name);
        !tree.folders.iter().map(String::as_str).chain(links).any(met)
    }
}

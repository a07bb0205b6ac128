//! Where the changes of folder of a line lead, in the order of their commands.
//!
//! It follows the words of each `cd` as if it succeeds; what else may be, the analysis says ([`Analysis::goes`]). It looks at no
//! file.

use std::{collections::HashMap, ops::Deref};

use crate::{
    AbsPath,
    request::Workspace,
    shell::{Access, Analysis, Command, CommandClass, FileAccess, FileTarget, Word},
};

use super::{
    texts::{LEAST_ROOM, ROOM},
    world::resolve,
};

/// The longest path that is followed, in bytes: Linux refuses longer ones (`PATH_MAX`).
const MAX_PATH: usize = 4096;

/// A line's analysis, with where each `cd` leads. All of them are found in one pass: a line may have thousands.
pub(super) struct Judged {
    analysis: Analysis,
    led: HashMap<usize, AbsPath>,
    end: End,
}

/// Where a line ends.
enum End {
    /// Where it began.
    Same,
    At(AbsPath),
    Unknown,
}

impl Judged {
    pub(super) fn of(analysis: Analysis, workspace: &Workspace) -> Self {
        // Most lines stay where they are.
        if !analysis.commands.iter().any(changes_folder) {
            let (led, end) = (HashMap::new(), End::Same);
            return Self { analysis, led, end };
        }
        let mut here = workspace.clone();
        let mut led = HashMap::new();
        let (mut known, mut all_known) = (true, true);
        for (index, command) in analysis.commands.iter().enumerate() {
            if !known || !changes_folder(command) {
                continue;
            }
            // Where it surely leads, or by its words.
            let sure = match analysis.goes.get(&index).map(Vec::as_slice) {
                Some([folder]) => Some(folder.clone()),
                _ => None,
            };
            let goes = sure.is_some() || command.program() == Some("cd");
            match sure.or_else(|| followed(&here, command)) {
                Some(folder) => {
                    led.insert(index, folder.clone());
                    all_known &= goes;
                    if goes {
                        here.cwd = folder;
                    }
                }
                None => {
                    all_known = false;
                    known &= !goes;
                }
            }
        }
        let end = if all_known { End::At(here.cwd) } else { End::Unknown };
        Self { analysis, led, end }
    }

    /// How much room the spellings of one of its commands have, in bytes.
    pub(super) fn room(&self) -> usize {
        (ROOM / self.analysis.commands.len().max(1)).max(LEAST_ROOM)
    }

    /// Where a `cd` leads after those before it: `cd src && ls && cd ..` comes back. `None` if that, or where one before it
    /// leads, is not known.
    pub(super) fn folder_after(&self, index: usize) -> Option<&AbsPath> {
        self.led.get(&index)
    }

    /// Where the changes of folder of the line lead, if all are known.
    pub(super) fn folder_at_the_end<'a>(&'a self, workspace: &'a Workspace) -> Option<&'a AbsPath> {
        match &self.end {
            End::Same => Some(&workspace.cwd),
            End::At(folder) => Some(folder),
            End::Unknown => None,
        }
    }
}

impl Deref for Judged {
    type Target = Analysis;

    fn deref(&self) -> &Analysis {
        &self.analysis
    }
}

fn changes_folder(command: &Command) -> bool {
    command.class == CommandClass::ChangeDirectory
}

fn followed(here: &Workspace, command: &Command) -> Option<AbsPath> {
    folder_of_cd(here, command).filter(|folder| folder.as_str().len() <= MAX_PATH)
}

/// Where a `cd` leads, if that is known: by its words, with `$HOME` read as the home folder.
pub(super) fn folder_of_cd(workspace: &crate::request::Workspace, command: &Command) -> Option<AbsPath> {
    let goes = |access: &&FileAccess| !access.redirection && access.access == Access::Read;
    if let Some(FileTarget::Path(path)) = command.files.iter().find(goes).map(|access| &access.target) {
        return Some(path.clone());
    }
    match command.words.get(1) {
        None => workspace.home.clone().filter(|_| command.program() != Some("popd")),
        // Where it came from.
        Some(Word::Literal(text)) if text == "-" => None,
        Some(Word::Literal(text)) => resolve(workspace, text),
        Some(Word::Dynamic { source, .. }) => {
            let source = source.trim_matches('"');
            let rest = ["${HOME}", "$HOME"].iter().find_map(|home| source.strip_prefix(home))?;
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
            let whole = rest.is_empty() || rest.starts_with('/');
            (whole && rest.chars().all(plain))
                .then(|| Some(workspace.home.as_ref()?.join(rest.trim_start_matches('/'))))
                .flatten()
        }
    }
}

//! The question: who wants to do what, where, under which facts.

use crate::{AbsPath, Facts, Mode, ToolCall, mode::Session};

/// One request for a decision.
#[derive(Clone, Debug)]
pub struct Request {
    /// Short name of the agent in lower case.
    pub agent: String,
    /// Its run mode.
    pub mode: Mode,
    /// Whether a person can be asked.
    pub interactivity: Interactivity,
    /// Where it works.
    pub workspace: Workspace,
    /// What it wants to do.
    pub call: ToolCall,
    /// What the host found out.
    pub facts: Facts,
    /// What is known about its session.
    pub session: Session,
    /// The command is to be run by the host's daemon, in its sandbox.
    pub sandboxed_execution: bool,
}

impl Request {
    /// What is added to the reason of a question where nobody can be asked: it is a deny then.
    pub const NOBODY: &str = "; nobody can be asked, so it is denied";

    /// Whether nobody can be asked: nobody is there, or the mode asks nobody.
    #[must_use]
    pub fn nobody_can_be_asked(&self) -> bool {
        self.interactivity == Interactivity::Headless || self.mode == Mode::DontAsk
    }
}

/// Whether a person can be asked. Unknown counts as [`Interactivity::Interactive`], except in `dontAsk`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Interactivity {
    /// A person is there.
    #[default]
    Interactive,
    /// Nobody is: an ask becomes a deny.
    Headless,
}

/// Where the agent works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The project's root.
    pub root: AbsPath,
    /// Further folders that belong to the workspace.
    pub additional_roots: Vec<AbsPath>,
    /// The working directory of the call.
    pub cwd: AbsPath,
    /// The person's home folder.
    pub home: Option<AbsPath>,
}

impl Workspace {
    /// All folders of the workspace, the project's root first.
    pub fn roots(&self) -> impl Iterator<Item = &AbsPath> {
        std::iter::once(&self.root).chain(&self.additional_roots)
    }

    /// Whether a path lies in the workspace, by its words alone.
    #[must_use]
    pub fn contains(&self, path: &AbsPath) -> bool {
        self.roots().any(|root| path.is_within(root))
    }
}

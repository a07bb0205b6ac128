//! What each mode says to each class of action where no rule speaks: the table, as data.
//!
//! A change here is a reviewed change of `tests/mode_matrix.txt`, with which a test compares the printed table.

use std::fmt::{self, Write as _};

use super::Mode;
use crate::Verdict;

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A class of action that a mode has an answer for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ActionClass {
            $($(#[$doc])* $name,)*
        }

        impl ActionClass {
            /// All classes.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

classes! {
    /// Reading, searching, listing inside the workspace.
    ReadInside,
    /// A command known to look only. The files that it looks at are judged by themselves.
    ReadOnlyCommand,
    /// Reading outside the workspace.
    ReadOutside,
    /// Reading keys, passwords or tokens outside the workspace, or what may be such a file.
    ReadCredential,
    /// Creating, changing, deleting files inside the workspace.
    EditInside,
    /// The same outside.
    EditOutside,
    /// A change of a protected path, or of Portcullis itself.
    Protected,
    /// Deleting a critical path.
    Critical,
    /// A command known to do nothing but change files. The files are judged by themselves.
    FileCommand,
    /// Any other shell command.
    OtherCommand,
    /// A part of a shell line that could not be understood.
    OpaqueCommand,
    /// A part of a shell line that runs no program.
    NoProgram,
    /// A tool of an MCP server.
    McpTool,
    /// Fetching from the network; driving a browser.
    Fetch,
    /// Searching the web.
    WebSearch,
    /// Starting another agent, whose calls are judged one by one.
    StartAgent,
    /// Running a skill of a trusted project.
    RunSkill,
    /// What stays within the agent.
    Internal,
    /// Leaving plan mode.
    LeavePlan,
    /// A tool we do not know.
    UnknownTool,
}

/// What a mode says by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It may run.
    Allow,
    /// A person has to say yes.
    Ask,
    /// It must not run.
    Deny,
    /// A classifier says; without one a person.
    Classifier,
    /// It may run in the sandbox; where it cannot, the classifier says.
    SandboxElseClassifier,
    /// It may run in the sandbox; where it cannot, a person has to say yes.
    SandboxElseAsk,
}

impl Answer {
    /// What holds as long as no sandbox was offered and no classifier has spoken.
    #[must_use]
    pub fn alone(self) -> Verdict {
        match self {
            Self::Allow => Verdict::Allow,
            Self::Ask | Self::Classifier | Self::SandboxElseClassifier | Self::SandboxElseAsk => Verdict::Ask,
            Self::Deny => Verdict::Deny,
        }
    }

    /// Whether it may run in the sandbox instead of being asked for.
    #[must_use]
    pub fn tries_sandbox(self) -> bool {
        matches!(self, Self::SandboxElseClassifier | Self::SandboxElseAsk)
    }

    /// Whether a classifier is asked.
    #[must_use]
    pub fn asks_classifier(self) -> bool {
        matches!(self, Self::Classifier | Self::SandboxElseClassifier)
    }
}

const A: Answer = Answer::Allow;
const Q: Answer = Answer::Ask;
const X: Answer = Answer::Deny;
const C: Answer = Answer::Classifier;
const SC: Answer = Answer::SandboxElseClassifier;
const SQ: Answer = Answer::SandboxElseAsk;

/// A row per class; columns in the order of [`Mode::ALL`]: default, acceptEdits, plan, auto, dontAsk, bypass; auto-review,
/// allowlist, allowlist-sandbox, run-everything.
#[rustfmt::skip]
const MATRIX: [(ActionClass, [Answer; 10]); 20] = [
    (ActionClass::ReadInside,      [A, A, A, A, A, A, /* Cursor */ A,  A, A,  A]),
    // In the allowlist modes a command needs an entry, be it one that only looks.
    (ActionClass::ReadOnlyCommand, [A, A, A, A, A, A, /* Cursor */ A,  Q, SQ, A]),
    (ActionClass::ReadOutside,     [Q, Q, Q, C, X, A, /* Cursor */ A,  A, A,  A]),
    (ActionClass::ReadCredential,  [Q, Q, Q, C, X, A, /* Cursor */ Q,  Q, Q,  Q]),
    (ActionClass::EditInside,      [Q, A, X, C, X, A, /* Cursor */ A,  A, A,  A]),
    // In Cursor's modes external-file protection, on by default, turns these allows into asks.
    (ActionClass::EditOutside,     [Q, Q, X, C, X, A, /* Cursor */ C,  A, A,  A]),
    (ActionClass::Protected,       [Q, Q, X, Q, X, Q, /* Cursor */ Q,  Q, Q,  Q]),
    (ActionClass::Critical,        [Q, Q, X, Q, X, Q, /* Cursor */ Q,  Q, Q,  Q]),
    (ActionClass::FileCommand,     [Q, A, X, C, X, A, /* Cursor */ SC, Q, SQ, A]),
    (ActionClass::OtherCommand,    [Q, Q, X, C, X, A, /* Cursor */ SC, Q, SQ, A]),
    // Where everything runs only while no rule on commands could be hidden in it: see the evaluator.
    (ActionClass::OpaqueCommand,   [Q, Q, X, C, X, A, /* Cursor */ C,  Q, Q,  A]),
    (ActionClass::NoProgram,       [A, A, A, A, A, A, /* Cursor */ A,  A, A,  A]),
    (ActionClass::McpTool,         [Q, Q, X, C, X, A, /* Cursor */ C,  Q, Q,  A]),
    (ActionClass::Fetch,           [Q, Q, X, C, X, A, /* Cursor */ C,  Q, Q,  A]),
    (ActionClass::WebSearch,       [Q, Q, Q, C, X, A, /* Cursor */ A,  A, A,  A]),
    (ActionClass::StartAgent,      [A, A, A, A, A, A, /* Cursor */ A,  A, A,  A]),
    (ActionClass::RunSkill,        [A, A, A, A, A, A, /* Cursor */ A,  A, A,  A]),
    (ActionClass::Internal,        [A, A, A, A, A, A, /* Cursor */ A,  A, A,  A]),
    (ActionClass::LeavePlan,       [Q, Q, Q, Q, X, Q, /* Cursor */ Q,  Q, Q,  Q]),
    // Not knowing is never allow, in no mode, and no classifier knows more.
    (ActionClass::UnknownTool,     [Q, Q, X, Q, X, Q, /* Cursor */ Q,  Q, Q,  Q]),
];

impl Mode {
    /// What the mode says to a class of action, where no rule speaks.
    #[must_use]
    pub fn answer(self, class: ActionClass) -> Answer {
        let column = Self::ALL.iter().position(|mode| *mode == self);
        MATRIX
            .iter()
            .find(|(row, _)| *row == class)
            .zip(column)
            .and_then(|((_, answers), column)| answers.get(column))
            .copied()
            // INVARIANT: every class has a row (a test counts them); without one the answer is not allow.
            .unwrap_or(Answer::Ask)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Classifier => "classifier",
            Self::SandboxElseClassifier => "sandbox|classifier",
            Self::SandboxElseAsk => "sandbox|ask",
        })
    }
}

/// The whole table as text.
#[must_use]
pub fn print_matrix() -> String {
    let head = std::iter::once(String::new()).chain(Mode::ALL.map(|mode| mode.to_string()));
    let body = MATRIX.iter().map(|(class, answers)| {
        let answers = answers.iter().map(Answer::to_string);
        std::iter::once(format!("{class:?}")).chain(answers).collect()
    });
    let rows: Vec<Vec<String>> = std::iter::once(head.collect()).chain(body).collect();
    let widest = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max();
    let mut out = String::new();
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            let width = widest(column).unwrap_or_default() + 2;
            let _ = write!(out, "{cell:<width$}");
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

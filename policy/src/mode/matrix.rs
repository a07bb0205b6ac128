//! What each mode says to each class of action where no rule speaks: the table, as data.
//!
//! A change here is a reviewed change of `tests/mode_matrix.txt`, with which a test compares the printed table.

use std::fmt::{self, Write as _};

use super::Mode;
use crate::Verdict;

/// A class of action that a mode has an answer for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActionClass {
    /// Reading, searching, listing inside the workspace.
    ReadInside,
    /// A command known to look only, at files inside the workspace.
    ReadOnlyCommand,
    /// Reading outside the workspace.
    ReadOutside,
    /// Creating, changing, deleting files inside the workspace.
    EditInside,
    /// The same outside.
    EditOutside,
    /// A change of a protected path, or of Portcullis itself.
    Protected,
    /// Deleting a critical path.
    Critical,
    /// Any other shell command.
    OtherCommand,
    /// A part of a shell line that could not be understood.
    OpaqueCommand,
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
}

impl From<Answer> for Verdict {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Allow => Self::Allow,
            Answer::Ask => Self::Ask,
            Answer::Deny => Self::Deny,
        }
    }
}

const A: Answer = Answer::Allow;
const Q: Answer = Answer::Ask;
const X: Answer = Answer::Deny;

/// A row per class; columns in the order of [`Mode::ALL`]: default, acceptEdits, plan, dontAsk, bypass.
const MATRIX: [(ActionClass, [Answer; 5]); 17] = [
    (ActionClass::ReadInside, [A, A, A, A, A]),
    (ActionClass::ReadOnlyCommand, [A, A, A, A, A]),
    (ActionClass::ReadOutside, [Q, Q, Q, X, A]),
    (ActionClass::EditInside, [Q, A, X, X, A]),
    (ActionClass::EditOutside, [Q, Q, X, X, A]),
    (ActionClass::Protected, [Q, Q, X, X, Q]),
    (ActionClass::Critical, [Q, Q, X, X, Q]),
    (ActionClass::OtherCommand, [Q, Q, X, X, A]),
    // In bypass mode only while no rule on commands could be hidden in it: see the evaluator.
    (ActionClass::OpaqueCommand, [Q, Q, X, X, A]),
    (ActionClass::McpTool, [Q, Q, X, X, A]),
    (ActionClass::Fetch, [Q, Q, X, X, A]),
    (ActionClass::WebSearch, [Q, Q, Q, X, A]),
    (ActionClass::StartAgent, [A, A, A, A, A]),
    (ActionClass::RunSkill, [A, A, A, A, A]),
    (ActionClass::Internal, [A, A, A, A, A]),
    (ActionClass::LeavePlan, [Q, Q, Q, X, Q]),
    // Not knowing is never allow, in no mode.
    (ActionClass::UnknownTool, [Q, Q, X, X, Q]),
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
        Verdict::from(*self).fmt(f)
    }
}

/// The whole table as text.
#[must_use]
pub fn print_matrix() -> String {
    let mut out = format!("{:<18}", "");
    for mode in Mode::ALL {
        let _ = write!(out, "{:<13}", mode.to_string());
    }
    for (class, answers) in MATRIX {
        out.truncate(out.trim_end().len());
        let _ = write!(out, "\n{:<18}", format!("{class:?}"));
        for answer in answers {
            let _ = write!(out, "{:<13}", answer.to_string());
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

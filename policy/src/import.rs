//! Reads other agents' permission files: what they mean here, and what becomes of each entry.
//!
//! Two uses, one reading. The host reads the files of the agents on it live, as layers beside ours ([`Imported::document`]);
//! a team makes a draft of its policy from them ([`Imported::native`], which decides the same). Nothing is dropped in
//! silence: every entry has a [`Note`] in the report.
//!
//! Where our rules can say what an entry means to its owner, they say exactly that. Where they cannot, or where the owner's
//! own reading is in doubt, the file is never read as more permissive: an allow is left out, a deny is kept, and kept wide.
//!
//! Importing is a total function of the text: any text gives an answer, in time linear in its length. It reads no file;
//! whether a file may be believed (its place, its owner, trust in its project) is for its reader to know.

mod claude;
mod codex;
mod cursor;
mod draft;
mod gemini;
mod json;
mod starlark;
mod toml;

use std::ops::Range;

use crate::{DocumentOrigin, Fault, Mode, PolicyDocument};

/// A format of permission files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Claude Code: `settings.json`, `settings.local.json`, `managed-settings.json`.
    ClaudeSettings,
    /// Cusp: `settings.json`.
    Cusp,
    /// Cursor's command line: `cli-config.json` of the user, `cli.json` of a project.
    CursorCli,
    /// Cursor's editor: `permissions.json` of the user or a project.
    CursorDesktop,
    /// Codex: `*.rules`.
    CodexRules,
    /// Codex: `config.toml`.
    CodexConfig,
    /// Codex: `requirements.toml` of the organisation.
    CodexRequirements,
    /// Gemini CLI: `policies/*.toml`.
    GeminiPolicy,
    /// Gemini CLI: `settings.json`.
    GeminiSettings,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 9] = [
        Self::ClaudeSettings,
        Self::Cusp,
        Self::CursorCli,
        Self::CursorDesktop,
        Self::CodexRules,
        Self::CodexConfig,
        Self::CodexRequirements,
        Self::GeminiPolicy,
        Self::GeminiSettings,
    ];

    /// Its word on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ClaudeSettings => "claude",
            Self::Cusp => "cusp",
            Self::CursorCli => "cursor-cli",
            Self::CursorDesktop => "cursor-desktop",
            Self::CodexRules => "codex-rules",
            Self::CodexConfig => "codex-config",
            Self::CodexRequirements => "codex-requirements",
            Self::GeminiPolicy => "gemini-policy",
            Self::GeminiSettings => "gemini-settings",
        }
    }

    /// The format that a word names.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.word() == word)
    }

    /// Whose format it is, for people.
    #[must_use]
    pub fn owner(self) -> &'static str {
        match self {
            Self::ClaudeSettings => "Claude Code",
            Self::Cusp => "Cusp",
            Self::CursorCli => "Cursor's command line",
            Self::CursorDesktop => "Cursor",
            Self::CodexRules | Self::CodexConfig | Self::CodexRequirements => "Codex",
            Self::GeminiPolicy | Self::GeminiSettings => "Gemini CLI",
        }
    }

    /// The format of a file, where its path leaves no doubt.
    #[must_use]
    pub fn guess(path: &str) -> Option<Self> {
        let (folders, name) = path.rsplit_once(['/', '\\']).unwrap_or(("", path));
        let mut above = folders.rsplit(['/', '\\']);
        let folder = above.next().unwrap_or_default();
        let further = above.next().unwrap_or_default();
        match (folder, name) {
            (_, "managed-settings.json") | (".claude", "settings.json" | "settings.local.json") => {
                Some(Self::ClaudeSettings)
            }
            ("managed-settings.d", name) if name.ends_with(".json") => Some(Self::ClaudeSettings),
            (".cusp", "settings.json" | "settings.local.json") => Some(Self::Cusp),
            (_, "cli-config.json") | (".cursor", "cli.json") => Some(Self::CursorCli),
            (".cursor", "permissions.json") => Some(Self::CursorDesktop),
            (_, name) if name.ends_with(".rules") => Some(Self::CodexRules),
            (".codex" | "codex", "config.toml") => Some(Self::CodexConfig),
            (".codex" | "codex", "requirements.toml") => Some(Self::CodexRequirements),
            (".gemini" | "gemini-cli", "settings.json") => Some(Self::GeminiSettings),
            ("policies", name) if name.ends_with(".toml") && matches!(further, ".gemini" | "gemini-cli") => {
                Some(Self::GeminiPolicy)
            }
            _ => None,
        }
    }
}

/// What a permission file means here.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Its rules and settings, ready to be merged. Their places are those of the file's own entries.
    pub document: PolicyDocument,
    /// A document of ours that says the same.
    pub native: String,
    /// The run mode that the file selects for sessions of its agent, where it selects one. It is no part of the document,
    /// because there it would hold for the calls of other agents, too.
    pub mode: Option<Mode>,
    /// The run modes that the file forbids to sessions of its agent, beside the document for the same reason.
    pub forbidden_modes: Vec<Mode>,
    /// If an enterprise installed the file, its agent heeds allow rules of no other.
    pub installed_rules_only: bool,
    /// What became of each entry, in the order of the text.
    pub report: Vec<Note>,
}

impl Imported {
    /// What of the file could not be read. Not empty means [`Self::is_broken`].
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.report
            .iter()
            .filter_map(|note| match &note.outcome {
                Outcome::Fault { why } => Some(Fault {
                    span: note.span.clone(),
                    line: note.line,
                    column: note.column,
                    message: why.clone(),
                    hint: None,
                }),
                Outcome::Kept | Outcome::Translated { .. } | Outcome::NotExpressible { .. } => None,
            })
            .collect()
    }

    /// Whether the file, or one of its parts, could not be read: then it may lack a denial, and whoever reads it live
    /// should allow nothing by itself. The document holds no allow of a part that could not be read.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.report
            .iter()
            .any(|note| matches!(note.outcome, Outcome::Fault { .. }))
    }
}

/// What became of one entry of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its bytes.
    pub span: Range<usize>,
    /// Line of its beginning, counted from 1.
    pub line: u32,
    /// Column of its beginning in characters, counted from 1.
    pub column: u32,
    /// The entry, shortened where it is long.
    pub text: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It stands in the native document as it is, and means the same.
    Kept,
    /// It stands there in other words.
    Translated {
        /// In which, and what differs if something does.
        how: String,
    },
    /// It does not stand there.
    NotExpressible {
        /// Why.
        why: String,
    },
    /// It could not be read.
    Fault {
        /// Why.
        why: String,
    },
}

impl Outcome {
    /// Its word for people and programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Translated { .. } => "translated",
            Self::NotExpressible { .. } => "not expressible",
            Self::Fault { .. } => "fault",
        }
    }

    /// How, or why.
    #[must_use]
    pub fn detail(&self) -> &str {
        match self {
            Self::Kept => "",
            Self::Translated { how } => how,
            Self::NotExpressible { why } | Self::Fault { why } => why,
        }
    }
}

/// Largest text that is read, in bytes: agents keep more than rules in these files.
pub const MAX_BYTES: usize = 1 << 20;

/// Reads a permission file. `origin` says where it stands: its layer, its name, and the folder of its project or user.
#[must_use]
pub fn import(format: Format, text: &str, origin: DocumentOrigin) -> Imported {
    let mut draft = draft::Draft::new(format, text, origin);
    if text.len() > MAX_BYTES {
        draft.fault(0..0, "", format!("the file is larger than {} MiB", MAX_BYTES >> 20));
        return draft.finish();
    }
    // Whether its owner reads such a file is not known, and what reads it in another way could find other rules in it.
    if let Some(at) = text.find('\0') {
        draft.fault(at..at + 1, "", "the file holds a NUL byte");
        return draft.finish();
    }
    if text.starts_with(crate::document::scan::BYTE_ORDER_MARK) {
        let why = "the file begins with a byte order mark; save it as UTF-8 without one";
        draft.fault(0..crate::document::scan::BYTE_ORDER_MARK.len_utf8(), "", why);
        return draft.finish();
    }
    match format {
        Format::ClaudeSettings | Format::Cusp => claude::settings(&mut draft),
        Format::CodexRules => codex::rules(&mut draft),
        Format::CodexConfig => codex::config(&mut draft),
        Format::CodexRequirements => codex::requirements(&mut draft),
        Format::GeminiPolicy => gemini::policy(&mut draft),
        Format::GeminiSettings => gemini::settings(&mut draft),
        Format::CursorCli => cursor::command_line(&mut draft),
        Format::CursorDesktop => cursor::desktop(&mut draft),
    }
    draft.finish()
}

#[cfg(test)]
mod tests;

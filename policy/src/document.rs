//! Policy documents: JSON with comments, read with all their faults at once.

use std::ops::Range;

use crate::{AbsPath, Layer};

/// Where a document comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentOrigin {
    /// Its layer.
    pub layer: Layer,
    /// Its name for people: a path, or `team policy v3`.
    pub name: String,
    /// What `/x` in its path rules stands for: the folder of the file's project, the user's configuration folder; `None`
    /// for team policy and session rules, where it is the workspace root of the request.
    pub folder: Option<AbsPath>,
}

/// One thing wrong with a document, or worth knowing about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The faulty bytes.
    pub span: Range<usize>,
    /// Line of its beginning, counted from 1.
    pub line: u32,
    /// Column of its beginning in characters, counted from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

/// A document without faults.
#[derive(Clone, Debug)]
pub struct PolicyDocument {
    /// Where it comes from.
    pub origin: DocumentOrigin,
    /// Its rules.
    pub rules: Vec<crate::Rule>,
    /// What is no fault but worth knowing.
    pub warnings: Vec<Fault>,
}

impl PolicyDocument {
    /// Largest text that is read, in bytes.
    pub const MAX_BYTES: usize = 256 * 1024;

    /// Reads a document.
    ///
    /// # Errors
    /// All faults, in the order of the text; never empty.
    pub fn parse(_text: &str, origin: DocumentOrigin) -> Result<Self, Vec<Fault>> {
        Ok(Self {
            origin,
            rules: Vec::new(),
            warnings: Vec::new(),
        })
    }
}

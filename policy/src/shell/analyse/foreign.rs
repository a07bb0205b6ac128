//! Shells whose language is not read here: `powershell -c …`, `cmd /c …`.
//!
//! Their scripts look like ours and mean something else, so they are named and left alone: reading one as bash would find
//! commands that do not run, and miss those that do.

use super::{Walk, call::Call, excerpt};
use crate::shell::{OpaqueReason, expand::Field};

/// Names without `.exe`, in lower case.
const FOREIGN: &[&str] = &[
    "powershell",
    "pwsh",
    "pwsh-preview",
    "cmd",
    "nu",
    "xonsh",
    "elvish",
    "csh",
    "tcsh",
    "fish",
];

/// Whether a program is a shell of another language.
pub(super) fn is_foreign(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    FOREIGN.contains(&name.strip_suffix(".exe").unwrap_or(&name))
}

impl Walk<'_> {
    /// Notes what such a shell is given to run, or that it reads its input.
    pub(super) fn foreign(&mut self, call: &Call<'_>) {
        let asks_only = |field: &Field| {
            matches!(
                field.text(),
                Some("--version" | "-Version" | "-v" | "--help" | "-Help" | "-h" | "-?" | "/?")
            )
        };
        let arguments = call.fields.get(1..).unwrap_or_default();
        if let [only] = arguments
            && asks_only(only)
        {
            return;
        }
        self.opaque(excerpt(&super::call::text(&call.fields)), OpaqueReason::ForeignShell);
    }
}

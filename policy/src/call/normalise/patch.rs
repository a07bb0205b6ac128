//! File names in a patch of Codex' `apply_patch`, which has them nowhere else.
//!
//! It looks for the headers and not for the grammar around them, because a name too many is harmless and one too few is
//! not: leading blanks are forgiven, as Codex forgives them.

use crate::call::Action;

/// What the patch changes. A header that is not known here makes it unknown as a whole.
pub(super) fn action(patch: &str) -> Result<Action, &'static str> {
    let mut paths: Vec<String> = Vec::new();
    let mut only_deletes = true;
    for line in patch.lines() {
        let header = line.trim();
        let changed = ["*** Add File:", "*** Update File:", "*** Move to:"]
            .iter()
            .find_map(|head| header.strip_prefix(head));
        let deleted = header.strip_prefix("*** Delete File:");
        let Some(path) = changed.or(deleted) else {
            if line.starts_with("***") && !is_border(header) {
                return Ok(Action::Other);
            }
            continue;
        };
        only_deletes &= changed.is_none();
        let path = path.trim();
        if path.is_empty() {
            return Err("has a header without a file name");
        }
        if !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
    }
    match (paths.is_empty(), only_deletes) {
        (true, _) => Err("names no file"),
        (false, true) => Ok(Action::Delete { paths }),
        (false, false) => Ok(Action::Edit { paths }),
    }
}

/// Lines that belong to the form of a patch and name nothing.
fn is_border(header: &str) -> bool {
    ["*** Begin Patch", "*** End Patch", "*** End of File"].contains(&header)
}

//! Checks of single fields: length, count, form. Each error names its field.
//!
//! It knows nothing of what the fields are for.

use portcullis_policy::AbsPath;

use super::InvalidMessage;

/// Longest path of a workspace, in bytes: what the Linux kernel takes.
pub(super) const MAX_PATH: usize = 4096;

/// A text of at most `max` bytes without control characters; may be empty.
pub(super) fn text(field: &str, value: &str, max: usize) -> Result<(), InvalidMessage> {
    length(field, value, max)?;
    if value.chars().any(char::is_control) {
        return Err(InvalidMessage::new(field, "holds a control character"));
    }
    Ok(())
}

/// The same, not empty.
pub(super) fn name(field: &str, value: &str, max: usize) -> Result<(), InvalidMessage> {
    if value.is_empty() {
        return Err(InvalidMessage::new(field, "is empty"));
    }
    text(field, value, max)
}

/// A text of at most `max` bytes.
pub(super) fn length(field: &str, value: &str, max: usize) -> Result<(), InvalidMessage> {
    if value.len() > max {
        let fault = format!("is {} bytes long; at most {max} are read", value.len());
        return Err(InvalidMessage::new(field, fault));
    }
    Ok(())
}

/// A list of at most `max` entries.
pub(super) fn count<T>(field: &str, list: &[T], max: usize) -> Result<(), InvalidMessage> {
    if list.len() > max {
        let fault = format!("has {} entries; at most {max} are read", list.len());
        return Err(InvalidMessage::new(field, fault));
    }
    Ok(())
}

/// An absolute path of at most `max` bytes.
pub(super) fn path(field: &str, value: &str, max: usize) -> Result<AbsPath, InvalidMessage> {
    length(field, value, max)?;
    if value.is_empty() {
        return Err(InvalidMessage::new(field, "is missing; an absolute path is needed"));
    }
    AbsPath::parse(value).map_err(|_| {
        let fault = if value.contains('\0') {
            "holds a NUL"
        } else {
            "is not an absolute path"
        };
        InvalidMessage::new(field, fault)
    })
}

/// A path that may be left out.
pub(super) fn optional_path(field: &str, value: &str, max: usize) -> Result<Option<AbsPath>, InvalidMessage> {
    if value.is_empty() {
        return Ok(None);
    }
    path(field, value, max).map(Some)
}

/// Every path of a list.
pub(super) fn paths(field: &str, values: &[String], most: usize, max: usize) -> Result<Vec<AbsPath>, InvalidMessage> {
    count(field, values, most)?;
    values
        .iter()
        .enumerate()
        .map(|(at, value)| path(&format!("{field}[{at}]"), value, max))
        .collect()
}

/// A message that must be there.
pub(super) fn present<T>(field: &str, value: Option<T>) -> Result<T, InvalidMessage> {
    value.ok_or_else(|| InvalidMessage::new(field, "is missing"))
}

//! Places in a text, and their replacement by marks.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

/// A place that holds a secret, and its kind.
pub(super) type Span = (Range<usize>, &'static str);

/// Every kind of secret. A mark of another kind is no mark: else a secret could hide in one.
pub(super) const KINDS: &[&str] = &[
    "api-key",
    "authorization",
    "aws-key",
    "azure-key",
    "cookie",
    "github-token",
    "gitlab-token",
    "google-key",
    "huggingface-token",
    "jwt",
    "nested",
    "npm-token",
    "password",
    "portcullis-token",
    "private-key",
    "pypi-token",
    "secret",
    "slack-token",
    "stripe-key",
    "text",
    "token",
    "webhook",
];

/// What stands in the place of a secret.
pub(super) fn mark(kind: &str) -> String {
    format!("[redacted:{kind}]")
}

/// The marks that stand in a text already, in its order.
fn marks(text: &str) -> Vec<Range<usize>> {
    static MARK: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!(r"\[redacted:(?:{})\]", KINDS.join("|"))).ok());
    match &*MARK {
        Some(mark) if text.contains("[redacted:") => mark.find_iter(text).map(|found| found.range()).collect(),
        _ => Vec::new(),
    }
}

/// Whether a text is one mark and nothing else.
pub(super) fn is_mark(text: &str) -> bool {
    let kind = text.strip_prefix("[redacted:").and_then(|rest| rest.strip_suffix(']'));
    kind.is_some_and(|kind| KINDS.contains(&kind))
}

/// The text with marks in these places; `None` if nothing changes. Places that overlap become one, under the kind of the
/// first. Marks are never cut: a place that holds a part of one takes all of it.
pub(super) fn replace(text: &str, mut found: Vec<Span>) -> Option<String> {
    let marks = marks(text);
    found.retain(|(range, _)| !range.is_empty() && text.get(range.clone()).is_some_and(|part| !is_mark(part)));
    found.retain(|(range, _)| {
        !marks
            .iter()
            .any(|mark| mark.start <= range.start && range.end <= mark.end)
    });
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut merged: Vec<Span> = Vec::new();
    for (mut range, kind) in found {
        for mark in overlapping(&marks, &range.clone()) {
            range = range.start.min(mark.start)..range.end.max(mark.end);
        }
        match merged.last_mut() {
            Some((earlier, _)) if range.start < earlier.end => earlier.end = earlier.end.max(range.end),
            _ => merged.push((range, kind)),
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (range, kind) in merged {
        out.push_str(text.get(done..range.start).unwrap_or_default());
        out.push_str(&mark(kind));
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Some(out)
}

/// The marks that share a byte with a place. Both are sorted, so the search is by halving.
fn overlapping<'a>(
    marks: &'a [Range<usize>],
    range: &Range<usize>,
) -> impl Iterator<Item = &'a Range<usize>> + use<'a> {
    let first = marks.partition_point(|mark| mark.end <= range.start);
    let end = range.end;
    marks.iter().skip(first).take_while(move |mark| mark.start < end)
}

//! Whether all that one rule covers is covered by another, as far as the patterns alone can show it.
//!
//! A `true` here is a proof; a `false` says nothing. Commands: a pattern covers another if it matches the other's own text
//! with its stars taken for a character that stands nowhere else, for then whatever the inner star stands for, an outer
//! star stands for it, too. Paths: only the same text, or a folder and what is named below it. Hosts, tools and the rest:
//! the same text, or a rule for all of them.

use crate::{
    Effect, Layer, Rule,
    rule::{Matcher, PathVerb, TextPattern},
};

/// Stands for what a star of the inner pattern stands for.
const ANYTHING: &str = "\u{1}";

/// The words of a `Bash(…)` rule in our own spelling; `None` for other rules, and for patterns of other spellings.
pub(super) fn words_of(rule: &Rule) -> Option<&str> {
    let Matcher::Shell(pattern) = &rule.matcher else {
        return None;
    };
    let text = &*rule.source.text;
    let words = match text {
        "Bash" | "Shell" | "Terminal" | "Process" => "*",
        _ => text.split_once('(')?.1.strip_suffix(')')?.trim_start(),
    };
    // Whatever dialect a rule came in: its words count only if they mean the same here.
    (TextPattern::parse(words) == *pattern).then_some(words)
}

/// Whether `outer` decides wherever `inner` could, and at least as strictly: every call that `inner` covers, `outer` covers
/// with the same or a stricter effect.
pub(super) fn contains(outer: &Rule, inner: &Rule) -> bool {
    let stricter = outer.effect > inner.effect;
    (stricter || outer.effect == inner.effect)
        && outer.when.is_none()
        && outer.exceptions.is_empty()
        && in_force(outer, inner)
        && matcher_contains(outer, inner, stricter)
}

/// Whether `outer` counts wherever `inner` does: a deny or ask always does, an allow depends on trust and locks.
fn in_force(outer: &Rule, inner: &Rule) -> bool {
    let (above, below) = (outer.source.layer, inner.source.layer);
    outer.effect != Effect::Allow
        || ((!above.is_inside_project() || below.is_inside_project())
            && (below < Layer::Team || above >= Layer::Team)
            && (above != Layer::Session || below == Layer::Session))
}

fn matcher_contains(outer: &Rule, inner: &Rule, stricter: bool) -> bool {
    match (&outer.matcher, &inner.matcher) {
        // A deny for every tool is looked at before all others.
        (Matcher::EveryTool, _) => true,
        (Matcher::Shell(of), Matcher::Shell(pattern)) => shell_contains(outer, of, inner, pattern, stricter),
        (
            Matcher::Path { verb, pattern: wide },
            Matcher::Path {
                verb: own,
                pattern: narrow,
            },
        ) => {
            let verbs = if outer.effect == Effect::Allow {
                verb == own
            } else {
                // What must not be read must not be changed; what must not be changed must not be deleted.
                matches!(
                    (verb, own),
                    (PathVerb::Read, _)
                        | (PathVerb::Edit, PathVerb::Edit | PathVerb::Delete)
                        | (PathVerb::Delete, PathVerb::Delete)
                )
            };
            let same_place = outer.source.document == inner.source.document;
            verbs
                && match (wide, narrow) {
                    (None, _) => true,
                    (Some(_), None) => false,
                    (Some(wide), Some(narrow)) => path_contains(wide.text(), narrow.text(), same_place),
                }
        }
        (Matcher::Fetch(None), Matcher::Fetch(_)) => true,
        (Matcher::Fetch(Some(of)), Matcher::Fetch(Some(host))) => {
            same(outer, inner) || host.exact().is_some_and(|host| of.matches(host))
        }
        (Matcher::WebSearch(None), Matcher::WebSearch(_))
        | (Matcher::Agent(None), Matcher::Agent(_))
        | (Matcher::Skill(crate::rule::SkillPattern::Every), Matcher::Skill(_)) => true,
        (Matcher::Mcp(_), Matcher::Mcp(_))
        | (Matcher::WebSearch(_), Matcher::WebSearch(_))
        | (Matcher::Agent(_), Matcher::Agent(_))
        | (Matcher::Skill(_), Matcher::Skill(_))
        | (Matcher::Tool(_), Matcher::Tool(_))
        | (Matcher::Tools(_), Matcher::Tools(_))
        | (Matcher::Parameter { .. }, Matcher::Parameter { .. }) => same(outer, inner),
        _ => false,
    }
}

fn same(outer: &Rule, inner: &Rule) -> bool {
    outer.source.text == inner.source.text
}

fn shell_contains(outer: &Rule, of: &TextPattern, inner: &Rule, pattern: &TextPattern, stricter: bool) -> bool {
    if same(outer, inner) {
        return words_of(outer).is_some();
    }
    let (Some(_), Some(words)) = (words_of(outer), words_of(inner)) else {
        return false;
    };
    // A rule for every command says less than it seems about what could not be understood, so a narrower one of the same
    // effect still says something.
    if of.is_everything() && !stricter {
        return false;
    }
    // An exact allow covers what the command touches besides; one with a star does not.
    if outer.effect == Effect::Allow && of.is_exact() != pattern.is_exact() {
        return false;
    }
    let words = unabridged(words);
    let Some(opaque) = opaque(&words) else { return false };
    // A blank and a single star at the end also stand for nothing.
    let bare = words.strip_suffix(" *").filter(|before| !before.contains('*'));
    of.matches(&opaque) && bare.is_none_or(|bare| of.matches(bare))
}

/// The words of a rule with `:*` written out.
fn unabridged(words: &str) -> String {
    words
        .strip_suffix(":*")
        .map_or_else(|| words.to_owned(), |before| format!("{before} *"))
}

/// A pattern as a text: each star is a character that stands nowhere else.
fn opaque(words: &str) -> Option<String> {
    (!words.contains(ANYTHING)).then(|| words.replace('*', ANYTHING))
}

/// The text that a pattern has to match that contains a rule on commands.
pub(super) fn opaque_of(rule: &Rule) -> Option<String> {
    words_of(rule).and_then(|words| opaque(&unabridged(words)))
}

fn path_contains(wide: &str, narrow: &str, same_place: bool) -> bool {
    // `/x` is the folder of the document, and a bare name is found at any depth: only the same document, or another anchor.
    let absolute = |text: &str| text.starts_with("//") || text.starts_with("~/");
    if !(absolute(wide) && absolute(narrow)) {
        return same_place && wide == narrow;
    }
    let folder = folder_of(wide);
    let plain = |text: &str| !text.contains(['*', '?', '[', ']', '\\', '{', '}']);
    if wide == narrow {
        return true;
    }
    plain(folder)
        && folder.len() > 2
        && narrow
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
        && narrow.split('/').all(|segment| segment != "..")
}

/// What a path pattern is filed under: its text, without what stands for all below a folder.
pub(super) fn folder_of(text: &str) -> &str {
    text.strip_suffix("/**").unwrap_or(text)
}

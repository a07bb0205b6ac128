//! Allows on files that reach further than a folder of the project: everything, the home folder, the whole project, or
//! places where secrets are kept.
//!
//! Each has its own reason, because each has its own way out. What is named without a wildcard is taken for meant. Which
//! file a pattern really meets is the business of [`PathPattern`]; here only its words are looked at.

use super::Code;
use crate::{
    AbsPath,
    credentials::{self, CREDENTIALS, Credential},
    path::{Anchor, PathPattern},
    rule::PathVerb,
};

/// Folders whose direct children are homes.
const HOMES: &[&str] = &["home", "Users"];

/// Whether an allow on files is too broad, why, and what to write instead.
pub(super) fn judge(verb: PathVerb, pattern: Option<&PathPattern>) -> Option<(Code, String, String)> {
    let (does, word) = match verb {
        PathVerb::Read => ("reading", "Read"),
        PathVerb::Edit => ("changing", "Edit"),
        PathVerb::Delete => ("deleting", "Delete"),
    };
    let folder = format!("name a folder, such as `{word}(./src/**)`");
    let everything = || {
        let reason = match verb {
            PathVerb::Read => {
                "the rule allows reading every file that this person can reach, keys and passwords among them"
            }
            PathVerb::Edit | PathVerb::Delete => {
                "the rule allows changing every file that this person can reach, startup files and programs among them"
            }
        };
        (Code::Everything, reason.replace("changing", does), folder.clone())
    };
    let Some(pattern) = pattern else {
        return Some(everything());
    };
    let segments: Vec<&str> = pattern
        .text()
        .trim_start_matches(['~', '/'])
        .split('/')
        .filter(|segment| !matches!(*segment, "" | "."))
        .collect();
    let open = |segment: &&str| segment.trim_matches('*').is_empty();
    let fixed = segments.iter().position(open).unwrap_or(segments.len());
    let (named, rest) = segments.split_at_checked(fixed)?;
    let all_below = rest.iter().all(open);
    let home = match pattern.anchor() {
        Anchor::Home => named.is_empty(),
        Anchor::Root => match named {
            [one] => HOMES.contains(one) || *one == "root",
            [one, _] => HOMES.contains(one),
            _ => false,
        },
        _ => false,
    };
    if all_below && named.is_empty() && pattern.anchor() == Anchor::Root {
        return Some(everything());
    }
    if all_below && home {
        let reason = match verb {
            PathVerb::Read => {
                "the rule allows reading all that lies in the home folder: keys, tokens and mail as well as projects"
            }
            PathVerb::Edit | PathVerb::Delete => {
                "the rule allows changing all that lies in the home folder: every project, and the settings of every program"
            }
        };
        let fix = format!("name the folder of the home that is meant, such as `{word}(~/projects/notes/**)`");
        return Some((Code::WholeHome, reason.replace("changing", does), fix));
    }
    if all_below && named.is_empty() {
        let (reason, more) = match verb {
            PathVerb::Read => (
                "the rule allows reading all that lies below the folder that it is about, `.env` files and keys among it; a \
                 session that begins in the home folder reads all of that",
                "; reading in the workspace mostly needs no rule",
            ),
            PathVerb::Edit | PathVerb::Delete => (
                "the rule allows changing every file of the project, also those that are run later: build files, hooks of tools \
                 and pipelines",
                "",
            ),
        };
        return Some((
            Code::WholeProject,
            reason.replace("changing", does),
            format!("{folder}{more}"),
        ));
    }
    secrets(&segments, pattern, does, word)
}

/// Programs that delete their operands, which a wildcard covers wherever they lie in the workspace (decision 0010).
const DELETERS: &[&str] = &["grm", "rm", "shred", "srm", "unlink"];

/// An allow for deleting whatever lies in the workspace: `rm -rf *`.
fn deletes(words: &str) -> Option<(Code, String, String)> {
    let mut parts = words.split(' ');
    let program = parts.next()?.rsplit('/').next()?;
    let operands: Vec<&str> = parts.filter(|word| !word.starts_with('-')).collect();
    let open = operands
        .first()
        .is_some_and(|word| word.trim_matches(['*', '.', '/']).is_empty());
    (DELETERS.contains(&program) && open).then(|| {
        let reason = format!("the rule allows `{program}` to delete every file and folder of the workspace");
        let fix =
            format!("name what is made again anyway, such as `Bash({program} -rf dist)`, or the folder that is meant");
        (Code::WholeProject, reason, fix)
    })
}

/// Words of an allow on commands that a wildcard makes cover the whole workspace, or places where secrets are kept: `rm -rf *`,
/// `cat ~/.ssh/*`.
pub(super) fn words(words: &str) -> Option<(Code, String, String)> {
    if let Some(found) = deletes(words) {
        return Some(found);
    }
    words.split(' ').skip(1).filter(|word| word.contains('*')).find_map(|word| {
        let word = word.trim_matches(['"', '\'']);
        // `if=~/.ssh/*`, `--cert=~/.ssh/*`, `@~/.ssh/*`.
        let path = word.rsplit(['=', '@', ':']).next().unwrap_or(word);
        let homes = ["$HOME", "${HOME}", "~"];
        let (base, rest) = match homes.iter().find_map(|home| path.strip_prefix(home)) {
            Some(rest) => (AbsPath::root().join("home/user"), rest),
            None if path.starts_with('/') => (AbsPath::root(), path),
            None => (AbsPath::root().join("w/app"), path),
        };
        let segments: Vec<&str> = rest.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
        let found = kept(&segments, &base)?;
        let place = found.segments.join("/");
        let reason = format!(
            "the rule names `{word}`, where `{place}` is, and {}: it reads as if that could be read, which outside the workspace needs \
             a rule of its own",
            found.reason
        );
        let fix = format!("name the files that are meant, or deny `Read(**/{place})` beside it, which holds for every command");
        Some((Code::Secrets, reason, fix))
    })
}

/// A wildcard that covers places where keys, passwords or tokens are kept.
fn secrets(segments: &[&str], pattern: &PathPattern, does: &str, word: &str) -> Option<(Code, String, String)> {
    if !pattern.text().contains('*') {
        return None;
    }
    let base = match pattern.anchor() {
        Anchor::Root => AbsPath::root(),
        Anchor::Home => AbsPath::root().join("home/user"),
        _ => AbsPath::root().join("w/app"),
    };
    let found = kept(segments, &base)?;
    let place = found.segments.join("/");
    let reason = format!("the rule allows {does} `{place}` as well, and {}", found.reason);
    let fix = format!("name the files that are meant, or deny `{word}(**/{place})` beside it");
    Some((Code::Secrets, reason, fix))
}

/// The secrets that what a path with wildcards stands for are, or that lie directly below.
fn kept(segments: &[&str], base: &AbsPath) -> Option<&'static Credential> {
    // A name that each wildcard stands for, and that is itself no secret.
    let example = base.join(&segments.join("/").replace("**", "*").replace('*', "x"));
    credentials::holds(&example).or_else(|| {
        // `~/.config/**`: the secrets lie below.
        let folder = segments
            .split_last()
            .filter(|(last, _)| last.trim_matches('*').is_empty())?
            .1;
        CREDENTIALS.iter().find(|entry| {
            (1..entry.segments.len()).any(|length| {
                entry.segments.get(..length).is_some_and(|beginning| {
                    beginning.first().is_some_and(|name| name.starts_with('.')) && folder.ends_with(beginning)
                })
            })
        })
    })
}

//! Path patterns in Cursor's words.
//!
//! Cursor documents `**`, `*` and `?`, relative to the workspace or absolute, and no more. What people write beyond that
//! (`~/x`, `..`, braces, classes) gives an allow nothing, and a deny whatever it may have meant.

use super::{Anchor, Brackets, InvalidPattern, PathPattern, PatternSense, escape};

/// Most alternatives that the braces of one pattern may stand for.
const MAX_ALTERNATIVES: usize = 64;

pub(super) fn parse(text: &str, sense: PatternSense) -> Result<PathPattern, InvalidPattern> {
    let invalid = |message: &str, hint: &str| {
        Err(InvalidPattern {
            span: 0..text.len(),
            message: message.to_owned(),
            hint: (!hint.is_empty()).then(|| hint.to_owned()),
        })
    };
    let wide = sense == PatternSense::Wide;
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return invalid("the path pattern is empty", "write `**` for every path");
    }
    if text.len() > PathPattern::MAX_BYTES {
        return invalid("the path pattern is longer than a path can be", "");
    }
    if text.contains('\0') {
        return invalid("a path holds no NUL byte", "");
    }
    let (mut anchor, rest) = if let Some(rest) = trimmed.strip_prefix('/') {
        (Anchor::Root, rest)
    } else if trimmed == "~" || trimmed.starts_with("~/") {
        if !wide {
            return invalid(
                "`~` has no documented meaning in Cursor's patterns",
                "write the absolute path",
            );
        }
        (Anchor::Home, trimmed.get(2..).unwrap_or_default())
    } else {
        (Anchor::Workspace, trimmed)
    };
    let folder_only = rest.ends_with('/');
    let mut segments: Vec<&str> = rest.split('/').filter(|s| !s.is_empty() && *s != ".").collect();
    segments.dedup_by(|a, b| *a == "**" && *b == "**");
    let mut any_place = false;
    if let Some(last) = segments.iter().rposition(|segment| *segment == "..") {
        if !wide {
            return invalid(
                "a pattern with `..` never matches: paths are compared after their dots are resolved",
                "write the absolute path",
            );
        }
        // Where it leads depends on what stands before it: what follows is denied wherever it is.
        segments.drain(..=last);
        anchor = Anchor::Root;
        any_place = true;
    }
    let mut body = segments.join("/");
    if any_place {
        body = format!("**/{body}");
    }
    if !wide && body.contains(['{', '[']) {
        // As characters: a name may hold them, and nobody documents them as wildcards.
        return PathPattern::compile(text, sense, anchor, vec![escape(&body, Brackets::Literal)]);
    }
    let mut readings = Vec::new();
    for body in if wide { alternatives(&body) } else { vec![body] } {
        readings.push(escape(&body, Brackets::Literal));
        if !wide {
            if body.is_empty() && !folder_only {
                readings.push("**".to_owned());
            }
            continue;
        }
        for body in [escape(&body, Brackets::Literal), escape(&body, Brackets::Classes)] {
            if globset::GlobBuilder::new(&body).backslash_escape(true).build().is_err() {
                continue;
            }
            if body.is_empty() {
                readings.push("**".to_owned());
            } else {
                readings.extend(body.strip_suffix("/**").map(str::to_owned));
                readings.push(format!("{body}/**"));
            }
            readings.push(body);
        }
    }
    readings.sort_unstable();
    readings.dedup();
    PathPattern::compile(text, sense, anchor, readings)
}

/// The texts that braces stand for, and the text as it is.
fn alternatives(body: &str) -> Vec<String> {
    let mut done = vec![body.to_owned()];
    let mut open = vec![body.to_owned()];
    while let Some(text) = open.pop() {
        let group = text
            .find('{')
            .and_then(|start| Some((start, start + text.get(start..)?.find('}')?)));
        let Some((start, end)) = group else {
            done.push(text);
            continue;
        };
        let (Some(before), Some(inner), Some(after)) =
            (text.get(..start), text.get(start + 1..end), text.get(end + 1..))
        else {
            continue;
        };
        for choice in inner.split(',') {
            if open.len() + done.len() >= MAX_ALTERNATIVES {
                // Too many to list: anything from the first of them on, which covers them all.
                let folder = body.split('{').next().and_then(|before| before.rsplit_once('/'));
                return vec![
                    body.to_owned(),
                    folder.map_or("**".to_owned(), |(folder, _)| format!("{folder}/**")),
                ];
            }
            open.push(format!("{before}{choice}{after}"));
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AbsPath, path::Anchors};

    fn matches(pattern: &str, path: &str, sense: PatternSense) -> bool {
        let at = |text: &str| AbsPath::parse(text).unwrap();
        let anchors = Anchors {
            document: at("/home/dev/.cursor"),
            home: Some(at("/home/dev")),
            cwd: at("/w/packages/a"),
            root: at("/w"),
        };
        PathPattern::parse_cursor(pattern, sense).is_ok_and(|pattern| pattern.matches(&at(path), &anchors))
    }

    #[test]
    fn matches_and_near_misses() {
        for (pattern, path, allow, deny) in [
            ("src/**/*.ts", "/w/src/a.ts", true, true),
            ("src/**/*.ts", "/w/src/a/b/c.ts", true, true),
            ("src/**/*.ts", "/w/src/a/b/c.tsx", false, false),
            ("src/**/*.ts", "/w/packages/a/src/b.ts", false, false),
            ("src/**", "/w/src/a/b", true, true),
            ("src/**", "/w/src", false, true),
            ("src/**", "/w/src2/a", false, false),
            ("src", "/w/src/a", false, true),
            ("package.json", "/w/package.json", true, true),
            ("package.json", "/w/packages/a/package.json", false, false),
            ("*.md", "/w/a.md", true, true),
            ("*.md", "/w/docs/a.md", false, false),
            ("**/*.md", "/w/docs/x/a.md", true, true),
            ("**/*.md", "/w/a.md", true, true),
            ("**", "/w/a/b", true, true),
            ("**", "/x/a/b", false, false),
            ("./src/*", "/w/src/a", true, true),
            ("./src/*", "/w/src/a/b", false, true),
            ("?.rs", "/w/a.rs", true, true),
            ("?.rs", "/w/ab.rs", false, false),
            ("/etc/hosts", "/etc/hosts", true, true),
            ("/etc/hosts", "/w/etc/hosts", false, false),
            ("/**", "/any/where", true, true),
            ("/etc/*", "/etc/ssl/x", false, true),
            ("~/.ssh/**", "/home/dev/.ssh/id", false, true),
            ("../x/**", "/x/a", false, true),
            ("../x/**", "/y/x/a", false, true),
            ("../x/**", "/y/z/a", false, false),
            ("**/*.{key,pem}", "/w/a/b.pem", false, true),
            ("**/*.{key,pem}", "/w/a/b.{key,pem}", true, true),
            ("**/*.{key,pem}", "/w/a/b.txt", false, false),
            ("[id]/x", "/w/[id]/x", true, true),
            ("[id]/x", "/w/i/x", false, true),
            (".env*", "/w/.env.local", true, true),
            (".env*", "/w/a/.env", false, false),
        ] {
            assert_eq!(
                matches(pattern, path, PatternSense::Narrow),
                allow,
                "allow `{pattern}` on {path}"
            );
            assert_eq!(
                matches(pattern, path, PatternSense::Wide),
                deny,
                "deny `{pattern}` on {path}"
            );
        }
    }

    #[test]
    fn braces_are_bounded() {
        let many = "{a,b,c,d}".repeat(50);
        assert!(alternatives(&many).len() <= MAX_ALTERNATIVES + 4);
        assert!(matches(
            &format!("{}/x", "{a,b}".repeat(20)),
            "/w/abababababababababab/x",
            PatternSense::Wide
        ));
    }

    #[test]
    fn what_never_matches_is_refused() {
        for (pattern, sense) in [
            ("", PatternSense::Wide),
            (" ", PatternSense::Narrow),
            ("a\0b", PatternSense::Wide),
            ("../x", PatternSense::Narrow),
            ("~/x", PatternSense::Narrow),
        ] {
            assert!(PathPattern::parse_cursor(pattern, sense).is_err(), "{pattern:?}");
        }
    }
}

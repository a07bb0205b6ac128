//! Matchers in the plainest form: recursion over all choices, on the texts of rules as they are written.

use portcullis_policy::AbsPath;

/// Whether a text in which `*` is anything covers another text.
pub(crate) fn stars(pattern: &str, text: &str) -> bool {
    let mut chars = pattern.chars();
    match chars.next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = chars.as_str();
            text.char_indices().any(|(at, _)| stars(rest, &text[at..])) || stars(rest, "")
        }
        Some(c) => text.strip_prefix(c).is_some_and(|behind| stars(chars.as_str(), behind)),
    }
}

/// The pattern of `Bash(…)` with its `:*` written out.
pub(crate) fn spelled_out(pattern: &str) -> String {
    match pattern.strip_suffix(":*") {
        Some(prefix) => format!("{prefix} *"),
        None => pattern.to_owned(),
    }
}

/// Whether `Bash(pattern)` covers a text: a blank and the only star at the end stand for nothing, too.
pub(crate) fn command(pattern: &str, text: &str) -> bool {
    let pattern = spelled_out(pattern);
    let without_arguments = pattern.matches('*').count() == 1 && pattern.strip_suffix(" *") == Some(text);
    without_arguments || stars(&pattern, text)
}

/// Whether a pattern can cover one of the texts that `known` is with anything in its gaps (`\0`). `bare`: whether a blank
/// and the only star at the end stand for nothing, too.
pub(crate) fn command_with_gaps(pattern: &str, bare: bool, known: &str) -> bool {
    let without_arguments = (bare && pattern.matches('*').count() == 1)
        .then(|| pattern.strip_suffix(" *"))
        .flatten();
    common(pattern, known) || without_arguments.is_some_and(|bare| common(bare, known))
}

fn common(one: &str, other: &str) -> bool {
    let (mut ones, mut others) = (one.chars(), other.chars());
    match (ones.next(), others.next()) {
        (None, None) => true,
        (Some('*'), None) => common(ones.as_str(), other),
        (None, Some('\0')) => common(one, others.as_str()),
        (Some('*'), Some(_)) => common(ones.as_str(), other) || common(one, others.as_str()),
        (Some(_), Some('\0')) => common(one, others.as_str()) || common(ones.as_str(), other),
        (Some(c), Some(d)) => c == d && common(ones.as_str(), others.as_str()),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Where the patterns of a rule's document are anchored.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) document: AbsPath,
    pub(crate) home: AbsPath,
    pub(crate) cwd: AbsPath,
    pub(crate) root: AbsPath,
}

/// Whether a path pattern covers a path: gitignore's meaning, the wide one for denies and asks.
pub(crate) fn path(pattern: &str, wide: bool, path: &AbsPath, places: &Places) -> bool {
    let root = AbsPath::root();
    let (bases, rest): (Vec<&AbsPath>, &str) = if let Some(rest) = pattern.strip_prefix("//") {
        (vec![&root], rest)
    } else if let Some(rest) = pattern.strip_prefix("~/") {
        (vec![&places.home], rest)
    } else if let Some(rest) = pattern.strip_prefix('/') {
        (vec![&places.document], rest)
    } else if wide {
        (vec![&places.cwd, &places.root], pattern)
    } else {
        (vec![&places.cwd], pattern)
    };
    let relative = !pattern.starts_with(['/', '~']);
    let dotted = pattern.starts_with("./");
    let folder_only = rest.ends_with('/');
    let mut segments: Vec<&str> = rest.split('/').filter(|s| !s.is_empty() && *s != ".").collect();
    let anywhere = relative
        && match segments.as_slice() {
            [one] => !dotted && *one != "**",
            [folder, "**"] => wide && *folder != "**",
            _ => false,
        };
    if anywhere {
        segments.insert(0, "**");
    }
    let contents = segments.last() == Some(&"**");
    if contents {
        segments.pop();
    }
    let itself = wide || segments.is_empty() || !(contents || folder_only);
    bases.into_iter().any(|base| {
        path.below(base).is_some_and(|rest| {
            let theirs: Vec<&str> = rest.split('/').filter(|s| !s.is_empty()).collect();
            (0..=theirs.len()).any(|n| (itself || n < theirs.len()) && covers(&segments, &theirs[..n], wide))
        })
    })
}

/// Whether a pattern in Cursor's words covers a path: from the workspace's root, or with a slash in front from the file
/// system's. An allow covers what it says; a deny or ask also what lies below that, and the folder of `x/**`.
pub(crate) fn cursor_path(pattern: &str, wide: bool, path: &AbsPath, places: &Places) -> bool {
    let root = AbsPath::root();
    let base = if pattern.starts_with('/') { &root } else { &places.root };
    let segments: Vec<&str> = pattern.split('/').filter(|s| !s.is_empty()).collect();
    let Some(rest) = path.below(base) else {
        return false;
    };
    let theirs: Vec<&str> = rest.split('/').filter(|s| !s.is_empty()).collect();
    if wide {
        let mut ours = segments;
        if ours.last() == Some(&"**") {
            ours.pop();
        }
        return (0..=theirs.len()).any(|n| covers(&ours, &theirs[..n], false));
    }
    match segments.split_last() {
        // What lies below a folder is not the folder.
        Some((&"**", ours)) if !ours.is_empty() => (0..theirs.len()).any(|n| covers(ours, &theirs[..n], false)),
        _ => covers(&segments, &theirs, false),
    }
}

/// What a line of an ignore list names: `(itself, what lies below)`. Without a slash before its end a name counts at any
/// depth, else from the workspace's root.
pub(crate) fn ignore(line: &str, path: &AbsPath, places: &Places) -> (bool, bool) {
    let line = line.trim_end_matches('/');
    let root = AbsPath::root();
    let placed = line.contains('/') && !line.starts_with("**/");
    let base = if placed { &places.root } else { &root };
    let mut ours: Vec<&str> = line.split('/').filter(|s| !s.is_empty()).collect();
    if !line.contains('/') {
        ours.insert(0, "**");
    }
    let Some(rest) = path.below(base) else {
        return (false, false);
    };
    let theirs: Vec<&str> = rest.split('/').filter(|s| !s.is_empty()).collect();
    let itself = covers(&ours, &theirs, false);
    let below = (0..theirs.len()).any(|n| covers(&ours, &theirs[..n], false));
    (itself, below)
}

fn covers(ours: &[&str], theirs: &[&str], wide: bool) -> bool {
    match ours.split_first() {
        None => theirs.is_empty(),
        Some((&"**", rest)) => (0..=theirs.len()).any(|n| covers(rest, &theirs[n..], wide)),
        Some((own, rest)) => theirs
            .split_first()
            .is_some_and(|(their, behind)| name(own, their, wide) && covers(rest, behind, wide)),
    }
}

/// One segment. In the wide sense brackets are also characters.
fn name(pattern: &str, text: &str, wide: bool) -> bool {
    segment(pattern, text) || (wide && pattern == text)
}

fn segment(pattern: &str, text: &str) -> bool {
    let mut ours = pattern.chars();
    match ours.next() {
        None => text.is_empty(),
        Some('*') => (0..=text.len()).any(|at| text.is_char_boundary(at) && segment(ours.as_str(), &text[at..])),
        Some('[') => {
            // Where a class of names ends, and whether the character is one of it.
            let body = ours.as_str();
            let (named, rest) = match body.strip_prefix("[:alpha:]]") {
                Some(rest) => (true, rest),
                None => (false, &body[1 + body[1..].find(']').unwrap() + 1..]),
            };
            let class = &body[..body.len() - rest.len() - 1];
            let mut theirs = text.chars();
            theirs
                .next()
                .is_some_and(|c| if named { c.is_alphabetic() } else { class.contains(c) })
                && segment(rest, theirs.as_str())
        }
        Some(own) => {
            let mut theirs = text.chars();
            theirs.next().is_some_and(|c| own == '?' || own == c) && segment(ours.as_str(), theirs.as_str())
        }
    }
}

/// Whether `WebFetch(domain:pattern)` covers a host.
pub(crate) fn host(pattern: &str, host: &str) -> bool {
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (pattern.split('.').collect(), host.split('.').collect());
    match ours.split_first() {
        Some((&"*", [])) => true,
        Some((&"*", rest)) => (1..theirs.len()).any(|n| labels(rest, &theirs[n..])),
        _ => labels(&ours, &theirs),
    }
}

fn labels(ours: &[&str], theirs: &[&str]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(own, their)| stars(own, their))
}

/// Whether `mcp__body` covers a tool: an allow only its own server's, a deny or ask in whatever way the name is split.
pub(crate) fn mcp(body: &str, wide: bool, server: &str, tool: &str) -> bool {
    let own = |server: &str, tool: &str| {
        body == server
            || body
                .strip_prefix(server)
                .and_then(|rest| rest.strip_prefix("__"))
                .is_some_and(|rest| !rest.is_empty() && stars(rest, tool))
    };
    let whole = format!("{server}__{tool}");
    // The server's name may hold the two lines itself: then the rule names a server whose tools begin behind it.
    let whole_server = |whole: &str| whole.starts_with(&format!("{body}__"));
    own(server, tool)
        || (wide
            && (stars(body, &whole)
                || stars(body, server)
                || own(&plain(server), &plain(tool))
                || stars(body, &plain(&whole))
                || whole_server(&whole)
                || whole_server(&plain(&whole))))
}

/// Whether `server:tool` as a deny or ask covers a tool, wherever its server's name ends and in either spelling.
pub(crate) fn mcp_halves(own_server: &str, own_tool: &str, server: &str, tool: &str) -> bool {
    let whole = format!("{server}__{tool}").to_ascii_lowercase();
    let (own_server, own_tool) = (own_server.to_ascii_lowercase(), own_tool.to_ascii_lowercase());
    [plain(&whole), whole].iter().any(|whole| {
        whole
            .match_indices("__")
            .any(|(at, _)| stars(&own_server, &whole[..at]) && stars(&own_tool, &whole[at + 2..]))
    })
}

/// A name as agents write it, who replace what cannot stand there.
pub(crate) fn plain(text: &str) -> String {
    text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-', "_")
}

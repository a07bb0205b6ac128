//! Path patterns.

use portcullis_policy::{
    AbsPath,
    path::{Anchors, PathPattern, PatternSense},
};

/// A pattern, a NUL, a path. The compiled pattern and the slow one agree about the path (a class such as `[a-z]` is read
/// more widely by the slow one), and what the narrow reading covers the wide one covers, too.
///
/// # Panics
/// If that does not hold.
pub fn path(data: &[u8]) {
    let Some((pattern, path)) = crate::text(data).and_then(|text| text.split_once('\0')) else {
        return;
    };
    let folder = |text| AbsPath::parse(text).expect("a path");
    let anchors = Anchors {
        document: folder("/w/doc"),
        home: Some(folder("/home/u")),
        cwd: folder("/w/doc/src"),
        root: folder("/w/doc"),
    };
    let mut covered = Vec::new();
    for base in ["/w/doc/src", "/w/doc", "/home/u", "/"] {
        let path = folder(base).join(path);
        // The bounds of what a host sends.
        if path.as_str().len() > PathPattern::MAX_BYTES {
            return;
        }
        for sense in [PatternSense::Narrow, PatternSense::Wide] {
            let Ok(parsed) = PathPattern::parse(pattern, sense) else {
                continue;
            };
            let fast = parsed.matches(&path, &anchors);
            let slow = parsed.meets(&escaped(path.as_str()), &anchors);
            assert!(
                slow || !fast,
                "{pattern:?} ({sense:?}) covers {path} only when compiled"
            );
            assert!(
                fast || !slow || pattern.contains('['),
                "{pattern:?} ({sense:?}) covers {path} only when not compiled"
            );
            covered.push(fast);
        }
    }
    for senses in covered.chunks_exact(2) {
        assert!(
            !senses[0] || senses[1],
            "{pattern:?}: the narrow reading covers more of {path:?}"
        );
    }
}

/// The path as a pattern of the shell that stands for itself only.
fn escaped(path: &str) -> String {
    let mut text = String::new();
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

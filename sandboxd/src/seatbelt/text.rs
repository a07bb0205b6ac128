//! The words of a profile: strings, filters, rules. Nothing else in this module puts text from outside into a profile.

use std::path::{Component, Path, PathBuf};

use super::Unwritable;

/// Folders that are links on every Mac. The kernel asks about where they lead to.
const LINKS: [&str; 3] = ["/tmp", "/var", "/etc"];

/// A path as the kernel has it.
///
/// # Errors
/// If it is not absolute, holds `.` or `..`, is no text, or is the root.
pub(super) fn written(path: &Path) -> Result<PathBuf, Unwritable> {
    let unwritable = || Unwritable::Path(path.to_path_buf());
    let text = path
        .to_str()
        .filter(|text| !text.contains('\0'))
        .ok_or_else(unwritable)?;
    if !text.starts_with('/') || text.split('/').any(|name| name == "." || name == "..") {
        return Err(unwritable());
    }
    // Without doubled slashes and one at the end.
    let mut plain = PathBuf::from("/");
    plain.extend(path.components().filter(|part| matches!(part, Component::Normal(_))));
    if plain == Path::new("/") {
        return Err(Unwritable::Whole);
    }
    for link in LINKS {
        if let Ok(rest) = plain.strip_prefix(link) {
            let real = Path::new("/private").join(link.trim_start_matches('/'));
            return Ok(if rest == Path::new("") { real } else { real.join(rest) });
        }
    }
    Ok(plain)
}

/// A string of a profile. The reader of SBPL takes every character as it is but for the quote and the backslash.
#[must_use]
pub(super) fn string(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => written.extend(['\\', c]),
            '\n' => written.push_str("\\n"),
            '\t' => written.push_str("\\t"),
            '\r' => written.push_str("\\r"),
            _ => written.push(c),
        }
    }
    written.push('"');
    written
}

/// What a rule is about.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    text: String,
    why: Option<&'static str>,
}

impl Filter {
    /// Words of ours.
    pub(super) fn bare(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            why: None,
        }
    }

    /// A name of ours.
    pub(super) fn named(kind: &str, name: &str) -> Self {
        Self::bare(&format!("({kind} {})", string(name)))
    }

    fn path(kind: &str, path: &Path) -> Self {
        // What is no text was refused by `written`.
        Self::named(kind, &path.to_string_lossy())
    }

    /// A path itself.
    pub(super) fn literal(path: &Path) -> Self {
        Self::path("literal", path)
    }

    /// What lies below a path; the path too.
    pub(super) fn below(path: &Path) -> Self {
        Self::path("subpath", path)
    }

    /// Paths that an expression fits, which holds no quote (see `names`).
    pub(super) fn regex(expression: &str) -> Self {
        Self::bare(&format!("(regex #\"{expression}\")"))
    }

    /// A socket of another process.
    pub(super) fn socket_literal(path: &Path) -> Self {
        Self::path("path-literal", path).socket("remote")
    }

    /// Sockets of other processes.
    pub(super) fn socket_regex(expression: &str) -> Self {
        Self::bare(&format!("(path-regex #\"{expression}\")")).socket("remote")
    }

    /// Sockets at such a path.
    pub(super) fn socket(&self, side: &str) -> Self {
        Self::bare(&format!("({side} unix-socket {})", self.text))
    }

    /// What all of them fit.
    pub(super) fn all(mut filters: Vec<Self>) -> Self {
        if filters.len() == 1
            && let Some(only) = filters.pop()
        {
            return only;
        }
        let texts: Vec<String> = filters.into_iter().map(|filter| filter.text).collect();
        Self::bare(&format!("(require-all {})", texts.join(" ")))
    }

    /// What it does not fit.
    pub(super) fn not(self) -> Self {
        Self::bare(&format!("(require-not {})", self.text))
    }

    /// With a remark.
    pub(super) fn because(mut self, why: &'static str) -> Self {
        self.why = Some(why);
        self
    }
}

/// A profile that is being written.
#[derive(Debug, Default)]
pub(super) struct Text(String);

impl Text {
    /// A line.
    pub(super) fn plain(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// A remark in front of what follows. One of ours: it holds no line break.
    pub(super) fn section(&mut self, why: &str) {
        self.plain(&format!("\n; {why}"));
    }

    /// A rule for whatever fits one of the filters. Without any it fits nothing, so nothing is written: in a profile a rule
    /// without filters is about everything.
    pub(super) fn rule(&mut self, verdict: &str, operations: &[&str], filters: &[Filter]) {
        if filters.is_empty() {
            return;
        }
        self.plain(&format!("({verdict} {}", operations.join(" ")));
        for filter in filters {
            if let Some(why) = filter.why {
                self.plain(&format!("  ; {why}"));
            }
            self.plain(&format!("  {}", filter.text));
        }
        self.plain(")");
    }

    /// A rule for everything.
    pub(super) fn always(&mut self, verdict: &str, operations: &[&str]) {
        self.plain(&format!("({verdict} {})", operations.join(" ")));
    }

    /// The text.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_the_kernel_has_them_or_not_at_all() {
        for (path, real) in [
            ("/tmp", "/private/tmp"),
            ("/var/folders/x", "/private/var/folders/x"),
            ("/etc//hosts/", "/private/etc/hosts"),
            ("/tmpx", "/tmpx"),
            ("/private/tmp/a b", "/private/tmp/a b"),
        ] {
            assert_eq!(written(Path::new(path)), Ok(PathBuf::from(real)), "{path}");
        }
        for path in ["", "a", "a/b", "/a/../b", "/a/.", "/./a", "/a\0b"] {
            assert!(matches!(written(Path::new(path)), Err(Unwritable::Path(_))), "{path:?}");
        }
        let bytes: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"/a\xff");
        assert!(written(Path::new(bytes)).is_err());
        assert_eq!(written(Path::new("//")), Err(Unwritable::Whole));
    }

    #[test]
    fn a_rule_without_filters_is_not_written() {
        let mut text = Text::default();
        text.rule("allow", &["file-write*"], &[]);
        assert_eq!(text.finish(), "");
    }
}

//! From a word to the files it names.

use super::{
    Access, FileAccess, FileTarget, Word,
    expand::{Field, State, Text},
};
use crate::{AbsPath, path::plain};

/// Most folders that are remembered of one path because it leaves them again.
const MAX_LEFT: usize = 64;

/// Collects the files of one command.
pub(super) struct Files<'a> {
    state: &'a State,
    /// Where relative names start, instead of the working directory: `tar -C`, `git -C`.
    pub(super) base: Option<Field>,
    pub(super) redirection: bool,
    pub(super) variable: bool,
    pub(super) found: Vec<FileAccess>,
}

impl<'a> Files<'a> {
    pub(super) fn new(state: &'a State) -> Self {
        Self {
            state,
            base: None,
            redirection: false,
            variable: false,
            found: Vec::new(),
        }
    }

    fn push(&mut self, target: FileTarget, access: Access) {
        self.push_through(target, access, Some(Vec::new()));
    }

    fn push_through(&mut self, target: FileTarget, access: Access, through: Option<Vec<AbsPath>>) {
        // On another machine a rule on our files says nothing; but who deletes `/` there means it no more than here.
        let kept = access == Access::DeleteTree && matches!(&target, FileTarget::Path(path) if is_all_there(path));
        if self.state.remote && !kept {
            return;
        }
        self.found.push(FileAccess {
            target,
            access,
            redirection: self.redirection,
            variable: self.variable,
            through,
        });
    }

    /// A file that only the command knows.
    pub(super) fn unknown(&mut self, source: &str, access: Access) {
        self.push(FileTarget::Unknown(source.to_owned()), access);
    }

    /// The file that a word names.
    pub(super) fn field(&mut self, field: &Field, access: Access) {
        if field.process {
            return;
        }
        for candidate in field.candidates.iter() {
            for text in candidate {
                if text.glob && !self.state.dots {
                    let shown = Text {
                        text: plain::of_shell(&text.text),
                        ..text.clone()
                    };
                    self.text(&shown, access);
                } else {
                    self.text(text, access);
                }
            }
        }
        if let Some(name) = &field.stays {
            self.name(name, access);
        }
        if !field.exact {
            let source = match &field.word {
                Word::Dynamic { source, .. } => source,
                Word::Literal(text) => text,
            };
            self.push(FileTarget::Unknown(source.clone()), access);
        }
    }

    /// The file that a text names.
    pub(super) fn name(&mut self, text: &str, access: Access) {
        self.text(
            &Text {
                text: text.to_owned(),
                glob: false,
            },
            access,
        );
    }

    /// The files that a pattern names, as the shell would expand it.
    pub(super) fn pattern(&mut self, text: &str, access: Access) {
        let text = text.to_owned();
        self.text(&Text { text, glob: true }, access);
    }

    /// The files whose names begin with a text: the pieces that `split` writes.
    pub(super) fn beginning(&mut self, text: &str, access: Access) {
        let mut glob = String::new();
        for c in text.chars() {
            if matches!(c, '*' | '?' | '[' | ']' | '\\') {
                glob.push('\\');
            }
            glob.push(c);
        }
        glob.push('*');
        self.text(&Text { text: glob, glob: true }, access);
    }

    /// The working directory.
    pub(super) fn here(&mut self, access: Access) {
        self.name(".", access);
    }

    fn text(&mut self, text: &Text, access: Access) {
        let name = text.text.as_str();
        if name.is_empty() || (is_device(name) && matches!(access, Access::Read | Access::Write)) {
            return;
        }
        if name.starts_with('/') {
            self.below(&AbsPath::root(), text, access);
            return;
        }
        if let Some(base) = self.base.clone() {
            for directory in base.single_candidates() {
                let joined = Text {
                    text: format!("{}/{name}", directory.text),
                    glob: text.glob || directory.glob,
                };
                self.anchored(&joined, access);
            }
            if !base.exact {
                self.push(FileTarget::Unknown(name.to_owned()), access);
            }
            return;
        }
        self.anchored(text, access);
    }

    fn anchored(&mut self, text: &Text, access: Access) {
        if text.text.starts_with('/') {
            self.below(&AbsPath::root(), text, access);
            return;
        }
        for directory in &self.state.directories {
            self.below(directory, text, access);
        }
        if self.state.elsewhere {
            self.push(FileTarget::Unknown(text.text.clone()), access);
        }
    }

    fn below(&mut self, directory: &AbsPath, text: &Text, access: Access) {
        if text.glob {
            self.push(pattern(directory, &text.text), access);
        } else {
            let target = FileTarget::Path(directory.join(&text.text));
            self.push_through(target, access, left_again(directory, &text.text));
        }
    }
}

/// Most globs of one command that are noted; they name whole folders, and one that a rule is about settles the answer.
const MAX_GLOBS: usize = 64;

/// What the globs among the words of a command stand for, each once.
pub(super) fn globs(fields: &[Field], state: &State) -> Vec<FileTarget> {
    let is_glob = |field: &&Field| field.candidates.iter().flatten().any(|text| text.glob);
    // Nothing but a number is a count, and no name that a rule is about.
    let is_number = |field: &&Field| field.numbers.first().is_some_and(|text| text == "1");
    let mut files = Files::new(state);
    for field in fields
        .iter()
        .filter(|field| is_glob(field) && !is_number(field))
        .take(MAX_GLOBS)
    {
        files.field(field, Access::Read);
    }
    let mut globs: Vec<FileTarget> = Vec::new();
    for access in files.found.into_iter().take(MAX_GLOBS) {
        if matches!(access.target, FileTarget::Pattern { .. }) && !globs.contains(&access.target) {
            globs.push(access.target);
        }
    }
    globs
}

/// Longest path that is followed, in bytes: the kernel opens no longer one.
const MAX_PATH: usize = 4096;

/// Folders that a path leaves by `..`: `a` in `a/../b`, the folder that it begins in for `../b`. `None` if they are more than
/// [`MAX_LEFT`], or the path longer than the kernel takes it: then it can lead anywhere, or nowhere.
pub(crate) fn left_again(directory: &AbsPath, text: &str) -> Option<Vec<AbsPath>> {
    let mut left = Vec::new();
    if !text.contains("..") {
        return Some(left);
    }
    if text.len() > MAX_PATH {
        return None;
    }
    let mut at = directory.clone();
    for segment in text.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                let above = at.parent();
                if above.is_some() && !left.contains(&at) {
                    if left.len() == MAX_LEFT {
                        return None;
                    }
                    left.push(at);
                }
                at = above.unwrap_or_else(AbsPath::root);
            }
            name => at = at.join(name),
        }
    }
    Some(left)
}

/// A device that is no file anybody could want to protect: nothing, the own streams, descriptors.
pub(super) fn is_device(name: &str) -> bool {
    matches!(
        name,
        "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/zero" | "/dev/full" | "/dev/tty"
    ) || name
        .strip_prefix("/dev/fd/")
        .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
}

/// A pattern below a directory, its `.` and `..` resolved as far as that can be done.
fn pattern(directory: &AbsPath, text: &str) -> FileTarget {
    let mut folder = directory.clone();
    let mut rest: Vec<&str> = Vec::new();
    let relative = if text.starts_with('/') {
        folder = AbsPath::root();
        text.trim_start_matches('/')
    } else {
        text
    };
    for segment in relative.split('/') {
        match segment {
            "" | "." => {}
            // What lies above a folder that a wildcard chooses is anybody's guess.
            ".." if !rest.is_empty() => return FileTarget::Unknown(text.to_owned()),
            _ if rest.is_empty() && !has_wildcard(segment) => folder = folder.join(&unescaped(segment)),
            _ => rest.push(segment),
        }
    }
    if rest.is_empty() {
        return FileTarget::Path(folder);
    }
    let mut pattern = String::new();
    for segment in folder.segments() {
        pattern.push('/');
        for c in segment.chars() {
            if matches!(c, '*' | '?' | '[' | ']' | '\\') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
    }
    for segment in rest {
        pattern.push('/');
        pattern.push_str(segment);
    }
    FileTarget::Pattern { folder, pattern }
}

fn has_wildcard(segment: &str) -> bool {
    let mut escaped = false;
    segment.chars().any(|c| {
        let wildcard = !escaped && matches!(c, '*' | '?');
        escaped = c == '\\' && !escaped;
        wildcard
    })
}

fn unescaped(segment: &str) -> String {
    let mut text = String::new();
    let mut escaped = false;
    for c in segment.chars() {
        if c == '\\' && !escaped {
            escaped = true;
        } else {
            text.push(c);
            escaped = false;
        }
    }
    text
}

/// Whether deleting a folder takes more along than anybody means, on whichever machine: `/`, what lies directly below it, and
/// what the system or people keep one level further down.
fn is_all_there(path: &AbsPath) -> bool {
    const SYSTEM: &[&str] = &[
        "Users", "bin", "boot", "dev", "etc", "home", "lib", "lib64", "proc", "root", "sbin", "sys", "usr", "var",
    ];
    let mut segments = path.segments();
    let first = segments.next();
    match segments.count() {
        0 => true,
        1 => first.is_some_and(|first| SYSTEM.contains(&first)),
        _ => false,
    }
}

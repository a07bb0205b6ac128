//! Words of a command that name files of which no table says what the command does with them.
//!
//! The tables know many programs and never all their options. An allow rule with a wildcard reaches files of the workspace only
//! (decision 0010), so what else a word names has to be seen, whatever the program: in an operand, behind `=`, `@`, `,` or `:`,
//! glued to a short option, behind `--` (decision 0052). What is no file all the same stands in `policy/data/outside.toml`.
//!
//! It knows neither rules nor the workspace, and judges nothing. A name without a folder, or below the working directory, is left
//! out: where a link leads from there is not looked at.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use serde::Deserialize;

use super::{
    FileAccess, FileTarget, Named, ShellContext, Word, data, executing,
    expand::{Field, State, home_of},
    targets::{self, Files},
    wrappers,
};
use crate::{AbsPath, protected, rule::file_of};

/// Most candidates of a word, most words of a command, and most files that are noted; of more, one that is not known is noted.
const MOST: usize = 256;
/// Longest word that is looked at, in bytes. The kernel takes no longer path, and a word may hold several.
const LONGEST: usize = 1 << 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlaces {
    paths: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNames {
    names: String,
    #[serde(default)]
    later: bool,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProgram {
    names: String,
    #[serde(default)]
    verbs: String,
    #[serde(default)]
    known: bool,
    #[serde(default)]
    colon: bool,
    #[serde(default)]
    settings: bool,
    #[serde(default)]
    keys: String,
    #[serde(default)]
    texts: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    tree: Vec<RawPlaces>,
    harmless: Vec<RawPlaces>,
    output: Vec<RawNames>,
    program: Vec<RawProgram>,
}

struct Special {
    verbs: &'static [&'static str],
    known: bool,
    colon: bool,
    settings: bool,
    keys: &'static [&'static str],
    texts: &'static [&'static str],
}

/// What an option says of the file that is its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// Nothing.
    No,
    /// It is filled, perhaps only later: `--prefix=/usr/local`.
    Later,
    /// It is written.
    Now,
}

struct Table {
    trees: Vec<AbsPath>,
    harmless: Vec<&'static str>,
    outputs: HashMap<&'static str, Written>,
    programs: HashMap<&'static str, Vec<&'static Special>>,
}

const FILE: &str = include_str!("../../data/outside.toml");

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let raws: Raws = data::read("outside.toml", FILE);
    let words = |texts: &[&String]| -> Vec<&'static str> {
        let lists = texts.iter().map(|text| data::words(text));
        lists.flatten().copied().collect()
    };
    let trees = words(&raws.tree.iter().map(|raw| &raw.paths).collect::<Vec<_>>());
    let mut programs = HashMap::<&'static str, Vec<&'static Special>>::new();
    for raw in &raws.program {
        let special: &'static Special = data::keep(Special {
            verbs: data::words(&raw.verbs),
            known: raw.known,
            colon: raw.colon,
            settings: raw.settings,
            keys: data::words(&raw.keys),
            texts: data::words(&raw.texts),
        });
        for name in data::words(&raw.names) {
            programs.entry(name).or_default().push(special);
        }
    }
    Table {
        trees: trees.into_iter().map(|tree| AbsPath::root().join(tree)).collect(),
        harmless: words(&raws.harmless.iter().map(|raw| &raw.paths).collect::<Vec<_>>()),
        outputs: raws
            .output
            .iter()
            .flat_map(|raw| {
                let written = if raw.later { Written::Later } else { Written::Now };
                data::words(&raw.names).iter().map(move |name| (*name, written))
            })
            .collect(),
        programs,
    }
});

/// What is special about the words of one command.
struct Specials {
    entries: Vec<&'static Special>,
}

impl Specials {
    fn of(name: &str, arguments: &[Field]) -> Self {
        let verbs: Vec<&str> = arguments
            .iter()
            .filter_map(Field::text)
            .filter(|text| !text.starts_with('-'))
            .take(3)
            .collect();
        let meant =
            |entry: &&&'static Special| entry.verbs.is_empty() || entry.verbs.iter().any(|verb| verbs.contains(verb));
        let entries = TABLE.programs.get(name).into_iter().flatten();
        Self {
            entries: entries.filter(meant).copied().collect(),
        }
    }

    fn any(&self, says: impl Fn(&Special) -> bool) -> bool {
        self.entries.iter().any(|entry| says(entry))
    }

    /// Whether the value of an option, by its name as it is written, is a text.
    fn is_text(&self, option: &str) -> bool {
        self.any(|entry| entry.texts.contains(&option))
    }

    /// Whether the next word is the text of an option: `-m`, and `-am`.
    fn expects_text(&self, word: &str) -> bool {
        if self.is_text(word) {
            return true;
        }
        let letters = word.strip_prefix('-').unwrap_or_default();
        let joined = letters.len() > 1 && letters.chars().all(|c| c.is_ascii_alphabetic());
        joined
            && letters
                .chars()
                .next_back()
                .is_some_and(|last| self.is_text(&format!("-{last}")))
    }

    /// Whether a word is an option and its text in one: `--message=x`, `-mx`.
    fn holds_text(&self, word: &str) -> bool {
        let name = word.split(['=', ':']).next().unwrap_or(word);
        if name.len() < word.len() && self.is_text(name) {
            return true;
        }
        let short = word.char_indices().nth(2).and_then(|(at, _)| word.get(..at));
        short.is_some_and(|short| short.starts_with('-') && !word.starts_with("--") && self.is_text(short))
    }
}

/// Whether the name of an option says that its value is written: `--coverage-out`, `-test.coverprofile`, `--outDir`.
fn writes(option: &str) -> Written {
    if let Some(written) = TABLE.outputs.get(option) {
        return *written;
    }
    let bare = option.trim_start_matches('-');
    if bare.len() < 3 || bare.len() == option.len() {
        return Written::No;
    }
    let mut part = String::new();
    let mut parts = Vec::new();
    for c in bare.chars().chain(['-']) {
        if (c.is_ascii_uppercase() || !c.is_ascii_alphanumeric()) && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        if c.is_ascii_alphanumeric() {
            part.push(c.to_ascii_lowercase());
        }
    }
    let mut meant = parts.iter().filter_map(|part| TABLE.outputs.get(part.as_str()));
    meant.next().copied().unwrap_or(Written::No)
}

/// Files that words of a command name, beside those that `touched` says already.
pub(super) fn named(
    name: &str,
    arguments: &[Field],
    touched: &[FileAccess],
    state: &State,
    context: &ShellContext,
) -> Vec<Named> {
    if state.remote {
        return Vec::new();
    }
    let words: Vec<Word> = std::iter::once(Word::Literal(name.to_owned()))
        .chain(arguments.iter().take(MOST * 64).map(|field| field.word.clone()))
        .collect();
    let (name, from) = executing::behind_module(&words).unwrap_or((name, 1));
    let arguments = arguments.get(from - 1..).unwrap_or_default();
    // What a wrapper runs has words of its own.
    let own = match wrappers::resolve(name, &words) {
        Some((wrapper, start)) => {
            let found = wrappers::unwrap(wrapper, &words, start);
            found
                .program
                .map_or(arguments.len(), |program| program.saturating_sub(from))
        }
        None => arguments.len(),
    };
    let arguments = arguments.get(..own).unwrap_or(arguments);
    let special = Specials::of(name, arguments);
    if special.any(|entry| entry.known) {
        return Vec::new();
    }
    let judged: HashSet<&str> = touched
        .iter()
        .map(|access| match &access.target {
            FileTarget::Path(path) => path.as_str(),
            FileTarget::Pattern { pattern, .. } => pattern.as_str(),
            FileTarget::Unknown(source) => source.as_str(),
        })
        .collect();
    let mut search = Search {
        special: &special,
        git: name == "git",
        judged,
        state,
        context,
        found: Vec::new(),
    };
    let mut before: Option<&str> = None;
    for field in arguments {
        if search.found.len() >= MOST {
            search.too_many();
            break;
        }
        let option = before.filter(|word| word.starts_with('-') && word.len() > 1 && !word.contains('='));
        if !option.is_some_and(|option| special.expects_text(option)) {
            search.field(field, option);
        }
        before = Some(field.text().unwrap_or_default());
    }
    search.found
}

struct Search<'a> {
    special: &'a Specials,
    git: bool,
    judged: HashSet<&'a str>,
    state: &'a State,
    context: &'a ShellContext,
    found: Vec<Named>,
}

impl Search<'_> {
    fn too_many(&mut self) {
        self.found.push(Named {
            text: "more words than are looked at".to_owned(),
            target: FileTarget::Unknown("more words than are looked at".to_owned()),
            through: Some(Vec::new()),
            written: false,
        });
    }

    fn field(&mut self, field: &Field, option: Option<&str>) {
        if field.process {
            return;
        }
        for text in field.candidates.iter().take(MOST).flatten() {
            let known = match text.glob {
                true => before_wildcard(&text.text),
                false => text.text.clone(),
            };
            self.word(&known, option);
        }
        if !field.exact {
            // What is known of it: `/home/dev/$X`, `--out=$HOME/$X`.
            let source = field.source.trim_start_matches('"');
            let source = match self.context.home.as_ref() {
                Some(home) if !self.state.variables.contains_key("HOME") => source
                    .replace("${HOME}", home.as_str())
                    .replace("$HOME/", &format!("{home}/")),
                _ => source.to_owned(),
            };
            let end = source.find(['$', '`', '"', '\'', '\\', '*', '?', '[', '{', '<', '>']);
            let known = end.and_then(|end| source.get(..end)).unwrap_or_default();
            if let Some((folder, _)) = known.rsplit_once('/') {
                self.word(&format!("{folder}/"), option);
            }
        }
    }

    /// Looks at one word; `option` is the one in front of it.
    fn word(&mut self, word: &str, option: Option<&str>) {
        let option_itself = word.starts_with('-') && word.len() > 1;
        if word.len() > LONGEST || word.contains('\n') || self.special.holds_text(word) {
            return;
        }
        let option = match word.split_once('=') {
            Some((name, _)) if option_itself => Some(name),
            _ if option_itself => word.get(..2).filter(|_| !word.starts_with("--")),
            _ => option,
        };
        let written = option.map_or(Written::No, writes);
        if !(written != Written::No || word.contains(['/', '~']) || word.contains("..")) {
            return;
        }
        if word.contains(char::is_whitespace) {
            self.with_blanks(word, option_itself, written);
            return;
        }
        let setting = !option_itself && option.is_none() && self.special.any(|entry| entry.settings);
        if setting
            && word
                .split_once('=')
                .is_some_and(|(name, _)| super::reader::is_name(name))
        {
            return;
        }
        let operand = !option_itself && option.is_none();
        for part in word.split([',', ';']) {
            self.part(part, operand, written);
        }
    }

    /// A word with blanks is a text, unless it begins as a path does and has more of one behind the blank.
    fn with_blanks(&mut self, word: &str, is_option: bool, written: Written) {
        if self.git {
            return;
        }
        let (value, sure) = match word.split_once('=') {
            Some((_, value)) if is_option => (value, true),
            _ => (word, false),
        };
        let ends_as_path = value
            .rsplit(char::is_whitespace)
            .next()
            .is_some_and(|last| last.contains('/'));
        if value.starts_with(['/', '~']) && (sure || ends_as_path) {
            self.path(value, false, written);
        }
    }

    /// A piece of a word between commas.
    fn part(&mut self, part: &str, operand: bool, written: Written) {
        if let Some(at) = part.find("file:")
            && let Some(path) = part.get(at..).and_then(file_of)
        {
            self.path(&path, operand, written);
            return;
        }
        let mut begin = 0;
        let mut before: Option<char> = None;
        loop {
            let rest = part.get(begin..).unwrap_or_default();
            let end = rest.find(['=', '@', ':']).unwrap_or(rest.len());
            let token = rest.get(..end).unwrap_or_default();
            let front = part.get(..begin).unwrap_or_default();
            let network = before == Some(':') && token.starts_with("//");
            if network {
                return;
            }
            if !self.is_elsewhere(front, before) {
                self.token(token, begin == 0, operand, written);
            }
            let Some(c) = rest.get(end..).and_then(|rest| rest.chars().next()) else {
                return;
            };
            before = Some(c);
            begin += end + c.len_utf8();
        }
    }

    /// Whether what follows `front` is a place elsewhere: `host:/x`, `me@host:/x`, `dst=/x` of a mount.
    fn is_elsewhere(&self, front: &str, before: Option<char>) -> bool {
        match before {
            // Of an option the value may stand behind a colon: `-bl:/x`.
            Some(':') => {
                let front = front.trim_end_matches(':');
                front.contains('@') || (self.special.any(|entry| entry.colon) && !front.starts_with('-'))
            }
            Some('=') => {
                let key = front
                    .trim_end_matches('=')
                    .rsplit(['=', ':'])
                    .next()
                    .unwrap_or_default();
                self.special.any(|entry| entry.keys.contains(&key))
            }
            _ => false,
        }
    }

    /// A piece of a word that may be a path.
    fn token(&mut self, token: &str, first: bool, operand: bool, written: Written) {
        if !first || !token.starts_with(['-', '+']) {
            self.path(token, operand, written);
            return;
        }
        if let Some(rest) = token.strip_prefix('+') {
            self.path(rest, operand, written);
            return;
        }
        if token.starts_with("--") {
            return;
        }
        // `-o/home/x`, `-o../x`; and `-xzf/home/x`, but not the folder in `-obuild/tmp/x`.
        let letters = token.strip_prefix('-').unwrap_or_default();
        let glued = letters.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        if (2..=3).contains(&(letters.len() - glued.len())) && glued.starts_with(['/', '~']) {
            self.path(glued, operand, Written::No);
        }
        let behind_one = letters.char_indices().nth(1).and_then(|(at, _)| letters.get(at..));
        if let Some(rest) = behind_one.filter(|rest| rest.contains(['/', '.'])) {
            self.path(rest, operand, written);
        }
    }

    fn path(&mut self, text: &str, operand: bool, written: Written) {
        let goes_up = text.split('/').any(|segment| segment == "..");
        let anchored = match text.strip_prefix('~') {
            None if text.starts_with('/') => Some(text.to_owned()),
            None => None,
            Some(rest) => {
                let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
                let home = match name {
                    "" if rest.is_empty() && !text.is_empty() => self.context.home.clone(),
                    "" => self.context.home.clone(),
                    name => self.context.home.as_ref().and_then(|home| home_of(name, home)),
                };
                // `~1.2` of a version, `x~`.
                let Some(home) = home.filter(|_| name.is_empty() || rest.contains('/')) else {
                    return;
                };
                Some(home.join(below).as_str().to_owned())
            }
        };
        let mut files = Files::new(self.state);
        files.name(anchored.as_deref().unwrap_or(text), super::Access::Write);
        for access in files.found {
            let FileTarget::Path(path) = &access.target else {
                continue;
            };
            let protected = || protected::protects(path, protected::Switches::default()).is_some();
            // A hook of git's is no operand of anything that only looks.
            let in_git = operand
                && path
                    .parent()
                    .is_some_and(|folder| folder.segments().any(|name| name == ".git"));
            let here = path.is_within(&self.context.cwd);
            let through = access.through.as_ref().is_none_or(|left| !left.is_empty());
            let outside = (anchored.is_some() && (is_in_a_tree(path) || written == Written::Now)) || goes_up;
            let counts = (outside && (!here || through)) || ((written != Written::No || in_git) && protected());
            let again = self.judged.contains(path.as_str()) || is_harmless(path);
            let noted = self
                .found
                .iter()
                .rev()
                .take(8)
                .any(|named| named.target == access.target);
            if counts && !again && !noted {
                self.found.push(Named {
                    text: text.to_owned(),
                    target: access.target.clone(),
                    through: access.through.clone(),
                    written: written != Written::No || in_git,
                });
            }
        }
    }
}

/// A pattern up to the folder in which its first wildcard stands.
fn before_wildcard(pattern: &str) -> String {
    let mut known = String::new();
    let mut letters = pattern.chars();
    while let Some(c) = letters.next() {
        match c {
            '*' | '?' | '[' => break,
            '\\' => known.extend(letters.next()),
            c => known.push(c),
        }
    }
    match known.rfind('/') {
        Some(at) => known.get(..=at).unwrap_or_default().to_owned(),
        None => String::new(),
    }
}

/// Whether a path lies in one of the places of the table.
fn is_in_a_tree(path: &AbsPath) -> bool {
    TABLE.trees.iter().any(|tree| path.is_within(tree))
}

/// Whether a path is one of those that keep nothing.
fn is_harmless(path: &AbsPath) -> bool {
    let text = path.as_str();
    targets::is_device(text)
        || TABLE.harmless.iter().any(|own| match own.strip_suffix('*') {
            Some(begin) => text.starts_with(begin),
            None => text
                .strip_prefix(own)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::{self, Limits};

    #[test]
    fn each_entry_has_words_and_a_reason() {
        let raws: Raws = data::read("outside.toml", FILE);
        for raw in raws.tree.iter().chain(&raws.harmless) {
            assert!(
                raw.paths.split_whitespace().all(|path| path.starts_with('/')),
                "{}",
                raw.paths
            );
            assert!(raw.why.len() > 5, "{}", raw.paths);
        }
        for raw in &raws.output {
            assert!(!raw.names.is_empty() && raw.why.len() > 5, "{}", raw.names);
        }
        for raw in &raws.program {
            let options = raw.texts.split_whitespace().all(|option| option.starts_with('-'));
            assert!(options && raw.why.len() > 5, "{}", raw.names);
        }
    }

    /// What the words of the first command name.
    fn named(line: &str) -> Vec<String> {
        let home = AbsPath::root().join("home/dev");
        let context = ShellContext {
            cwd: home.join("proj"),
            home: Some(home),
        };
        let analysis = shell::analyse(line, &context, Limits::default());
        let named = analysis.commands.into_iter().next().map(|command| command.named);
        let shown = |named: Named| match named.target {
            FileTarget::Path(path) => path.to_string(),
            FileTarget::Pattern { pattern, .. } => pattern,
            FileTarget::Unknown(source) => format!("?{source}"),
        };
        named.unwrap_or_default().into_iter().map(shown).collect()
    }

    #[test]
    fn files_are_found_wherever_they_stand_in_a_word() {
        for (line, path) in [
            ("foo ~/.ssh/x", "/home/dev/.ssh/x"),
            ("foo '~/.ssh/x'", "/home/dev/.ssh/x"),
            ("foo ~", "/home/dev"),
            ("foo --a=~root/x", "/root/x"),
            ("foo ~other/x", "/home/other/x"),
            ("foo -o/etc/x", "/etc/x"),
            ("foo -xzf/etc/x", "/etc/x"),
            ("foo -o../x", "/home/dev/x"),
            ("foo --out=/etc/x", "/etc/x"),
            ("foo --out=/opt/x", "/opt/x"),
            ("foo -test.coverprofile=/opt/x", "/opt/x"),
            ("foo a=@/etc/x", "/etc/x"),
            ("foo @/etc/x", "/etc/x"),
            ("foo +/tmp/x", "/tmp/x"),
            ("foo id=a,src=/etc/x,y", "/etc/x"),
            ("foo file:///etc/x", "/etc/x"),
            ("foo a=file:///%65tc/x", "/etc/x"),
            ("foo -bl:/etc/x", "/etc/x"),
            ("foo /etc/a:/opt/b", "/etc/a"),
            ("foo -- -o /etc/x", "/etc/x"),
            ("foo ../x", "/home/dev/x"),
            ("foo a/../../x", "/home/dev/x"),
            ("foo /usr/../etc/x", "/etc/x"),
            ("foo //etc/x", "/etc/x"),
            ("foo /etc/*.conf", "/etc"),
            ("foo /etc/$X", "/etc"),
            ("foo \"$HOME/$X\"", "/home/dev"),
            ("foo --in='/etc/a b'", "/etc/a b"),
            ("foo '/etc/a b/c'", "/etc/a b/c"),
            ("foo --output=.git/hooks/x", "/home/dev/proj/.git/hooks/x"),
            ("foo -o .npmrc", "/home/dev/proj/.npmrc"),
            ("foo .git/hooks/x", "/home/dev/proj/.git/hooks/x"),
            ("docker run -v /etc/a:/b img", "/etc/a"),
            ("python3 -m foo /etc/x", "/etc/x"),
            ("cargo rustc -- -o /etc/x", "/etc/x"),
        ] {
            assert!(
                named(line).iter().any(|found| found == path),
                "{line}: {:?}",
                named(line)
            );
        }
    }

    #[test]
    fn what_is_no_file_is_not_noted() {
        for line in [
            "foo /dev/null",
            "foo /dev/ttyUSB0",
            "foo --prefix=/usr/local",
            "foo /opt/x",
            "foo https://a.test/etc/x",
            "foo --url=https://a.test:80/etc/x",
            "foo me@a.test:/etc/x",
            "foo 'the file /etc/x is read'",
            "foo '/etc is full'",
            "foo x@~1.2 '~1.3' a...b 1..2",
            "foo /home/dev/proj/a",
            "foo -Ibuild/tmp/x",
            "foo .vscode/settings.json",
            "foo --config .npmrc",
            "git commit -am /etc/x",
            "git show HEAD:/etc/x",
            "docker cp web:/etc/x a",
            "docker run -e A=/etc/x -w /srv img ls /etc",
            "docker run --mount type=bind,src=a,dst=/etc img",
            "ssh a.test cat /etc/x",
            "kubectl set env deploy/x A=/etc/x",
            "sed -n s,/etc/x,/tmp/y, a",
            "echo /etc/x",
            "cd sub && foo ../a",
        ] {
            assert_eq!(named(line), Vec::<String>::new(), "{line}");
        }
        let moved = "cd sub && foo ../a";
        let context = ShellContext {
            cwd: AbsPath::root().join("home/dev/proj"),
            home: None,
        };
        let analysis = shell::analyse(moved, &context, Limits::default());
        let left = analysis.commands.iter().flat_map(|command| &command.named);
        // It stays inside; what is noted is the folder that it leaves.
        assert!(
            left.into_iter()
                .all(|named| named.through.as_ref().is_some_and(|left| !left.is_empty()))
        );
    }

    #[test]
    fn of_many_words_one_that_is_not_known_is_noted() {
        let line = format!(
            "foo {}",
            (0..2 * MOST).map(|n| format!("/etc/{n}")).collect::<Vec<_>>().join(" ")
        );
        let named = named(&line);
        assert!(named.len() <= MOST + 1 && named.last().is_some_and(|last| last.starts_with('?')));
    }
}

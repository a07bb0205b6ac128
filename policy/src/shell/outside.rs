//! Words of a command that name files of which no table says what the command does with them.
//!
//! The tables know many programs and never all their options. An allow rule with a wildcard reaches files of the workspace only
//! (decision 0010), so what else a word names has to be seen, whatever the program: in an operand, behind `=`, `@`, `,` or `:`,
//! glued to a short option, behind `--` (decision 0052). What is no file all the same stands in `policy/data/outside.toml`.
//!
//! It knows neither rules nor the workspace, and judges nothing. A name without a folder, or below the working directory, is left
//! out: where a link leads from there is not looked at.

mod table;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use table::{Specials, Written, is_harmless, is_in_a_tree, is_installed, names_a_folder, writes};

use super::{
    Command, FileAccess, FileTarget, Named, ShellContext, Word, executing,
    expand::{Field, State, home_of},
    targets::Files,
    wrappers,
};
use crate::{AbsPath, protected, rule::file_of};

/// Most candidates of a word, most words of a command, and most files that are noted; of more, one that is not known is noted.
const MOST: usize = 256;
/// Longest word that is looked at, in bytes: the kernel runs nothing with a longer one (`MAX_ARG_STRLEN`).
const LONGEST: usize = 1 << 17;
/// Most pieces of the words of a command.
const MOST_PIECES: usize = 4096;
/// More words than are looked at are there.
const TOO_MANY: &str = "more words than are looked at";

/// Files that words of a command name, beside those that `touched` says already.
pub(super) fn named(
    name: &str,
    arguments: &[Field],
    touched: &[FileAccess],
    state: &State,
    context: &ShellContext,
) -> Vec<Named> {
    if state.remote || !arguments.iter().any(may_name_a_file) {
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
    let own: Vec<Word> = arguments.iter().map(|field| field.word.clone()).collect();
    let special = Specials::of(name, &own);
    let arguments = arguments.get(..special.looked_at(&own)).unwrap_or(arguments);
    if arguments.is_empty() {
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
        pieces: MOST_PIECES,
        roots: true,
        found: Vec::new(),
    };
    let mut before: Option<&str> = None;
    let labels = special.any(|entry| entry.labels);
    let mut ended = false;
    let pattern = pattern_of_grep(name, &special, &own);
    for (at, field) in arguments.iter().enumerate() {
        if pattern == Some(at) {
            before = None;
            continue;
        }
        if search.found.len() >= MOST || search.pieces == 0 {
            search.too_many();
            break;
        }
        let option =
            before.filter(|word| word.starts_with('-') && word.len() > 1 && *word != "--" && !word.contains('='));
        ended |= field.text() == Some("--");
        if labels && !ended && field.text().is_some_and(is_label) {
            before = field.text();
            continue;
        }
        // `1 / 2`
        let behind = arguments.get(at + 1).and_then(Field::text);
        if field.text() == Some("/") && before.is_some_and(is_term) && behind.is_some_and(is_term) {
            before = Some("/");
            continue;
        }
        // A text may be read from a file all the same: `--value file://x`.
        let address = field.text().is_some_and(|text| text.starts_with("file"));
        if address || !option.is_some_and(|option| special.expects_text(option)) {
            search.field(field, option);
        }
        before = Some(field.text().unwrap_or_default());
    }
    search.found
}

/// Whether a word is worth a look: an option, whose value may be a file by its name alone, or one with what paths are told by.
/// Most commands have no such word.
fn may_name_a_file(field: &Field) -> bool {
    let signs = |text: &str| text.starts_with('-') || text.contains(['/', '~']) || text.contains("..");
    !field.exact || field.candidates.iter().flatten().any(|text| signs(&text.text))
}

/// Whether a word names targets of a build: `//...`, `//a:b`, `-//x/...`, `@own//a`.
fn is_label(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let repository = |name: &str| name.starts_with('@') && !name.contains('/');
    match text.split_once("//") {
        Some((name, path)) => {
            (name.is_empty() || repository(name)) && !path.starts_with('/') && !path.split('/').any(|name| name == "..")
        }
        None => false,
    }
}

/// The program that a runner is given, where it lies outside or may: `uv run ../x.py`, `npx file:../x`, `npx ..`.
pub(super) fn program(field: &Field, state: &State, context: &ShellContext) -> Vec<Named> {
    let is_path = |text: &&str| (text.contains(['/', '~']) || text.contains("..")) && text.len() <= LONGEST;
    let Some(text) = field.text().filter(is_path) else {
        return Vec::new();
    };
    let special = Specials::of("", &[]);
    let mut search = Search {
        special: &special,
        git: false,
        judged: HashSet::new(),
        state,
        context,
        pieces: MOST_PIECES,
        roots: true,
        found: Vec::new(),
    };
    search.part(text, false, Written::No);
    // Where a person's programs are installed, which are run by their names alone as well.
    let installed = |named: &Named| match (&named.target, &context.home) {
        (FileTarget::Path(path), Some(home)) => {
            named.through.as_ref().is_some_and(Vec::is_empty) && is_installed(path, home)
        }
        _ => false,
    };
    search.found.retain(|named| !installed(named));
    search.found
}

/// Notes of commands that a runner runs, by whatever stands between, the programs that lie outside: `uv run env ../x`.
pub(super) fn note_programs(commands: &mut [Command], state: &State, context: &ShellContext) {
    for command in commands.iter_mut().filter(|command| !command.remote) {
        let path = command.program().filter(|program| program.contains('/'));
        let Some(field) = path.map(Field::literal) else {
            continue;
        };
        for named in program(&field, state, context) {
            if !command.named.iter().any(|own| own.text == named.text) {
                command.named.push(named);
            }
        }
    }
}

/// The place of the pattern of `git grep`, which is no file: the first operand, unless an option gives one.
fn pattern_of_grep(name: &str, special: &Specials, words: &[Word]) -> Option<usize> {
    if name != "git" || words.first().and_then(Word::literal) != Some("grep") {
        return None;
    }
    let texts = || words.iter().skip(1).map(Word::literal);
    let gives = |text: Option<&str>| {
        text.is_none_or(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(['e', 'f']))
    };
    let valued = |text: Option<&str>| text.is_some_and(|text| special.expects_text(text));
    if texts().any(|text| gives(text) || valued(text) || text.is_some_and(|text| text.starts_with("--f"))) {
        return None;
    }
    texts()
        .position(|text| text.is_some_and(|text| !text.starts_with('-')))
        .map(|at| at + 1)
}

struct Search<'a> {
    special: &'a Specials,
    git: bool,
    judged: HashSet<&'a str>,
    state: &'a State,
    context: &'a ShellContext,
    /// How many pieces of words are looked at yet.
    pieces: usize,
    /// A slash alone counts as the folder that it names.
    roots: bool,
    found: Vec<Named>,
}

impl Search<'_> {
    fn too_many(&mut self) {
        // Once is enough.
        if self.pieces > 0 {
            self.pieces = 0;
            self.unknown(TOO_MANY);
        }
    }

    /// Notes a file of which it is not known where it lies.
    fn unknown(&mut self, text: &str) {
        self.found.push(Named {
            text: text.to_owned(),
            target: FileTarget::Unknown(text.to_owned()),
            through: Some(Vec::new()),
            written: false,
        });
    }

    fn field(&mut self, field: &Field, option: Option<&str>) {
        if field.process {
            return;
        }
        for text in field.candidates.iter().flatten().take(MOST) {
            let known = match text.glob {
                true => before_wildcard(&text.text),
                false => text.text.clone(),
            };
            self.word(&known, option);
        }
        if !field.exact {
            // What is known of it: `/home/dev/$X`, `--out=$HOME/$X`.
            let mut source = field.source.replace('"', "");
            if let Some(home) = self.context.home.as_ref()
                && !self.state.variables.contains_key("HOME")
            {
                source = source.replace("${HOME}", home.as_str());
                source = source.replace("$HOME/", &format!("{home}/"));
            }
            let end = source.find(['$', '`', '\'', '\\', '*', '?', '[', '{', '<', '>']);
            // `~-/x` and `~1`, of which nobody knows where they are.
            let end = end.or_else(|| source.starts_with('~').then_some(source.len()));
            let known = end.and_then(|end| source.get(..end)).unwrap_or_default();
            match known.rsplit_once('/') {
                Some((folder, _)) => self.word(&format!("{folder}/"), option),
                None if known.starts_with('~') => self.word(&format!("{known}/"), option),
                None => {}
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
        let pieces = word.split([',', ';', '=', '@', ':']).take(self.pieces + 1).count();
        if pieces >= self.pieces {
            self.too_many();
            return;
        }
        self.pieces -= pieces;
        let roots = !self.is_text_alone(option);
        for (number, part) in word.split([',', ';']).enumerate() {
            // `s/,/x/`
            self.roots = roots && (number == 0 || part.contains('='));
            self.part(part, operand, written);
        }
    }

    /// Whether a slash alone is no folder: the operand of a program that takes texts, or the value of an option that names none
    /// (`--base /`, `--delimiter=/`).
    fn is_text_alone(&self, option: Option<&str>) -> bool {
        match option {
            Some(option) => !names_a_folder(option),
            None => self.special.any(|entry| entry.operands),
        }
    }

    /// A word with blanks is a text, unless it begins as a path does and has more of one behind the blank.
    fn with_blanks(&mut self, word: &str, is_option: bool, written: Written) {
        if self.git {
            return;
        }
        let (value, sure) = match word.split_once('=') {
            Some((name, value)) if is_option && !name.contains(char::is_whitespace) => (value, true),
            _ => (word, written != Written::No),
        };
        let ends_as_path = value
            .rsplit(char::is_whitespace)
            .next()
            .is_some_and(|last| last.contains('/'));
        // `/home/dev/my file`, but not `/api is slow`: only in a folder of which the name has no blank.
        let in_folder = value
            .rsplit_once('/')
            .is_some_and(|(folder, _)| folder.len() > 1 && !folder.contains(char::is_whitespace));
        if value.starts_with(['/', '~']) && (sure || ends_as_path || in_folder) {
            self.path(value, false, written);
        }
    }

    /// A piece of a word between commas.
    fn part(&mut self, part: &str, operand: bool, written: Written) {
        // Some programs take the address of a file from where they are: `file://../x`.
        for scheme in ["file://", "fileb://"] {
            let relative = part.strip_prefix(scheme).filter(|rest| !rest.starts_with(['/', '~']));
            if let Some(relative) = relative {
                self.path(relative, operand, written);
            }
        }
        if let Some(at) = part.find("file:")
            && let Some(path) = part
                .get(at..)
                .filter(|url| !url.starts_with("file://~"))
                .and_then(file_of)
        {
            self.path(&path, operand, written);
            return;
        }
        let texts = operand && self.special.any(|entry| entry.operands);
        let mut begin = 0;
        let mut before: Option<char> = None;
        loop {
            let rest = part.get(begin..).unwrap_or_default();
            let end = rest.find(['=', '@', ':']).unwrap_or(rest.len());
            let token = rest.get(..end).unwrap_or_default();
            let front = part.get(..begin).unwrap_or_default();
            // `file://~/x`, `sqlite:///x`: an address without a host.
            let local = before == Some(':') && (token.starts_with("///") || token.starts_with("//~"));
            let network = before == Some(':') && token.starts_with("//") && !local;
            if network {
                return;
            }
            let token = if local { token.trim_start_matches('/') } else { token };
            if is_root(token) && !local {
                // `--rule=/=web`, `host:/`, `x@/`
                let key = front
                    .trim_end_matches('=')
                    .rsplit(['=', ':'])
                    .next()
                    .unwrap_or_default();
                let text = match before {
                    Some(':') => true,
                    Some('=') => !names_a_folder(key) || self.is_elsewhere(front, before),
                    _ => texts && before != Some('@'),
                };
                if !text {
                    self.path(token, operand, written);
                }
            } else if local {
                let path = if token.starts_with('~') {
                    token.to_owned()
                } else {
                    format!("/{token}")
                };
                self.path(&path, operand, written);
            } else if !self.is_elsewhere(front, before) && (!texts || before == Some('@')) {
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
            Some(':') => front.contains('@') || self.special.any(|entry| entry.colon),
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
        if (2..=3).contains(&(letters.len() - glued.len()))
            && (glued.starts_with(['/', '~']) || glued.starts_with("../"))
        {
            self.path(glued, operand, Written::No);
        }
        let behind_one = letters.char_indices().nth(1).and_then(|(at, _)| letters.get(at..));
        if let Some(rest) = behind_one.filter(|rest| rest.contains(['/', '.'])) {
            self.path(rest, operand, written);
        }
    }

    fn path(&mut self, text: &str, operand: bool, written: Written) {
        if is_root(text) {
            let target = FileTarget::Path(AbsPath::root());
            if self.roots && !self.found.iter().any(|named| named.target == target) {
                self.found.push(Named {
                    text: text.to_owned(),
                    target,
                    through: Some(Vec::new()),
                    written: false,
                });
            }
            return;
        }
        let goes_up = text.split('/').any(|segment| segment == "..");
        let anchored = match text.strip_prefix('~') {
            None if text.starts_with('/') => Some(text.to_owned()),
            None => None,
            Some(rest) => {
                let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
                // `~+` is where the shell is; `~-` and `~1` are known at run time only.
                if name == "+" {
                    self.path(if below.is_empty() { "." } else { below }, operand, written);
                    return;
                }
                let of_the_shell = matches!(name, "-") || name.trim_start_matches(['+', '-']).parse::<u32>().is_ok();
                if of_the_shell && (name == "-" || rest.contains('/')) {
                    self.unknown(text);
                    return;
                }
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
            // Of a path that stays inside only the folders count that it leaves.
            let same = |named: &Named| {
                named.target == access.target
                    || (here && !in_git && written == Written::No && named.through == access.through)
            };
            let noted = self.found.iter().rev().take(8).any(same);
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

/// Whether a text names all of the machine: `/`, `//`, `/.`.
fn is_root(text: &str) -> bool {
    text.starts_with('/') && text.chars().all(|c| matches!(c, '/' | '.'))
}

/// Whether a word is a number or a name of one letter, as in `1 / 2`.
fn is_term(word: &str) -> bool {
    let number = word.trim_start_matches(['-', '+']);
    let one = word.len() == 1 && word.chars().all(|c| c.is_ascii_alphabetic());
    one || number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(|c| c.is_ascii_digit() || c == '.')
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

//! Signs in the text of a line that names may mean something else, or that its commands do not run once in their order.
//!
//! Some answers rest on what a name means: that `pwd` prints where the shell is, that `cp` copies. They are given only where
//! the line has none of these signs. It looks at the text and not at commands, so it sees too many of them, also in texts
//! that nothing runs; what a quote or a backslash tears apart it sees as a whole. What an escape of `$'…'` spells it does not
//! see: the walk asks again for each text that it finds a shell to run, and adds what it knows of commands (`analyse`): loops,
//! background, traps, and functions that come by the environment.

use std::borrow::Cow;

/// What the text of a line has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// It may define a function or an alias, or make a builtin mean something else.
    pub renames: bool,
    /// It may change what git takes for the work tree, or which program `git` is.
    pub moves_git: bool,
    /// Commands of it may run more than once, or later than they stand.
    pub repeats: bool,
}

/// Words that give names another meaning.
const RENAMING: &[&str] = &["BASH_ALIASES", "BASH_CMDS", "alias", "enable", "function", "hash"];
/// Tables in which zsh keeps what names mean, where something is put into them.
const TABLES: &[&str] = &[
    "aliases",
    "builtins",
    "commands",
    "dis_aliases",
    "dis_functions",
    "functions",
    "galiases",
    "saliases",
];
/// Subcommands that change where git finds its work tree.
const MOVING: &[&str] = &["config", "init"];
/// Words and signs of loops.
const REPEATING: &[&str] = &["do", "forever", "xargs", "parallel"];

impl Signs {
    pub(super) fn of(line: &str) -> Self {
        // What is quoted in pieces is one word: `al'ia's`.
        let quotes = |c: char| matches!(c, '\\' | '\'' | '"');
        let text: Cow<'_, str> = if line.contains(quotes) {
            let whole = line.replace("\\\n", "");
            whole.chars().filter(|c| !quotes(*c)).collect::<String>().into()
        } else {
            line.into()
        };
        let mut signs = Self::default();
        let mut before = ' ';
        let mut rest = &*text;
        while let Some(c) = rest.chars().next() {
            let end = rest.find(|c: char| !is_letter(c)).unwrap_or(rest.len());
            if end == 0 {
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
                signs.renames |= c == '(' && rest.trim_start().starts_with(')');
                let behind = rest.strip_prefix("git").filter(|_| c == '.');
                signs.moves_git |= behind.is_some_and(|behind| !behind.starts_with(is_letter));
                before = c;
                continue;
            }
            let (word, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
            let put = || behind.starts_with(['[', '=']) || behind.starts_with("+=");
            signs.renames |= RENAMING.contains(&word) || (TABLES.contains(&word) && before != '$' && put());
            // `$PATH` only reads it.
            signs.moves_git |= (MOVING.contains(&word) && before.is_whitespace())
                || word == "worktree"
                || word.contains("GIT_")
                || (word == "PATH" && !matches!(before, '$' | '{'));
            signs.repeats |= REPEATING.contains(&word);
            before = 'x';
            rest = behind;
        }
        signs.moves_git |= signs.renames;
        signs.repeats |= signs.renames;
        signs
    }

    /// Those of either.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            renames: self.renames | other.renames,
            moves_git: self.moves_git | other.moves_git,
            repeats: self.repeats | other.repeats,
        }
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_text_of_a_line_says() {
        for (line, renames, moves_git, repeats) in [
            ("cat $(pwd)/x", false, false, false),
            ("pwd() { :; }", true, true, true),
            ("pwd ( ) { :; }", true, true, true),
            ("al\\ia's' x=y", true, true, true),
            ("export PATH=x:$PATH", false, true, false),
            ("echo $PATH ${PATH}", false, false, false),
            ("GIT_DIR=x sh", false, true, false),
            ("mv .git x", false, true, false),
            ("cat .gitignore a/config", false, false, false),
            ("for i in 1; do x; done", false, false, true),
            ("git commit -m x; docker push", false, false, false),
        ] {
            let expected = Signs {
                renames,
                moves_git,
                repeats,
            };
            assert_eq!(Signs::of(line), expected, "{line}");
        }
    }
}

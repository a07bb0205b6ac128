//! What of git only looks, and which of its options run other programs.

use super::{Word, git_settings, options};

/// Global options with a value in the next word.
const VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
    "--shallow-file",
];

/// A git command, split.
#[derive(Debug, Default)]
pub(super) struct Split<'a> {
    /// Global options, as written up to `=`.
    pub(super) globals: Vec<&'a str>,
    /// Number of the word after `-C`.
    pub(super) folder: Option<usize>,
    /// The subcommand, if it is certain.
    pub(super) verb: Option<&'a str>,
    /// Number of the first word after it.
    pub(super) rest: usize,
}

/// Splits the words after `git`.
pub(super) fn split<'a>(words: impl IntoIterator<Item = &'a Word>) -> Split<'a> {
    let mut split = Split::default();
    let mut words = words.into_iter();
    let mut at = 0;
    while let Some(word) = words.next() {
        at += 1;
        let Some(text) = word.literal() else {
            split.globals.push("?");
            break;
        };
        if !text.starts_with('-') {
            split.verb = Some(text);
            break;
        }
        let name = text.split('=').next().unwrap_or(text);
        split.globals.push(name);
        if VALUED.contains(&text) {
            if text == "-C" {
                split.folder = Some(at);
            }
            words.next();
            at += 1;
        }
    }
    split.rest = at;
    split
}

/// Whether every `-c` in front of the subcommand sets something by which git runs nothing: `-c color.ui=never`.
fn only_harmless_settings(words: &[Word], split: &Split<'_>) -> bool {
    let mut words = words.iter().take(split.rest);
    while let Some(word) = words.next() {
        let value = match word.literal() {
            Some(text) if VALUED.contains(&text) => words.next(),
            _ => continue,
        };
        let harmless = value.and_then(Word::literal).is_some_and(git_settings::is_harmless);
        if word.literal() == Some("-c") && !harmless {
            return false;
        }
    }
    true
}

/// Global options by which it does.
const GLOBAL_ESCAPES: &[&str] = &[
    "-c",
    "--config-env",
    "--exec-path",
    "--git-dir",
    "--work-tree",
    "--super-prefix",
];

/// Options of subcommands by which it does; git takes any unique beginning.
const ESCAPES: &[&str] = &[
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--ext-diff",
    "--textconv",
    "--output",
    "--output-directory",
    "--open-files-in-pager",
    "--extcmd",
    "--tool",
    "--config",
    "--template",
    "--separate-git-dir",
    "--gpg-sign",
    "--exec-path",
    "--filter-process",
    "--tree-filter",
    "--index-filter",
    "--msg-filter",
    "--env-filter",
    "--commit-filter",
    "--parent-filter",
    "--tag-name-filter",
    "--setup",
    "--strategy",
    "--remote",
    "--editor",
    "--use-askpass",
    "--sendmail-cmd",
    "--smtp-server",
    "--to-cmd",
    "--cc-cmd",
];

/// The first option that makes git run another program or write elsewhere than into the repository.
pub(super) fn escape(words: &[Word]) -> Option<String> {
    let split = split(words);
    let harmless = split.globals.contains(&"-c") && only_harmless_settings(words, &split);
    if let Some(found) = split
        .globals
        .iter()
        .filter(|option| **option != "-c" || !harmless)
        .find(|option| GLOBAL_ESCAPES.contains(option) || option.starts_with("-c"))
    {
        return Some((*found).to_owned());
    }
    let verb = split.verb.unwrap_or_default();
    for word in words.get(split.rest..).unwrap_or_default() {
        let Some(text) = word.literal() else { continue };
        if text == "--" {
            break;
        }
        if text.starts_with("--") {
            let name = text.split('=').next().unwrap_or(text);
            // git takes any unique beginning. `--exec` of rebase, `--remote` of archive, `--config` of clone.
            let meant = ESCAPES
                .iter()
                .any(|long| long.starts_with(name) && (name.len() > 5 || name == *long));
            // Where it is the only one that begins so, fewer letters are enough.
            let own: &[&str] = match verb {
                "clone" | "fetch" | "fetch-pack" | "ls-remote" | "pull" => &["--upload-pack"],
                "push" | "send-pack" => &["--receive-pack"],
                "grep" => &["--open-files-in-pager"],
                "rebase" => &["--exec"],
                "send-email" => &["--header-cmd"],
                "svn" => &["--authors-prog"],
                "web--browse" => &["--browser", "--tool"],
                "difftool" => &["--extcmd"],
                _ => &[],
            };
            // `--edit-todo` and `--empty` of rebase begin with an `e`, too.
            let meant = meant
                || (name.len() > 2
                    && !(verb == "rebase" && name == "--e")
                    && own.iter().any(|option| option.starts_with(name)));
            let innocent = matches!(
                (verb, name),
                ("merge" | "pull" | "rebase" | "cherry-pick" | "revert", "--strategy")
                    | (
                        "branch" | "remote" | "ls-remote" | "submodule",
                        "--remote" | "--remotes"
                    )
                    | ("difftool" | "mergetool", "--tool-help")
                    | (_, "--exclude" | "--text")
            );
            if meant && !innocent {
                return Some(name.to_owned());
            }
            continue;
        }
        let short = match verb {
            "fetch" | "pull" | "ls-remote" => &["-u"][..0],
            "clone" => &["-u", "-c"],
            "grep" => &["-O"],
            "rebase" => &["-x"],
            "difftool" => &["-x", "-t"],
            "format-patch" => &["-o"],
            "archive" => &["-o"],
            "web--browse" => &["-b", "-t", "-c"],
            "cvsimport" => &["-p"],
            _ => &[][..],
        };
        let meant = |short: &&&str| text.starts_with(**short) || in_cluster(verb, text, short).is_some();
        if let Some(found) = short.iter().find(meant) {
            return Some((*found).to_owned());
        }
    }
    // Words that are commands themselves.
    let second = words.get(split.rest).and_then(Word::literal).unwrap_or_default();
    match (verb, second) {
        // What is run, and where, from then on.
        ("maintenance", "register" | "unregister" | "start" | "stop")
        | ("bisect", "run")
        | ("submodule", "foreach")
        | ("remote-ext" | "filter-branch" | "daemon" | "instaweb", _) => {
            Some(format!("{verb} {second}").trim_end().to_owned())
        }
        ("merge-index", _) if !words.iter().any(|word| word.literal() == Some("git-merge-one-file")) => {
            Some(verb.to_owned())
        }
        // `ext::sh -c …` as a repository's address.
        _ => words
            .iter()
            .filter_map(Word::literal)
            .find(|text| text.starts_with("ext::") || text.starts_with("fd::"))
            .map(str::to_owned),
    }
}

/// What follows a short option that stands behind others in one word: `./x` of `-ix./x`.
fn in_cluster<'t>(verb: &str, text: &'t str, option: &str) -> Option<&'t str> {
    let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    let letter = option.strip_prefix('-')?.chars().next()?;
    // Letters behind which the rest of the word is a value.
    let valued = match verb {
        "grep" => "efmABC",
        "rebase" => "sXSC",
        "clone" => "bojr",
        "format-patch" => "nv",
        "fetch" | "pull" | "push" => "ojsX",
        _ => "",
    };
    let at = letters.find(|c| c == letter || valued.contains(c))?;
    letters.get(at..)?.strip_prefix(letter)
}

/// A command that git is told to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// A text for a shell.
    Script(String),
    /// The program is the word of this number.
    Program(usize),
    /// A text that is only known when it runs.
    Unknown,
}

/// The commands that a git command is told to run, as far as they stand among its words. `words` follow the word `git`.
pub(super) fn commands(words: &[Word]) -> Vec<Told> {
    let split = split(words);
    let mut out = aliases(words, &split);
    let mut out_of_environment = false;
    let mut script = |word: Option<&Word>, cut: fn(&str) -> Option<&str>| match word.map(|word| (word.literal(), word))
    {
        Some((Some(text), _)) => out.extend(cut(text).map(|text| Told::Script(text.to_owned()))),
        Some((None, _)) => out.push(Told::Unknown),
        None => {}
    };
    // `-c alias.x='!cmd'`, `-c core.pager=cmd`: the value of a key that names a program.
    for (at, word) in words.iter().enumerate().take(split.rest) {
        if word.literal() == Some("-c") {
            script(words.get(at + 1).filter(|word| word.literal().is_some()), configured);
        }
        // `--config-env=alias.x=NAME`: the value stands in a variable.
        let named = match word.literal() {
            Some("--config-env") => words.get(at + 1).and_then(Word::literal),
            Some(text) => text.strip_prefix("--config-env="),
            None => None,
        };
        if let Some((key, _)) = named.and_then(|text| text.split_once('='))
            && (key.to_ascii_lowercase().starts_with("alias.") || configured(&format!("{key}=!x")).is_some())
        {
            out_of_environment = true;
        }
    }
    let rest = words.get(split.rest..).unwrap_or_default();
    let verb = split.verb.unwrap_or_default();
    let whole: fn(&str) -> Option<&str> = |text| Some(text);
    // Options whose value is a command. Where `--name=value` stands, the value is in the word.
    let options: &[&str] = match verb {
        "rebase" => &["-x", "--exec"],
        "daemon" => &["--access-hook"],
        "difftool" | "mergetool" => &["-x", "--extcmd"],
        "filter-branch" => &[
            "--setup",
            "--env-filter",
            "--tree-filter",
            "--index-filter",
            "--parent-filter",
            "--msg-filter",
            "--commit-filter",
            "--tag-name-filter",
        ],
        // `-u` of a push names no program: it remembers the branch.
        "push" => &["--receive-pack", "--exec"],
        "clone" | "fetch" | "pull" | "ls-remote" | "archive" => &["-u", "--upload-pack", "--receive-pack", "--exec"],
        "grep" => &["--open-files-in-pager"],
        "send-email" => &["--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd"],
        _ => &[],
    };
    for (at, word) in rest.iter().enumerate() {
        let Some(text) = word.literal() else { continue };
        let name = text.split('=').next().unwrap_or(text);
        let meant =
            |option: &&&str| **option == name || (name.len() > 2 && name.starts_with("--") && option.starts_with(name));
        let Some(option) = options.iter().find(meant).copied().or_else(|| {
            let short = options
                .iter()
                .find(|option| option.len() == 2 && text.starts_with(**option));
            let attached = short.copied().filter(|_| text.len() > 2 && !text.starts_with("--"));
            attached.or_else(|| {
                let mut letters = options.iter().copied().filter(|option| option.len() == 2);
                letters.find(|option| in_cluster(verb, text, option).is_some())
            })
        }) else {
            continue;
        };
        match (text.split_once('='), text.strip_prefix(option)) {
            (Some((_, value)), _) if text.starts_with("--") => out_script(&mut script, value),
            (_, Some(value)) if option.len() == 2 && !value.is_empty() => out_script(&mut script, value),
            (_, None) if in_cluster(verb, text, option).is_some_and(|value| !value.is_empty()) => {
                out_script(&mut script, in_cluster(verb, text, option).unwrap_or_default());
            }
            _ => script(rest.get(at + 1), whole),
        }
    }
    let first = rest.first().and_then(Word::literal).unwrap_or_default();
    match (verb, first) {
        ("bisect", "run") => out.push(Told::Program(split.rest + 1)),
        ("merge-index", _) => {
            let options = rest
                .iter()
                .take_while(|word| word.literal().is_some_and(|text| text.starts_with('-')));
            out.push(Told::Program(split.rest + options.count()));
        }
        ("submodule", _) => {
            if let Some(at) = rest.iter().position(|word| word.literal() == Some("foreach")) {
                let options = |word: &&Word| word.literal().is_some_and(|text| text.starts_with("--"));
                let skipped = rest.iter().skip(at + 1).take_while(options).count();
                // One word is a script, several are a program.
                match rest.get(at + 1 + skipped..).unwrap_or_default() {
                    [only] => match only.literal() {
                        Some(text) => out.push(Told::Script(text.to_owned())),
                        None => out.push(Told::Unknown),
                    },
                    _ => out.push(Told::Program(split.rest + at + 1 + skipped)),
                }
            }
        }
        // It runs git with the words behind its options, in each repository.
        ("for-each-repo", _) => {
            let mut behind = rest
                .iter()
                .skip_while(|word| word.literal().is_some_and(|word| word.starts_with('-')));
            let texts: Option<Vec<&str>> = behind.by_ref().map(Word::literal).collect();
            match texts {
                Some(texts) => out.push(Told::Script(super::quote(&[&["git"], texts.as_slice()].concat()))),
                None => out.push(Told::Unknown),
            }
        }
        _ => {}
    }
    if out_of_environment {
        out.push(Told::Unknown);
    }
    out
}

/// What `-c alias.NAME=VALUE` makes of the line, where the value is another subcommand of git: `git VALUE` with the words
/// that follow. Which name is called does not matter: a line that defines an alias means to use it.
fn aliases(words: &[Word], split: &Split<'_>) -> Vec<Told> {
    let rest: String = words
        .get(split.rest..)
        .unwrap_or_default()
        .iter()
        .filter_map(Word::literal)
        .map(|text| format!(" '{}'", text.replace('\'', r"'\''")))
        .collect();
    let values = words
        .iter()
        .take(split.rest)
        .filter_map(Word::literal)
        .filter_map(|text| {
            let (key, value) = text.split_once('=')?;
            key.to_ascii_lowercase().starts_with("alias.").then_some(value)
        });
    values
        .filter(|value| !value.starts_with('!'))
        .map(|value| Told::Script(format!("git {value}{rest}")))
        .collect()
}

fn out_script(script: &mut impl FnMut(Option<&Word>, fn(&str) -> Option<&str>), value: &str) {
    script(Some(&Word::Literal(value.to_owned())), |text| Some(text));
}

/// The command in `key=value`, if the key names a program; `None` if it does not.
fn configured(setting: &str) -> Option<&str> {
    let (key, value) = setting.split_once('=')?;
    let key = key.to_ascii_lowercase();
    let section = key.split('.').next().unwrap_or_default();
    let last = key.rsplit('.').next().unwrap_or_default();
    match section {
        // Without `!` it is another subcommand of git.
        "alias" => value.strip_prefix('!'),
        "credential" if last == "helper" => value.strip_prefix('!').or(Some(value)),
        "pager" => Some(value).filter(|value| !matches!(*value, "true" | "false")),
        _ => matches!(
            (section, last),
            (
                "core",
                "pager" | "editor" | "sshcommand" | "fsmonitor" | "gitproxy" | "askpass" | "alternaterefscommand"
            ) | ("diff", "external" | "textconv" | "command")
                | ("difftool" | "mergetool", "cmd")
                | ("filter", "clean" | "smudge" | "process")
                | ("merge", "driver")
                | ("sequence", "editor")
                | ("gpg", "program")
                | ("uploadpack", "packobjectshook")
                | ("remote", "uploadpack" | "receivepack" | "vcs")
                | ("sendemail", "sendmailcmd" | "tocmd" | "cccmd")
                | ("interactive", "difffilter")
                | ("browser" | "man", "cmd")
                | ("trailer", "command" | "cmd")
        )
        .then_some(value)
        .filter(|value| !matches!(*value, "true" | "false")),
    }
}

/// Subcommands that show, whatever their operands are.
const SHOWING: &[&str] = &[
    "blame",
    "cat-file",
    "check-ignore",
    "cherry",
    "count-objects",
    "describe",
    "diff",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "name-rev",
    "range-diff",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "whatchanged",
];

/// Whether a git command only looks, if the repository's configuration runs nothing. `words` follow the word `git`.
pub(super) fn only_looks(words: &[Word]) -> bool {
    let split = split(words);
    let rest = words.get(split.rest..).unwrap_or_default();
    // Behind `--` stands no option.
    let dashes = rest
        .iter()
        .position(|word| word.literal() == Some("--"))
        .unwrap_or(rest.len());
    let operand = |(at, word): (usize, &Word)| at > dashes || word.is_operand();
    let texts: Option<Vec<&str>> = rest.iter().map(Word::literal).collect();
    let Some(verb) = split.verb else {
        return split
            .globals
            .iter()
            .all(|option| matches!(*option, "--version" | "-v" | "--help" | "-h"))
            && !split.globals.is_empty()
            && rest.is_empty();
    };
    // Other global options ask: each changes the repository, the programs or the output. Where `-C` leads is looked at by
    // the evaluation.
    let plain = |option: &&str| {
        matches!(
            *option,
            "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" | "-C"
        ) || (*option == "-c" && only_harmless_settings(words, &split))
    };
    let folders = split.globals.iter().filter(|option| **option == "-C").count();
    if !split.globals.iter().all(plain) || folders > 1 || escape(words).is_some() {
        return false;
    }
    // A word that is not certain could be an option that writes.
    let varies = |(_, word): &(usize, &Word)| word.literal().is_none();
    let texts = match texts {
        Some(texts) => texts,
        None if SHOWING.contains(&verb) && rest.iter().enumerate().filter(varies).all(operand) => {
            rest.iter().filter_map(Word::literal).collect()
        }
        None => return false,
    };
    let parsed = options::parse(rest, options::Spec::default());
    let operands = parsed.operands.len();
    let first = texts.first().copied().unwrap_or_default();
    let any = |names: &[&str]| parsed.has(names);
    match verb {
        // Only a remote that the repository knows by name: an address is a host that nobody has allowed.
        "ls-remote" => {
            const FLAGS: &[&str] = &[
                "-b",
                "-h",
                "-q",
                "-t",
                "--branches",
                "--exit-code",
                "--get-url",
                "--heads",
                "--quiet",
                "--refs",
                "--symref",
                "--tags",
            ];
            let (options, operands): (Vec<&str>, Vec<&str>) = texts.iter().partition(|text| text.starts_with('-'));
            let is_name = |word: &&str| {
                word.chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            };
            // An option with a value could make what looks like a name one.
            texts.len() == rest.len()
                && options.iter().all(|option| FLAGS.contains(option))
                && operands.first().is_none_or(is_name)
        }
        // A list of patterns may be any file, and what of it stands for no name is shown.
        "ls-files" if touches(&parsed, &["-X", "--exclude-from", "--exclude-per-directory"]) => false,
        verb if SHOWING.contains(&verb) => !any(&["--output", "-O"]),
        // Only lists: a name makes or moves one, unless an option says that it is a pattern.
        "branch" => {
            let listing = any(&[
                "--list",
                "-l",
                "--contains",
                "--no-contains",
                "--merged",
                "--no-merged",
                "--points-at",
            ]);
            let changes = [
                "-d",
                "-D",
                "-m",
                "-M",
                "-c",
                "-C",
                "-f",
                "-u",
                "--delete",
                "--move",
                "--copy",
                "--force",
                "--set-upstream-to",
                "--unset-upstream",
                "--edit-description",
                "--track",
                "-t",
                "--no-track",
                "--create-reflog",
            ];
            !touches(&parsed, &changes) && (operands == 0 || listing)
        }
        "tag" => {
            let listing = any(&[
                "--list",
                "-l",
                "--contains",
                "--no-contains",
                "--merged",
                "--no-merged",
                "--points-at",
                "-n",
            ]);
            let changes = [
                "-d",
                "-a",
                "-s",
                "-u",
                "-f",
                "-m",
                "-F",
                "-e",
                "--delete",
                "--annotate",
                "--sign",
                "--local-user",
                "--force",
                "--message",
                "--file",
                "--edit",
                "--create-reflog",
                "-v",
                "--verify",
            ];
            !touches(&parsed, &changes) && (operands == 0 || listing)
        }
        "remote" => texts.iter().all(|text| matches!(*text, "-v" | "--verbose")) || first == "get-url",
        "reflog" => !matches!(first, "expire" | "delete" | "drop" | "write" | "exists") || first == "exists",
        "config" => {
            const SCOPES: &[&str] = &[
                "--global",
                "--local",
                "--system",
                "--worktree",
                "--show-origin",
                "--show-scope",
                "--includes",
                "--name-only",
                "-z",
                "--null",
            ];
            let told: Vec<&str> = texts.iter().copied().filter(|text| !SCOPES.contains(text)).collect();
            // A key alone is shown.
            let shows = match told.as_slice() {
                [key] => key.contains('.') && !key.starts_with('-'),
                [verb, ..] => {
                    matches!(*verb, "--get" | "--get-all" | "--get-regexp" | "get")
                        && !told
                            .iter()
                            .any(|text| text.starts_with("--f") || text.starts_with("--b") || text.starts_with("-f"))
                }
                [] => false,
            };
            shows
                || matches!(first, "--get" | "--get-all" | "--get-regexp")
                    && !touches(
                        &parsed,
                        &[
                            "--unset",
                            "--add",
                            "--replace-all",
                            "-f",
                            "--file",
                            "-e",
                            "--edit",
                            "--global-write",
                        ],
                    )
        }
        "stash" => matches!(first, "list" | "show"),
        "worktree" => first == "list",
        "version" => true,
        _ => false,
    }
}

/// Whether one of the options was given, whole or as a beginning.
fn touches(parsed: &options::Parsed, names: &[&str]) -> bool {
    parsed.options.iter().any(|found| {
        names.iter().any(|name| {
            *name == found.name
                || (found.name.len() > 3 && found.name.starts_with("--") && name.starts_with(&found.name))
        })
    })
}

//! Commands that a program is told to run by an option, or by a program text whose commands can be read out: `tar
//! --to-command`, `git rebase -x`, `sed 1e`, `awk 'BEGIN { system("…") }'`, `vim -c '!…'`.
//!
//! They are added to what the line runs, so that a deny meets them. They take nothing away: that the program runs something
//! is told by its escape (`class`), and no allow covers that.

use super::{
    Walk,
    call::{Call, text},
};
use crate::shell::{
    Context, OpaqueReason, Word,
    escapes::copied_by_program,
    expand::{Field, State},
    git,
    options::{self, Attached},
    programs,
    reader::Read,
    sed::{self, Does},
};

impl Walk<'_> {
    /// Walks into the commands among the arguments of a program that is no wrapper.
    pub(super) fn commands_in_options(&mut self, name: &str, call: &Call<'_>, state: &State) -> Read<()> {
        let arguments = call.fields.get(1..).unwrap_or_default();
        let words: Vec<Word> = arguments.iter().map(|field| field.word.clone()).collect();
        if name == "git" {
            return self.git_commands(&words, call, state);
        }
        // `-TTcmd`: two letters are one option.
        if name == "zip" {
            let attached = |field: &&Field| {
                field
                    .text()
                    .is_some_and(|text| text.starts_with("-TT") && text.len() > 3)
            };
            if let Some(field) = arguments.iter().find(attached) {
                let script = field.text().and_then(|text| text.get(3..)).unwrap_or_default();
                self.told("zip -TT", &Field::literal(script), call, state)?;
            }
        }
        // `cmake -E chdir DIR cmd`; the other verbs are named as the programs that they are.
        if let ("cmake", Some(at)) = (name, words.iter().position(|word| word.literal() == Some("-E"))) {
            let folder = words.get(at + 1).and_then(Word::literal) == Some("chdir");
            let from = if folder { at + 3 } else { at + 1 };
            let fields = arguments.get(from..).unwrap_or_default().to_vec();
            if let (true, Some(folder)) = (folder, arguments.get(at + 2)) {
                self.goes_to(folder, "cmake -E chdir", call, state)?;
            }
            let mut inside = state.clone();
            inside.elsewhere |= folder;
            if !fields.is_empty() {
                self.inner(
                    fields,
                    Context::Changing("cmake -E".to_owned()),
                    call,
                    &inside,
                    Vec::new(),
                )?;
            }
        }
        let Some(known) = programs::know(name, &words) else {
            return Ok(());
        };
        let from = known.from();
        let program = known.last();
        let own = words.get(from..).unwrap_or_default();
        let parsed = options::parse(own, program.spec);
        for option in program.runs {
            for value in parsed.values(&[option]) {
                let field = match value {
                    Attached::Word(at) => arguments.get(from + at).cloned(),
                    Attached::Text(text) => Some(Field::literal(text)),
                    Attached::Nothing => None,
                    Attached::Unknown => Some(Field::unknown("value of an option")),
                };
                if let Some(field) = field {
                    self.told(&format!("{name} {option}"), &field, call, state)?;
                }
            }
        }
        // Each script that it can be is looked at where the command becomes it.
        if matches!(name, "sed" | "gsed") && runs_unknown(own, &parsed) && !call.becomes_others(state) {
            self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
        }
        for script in scripts_in(name, own, &parsed) {
            self.told(name, &Field::literal(&script), call, state)?;
        }
        Ok(())
    }

    fn told(&mut self, label: &str, script: &Field, call: &Call<'_>, state: &State) -> Read<()> {
        let Some(script) = script.text() else {
            self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
            return Ok(());
        };
        let (script, mut inside) = (script.to_owned(), state.clone());
        inside.elsewhere = true;
        inside.blur(&mut self.budget)?;
        self.inside(Context::Changing(label.to_owned()), |walk| {
            walk.text_of_some_shell(&script, inside)
        })
        .map(drop)
    }

    /// `git -c alias.x='!cmd' x`, `bisect run`, `submodule foreach`, `rebase --exec`, `filter-branch`, `difftool --extcmd`.
    fn git_commands(&mut self, words: &[Word], call: &Call<'_>, state: &State) -> Read<()> {
        let globals = words.get(..git::split(words).rest.min(words.len())).unwrap_or_default();
        let folders = globals
            .iter()
            .enumerate()
            .filter(|(_, word)| word.literal() == Some("-C"));
        for (at, _) in folders {
            if let Some(folder) = call.fields.get(at + 2) {
                self.goes_to(folder, "git -C", call, state)?;
            }
        }
        // `ext::cmd args`: a command that speaks for the other side; `% ` is a blank in one of its words.
        for word in words.iter().filter_map(Word::literal) {
            let Some(command) = word.strip_prefix("ext::") else {
                continue;
            };
            let command = command.replace("% ", "\0");
            let texts = command.split(' ').filter(|text| !text.is_empty());
            let fields: Vec<Field> = texts.map(|text| Field::literal(&text.replace('\0', " "))).collect();
            if !fields.is_empty() {
                self.inner(
                    fields,
                    Context::Changing("git ext::".to_owned()),
                    call,
                    state,
                    Vec::new(),
                )?;
            }
        }
        for told in git::commands(words) {
            match told {
                git::Told::Script(script) => self.told("git", &Field::literal(&script), call, state)?,
                git::Told::Unknown => self.opaque(&text(&call.fields), OpaqueReason::DynamicScript),
                git::Told::Program(at) => {
                    let fields = call.fields.get(1 + at..).unwrap_or_default().to_vec();
                    let label = text(call.fields.get(..=at).unwrap_or_default());
                    if !fields.is_empty() {
                        self.inner(fields, Context::Changing(label), call, state, Vec::new())?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether a script of sed's runs what it makes, or is itself not known.
fn runs_unknown(arguments: &[Word], parsed: &options::Parsed) -> bool {
    sed::reads_its_script(arguments, parsed) || sed::all_done(arguments, parsed).contains(&Does::RunsUnknown)
}

/// Commands in the texts that a program is given.
fn scripts_in(name: &str, arguments: &[Word], parsed: &options::Parsed) -> Vec<String> {
    let literal = |value: &Attached| match value {
        Attached::Word(at) => arguments.get(*at).and_then(Word::literal).map(str::to_owned),
        Attached::Text(text) => Some(text.clone()),
        _ => None,
    };
    match name {
        "sed" | "gsed" => {
            let does = sed::scripts(arguments, parsed)
                .into_iter()
                .flat_map(|script| sed::does(&script));
            does.filter_map(|does| match does {
                Does::Runs(command) => Some(command),
                _ => None,
            })
            .collect()
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            let first = parsed.operands.first().and_then(|number| arguments.get(*number));
            first.and_then(Word::literal).map(called_with_text).unwrap_or_default()
        }
        "vim" | "vi" | "nvim" | "gvim" | "mvim" | "ex" | "rvim" | "vimdiff" => {
            let options = parsed.values(&["-c", "--cmd"]).filter_map(literal);
            let plus = arguments
                .iter()
                .filter_map(Word::literal)
                .filter_map(|text| text.strip_prefix('+'));
            options
                .chain(plus.map(str::to_owned))
                .filter_map(|text| editor_command(&text))
                .collect()
        }
        "less" | "more" | "lftp" => {
            let options = parsed.values(&["-c", "-e"]).filter_map(literal);
            let plus = arguments
                .iter()
                .filter_map(Word::literal)
                .filter_map(|text| text.strip_prefix('+'));
            let plus = plus.map(str::to_owned);
            options
                .filter(|_| name == "lftp")
                .chain(plus.filter(|_| name != "lftp"))
                .filter_map(|text| editor_command(&text))
                .collect()
        }
        // Words of a data base's own language that run a shell.
        "sqlite3" | "psql" | "mysql" | "mariadb" => {
            const RUNS: &[&str] = &[".shell ", ".system ", "\\! ", "\\!", "system "];
            let texts = arguments.iter().filter_map(Word::literal);
            texts
                .flat_map(|text| {
                    let found = RUNS.iter().find_map(|run| text.split_once(run));
                    let program = copied_by_program(text);
                    let bare = found.map(|(_, command)| command.trim().to_owned());
                    let bare = bare.into_iter().chain(dot_commands(name, text));
                    bare.chain(program.map(str::to_owned))
                })
                .collect()
        }
        "zip" => {
            let mut words = arguments.iter().filter_map(Word::literal);
            let test = words.any(|word| word == "-TT");
            words.next().filter(|_| test).map(str::to_owned).into_iter().collect()
        }
        "tar" | "gtar" | "bsdtar" => parsed
            .values(&["--checkpoint-action"])
            .filter_map(literal)
            .filter_map(|text| text.strip_prefix("exec=").map(str::to_owned))
            .collect(),
        "ssh" | "scp" | "sftp" => parsed
            .values(&["-o"])
            .filter_map(literal)
            .filter_map(|text| {
                let (key, value) = text.split_once(['=', ' '])?;
                let runs = ["proxycommand", "localcommand", "knownhostscommand"];
                runs.contains(&key.trim().to_ascii_lowercase().as_str())
                    .then(|| value.trim().to_owned())
            })
            .collect(),
        "socat" => arguments
            .iter()
            .filter_map(Word::literal)
            .filter_map(|text| {
                let (kind, rest) = text.split_once(':')?;
                let runs = ["EXEC", "SYSTEM", "SHELL"].contains(&kind.to_ascii_uppercase().as_str());
                runs.then(|| rest.split(',').next().unwrap_or_default().to_owned())
            })
            .collect(),
        "make" | "gmake" => {
            let shell = |text: &str| text.strip_prefix("SHELL=").map(str::to_owned);
            arguments.iter().filter_map(Word::literal).filter_map(shell).collect()
        }
        _ => Vec::new(),
    }
}

/// The texts of `system("…")`, `"…" | getline` and `print | "…"` in an awk program.
fn called_with_text(program: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = program;
    while let Some(at) = rest.find('"') {
        let before = rest.get(..at).unwrap_or_default().trim_end();
        let after = rest.get(at + 1..).unwrap_or_default();
        let mut text = String::new();
        let mut escaped = false;
        let mut end = after.len();
        for (place, c) in after.char_indices() {
            match c {
                _ if escaped => {
                    text.push(c);
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => {
                    end = place + 1;
                    break;
                }
                _ => text.push(c),
            }
        }
        let behind = after.get(end..).unwrap_or_default();
        let called = before.trim_end_matches('(').trim_end().ends_with("system");
        let piped = before.ends_with('|') && !before.ends_with("||");
        let read = behind.trim_start().starts_with('|') && behind.contains("getline");
        if called || piped || read {
            out.push(text);
        }
        rest = behind;
    }
    out
}

/// The command behind `!` of an editor's command: `!rm x`, `:silent !rm x`, `%!sort`, `r !date`.
fn editor_command(text: &str) -> Option<String> {
    let (before, command) = text.split_once('!')?;
    // `q!` forces; it runs nothing.
    let forces = command.trim().is_empty() || command.trim_start().starts_with('|');
    let plain = before
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || " :%,.$'<>+-".contains(c));
    (!forces && plain).then(|| command.trim().to_owned())
}

/// What dot commands of sqlite3 run, whose names can be cut short, and which give and take by a pipe: `.sh x`, `.once |x`.
fn dot_commands(program: &str, text: &str) -> Vec<String> {
    let lines = text.lines().filter(|_| program == "sqlite3");
    let commands = lines.filter_map(|line| line.trim_start().strip_prefix('.'));
    commands
        .filter_map(|command| {
            let (name, rest) = command.split_once(char::is_whitespace)?;
            let shell = name.len() >= 2 && ("shell".starts_with(name) || "system".starts_with(name));
            // `"|x" t`: the quotes end it.
            let piped = rest
                .split_once('|')
                .map(|(before, command)| match before.chars().next_back() {
                    Some(quote @ ('"' | '\'')) => command.split(quote).next().unwrap_or_default(),
                    _ => command,
                });
            if shell {
                Some(rest.trim().to_owned())
            } else {
                piped.map(|command| command.trim().to_owned())
            }
        })
        .filter(|command| !command.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_awk_runs_are_found() {
        assert_eq!(called_with_text(r#"BEGIN { system("rm -rf x") }"#), ["rm -rf x"]);
        assert_eq!(called_with_text(r#"{ print $1 | "sort -u" }"#), ["sort -u"]);
        assert_eq!(
            called_with_text(r#"BEGIN { "date" | getline d; print "a|b" }"#),
            ["date"]
        );
        assert_eq!(called_with_text(r#"BEGIN { system("a \"b\"") }"#), ["a \"b\""]);
        assert_eq!(
            called_with_text(r#"$1 == "a" || $2 == "b" { print "system" }"#),
            [""; 0]
        );
    }

    #[test]
    fn commands_of_an_editor_are_found() {
        assert_eq!(editor_command("!rm x").as_deref(), Some("rm x"));
        assert_eq!(editor_command(":silent !rm x").as_deref(), Some("rm x"));
        assert_eq!(editor_command("%!sort -u").as_deref(), Some("sort -u"));
        assert_eq!(editor_command("wq!"), None);
        assert_eq!(editor_command("%s/a/b/"), None);
    }
}

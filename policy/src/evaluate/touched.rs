//! What a command touches besides being a command: files, hosts, and words that may name a file.

use std::collections::BTreeSet;

use crate::{
    AbsPath, DecidedBy, Effect, Verdict,
    controls::Remote,
    mode::ActionClass,
    path::plain,
    protected::Switches,
    rule::{Matcher, PathVerb, Rule, file_of, host_of, is_deceptive},
    ruleset::RuleId,
    shell::{Access, Command, CommandClass, Context, FileAccess, FileTarget, Word, acts},
};

use super::{commands::is_feeder, files::Cover, part::Part, trees, world::World};

/// Longest word that is looked at as a path, in bytes: the kernel takes no longer one.
const MAX_NAME: usize = 4096;
/// Most words of a command that are noted because a rule on files may be about them; one settles the answer.
const MAX_NAMED: usize = 16;
/// What stands for the names that `find` finds.
pub(super) const FOUND: &str = "what find finds";
/// Programs that look, and whose words may be texts rather than names of files.
const TEXTS: &[&str] = &[
    "[", "[[", "awk", "basename", "dirname", "echo", "egrep", "expr", "fgrep", "find", "gfind", "grep", "gsed", "jq",
    "man", "pgrep", "printf", "rg", "sed", "test", "tr", "type", "which", "zgrep",
];

impl World<'_> {
    /// The files of a command, and those that its input may name.
    pub(super) fn accesses(&self, command: &Command) -> Vec<FileAccess> {
        let mut accesses = command.files.clone();
        let (by_name, by_age) = (is_search_with_tests(command), is_search_by_age(command));
        if by_name || by_age {
            // `find . -name x -delete` deletes what it finds, not the folder it looks in.
            let mut found = false;
            for access in accesses.iter_mut().filter(|access| access.access == Access::DeleteTree) {
                // By age or size alone nobody knows what goes; of a folder for things that age, old ones are meant to.
                let for_old_things = |folder: &AbsPath| {
                    folder.as_str() == "/tmp" || !crate::protected::is_critical(folder, &self.workspace)
                };
                if let FileTarget::Path(folder) = &access.target
                    && (by_name || for_old_things(folder))
                {
                    let pattern = format!("{}/{FOUND}", folder.as_str().trim_end_matches('/'));
                    access.target = FileTarget::Pattern {
                        folder: folder.clone(),
                        pattern,
                    };
                    found = true;
                }
            }
            // Where rules are about files, what is found may be one of them.
            accesses.extend(found.then(|| FileAccess {
                target: FileTarget::Unknown(FOUND.to_owned()),
                access: Access::Delete,
                redirection: false,
                variable: false,
                through: Some(Vec::new()),
            }));
        }
        let fed = command
            .seen_through
            .iter()
            .any(|context| matches!(context, Context::Changing(label) if is_feeder(label)));
        let reads = matches!(command.class, CommandClass::ReadOnly | CommandClass::ReadOnlyGit);
        if fed
            && reads
            && !matches!(
                command.program(),
                Some("echo" | "printf" | "true" | "false" | "basename" | "dirname")
            )
        {
            accesses.push(FileAccess {
                target: FileTarget::Unknown("names from the input".to_owned()),
                access: Access::Read,
                redirection: false,
                variable: false,
                through: Some(Vec::new()),
            });
        }
        accesses
    }

    /// Whether a path leads elsewhere than its words say: `..` behind a link leaves the folder that the link points to, and
    /// the links below `/proc` lead to what belongs to a process.
    pub(super) fn goes_astray(&self, access: &FileAccess) -> bool {
        let magic = matches!(&access.target, FileTarget::Path(path) if leads_into_a_process(path));
        magic || access.through.as_ref().is_none_or(|left| self.strays(left))
    }

    /// Whether one of the folders that a path leaves by `..` is a link, so that the path goes on elsewhere.
    pub(super) fn strays(&self, left: &[AbsPath]) -> bool {
        left.iter().any(|folder| match self.real(folder) {
            _ if leads_into_a_process(folder) || folder.as_str() == "/dev/fd" => true,
            // No link leads there, so none leads to what lies above it.
            Some(real) if real == folder => false,
            Some(real) => {
                let above = folder.parent().and_then(|above| self.real(&above).cloned());
                above.is_none() || real.parent() != above
            }
            None => true,
        })
    }

    /// Denies and asks on hosts hold for commands that contact them; allows do not, for a command does more than fetch.
    pub(super) fn judge_urls<'c>(&'c self, command: &'c Command) -> impl Iterator<Item = Part> + 'c {
        command.urls.iter().filter_map(|url| {
            let subject = format!("contacts {url}");
            if let Some(path) = file_of(url) {
                let part = self.judge_path(&AbsPath::root().join(&path), Access::Read, Cover::None);
                return (part.verdict != Verdict::Allow).then_some(part);
            }
            let host = host_contacted(url);
            let ids = self.rules.index().hosts(host.as_deref());
            let narrows = |rule: &Rule| rule.effect != Effect::Allow;
            match &host {
                Some(host) => ids
                    .into_iter()
                    .find(|id| {
                        self.rule(*id).is_some_and(|rule| {
                            narrows(rule)
                                && matches!(&rule.matcher, Matcher::Fetch(p) if p.as_ref().is_none_or(|p| p.matches(host)))
                        })
                    })
                    .map(|id| Part::by_rule(self, id, subject)),
                None if self.rules.index().names_hosts() => Some(Part::unknown(
                    subject,
                    "which host it is cannot be told, and rules name hosts",
                )),
                None => None,
            }
        })
    }

    /// A connection that a redirection opens (`> /dev/tcp/host/80`) is a contact that no rule on the program and none on
    /// files speaks about: only a rule for every command allows it, or the mode. Denies and asks on files still count.
    pub(super) fn judge_sockets<'c>(
        &'c self,
        command: &'c Command,
        everything: Option<RuleId>,
    ) -> impl Iterator<Item = Part> + 'c {
        command.sockets.iter().map(move |socket| {
            let subject = format!("opens a connection to {}", socket.host.as_ref().unwrap_or(&socket.name));
            let path = AbsPath::root().join(&socket.name);
            let verbs = [PathVerb::Edit, PathVerb::Read];
            if let Some(id) = self.narrowed(&path, &self.rules_on(&path), &verbs) {
                return Part::by_rule(self, id, subject);
            }
            let part = match everything {
                Some(id) => Part::by_rule(self, id, subject),
                None => Part::by_mode(
                    self,
                    ActionClass::Fetch,
                    subject,
                    "a redirection that opens a connection",
                ),
            };
            let host = host_contacted(&socket.url).filter(|_| socket.host.is_some());
            let known = host.is_some_and(|host| !is_deceptive(&host));
            part.unless_unknown(known, "which host it connects to cannot be told")
        })
    }

    /// Programs that are not known to touch only what is in `files` may read any file they name: `tar -cf - .env`.
    pub(super) fn judge_words<'c>(&'c self, command: &'c Command) -> impl Iterator<Item = Part> + 'c {
        let git = command.program_name() == Some("git");
        // Of a program that only looks, words that are no text are files, or values of options: should an option be
        // wrongly taken for one with a value, the file that it hides is still seen.
        let texts = command.program_name().is_none_or(|program| TEXTS.contains(&program));
        let relevant =
            git || command.class == CommandClass::Other || (command.class == CommandClass::ReadOnly && !texts);
        let known: BTreeSet<&AbsPath> = command
            .files
            .iter()
            .filter_map(|access| match &access.target {
                FileTarget::Path(path) if relevant => Some(path),
                _ => None,
            })
            .collect();
        command
            .words_here()
            .iter()
            .skip(1)
            .filter(move |_| relevant && !command.remote)
            .filter_map(Word::literal)
            .filter(|word| word.len() < MAX_NAME && !word.contains(char::is_whitespace))
            .flat_map(move |word| candidates(word, git))
            .chain(put_into_the_index(command))
            .filter_map(move |text| {
                let path = self.resolve(text).filter(|path| !known.contains(path))?;
                let subject = format!("names {text}");
                if self.is_own_secret(&path) {
                    let reason = "it holds Portcullis' own secrets";
                    return Some(Part::new(subject, Verdict::Deny, DecidedBy::Protection, reason));
                }
                let id = self.narrowed(&path, &self.rules_on(&path), &[PathVerb::Read])?;
                let why = "the program may read this file, which is a case for";
                Some(Part::perhaps(self, id, subject, why))
            })
            .take(MAX_NAMED)
    }
}

impl World<'_> {
    /// Programs of which the tables say nothing may read whatever a glob among their words stands for: `mytool secrets/*`.
    pub(super) fn judge_globs(&self, command: &Command) -> Vec<Part> {
        let touched = |target: &FileTarget| command.files.iter().any(|access| access.target == *target);
        let globs = command
            .globs
            .iter()
            .filter(|target| !command.spelled_out && !touched(target));
        let parts = globs.filter_map(|target| match target {
            FileTarget::Pattern { folder, pattern } => {
                let part = self.judge_pattern(folder, pattern, Access::Read, false, Cover::None);
                let narrowed =
                    part.verdict != Verdict::Allow && (part.decided_by == DecidedBy::Protection || part.rule.is_some());
                // Whether it reads them at all is not known.
                narrowed.then(|| match part.rule {
                    Some(id) => {
                        let subject = format!("names {}", plain::written(pattern));
                        Part::perhaps(
                            self,
                            id,
                            subject,
                            "the program may read these files, which is a case for",
                        )
                    }
                    None => part,
                })
            }
            FileTarget::Path(_) | FileTarget::Unknown(_) => None,
        });
        parts.take(MAX_NAMED).collect()
    }

    /// Files that a program which is not known may write, by options of the usual names (`--output x`). Only where a deny or
    /// ask is about them, or they are protected: most often such a value is no file (`-o json`).
    pub(super) fn judge_outputs<'c>(&'c self, command: &'c Command) -> impl Iterator<Item = Part> + 'c {
        command
            .named_outputs()
            .into_iter()
            .chain(rewritten(command))
            .take(MAX_NAMED)
            .filter_map(move |text| {
                let path = self.resolve(text)?;
                let subject = format!("may write {text}");
                let as_written = self.judge_path(&path, Access::Write, Cover::None);
                if as_written.decided_by == DecidedBy::Protection {
                    return Some(as_written);
                }
                let id = self.narrowed(&path, &self.rules_on(&path), &[PathVerb::Edit])?;
                Some(Part::perhaps(
                    self,
                    id,
                    subject,
                    "an option seems to name it as output, which is a case for",
                ))
            })
    }
}

impl World<'_> {
    /// Protected and critical places that a container is given to write: what runs in there is not seen.
    pub(super) fn judge_mounts(&self, command: &Command) -> Vec<Part> {
        let critical = |path: &AbsPath| {
            let usual = path.as_str() == "/tmp" || self.workspace.contains(path);
            !usual && crate::protected::is_critical(path, &self.workspace)
        };
        let given = trees::mounts(command).into_iter().filter(|(_, read_only)| !read_only);
        given
            .filter_map(|(folder, _)| {
                let path = self.resolve(folder)?;
                let part = self.judge_path(&path, Access::Write, Cover::None);
                if part.decided_by == DecidedBy::Protection {
                    return Some(part);
                }
                let what = "a container is given more to write than anybody means";
                critical(&path).then(|| Part::by_mode(self, ActionClass::Critical, format!("gives away {path}"), what))
            })
            .collect()
    }
}

/// Files that a command writes as operands, where that is not in the tables: the target of a copy from elsewhere, what a
/// formatter is given.
fn rewritten(command: &Command) -> Vec<&str> {
    let words = command.words.iter().skip(1).filter_map(Word::literal);
    let mut operands = words.filter(|word| !word.starts_with('-'));
    if acts::copies_here(command) {
        operands.next_back().into_iter().collect()
    } else if acts::rewrites(command) {
        operands.collect()
    } else {
        Vec::new()
    }
}

/// Whether it is a `find` that narrows what it finds by name, and not to something protected.
pub(super) fn is_search_with_tests(command: &Command) -> bool {
    if command.program_name() != Some("find") {
        return false;
    }
    let words: Vec<&str> = command.words.iter().filter_map(Word::literal).collect();
    // What is left of a test after `-o` or a negation may be everything.
    if words
        .iter()
        .any(|word| matches!(*word, "!" | "-not" | "-o" | "-or" | ","))
    {
        return false;
    }
    let names_protected =
        |word: &&str| crate::protected::protects(&AbsPath::root().join(word), Switches::default()).is_some();
    let by_name = |pair: &[&str]| match pair {
        ["-name" | "-iname" | "-path" | "-ipath" | "-wholename", value] => {
            value.chars().any(|c| c.is_alphanumeric() || c == '_' || c == '-')
        }
        _ => false,
    };
    let narrows =
        words.contains(&"-empty") || words.windows(2).any(by_name) || super::found::chooses_by_expression(&words);
    narrows && !words.iter().any(names_protected)
}

/// Whether it is a `find` that narrows by age or size alone.
fn is_search_by_age(command: &Command) -> bool {
    let test = |word: &str| {
        word.starts_with("-newer")
            || matches!(
                word,
                "-size" | "-mtime" | "-atime" | "-ctime" | "-mmin" | "-amin" | "-cmin"
            )
    };
    command.program_name() == Some("find") && command.words.iter().filter_map(Word::literal).any(test)
}

/// Files whose contents git puts into its index or its objects, from where it shows them: `git add .env`.
fn put_into_the_index(command: &Command) -> Vec<&str> {
    let verb = acts::git_verb(command).filter(|_| !command.remote);
    let Some((verb, rest)) = verb.filter(|(verb, _)| INDEXING.contains(verb)) else {
        return Vec::new();
    };
    // What has blanks there is a message.
    let message = |word: &str| matches!(verb, "commit" | "stash") && word.contains(char::is_whitespace);
    let words = rest.iter().filter_map(Word::literal).filter(|word| !message(word));
    words
        .filter(|word| !word.starts_with('-') && word.len() < MAX_NAME)
        // `:(top).env`, `:/.env`
        .map(|word| match word.strip_prefix(':') {
            Some(magic) => magic
                .split_once(')')
                .map_or(magic.trim_start_matches('/'), |(_, path)| path),
            None => word,
        })
        .filter(|word| !word.is_empty())
        .collect()
}

/// Subcommands of git that do so with the files they are given.
const INDEXING: &[&str] = &["add", "commit", "hash-object", "stage", "stash", "update-index"];

/// What stands before the colon of a file's address, where programs take one: `aws`, `openssl`, `socat`.
const FILE_SCHEMES: &[&str] = &["file", "fileb", "open", "gopen", "create"];

/// What of a word can name a file: itself, what follows `=` or `@`; for git what follows the colon of `HEAD:path`.
fn candidates(word: &str, git: bool) -> Vec<&str> {
    if git {
        return word
            .split_once(':')
            .map(|(_, path)| path)
            .filter(|path| !path.is_empty())
            .into_iter()
            .collect();
    }
    let mut out = vec![word];
    out.extend(word.split_once('=').map(|(_, value)| value));
    out.extend(word.rsplit_once('@').map(|(_, value)| value));
    // `-v ./.env:/x`, `src=.env,dst=/x`.
    let place = |text: &&str| text.starts_with(['/', '.', '~']);
    out.extend(word.split_once(':').map(|(value, _)| value).filter(place));
    // `UNIX-CONNECT:/run/x.sock`.
    out.extend(
        word.split_once(':')
            .map(|(_, value)| value)
            .filter(|value| value.starts_with('/')),
    );
    out.extend(
        word.split(',')
            .filter_map(|field| field.split_once('='))
            .map(|(_, value)| value),
    );
    // `--from-file=key=.env`.
    out.extend(word.rsplit_once('=').map(|(_, value)| value));
    // `file:.env`, `OPEN:.env`, `file://.env`, `fileb://.env`.
    out.extend(
        word.split_once(':')
            .filter(|(scheme, _)| FILE_SCHEMES.iter().any(|own| own.eq_ignore_ascii_case(scheme)))
            .map(|(_, value)| value.strip_prefix("//").unwrap_or(value)),
    );
    out.retain(|text| !text.is_empty() && *text != "/" && !text.contains("://"));
    out
}

/// The host that a word of a command leads to: an address of any scheme, `host/path`, or `user@host:path`.
pub(super) fn host_contacted(word: &str) -> Option<String> {
    let web = match word.split_once("://") {
        // A connection of a redirection.
        Some(("tcp" | "udp", place)) => return host_of(&format!("http://{place}")).or_else(|| host_of_remote(word)),
        None => return host_of(&format!("https://{word}")).or_else(|| host_of_remote(word)),
        Some((scheme, _)) => scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"),
    };
    if web { host_of(word) } else { host_of_remote(word) }
}

fn host_of_remote(word: &str) -> Option<String> {
    match Remote::parse(word)? {
        Remote::At { host, .. } => Some(host),
        Remote::Local => None,
    }
}

/// Whether what a pattern of the shell stands for can lie behind one of those links: `/proc/*/cwd/x`.
pub(super) fn can_lead_into_a_process(pattern: &str) -> bool {
    let mut segments = pattern.split('/').filter(|segment| !segment.is_empty());
    segments.next() == Some("proc") && segments.count() > 2
}

/// Whether a path goes through one of the links below `/proc` that lead to a process's folder, root or open files.
pub(super) fn leads_into_a_process(path: &AbsPath) -> bool {
    let mut segments = path.segments();
    segments.next() == Some("proc") && segments.any(|name| matches!(name, "cwd" | "root" | "fd" | "map_files"))
}

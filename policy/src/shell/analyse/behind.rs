//! The program behind a wrapper of the table: finds it, and walks on into it.
//!
//! What a wrapper's options mean is data (`wrappers`); here is what follows from them. A wrapper that cannot be followed is
//! reported as opaque, and what could be found of it is judged all the same.

use super::{
    Walk,
    call::{Call, Stdin, text},
    wrapped::replace,
};
use crate::shell::{
    Access, Assignment, Context, OpaqueReason, Word,
    expand::{Candidates, Field, State, Text, Value},
    options, outside,
    reader::Read,
    targets::Files,
    wrappers::{Kind, Place, Unwrapped, Wrapper, unwrap},
};

/// Words of `tmux send-keys` that name keys.
const KEYS: &[&str] = &[
    "BSpace", "C-c", "C-d", "C-j", "C-l", "C-m", "C-u", "Enter", "Escape", "KPEnter", "Space", "Tab",
];

/// Most words of an input that are taken as arguments.
const MAX_INPUT_WORDS: usize = 64;

impl Walk<'_> {
    /// Runs the command behind a wrapper, whose name ends at the word of number `start`. True if it only wraps.
    pub(super) fn program_behind(
        &mut self,
        wrapper: &Wrapper,
        words: &[Word],
        start: usize,
        call: &Call<'_>,
        state: &State,
        index: usize,
    ) -> Read<bool> {
        let from = self.analysis.commands.len();
        let wraps = self.walk_behind(wrapper, words, start, call, state, index)?;
        // A rule for the wrapper is none for a program outside of the workspace, however many other wrappers stand between.
        if wrapper.kind == Kind::Changes {
            let inner = self.analysis.commands.get_mut(from..).unwrap_or_default();
            self.budget.spend(inner.len())?;
            outside::note_programs(inner, state, self.context);
        }
        Ok(wraps)
    }

    fn walk_behind(
        &mut self,
        wrapper: &Wrapper,
        words: &[Word],
        start: usize,
        call: &Call<'_>,
        state: &State,
        index: usize,
    ) -> Read<bool> {
        let found = unwrap(wrapper, words, start);
        // Of what stands for a value of the wrapper's, the second word may be the program: `timeout "${a[@]}" ls`.
        let own = found.program.unwrap_or(call.fields.len());
        if call
            .fields
            .get(1..own)
            .unwrap_or_default()
            .iter()
            .any(|field| field.many)
        {
            self.opaque(&text(&call.fields), OpaqueReason::DynamicProgram);
        }
        // `command -v x` only looks.
        if wrapper.name == "command" && found.has(&["-v", "-V"]) {
            return Ok(false);
        }
        if let Some(option) = &found.unknown {
            self.opaque(
                &format!("{} {option}", wrapper.name),
                OpaqueReason::UnknownWrapperOption,
            );
        }
        if wrapper.opaque.iter().any(|hides| found.has(&[hides.option])) {
            self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
        }
        let mut inside = state.clone();
        self.wrapper_files(wrapper, &found, call, &mut inside, index)?;
        let assignments = self.wrapper_assignments(&found, call)?;
        if wrapper.name == "env"
            && let Some(place) = found.place(&["-S", "--split-string"])
        {
            return self
                .split_string(place, &found, call, &inside, assignments)
                .map(|()| true);
        }
        let plain = wrapper.kind == Kind::Plain;
        let scripts = self.option_scripts(wrapper, &found, call, &inside)?;
        if wrapper.each {
            self.each_operand(wrapper, start, call, &inside)?;
            return Ok(false);
        }
        // A shell on the other side, of somebody else, or where no program is given, reads its commands from the input:
        // `ssh host <<EOF`, `unshare -r <<< …`.
        let fed = match &call.stdin {
            Stdin::Given { .. } | Stdin::Pipe(Some(_)) => true,
            // What is in front of the pipe, or a file.
            Stdin::Pipe(None) | Stdin::Unknown => wrapper.starts_shell,
            // What is around the command may be given an input: `{ fakeroot; } <<< …`.
            Stdin::Inherited => wrapper.starts_shell && (self.input_is_changed || self.seen.iter().any(is_around)),
            Stdin::Nothing => false,
        };
        let reads = fed && (wrapper.joins || wrapper.shell_arguments || wrapper.starts_shell);
        if scripts || !wrapper.program {
            if reads && !scripts {
                self.script_of_some_shell(wrapper, call, &inside)?;
            }
            return Ok(plain && scripts);
        }
        if wrapper.name == "parallel" {
            return self.parallel(&found, call, &inside).map(|()| false);
        }
        let shell = found.has(wrapper.shell);
        let entrypoint = found
            .place(wrapper.entrypoint)
            .and_then(|place| self.place(place, call));
        let Some(program) = found.program.or_else(|| entrypoint.as_ref().map(|_| words.len())) else {
            if shell {
                self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
            }
            if wrapper.kind == Kind::Feeds {
                return self.echoes(call, &inside).map(|()| true);
            }
            if reads {
                self.script_of_some_shell(wrapper, call, &inside)?;
            }
            return Ok(false);
        };
        if wrapper.name == "sudo" && found.has(&["-e", "--edit"]) {
            self.edits_as_root(program, call, &inside, index);
            return Ok(false);
        }
        let label = text(call.fields.get(..program).unwrap_or_default());
        let label = if label.is_empty() {
            wrapper.name.to_owned()
        } else {
            label
        };
        let mut fields = call.fields.get(program..).unwrap_or_default().to_vec();
        if wrapper.kind == Kind::Feeds {
            self.input_words(&found, call, &mut fields);
        }
        if let Some(entrypoint) = entrypoint {
            fields.insert(0, entrypoint);
        }
        if wrapper.shell_arguments {
            fields.insert(0, Field::literal("bash"));
        }
        if wrapper.keys {
            fields.retain(|field| !field.text().is_some_and(|text| KEYS.contains(&text)));
        }
        if wrapper.package
            && let Some(name) = fields.first().and_then(Field::text).and_then(without_version)
            && let Some(first) = fields.first_mut()
        {
            *first = Field::literal(&name);
        }
        let bare = wrapper.kind != Kind::Feeds
            || found.options.iter().all(|(name, _)| {
                matches!(
                    name.as_str(),
                    "-0" | "--null" | "-r" | "--no-run-if-empty" | "-t" | "--verbose"
                )
                    // How many names go into one run, how many runs there are, and where in the words a name stands.
                    || (wrapper.name == "xargs"
                        && matches!(
                            name.as_str(),
                            "-n" | "--max-args" | "-P" | "--max-procs" | "-L" | "--max-lines" | "-d" | "--delimiter" | "-x"
                                | "--exit" | "-I" | "-i" | "--replace"
                        ))
            });
        let context = if plain {
            Context::Transparent(label)
        } else {
            Context::Changing(label)
        };
        let at = self.analysis.commands.len();
        if ((wrapper.joins && !found.has(wrapper.direct)) || shell) && !fields.is_empty() {
            self.joined(fields, context, call, &inside, assignments)?;
        } else if !fields.is_empty() && wrapper.kind == Kind::Feeds {
            // The input is taken; the program gets another one.
            let fed = Call::behind(Vec::new(), &Stdin::Unknown, call.resolved);
            self.inner(fields, context, &fed, &inside, assignments)?;
        } else if !fields.is_empty() {
            self.inner(fields, context, call, &inside, assignments)?;
        }
        // A rule for the wrapper is none for a program outside of the workspace.
        if let Some(field) = call.fields.get(program)
            && wrapper.kind == Kind::Changes
            && !inside.remote
            && let Some(inner) = self.analysis.commands.get_mut(at)
        {
            inner.named.extend(outside::program(field, &inside, self.context));
        }
        Ok(bare && wrapper.kind != Kind::Changes)
    }

    /// The input of a shell that a wrapper starts.
    fn script_of_some_shell(&mut self, wrapper: &Wrapper, call: &Call<'_>, inside: &State) -> Read<()> {
        let outer = std::mem::replace(&mut self.plain, true);
        let read = self.script_from_input(wrapper.name, call, inside);
        self.plain = outer;
        read.map(drop)
    }

    /// Words that are joined and given to a shell: `watch`, `ssh`, `sudo -s`.
    fn joined(
        &mut self,
        fields: Vec<Field>,
        context: Context,
        call: &Call<'_>,
        inside: &State,
        assignments: Vec<Assignment>,
    ) -> Read<()> {
        let script: Option<Vec<&str>> = fields.iter().map(Field::text).collect();
        match script {
            Some(script) => {
                let (script, state) = (script.join(" "), inside.clone());
                self.inside(context, |walk| walk.text_of_some_shell(&script, state))
                    .map(drop)
            }
            None => {
                self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
                self.inner(fields, context, call, inside, assignments)
            }
        }
    }

    /// Options whose value is a script, or a subcommand of cargo. True if there was one.
    fn option_scripts(&mut self, wrapper: &Wrapper, found: &Unwrapped, call: &Call<'_>, inside: &State) -> Read<bool> {
        let mut any = false;
        for (name, place) in &found.options {
            let (is_script, is_cargo) = (
                wrapper.script.contains(&name.as_str()),
                wrapper.cargo.contains(&name.as_str()),
            );
            let Some(place) = place.as_ref().filter(|_| is_script || is_cargo) else {
                continue;
            };
            any = true;
            let label = format!("{} {name}", wrapper.name);
            let Some(field) = self.place(place, call) else { continue };
            if wrapper.kind == Kind::Plain {
                let outer = std::mem::replace(&mut self.plain, true);
                let read = self.script(Some(&field), &label, call, inside, &[]);
                self.plain = outer;
                read?;
                continue;
            }
            let Some(script) = field.text() else {
                self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
                continue;
            };
            let (script, mut state) = (
                if is_cargo {
                    format!("cargo {script}")
                } else {
                    script.to_owned()
                },
                inside.clone(),
            );
            state.blur(&mut self.budget)?;
            self.inside(Context::Changing(label), |walk| walk.text_of_some_shell(&script, state))?;
        }
        Ok(any)
    }

    /// Each operand is a script of its own: `hyperfine 'a' 'b'`.
    fn each_operand(&mut self, wrapper: &Wrapper, start: usize, call: &Call<'_>, inside: &State) -> Read<()> {
        let rest = call.fields.get(start + 1..).unwrap_or_default();
        let parsed = options::parse(rest.iter().map(|field| &field.word), wrapper.spec);
        for field in parsed.operands.iter().filter_map(|at| rest.get(*at)) {
            match field.text() {
                Some(script) => {
                    let (script, state) = (script.to_owned(), inside.clone());
                    let context = Context::Changing(wrapper.name.to_owned());
                    self.inside(context, |walk| walk.text_of_some_shell(&script, state))?;
                }
                None => self.opaque(&field.source.clone(), OpaqueReason::DynamicScript),
            }
        }
        Ok(())
    }

    /// `parallel [options] CMD… ::: arguments`: a shell runs the words, with an argument in the place of `{}` or behind them.
    fn parallel(&mut self, found: &Unwrapped, call: &Call<'_>, inside: &State) -> Read<()> {
        let Some(program) = found.program else {
            // Its input holds the commands.
            self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
            return Ok(());
        };
        let separator = |field: &Field| matches!(field.text(), Some(":::" | "::::" | ":::+" | "::::+"));
        let rest = call.fields.get(program..).unwrap_or_default();
        let end = rest.iter().position(separator).unwrap_or(rest.len());
        let context = Context::Changing("parallel".to_owned());
        let template = rest.get(..end).unwrap_or_default();
        if template.is_empty() {
            // `parallel ::: 'cmd a' 'cmd b'`: the arguments are the commands.
            for field in rest.iter().filter(|field| !separator(field)) {
                match field.text() {
                    Some(script) => {
                        let (script, state) = (script.to_owned(), inside.clone());
                        self.inside(context.clone(), |walk| walk.text_of_some_shell(&script, state))?;
                    }
                    None => self.opaque(&field.source.clone(), OpaqueReason::DynamicScript),
                }
            }
            return Ok(());
        }
        let texts: Option<Vec<&str>> = template.iter().map(Field::text).collect();
        let Some(texts) = texts else {
            self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
            return self.inner(template.to_vec(), context, call, inside, Vec::new());
        };
        // A program that is itself put in from outside is seen as such: the variable is unknown.
        const MARKERS: &[&str] = &[
            "{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}", "{1}", "{2}", "{3}", "{4}",
        ];
        let mut script = texts.join(" ");
        let marked = MARKERS.iter().any(|marker| script.contains(marker));
        for marker in MARKERS {
            script = script.replace(marker, "\"$PARALLEL_ARGUMENT\"");
        }
        if !marked {
            script.push_str(" \"$PARALLEL_ARGUMENT\"");
        }
        let mut state = inside.clone();
        // What is known of the arguments: those on the line, and the lines of a here-document.
        let written = rest
            .get(end..)
            .unwrap_or_default()
            .iter()
            .filter(|field| !separator(field));
        let mut known = Value::unknown();
        let given = given_lines(&call.stdin).into_iter().map(Text::plain);
        for choice in written
            .flat_map(|field| field.single_candidates().cloned())
            .chain(given)
        {
            known.merge(&Value {
                choices: vec![choice],
                ..Value::default()
            });
        }
        state.set("PARALLEL_ARGUMENT", known, &mut self.budget)?;
        self.inside(context, |walk| walk.text_of_some_shell(&script, state))
            .map(drop)
    }

    /// `xargs` alone runs `echo`.
    fn echoes(&mut self, call: &Call<'_>, inside: &State) -> Read<()> {
        let words = Field {
            before: " ".into(),
            source: String::new(),
            ..Field::unknown("words from the input")
        };
        let context = Context::Changing(text(&call.fields));
        self.inner(vec![Field::literal("echo"), words], context, call, inside, Vec::new())
    }

    /// `sudo -e FILE…`: the operands are edited.
    fn edits_as_root(&mut self, program: usize, call: &Call<'_>, inside: &State, index: usize) {
        let mut files = Files::new(inside);
        for field in call.fields.get(program..).unwrap_or_default() {
            files.field(field, Access::Write);
        }
        let found = files.found;
        if let Some(command) = self.analysis.commands.get_mut(index) {
            command.files.extend(found);
        }
    }

    /// An option that says where a program works is the `cd` before it: it is judged as one, unless the folder surely lies
    /// below the one the line begins in.
    pub(super) fn goes_to(&mut self, folder: &Field, label: &str, call: &Call<'_>, state: &State) -> Read<()> {
        let cwd = self.context.cwd.clone();
        let inside = |text: &str| state.directories.iter().all(|from| from.join(text).is_within(&cwd));
        if !state.elsewhere && folder.text().is_some_and(inside) {
            return Ok(());
        }
        let fields = vec![Field::literal("cd"), folder.clone()];
        let label = format!("{label} (its folder)");
        self.inner(fields, Context::Transparent(label), call, state, Vec::new())
    }

    /// Files that a wrapper itself touches, and the directory it changes to.
    fn wrapper_files(
        &mut self,
        wrapper: &Wrapper,
        found: &Unwrapped,
        call: &Call<'_>,
        state: &mut State,
        index: usize,
    ) -> Read<()> {
        let mut files = Files::new(state);
        for (options, access) in [(wrapper.reads, Access::Read), (wrapper.writes, Access::Write)] {
            for field in found.places(options).filter_map(|place| self.place(place, call)) {
                if field.text() != Some("-") {
                    files.field(&field, access);
                }
            }
        }
        for field in found.places(wrapper.mounts).filter_map(|place| self.place(place, call)) {
            mounted(&field, state, &mut files);
        }
        if wrapper.name == "flock"
            && let Some(field) = found.operands.first().and_then(|at| call.fields.get(*at))
            && field
                .text()
                .is_none_or(|text| !text.chars().all(|c| c.is_ascii_digit()))
        {
            files.field(field, Access::Write);
        }
        let mut touched = std::mem::take(&mut files.found);
        if let Some(command) = self.analysis.commands.get_mut(index) {
            command.files.append(&mut touched);
        }
        if let Some(folder) = found.place(wrapper.folders).and_then(|place| self.place(place, call)) {
            self.goes_to(&folder, wrapper.name, call, state)?;
        }
        if let Some(place) = found.place(wrapper.folders) {
            match self.place(place, call).as_ref().and_then(Field::text) {
                Some(folder) => {
                    for directory in &mut state.directories {
                        *directory = directory.join(folder);
                    }
                    if folder.starts_with('/') {
                        state.elsewhere = false;
                    }
                }
                None => state.elsewhere = true,
            }
        }
        state.elsewhere |= wrapper.is_elsewhere(found);
        // `ssh localhost` stays here.
        let host = found
            .operands
            .first()
            .and_then(|at| call.fields.get(*at))
            .and_then(Field::text);
        let here = host.is_some_and(|host| {
            let host = host.rsplit('@').next().unwrap_or(host).trim_matches(['[', ']']);
            host.eq_ignore_ascii_case("localhost") || host == "::1" || host.starts_with("127.")
        });
        state.remote |= wrapper.remote && !(here && wrapper.name == "ssh");
        self.budget.spend(1)
    }

    pub(super) fn place(&self, place: &Place, call: &Call<'_>) -> Option<Field> {
        match place {
            Place::Word(at) => call.fields.get(*at).cloned(),
            Place::Text(text) => Some(Field::literal(text)),
        }
    }

    fn wrapper_assignments(&mut self, found: &Unwrapped, call: &Call<'_>) -> Read<Vec<Assignment>> {
        let mut assignments = Vec::new();
        for at in &found.assignments {
            self.budget.spend(1)?;
            let Some(field) = call.fields.get(*at) else { continue };
            let written = field
                .text()
                .unwrap_or_else(|| field.source.trim_start_matches(['"', '\'']));
            if let Some((name, value)) = written.split_once('=') {
                self.dangerous(name);
                let value = match field.text() {
                    Some(_) => Word::Literal(value.to_owned()),
                    None => Word::Dynamic {
                        source: value.to_owned(),
                        pattern: false,
                    },
                };
                assignments.push(Assignment {
                    name: name.to_owned(),
                    value,
                    below: false,
                    texts: Vec::new(),
                });
            }
        }
        Ok(assignments)
    }

    /// The words that `xargs` takes from its input.
    fn input_words(&mut self, found: &Unwrapped, call: &Call<'_>, fields: &mut Vec<Field>) {
        // How it splits its input, and between how many runs: then what is known of it is no known word of one command.
        let splits = found.has(SPLITTING);
        let marker = match found
            .place(&["-I", "-J", "-i", "--replace"])
            .and_then(|place| self.place(place, call))
        {
            Some(field) => field.text().map(str::to_owned),
            None if found.has(&["-i", "--replace"]) => Some("{}".to_owned()),
            None => None,
        };
        match marker {
            Some(marker) => {
                let given = if found.has(&["-0", "--null", "-d", "--delimiter"]) {
                    Vec::new()
                } else {
                    given_lines(&call.stdin)
                };
                let written: Vec<Option<String>> = fields.iter().map(|field| field.text().map(str::to_owned)).collect();
                replace(fields, &marker);
                for (field, text) in fields.iter_mut().zip(written) {
                    let Some(text) = text.filter(|text| !marker.is_empty() && text.contains(&marker)) else {
                        continue;
                    };
                    // What is known of the input; the rest stays unknown.
                    let known = given.iter().map(|line| vec![Text::plain(text.replace(&marker, line))]);
                    field.candidates = Candidates::Many(known.collect());
                }
            }
            None => {
                // Words of a here-string or here-document that are sure; what quotes mean to it is not looked into.
                if let Stdin::Given { text: Some(text), .. } = &call.stdin
                    && !splits
                    && !text.contains(['"', '\'', '\\'])
                {
                    let known = text.split_whitespace().take(MAX_INPUT_WORDS);
                    fields.extend(known.map(|word| Field {
                        before: " ".into(),
                        ..Field::literal(word)
                    }));
                }
                fields.push(Field {
                    before: " ".into(),
                    source: String::new(),
                    ..Field::unknown("words from the input")
                });
            }
        }
    }
}

/// Whether what stands around a command may have an input of its own; a wrapper passes on what it has.
fn is_around(context: &Context) -> bool {
    !matches!(context, Context::Transparent(_) | Context::Changing(_))
}

/// Options of `xargs` about what is one word, and how many go into one run.
const SPLITTING: &[&str] = &[
    "-0",
    "--null",
    "-d",
    "--delimiter",
    "-E",
    "--eof",
    "-e",
    "-L",
    "--max-lines",
    "-l",
    "-n",
    "--max-args",
    "-s",
    "--max-chars",
    "-x",
    "--exit",
    "-a",
    "--arg-file",
    "-S",
    "-R",
];

/// The lines of an input that are sure.
fn given_lines(stdin: &Stdin) -> Vec<String> {
    let text = match stdin {
        Stdin::Given { text: Some(text), .. } | Stdin::Pipe(Some(text)) => text.as_str(),
        _ => "",
    };
    let lines = text.lines().map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).take(MAX_INPUT_WORDS).collect()
}

/// A folder given to a container: `-v HOST:CONTAINER[:ro]`, `--mount type=bind,source=HOST,…`.
///
/// Inside the working directory it is read, as anything is that a command works on; outside, it is given away to be written
/// unless it says otherwise.
fn mounted(field: &Field, state: &State, files: &mut Files<'_>) {
    let mut judge = |text: &str| {
        let (host, read_only) = if text.contains('=') {
            let value = |names: &[&str]| {
                text.split(',')
                    .filter_map(|part| part.split_once('='))
                    .find(|(name, _)| names.contains(name))
                    .map(|(_, value)| value)
            };
            let bare = text.split(',').any(|part| matches!(part, "readonly" | "ro"));
            (
                value(&["source", "src"]).unwrap_or_default(),
                bare || value(&["readonly", "ro"]).is_some_and(|v| v != "false"),
            )
        } else {
            let Some((host, rest)) = text.split_once(':') else {
                return;
            };
            (
                host,
                rest.rsplit(':')
                    .next()
                    .is_some_and(|flags| flags.split(',').any(|flag| flag == "ro")),
            )
        };
        // A name without a slash is a volume of the daemon.
        if !host.starts_with(['/', '.', '~']) {
            return;
        }
        let inside = !host.split('/').any(|segment| segment == "..")
            && (!host.starts_with(['/', '~'])
                || state.directories.iter().any(|folder| {
                    let folder = folder.as_str();
                    host == folder || host.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
                }));
        files.name(
            host,
            if inside || read_only {
                Access::Read
            } else {
                Access::Write
            },
        );
    };
    match field.text() {
        Some(text) => judge(text),
        None => {
            for text in field.single_candidates() {
                judge(&text.text);
            }
            if !field.exact {
                files.unknown(&field.source, Access::Write);
            }
        }
    }
}

/// The name of a package without its version: `prettier@3`, `@scope/tool@1`, `ruff==0.5`.
fn without_version(text: &str) -> Option<String> {
    let at = text.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    let end = at.or_else(|| text.find("==")).filter(|end| *end > 0)?;
    text.get(..end).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_named_without_its_version() {
        assert_eq!(without_version("prettier@3.1").as_deref(), Some("prettier"));
        assert_eq!(without_version("@scope/tool@1").as_deref(), Some("@scope/tool"));
        assert_eq!(without_version("ruff==0.5").as_deref(), Some("ruff"));
        assert_eq!(without_version("@scope/tool"), None);
        assert_eq!(without_version("rm"), None);
    }
}

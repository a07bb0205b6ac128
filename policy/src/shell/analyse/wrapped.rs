//! What a wrapper runs: a program among its arguments, or a script.

use super::{
    Walk,
    call::{Call, Stdin, text},
    foreign,
};
use crate::AbsPath;
use crate::shell::{
    Access, Assignment, Command, Context, OpaqueReason, Word,
    class::base_name,
    expand::{Field, State, Text, Value},
    own,
    reader::{self, Dialect, Read},
    syntax::Form,
    targets::Files,
    wrappers::{self, Place, Unwrapped},
};

/// Whether a file that is read as a script is what the line gives a descriptor, `/dev/fd/3`, or another thing that is no file.
pub(super) fn is_stream(text: &str, state: &State) -> bool {
    let system = |path: AbsPath| {
        let folders = ["/dev/", "/proc/"];
        path.as_str() != "/dev/null" && folders.iter().any(|folder| path.as_str().starts_with(folder))
    };
    // A name of few letters is cheap to join.
    text.len() > MAX_STREAM || state.directories.iter().any(|folder| system(folder.join(text)))
}

/// Longest name of a script that is compared with those of streams.
const MAX_STREAM: usize = 4096;
/// Most words of a wrapper that may be none of which each case is looked at.
const MAX_VANISHING: usize = 3;
/// Most places of a search outside the working directory whose files are looked at apart.
const MAX_PLACES: usize = 16;

impl Walk<'_> {
    /// Follows a wrapper. True if the command only wraps.
    pub(super) fn wrapped(&mut self, name: &str, call: &Call<'_>, state: &State, index: usize) -> Read<bool> {
        if foreign::is_foreign(name) {
            self.foreign(call);
            return Ok(false);
        }
        if wrappers::SHELLS.contains(&name) {
            let plain = !matches!(name, "bash" | "rbash" | "zsh" | "ksh" | "mksh");
            let outer = std::mem::replace(&mut self.plain, plain);
            // `bash -O lastpipe`
            let told = |field: &Field| {
                field
                    .text()
                    .is_none_or(|text| text.starts_with(['-', '+']) && text.contains('O'))
            };
            let apart = matches!(name, "bash" | "rbash" | "dash" | "ash") && !call.fields.iter().any(told);
            let kept = std::mem::replace(&mut self.keeps_last, !apart);
            let wraps = self.shell(name, call, state, index);
            (self.plain, self.keeps_last) = (outer, kept);
            return wraps;
        }
        // Shells whose grammar is not read here.
        if matches!(name, "pwsh" | "powershell" | "powershell.exe" | "cmd" | "cmd.exe") && call.fields.len() > 1 {
            self.opaque(&text(&call.fields), OpaqueReason::Unparsable);
            return Ok(false);
        }
        match name {
            "find" | "gfind" => self.find_exec(call, state).map(|()| false),
            "fd" | "fdfind" => self.fd_exec(call, state).map(|()| false),
            "portcullis" => self.own(call, state),
            "portcullis-launch" | "portcullis-sandboxd" => self.launch(call, state),
            // `;` separates its commands.
            "tmux" if call.fields.iter().any(|field| field.text() == Some(";")) => {
                let rest = call.fields.get(1..).unwrap_or_default();
                for part in rest.split(|field| field.text() == Some(";")) {
                    let mut fields: Vec<Field> = call.fields.first().cloned().into_iter().collect();
                    fields.extend(part.iter().cloned());
                    let part = Call::behind(fields, &call.stdin, call.resolved);
                    self.wrapped(name, &part, state, index)?;
                }
                Ok(false)
            }
            _ => {
                let mut wraps = false;
                if wrappers::can_wrap(name) {
                    let words: Vec<Word> = call.fields.iter().map(|field| field.word.clone()).collect();
                    if let Some((wrapper, start)) = wrappers::resolve(name, &words) {
                        wraps = self.program_behind(wrapper, &words, start, call, state, index)?;
                        let own = wrappers::unwrap(wrapper, &words, start).program.unwrap_or(words.len());
                        self.without_words(own, call, state, index)?;
                    }
                }
                self.commands_in_options(name, call, state)?;
                Ok(wraps)
            }
        }
    }

    /// What else a wrapper runs, where words before the program may be none: an option takes the next word then, and what follows
    /// is the program. `env -u $x cat rm f`
    fn without_words(&mut self, own: usize, call: &Call<'_>, state: &State, index: usize) -> Read<()> {
        let vanishing: Vec<usize> = (1..own)
            .filter(|at| call.fields.get(*at).is_some_and(|field| field.none))
            .collect();
        if vanishing.len() > MAX_VANISHING {
            self.opaque(&text(&call.fields), OpaqueReason::DynamicProgram);
            return Ok(());
        }
        for case in 1..1_usize << vanishing.len() {
            let gone = |at: usize| {
                let number = vanishing.iter().position(|own| *own == at);
                number.is_some_and(|number| case >> number & 1 == 1)
            };
            let fields: Vec<Field> = (call.fields.iter().enumerate())
                .filter(|(at, _)| !gone(*at))
                .map(|(_, field)| field.clone())
                .collect();
            self.budget.spend(fields.len())?;
            let words: Vec<Word> = fields.iter().map(|field| field.word.clone()).collect();
            let name = words.first().and_then(Word::literal).map(base_name).unwrap_or_default();
            let Some((wrapper, start)) = wrappers::resolve(name, &words) else {
                continue;
            };
            let left = words.len();
            let found = wrappers::unwrap(wrapper, &words, start);
            let program = found.program.unwrap_or(left);
            // The same program with the same words.
            let same = left - program == call.fields.len().saturating_sub(own) && program < left;
            if same || wrapper.refuses(&found, &words) {
                continue;
            }
            let mut shorter = Call::behind(fields, &call.stdin, call.resolved);
            shorter.assignments.clone_from(&call.assignments);
            self.program_behind(wrapper, &words, start, &shorter, state, index)?;
        }
        Ok(())
    }

    /// Runs the command behind a wrapper.
    pub(super) fn inner(
        &mut self,
        fields: Vec<Field>,
        context: Context,
        call: &Call<'_>,
        state: &State,
        assignments: Vec<Assignment>,
    ) -> Read<()> {
        let mut inner = Call::behind(fields, &call.stdin, call.resolved);
        inner.assignments = assignments;
        let state = state.clone();
        self.inside(context, |walk| walk.run(inner, state)).map(drop)
    }

    /// `env -S 'words'`: split much as a shell does.
    pub(super) fn split_string(
        &mut self,
        place: &Place,
        found: &Unwrapped,
        call: &Call<'_>,
        state: &State,
        assignments: Vec<Assignment>,
    ) -> Read<()> {
        let written = self.place(place, call);
        let Some(words) = written.as_ref().and_then(Field::text) else {
            self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
            return Ok(());
        };
        let (list, fault) = reader::read(words, Dialect::Bash, &mut self.budget);
        let simple = match list.0.as_slice() {
            [item] if fault.is_none() && item.rest.is_empty() => match item.first.stages.as_slice() {
                [node] if node.redirects.is_empty() => match &node.form {
                    Form::Simple(simple) => Some(simple),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        let texts = simple.and_then(|simple| {
            simple
                .words
                .iter()
                .map(super::RawWord::flat)
                .collect::<Option<Vec<_>>>()
        });
        let Some(texts) = texts else {
            self.opaque(words, OpaqueReason::DynamicScript);
            return Ok(());
        };
        let mut fields: Vec<Field> = vec![Field::literal("env")];
        if let Some(simple) = simple {
            for assignment in &simple.assignments {
                fields.push(Field::literal(&format!(
                    "{}={}",
                    assignment.name,
                    assignment.value.flat().unwrap_or_default()
                )));
            }
        }
        fields.extend(texts.iter().map(|text| Field::literal(text)));
        fields.extend(
            found
                .program
                .and_then(|at| call.fields.get(at..))
                .unwrap_or_default()
                .iter()
                .cloned(),
        );
        self.inner(
            fields,
            Context::Transparent("env -S".to_owned()),
            call,
            state,
            assignments,
        )
    }

    /// `find … -exec CMD ;`
    fn find_exec(&mut self, call: &Call<'_>, state: &State) -> Read<()> {
        let mut at = 0;
        while let Some(field) = call.fields.get(at) {
            at += 1;
            let Some(option @ ("-exec" | "-execdir" | "-ok" | "-okdir")) = field.text() else {
                continue;
            };
            let start = at;
            while let Some(field) = call.fields.get(at) {
                let ends = match field.text() {
                    Some(";") => true,
                    Some("+") => call
                        .fields
                        .get(at.wrapping_sub(1))
                        .is_some_and(|before| before.text() == Some("{}")),
                    _ => false,
                };
                if ends {
                    break;
                }
                at += 1;
            }
            let mut fields = call.fields.get(start..at).unwrap_or_default().to_vec();
            replace(&mut fields, "{}");
            let mut inside = state.clone();
            // In the folder of each file.
            inside.elsewhere |= option.ends_with("dir");
            if !fields.is_empty() {
                self.inner(
                    fields,
                    Context::Changing(format!("find {option}")),
                    call,
                    &inside,
                    Vec::new(),
                )?;
            }
        }
        Ok(())
    }

    /// `fd … -x CMD`, `fd … -X CMD`.
    fn fd_exec(&mut self, call: &Call<'_>, state: &State) -> Read<()> {
        let runs = |field: &Field| matches!(field.text(), Some("-x" | "-X" | "--exec" | "--exec-batch"));
        if let Some(at) = call.fields.iter().position(runs) {
            let rest = call.fields.get(at + 1..).unwrap_or_default();
            let end = rest
                .iter()
                .position(|field| field.text() == Some(";"))
                .unwrap_or(rest.len());
            let mut fields = rest.get(..end).unwrap_or_default().to_vec();
            for marker in ["{}", "{/}", "{//}", "{.}", "{/.}"] {
                replace(&mut fields, marker);
            }
            // What is found lies below the places that are looked at.
            let places = call.fields.get(1..at).unwrap_or_default();
            let outside = |field: &&Field| {
                field
                    .text()
                    .is_some_and(|text| text.starts_with(['/', '~']) || text == "..")
            };
            for place in places.iter().filter(outside).take(MAX_PLACES) {
                let mut fields = fields.clone();
                if !fields.is_empty() {
                    fields.push(place.clone());
                    self.inner(fields, Context::Changing("fd -x".to_owned()), call, state, Vec::new())?;
                }
            }
            if !fields.is_empty() {
                fields.push(Field {
                    source: String::new(),
                    ..Field::unknown("a file that was found")
                });
                self.inner(fields, Context::Changing("fd -x".to_owned()), call, state, Vec::new())?;
            }
        }
        // An attached value: `-xrm`.
        let attached = |field: &&Field| {
            field.text().is_some_and(|text| {
                (text.starts_with("-x") || text.starts_with("-X") || text.starts_with("--exec")) && !runs(field)
            })
        };
        if let Some(field) = call.fields.iter().skip(1).find(attached) {
            self.opaque(&field.source.clone(), OpaqueReason::UnknownWrapperOption);
        }
        Ok(())
    }

    /// `portcullis [options] run [options] [--] CMD`, `portcullis exec`, `portcullis sandbox run`.
    fn own(&mut self, call: &Call<'_>, state: &State) -> Read<bool> {
        let texts: Vec<Option<&str>> = call.fields.iter().skip(1).map(Field::text).collect();
        let own = own::read(&texts);
        let Some(program) = own.program.filter(|_| own.runs()) else {
            return Ok(false);
        };
        let widens = own.widens.is_some();
        let mut inside = state.clone();
        // In another folder, perhaps.
        inside.elsewhere |= widens;
        let label = text(call.fields.get(..program).unwrap_or_default());
        let fields = call.fields.get(program..).unwrap_or_default().to_vec();
        self.inner(fields, Context::Transparent(label), call, &inside, Vec::new())?;
        Ok(!widens)
    }

    /// `portcullis-sandboxd exec [options] -- CMD`, also by the name of `portcullis-launch`: a person's tool; what it runs is judged all the same.
    fn launch(&mut self, call: &Call<'_>, state: &State) -> Read<bool> {
        if let Some(at) = call.fields.iter().position(|field| field.text() == Some("--")) {
            let label = text(call.fields.get(..=at).unwrap_or_default());
            let fields = call.fields.get(at + 1..).unwrap_or_default().to_vec();
            if !fields.is_empty() {
                self.inner(fields, Context::Changing(label), call, state, Vec::new())?;
            }
        }
        Ok(false)
    }

    /// `eval`: its text is run by this shell.
    pub(super) fn eval(&mut self, call: &Call<'_>, mut state: State, index: usize) -> Read<State> {
        let arguments: Vec<Option<&str>> = call.fields.iter().skip(1).map(Field::text).collect();
        if arguments.is_empty() {
            return Ok(state);
        }
        match arguments.into_iter().collect::<Option<Vec<_>>>() {
            Some(words) => {
                let words: Vec<&str> = words.into_iter().skip_while(|word| *word == "--").collect();
                let script = words.join(" ");
                let after = self.inside(Context::Script("eval".to_owned()), |walk| walk.text(&script, state))?;
                self.mark_wrapper(index);
                Ok(after)
            }
            None => {
                self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
                state.elsewhere = true;
                state.blur(&mut self.budget)?;
                Ok(state)
            }
        }
    }

    /// Words that are names of options have to be one each.
    fn one_name_each(&mut self, call: &Call<'_>, from: usize, names: usize) {
        let mut given = call.fields.iter().skip(from).take(names);
        if given.any(|field| field.none || field.many) {
            self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
        }
    }

    /// A shell: the script behind `-c`, a script file, or its input.
    fn shell(&mut self, name: &str, call: &Call<'_>, state: &State, index: usize) -> Read<bool> {
        let (mut script_given, mut from_input, mut only_wraps, mut at) = (false, false, true, 1);
        let mut state = state.clone();
        let is_glued = matches!(name, "zsh" | "ksh" | "ksh93" | "mksh" | "lksh" | "oksh");
        while let Some(field) = call.fields.get(at) {
            let Some(option) = field.text() else { break };
            match long_with_one_dash(name, option).unwrap_or(option) {
                "--" | "-" => {
                    at += 1;
                    break;
                }
                "--version" | "--help" => return Ok(false),
                "--rcfile" | "--init-file" => {
                    self.opaque(option, OpaqueReason::DynamicScript);
                    at += 1;
                }
                "--login" | "--noprofile" | "--norc" | "--posix" | "--verbose" | "--restricted" | "--noediting" => {
                    only_wraps = false
                }
                "--command" => script_given = true,
                _ if option.starts_with("--") => {
                    self.opaque(&format!("{name} {option}"), OpaqueReason::UnknownWrapperOption);
                }
                _ if option.starts_with(['-', '+']) && option.len() > 1 => {
                    let letters = option.get(1..).unwrap_or_default();
                    // zsh and ksh take the name of `-o` from the same word: `-onocorrect`.
                    let (letters, glued) = match letters.split_once('o') {
                        Some((letters, name)) if is_glued && !name.is_empty() => (letters, true),
                        _ => (letters, false),
                    };
                    only_wraps &= !glued;
                    script_given |= option.starts_with('-') && letters.contains('c');
                    from_input |= letters.contains('s');
                    only_wraps &= letters.chars().all(|letter| "ceuxnv".contains(letter));
                    // `-o name`, `-O name` take the next word.
                    let names = letters.matches(['o', 'O']).count();
                    let given = call.fields.iter().skip(at + 1).take(names);
                    // Then the next word is the name, and what follows is not what it seems.
                    self.one_name_each(call, at + 1, names);
                    state.globs(given.map(|field| field.text().map(str::to_owned)));
                    at += names;
                }
                _ => break,
            }
            at += 1;
        }
        if script_given {
            let label = text(call.fields.get(..at.min(call.fields.len())).unwrap_or_default());
            let arguments = call.fields.get(at + 1..).unwrap_or_default().to_vec();
            let script = call.fields.get(at).cloned();
            self.script(script.as_ref(), &label, call, &state, &arguments)?;
            return Ok(only_wraps && script.is_some_and(|script| script.text().is_some()));
        }
        match call.fields.get(at).filter(|_| !from_input) {
            Some(file) if file.text().is_none() && !only_checks(call, at) => {
                self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
            }
            Some(file) => {
                let mut files = Files::new(&state);
                files.field(file, Access::Read);
                let found = files.found;
                if let Some(command) = self.analysis.commands.get_mut(index) {
                    command.files.extend(found);
                }
                if file.text().is_some_and(|text| is_stream(text, &state)) {
                    self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
                }
            }
            None => return self.script_from_input(name, call, &state),
        }
        Ok(false)
    }

    pub(super) fn script_from_input(&mut self, name: &str, call: &Call<'_>, state: &State) -> Read<bool> {
        let (script, certain) = match &call.stdin {
            Stdin::Given { text: Some(script), .. } => (Some(script), true),
            Stdin::Pipe(Some(script)) => (Some(script), false),
            _ => (None, false),
        };
        if !certain && !self.is_for_a_terminal(&call.stdin) {
            self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
        }
        if let Some(script) = script {
            let state = state.clone();
            self.inside(Context::Script(format!("{name} <<")), |walk| walk.text(script, state))?;
        }
        Ok(certain)
    }

    /// Whether a shell in a container takes its commands from the person at the terminal: `docker exec -it web sh`, with nothing
    /// of the line in front of its input.
    fn is_for_a_terminal(&self, stdin: &Stdin) -> bool {
        let [Context::Changing(label)] = self.seen.as_slice() else {
            return false;
        };
        // `exec < file` changes what all that follows reads.
        let redirects = |command: &Command| command.program() == Some("exec");
        *stdin == Stdin::Inherited && in_a_terminal(label) && !self.analysis.commands.iter().any(redirects)
    }

    /// A script given as a word, with the words after it as `$0`, `$1`, …
    pub(super) fn script(
        &mut self,
        script: Option<&Field>,
        label: &str,
        call: &Call<'_>,
        state: &State,
        arguments: &[Field],
    ) -> Read<()> {
        let Some(script) = script else {
            return Ok(());
        };
        let Some(source) = script.text() else {
            self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
            return Ok(());
        };
        // A new shell: of the variables only exported ones arrive, so none is certain.
        let mut inside = state.clone();
        inside.blur(&mut self.budget)?;
        inside.functions = std::rc::Rc::default();
        for assignment in &call.assignments {
            let value = assignment.value.literal().map_or_else(Value::unknown, Value::literal);
            inside.set(&assignment.name, value, &mut self.budget)?;
        }
        for (number, field) in arguments.iter().enumerate().take(10) {
            let value = Value {
                choices: field.single_candidates().cloned().collect(),
                exact: field.exact,
                ..Value::default()
            };
            inside.set(&number.to_string(), value, &mut self.budget)?;
        }
        let mut rest = Value::unknown();
        for field in arguments.iter().skip(1) {
            for text in field.single_candidates() {
                rest.merge(&Value {
                    choices: vec![text.clone()],
                    ..Value::default()
                });
            }
        }
        if arguments.len() > 1 {
            inside.set("@", rest.clone(), &mut self.budget)?;
            inside.set("*", rest, &mut self.budget)?;
        }
        let source = source.to_owned();
        self.inside(Context::Script(label.to_owned()), |walk| walk.text(&source, inside))
            .map(drop)
    }
}

/// Whether a label is that of a container program which is told to connect the terminal with what it runs.
fn in_a_terminal(label: &str) -> bool {
    let mut words = label.split_whitespace();
    let program = words.next().unwrap_or_default();
    let words: Vec<&str> = words.collect();
    let has = |letter: char, long: &str| {
        words.iter().any(|word| {
            *word == long
                || word
                    .strip_prefix('-')
                    .is_some_and(|rest| !rest.starts_with('-') && rest.contains(letter))
        })
    };
    let runs = words.iter().any(|word| matches!(*word, "exec" | "run"));
    let composes = matches!(program, "docker-compose" | "podman-compose") || words.first() == Some(&"compose");
    match program {
        // It connects both unless it is told not to.
        _ if composes => {
            let apart = |word: &&str| {
                matches!(*word, "-d" | "--detach") || word.starts_with("--no-") || word.starts_with("--interactive=")
            };
            runs && !has('T', "--no-TTY") && !words.iter().any(apart)
        }
        "docker" | "podman" | "nerdctl" | "kubectl" | "oc" => runs && has('i', "--interactive") && has('t', "--tty"),
        _ => false,
    }
}

/// The long option of bash that a word with one dash is: `-norc`, `-rcfile`.
fn long_with_one_dash(shell: &str, word: &str) -> Option<&'static str> {
    const LONG: &[&str] = &[
        "--help",
        "--init-file",
        "--login",
        "--noediting",
        "--noprofile",
        "--norc",
        "--posix",
        "--rcfile",
        "--restricted",
        "--verbose",
        "--version",
    ];
    let name = word
        .strip_prefix('-')
        .filter(|_| matches!(shell, "bash" | "rbash" | "sh"))?;
    LONG.iter().copied().find(|long| long.strip_prefix("--") == Some(name))
}

/// Whether a shell only reads the script at a place: behind `-n` and nothing else, and the name is surely no option, which
/// could take that back.
fn only_checks(call: &Call<'_>, at: usize) -> bool {
    let option = call.fields.get(1).and_then(Field::text);
    let name = |text: &Text| !text.text.is_empty() && !text.text.starts_with(['-', '+', '*', '?', '[']);
    let file = call.fields.get(at);
    at == 2
        && option == Some("-n")
        && file.is_some_and(|file| {
            let known = file.exact || file.candidates.iter().flatten().any(|text| text.glob);
            known && file.candidates.iter().flatten().next().is_some() && file.candidates.iter().flatten().all(name)
        })
}

/// Makes words that hold the marker unknown: something is put in its place.
pub(super) fn replace(fields: &mut [Field], marker: &str) {
    if marker.is_empty() {
        return;
    }
    for field in fields {
        if field.text().is_some_and(|text| text.contains(marker)) {
            let before = std::mem::take(&mut field.before);
            *field = Field {
                before,
                ..Field::unknown(&field.source.clone())
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_asked_for() {
        for (label, asked) in [
            ("docker exec -it app", true),
            ("docker exec -i -t app", true),
            ("docker run --rm -ti image", true),
            ("docker exec --interactive --tty app", true),
            ("kubectl exec -it web --", true),
            ("docker compose exec web", true),
            ("docker-compose run --rm web", true),
            ("docker exec -i app", false),
            ("docker exec app", false),
            ("docker compose exec -T web", false),
            ("docker compose run -d web", false),
            ("ssh -t host", false),
        ] {
            assert_eq!(in_a_terminal(label), asked, "{label}");
        }
    }

    #[test]
    fn only_words_with_the_marker_become_unknown() {
        let mut fields = vec![Field::literal("rm"), Field::literal("{}.bak")];
        replace(&mut fields, "{}");
        assert_eq!(fields.first().and_then(Field::text), Some("rm"));
        assert_eq!(fields.get(1).and_then(Field::text), None);
    }
}

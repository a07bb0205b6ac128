//! What a wrapper runs: a program among its arguments, or a script.

use super::{
    Walk,
    call::{Call, Stdin, text},
    foreign,
};
use crate::shell::{
    Access, Assignment, Context, FileAccess, OpaqueReason, Word,
    expand::{Field, State, Value},
    own,
    reader::{self, Dialect, Read},
    syntax::Form,
    targets::Files,
    wrappers::{self, Place, Unwrapped, Wrapper},
};

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
            let wraps = self.shell(name, call, state, index);
            self.plain = outer;
            return wraps;
        }
        match name {
            "eval" => self.eval(call, state),
            "find" | "gfind" => self.find_exec(call, state).map(|()| false),
            "fd" | "fdfind" => self.fd_exec(call, state).map(|()| false),
            "parallel" | "rust-parallel" => {
                if call.fields.len() > 1 {
                    self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
                    let rest = call.fields.get(1..).unwrap_or_default();
                    let program = rest
                        .iter()
                        .position(|field| field.text().is_none_or(|text| !text.starts_with('-')));
                    if let Some(fields) = program.and_then(|at| rest.get(at..)) {
                        self.inner(
                            fields.to_vec(),
                            Context::Changing("parallel".to_owned()),
                            call,
                            state,
                            Vec::new(),
                        )?;
                    }
                }
                Ok(false)
            }
            "portcullis" => self.own(call, state),
            "portcullis-launch" => self.launch(call, state),
            _ => match wrappers::find(name) {
                Some(wrapper) => self.program_behind(wrapper, call, state, index),
                None => Ok(false),
            },
        }
    }

    /// Runs the command behind a wrapper.
    fn inner(
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

    fn program_behind(&mut self, wrapper: &Wrapper, call: &Call<'_>, state: &State, index: usize) -> Read<bool> {
        let words: Vec<Word> = call.fields.iter().map(|field| field.word.clone()).collect();
        let found = wrappers::unwrap(wrapper, &words);
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
        let mut inside = state.clone();
        self.wrapper_files(wrapper, &found, call, &mut inside, index)?;
        let assignments = self.wrapper_assignments(&found, call)?;
        if let Some(place) = found.place(&["-S", "--split-string"]).filter(|_| wrapper.name == "env") {
            return self
                .split_string(place, &found, call, &inside, assignments)
                .map(|()| true);
        }
        if let Some(place) = found.place(&["-c", "--command"]).filter(|_| wrapper.name == "flock") {
            let script = self.place(place, call);
            return self
                .script(script.as_ref(), "flock -c", call, &inside, &[])
                .map(|()| true);
        }
        let shell = (wrapper.name == "sudo" && found.has(&["-s", "-i", "--shell", "--login"]))
            || (wrapper.name == "doas" && found.has(&["-s"]));
        let Some(program) = found.program else {
            if shell {
                self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
            }
            if wrapper.name == "sudo" && found.has(&["-e", "--edit"]) {
                self.opaque(&text(&call.fields), OpaqueReason::DynamicProgram);
            }
            return Ok(false);
        };
        let label = text(call.fields.get(..program).unwrap_or_default());
        let mut fields = call.fields.get(program..).unwrap_or_default().to_vec();
        if wrapper.name == "xargs" {
            self.input_words(&found, call, &mut fields);
        }
        let bare = wrapper.name != "xargs"
            || found
                .options
                .iter()
                .all(|(name, _)| matches!(name.as_str(), "-0" | "--null" | "-r" | "--no-run-if-empty" | "-t"));
        // `watch` joins its words and gives them to a shell, `sudo -s` too.
        let joined = (wrapper.name == "watch" && !found.has(&["-x", "--exec"])) || shell;
        let context = if wrapper.changes {
            Context::Changing(label)
        } else {
            Context::Transparent(label)
        };
        let words = fields.len();
        if joined && words > 0 {
            let script: Option<Vec<&str>> = fields.iter().map(Field::text).collect();
            match script {
                Some(script) => {
                    let (script, state) = (script.join(" "), inside.clone());
                    self.inside(context, |walk| walk.text(&script, state))?;
                }
                None => {
                    self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
                    self.inner(fields, context, call, &inside, assignments)?;
                }
            }
        } else {
            self.inner(fields, context, call, &inside, assignments)?;
        }
        Ok(bare && (!wrapper.changes || wrapper.name == "xargs"))
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
        let (options, access): (&[&str], Access) = match wrapper.name {
            "time" => (&["-o", "--output"], Access::Write),
            "xargs" => (&["-a", "--arg-file"], Access::Read),
            "strace" => (&["-o"], Access::Write),
            _ => (&[], Access::Read),
        };
        let mut touched: Vec<FileAccess> = Vec::new();
        {
            let mut files = Files::new(state);
            if let Some(field) = found.place(options).and_then(|place| self.place(place, call)) {
                files.field(&field, access);
            }
            if wrapper.name == "flock"
                && let Some(field) = found.operands.first().and_then(|at| call.fields.get(*at))
                && field
                    .text()
                    .is_none_or(|text| !text.chars().all(|c| c.is_ascii_digit()))
            {
                files.field(field, Access::Write);
            }
            touched.append(&mut files.found);
        }
        if let Some(command) = self.analysis.commands.get_mut(index) {
            command.files.append(&mut touched);
        }
        let moves: &[&str] = match wrapper.name {
            "env" => &["-C", "--chdir"],
            "sudo" => &["-D", "--chdir"],
            _ => &[],
        };
        if let Some(place) = found.place(moves) {
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
        if matches!(wrapper.name, "chroot" | "unshare" | "nsenter")
            || (wrapper.name == "sudo" && found.has(&["-i", "--login", "-R", "--chroot"]))
        {
            state.elsewhere = true;
        }
        self.budget.spend(1)
    }

    fn place(&self, place: &Place, call: &Call<'_>) -> Option<Field> {
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
                });
            }
        }
        Ok(assignments)
    }

    /// `env -S 'words'`: split much as a shell does.
    fn split_string(
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

    /// The words that `xargs` takes from its input.
    fn input_words(&mut self, found: &Unwrapped, call: &Call<'_>, fields: &mut Vec<Field>) {
        let marker = match found
            .place(&["-I", "-i", "--replace"])
            .and_then(|place| self.place(place, call))
        {
            Some(field) => field.text().map(str::to_owned),
            None if found.has(&["-i", "--replace"]) => Some("{}".to_owned()),
            None => None,
        };
        match marker {
            Some(marker) => replace(fields, &marker),
            None => fields.push(Field {
                before: " ".to_owned(),
                source: String::new(),
                ..Field::unknown("words from the input")
            }),
        }
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

    /// `portcullis-launch exec [options] -- CMD`: a person's tool; what it runs is judged all the same.
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

    fn eval(&mut self, call: &Call<'_>, state: &State) -> Read<bool> {
        let arguments: Vec<Option<&str>> = call.fields.iter().skip(1).map(Field::text).collect();
        if arguments.is_empty() {
            return Ok(false);
        }
        match arguments.into_iter().collect::<Option<Vec<_>>>() {
            Some(words) => {
                let words: Vec<&str> = words.into_iter().skip_while(|word| *word == "--").collect();
                let (script, state) = (words.join(" "), state.clone());
                self.inside(Context::Script("eval".to_owned()), |walk| walk.text(&script, state))?;
                Ok(true)
            }
            None => {
                self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
                Ok(false)
            }
        }
    }

    /// A shell: the script behind `-c`, a script file, or its input.
    fn shell(&mut self, name: &str, call: &Call<'_>, state: &State, index: usize) -> Read<bool> {
        let (mut script_given, mut from_input, mut only_wraps, mut at) = (false, false, true, 1);
        while let Some(field) = call.fields.get(at) {
            let Some(option) = field.text() else { break };
            match option {
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
                    script_given |= option.starts_with('-') && letters.contains('c');
                    from_input |= letters.contains('s');
                    only_wraps &= letters.chars().all(|letter| "ceuxnv".contains(letter));
                    // `-o name`, `-O name` take the next word.
                    at += letters.matches(['o', 'O']).count();
                }
                _ => break,
            }
            at += 1;
        }
        if script_given {
            let label = text(call.fields.get(..at.min(call.fields.len())).unwrap_or_default());
            let arguments = call.fields.get(at + 1..).unwrap_or_default().to_vec();
            let script = call.fields.get(at).cloned();
            self.script(script.as_ref(), &label, call, state, &arguments)?;
            return Ok(only_wraps && script.is_some_and(|script| script.text().is_some()));
        }
        match call.fields.get(at).filter(|_| !from_input) {
            Some(file) if file.text().is_none() => {
                self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
            }
            Some(file) => {
                let mut files = Files::new(state);
                files.field(file, Access::Read);
                let found = files.found;
                if let Some(command) = self.analysis.commands.get_mut(index) {
                    command.files.extend(found);
                }
                if matches!(file.text(), Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")) {
                    self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
                }
            }
            None => return self.script_from_input(name, call, state),
        }
        Ok(false)
    }

    fn script_from_input(&mut self, name: &str, call: &Call<'_>, state: &State) -> Read<bool> {
        let (script, certain) = match &call.stdin {
            Stdin::Given(Some(script)) => (Some(script), true),
            Stdin::Pipe(Some(script)) => (Some(script), false),
            _ => (None, false),
        };
        if !certain {
            self.opaque(&text(&call.fields), OpaqueReason::DynamicScript);
        }
        if let Some(script) = script {
            let state = state.clone();
            self.inside(Context::Script(format!("{name} <<")), |walk| walk.text(script, state))?;
        }
        Ok(certain)
    }

    /// A script given as a word, with the words after it as `$0`, `$1`, …
    fn script(
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
                numeric: false,
            };
            inside.set(&number.to_string(), value, &mut self.budget)?;
        }
        let mut rest = Value::unknown();
        for field in arguments.iter().skip(1) {
            for text in field.single_candidates() {
                rest.merge(&Value {
                    choices: vec![text.clone()],
                    exact: false,
                    numeric: false,
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

/// Makes words that hold the marker unknown: something is put in its place.
fn replace(fields: &mut [Field], marker: &str) {
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
    fn only_words_with_the_marker_become_unknown() {
        let mut fields = vec![Field::literal("rm"), Field::literal("{}.bak")];
        replace(&mut fields, "{}");
        assert_eq!(fields.first().and_then(Field::text), Some("rm"));
        assert_eq!(fields.get(1).and_then(Field::text), None);
    }
}

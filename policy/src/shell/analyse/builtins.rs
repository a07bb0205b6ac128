//! Builtins that change the shell itself: its directory, its variables, the meaning of its words.

use super::{
    Call, Value, Walk, Ways, excerpt,
    printed::{is_many_words, unquoted_names},
    wrapped::is_stream,
};
use crate::shell::{
    Access, Command, Context, FileAccess, OpaqueReason, Word,
    expand::{Field, Place, State, lookup},
    reader::{self, Dialect, Read},
    settings,
    targets::Files,
};

/// Whether the analysis rests on what a command of this name does, so that a function of the name changes what is read.
pub(super) fn is_meaningful(name: &str) -> bool {
    const BUILTINS: &[&str] = &[
        ".",
        "alias",
        "bind",
        "break",
        "cd",
        "chdir",
        "compgen",
        "complete",
        "continue",
        "declare",
        "enable",
        "eval",
        "exec",
        "exit",
        "export",
        "getopts",
        "hash",
        "jobs",
        "let",
        "local",
        "mapfile",
        "popd",
        "printf",
        "pushd",
        "pwd",
        "read",
        "readarray",
        "readonly",
        "return",
        "set",
        "shift",
        "shopt",
        "source",
        "test",
        "trap",
        "typeset",
        "unalias",
        "unset",
        "wait",
        "[",
        "setopt",
    ];
    BUILTINS.contains(&name) || crate::shell::class::is_wrapper(name)
}

/// Whether a declaration says that what is put into a name is changed, or that it stands for another: `-l`, `-u`, `-c`, `-n`.
pub(super) fn declares_otherwise(command: &Command) -> bool {
    let option = |text: &str| text.starts_with(['-', '+']) && text.contains(['l', 'u', 'c', 'n']);
    let words = command.words.iter().skip(1);
    matches!(command.program(), Some("declare" | "local" | "typeset"))
        && words.into_iter().any(|word| match word {
            Word::Literal(text) => option(text),
            Word::Dynamic { source, .. } => !assigns(source),
        })
}

/// Whether a word assigns something to a name, and is no option whatever that is.
fn assigns(source: &str) -> bool {
    source
        .split_once('=')
        .is_some_and(|(name, _)| reader::is_name(name.strip_suffix('+').unwrap_or(name)))
}

/// Functions that zsh calls by their names: at each change of folder, at each signal and each command.
pub(super) fn runs_by_itself(name: &str) -> bool {
    matches!(name, "chpwd" | "periodic" | "precmd" | "preexec" | "zshaddhistory") || name.starts_with("TRAP")
}

/// Commands that change variables or the folder in bash, and that other shells do not have.
const OF_BASH: &[&str] = &["declare", "let", "mapfile", "popd", "pushd", "readarray", "typeset"];

/// The longest path that changes of folder are followed to, in bytes. An eighth of what Linux takes (`PATH_MAX`): each of
/// thousands of changes copies the paths of all folders where the line may be.
const LONGEST_PATH: usize = 512;
/// Most folders where a line may be that are followed.
const MOST_DIRECTORIES: usize = 16;
/// So much of a path costs a step.
const LETTERS_A_STEP: usize = 1024;
/// Most directories that `pushd` puts away and that are remembered.
const MOST_PUSHED: usize = 64;

/// Notes which directory is left. Where that is not known, something may have run that put others away.
fn left(moved: &mut State, state: &State) {
    let past = std::rc::Rc::make_mut(&mut moved.past);
    past.previous = Some(state.place());
    if state.elsewhere {
        past.pushed.clear();
    }
}

/// Goes back to a place. Where the shell is now has to be known as well: what led elsewhere may have put others away.
fn return_to(moved: &mut State, state: &State, place: Option<&Place>) {
    match place {
        Some(place) if !state.elsewhere => {
            moved.directories.clone_from(&place.directories);
            moved.elsewhere = place.elsewhere;
        }
        _ => moved.elsewhere = true,
    }
}

/// `popd`, to where the last `pushd` of the line left from.
fn goes_back(arguments: &[Field], state: &State) -> Ways {
    let mut moved = state.clone();
    left(&mut moved, state);
    let known = arguments.is_empty() && !state.variables.contains_key("DIRSTACK");
    let past = std::rc::Rc::make_mut(&mut moved.past);
    let place = past.pushed.pop().filter(|_| known);
    if place.is_none() {
        past.pushed.clear();
    }
    return_to(&mut moved, state, place.as_ref());
    (moved, state.clone())
}

impl Walk<'_> {
    /// Handles a builtin; `None` if it is none of these.
    pub(super) fn builtin(&mut self, name: &str, call: &Call<'_>, state: &State, index: usize) -> Read<Option<Ways>> {
        let arguments = call.fields.get(1..).unwrap_or_default();
        let mut after = state.clone();
        let sets = name == "printf"
            && arguments
                .first()
                .is_none_or(|first| first.text().is_none_or(|text| text.starts_with("-v")));
        if self.plain && (sets || OF_BASH.contains(&name)) {
            self.opaque("a command of bash, given to another shell", OpaqueReason::Unparsable);
        }
        after.signs.renames |= matches!(name, "alias" | "autoload" | "enable" | "hash" | "unalias");
        match name {
            // Not bash's, but other shells'.
            "chdir" => after.elsewhere = true,
            "cd" | "pushd" => return self.change_directory(name, arguments, state).map(Some),
            "popd" => return Ok(Some(goes_back(arguments, state))),
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                // `declare -l f`: what is put into it is changed.
                let option = |letters: &'static [char]| {
                    move |field: &Field| match field.text() {
                        Some(text) => text.starts_with(['-', '+']) && text.contains(letters),
                        None => !assigns(&field.source),
                    }
                };
                after.signs.renames |=
                    !matches!(name, "export" | "readonly") && arguments.iter().any(option(&['l', 'u', 'c', 'n']));
                // `declare -i f`: what is put into it from then on is computed; `-l`, `-u`, `-c` and those of zsh change its letters.
                let changes = arguments.iter().any(option(&['l', 'u', 'c', 'L', 'R', 'Z']));
                if changes || arguments.iter().any(option(&['i'])) {
                    let mut computed = super::effects::Effects::default();
                    for field in arguments {
                        let name = field.text().and_then(|text| text.split(['=', '[', '+']).next());
                        match name.filter(|name| !name.starts_with('-')) {
                            Some(name) => computed.assign(name, !changes),
                            None => computed.assigns |= field.text().is_none(),
                        }
                    }
                    self.happens_anytime(&computed)?;
                }
                self.declare(arguments, state, &mut after)?;
                let words = arguments
                    .iter()
                    .map(|field| field.text().unwrap_or(&field.source).to_owned());
                after.keep(&super::effects::made_readonly(name, words));
            }
            "unset" => {
                for field in arguments {
                    self.index_in(field, state);
                    self.unknown_name(field);
                    self.budget.spend(after.functions.len())?;
                    match field.text() {
                        Some(name) => {
                            std::rc::Rc::make_mut(&mut after.functions).remove(name);
                            self.dangerous(name);
                            after.set(name, Value::unknown(), &mut self.budget)?;
                        }
                        None => {
                            after.functions = std::rc::Rc::default();
                            after.blur(&mut self.budget)?;
                        }
                    }
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" => self.reads(name, arguments, state, &mut after)?,
            "printf"
                if arguments
                    .first()
                    .and_then(Field::text)
                    .is_some_and(|text| text.starts_with("-v")) =>
            {
                self.reads(name, arguments, state, &mut after)?;
            }
            // `printf "$@"`: `-v` and a name may be among them.
            "printf"
                if arguments
                    .first()
                    .is_some_and(|first| first.text().is_none() && is_many_words(&first.source, state)) =>
            {
                self.opaque(
                    excerpt(&super::call::text(&call.fields)),
                    OpaqueReason::DangerousVariable,
                );
                after.blur(&mut self.budget)?;
            }
            "let" => {
                for field in arguments {
                    self.index_in(field, state);
                    let source = field.text().unwrap_or(&field.source).to_owned();
                    let risky = |name: &str| {
                        lookup(name, state, self.context).can_evaluate() && state.variables.contains_key(name)
                    };
                    let mut names = source.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                    let evaluates = names.any(risky);
                    self.evaluated(&source, state);
                    // `let 'y=a[$(…)]'`: what an index substitutes runs, quoted or not.
                    let substitutes = source.contains('[') && source.contains(['$', '`']);
                    if field.text().is_none() || evaluates || substitutes {
                        self.opaque(&source, OpaqueReason::DynamicScript);
                    }
                }
                after.blur(&mut self.budget)?;
            }
            "set" | "shift" => {
                let texts: Option<Vec<&str>> = arguments.iter().map(Field::text).collect();
                let certain: Vec<&str> = arguments.iter().map_while(Field::text).collect();
                // Behind `--` or an operand every word is only a parameter.
                let unclear =
                    texts.is_none() && settings::set_is_harmless(&certain) && settings::only_harmless(&certain);
                if name == "set" && (unclear || !settings::set_is_harmless(&certain)) && !certain.contains(&"--") {
                    self.opaque(excerpt(&super::call::text(&call.fields)), OpaqueReason::Redefinition);
                }
                after.blur(&mut self.budget)?;
                after.forget_parameters(&mut self.budget)?;
                // `set -- a b`, where each is one word that is known.
                if let Some(["--", words @ ..]) = texts.as_deref().filter(|_| name == "set") {
                    for (number, word) in words.iter().enumerate().take(9) {
                        let value = Value::literal(*word);
                        after.set(&(number + 1).to_string(), value, &mut self.budget)?;
                    }
                }
            }
            "jobs"
                if arguments
                    .iter()
                    .any(|field| field.text() != Some("-l") && field.text() != Some("-p")) =>
            {
                // `-x` runs its words.
                self.opaque(excerpt(&super::call::text(&call.fields)), OpaqueReason::DynamicProgram);
            }
            "wait" => {
                // `wait -p f`
                let names = |field: &Field| field.text().is_none_or(|text| text.starts_with('-'));
                if arguments.iter().any(names) {
                    after.blur(&mut self.budget)?;
                }
                for field in arguments {
                    self.index_in(field, state);
                    let attached = |text: &str| text.starts_with("-p") && text.len() > 2;
                    if field.text().is_some_and(|text| attached(text) && text.contains('[')) {
                        self.opaque(&field.source.clone(), OpaqueReason::DynamicScript);
                    }
                }
                for (before, field) in arguments.iter().zip(arguments.iter().skip(1)) {
                    if before
                        .text()
                        .is_some_and(|text| text.starts_with('-') && text.ends_with('p'))
                    {
                        self.unknown_name(field);
                    }
                }
            }
            "test" | "[" => self.tests_names(arguments, state),
            "history" | "fc" => {
                self.writes_history(arguments, state, index);
                return Ok(None);
            }
            "alias" => {
                for field in arguments {
                    if let Some((_, script)) = field.text().and_then(|text| text.split_once('=')) {
                        self.opaque(field.text().unwrap_or_default(), OpaqueReason::Redefinition);
                        let (list, _) = reader::read(script, Dialect::Bash, &mut self.budget);
                        let mut effects = super::effects::Effects::default();
                        super::effects::of_list(&list, &mut effects, &mut self.budget)?;
                        let name = field.text().and_then(|text| text.split('=').next()).unwrap_or_default();
                        self.define(name, &effects)?;
                        let context = Context::Script("alias".to_owned());
                        let (script, inside) = (script.to_owned(), state.clone());
                        self.inside(context, |walk| walk.text(&script, inside))?;
                    } else if field.text().is_none() {
                        self.opaque(&field.source, OpaqueReason::Redefinition);
                    }
                }
            }
            "trap" => {
                // In zsh one that a function sets runs at the end of the function.
                let at_the_end = self.defining.is_empty() && super::sourced::only_at_the_end(arguments);
                if !self.cleans_up(arguments, at_the_end)? {
                    self.opaque("trap", OpaqueReason::Redefinition);
                }
                let script = arguments
                    .iter()
                    .find(|field| field.text().is_none_or(|text| !text.starts_with('-')));
                match script.map(|field| (field.text(), &field.source)) {
                    Some((Some(script), _)) => {
                        let (script, mut inside) = (script.to_owned(), state.clone());
                        // It runs later, perhaps before each command.
                        self.analysis.signs.repeats = true;
                        let (list, _) = reader::read(&script, Dialect::Bash, &mut self.budget);
                        let mut effects = super::effects::Effects::default();
                        super::effects::of_list(&list, &mut effects, &mut self.budget)?;
                        if !at_the_end {
                            self.happens_anytime(&effects)?;
                            self.apply(&effects, &mut after)?;
                        }
                        let turned = std::mem::replace(&mut self.turned, true);
                        inside.elsewhere = true;
                        inside.blur(&mut self.budget)?;
                        let context = Context::Script("trap".to_owned());
                        let (_, computes) =
                            self.noting_expressions(|walk| walk.inside(context, |walk| walk.text(&script, inside)))?;
                        self.computes_later(computes, true, turned)?;
                    }
                    Some((None, source)) => {
                        if !at_the_end {
                            self.happens_anytime(&super::effects::Effects::all())?;
                            self.apply(&super::effects::Effects::all(), &mut after)?;
                        }
                        self.opaque(&source.clone(), OpaqueReason::DynamicScript);
                    }
                    None => {}
                }
            }
            // Of zsh; it runs the text behind `-c` in this shell.
            "emulate" => {
                self.opaque(name, OpaqueReason::Redefinition);
                let behind = arguments.iter().skip_while(|field| field.text() != Some("-c")).nth(1);
                if let Some(script) = behind.and_then(Field::text).map(str::to_owned) {
                    let inside = state.clone();
                    self.inside(Context::Script(name.to_owned()), |walk| walk.text(&script, inside))?;
                }
                after.sourced = true;
                after.elsewhere = true;
                after.signs.renames = true;
                after.globs([None::<&str>]);
                after.blur(&mut self.budget)?;
            }
            "autoload" | "enable" | "bind" | "complete" | "compgen" | "unalias" => {
                self.opaque(name, OpaqueReason::Redefinition)
            }
            // `hash -p path name` makes a name mean another program.
            "hash"
                if arguments.iter().any(|field| {
                    field
                        .text()
                        .is_none_or(|text| text.starts_with('-') && text.contains('p'))
                }) =>
            {
                self.opaque("hash -p", OpaqueReason::Redefinition);
            }
            "shopt" | "setopt" => {
                let all = super::call::text(&call.fields);
                let texts: Option<Vec<&str>> = arguments.iter().map(Field::text).collect();
                // Another shell's options have other names.
                let known = |field: &Field| field.text().filter(|_| name == "shopt").map(str::to_owned);
                after.globs(arguments.iter().map(known));
                if !texts.is_some_and(|texts| name == "shopt" && settings::shopt_is_harmless(&texts)) {
                    self.opaque(excerpt(&all), OpaqueReason::Redefinition);
                }
            }
            "source" | "." => {
                match arguments.first() {
                    // The input is a script: `. /dev/stdin <<< …`.
                    Some(file) if file.text().is_some_and(|text| is_stream(text, state)) => {
                        self.opaque(&file.source.clone(), OpaqueReason::DynamicScript);
                    }
                    Some(file) if file.text().is_some() => {}
                    Some(file) => self.opaque(&file.source.clone(), OpaqueReason::DynamicScript),
                    None => {}
                }
                self.redefines_git = true;
                after.sourced = true;
                let file = arguments.first().and_then(Field::text);
                let stays = self.stays(file, call, state, index)?;
                after.elsewhere |= !stays;
                // What the line wrote there may be functions.
                let writes = |access: &FileAccess| access.access != Access::Read && !access.goes_nowhere();
                let mut before = self.analysis.commands.iter();
                let made = file.is_none_or(|file| is_stream(file, state));
                if !stays && (made || before.any(|command| command.files.iter().any(writes))) {
                    self.happens_anytime(&super::effects::Effects::all())?;
                }
                after.functions = std::rc::Rc::default();
                after.blur(&mut self.budget)?;
            }
            _ => return Ok(None),
        }
        Ok(Some((after.clone(), after)))
    }

    /// `cd`, `chdir`, `pushd`. A path that is too long leads nowhere that is known.
    fn change_directory(&mut self, name: &str, arguments: &[Field], state: &State) -> Read<Ways> {
        let mut moved = state.clone();
        let mut operands = arguments
            .iter()
            .filter(|field| field.text().is_none_or(|text| text == "-" || !text.starts_with('-')));
        // `pushd +1`, `pushd -1` turn the stack.
        let turns = name == "pushd"
            && arguments
                .iter()
                .any(|field| field.text().is_some_and(|text| text.starts_with(['+', '-'])));
        left(&mut moved, state);
        if name == "pushd" {
            let past = std::rc::Rc::make_mut(&mut moved.past);
            if past.pushed.len() >= MOST_PUSHED {
                past.pushed.clear();
            }
            past.pushed.push(state.place());
        }
        match operands.next() {
            None if name == "pushd" => moved.elsewhere = true,
            None => match &self.context.home {
                Some(home) if !state.variables.contains_key("HOME") => {
                    moved.directories = vec![home.clone()];
                    moved.elsewhere = false;
                }
                _ => moved.elsewhere = true,
            },
            // Told to follow links first, and a folder behind one is left again.
            Some(field)
                if arguments.iter().any(|field| {
                    field
                        .text()
                        .is_none_or(|text| text.starts_with("-P") || text.starts_with("-e"))
                }) && field.single_candidates().any(|text| text.text.contains("..")) =>
            {
                moved.elsewhere = true;
            }
            Some(field) if name == "cd" && arguments.len() == 1 && field.text() == Some("-") => {
                let known = !state.variables.contains_key("OLDPWD");
                return_to(&mut moved, state, state.past.previous.as_ref().filter(|_| known));
            }
            Some(field) if turns || field.text() == Some("-") || state.variables.contains_key("CDPATH") => {
                moved.elsewhere = true
            }
            Some(field) => {
                let mut directories = Vec::new();
                let mut absolute = true;
                for text in field.single_candidates() {
                    if text.glob {
                        moved.elsewhere = true;
                        continue;
                    }
                    absolute &= text.text.starts_with('/');
                    for directory in &state.directories {
                        let joined = directory.join(&text.text);
                        self.budget.spend(1 + joined.as_str().len() / LETTERS_A_STEP)?;
                        if directories.contains(&joined) {
                            continue;
                        }
                        if directories.len() < MOST_DIRECTORIES && joined.as_str().len() <= LONGEST_PATH {
                            directories.push(joined);
                        } else {
                            (moved.elsewhere, absolute) = (true, false);
                        }
                    }
                }
                let certain = field.exact
                    && !directories.is_empty()
                    && absolute
                    && field.single_candidates().all(|text| !text.glob);
                moved.elsewhere = !certain && (moved.elsewhere || !field.exact || directories.is_empty());
                if !directories.is_empty() {
                    moved.directories = directories;
                }
            }
        }
        Ok((moved, state.clone()))
    }

    /// `export A=1 B`.
    fn declare(&mut self, arguments: &[Field], state: &State, after: &mut State) -> Read<()> {
        // `declare -n` makes a reference, `-i` makes assignments evaluate.
        let reference = arguments.iter().any(|field| {
            field
                .text()
                .is_some_and(|text| text.starts_with('-') && text.contains(['n', 'i']) && !text.starts_with("--"))
        });
        for field in arguments {
            self.index_in(field, state);
            let texts: Vec<String> = match field.text() {
                Some(text) => vec![text.to_owned()],
                None => {
                    let name = field
                        .source
                        .split('=')
                        .next()
                        .unwrap_or_default()
                        .trim_start_matches(['"', '\'']);
                    let mut texts: Vec<String> = field.single_candidates().map(|text| text.text.clone()).collect();
                    texts.push(format!("{name}=\0"));
                    texts
                }
            };
            for text in texts {
                if text.starts_with(['-', '+']) {
                    continue;
                }
                // The text of an array is read again: `declare -a 'x=($(cmd))'`.
                let array = text.split_once('=').is_some_and(|(_, value)| value.starts_with('('));
                if array && text.contains(['$', '`']) {
                    let (script, inside) = (text.clone(), state.clone());
                    self.inside(Context::Script("declare".to_owned()), |walk| walk.text(&script, inside))?;
                    self.opaque(&text, OpaqueReason::DynamicScript);
                }
                let (name, value) = match text.split_once('=') {
                    Some((name, value)) => (name.trim_end_matches('+'), Some(value)),
                    None => (text.as_str(), None),
                };
                let name = name.split('[').next().unwrap_or(name);
                self.dangerous(name);
                if reference {
                    self.opaque(&text, OpaqueReason::DynamicScript);
                }
                match value {
                    Some("\0") => {
                        let mut value = lookup(name, after, self.context);
                        (value.exact, value.hash) = (false, false);
                        after.set(name, value, &mut self.budget)?;
                    }
                    Some(value) if field.exact => after.set(name, Value::literal(value), &mut self.budget)?,
                    Some(value) => {
                        let mut guess = Value::literal(value);
                        guess.exact = false;
                        after.set(name, guess, &mut self.budget)?;
                    }
                    None => {}
                }
            }
            // `export "$X=1"`: `a[$(…)]` as a name is evaluated.
            let named = field.source.split('=').next().unwrap_or_default();
            if field.text().is_none() && field.source.contains('=') && named.contains(['$', '`']) {
                self.unknown_name(field);
            }
            // `export "$X"`: any name.
            if field.text().is_none() && !field.source.contains('=') {
                self.opaque(&field.source.clone(), OpaqueReason::DangerousVariable);
            }
        }
        Ok(())
    }

    /// `history -w`, and `fc -W` of zsh, write the file that they are given, or that a variable names.
    fn writes_history(&mut self, arguments: &[Field], state: &State, index: usize) {
        let option = |text: &str| text.len() == 2 && matches!(text, "-a" | "-w" | "-A" | "-W");
        let Some(at) = arguments.iter().position(|field| field.text().is_some_and(option)) else {
            return;
        };
        let mut files = Files::new(state);
        match (arguments.get(at + 1), state.variables.get("HISTFILE")) {
            (Some(field), _) => files.field(field, Access::Write),
            (None, Some(named)) => {
                named
                    .choices
                    .iter()
                    .for_each(|choice| files.name(&choice.text, Access::Write));
                if !named.exact {
                    files.unknown("$HISTFILE", Access::Write);
                }
            }
            (None, None) => {}
        }
        let found = files.found;
        if let Some(command) = self.analysis.commands.get_mut(index) {
            command.files.extend(found);
        }
    }

    /// `test`, `[`: only the operand of `-v` is a variable; a word that is not known may be `-v`.
    fn tests_names(&mut self, arguments: &[Field], state: &State) {
        let operand = |field: &Field| matches!(field.text(), None | Some("-v" | "-R"));
        for (before, field) in arguments.iter().zip(arguments.iter().skip(1)) {
            if operand(before) {
                self.index_in(field, state);
            }
            if matches!(before.text(), Some("-v" | "-R")) {
                self.unknown_name(field);
            }
        }
        // What a command prints is split without quotes, and may be `-v` and its operand.
        let printed = |field: &&Field| {
            let substituted = field.source.starts_with("$(") && !field.source.starts_with("$((");
            let printed = substituted || field.source.starts_with('`');
            let harmless = !field.numbers.is_empty() || !(field.many || field.hash);
            field.text().is_none() && !field.exact && printed && !harmless
        };
        // So is what a variable of the line holds that came from elsewhere.
        let came_in = |field: &&Field| {
            field.text().is_none()
                && !field.exact
                && unquoted_names(&field.source)
                    .any(|name| state.variables.contains_key(name) && lookup(name, state, self.context).can_evaluate())
        };
        // Parameters and elements that are several words: `test "$@"`.
        let many = |field: &&Field| field.text().is_none() && is_many_words(&field.source, state);
        let splits = arguments
            .iter()
            .find(|field| printed(field) || came_in(field) || many(field));
        if let Some(source) = splits.map(|field| field.source.clone()) {
            self.opaque(&source, OpaqueReason::DynamicScript);
        }
    }

    /// A word that is taken as a variable's name and is not known: it may be `a[$(…)]`, which is evaluated.
    fn unknown_name(&mut self, field: &Field) {
        let plain = |text: &crate::shell::expand::Text| !text.glob && !text.text.contains('[');
        // `m[key]` as it is written is a pattern to the shell; its index is looked at apart.
        let substituted = field.source.is_empty() || field.source.contains(['$', '`']);
        if substituted && field.text().is_none() && !(field.exact && field.single_candidates().all(plain)) {
            self.opaque(&field.source.clone(), OpaqueReason::DynamicScript);
        }
    }

    /// Builtins that fill variables with text that is not known.
    fn reads(&mut self, name: &str, arguments: &[Field], state: &State, after: &mut State) -> Read<()> {
        // Without a name, and besides it.
        let own = match name {
            "read" => Some("REPLY"),
            "mapfile" | "readarray" => Some("MAPFILE"),
            "getopts" => Some("OPTARG"),
            _ => None,
        };
        if let Some(own) = own {
            after.set(own, Value::unknown(), &mut self.budget)?;
        }
        if name == "printf"
            && arguments.first().and_then(Field::text) == Some("-v")
            && let Some(field) = arguments.get(1)
        {
            self.unknown_name(field);
        }
        for field in arguments {
            self.index_in(field, state);
            let Some(text) = field.text() else {
                if name != "printf" {
                    self.opaque(&field.source.clone(), OpaqueReason::DangerousVariable);
                }
                continue;
            };
            // `-C` of mapfile runs a command for each line.
            if matches!(name, "mapfile" | "readarray") && text.starts_with('-') && text.contains('C') {
                self.opaque(text, OpaqueReason::DynamicScript);
            }
            // `read -aD`, `printf -vD`.
            let attached = text.strip_prefix('-').and_then(|letters| match name {
                "read" => letters.split_once('a'),
                "printf" => letters.split_once('v'),
                _ => None,
            });
            let text = attached.map_or(text, |(_, name)| name);
            if crate::shell::reader::is_name(text) {
                self.dangerous(text);
                after.set(text, Value::unknown(), &mut self.budget)?;
            }
        }
        Ok(())
    }

    /// `a[$(…)]` as a variable's name: bash evaluates the index, and with it what it substitutes or what its names hold.
    fn index_in(&mut self, field: &Field, state: &State) {
        let written = field.text().unwrap_or(&field.source);
        let Some((name, index)) = written.split_once('[') else {
            return;
        };
        let name = name.trim_start_matches(['"', '\'']);
        if !crate::shell::reader::is_name(name) && field.text().is_some() {
            return;
        }
        if index.contains("$(") || index.contains('`') || (field.text().is_some() && index.contains('$')) {
            self.opaque(&field.source.clone(), OpaqueReason::DynamicScript);
        } else {
            let index = index.to_owned();
            self.evaluated(&index, state);
        }
    }
}

//! One command with its words expanded: records it, and finds what it runs in turn.

use super::{Socket, Walk, Ways};
use crate::AbsPath;
use crate::shell::{
    Assignment, Command, CommandClass, FileAccess, OpaqueReason, Word, acts,
    class::{self, base_name},
    expand::{Field, State, Text},
    files, hidden, outside,
    reader::Read,
    rewriting,
    syntax::{Redirect, Simple},
    targets, variables,
};

/// Programs that run what they are given again, or that leave it running when they end.
const LATER: &[&str] = &[
    "abduco",
    "at",
    "batch",
    "daemon",
    "daemonize",
    "dtach",
    "entr",
    "nodemon",
    "screen",
    "setsid",
    "start-stop-daemon",
    "systemd-run",
    "tmux",
    "watch",
    "watchexec",
    "zellij",
];
/// Whether a program runs what it is given again, or leaves it running when it ends.
pub(crate) fn runs_later(name: &str) -> bool {
    LATER.contains(&name)
}

/// Whether `exec` names no program: then its redirections are the shell's own from there on.
fn names_no_program(arguments: &[Field]) -> bool {
    let mut words = arguments.iter().map(Field::text);
    while let Some(word) = words.next() {
        match word {
            Some("--") => return words.next().is_none(),
            // The last letter takes a name.
            Some(option) if option.starts_with('-') && option.ends_with('a') => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            _ => return false,
        }
    }
    true
}

/// Most texts of dynamic words that are followed on the deny side.
const VARIANTS: usize = 16;
/// Most cases of numbers, and of words that may be none or several, in which a command is looked at.
const CASES: usize = 64;
/// So many bytes of an input that is kept cost one step.
const BYTES_OF_A_STEP: usize = 64;

/// What a command reads as its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stdin {
    /// That of the shell.
    Inherited,
    /// A pipe: what is written into it, if that is a constant.
    Pipe(Option<String>),
    /// A here-document or here-string: its text, if it is certain, and what of it the line says.
    Given { text: Option<String>, said: String },
    /// A file.
    Unknown,
    /// `/dev/null`.
    Nothing,
}

/// A command to be recorded.
pub(super) struct Call<'r> {
    pub(super) fields: Vec<Field>,
    pub(super) assignments: Vec<Assignment>,
    pub(super) files: Vec<FileAccess>,
    pub(super) sockets: Vec<Socket>,
    pub(super) stdin: Stdin,
    /// What it was read from; `None` behind a wrapper, whose own words were looked into already.
    pub(super) raw: Option<(&'r Simple, &'r [Redirect])>,
    /// Its words are candidates put in the place of variables.
    pub(super) resolved: bool,
}

impl Call<'_> {
    /// Whether it is followed by commands that are all that it can become.
    pub(super) fn becomes_others(&self, state: &State) -> bool {
        let choices: Vec<Choices> = self.fields.iter().map(|field| Choices::of(field, false)).collect();
        let becomes = !self.resolved && choices.iter().any(|choices| choices.many > 0);
        becomes && together(&choices).is_some() && are_all(&choices, state)
    }

    /// A command behind a wrapper.
    pub(super) fn behind(fields: Vec<Field>, stdin: &Stdin, resolved: bool) -> Self {
        Self {
            fields,
            assignments: Vec::new(),
            files: Vec::new(),
            sockets: Vec::new(),
            stdin: stdin.clone(),
            raw: None,
            resolved,
        }
    }
}

/// The addresses of connections, then others.
fn sockets_then(sockets: &[Socket], others: Vec<String>) -> Vec<String> {
    sockets.iter().map(|socket| socket.url.clone()).chain(others).collect()
}

/// What the line says of the input of a program that reads commands of its own from there.
fn told(name: &str, stdin: &Stdin) -> String {
    let said = match stdin {
        Stdin::Given { said, .. } => said.as_str(),
        Stdin::Pipe(Some(text)) => text.as_str(),
        Stdin::Pipe(None) | Stdin::Inherited | Stdin::Unknown | Stdin::Nothing => "",
    };
    match !said.is_empty() && acts::obeys_input(name) {
        true => said.to_owned(),
        false => String::new(),
    }
}

/// Builtins that give variables other values.
const ASSIGNING: &[&str] = &[
    "declare",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "set",
    "shift",
    "typeset",
    "unset",
    "wait",
];

impl Walk<'_> {
    /// Records a command, then what it runs.
    pub(super) fn run(&mut self, call: Call<'_>, mut state: State) -> Read<Ways> {
        self.budget.spend(1 + call.fields.len() + self.seen.len())?;
        let words: Vec<Word> = call.fields.iter().map(|field| field.word.clone()).collect();
        let name = call
            .fields
            .first()
            .and_then(Field::text)
            .map(|program| base_name(program).to_owned());
        let (touched, named) = match (&name, call.fields.get(1..)) {
            (Some(name), Some(arguments)) => {
                let touched = files::touched(name, arguments, &state);
                let named = outside::named(name, arguments, &touched.files, &state, self.context);
                (touched, named)
            }
            _ => (files::Touched::default(), Vec::new()),
        };
        let index = self.analysis.commands.len();
        self.note_input(index, &call.stdin)?;
        // A function that bash takes from the environment.
        let is_function = |field: &Field| field.text().is_some_and(|text| text.starts_with("BASH_FUNC_"));
        if call.fields.iter().any(is_function) {
            self.analysis.signs.renames = true;
            self.analysis.signs.repeats = true;
            self.happens_anytime(&super::effects::Effects::all())?;
        }
        self.analysis.signs.repeats |= name.as_deref().is_some_and(runs_later);
        let here = |directory: &AbsPath| *directory == self.context.cwd;
        if state.elsewhere || !state.directories.iter().all(here) {
            self.analysis.moved.insert(index);
        }
        let class = if words.is_empty() && !call.assignments.iter().all(only_local) {
            CommandClass::Other
        } else {
            self.class_of(&call.fields, &words, index)?
        };
        if matches!(name.as_deref(), Some("git")) && class != CommandClass::ReadOnlyGit {
            // The work tree may be another one, or none.
            state.toplevel = None;
        }
        let certain = !state.elsewhere && !state.remote;
        let runs = |field: &Field| {
            field
                .text()
                .is_some_and(|text| text.contains('/') || class::runs_scripts(base_name(text)))
        };
        if certain && self.analysis.moved.contains(&index) && call.fields.first().is_some_and(runs) {
            self.budget.spend(state.directories.len())?;
            self.analysis.run_places.insert(index, state.directories.clone());
        }
        let looks = class == CommandClass::ReadOnlyGit || name.as_deref().is_some_and(rewriting::is_rewriter);
        if looks && certain && self.analysis.moved.contains(&index) {
            self.budget.spend(state.directories.len())?;
            self.analysis.git_places.insert(index, state.directories.clone());
        }
        // What the tables speak of is there already.
        let globs = match class {
            CommandClass::Other => call
                .fields
                .get(1..)
                .map_or_else(Vec::new, |fields| targets::globs(fields, &state)),
            _ => Vec::new(),
        };
        self.record(Command {
            text: text(&call.fields),
            assignments: call.assignments.clone(),
            seen_through: self.seen.clone(),
            files: (call.files.iter().cloned().chain(touched.files))
                .chain(files::of_variables(&call.assignments, &words, &state))
                .collect(),
            urls: sockets_then(&call.sockets, touched.urls),
            sockets: call.sockets.clone(),
            words,
            class,
            remote: state.remote,
            told: name.as_deref().map_or_else(String::new, |name| told(name, &call.stdin)),
            named,
            globs,
            spelled_out: false,
        })?;
        if let Some((simple, redirects)) = call.raw {
            self.simple_pieces(simple, redirects, &state)?;
        }
        if call.fields.is_empty() {
            return Ok((state.clone(), state));
        }
        if let Some(name) = &name
            && !name.is_ascii()
            && hidden::is_confusable(name)
        {
            self.opaque(&hidden::spelled_out(name), OpaqueReason::ConfusableName);
        }
        // Names of files that a pattern stands for are put in their places where the command as it stands says too little.
        let names = class == CommandClass::Other;
        let becomes = !call.resolved && call.fields.iter().any(|field| may_become(field, names));
        let before = becomes.then(|| state.clone());
        // What runs in this shell may set where `cd -` and `popd` lead.
        let runs_here = name.as_deref().is_none_or(|name| {
            matches!(
                name,
                "eval" | "source" | "." | "command" | "builtin" | "noglob" | "nocorrect" | "-" | "emulate"
            ) || state.functions.contains(name)
        });
        let mut ways = match &name {
            None => self.dynamic_program(&call, state)?,
            Some(name) => self.known_program(name, &call, state, index)?,
        };
        let mut behind = self.analysis.commands.get(index + 1..).unwrap_or_default().iter();
        let is_function = |name: &str| self.known.names.contains(name);
        let calls = name.as_deref().is_some_and(is_function)
            || runs_here && behind.any(|command| command.program_name().is_some_and(is_function));
        if calls {
            self.call_function(&mut ways.0)?;
            self.call_function(&mut ways.1)?;
        }
        if runs_here {
            ways.0.past = std::rc::Rc::default();
            ways.1.past = std::rc::Rc::default();
        }
        if let Some(before) = before {
            let all = self.variants(&call, &before, names)?;
            if let Some(command) = self.analysis.commands.get_mut(index) {
                command.spelled_out = all && name.is_some();
            }
        }
        Ok(ways)
    }

    /// Notes what a command reads from its input, if the line says so.
    fn note_input(&mut self, index: usize, stdin: &Stdin) -> Read<()> {
        if self.input_is_changed || self.reads_another || *stdin == Stdin::Unknown {
            self.analysis.redirected.insert(index);
        }
        let text = match stdin {
            Stdin::Given { text, .. } => text.as_ref(),
            Stdin::Pipe(Some(text)) => Some(text),
            Stdin::Inherited | Stdin::Pipe(None) | Stdin::Unknown | Stdin::Nothing => return Ok(()),
        };
        // Each wrapper in front of a command reads the same again.
        self.budget.spend(text.map_or(0, String::len) / BYTES_OF_A_STEP)?;
        self.analysis.inputs.insert(index, text.cloned());
        if let Stdin::Given { text: None, said } = stdin {
            self.budget.spend(said.len() / BYTES_OF_A_STEP)?;
            self.analysis.said.insert(index, said.clone());
        }
        Ok(())
    }

    /// What a command is.
    #[inline(never)]
    fn class_of(&mut self, fields: &[Field], words: &[Word], index: usize) -> Read<CommandClass> {
        let of_git = words.first().and_then(Word::literal).map(base_name) == Some("git");
        if of_git && fields.iter().skip(1).any(|field| field.hash) {
            self.with_hashes.push(index);
        }
        let varies = |field: &Field| field.none || field.many || (of_git && field.hash) || !field.numbers.is_empty();
        match fields.iter().any(varies) {
            true => self.class_in_any_case(fields, words, index),
            false => Ok(class::classify(words)),
        }
    }

    /// What a command is if it is the same whatever the numbers in its words are, and how many words stand in the place of each.
    /// What looks in one case only does not surely look.
    fn class_in_any_case(&mut self, fields: &[Field], words: &[Word], index: usize) -> Read<CommandClass> {
        let usual = class::classify(words);
        let of_git = words.first().and_then(Word::literal).map(base_name) == Some("git");
        let of_sed = matches!(words.first().and_then(Word::literal), Some("sed" | "gsed"));
        let looks = |class| matches!(class, CommandClass::ReadOnly | CommandClass::ReadOnlyGit);
        let known = |field: &Field| field.numbers.is_empty() && !(of_git && field.hash);
        if !looks(usual) && fields.iter().all(known) {
            return Ok(usual);
        }
        if !looks(usual) && fields.iter().any(|field| !field.numbers.is_empty()) {
            self.with_numbers.push(index);
        }
        let places: Vec<Vec<Vec<Word>>> = (fields.iter())
            .map(|field| in_its_place(field, of_git, of_sed))
            .collect();
        let product = |product: usize, own: &Vec<Vec<Word>>| product.checked_mul(own.len()).filter(|all| *all <= CASES);
        let Some(cases) = places.iter().try_fold(1, product) else {
            return Ok(match class::looks_whatever_the_words(words) {
                true => usual,
                false => CommandClass::Other,
            });
        };
        self.budget.spend(cases.saturating_mul(fields.len()))?;
        let mut found: Option<CommandClass> = None;
        for case in 0..cases {
            let mut left = case;
            let mut words = Vec::with_capacity(fields.len());
            for own in &places {
                words.extend(own.get(left % own.len()).cloned().unwrap_or_default());
                left /= own.len();
            }
            let class = class::classify(&words);
            if !looks(class) || found.is_some_and(|found| found != class) {
                return Ok(match found {
                    None if usual == class => class,
                    _ => CommandClass::Other,
                });
            }
            found = Some(class);
        }
        Ok(found.unwrap_or(CommandClass::Other))
    }

    /// The program is only known when it runs.
    fn dynamic_program(&mut self, call: &Call<'_>, mut state: State) -> Read<Ways> {
        self.opaque(&text(&call.fields), OpaqueReason::DynamicProgram);
        // It may be `cd`, `export`, `eval`.
        state.elsewhere = true;
        state.blur(&mut self.budget)?;
        Ok((state.clone(), state))
    }

    fn known_program(&mut self, name: &str, call: &Call<'_>, state: State, index: usize) -> Read<Ways> {
        if call.raw.is_some() && call.fields.first().and_then(Field::text) == Some(name) {
            if self.defining.iter().any(|function| function == name) {
                // It calls itself: nobody can say how often.
                self.opaque(&format!("{name}()"), OpaqueReason::Redefinition);
            } else if state.functions.contains(name)
                && let Some(command) = self.analysis.commands.get_mut(index)
                && command.class == CommandClass::Other
            {
                command.class = CommandClass::Function;
            }
        }
        let opaque = self.analysis.opaque.len();
        if let Some(ways) = self.builtin(name, call, &state, index)? {
            if matches!(name, "cd" | "chdir" | "pushd" | "popd") && !ways.0.elsewhere {
                self.budget.spend(ways.0.directories.len())?;
                self.analysis.goes.insert(index, ways.0.directories.clone());
            }
            if name == "trap" && self.analysis.opaque.len() == opaque {
                self.mark_wrapper(index);
            }
            return Ok(ways);
        }
        if name == "eval" {
            let after = self.eval(call, state, index)?;
            return Ok((after.clone(), after));
        }
        let changed = !matches!(call.stdin, Stdin::Inherited | Stdin::Nothing);
        // A text that it runs reads the same input.
        let outer = self.reads_another;
        self.reads_another |= changed;
        let wraps = self.wrapped(name, call, &state, index);
        self.reads_another = outer;
        if wraps? {
            self.mark_wrapper(index);
        }
        // `exec < list` alone: what follows reads it.
        let alone = || names_no_program(call.fields.get(1..).unwrap_or_default());
        self.input_is_changed |= name == "exec" && changed && alone();
        let mut state = state;
        if matches!(name, "command" | "builtin" | "noglob" | "nocorrect" | "-") {
            self.ran_here(index, &mut state)?;
        }
        // `command cd x`, `builtin cd x` change the directory of this shell; rare enough to give up the directory.
        if matches!(name, "command" | "builtin" | "exec" | "noglob" | "nocorrect" | "-")
            && call.fields.iter().skip(1).any(|field| {
                field
                    .text()
                    .is_none_or(|text| text.contains("cd") || text.contains("pushd") || text.contains("popd"))
            })
        {
            state.elsewhere = true;
        }
        Ok((state.clone(), state))
    }

    /// What a command ran in this shell itself, by the commands behind it: `builtin read x`, `command eval '…'`.
    fn ran_here(&mut self, index: usize, state: &mut State) -> Read<()> {
        let ran = self.analysis.commands.get(index + 1..).unwrap_or_default();
        self.budget.spend(ran.len())?;
        let is = |names: &[&str]| {
            let mut programs = ran.iter().filter_map(Command::program);
            programs.any(|program| names.contains(&program))
        };
        state.signs.renames |= is(&["alias", "autoload", "enable", "hash", "unalias"])
            || ran.iter().any(super::builtins::declares_otherwise);
        state.elsewhere |= ran.iter().any(|command| command.class == CommandClass::ChangeDirectory);
        for command in ran {
            let words = command.words.iter().skip(1).map(|word| match word {
                Word::Literal(text) => text.clone(),
                Word::Dynamic { source, .. } => source.clone(),
            });
            state.keep(&super::effects::made_readonly(
                command.program().unwrap_or_default(),
                words,
            ));
        }
        let writes_a_name = |command: &Command| {
            let option = |word: &Word| word.literal().is_none_or(|text| text.starts_with("-v"));
            command.program() == Some("printf") && command.words.iter().skip(1).any(option)
        };
        if is(&[".", "source"]) {
            self.redefines_git = true;
            state.sourced = true;
        }
        // What a text does is not told apart from what the builtins do.
        if is(&[".", "source", "eval", "set", "shopt", "setopt", "emulate"]) {
            state.elsewhere = true;
            state.globs([None::<&str>]);
        }
        if is(&[".", "source", "eval"]) || is(ASSIGNING) || ran.iter().any(writes_a_name) {
            state.blur(&mut self.budget)?;
        }
        Ok(())
    }

    /// The command adds nothing to what it wraps.
    pub(super) fn mark_wrapper(&mut self, index: usize) {
        if let Some(command) = self.analysis.commands.get_mut(index)
            && command.class == CommandClass::Other
        {
            command.class = CommandClass::Wrapper;
        }
    }

    /// The same command with what its dynamic words may be, for rules that deny; and whether these are all the commands that it
    /// can be, as far as the words are concerned whose texts are known. The others stay as they are, and are judged as such.
    fn variants(&mut self, call: &Call<'_>, state: &State, names: bool) -> Read<bool> {
        let choices: Vec<Choices> = call.fields.iter().map(|field| Choices::of(field, names)).collect();
        let together = together(&choices);
        let most = choices.iter().map(|choices| choices.many).max().unwrap_or(0);
        let all = together.is_some() && are_all(&choices, state);
        for number in 0..together.unwrap_or(most.min(VARIANTS)) {
            let mut fields: Vec<Field> = Vec::new();
            // With few, each combination; of many, each text once.
            let mut rest = number;
            for (field, choices) in call.fields.iter().zip(&choices) {
                self.budget.spend(1)?;
                if choices.many == 0 {
                    fields.push(field.clone());
                    continue;
                }
                let chosen = if together.is_some() {
                    rest % choices.many
                } else {
                    number % choices.many
                };
                rest /= choices.many;
                match field.candidates.get(chosen) {
                    Some(words) if words.iter().all(|text| !text.glob) => {
                        fields.extend(words.iter().map(|text: &Text| Field::literal(&text.text)));
                    }
                    Some([name]) if is_quoted(&field.source) => fields.push(Field::name(name)),
                    _ => fields.push(field.clone()),
                }
            }
            if fields.is_empty() {
                continue;
            }
            let mut variant = Call::behind(fields, &call.stdin, true);
            variant.assignments.clone_from(&call.assignments);
            self.run(variant, state.clone())?;
        }
        Ok(all)
    }
}

/// What is put in the place of a word.
struct Choices {
    /// How many texts; none for a word that stays as it is.
    many: usize,
    /// They are all that it can become.
    all: bool,
}

/// How many combinations there are, if they are few.
fn together(choices: &[Choices]) -> Option<usize> {
    let mut known = choices.iter().filter(|choices| choices.many > 0);
    known
        .try_fold(1_usize, |product, choices| product.checked_mul(choices.many))
        .filter(|product| *product <= VARIANTS)
}

/// Whether these are all texts that the words can be. With another separator of words, or in another shell, they become others.
fn are_all(choices: &[Choices], state: &State) -> bool {
    let splits_as_usual = !state.variables.contains_key("IFS") && !state.plain;
    splits_as_usual
        && choices
            .iter()
            .filter(|choices| choices.many > 0)
            .all(|choices| choices.all)
}

impl Choices {
    fn of(field: &Field, names: bool) -> Self {
        if !may_become(field, names) {
            return Self { many: 0, all: true };
        }
        // A file's name can hold blanks, so what is not quoted may be split.
        let name =
            |words: &[Text]| matches!(words, [name] if is_quoted(&field.source) && Field::name(name).word.is_operand());
        let known = |words: &[Text]| words.iter().all(|text| !text.glob) || name(words);
        Self {
            many: field.candidates.len(),
            all: field.exact && !field.process && field.candidates.iter().all(known),
        }
    }
}

/// Whether a word is one text in double quotes: whatever stands in it is not split, and no pattern.
fn is_quoted(source: &str) -> bool {
    source
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .is_some_and(|text| !text.contains(['"', '\\', '`', '@', '*']))
}

/// What may stand in the place of a word, as far as the kind of the command depends on it: numbers and names of objects by one
/// of each sort, and no word or two where it may be none or several.
///
/// With a minus in front, sed takes a number for an option that it does not have, or for a script that it does not know: it ends
/// with a message.
fn in_its_place(field: &Field, of_git: bool, of_sed: bool) -> Vec<Vec<Word>> {
    let sorts = if of_sed { 1 } else { field.numbers.len() };
    let mut words: Vec<Word> = field.numbers.iter().take(sorts).cloned().map(Word::Literal).collect();
    if words.is_empty() {
        words.push(match field.hash && of_git {
            true => Word::Literal("HEAD".to_owned()),
            false => field.word.clone(),
        });
    }
    let mut places: Vec<Vec<Word>> = words.iter().map(|word| vec![word.clone()]).collect();
    if field.many {
        let pairs = words.iter().flat_map(|one| words.iter().map(move |other| [one, other]));
        places.extend(pairs.map(|pair| pair.map(Word::clone).to_vec()));
        places.extend(words.first().map(|word| vec![word.clone(); 3]));
    }
    if field.none {
        places.push(Vec::new());
    }
    places
}

/// Whether a dynamic word has candidates that can be put in its place; with `names`, patterns for names of files among them.
fn may_become(field: &Field, names: bool) -> bool {
    let plain = |words: &[Text]| words.iter().all(|text| !text.glob) || (names && is_quoted(&field.source));
    // A number that is not known stays what it is.
    field.text().is_none() && field.numbers.is_empty() && field.candidates.iter().any(plain)
}

/// The words as written, with what stands between them.
pub(super) fn text(fields: &[Field]) -> String {
    let length = fields.iter().map(|field| field.before.len() + field.source.len()).sum();
    let mut text = String::with_capacity(length);
    for (number, field) in fields.iter().enumerate() {
        if number > 0 && !field.source.is_empty() {
            text.push_str(&field.before);
        }
        text.push_str(&field.source);
    }
    let trimmed = text.trim();
    if trimmed.len() == text.len() {
        return text;
    }
    trimmed.to_owned()
}

/// An assignment that no program started later can see: shells only export what was exported before.
fn only_local(assignment: &Assignment) -> bool {
    let name = assignment.name.as_str();
    !variables::is_dangerous(name) && (variables::is_harmless(name) || name.contains(|c: char| c.is_ascii_lowercase()))
}

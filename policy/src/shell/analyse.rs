//! From a line to an [`Analysis`](super::Analysis): walks what was read, with the directory and variables of each point.
//!
//! It follows both ways of every choice, because which one is taken is not known: after `cd a; x` the command `x` runs in
//! `a` or, if `cd` failed, where it was. What can no longer be told becomes "elsewhere" or "not exact", never dropped.

mod behind;
mod builtins;
mod call;
mod effects;
mod foreign;
mod functions;
mod lent;
mod nested;
mod printed;
mod redirected;
mod sourced;
mod told;
mod wrapped;

use crate::AbsPath;

use super::{
    Analysis, Assignment, Command, CommandClass, Context, Limits, Loop, Opaque, OpaqueReason, Pipe, ShellContext,
    Signs, Socket, Word, constant,
    expand::{self, State, Value, Words},
    hidden,
    reader::{self, Budget, Dialect, Fault, Read},
    syntax::{Form, Item, Join, List, Node, Piece, Pipeline, RawWord, Redirect, Simple},
    variables,
};
pub(crate) use call::runs_later;
use call::{Call, Stdin};
use functions::{Known, is_table_of_names};

/// Analyses a line.
///
/// Time and memory are linear in the line, and bounded by `limits`; the stack by [`Limits::depth`].
#[must_use]
pub fn analyse(line: &str, context: &ShellContext, limits: Limits) -> Analysis {
    analyse_counted(line, context, None, limits).0
}

/// The same, where git's work tree around the directory is known: `$(git rev-parse --show-toplevel)` is that.
pub(crate) fn analyse_in(line: &str, context: &ShellContext, toplevel: Option<AbsPath>, limits: Limits) -> Analysis {
    analyse_counted(line, context, toplevel, limits).0
}

/// The analysis, and how many steps are left of the budget.
pub(super) fn analyse_counted(
    line: &str,
    context: &ShellContext,
    toplevel: Option<AbsPath>,
    limits: Limits,
) -> (Analysis, usize) {
    let toplevel = toplevel.map(std::rc::Rc::new);
    let mut steps = limits.steps;
    let mut known = Known::default();
    for _ in 0..MOST_WALKS {
        let walk = walked(line, context, toplevel.clone(), Limits { steps, ..limits }, known);
        steps = walk.budget.steps;
        if !walk.is_outdated() {
            return (walk.analysis, steps);
        }
        known = walk.known;
    }
    // What functions and traps do was found anew each time.
    let mut walk = walked(line, context, toplevel, Limits { steps, ..limits }, known);
    if walk.is_outdated() {
        walk.opaque(excerpt(line), OpaqueReason::TooLarge);
    }
    (walk.analysis, walk.budget.steps)
}

/// A line that was walked, with what is known of its functions from the beginning.
fn walked<'a>(
    line: &str,
    context: &'a ShellContext,
    toplevel: Option<std::rc::Rc<AbsPath>>,
    limits: Limits,
    known: Known,
) -> Walk<'a> {
    let mut walk = Walk {
        context,
        toplevel,
        known,
        turned: false,
        outdated: false,
        budget: Budget {
            depth: limits.depth,
            steps: limits.steps,
        },
        parts: limits.parts,
        analysis: Analysis::default(),
        seen: Vec::new(),
        defining: Vec::new(),
        plain: false,
        keeps_last: true,
        with_hashes: Vec::new(),
        with_numbers: Vec::new(),
        redefines_git: false,
        input_is_changed: false,
        reads_another: false,
        in_front: false,
        matched_freely: false,
        computed: Vec::new(),
    };
    if line.len() > limits.bytes {
        walk.opaque(excerpt(line), OpaqueReason::TooLarge);
        return walk;
    }
    if hidden::hides(line) {
        walk.opaque(excerpt(line), OpaqueReason::HiddenCharacter);
    }
    walk.whole(line);
    let hides = |opaque: &Opaque| opaque.reason == OpaqueReason::HiddenCharacter;
    if walk.analysis.opaque.iter().any(hides) {
        // What a reader takes the line for: a rule that denies it holds, too.
        walk.whole(&hidden::cleaned(line));
    }
    walk.take_back_lent();
    if walk.analysis.signs.renames {
        for index in &walk.with_numbers {
            if let Some(command) = walk.analysis.commands.get_mut(*index) {
                command.class = CommandClass::Other;
            }
        }
    }
    if walk.redefines_git {
        for index in &walk.with_hashes {
            if let Some(command) = walk.analysis.commands.get_mut(*index) {
                command.class = CommandClass::Other;
            }
        }
    }
    walk
}

/// Most times a line is walked before it counts as too large. Each time only what functions do can be new, and once is enough
/// for all but those that another shell's text defines.
const MOST_WALKS: usize = 3;

/// The beginning of a text, for messages.
fn excerpt(text: &str) -> &str {
    let end = text.char_indices().nth(200).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

/// Most opaque places that are listed.
const OPAQUE: usize = 256;

/// The state after a command that succeeded, and after one that failed.
type Ways = (State, State);

/// Puts them elsewhere than on the stack, which nesting fills.
#[inline(never)]
fn boxed(ways: Read<Ways>) -> Read<Box<Ways>> {
    ways.map(Box::new)
}

struct Walk<'a> {
    context: &'a ShellContext,
    toplevel: Option<std::rc::Rc<AbsPath>>,
    budget: Budget,
    /// Most commands.
    parts: usize,
    analysis: Analysis,
    /// How the current place was reached.
    seen: Vec<Context>,
    /// Functions whose bodies are being walked.
    defining: Vec<String>,
    /// The script may be run by a shell that knows less than bash: `sh`, `dash`.
    plain: bool,
    /// The last command of a pipe may run in the shell itself: in zsh and ksh it does, in bash and dash it does not.
    keeps_last: bool,
    /// Commands of git, by number, that only look if what a substitution of git prints is no option.
    with_hashes: Vec<usize>,
    /// Commands, by number, that only look if what programs print that count is a number.
    with_numbers: Vec<usize>,
    /// `git` may be a function by then, and print anything.
    redefines_git: bool,
    /// Functions, aliases and traps.
    known: Known,
    /// Something was walked that may run again, or later than it stands: a loop, a function, a trap.
    turned: bool,
    /// It did not know then what was found since.
    outdated: bool,
    /// The input of the shell itself is another by then: `exec < list`.
    input_is_changed: bool,
    /// The text that is walked reads an input that was given to what runs it.
    reads_another: bool,
    /// Something behind a pipe runs beside it.
    in_front: bool,
    /// An expression was compared that matches letters of any kind.
    matched_freely: bool,
    /// Of what is being walked and runs again or later: variables of its expressions that it does not set before.
    computed: Vec<std::collections::BTreeSet<String>>,
}

impl Walk<'_> {
    /// A whole line, from the beginning.
    fn whole(&mut self, line: &str) {
        let depth = self.budget.depth;
        let mut state = State::new(self.context);
        state.toplevel.clone_from(&self.toplevel);
        if let Err(fault) = self.text(line, state) {
            self.seen.clear();
            self.budget.depth = depth;
            self.fault(line, fault);
        }
    }

    /// Adds a command.
    fn record(&mut self, command: Command) -> Read<()> {
        if self.analysis.commands.len() >= self.parts {
            return Err(Fault::TooLarge);
        }
        self.analysis.commands.push(command);
        Ok(())
    }

    fn opaque(&mut self, text: &str, reason: OpaqueReason) {
        // One is enough to ask; so many explain no more.
        if self.analysis.opaque.len() >= OPAQUE && reason != OpaqueReason::TooLarge {
            return;
        }
        self.analysis.opaque.push(Opaque {
            text: hidden::visible(excerpt(text)).into_owned(),
            reason,
            seen_through: self.seen.clone(),
        });
    }

    fn fault(&mut self, text: &str, fault: Fault) {
        let reason = match fault {
            Fault::Syntax => OpaqueReason::Unparsable,
            Fault::TooLarge => OpaqueReason::TooLarge,
        };
        self.opaque(text, reason);
    }

    /// Runs `inner` one level deeper, and notes how it was reached.
    fn inside<T>(&mut self, context: Context, inner: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.budget.depth = self.budget.depth.checked_sub(1).ok_or(Fault::TooLarge)?;
        self.seen.push(context);
        let result = inner(self);
        self.seen.pop();
        self.budget.depth += 1;
        result
    }

    /// A text that some shell runs: that of the system (`system`, `popen`), or the person's. What shells read in two ways is
    /// not understood.
    fn text_of_some_shell(&mut self, text: &str, state: State) -> Read<State> {
        let outer = std::mem::replace(&mut self.plain, true);
        let read = self.text(text, state);
        self.plain = outer;
        read
    }

    /// A text that a shell runs.
    fn text(&mut self, text: &str, mut state: State) -> Read<State> {
        state.plain = self.plain;
        self.analysis.signs = self.analysis.signs.or(Signs::of(text));
        let dialect = if self.plain { Dialect::Plain } else { Dialect::Bash };
        let (list, fault) = reader::read(text, dialect, &mut self.budget);
        let state = self.list(&list, state)?;
        if let Some(fault) = fault {
            self.fault(text, fault);
        }
        Ok(state)
    }

    fn list(&mut self, list: &List, mut state: State) -> Read<State> {
        for item in &list.0 {
            state = self.item(item, state)?;
        }
        Ok(state)
    }

    /// A list in a shell of its own: what it changes is lost.
    fn subshell(&mut self, list: &List, context: Context, state: &State) -> Read<()> {
        let state = state.clone();
        self.inside(context, |walk| walk.list(list, state)).map(drop)
    }

    fn item(&mut self, item: &Item, state: State) -> Read<State> {
        if item.background {
            // It runs later, beside what follows.
            self.analysis.signs.repeats = true;
            let inside = state.clone();
            self.inside(Context::Group("&".to_owned()), |walk| walk.chain(item, inside))?;
            return Ok(state);
        }
        self.chain(item, state)
    }

    fn chain(&mut self, item: &Item, state: State) -> Read<State> {
        let (mut good, mut bad) = self.pipeline(&item.first, state)?;
        for (join, pipeline) in &item.rest {
            match join {
                Join::And => {
                    let (then_good, then_bad) = self.pipeline(pipeline, good)?;
                    good = then_good;
                    bad = bad.either(then_bad, &mut self.budget)?;
                }
                Join::Or => {
                    let (then_good, then_bad) = self.pipeline(pipeline, bad)?;
                    good = good.either(then_good, &mut self.budget)?;
                    bad = then_bad;
                }
            }
        }
        good.either(bad, &mut self.budget)
    }

    fn pipeline(&mut self, pipeline: &Pipeline, state: State) -> Read<Ways> {
        let ways = match pipeline.stages.as_slice() {
            [] => (state.clone(), state),
            [only] => self.timed(pipeline.timed, |walk| walk.node(only, state, &Stdin::Inherited))?,
            stages => {
                let mut before: Option<&Node> = None;
                let first = self.analysis.commands.len();
                let outer = self.in_front;
                let mut last = None;
                for (number, stage) in stages.iter().enumerate() {
                    self.in_front = outer || number + 1 < stages.len();
                    let own = self.analysis.commands.len();
                    let stdin = before.map_or(Stdin::Inherited, |node| Stdin::Pipe(constant::printed(node)));
                    let inside = state.clone();
                    last = Some(self.timed(pipeline.timed, |walk| boxed(walk.node(stage, inside, &stdin)))?);
                    self.note_pipe(first..own);
                    before = Some(stage);
                }
                self.in_front = outer;
                self.after_pipe(state, last)?
            }
        };
        Ok(if pipeline.negated { (ways.1, ways.0) } else { ways })
    }

    /// What holds behind a pipe: its last command may have run in the shell itself. Which shell reads the line is not known.
    #[inline(never)]
    fn after_pipe(&mut self, state: State, last: Option<Box<Ways>>) -> Read<Ways> {
        match last.filter(|_| self.keeps_last) {
            Some(last) => Ok((
                state.clone().either(last.0, &mut self.budget)?,
                state.either(last.1, &mut self.budget)?,
            )),
            None => Ok((state.clone(), state)),
        }
    }

    /// Notes what is written to the commands of a stage that were walked since.
    fn note_pipe(&mut self, from: std::ops::Range<usize>) {
        let to = from.end..self.analysis.commands.len();
        if !from.is_empty() && !to.is_empty() {
            self.analysis.pipes.push(Pipe { from, to });
        }
    }

    fn timed<T>(&mut self, timed: bool, inner: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if timed {
            self.inside(Context::Transparent("time".to_owned()), inner)
        } else {
            inner(self)
        }
    }

    fn node(&mut self, node: &Node, mut state: State, stdin: &Stdin) -> Read<Ways> {
        // What a text before it was seen to do, in whichever shell, and what a trap does before each command.
        state.signs = state.signs.or(self.analysis.signs);
        if !self.known.anytime.is_empty() || !self.known.anytime.calls.is_empty() {
            let anytime = std::mem::take(&mut self.known.anytime);
            let applied = self.apply(&anytime, &mut state);
            self.known.anytime = anytime;
            applied?;
        }
        self.give(node, &mut state)?;
        let ways = match &node.form {
            Form::Simple(simple) => self.simple(simple, &node.redirects, state, stdin)?,
            form => {
                let files = self.compound_redirects(&node.redirects, &state)?;
                let first = self.analysis.commands.len();
                let state = self.compound(form, state)?;
                let group = first..self.analysis.commands.len();
                self.analysis.groups.extend(files.map(|files| (files, group)));
                (state.clone(), state)
            }
        };
        if !self.known.computes_anytime.is_empty() {
            let computes = std::mem::take(&mut self.known.computes_anytime);
            let checked =
                (self.evaluated_later(&computes, &ways.0)).and_then(|()| self.evaluated_later(&computes, &ways.1));
            self.known.computes_anytime = computes;
            checked?;
        }
        Ok(ways)
    }

    fn compound(&mut self, form: &Form, mut state: State) -> Read<State> {
        let bash = matches!(
            form,
            Form::Test(_)
                | Form::Arithmetic(_)
                | Form::Coprocess(_)
                | Form::Count { .. }
                | Form::For { select: true, .. }
        );
        if bash && self.plain {
            // `[[ a || b ]]` runs `b ]]` there, and `((a))` runs `a`.
            self.opaque("a construct of bash, given to another shell", OpaqueReason::Unparsable);
        }
        self.analysis.signs.repeats |= matches!(
            form,
            Form::While { .. } | Form::For { .. } | Form::Count { .. } | Form::Coprocess(_)
        );
        match form {
            Form::Simple(_) => {}
            Form::Subshell(list) => self.subshell(list, Context::Group("( )".to_owned()), &state)?,
            Form::Group(list) => {
                return self.inside(Context::Group("{ }".to_owned()), |walk| walk.list(list, state));
            }
            Form::If { branches, otherwise } => return self.conditional(branches, otherwise.as_ref(), state),
            Form::While { condition, body } => {
                self.blur_loop(&mut state, &[condition, body])?;
                return self.turns(|walk| {
                    walk.inside(Context::Group("while".to_owned()), |walk| {
                        let checked = walk.list(condition, state)?;
                        let after = walk.list(body, checked.clone())?;
                        checked.either(after, &mut walk.budget)
                    })
                });
            }
            Form::For {
                variable,
                words,
                body,
                select,
            } => return self.for_loop(variable, words.as_deref(), body, *select, state),
            Form::Count { clauses, body } => {
                return self.turns(|walk| {
                    walk.arithmetic(clauses, &state, true)?;
                    walk.blur_loop(&mut state, &[body])?;
                    let before = state.clone();
                    let after = walk.inside(Context::Group("for".to_owned()), |walk| walk.list(body, state))?;
                    before.either(after, &mut walk.budget)
                });
            }
            Form::Case { subject, arms } => {
                self.raw_word(subject, &state)?;
                let mut after = state.clone();
                // `;&` falls through, so an arm may run after the one before.
                for (patterns, body) in arms {
                    for pattern in patterns {
                        self.raw_word(pattern, &state)?;
                    }
                    let entered = after.clone();
                    let left = self.inside(Context::Group("case".to_owned()), |walk| walk.list(body, entered))?;
                    after = after.either(left, &mut self.budget)?;
                }
                return Ok(after);
            }
            Form::Function { name, body } => self.function(name, body, &mut state)?,
            Form::Coprocess(body) => {
                let inside = state.clone();
                self.inside(Context::Group("coproc".to_owned()), |walk| {
                    walk.node(body, inside, &Stdin::Pipe(None))
                })?;
            }
            Form::Test(words) => self.test(words, &state)?,
            Form::Arithmetic(arithmetic) => {
                self.arithmetic(arithmetic, &state, false)?;
                let mut effects = effects::Effects::default();
                effects.compute(arithmetic);
                self.apply(&effects, &mut state)?;
            }
        }
        Ok(state)
    }

    fn conditional(&mut self, branches: &[(List, List)], otherwise: Option<&List>, state: State) -> Read<State> {
        self.inside(Context::Group("if".to_owned()), |walk| {
            let mut checked = state;
            let mut after: Option<State> = None;
            for (condition, body) in branches {
                checked = walk.list(condition, checked)?;
                let left = walk.list(body, checked.clone())?;
                after = Some(match after {
                    Some(after) => after.either(left, &mut walk.budget)?,
                    None => left,
                });
            }
            if let Some(body) = otherwise {
                checked = walk.list(body, checked)?;
            }
            match after {
                Some(after) => after.either(checked, &mut walk.budget),
                None => Ok(checked),
            }
        })
    }

    fn for_loop(
        &mut self,
        variable: &str,
        words: Option<&[RawWord]>,
        body: &List,
        select: bool,
        mut state: State,
    ) -> Read<State> {
        let mut value = Value {
            exact: words.is_some() && !select,
            ..Value::default()
        };
        let mut hash = words.is_some() && !select;
        let (mut numbers, mut natural) = (hash, hash);
        let first = self.analysis.commands.len();
        for word in words.unwrap_or_default() {
            self.raw_word(word, &state)?;
            for field in expand::expand(word, &state, self.context, &mut self.budget)? {
                value.exact &= field.exact;
                hash &= field.hash;
                numbers &= field.numbers.first().is_some_and(|number| number == "1");
                natural &= field.numbers.len() == 1;
                for choice in field.candidates.into_texts() {
                    value.merge(&Value {
                        choices: vec![choice],
                        exact: true,
                        ..Value::default()
                    });
                }
            }
        }
        value.hash = hash;
        // What is quoted is one value with blanks in it.
        let unquoted = |words: &[RawWord]| words.iter().all(|word| !word.source.contains(['"', '\'', '\\']));
        let single = !select && words.is_some_and(unquoted);
        value.words = if single { Words::One } else { Words::Any };
        let given = words.is_some_and(|words| !words.is_empty());
        if given && numbers {
            value = Value {
                digits: if natural {
                    expand::Digits::Natural
                } else {
                    expand::Digits::Whole
                },
                words: value.words,
                ..Value::computed()
            };
        }
        self.dangerous(variable);
        self.blur_loop(&mut state, &[body])?;
        let before = state.clone();
        state.set(variable, value, &mut self.budget)?;
        if select {
            // The line that was typed.
            state.set("REPLY", Value::unknown(), &mut self.budget)?;
        }
        let label = if select { "select" } else { "for" };
        let printed =
            matches!(words, Some([RawWord { pieces, .. }]) if matches!(pieces.as_slice(), [Piece::Command { .. }]));
        // A function could give the variable another value, and so could what was declared of it.
        let renamed = state.sourced || state.signs.renames || !state.functions.is_empty();
        let plain = !state.variables.contains_key("IFS") && !renamed;
        let listed = first..self.analysis.commands.len();
        let after = self.turns(|walk| walk.inside(Context::Group(label.to_owned()), |walk| walk.list(body, state)))?;
        // The shell gives `_`, `RANDOM` and their like values of its own; people write small letters.
        let own = variable.starts_with(|c: char| c.is_ascii_lowercase()) && !variable.contains(char::is_uppercase);
        let plain = plain && own && effects::is_flat(body, &mut self.budget)?;
        if printed && !select && plain && !effects::may_assign(body, &[variable, "IFS"], &mut self.budget)? {
            self.analysis.loops.push(Loop {
                variable: variable.to_owned(),
                depth: self.seen.len(),
                body: listed.end..self.analysis.commands.len(),
                words: listed,
            });
        }
        before.either(after, &mut self.budget)
    }

    /// Notes an assignment that changes what runs.
    fn dangerous(&mut self, name: &str) {
        if variables::is_dangerous(name) {
            self.opaque(name, OpaqueReason::DangerousVariable);
        }
    }

    fn simple(&mut self, simple: &Simple, redirects: &[Redirect], state: State, stdin: &Stdin) -> Read<Ways> {
        let fields = expand::expand_all(&simple.words, &state, self.context, &mut self.budget)?;
        // Assignments see those before them.
        let mut with = state.clone();
        let mut assignments = Vec::new();
        let runs_nothing =
            !simple.assignments.is_empty() && variables::runs_nothing(fields.iter().map(|field| &field.word));
        for raw in &simple.assignments {
            self.budget.spend(1)?;
            // Splits what these read into variables that are not known anyway, and nothing else.
            let splits = raw.name == "IFS"
                && fields
                    .first()
                    .and_then(|field: &expand::Field| field.text())
                    .is_some_and(|program| matches!(program, "read" | "mapfile" | "readarray"));
            if is_table_of_names(raw) {
                self.opaque(&raw.name, OpaqueReason::Redefinition);
                self.happens_anytime(&effects::Effects::all())?;
            }
            let (word, mut value) = expand::assigned(&raw.value, &with, self.context, &mut self.budget)?;
            // Alone on a line it stays for whatever follows, `man` and others among them.
            let below = !raw.partial && self.is_below(&value, &state);
            let called: Vec<Word> = match fields.first().and_then(expand::Field::text) {
                Some(name) if below && state.functions.contains(name) => Vec::new(),
                // A module or a script is told by the first of the arguments, and its name by the next.
                _ => fields.iter().take(3).map(|field| field.word.clone()).collect(),
            };
            let setting = variables::Setting {
                name: &raw.name,
                value: word.literal(),
                words: &called,
                runs_nothing,
                below,
            };
            let tame = !fields.is_empty() && !raw.partial && variables::is_harmless_as(&setting);
            if !splits && !tame {
                self.dangerous(&raw.name);
            }
            if raw.partial {
                value = Value::unknown();
            }
            assignments.push(Assignment {
                name: raw.name.clone(),
                value: if raw.partial {
                    Word::Dynamic {
                        source: raw.value.source.clone(),
                        pattern: false,
                    }
                } else {
                    word
                },
                below,
                texts: match value.exact && variables::lends(&raw.name) && value.choices.iter().all(|own| !own.glob) {
                    true => value.choices.iter().map(|own| own.text.clone()).collect(),
                    false => Vec::new(),
                },
            });
            with.set(&raw.name, value, &mut self.budget)?;
        }
        let (files, sockets, script) = self.redirections(redirects, &state)?;
        let only_assigns = fields.is_empty();
        let stdin = script.unwrap_or_else(|| stdin.clone());
        let call = Call {
            fields,
            assignments,
            files,
            sockets,
            stdin,
            raw: Some((simple, redirects)),
            resolved: false,
        };
        let mut effects = effects::Effects::default();
        effects::of_words(simple, &mut effects);
        let mut ways = if only_assigns {
            self.run(call, state)?;
            (with.clone(), with)
        } else {
            drop(with);
            self.run(call, state)?
        };
        if !effects.is_empty() {
            self.apply(&effects, &mut ways.0)?;
            self.apply(&effects, &mut ways.1)?;
        }
        Ok(ways)
    }
}

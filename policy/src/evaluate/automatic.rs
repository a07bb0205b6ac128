//! What decides instead of a person: which mode is really in force, which rules it suspends, what the classifier said, and
//! which of those allows a protection takes back.

use crate::{
    DecidedBy, Effect, EffectiveRuleset, Mode, Request, Verdict,
    mode::{BlockCount, ClassifierReport, ClassifierVerdict, Pause},
    rule::{Matcher, TextPattern},
    ruleset::RuleId,
    shell::{self, interpreters},
};

use super::{part::Part, world::World};

/// Stands for arguments that no rule names.
const ANY: &str = "\u{1}any\u{1}";
/// Options after which an interpreter takes a program.
const CODE_OPTIONS: &[&str] = &[
    "-c", "-e", "-m", "-r", "-p", "-lc", "-ic", "-E", "--eval", "--print", "-S", "-u",
];
/// Further programs that run whatever they are told to: interpreters that are seldom met, and doors to other machines.
const MORE: &[&str] = &[
    "Rscript", "docker", "eval", "ipython", "irb", "java", "julia", "kubectl", "pipx", "podman", "pwsh", "pypy",
    "source", "ssh", "swift", "ts-node", "tsx",
];

/// The mode in which a call is judged, and why it is not the one that the agent says, if so. Never a wider one.
pub(super) fn in_force(rules: &EffectiveRuleset, request: &Request) -> (Mode, Option<String>) {
    let stated = request.mode;
    if stated == Mode::Auto && !rules.run().auto_enabled() {
        let why = "the session is in auto, which neither user nor team policy enables: judged as default";
        return (Mode::Default, Some(why.to_owned()));
    }
    match request.session.started_in {
        Some(start) if stated.lets_everything_run() && start != stated => {
            let instead = if stated.is_cursors() {
                Mode::Allowlist
            } else {
                Mode::Default
            };
            let why = format!(
                "the session is in {stated} now but started in {start}, and {stated} is for sessions that start in it: \
                 judged as {instead}"
            );
            (instead, Some(why))
        }
        _ => (stated, None),
    }
}

/// Whether an allow rule is too broad to stand beside a classifier: it covers whatever anybody writes, so the classifier
/// would never be asked.
///
/// Of MCP rules only one for every server is: a rule for one server names something that a person chose. git is not among
/// the programs, for what git executes by options and configuration no allow rule covers anyway.
fn is_broad(matcher: &Matcher) -> bool {
    match matcher {
        Matcher::Shell(pattern) => is_broad_shell(pattern),
        Matcher::Mcp(pattern) => pattern.covers(ANY, ANY),
        Matcher::EveryTool => true,
        _ => false,
    }
}

fn is_broad_shell(pattern: &TextPattern) -> bool {
    if pattern.is_exact() {
        return false;
    }
    let front = leading_assignments(pattern.beginning());
    let program = match front {
        "" => pattern.program(),
        front => (pattern.beginning().strip_prefix(front))
            .and_then(|rest| rest.split_once(' '))
            .map(|(program, _)| program),
    };
    if let Some(program) = program {
        return runs_what_it_is_told(program) && takes_anything(pattern, front, program);
    }
    // The program itself is open: `*`, `* --version`, `py*`, `A=1 *`.
    let programs = interpreters::languages()
        .chain(MORE.iter().copied())
        .chain(shell::wrapper_names());
    pattern.matches(&format!("{front}{ANY}"))
        || pattern.begins_open()
        || programs
            .chain(interpreters::runners())
            .filter(|name| *name != "git")
            .any(|name| takes_anything(pattern, front, name))
}

/// The assignments that a text begins with, and the blank behind them: `A=1 B=2 ` of `A=1 B=2 make`.
fn leading_assignments(text: &str) -> &str {
    let mut end = 0;
    for word in text.split_inclusive(' ') {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) || !word.ends_with(' ') {
            break;
        }
        end += word.len();
    }
    text.get(..end).unwrap_or_default()
}

/// `python3.12` and `/usr/bin/python` are `python`.
fn stem(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or_default();
    match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-') {
        "" => name,
        stem => stem,
    }
}

fn runs_what_it_is_told(program: &str) -> bool {
    let name = stem(program);
    name != "git"
        && (interpreters::about(name).language
            || MORE.contains(&name)
            || shell::wrapper_names().any(|own| own == name)
            || !interpreters::about(name).runs.is_empty())
}

/// Whether a pattern covers a program, behind these assignments, with arguments that it does not name.
fn takes_anything(pattern: &TextPattern, front: &str, program: &str) -> bool {
    let name = stem(program);
    let matches = |words: &str| pattern.matches(&format!("{front}{words}"));
    let code = CODE_OPTIONS
        .iter()
        .any(|option| matches(&format!("{program} {option} {ANY}")));
    let verbs = interpreters::about(name).runs.iter().any(|verbs| {
        let mut words = vec![program];
        words.extend(*verbs);
        words.push(ANY);
        matches(&words.join(" "))
    });
    // A runner that runs things only behind a verb (`npm exec`) is covered only with it.
    let bare =
        interpreters::about(name).language || MORE.contains(&name) || shell::wrapper_names().any(|own| own == name);
    verbs || (bare && (code || matches(&format!("{program} {ANY}"))))
}

impl World<'_> {
    /// Whether an allow rule does not count in the mode in force.
    pub(super) fn is_suspended(&self, id: RuleId) -> bool {
        self.request.mode.is_automatic()
            && self
                .rule(id)
                .is_some_and(|rule| rule.effect == Effect::Allow && is_broad(&rule.matcher))
    }

    /// Says of a part that a suspended rule would have allowed it.
    pub(super) fn note_suspended(&self, part: &mut Part, id: Option<RuleId>) {
        let undecided = part.class.is_some() && part.verdict != Verdict::Allow;
        if let Some(rule) = id.filter(|_| undecided).and_then(|id| self.rule(id)) {
            let mode = self.request.mode;
            part.remark(format!(
                "{} is suspended in {mode}, because it covers anything",
                rule.source
            ));
        }
    }

    /// Puts in what the classifier said where the mode leaves a part to it. Protected and critical paths, and what is not
    /// known, are never left to it: their answers are those of a person.
    pub(super) fn ask_classifier(&self, part: &mut Part) {
        let left_to_it = part.decided_by == DecidedBy::Mode
            && part.verdict == Verdict::Ask
            && part
                .class
                .is_some_and(|class| self.request.mode.answer(class).asks_classifier());
        if !left_to_it {
            return;
        }
        let mode = self.request.mode;
        let what = part.what.clone();
        let (verdict, by, why) = match &self.request.session.classifier {
            ClassifierReport::Off => (
                Verdict::Ask,
                DecidedBy::Mode,
                format!("mode {mode} leaves it to a classifier, and none is configured"),
            ),
            ClassifierReport::NotAsked => (
                Verdict::Ask,
                DecidedBy::Mode,
                "a person has to decide about the call anyway, so the classifier was not asked".to_owned(),
            ),
            ClassifierReport::Verdict(ClassifierVerdict::Allow) => (
                Verdict::Allow,
                DecidedBy::Classifier,
                "the classifier allows it".to_owned(),
            ),
            ClassifierReport::Verdict(ClassifierVerdict::Deny { advice }) => (
                Verdict::Deny,
                DecidedBy::Classifier,
                format!("the classifier blocks it; try another way: {advice}"),
            ),
            ClassifierReport::Verdict(ClassifierVerdict::Ask { reason }) => (
                Verdict::Ask,
                DecidedBy::Classifier,
                format!("the classifier wants a person to decide: {reason}"),
            ),
            ClassifierReport::BlockedBefore => (
                Verdict::Ask,
                DecidedBy::Classifier,
                "the classifier blocked the same call before in this session, so a person decides".to_owned(),
            ),
            ClassifierReport::Paused(pause) => (Verdict::Ask, DecidedBy::Classifier, paused(mode, *pause)),
            ClassifierReport::Failed { reason } => (
                Verdict::Ask,
                DecidedBy::Failure,
                format!("the classifier gave no answer: {reason}"),
            ),
        };
        let note = part.note.as_deref().map(|note| format!("; {note}")).unwrap_or_default();
        part.verdict = verdict;
        part.decided_by = by;
        part.reason = format!("{what}: no rule allows it, and {why}{note}");
        if verdict != Verdict::Ask {
            part.suggestions.clear();
        }
    }

    /// Takes back an allow that no rule gave, where a protection is on.
    pub(super) fn guard(&self, part: &mut Part) {
        let unruled = matches!(
            part.decided_by,
            DecidedBy::Mode | DecidedBy::Sandbox | DecidedBy::Classifier
        );
        let Some(guard) = part.guard.filter(|_| unruled && part.verdict == Verdict::Allow) else {
            return;
        };
        if self.rules.run().protects(guard, self.request.mode) {
            part.verdict = Verdict::Ask;
            part.decided_by = DecidedBy::Protection;
            part.class = None;
            guard.describe().clone_into(&mut part.reason);
        }
    }
}

fn paused(mode: Mode, pause: Pause) -> String {
    if pause.total >= BlockCount::TOTAL {
        format!(
            "mode {mode} is paused for the rest of the session: the classifier blocked {} calls, so persons decide",
            pause.total
        )
    } else {
        format!(
            "mode {mode} is paused until a person answers: the classifier blocked {} calls in a row",
            pause.in_a_row
        )
    }
}

/// Whether what a classifier says can make the call an allow: only then is it worth asking one.
#[must_use]
pub fn classifier_matters(rules: &EffectiveRuleset, request: &Request) -> bool {
    if !in_force(rules, request).0.is_automatic() {
        return false;
    }
    let with = |report: ClassifierReport| {
        let mut request = request.clone();
        request.session.classifier = report;
        super::evaluate(rules, &request).verdict
    };
    with(ClassifierReport::NotAsked) != Verdict::Allow
        && with(ClassifierReport::Verdict(ClassifierVerdict::Allow)) == Verdict::Allow
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        mode::ActionClass,
        rule::{ParsedRule, mcp_entry, parse, terminal_entry},
    };

    /// Classes that no table may leave to a classifier.
    const A_PERSONS: &[ActionClass] = &[
        ActionClass::Protected,
        ActionClass::Critical,
        ActionClass::LeavePlan,
        ActionClass::UnknownTool,
    ];

    #[test]
    fn broad_rules_are_those_that_cover_whatever_is_written() {
        for (rule, expected) in [
            ("Bash", true),
            ("Bash(*)", true),
            ("Bash(:*)", false),
            ("Bash(python *)", true),
            ("Bash(python:*)", true),
            ("Bash(python3 *)", true),
            ("Bash(python3.12 *)", true),
            ("Bash(/usr/bin/python *)", true),
            ("Bash(py*)", true),
            ("Bash(python -c *)", true),
            ("Bash(python -m *)", true),
            ("Bash(python -m pytest *)", false),
            ("Bash(python -m pytest)", false),
            ("Bash(python manage.py *)", false),
            ("Bash(node:*)", true),
            ("Bash(node server.js)", false),
            ("Bash(sh *)", true),
            ("Bash(bash -c *)", true),
            ("Bash(bash scripts/ci.sh)", false),
            ("Bash(sudo *)", true),
            ("Bash(sudo systemctl status *)", false),
            ("Bash(env *)", true),
            ("Bash(timeout *)", true),
            ("Bash(xargs *)", true),
            ("Bash(npx *)", true),
            ("Bash(npx eslint *)", false),
            ("Bash(uvx *)", true),
            ("Bash(npm *)", true),
            ("Bash(npm exec *)", true),
            ("Bash(npm test)", false),
            ("Bash(npm run lint *)", false),
            ("Bash(npm install *)", false),
            ("Bash(uv run *)", true),
            ("Bash(uv pip install *)", false),
            ("Bash(make *)", true),
            ("Bash(make test)", false),
            ("Bash(ssh *)", true),
            ("Bash(docker *)", true),
            ("Bash(docker ps *)", false),
            ("Bash(* --version)", true),
            ("Bash(LANG=C *)", true),
            ("Bash(LANG=C python *)", true),
            ("Bash(LANG=C make test)", false),
            ("Bash(LANG=C ls *)", false),
            ("Bash(git *)", false),
            ("Bash(git*)", false),
            ("Bash(ls *)", false),
            ("Bash(cargo test *)", false),
            ("mcp__github", false),
            ("mcp__github__*", false),
            ("Read", false),
            ("WebFetch", false),
        ] {
            let Ok(ParsedRule::Covers(matcher)) = parse(rule, Effect::Allow) else {
                assert!(!expected, "{rule} is no rule");
                continue;
            };
            assert_eq!(is_broad(&matcher), expected, "{rule}");
        }
    }

    #[test]
    fn entries_of_cursors_lists_are_broad_in_the_same_way() {
        for (entry, expected) in [
            ("python", true),
            ("python3", true),
            ("bash", true),
            ("npx", true),
            ("node:*", true),
            ("node:server.js*", false),
            ("python manage.py", false),
            ("npm:install*", false),
            ("npm test", false),
            ("git", false),
            ("ls", false),
        ] {
            let matcher = Matcher::Shell(terminal_entry(entry).unwrap());
            assert_eq!(is_broad(&matcher), expected, "{entry}");
        }
        for (entry, expected) in [("*:*", true), ("github:*", false), ("*:get_*", false)] {
            assert_eq!(is_broad(&Matcher::Mcp(mcp_entry(entry).unwrap())), expected, "{entry}");
        }
    }

    #[test]
    fn the_table_leaves_nothing_to_a_classifier_that_is_a_persons() {
        for mode in Mode::ALL {
            for class in A_PERSONS {
                assert!(!mode.answer(*class).asks_classifier(), "{mode}: {class:?}");
            }
            assert!(
                mode.is_automatic()
                    || !ActionClass::ALL
                        .iter()
                        .any(|class| mode.answer(*class).asks_classifier())
            );
        }
    }
}

//! Judges calls of tools that are neither shell nor a single file: searches, fetches, MCP tools, agents, skills.

use serde_json::Value;

use crate::{
    AbsPath, Action, DecidedBy, Effect, Mode, Verdict,
    call::Search,
    mode::ActionClass,
    rule::{Matcher, PathVerb, Rule, file_of, host_of, is_deceptive},
    ruleset::RuleId,
    shell::Access,
};

use super::{files::Cover, part::Part, world::World};

/// Tools that give a text to a shell whose language is not analysed, or type it into one that runs; in lower case.
const FOREIGN_SHELLS: &[&str] = &[
    "cmd",
    "powershell",
    "pwsh",
    "send_to_terminal",
    "write_bash",
    "write_powershell",
    "write_stdin",
];

/// Whether a tool is a shell that is not analysed.
fn is_foreign_shell(tool: &str) -> bool {
    FOREIGN_SHELLS.contains(&tool.to_ascii_lowercase().as_str())
}

/// Most choices of a file pattern in braces that are looked at.
const MAX_EXAMPLES: usize = 64;

/// The names under which rules may speak about a tool: the agent's own, and the one of its action.
pub(super) fn names(action: &Action, tool_name: &str) -> Vec<String> {
    let mut names = vec![tool_name.to_owned()];
    let canonical = match action {
        Action::Shell { .. } => "Bash",
        Action::Read { .. } => "Read",
        Action::Edit { .. } => "Edit",
        Action::Delete { .. } => "Delete",
        Action::Fetch { .. } => "WebFetch",
        Action::Search(Search::Web { .. }) => "WebSearch",
        Action::Search(Search::Files { .. }) => "Grep",
        Action::Agent { .. } => "Agent",
        Action::Skill { .. } => "Skill",
        Action::Browser { .. } => "Browser",
        Action::Mcp { server, tool } => {
            names.push(format!("mcp__{server}__{tool}"));
            return names;
        }
        Action::LeavePlan | Action::Internal | Action::Other => return names,
    };
    if canonical != tool_name {
        names.push(canonical.to_owned());
    }
    names
}

/// The text of a scalar; fields that hold more are not compared.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

impl World<'_> {
    /// Decided by a rule on the tool, else by the mode.
    pub(super) fn by_tool(&self, allow: Option<RuleId>, class: ActionClass, what: &str) -> Part {
        let name = &self.request.call.tool_name;
        match allow {
            Some(id) => Part::by_rule(self, id, name),
            None => Part::by_mode(self, class, name, what).suggest(tool_suggestion(name)),
        }
    }

    /// A tool that is not known; or one that gives a text to a shell which is not analysed, and could so run what a rule on
    /// commands is about.
    pub(super) fn judge_other_tool(&self, allow: Option<RuleId>) -> Part {
        let name = &self.request.call.tool_name;
        if !is_foreign_shell(name) {
            return self.by_tool(allow, ActionClass::UnknownTool, "a tool that is not known");
        }
        let index = self.rules.index();
        let for_all = |effect| {
            index
                .every_command(effect)
                .iter()
                .copied()
                .find(|id| self.rule(*id).is_some())
        };
        if let Some(id) = for_all(Effect::Deny).or_else(|| for_all(Effect::Ask)) {
            return Part::by_rule(self, id, name);
        }
        let part = self.by_tool(allow, ActionClass::UnknownTool, "a shell whose lines are not analysed");
        let hides = self.has_scoped_shell_rule();
        part.unless_unknown(
            !hides,
            "it is a shell whose lines are not analysed, and could hide a command that a rule is about",
        )
    }

    /// The first of some rules that covers the call, in the order deny, ask, allow.
    pub(super) fn first(&self, ids: &[RuleId], covers: impl Fn(&Rule) -> bool) -> Option<(RuleId, Effect)> {
        ids.iter()
            .copied()
            .filter(|id| !self.is_suspended(*id))
            .find_map(|id| self.rule(id).filter(|rule| covers(rule)).map(|rule| (id, rule.effect)))
    }

    pub(super) fn judge_search(&self, search: &Search, cover: Cover) -> Vec<Part> {
        match search {
            Search::Web { query } => {
                let subject = format!("searches the web for {query}");
                let covers = |rule: &Rule| matches!(&rule.matcher, Matcher::WebSearch(words) if words.as_ref().is_none_or(|words| words.matches(query)));
                vec![match self.first(&self.rules.index().web_search(query), covers) {
                    Some((id, _)) => Part::by_rule(self, id, subject),
                    None => Part::by_mode(self, ActionClass::WebSearch, subject, "a search on the web")
                        .suggest(["WebSearch".to_owned()]),
                }]
            }
            Search::Files { path, pattern } => {
                let folder_text = path.as_deref().unwrap_or(".");
                let folder = self.judge_named(folder_text, Access::Read, cover);
                let leads_away = pattern.as_deref().filter(|pattern| {
                    pattern.starts_with(['/', '~']) || pattern.split('/').any(|segment| segment == "..")
                });
                let Some((pattern, base)) = leads_away.zip(self.resolve(folder_text)) else {
                    let sought = pattern.as_deref().zip(self.resolve(folder_text));
                    let further = sought.and_then(|(pattern, base)| self.judge_sought(pattern, &base));
                    return std::iter::once(folder).chain(further).collect();
                };
                // The pattern itself leads elsewhere: what lies before its first wildcard is where it looks.
                let literal = |segment: &&str| !segment.contains(['*', '?', '[', '{']);
                let fixed: Vec<&str> = pattern.split('/').take_while(literal).collect();
                let fixed = fixed.join("/");
                let start = if pattern.starts_with('~') {
                    self.resolve(&fixed)
                } else if pattern.starts_with('/') {
                    Some(crate::AbsPath::root().join(&fixed))
                } else {
                    Some(base.join(&fixed))
                };
                let behind = pattern.get(fixed.len()..).unwrap_or_default().trim_start_matches('/');
                let further = match start {
                    // A `..` behind a wildcard leads anywhere.
                    Some(_) if behind.split('/').any(|segment| segment == "..") => {
                        self.judge_unknown(pattern, Access::Read, cover)
                    }
                    Some(start) if behind.is_empty() => self.judge_path(&start, Access::Read, cover),
                    Some(start) => {
                        let whole = format!("{}/{behind}", start.as_str().trim_end_matches('/'));
                        self.judge_pattern(&start, &whole, Access::Read, false, cover)
                    }
                    None => Part::unknown(format!("reads {pattern}"), "the home folder is not known"),
                };
                vec![folder, further]
            }
        }
    }

    /// A pattern that seeks out what must not be read: `.env`, `**/*.pem`, `secrets/*`. A pattern for much else that
    /// could also find such a file (`**/*`) does not count.
    fn judge_sought(&self, pattern: &str, base: &crate::AbsPath) -> Option<Part> {
        examples(pattern).iter().find_map(|name| {
            let path = base.join(name);
            let subject = format!("looks for {pattern}");
            if self.is_own_secret(&path) {
                let reason = "it holds Portcullis' own secrets";
                return Some(Part::new(subject, Verdict::Deny, DecidedBy::Protection, reason));
            }
            self.narrowed(&path, &self.rules_on(&path), &[PathVerb::Read])
                .map(|id| Part::by_rule(self, id, subject))
        })
    }

    pub(super) fn judge_fetch(&self, url: &str) -> Part {
        let subject = format!("fetches {url}");
        let Some(host) = host_of(url) else {
            // Rules for every host speak about this one too, whichever it is.
            let ids = self.rules.index().hosts(None);
            let everything =
                |rule: &Rule| matches!(&rule.matcher, Matcher::Fetch(None)) && rule.effect != Effect::Allow;
            return match self.first(&ids, everything) {
                Some((id, _)) => Part::by_rule(self, id, subject),
                None if self.request.mode == Mode::Plan => Part::by_mode(
                    self,
                    ActionClass::Fetch,
                    subject,
                    "an address that can be read in several ways",
                ),
                None => Part::unknown(
                    subject,
                    "the address can be read in several ways, so its host is not known",
                ),
            };
        };
        let ids = self.rules.index().hosts(Some(&host));
        let covers =
            |rule: &Rule| matches!(&rule.matcher, Matcher::Fetch(p) if p.as_ref().is_none_or(|p| p.matches(&host)));
        let part = match self.first(&ids, covers) {
            Some((id, _)) => Part::by_rule(self, id, subject),
            None => Part::by_mode(self, ActionClass::Fetch, subject, "a fetch from the network").suggest(
                [format!("WebFetch(domain:{host})")]
                    .into_iter()
                    .filter(|_| !host.contains(':') && !is_deceptive(&host)),
            ),
        };
        part.unless_unknown(!is_deceptive(&host), "the host's name imitates another one")
    }

    /// A file under an address: it is read like one, and a tool for the web has no business there.
    pub(super) fn judge_file_address(&self, url: &str) -> Option<Part> {
        let path = file_of(url)?;
        let part = self.judge_path(&AbsPath::root().join(&path), Access::Read, Cover::None);
        Some(part.unless_unknown(false, "the address is one of a file"))
    }

    pub(super) fn judge_agent(&self, kind: &str) -> Part {
        let subject = if kind.is_empty() {
            "starts another agent".to_owned()
        } else {
            format!("starts another agent of type {kind}")
        };
        let covers =
            |rule: &Rule| matches!(&rule.matcher, Matcher::Agent(own) if own.as_ref().is_none_or(|own| own == kind));
        match self.first(&self.rules.index().agents(kind), covers) {
            Some((id, _)) => Part::by_rule(self, id, subject),
            None => Part::by_mode(
                self,
                ActionClass::StartAgent,
                subject,
                "its calls are judged one by one",
            ),
        }
    }

    pub(super) fn judge_skill(&self, name: &str, arguments: &str) -> Part {
        let subject = format!("runs skill {name} {arguments}").trim_end().to_owned();
        let covers = |rule: &Rule| matches!(&rule.matcher, Matcher::Skill(pattern) if pattern.matches(name));
        match self.first(&self.rules.index().skills(name), covers) {
            Some((id, _)) => Part::by_rule(self, id, subject),
            // A skill may begin with commands of its own, so one of a project that nobody trusts needs a person.
            None if !self.request.facts.project_trusted => {
                let part = Part::by_mode(
                    self,
                    ActionClass::UnknownTool,
                    subject,
                    "a skill in a project that is not trusted",
                );
                Part {
                    verdict: part.verdict.max(Verdict::Ask),
                    ..part
                }
            }
            None => Part::by_mode(self, ActionClass::RunSkill, subject, "a skill of a trusted project"),
        }
    }
}

/// The rule that allows a tool by its name, if its name can stand in one.
pub(super) fn tool_suggestion(name: &str) -> Option<String> {
    crate::rule::parse(name, Effect::Allow).ok().map(|_| name.to_owned())
}

/// Names that a file pattern is meant for: folders that a wildcard stands for are left out, and wildcards in the name
/// stand for nothing and for a letter. Of `{a,b}` each is taken.
fn examples(pattern: &str) -> Vec<String> {
    let (folders, last) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let folders: Vec<&str> = folders
        .split('/')
        .filter(|segment| !segment.is_empty() && !segment.contains(['*', '?', '[', '{']))
        .collect();
    let names: Vec<String> = match (last.split_once('{'), last.rsplit_once('}')) {
        (Some((before, _)), Some((inner, after))) => inner
            .get(before.len() + 1..)
            .unwrap_or_default()
            .split(',')
            .take(MAX_EXAMPLES)
            .map(|choice| format!("{before}{choice}{after}"))
            .collect(),
        _ => vec![last.to_owned()],
    };
    let mut out = Vec::new();
    for name in names {
        for stand_in in ["", "x"] {
            let name = name.replace("**", "*").replace(['*', '?'], stand_in);
            let mut path = folders.join("/");
            path.push('/');
            path.push_str(&name);
            out.push(path.trim_matches('/').to_owned());
        }
    }
    out.retain(|name| !name.is_empty());
    out
}

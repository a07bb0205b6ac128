//! Sends cases through the daemon and the server that are running, instead of judging them here: `policy test --server`.
//!
//! A host's daemon looks facts up by itself and believes no client, so a case has to be made real: below a temporary folder
//! of its own, with its files, its links and its rules as the documents of a project that is trusted for the time. What the
//! wire or a host cannot be made to say (facts that are made up, rules of the team) makes the case one that is not sent, which
//! is counted and named. An MCP server that a case calls stands in the project's `.mcp.json` for the time, and counts as
//! approved by the session's flag; nothing starts it. Each call is decided and recorded like any other.
//!
//! The team's active policy and this person's own policy are in force, too. Whoever wants the cases alone uses a server with
//! an empty policy.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{DirBuilderExt as _, symlink},
    path::{Path, PathBuf},
};

use portcullis_client::{Answer, CallError, Host, HostOptions, Interactivity, Question, answer};
use portcullis_policy::{
    Action, DecidedBy, Decision, Effect, Facts, Layer, RuleRef, TraceEntry, Verdict,
    cases::Case,
    facts::{Approval, Launch, Repositories, Repository, SandboxOffer},
    facts_needed, request,
};
use serde_json::{Map, Value, json};

use crate::cli::{args::HostArgs, failure::Failure};

/// A daemon, and the folder in which cases are made real. Both the folder and the trust in its projects end with it.
pub(super) struct Through {
    host: Host,
    folder: PathBuf,
    trusted: BTreeSet<String>,
}

impl Through {
    pub(super) async fn connect(host: &HostArgs) -> Result<Self, Failure> {
        let host = Host::connect(&host.options(HostOptions::DEADLINE)?).await?;
        let failed = |cause| Failure::io("cannot make a temporary folder", cause);
        let base = fs::canonicalize(std::env::temp_dir()).map_err(failed)?;
        let folder = base.join(format!("portcullis-test-{}", uuid::Uuid::now_v7()));
        // Nobody else's: what lies in it is about to be trusted.
        fs::DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
        Ok(Self {
            host,
            folder,
            trusted: BTreeSet::new(),
        })
    }

    /// What the server decides; the inner error says why the case cannot be made real.
    pub(super) async fn decide(&mut self, case: &Case) -> Result<Result<Decision, String>, Failure> {
        let moved = match Moved::of(case, &self.folder) {
            Ok(moved) => moved,
            Err(why) => return Ok(Err(why)),
        };
        let failed = |cause| Failure::io(format!("cannot make the files of the case `{}`", case.name), cause);
        let made = moved.make().map_err(failed)?;
        let root = moved.text(case.setting.workspace.root.as_str());
        let trusts = case.setting.facts.project_trusted;
        if trusts && !self.trusted.contains(&root) {
            self.host.trust_project(&root).await?;
            self.trusted.insert(root.clone());
        } else if !trusts && self.trusted.remove(&root) {
            self.host.untrust_project(&root).await?;
        }
        let answer = self.host.decide(&moved.question()).await;
        for path in made {
            fs::remove_file(path).map_err(failed)?;
        }
        match answer {
            Ok(answer) => Ok(decision(&answer)),
            // One call that the wire does not carry is no reason to leave the others out.
            Err(CallError::Invalid { message, .. }) => Ok(Err(format!("the server does not take the call: {message}"))),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Takes trust back and removes the folder.
    pub(super) async fn finish(self) -> Result<(), Failure> {
        for root in &self.trusted {
            self.host.untrust_project(root).await?;
        }
        let failed = |cause| Failure::io(format!("cannot remove `{}`", self.folder.display()), cause);
        fs::remove_dir_all(&self.folder).map_err(failed)
    }
}

/// A case whose paths lie below another folder.
struct Moved<'a> {
    case: &'a Case,
    /// What is replaced by what: home and workspace of the case.
    places: Vec<(String, String)>,
    documents: Vec<(&'static str, String)>,
    session: (Vec<String>, Vec<String>),
    approves_servers: bool,
}

/// The MCP servers of a case, as a project's configuration.
#[derive(Default)]
struct McpServers {
    file: Option<(&'static str, String)>,
    approved: bool,
}

impl McpServers {
    fn of(case: &Case) -> Result<Self, String> {
        let Action::Mcp { server, .. } = &case.request.call.action else {
            return Ok(Self::default());
        };
        if !case.setting.facts.project_trusted {
            return Err("it calls an MCP server in a project that is not trusted, which can bring none".to_owned());
        }
        let definitions = &case.request.facts.mcp_servers;
        let approved = definitions.iter().all(|own| own.approval == Approval::Given);
        let known = approved || definitions.iter().all(|own| own.approval == Approval::None);
        if !known || definitions.iter().any(|own| !own.read_only_tools.is_empty()) {
            return Err("it states what a person approved, or what a server says of its tools".to_owned());
        }
        let mut servers = Map::new();
        for own in definitions {
            let definition = match &own.launch {
                Launch::Command { words, environment } if environment.is_empty() => match words.split_first() {
                    Some((program, arguments)) => json!({ "command": program, "args": arguments }),
                    None => return Err("its MCP server starts nothing".to_owned()),
                },
                Launch::Url(url) => json!({ "type": "http", "url": url }),
                Launch::Command { .. } | Launch::Unknown => {
                    return Err("how its MCP server is started cannot be written down".to_owned());
                }
            };
            if servers.insert(own.name.clone(), definition).is_some() {
                return Err(format!("it defines the MCP server `{server}` twice"));
            }
        }
        let text = json!({ "mcpServers": servers }).to_string();
        Ok(Self {
            file: Some((".mcp.json", text)),
            approved,
        })
    }
}

impl<'a> Moved<'a> {
    fn of(case: &'a Case, folder: &Path) -> Result<Self, String> {
        let setting = &case.setting;
        let facts = &setting.facts;
        let servers = McpServers::of(case)?;
        let ordinary = Facts {
            vouched: true,
            project_trusted: facts.project_trusted,
            repository: facts.repository.clone(),
            repositories: facts.repositories.clone(),
            sandbox: SandboxOffer::None,
            // What of them can be made real is settled above.
            mcp_servers: facts.mcp_servers.clone(),
            ..Facts::default()
        };
        let quiet = match &facts.repository {
            Repository::Known { executing_keys, .. } => executing_keys.is_empty(),
            Repository::None => true,
            Repository::Unknown => false,
        };
        let without_remotes = match &facts.repositories {
            Repositories::Known(all) => all.iter().all(|repository| repository.remotes.is_empty()),
            Repositories::Unknown => false,
        };
        if *facts != ordinary || !quiet || !without_remotes || !setting.programs.is_empty() {
            return Err("it states facts that a host finds out by itself".to_owned());
        }
        let folder = folder.to_str().ok_or("the temporary folder is not UTF-8")?;
        let workspace = &setting.workspace;
        let mut places: Vec<(String, String)> = [workspace.home.as_ref(), Some(&workspace.root), Some(&workspace.cwd)]
            .into_iter()
            .flatten()
            .map(|path| (path.as_str().to_owned(), format!("{folder}{path}")))
            .collect();
        // What lies in another place moves with it.
        places.dedup();
        let outer: Vec<String> = places.iter().map(|(from, _)| from.clone()).collect();
        places.retain(|(from, _)| !outer.iter().any(|other| from.starts_with(&format!("{other}/"))));
        let mut moved = Self {
            case,
            places,
            documents: Vec::new(),
            session: (Vec::new(), Vec::new()),
            approves_servers: servers.approved,
        };
        moved.documents.extend(servers.file);
        for (layer, text) in &case.texts {
            let text = moved.text(text);
            match layer {
                // The rules of a row are its user's; on a host that is the person's own file, which is not to be touched. The
                // local layer says the same in a project that is trusted, and only there.
                Layer::User if !facts.project_trusted => {
                    return Err("rules of the user cannot be put in force in a project that is not trusted".to_owned());
                }
                Layer::User | Layer::Local => moved.documents.push((".portcullis/local.jsonc", text)),
                Layer::Project => moved.documents.push((".portcullis/policy.jsonc", text)),
                Layer::Session => {
                    let document = case
                        .documents
                        .iter()
                        .find(|document| document.origin.layer == Layer::Session);
                    for rule in document.iter().flat_map(|document| &document.rules) {
                        let text = moved.text(&rule.source.text);
                        match rule.effect {
                            Effect::Allow => moved.session.0.push(text),
                            Effect::Deny => moved.session.1.push(text),
                            Effect::Ask => return Err("a session has no ask rules on the wire".to_owned()),
                        }
                    }
                }
                Layer::Team | Layer::Builtin => {
                    return Err("rules of the team have to be pushed, which a test does not do".to_owned());
                }
            }
        }
        let mut files: Vec<&str> = moved.documents.iter().map(|(file, _)| *file).collect();
        files.sort_unstable();
        if files.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err("two documents would have to stand in one file".to_owned());
        }
        let outside = |path: &&portcullis_policy::AbsPath| moved.text(path.as_str()) == path.as_str();
        if setting
            .files
            .iter()
            .chain(setting.links.keys())
            .any(|path| outside(&path))
        {
            return Err("it has files outside of home and workspace".to_owned());
        }
        Ok(moved)
    }

    /// A text with all paths of the case moved.
    fn text(&self, text: &str) -> String {
        self.places
            .iter()
            .fold(text.to_owned(), |text, (from, to)| replace_paths(&text, from, to))
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(object) => self.object(object).into(),
            other => other.clone(),
        }
    }

    fn object(&self, object: &Map<String, Value>) -> Map<String, Value> {
        object
            .iter()
            .map(|(key, value)| (key.clone(), self.value(value)))
            .collect()
    }

    /// Makes files, links and documents. Returns those that have to go before the next case.
    fn make(&self) -> std::io::Result<Vec<PathBuf>> {
        let setting = &self.case.setting;
        let mut made = Vec::new();
        for folder in [&setting.workspace.cwd, &setting.workspace.root] {
            fs::create_dir_all(self.text(folder.as_str()))?;
        }
        let mut place = |path: PathBuf| -> std::io::Result<PathBuf> {
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            made.push(path.clone());
            Ok(path)
        };
        for (link, target) in &setting.links {
            symlink(self.text(target), place(self.text(link.as_str()).into())?)?;
        }
        for file in &setting.files {
            fs::write(place(self.text(file.as_str()).into())?, "")?;
        }
        let root = PathBuf::from(self.text(setting.workspace.root.as_str()));
        for (name, text) in &self.documents {
            fs::write(place(root.join(name))?, text)?;
        }
        Ok(made)
    }

    fn question(&self) -> Question {
        let setting = &self.case.setting;
        let call = &self.case.request.call;
        let cwd = self.text(setting.workspace.cwd.as_str());
        let mut question = Question::tool(&setting.agent, &cwd, &call.tool_name, self.object(&call.input));
        question.mode = Some(setting.mode);
        question.interactivity = match setting.interactivity {
            request::Interactivity::Interactive => Interactivity::Interactive,
            request::Interactivity::Headless => Interactivity::Headless,
        };
        question.roots = vec![self.text(setting.workspace.root.as_str())];
        // MCP servers are configured in a home, too, and the daemon knows that of its own user alone. The call of one names no
        // path, so the case's home says nothing about it.
        let calls_server = matches!(call.action, Action::Mcp { .. });
        if let Some(home) = setting.workspace.home.as_ref().filter(|_| !calls_server) {
            question.home = self.text(home.as_str());
        }
        (question.session_allow, question.session_deny) = self.session.clone();
        question.approve_mcp_servers = self.approves_servers;
        question
    }
}

/// A program that a call needs, that a case takes for granted, and that this host does not have.
pub(super) fn missing_program(case: &Case) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let is_there = |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let needed = facts_needed(&case.request.call.action, &case.setting.workspace).programs;
    needed.into_iter().find(|name| !name.contains('/') && !is_there(name))
}

/// Replaces a path and what lies below it, not names that merely begin so.
fn replace_paths(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(from) {
        out.push_str(before);
        let name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        out.push_str(if after.starts_with(name) { from } else { to });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// An answer as the decision that the engine would give.
fn decision(answer: &Answer) -> Result<Decision, String> {
    let unknown = "the server answers with words that this version does not know";
    let rule = |rule: &answer::RuleRef| {
        Some(RuleRef {
            layer: rule.layer?,
            document: rule.document.as_str().into(),
            line: rule.line,
            column: rule.column,
            text: rule.text.as_str().into(),
            name: Some(rule.name.as_str()).filter(|name| !name.is_empty()).map(Into::into),
            effect: match rule.effect? {
                Verdict::Allow => Effect::Allow,
                Verdict::Ask => Effect::Ask,
                Verdict::Deny => Effect::Deny,
            },
        })
    };
    let trace = answer.trace.iter().map(|part| {
        Some(TraceEntry {
            subject: part.subject.clone(),
            seen_through: part.seen_through.clone(),
            verdict: part.verdict?,
            decided_by: by(part.decided_by?),
            rule: part.rule.as_ref().and_then(rule),
            reason: part.reason.clone(),
        })
    });
    Ok(Decision {
        verdict: answer.verdict(),
        decided_by: by(answer.decided_by),
        rule: answer.rule.as_ref().and_then(rule),
        trace: trace.collect::<Option<Vec<_>>>().ok_or(unknown)?,
        left_out: 0,
        user_message: answer.user_message.clone(),
        agent_message: answer.agent_message.clone(),
        obligations: Vec::new(),
        suggested_rules: answer.suggested_rules.clone(),
    })
}

fn by(by: answer::DecidedBy) -> DecidedBy {
    match by {
        answer::DecidedBy::Rule => DecidedBy::Rule,
        answer::DecidedBy::Mode => DecidedBy::Mode,
        answer::DecidedBy::Protection => DecidedBy::Protection,
        answer::DecidedBy::Control => DecidedBy::Control,
        answer::DecidedBy::Sandbox => DecidedBy::Sandbox,
        answer::DecidedBy::Classifier => DecidedBy::Classifier,
        answer::DecidedBy::Failure => DecidedBy::Failure,
    }
}

#[cfg(test)]
mod tests {
    use super::replace_paths;

    #[test]
    fn a_path_moves_with_what_lies_below_it_and_names_that_begin_so_stay() {
        let moved = |text| replace_paths(text, "/home/dev", "/t/home/dev");
        assert_eq!(
            moved("cat /home/dev/a; ls /home/dev"),
            "cat /t/home/dev/a; ls /t/home/dev"
        );
        assert_eq!(moved("/home/developer /home/dev.old"), "/home/developer /home/dev.old");
        assert_eq!(moved("Read(//home/dev/x)"), "Read(//t/home/dev/x)");
    }
}

//! A mix of rules as teams have them, in any number, and the calls that are decided.

use std::sync::Arc;

use portcullis_policy::{
    AbsPath, DocumentOrigin, Effect, EffectiveRuleset, Facts, Layer, Mode, PolicyDocument, Request,
    call::normalise,
    facts::{PathFact, PathKind, Repository},
    facts_needed,
    mode::Session,
    request::{Interactivity, Workspace},
};
use serde_json::json;

/// The simple command.
pub(crate) const SIMPLE: &str = "git status";

/// What a rule is about; each kind stands for an eighth of the mix.
#[derive(Clone, Debug)]
pub(crate) enum About {
    /// A command that begins so, with a blank behind it or nothing.
    Command(String),
    /// Files below this folder.
    Below { write: bool, folder: String },
    /// A file of this name anywhere in the project.
    Named(String),
    /// A host.
    Host(String),
    /// The tools of a server that begin so.
    Mcp { server: String, tool: String },
}

/// The rules of a mix of this size.
pub(crate) fn list(size: usize) -> Vec<(Effect, About)> {
    let mut out = vec![(Effect::Allow, About::Command(SIMPLE.to_owned()))];
    let file = |write, folder| About::Below { write, folder };
    out.extend((1..size).map(|n| match n % 8 {
        0 => (Effect::Deny, About::Command(format!("tool{n} --force"))),
        1 => (Effect::Allow, About::Command(format!("tool{n} run"))),
        2 => (Effect::Allow, About::Command(format!("git sub{n}"))),
        3 => (Effect::Deny, file(false, format!("/srv/vault/p{n}"))),
        4 => (Effect::Allow, file(true, format!("/srv/build/q{n}"))),
        5 => (Effect::Deny, About::Named(format!("secret{n}.key"))),
        6 => (Effect::Allow, About::Host(format!("h{n}.example.test"))),
        _ => {
            let (server, tool) = (format!("srv{n}"), "get_".to_owned());
            (Effect::Ask, About::Mcp { server, tool })
        }
    }));
    out
}

impl About {
    fn text(&self) -> String {
        match self {
            Self::Command(beginning) => format!("Bash({beginning} *)"),
            Self::Below { write: false, folder } => format!("Read(/{folder}/**)"),
            Self::Below { write: true, folder } => format!("Edit(/{folder}/**)"),
            Self::Named(name) => format!("Read({name})"),
            Self::Host(host) => format!("WebFetch(domain:{host})"),
            Self::Mcp { server, tool } => format!("mcp__{server}__{tool}*"),
        }
    }
}

/// The same as documents, each within the bounds of one.
pub(crate) fn texts(size: usize) -> Vec<String> {
    let of = |rules: &[(Effect, About)], effect| -> Vec<String> {
        let own = rules.iter().filter(|(other, _)| *other == effect);
        own.map(|(_, about)| about.text()).collect()
    };
    list(size)
        .chunks(PolicyDocument::MAX_RULES)
        .map(|rules| {
            let (allow, ask, deny) = (
                of(rules, Effect::Allow),
                of(rules, Effect::Ask),
                of(rules, Effect::Deny),
            );
            json!({ "permissions": { "allow": allow, "ask": ask, "deny": deny } }).to_string()
        })
        .collect()
}

pub(crate) fn documents(texts: &[String]) -> Vec<Arc<PolicyDocument>> {
    let read = |(number, text): (usize, &String)| {
        let origin = DocumentOrigin {
            layer: Layer::Team,
            name: format!("team policy {number}"),
            folder: None,
        };
        Arc::new(PolicyDocument::parse(text, origin).unwrap())
    };
    texts.iter().enumerate().map(read).collect()
}

pub(crate) fn ruleset(size: usize) -> EffectiveRuleset {
    EffectiveRuleset::merge(&documents(&texts(size)), true)
}

/// Twenty commands as agents chain them.
pub(crate) fn twenty_parts() -> String {
    let five = "git status && ls -l src && cat src/a.rs | head -5; tool9 run --fast; mkdir -p out";
    [
        five,
        "grep -n x src/b.rs",
        five,
        "echo done > out/log",
        five,
        "git sub10 -v",
    ]
    .join(" && ")
}

/// The commands of [`twenty_parts`], one by one, as the other engines are given them.
#[cfg(feature = "others")]
pub(crate) fn parts() -> Vec<String> {
    let line = twenty_parts().replace(" > out/log", "");
    let parts = line.split([';', '|', '&']).map(str::trim);
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// How many of them a rule allows: `git status` always, `tool9 run` and `git sub10` once the mix is large enough.
#[cfg(feature = "others")]
pub(crate) fn parts_allowed(size: usize) -> usize {
    let covers = |command: &String| {
        let mut rules = list(size).into_iter().filter(|(effect, _)| *effect == Effect::Allow);
        rules.any(|(_, about)| matches!(about, About::Command(beginning) if command.starts_with(&beginning)))
    };
    parts().iter().filter(|part| covers(part)).count()
}

/// A command with very many words.
pub(crate) fn hundred_kilobytes() -> String {
    format!("git status {}", "word ".repeat(20_000))
}

/// A request of a trusted project on a host that found everything out.
pub(crate) fn request(command: &str) -> Request {
    let path = |text: &str| AbsPath::parse(text).unwrap();
    let workspace = Workspace {
        root: path("/home/dev/proj"),
        additional_roots: Vec::new(),
        cwd: path("/home/dev/proj"),
        home: Some(path("/home/dev")),
    };
    let input = json!({ "command": command });
    let call = normalise("claude", "Bash", input.as_object().unwrap().clone()).unwrap();
    let needed = facts_needed(&call.action, &workspace);
    let fact = |named: AbsPath| {
        let real = Some(named.clone());
        let kind = PathKind::File;
        (named, PathFact { real, kind })
    };
    let facts = Facts {
        vouched: true,
        paths: needed.paths.into_iter().map(fact).collect(),
        programs: needed
            .programs
            .into_iter()
            .map(|name| (name.clone(), Some(path("/usr/bin").join(&name))))
            .collect(),
        repository: Repository::Known {
            root: workspace.root.clone(),
            executing_keys: Vec::new(),
        },
        project_trusted: true,
        ..Facts::default()
    };
    Request {
        agent: "claude".to_owned(),
        mode: Mode::Default,
        interactivity: Interactivity::Interactive,
        workspace,
        call,
        facts,
        sandboxed_execution: false,
        session: Session::default(),
    }
}

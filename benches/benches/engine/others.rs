//! The same rules for two other policy engines, as a person who knows them would write them.
//!
//! **Cedar**: one policy per rule, `permit` for allow and `forbid` for deny and ask, with the kind of call as the action and
//! the words in the context, compared by `like`. Cedar looks at each policy for each request; a scope that names the action
//! lets it pass over the others quickly.
//!
//! **Rego**: rules as data, which is how large rule sets are kept there, and a short policy that compares by `startswith`.
//! Two ways: [`Keys::Kind`] keeps them by kind of call and walks all of the kind; [`Keys::Program`] keeps those on commands by
//! their first word besides, so that a call meets only those of its program. The second is what an expert would write.
//! Each rule as a Rego rule of its own is slower than either.
//!
//! Neither takes a shell line apart, looks at files or knows modes: they are given the words of each command, and look whether
//! a rule covers them. So they have far less to do, and what is compared is how they find the rule.

use std::str::FromStr;

use cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityUid, Policy, PolicyId, PolicySet, Request, RestrictedExpression,
};
use portcullis_policy::Effect;
use regorus::{Engine, Value};
use serde_json::json;

use crate::rules::About;

impl About {
    /// The kind of call, what its words begin with, and what they end with.
    fn plain(&self) -> (&'static str, String, String) {
        match self {
            Self::Command(beginning) => ("shell", beginning.clone(), String::new()),
            Self::Below { write, folder } => (
                if *write { "edit" } else { "read" },
                format!("{folder}/"),
                String::new(),
            ),
            Self::Named(name) => ("read", String::new(), format!("/{name}")),
            Self::Host(host) => ("fetch", host.clone(), String::new()),
            Self::Mcp { server, tool } => ("mcp", format!("{server}__{tool}"), String::new()),
        }
    }
}

/// Cedar with its policies, and a request for each command.
pub(crate) struct Cedar {
    policies: PolicySet,
    requests: Vec<Request>,
    entities: Entities,
    authorizer: Authorizer,
}

impl Cedar {
    pub(crate) fn new(rules: &[(Effect, About)], commands: &[String]) -> Self {
        let mut policies = PolicySet::new();
        for (number, (effect, about)) in rules.iter().enumerate() {
            let word = if *effect == Effect::Allow { "permit" } else { "forbid" };
            let (kind, begin, end) = about.plain();
            let text = format!(
                "{word}(principal, action == Action::\"{kind}\", resource) when {{ context.words like \"{begin}*{end}\" }};"
            );
            let policy = Policy::parse(Some(PolicyId::new(format!("r{number}"))), text).unwrap();
            policies.add(policy).unwrap();
        }
        let id = |text: &str| EntityUid::from_str(text).unwrap();
        let request = |command: &String| {
            let words = RestrictedExpression::new_string(command.clone());
            let context = Context::from_pairs([("words".to_owned(), words)]).unwrap();
            let (agent, action, host) = (id("Agent::\"a\""), id("Action::\"shell\""), id("Host::\"h\""));
            Request::new(agent, action, host, context, None).unwrap()
        };
        Self {
            policies,
            requests: commands.iter().map(request).collect(),
            entities: Entities::empty(),
            authorizer: Authorizer::new(),
        }
    }

    /// How many of the commands it allows; it decides about each.
    pub(crate) fn allowed(&mut self) -> usize {
        let decide = |request: &&Request| {
            let response = self.authorizer.is_authorized(request, &self.policies, &self.entities);
            response.decision() == Decision::Allow
        };
        self.requests.iter().filter(decide).count()
    }
}

/// How the rules are kept as data for Rego.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// By the kind of call.
    Kind,
    /// By the kind of call, and those on commands by their first word.
    Program,
}

const POLICY: &str = r#"
package portcullis

import rego.v1

covers(rule) if {
    startswith(input.words, rule.begin)
    endswith(input.words, rule.end)
}

default allow := false

denied if {
    some rule in data.narrow[input.key]
    covers(rule)
}

allow if {
    not denied
    some rule in data.allow[input.key]
    covers(rule)
}
"#;

/// regorus with its data, and an input for each command.
pub(crate) struct Rego {
    engine: Engine,
    inputs: Vec<Value>,
}

impl Rego {
    pub(crate) fn new(rules: &[(Effect, About)], commands: &[String], keys: Keys) -> Self {
        let key = |kind: &str, words: &str| match keys {
            Keys::Program if kind == "shell" => {
                format!("{kind} {}", words.split(' ').next().unwrap_or_default())
            }
            _ => kind.to_owned(),
        };
        let mut data = json!({ "allow": {}, "narrow": {} });
        for (effect, about) in rules {
            let list = if *effect == Effect::Allow { "allow" } else { "narrow" };
            let (kind, begin, end) = about.plain();
            let rules = &mut data[list][key(kind, &begin)];
            if rules.is_null() {
                *rules = json!([]);
            }
            rules
                .as_array_mut()
                .unwrap()
                .push(json!({ "begin": begin, "end": end }));
        }
        let mut engine = Engine::new();
        engine
            .add_policy("portcullis.rego".to_owned(), POLICY.to_owned())
            .unwrap();
        engine.add_data_json(&data.to_string()).unwrap();
        let input = |command: &String| {
            let input = json!({ "key": key("shell", command), "words": command });
            Value::from_json_str(&input.to_string()).unwrap()
        };
        Self {
            engine,
            inputs: commands.iter().map(input).collect(),
        }
    }

    /// How many of the commands it allows; it decides about each.
    pub(crate) fn allowed(&mut self) -> usize {
        let mut allowed = 0;
        for input in &self.inputs {
            self.engine.set_input(input.clone());
            let value = self.engine.eval_rule("data.portcullis.allow".to_owned()).unwrap();
            allowed += usize::from(value == Value::from(true));
        }
        allowed
    }
}

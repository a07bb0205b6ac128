//! The same rules for two other policy engines, as a person who knows them would write them.
//!
//! **Cedar**: one policy per rule, `permit` for allow and `forbid` for deny and ask, with the kind of call as the action and
//! the words in the context, compared by `like`. Cedar looks at each policy for each request; a scope that names the action
//! lets it pass over the others quickly.
//!
//! **Rego**: rules as data under the kind of call, which is how large rule sets are kept there, and a policy of three lines
//! that walks those of the call's kind and compares by `startswith`. Each rule as a Rego rule of its own is slower.
//!
//! Neither takes a shell line apart: they are given the words of the one command, so they have less to do.

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
            Self::Below { write, folder } => (if *write { "edit" } else { "read" }, format!("{folder}/"), String::new()),
            Self::Named(name) => ("read", String::new(), format!("/{name}")),
            Self::Host(host) => ("fetch", host.clone(), String::new()),
            Self::Mcp { server, tool } => ("mcp", format!("{server}__{tool}"), String::new()),
        }
    }
}

/// Cedar with its policies and one request.
pub(crate) struct Cedar {
    policies: PolicySet,
    request: Request,
    entities: Entities,
    authorizer: Authorizer,
}

impl Cedar {
    pub(crate) fn new(rules: &[(Effect, About)], command: &str) -> Self {
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
        let words = RestrictedExpression::new_string(command.to_owned());
        let context = Context::from_pairs([("words".to_owned(), words)]).unwrap();
        let (agent, action, host) = (id("Agent::\"a\""), id("Action::\"shell\""), id("Host::\"h\""));
        Self {
            policies,
            request: Request::new(agent, action, host, context, None).unwrap(),
            entities: Entities::empty(),
            authorizer: Authorizer::new(),
        }
    }

    pub(crate) fn allows(&mut self) -> bool {
        let response = self
            .authorizer
            .is_authorized(&self.request, &self.policies, &self.entities);
        response.decision() == Decision::Allow
    }
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
    some rule in data.narrow[input.kind]
    covers(rule)
}

allow if {
    not denied
    some rule in data.allow[input.kind]
    covers(rule)
}
"#;

/// regorus with its data and one input.
pub(crate) struct Rego(Engine);

impl Rego {
    pub(crate) fn new(rules: &[(Effect, About)], command: &str) -> Self {
        let mut data = json!({ "allow": {}, "narrow": {} });
        for (effect, about) in rules {
            let list = if *effect == Effect::Allow { "allow" } else { "narrow" };
            let (kind, begin, end) = about.plain();
            let rules = &mut data[list][kind];
            if rules.is_null() {
                *rules = json!([]);
            }
            rules.as_array_mut().unwrap().push(json!({ "begin": begin, "end": end }));
        }
        let mut engine = Engine::new();
        engine.add_policy("portcullis.rego".to_owned(), POLICY.to_owned()).unwrap();
        engine.add_data_json(&data.to_string()).unwrap();
        engine.set_input(Value::from_json_str(&json!({ "kind": "shell", "words": command }).to_string()).unwrap());
        Self(engine)
    }

    pub(crate) fn allows(&mut self) -> bool {
        let value = self.0.eval_rule("data.portcullis.allow".to_owned()).unwrap();
        value == Value::from(true)
    }
}

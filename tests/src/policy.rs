//! Writes policy documents for tests.

use serde_json::json;

/// A document of `permissions`.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
    sandbox: Option<serde_json::Value>,
}

impl Policy {
    /// A document without rules.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an allow rule.
    #[must_use]
    pub fn allow(mut self, rule: &str) -> Self {
        self.allow.push(rule.to_owned());
        self
    }

    /// Adds an ask rule.
    #[must_use]
    pub fn ask(mut self, rule: &str) -> Self {
        self.ask.push(rule.to_owned());
        self
    }

    /// Adds a deny rule.
    #[must_use]
    pub fn deny(mut self, rule: &str) -> Self {
        self.deny.push(rule.to_owned());
        self
    }

    /// Says something about the sandbox: the section `sandbox`.
    #[must_use]
    pub fn sandbox(mut self, section: serde_json::Value) -> Self {
        self.sandbox = Some(section);
        self
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut document = json!({"permissions": {"allow": self.allow, "ask": self.ask, "deny": self.deny}});
        if let (Some(sandbox), Some(document)) = (&self.sandbox, document.as_object_mut()) {
            document.insert("sandbox".to_owned(), sandbox.clone());
        }
        format!("// Written by a test.\n{document:#}\n")
    }
}

#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

pub mod call;
pub mod cases;
pub mod controls;
pub mod credentials;
pub mod decision;
pub mod document;
pub mod evaluate;
pub mod explain;
pub mod facts;
pub mod import;
pub mod layer;
pub mod lint;
pub mod mode;
pub mod network;
pub mod path;
pub mod protected;
pub mod redact;
pub mod request;
pub mod rule;
pub mod ruleset;
pub mod sandbox;
pub mod shell;
pub mod starter;
pub mod verdict;

pub use call::{Action, ToolCall};
pub use decision::{DecidedBy, Decision, Obligation, TraceEntry};
pub use document::{DocumentOrigin, Fault, PolicyDocument};
pub use evaluate::{evaluate, facts_needed};
pub use explain::{Explanation, explain};
pub use facts::Facts;
pub use layer::Layer;
pub use lint::lint;
pub use mode::Mode;
pub use path::AbsPath;
pub use request::Request;
pub use rule::{Rule, RuleRef};
pub use ruleset::EffectiveRuleset;
pub use verdict::{Effect, Verdict};

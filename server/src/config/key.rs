//! The keys of the configuration, as data: name, kind, default, and why that default.

use std::path::PathBuf;

use super::{Fault, Sources};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number within these bounds.
    Number {
        /// The least that is accepted.
        min: u64,
        /// The most that is accepted.
        max: u64,
    },
}

impl Kind {
    /// The value as it would stand in a file.
    #[must_use]
    pub fn printed(self, value: &str) -> String {
        match self {
            Self::Text => toml::Value::String(value.to_owned()).to_string(),
            Self::Bool | Self::Number { .. } => value.to_owned(),
        }
    }
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name in a file. In the environment: `PORTCULLIS_SERVER_` and the name in capitals.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// What it is if nobody sets it.
    pub default: &'static str,
}

const fn text(name: &'static str, default: &'static str) -> Key {
    Key {
        name,
        kind: Kind::Text,
        default,
    }
}

const fn switch(name: &'static str, default: &'static str) -> Key {
    Key {
        name,
        kind: Kind::Bool,
        default,
    }
}

const fn number(name: &'static str, default: &'static str, min: u64, max: u64) -> Key {
    Key {
        name,
        kind: Kind::Number { min, max },
        default,
    }
}

/// All keys, in the order in which they are shown.
pub const KEYS: [Key; 21] = [
    // Its default depends on the environment; see `Sources::read`.
    text("data_dir", ""),
    // Loopback: a server for this machine needs no certificate. The port is not assigned to anybody.
    text("listen", "127.0.0.1:7451"),
    text("tls_certificate", ""),
    text("tls_key", ""),
    // Tokens in plain text on a network are everybody's tokens.
    switch("allow_plaintext", "false"),
    // What it tells is published anyway, and grpcurl works with it.
    switch("reflection", "true"),
    // Longer than any call may take (`call_timeout_ms`), so that nobody at work is cut off.
    number("drain_ms", "12000", 0, 600_000),
    // Each may hold a request of 16 MiB, so 2 GiB at worst; at 5 ms a decision this is 25,000 a second.
    number("max_calls", "128", 1, 65_536),
    // Below the 1024 open files that most systems give a process, with room for the database. More wait to be accepted.
    number("max_connections", "900", 1, 1_048_576),
    // One host's daemon is one connection; an agent rarely has more than ten tool calls under way.
    number("max_streams_per_connection", "256", 1, 65_536),
    // Each holds at most 64 records in memory.
    number("max_tails", "64", 1, 65_536),
    // Above the longest that a client waits for a decision (5 s), with room for a push of a large policy.
    number("call_timeout_ms", "10000", 100, 600_000),
    // Below what hosts (4 s) and clients (5 s) wait, so that the caller hears our reason and not just silence.
    number("decide_deadline_ms", "3000", 10, 60_000),
    // Evaluations need the processor, so more than a few times the usual number of cores only makes all of them late.
    number("max_evaluations", "16", 1, 1024),
    // One per session and policy version; a ruleset is some 100 KiB, so some 50 MiB at worst.
    number("snapshot_cache_entries", "512", 1, 65_536),
    // A command starts within seconds of its decision; a minute covers a busy machine.
    number("ticket_lifetime_ms", "60000", 1000, 600_000),
    // Ten batches' worth; what waits behind them would be late anyway.
    number("store_queue", "2560", 1, 1_048_576),
    // Inserting so many takes about as long as the flush they share.
    number("store_batch", "256", 1, 65_536),
    // Token look-ups are short; long queries of auditors must not take all connections.
    number("store_readers", "8", 1, 64),
    text("log_format", "text"),
    // Starts, stops, pushes and failures; not every decision, which is in the trail.
    text("log_filter", "info"),
];

pub(super) fn text_of(sources: &Sources, key: &str, faults: &mut Vec<Fault>) -> Option<String> {
    sources.checked(key, faults, |text| Ok(text.to_owned()))
}

pub(super) fn path_of(sources: &Sources, key: &str, faults: &mut Vec<Fault>) -> Option<PathBuf> {
    sources.checked(key, faults, |text| {
        let path = PathBuf::from(text);
        if path.as_os_str().is_empty() {
            Err("the path of a folder".to_owned())
        } else {
            Ok(path)
        }
    })
}

pub(super) fn bool_of(sources: &Sources, key: &str, faults: &mut Vec<Fault>) -> Option<bool> {
    choice_of(sources, key, faults, &[("true", true), ("false", false)])
}

pub(super) fn choice_of<T: Copy>(
    sources: &Sources,
    key: &str,
    faults: &mut Vec<Fault>,
    choices: &[(&str, T)],
) -> Option<T> {
    sources.checked(key, faults, |text| {
        let found = choices.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        found.ok_or_else(|| choices.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" or "))
    })
}

pub(super) fn number_of(sources: &Sources, key: &str, faults: &mut Vec<Fault>) -> Option<u64> {
    let kind = KEYS.iter().find(|known| known.name == key).map(|known| known.kind);
    let Some(Kind::Number { min, max }) = kind else {
        return None;
    };
    sources.checked(key, faults, |text| {
        let number = text.parse::<u64>().ok().filter(|number| (min..=max).contains(number));
        number.ok_or_else(|| format!("a whole number from {min} to {max}"))
    })
}

//! The configuration: from file, environment and flags to values that are in force.
//!
//! Raw values are read by `sources` with the place each came from, checked here all at once, and become small structs,
//! one per component. After that nobody handles strings. Every fault is reported, not just the first, and
//! `config show` works on a faulty configuration too.
//!
//! What is later wins: default, file, environment, flag.

mod key;
mod sources;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

pub use key::{KEYS, Key, Kind};
pub use sources::{Environment, Flags, Origin, Sources};

use key::{bool_of, choice_of, number_of, path_of, text_of};

/// The configuration in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where data lies.
    pub data_dir: PathBuf,
    /// Where and how the server listens.
    pub listen: Listen,
    /// Bounds on what callers may do.
    pub limits: Limits,
    /// How decisions are made.
    pub decide: Decide,
    /// How records are stored.
    pub store: Store,
    /// What is logged.
    pub log: Log,
}

/// Where and how the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The address.
    pub address: SocketAddr,
    /// Certificate chain and key, as PEM files; `None` = no TLS.
    pub tls: Option<Tls>,
    /// Whether reflection is served.
    pub reflection: bool,
    /// How long calls at work may go on after the signal to stop.
    pub drain: Duration,
}

/// Files for TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The certificate chain.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Bounds on what callers may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls at work.
    pub calls: usize,
    /// Connections.
    pub connections: usize,
    /// Streams on one connection.
    pub streams: u32,
    /// Readers that follow the trail.
    pub tails: usize,
    /// Longest call.
    pub call_time: Duration,
}

/// How decisions are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decide {
    /// From arrival to answer.
    pub deadline: Duration,
    /// Evaluations at the same time.
    pub parallel: usize,
    /// Merged rulesets that are kept.
    pub cache_entries: usize,
    /// How long a ticket may be redeemed.
    pub ticket_lifetime: Duration,
}

/// How records are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// Records that may wait.
    pub queue: usize,
    /// Records in one transaction.
    pub batch: usize,
    /// Connections for reading.
    pub readers: u32,
}

/// What is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// In which form.
    pub format: LogFormat,
    /// What, in the syntax of `RUST_LOG`.
    pub filter: String,
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one JSON object per line.
    Json,
}

/// One fault of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Fault {
    /// `file:line`, an environment variable, or a flag.
    pub place: String,
    /// Key, value, and what would be accepted.
    pub message: String,
}

impl Config {
    /// Checks what was read.
    ///
    /// # Errors
    /// All faults.
    pub fn check(sources: &Sources) -> Result<Self, Vec<Fault>> {
        let mut faults = sources.faults().to_vec();
        let config = build(sources, &mut faults);
        match config {
            Some(config) if faults.is_empty() => Ok(config),
            _ => Err(faults),
        }
    }
}

fn build(sources: &Sources, faults: &mut Vec<Fault>) -> Option<Config> {
    let milliseconds = |value: Option<u64>| value.map(Duration::from_millis);
    let small = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
    let size = |value: Option<u64>| value.and_then(|value| usize::try_from(value).ok());

    let data_dir = path_of(sources, "data_dir", faults);
    let address = sources.checked("listen", faults, |text| {
        text.parse::<SocketAddr>()
            .map_err(|_| "an address and a port, such as 127.0.0.1:7451 or [::1]:7451".to_owned())
    });
    let tls = tls(sources, faults);
    let allow_plaintext = bool_of(sources, "allow_plaintext", faults);
    if let (Some(address), Some(None), Some(false)) = (address, &tls, allow_plaintext)
        && !address.ip().is_loopback()
    {
        faults.push(Fault {
            place: sources.place("listen"),
            message: format!(
                "`listen` is {address}, which other machines can reach, and tokens would travel in plain text; set \
                 `tls_certificate` and `tls_key`, listen on 127.0.0.1, or, behind a proxy that does TLS, set \
                 `allow_plaintext = true`"
            ),
        });
    }
    let log_filter = sources.checked("log_filter", faults, |text| {
        tracing_subscriber::EnvFilter::try_new(text)
            .map_err(|_| "a filter such as info or portcullis_server=debug".to_owned())?;
        Ok(text.to_owned())
    });
    let reflection = bool_of(sources, "reflection", faults);
    let drain = milliseconds(number_of(sources, "drain_ms", faults));
    let calls = size(number_of(sources, "max_calls", faults));
    let connections = size(number_of(sources, "max_connections", faults));
    let streams = small(number_of(sources, "max_streams_per_connection", faults));
    let tails = size(number_of(sources, "max_tails", faults));
    let call_time = milliseconds(number_of(sources, "call_timeout_ms", faults));
    let deadline = milliseconds(number_of(sources, "decide_deadline_ms", faults));
    let parallel = size(number_of(sources, "max_evaluations", faults));
    let cache_entries = size(number_of(sources, "snapshot_cache_entries", faults));
    let ticket_lifetime = milliseconds(number_of(sources, "ticket_lifetime_ms", faults));
    let queue = size(number_of(sources, "store_queue", faults));
    let batch = size(number_of(sources, "store_batch", faults));
    let readers = small(number_of(sources, "store_readers", faults));
    let format = choice_of(
        sources,
        "log_format",
        faults,
        &[("text", LogFormat::Text), ("json", LogFormat::Json)],
    );
    if let (Some(deadline), Some(call_time)) = (deadline, call_time)
        && deadline > call_time
    {
        faults.push(Fault {
            place: sources.place("decide_deadline_ms"),
            message: "`decide_deadline_ms` is longer than `call_timeout_ms`, which would break off the call first"
                .to_owned(),
        });
    }
    Some(Config {
        data_dir: data_dir?,
        listen: Listen {
            address: address?,
            tls: tls?,
            reflection: reflection?,
            drain: drain?,
        },
        limits: Limits {
            calls: calls?,
            connections: connections?,
            streams: streams?,
            tails: tails?,
            call_time: call_time?,
        },
        decide: Decide {
            deadline: deadline?,
            parallel: parallel?,
            cache_entries: cache_entries?,
            ticket_lifetime: ticket_lifetime?,
        },
        store: Store {
            queue: queue?,
            batch: batch?,
            readers: readers?,
        },
        log: Log {
            format: format?,
            filter: log_filter?,
        },
    })
}

/// Both files or none.
fn tls(sources: &Sources, faults: &mut Vec<Fault>) -> Option<Option<Tls>> {
    let certificate = text_of(sources, "tls_certificate", faults)?;
    let key = text_of(sources, "tls_key", faults)?;
    let lonely = |given: &str, missing: &str| Fault {
        place: sources.place(given),
        message: format!("`{given}` is set and `{missing}` is not; TLS needs both"),
    };
    match (certificate.is_empty(), key.is_empty()) {
        (true, true) => Some(None),
        (false, false) => Some(Some(Tls {
            certificate: certificate.into(),
            key: key.into(),
        })),
        (false, true) => {
            faults.push(lonely("tls_certificate", "tls_key"));
            None
        }
        (true, false) => {
            faults.push(lonely("tls_key", "tls_certificate"));
            None
        }
    }
}

/// What `config show` prints: each key, its value, and where that came from. It reads as a configuration file.
#[must_use]
pub fn show(sources: &Sources) -> String {
    let lines: Vec<(String, String)> = KEYS
        .iter()
        .map(|key| {
            let (value, origin) = sources.value(key.name);
            (
                format!("{} = {}", key.name, key.kind.printed(&value)),
                origin.to_string(),
            )
        })
        .collect();
    let width = lines
        .iter()
        .map(|(setting, _)| setting.chars().count())
        .max()
        .unwrap_or(0);
    lines
        .iter()
        .map(|(setting, origin)| format!("{setting:<width$}  # {origin}\n"))
        .collect()
}

#[cfg(test)]
mod tests;

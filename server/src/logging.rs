//! The log: lines to stderr, as text for people or JSON for machines.
//!
//! What an agent asked for must not get there. Our own lines never hold it; the parser and the network libraries would
//! show it at their debug levels, so those are cut off here whatever filter is configured. A panic's message may quote
//! its input, so only its place is logged.

use std::panic;

use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::{
    EnvFilter, Layer, filter::filter_fn, fmt, layer::SubscriberExt as _, registry::LookupSpan,
    util::SubscriberInitExt as _,
};

use crate::config::{Log, LogFormat};

/// Libraries that show raw input at this level and below; `None` = at any level.
const CAPPED: [(&str, Option<Level>); 11] = [
    // Shows the commands it parses.
    ("brush", None),
    ("peg", None),
    // Show frames, headers with tokens, bodies.
    ("h2", Some(Level::WARN)),
    ("hyper", Some(Level::WARN)),
    ("hyper_util", Some(Level::WARN)),
    ("tonic", Some(Level::WARN)),
    ("tower", Some(Level::WARN)),
    ("rustls", Some(Level::WARN)),
    ("tokio_rustls", Some(Level::WARN)),
    // Shows statements.
    ("sqlx", Some(Level::WARN)),
    ("jsonc_parser", Some(Level::WARN)),
];

/// Whether an event may be logged, by where it comes from.
fn is_harmless(metadata: &Metadata<'_>) -> bool {
    may_log(metadata.target(), *metadata.level())
}

fn may_log(target: &str, level: Level) -> bool {
    let cap = CAPPED.iter().find(|(library, _)| {
        target
            .strip_prefix(library)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '_']))
    });
    match cap {
        None => true,
        Some((_, None)) => false,
        Some((_, Some(most))) => level <= *most,
    }
}

/// Starts logging. Called once, by the program.
pub fn start(log: &Log) {
    // Checked when the configuration was read.
    let filter = EnvFilter::try_new(&log.filter).unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::registry()
        .with(
            lines(log.format)
                .with_filter(filter)
                .with_filter(filter_fn(is_harmless)),
        )
        .init();
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(
            place,
            "panic; its message is left out because it may quote a caller's input"
        );
    }));
}

fn lines<S>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    match format {
        LogFormat::Text => fmt::layer().with_writer(std::io::stderr).with_ansi(false).boxed(),
        LogFormat::Json => fmt::layer().json().with_writer(std::io::stderr).boxed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_see_raw_input_are_cut_off() {
        assert!(!may_log("brush_parser::parser", Level::ERROR));
        assert!(!may_log("h2::codec", Level::DEBUG));
        assert!(!may_log("sqlx::query", Level::INFO));
        assert!(may_log("sqlx::query", Level::WARN));
        assert!(may_log("portcullis_server::decide", Level::DEBUG));
        assert!(may_log("h2o", Level::TRACE), "only whole names count");
    }
}

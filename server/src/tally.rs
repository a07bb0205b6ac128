//! Counts what would flood the log if each had a line of its own.

use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted, to be summed up in the log now and then.
#[derive(Debug, Default)]
pub struct Tally {
    /// Calls refused for want of a valid token: whoever floods the server with bad tokens must not flood its log too.
    pub refused_tokens: Count,
    /// Decisions that could not be recorded: once storage has failed, that is every one.
    pub unrecorded: Count,
}

/// A number that only grows until it is taken.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One more.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The number since this was last called.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Tally {
    /// Sums up in the log.
    pub fn report(&self) {
        let count = self.refused_tokens.take();
        if count > 0 {
            tracing::warn!(
                count,
                "calls without a valid token were refused since the last such line"
            );
        }
        let count = self.unrecorded.take();
        if count > 0 {
            tracing::error!(
                count,
                "decisions could not be recorded since the last such line; none of them was an allow"
            );
        }
    }
}

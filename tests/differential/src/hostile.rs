//! How long the analysis takes for lines that were written to make it slow.
//!
//! The bounds are counted in steps, and tests hold them; this says what the steps cost on a machine.

use std::time::{Duration, Instant};

use crate::compare;

/// The longest line that is analysed.
const BYTES: usize = 1 << 20;

/// One kind of line, filled up to a mebibyte.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What it is.
    pub name: String,
    /// The shortest of three times.
    pub took: Duration,
    /// How many commands were found.
    pub commands: usize,
}

/// Measures all kinds.
///
/// # Errors
/// If `kinds` is no list of names, beginnings and repeated parts.
pub fn measure(kinds: &str) -> Result<Vec<Measured>, String> {
    let kinds: Vec<(String, String, String)> =
        serde_json::from_str(kinds).map_err(|error| format!("the list of lines is broken: {error}"))?;
    let measured = kinds.into_iter().map(|(name, head, part)| {
        let line = format!("{head}{}", part.repeat((BYTES - head.len()) / part.len()));
        let mut took = Duration::MAX;
        let mut commands = 0;
        for _ in 0..3 {
            let begin = Instant::now();
            commands = compare::analysed(&line, "/w").commands.len();
            took = took.min(begin.elapsed());
        }
        Measured { name, took, commands }
    });
    Ok(measured.collect())
}

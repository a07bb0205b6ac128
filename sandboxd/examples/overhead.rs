//! Prints what a sandboxed `true` costs over a bare one: medians of rounds that run both in turn.
//!
//! ```text
//! cargo build -p portcullis-sandboxd && cargo run -p portcullis-sandboxd --example overhead
//! ```

use std::io::{self, Write as _};
use std::process::Command;
use std::time::{Duration, Instant};

const ROUNDS: usize = 60;

fn main() -> io::Result<()> {
    let programs = std::env::current_exe()?;
    let launcher = programs
        .ancestors()
        .nth(2)
        .unwrap_or(&programs)
        .join("portcullis-launch");
    let workspace = std::env::temp_dir().join(format!("portcullis-overhead-{}", std::process::id()));
    std::fs::create_dir(&workspace)?;
    let mut bare = Vec::new();
    let mut sandboxed = Vec::new();
    for _ in 0..ROUNDS {
        bare.push(time(&mut Command::new("/bin/true"))?);
        let mut command = Command::new(&launcher);
        command
            .arg("exec")
            .arg("--workspace")
            .arg(&workspace)
            .args(["--", "/bin/true"]);
        sandboxed.push(time(&mut command)?);
    }
    std::fs::remove_dir(&workspace)?;
    let (bare, sandboxed) = (median(bare), median(sandboxed));
    let added = sandboxed.saturating_sub(bare);
    writeln!(
        io::stdout(),
        "bare {bare:?}, sandboxed {sandboxed:?}, added {added:?} (medians of {ROUNDS})"
    )
}

fn time(command: &mut Command) -> io::Result<Duration> {
    let start = Instant::now();
    let status = command.status()?;
    if status.success() {
        Ok(start.elapsed())
    } else {
        Err(io::Error::other(format!("{command:?} ended with {status}")))
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

//! Measures a sandboxed command as whoever is connected to portcullis-sandboxd already sees it: decided, begun, ended.
//!
//! ```text
//! cargo run --release -p portcullis-client --example run_latency -- DATA_DIR WORKSPACE [ROUNDS]
//! ```
//!
//! Daemon and server run on that data directory, and their policy allows `true`. Each round starts a bare `true`, too, so that what
//! a process costs here at all stands beside it. Every decision is recorded, and every outcome is kept, so both hold a flush of
//! the disk.
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::{
    error::Error,
    process::Command,
    time::{Duration, Instant},
};

use portcullis_client::{Event, Host, HostOptions, Places, Question};

/// Rounds that fill caches and are not counted.
const WARMING: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(data), Some(workspace)) = (arguments.next(), arguments.next()) else {
        return Err("which data directory, and which workspace?".into());
    };
    let rounds: usize = arguments.next().map_or(Ok(100), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let host = Host::connect(&HostOptions::new(&Places::at(data))).await?;
        let mut times: [Vec<Duration>; 4] = Default::default();
        for round in 0..rounds + WARMING {
            let begin = Instant::now();
            let status = Command::new("true").status()?;
            let bare = begin.elapsed();
            let mut question = Question::command("cli", &workspace, vec!["true".to_owned()], None);
            question.roots = vec![workspace.clone()];
            let begin = Instant::now();
            let permit = host.decide(&question).await?.into_permit();
            let permit = permit.map_err(|answer| format!("`true` is not allowed: {answer:?}"))?;
            let decided = begin.elapsed();
            let begin = Instant::now();
            let mut running = host.run(permit, std::env::vars_os()).await?;
            let (mut begun, mut ended) = (None, None);
            while let Some(event) = running.next().await? {
                match event {
                    Event::Started(_) => begun = Some(begin.elapsed()),
                    Event::Ended(_) => {
                        ended = Some(begin.elapsed());
                        break;
                    }
                    Event::Stdout(_) | Event::Stderr(_) => {}
                }
            }
            let (Some(begun), Some(ended), true) = (begun, ended, status.success()) else {
                return Err("a run without a beginning or an end".into());
            };
            if round >= WARMING {
                for (all, one) in times.iter_mut().zip([bare, decided, begun, ended]) {
                    all.push(one);
                }
            }
        }
        println!("{rounds} rounds; ms{:>27}{:>8}{:>8}", "p10", "p50", "p90");
        let labels = [
            "a bare `true`",
            "decided and recorded",
            "from the ticket to the start",
            "from the ticket to the outcome",
        ];
        for (label, mut times) in labels.into_iter().zip(times) {
            times.sort_unstable();
            let at = |share: usize| {
                let time = times.get(times.len() * share / 100).copied().unwrap_or_default();
                time.as_secs_f64() * 1000.0
            };
            println!("{label:<34}{:>8.2}{:>8.2}{:>8.2}", at(10), at(50), at(90));
        }
        Ok(())
    })
}

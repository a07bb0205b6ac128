//! `cargo xtask bench`: what a decision, a hook and a sandboxed command cost on this machine.
//!
//! Runs its own server and sandboxd on an empty data directory. Whole processes are timed in rounds: each round runs every
//! command once, so that whatever else the machine does falls on all of them alike, and `/bin/true` and `python3 -c 0`
//! beside them say what a process costs here at all. Cold is the first call after the programs have started.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    failure::{Failure, Result},
    output,
    stack::{self, Stack},
    toolchain::{self, Profile, Programs},
};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How often each command is run
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    rounds: u32,
    /// Measure an unoptimised build: quicker to build, of little meaning
    #[arg(long)]
    debug: bool,
    /// Measure what was built before
    #[arg(long)]
    no_build: bool,
    /// Measure the decision engine alone, beside two others on the same rules, and what a rule weighs
    #[arg(long, conflicts_with_all = ["rounds", "debug", "no_build"])]
    engine: bool,
    /// Measure the sandbox alone, beside bare processes and `bwrap`, and the network filter
    #[arg(long, conflicts_with_all = ["engine", "no_build"])]
    sandbox: bool,
}

/// What is allowed in the bench's own team policy.
const POLICY: &str = r#"{"permissions": {"allow": ["Bash(true)", "Bash(git status)"]}}"#;

/// Runs the task.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.engine {
        return engine();
    }
    if options.sandbox {
        return sandbox(options);
    }
    let profile = Profile::from_release_flag(!options.debug);
    let programs = if options.no_build {
        Programs::find(profile)?
    } else {
        toolchain::build(profile)?
    };
    let folder = folder()?;
    let data = folder.path().join("d");
    let mut stack = Stack::start(
        &programs,
        &stack::Options {
            data_dir: Some(&data),
            listen: Some("127.0.0.1:0"),
            show_logs: false,
            stop_on_signals: false,
        },
    )?;
    let measured = whole_processes(&programs, folder.path(), &data, options.rounds)
        .and_then(|()| decide_latency(profile, &data))
        .and_then(|()| run_latency(profile, &data, &folder.path().join("workspace"), options.rounds));
    stack.stop();
    measured
}

/// Builds the launcher, and runs the example that drives it.
fn sandbox(options: &Options) -> Result<()> {
    let release = if options.debug { &[][..] } else { &["--release"][..] };
    let rounds = options.rounds.to_string();
    let of_sandboxd = ["--locked", "-p", "portcullis-sandboxd"];
    for arguments in [&["build", "--bins"][..], &["run", "--example", "overhead"]] {
        let mut command = toolchain::cargo()?;
        command.args(arguments).args(of_sandboxd).args(release);
        if arguments.first() == Some(&"run") {
            command.args(["--", &rounds]);
        }
        let status = command
            .status()
            .map_err(|cause| Failure::io("cannot start cargo", &cause))?;
        if !status.success() {
            return Err(Failure::new(format!(
                "the measurement of the sandbox failed ({status})"
            )));
        }
    }
    Ok(())
}

/// Builds and runs the benches of the engine, a workspace of its own, so that nothing else builds the engines beside it.
fn engine() -> Result<()> {
    let manifest = toolchain::root()?.join("benches/Cargo.toml");
    let status = toolchain::cargo()?
        .args(["bench", "--bench", "weight", "--bench", "engine", "--manifest-path"])
        .arg(&manifest)
        .status()
        .map_err(|cause| Failure::io("cannot run `cargo bench`", &cause))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the benches of `{}` failed ({status})",
        manifest.display()
    )))
}

/// A temporary folder with a workspace, in the target directory: a sandboxed command has a `/tmp` of its own.
fn folder() -> Result<tempfile::TempDir> {
    let parent = toolchain::target_directory()?.join("tmp");
    let folder = fs::create_dir_all(&parent)
        .and_then(|()| tempfile::Builder::new().prefix("bench-").tempdir_in(&parent))
        .map_err(|cause| Failure::io(format!("cannot make a folder in `{}`", parent.display()), &cause))?;
    for name in ["home", "workspace"] {
        fs::create_dir(folder.path().join(name))
            .map_err(|cause| Failure::io("cannot make the bench's folders", &cause))?;
    }
    Ok(folder)
}

/// A command to be timed.
struct Subject {
    label: String,
    program: PathBuf,
    arguments: Vec<String>,
    input: String,
    times: Vec<Duration>,
}

impl Subject {
    fn new(program: &Path, arguments: &[&str], input: &str) -> Self {
        let name = program
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Self {
            label: [&[name.as_str()], arguments].concat().join(" "),
            program: program.to_path_buf(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            input: input.to_owned(),
            times: Vec::new(),
        }
    }

    /// Runs it once; what it prints must contain `expected`.
    fn run(&mut self, environment: &Environment<'_>) -> Result<()> {
        let begin = Instant::now();
        let output = environment
            .command(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .and_then(|mut child| {
                if let Some(mut stdin) = child.stdin.take() {
                    // A program that does not read its input closes the pipe.
                    let _ = stdin.write_all(self.input.as_bytes());
                }
                child.wait_with_output()
            })
            .map_err(|cause| Failure::io(format!("cannot run `{}`", self.label), &cause))?;
        self.times.push(begin.elapsed());
        let said = String::from_utf8_lossy(&output.stdout);
        // A hook that asks costs something else than one that allows.
        if output.status.success() && (self.input.is_empty() || said.contains("\"allow\"")) {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(Failure::new(format!(
            "`{}` did not do what is to be measured ({}): {said}{errors}",
            self.label, output.status
        )))
    }
}

/// Where the commands run.
struct Environment<'a> {
    folder: &'a Path,
    data: &'a Path,
}

impl Environment<'_> {
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.join("home"))
            .env("PORTCULLIS_DATA_DIR", self.data)
            .current_dir(self.workspace());
        command
    }

    fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }
}

fn whole_processes(programs: &Programs, folder: &Path, data: &Path, rounds: u32) -> Result<()> {
    let environment = Environment { folder, data };
    let policy = folder.join("team.jsonc");
    fs::write(&policy, POLICY).map_err(|cause| Failure::io("cannot write the bench's policy", &cause))?;
    let pushed = environment
        .command(&programs.client)
        .args(["policy", "push", "--team"])
        .arg(&policy)
        .output()
        .map_err(|cause| Failure::io("cannot run `portcullis policy push`", &cause))?;
    if !pushed.status.success() {
        let errors = String::from_utf8_lossy(&pushed.stderr);
        return Err(Failure::new(format!("cannot push the bench's policy: {errors}")));
    }

    let hook = serde_json::json!({
        "session_id": "bench",
        "transcript_path": "",
        "cwd": environment.workspace(),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "git status"},
        "tool_use_id": "bench",
    })
    .to_string();
    let mut subjects = vec![
        Subject::new(Path::new("/bin/true"), &[], ""),
        Subject::new(&programs.client, &["hook", "claude"], &hook),
        Subject::new(&programs.client, &["run", "--", "true"], ""),
    ];
    // Not whatever the path says: a version manager's shim takes longer than Python.
    let python = Path::new("/usr/bin/python3");
    if python.exists() {
        subjects.push(Subject::new(python, &["-c", "0"], ""));
    }
    for _ in 0..rounds {
        for subject in &mut subjects {
            subject.run(&environment)?;
        }
    }

    output::out(&format!(
        "whole processes, {rounds} rounds, each command once a round; ms"
    ));
    output::out(&format!("{:<28}{:>9}{:>9}{:>9}", "", "cold", "p50", "p99"));
    let mut bare = None;
    for subject in &subjects {
        let (cold, warm) = subject
            .times
            .split_first()
            .ok_or_else(|| Failure::new("nothing was measured"))?;
        let warm = sorted(warm);
        let (middle, high) = (percentile(&warm, 50), percentile(&warm, 99));
        output::out(&format!(
            "{:<28}{:>9}{:>9}{:>9}",
            subject.label,
            ms(*cold),
            ms(middle),
            ms(high)
        ));
        let bare = *bare.get_or_insert(middle);
        if subject.label.ends_with("-- true") {
            output::out(&format!(
                "{:<28}{:>9}{:>9}",
                "  added to a bare true",
                "",
                ms(middle.saturating_sub(bare))
            ));
        }
    }
    Ok(())
}

/// Runs the server's own measurement of `Decide` on one connection.
fn decide_latency(profile: Profile, data: &Path) -> Result<()> {
    output::out("\nDecide on one connection");
    let arguments = [Path::new("--data-dir"), data];
    example("portcullis-server", "decide_latency", profile, &arguments)
}

/// Runs the client's own measurement of a run on one connection.
fn run_latency(profile: Profile, data: &Path, workspace: &Path, rounds: u32) -> Result<()> {
    output::out("\nDecided and run on one connection to sandboxd");
    let rounds = rounds.to_string();
    let arguments = [data, workspace, Path::new(&rounds)];
    example("portcullis-client", "run_latency", profile, &arguments)
}

/// Builds and runs an example of a package.
fn example(package: &str, name: &str, profile: Profile, arguments: &[&Path]) -> Result<()> {
    let mut command = toolchain::cargo()?;
    command.args(["run", "--quiet", "--locked", "--package", package, "--example", name]);
    if profile == Profile::Release {
        command.arg("--release");
    }
    command.arg("--").args(arguments).stdin(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("the measurement `{name}` failed ({status})"))),
        Err(cause) => Err(Failure::io(format!("cannot run the example `{name}`"), &cause)),
    }
}

fn sorted(times: &[Duration]) -> Vec<Duration> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times
}

/// The smallest value that at least `percent` of 100 values do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

fn ms(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let times: Vec<Duration> = (1..=100).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 50), Duration::from_millis(50));
        assert_eq!(percentile(&times, 99), Duration::from_millis(99));
        assert_eq!(percentile(&times[..1], 99), Duration::from_millis(1));
        assert_eq!(percentile(&[], 50), Duration::ZERO);
    }
}

//! Real bash in a sandbox of our own launcher, with a PATH of stubs only.
//!
//! One sandbox is kept for many lines; a line that ends it (`kill -9 -1`) costs that line and a new sandbox.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use tempfile::TempDir;

use crate::generate::PROGRAMS;

/// Further stubs: what wraps, what prints, what looks.
const OTHERS: &[&str] = &[
    "surprise", "bash", "sh", "env", "timeout", "nice", "nohup", "xargs", "find", "setsid", "stdbuf", "flock", "mv",
    "mkdir", "ln", "sed", "head", "sort", "sudo", "echo", "printf", "true", "false", "test", "[", "time", "grep",
    "python3", "node", "cargo", "docker", "ssh", "id", "date", "find", "dd", "rmdir", "truncate", "install", "chmod",
    "kill", "wc", "tail", "a", "b", "x", "x=y", "text", "gzip", "split", "second", "escaped",
];

/// What a line did.
#[derive(Clone, Debug, Default)]
pub struct Happened {
    /// Programs with their words.
    pub runs: Vec<Vec<String>>,
    /// Files made, changed or removed.
    pub files: Vec<String>,
    /// It was ended because it took too long.
    pub late: bool,
}

/// A sandbox with bash in it.
pub struct Oracle {
    launcher: PathBuf,
    base: TempDir,
    running: Option<(Child, ChildStdin, ChildStdout)>,
}

impl Oracle {
    /// Makes the folders. `programs` holds our launcher and the stub.
    ///
    /// # Errors
    /// Why lines cannot be run here: a program that is not built, or a sandbox that cannot be set up.
    pub fn new(programs: &Path) -> Result<Self, String> {
        let (launcher, stub) = (
            programs.join("portcullis-launch"),
            programs.join("portcullis-differential-stub"),
        );
        for program in [&launcher, &stub] {
            if !program.is_file() {
                return Err(format!("`{}` is not built", program.display()));
            }
        }
        let make = || -> std::io::Result<TempDir> {
            let base = tempfile::Builder::new().prefix("pc-diff-").tempdir_in("/var/tmp")?;
            fs::create_dir(base.path().join("bin"))?;
            fs::create_dir(base.path().join("own"))?;
            let driver = base.path().join("own/driver");
            fs::copy(&stub, &driver)?;
            for name in PROGRAMS.iter().chain(OTHERS) {
                let link = base.path().join("bin").join(name);
                if !link.exists() {
                    fs::hard_link(&driver, link)?;
                }
            }
            fs::write(base.path().join("policy.json"), "{}")?;
            Ok(base)
        };
        let base = make().map_err(|error| format!("cannot make the folder for the stubs: {error}"))?;
        let mut oracle = Self {
            launcher,
            base,
            running: None,
        };
        // The positive control: stubs are seen.
        match oracle.run("ls a; echo > made") {
            Some(Happened { runs, files, .. })
                if runs == [["ls", "a"]] && files == [format!("{}/proj/made", oracle.folder())] =>
            {
                Ok(oracle)
            }
            other => Err(format!("the sandbox does not run bash as it should: {other:?}")),
        }
    }

    /// The folder that holds `proj`, where lines run, and `home`.
    #[must_use]
    pub fn folder(&self) -> String {
        self.base.path().join("w").to_string_lossy().into_owned()
    }

    /// Runs a line. `None` if it ended the sandbox.
    pub fn run(&mut self, line: &str) -> Option<Happened> {
        let answer = self.exchange(line);
        if answer.is_none() {
            self.stop();
        }
        let answer = answer?;
        let texts = |value: &serde_json::Value| -> Vec<String> {
            value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect()
        };
        Some(Happened {
            runs: answer["runs"].as_array()?.iter().map(texts).collect(),
            files: texts(&answer["files"]),
            late: answer["late"] == true,
        })
    }

    fn exchange(&mut self, line: &str) -> Option<serde_json::Value> {
        if self.running.is_none() {
            let mut child = Command::new(&self.launcher)
                .args(["exec", "--policy"])
                .arg(self.base.path().join("policy.json"))
                .arg("--workspace")
                .arg(self.base.path())
                .arg("--")
                .arg(self.base.path().join("own/driver"))
                .current_dir(self.base.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .ok()?;
            let streams = (child.stdin.take()?, child.stdout.take()?);
            self.running = Some((child, streams.0, streams.1));
        }
        let (_, input, output) = self.running.as_mut()?;
        input.write_all(&u32::try_from(line.len()).ok()?.to_be_bytes()).ok()?;
        input.write_all(line.as_bytes()).ok()?;
        let mut length = [0; 4];
        output.read_exact(&mut length).ok()?;
        let mut answer = vec![0; u32::from_be_bytes(length) as usize];
        output.read_exact(&mut answer).ok()?;
        serde_json::from_slice(&answer).ok()
    }

    fn stop(&mut self) {
        if let Some((mut child, input, output)) = self.running.take() {
            drop((input, output));
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.stop();
    }
}

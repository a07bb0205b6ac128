//! Runs `portcullis` (and anything else) with a known environment, to its end.

use std::{ffi::OsStr, path::Path, process::Command};

use crate::process;

/// A command to be run.
pub struct Run {
    command: Command,
    input: Vec<u8>,
}

/// What came of it.
#[derive(Debug)]
pub struct Output {
    /// Exit status, as a shell would give it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Run {
    /// A command with nothing in its environment.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.env_clear();
        Self {
            command,
            input: Vec::new(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn cwd(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Gives it something to read.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Runs it.
    #[must_use]
    pub fn output(mut self) -> Output {
        let (status, stdout, stderr) = process::run(&mut self.command, &self.input);
        Output {
            code: process::code(status),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        }
    }

    /// Runs it beside the test.
    #[must_use]
    pub fn spawn(mut self, name: &str) -> process::Process {
        process::Process::spawn(name, &mut self.command)
    }
}

impl Output {
    /// Both streams.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Fails the test unless it ended with this status.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit status; it wrote:\n{}", self.text());
        self
    }

    /// Standard output as one JSON value.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}):\n{}", self.text()))
    }

    /// Fails the test unless one of the streams contains these words.
    #[track_caller]
    pub fn expect_words(self, words: &str) -> Self {
        assert!(self.text().contains(words), "`{words}` is not in:\n{}", self.text());
        self
    }
}

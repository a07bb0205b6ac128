//! Finds the workspace, cargo and a C compiler, and builds the programs.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    failure::{Failure, Result},
    output,
};

/// The packages whose programs make up Portcullis.
const PACKAGES: [&str; 3] = ["portcullis-server", "portcullis-sandboxd", "portcullis-client"];

/// With or without optimisation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// cargo's `dev`: quick to build.
    Debug,
    /// cargo's `release`: quick to run.
    Release,
}

impl Profile {
    /// The profile that a flag `--release` asks for.
    pub(crate) fn from_release_flag(release: bool) -> Self {
        if release { Self::Release } else { Self::Debug }
    }

    /// The folder below the target directory.
    fn folder(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Release => "release",
        }
    }
}

/// Where the built programs are.
pub(crate) struct Programs {
    /// `portcullis-server`
    pub(crate) server: PathBuf,
    /// `portcullis-sandboxd`; `portcullis-launch` stands beside it.
    pub(crate) sandboxd: PathBuf,
    /// `portcullis`
    pub(crate) client: PathBuf,
}

impl Programs {
    /// Names the programs of a profile and fails if one is not there.
    pub(crate) fn find(profile: Profile) -> Result<Self> {
        let folder = target_directory()?.join(profile.folder());
        let find = |name: &str| {
            let path = folder.join(name);
            if path.is_file() {
                Ok(path)
            } else {
                Err(Failure::new(format!("`{}` is not built", path.display()))
                    .help("build it with `cargo build --workspace --bins`, or leave out `--no-build`"))
            }
        };
        // Executed by sandboxd, from beside its own executable.
        find("portcullis-launch")?;
        Ok(Self {
            server: find("portcullis-server")?,
            sandboxd: find("portcullis-sandboxd")?,
            client: find("portcullis")?,
        })
    }
}

/// The root of the workspace: the folder above this crate.
pub(crate) fn root() -> Result<PathBuf> {
    // cargo sets it when it runs a task; the compiled-in value serves whoever starts the binary directly.
    let own =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent()
        .filter(|root| root.join("Cargo.toml").is_file())
        .map(Path::to_path_buf)
        .ok_or_else(|| Failure::new(format!("there is no workspace around `{}`", own.display())))
}

/// A cargo command in the workspace.
pub(crate) fn cargo() -> Result<Command> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()?);
    // `cargo run` describes this crate to us in the environment. Passed on, it makes build scripts that watch these
    // variables run again, and with them everything built on top.
    for (name, _) in env::vars_os() {
        let about_us = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
        if name
            .to_str()
            .is_some_and(|name| about_us.iter().any(|prefix| name.starts_with(prefix)))
        {
            command.env_remove(name);
        }
    }
    Ok(command)
}

/// Where cargo builds: where it built this program.
pub(crate) fn target_directory() -> Result<PathBuf> {
    let own = env::current_exe().map_err(|cause| Failure::io("cannot find my own program", &cause))?;
    own.parent()
        .and_then(Path::parent)
        .map(Path::to_path_buf)
        .ok_or_else(|| Failure::new(format!("`{}` lies in no target directory", own.display())))
}

/// Whether a program can be started with these arguments and ends well.
pub(crate) fn answers(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Fails unless cargo and a C compiler are there; SQLite and the cryptography are compiled from C.
pub(crate) fn require_compilers() -> Result<()> {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    if !answers(&cargo, &["--version"]) {
        return Err(Failure::new(format!("cannot run `{cargo} --version`")).help("install Rust with rustup"));
    }
    let named = env::var("CC").ok();
    let candidates: Vec<&str> = named
        .as_deref()
        .map_or_else(|| vec!["cc", "gcc", "clang"], |cc| vec![cc]);
    if candidates.iter().any(|compiler| answers(compiler, &["--version"])) {
        return Ok(());
    }
    let tried = candidates
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    Err(Failure::new(format!("no C compiler found (tried {tried})"))
        .help("install one: `apt-get install gcc libc6-dev`, `dnf install gcc`, or `xcode-select --install`"))
}

/// Builds the programs, with cargo's own progress on the terminal.
pub(crate) fn build(profile: Profile) -> Result<Programs> {
    require_compilers()?;
    output::err("building portcullis-server, portcullis-sandboxd, portcullis-launch and portcullis …");
    let mut command = cargo()?;
    command.args(["build", "--locked", "--bins"]).stdin(Stdio::null());
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    if profile == Profile::Release {
        command.arg("--release");
    }
    let status = command
        .status()
        .map_err(|cause| Failure::io("cannot run `cargo build`", &cause))?;
    if status.success() {
        Programs::find(profile)
    } else {
        // cargo has printed the errors.
        Err(Failure::new(format!("the build failed ({status})")))
    }
}

//! How a profile is put to use: the file that it stands in, the call of `sandbox-exec`, and what the command's environment says.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::{HOSTS_TMP, Network, Policy, Unwritable};
use crate::launch::spec::Limits;
use crate::sys::process::begin_apart;
use crate::variables;

/// The program of macOS that puts itself into a sandbox and becomes a command. By its full path: what is called so on a PATH
/// may be anything.
pub const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// What a run needs of the system's own programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// Becomes a command in a sandbox.
    pub sandbox_exec: PathBuf,
    /// Says where this user's temporary files lie.
    pub getconf: PathBuf,
    /// Does nothing, successfully: for finding out whether a profile is taken.
    pub idle: PathBuf,
}

impl Programs {
    /// Those of macOS.
    #[must_use]
    pub fn of_the_system() -> Self {
        Self {
            sandbox_exec: SANDBOX_EXEC.into(),
            getconf: "/usr/bin/getconf".into(),
            idle: "/usr/bin/true".into(),
        }
    }

    /// Where this user's temporary files lie besides [`HOSTS_TMP`]. Not by `TMPDIR`, which may say anything.
    ///
    /// # Errors
    /// If that is not said. Nothing may run then: they would not be hidden.
    pub fn temporary_folder(&self) -> io::Result<PathBuf> {
        let said = Command::new(&self.getconf)
            .arg("DARWIN_USER_TEMP_DIR")
            .env_clear()
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        let line = said.stdout.strip_suffix(b"\n").unwrap_or(&said.stdout);
        let folder = Path::new(OsStr::from_bytes(line));
        if !said.status.success() || !folder.is_absolute() {
            return Err(io::Error::other(format!("`{}` does not know", self.getconf.display())));
        }
        folder.canonicalize()
    }
}

/// One command with all that it is started with.
#[derive(Clone, Debug)]
pub struct Call {
    /// The system's programs.
    pub programs: Programs,
    /// The profile's file, where no command can write.
    pub profile: PathBuf,
    /// The command, as somebody typed it.
    pub argv: Vec<OsString>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// Its whole environment, as `NAME=value`.
    pub environment: Vec<Vec<u8>>,
    /// It goes on ignoring the signals that this process ignores.
    pub keep_ignored_signals: bool,
    /// What each process may use.
    pub limits: Limits,
}

impl Call {
    /// The words behind `sandbox-exec`. The command's own are never taken for options.
    #[must_use]
    pub fn arguments(profile: &Path, argv: &[OsString]) -> Vec<OsString> {
        let before = ["-f".into(), profile.as_os_str().to_owned(), "--".into()];
        before.into_iter().chain(argv.iter().cloned()).collect()
    }

    /// The call that runs the command. Its program is named in full, as [`Self::program`] found it: `sandbox-exec` would look into
    /// relative folders of a PATH, too, which belong to the workspace.
    #[must_use]
    pub fn command(&self, program: PathBuf) -> Command {
        let argv: Vec<OsString> = [program.into_os_string()]
            .into_iter()
            .chain(self.argv.iter().skip(1).cloned())
            .collect();
        let mut command = Command::new(&self.programs.sandbox_exec);
        command
            .args(Self::arguments(&self.profile, &argv))
            .current_dir(&self.cwd)
            .env_clear()
            .envs(self.environment.iter().filter_map(|variable| variable_of(variable)));
        begin_apart(&mut command, self.keep_ignored_signals, self.limits);
        command
    }

    /// The same profile around a program that does nothing: whether the kernel takes the profile, without a command that could
    /// be mistaken for the answer.
    #[must_use]
    pub fn trial(&self) -> Command {
        let mut command = Command::new(&self.programs.sandbox_exec);
        command
            .args(Self::arguments(&self.profile, &[self.programs.idle.clone().into()]))
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        begin_apart(&mut command, false, Limits::default());
        command
    }

    /// The program that the command's first word stands for: itself if it has a slash, else one in a folder of the environment's
    /// PATH.
    ///
    /// # Errors
    /// As executing it would fail. `sandbox-exec` says the same in words that nobody can tell from the command's own.
    pub fn program(&self) -> Result<PathBuf, Errno> {
        let name = self.argv.first().ok_or(Errno::NOENT)?;
        if name.as_bytes().contains(&b'/') {
            executable(&self.cwd.join(name)).map(|()| PathBuf::from(name))
        } else if name.is_empty() {
            Err(Errno::NOENT)
        } else {
            let path = variables::value_of(&self.environment, "PATH").unwrap_or(b"/usr/bin:/bin");
            let folders = path
                .split(|&byte| byte == b':')
                .filter(|folder| folder.starts_with(b"/"));
            let mut why = Errno::NOENT;
            for folder in folders {
                let candidate = Path::new(OsStr::from_bytes(folder)).join(name);
                match executable(&candidate) {
                    Ok(()) => return Ok(candidate),
                    Err(Errno::ACCESS) => why = Errno::ACCESS,
                    Err(_) => {}
                }
            }
            Err(why)
        }
    }
}

fn executable(path: &Path) -> Result<(), Errno> {
    let found = path
        .metadata()
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::NOENT))?;
    if !found.is_file() {
        return Err(Errno::ACCESS);
    }
    access(path, Access::EXEC_OK)
}

fn variable_of(variable: &[u8]) -> Option<(OsString, OsString)> {
    let at = variable.iter().position(|&byte| byte == b'=').filter(|&at| at > 0)?;
    let (name, value) = (variable.get(..at)?, variable.get(at + 1..)?);
    Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
}

/// Writes the profile into a folder that is ours alone: a new file, for this user only. It goes with the folder.
///
/// # Errors
/// As the operating system says; if there is such a file already somebody has put it there.
pub fn write_profile(folder: &Path, text: &str) -> io::Result<PathBuf> {
    let path = folder.join("profile.sb");
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}

/// What the sandbox says in a command's environment, whatever the caller said.
///
/// # Errors
/// If a path is no text.
pub fn environment(policy: &Policy) -> Result<Vec<(&'static str, String)>, Unwritable> {
    let tmp = policy.own_tmp.as_deref().unwrap_or_else(|| Path::new(HOSTS_TMP));
    let tmp = tmp.to_str().ok_or_else(|| Unwritable::Path(tmp.to_path_buf()))?;
    let mut said = vec![
        ("PORTCULLIS_SANDBOX", "1".to_owned()),
        ("CURSOR_SANDBOX", "seatbelt".to_owned()),
        ("TMPDIR", tmp.to_owned()),
    ];
    if let Network::Filtered(port) = policy.network {
        // Nothing else on loopback can be reached, so nothing goes around the filter.
        said.extend(crate::network::proxied(&format!("127.0.0.1:{port}"), ""));
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn call(argv: &[&str], environment: &[&str]) -> Call {
        Call {
            programs: Programs::of_the_system(),
            profile: "/state/a profile.sb".into(),
            argv: argv.iter().map(OsString::from).collect(),
            cwd: "/".into(),
            environment: environment.iter().map(|text| text.as_bytes().to_vec()).collect(),
            keep_ignored_signals: false,
            limits: Limits::default(),
        }
    }

    #[test]
    fn the_call_names_the_programs_in_full_and_takes_no_word_of_the_command_for_its_own() {
        let call = call(&["-p", "(version 1)(allow default)", "x y"], &["A=b=c", "=x", "B"]);
        let command = call.command("/bin/-p".into());
        assert_eq!(command.get_program(), "/usr/bin/sandbox-exec");
        let words: Vec<_> = command.get_args().collect();
        let expected = [
            "-f",
            "/state/a profile.sb",
            "--",
            "/bin/-p",
            "(version 1)(allow default)",
            "x y",
        ];
        assert_eq!(words, expected);
        let variables: Vec<_> = command.get_envs().collect();
        assert_eq!(variables, [(OsStr::new("A"), Some(OsStr::new("b=c")))]);
        let trial = call.trial();
        let words: Vec<_> = trial.get_args().collect();
        assert_eq!(words, ["-f", "/state/a profile.sb", "--", "/usr/bin/true"]);
    }

    #[test]
    fn a_program_is_looked_for_in_absolute_folders_and_has_to_be_executable() {
        let keep = tempfile::tempdir().unwrap();
        let folder = keep.path();
        std::fs::write(folder.join("plain"), "").unwrap();
        std::fs::write(folder.join("tool"), "").unwrap();
        std::fs::set_permissions(folder.join("tool"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("PATH=.:relative::{}", folder.display());
        let of = |name: &str, path: &str| {
            let mut call = call(&[name], &[path]);
            call.cwd = folder.to_path_buf();
            call.program()
        };
        assert_eq!(of("tool", &path), Ok(folder.join("tool")));
        assert_eq!(of("tool", "PATH=.:"), Err(Errno::NOENT));
        assert_eq!(of("plain", &path), Err(Errno::ACCESS));
        assert_eq!(of("", &path), Err(Errno::NOENT));
        assert_eq!(of("./tool", "PATH=/nowhere"), Ok("./tool".into()));
        assert_eq!(of("./nothing", &path), Err(Errno::NOENT));
        assert_eq!(call(&[], &[]).program(), Err(Errno::NOENT));
    }

    #[test]
    fn the_profiles_file_is_new_and_for_this_user_only() {
        let keep = tempfile::tempdir().unwrap();
        let path = write_profile(keep.path(), "(version 1)\n").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "(version 1)\n");
        let again = write_profile(keep.path(), "(version 1)(allow default)\n").unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(keep.path().join("elsewhere"), &path).unwrap();
        assert!(write_profile(keep.path(), "").is_err() && !keep.path().join("elsewhere").exists());
    }

    #[test]
    fn where_temporary_files_lie_is_said_or_nothing_runs() {
        let keep = tempfile::tempdir().unwrap();
        let folder = keep.path().canonicalize().unwrap();
        let of = |script: String| {
            let getconf = folder.join("getconf");
            std::fs::write(&getconf, script).unwrap();
            std::fs::set_permissions(&getconf, std::fs::Permissions::from_mode(0o755)).unwrap();
            let programs = Programs {
                getconf,
                ..Programs::of_the_system()
            };
            programs.temporary_folder()
        };
        let here = folder.display();
        assert_eq!(of(format!("#!/bin/sh\necho '{here}/'\n")).unwrap(), folder);
        for bad in ["exit 1", "echo", "echo relative", "echo /nonexistent/T"] {
            assert!(of(format!("#!/bin/sh\n{bad}\n")).is_err(), "{bad}");
        }
        assert!(of(format!("#!/bin/sh\necho '{here}'; exit 1\n")).is_err());
    }

    #[test]
    fn the_environment_says_which_sandbox_this_is() {
        let mut policy = Policy {
            own_tmp: Some("/state/tmp/1".into()),
            ..Policy::default()
        };
        let said = environment(&policy).unwrap();
        assert!(said.contains(&("CURSOR_SANDBOX", "seatbelt".to_owned())));
        assert!(said.contains(&("TMPDIR", "/state/tmp/1".to_owned())));
        assert!(!said.iter().any(|(name, _)| name.contains("roxy")));
        policy.network = Network::Filtered(8123);
        let said = environment(&policy).unwrap();
        assert!(said.contains(&("https_proxy", "http://127.0.0.1:8123".to_owned())));
        policy.own_tmp = Some(OsStr::from_bytes(b"/\xff").into());
        assert_eq!(
            environment(&policy),
            Err(Unwritable::Path(OsStr::from_bytes(b"/\xff").into()))
        );
    }
}

//! The environment of a sandboxed command: what the profile names of the caller's, and what the sandbox brings.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use portcullis_policy::network::NetworkRules;
use portcullis_proto::v1::{RunStart, SandboxProfile};
use tonic::Status;

use crate::network;
use crate::scrub;
use crate::variables;

/// Largest environment, in bytes.
const MAX_BYTES: usize = 1024 * 1024;

/// Most variables.
const MAX_VARIABLES: usize = 8192;

/// Filters the caller's environment.
///
/// PATH is the daemon's own, because the decision rested on what programs' names stand for there. Not for a command that nobody
/// judged (a profile that lets every variable pass): there the caller's counts, and what means something outside only is left out.
/// A variable that says where an allowed socket is passes always.
///
/// # Errors
/// `INVALID_ARGUMENT` if a variable is malformed or there is too much.
pub fn filtered(start: &RunStart, profile: &SandboxProfile, search_path: &str) -> Result<Vec<Vec<u8>>, Status> {
    let bytes: usize = start.environment.iter().map(Vec::len).sum();
    if bytes > MAX_BYTES || start.environment.len() > MAX_VARIABLES {
        return Err(Status::invalid_argument(format!(
            "invalid `environment`: more than {MAX_VARIABLES} variables or {MAX_BYTES} bytes"
        )));
    }
    if start.argv.iter().any(|word| word.contains('\0')) || start.cwd.contains('\0') {
        return Err(Status::invalid_argument("invalid `argv` or `cwd`: holds a NUL"));
    }
    let allowed = &profile.environment;
    let unjudged = allowed.iter().any(|entry| entry == "*");
    let mut ours = vec![format!("PWD={}", start.cwd), "TMPDIR=/tmp".to_owned()];
    if !unjudged || !start.environment.iter().any(|variable| variable.starts_with(b"PATH=")) {
        ours.push(format!("PATH={search_path}"));
    }
    let mut environment: Vec<Vec<u8>> = Vec::new();
    for variable in &start.environment {
        let at = variable
            .iter()
            .position(|&byte| byte == b'=')
            .filter(|&at| at > 0 && !variable.contains(&0));
        let Some(name) = at.and_then(|at| variable.get(..at)) else {
            return Err(Status::invalid_argument(
                "invalid `environment`: an entry is not `NAME=value`",
            ));
        };
        let brought = ours.iter().any(|own| {
            own.as_bytes()
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(b"="))
        });
        let leads_to = |name: &str| {
            let value = variable.get(name.len() + 1..).unwrap_or_default();
            scrub::leads_to(name, value, &profile.unix_sockets)
        };
        if !brought && std::str::from_utf8(name).is_ok_and(leads_to) {
            environment.push(variable.clone());
            continue;
        }
        // Whatever a list of names lets through: a pattern in it may cover more than its author thought of.
        let left_out = |name: &str| scrub::looks_secret(name) || (unjudged && scrub::is_of_outside(name));
        let value = variable.get(name.len() + 1..).unwrap_or_default();
        let left_out = |name: &str| left_out(name) || scrub::holds_secret(name, value);
        let left_out = std::str::from_utf8(name).is_ok_and(left_out);
        if !brought && !left_out && allowed.iter().any(|entry| covers(entry, name)) {
            environment.push(variable.clone());
        }
    }
    environment.extend(ours.into_iter().map(String::into_bytes));
    Ok(environment)
}

/// Points programs to the proxy, where there is one. What the caller said about proxies is about another network.
#[must_use]
pub fn with_network(mut environment: Vec<Vec<u8>>, network: Option<&NetworkRules>) -> Vec<Vec<u8>> {
    if network.is_some() {
        for (name, value) in network::environment() {
            variables::set(&mut environment, name, &value);
        }
    }
    environment
}

/// Names of the caller's variables that look like secrets, which [`filtered`] keeps out.
#[must_use]
pub fn removed(environment: &[Vec<u8>]) -> Vec<String> {
    let names = environment.iter().filter_map(|variable| {
        let at = variable.iter().position(|&byte| byte == b'=')?;
        let name = std::str::from_utf8(variable.get(..at)?).ok()?;
        let value = variable.get(at + 1..).unwrap_or_default();
        (scrub::looks_secret(name) || scrub::holds_secret(name, value)).then_some(name)
    });
    scrub::told(names)
}

/// The caller's home folder, as its environment says it.
#[must_use]
pub fn home(environment: &[Vec<u8>]) -> Option<PathBuf> {
    let value = environment
        .iter()
        .find_map(|variable| variable.strip_prefix(b"HOME="))?;
    Some(PathBuf::from(OsStr::from_bytes(value))).filter(|home| home.is_absolute())
}

/// The caller's variables as names and paths, for those that name folders.
pub fn folders(environment: &[Vec<u8>]) -> impl Iterator<Item = (String, PathBuf)> {
    environment.iter().filter_map(|variable| {
        let at = variable.iter().position(|&byte| byte == b'=')?;
        let (name, value) = (variable.get(..at)?, variable.get(at + 1..)?);
        Some((
            String::from_utf8(name.to_vec()).ok()?,
            PathBuf::from(OsStr::from_bytes(value)),
        ))
    })
}

/// The same of this process.
pub fn own_folders() -> impl Iterator<Item = (String, PathBuf)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, PathBuf::from(value))))
}

fn covers(entry: &str, name: &[u8]) -> bool {
    match entry.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning.as_bytes()),
        None => name == entry.as_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passing(names: Vec<String>, sockets: &[&str]) -> SandboxProfile {
        SandboxProfile {
            environment: names,
            unix_sockets: sockets.iter().map(|path| (*path).to_owned()).collect(),
            ..SandboxProfile::default()
        }
    }

    #[test]
    fn only_what_is_named_passes_and_path_is_ours() {
        let start = RunStart {
            environment: [
                "PATH=/evil",
                "LC_ALL=C",
                "LC=x",
                "HOME=/h",
                "TOKEN=s",
                "TMPDIR=/x",
                "LC_SECRET=s",
            ]
            .map(|variable| variable.as_bytes().to_vec())
            .to_vec(),
            cwd: "/w".to_owned(),
            ..RunStart::default()
        };
        let allowed = ["PATH", "LC_*", "HOME", "TMPDIR"].map(str::to_owned);
        let environment = filtered(&start, &passing(allowed.to_vec(), &[]), "/usr/bin").unwrap();
        let texts: Vec<&str> = environment
            .iter()
            .map(|variable| std::str::from_utf8(variable).unwrap())
            .collect();
        assert_eq!(texts, ["LC_ALL=C", "HOME=/h", "PWD=/w", "TMPDIR=/tmp", "PATH=/usr/bin"]);
        assert_eq!(removed(&start.environment), ["LC_SECRET", "TOKEN"]);
        assert_eq!(home(&start.environment), Some(PathBuf::from("/h")));
    }

    #[test]
    fn an_unjudged_command_gets_the_callers_variables_but_no_secret_and_nothing_of_outside() {
        let start = RunStart {
            environment: [
                "PATH=/mine",
                "ANYTHING=x",
                "TOKEN=s",
                "SSH_AUTH_SOCK=/s",
                "TMPDIR=/x",
                "DB=pg://u:p4ssw0rd@h/d",
            ]
            .map(|variable| variable.as_bytes().to_vec())
            .to_vec(),
            cwd: "/w".to_owned(),
            ..RunStart::default()
        };
        let environment = filtered(&start, &passing(vec!["*".to_owned()], &["/t"]), "/usr/bin").unwrap();
        let texts: Vec<&str> = environment
            .iter()
            .map(|variable| std::str::from_utf8(variable).unwrap())
            .collect();
        assert_eq!(texts, ["PATH=/mine", "ANYTHING=x", "PWD=/w", "TMPDIR=/tmp"]);
        let without = RunStart {
            environment: Vec::new(),
            ..start
        };
        let environment = filtered(&without, &passing(vec!["*".to_owned()], &[]), "/usr/bin").unwrap();
        assert!(environment.contains(&b"PATH=/usr/bin".to_vec()));
    }

    #[test]
    fn where_an_allowed_socket_is_may_be_known_inside() {
        let start = RunStart {
            environment: ["SSH_AUTH_SOCK=/s", "DOCKER_HOST=unix:///run/docker.sock"]
                .map(|variable| variable.as_bytes().to_vec())
                .to_vec(),
            ..RunStart::default()
        };
        for list in [vec![], vec!["*".to_owned()]] {
            let environment = filtered(&start, &passing(list, &["/s"]), "/usr/bin").unwrap();
            assert!(environment.contains(&b"SSH_AUTH_SOCK=/s".to_vec()));
            assert!(!environment.iter().any(|variable| variable.starts_with(b"DOCKER_HOST")));
        }
    }

    #[test]
    fn malformed_variables_are_refused() {
        for bad in ["NOVALUE", "=x", "A=\0"] {
            let start = RunStart {
                environment: vec![bad.as_bytes().to_vec()],
                ..RunStart::default()
            };
            assert!(filtered(&start, &SandboxProfile::default(), "").is_err(), "{bad:?}");
        }
    }
}

//! How a profile is put to use: the call of `sandbox-exec`, and what the command's environment says of it.
//!
//! The call itself is all that needs a Mac, and nothing in this crate makes it yet.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use super::{HOSTS_TMP, Network, Policy};

/// The program of macOS that puts itself into a sandbox and becomes a command. By its full path: what is called so on a PATH
/// may be anything.
pub const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// The call that runs a command under the profile in a file, in a process group of its own. The file must lie where no
/// command can write. `None` if there is nothing to run.
#[must_use]
pub fn command(file: &Path, argv: &[OsString]) -> Option<Command> {
    argv.first()?;
    let mut command = Command::new(SANDBOX_EXEC);
    command.arg("-f").arg(file).arg("--").args(argv).process_group(0);
    Some(command)
}

/// What the sandbox says in a command's environment, whatever the caller said.
#[must_use]
pub fn environment(policy: &Policy) -> Vec<(&'static str, String)> {
    let tmp = policy.own_tmp.as_deref().unwrap_or_else(|| Path::new(HOSTS_TMP));
    let mut said = vec![
        ("PORTCULLIS_SANDBOX", "1".to_owned()),
        ("CURSOR_SANDBOX", "seatbelt".to_owned()),
        ("TMPDIR", tmp.to_string_lossy().into_owned()),
    ];
    if let Network::Filtered(port) = policy.network {
        // Nothing else on loopback can be reached, so nothing goes around the filter.
        said.extend(crate::network::proxied(&format!("127.0.0.1:{port}"), ""));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_names_the_program_in_full_and_takes_no_word_of_the_command_for_its_own() {
        let argv = ["-p", "(version 1)(allow default)", "x y"].map(OsString::from);
        let call = command(Path::new("/state/a profile.sb"), &argv).unwrap();
        assert_eq!(call.get_program(), "/usr/bin/sandbox-exec");
        let words: Vec<_> = call.get_args().collect();
        assert_eq!(
            words,
            [
                "-f",
                "/state/a profile.sb",
                "--",
                "-p",
                "(version 1)(allow default)",
                "x y"
            ]
        );
        assert!(command(Path::new("/p"), &[]).is_none());
    }

    #[test]
    fn the_environment_says_which_sandbox_this_is() {
        let mut policy = Policy {
            own_tmp: Some("/state/tmp/1".into()),
            ..Policy::default()
        };
        let said = environment(&policy);
        assert!(said.contains(&("CURSOR_SANDBOX", "seatbelt".to_owned())));
        assert!(said.contains(&("TMPDIR", "/state/tmp/1".to_owned())));
        assert!(!said.iter().any(|(name, _)| name.contains("roxy")));
        policy.network = Network::Filtered(8123);
        let said = environment(&policy);
        assert!(said.contains(&("https_proxy", "http://127.0.0.1:8123".to_owned())));
    }
}

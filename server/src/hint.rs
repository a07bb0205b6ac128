//! What a person can do about a failure. The errors hold the facts; the words stand here, beside the program.

use crate::{
    bootstrap::BootstrapError,
    datadir::DataDirError,
    keys::KeyError,
    run::RunError,
    serve::ServeError,
    store::sqlite::{OpenError, VerifyError},
    verify::VerifyFailed,
};

/// What to do next; `None` if the error says all there is to say.
#[must_use]
pub fn hint(error: &RunError) -> Option<String> {
    match error {
        RunError::Config(_) => {
            Some("`portcullis-server config show` prints every key, its value and where it came from".to_owned())
        }
        RunError::Serve(error) => serve(error),
        RunError::Verify(error) => verify(error),
        RunError::Runtime(_) | RunError::Signals(_) | RunError::Output(_) => None,
    }
}

fn serve(error: &ServeError) -> Option<String> {
    match error {
        ServeError::DataDir(error)
        | ServeError::Keys(KeyError::File(error))
        | ServeError::Bootstrap(BootstrapError::File(error)) => data_dir(error),
        ServeError::Keys(KeyError::Malformed(path)) => Some(format!(
            "restore `{}`, or remove it to have a new key made",
            path.display()
        )),
        ServeError::Listen { .. } => {
            Some("stop the program that listens there, or choose another address with --listen".to_owned())
        }
        ServeError::Tls { .. } => {
            Some("they have to be a PEM certificate chain and its unencrypted PEM private key".to_owned())
        }
        ServeError::Open(OpenError::Newer { .. }) => {
            Some("start the newer version, or restore a backup from before the upgrade".to_owned())
        }
        ServeError::Open(OpenError::Corrupt { path, .. }) => Some(format!(
            "restore `{}` from a backup, or move it away to begin afresh",
            path.display()
        )),
        ServeError::Open(OpenError::BrokenTrail { path, .. }) => Some(format!(
            "`portcullis-server verify` shows all of it; keep a copy of `{0}` as evidence, then restore it from a backup or \
             move it away to begin afresh",
            path.display()
        )),
        ServeError::Bootstrap(BootstrapError::WrongToken { path, .. }) => Some(format!(
            "move `{}` away and start again; a new token is made",
            path.display()
        )),
        _ => None,
    }
}

fn verify(error: &VerifyFailed) -> Option<String> {
    match error {
        VerifyFailed::Database(VerifyError::Missing(_)) => {
            Some("name the folder of the server's data with --data-dir".to_owned())
        }
        VerifyFailed::Database(VerifyError::NoChain(_)) => {
            Some("start this version of the server on it once; it begins the chain".to_owned())
        }
        VerifyFailed::Outside { .. } => {
            Some("an anchor is a line that `portcullis audit anchor` printed, unchanged".to_owned())
        }
        _ => None,
    }
}

fn data_dir(error: &DataDirError) -> Option<String> {
    match error {
        DataDirError::Io { .. } => Some("choose a folder that you may write to with --data-dir".to_owned()),
        DataDirError::AlreadyRunning(_) => Some("stop it, or choose another folder with --data-dir".to_owned()),
        DataDirError::Writable { path, .. } => Some(format!(
            "choose another folder with --data-dir, or: chmod 700 '{}'",
            path.display()
        )),
        DataDirError::TooOpen { path, .. } => Some(format!("make it private: chmod 600 '{}'", path.display())),
    }
}

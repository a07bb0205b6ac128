//! `portcullis-server verify`: verifies the trails in the database and reports.
//!
//! It takes no lock and changes nothing, so it can be run beside a server, on a copy, or on a backup.

use std::{fs, io, path::PathBuf};

use portcullis_proto::trail::{InvalidTrust, Trust};

use crate::{
    cli::{ReportFormat, VerifyArgs},
    config::{Config, Fault},
    run::{self, RunError},
    store::sqlite::{self, VerifyError},
};

/// The trail cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyFailed {
    /// The database cannot be read.
    #[error(transparent)]
    Database(#[from] VerifyError),
    /// A file with anchors cannot be read.
    #[error("cannot read the anchors in `{path}`")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// Anchors cannot be used.
    #[error("cannot use the anchors in `{path}`")]
    Outside {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: InvalidTrust,
    },
    /// A key cannot be used.
    #[error(transparent)]
    Key(InvalidTrust),
}

/// Verifies and prints. Whether everything is intact.
///
/// # Errors
/// If it cannot be verified.
pub fn run(arguments: VerifyArgs) -> Result<bool, RunError> {
    let VerifyArgs {
        settings,
        anchor,
        key,
        format,
    } = arguments;
    let config =
        Config::check(&run::sources(&settings.into())).map_err(|faults: Vec<Fault>| RunError::Config(faults))?;
    let trust = trust(&anchor, &key)?;
    let database = config.data_dir.join("server").join("portcullis.db");
    let runtime = run::runtime().map_err(RunError::Runtime)?;
    let report = runtime.block_on(sqlite::verify(&database, trust));
    let report = report.map_err(VerifyFailed::Database)?;
    let text = match format {
        ReportFormat::Json => {
            serde_json::to_string(&report).map_err(|cause| RunError::Output(io::Error::other(cause)))? + "\n"
        }
        ReportFormat::Text => report.lines().into_iter().map(|line| line + "\n").collect(),
    };
    run::say(&text)?;
    Ok(report.intact)
}

fn trust(anchors: &[PathBuf], keys: &[String]) -> Result<Trust, VerifyFailed> {
    let mut trust = Trust::default();
    for path in anchors {
        let text = fs::read_to_string(path).map_err(|cause| VerifyFailed::File {
            path: path.clone(),
            cause,
        })?;
        trust.read_anchors(&text).map_err(|cause| VerifyFailed::Outside {
            path: path.clone(),
            cause,
        })?;
    }
    for key in keys {
        trust.read_key(key).map_err(VerifyFailed::Key)?;
    }
    Ok(trust)
}

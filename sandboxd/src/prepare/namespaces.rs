//! What of a profile cannot be enforced without namespaces (see [`crate::launch::alone`]).
//!
//! The server asks the same of the documents before it counts such a host's sandbox. Here it is asked of the profile, which is
//! what was signed, and of the host as it is.

use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use portcullis_proto::convert::read_denial;
use portcullis_proto::v1::{NetworkAccess, ReadDenial, SandboxProfile, TemporaryFolder, WorkspaceAccess};

/// The reasons, by the policy's words. `roots` and `masked` are real paths.
pub(super) fn needed(profile: &SandboxProfile, roots: &[PathBuf], masked: &[PathBuf]) -> Vec<String> {
    let needs = [
        (
            profile.workspace() != WorkspaceAccess::ReadOnly,
            "the workspace may be written (`type`)",
        ),
        (
            !profile.read_write_paths.is_empty(),
            "further paths may be written (`additionalReadwritePaths`)",
        ),
        (
            profile.network() != NetworkAccess::None,
            "hosts may be reached (`networkMode`, `networkPolicy`)",
        ),
        (
            profile.temporary_folder() == TemporaryFolder::Shared,
            "`/tmp` is the host's (`shareTmp`)",
        ),
        (
            profile.shared_build_cache,
            "a shared cache may be written (`enableSharedBuildCache`)",
        ),
        (
            !profile.unix_sockets.is_empty(),
            "sockets may be connected to (`allowUnixSockets`)",
        ),
    ];
    let said = needs.into_iter().filter(|(needs, _)| *needs);
    let mut needed: Vec<String> = said.map(|(_, reason)| reason.to_owned()).collect();
    // What names a place elsewhere is hidden as credentials are: what of it was found is among `masked`.
    let mut denied = profile.read_denials.iter().filter(|denial| !is_elsewhere(denial));
    if let Some(denial) = denied.next() {
        let more = denied.count();
        let more = if more == 0 {
            String::new()
        } else {
            format!(" and {more} more")
        };
        needed.push(format!(
            "`{}`{more} is kept from being read in the workspace (`denyRead`, rules, ignore lists)",
            denial.pattern
        ));
    }
    // What contains something hidden can be read by its parts only, and not be listed: no way to work.
    let inside = |path: &&PathBuf| roots.iter().any(|root| path.starts_with(root)) && !is_socket(path);
    if let Some(path) = masked.iter().find(inside) {
        needed.push(format!(
            "`{}` in the workspace is hidden: by `denyRead` or a rule, as a credential, or as a file of Portcullis",
            path.display()
        ));
    }
    needed
}

fn is_elsewhere(denial: &ReadDenial) -> bool {
    read_denial(denial).is_some_and(|text| text.has_its_own_place())
}

/// Nobody can connect without namespaces either: sockets are refused altogether.
fn is_socket(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket())
}

#[cfg(test)]
mod tests {
    use portcullis_proto::v1::DenialReading;

    use super::*;

    #[test]
    fn only_what_reads_and_hides_nothing_in_the_workspace_does_without() {
        let keep = tempfile::tempdir().unwrap();
        let root = keep.path().canonicalize().unwrap();
        let (file, socket) = (root.join("token"), root.join("socket"));
        std::fs::write(&file, "x").unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let fits = SandboxProfile {
            workspace: WorkspaceAccess::ReadOnly.into(),
            network: NetworkAccess::None.into(),
            temporary_folder: TemporaryFolder::Private.into(),
            ..SandboxProfile::default()
        };
        let roots = [root.clone()];
        let count = |profile: &SandboxProfile, masked: &[PathBuf]| needed(profile, &roots, masked).len();
        assert_eq!(count(&fits, &[socket, PathBuf::from("/elsewhere")]), 0);
        assert_eq!(count(&fits, &[file]), 1);
        let denied = |pattern: &str| {
            let denial = ReadDenial {
                pattern: pattern.to_owned(),
                reading: DenialReading::Rule.into(),
                ..ReadDenial::default()
            };
            count(
                &SandboxProfile {
                    read_denials: vec![denial],
                    ..fits.clone()
                },
                &[],
            )
        };
        assert_eq!(["~/.aws/**", "//**/id_rsa", "/x", ".env"].map(denied), [0, 0, 1, 1]);
        let closed = TemporaryFolder::Closed.into();
        assert_eq!(
            count(
                &SandboxProfile {
                    temporary_folder: closed,
                    ..fits.clone()
                },
                &[]
            ),
            0
        );
        let all = SandboxProfile {
            workspace: WorkspaceAccess::ReadWrite.into(),
            read_write_paths: vec!["/x".to_owned()],
            network: NetworkAccess::Filtered.into(),
            read_denials: vec![ReadDenial::default()],
            temporary_folder: TemporaryFolder::Shared.into(),
            shared_build_cache: true,
            unix_sockets: vec!["/s".to_owned()],
            ..fits
        };
        assert_eq!(count(&all, &[]), 7);
        // A profile that says nothing fits nowhere.
        assert!(count(&SandboxProfile::default(), &[]) > 0);
    }
}

//! What a command is told about the sandbox that it runs in: variables of ours, and those that Cursor sets, with the same
//! meaning, so that scripts which look for them keep working.
//!
//! None is set outside; whoever brings one of them along does not bring it in.

use super::landlock;
use crate::variables;

/// What Landlock does for the command, in Cursor's words.
#[must_use]
pub fn landlock_status(abi: u32) -> &'static str {
    match abi {
        0 => "not_enforced",
        abi if abi < landlock::ENOUGH => "partially_enforced",
        _ => "fully_enforced",
    }
}

/// Adds the variables to an environment, whose entries are `NAME=value`; `status` is that of Landlock, or the name of a tier. Our own sandbox keeps the caller's ids.
#[must_use]
pub fn with_identity(mut environment: Vec<Vec<u8>>, uid: u32, gid: u32, status: &str) -> Vec<Vec<u8>> {
    let (uid, gid) = (uid.to_string(), gid.to_string());
    let ours = [
        ("PORTCULLIS_SANDBOX", "1"),
        ("PORTCULLIS_ORIG_UID", uid.as_str()),
        ("PORTCULLIS_ORIG_GID", gid.as_str()),
        ("PORTCULLIS_LANDLOCK_STATUS", status),
        ("CURSOR_SANDBOX", "native"),
        ("CURSOR_ORIG_UID", uid.as_str()),
        ("CURSOR_ORIG_GID", gid.as_str()),
        ("CURSOR_SANDBOX_LANDLOCK_STATUS", status),
    ];
    for (name, value) in ours {
        variables::set(&mut environment, name, value);
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_brings_them_along_and_the_status_is_what_is_in_force() {
        let brought =
            ["CURSOR_SANDBOX=no", "CURSOR_SANDBOXES=x", "PORTCULLIS_SANDBOX=0"].map(|own| own.as_bytes().to_vec());
        let inside = with_identity(brought.to_vec(), 7, 8, landlock_status(1));
        let texts: Vec<String> = inside
            .iter()
            .map(|variable| String::from_utf8_lossy(variable).into_owned())
            .collect();
        assert_eq!(
            texts,
            [
                "CURSOR_SANDBOXES=x",
                "PORTCULLIS_SANDBOX=1",
                "PORTCULLIS_ORIG_UID=7",
                "PORTCULLIS_ORIG_GID=8",
                "PORTCULLIS_LANDLOCK_STATUS=partially_enforced",
                "CURSOR_SANDBOX=native",
                "CURSOR_ORIG_UID=7",
                "CURSOR_ORIG_GID=8",
                "CURSOR_SANDBOX_LANDLOCK_STATUS=partially_enforced",
            ]
        );
        assert_eq!(landlock_status(landlock::ENOUGH), "fully_enforced");
        assert_eq!(landlock_status(0), "not_enforced");
    }
}

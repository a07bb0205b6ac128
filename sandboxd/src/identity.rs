//! Who this host is: a key made on first start, and its fingerprint, to which tickets are made out.

use std::fs;
use std::io;
use std::path::Path;

use ed25519_dalek::SigningKey;
use sha2::{Digest as _, Sha256};

use crate::durable;

/// Reads the host's key, or makes it. Returns its fingerprint: 64 lower-case hexadecimal digits.
///
/// # Errors
/// If it cannot be read or made, or the file holds something else.
pub fn host_id(path: &Path) -> io::Result<String> {
    let seed: [u8; 32] = match fs::read(path) {
        Ok(bytes) => bytes
            .try_into()
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the host key is not 32 bytes long"))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut seed = [0; 32];
            getrandom::fill(&mut seed).map_err(|error| io::Error::other(error.to_string()))?;
            durable::replace(path, &seed)?;
            seed
        }
        Err(error) => return Err(error),
    };
    let public = SigningKey::from_bytes(&seed).verifying_key();
    let digest: [u8; 32] = Sha256::digest(public.as_bytes()).into();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_and_a_broken_one_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.key");
        let first = host_id(&path).unwrap();
        assert_eq!(first.len(), 64);
        assert_eq!(host_id(&path).unwrap(), first);
        fs::write(&path, "short").unwrap();
        assert!(host_id(&path).is_err());
    }
}

//! The server's secrets: the key that signs tickets, the key that signs the trail, and the key of the fingerprints in it.
//!
//! All are made at the first start and kept in files of mode 0600. They never leave the server.

use std::{fmt, path::Path};

use ed25519_dalek::SigningKey;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::{
    datadir::{self, DataDir, DataDirError},
    store::TeamId,
};

/// A key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Its file cannot be read or written.
    #[error(transparent)]
    File(#[from] DataDirError),
    /// Its file holds something else.
    #[error("`{0}` holds no key of 64 hexadecimal digits")]
    Malformed(std::path::PathBuf),
    /// The system has no random numbers.
    #[error("cannot make a key: the system gives no random numbers")]
    Random(#[source] getrandom::Error),
}

/// The server's secrets.
pub struct Keys {
    ticket: SigningKey,
    trail: SigningKey,
    fingerprint: [u8; 32],
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(***)")
    }
}

impl Keys {
    /// Reads the keys, and makes those that are missing.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn load(data: &DataDir) -> Result<Self, KeyError> {
        Ok(Self {
            ticket: SigningKey::from_bytes(&load(&data.server_file("ticket.key"))?),
            trail: SigningKey::from_bytes(&load(&data.server_file("trail.key"))?),
            fingerprint: load(&data.server_file("fingerprint.key"))?,
        })
    }

    /// The key that signs tickets.
    #[must_use]
    pub fn ticket(&self) -> &SigningKey {
        &self.ticket
    }

    /// The key that signs the trail. Not the one of the tickets: whoever gets hold of one of them has only that.
    #[must_use]
    pub fn trail(&self) -> &SigningKey {
        &self.trail
    }

    /// The fingerprint of a raw input, 64 lower-case hexadecimal digits. Keyed per team, so that fingerprints cannot be
    /// compared between teams, nor guessed by hashing likely inputs.
    #[must_use]
    pub fn fingerprint(&self, team: &TeamId, input: &[u8]) -> String {
        let team_key = mac(
            &self.fingerprint,
            &[b"portcullis fingerprint v1\n", team.as_str().as_bytes()],
        );
        hex(&mac(&team_key, &[input]))
    }
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    // RFC 2104: a key shorter than a block is filled up with zeros.
    let mut block = [0_u8; 64];
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// Lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    bytes.try_into().ok().filter(|_| rest.is_empty())
}

fn load(path: &Path) -> Result<[u8; 32], KeyError> {
    if let Some(text) = datadir::read_private(path)? {
        return unhex(text.trim_end()).ok_or_else(|| KeyError::Malformed(path.to_owned()));
    }
    let mut key = [0_u8; 32];
    getrandom::fill(&mut key).map_err(KeyError::Random)?;
    datadir::write_private(path, format!("{}\n", hex(&key)).as_bytes())?;
    tracing::info!(path = %path.display(), "made a new key");
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_the_same_from_start_to_start() {
        let temp = tempfile::tempdir().unwrap();
        let data = DataDir::open(temp.path()).unwrap();
        let (first, second) = (Keys::load(&data).unwrap(), Keys::load(&data).unwrap());
        assert_eq!(first.ticket.to_bytes(), second.ticket.to_bytes());
        assert_ne!(first.ticket.to_bytes(), first.fingerprint);
    }

    #[test]
    fn a_damaged_key_file_is_an_error_not_a_new_key() {
        let temp = tempfile::tempdir().unwrap();
        let data = DataDir::open(temp.path()).unwrap();
        datadir::write_private(&data.server_file("ticket.key"), b"12345").unwrap();
        assert!(matches!(Keys::load(&data), Err(KeyError::Malformed(_))));
    }

    #[test]
    fn fingerprints_tell_equal_inputs_of_one_team() {
        let keys = Keys {
            ticket: SigningKey::from_bytes(&[1; 32]),
            trail: SigningKey::from_bytes(&[3; 32]),
            fingerprint: [2; 32],
        };
        let (a, b) = (TeamId::new("a"), TeamId::new("b"));
        assert_eq!(keys.fingerprint(&a, b"x"), keys.fingerprint(&a, b"x"));
        assert_ne!(keys.fingerprint(&a, b"x"), keys.fingerprint(&a, b"y"));
        assert_ne!(keys.fingerprint(&a, b"x"), keys.fingerprint(&b, b"x"));
        assert_eq!(keys.fingerprint(&a, b"x").len(), 64);
    }

    #[test]
    fn hexadecimal_digits_are_read_as_written() {
        assert_eq!(unhex(&hex(&[0xa5; 32])), Some([0xa5; 32]));
        assert_eq!(unhex(&"0".repeat(65)), None);
        assert_eq!(unhex(&"g".repeat(64)), None);
    }
}

//! What was kept outside of the server, read back: anchors and public keys.

use ed25519_dalek::VerifyingKey;

use super::{Anchor, InvalidCheckpoint, Trust, bytes::from_hexadecimal};

/// Something that was kept outside cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidTrust {
    /// No anchor stands there.
    #[error("it holds no anchor")]
    Empty,
    /// A line is no anchor.
    #[error("line {line} is no anchor")]
    Anchor {
        /// Which.
        line: usize,
        /// Why not.
        #[source]
        cause: serde_json::Error,
    },
    /// It is of a later form.
    #[error("line {line} has the form {found}, and this version reads form {}", Anchor::VERSION)]
    Newer {
        /// Which.
        line: usize,
        /// Its form.
        found: u32,
    },
    /// A checkpoint in it says nothing.
    #[error("the checkpoint of replica `{replica}` on line {line} cannot be used")]
    Checkpoint {
        /// Which.
        line: usize,
        /// Whose.
        replica: String,
        /// Why not.
        #[source]
        cause: InvalidCheckpoint,
    },
    /// A key is none.
    #[error("`{0}` is no public key: it has 64 lower-case hexadecimal digits")]
    Key(String),
}

impl Trust {
    /// Trusts the anchors of a file, one a line, and the keys that signed them.
    ///
    /// # Errors
    /// If a line is no anchor, or one whose signature does not fit.
    pub fn read_anchors(&mut self, text: &str) -> Result<(), InvalidTrust> {
        let mut found = false;
        for (at, text) in text.lines().enumerate() {
            let line = at + 1;
            if text.trim().is_empty() {
                continue;
            }
            let anchor: Anchor = serde_json::from_str(text).map_err(|cause| InvalidTrust::Anchor { line, cause })?;
            if anchor.portcullis_trail_anchor != Anchor::VERSION {
                let found = anchor.portcullis_trail_anchor;
                return Err(InvalidTrust::Newer { line, found });
            }
            for checkpoint in anchor.checkpoints {
                let key = checkpoint.verify().map_err(|cause| InvalidTrust::Checkpoint {
                    line,
                    replica: checkpoint.replica.clone(),
                    cause,
                })?;
                self.add_key(key);
                self.add_anchor(checkpoint);
                found = true;
            }
        }
        if found { Ok(()) } else { Err(InvalidTrust::Empty) }
    }

    /// Trusts a public key, given as 64 hexadecimal digits.
    ///
    /// # Errors
    /// If it is none.
    pub fn read_key(&mut self, text: &str) -> Result<(), InvalidTrust> {
        let key = from_hexadecimal(text)
            .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
            .and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        self.add_key(key.ok_or_else(|| InvalidTrust::Key(text.to_owned()))?);
        Ok(())
    }
}

//! Bearer tokens, read from their files and never shown.
//!
//! A token is what stands between an agent and the person's own rights, so its text leaves this type only as request
//! metadata. Whether it is a good one only the server knows.

use std::{
    fmt, fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use tonic::metadata::{Ascii, MetadataValue};

/// Longest token file that is read, in bytes. A token is 55 bytes; what is longer is another file.
const MAX_FILE_BYTES: u64 = 4096;

/// A bearer token.
#[derive(Clone)]
pub struct Token {
    header: MetadataValue<Ascii>,
    file: Option<PathBuf>,
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the token file `{}`", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The file holds no token.
    #[error("the token file `{}` does not hold one line with a token", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
    },
    /// The text given is no token.
    #[error("the token is not one word of printable ASCII")]
    NotAToken,
}

impl Token {
    /// Takes a token's text.
    ///
    /// # Errors
    /// If it is empty or not one word of printable ASCII.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::NotAToken);
        }
        let mut header: MetadataValue<Ascii> = format!("Bearer {text}").parse().map_err(|_| TokenError::NotAToken)?;
        header.set_sensitive(true);
        Ok(Self { header, file: None })
    }

    /// Reads a token file: one line.
    ///
    /// # Errors
    /// If it cannot be read or does not hold one token.
    pub fn read(file: &Path) -> Result<Self, TokenError> {
        let unreadable = |cause| TokenError::Unreadable {
            file: file.to_owned(),
            cause,
        };
        let mut text = String::new();
        // A pipe would be waited for.
        let regular = || match fs::metadata(file)?.is_file() {
            true => fs::File::open(file),
            false => Err(io::Error::other("it is no regular file")),
        };
        regular()
            .and_then(|open| open.take(MAX_FILE_BYTES + 1).read_to_string(&mut text))
            .map_err(unreadable)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(TokenError::Malformed { file: file.to_owned() });
        }
        let mut token = Self::new(text.trim_end_matches(['\n', '\r']))
            .map_err(|_| TokenError::Malformed { file: file.to_owned() })?;
        token.file = Some(file.to_owned());
        Ok(token)
    }

    /// The file it came from, for hints.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The value of the `authorization` metadata.
    pub(crate) fn header(&self) -> MetadataValue<Ascii> {
        self.header.clone()
    }
}

impl fmt::Debug for Token {
    /// Stars.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_shows_its_text() {
        let token = Token::new("pcl_agent_secretsecret").unwrap();
        assert_eq!(format!("{token:?} {:?}", token.header()), "Token(***) Sensitive");
    }

    #[test]
    fn a_file_holds_one_word() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("agent.token");
        for (text, good) in [
            ("pcl_agent_x\n", true),
            ("pcl_agent_x", true),
            ("", false),
            ("a b\n", false),
            ("a\nb\n", false),
            ("ä\n", false),
        ] {
            fs::write(&file, text).unwrap();
            assert_eq!(Token::read(&file).is_ok(), good, "{text:?}");
        }
        assert!(matches!(Token::read(folder.path()), Err(TokenError::Unreadable { .. })));
        fs::write(&file, "a".repeat(5000)).unwrap();
        assert!(Token::read(&file).is_err(), "the beginning of another file is no token");
        assert!(matches!(
            Token::read(&folder.path().join("absent")),
            Err(TokenError::Unreadable { .. })
        ));
    }
}

//! Bearer tokens: `pcl_<role>_<43 characters of base64url>`.
//!
//! The 43 characters are 256 random bits. The server keeps the SHA-256 of the whole token and looks it up by that. A
//! slow hash (argon2 and kin) protects secrets that can be guessed; 256 random bits cannot, and a slow hash per call
//! would only be a way to keep the server busy. The look-up compares hashes, so its timing says nothing about a token.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

use super::Role;

/// Characters of the random part.
const SECRET_CHARS: usize = 43;

/// A token as its owner has it. Prints as stars.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// The SHA-256 of a token: what the server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A text that cannot be a token. Does not repeat it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a token: a token is `pcl_`, a role, `_` and {SECRET_CHARS} letters, digits, `-` or `_`")]
pub struct InvalidToken;

impl Token {
    /// Makes a new one from the system's random numbers.
    ///
    /// # Errors
    /// If the system has none.
    pub fn generate(role: Role) -> Result<Self, getrandom::Error> {
        let mut secret = [0_u8; 32];
        getrandom::fill(&mut secret)?;
        Ok(Self(format!("pcl_{role}_{}", URL_SAFE_NO_PAD.encode(secret))))
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the text has not the form of a token.
    pub fn parse(text: &str) -> Result<Self, InvalidToken> {
        let (role, secret) = text
            .strip_prefix("pcl_")
            .and_then(|rest| rest.split_once('_'))
            .ok_or(InvalidToken)?;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if Role::from_word(role).is_none() || secret.len() != SECRET_CHARS || !secret.bytes().all(allowed) {
            return Err(InvalidToken);
        }
        Ok(Self(text.to_owned()))
    }

    /// What the server keeps of it.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0.as_bytes()).into())
    }

    /// The text, to be written into its owner's file. Nowhere else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_can_be_read_and_differs_each_time() {
        for role in Role::ALL {
            let token = Token::generate(role).unwrap();
            assert_eq!(Token::parse(token.expose()), Ok(token.clone()));
            assert_ne!(token, Token::generate(role).unwrap());
        }
    }

    #[test]
    fn near_misses_are_no_tokens() {
        let good = format!("pcl_agent_{}", "a".repeat(43));
        assert!(Token::parse(&good).is_ok());
        let short = good.strip_suffix('a').unwrap();
        let bad = [
            "",
            "pcl_",
            "pcl_agent_",
            good.strip_prefix('p').unwrap(),
            short,
            &format!("{good}a"),
        ];
        let other = [
            good.replace("agent", "root"),
            good.replacen('a', "é", 1),
            format!("{short}+"),
        ];
        for text in bad.into_iter().chain(other.iter().map(String::as_str)) {
            assert_eq!(Token::parse(text), Err(InvalidToken), "{text}");
        }
    }

    #[test]
    fn a_token_prints_as_stars() {
        let token = Token::generate(Role::Admin).unwrap();
        let secret = token.expose().rsplit_once("admin_").unwrap().1;
        assert!(!format!("{token:?}").contains(secret));
    }
}

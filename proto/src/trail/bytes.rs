//! Hashes and signatures as values, and the texts in which bytes and large numbers stand in a file.
//!
//! Each value has exactly one text: a file of a trail is compared with what we would have written, and a second spelling of
//! the same bytes would be a change that nobody finds.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest as _, Sha256};

/// A SHA-256.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// What the first commit of a chain follows.
    pub const NONE: Self = Self([0; 32]);

    /// The hash of these bytes, if there are 32.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hexadecimal(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = from_hexadecimal(&text).and_then(|bytes| Self::from_slice(&bytes));
        bytes.ok_or_else(|| D::Error::custom("a hash has 64 lower-case hexadecimal digits"))
    }
}

/// An Ed25519 signature.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signed(pub [u8; 64]);

impl Signed {
    /// The signature in these bytes, if there are 64.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hexadecimal(&self.0))
    }
}

impl Serialize for Signed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hexadecimal(&self.0))
    }
}

impl<'de> Deserialize<'de> for Signed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = from_hexadecimal(&text).and_then(|bytes| Self::from_slice(&bytes));
        bytes.ok_or_else(|| D::Error::custom("a signature has 128 lower-case hexadecimal digits"))
    }
}

/// Lower-case hexadecimal digits.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| DIGITS.get(usize::from(digit))).collect()
}

/// The bytes behind lower-case hexadecimal digits; `None` if it is another text.
#[must_use]
pub fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .bytes()
        .map(|byte| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty()
        .then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Whole numbers as text: JSON readers that know only floating point would change a time in nanoseconds.
pub(super) mod decimal {
    use serde::de::Error as _;

    use super::{Deserialize as _, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|_| D::Error::custom("a time is a whole number of nanoseconds"))
    }
}

/// Bytes in base64.
pub(super) mod base64_text {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use serde::de::Error as _;

    use super::{Deserialize as _, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(|_| D::Error::custom("a body is base64"))
    }
}

/// Hashes fields so that no two lists of fields give the same bytes: each as its length (64 bits, big endian) and its bytes.
pub(super) struct Fields(Sha256);

impl Fields {
    pub(super) fn new(prefix: &[u8]) -> Self {
        Self(Sha256::new_with_prefix(prefix))
    }

    pub(super) fn bytes(mut self, field: &[u8]) -> Self {
        self.0.update((field.len() as u64).to_be_bytes());
        self.0.update(field);
        self
    }

    pub(super) fn text(self, field: &str) -> Self {
        self.bytes(field.as_bytes())
    }

    /// A field that may be absent: absent and empty differ.
    pub(super) fn optional(self, field: Option<&str>) -> Self {
        match field {
            None => self.bytes(&[0]),
            Some(text) => self.bytes(&[1]).text(text),
        }
    }

    pub(super) fn number(self, number: u64) -> Self {
        self.bytes(&number.to_be_bytes())
    }

    pub(super) fn time(self, nanoseconds: i64) -> Self {
        self.bytes(&nanoseconds.to_be_bytes())
    }

    pub(super) fn hash(self) -> Hash {
        Hash(self.0.finalize().into())
    }
}

//! Tickets: a permission to run one command once, signed by the server, verified by the host.
//!
//! What was approved is what runs: the claims hold a digest of the exact words of the command, and the signature covers
//! the claims' bytes as sent, so that no two readers can disagree about them. Redeeming once, expiry and audience are the
//! host's business; this module only signs, and says whether a signature and a digest are right.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use prost::Message as _;
use sha2::{Digest as _, Sha256};

use crate::v1;

/// Prefix of what is signed, so that a signature of ours can never be taken for one of another kind.
const DOMAIN: &[u8] = b"portcullis ticket v1\n";

/// Prefix of what is digested.
const COMMAND_DOMAIN: &[u8] = b"portcullis command v1\n";

/// Why a ticket is no permission.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTicket {
    /// The claims or the signature are not of the right form.
    #[error("the ticket is malformed: {0}")]
    Malformed(&'static str),
    /// No known key has this id.
    #[error("the ticket is signed with the unknown key `{0}`")]
    UnknownKey(String),
    /// The signature does not fit.
    #[error("the ticket's signature is wrong")]
    WrongSignature,
}

/// SHA-256 over the words of a command: each as its length in bytes (64 bits, big endian) and its bytes, so that
/// `["a b"]` and `["a", "b"]` differ.
#[must_use]
pub fn command_digest<S: AsRef<str>>(argv: &[S]) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(COMMAND_DOMAIN);
    for word in argv {
        let word = word.as_ref().as_bytes();
        hash.update((word.len() as u64).to_be_bytes());
        hash.update(word);
    }
    hash.finalize().into()
}

/// The id of a key: the first 16 hexadecimal digits of the SHA-256 of the public key.
#[must_use]
pub fn key_id(key: &VerifyingKey) -> String {
    let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Prefix of what a handle is the digest of.
const HANDLE_DOMAIN: &[u8] = b"portcullis ticket handle v1\n";

/// What every handle begins with.
pub const HANDLE_PREFIX: &str = "pt_";

/// The handle of a ticket: a name for command lines, where the ticket itself would be long and told to everybody who lists
/// processes. It grants nothing by itself: only the daemon that saw the ticket knows what it stands for.
#[must_use]
pub fn handle(ticket: &v1::SignedTicket) -> String {
    let mut hash = Sha256::new_with_prefix(HANDLE_DOMAIN);
    // The signature first: it has one length.
    hash.update(&ticket.signature);
    hash.update(&ticket.claims);
    let digest: [u8; 32] = hash.finalize().into();
    let hexadecimal: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{HANDLE_PREFIX}{hexadecimal}")
}

/// Signs claims. Sets their `key_id`.
#[must_use]
pub fn sign(key: &SigningKey, mut claims: v1::TicketClaims) -> v1::SignedTicket {
    claims.key_id = key_id(&key.verifying_key());
    let claims = claims.encode_to_vec();
    let signature = key.sign(&[DOMAIN, &claims].concat());
    v1::SignedTicket {
        claims,
        signature: signature.to_bytes().to_vec(),
    }
}

/// Verifies a signature and returns the claims. Whether they fit the moment is for the caller to judge.
///
/// # Errors
/// If the ticket is malformed, of an unknown key, or wrongly signed.
pub fn verify(ticket: &v1::SignedTicket, keys: &[VerifyingKey]) -> Result<v1::TicketClaims, InvalidTicket> {
    let claims = v1::TicketClaims::decode(ticket.claims.as_slice())
        .map_err(|_| InvalidTicket::Malformed("its claims cannot be read"))?;
    let signature: [u8; 64] = ticket
        .signature
        .as_slice()
        .try_into()
        .map_err(|_| InvalidTicket::Malformed("its signature is not 64 bytes long"))?;
    let key = keys
        .iter()
        .find(|key| key_id(key) == claims.key_id)
        .ok_or_else(|| InvalidTicket::UnknownKey(claims.key_id.clone()))?;
    key.verify_strict(&[DOMAIN, &ticket.claims].concat(), &Signature::from_bytes(&signature))
        .map_err(|_| InvalidTicket::WrongSignature)?;
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    fn claims() -> v1::TicketClaims {
        v1::TicketClaims {
            decision_id: "d".into(),
            cwd: "/w".into(),
            uid: 7,
            ..Default::default()
        }
    }

    #[test]
    fn what_was_signed_is_what_is_read() {
        let key = key(1);
        let ticket = sign(&key, claims());
        let read = verify(&ticket, &[key.verifying_key()]).unwrap();
        assert_eq!((read.decision_id.as_str(), read.uid), ("d", 7));
    }

    #[test]
    fn any_changed_byte_of_claims_or_signature_is_noticed() {
        let key = key(1);
        let ticket = sign(&key, claims());
        for at in 0..ticket.claims.len() {
            let mut forged = ticket.clone();
            forged.claims[at] ^= 1;
            assert!(verify(&forged, &[key.verifying_key()]).is_err(), "claims byte {at}");
        }
        for at in 0..ticket.signature.len() {
            let mut forged = ticket.clone();
            forged.signature[at] ^= 1;
            assert!(verify(&forged, &[key.verifying_key()]).is_err(), "signature byte {at}");
        }
    }

    #[test]
    fn each_ticket_has_a_handle_of_its_own() {
        let ticket = sign(&key(1), claims());
        let handle_of = handle(&ticket);
        assert_eq!(handle_of, handle(&ticket.clone()));
        assert!(handle_of.starts_with(HANDLE_PREFIX) && handle_of.len() == HANDLE_PREFIX.len() + 32);
        let mut other = ticket.clone();
        other.claims[0] ^= 1;
        assert_ne!(handle(&other), handle_of);
        assert_ne!(handle(&sign(&key(2), claims())), handle_of);
    }

    #[test]
    fn a_stranger_cannot_sign() {
        let ticket = sign(&key(2), claims());
        assert!(matches!(
            verify(&ticket, &[key(1).verifying_key()]),
            Err(InvalidTicket::UnknownKey(_))
        ));
    }

    #[test]
    fn word_borders_count() {
        assert_ne!(command_digest(&["a b"]), command_digest(&["a", "b"]));
        assert_ne!(command_digest(&["ab", ""]), command_digest(&["ab"]));
    }
}

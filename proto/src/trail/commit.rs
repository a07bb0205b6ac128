//! Commits, the chain that they make, and what of it is signed.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use super::{
    bytes::{Fields, Hash, Signed, decimal},
    merkle,
};
use crate::ticket::key_id;

const COMMIT_DOMAIN: &[u8] = b"portcullis trail commit v1\n";

/// Prefix of what is signed, so that a signature of ours can never be taken for one of another kind.
const CHECKPOINT_DOMAIN: &[u8] = b"portcullis trail checkpoint v1\n";

/// How its records came under a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// In the transaction that wrote them.
    Written,
    /// They were there before there was a chain: from then on they are protected, what was before nobody can say.
    Adopted,
}

impl Origin {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Written, Self::Adopted];

    /// The word in the database, and what is hashed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Adopted => "adopted",
        }
    }
}

/// The records of one team that one transaction wrote, sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// Whose trail.
    pub team: String,
    /// Whose chain.
    pub replica: String,
    /// 1, 2, 3, … in its chain.
    pub number: u64,
    /// Its first record.
    pub first_sequence: u64,
    /// Its last record.
    pub last_sequence: u64,
    /// When it was made, in nanoseconds since 1970.
    #[serde(with = "decimal")]
    pub time_ns: i64,
    /// How its records came under it.
    pub origin: Origin,
    /// Hash of the commit before; [`Hash::NONE`] for the first.
    pub previous: Hash,
    /// Merkle root over its leaves.
    pub root: Hash,
    /// Id of the key that signed it.
    pub key_id: String,
    /// Signature of its checkpoint.
    pub signature: Signed,
    /// The leaf of each record.
    pub leaves: Vec<Hash>,
}

/// Where a chain stands: what the next commit follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Number of the last commit; 0 = none.
    pub number: u64,
    /// Its hash.
    pub hash: Hash,
    /// The last record; 0 = none.
    pub last_sequence: u64,
}

impl Commit {
    /// What the next commit follows. It covers the records, by the root, and all commits before.
    #[must_use]
    pub fn hash(&self) -> Hash {
        let Self {
            team,
            replica,
            number,
            first_sequence,
            last_sequence,
            time_ns,
            origin,
            previous,
            root,
            key_id,
            // Made from the hash.
            signature: _,
            // Held by the root.
            leaves: _,
        } = self;
        Fields::new(COMMIT_DOMAIN)
            .text(team)
            .text(replica)
            .number(*number)
            .number(*first_sequence)
            .number(*last_sequence)
            .time(*time_ns)
            .text(origin.as_str())
            .bytes(&previous.0)
            .bytes(&root.0)
            .text(key_id)
            .hash()
    }

    /// Whether its parts belong together: as many leaves as records, and the root over them.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let records = self
            .last_sequence
            .checked_sub(self.first_sequence)
            .and_then(|between| between.checked_add(1));
        self.first_sequence > 0 && records == Some(self.leaves.len() as u64) && merkle::root(&self.leaves) == self.root
    }

    /// Its checkpoint, under this key.
    #[must_use]
    pub fn checkpoint(&self, key: &VerifyingKey) -> Checkpoint {
        Checkpoint {
            team: self.team.clone(),
            replica: self.replica.clone(),
            number: self.number,
            last_sequence: self.last_sequence,
            time_ns: self.time_ns,
            hash: self.hash(),
            public_key: Hash(key.to_bytes()),
            signature: self.signature,
        }
    }

    /// Where the chain stands after it.
    #[must_use]
    pub fn head(&self) -> Head {
        Head {
            number: self.number,
            hash: self.hash(),
            last_sequence: self.last_sequence,
        }
    }
}

/// Makes the commit that follows `head`, over records with these leaves.
#[must_use]
pub fn seal(
    (team, replica): (&str, &str),
    head: &Head,
    first_sequence: u64,
    leaves: Vec<Hash>,
    time_ns: i64,
    origin: Origin,
    key: &SigningKey,
) -> Commit {
    let mut commit = Commit {
        team: team.to_owned(),
        replica: replica.to_owned(),
        number: head.number.saturating_add(1),
        first_sequence,
        last_sequence: first_sequence.saturating_add((leaves.len() as u64).saturating_sub(1)),
        time_ns,
        origin,
        previous: head.hash,
        root: merkle::root(&leaves),
        key_id: key_id(&key.verifying_key()),
        signature: Signed([0; 64]),
        leaves,
    };
    let signed = commit.checkpoint(&key.verifying_key()).digest();
    commit.signature = Signed(key.sign(&signed).to_bytes());
    commit
}

/// A signed statement of where a chain stood. Kept outside of the server it is what nobody can rewrite the trail past.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Whose trail.
    pub team: String,
    /// Whose chain.
    pub replica: String,
    /// The commit.
    pub number: u64,
    /// Its last record.
    pub last_sequence: u64,
    /// When it was made, in nanoseconds since 1970.
    #[serde(with = "decimal")]
    pub time_ns: i64,
    /// The commit's hash.
    pub hash: Hash,
    /// The public key that it is signed with.
    pub public_key: Hash,
    /// The signature over all of the above.
    pub signature: Signed,
}

/// Why a checkpoint says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCheckpoint {
    /// Its key is none.
    #[error("its public key is none")]
    Key,
    /// The signature does not fit.
    #[error("its signature does not fit")]
    Signature,
}

impl Checkpoint {
    fn digest(&self) -> Vec<u8> {
        let Self {
            team,
            replica,
            number,
            last_sequence,
            time_ns,
            hash,
            public_key,
            signature: _,
        } = self;
        let fields = Fields::new(CHECKPOINT_DOMAIN)
            .text(team)
            .text(replica)
            .number(*number)
            .number(*last_sequence)
            .time(*time_ns)
            .bytes(&hash.0)
            .bytes(&public_key.0)
            .hash();
        [CHECKPOINT_DOMAIN, &fields.0].concat()
    }

    /// The key that it names.
    ///
    /// # Errors
    /// If the bytes are no key.
    pub fn key(&self) -> Result<VerifyingKey, InvalidCheckpoint> {
        VerifyingKey::from_bytes(&self.public_key.0).map_err(|_| InvalidCheckpoint::Key)
    }

    /// Checks its signature with the key that it names. Whether that key is the right one is for the caller to judge.
    ///
    /// # Errors
    /// If the signature does not fit.
    pub fn verify(&self) -> Result<VerifyingKey, InvalidCheckpoint> {
        let key = self.key()?;
        key.verify_strict(&self.digest(), &Signature::from_bytes(&self.signature.0))
            .map_err(|_| InvalidCheckpoint::Signature)?;
        Ok(key)
    }
}

/// The newest checkpoint of every chain of a team: a manifest of its replicas. To be kept outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// Version of this form.
    pub portcullis_trail_anchor: u32,
    /// Whose trail.
    pub team: String,
    /// One per replica that has written anything.
    pub checkpoints: Vec<Checkpoint>,
}

impl Anchor {
    /// The version of the form.
    pub const VERSION: u32 = 1;

    /// An anchor of these checkpoints.
    #[must_use]
    pub fn new(team: &str, checkpoints: Vec<Checkpoint>) -> Self {
        Self {
            portcullis_trail_anchor: Self::VERSION,
            team: team.to_owned(),
            checkpoints,
        }
    }
}

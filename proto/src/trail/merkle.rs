//! The Merkle tree of RFC 6962, section 2.1, over leaves that are hashed already.

use sha2::{Digest as _, Sha256};

use super::bytes::Hash;

/// The root over leaves; of no leaves, the hash of nothing.
#[must_use]
pub fn root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash(Sha256::digest([]).into()),
        [leaf] => *leaf,
        _ => {
            // The largest power of two below the number of leaves.
            let left = 1_usize << (leaves.len() - 1).ilog2();
            let (left, right) = leaves.split_at(left.min(leaves.len()));
            node(root(left), root(right))
        }
    }
}

fn node(left: Hash, right: Hash) -> Hash {
    let mut hash = Sha256::new_with_prefix([1]);
    hash.update(left.0);
    hash.update(right.0);
    Hash(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(number: u8) -> Hash {
        Hash([number; 32])
    }

    #[test]
    fn trees_split_at_the_largest_power_of_two() {
        let (a, b, c) = (leaf(1), leaf(2), leaf(3));
        assert_eq!(root(&[a, b, c]), node(node(a, b), c));
        let five: Vec<Hash> = (1..=5).map(leaf).collect();
        assert_eq!(root(&five), node(node(node(a, b), node(c, leaf(4))), leaf(5)));
    }

    /// The test value of RFC 6962's reference implementation.
    #[test]
    fn an_empty_tree_is_the_hash_of_nothing() {
        assert_eq!(
            root(&[]).to_string(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}

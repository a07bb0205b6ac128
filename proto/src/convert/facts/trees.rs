//! What a host says about folders that a call reads as a whole.

use std::collections::{BTreeMap, BTreeSet};

use portcullis_policy::{AbsPath, evaluate::MAX_TREES, facts::Tree};

use super::{InvalidMessage, check};
use crate::v1;

/// Most names of one kind, of one folder.
const MAX_NAMES: usize = 20_000;
/// Longest name, in bytes: no file system takes a longer one.
const MAX_NAME: usize = 1024;
/// Most links of one folder.
const MAX_LINKS: usize = 1000;

pub(super) fn trees(wire: Vec<v1::TreeFact>) -> Result<BTreeMap<AbsPath, Tree>, InvalidMessage> {
    check::count("facts.trees", &wire, MAX_TREES)?;
    let mut trees = BTreeMap::new();
    for (at, fact) in wire.into_iter().enumerate() {
        let field = format!("facts.trees[{at}]");
        let folder = check::path(&format!("{field}.folder"), &fact.folder, check::MAX_PATH)?;
        let files = names(&format!("{field}.files"), fact.files)?;
        let folders = names(&format!("{field}.folders"), fact.folders)?;
        check::count(&format!("{field}.links"), &fact.links, MAX_LINKS)?;
        let mut links = BTreeMap::new();
        for (at, link) in fact.links.into_iter().enumerate() {
            let field = format!("{field}.links[{at}]");
            links.insert(
                check::path(&format!("{field}.path"), &link.path, check::MAX_PATH)?,
                check::path(&format!("{field}.real_path"), &link.real_path, check::MAX_PATH)?,
            );
        }
        let tree = Tree {
            complete: fact.complete,
            files,
            folders,
            links,
        };
        if trees.insert(folder, tree).is_some() {
            return Err(InvalidMessage::new(field, "speaks of a folder for the second time"));
        }
    }
    Ok(trees)
}

fn names(field: &str, wire: Vec<String>) -> Result<BTreeSet<String>, InvalidMessage> {
    check::count(field, &wire, MAX_NAMES)?;
    for (at, name) in wire.iter().enumerate() {
        check::length(&format!("{field}[{at}]"), name, MAX_NAME)?;
    }
    Ok(wire.into_iter().collect())
}

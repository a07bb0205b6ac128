//! Verifies one team's trail, item by item, in memory that one commit bounds.
//!
//! A commit comes before its records. What is wrong is told once, at its place: after a commit that was changed the next
//! one does not follow it, which is the same fault seen from behind and is not told again.

use std::collections::BTreeMap;

use ed25519_dalek::VerifyingKey;

use super::{
    bytes::Hash,
    commit::{Checkpoint, Commit, Head, Origin},
    finding::{ChainSummary, Finding, FindingKind, Report, Summary},
    record::Record,
};
use crate::ticket::key_id;

/// A piece of a trail, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A commit; its records follow.
    Commit(Commit),
    /// A record.
    Record(Record),
}

/// Whom a verifier believes.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    keys: BTreeMap<String, VerifyingKey>,
    anchors: Vec<Checkpoint>,
    claims: Vec<Checkpoint>,
    /// The claims name every chain there is.
    complete: bool,
}

impl Trust {
    /// Trusts signatures of this key.
    pub fn add_key(&mut self, key: VerifyingKey) {
        self.keys.insert(key_id(&key), key);
    }

    /// Whether any key is trusted.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Trusts a checkpoint that was kept outside: what it says has to be in the trail.
    pub fn add_anchor(&mut self, checkpoint: Checkpoint) {
        self.anchors.push(checkpoint);
    }

    /// What the trail says of itself, at the place from which it comes: exactly these chains, and exactly so long.
    pub fn set_claims(&mut self, checkpoints: Vec<Checkpoint>) {
        self.claims = checkpoints;
        self.complete = true;
    }

    fn about<'a>(checkpoints: &'a [Checkpoint], team: &str) -> Vec<&'a Checkpoint> {
        checkpoints
            .iter()
            .filter(|checkpoint| checkpoint.team == team)
            .collect()
    }

    /// The checkpoints that were kept outside.
    pub fn anchors(&self) -> impl Iterator<Item = &Checkpoint> {
        self.anchors.iter()
    }
}

/// A chain, as far as it was read.
#[derive(Debug, Default)]
struct Chain {
    head: Head,
    /// Its last commit was found to be wrong, so that the next one cannot follow it.
    suspect: bool,
    /// Hashes at the commits that anchors and claims name.
    passed: BTreeMap<u64, Hash>,
}

/// The commit whose records are being read.
#[derive(Debug)]
struct Open {
    commit: Commit,
    seen: Vec<bool>,
    /// Place after the furthest record that was seen.
    reached: usize,
}

/// Verifies the trail of one team.
#[derive(Debug)]
pub struct Verifier<'a> {
    team: String,
    trust: &'a Trust,
    chains: BTreeMap<String, Chain>,
    open: Option<Open>,
    /// The record that has to come next, over all chains.
    next_sequence: u64,
    records: u64,
    adopted: u64,
    line: Option<u64>,
    report: Report,
}

impl<'a> Verifier<'a> {
    /// Begins with the first record of a team's trail.
    #[must_use]
    pub fn new(team: &str, trust: &'a Trust) -> Self {
        Self {
            team: team.to_owned(),
            trust,
            chains: BTreeMap::new(),
            open: None,
            next_sequence: 1,
            records: 0,
            adopted: 0,
            line: None,
            report: Report::default(),
        }
    }

    /// Begins in the middle, with the commit after `head`. What is before is taken on trust.
    #[must_use]
    pub fn resume(team: &str, replica: &str, head: Head, trust: &'a Trust) -> Self {
        let chain = Chain {
            head,
            ..Chain::default()
        };
        Self {
            chains: BTreeMap::from([(replica.to_owned(), chain)]),
            next_sequence: head.last_sequence.saturating_add(1),
            ..Self::new(team, trust)
        }
    }

    /// The line that the next item stands on, for its findings.
    pub fn at_line(&mut self, line: u64) {
        self.line = Some(line);
    }

    /// Records and commits so far.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.records, self.chains.values().map(|chain| chain.head.number).sum())
    }

    /// Adds a finding at the present line.
    pub fn add(&mut self, mut finding: Finding) {
        finding.line = self.line;
        self.report.add(finding);
    }

    fn found(&self, kind: FindingKind, detail: impl Into<String>) -> Finding {
        Finding::new(kind, &self.team, detail)
    }

    /// Takes the next item.
    pub fn item(&mut self, item: Item) {
        match item {
            Item::Commit(commit) => self.commit(commit),
            Item::Record(record) => self.record(&record),
        }
    }

    fn commit(&mut self, commit: Commit) {
        self.close();
        let (replica, number) = (commit.replica.clone(), commit.number);
        let (first, last) = (commit.first_sequence, commit.last_sequence);
        let at = |finding: Finding| finding.in_commit(&replica, number).records(first, last);
        let mut faulty = true;
        if commit.team != self.team {
            let detail = format!("a commit of team `{}`", commit.team);
            self.add(at(self.found(FindingKind::Inserted, detail)));
        } else if !commit.is_sound() {
            self.add(at(self.found(
                FindingKind::Changed,
                "the parts of the commit do not belong together",
            )));
        } else if let Some(key) = self.trust.keys.get(&commit.key_id) {
            faulty = commit.checkpoint(key).verify().is_err();
            if faulty {
                let detail = "its signature does not fit: the commit was changed, or signed by somebody else";
                self.add(at(self.found(FindingKind::WrongSignature, detail)));
            }
        } else {
            let detail = format!("signed with the key `{}`, which is not trusted", commit.key_id);
            self.add(at(self.found(FindingKind::OtherKey, detail)));
            // Its place in the chain is still checked: a new key does not make every commit after it suspect.
            faulty = false;
        }
        let commit = if faulty { self.in_its_place(commit) } else { commit };
        self.place(&commit, faulty);
        self.open = Some(Open {
            seen: vec![false; commit.leaves.len()],
            reached: 0,
            commit,
        });
    }

    /// A commit that was changed but follows the one before it: read as what has to stand there, so that one number that was
    /// changed does not make everything after it look wrong.
    fn in_its_place(&self, commit: Commit) -> Commit {
        let head = self
            .chains
            .get(&commit.replica)
            .map(|chain| chain.head)
            .unwrap_or_default();
        if commit.previous != head.hash {
            return commit;
        }
        let first = self.next_sequence;
        Commit {
            number: head.number.saturating_add(1),
            first_sequence: first,
            last_sequence: first.saturating_add(commit.leaves.len() as u64).saturating_sub(1),
            ..commit
        }
    }

    /// Checks where a commit stands in its chain, and moves on.
    fn place(&mut self, commit: &Commit, faulty: bool) {
        let (replica, number) = (commit.replica.as_str(), commit.number);
        let (first, last) = (commit.first_sequence, commit.last_sequence);
        let chain = self.chains.entry(replica.to_owned()).or_default();
        let (head, suspect) = (chain.head, chain.suspect);
        let expected = head.number.saturating_add(1);
        if number < expected {
            let (kind, detail) = if number == head.number {
                (
                    FindingKind::Inserted,
                    "this commit, or another one of its number, came before".to_owned(),
                )
            } else {
                (
                    FindingKind::Reordered,
                    format!("it stands after commit {}", head.number),
                )
            };
            let finding = self.found(kind, detail);
            self.add(finding.in_commit(replica, number).records(first, last));
            return;
        }
        if number > expected {
            let until = number.saturating_sub(1);
            let detail = if until == expected {
                "the commit is not there".to_owned()
            } else {
                format!("commits {expected} to {until} are not there")
            };
            let mut finding = self.found(FindingKind::Removed, detail).in_commit(replica, expected);
            if first > self.next_sequence {
                finding = finding.records(self.next_sequence, first.saturating_sub(1));
            }
            self.add(finding);
        } else {
            if commit.previous != head.hash && !suspect && !faulty {
                let detail = format!("it does not follow commit {} as that stands here", head.number);
                let finding = self.found(FindingKind::Changed, detail);
                self.add(finding.in_commit(replica, number).records(first, last));
            }
            if first > self.next_sequence {
                let finding = self.found(FindingKind::Removed, "no commit covers them");
                let until = first.saturating_sub(1);
                self.add(finding.in_commit(replica, number).records(self.next_sequence, until));
            } else if first < self.next_sequence && !faulty {
                let finding = self.found(FindingKind::Inserted, "an earlier commit covers some of its records");
                self.add(finding.in_commit(replica, number).records(first, last));
            }
        }
        let mut known = self.trust.anchors.iter().chain(&self.trust.claims);
        let named = known.any(|checkpoint| {
            checkpoint.team == self.team && checkpoint.replica == replica && checkpoint.number == number
        });
        let chain = self.chains.entry(replica.to_owned()).or_default();
        chain.head = commit.head();
        chain.suspect = faulty;
        if named {
            chain.passed.insert(number, chain.head.hash);
        }
        self.next_sequence = self.next_sequence.max(last.saturating_add(1));
    }

    fn record(&mut self, record: &Record) {
        self.records += 1;
        let sequence = record.sequence;
        let Some(open) = &mut self.open else {
            let finding = self.found(FindingKind::Inserted, "no commit covers it");
            return self.add(finding.records(sequence, sequence));
        };
        let place = sequence
            .checked_sub(open.commit.first_sequence)
            .and_then(|place| usize::try_from(place).ok())
            .filter(|_| sequence <= open.commit.last_sequence);
        let slot = place.and_then(|place| Some((place, open.seen.get_mut(place)?, open.commit.leaves.get(place)?)));
        let (replica, number) = (open.commit.replica.clone(), open.commit.number);
        let finding = match slot {
            None => Some((FindingKind::Inserted, "the commit before it does not cover it")),
            Some((_, seen, _)) if *seen => Some((FindingKind::Inserted, "it is there a second time")),
            Some((place, seen, leaf)) => {
                *seen = true;
                let late = place < open.reached;
                open.reached = open.reached.max(place + 1);
                if open.commit.origin == Origin::Adopted {
                    self.adopted += 1;
                }
                if record.leaf() != *leaf {
                    Some((FindingKind::Changed, "it is not the record that was committed"))
                } else {
                    late.then_some((FindingKind::Reordered, "it stands after a later record"))
                }
            }
        };
        if let Some((kind, detail)) = finding {
            let finding = self.found(kind, detail).in_commit(&replica, number);
            self.add(finding.records(sequence, sequence));
        }
    }

    /// The records of the open commit are all read: those that were not seen are missing.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let mut missing: Option<(u64, u64)> = None;
        let mut sequence = open.commit.first_sequence;
        for seen in open.seen.iter().chain([&true]) {
            if *seen {
                if let Some((first, last)) = missing.take() {
                    let finding = self.found(FindingKind::Removed, "the commit covers it, and it is not there");
                    self.add(
                        finding
                            .in_commit(&open.commit.replica, open.commit.number)
                            .records(first, last),
                    );
                }
            } else {
                missing = Some((missing.map_or(sequence, |(first, _)| first), sequence));
            }
            sequence = sequence.saturating_add(1);
        }
    }

    /// Everything was read: compares with anchors and claims, and reports.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.close();
        let trust = self.trust;
        let mut anchored = false;
        for anchor in Trust::about(&trust.anchors, &self.team) {
            anchored = true;
            self.compare(anchor, "the anchor", false);
        }
        let claims = Trust::about(&trust.claims, &self.team);
        for claim in &claims {
            self.compare(claim, "the manifest", true);
        }
        if trust.complete {
            let claimed = |replica: &String| claims.iter().any(|claim| claim.replica == *replica);
            let unknown: Vec<String> = self
                .chains
                .keys()
                .filter(|replica| !claimed(replica))
                .cloned()
                .collect();
            for replica in unknown {
                let finding = self.found(FindingKind::Inserted, "the manifest knows no such chain");
                self.add(finding.in_commit(&replica, 1));
            }
        }
        let chains = self
            .chains
            .into_iter()
            .map(|(replica, chain)| ChainSummary {
                replica,
                commits: chain.head.number,
                last_sequence: chain.head.last_sequence,
                hash: chain.head.hash,
            })
            .collect();
        self.report.teams.push(Summary {
            team: self.team,
            records: self.records,
            adopted: self.adopted,
            chains,
            anchored,
        });
        self.report.concluded()
    }

    fn compare(&mut self, known: &Checkpoint, whose: &str, exact: bool) {
        let (number, last) = (known.number, known.last_sequence);
        let in_place = |finding: Finding| finding.in_commit(&known.replica, number);
        let chain = self.chains.get(&known.replica);
        let Some((head, passed)) = chain.map(|chain| (chain.head, chain.passed.get(&number).copied())) else {
            let detail = format!("{whose} knows this chain up to record {last}, and it is not there");
            let finding = in_place(self.found(FindingKind::MissingChain, detail));
            return self.add(finding);
        };
        let finding = if head.number < number {
            let detail = format!(
                "the chain ends with commit {} and record {}; {whose} knows it up to commit {number} and record {last}",
                head.number, head.last_sequence
            );
            let first = head.last_sequence.saturating_add(1).min(last);
            self.found(FindingKind::CutOff, detail)
                .in_commit(&known.replica, head.number.saturating_add(1))
                .records(first, last)
        } else if exact && head.number > number {
            let detail = format!(
                "{whose} ends with commit {number}; the chain goes on to commit {}",
                head.number
            );
            self.found(FindingKind::Inserted, detail)
                .in_commit(&known.replica, number.saturating_add(1))
                .records(last.saturating_add(1), head.last_sequence)
        } else if passed != Some(known.hash) {
            let detail =
                format!("the commit is not the one that {whose} knows: it, or something before it, was replaced");
            in_place(self.found(FindingKind::Rewritten, detail)).records(1, last)
        } else {
            return;
        };
        self.add(finding);
    }
}

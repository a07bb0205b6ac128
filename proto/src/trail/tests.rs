//! Any single change of a trail is found, at its place; an untouched one passes.

use ed25519_dalek::SigningKey;
use proptest::prelude::*;

use super::{
    file::{End, Header, Line, NoTrail, VERSION, verify},
    *,
};

const REPLICA: &str = "0190b0a0-0000-7000-8000-000000000001";

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn record(replica: &str, sequence: u64) -> Record {
    let outcome = sequence.is_multiple_of(3);
    Record {
        team: "team".to_owned(),
        replica: replica.to_owned(),
        sequence,
        record_id: format!("r{sequence}"),
        time_ns: 1_700_000_000_000_000_000 + i64::try_from(sequence).unwrap(),
        kind: if outcome { "outcome" } else { "decision" }.to_owned(),
        principal: "dev".to_owned(),
        host_id: "h".to_owned(),
        host_principal: Some("host".to_owned()),
        effect: (!outcome).then(|| "allow".to_owned()),
        session_id: None,
        decision_id: Some(format!("d{sequence}")),
        tool_name: Some("Bash".to_owned()),
        body: format!("body {sequence}").into_bytes(),
    }
}

/// A trail of commits with so many records each; the second number says which replica.
fn items(commits: &[(u64, u8)], key: &SigningKey) -> (Vec<Item>, Vec<Checkpoint>) {
    let mut heads = std::collections::BTreeMap::<String, (Head, Checkpoint)>::new();
    let (mut items, mut next) = (Vec::new(), 1);
    for (count, replica) in commits {
        let replica = format!("{REPLICA}{replica}");
        let records: Vec<Record> = (next..next + count)
            .map(|sequence| record(&replica, sequence))
            .collect();
        let head = heads.get(&replica).map(|(head, _)| *head).unwrap_or_default();
        let leaves = records.iter().map(Record::leaf).collect();
        let commit = seal(
            ("team", &replica),
            &head,
            next,
            leaves,
            i64::try_from(next).unwrap(),
            Origin::Written,
            key,
        );
        heads.insert(replica, (commit.head(), commit.checkpoint(&key.verifying_key())));
        items.push(Item::Commit(commit));
        items.extend(records.into_iter().map(Item::Record));
        next += count;
    }
    (items, heads.into_values().map(|(_, checkpoint)| checkpoint).collect())
}

fn lines(items: &[Item], manifest: Vec<Checkpoint>) -> Vec<String> {
    let header = Header {
        version: VERSION,
        team: "team".to_owned(),
        manifest,
    };
    let commits = items.iter().filter(|item| matches!(item, Item::Commit(_))).count() as u64;
    let end = End {
        records: items.len() as u64 - commits,
        commits,
    };
    let middle = items.iter().map(|item| match item {
        Item::Commit(commit) => Line::Commit(commit.clone()),
        Item::Record(record) => Line::Record(record.clone()),
    });
    std::iter::once(Line::Trail(header))
        .chain(middle)
        .chain([Line::End(end)])
        .map(|line| line.to_text().unwrap())
        .collect()
}

fn trust(manifest: &[Checkpoint]) -> Trust {
    let mut trust = Trust::default();
    trust.add_key(key(1).verifying_key());
    for checkpoint in manifest {
        trust.add_anchor(checkpoint.clone());
    }
    trust
}

fn check(lines: &[String], trust: Trust) -> Report {
    verify(lines.concat().as_bytes(), trust).unwrap()
}

fn kinds(report: &Report) -> Vec<FindingKind> {
    report.findings.iter().map(|finding| finding.kind).collect()
}

fn some_commits() -> impl Strategy<Value = Vec<(u64, u8)>> {
    prop::collection::vec((1_u64..6, 0_u8..2), 2..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn an_untouched_trail_is_intact(commits in some_commits()) {
        let (items, manifest) = items(&commits, &key(1));
        let report = check(&lines(&items, manifest.clone()), trust(&manifest));
        prop_assert!(report.intact, "{:?}", report.findings);
        prop_assert!(report.teams[0].anchored);
        prop_assert_eq!(report.teams[0].records, commits.iter().map(|(count, _)| count).sum::<u64>());
        // And without anything from outside, with the keys that it names.
        let report = check(&lines(&items, manifest), Trust::default());
        prop_assert!(report.intact && !report.notes.is_empty());
    }

    /// One byte of one line is another one: some finding names that line, or the record or commit that stood there.
    #[test]
    fn a_changed_byte_is_found_at_its_line(commits in some_commits(), at in any::<prop::sample::Index>(), flip in 1_u8..128) {
        let (items, manifest) = items(&commits, &key(1));
        let mut lines = lines(&items, manifest.clone());
        let line = at.index(lines.len());
        let mut bytes = lines[line].clone().into_bytes();
        let place = at.index(bytes.len() - 1);
        bytes[place] = (bytes[place] ^ flip) & 127;
        prop_assume!(bytes[place] != b'\n' && bytes != lines[line].as_bytes());
        lines[line] = String::from_utf8(bytes).unwrap();
        match verify(lines.concat().as_bytes(), trust(&manifest)) {
            Err(NoTrail::Header | NoTrail::Newer(_)) => prop_assert_eq!(line, 0),
            Err(other) => prop_assert!(false, "{other}"),
            Ok(report) => {
                prop_assert!(!report.intact);
                let number = line as u64 + 1;
                let record = items.get(line.wrapping_sub(1));
                let located = report.findings.iter().any(|finding| {
                    finding.line == Some(number)
                        || line + 1 == lines.len()
                        || match record {
                            Some(Item::Record(record)) => finding.first_sequence.is_some_and(|first| first <= record.sequence)
                                && finding.last_sequence.is_some_and(|last| record.sequence <= last),
                            Some(Item::Commit(commit)) => finding.commit == Some(commit.number),
                            None => line == 0,
                        }
                });
                prop_assert!(located, "line {number}: {:?}", report.findings);
            }
        }
    }

    #[test]
    fn a_removed_line_is_found(commits in some_commits(), at in any::<prop::sample::Index>()) {
        let (items, manifest) = items(&commits, &key(1));
        let mut lines = lines(&items, manifest.clone());
        let removed = at.index(items.len());
        lines.remove(removed + 1);
        let report = check(&lines, trust(&manifest));
        let expected = |finding: &Finding| match &items[removed] {
            Item::Record(record) => finding.kind == FindingKind::Removed && finding.first_sequence == Some(record.sequence),
            // Of the last commit of a chain, the manifest and the anchor say that it is missing.
            Item::Commit(commit) => {
                matches!(finding.kind, FindingKind::Removed | FindingKind::CutOff | FindingKind::MissingChain)
                    && (finding.commit == Some(commit.number) || finding.first_sequence == Some(commit.first_sequence))
            }
        };
        prop_assert!(report.findings.iter().any(expected), "{:?}: {:?}", items[removed], report.findings);
    }

    #[test]
    fn a_repeated_line_is_found(commits in some_commits(), at in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let (items, manifest) = items(&commits, &key(1));
        let mut lines = lines(&items, manifest.clone());
        let line = at.index(items.len()) + 1;
        let to = to.index(items.len()) + 1;
        lines.insert(to, lines[line].clone());
        prop_assert!(!check(&lines, trust(&manifest)).intact);
    }

    #[test]
    fn two_swapped_lines_are_found(commits in some_commits(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let (items, manifest) = items(&commits, &key(1));
        let mut lines = lines(&items, manifest.clone());
        let (a, b) = (a.index(items.len()) + 1, b.index(items.len()) + 1);
        prop_assume!(a != b);
        lines.swap(a, b);
        prop_assert!(!check(&lines, trust(&manifest)).intact);
    }

    /// Cut at a commit, with a manifest and an end that fit: only an anchor tells.
    #[test]
    fn a_trail_that_is_cut_off_is_told_by_the_anchor(commits in some_commits(), keep in any::<prop::sample::Index>()) {
        let (_, anchor) = items(&commits, &key(1));
        let keep = keep.index(commits.len() - 1) + 1;
        let (shorter, manifest) = items(&commits[..keep], &key(1));
        let file = lines(&shorter, manifest);
        prop_assert!(check(&file, trust(&[])).intact);
        let report = check(&file, trust(&anchor));
        prop_assert!(!report.intact);
        prop_assert!(kinds(&report).iter().all(|kind| matches!(kind, FindingKind::CutOff | FindingKind::MissingChain)));
    }
}

#[test]
fn a_changed_record_is_named() {
    let (mut items, manifest) = items(&[(3, 0), (4, 0)], &key(1));
    let Item::Record(record) = &mut items[6] else { panic!() };
    assert_eq!(record.sequence, 5);
    record.effect = Some("deny".to_owned());
    let report = check(&lines(&items, manifest.clone()), trust(&manifest));
    let [finding] = &*report.findings else {
        panic!("{:?}", report.findings)
    };
    assert_eq!(
        (finding.kind, finding.first_sequence, finding.commit, finding.line),
        (FindingKind::Changed, Some(5), Some(2), Some(8))
    );
}

#[test]
fn swapped_records_and_swapped_commits_are_called_reordered() {
    let (mut items, manifest) = items(&[(3, 0), (1, 0), (1, 0)], &key(1));
    items.swap(2, 3);
    let report = check(&lines(&items, manifest.clone()), trust(&manifest));
    assert_eq!(kinds(&report), [FindingKind::Reordered]);
    assert_eq!(report.findings[0].first_sequence, Some(2));
    items.swap(2, 3);
    items.swap(4, 6);
    items.swap(5, 7);
    let report = check(&lines(&items, manifest.clone()), trust(&manifest));
    assert!(
        kinds(&report).contains(&FindingKind::Reordered),
        "{:?}",
        report.findings
    );
}

#[test]
fn a_trail_that_was_written_anew_with_the_same_key_is_told_by_the_anchor() {
    let (_, anchor) = items(&[(2, 0), (2, 0)], &key(1));
    let (forged, manifest) = items(&[(1, 0), (2, 0), (2, 0)], &key(1));
    let file = lines(&forged, manifest);
    assert!(check(&file, trust(&[])).intact);
    let report = check(&file, trust(&anchor));
    assert_eq!(kinds(&report), [FindingKind::Rewritten]);
    assert_eq!(report.findings[0].commit, Some(2));
}

#[test]
fn a_stranger_cannot_sign() {
    let (forged, manifest) = items(&[(1, 0), (1, 0)], &key(2));
    let report = check(&lines(&forged, manifest), trust(&[]));
    assert_eq!(kinds(&report), [FindingKind::OtherKey; 2]);
    let (mut forged, manifest) = items(&[(1, 0), (1, 0)], &key(1));
    let Item::Commit(commit) = &mut forged[0] else { panic!() };
    commit.signature.0[3] ^= 1;
    let report = check(&lines(&forged, manifest), trust(&[]));
    assert_eq!(kinds(&report), [FindingKind::WrongSignature]);
}

#[test]
fn the_missing_chain_of_a_replica_is_told_by_manifest_and_anchor() {
    let (all, manifest) = items(&[(2, 0), (2, 1)], &key(1));
    let alone: Vec<Item> = all.into_iter().take(3).collect();
    let report = check(&lines(&alone, manifest.clone()), trust(&[]));
    assert_eq!(kinds(&report), [FindingKind::MissingChain]);
    assert_eq!(report.findings[0].replica.as_deref(), Some(&*format!("{REPLICA}1")));
    let report = check(&lines(&alone, manifest[..1].to_vec()), trust(&manifest));
    assert_eq!(kinds(&report), [FindingKind::MissingChain]);
}

#[test]
fn an_anchor_of_another_team_is_no_anchor() {
    let (all, manifest) = items(&[(2, 0)], &key(1));
    let mut other = manifest.clone();
    other[0].team = "other".to_owned();
    let report = check(&lines(&all, manifest), trust(&other));
    assert_eq!(kinds(&report), [FindingKind::MissingChain]);
    assert!(!report.teams[0].anchored);
}

#[test]
fn a_chain_can_be_verified_from_its_middle() {
    let (all, _) = items(&[(2, 0), (2, 0), (1, 0)], &key(1));
    let Item::Commit(first) = &all[0] else { panic!() };
    let trust = trust(&[]);
    let mut verifier = Verifier::resume("team", &first.replica, first.head(), &trust);
    all.iter().skip(3).for_each(|item| verifier.item(item.clone()));
    let report = verifier.finish();
    assert!(report.intact, "{:?}", report.findings);
}

/// Every column is covered, and absent is not empty.
#[test]
fn every_field_changes_the_leaf() {
    let base = record(REPLICA, 1);
    type Change = fn(&mut Record);
    let changes: [Change; 15] = [
        |record| record.team.push('x'),
        |record| record.replica.push('x'),
        |record| record.sequence += 1,
        |record| record.record_id.push('x'),
        |record| record.time_ns += 1,
        |record| record.kind.push('x'),
        |record| record.principal.push('x'),
        |record| record.host_id.push('x'),
        |record| record.host_principal = None,
        |record| record.effect = Some(String::new()),
        |record| record.session_id = Some(String::new()),
        |record| record.decision_id = None,
        |record| record.tool_name = None,
        |record| record.body.push(0),
        |record| {
            // The same bytes, cut elsewhere.
            record.principal = "devh".to_owned();
            record.host_id = String::new();
        },
    ];
    let mut leaves: Vec<Hash> = changes
        .iter()
        .map(|change| {
            let mut changed = base.clone();
            change(&mut changed);
            changed.leaf()
        })
        .collect();
    leaves.push(base.leaf());
    leaves.sort();
    leaves.dedup();
    assert_eq!(leaves.len(), changes.len() + 1);
}

/// What is signed must stay what it is for ever. The values come from a second implementation of `docs/audit.md`, in Python.
#[test]
fn the_hashes_are_those_of_version_1() {
    let (all, _) = items(&[(2, 0)], &key(1));
    let Item::Commit(commit) = &all[0] else { panic!() };
    assert_eq!(
        record(REPLICA, 1).leaf().to_string(),
        "3f5320f1f2903a8567aacdc5e62579ed8a5fbb6fcce0d4d8b652e44458a44ec1"
    );
    assert_eq!(
        commit.hash().to_string(),
        "9f9f2b99b4ca168076549bfdbbc2d51558a3f789b86aa097f9e731040108f5da"
    );
}

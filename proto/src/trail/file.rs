//! A trail as a file: one JSON object a line. Header with the manifest of replicas, commits each followed by its records, end.
//!
//! Every line has exactly one spelling, so that no change of the file goes unnoticed because it "means the same".

use std::io::{self, BufRead, Read as _};

use serde::{Deserialize, Serialize};

use super::{
    commit::{Checkpoint, Commit},
    finding::{Finding, FindingKind, Report},
    record::Record,
    verify::{Item, Trust, Verifier},
};

/// Version of the form.
pub const VERSION: u32 = 1;

/// Longest line that is read: a commit lists up to 65,536 leaves of 67 bytes, a body is at most some 100 KiB.
pub const MAX_LINE: u64 = 16 * 1024 * 1024;

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Line {
    /// The first.
    Trail(Header),
    /// A commit; its records follow.
    Commit(Commit),
    /// A record.
    Record(Record),
    /// The last.
    End(End),
}

/// Whose trail it is, and where its chains stood when it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of the form.
    pub version: u32,
    /// Whose trail.
    pub team: String,
    /// The newest checkpoint of every chain.
    pub manifest: Vec<Checkpoint>,
}

/// How much there was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Records in the file.
    pub records: u64,
    /// Commits in the file.
    pub commits: u64,
}

impl Line {
    /// The line as it stands in the file, with its end.
    ///
    /// # Errors
    /// Never for what was read or made by us; see `serde_json`.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(self)?;
        text.push('\n');
        Ok(text)
    }
}

/// A file that is no trail at all.
#[derive(Debug, thiserror::Error)]
pub enum NoTrail {
    /// It cannot be read.
    #[error("cannot read it")]
    Read(#[from] io::Error),
    /// It does not begin like one.
    #[error("it does not begin like an exported trail")]
    Header,
    /// It is of a later form.
    #[error("it has the form {0}, and this version reads up to {VERSION}")]
    Newer(u32),
}

/// Verifies a file. With no key trusted, those that the file names are believed, which the report says.
///
/// # Errors
/// If it is no trail. Everything else that is wrong is a finding.
pub fn verify(mut input: impl BufRead, mut trust: Trust) -> Result<Report, NoTrail> {
    let first = next(&mut input)?.ok_or(NoTrail::Header)?;
    let Ok(Line::Trail(header)) = serde_json::from_slice::<Line>(&first) else {
        return Err(NoTrail::Header);
    };
    if header.version > VERSION {
        return Err(NoTrail::Newer(header.version));
    }
    let own_keys = !trust.has_keys();
    let mut faults = Vec::new();
    for claim in &header.manifest {
        match claim.verify() {
            Ok(key) if own_keys => trust.add_key(key),
            Ok(_) => {}
            Err(error) => faults.push(
                Finding::new(
                    FindingKind::Changed,
                    &header.team,
                    format!("the manifest was changed: {error}"),
                )
                .in_commit(&claim.replica, claim.number),
            ),
        }
    }
    trust.set_claims(header.manifest.clone());
    let mut verifier = Verifier::new(&header.team, &trust);
    verifier.at_line(1);
    if !spelled(&Line::Trail(header.clone()), &first) {
        verifier.add(malformed(&header.team, "it is not spelled as it was written"));
    }
    faults.into_iter().for_each(|fault| verifier.add(fault));
    for other in trust.anchors().filter(|anchor| anchor.team != header.team) {
        let detail = format!("the anchor is of team `{}`", other.team);
        verifier.add(Finding::new(FindingKind::MissingChain, &header.team, detail));
    }
    let mut end = None;
    let mut number = 1;
    let mut counted = End { records: 0, commits: 0 };
    while let Some(bytes) = next(&mut input)? {
        number += 1;
        verifier.at_line(number);
        let line = match serde_json::from_slice::<Line>(&bytes) {
            Ok(line) if spelled(&line, &bytes) => line,
            Ok(line) => {
                verifier.add(malformed(&header.team, "it is not spelled as it was written"));
                line
            }
            Err(error) => {
                verifier.add(malformed(&header.team, format!("it cannot be read: {error}")));
                continue;
            }
        };
        if end.is_some() {
            verifier.add(Finding::new(
                FindingKind::Inserted,
                &header.team,
                "it stands behind the end",
            ));
        }
        match line {
            Line::Commit(commit) => {
                counted.commits += 1;
                verifier.item(Item::Commit(commit));
            }
            Line::Record(record) => {
                counted.records += 1;
                verifier.item(Item::Record(record));
            }
            Line::End(found) => end = Some(found),
            Line::Trail(_) => verifier.add(Finding::new(FindingKind::Inserted, &header.team, "a second header")),
        }
    }
    verifier.at_line(number);
    match end {
        None => verifier.add(Finding::new(
            FindingKind::CutOff,
            &header.team,
            "the file has no end line",
        )),
        Some(end) if end != counted => {
            let detail = format!(
                "the end line counts {} records and {} commits; there are {} and {}",
                end.records, end.commits, counted.records, counted.commits
            );
            verifier.add(Finding::new(FindingKind::Changed, &header.team, detail));
        }
        Some(_) => {}
    }
    let mut report = verifier.finish();
    if own_keys && !header.manifest.is_empty() {
        report.notes.push(
            "neither an anchor nor a key was given: the signatures were checked with the keys that the file names itself"
                .to_owned(),
        );
    }
    Ok(report)
}

fn malformed(team: &str, detail: impl Into<String>) -> Finding {
    Finding::new(FindingKind::Malformed, team, detail)
}

/// Whether the bytes are the one spelling of the line.
fn spelled(line: &Line, bytes: &[u8]) -> bool {
    line.to_text().is_ok_and(|text| text.as_bytes() == bytes)
}

/// The next line with its end; `None` after the last.
fn next(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
    if read as u64 >= MAX_LINE && !line.ends_with(b"\n") {
        return Err(io::Error::other("a line is longer than any of a trail"));
    }
    Ok((read > 0).then_some(line))
}

//! What a verifier found, and how it is told: to people in lines, to programs as JSON that only ever gets more fields.

use std::fmt;

use serde::Serialize;

use super::bytes::Hash;

/// Findings that are kept; the rest is counted. Whoever rewrote everything makes one for each record.
pub(super) const MAX_FINDINGS: usize = 1000;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// A record or commit is not what it was.
    Changed,
    /// Records or commits are missing.
    Removed,
    /// There are records or commits that do not belong there.
    Inserted,
    /// Records or commits stand in another order.
    Reordered,
    /// The end is missing.
    CutOff,
    /// A signature does not fit.
    WrongSignature,
    /// Signed with a key that is not trusted.
    OtherKey,
    /// The chain of a replica is missing.
    MissingChain,
    /// The chain is another one than the anchor was taken from.
    Rewritten,
    /// Something cannot be read as what it should be.
    Malformed,
}

impl FindingKind {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Inserted => "inserted",
            Self::Reordered => "reordered",
            Self::CutOff => "cut-off",
            Self::WrongSignature => "wrong-signature",
            Self::OtherKey => "other-key",
            Self::MissingChain => "missing-chain",
            Self::Rewritten => "rewritten",
            Self::Malformed => "malformed",
        }
    }
}

/// Something that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// In whose trail.
    pub team: String,
    /// In whose chain, if that is known.
    pub replica: Option<String>,
    /// The commit, or the first of them.
    pub commit: Option<u64>,
    /// The first record concerned.
    pub first_sequence: Option<u64>,
    /// The last record concerned.
    pub last_sequence: Option<u64>,
    /// The line of the file.
    pub line: Option<u64>,
    /// More about it.
    pub detail: String,
}

impl Finding {
    /// A finding about a team, without a place yet.
    #[must_use]
    pub fn new(kind: FindingKind, team: &str, detail: impl Into<String>) -> Self {
        Self {
            kind,
            team: team.to_owned(),
            replica: None,
            commit: None,
            first_sequence: None,
            last_sequence: None,
            line: None,
            detail: detail.into(),
        }
    }

    /// In this commit of this chain.
    #[must_use]
    pub fn in_commit(mut self, replica: &str, number: u64) -> Self {
        self.replica = Some(replica.to_owned());
        self.commit = Some(number);
        self
    }

    /// Concerning these records.
    #[must_use]
    pub fn records(mut self, first: u64, last: u64) -> Self {
        self.first_sequence = Some(first);
        self.last_sequence = Some(last);
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  team `{}`", self.kind.as_str(), self.team)?;
        match (self.first_sequence, self.last_sequence) {
            (Some(first), Some(last)) if first != last => write!(f, "  records {first} to {last}")?,
            (Some(first), _) => write!(f, "  record {first}")?,
            _ => {}
        }
        if let Some(commit) = self.commit {
            write!(f, "  commit {commit}")?;
        }
        if let Some(replica) = &self.replica {
            write!(f, " of replica {replica}")?;
        }
        if let Some(line) = self.line {
            write!(f, "  line {line}")?;
        }
        write!(f, "  {}", self.detail)
    }
}

/// A chain that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainSummary {
    /// Whose.
    pub replica: String,
    /// Number of its last commit.
    pub commits: u64,
    /// Its last record.
    pub last_sequence: u64,
    /// Hash of its last commit.
    pub hash: Hash,
}

/// The trail of a team that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Whose.
    pub team: String,
    /// Records that were read.
    pub records: u64,
    /// Those of them that were there before there was a chain.
    pub adopted: u64,
    /// Its chains.
    pub chains: Vec<ChainSummary>,
    /// Whether it was compared with a checkpoint that was kept outside.
    pub anchored: bool,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether nothing is wrong.
    pub intact: bool,
    /// What was looked at.
    pub teams: Vec<Summary>,
    /// What is wrong, in the order in which it was found.
    pub findings: Vec<Finding>,
    /// Further findings, which are not listed.
    pub left_out: u64,
    /// What the result rests on, and what it does not show.
    pub notes: Vec<String>,
}

impl Report {
    /// Adds a finding, or counts it where there are too many.
    pub fn add(&mut self, finding: Finding) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        } else {
            self.left_out += 1;
        }
    }

    /// Adds what another verification found.
    pub fn join(&mut self, other: Self) {
        self.teams.extend(other.teams);
        other.findings.into_iter().for_each(|finding| self.add(finding));
        self.left_out += other.left_out;
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// Says whether it is intact, now that everything was looked at.
    #[must_use]
    pub fn concluded(mut self) -> Self {
        self.intact = self.findings.is_empty() && self.left_out == 0;
        self
    }

    /// The report for people, a line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for summary in &self.teams {
            lines.push(format!("team `{}`: {} records", summary.team, summary.records));
            for chain in &summary.chains {
                lines.push(format!(
                    "  replica {}: {} commits, up to record {}, hash {}",
                    chain.replica, chain.commits, chain.last_sequence, chain.hash
                ));
            }
            if summary.adopted > 0 {
                lines.push(format!(
                    "  {} records are older than the chain: it shows nothing about the time before it was begun",
                    summary.adopted
                ));
            }
            if !summary.anchored {
                lines.push(
                    "  not compared with an anchor: a trail that was rewritten with the server's key, or cut off at its \
                     end, would look the same"
                        .to_owned(),
                );
            }
        }
        lines.extend(self.findings.iter().map(ToString::to_string));
        if self.left_out > 0 {
            lines.push(format!("and {} findings more", self.left_out));
        }
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        let count = self.findings.len() as u64 + self.left_out;
        lines.push(if self.intact {
            "intact".to_owned()
        } else {
            format!("NOT INTACT: {count} finding{}", if count == 1 { "" } else { "s" })
        });
        lines.iter().map(|line| printable(line)).collect()
    }
}

/// The text with control characters written out: names in a trail that somebody changed are that somebody's.
fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            safe.extend(c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    safe
}

//! Holds the engine to what Claude Code does, as recorded call by call in `tests/fixtures/settings/claude`.
//!
//! The recordings say what the agent does, holes included. Where we differ it is on purpose, and the row stands below
//! with the reason; a difference that is not listed fails, and so does a listed one that is none any more. The reasons in
//! full stand in `docs/decisions/0012-where-the-engine-differs-from-claude-code.md`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test program stops at the first surprise"
)]

use std::collections::BTreeMap;

use portcullis_policy::{Verdict, cases::Expectation};

#[path = "common/recording.rs"]
mod recording;

use recording::Recording;

/// Why rows differ: (what we answer, why, ids).
const ACCEPTED: &[(&str, &str, &[&str])] = &[
    (
        "deny",
        "a denied command is denied behind `sh -c`, `eval`, `xargs -n1`, `find -exec`, `coproc`, aliases and scripts, too",
        &[
            "deny1-010",
            "deny1-011",
            "deny1-013",
            "deny1-028",
            "deny1-038",
            "deny1-041",
            "deny1-048",
            "deny1-052",
            "deny1-062",
            "deny1-063",
            "star1-002",
            "star1-003",
            "star1-009",
            "mode_default-020",
            "mode_default-021",
            "mode_acceptEdits-020",
            "mode_acceptEdits-021",
            "mode_bypassPermissions-020",
            "mode_bypassPermissions-021",
        ],
    ),
    (
        "deny",
        "a path that must not be read is not read by any known reader, nor changed: `source`, `less`, `xxd`, `git show`, \
         `tee`, `>`, `rm`, behind `cd` and in a substitution",
        &[
            "path1-049",
            "path1-050",
            "path1-052",
            "path1-056",
            "path1-066",
            "path1-067",
            "path1-068",
            "path1-069",
            "path1-071",
            "path1-074",
        ],
    ),
    ("ask", "a glob that can expand to a denied path asks", &["path1-057"]),
    (
        "ask",
        "protected paths need a person in every mode, bypass included",
        &[
            "mode_bypassPermissions-012",
            "mode_bypassPermissions-013",
            "mode_bypassPermissions-014",
            "mode_bypassPermissions-019",
        ],
    ),
    (
        "ask",
        "deleting everything in the working directory is critical for `find -delete`, too",
        &["star1-008"],
    ),
    (
        "deny",
        "plan mode denies changes instead of asking for what it would refuse then",
        &["mode_plan-011"],
    ),
    (
        "ask",
        "no host is trusted without a rule, be it one of documentation",
        &["tools1-020"],
    ),
    (
        "ask",
        "a change of a notebook is an edit, which default mode asks for",
        &["tools1-031"],
    ),
    (
        "ask",
        "a pattern with `:*` in the middle is a mistake, and gives nothing",
        &["allow1-022"],
    ),
    (
        "deny",
        "a lock of the team drops lower allows, never lower denies",
        &["man2-002", "man2-004"],
    ),
    (
        "allow",
        "the recording had a lock of the team, or a folder that was not trusted, which the row does not say",
        &["man1-005", "man2-000", "man2-005"],
    ),
    (
        "ask",
        "an untrusted project yields no allow, its local file included",
        &["trust1-002"],
    ),
    (
        "allow",
        "what is run is known behind these, and each part is allowed by a rule or only looks: groups, loops, background, \
         substitutions, variables as arguments, `bash -c`, `eval`, `env`, `exec`, `setsid`, `ionice`, `time`, `nice`",
        &[
            "allow1-044",
            "allow1-054",
            "allow1-055",
            "allow1-057",
            "allow1-059",
            "allow1-060",
            "allow1-066",
            "allow1-072",
            "allow1-083",
            "allow1-089",
            "allow1-090",
            "allow1-094",
            "allow1-102",
            "allow1-105",
            "allow1-106",
            "allow1-109",
            "ro-007",
            "ro-161",
            "ro-163",
            "ro-164",
            "ro-244",
            "ro-245",
            "ro-247",
            "ro-253",
            "ro-267",
        ],
    ),
    (
        "allow",
        "two blanks between words are one to the program",
        &["allow1-002"],
    ),
    (
        "allow",
        "these only look: `command -v`, `jq -f`, `sum`, `cksum`, `uniq` without a second file, `join`, `zcat`",
        &["allow1-079", "ro-012", "ro-077", "ro-139", "ro-158", "ro-159"],
    ),
    (
        "allow",
        "these only look: scripts of sed and awk that print, `git --no-pager`, `git ls-tree`",
        &["ro-017", "ro-020", "ro-198", "ro-218"],
    ),
    (
        "allow",
        "these only look: `xxd` of one file, `tar tf`, `unzip -l`, `bc`, `git config <key>`, programs that print their version; \
         `xargs -n1` runs what is judged by itself",
        &[
            "allow1-081",
            "ro-068",
            "ro-113",
            "ro-118",
            "ro-140",
            "ro-141",
            "ro-146",
            "ro-189",
            "ro-263",
            "ro-264",
        ],
    ),
    ("ask", "leaving the workspace asks, one level up as well", &["ro-044"]),
    (
        "ask",
        "a rule with `*` reaches files of the workspace only, whatever the program",
        &["allow1-058", "allow1-111", "allow1-112"],
    ),
    (
        "ask",
        "not on the list of commands that need no rule: bare `xargs`, `ip`, `ifconfig`, `tput`",
        &["ro-128", "ro-129", "ro-149"],
    ),
];

fn oracle() -> Vec<Recording> {
    [
        include_str!("../../tests/fixtures/settings/claude/permission-oracle.jsonl"),
        include_str!("../../tests/fixtures/settings/claude/readonly-oracle.jsonl"),
    ]
    .into_iter()
    .flat_map(str::lines)
    .map(Recording::read)
    .collect()
}

/// What the outcome of a recording asks of us.
fn expected(outcome: &str) -> Expectation {
    match outcome {
        "run" => Expectation::Verdict(Verdict::Allow),
        // It was not run, and what the person would have been asked is not recorded.
        "not_run" => Expectation::NotAllow,
        other => other.parse().unwrap(),
    }
}

#[test]
fn the_engine_differs_from_the_agent_only_where_it_is_meant_to() {
    let mut accepted: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for (answer, why, ids) in ACCEPTED {
        for id in *ids {
            assert!(accepted.insert(id, (answer, why)).is_none(), "{id} is listed twice");
        }
    }
    let rows = oracle();
    assert!(rows.len() > 700, "the recordings are missing");
    let mut faults = Vec::new();
    for row in &rows {
        let (verdict, outcome) = (row.decide().verdict, row.text("outcome"));
        let same = expected(outcome).fits(verdict);
        match accepted.remove(row.id()) {
            None if !same => faults.push(format!(
                "{}: the agent: {outcome}, we: {verdict}: {}",
                row.id(),
                row.input()
            )),
            Some((_, why)) if same => faults.push(format!("{} is no difference any more ({why})", row.id())),
            Some((answer, why)) if answer != verdict.to_string() => {
                faults.push(format!("{}: we answer {verdict}, not {answer} ({why})", row.id()));
            }
            _ => {}
        }
    }
    faults.extend(
        accepted
            .keys()
            .map(|id| format!("{id} is listed, and there is no such row")),
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

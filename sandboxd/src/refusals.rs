//! What a sandbox refused to a command, in words that an agent can act on.
//!
//! Hosts and system calls are known: the filters saw them. Of files nobody hears when a mount or a mask refuses them, so the
//! command's own complaints are read ([`output`]) and held against what the sandbox did ([`tree`]): what fits is said to be
//! probable, and what does not fit is not said at all. Whether the command would have worked outside is not known here.

mod output;
mod sensitive;
mod tree;

pub use output::{Complaint, Complaints, Watch};
pub use tree::Tree;

use portcullis_proto::v1::{RefusedKind, SandboxRefusal};

use crate::launch::filter::refused::{self, Tally};
use crate::network::HostReport;
use crate::printable::printable;

/// Most refusals that are told of one run.
pub const MAX_TOLD: usize = 32;

/// What to do where nothing else helps.
const OUTSIDE: &str = "ask to run the command outside the sandbox";

/// Everything that was refused: what is certain first.
#[must_use]
pub fn all(hosts: &[HostReport], calls: &Tally, complaints: &Complaints, tree: &Tree) -> Vec<SandboxRefusal> {
    let hosts = hosts.iter().filter_map(host);
    let calls = calls.iter().map(|(number, times)| call(number, times));
    let probable = tree::explained(tree, complaints);
    hosts.chain(calls).chain(probable).take(MAX_TOLD).collect()
}

fn host(report: &HostReport) -> Option<SandboxRefusal> {
    let subject = match (report.host.as_str(), report.port) {
        (host, 0) => host.to_owned(),
        (host, port) => format!("{host}:{port}"),
    };
    Some(SandboxRefusal {
        kind: RefusedKind::Host.into(),
        subject,
        reason: report.refused.clone()?,
        remedy: format!("add the host to `networkPolicy.allow`, or {OUTSIDE}"),
        certain: true,
        times: report.times,
    })
}

fn call(number: i32, times: u64) -> SandboxRefusal {
    let refused = refused::of(number);
    SandboxRefusal {
        kind: RefusedKind::Call.into(),
        subject: refused.name.to_owned(),
        reason: refused.reason.to_owned(),
        remedy: OUTSIDE.to_owned(),
        certain: true,
        times,
    }
}

/// One line for whoever started the command. None for a host: those have lines of their own (`network::refusal_line`).
#[must_use]
pub fn line(refusal: &SandboxRefusal) -> Option<String> {
    let SandboxRefusal {
        subject,
        reason,
        remedy,
        certain,
        ..
    } = refusal;
    let what = match (refusal.kind(), subject.as_str()) {
        (RefusedKind::Host, _) if *certain => return None,
        (RefusedKind::Host, "") => "to reach a host".to_owned(),
        (RefusedKind::Host, host) => format!("to reach `{host}`"),
        (RefusedKind::Write, path) => format!("to write `{path}`, which is only what the output says"),
        (RefusedKind::Read, path) => format!("to read `{path}`, which is only what the output says"),
        (RefusedKind::Call, call) => format!("the system call `{call}`"),
        (RefusedKind::Unspecified, other) => format!("`{other}`"),
    };
    let begin = if *certain {
        "the sandbox refused"
    } else {
        "the sandbox probably refused"
    };
    let end = if remedy.is_empty() {
        String::new()
    } else {
        format!("; {remedy}")
    };
    let line = format!("{begin} {what}: {reason}{end}");
    Some(format!("portcullis: {}\n", printable(&line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_said_plainly_and_what_is_guessed_is_not() {
        let mut calls = Tally::default();
        calls.count(i32::try_from(libc::SYS_unshare).unwrap());
        calls.count(i32::try_from(libc::SYS_unshare).unwrap());
        let hosts = [HostReport {
            host: "evil.test".to_owned(),
            port: 443,
            refused: Some("no rule allows it".to_owned()),
            times: 1,
        }];
        let told = all(&hosts, &calls, &Complaints::default(), &Tree::default());
        assert_eq!(told.len(), 2);
        assert_eq!((told[0].subject.as_str(), told[0].certain), ("evil.test:443", true));
        assert_eq!(line(&told[0]), None);
        assert_eq!((told[1].subject.as_str(), told[1].times), ("unshare", 2));
        let said = line(&told[1]).unwrap();
        assert!(
            said.starts_with("portcullis: the sandbox refused the system call `unshare`"),
            "{said}"
        );
        let guess = SandboxRefusal {
            kind: RefusedKind::Write.into(),
            subject: "/etc/x".to_owned(),
            certain: false,
            ..SandboxRefusal::default()
        };
        assert!(line(&guess).unwrap().contains("probably"));
    }

    #[test]
    fn an_allowed_host_is_no_refusal() {
        let allowed = HostReport {
            host: "good.test".to_owned(),
            port: 443,
            refused: None,
            times: 1,
        };
        assert!(all(&[allowed], &Tally::default(), &Complaints::default(), &Tree::default()).is_empty());
    }
}

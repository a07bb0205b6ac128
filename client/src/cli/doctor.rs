//! `portcullis doctor`: what this host's sandbox can do, why not more, and how to mend it.
//!
//! What counts is what `portcullis-sandboxd` found by setting a sandbox up. The kernel's settings, which are looked at here,
//! only explain that; they change nothing.

mod checks;

use std::{fmt::Write as _, path::Path};

use anstyle::{AnsiColor, Style};
use portcullis_client::{
    Host, HostOptions,
    host::{EnforcementStatus, HostStatus},
};
use serde::Serialize;

use super::{
    args::{DoctorArgs, Format, HostArgs},
    failure::Failure,
    output::{self, printable},
};
use checks::{Check, Finding};

/// All that is said.
#[derive(Debug, Serialize)]
struct Diagnosis {
    /// Whether commands can run in a sandbox that is fully enforced.
    well: bool,
    checks: Vec<Check>,
}

pub(crate) async fn main(command: &DoctorArgs, host: &HostArgs) -> Result<u8, Failure> {
    let options = host.options(HostOptions::DEADLINE)?;
    let status = match Host::connect(&options).await {
        Ok(host) => host.status().await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let mut checks = checks::of_the_kernel(Path::new("/"));
    checks.push(of_the_sandbox(status.as_ref()));
    checks.push(of_the_server(status.as_ref().ok()));
    let well = status.is_ok_and(|status| status.enforcement.status == EnforcementStatus::Full);
    let diagnosis = Diagnosis { well, checks };
    match command.format {
        Format::Json => output::json(&diagnosis)?,
        Format::Text => output::text(&text(&diagnosis))?,
    };
    Ok(u8::from(!diagnosis.well))
}

/// The check of the sandbox itself.
const SANDBOX: &str = "sandbox";

fn of_the_sandbox(status: Result<&HostStatus, &String>) -> Check {
    let name = SANDBOX;
    match status {
        Err(error) => Check::new(
            name,
            Finding::Bad,
            format!("portcullis-sandboxd does not answer: {error}"),
        )
        .mended_by("start it: `portcullis-sandboxd`, or `cargo xtask up` in a checkout"),
        Ok(status) => {
            let enforcement = &status.enforcement;
            let missing = enforcement.missing.join("; ");
            match enforcement.status {
                EnforcementStatus::Full => Check::new(
                    name,
                    Finding::Good,
                    format!(
                        "fully enforced: {} (tier `{}`)",
                        enforcement.mechanisms.join(", "),
                        enforcement.tier,
                    ),
                ),
                EnforcementStatus::Partial if enforcement.tier == "without_landlock" => Check::new(
                    name,
                    Finding::Limited,
                    format!(
                        "tier `without_landlock`: the mounts alone keep files from being written, a second wall is missing ({missing}); \
                         commands run only where policy accepts that (`acceptWithoutLandlock`)"
                    ),
                )
                .mended_by("use a kernel with Landlock 3 or later (Linux 6.2), with `landlock` among its `lsm=`"),
                EnforcementStatus::Partial if enforcement.tier == "without_namespaces" => Check::new(
                    name,
                    Finding::Limited,
                    format!(
                        "tier `without_namespaces`: Landlock and the filter of system calls alone ({missing}); commands run only where \
                         policy accepts that (`acceptWithoutNamespaces`), and only what reads: `type` is `workspace_readonly`, no host \
                         may be reached, and nothing that lies in the workspace is kept from being read: neither a credential, nor what \
                         `denyRead`, an ignore list or a rule `Read(…)` says, but for rules on a place (`~/x`, `//x`); the \
                         launcher's refusal names the pattern or the path"
                    ),
                )
                .mended_by("let ordinary users make user namespaces: see what is said of them above"),
                EnforcementStatus::Partial => Check::new(
                    name,
                    Finding::Bad,
                    format!("partly enforced, which is refused: {missing}"),
                )
                .mended_by("see what is wrong above"),
                EnforcementStatus::None => Check::new(
                    name,
                    Finding::Bad,
                    format!("cannot be set up, so no command runs in it: {missing}"),
                )
                .mended_by("see what is wrong above; where nothing is, the message names the step that failed"),
            }
        }
    }
}

fn of_the_server(status: Option<&HostStatus>) -> Check {
    let name = "server";
    match status {
        None => Check::new(name, Finding::Unknown, "only portcullis-sandboxd can tell"),
        Some(status) => match &status.server_failure {
            Some(failure) => Check::new(
                name,
                Finding::Bad,
                format!("{} does not answer: {failure}", status.server),
            )
            .mended_by("start `portcullis-server`, or give sandboxd its address with `--server`"),
            None if status.server.is_empty() => Check::new(name, Finding::Bad, "none is known")
                .mended_by("start `portcullis-server`, or give sandboxd its address with `--server`"),
            None => Check::new(name, Finding::Good, format!("{} answers", status.server)),
        },
    }
}

fn text(diagnosis: &Diagnosis) -> String {
    let mut out = String::new();
    for check in &diagnosis.checks {
        let (word, color) = match check.finding {
            Finding::Good => ("ok     ", AnsiColor::Green),
            Finding::Limited => ("limited", AnsiColor::Yellow),
            Finding::Bad => ("wrong  ", AnsiColor::Red),
            Finding::Unknown => ("unknown", AnsiColor::Yellow),
        };
        let style = Style::new().fg_color(Some(color.into()));
        let _ = writeln!(out, "{style}{word}{style:#} {}: {}", check.name, printable(&check.what));
        if let Some(mend) = &check.mend {
            let _ = writeln!(out, "        → {}", printable(mend));
        }
    }
    let limited = |check: &Check| check.name == SANDBOX && check.finding == Finding::Limited;
    let _ = writeln!(
        out,
        "\n{}",
        if diagnosis.well {
            "Commands run in a sandbox that is fully enforced."
        } else if diagnosis.checks.iter().any(limited) {
            "Commands run in a weaker sandbox, as far as policy accepts it; other calls that need one are asked for or denied."
        } else {
            "Commands do not run in the sandbox; calls that need it are asked for or denied."
        }
    );
    out
}

#[cfg(test)]
mod tests {
    use portcullis_client::host::Enforcement;

    use super::*;

    #[test]
    fn a_weaker_tier_is_told_with_what_it_lacks_and_the_word_that_accepts_it() {
        for (tier, word) in [
            ("without_namespaces", "acceptWithoutNamespaces"),
            ("without_landlock", "acceptWithoutLandlock"),
        ] {
            let status = HostStatus {
                version: String::new(),
                host_id: String::new(),
                server: String::new(),
                server_failure: None,
                enforcement: Enforcement {
                    status: EnforcementStatus::Partial,
                    mechanisms: vec!["seccomp".to_owned()],
                    missing: vec!["this is missing".to_owned()],
                    landlock_abi: 7,
                    unheld_limits: Vec::new(),
                    tier,
                },
                running: 0,
                undelivered_outcomes: 0,
            };
            let check = of_the_sandbox(Ok(&status));
            assert_eq!(check.finding, Finding::Limited);
            for part in [tier, word, "this is missing"] {
                assert!(check.what.contains(part), "{part}: {}", check.what);
            }
            assert!(check.mend.is_some());
        }
    }
}

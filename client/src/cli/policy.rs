//! `portcullis policy`: pushes, reads, tests and imports policies. Faults of a text are shown in it, all at once.

mod import;
mod lint;
mod test;
mod through;

use std::{fmt::Write as _, path::Path};

use annotate_snippets::Level;
use portcullis_client::{
    Server,
    policy::{Fault, Push, Pushed, Version},
};
use portcullis_policy::{DocumentOrigin, Layer, PolicyDocument};
use serde::Serialize;

use super::{
    args::{Format, HostArgs, PolicyCommand},
    failure::Failure,
    faults::render_parts,
    files,
    output::{self, printable},
};
pub(crate) use import::ImportArgs;
pub(crate) use lint::LintArgs;
pub(crate) use test::TestArgs;

pub(crate) async fn main(command: &PolicyCommand, host: &HostArgs) -> Result<u8, Failure> {
    match command {
        PolicyCommand::Push {
            team,
            comment,
            expect_version,
            dry_run,
            format,
            server,
        } => {
            let content = read(team)?;
            let push = Push {
                content,
                file_name: team.to_string_lossy().into_owned(),
                comment: comment.clone(),
                expected_version: *expect_version,
                dry_run: *dry_run,
            };
            let server = Server::connect(&server.options(host)?).await?;
            let pushed = server.push(&push).await?;
            show_push(&push, &pushed, *format)
        }
        PolicyCommand::Schema { from_server, server } => {
            let schema = if *from_server {
                Server::connect(&server.options(host)?).await?.schema().await?
            } else {
                format!("{:#}\n", portcullis_policy::document::schema()).into_bytes()
            };
            output::data(&schema)?;
            Ok(0)
        }
        PolicyCommand::Import(command) => import::main(command),
        PolicyCommand::Lint(command) => lint::main(command),
        PolicyCommand::Test(command) => test::main(command, host).await,
        PolicyCommand::Get {
            version,
            canonical: in_canonical_form,
            format,
            server,
        } => {
            let server = Server::connect(&server.options(host)?).await?;
            let mut document = server.policy(version.unwrap_or_default()).await?;
            if *in_canonical_form {
                document.content = canonical(document.version.version, &document.content)?.into_bytes();
            }
            match format {
                Format::Text => output::data(&document.content)?,
                Format::Json => {
                    #[derive(Serialize)]
                    struct Out<'a> {
                        #[serde(flatten)]
                        version: &'a Version,
                        content: std::borrow::Cow<'a, str>,
                    }
                    output::json(&Out {
                        version: &document.version,
                        content: String::from_utf8_lossy(&document.content),
                    })?;
                }
            }
            Ok(0)
        }
        PolicyCommand::List { limit, format, server } => {
            let server = Server::connect(&server.options(host)?).await?;
            list(&server, *limit, *format).await
        }
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let most = PolicyDocument::MAX_BYTES as u64;
    let content = files::read(file, most)
        .map_err(|cause| Failure::io(format!("cannot read the policy `{}`", file.display()), cause))?;
    let content = content.ok_or_else(|| {
        Failure::usage_text(format!(
            "the policy `{}` is larger than {}",
            file.display(),
            files::size(most)
        ))
    })?;
    if std::str::from_utf8(&content).is_err() {
        return Err(Failure::usage_text(format!(
            "the policy `{}` is not UTF-8",
            file.display()
        )));
    }
    Ok(content)
}

/// A version of the team's policy in the form in which documents are printed.
fn canonical(version: u64, content: &[u8]) -> Result<String, Failure> {
    let unreadable = |why: String| {
        Failure::text(format!(
            "team policy v{version} cannot be printed in canonical form: {why}"
        ))
        .with_help("leave `--canonical` out to get it as it was pushed")
    };
    let text = std::str::from_utf8(content).map_err(|fault| unreadable(fault.to_string()))?;
    let origin = DocumentOrigin {
        layer: Layer::Team,
        name: format!("team policy v{version}"),
        folder: None,
    };
    let document = PolicyDocument::parse(text, origin).map_err(|faults| {
        unreadable(faults.first().map_or_else(
            || "it has faults".to_owned(),
            |fault| format!("line {}: {}", fault.line, fault.message),
        ))
    })?;
    document.print().map_err(|fault| unreadable(fault.to_string()))
}

fn show_push(push: &Push, pushed: &Pushed, format: Format) -> Result<u8, Failure> {
    use std::io::Write as _;
    let (faults, warnings): (&[Fault], &[Fault]) = match pushed {
        Pushed::Accepted { warnings, .. } => (&[], warnings),
        Pushed::Rejected { faults, warnings } => (faults, warnings),
    };
    if format == Format::Json {
        output::json(pushed)?;
    } else {
        let text = String::from_utf8_lossy(&push.content);
        let shown = |fault: &Fault, level| {
            let span = fault.start..fault.end;
            render_parts(&fault.message, Some(&fault.hint), span, level, &text, &push.file_name)
        };
        let mut report = String::new();
        for fault in warnings {
            let _ = writeln!(report, "{}\n", shown(fault, Level::WARNING));
        }
        for fault in faults {
            let _ = writeln!(report, "{}\n", shown(fault, Level::ERROR));
        }
        let _ = anstream::stderr().write_all(report.as_bytes());
    }
    match pushed {
        Pushed::Accepted { version, .. } => {
            if format == Format::Text {
                let rules = plural(u64::from(version.rule_count), "rule");
                output::text(&if push.dry_run {
                    format!("the policy has no fault: {rules}; nothing was changed\n")
                } else {
                    format!("team policy v{} is active: {rules}\n", version.version)
                })?;
            }
            Ok(0)
        }
        Pushed::Rejected { faults, .. } => {
            if format == Format::Text {
                let count = plural(faults.len() as u64, "fault");
                let _ = writeln!(
                    anstream::stderr(),
                    "error: the policy `{}` has {count}; nothing was changed",
                    printable(&push.file_name)
                );
            }
            Ok(2)
        }
    }
}

async fn list(server: &Server, limit: u32, format: Format) -> Result<u8, Failure> {
    let (mut before, mut left) = (0, limit);
    loop {
        let (versions, more) = server.policies_before(before).await?;
        for version in versions.iter().take(left as usize) {
            let open = match format {
                Format::Json => output::json(version)?,
                Format::Text => output::text(&line(version))?,
            };
            if !open {
                return Ok(0);
            }
        }
        left = left.saturating_sub(u32::try_from(versions.len()).unwrap_or(u32::MAX));
        let last = versions.last().map_or(0, |version| version.version);
        // A server that repeats itself must not keep this loop going.
        if left == 0 || !more || last == 0 || (before != 0 && last >= before) {
            return Ok(0);
        }
        before = last;
    }
}

fn line(version: &Version) -> String {
    let mut text = format!(
        "v{}{}  {}  {}  {}  {}",
        version.version,
        if version.active { " (active)" } else { "" },
        version.created_at,
        printable(&version.author),
        plural(u64::from(version.rule_count), "rule"),
        printable(&version.file_name),
    );
    if !version.comment.is_empty() {
        let _ = write!(text, "  {}", printable(&version.comment));
    }
    text.push('\n');
    text
}

fn plural(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

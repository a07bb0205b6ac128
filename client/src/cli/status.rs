//! `portcullis status`: whether decisions can be made and commands be run on this host.

use std::fmt::Write as _;

use portcullis_client::{
    Host, HostOptions,
    host::{EnforcementStatus, HostStatus},
};

use super::{
    args::{Format, HostArgs, StatusArgs},
    failure::Failure,
    output::{self, printable},
};

pub(crate) async fn main(command: &StatusArgs, host: &HostArgs) -> Result<u8, Failure> {
    let options = host.options(HostOptions::DEADLINE)?;
    let status = Host::connect(&options).await?.status().await?;
    match command.format {
        Format::Json => output::json(&status)?,
        Format::Text => output::text(&text(&status, &options))?,
    };
    let well = status.server_failure.is_none()
        && !status.server.is_empty()
        && status.enforcement.status == EnforcementStatus::Full;
    Ok(u8::from(!well))
}

fn text(status: &HostStatus, options: &HostOptions) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "portcullis-sandboxd {} at unix:{}",
        printable(&status.version),
        printable(&options.socket.to_string_lossy())
    );
    let _ = writeln!(out, "host     {}", printable(&status.host_id));
    let server = if status.server.is_empty() {
        "none known"
    } else {
        &status.server
    };
    match &status.server_failure {
        None => {
            let _ = writeln!(out, "server   {}: answers", printable(server));
        }
        Some(failure) => {
            let _ = writeln!(
                out,
                "server   {}: does not answer: {}",
                printable(server),
                printable(failure)
            );
        }
    }
    let word = match status.enforcement.status {
        EnforcementStatus::Full => "full",
        EnforcementStatus::Partial => "partial",
        EnforcementStatus::None => "none",
    };
    let _ = writeln!(
        out,
        "sandbox  {word} (tier `{}`): {}",
        status.enforcement.tier,
        printable(&status.enforcement.mechanisms.join(", "))
    );
    for missing in &status.enforcement.missing {
        let _ = writeln!(out, "         missing: {}", printable(missing));
    }
    let _ = writeln!(
        out,
        "running  {} commands; {} outcomes not yet delivered",
        status.running, status.undelivered_outcomes
    );
    out
}

//! `portcullis trust`: declares a project trustworthy. Only a person at a terminal can.

use std::fs;

use portcullis_client::{Host, HostOptions, question::project_root};

use super::{
    args::{Format, HostArgs, TrustArgs},
    confirm::confirmed,
    failure::Failure,
    files,
    output::{self, printable},
    session,
};

pub(crate) async fn main(command: &TrustArgs, host: &HostArgs) -> Result<u8, Failure> {
    let options = host.options(HostOptions::DEADLINE)?;
    if command.list {
        let roots = Host::connect(&options).await?.trusted_projects().await?;
        for root in roots {
            match command.format {
                Format::Text => output::text(&format!("{}\n", printable(&root)))?,
                Format::Json => output::json(&serde_json::json!({ "root": root }))?,
            };
        }
        return Ok(0);
    }
    if let Some(path) = &command.remove {
        // A project that is gone can still be taken off the list.
        let root = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
        let root = root.map_err(|cause| Failure::io(format!("cannot use `{}`", path.display()), cause))?;
        let root = session::text(root)?;
        let was = Host::connect(&options).await?.untrust_project(&root).await?;
        let text = if was { "is no longer trusted" } else { "was not trusted" };
        output::text(&format!("{} {text}\n", printable(&root)))?;
        return Ok(0);
    }
    let root = match &command.path {
        Some(path) => files::folder(path)
            .map_err(|cause| Failure::io(format!("cannot use the project `{}`", path.display()), cause))?,
        None => project_root(
            &std::env::current_dir()
                .map_err(|cause| Failure::io("cannot tell what the current directory is", cause))?,
        ),
    };
    let root = session::text(root)?;
    let host = Host::connect(&options).await?;
    let question = format!(
        "Trust the project {}?\nIts own allow rules count from then on, whoever writes them. [yes/no] ",
        printable(&root)
    );
    if !confirmed(&question, "only a person can trust a project")? {
        return Err(Failure::text(format!(
            "the project `{root}` was not trusted: not confirmed"
        )));
    }
    let remembered = host.trust_project(&root).await?;
    output::text(&format!("{} is trusted\n", printable(&remembered)))?;
    Ok(0)
}

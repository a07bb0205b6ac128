//! `portcullis trust`: declares a project trustworthy. Only a person at a terminal can.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
};

use portcullis_client::{Host, HostOptions, question::project_root};

use super::{
    args::{Format, HostArgs, TrustArgs},
    failure::Failure,
    output::{self, printable},
    session,
};

/// Longest answer that is read from the terminal, in bytes.
const MAX_ANSWER: u64 = 64;

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
        Some(path) => fs::canonicalize(path)
            .map_err(|cause| Failure::io(format!("cannot use the project `{}`", path.display()), cause))?,
        None => project_root(
            &std::env::current_dir()
                .map_err(|cause| Failure::io("cannot tell what the current directory is", cause))?,
        ),
    };
    let root = session::text(root)?;
    let host = Host::connect(&options).await?;
    if !confirmed(&root)? {
        return Err(Failure::text(format!(
            "the project `{root}` was not trusted: not confirmed"
        )));
    }
    let remembered = host.trust_project(&root).await?;
    output::text(&format!("{} is trusted\n", printable(&remembered)))?;
    Ok(0)
}

/// Asks on the terminal, never on standard input: that may be a pipe an agent writes to.
fn confirmed(root: &str) -> Result<bool, Failure> {
    let open = || fs::OpenOptions::new().read(true).write(true).open("/dev/tty");
    let terminal = open().map_err(|cause| {
        Failure::io("cannot ask for confirmation", cause)
            .with_help("run it in a terminal: only a person can trust a project")
    })?;
    let failed = |cause| Failure::io("cannot ask for confirmation", cause);
    let question = format!(
        "Trust the project {}?\nIts own allow rules count from then on, whoever writes them. [yes/no] ",
        printable(root)
    );
    (&terminal).write_all(question.as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    let mut reader = BufReader::new(std::io::Read::take(&terminal, MAX_ANSWER));
    reader.read_line(&mut answer).map_err(failed)?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_yes_is_yes() {
        for (answer, expected) in [
            ("yes\n", true),
            ("Y\n", true),
            ("", false),
            ("\n", false),
            ("no\n", false),
            ("yesno", false),
        ] {
            assert_eq!(is_yes(answer), expected, "{answer:?}");
        }
    }
}

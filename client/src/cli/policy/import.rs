//! `portcullis policy import`: a draft of our own policy from another agent's permission file.
//!
//! What becomes of each entry is a table on stderr; the draft goes to stdout, or to a file that is not there yet. Nothing
//! is sent anywhere, and nothing comes into force.

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use portcullis_policy::{
    AbsPath, DocumentOrigin, Layer,
    import::{self, Imported, Outcome, import},
};
use serde::Serialize;

use super::super::{
    args::Format,
    failure::Failure,
    files,
    output::{self, printable},
};

/// Makes a draft of a policy from another agent's permission file, and says what became of each entry.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: portcullis policy import ~/.claude/settings.json --out team.jsonc\n\nExit codes: 0 every entry is \
    kept or translated, 2 the file or a part of it cannot be read, 3 an entry is not expressible, 1 other failure. The \
    draft is written in each of the first three cases."
)]
pub(crate) struct ImportArgs {
    /// The permission file; `-` = stdin.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Its format: claude, cusp, cursor-cli, cursor-desktop, codex-rules, codex-config, codex-requirements,
    /// gemini-policy or gemini-settings [default: told by its name and folder].
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    from: Option<import::Format>,
    /// Whose file it is [default: the user's if it lies in the home folder's own folder of the agent, the team's if it
    /// is one for administrators, else a project's].
    #[arg(long = "as", value_enum, value_name = "LAYER")]
    layer: Option<Whose>,
    /// Write the draft to this file, which must not exist.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Form of the output: with json, draft and report as one object.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The format that a word names.
fn format(word: &str) -> Result<import::Format, String> {
    let words: Vec<&str> = import::Format::ALL.iter().map(|format| format.word()).collect();
    import::Format::named(word).ok_or_else(|| format!("known are {}", words.join(", ")))
}

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Whose {
    /// A person's own, for every project.
    User,
    /// A project's.
    Project,
    /// An administrator's.
    Team,
}

pub(crate) fn main(command: &ImportArgs) -> Result<u8, Failure> {
    let name = command.file.to_string_lossy().into_owned();
    let path = std::path::absolute(&command.file).unwrap_or_else(|_| command.file.clone());
    let place = path.to_string_lossy().into_owned();
    let Some(format) = command.from.or_else(|| import::Format::guess(&place)) else {
        let words: Vec<&str> = import::Format::ALL.iter().map(|format| format.word()).collect();
        return Err(
            Failure::usage_text(format!("the name of `{}` does not tell its format", printable(&name)))
                .with_help(format!("say it by `--from`: {}", words.join(", "))),
        );
    };
    let text = read(&command.file)?;
    let whose = command.layer.unwrap_or_else(|| guess(format, &path));
    let origin = DocumentOrigin {
        layer: match whose {
            Whose::User => Layer::User,
            Whose::Project => Layer::Project,
            Whose::Team => Layer::Team,
        },
        name: name.clone(),
        folder: match whose {
            Whose::User => path
                .parent()
                .and_then(|folder| AbsPath::parse(&folder.to_string_lossy()).ok()),
            Whose::Project | Whose::Team => None,
        },
    };
    let imported = import(format, &text, origin);
    if let Some(out) = &command.out {
        write_new(out, &imported.native)?;
    }
    match command.format {
        Format::Json => {
            output::json(&told(format, whose, &imported))?;
        }
        Format::Text => {
            let _ = anstream::stderr().write_all(table(&name, &imported).as_bytes());
            if command.out.is_none() {
                output::data(imported.native.as_bytes())?;
            }
        }
    }
    let lost = |note: &import::Note| matches!(note.outcome, Outcome::NotExpressible { .. });
    Ok(if imported.is_broken() {
        2
    } else if imported.report.iter().any(lost) {
        3
    } else {
        0
    })
}

fn read(file: &Path) -> Result<String, Failure> {
    let most = import::MAX_BYTES as u64;
    let bytes = files::read(file, most)
        .map_err(|cause| match cause.kind() {
            // A pipe or a device: the name is the mistake.
            std::io::ErrorKind::Other => Failure::usage_text(format!("cannot read `{}`: {cause}", file.display())),
            _ => Failure::io(format!("cannot read `{}`", file.display()), cause),
        })?
        .ok_or_else(|| Failure::usage_text(format!("`{}` is larger than {}", file.display(), files::size(most))))?;
    // A byte order mark is left to the importer: it is a fault here as it is where the file is read live.
    String::from_utf8(bytes).map_err(|_| Failure::usage_text(format!("`{}` is no text in UTF-8", file.display())))
}

/// Whose file it is, by its format and place.
fn guess(format: import::Format, path: &Path) -> Whose {
    let team = path.starts_with("/etc")
        || matches!(format, import::Format::CodexRequirements)
        || path.file_name().is_some_and(|name| name == "managed-settings.json");
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    let own = |home: PathBuf| {
        [".claude", ".cusp", ".cursor", ".codex", ".gemini"]
            .iter()
            .any(|folder| path.starts_with(home.join(folder)))
    };
    if team {
        Whose::Team
    } else if home.is_some_and(own) {
        Whose::User
    } else {
        Whose::Project
    }
}

fn write_new(file: &Path, text: &str) -> Result<(), Failure> {
    let failed = |cause: io::Error| {
        let exists = cause.kind() == io::ErrorKind::AlreadyExists;
        let failure = Failure::io(format!("cannot write the draft to `{}`", file.display()), cause);
        if exists {
            failure.with_help("choose another name; a file that exists is not overwritten")
        } else {
            failure
        }
    };
    let mut out = fs::File::create_new(file).map_err(failed)?;
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(failed)
}

#[derive(Serialize)]
struct Told<'a> {
    format: &'static str,
    layer: &'static str,
    /// The mode that the file selects for its agent.
    mode: Option<String>,
    native: &'a str,
    report: Vec<ToldNote<'a>>,
}

#[derive(Serialize)]
struct ToldNote<'a> {
    line: u32,
    column: u32,
    text: &'a str,
    outcome: &'static str,
    detail: &'a str,
}

fn told<'a>(format: import::Format, whose: Whose, imported: &'a Imported) -> Told<'a> {
    Told {
        format: format.word(),
        layer: match whose {
            Whose::User => "user",
            Whose::Project => "project",
            Whose::Team => "team",
        },
        mode: imported.mode.map(|mode| mode.to_string()),
        native: &imported.native,
        report: imported
            .report
            .iter()
            .map(|note| ToldNote {
                line: note.line,
                column: note.column,
                text: &note.text,
                outcome: note.outcome.word(),
                detail: note.outcome.detail(),
            })
            .collect(),
    }
}

/// The report for people: what was kept in one line, the rest entry by entry.
fn table(name: &str, imported: &Imported) -> String {
    let mut out = String::new();
    let mut counts = [0_usize; 4];
    for note in &imported.report {
        let [kept, translated, lost, faults] = &mut counts;
        match note.outcome {
            Outcome::Kept => {
                *kept += 1;
                continue;
            }
            Outcome::Translated { .. } => *translated += 1,
            Outcome::NotExpressible { .. } => *lost += 1,
            Outcome::Fault { .. } => *faults += 1,
        }
        let _ = writeln!(
            out,
            "{:<15} {:>4}  {}\n{:<22}{}",
            note.outcome.word(),
            note.line,
            if note.text.is_empty() {
                "the file".into()
            } else {
                printable(&note.text)
            },
            "",
            printable(note.outcome.detail())
        );
    }
    let [kept, translated, lost, faults] = counts;
    let _ = writeln!(
        out,
        "{}: {kept} kept, {translated} translated, {lost} not expressible, {}",
        printable(name),
        super::plural(faults as u64, "fault")
    );
    out
}

//! `portcullis audit export`, `anchor` and `verify`: the trail as evidence, outside of the server.
//!
//! What the server says is written as it comes. Verifying takes no server: it must be possible where none is trusted.

use std::{
    env,
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use portcullis_client::Server;
use portcullis_proto::trail::{Trust, file};
use uuid::Uuid;

use super::super::{
    args::{Format, VerifyArgs},
    failure::Failure,
    output::{self, printable},
};

/// Something is wrong with the trail.
const NOT_INTACT: u8 = 1;

/// It could not be verified.
const UNUSABLE: u8 = 2;

pub(super) async fn export(server: &Server, out: Option<&Path>) -> Result<u8, Failure> {
    let mut lines = server.export().await?;
    let Some(path) = out else {
        while let Some(text) = lines.next().await? {
            output::data(text.as_bytes())?;
        }
        return Ok(0);
    };
    let part = beside(path);
    let failed = |cause| Failure::io(format!("cannot write `{}`", printable(&path.to_string_lossy())), cause);
    let written = async {
        let mut file = private(OpenOptions::new().create_new(true), &part).map_err(failed)?;
        while let Some(text) = lines.next().await? {
            file.write_all(text.as_bytes()).map_err(failed)?;
        }
        file.sync_all().map_err(failed)?;
        fs::rename(&part, path).map_err(failed)
    };
    let written: Result<(), Failure> = written.await;
    if written.is_err() {
        // The failure is reported; a leftover with a random name harms nobody.
        drop(fs::remove_file(&part));
    }
    written.map(|()| 0)
}

/// A name beside a file that nobody else has.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", Uuid::now_v7()))
}

/// A file that only its owner reads: the trail says who does what.
fn private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.write(true).mode(0o600).open(path)
}

pub(super) async fn anchor(server: &Server, out: Option<&Path>) -> Result<u8, Failure> {
    let line = server.anchor().await?;
    // Kept for years before it is needed: what cannot be used is said today.
    Trust::default()
        .read_anchors(&line)
        .map_err(|cause| Failure::text(format!("the server has no usable anchor: {cause}")))?;
    let line = line + "\n";
    let Some(path) = out else {
        output::data(line.as_bytes())?;
        return Ok(0);
    };
    let append = || {
        let mut file = private(OpenOptions::new().create(true).append(true), path)?;
        file.write_all(line.as_bytes())?;
        file.sync_all()
    };
    let failed = |cause| Failure::io(format!("cannot write `{}`", printable(&path.to_string_lossy())), cause);
    append().map(|()| 0).map_err(failed)
}

pub(super) fn verify(arguments: &VerifyArgs) -> Result<u8, Failure> {
    let VerifyArgs {
        file,
        database,
        anchor,
        key,
        format,
    } = arguments;
    match (file, database) {
        (_, Some(folder)) => verify_database(folder, arguments),
        (Some(path), None) => verify_file(path, trust(anchor, key)?, *format),
        (None, None) => Err(Failure::usage_text(
            "name an exported trail, or a data directory with --database",
        )),
    }
}

fn trust(anchors: &[PathBuf], keys: &[String]) -> Result<Trust, Failure> {
    let mut trust = Trust::default();
    for path in anchors {
        let name = path.to_string_lossy();
        let text = fs::read_to_string(path)
            .map_err(|cause| Failure::usage_io(format!("cannot read the anchors in `{}`", printable(&name)), cause))?;
        trust.read_anchors(&text).map_err(|cause| {
            Failure::usage(cause).with_help(format!(
                "`{}` has to hold lines of `portcullis audit anchor`, unchanged",
                printable(&name)
            ))
        })?;
    }
    for key in keys {
        trust.read_key(key).map_err(Failure::usage)?;
    }
    Ok(trust)
}

fn verify_file(path: &Path, trust: Trust, format: Format) -> Result<u8, Failure> {
    let name = path.to_string_lossy();
    let name = printable(&name);
    let unreadable = |cause| Failure::usage_io(format!("cannot read `{name}`"), cause);
    let input: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(unreadable)?))
    };
    let report = file::verify(input, trust).map_err(|error| match error {
        file::NoTrail::Read(cause) => unreadable(cause),
        other => Failure::usage_text(format!("`{name}` is no exported trail: {other}")),
    })?;
    match format {
        Format::Json => output::json(&report)?,
        Format::Text => output::text(&(report.lines().join("\n") + "\n"))?,
    };
    Ok(if report.intact { 0 } else { NOT_INTACT })
}

/// The database is the server's: its program, beside this one, knows how to read it.
fn verify_database(folder: &Path, arguments: &VerifyArgs) -> Result<u8, Failure> {
    let here = env::current_exe().map_err(|cause| Failure::usage_io("cannot find this program's folder", cause))?;
    let program = here.with_file_name("portcullis-server");
    let mut command = Command::new(&program);
    command.arg("verify").arg("--data-dir").arg(folder);
    for path in &arguments.anchor {
        command.arg("--anchor").arg(path);
    }
    for key in &arguments.key {
        command.arg("--key").arg(key);
    }
    command.arg("--format").arg(match arguments.format {
        Format::Json => "json",
        Format::Text => "text",
    });
    let status = command.status().map_err(|cause| {
        let text = format!("cannot start `{}`, which reads the database", program.display());
        Failure::usage_io(text, cause)
    })?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(UNUSABLE))
}

//! Where values come from: a TOML file, the environment, flags. Each is kept with its place.

use std::{collections::BTreeMap, fmt, fs, io, path::PathBuf};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Fault, KEYS, Kind};

/// Prefix of the server's environment variables.
const PREFIX: &str = "PORTCULLIS_SERVER_";

/// The data directory is shared by all programs, so its variable is too.
const DATA_DIR: &str = "PORTCULLIS_DATA_DIR";

/// Names the configuration file.
const CONFIG: &str = "PORTCULLIS_SERVER_CONFIG";

/// Largest file that is read, in bytes: a hundred times what a full one needs.
const MAX_FILE: u64 = 256 * 1024;

/// Values from flags.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--config`
    pub config: Option<PathBuf>,
    /// `--data-dir`
    pub data_dir: Option<PathBuf>,
    /// `--listen`
    pub listen: Option<String>,
}

/// What is taken from the environment, so that tests bring their own.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Variables.
    pub variables: BTreeMap<String, String>,
    /// The folder for data, if none is configured: `$XDG_DATA_HOME/portcullis`.
    pub default_data_dir: Option<PathBuf>,
    /// The file that is read if it is there and none is named: `$XDG_CONFIG_HOME/portcullis/server.toml`.
    pub default_config: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process.
    #[must_use]
    pub fn of_process() -> Self {
        use etcetera::BaseStrategy as _;
        let folders = etcetera::base_strategy::Xdg::new().ok();
        let ours = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            let name = name
                .into_string()
                .ok()
                .filter(|name| name.starts_with(PREFIX) || name == DATA_DIR)?;
            // A value that is no UTF-8 is shown, and refused, with its faulty bytes replaced.
            Some((name, value.to_string_lossy().into_owned()))
        };
        Self {
            variables: std::env::vars_os().filter_map(ours).collect(),
            default_data_dir: folders.as_ref().map(|folders| folders.data_dir().join("portcullis")),
            default_config: folders
                .as_ref()
                .map(|folders| folders.config_dir().join("portcullis").join("server.toml")),
        }
    }
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A line of the file.
    File(PathBuf, usize),
    /// A variable of the environment.
    Variable(String),
    /// A flag.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// All values, with their places, and what could not be read.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    values: BTreeMap<&'static str, (String, Origin)>,
    faults: Vec<Fault>,
}

impl Sources {
    /// Reads the file, the environment and the flags. What cannot be read becomes a fault; the rest stays usable.
    #[must_use]
    pub fn read(flags: &Flags, environment: &Environment) -> Self {
        let mut sources = Self::default();
        if let Some(folder) = &environment.default_data_dir {
            sources.set("data_dir", folder.to_string_lossy().into_owned(), Origin::Default);
        }
        sources.read_file(flags, environment);
        for (name, value) in &environment.variables {
            sources.read_variable(name, value);
        }
        match flags.data_dir.as_ref().map(|folder| folder.to_str()) {
            None => {}
            Some(Some(folder)) => sources.set("data_dir", folder.to_owned(), Origin::Flag("--data-dir")),
            Some(None) => sources.fault(
                "--data-dir".to_owned(),
                "the path is not UTF-8; choose another".to_owned(),
            ),
        }
        if let Some(address) = &flags.listen {
            sources.set("listen", address.clone(), Origin::Flag("--listen"));
        }
        sources
    }

    /// What could not be read.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// A key's value in force and where it came from.
    #[must_use]
    pub fn value(&self, key: &str) -> (String, Origin) {
        let default = || {
            let default = KEYS
                .iter()
                .find(|known| known.name == key)
                .map_or("", |known| known.default);
            (default.to_owned(), Origin::Default)
        };
        self.values.get(key).cloned().unwrap_or_else(default)
    }

    /// The place of a key's value, for a fault.
    #[must_use]
    pub fn place(&self, key: &str) -> String {
        self.value(key).1.to_string()
    }

    /// A key's value after a check; what the check says would be accepted becomes a fault.
    pub(super) fn checked<T>(
        &self,
        key: &str,
        faults: &mut Vec<Fault>,
        check: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let (value, origin) = self.value(key);
        let accepted = match check(&value) {
            Ok(checked) => return Some(checked),
            Err(accepted) => accepted,
        };
        faults.push(Fault {
            place: origin.to_string(),
            message: format!("`{key}` is `{value}`; accepted is {accepted}"),
        });
        None
    }

    fn set(&mut self, key: &str, value: String, origin: Origin) {
        if let Some(known) = KEYS.iter().find(|known| known.name == key) {
            self.values.insert(known.name, (value, origin));
        }
    }

    fn fault(&mut self, place: String, message: String) {
        self.faults.push(Fault { place, message });
    }

    fn read_variable(&mut self, name: &str, value: &str) {
        let key = match name {
            CONFIG => return,
            DATA_DIR => "data_dir".to_owned(),
            name => name.strip_prefix(PREFIX).unwrap_or(name).to_lowercase(),
        };
        if name != DATA_DIR && key == "data_dir" {
            return self.fault(
                format!("environment variable {name}"),
                format!("is not read; set {DATA_DIR}"),
            );
        }
        if value.contains(char::REPLACEMENT_CHARACTER) {
            self.fault(
                format!("environment variable {name}"),
                format!("`{value}` is not UTF-8"),
            );
        } else if KEYS.iter().any(|known| known.name == key) {
            self.set(&key, value.to_owned(), Origin::Variable(name.to_owned()));
        } else {
            self.fault(format!("environment variable {name}"), unknown(&key));
        }
    }

    fn read_file(&mut self, flags: &Flags, environment: &Environment) {
        let named = flags
            .config
            .clone()
            .or_else(|| environment.variables.get(CONFIG).map(PathBuf::from));
        let is_named = named.is_some();
        let Some(path) = named.or_else(|| environment.default_config.clone()) else {
            return;
        };
        let text = match read_bounded(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named => return,
            Err(error) => return self.fault(path.display().to_string(), format!("cannot read the file: {error}")),
        };
        let (table, errors) = DeTable::parse_recoverable(&text);
        for error in errors {
            let line = error.span().map_or(1, |span| line_of(&text, span.start));
            self.fault(format!("{}:{line}", path.display()), error.message().to_owned());
        }
        for (key, value) in table.get_ref() {
            let line = line_of(&text, key.span().start);
            let place = Origin::File(path.clone(), line);
            let name: &str = key.get_ref();
            match KEYS.iter().find(|known| known.name == name) {
                None => self.fault(place.to_string(), unknown(name)),
                Some(known) => match as_written(known.kind, value) {
                    Ok(value) => self.set(name, value, place),
                    Err(accepted) => {
                        let kind = value.get_ref().type_str();
                        let message = format!("`{name}` is written as {kind}; accepted is {accepted}");
                        self.fault(place.to_string(), message);
                    }
                },
            }
        }
    }
}

fn read_bounded(path: &std::path::Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > MAX_FILE {
        return Err(io::Error::other(format!("it is larger than {MAX_FILE} bytes")));
    }
    fs::read_to_string(path)
}

/// The value as text, if it is written as its kind.
fn as_written(kind: Kind, value: &Spanned<DeValue<'_>>) -> Result<String, &'static str> {
    match (kind, value.get_ref()) {
        (Kind::Text, DeValue::String(text)) => Ok(text.clone().into_owned()),
        (Kind::Bool, DeValue::Boolean(value)) => Ok(value.to_string()),
        (Kind::Number { .. }, DeValue::Integer(number)) if number.radix() == 10 => Ok(number.as_str().replace('_', "")),
        (Kind::Text, _) => Err("a text in quotes"),
        (Kind::Bool, _) => Err("true or false, without quotes"),
        (Kind::Number { .. }, _) => Err("a whole number in decimal digits, without quotes"),
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// An unknown key, with the nearest known one.
fn unknown(key: &str) -> String {
    let near = KEYS.iter().map(|known| (distance(key, known.name), known.name)).min();
    match near {
        Some((distance, near)) if distance <= 3 => format!("unknown key `{key}`; did you mean `{near}`?"),
        _ => {
            let names: Vec<&str> = KEYS.iter().map(|known| known.name).collect();
            format!("unknown key `{key}`; known are {}", names.join(", "))
        }
    }
}

/// Edits from one word to another, by Levenshtein.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(64).enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (to, above) in b.iter().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(from != *to)).min(above + 1).min(left + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(usize::MAX)
}

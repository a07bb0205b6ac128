//! Where things lie on this host: data directory, socket, tokens, the server's address.
//!
//! Only names; nothing here is created. The layout is shared with portcullis-server and portcullis-sandboxd.

use std::{
    env,
    ffi::OsString,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

/// Longest address file that is read, in bytes.
const MAX_ADDRESS_BYTES: u64 = 1024;

/// The data directory and what lies in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    data: PathBuf,
}

/// There is no data directory, because no variable says where it would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot tell where the data directory is: neither PORTCULLIS_DATA_DIR, XDG_DATA_HOME nor HOME is an absolute path"
)]
pub struct NoDataDirectory;

impl Places {
    /// Uses this data directory.
    #[must_use]
    pub fn at(data: impl Into<PathBuf>) -> Self {
        Self { data: data.into() }
    }

    /// Finds the data directory: `PORTCULLIS_DATA_DIR`, else `$XDG_DATA_HOME/portcullis`, else
    /// `~/.local/share/portcullis`.
    ///
    /// # Errors
    /// If none of the three is set to an absolute path.
    pub fn from_environment() -> Result<Self, NoDataDirectory> {
        Self::from_variables(|name| env::var_os(name))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, NoDataDirectory> {
        if let Some(data) = variable("PORTCULLIS_DATA_DIR").filter(|value| !value.is_empty()) {
            return Ok(Self::at(data));
        }
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        absolute("XDG_DATA_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
            .map(|base| Self::at(base.join("portcullis")))
            .ok_or(NoDataDirectory)
    }

    /// The data directory.
    #[must_use]
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The socket of portcullis-sandboxd.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.data.join("run/sandboxd.sock")
    }

    /// The token of agents and of people who act as one.
    #[must_use]
    pub fn agent_token(&self) -> PathBuf {
        self.data.join("tokens/agent.token")
    }

    /// The token of the admin.
    #[must_use]
    pub fn admin_token(&self) -> PathBuf {
        self.data.join("tokens/admin.token")
    }

    /// The file in which a server that runs on this host says where it listens.
    #[must_use]
    pub fn server_address_file(&self) -> PathBuf {
        self.data.join("server/address")
    }

    /// The address of the server that runs on this host; `None` if none does.
    #[must_use]
    pub fn server_address(&self) -> Option<String> {
        let mut text = String::new();
        let file = fs::File::open(self.server_address_file()).ok()?;
        file.take(MAX_ADDRESS_BYTES).read_to_string(&mut text).ok()?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<String> {
        let places = Places::from_variables(|name| {
            let value = variables.iter().find(|(known, _)| *known == name)?;
            Some(OsString::from(value.1))
        });
        places.ok().map(|places| places.data().display().to_string())
    }

    #[test]
    fn the_nearest_variable_wins_and_relative_ones_do_not_count() {
        let all = [("PORTCULLIS_DATA_DIR", "/p"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(found(&all).as_deref(), Some("/p"));
        assert_eq!(found(&all[1..]).as_deref(), Some("/x/portcullis"));
        assert_eq!(found(&all[2..]).as_deref(), Some("/h/.local/share/portcullis"));
        assert_eq!(
            found(&[("XDG_DATA_HOME", "x"), ("HOME", "/h")]).as_deref(),
            Some("/h/.local/share/portcullis")
        );
        assert_eq!(found(&[("HOME", "h")]), None);
    }
}

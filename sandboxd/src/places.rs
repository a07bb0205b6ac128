//! Where things are on this host: data directory, configuration folder, sockets, our own programs.

use std::io;
use std::path::{Path, PathBuf};

use crate::durable;

/// A place that cannot be found or used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Nothing says where it is.
    #[error("cannot tell where the {0} is: no option, no variable and no home folder says so")]
    Unknown(&'static str),
    /// It cannot be made or used.
    #[error("cannot use `{}`", path.display())]
    Unusable {
        /// The place.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Another daemon has it.
    #[error("another portcullis-sandboxd already serves `{}`", .0.display())]
    Taken(PathBuf),
}

/// All places.
#[derive(Clone, Debug)]
pub struct Places {
    /// The data directory.
    pub data: PathBuf,
    /// The user's configuration folder of Portcullis.
    pub config: PathBuf,
    /// Where settings for the whole machine lie: `/etc`.
    pub system: PathBuf,
    /// The folder of our own executable.
    pub programs: PathBuf,
    /// The home folder of the user whom the daemon serves, where agents keep their configuration.
    pub home: Option<PathBuf>,
}

impl Places {
    /// Finds them. `config_home` stands in for `$XDG_CONFIG_HOME`.
    ///
    /// # Errors
    /// If nothing says where a place is.
    pub fn find(data_dir: Option<PathBuf>, config_home: Option<PathBuf>) -> Result<Self, PlaceError> {
        use etcetera::BaseStrategy as _;
        let strategy = etcetera::base_strategy::Xdg::new().ok();
        let data = data_dir
            .or_else(|| strategy.as_ref().map(|xdg| xdg.data_dir().join("portcullis")))
            .ok_or(PlaceError::Unknown("data directory"))?;
        let config = config_home
            .or_else(|| strategy.as_ref().map(|xdg| xdg.config_dir()))
            .ok_or(PlaceError::Unknown("configuration folder"))?
            .join("portcullis");
        let here = std::env::current_exe()
            .and_then(|exe| exe.canonicalize())
            .map_err(|source| PlaceError::Unusable {
                path: "/proc/self/exe".into(),
                source,
            })?;
        let programs = here.parent().unwrap_or(Path::new("/")).to_path_buf();
        let absolute = |path: PathBuf| {
            std::path::absolute(&path).map_err(|source| PlaceError::Unusable {
                path: path.clone(),
                source,
            })
        };
        Ok(Self {
            data: absolute(data)?,
            config: absolute(config)?,
            system: PathBuf::from("/etc"),
            programs,
            home: etcetera::home_dir().ok().filter(|home| home.is_absolute()),
        })
    }

    /// Makes the daemon's own folders, closed to others.
    ///
    /// # Errors
    /// If one cannot be made.
    pub fn make(&self) -> Result<(), PlaceError> {
        for path in [
            self.data.clone(),
            self.state(),
            self.spool(),
            self.notes(),
            self.notes_by_hand(),
            self.run(),
            self.sessions(),
            self.caches(),
        ] {
            durable::private_folder(&path).map_err(|source| PlaceError::Unusable { path, source })?;
        }
        Ok(())
    }

    /// The daemon's own state.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.data.join("sandboxd")
    }

    /// Outcomes not yet delivered.
    #[must_use]
    pub fn spool(&self) -> PathBuf {
        self.state().join("spool")
    }

    /// Notes of the runs that go on.
    #[must_use]
    pub fn notes(&self) -> PathBuf {
        self.state().join("running")
    }

    /// Notes of runs that were started without the daemon, by the same user.
    #[must_use]
    pub fn notes_by_hand(&self) -> PathBuf {
        self.state().join("by-hand")
    }

    /// Folders of runs that were started without the daemon, where a run needs one: with the sandbox of macOS.
    #[must_use]
    pub fn folders_by_hand(&self) -> PathBuf {
        self.state().join("by-hand-tmp")
    }

    /// Temporary folders of sessions.
    #[must_use]
    pub fn sessions(&self) -> PathBuf {
        self.state().join("tmp")
    }

    /// Shared caches of package managers, one folder for each trust domain.
    #[must_use]
    pub fn caches(&self) -> PathBuf {
        self.data.join("cache")
    }

    /// The folder of sockets.
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.data.join("run")
    }

    /// The default socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.run().join("sandboxd.sock")
    }

    /// Where the server writes its address.
    #[must_use]
    pub fn server_address(&self) -> PathBuf {
        self.data.join("server").join("address")
    }

    /// The host's token for the server.
    #[must_use]
    pub fn host_token(&self) -> PathBuf {
        self.data.join("tokens").join("host.token")
    }

    /// The launcher.
    #[must_use]
    pub fn launcher(&self) -> PathBuf {
        self.programs.join("portcullis-launch")
    }

    /// What holds secrets or sockets of ours, or what other sandboxes have left: read-denied, and hidden in every sandbox.
    #[must_use]
    pub fn secret(&self) -> Vec<PathBuf> {
        ["tokens", "run", "server", "sandboxd", "cache"]
            .map(|name| self.data.join(name))
            .to_vec()
    }

    /// All that is ours: changing it needs a person.
    #[must_use]
    pub fn own(&self) -> Vec<PathBuf> {
        [self.own_folders(), self.own_files()].concat()
    }

    /// Our folders.
    #[must_use]
    pub fn own_folders(&self) -> Vec<PathBuf> {
        vec![self.data.clone(), self.config.clone()]
    }

    /// Our programs.
    #[must_use]
    pub fn own_files(&self) -> Vec<PathBuf> {
        [
            "portcullis",
            "portcullis-server",
            "portcullis-sandboxd",
            "portcullis-launch",
        ]
        .map(|name| self.programs.join(name))
        .to_vec()
    }
}

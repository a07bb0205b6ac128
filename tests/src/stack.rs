//! A server and a sandboxd of the test's own, with a home, a project, and folders outside both.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{
    cli::{Output, Run},
    grpc::{Connection, Credentials},
    policy::Policy,
    process::Process,
    v1,
};

/// Whose token.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// The team's admin.
    Admin,
    /// A coding agent.
    Agent,
    /// The host itself.
    Host,
}

impl Role {
    fn file(self) -> &'static str {
        match self {
            Self::Admin => "admin.token",
            Self::Agent => "agent.token",
            Self::Host => "host.token",
        }
    }
}

/// How to start.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The server's configuration file.
    pub server_config: Option<String>,
    /// Further arguments of sandboxd.
    pub sandboxd_arguments: Vec<String>,
}

/// Everything a test needs. Ends with the test.
pub struct Stack {
    // Before `base`: killed before their folders are removed.
    server: Option<Process>,
    sandboxd: Option<Process>,
    server_address: String,
    setup: Setup,
    /// What the programs wrote before they were started again.
    old_logs: String,
    base: TempDir,
}

impl Stack {
    /// Starts both programs on an empty data directory.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(Setup::default())
    }

    /// Starts both programs.
    #[must_use]
    pub fn start_with(setup: Setup) -> Self {
        let mut stack = Self::prepare(setup);
        stack.start_server();
        stack.start_sandboxd();
        stack
    }

    /// Starts the server alone, for tests in which no host has a part.
    #[must_use]
    pub fn start_server_only() -> Self {
        let mut stack = Self::prepare(Setup::default());
        stack.start_server();
        stack
    }

    /// Makes the folders, starts nothing.
    #[must_use]
    pub fn prepare(setup: Setup) -> Self {
        let stack = Self {
            server: None,
            sandboxd: None,
            server_address: String::new(),
            setup,
            old_logs: String::new(),
            base: temporary_folder(),
        };
        for folder in [stack.home(), stack.project(), stack.outside()] {
            fs::create_dir_all(folder).unwrap();
        }
        stack.git(&["init", "--quiet", "--initial-branch=main"]);
        // A project of its own too: else it would belong to the repository that the target directory lies in.
        stack.git(&[
            "init",
            "--quiet",
            "--initial-branch=main",
            stack.outside().to_str().unwrap(),
        ]);
        stack.git(&["config", "user.email", "dev@example.test"]);
        stack.git(&["config", "user.name", "Dev"]);
        stack.git(&["commit", "--quiet", "--allow-empty", "--message=begin"]);
        stack
    }

    /// The folder around all others.
    #[must_use]
    pub fn base(&self) -> &Path {
        self.base.path()
    }

    /// The data directory.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.base().join("d")
    }

    /// The person's home.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.base().join("home/dev")
    }

    /// A git work tree in the home: the agent's workspace, and where commands are run.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.home().join("proj")
    }

    /// A folder that belongs to nobody's workspace.
    #[must_use]
    pub fn outside(&self) -> PathBuf {
        self.base().join("outside")
    }

    /// sandboxd's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.data().join("run/sandboxd.sock")
    }

    /// Where the server listens.
    #[must_use]
    pub fn server_address(&self) -> &str {
        &self.server_address
    }

    /// A token as the server made it.
    #[must_use]
    pub fn token(&self, role: Role) -> String {
        let path = self.data().join("tokens").join(role.file());
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.trim_end().to_owned()
    }

    /// Connects to the server with a role's token.
    pub async fn server_as(&self, role: Role) -> Connection {
        Connection::to_server(&self.server_address, Credentials::token(&self.token(role))).await
    }

    /// Connects to sandboxd with a role's token.
    pub async fn sandboxd_as(&self, role: Role) -> Connection {
        Connection::to_socket(self.socket(), Credentials::token(&self.token(role))).await
    }

    /// `portcullis` with these arguments, in the project.
    #[must_use]
    pub fn portcullis<S: AsRef<std::ffi::OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Run {
        self.run_program(&program("portcullis")).args(arguments)
    }

    /// Any program, in the project, without a sandbox: the positive control.
    #[must_use]
    pub fn run_program(&self, program: &Path) -> Run {
        let mut run = Run::new(program).cwd(&self.project());
        for (name, value) in self.environment() {
            run = run.env(name, value);
        }
        run
    }

    /// git in the project.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> Output {
        self.run_program(Path::new("git"))
            .args(arguments)
            .output()
            .expect_code(0)
    }

    /// Makes this the team's policy.
    #[track_caller]
    pub fn push_team(&self, policy: &Policy) {
        let file = self.base().join("team.jsonc");
        fs::write(&file, policy.text()).unwrap();
        let _ = self
            .portcullis(["policy", "push", "--team"])
            .args([file])
            .output()
            .expect_code(0);
    }

    /// Trusts the project. The program would ask a person at a terminal first; this is what it does then.
    pub fn trust_project(&self) {
        let root = self.project().to_str().unwrap().to_owned();
        let trust = async {
            let connection = self.sandboxd_as(Role::Agent).await;
            connection
                .host()
                .trust_project(v1::TrustProjectRequest { root })
                .await
                .unwrap();
        };
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(trust);
    }

    /// Writes the user layer's document.
    pub fn write_user_policy(&self, policy: &Policy) {
        write(&self.home().join(".config/portcullis/policy.jsonc"), &policy.text());
    }

    /// Writes the project layer's document.
    pub fn write_project_policy(&self, policy: &Policy) {
        write(&self.project().join(".portcullis/policy.jsonc"), &policy.text());
    }

    /// Writes the local layer's document.
    pub fn write_local_policy(&self, policy: &Policy) {
        write(&self.project().join(".portcullis/local.jsonc"), &policy.text());
    }

    /// Writes a file in the project.
    pub fn write_project_file(&self, name: &str, text: &str) {
        write(&self.project().join(name), text);
    }

    /// Starts the server and waits until it listens.
    pub fn start_server(&mut self) {
        let mut command = Command::new(program("portcullis-server"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(self.data());
        if let Some(text) = &self.setup.server_config {
            let file = self.base().join("server.toml");
            fs::write(&file, text).unwrap();
            command.arg("--config").arg(file);
        }
        let server = self.spawn("portcullis-server", command);
        let line = server.line_with("portcullis-server listening on ");
        self.server_address = line.rsplit(' ').next().unwrap().to_owned();
        self.server = Some(server);
    }

    /// Starts sandboxd and waits until it listens.
    pub fn start_sandboxd(&mut self) {
        let mut command = Command::new(program("portcullis-sandboxd"));
        command.arg("serve").arg("--data-dir").arg(self.data());
        command.args(&self.setup.sandboxd_arguments);
        let sandboxd = self.spawn("portcullis-sandboxd", command);
        sandboxd.line_with("portcullis-sandboxd listening on ");
        self.sandboxd = Some(sandboxd);
    }

    /// The running server.
    pub fn server(&mut self) -> &mut Process {
        self.server.as_mut().expect("the server was not started")
    }

    /// The running sandboxd.
    pub fn sandboxd(&mut self) -> &mut Process {
        self.sandboxd.as_mut().expect("sandboxd was not started")
    }

    /// SIGKILL to the server, and starts it again on the same data, most likely on another port.
    pub fn restart_killed_server(&mut self) {
        self.server().kill();
        let log = self.server().log();
        self.old_logs += &log;
        self.start_server();
    }

    /// SIGKILL to sandboxd, and starts it again.
    pub fn restart_killed_sandboxd(&mut self) {
        self.sandboxd().kill();
        let log = self.sandboxd().log();
        self.old_logs += &log;
        self.start_sandboxd();
    }

    /// Everything the programs have logged.
    #[must_use]
    pub fn logs(&self) -> String {
        let running = [&self.server, &self.sandboxd];
        running
            .into_iter()
            .flatten()
            .fold(self.old_logs.clone(), |logs, process| logs + &process.log())
    }

    fn spawn(&self, name: &str, mut command: Command) -> Process {
        command.env_clear().envs(self.environment());
        Process::spawn(name, &mut command)
    }

    fn environment(&self) -> Vec<(&'static str, std::ffi::OsString)> {
        let home = self.home();
        vec![
            ("PATH", env::var_os("PATH").unwrap_or_default()),
            ("HOME", home.clone().into()),
            ("XDG_CONFIG_HOME", home.join(".config").into()),
            ("XDG_DATA_HOME", home.join(".local/share").into()),
            ("XDG_STATE_HOME", home.join(".local/state").into()),
            ("XDG_CACHE_HOME", home.join(".cache").into()),
            ("PORTCULLIS_DATA_DIR", self.data().into()),
            // The machine's own git configuration is none of the test's business.
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ]
    }
}

/// The path of a program that cargo built beside this test.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let path = profile_folder().join(name);
    assert!(
        path.is_file(),
        "`{}` is not built: run `cargo build --workspace --bins` first (`cargo xtask test` does)",
        path.display()
    );
    path
}

/// `target/debug`, or wherever this test was built: the test itself is in `deps` below it.
fn profile_folder() -> PathBuf {
    let own = env::current_exe().unwrap();
    own.parent().and_then(Path::parent).unwrap().to_path_buf()
}

/// A new folder outside every git work tree, else the test's folders would belong to that project, and not below `/tmp`:
/// a sandboxed command has one of its own, and the tests are about what it can reach of the real file system.
fn temporary_folder() -> TempDir {
    // Real paths: the programs resolve symlinks, and the tests compare.
    let parent = Path::new("/var/tmp")
        .canonicalize()
        .expect("every system has a /var/tmp");
    let folder = tempfile::Builder::new().prefix("pc-").tempdir_in(parent).unwrap();
    let repository = folder.path().ancestors().find(|folder| folder.join(".git").exists());
    assert_eq!(repository, None, "the tests need a folder that is in no repository");
    folder
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

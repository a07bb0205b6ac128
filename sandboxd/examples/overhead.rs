//! What the sandbox costs, beside a bare process and beside `bwrap` (if it is there) doing the same, all in one run: medians of
//! rounds in which each is done once.
//!
//! ```text
//! cargo build --release -p portcullis-sandboxd && cargo run --release -p portcullis-sandboxd --example overhead [ROUNDS]
//! ```
//!
//! The launcher alone gets its specification from here, as from the daemon: no workspace is walked. The filter is this process'.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_policy::network::{HostRule, NetworkRules};
use portcullis_sandboxd::launch::network::SERVICE;
use portcullis_sandboxd::launch::spec::{Event, Layout, Spec};
use portcullis_sandboxd::network::{Filter, SystemLookup, pair};
use portcullis_sandboxd::process::launch;

/// Rounds, if none are named.
const ROUNDS: usize = 40;

/// Bytes that are fetched to see how fast the filter is.
const LARGE: usize = 256 * 1024 * 1024;

/// Connections that are made to see what one costs.
const CONNECTIONS: usize = 100;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |text| text.parse())?;
    let programs = std::env::current_exe()?;
    let programs = programs.ancestors().nth(2).unwrap_or(&programs).to_path_buf();
    let place = Place::new(&programs)?;
    let result = measure(&place, rounds).await;
    fs::remove_dir_all(&place.root)?;
    result
}

async fn measure(place: &Place, rounds: usize) -> Outcome<()> {
    let mut out = io::stdout();
    let bwrap = Command::new("bwrap").arg("--version").output().is_ok();
    if !bwrap {
        writeln!(out, "bwrap is not here: nothing to compare with")?;
    }
    for protected in [0, 16, 800] {
        let paths = place.protected.get(..protected).unwrap_or_default();
        let (mut bare, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            bare.push(run(&mut Command::new("/bin/true"))?);
            ours.push(place.launched(&["/bin/true"], paths, None).await?);
            if bwrap {
                theirs.push(run(&mut place.bwrap(paths))?);
            }
        }
        let (bare, ours) = (median(bare), median(ours));
        write!(
            out,
            "{protected} protected paths: bare {bare:?}, launcher {ours:?} ({:?} added)",
            ours.saturating_sub(bare)
        )?;
        if bwrap {
            let theirs = median(theirs);
            write!(out, ", bwrap {theirs:?} ({:?} added)", theirs.saturating_sub(bare))?;
        }
        writeln!(out)?;
    }
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(run(&mut Command::new("/bin/true"))?);
        let mut command = Command::new(place.launcher.with_file_name("portcullis-sandboxd"));
        command.arg("exec").arg("--workspace").arg(&place.workspace);
        ours.push(run(command.args(["--", "/bin/true"]))?);
    }
    let (bare, ours) = (median(bare), median(ours));
    writeln!(
        out,
        "by hand, with the walk over a workspace of 800 protected paths: bare {bare:?}, sandboxed {ours:?} ({:?} added)",
        ours.saturating_sub(bare)
    )?;
    let port = serve()?;
    let (mut small, mut large, mut many) = ([vec![], vec![]], [vec![], vec![]], [vec![], vec![]]);
    for _ in 0..rounds.min(9) {
        for (times, path) in [
            (&mut small, "small".to_owned()),
            (&mut large, "large".to_owned()),
            (&mut many, format!("small?[1-{CONNECTIONS}]")),
        ] {
            let address = format!("http://127.0.0.1:{port}/{path}");
            let [bare, ours] = times;
            let words = ["curl", "-sf", "-o", "/dev/null", &address];
            bare.push(run(Command::new("curl").args(&words[1..]))?);
            ours.push(place.launched(&words, &[], Some(())).await?);
        }
    }
    for (name, at) in [("bare", 0), ("through the filter", 1)] {
        let of = |times: &[Vec<Duration>; 2]| times.get(at).cloned().map(median).unwrap_or_default();
        let (small, large, many) = (of(&small), of(&large), of(&many));
        let seconds = large.saturating_sub(small).as_secs_f64();
        let gigabits = LARGE as f64 * 8.0 / 1e9 / seconds;
        let each = many.saturating_sub(small) / u32::try_from(CONNECTIONS - 1)?;
        writeln!(
            out,
            "{name}: {gigabits:.1} Gbit/s, {each:?} for a connection with a request"
        )?;
    }
    Ok(())
}

struct Place {
    root: PathBuf,
    workspace: PathBuf,
    launcher: PathBuf,
    protected: Vec<PathBuf>,
}

impl Place {
    fn new(programs: &Path) -> Outcome<Self> {
        // Not below /tmp, which both sandboxes cover.
        let root = programs.join(format!("overhead-{}", std::process::id()));
        let workspace = root.join("ws");
        let mut protected = Vec::new();
        for number in 0..400 {
            let git = workspace.join(format!("part{number}/.git"));
            fs::create_dir_all(git.join("hooks"))?;
            fs::create_dir_all(git.join("objects"))?;
            fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
            fs::write(git.join("config"), "")?;
            protected.extend([git.join("hooks"), git.join("config")]);
        }
        Ok(Self {
            launcher: programs.join("portcullis-launch"),
            workspace,
            root,
            protected,
        })
    }

    /// The time of one launch, with a filter or without a network.
    async fn launched(&self, argv: &[&str], protected: &[PathBuf], filtered: Option<()>) -> Outcome<Duration> {
        let bytes = |path: &PathBuf| path.as_os_str().as_bytes().to_vec();
        let spec = Spec {
            argv: argv.iter().map(|word| word.as_bytes().to_vec()).collect(),
            cwd: bytes(&self.workspace),
            environment: vec![b"PATH=/usr/local/bin:/usr/bin:/bin".to_vec()],
            layout: Some(Layout {
                read_write: vec![bytes(&self.workspace)],
                protected: protected.iter().map(bytes).collect(),
                name_server: filtered.map(|()| SERVICE.to_string()).unwrap_or_default(),
                ..Layout::default()
            }),
            filtered_network: filtered.is_some(),
            ..Spec::default()
        };
        let begun = Instant::now();
        let (filter, theirs) = match filtered {
            None => (None, None),
            Some(()) => {
                let (own, theirs) = pair()?;
                let rules = NetworkRules {
                    default_allow: false,
                    allow: vec![HostRule::parse("127.0.0.1").map_err(|_| "no rule")?],
                    deny: Vec::new(),
                };
                (Some(Filter::start(own, rules, Arc::new(SystemLookup))), Some(theirs))
            }
        };
        let mut launched = launch(&self.launcher, &spec, theirs, None, None)?;
        let mut well = false;
        while let Some(event) = launched.reports.next().await? {
            match event {
                Event::Exited(exited) => well = exited.code == 0 && exited.signal == 0,
                Event::Refused(refused) => return Err(format!("{}: {}", refused.step, refused.reason).into()),
                _ => {}
            }
        }
        launched.child.wait().await?;
        let took = begun.elapsed();
        if let Some(filter) = filter {
            filter.finish().await;
        }
        well.then_some(took).ok_or_else(|| format!("{argv:?} failed").into())
    }

    fn bwrap(&self, protected: &[PathBuf]) -> Command {
        let mut command = Command::new("bwrap");
        command
            .args([
                "--unshare-all",
                "--die-with-parent",
                "--ro-bind",
                "/",
                "/",
                "--dev",
                "/dev",
            ])
            .args(["--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run", "--bind"])
            .args([&self.workspace, &self.workspace]);
        for path in protected {
            command.arg("--ro-bind").args([path, path]);
        }
        command.args(["--", "/bin/true"]);
        command
    }
}

/// A server on loopback that sends few bytes or many.
fn serve() -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    Ok(port)
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut request = [0u8; 4096];
    let read = stream.read(&mut request)?;
    let large = request
        .get(..read)
        .is_some_and(|request| request.starts_with(b"GET /large"));
    let length = if large { LARGE } else { 1 };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let piece = vec![b'x'; 256 * 1024];
    let mut left = length;
    while left > 0 {
        let now = left.min(piece.len());
        stream.write_all(piece.get(..now).unwrap_or_default())?;
        left -= now;
    }
    Ok(())
}

fn run(command: &mut Command) -> Outcome<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status()?;
    if status.success() {
        Ok(begun.elapsed())
    } else {
        Err(format!("{command:?} ended with {status}").into())
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

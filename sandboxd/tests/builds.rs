//! Real builds in the sandbox, fetching their packages through the network filter from a server on loopback.
//!
//! cargo, git and python3 have to be there, as `cargo xtask test` installs them; that npm, pip or pytest is not there is said, and what
//! needs it is not tested.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "only tests are here"
)]

mod support;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use portcullis_proto::v1::*;
use sha2::{Digest as _, Sha256};
use support::{Finished, Host};

/// Files by path, served on loopback, and which were asked for.
struct Packages {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Packages {
    fn serve(files: impl FnOnce(u16) -> HashMap<String, Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let files = Arc::new(files(port));
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (files, log) = (Arc::clone(&files), Arc::clone(&log));
                std::thread::spawn(move || answer(stream, &files, &log));
            }
        });
        Self { port, asked }
    }

    fn was_asked_for(&self, path: &str) -> bool {
        self.asked.lock().unwrap().iter().any(|asked| asked == path)
    }
}

/// One request, one answer.
fn answer(mut stream: TcpStream, files: &HashMap<String, Vec<u8>>, log: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(first)) = lines.next() else { return };
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let path = first.split(' ').nth(1).unwrap_or_default().replace("%2f", "/");
    log.lock().unwrap().push(path.clone());
    let (status, body) = match files.get(&path) {
        Some(body) => ("200 OK", body.as_slice()),
        None => ("404 Not Found", &b"nothing here"[..]),
    };
    let kind = match () {
        () if path.ends_with('/') => "text/html",
        () if body.starts_with(b"{") => "application/json",
        () => "application/octet-stream",
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

/// A host whose commands may reach this machine's loopback, through the filter, and nothing else.
async fn host() -> Host {
    let host = Host::start().await;
    network(&host, true);
    host
}

fn network(host: &Host, open: bool) {
    host.script(|script| {
        script.profile = if open {
            |profile| {
                profile.network = NetworkAccess::Filtered.into();
                profile.network_rules = Some(NetworkRules {
                    allow: vec!["127.0.0.1".to_owned()],
                    ..NetworkRules::default()
                });
            }
        } else {
            |profile| {
                profile.network = NetworkAccess::Filtered.into();
                profile.network_rules = Some(NetworkRules::default());
            }
        };
    });
}

/// Whether a tool is there; if not, that is said.
fn has(line: &str) -> bool {
    let found = Command::new("bash")
        .args(["-c", &format!("{line} >/dev/null 2>&1")])
        .status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        eprintln!("NOT TESTED: `{line}` fails on this machine");
    }
    found
}

/// A tool that has to be there.
fn required(line: &str) {
    assert!(
        has(line),
        "`{line}` fails, and `cargo xtask test` installs what it takes"
    );
}

/// Outside the sandbox, to prepare.
fn prepared(folder: &Path, line: &str) -> String {
    let output = Command::new("bash")
        .args(["-ec", line])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn succeeded(finished: &Finished, ends: &str) {
    let out = String::from_utf8_lossy(&finished.stdout);
    assert_eq!(
        finished.code(),
        Some(0),
        "{out}\n{}",
        String::from_utf8_lossy(&finished.stderr)
    );
    assert!(out.trim_end().ends_with(ends), "{out}");
}

/// It was the filter that let the packages through, and it is on record.
fn came_through_the_filter(finished: &Finished, packages: &Packages) {
    let contact = |host: &HostContact| host.port == u32::from(packages.port) && host.refused.is_empty();
    assert!(
        finished.outcome.hosts.iter().any(contact),
        "{:?}",
        finished.outcome.hosts
    );
}

/// Nothing is built without the network, and the reason is told.
fn was_refused(finished: &Finished, packages: &Packages) {
    assert_ne!(finished.code(), Some(0), "the control");
    let refusal = |refusal: &SandboxRefusal| {
        refusal.kind() == RefusedKind::Host && refusal.subject == format!("10.9.8.7:{}", packages.port)
    };
    let said = String::from_utf8_lossy(&finished.stderr);
    assert!(
        finished.outcome.refusals.iter().any(refusal),
        "{:?}\n{said}",
        finished.outcome
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cargo_builds_a_crate_with_a_dependency_from_a_registry() {
    let cargo = env!("CARGO");
    required(&format!("{cargo} --version"));
    required("cc --version");
    let host = host().await;
    let work = host.folder.path().canonicalize().unwrap();
    let krate = work.join("demo-dep-0.1.0");
    write(
        &krate.join("Cargo.toml"),
        "[package]\nname = \"demo-dep\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    write(
        &krate.join("src/lib.rs"),
        "pub fn word() -> &'static str { \"from the registry\" }\n",
    );
    prepared(&work, "tar czf demo.crate demo-dep-0.1.0");
    let bytes = fs::read(work.join("demo.crate")).unwrap();
    let packages = Packages::serve(|port| {
        let checksum = Sha256::digest(&bytes).iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let entry = format!(
            "{{\"name\":\"demo-dep\",\"vers\":\"0.1.0\",\"deps\":[],\"cksum\":\"{checksum}\",\"features\":{{}},\"yanked\":false}}\n"
        );
        let configuration = format!("{{\"dl\":\"http://127.0.0.1:{port}/crates/{{crate}}-{{version}}.crate\"}}");
        HashMap::from([
            ("/index/config.json".to_owned(), configuration.into_bytes()),
            ("/index/de/mo/demo-dep".to_owned(), entry.into_bytes()),
            ("/crates/demo-dep-0.1.0.crate".to_owned(), bytes),
        ])
    });
    let of_registry = |address: &str| {
        format!(
            "[source.crates-io]\nreplace-with = \"local\"\n[source.local]\nregistry = \"sparse+http://{address}:{}/index/\"\n[net]\nretry = 0\n",
            packages.port
        )
    };
    write(
        &host.workspace.join("Cargo.toml"),
        "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\ndemo-dep = \"0.1\"\n[workspace]\n",
    );
    write(
        &host.workspace.join("src/main.rs"),
        "fn main() { println!(\"{}\", demo_dep::word()); }\n",
    );
    let folder = Path::new(cargo).parent().unwrap().display().to_string();
    let line = format!(
        "export HOME=$PWD/.home CARGO_HOME=$PWD/.home/cargo PATH={folder}:$PATH CARGO_TARGET_DIR=target; cargo build --quiet && target/debug/app"
    );
    write(&host.workspace.join(".cargo/config.toml"), of_registry("10.9.8.7"));
    was_refused(&host.bash(&line).await, &packages);
    write(&host.workspace.join(".cargo/config.toml"), of_registry("127.0.0.1"));
    let finished = host.bash(&line).await;
    succeeded(&finished, "from the registry");
    came_through_the_filter(&finished, &packages);
    assert!(packages.was_asked_for("/crates/demo-dep-0.1.0.crate"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn npm_installs_what_the_lock_file_names() {
    if !has("npm --version") {
        return;
    }
    let host = host().await;
    let work = host.folder.path().canonicalize().unwrap();
    let package = r#"{ "name": "demo-dep", "version": "0.1.0", "main": "index.js" }"#;
    write(&work.join("package/package.json"), package);
    write(
        &work.join("package/index.js"),
        "module.exports = 'from the registry';\n",
    );
    prepared(&work, "tar czf demo.tgz package");
    let bytes = fs::read(work.join("demo.tgz")).unwrap();
    let packages = Packages::serve(|_| HashMap::from([("/npm/demo-dep-0.1.0.tgz".to_owned(), bytes)]));
    write(
        &host.workspace.join("package.json"),
        r#"{ "name": "app", "version": "1.0.0", "dependencies": { "demo-dep": "0.1.0" } }"#,
    );
    let lock = |address: &str| {
        format!(
            r#"{{ "name": "app", "version": "1.0.0", "lockfileVersion": 3, "packages": {{
                "": {{ "name": "app", "version": "1.0.0", "dependencies": {{ "demo-dep": "0.1.0" }} }},
                "node_modules/demo-dep": {{ "version": "0.1.0", "resolved": "http://{address}:{}/npm/demo-dep-0.1.0.tgz" }} }} }}"#,
            packages.port
        )
    };
    let line = "export HOME=$PWD/.home; npm ci --no-audit --no-fund --fetch-retries=0 && node -e 'console.log(require(\"demo-dep\"))'";
    write(&host.workspace.join("package-lock.json"), lock("10.9.8.7"));
    was_refused(&host.bash(line).await, &packages);
    write(&host.workspace.join("package-lock.json"), lock("127.0.0.1"));
    let finished = host.bash(line).await;
    succeeded(&finished, "from the registry");
    came_through_the_filter(&finished, &packages);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pip_installs_from_an_index() {
    if !has("python3 -m pip --version") {
        return;
    }
    let host = host().await;
    let work = host.folder.path().canonicalize().unwrap();
    write(&work.join("wheel/demo_dep.py"), "word = 'from the index'\n");
    let of = |name: &str| work.join("wheel/demo_dep-0.1.0.dist-info").join(name);
    write(
        &of("METADATA"),
        "Metadata-Version: 2.1\nName: demo-dep\nVersion: 0.1.0\n",
    );
    write(
        &of("WHEEL"),
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    );
    write(
        &of("RECORD"),
        "demo_dep.py,,\ndemo_dep-0.1.0.dist-info/METADATA,,\ndemo_dep-0.1.0.dist-info/WHEEL,,\ndemo_dep-0.1.0.dist-info/RECORD,,\n",
    );
    let name = "demo_dep-0.1.0-py3-none-any.whl";
    prepared(
        &work.join("wheel"),
        &format!("python3 -m zipfile -c ../{name} demo_dep.py demo_dep-0.1.0.dist-info"),
    );
    let bytes = fs::read(work.join(name)).unwrap();
    let packages = Packages::serve(|_| {
        let page = format!("<html><body><a href=\"/files/{name}\">{name}</a></body></html>");
        HashMap::from([
            ("/simple/demo-dep/".to_owned(), page.into_bytes()),
            (format!("/files/{name}"), bytes),
        ])
    });
    let python = prepared(&work, "python3 -c 'import sys; print(sys.executable)'");
    let line = |address: &str| {
        format!(
            "export HOME=$PWD/.home; {python} -m pip install --disable-pip-version-check --retries 0 --target lib --trusted-host {address} \
             --index-url http://{address}:{}/simple/ demo-dep && PYTHONPATH=lib {python} -c 'import demo_dep; print(demo_dep.word)'",
            packages.port
        )
    };
    was_refused(&host.bash(&line("10.9.8.7")).await, &packages);
    let finished = host.bash(&line("127.0.0.1")).await;
    succeeded(&finished, "from the index");
    came_through_the_filter(&finished, &packages);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_commits_branches_and_rebases() {
    required("git --version");
    let host = host().await;
    prepared(
        &host.workspace,
        "git init -q -b main && git config user.name T && git config user.email t@example.com && echo 1 > a && git add a && git commit -qm one",
    );
    let line = "export HOME=$PWD/../nowhere; set -e; git checkout -qb topic; echo 2 > b; git add b; git commit -qm two; \
                git checkout -q main; echo 3 > c; git add c; git commit -qm three; git checkout -q topic; git rebase -q main; \
                git log --format=%s | tr '\\n' ' '; git status --porcelain";
    let finished = host.bash(line).await;
    succeeded(&finished, "two three one");
    assert_eq!(prepared(&host.workspace, "git log --format=%s topic | head -1"), "two");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pytest_or_unittest_runs_a_projects_tests() {
    required("python3 --version");
    let host = host().await;
    let python = prepared(&host.workspace, "python3 -c 'import sys; print(sys.executable)'");
    write(
        &host.workspace.join("test_demo.py"),
        "import socket, tempfile, unittest, multiprocessing\n\n\
         def double(number):\n    return 2 * number\n\n\
         class TestDemo(unittest.TestCase):\n\
         \x20   def test_files(self):\n        with tempfile.TemporaryDirectory() as folder:\n            open(folder + '/f', 'w').close()\n\
         \x20   def test_a_server_of_its_own(self):\n        server = socket.create_server(('127.0.0.1', 0))\n\
         \x20       client = socket.create_connection(server.getsockname())\n        client.close()\n\
         \x20   def test_processes(self):\n        with multiprocessing.Pool(2) as pool:\n            self.assertEqual(pool.map(double, [1, 2]), [2, 4])\n",
    );
    let runner = if has("python3 -m pytest --version") {
        "pytest -q"
    } else {
        eprintln!("NOT TESTED: pytest itself; the same tests run under unittest");
        "unittest -q"
    };
    let line = format!("export HOME=$PWD/.home; {python} -m {runner} && echo all well");
    succeeded(&host.bash(&line).await, "all well");
}

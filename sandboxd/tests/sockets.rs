//! Unix sockets of the outside: out of reach wherever they lie, but for those that policy names; as root and as an ordinary
//! user, each refusal beside the proof that the same line is answered without the sandbox, or with the socket allowed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests are here"
)]

mod support;

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use support::Host;

/// A user without a name, a home or a right.
const NOBODY: u32 = 65534;

/// What a service says to whoever connects.
const ANSWER: &str = "a service of the outside";

/// Says whether it was answered at the socket that it is given.
const ASK: &str = "import socket,sys
s=socket.socket(socket.AF_UNIX)
s.settimeout(5)
s.connect(sys.argv[1])
print(s.recv(99).decode())";

/// Answers at a socket until the test ends.
fn serve(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(ANSWER.as_bytes());
        }
    });
}

/// A workspace, services in it and around it, and the launcher where every user can reach it.
struct Place {
    _keep: [tempfile::TempDir; 2],
    base: PathBuf,
    /// A folder in the host's `/tmp`.
    tmp: PathBuf,
    user: Option<u32>,
}

impl Place {
    fn new(user: Option<u32>) -> Self {
        let keep = [
            tempfile::tempdir_in("/var/tmp").unwrap(),
            tempfile::tempdir_in("/tmp").unwrap(),
        ];
        let [base, tmp] = keep.each_ref().map(|folder| folder.path().canonicalize().unwrap());
        for folder in [&base, &tmp] {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        // By another process: a file that this one has open for writing cannot be executed.
        let mut copy = Command::new("cp");
        copy.arg(env!("CARGO_BIN_EXE_portcullis-sandboxd")).arg(&base);
        assert!(copy.status().unwrap().success());
        std::fs::create_dir(base.join("ws")).unwrap();
        chown(base.join("ws"), user, user).unwrap();
        for socket in [base.join("ws/s"), base.join("s"), tmp.join("s")] {
            serve(&socket);
        }
        Self {
            base,
            tmp,
            user,
            _keep: keep,
        }
    }

    /// As root: root itself and a user without rights. Else whoever this is.
    fn all() -> Vec<Self> {
        if rustix::process::geteuid().is_root() {
            vec![Self::new(None), Self::new(Some(NOBODY))]
        } else {
            vec![Self::new(None)]
        }
    }

    /// All services: in the workspace, beside it, in `/tmp`.
    fn sockets(&self) -> [PathBuf; 3] {
        [self.base.join("ws/s"), self.base.join("s"), self.tmp.join("s")]
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.base.join("ws"));
        command.current_dir(self.base.join("ws"));
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    fn launcher(&self, policy: &Value) -> Command {
        let file = self.base.join("policy.json");
        std::fs::write(&file, policy.to_string()).unwrap();
        let mut command = self.command(&self.base.join("portcullis-sandboxd"));
        command.args(["exec", "--report", "--policy"]).arg(&file);
        command.arg("--workspace").arg(self.base.join("ws")).arg("--");
        command
    }

    /// Whether a service answers somebody in the sandbox.
    fn answers(&self, policy: &Value, socket: &Path) -> bool {
        let output = self
            .launcher(policy)
            .args(["python3", "-c", ASK])
            .arg(socket)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("STATUS_FULL"), "it did not start: {said}");
        String::from_utf8_lossy(&output.stdout).contains(ANSWER)
    }

    /// Whether it answers without a sandbox.
    fn answers_outside(&self, socket: &Path) -> bool {
        let output = self
            .command(Path::new("python3"))
            .args(["-c", ASK])
            .arg(socket)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).contains(ANSWER)
    }
}

#[test]
fn sockets_of_the_outside_are_reached_only_if_policy_names_them() {
    for place in Place::all() {
        for socket in &place.sockets() {
            assert!(place.answers_outside(socket), "{}", socket.display());
            assert!(!place.answers(&json!({}), socket), "{}", socket.display());
            for other in &place.sockets() {
                let policy = json!({ "allowUnixSockets": [socket] });
                assert_eq!(
                    place.answers(&policy, other),
                    other == socket,
                    "{policy}: {}",
                    other.display()
                );
            }
        }
    }
}

#[test]
fn what_is_shown_or_shared_of_a_private_folder_brings_no_socket_along() {
    for place in Place::all() {
        let [_, _, socket] = &place.sockets();
        // A host's `/tmp` holds folders that another user cannot list, and then it cannot be shared.
        let whole = if place.user.is_none() {
            json!({ "shareTmp": true })
        } else {
            json!({ "additionalReadwritePaths": [place.tmp], "shareTmp": false })
        };
        for mut policy in [
            whole,
            json!({ "additionalReadonlyPaths": [place.tmp] }),
            json!({ "additionalReadonlyPaths": [socket] }),
            json!({ "additionalReadwritePaths": [place.tmp] }),
        ] {
            assert!(!place.answers(&policy, socket), "{policy}");
            policy["allowUnixSockets"] = json!([socket]);
            assert!(place.answers(&policy, socket), "{policy}");
        }
    }
}

#[test]
fn a_socket_is_allowed_under_its_real_path_and_not_through_a_link_that_commands_can_replace() {
    for place in Place::all() {
        let [_, socket, _] = &place.sockets();
        let link = place.base.join("link");
        std::os::unix::fs::symlink(socket, &link).unwrap();
        assert!(place.answers(&json!({ "allowUnixSockets": [link] }), socket));
        let inside = place.base.join("ws/link");
        std::os::unix::fs::symlink(socket, &inside).unwrap();
        let policy = json!({ "allowUnixSockets": [inside] });
        let output = place.launcher(&policy).arg("true").output().unwrap();
        assert!(!output.status.success(), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("which a command can replace"),
            "{output:?}"
        );
    }
}

#[test]
fn a_denied_folder_stays_closed_and_what_is_no_socket_is_told() {
    for place in Place::all() {
        let [_, socket, _] = &place.sockets();
        let policy = json!({ "allowUnixSockets": [socket], "denyRead": [socket] });
        assert!(!place.answers(&policy, socket), "{policy}");
        std::fs::write(place.base.join("file"), "").unwrap();
        let policy = json!({ "allowUnixSockets": [place.base.join("file"), place.base.join("gone")] });
        let output = place.launcher(&policy).arg("true").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && said.contains("file` of `allowUnixSockets` is no socket"),
            "{said}"
        );
    }
}

#[test]
fn the_variable_that_says_where_an_allowed_socket_is_passes() {
    for place in Place::all() {
        let [_, socket, other] = &place.sockets();
        let policy = json!({ "allowUnixSockets": [socket] });
        let seen = |value: &Path| {
            let mut launcher = place.launcher(&policy);
            let output = launcher.arg("env").env("SSH_AUTH_SOCK", value).output().unwrap();
            String::from_utf8_lossy(&output.stdout).contains("SSH_AUTH_SOCK=")
        };
        assert!(seen(socket) && !seen(other));
    }
}

/// Answers at the first socket that it is given, by the name that it is given; then renames it, or gives it another name.
const SERVE: &str = "import os,socket,sys
s=socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
os.chmod(sys.argv[1],0o777)
s.listen()
how=sys.argv[2]
if how=='renamed': os.rename(sys.argv[1],sys.argv[3])
if how=='linked': os.link(sys.argv[1],sys.argv[3])
print('ready',flush=True)
while True:
    c,_=s.accept()
    c.sendall(b'a service of the outside')
    c.close()";

/// A service in a process of its own, whose working directory is not this one's.
struct Service(std::process::Child);

impl Service {
    fn start(place: &Place, folder: &Path, words: &[&str]) -> Self {
        let mut command = place.command(Path::new("python3"));
        command.args(["-c", SERVE]).args(words).current_dir(folder);
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut said, &mut String::new()).unwrap();
        Self(child)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_socket_of_the_outside_is_hidden_whatever_name_it_was_bound_by() {
    for place in Place::all() {
        let out = place.base.join("out");
        std::fs::create_dir(&out).unwrap();
        chown(&out, place.user, place.user).unwrap();
        for folder in [place.base.join("ws"), out] {
            let name = folder.file_name().unwrap().to_str().unwrap();
            let way = format!("../{name}/way");
            let kept = [
                Service::start(&place, &folder, &["relative", "as it is"]),
                Service::start(&place, &folder, &["./dot", "as it is"]),
                Service::start(&place, &place.base.join("ws"), &[&way, "as it is"]),
                Service::start(&place, &folder, &["new\nline", "as it is"]),
                Service::start(&place, &folder, &["before", "renamed", "renamed"]),
                Service::start(&place, &folder, &["linked", "linked", "link"]),
            ];
            let whole = folder.join("whole").to_str().unwrap().to_owned();
            let more = Service::start(&place, &folder, &[&whole, "linked", "whole-link"]);
            for name in [
                "relative",
                "dot",
                "way",
                "new\nline",
                "renamed",
                "linked",
                "link",
                "whole",
                "whole-link",
            ] {
                let socket = folder.join(name);
                assert!(place.answers_outside(&socket), "{}", socket.display());
                for kind in ["workspace_readwrite", "workspace_readonly"] {
                    let policy = json!({ "type": kind });
                    assert!(!place.answers(&policy, &socket), "{kind}: {}", socket.display());
                }
                assert!(place.answers(&json!({ "allowUnixSockets": [socket] }), &socket));
            }
            drop((kept, more));
        }
    }
}

#[test]
fn what_is_made_inside_is_reached_inside_also_in_the_place_of_what_an_earlier_run_left() {
    for place in Place::all() {
        let line = "rm -f s2 && python3 -c \"$0\" s2 'as it is' & sleep 1; python3 -c \"$1\" s2; kill %1";
        for _ in 0..2 {
            let mut launcher = place.launcher(&json!({}));
            let output = launcher.args(["bash", "-mc", line, SERVE, ASK]).output().unwrap();
            assert!(String::from_utf8_lossy(&output.stdout).contains(ANSWER), "{output:?}");
            assert!(place.base.join("ws/s2").exists(), "nothing is left for the next run");
        }
    }
}

#[test]
fn git_passes_over_a_hidden_socket() {
    for place in Place::all() {
        let line = "git init -q . && touch file && git add -A && git ls-files";
        let mut launcher = place.launcher(&json!({}));
        let output = launcher.args(["bash", "-c", line]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "file\n", "{output:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_policy_opens_the_sockets_of_portcullis() {
    let host = Host::start().await;
    let own = host.places.socket();
    let service = host.workspace.join("service");
    serve(&service);
    let ask = |socket: &Path| {
        [
            "python3".to_owned(),
            "-c".to_owned(),
            ASK.to_owned(),
            socket.to_str().unwrap().to_owned(),
        ]
    };
    host.script(|script| {
        script.profile = |profile| {
            let runs = profile.masked_paths.iter().find(|path| path.ends_with("/run")).unwrap();
            profile.unix_sockets = vec![format!("{runs}/sandboxd.sock"), format!("{}/service", profile.roots[0])];
        }
    });
    let asked = ask(&service);
    let finished = host.run(&asked.each_ref().map(String::as_str)).await;
    assert!(finished.stdout().contains(ANSWER), "{finished:?}");
    assert!(own.exists());
    let asked = ask(&own);
    let finished = host.run(&asked.each_ref().map(String::as_str)).await;
    let said = String::from_utf8_lossy(&finished.stderr);
    let refused = ["PermissionError", "FileNotFoundError"]
        .iter()
        .any(|word| said.contains(word));
    assert!(finished.code() == Some(1) && refused, "{said}");
}

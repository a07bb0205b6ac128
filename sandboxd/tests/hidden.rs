//! What a sandboxed command cannot read, and what its environment holds: as root and as an ordinary user, each denial beside
//! the proof that the same line works without the sandbox, or without the denial.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests are here"
)]

mod support;

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use portcullis_proto::v1::{DenialReading, ReadDenial, SandboxProfile};
use support::{Host, unsandboxed};

/// A user without a name, a home or a right.
const NOBODY: u32 = 65534;

const SECRET: &str = "TOPSECRET";

/// A home folder with a workspace in it, and the launcher where every user can reach it.
struct Place {
    _keep: tempfile::TempDir,
    base: PathBuf,
    user: Option<u32>,
}

impl Place {
    fn new(user: Option<u32>) -> Self {
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let base = keep.path().canonicalize().unwrap();
        std::fs::set_permissions(&base, std::fs::Permissions::from_mode(0o755)).unwrap();
        // By another process: a file that this one has open for writing cannot be executed.
        let mut copy = Command::new("cp");
        copy.arg(env!("CARGO_BIN_EXE_portcullis-sandboxd")).arg(&base);
        assert!(copy.status().unwrap().success());
        for folder in ["home", "home/ws", "out"] {
            std::fs::create_dir(base.join(folder)).unwrap();
            chown(base.join(folder), user, user).unwrap();
        }
        Self {
            base,
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

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.base.join("home"))
            .current_dir(self.base.join("home/ws"));
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// Without a sandbox.
    fn bash(&self, line: &str) -> String {
        let output = self.command(Path::new("bash")).args(["-c", line]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn launcher(&self, policy: &serde_json::Value, workspace: &str) -> Command {
        let file = self.base.join("policy.json");
        std::fs::write(&file, policy.to_string()).unwrap();
        let mut command = self.command(&self.base.join("portcullis-sandboxd"));
        command.args(["exec", "--report", "--policy"]).arg(&file);
        command.arg("--workspace").arg(self.base.join(workspace)).arg("--");
        command
    }

    /// In the sandbox, with this policy and workspace: standard output.
    fn inside(&self, policy: &serde_json::Value, workspace: &str, line: &str) -> String {
        let output = self
            .launcher(policy, workspace)
            .args(["bash", "-c", line])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("STATUS_FULL"), "{line}: it did not start: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Ways to read a file in the workspace that is called `.env`.
const READS: [&str; 9] = [
    "cat .env",
    "cat ./x/../.env",
    "cat link",
    "cat second",
    "cp .env copy; cat copy",
    "mv .env moved; cat moved .env",
    "ln .env third; cat third",
    "cat x/y/.env; mv x z; cat z/y/.env; mv z x",
    "tar cf - . 2>/dev/null | cat",
];

#[test]
fn denied_files_cannot_be_read_under_any_name() {
    for place in Place::all() {
        let made = format!(
            "mkdir -p x/y secrets; for file in .env x/y/.env a.pem secrets/one ../../out/deep; do echo {SECRET} > $file; done;
             ln -s .env link; ln .env second; ln -s ../../out/deep far.pem; echo plain > plain; echo ok"
        );
        assert_eq!(place.bash(&made), "ok\n");
        let denied =
            serde_json::json!({ "denyRead": [".env", "*.pem", "/secrets/", place.base.join("home/ws/secrets")] });
        // `/secrets/` is a path: it means that of the file system.
        for line in READS {
            // In a copy, as some lines change what is there.
            let control = place.bash(&format!(
                "cp -a . ../../out/t; (cd ../../out/t && {line}); rm -rf ../../out/t"
            ));
            assert!(control.contains(SECRET), "{line}: {control}");
            let read = place.inside(&denied, "home/ws", line);
            assert!(!read.contains(SECRET), "{line}: {read}");
        }
        let more = ["cat a.pem", "cat far.pem", "cat ../../out/deep", "cat secrets/one"];
        for line in more {
            assert!(place.bash(line).contains(SECRET), "{line}");
            assert!(!place.inside(&denied, "home/ws", line).contains(SECRET), "{line}");
            // With another policy the same line reads it.
            assert!(
                place.inside(&serde_json::json!({}), "home/ws", line).contains(SECRET),
                "{line}"
            );
        }
        assert_eq!(
            place.inside(&denied, "home/ws", "cat plain; echo new > made; cat made"),
            "plain\nnew\n"
        );
    }
}

#[test]
fn a_command_cannot_close_a_folder_to_hide_a_file_from_the_next_look() {
    for place in Place::all() {
        assert_eq!(place.bash(&format!("mkdir d; echo {SECRET} > d/.env; echo ok")), "ok\n");
        let denied = serde_json::json!({ "denyRead": [".env"] });
        assert_eq!(
            place.inside(&denied, "home/ws", "chmod 000 d && echo closed"),
            "closed\n"
        );
        let open = "chmod 700 d; cat d/.env";
        assert!(!place.inside(&denied, "home/ws", open).contains(SECRET));
        assert!(place.bash(open).contains(SECRET));
    }
}

#[test]
fn credentials_are_hidden_unless_the_person_names_them() {
    let secrets = [
        ".aws/credentials",
        ".config/gh/hosts.yml",
        ".netrc",
        ".git-credentials",
        ".kube/config",
        ".docker/config.json",
        ".ssh/id_ed25519",
        ".ssh/other",
        ".mozilla/firefox/cookies.sqlite",
        ".local/share/keyrings/login.keyring",
        ".gnupg/private-keys-v1.d/a.key",
    ];
    for place in Place::all() {
        let made = secrets.map(|file| {
            let key = "-----BEGIN OPENSSH PRIVATE KEY-----";
            format!("mkdir -p $(dirname ~/{file}); printf '%s\\n' '{key}' {SECRET} > ~/{file}")
        });
        let open = "echo Host > ~/.ssh/config; echo PUB > ~/.ssh/id_ed25519.pub; echo reg > ~/.npmrc; echo ok";
        assert_eq!(place.bash(&format!("{}; {open}", made.join("; "))), "ok\n");
        // The workspace below the home folder, and the home folder itself.
        for workspace in ["home/ws", "home"] {
            let none = serde_json::json!({});
            for file in secrets {
                let line = format!("cat ~/{file}; cp ~/{file} ./copied; cat copied");
                assert!(place.bash(&line).contains(SECRET), "{file}");
                std::fs::remove_file(place.base.join("home/ws/copied")).unwrap();
                assert!(
                    !place.inside(&none, workspace, &line).contains(SECRET),
                    "{file} in {workspace}"
                );
            }
            let read = "cat ~/.ssh/config ~/.ssh/id_ed25519.pub ~/.npmrc";
            assert_eq!(place.inside(&none, workspace, read), "Host\nPUB\nreg\n");
            for key in ["additionalReadonlyPaths", "additionalReadwritePaths"] {
                let named = serde_json::json!({ key: ["~/.netrc", place.base.join("home/.ssh/other")] });
                let read = place.inside(&named, workspace, "cat ~/.netrc");
                assert!(read.contains(SECRET), "{key} in {workspace}: {read}");
                assert!(place.inside(&named, workspace, "cat ~/.ssh/other").contains(SECRET));
                assert!(
                    !place
                        .inside(&named, workspace, "cat ~/.ssh/id_ed25519")
                        .contains(SECRET)
                );
            }
        }
        assert_eq!(
            place
                .bash("rm ~/.npmrc; echo '//r.example/:_authToken=x' > ~/.npmrc; cat ~/.npmrc | wc -l")
                .trim(),
            "1"
        );
        assert_eq!(
            place
                .inside(&serde_json::json!({}), "home/ws", "cat ~/.npmrc | wc -l")
                .trim(),
            "0"
        );
    }
}

#[test]
fn secrets_stay_out_of_the_environment_and_the_sandbox_says_who_it_is() {
    for place in Place::all() {
        let outside = [
            ("API_TOKEN", "t0p"),
            ("SSH_AUTH_SOCK", "/x"),
            ("DB_PWD", "t0p"),
            ("HTTP_PROXY", "http://me:t0pt0p@proxy.example:3128"),
            ("NOTES", "ghp_t0pB2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F"),
            ("EDITOR", "vi"),
            ("CURSOR_SANDBOX", "no"),
        ];
        let output = place
            .launcher(&serde_json::json!({}), "home/ws")
            .arg("env")
            .envs(outside)
            .output()
            .unwrap();
        let inside = String::from_utf8(output.stdout).unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<&str> = inside.lines().collect();
        assert!(lines.contains(&"EDITOR=vi"), "{inside}");
        assert!(!inside.contains("t0p") && !inside.contains("SSH_AUTH_SOCK"), "{inside}");
        assert!(
            said.contains("variables left out: API_TOKEN DB_PWD HTTP_PROXY NOTES SSH_AUTH_SOCK"),
            "{said}"
        );
        assert!(!said.contains("t0p"), "{said}");
        let uid = place.user.unwrap_or_else(|| rustix::process::getuid().as_raw());
        let gid = place.user.unwrap_or_else(|| rustix::process::getgid().as_raw());
        for expected in identity(uid, gid) {
            assert!(lines.contains(&expected.as_str()), "{expected}: {inside}");
        }
        assert!(!lines.contains(&"CURSOR_SANDBOX=no"));
        let control = place.bash("env");
        assert!(
            !control.contains("SANDBOX") && !control.contains("ORIG_UID"),
            "{control}"
        );
    }
}

fn identity(uid: u32, gid: u32) -> [String; 8] {
    [
        "PORTCULLIS_SANDBOX=1".to_owned(),
        format!("PORTCULLIS_ORIG_UID={uid}"),
        format!("PORTCULLIS_ORIG_GID={gid}"),
        "PORTCULLIS_LANDLOCK_STATUS=fully_enforced".to_owned(),
        "CURSOR_SANDBOX=native".to_owned(),
        format!("CURSOR_ORIG_UID={uid}"),
        format!("CURSOR_ORIG_GID={gid}"),
        "CURSOR_SANDBOX_LANDLOCK_STATUS=fully_enforced".to_owned(),
    ]
}

/// What a rule, an ignore file, a list of patterns and a `denyRead` say, as the server sends it.
fn denials(profile: &mut SandboxProfile) {
    let denial = |reading: DenialReading, pattern: &str, exceptions: &[&str]| ReadDenial {
        pattern: pattern.to_owned(),
        folder: String::new(),
        exceptions: exceptions.iter().map(ToString::to_string).collect(),
        reading: reading.into(),
    };
    profile.read_denials = vec![
        denial(DenialReading::Rule, "*.pem", &["public.pem"]),
        denial(DenialReading::IgnoreFile, "ignored/", &[]),
        denial(DenialReading::IgnoreList, "*.key", &["!sample.key"]),
        denial(DenialReading::CursorRule, "cursor/**", &[]),
        denial(DenialReading::Entry, "~/own", &[]),
    ];
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_for_a_ticket_hides_what_its_profile_denies_and_the_persons_credentials() {
    let host = Host::start().await;
    let hidden = [
        "a.pem",
        "ignored/x",
        "d/b.key",
        "cursor/x/y",
        "../home/own",
        "../home/.aws/credentials",
    ];
    let free = ["public.pem", "sample.key", "other", "../home/other"];
    for file in hidden.iter().chain(&free) {
        let path = host.workspace.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, SECRET).unwrap();
    }
    for file in hidden {
        let line = format!("cat {file}");
        assert!(
            host.bash(&line).await.stdout().contains(SECRET) || file.ends_with(".aws/credentials"),
            "{file}"
        );
        assert!(!unsandboxed(&line, &host.workspace).stdout.is_empty());
    }
    host.script(|script| script.profile = denials);
    for file in hidden {
        let finished = host.bash(&format!("cat {file}")).await;
        assert!(
            finished.code().is_some_and(|code| code != 0) && finished.stdout().is_empty(),
            "{file}: {finished:?}"
        );
    }
    for file in free {
        assert_eq!(host.bash(&format!("cat {file}")).await.stdout(), SECRET, "{file}");
    }
    host.script(|script| {
        script.profile = |profile| {
            // The home folder lies beside the workspace.
            let home = profile.roots[0].replace("/ws", "/home");
            profile.revealed_paths = vec![format!("{home}/.aws")];
        }
    });
    assert_eq!(host.bash("cat ../home/.aws/credentials").await.stdout(), SECRET);
    host.script(|script| script.profile = |profile| profile.read_denials = vec![ReadDenial::default()]);
    let (_, start) = host.start_for(&["true"]).await;
    assert_eq!(
        host.launch(start).await.err().unwrap().code(),
        tonic::Code::FailedPrecondition
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_for_a_ticket_tells_which_secrets_were_kept_out() {
    let host = Host::start().await;
    host.script(|script| script.profile = |profile| profile.environment = vec!["*".to_owned()]);
    let (_, mut start) = host.start_for(&["env"]).await;
    let environment = [
        "HOME=/",
        "EDITOR=vi",
        "MY_TOKEN=t0p",
        "CURSOR_SANDBOX=no",
        "MIRROR=https://someone:t0p5ecret@mirror.test/",
        "PLAIN=https://mirror.test/?a=b",
    ];
    start.environment = environment.map(|own| own.as_bytes().to_vec()).to_vec();
    let finished = host.launch(start).await.unwrap().finish().await;
    // By its name, and by what it holds.
    assert_eq!(finished.removed, ["MIRROR", "MY_TOKEN"]);
    let lines: Vec<&str> = finished.stdout().lines().collect();
    assert!(
        lines.contains(&"EDITOR=vi") && lines.contains(&"PLAIN=https://mirror.test/?a=b"),
        "{finished:?}"
    );
    assert!(!finished.stdout().contains("t0p"), "{finished:?}");
    for expected in identity(rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()) {
        assert!(lines.contains(&expected.as_str()), "{expected}: {finished:?}");
    }
}

//! The launcher by itself, as root and as an ordinary user, and what a SIGKILL leaves behind.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests are here"
)]

use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A user without a name, a home or a right.
const NOBODY: u32 = 65534;

/// A workspace and a copy of the launcher where every user can reach them.
struct Place {
    _keep: tempfile::TempDir,
    program: PathBuf,
    workspace: PathBuf,
    outside: PathBuf,
    /// Run as this user; `None` = as the test's own.
    user: Option<u32>,
}

impl Place {
    fn new(user: Option<u32>) -> Self {
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = keep.path().canonicalize().unwrap();
        std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o755)).unwrap();
        let place = Self {
            program: root.join("portcullis-sandboxd"),
            workspace: root.join("ws"),
            outside: root.join("outside"),
            user,
            _keep: keep,
        };
        // By another process: a file that this one has open for writing cannot be executed, and a test in another thread that
        // forks meanwhile keeps it open.
        let mut copy = Command::new("cp");
        copy.arg(env!("CARGO_BIN_EXE_portcullis-launch"))
            .arg(env!("CARGO_BIN_EXE_portcullis-sandboxd"))
            .arg(&root);
        assert!(copy.status().unwrap().success());
        for folder in [&place.workspace, &place.outside] {
            std::fs::create_dir(folder).unwrap();
            if let Some(user) = user {
                chown(folder, Some(user), Some(user)).unwrap();
            }
        }
        place
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
            .current_dir(&self.workspace)
            .env("HOME", &self.outside)
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    fn sandboxed(&self, line: &str) -> Command {
        let mut command = self.command(&self.program.clone());
        command
            .arg("exec")
            .arg("--workspace")
            .arg(&self.workspace)
            .args(["--", "bash", "-c", line]);
        command
    }

    fn inside(&self, line: &str) -> Output {
        self.sandboxed(line).output().unwrap()
    }

    fn without(&self, line: &str) -> Output {
        self.command(Path::new("bash")).args(["-c", line]).output().unwrap()
    }
}

#[test]
fn at_a_terminal_what_is_ignored_stays_ignored() {
    let place = Place::new(None);
    let ignored = |line: &str| {
        let mut command = place.command(Path::new("bash"));
        let output = command
            .args(["-c", line, "-"])
            .arg(&place.program)
            .arg(&place.workspace)
            .output()
            .unwrap();
        let bits = String::from_utf8(output.stdout).unwrap();
        u64::from_str_radix(bits.trim().rsplit('\t').next().unwrap(), 16).unwrap()
    };
    let run = "exec \"$1\" exec --workspace \"$2\" -- grep SigIgn /proc/self/status";
    assert_eq!(ignored(&format!("trap '' HUP; {run}")) & 1, 1, "as under nohup");
    assert_eq!(ignored(&format!("trap - PIPE; {run}")) & 0x1001, 0, "positive control");
}

#[test]
fn every_user_works_inside_and_not_outside() {
    for place in Place::all() {
        let outside = format!("echo x > {}/f", place.outside.display());
        assert!(!place.inside(&outside).status.success());
        assert!(!place.outside.join("f").exists());
        assert!(place.without(&outside).status.success() && place.outside.join("f").exists());

        let made = place.without("git init -q . && git config user.email a@b.c && git config user.name t");
        assert!(made.status.success(), "{made:?}");
        let everyday = place.inside("echo a > a && git add -A && git commit -qm m && git status --porcelain && id -u");
        assert!(everyday.status.success(), "{everyday:?}");
        let uid = place.user.unwrap_or(rustix::process::geteuid().as_raw());
        assert_eq!(String::from_utf8_lossy(&everyday.stdout).trim(), uid.to_string());

        let swap = "mv .git g2 && cp -r g2 .git && echo evil > .git/hooks/pre-commit";
        assert!(!place.inside(swap).status.success());
        assert!(!place.workspace.join(".git/hooks/pre-commit").exists());
        assert!(place.without(swap).status.success());
    }
}

#[test]
fn the_exit_status_is_the_commands() {
    for place in Place::all() {
        for (line, status) in [("exit 0", 0), ("exit 41", 41), ("kill -KILL $$", 137)] {
            assert_eq!(place.inside(line).status.code(), Some(status), "{line}");
        }
    }
    let place = Place::new(None);
    let mut missing = place.command(&place.program);
    missing
        .arg("exec")
        .arg("--workspace")
        .arg(&place.workspace)
        .args(["--", "no-such-program-anywhere"]);
    assert_eq!(missing.output().unwrap().status.code(), Some(127));
}

/// Asks to be traced by its parent, gets a signal, starts itself anew under it, and gets one more that ends it.
const TRACED: &str = "import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
if len(sys.argv) == 1:
    signal.signal(signal.SIGUSR1, lambda *_: print('got it', flush=True))
    assert libc.ptrace(0, 0, 0, 0) == 0
    os.kill(os.getpid(), signal.SIGUSR1)
    assert libc.ptrace(0, 0, 0, 0) == 0
    os.execvp('python3', ['python3', sys.argv[0], 'again'])
print('here', flush=True)
sys.exit(3)";

#[test]
fn the_names_of_files_do_not_drive_the_callers_terminal() {
    let odd = r"$'x\e[31m\e]0;title\a\nportcullis-sandboxd: all is fine'";
    let line = format!("N={odd}; mkdir \"$N\" && git init -q \"$N\" && echo x > \"$N/.git/hooks/pre-commit\"");
    for place in Place::all() {
        let said = String::from_utf8(place.inside(&line).stderr).unwrap();
        assert!(said.contains("put aside `") && said.contains(r"x\u{1b}[31m"), "{said}");
        assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
        assert!(
            said.lines()
                .all(|line| line.starts_with("portcullis-sandboxd: put aside")),
            "{said}"
        );
    }
}

#[test]
fn a_command_that_asks_to_be_traced_runs_to_its_end() {
    for place in Place::all() {
        std::fs::write(place.workspace.join("traced.py"), TRACED).unwrap();
        let output = place.inside("exec python3 traced.py");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(
            (output.status.code(), said.as_ref()),
            (Some(3), "got it\nhere\n"),
            "{output:?}"
        );
    }
}

#[test]
fn where_no_user_namespace_is_permitted_root_has_a_sandbox_all_the_same() {
    let place = Place::new(None);
    // Root of a user namespace in which none may be made.
    let line = |inside: &str| {
        format!(
            "echo 0 > /proc/sys/user/max_user_namespaces; unshare --user true 2>/dev/null && echo permitted
            readlink /proc/self/ns/user; exec {} exec --workspace {} -- bash -c '{inside}'",
            place.program.display(),
            place.workspace.display(),
        )
    };
    let run = |inside: &str| {
        let mut command = place.command(Path::new("unshare"));
        let done = command
            .args(["--user", "--map-root-user", "--mount", "bash", "-c", &line(inside)])
            .output()
            .unwrap();
        String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()
    };
    let outside = place.outside.display();
    let told = run(&format!(
        "readlink /proc/self/ns/user; echo made > here && cat here; echo x > {outside}/x; mount -t tmpfs x /mnt; \
         grep Cap /proc/self/status; echo $$; ls /proc | grep -c ^[0-9]; cat < /dev/tcp/127.0.0.1/1"
    ));
    let mut lines = told.lines();
    let (before, inside) = (lines.next().unwrap(), lines.next().unwrap());
    assert!(before.starts_with("user:") && before == inside, "without one: {told}");
    assert!(told.contains("\nmade\n"), "{told}");
    assert!(
        told.contains("Read-only file system") && !place.outside.join("x").exists(),
        "{told}"
    );
    assert!(
        told.contains("permission denied") || told.contains("must be superuser"),
        "{told}"
    );
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(told.contains(&format!("{set}:\t0000000000000000")), "{told}");
    }
    // The positive control: where they are permitted it has one.
    let told = place.inside("readlink /proc/self/ns/user");
    let own = std::fs::read_link("/proc/self/ns/user").unwrap();
    assert_ne!(String::from_utf8_lossy(&told.stdout).trim(), own.to_str().unwrap());
}

#[test]
fn a_killed_launcher_takes_the_tree_along_and_leaves_nothing() {
    for place in Place::all() {
        let line = "setsid bash -c 'trap \"\" TERM HUP; echo born; while :; do read -t 60 x <> /dev/zero; done' & wait";
        let mut launcher = place.sandboxed(line).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = launcher.stdout.take().unwrap();
        let mut born = [0; 5];
        output.read_exact(&mut born).unwrap();
        assert_eq!(&born, b"born\n");
        launcher.kill().unwrap();
        // The grandchild holds the pipe; it ends when the grandchild does.
        assert_eq!(output.read_to_end(&mut Vec::new()).unwrap(), 0);
        launcher.wait().unwrap();
        assert_eq!(std::fs::read_dir(&place.workspace).unwrap().count(), 0);
    }
}

#[test]
fn a_workspace_below_tmp_is_there_and_the_rest_of_tmp_is_not() {
    let place = Place::new(None);
    let below = tempfile::tempdir_in("/tmp").unwrap();
    let workspace = below.path().canonicalize().unwrap();
    let neighbour = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let line = format!("echo x > made && test ! -e {}", neighbour.path().display());
    let mut command = Command::new(&place.program);
    command
        .current_dir(&workspace)
        .arg("exec")
        .arg("--workspace")
        .arg(&workspace)
        .args(["--", "bash", "-c", &line]);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(workspace.join("made").exists() && neighbour.path().exists());
}

#[test]
fn a_protected_folder_cannot_be_made_in_a_repository() {
    for place in Place::all() {
        let made = place.without("git init -q . && rm -r .git/hooks && echo > file");
        assert!(made.status.success(), "{made:?}");
        let there = || [".vscode", ".git/hooks"].map(|at| place.workspace.join(at).exists());
        let output = place.inside(
            "mkdir .vscode/a || mkdir .git/hooks/a || mkdir b && ls -d .vscode .git/hooks; git status --porcelain",
        );
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said, ".git/hooks\n.vscode\n?? file\n", "{:?}", output.stderr);
        assert_eq!(there(), [false; 2]);
        assert!(place.workspace.join("b").exists());
        assert!(place.without("mkdir -p .vscode/a .git/hooks/a").status.success());
        assert_eq!(there(), [true; 2]);
    }
}

#[test]
fn a_workspace_that_is_full_or_read_only_keeps_nothing_from_running() {
    let place = Place::new(None);
    // A small file system, seen by what runs here only.
    let line = r#"mount -t tmpfs -o nr_inodes=60 none . && cd "$PWD" && git init -q --template= . && echo > file || exit 9
        run() { "$1" exec --report --workspace "$PWD" -- bash -c "echo $2"; }
        run "$1" space
        n=0; while : > fill.$n; do n=$((n + 1)); done 2> /dev/null
        run "$1" full
        mount -o remount,ro . && run "$1" closed"#;
    let mut command = place.command(Path::new("unshare"));
    command.args(["--user", "--map-root-user", "--mount", "bash", "-c", line, "-"]);
    let output = command.arg(&place.program).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "space\nfull\nclosed\n",
        "{said}"
    );
    for cause in ["No space left on device", "Read-only file system"] {
        let told = said
            .lines()
            .filter(|line| line.contains("cannot be kept from appearing"));
        assert_eq!(told.filter(|line| line.contains(cause)).count(), 3, "{cause}: {said}");
    }
}

#[test]
fn pipes_and_descriptors_of_the_caller_stay_outside() {
    for place in Place::all() {
        // 0, 1, 2, and the one that lists.
        let own = place.inside("ls /proc/self/fd");
        assert_eq!(String::from_utf8_lossy(&own.stdout).lines().count(), 4, "{own:?}");
        // Nothing of the init can be opened: neither its reports nor its environment.
        let line = "for f in /proc/1/fd/{0..9} /proc/1/environ /proc/1/mem /proc/1/cwd/; do { : < $f || : >> $f; } 2> /dev/null && echo $f; done; \
            : < /proc/self/fd/0 && echo control";
        let done = place.inside(line);
        assert_eq!(String::from_utf8_lossy(&done.stdout), "control\n", "{done:?}");
    }
}

#[test]
fn a_linked_work_tree_can_commit_and_not_change_what_runs() {
    for place in Place::all() {
        let main = place.outside.join("main");
        let made = place.without(&format!(
            "git init -q {0} && cd {0} && git config user.email a@b.c && git config user.name t && \
             git commit -q --allow-empty -m i && git worktree add -q {1}/tree -b w",
            main.display(),
            place.workspace.display(),
        ));
        assert!(made.status.success(), "{made:?}");
        let tree = place.workspace.join("tree");
        let inside = |line: &str| {
            let mut command = place.command(&place.program);
            command
                .current_dir(&tree)
                .arg("exec")
                .arg("--workspace")
                .arg(&tree)
                .args(["--", "bash", "-c", line]);
            command.output().unwrap()
        };
        let done = inside("echo a > a && git add -A && git commit -qm a && git log --oneline | wc -l");
        assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "2", "{done:?}");
        for line in [
            "echo evil > $(git rev-parse --git-common-dir)/hooks/pre-commit",
            "git config core.fsmonitor evil",
            "echo 'gitdir: /tmp' > .git",
            "echo /tmp > $(git rev-parse --git-dir)/commondir",
        ] {
            assert!(!inside(line).status.success(), "{line}");
        }
        assert!(!main.join(".git/hooks/pre-commit").exists());
    }
}

/// What a shell opened outside leads past the sandbox's mounts.
#[test]
fn standard_streams_do_not_lead_around_the_mounts() {
    for place in Place::all() {
        let made = place.without("git init -q . && echo free > free && printf 'one\\ntwo\\n' > input");
        assert!(made.status.success(), "{made:?}");
        let hook = place.workspace.join(".git/hooks/pre-push");
        let with_stdin = |name: &str, line: &str| {
            let stdin = std::fs::File::open(place.workspace.join(name)).unwrap();
            place.sandboxed(line).stdin(stdin).output().unwrap()
        };
        let folder = with_stdin(".", "echo evil > /proc/self/fd/0/.git/hooks/pre-push");
        assert!(!folder.status.success() && !hook.exists(), "{folder:?}");

        let before = std::fs::read(place.workspace.join(".git/config")).unwrap();
        let file = with_stdin(".git/config", "echo evil >> /proc/self/fd/0");
        assert!(!file.status.success(), "{file:?}");
        assert_eq!(std::fs::read(place.workspace.join(".git/config")).unwrap(), before);

        // The same on what is not protected, and reading from where the shell has read up to.
        assert!(with_stdin("free", "echo more >> /proc/self/fd/0").status.success());
        assert_eq!(std::fs::read(place.workspace.join("free")).unwrap(), b"free\nmore\n");
        let mut half_read = std::fs::File::open(place.workspace.join("input")).unwrap();
        half_read.read_exact(&mut [0; 4]).unwrap();
        let rest = place.sandboxed("cat").stdin(half_read).output().unwrap();
        assert_eq!(rest.stdout, b"two\n", "{rest:?}");
        // A file outside the workspace, in a folder that is private inside, and one without a name.
        let named = tempfile::NamedTempFile::new_in("/tmp").unwrap();
        std::fs::write(named.path(), "x").unwrap();
        let stdin = std::fs::File::open(named.path()).unwrap();
        assert_eq!(place.sandboxed("cat").stdin(stdin).output().unwrap().stdout, b"x");
        let mut unnamed = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut unnamed, b"y").unwrap();
        std::io::Seek::rewind(&mut unnamed).unwrap();
        assert_eq!(place.sandboxed("cat").stdin(unnamed).output().unwrap().stdout, b"y");
        // Output into a file outside, as a person's shell gives it.
        let target = std::fs::File::create(place.outside.join("log")).unwrap();
        assert!(place.sandboxed("echo out").stdout(target).status().unwrap().success());
        assert_eq!(std::fs::read(place.outside.join("log")).unwrap(), b"out\n");
    }
}

/// Programs open `/dev/stdout` and `/dev/stderr` where they mean the streams. That permits no more than the streams do.
#[test]
fn the_streams_can_be_opened_again_as_they_are_open() {
    for place in Place::all() {
        let log = |name: &str| place.outside.join(name);
        let opened = |name: &str, append: bool| {
            let mut how = std::fs::OpenOptions::new();
            how.create(true).append(append).write(true).open(log(name)).unwrap()
        };
        let done = |line: &str, append: bool| {
            std::fs::write(log("log"), "first\n").unwrap();
            std::fs::set_permissions(log("log"), std::fs::Permissions::from_mode(0o666)).unwrap();
            let mut command = place.sandboxed(line);
            let status = command.stdout(opened("log", append)).status().unwrap();
            (status.success(), std::fs::read_to_string(log("log")).unwrap())
        };
        assert_eq!(done("echo x > /dev/stdout", false), (true, "x\n".to_owned()));
        assert_eq!(done("echo x >> /dev/stdout", true), (true, "first\nx\n".to_owned()));
        // What was opened to append to is not emptied, what was opened to be read is not written, nor is anything beside it.
        assert_eq!(done("echo x > /dev/stdout", true), (false, "first\n".to_owned()));
        let path = log("log").display().to_string();
        assert_eq!(
            done(&format!("echo x >> {path}; exit 1"), true),
            (false, "first\n".to_owned())
        );
        let mut command = place.sandboxed("cat /dev/stdin && echo x >> /dev/stdin");
        let output = command
            .stdin(std::fs::File::open(log("log")).unwrap())
            .output()
            .unwrap();
        assert_eq!(
            (output.status.success(), output.stdout.as_slice()),
            (false, b"first\n".as_slice())
        );
        // At a terminal, here one that `script` makes.
        let line = place.sandboxed(
            "echo x > /dev/stderr && echo y > /dev/stdout && test -t 1 && stty size < /dev/stdout > /dev/null",
        );
        let words: Vec<_> = std::iter::once(line.get_program())
            .chain(line.get_args())
            .map(|word| format!("'{}'", word.to_str().unwrap()))
            .collect();
        let mut script = place.command(Path::new("script"));
        let output = script.args(["-qec", &words.join(" "), "/dev/null"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("x\r\n") && said.contains("y\r\n"),
            "{output:?}"
        );
    }
}

/// A command that imitates a git folder around the project does not hide the repositories in it from the next run.
#[test]
fn an_imitated_git_folder_hides_no_repository() {
    for place in Place::all() {
        assert!(place.without("git init -q . && git init -q logs/sub").status.success());
        assert!(place.inside("touch HEAD && mkdir objects").status.success());
        let hook = "echo evil > logs/sub/.git/hooks/pre-commit";
        assert!(!place.inside(hook).status.success());
        assert!(place.without(hook).status.success());
    }
}

/// Configuration that the repository's own configuration includes is as protected as that.
#[test]
fn included_configuration_is_read_only() {
    for place in Place::all() {
        let made = "git init -q . && touch team.cfg other.cfg && git config include.path ../team.cfg";
        assert!(place.without(made).status.success());
        assert!(
            !place
                .inside("printf '[core]\\nfsmonitor=evil\\n' >> team.cfg")
                .status
                .success()
        );
        assert!(
            place
                .inside("printf '[core]\\nfsmonitor=evil\\n' >> other.cfg")
                .status
                .success()
        );
        assert_eq!(std::fs::read(place.workspace.join("team.cfg")).unwrap(), b"");
    }
}

/// A program that runs as its owner would work outside, for every user of the host.
#[test]
fn no_program_is_marked_to_run_as_its_owner() {
    for place in Place::all() {
        let mark = "cp /bin/true t && chmod 4755 t";
        assert!(!place.inside(mark).status.success());
        let mode = |name: &str| {
            let found = place.workspace.join(name).metadata().unwrap();
            found.permissions().mode() & 0o7777
        };
        assert_eq!(mode("t") & 0o4000, 0);
        assert!(
            place
                .inside("chmod 755 t && mkdir -m 2775 d && chmod 2775 d")
                .status
                .success()
        );
        assert!(place.without(mark).status.success() && mode("t") == 0o4755);
        // Made with the mark at once, a program loses it when it is written.
        let made = "import os; os.umask(0); f = os.open('m', os.O_CREAT | os.O_WRONLY, 0o4755); os.write(f, b'x')";
        assert!(place.inside(&format!("python3 -c \"{made}\"")).status.success());
        assert_eq!(mode("m"), 0o755);
    }
}

/// Root looks into every folder; others are told which one hides something.
#[test]
fn a_folder_that_is_closed_to_its_owner_hides_nothing_unsaid() {
    for place in Place::all() {
        let line = "git init -q hid/r && echo evil > hid/r/.git/hooks/pre-commit && chmod 000 hid";
        let output = place.inside(line);
        let told = String::from_utf8_lossy(&output.stderr).contains("cannot look into");
        let root = place.user.is_none() && rustix::process::geteuid().is_root();
        assert_eq!(told, !root, "{output:?}");
        // A command that opens it again, in another run, has it looked at.
        assert!(place.inside("chmod 755 hid").status.success());
        let hooks = place.workspace.join("hid/r/.git/hooks");
        assert!(hooks.is_dir() && !hooks.join("pre-commit").exists());
    }
}

/// The number is one of the sandbox' own: the kernel counts by user namespace.
#[test]
fn an_ordinary_users_processes_are_limited_and_caches_have_a_place() {
    for place in Place::all() {
        let line = "ulimit -u; echo x > \"$npm_config_cache\" && echo made";
        let inside = String::from_utf8(place.inside(line).stdout).unwrap();
        let limited = place.user.is_some() || !rustix::process::geteuid().is_root();
        assert_eq!(inside.starts_with("16384\n"), limited, "{inside}");
        assert!(inside.ends_with("made\n"), "{inside}");
        let without = String::from_utf8(place.without("ulimit -u").stdout).unwrap();
        assert_ne!(without, "16384\n", "positive control");
    }
}

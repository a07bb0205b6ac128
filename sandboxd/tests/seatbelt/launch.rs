//! What is around `sandbox-exec`: everything but the program itself, for which a script stands in. It checks its arguments, keeps
//! what it was given, and becomes the command, without any sandbox.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use portcullis_sandboxd::by_hand::{ExecError, run_with};
use portcullis_sandboxd::launch::spec::{Event, Exited, Limits};
use portcullis_sandboxd::launcher::Launcher;
use portcullis_sandboxd::places::Places;
use portcullis_sandboxd::seatbelt::command::{Call, Programs};
use portcullis_sandboxd::seatbelt::supervise;

use rustix::process::Signal;

use super::*;

/// `KEPT` is a folder. The trial with a program that does nothing is told by its last word.
const STANDS_IN: &str = r#"#!/bin/sh
[ "$1" = -f ] && [ "$3" = -- ] && [ -n "$4" ] || exit 64
[ "$4" = /bin/true ] && name=trial || name=run
cat "$2" > "KEPT/$name.sb"
stat -c '%a %h' "$2" > "KEPT/$name.mode"
printf '%s\n' "$2" > "KEPT/$name.path"
env > "KEPT/$name.env"
shift 3
printf '%s\n' "$@" > "KEPT/$name.words"
exec "$@"
"#;

struct Bench {
    _keep: tempfile::TempDir,
    base: PathBuf,
    programs: Programs,
}

impl Bench {
    fn new() -> Self {
        let keep = tempfile::Builder::new()
            .prefix("seatbelt")
            .tempdir_in("/var/tmp")
            .unwrap();
        let base = keep.path().canonicalize().unwrap();
        for folder in ["ws/.git/hooks", "kept", "T"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        std::fs::write(base.join("ws/.git/HEAD"), "").unwrap();
        let bench = Self {
            programs: Programs {
                sandbox_exec: base.join("sandbox-exec"),
                getconf: base.join("getconf"),
                idle: "/bin/true".into(),
            },
            base,
            _keep: keep,
        };
        bench.stand_in(&STANDS_IN.replace("KEPT", bench.base.join("kept").to_str().unwrap()));
        bench.script(
            "getconf",
            &format!("#!/bin/sh\necho '{}'\n", bench.base.join("T").display()),
        );
        bench
    }

    /// Written by another process: one that this process has open for writing cannot be executed.
    fn script(&self, name: &str, text: &str) {
        let mut tee = std::process::Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
            .arg(self.base.join(name))
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        tee.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(tee.wait().unwrap().success());
    }

    fn stand_in(&self, text: &str) {
        self.script("sandbox-exec", text);
    }

    fn kept(&self, name: &str) -> String {
        std::fs::read_to_string(self.base.join("kept").join(name)).unwrap_or_default()
    }

    fn places(&self) -> Places {
        let program = Path::new(env!("CARGO_BIN_EXE_portcullis-sandboxd"));
        Places {
            data: self.base.join("data"),
            config: self.base.join("config"),
            system: self.base.join("etc"),
            programs: program.parent().unwrap().to_path_buf(),
            home: None,
        }
    }

    /// `exec` with a policy and a command.
    fn exec<S: AsRef<OsStr>>(&self, policy: &str, command: &[S]) -> Result<u8, ExecError> {
        let file = self.base.join("policy.json");
        std::fs::write(&file, policy).unwrap();
        let mut words: Vec<OsString> = vec!["--policy".into(), file.into(), "--workspace".into()];
        words.extend([self.base.join("ws").into(), "--".into()]);
        words.extend(command.iter().map(|word| word.as_ref().to_owned()));
        let launcher = Launcher::Seatbelt(self.programs.clone());
        run_with(words.into_iter(), Some(self.places()), &launcher)
    }

    fn line(&self, policy: &str, line: &str) -> Result<u8, ExecError> {
        let line = format!("cd {} || exit 99; {line}", self.base.join("ws").display());
        self.exec(policy, &["sh", "-c", &line])
    }

    fn call(&self, line: &str) -> Call {
        std::fs::write(self.base.join("p.sb"), "(version 1)(deny default)\n").unwrap();
        Call {
            programs: self.programs.clone(),
            profile: self.base.join("p.sb"),
            argv: ["sh", "-c", line].map(OsString::from).to_vec(),
            cwd: self.base.join("ws"),
            environment: vec![b"PATH=/usr/bin:/bin".to_vec()],
            keep_ignored_signals: false,
            limits: Limits::default(),
        }
    }

    fn is_there(&self, name: &str) -> bool {
        self.base.join("ws").join(name).exists()
    }

    fn wait_for(&self, name: &str) {
        let begun = Instant::now();
        while !self.is_there(name) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{name} does not appear");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn variable(environment: &str, name: &str) -> Option<String> {
    let begin = format!("{name}=");
    environment
        .lines()
        .find_map(|line| line.strip_prefix(&begin).map(str::to_owned))
}

#[test]
fn a_command_is_started_by_sandbox_exec_with_the_profile_of_its_policy() {
    let bench = Bench::new();
    let policy = r#"{"denyRead": ["*.pem"], "networkPolicy": {"allow": ["example.com"]}}"#;
    std::fs::write(bench.base.join("ws/key.pem"), "").unwrap();
    let line = r#"echo x > "$TMPDIR/own" && echo x > "$npm_config_cache" && exit 7"#;
    assert_eq!(bench.line(policy, line).unwrap(), 7);
    let text = bench.kept("run.sb");
    assert_eq!(text, bench.kept("trial.sb"), "what was tried is what was used");
    let profile = Profile::parse(&text).unwrap();
    let real = |below: &str| format!("/private{}", bench.base.join(below).display());
    assert!(profile.writes(&real("ws/x")) && !profile.reads(&real("ws/key.pem")));
    assert!(!profile.writes(&real("ws/.git/hooks/x")) && !profile.reads(&real("T/of-others")));
    // The profile's own file, and what else is ours, is out of reach; the run's own folders are not.
    let file = bench.kept("run.path");
    let of_ours = format!("/private{}", file.trim());
    assert!(
        file.starts_with(bench.base.join("data/sandboxd").to_str().unwrap()),
        "{file}"
    );
    assert!(!profile.reads(&of_ours) && !profile.writes(&of_ours));
    assert_eq!(bench.kept("run.mode"), "600 1\n");
    let environment = bench.kept("run.env");
    let tmp = variable(&environment, "TMPDIR").unwrap();
    assert!(profile.writes(&format!("/private{tmp}/x")), "{tmp}");
    let cache = variable(&environment, "npm_config_cache").unwrap();
    assert!(profile.writes(&format!("/private{cache}/x")), "{cache}");
    assert_eq!(variable(&environment, "CURSOR_SANDBOX").as_deref(), Some("seatbelt"));
    // The proxy that programs are told of is the one that can be reached.
    let proxy = variable(&environment, "https_proxy").unwrap();
    let port = proxy.strip_prefix("http://127.0.0.1:").unwrap();
    assert!(text.contains(&format!("(remote tcp \"localhost:{port}\")")), "{proxy}");
    assert_eq!(variable(&environment, "no_proxy").as_deref(), Some(""));
    let words = bench.kept("run.words");
    assert!(
        words.starts_with("/") && words.lines().next().unwrap().ends_with("/sh"),
        "{words}"
    );
    // Nothing of it stays.
    let folders = bench.places().folders_by_hand();
    assert_eq!(std::fs::read_dir(folders).unwrap().count(), 0);
    assert!(!bench.is_there(".vscode"), "no placeholder is made");
}

#[test]
fn the_filter_serves_what_policy_allows_and_nothing_else() {
    let bench = Bench::new();
    let policy = r#"{"networkMode": "sandbox_json_only", "networkPolicy": {"allow": ["allowed.example"]}}"#;
    let script = r#"
        port="${http_proxy##*:}"
        exec 3<>"/dev/tcp/127.0.0.1/$port"
        printf 'GET http://refused.example/ HTTP/1.1\r\nHost: refused.example\r\nConnection: close\r\n\r\n' >&3
        cat <&3 > "$1"
    "#;
    let answer = bench.base.join("ws/answer");
    let words = ["bash", "-c", script, "-", answer.to_str().unwrap()];
    assert_eq!(bench.exec(policy, &words).unwrap(), 0);
    let said = std::fs::read_to_string(answer).unwrap();
    assert!(
        said.starts_with("HTTP/1.1 403") && said.contains("refused.example"),
        "{said}"
    );

    let none = r#"{"networkMode": "sandbox_json_only"}"#;
    assert_eq!(bench.line(none, "exit 0").unwrap(), 0);
    assert!(!bench.kept("run.sb").contains("localhost"));
    let environment = bench.kept("run.env");
    assert_ne!(
        variable(&environment, "https_proxy").map(|proxy| proxy.starts_with("http://127.0.0.1:")),
        Some(true)
    );
}

#[test]
fn without_sandbox_exec_or_with_a_profile_that_it_refuses_nothing_runs() {
    let bench = Bench::new();
    let refused = |bench: &Bench| match bench.line("{}", "touch ran") {
        Err(ExecError::Refused { step, reason }) => {
            assert_eq!(step, "seatbelt");
            assert!(!bench.is_there("ran"));
            reason
        }
        other => panic!("{other:?}"),
    };
    bench.stand_in("#!/bin/sh\nprintf 'sandbox-exec: \\033[31munbound variable: x\\n' >&2\nexit 65\n");
    let reason = refused(&bench);
    assert!(
        reason.contains("65") && reason.contains("sandbox-exec:  [31munbound variable"),
        "{reason}"
    );
    // It takes the profile, and the trial does not work in it.
    bench.stand_in("#!/bin/sh\nexit 71\n");
    assert!(refused(&bench).contains("71"));
    std::fs::set_permissions(&bench.programs.sandbox_exec, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refused(&bench).contains("cannot be started"));
    std::fs::remove_file(&bench.programs.sandbox_exec).unwrap();
    let reason = refused(&bench);
    assert!(reason.contains("nothing runs without it"), "{reason}");
    let folders = bench.places().folders_by_hand();
    assert_eq!(
        std::fs::read_dir(folders).unwrap().count(),
        0,
        "nothing stays of a refused run"
    );
}

#[test]
fn what_cannot_be_written_down_or_hidden_lets_nothing_run() {
    let bench = Bench::new();
    let ran = |bench: &Bench| bench.is_there("ran") || !bench.kept("trial.words").is_empty();
    // A path that is no text.
    let odd = bench.base.join("ws").join(OsStr::from_bytes(b"\xff.pem"));
    std::fs::write(&odd, "").unwrap();
    let error = bench.line(r#"{"denyRead": ["*.pem"]}"#, "touch ran").unwrap_err();
    assert!(matches!(error, ExecError::Unwritable(Unwritable::Path(_))), "{error:?}");
    std::fs::remove_file(&odd).unwrap();
    // A workspace that is none.
    let mut words: Vec<OsString> = vec!["--workspace".into()];
    let workspace = bench.base.join(OsStr::from_bytes(b"ws\xff"));
    std::fs::create_dir(&workspace).unwrap();
    words.extend([workspace.into(), "--".into(), "true".into()]);
    let launcher = Launcher::Seatbelt(bench.programs.clone());
    let error = run_with(words.into_iter(), Some(bench.places()), &launcher).unwrap_err();
    assert!(matches!(error, ExecError::NotHere(_)), "{error:?}");
    // Where the host's temporary files lie is not known, so they could not be hidden.
    bench.script("getconf", "#!/bin/sh\nexit 1\n");
    assert!(matches!(bench.line("{}", "touch ran"), Err(ExecError::Io(..))));
    for policy in [r#"{"type": "insecure_none"}"#, r#"{"enableSharedBuildCache": true}"#] {
        assert!(matches!(bench.line(policy, "touch ran"), Err(ExecError::NotHere(_))));
    }
    assert!(!ran(&bench));
}

#[test]
fn a_program_that_is_not_there_is_told_as_such() {
    let bench = Bench::new();
    let error = bench.exec("{}", &["no-such-program-anywhere"]).unwrap_err();
    let ExecError::NotExecuted(_, cause) = error else {
        panic!("{error:?}");
    };
    assert_eq!(cause.kind(), std::io::ErrorKind::NotFound);
    assert!(bench.kept("run.words").is_empty());
}

/// Runs a line, lets `meanwhile` act on the way to its control, and returns what was reported.
fn supervised(
    bench: &Bench,
    line: &str,
    meanwhile: impl FnOnce(std::io::PipeWriter) -> Option<std::io::PipeWriter> + Send,
) -> Vec<Event> {
    let (control, to) = std::io::pipe().unwrap();
    let call = bench.call(line);
    let mut events = Vec::new();
    std::thread::scope(|scope| {
        // What comes back stays open until the command has ended.
        let _kept = scope.spawn(move || meanwhile(to));
        supervise::run(&call, false, Vec::new(), control, &mut |event| events.push(event));
    });
    events
}

#[test]
fn the_end_and_the_signals_of_a_command_are_passed_on() {
    let bench = Bench::new();
    let (control, to) = std::io::pipe().unwrap();
    let mut events = Vec::new();
    supervise::run(&bench.call("exit 65"), false, Vec::new(), control, &mut |event| {
        events.push(event)
    });
    drop(to);
    // The same number that `sandbox-exec` has for a profile that it refuses: here it is the command's.
    assert!(matches!(events.first(), Some(Event::Ready(ready)) if ready.mechanisms == ["seatbelt"]));
    assert!(matches!(events.get(1), Some(Event::Running(_))));
    assert_eq!(events.last(), Some(&Event::Exited(Exited { code: 65, signal: 0 })));

    let number = |signal: Signal| u8::try_from(signal.as_raw()).unwrap();
    let trapped = "trap 'exit 9' USR1; : > ready; while :; do sleep 0.02; done";
    let events = supervised(&bench, trapped, |mut to| {
        bench.wait_for("ready");
        to.write_all(&[number(Signal::USR1)]).unwrap();
        Some(to)
    });
    assert_eq!(events.last(), Some(&Event::Exited(Exited { code: 9, signal: 0 })));

    let events = supervised(&bench, ": > second; while :; do sleep 0.02; done", |mut to| {
        bench.wait_for("second");
        to.write_all(&[number(Signal::TERM)]).unwrap();
        Some(to)
    });
    assert_eq!(events.last(), Some(&Event::Exited(Exited { code: 0, signal: 15 })));
}

#[test]
fn nothing_of_the_commands_group_outlives_it_or_whoever_wanted_it() {
    let bench = Bench::new();
    let alive = |name: &str| {
        let pid = std::fs::read_to_string(bench.base.join("ws").join(name)).unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        // A zombie that nobody has reaped yet has ended, too.
        !stat.is_empty() && !stat.contains(") Z ")
    };
    let gone = |name: &str| {
        let begun = Instant::now();
        while alive(name) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{name} lives on");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let line = "sh -c 'echo $$ > first.new; mv first.new first; exec sleep 600' & while [ ! -e first ]; do sleep 0.02; done; exit 3";
    let (control, to) = std::io::pipe().unwrap();
    let mut events = Vec::new();
    supervise::run(&bench.call(line), false, Vec::new(), control, &mut |event| {
        events.push(event)
    });
    drop(to);
    assert_eq!(events.last(), Some(&Event::Exited(Exited { code: 3, signal: 0 })));
    gone("first");
    let line = "echo $$ > second.new; mv second.new second; trap '' TERM HUP; while :; do sleep 0.02; done";
    let events = supervised(&bench, line, |to| {
        bench.wait_for("second");
        drop(to);
        None
    });
    assert_eq!(events.last(), Some(&Event::Exited(Exited { code: 0, signal: 9 })));
    gone("second");
}

#[test]
fn what_is_printed_for_people_is_the_profile_of_a_run() {
    let bench = Bench::new();
    let file = bench.base.join("policy.json");
    std::fs::write(
        &file,
        r#"{"additionalReadwritePaths": ["../T"], "networkMode": "allow_all"}"#,
    )
    .unwrap();
    let shown =
        portcullis_sandboxd::by_hand::profile::shown(Some(&file), bench.base.join("ws"), bench.places()).unwrap();
    let profile = Profile::parse(&shown.text()).unwrap();
    let real = |below: &str| format!("/private{}", bench.base.join(below).display());
    assert!(profile.writes(&real("ws/x")) && profile.writes(&real("T/x")) && !profile.reads(&real("data/sandboxd/x")));
    assert!(profile.writes(&real("data/sandboxd/by-hand-tmp/RUN/files/x")));
    assert_eq!(shown.program, "/usr/bin/sandbox-exec");
    assert_eq!(shown.arguments.first().map(String::as_str), Some("-f"));
    for name in ["https_proxy", "TMPDIR", "CURSOR_SANDBOX", "npm_config_cache"] {
        assert!(shown.environment.iter().any(|own| own == name), "{name}");
    }
    assert!(shown.missing.is_empty() && shown.json().contains("(deny default)"));
    assert!(!bench.places().data.exists(), "nothing is made for it");
}

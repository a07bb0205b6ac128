//! What of files is open to a command there beside their contents, and what of them is not.

use super::*;

#[test]
fn the_streams_can_be_opened_again_as_they_are_open() {
    let place = Place::new();
    let log = place.outside.join("log");
    let done = |line: &str, append: bool| {
        fs::write(&log, "first\n").unwrap();
        fs::set_permissions(&log, fs::Permissions::from_mode(0o666)).unwrap();
        let opened = fs::OpenOptions::new().append(append).write(true).open(&log).unwrap();
        let mut command = place.sandboxed(READS, line);
        let status = command.stdout(opened).status().unwrap();
        (status.success(), fs::read_to_string(&log).unwrap())
    };
    assert_eq!(done("echo x > /dev/stdout", false), (true, "x\n".to_owned()));
    assert_eq!(done("echo x >> /dev/stdout", true), (true, "first\nx\n".to_owned()));
    assert_eq!(done("echo x > /dev/stdout", true), (false, "first\n".to_owned()));
    let mut command = place.sandboxed(READS, "cat /dev/stdin && echo x >> /dev/stdin");
    let output = command.stdin(fs::File::open(&log).unwrap()).output().unwrap();
    assert_eq!(
        (output.status.success(), output.stdout.as_slice()),
        (false, b"first\n".as_slice())
    );
}

#[test]
fn what_lies_beside_the_contents_of_files_is_not_told_and_no_lease_is_given() {
    let place = Place::new();
    assert!(
        place
            .outside_of_it("mkdir ~/.aws; mv a ../outside/a; echo hi > a")
            .status
            .success()
    );
    for line in [
        "import ctypes; assert ctypes.CDLL(None).inotify_init1(0) >= 0",
        "import os; os.listxattr('../outside/a')",
        "import fcntl; fcntl.fcntl(open('a'), fcntl.F_SETLEASE, fcntl.F_RDLCK)",
    ] {
        let line = format!("python3 -c \"{line}\"");
        let done = place.inside(&line);
        assert!(!done.status.success(), "{line}: {done:?}");
        assert!(place.outside_of_it(&line).status.success(), "the control, {line}");
    }
    // Programs do without.
    let done = place.inside("ls -la a ../outside > /dev/null && cp a /dev/null && echo done");
    assert_eq!(
        (text(&done.stdout).as_str(), text(&done.stderr).contains("xattr")),
        ("done\n", false),
        "{done:?}"
    );
}

/// What the team policy of a fresh server denies: places in the home folder and of the machine.
#[test]
fn what_is_denied_by_its_place_is_hidden_here_too() {
    let place = Place::new();
    let made = place.outside_of_it(
        "cd && mkdir -p .secrets/deep && echo secret > .secrets/deep/a && echo secret > .token && echo plain > .profile && echo hidden > ../outside/denied",
    );
    assert!(made.status.success());
    let policy = READS.replace(
        " }",
        &format!(
            r#", "denyRead": ["~/.secrets/**", "~/.token", "{}"] }}"#,
            place.outside.join("denied").display()
        ),
    );
    let line = "cat ~/.profile a; cat ~/.secrets/deep/a ~/.token ../outside/denied; true";
    let done = place.sandboxed(&policy, line).output().unwrap();
    assert_eq!(text(&done.stdout), "plain\nhi\n", "{done:?}");
    let control = place.inside(line);
    assert_eq!(
        text(&control.stdout),
        "plain\nhi\nsecret\nsecret\nhidden\n",
        "{control:?}"
    );
    // What lies in the workspace cannot be taken out of it here.
    let policy = READS.replace(
        " }",
        &format!(r#", "denyRead": ["{}/a"] }}"#, place.workspace.display()),
    );
    let refused = place.sandboxed(&policy, "cat a").output().unwrap();
    let told = text(&refused.stderr);
    assert!(
        !refused.status.success() && told.contains("ws/a` in the workspace"),
        "{told}"
    );
}

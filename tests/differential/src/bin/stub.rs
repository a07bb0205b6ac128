#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test tool stops at the first surprise"
)]
//! Two things that live inside the sandbox. As `driver` it feeds lines to bash, one after the other, and reports what
//! happened. Under any other name it is that program: it notes its words, prints a command that exists (whoever runs
//! what a program prints is found out), and becomes the real program where only that one shows what a line does.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{Read as _, Write as _},
    os::unix::{ffi::OsStrExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, kill_process, set_child_subreaper, setrlimit, wait};

/// Programs that run another, or whose effect on files is looked at.
const REAL: &[&str] = &[
    "bash", "sh", "env", "timeout", "nice", "nohup", "xargs", "find", "setsid", "stdbuf", "flock", "tee", "touch",
    "cp", "mv", "mkdir", "rm", "ln", "sed", "cat", "head", "sort", "dd", "rmdir", "truncate", "install", "gzip",
    "split",
];

/// Ends a record of the log; no line can hold it.
const END: &[u8] = b"\xff end of record \xfe";

/// How long a line may run.
const LINE_WITHIN: Duration = Duration::from_millis(1500);

/// How many programs one line may start: loops without end must not fill the log.
const MOST_RUNS: u64 = 40_000;

fn main() {
    let own = env::current_exe().unwrap();
    match own.file_name().and_then(|name| name.to_str()) {
        Some("driver") => drive(own.parent().and_then(Path::parent).unwrap()),
        Some(name) => program(&own, name),
        None => {}
    }
}

fn program(own: &Path, name: &str) {
    let arguments: Vec<OsString> = env::args_os().collect();
    let mut record = vec![name.as_bytes().to_vec()];
    record.extend(arguments.iter().skip(1).map(|word| word.as_bytes().to_vec()));
    let mut bytes = record.join(&0);
    bytes.push(0);
    bytes.extend(END);
    bytes.push(0);
    let log = own.parent().unwrap().with_file_name("log");
    if fs::metadata(&log).is_ok_and(|log| log.len() > MOST_RUNS) {
        std::process::exit(1);
    }
    let mut log = OpenOptions::new().append(true).create(true).open(log).unwrap();
    log.write_all(&bytes).unwrap();
    drop(log);
    if name == "sudo" {
        let mut rest = arguments.iter().skip(1).peekable();
        while let Some(option) = rest.next_if(|word| {
            (word.as_bytes().starts_with(b"-") && word.as_bytes() != b"-".as_slice()) || word.as_bytes().contains(&b'=')
        }) {
            if option == "-u" || option == "-g" {
                rest.next();
            }
        }
        if let Some(program) = rest.next() {
            let _ = Command::new(program).args(rest).exec();
        }
    } else if REAL.contains(&name) {
        let real = ["/bin", "/usr/bin"].iter().map(|folder| Path::new(folder).join(name));
        if let Some(real) = real.into_iter().find(|real| real.exists()) {
            let _ = Command::new(real).arg0(&arguments[0]).args(&arguments[1..]).exec();
        }
    } else if name == "nope" {
        std::process::exit(1);
    } else if name != "surprise" {
        let _ = std::io::stdout().write_all(b"surprise printed\n");
    }
}

fn drive(base: &Path) {
    set_child_subreaper(Some(Pid::from_raw(1).unwrap())).unwrap();
    for (resource, most) in [(Resource::Fsize, 1 << 20), (Resource::Core, 0), (Resource::Nproc, 300)] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit).unwrap();
    }
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut length = [0; 4];
    let mut fresh = None;
    while input.read_exact(&mut length).is_ok() {
        let mut line = vec![0; u32::from_be_bytes(length) as usize];
        input.read_exact(&mut line).unwrap();
        let answer = serde_json::to_vec(&one(base, &line, &mut fresh)).unwrap();
        output
            .write_all(&u32::try_from(answer.len()).unwrap().to_be_bytes())
            .unwrap();
        output.write_all(&answer).unwrap();
        output.flush().unwrap();
    }
}

/// What a line can read.
const INPUT: &[u8] = b"surprise input\nsecond line\n";

/// Makes the folder anew in which lines run.
fn make(folder: &Path, project: &Path) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(project.join("sub/deep")).unwrap();
    fs::create_dir_all(folder.join("home")).unwrap();
    let files = [
        ("a.txt", "surprise a\n"),
        ("b.txt", "b\n"),
        ("sub/c.txt", "c\n"),
        ("curl.c", "x\n"),
        ("odd name", ""),
    ];
    for (name, text) in files {
        fs::write(project.join(name), text).unwrap();
    }
}

/// Runs one line. `fresh` is what lies in the folder, if the line before changed nothing.
fn one(base: &Path, line: &[u8], fresh: &mut Option<BTreeMap<PathBuf, Vec<u8>>>) -> serde_json::Value {
    let (folder, log) = (base.join("w"), base.join("log"));
    let project = folder.join("proj");
    if fresh.is_none() {
        make(&folder, &project);
    }
    let before = fresh.take().unwrap_or_else(|| snapshot(&folder));
    if fs::metadata(&log).map_or(true, |log| log.len() > 0) {
        File::create(&log).unwrap();
    }
    let input = base.join("input");
    if fs::read(&input).map_or(true, |text| text != INPUT) {
        fs::write(&input, INPUT).unwrap();
    }
    let mut command = Command::new("/bin/bash");
    command
        .arg("-c")
        .arg(std::ffi::OsStr::from_bytes(line))
        .env_clear()
        .env("PATH", base.join("bin"))
        .env("HOME", folder.join("home"))
        .env("FUNCNEST", "2")
        .env("LC_ALL", "C.UTF-8")
        .current_dir(&project)
        .process_group(0)
        .stdin(File::open(&input).unwrap())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = command.spawn().is_ok();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        while wait(WaitOptions::empty()).is_ok() {}
        let _ = sender.send(());
    });
    let mut late = false;
    if started && receiver.recv_timeout(LINE_WITHIN).is_err() {
        late = true;
        kill_all();
        // What starts processes faster than they are killed ends with the sandbox.
        if receiver.recv_timeout(LINE_WITHIN).is_err() {
            std::process::exit(1);
        }
    }
    let after = snapshot(&folder);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let logged = fs::read(&log).unwrap_or_default();
    let mut runs: Vec<Vec<String>> = Vec::new();
    let mut words = Vec::new();
    for word in logged.split(|byte| *byte == 0) {
        if word == END {
            runs.push(std::mem::take(&mut words));
        } else {
            words.push(text(word));
        }
    }
    runs.sort();
    runs.dedup();
    let changed = before
        .keys()
        .chain(after.keys())
        .filter(|path| before.get(*path) != after.get(*path));
    let mut files: Vec<String> = changed.map(|path| text(path.as_os_str().as_bytes())).collect();
    files.sort();
    files.dedup();
    // Making all anew takes ten times as long as the line itself.
    for path in &files {
        let path = Path::new(path);
        if !before.contains_key(path) {
            let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
        } else if let Some(text) = before.get(path).filter(|text| *text != b"folder") {
            let _ = fs::write(path, text);
        }
    }
    if files.is_empty() || snapshot(&folder) == before {
        *fresh = Some(before);
    }
    serde_json::json!({ "runs": runs, "files": files, "late": late })
}

/// Everything in the sandbox but this process, the first one, and what started this one.
fn kill_all() {
    let spared = [1, std::process::id(), std::os::unix::process::parent_id()];
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if let Some(number) = number.filter(|number| !spared.contains(number))
            && let Some(pid) = i32::try_from(number).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            let content = if kind.is_dir() {
                folders.push(path.clone());
                b"folder".to_vec()
            } else if kind.is_file() {
                fs::read(&path).unwrap_or_default()
            } else {
                b"other".to_vec()
            };
            found.insert(path, content);
        }
    }
    found
}

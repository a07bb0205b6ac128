#![forbid(unsafe_code)]
//! Tries one thing that a sandbox should prevent, and says whether it worked.
//!
//! The tests run it with and without the sandbox. A program of our own, because `curl` or `python3` may be missing, and a
//! missing program looks like a sandbox that works.
//!
//! Exit status 0: it worked. 10: the system refused; the reason is on standard output. 2: called wrongly.

use std::{
    env, fs,
    io::Write as _,
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    process::ExitCode,
    time::Duration,
};

fn main() -> ExitCode {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    // So that the command line does not show what is tried, and only the sandbox can refuse it.
    if let [from, file] = arguments.as_slice()
        && from == "from"
    {
        let task = fs::read_to_string(file).unwrap_or_default();
        arguments = task.lines().map(str::to_owned).collect();
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut out = std::io::stdout();
    let result = match words.as_slice() {
        ["write", path] => fs::write(path, "written by the probe\n"),
        ["read", path] => fs::read(path).map(drop),
        ["list", path] => fs::read_dir(path).map(drop),
        ["unix", path] => UnixStream::connect(path).map(drop),
        ["tcp", address] => match address.parse::<SocketAddr>() {
            Ok(address) => TcpStream::connect_timeout(&address, Duration::from_secs(5)).map(drop),
            Err(error) => {
                let _ = writeln!(out, "{error}");
                return ExitCode::from(2);
            }
        },
        _ => {
            let _ = writeln!(
                out,
                "usage: portcullis-probe write|read|list|unix|tcp TARGET, or from FILE with one word a line"
            );
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => {
            let _ = writeln!(out, "worked");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(out, "refused: {error}");
            ExitCode::from(10)
        }
    }
}

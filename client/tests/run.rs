//! `portcullis run` against a fake daemon that plays commands.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests may stop at the first surprise, as tests may"
)]

mod support;

use std::{
    io::{Read as _, Write as _},
    process::{Command, Stdio},
};

use portcullis_proto::v1::{self, Effect};
use prost::Message as _;
use support::{Fake, Says, Told, answer, golden, shown, wait};

fn runner() -> Fake {
    let claims = v1::TicketClaims {
        profile: Some(v1::SandboxProfile {
            environment: vec!["PATH".into(), "LC_*".into()],
            ..Default::default()
        }),
        ..Default::default()
    };
    let mut allowed = answer(Effect::Allow);
    allowed.ticket = Some(v1::SignedTicket {
        claims: claims.encode_to_vec(),
        signature: vec![0; 64],
    });
    allowed.sandbox = Some(v1::SandboxProfile::default());
    Fake::says(Says::Answer(Box::new(allowed)))
}

#[test]
fn standard_streams_and_status_pass_through() {
    let fake = runner();
    let bytes: Vec<u8> = (0..=255).cycle().take(1_000_000).collect();
    let output = {
        let mut child = fake
            .program(&["run", "--", "echo-stdin"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let sent = bytes.clone();
        let writer = std::thread::spawn(move || stdin.write_all(&sent).unwrap());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    };
    assert_eq!(output.status.code(), Some(0));
    assert!(
        output.stdout == bytes,
        "{} bytes of {}",
        output.stdout.len(),
        bytes.len()
    );
    let told = fake.run_with(&["run", "--", "count-stdin"], b"12345");
    assert_eq!((told.code, told.out.as_str(), told.err.as_str()), (Some(0), "", "5\n"));
    for code in ["0", "1", "42", "255"] {
        assert_eq!(fake.run(&["run", "--", "exit", code]).code, code.parse().ok());
    }
    assert_eq!(fake.requests()[0].execution.as_ref().unwrap().argv, ["echo-stdin"]);
}

#[test]
fn limits_that_are_not_held_are_told() {
    let told = runner().run(&["run", "--", "unlimited"]);
    assert_eq!((told.code, told.out.as_str()), (Some(0), ""));
    assert_eq!(
        told.err,
        "portcullis: not limited on this host: processes: nobody counts them\n"
    );
}

#[test]
fn only_the_environment_of_the_permit_is_sent() {
    let fake = runner();
    let mut command = fake.program(&["run", "--", "exit", "0"]);
    let told = Told::from(command.env("SECRET", "s").env("LC_ALL", "C").output().unwrap());
    assert_eq!(told.code, Some(0));
    let sent = fake.seen.lock().unwrap().run.clone();
    let names: Vec<_> = sent.iter().filter_map(|pair| pair.split('=').next()).collect();
    assert!(
        names.contains(&"LC_ALL") && names.contains(&"PATH") && names.len() == 2,
        "{names:?}"
    );
}

#[test]
fn an_open_standard_input_does_not_hold_up_the_end() {
    let fake = runner();
    let mut child = fake
        .program(&["run", "--", "exit", "7"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take();
    assert_eq!(wait(child), Some(7));
    drop(stdin);
}

#[test]
fn signals_are_passed_on() {
    let fake = runner();
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3), ("WINCH", 28)] {
        let mut child = fake.program(&["run", "--", "wait-for-signal"]).spawn().unwrap();
        let mut ready = [0_u8; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        let sent = Command::new("kill")
            .args(["-s", name, &child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        assert_eq!(wait(child), Some(128 + number), "{name}");
    }
}

#[test]
fn signals_get_through_while_nobody_reads_the_output() {
    let fake = runner();
    let mut child = fake.program(&["run", "--", "flood-until-signal"]).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut some = [0_u8; 1024];
    out.read_exact(&mut some).unwrap();
    let sent = Command::new("kill")
        .args(["-s", "TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    // The fake notes the signal while the pipe is full; only then is it read to its end.
    fake.until(|seen| seen.run.iter().any(|line| line == "signal 15"));
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert_eq!(wait(child), Some(143));
}

#[test]
fn whoever_interrupts_again_and_again_does_not_wait_for_the_command() {
    let fake = runner();
    let mut child = fake.program(&["run", "--", "deaf"]).spawn().unwrap();
    let mut ready = [0_u8; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    for count in 1..=4 {
        Command::new("kill")
            .args(["-s", "INT", &child.id().to_string()])
            .status()
            .unwrap();
        if count < 4 {
            fake.until(|seen| seen.run.iter().filter(|line| *line == "signal 2").count() == count);
        }
    }
    assert_eq!(wait(child), Some(130));
}

#[test]
fn what_is_not_allowed_does_not_run() {
    for effect in [Effect::Ask, Effect::Deny] {
        let fake = Fake::says(Says::effect(effect));
        let told = fake.run(&["run", "--", "exit", "0"]);
        assert_eq!(
            (told.code, told.out.as_str(), told.err.is_empty()),
            (Some(126), "", false),
            "{told:?}"
        );
    }
    // Allowed, but nothing was signed.
    let told = Fake::says(Says::effect(Effect::Allow)).run(&["run", "--", "exit", "0"]);
    assert_eq!((told.code, told.out.as_str()), (Some(125), ""), "{told:?}");
    for says in [
        Says::effect(Effect::Unspecified),
        Says::Status(tonic::Code::Unavailable, "later"),
    ] {
        assert_eq!(Fake::says(says).run(&["run", "--", "exit", "0"]).code, Some(125));
    }
    assert_eq!(Fake::absent().run(&["run", "--", "exit", "0"]).code, Some(125));
}

#[test]
fn a_run_that_goes_wrong_is_125() {
    let fake = runner();
    golden("run-refused.txt", &shown(&fake, &fake.run(&["run", "--", "refused"])));
    let told = fake.run(&["run", "--", "vanish"]);
    assert_eq!((told.code, told.out.as_str()), (Some(125), "half"), "{told:?}");
    golden(
        "run-not-started.txt",
        &shown(&fake, &fake.run(&["run", "--", "not-started"])),
    );
}

#[test]
fn a_reader_who_goes_away_ends_the_run() {
    let fake = runner();
    let mut child = fake.program(&["run", "--", "flood"]).spawn().unwrap();
    let mut some = [0_u8; 1024];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    assert_eq!(wait(child), Some(141));
}

#[test]
fn words_that_are_no_text_are_wrong_usage() {
    use std::os::unix::ffi::OsStrExt as _;
    let fake = runner();
    for command in ["run", "decide"] {
        let mut program = fake.program(&[command, "--", "echo"]);
        let told = Told::from(program.arg(std::ffi::OsStr::from_bytes(b"\xff")).output().unwrap());
        assert_eq!(told.code, Some(2));
        assert!(told.err.contains("is not UTF-8"), "{told:?}");
    }
    assert!(fake.requests().is_empty());
}

//! `--tty`: a command has a terminal of its own, with a name, a size, signals and job control, and nothing of the caller's.

use std::path::Path;

use portcullis_tests::{Output, Policy, Stack};

fn stack(script: &str) -> Stack {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(sh ./script)"));
    stack.write_project_file("script", script);
    stack
}

fn program() -> String {
    portcullis_tests::stack::program("portcullis").display().to_string()
}

/// Lines of bash, without a terminal around them. `in` is a pipe that can be written to, `out` what came of it, and
/// `expect WORD` waits for a line of it,
/// and `type KEY WORD` types until there is one.
fn bash(stack: &Stack, lines: &str) -> Output {
    let before = r#"
        mkfifo in || exit 81
        start() { "$@" < in > out 2>&1 & job=$!; exec 3> in; }
        trap 'kill -KILL $job 2>/dev/null' EXIT
        expect() { for _ in $(seq 100); do grep -q "$1" out && return; sleep 0.1; done; echo "no $1"; cat out; exit 82; }
        # Again and again: what is typed before a program has the foreground is for the shell.
        type() { for _ in $(seq 100); do grep -q "$2" out && return; printf "$1" >&3; sleep 0.1; done; echo "no $2"; cat out; exit 84; }
        end() { for _ in $(seq 100); do kill -0 $job 2>/dev/null || { wait $job; exit; }; sleep 0.1; done; exit 83; }
    "#;
    stack
        .run_program(Path::new("bash"))
        .args(["-c", &format!("{before}\n{lines}")])
        .output()
}

/// The same in a terminal of 31 lines and 77 columns.
fn at_a_terminal(stack: &Stack, lines: &str) -> Output {
    stack.write_project_file("lines", lines);
    stack
        .run_program(Path::new("script"))
        .args(["-qec", "stty rows 31 cols 77; exec bash ./lines", "/dev/null"])
        .output()
}

#[track_caller]
fn expect(output: &Output, said: &[&str]) {
    for words in said {
        assert!(output.stdout.contains(words), "{words}: {}", output.text());
    }
}

#[test]
fn it_has_a_name_a_usual_size_and_is_the_controlling_one() {
    let stack =
        stack("tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo through > /dev/tty; ls /dev/pts; exit 7");
    for arguments in [&["run", "--tty"][..], &["sandbox", "run", "--tty"]] {
        let output = stack
            .portcullis(arguments)
            .args(["--", "sh", "./script"])
            .input("")
            .output()
            .expect_code(7);
        expect(&output, &["/dev/pts/0\r\n", "24 80\r\n", "through\r\n"]);
        assert!(!output.stdout.contains("/dev/pts/1"), "{}", output.text());
        assert!(!output.stderr.contains("output"), "{}", output.text());
    }
    // The positive control: without the option there is none.
    let output = stack
        .portcullis(["run", "--", "sh", "./script"])
        .input("")
        .output()
        .expect_code(7);
    expect(&output, &["not a tty"]);
}

#[test]
fn an_end_of_input_is_an_end_there() {
    let stack = stack("while read -r line; do echo \"got $line\"; done; echo last");
    for input in ["", "one\ntwo\n", "one\nhalf"] {
        let output = stack
            .portcullis(["run", "--tty", "--", "sh", "./script"])
            .input(input)
            .output()
            .expect_code(0);
        expect(&output, &["last\r\n"]);
        for line in input.lines().filter(|line| *line != "half") {
            expect(&output, &[&format!("got {line}\r\n")]);
        }
    }
}

#[test]
fn all_of_a_long_output_arrives() {
    let stack = stack("seq 200000");
    let output = stack
        .portcullis(["run", "--tty", "--", "sh", "./script"])
        .input("")
        .output()
        .expect_code(0);
    assert_eq!(output.stdout.lines().count(), 200_000);
    assert!(output.stdout.ends_with("200000\r\n"));
}

#[test]
fn what_is_typed_interrupts_and_stops_as_at_any_terminal() {
    let script = r#"
        set -m
        trap 'echo interrupted' INT
        stty -echo
        echo begins; sleep 600; echo "sleep $?"
        sh -c 'echo second; exec sleep 600'; echo "stopped $?"
        kill -KILL %1
        echo done; exec sh -c 'exit 9'"#;
    let stack = stack(script);
    let output = bash(
        &stack,
        &format!(
            r#"start {} run --tty -- sh ./script
            expect begins; type '\003' 'sleep 130'
            expect second; type '\032' 'stopped 148'
            expect done; end"#,
            program()
        ),
    );
    let _ = output.expect_code(9);
}

#[test]
fn it_is_as_large_as_the_callers_and_grows_with_it() {
    let stack = stack("trap 'stty size; exit 5' WINCH; stty size; touch ready; while :; do sleep 0.05; done");
    let output = at_a_terminal(
        &stack,
        &format!(
            r#"(for _ in $(seq 100); do [ -e ready ] && break; sleep 0.1; done; stty rows 40 cols 99 < /dev/tty) &
            {} run --tty -- sh ./script; echo "ended $?"; stty -a | grep -ow -e '-*icanon'"#,
            program()
        ),
    );
    expect(&output, &["31 77", "40 99", "ended 5"]);
    assert!(output.stdout.contains("\nicanon"), "it is as it was: {}", output.text());
}

#[test]
fn in_the_background_nothing_of_the_callers_terminal_is_touched() {
    let stack = stack("echo from behind; touch ready");
    let output = at_a_terminal(
        &stack,
        &format!(
            r#"set -m
            {} run --tty -- sh ./script & job=$!
            for _ in $(seq 100); do [ -e ready ] && break; sleep 0.1; done
            stty -a | grep -ow -e '-*icanon'; kill -TERM $job; kill -CONT $job; wait $job; echo ended"#,
            program()
        ),
    );
    expect(&output, &["icanon", "ended"]);
    assert!(
        stack.project().join("ready").exists(),
        "it runs there: {}",
        output.text()
    );
    assert!(!output.stdout.contains("-icanon"), "{}", output.text());
}

#[test]
fn a_command_that_closes_its_streams_comes_back_by_the_terminal() {
    let stack = stack(
        "exec < /dev/null > /dev/null 2>&1; sleep 0.3; echo late > /dev/tty; read -r line < /dev/tty; echo \"got $line\" > /dev/tty",
    );
    let output = stack
        .portcullis(["run", "--tty", "--", "sh", "./script"])
        .input("typed\n")
        .output()
        .expect_code(0);
    expect(&output, &["late\r\n", "got typed\r\n"]);
}

#[test]
fn when_nobody_reads_any_more_it_ends_and_the_callers_terminal_is_theirs() {
    // One that goes on writing, and one that has written all before anybody reads.
    for script in ["while :; do echo more; done", "seq 20; sleep 0.3; seq 20"] {
        let stack = stack(script);
        let lines = format!(
            "{} run --tty -- sh ./script | head -1; echo \"ended ${{PIPESTATUS[0]}}\"; stty -a | grep -ow -e '-*icanon'",
            program()
        );
        let output = at_a_terminal(&stack, &lines);
        expect(&output, &["ended 141", "\nicanon"]);
        assert!(!output.stdout.contains("-icanon"), "{}", output.text());
    }
}

#[test]
fn when_the_daemon_dies_the_callers_terminal_is_theirs() {
    let mut stack = stack("touch ready; sleep 600");
    let daemon = stack.sandboxd().id();
    let lines = format!(
        r#"(for _ in $(seq 100); do [ -e ready ] && break; sleep 0.1; done; kill -KILL {daemon}) &
        {} run --tty -- sh ./script; echo "ended $?"; stty -a | grep -ow -e '-*icanon'"#,
        program()
    );
    let output = at_a_terminal(&stack, &lines);
    expect(&output, &["ended 1", "\nicanon"]);
    assert!(!output.stdout.contains("-icanon"), "{}", output.text());
    let _ = stack.sandboxd().wait();
}

#[test]
fn a_slow_reader_gets_all_of_it() {
    let stack = stack("seq 13500; touch done");
    let output = bash(
        &stack,
        &format!(
            r#"{} run --tty -- sh ./script < /dev/null |
            {{ for _ in $(seq 100); do [ -e done ] && break; sleep 0.1; done; sleep 2.5; wc -l; }}"#,
            program()
        ),
    );
    expect(&output.expect_code(0), &["13500"]);
}

#[test]
fn a_stopped_job_goes_on_in_the_background_and_can_be_ended() {
    let stack = stack("while :; do date +%s%N > tick.new; mv tick.new tick; sleep 0.05; done");
    let lines = format!(
        r#"set -m
        trap 'kill -KILL $(cat pid) 2>/dev/null' EXIT
        moves() {{ local seen; seen=$(cat tick 2>/dev/null); for _ in $(seq 100); do
            [ "$(cat tick 2>/dev/null)" = "$seen" ] || return 0; sleep 0.1; done; return 1; }}
        (moves; kill -TSTP $(cat pid)) &
        sh -c 'echo $$ > pid; exec {} run --tty -- sh ./script'
        echo "stopped $?"; stty -a | grep -ow -e '-*icanon'
        kill -CONT $(cat pid); moves && echo goes on
        kill -TERM $(cat pid)
        for _ in $(seq 100); do kill -0 $(cat pid) 2>/dev/null || {{ echo ended; break; }}; sleep 0.1; done"#,
        program()
    );
    let output = at_a_terminal(&stack, &lines);
    expect(&output, &["stopped 147", "goes on", "ended"]);
    assert!(!output.stdout.contains("-icanon"), "{}", output.text());
}

#[test]
fn who_asks_again_and_again_gets_out() {
    let stack = stack("trap '' INT TERM HUP; touch ready; sleep 600 & while :; do wait; done");
    let output = bash(
        &stack,
        &format!(
            r#"start {} run --tty -- sh ./script
            for _ in $(seq 100); do [ -e ready ] && break; sleep 0.1; done
            for _ in $(seq 100); do kill -TERM $job 2>/dev/null || break; sleep 0.1; done; end"#,
            program()
        ),
    );
    let _ = output.expect_code(143);
}

#[test]
fn hangups_end_nobody_who_lives_on_them() {
    let script = r#"trap 'n=$((n+1))' HUP; touch ready; while [ "${n:-0}" -lt 6 ]; do sleep 0.05; done; exit 5"#;
    for arguments in ["run", "run --tty"] {
        let stack = stack(script);
        let output = bash(
            &stack,
            &format!(
                r#"start {} {arguments} -- sh ./script
                for _ in $(seq 100); do [ -e ready ] && break; sleep 0.1; done
                for _ in $(seq 100); do kill -HUP $job 2>/dev/null || break; sleep 0.1; done; end"#,
                program()
            ),
        );
        let _ = output.expect_code(5);
    }
}

#[test]
fn where_it_is_not_allowed_there_is_none() {
    let stack = stack("echo ran > marker");
    let output = stack
        .portcullis(["run", "--tty", "--", "make", "install"])
        .input("")
        .output()
        .expect_code(126);
    assert_eq!(output.stdout, "");
    assert!(!stack.project().join("marker").exists());
}

//! Bounds: stack, steps, growth.

use super::*;
use crate::shell::{
    CommandClass,
    reader::{Budget, Dialect, read},
};

/// A way to nest: what opens a level, what stands inside, what closes it.
const NESTS: &[(&str, &str, &str, &str)] = &[
    ("subshell", "( ", "x", " )"),
    ("parentheses without blanks", "(", "x", ")"),
    ("double parentheses", "((", "x", "))"),
    ("group", "{ ", "x", "; }"),
    ("substitution", "echo $(", "x", ")"),
    ("substitution in quotes", "echo \"$(", "x", ")\""),
    ("process", "cat <(", "x", ")"),
    ("parameter", "${x:-", "y", "}"),
    ("parameter in quotes", "\"${x:-", "y", "}\""),
    ("arithmetic", "$((", "1", "))"),
    ("old arithmetic", "$[", "1", "]"),
    ("index", "${a[", "1", "]}"),
    ("if", "if x; then ", "y", "; fi"),
    ("condition", "if ", "y", "; then x; fi"),
    ("else", "if x; then y; else ", "z", "; fi"),
    ("while", "while x; do ", "y", "; done"),
    ("until", "until ", "y", "; do x; done"),
    ("for", "for a in b; do ", "y", "; done"),
    ("counting for", "for ((;;)); do ", "y", "; done"),
    ("select", "select a in b; do ", "y", "; done"),
    ("case", "case x in a) ", "y", ";; esac"),
    ("function", "f() { ", "y", "; }"),
    ("function keyword", "function f { ", "y", "; }"),
    ("coprocess", "coproc { ", "y", "; }"),
    ("assignment", "a=$(", "x", ")"),
    ("array", "a=( $(", "x", ") )"),
    ("index of an assignment", "a[$(", "x", ")]=1"),
    ("test", "[[ -n $(", "x", ") ]]"),
    ("here-string", "cat <<< $(", "x", ")"),
    ("extended glob", "@(", "x", ")"),
    ("negation", "! ( ", "x", " )"),
    ("quotes", "\"", "x", "\""),
    ("unclosed subshell", "( ", "x", ""),
    ("unclosed substitution", "$(", "x", ""),
    ("unclosed group", "{ ", "x", ""),
    ("unclosed parameter", "${x:-", "x", ""),
    ("unclosed arithmetic", "$((", "x", ""),
    ("unclosed brackets", "a[", "x", ""),
    ("braces", "{a,", "b", "}"),
    ("nice", "nice ", "x", ""),
    ("eval", "eval ", "x", ""),
    ("sudo", "sudo ", "x", ""),
    ("pipe of subshells", "(a | ", "x", ")"),
];

/// Scripts inside scripts, each quoted once more.
fn scripts(depth: usize) -> String {
    let mut line = "x".to_owned();
    for level in 0..depth {
        line = match level % 3 {
            0 => format!("bash -c {}", crate::shell::quote(&[&line])),
            1 => format!("eval \"$(cat <<'E{level}'\n{line}\nE{level}\n)\" ; ( {line} )"),
            _ => format!("trap {} EXIT", crate::shell::quote(&[&line])),
        };
        if line.len() > 200_000 {
            break;
        }
    }
    line
}

#[test]
fn the_deepest_nesting_fits_in_two_mebibytes() {
    let run = || {
        for depth in [Limits::default().depth - 1, Limits::default().depth, 300, 5_000, 50_000] {
            for (name, open, inner, close) in NESTS {
                let line = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
                let analysis = analysed(&line);
                // Parentheses without blanks are one arithmetic expression, however many there are.
                assert!(
                    depth < 5_000
                        || name.contains("parentheses")
                        || !analysis.opaque.is_empty()
                        || analysis.commands.len() == 1,
                    "{name}: {depth} levels were understood"
                );
            }
        }
        for depth in 0..12 {
            let _ = analysed(&scripts(depth));
        }
        // Different kinds inside each other, so that no single path is the deepest.
        for offset in 0..NESTS.len() {
            let (mut open, mut close) = (String::new(), String::new());
            for level in 0..Limits::default().depth {
                let (_, before, _, after) = NESTS[(offset + level * 7) % NESTS.len()];
                open.push_str(before);
                close.insert_str(0, after);
            }
            let _ = analysed(&format!("{open}x{close}"));
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap();
    thread.join().unwrap();
}

#[test]
fn nesting_up_to_the_bound_is_understood_and_beyond_it_is_not() {
    let nested = |depth: usize| format!("{}ls{}", "( ".repeat(depth), " )".repeat(depth));
    let depth = Limits::default().depth;
    assert_eq!(commands(&analysed(&nested(depth))), ["ls"]);
    assert_eq!(reasons(&analysed(&nested(depth))), []);
    assert_eq!(reasons(&analysed(&nested(depth + 1))), [OpaqueReason::TooLarge]);
}

#[test]
fn a_line_beyond_its_bounds_is_opaque_and_not_cut() {
    let limits = Limits {
        bytes: 10,
        ..Limits::default()
    };
    let analysis = analyse("ls; rm -rf x", &context(), limits);
    assert_eq!(
        (commands(&analysis).len(), reasons(&analysis)),
        (0, vec![OpaqueReason::TooLarge])
    );
    let limits = Limits {
        steps: 12,
        ..Limits::default()
    };
    let analysis = analyse("ls; ls; ls; ls; ls; ls", &context(), limits);
    assert_eq!(reasons(&analysis).last(), Some(&OpaqueReason::TooLarge));
}

/// Steps that reading and analysing takes.
fn steps(line: &str) -> usize {
    let limits = Limits {
        bytes: usize::MAX,
        steps: 100_000_000,
        parts: usize::MAX,
        ..Limits::default()
    };
    let (_, left) = crate::shell::analyse::analyse_counted(line, &context(), None, limits);
    limits.steps - left
}

#[test]
fn steps_grow_with_the_length_and_no_faster() {
    let kinds: &[(&str, &str, &str)] = &[
        ("operands", "rm ", "a "),
        ("commands", "", "ls;"),
        ("chain", "true", " && ls"),
        ("pipes", "ls", " | ls"),
        ("assignments", "", "a=1;"),
        ("different assignments in subshells", "", "a=1;(b=2);"),
        ("subshells", "", "(ls);"),
        ("substitutions", "echo ", "$(ls) "),
        ("backticks", "echo ", "`ls` "),
        ("quotes", "echo ", "\"a\"'b' "),
        ("braces", "echo ", "{a,b} "),
        ("unclosed braces", "echo ", "{a,"),
        ("globs", "ls ", "*.c "),
        ("heredocs", "", "cat <<E\n$x\nE\n"),
        ("loops", "", "for a in b; do c; done;"),
        ("nested words", "xargs rm ", "a "),
        ("cases", "case x in ", "a) ls;; "),
        ("functions", "", "f() { ls; };"),
        ("parameters", "echo ", "${a:-b} "),
        ("arithmetic", "echo ", "$((1+1)) "),
        ("brackets", "", "a[;"),
        ("changes of directory", "", "cd a;"),
        ("tests", "", "[[ a ]];"),
        ("executions", "find . ", "-exec ls {} ; "),
    ];
    for (name, head, part) in kinds {
        let (small, large) = (
            steps(&format!("{head}{}", part.repeat(200))),
            steps(&format!("{head}{}", part.repeat(1_600))),
        );
        assert!(
            large < small.max(200) * 12,
            "{name}: {small} steps for 200, {large} for 1600"
        );
    }
}

#[test]
fn ten_thousand_operands_fit() {
    let line = format!("rm -f {}", "some/file.txt ".repeat(10_000));
    let analysis = analysed(&line);
    assert_eq!(reasons(&analysis), []);
    let command = analysis.commands.first().unwrap();
    assert_eq!((command.files.len(), command.class), (10_000, CommandClass::FileChange));
}

#[test]
fn the_budget_holds_in_the_reader_too() {
    let mut budget = Budget { depth: 4, steps: 10 };
    let (_, fault) = read(&"ls;".repeat(100), Dialect::Bash, &mut budget);
    assert!(fault.is_some());
    assert_eq!(budget.depth, 4);
}

/// The time is bounded by the steps, and the steps by the budget; what is not counted is a constant number of looks at each
/// character. `docs/proofs.md` has the times.
#[test]
fn hostile_lines_end_within_the_budget() {
    // What they are, what stands before, and what is repeated.
    let kinds: Vec<(String, String, String)> =
        serde_json::from_str(include_str!("../../../../tests/cases/hostile-lines.json")).unwrap();
    for (name, head, part) in &kinds {
        let line = format!("{head}{}", part.repeat((60_000 - head.len()) / part.len()));
        // A tenth of the budget, which is passed in a tenth of the time.
        let limits = Limits {
            steps: Limits::default().steps / 10,
            ..Limits::default()
        };
        let analysis = analyse(&line, &context(), limits);
        assert!(analysis.commands.len() <= limits.parts, "{name}");
        assert!(analysis.opaque.len() <= 300, "{name}");
        let small = steps(&format!("{head}{}", part.repeat(500)));
        let large = steps(&format!("{head}{}", part.repeat(2_000)));
        assert!(
            large <= small.max(100) * 12,
            "{name}: {small} steps for 500, {large} for 4000"
        );
    }
}

#[test]
fn as_many_parts_as_the_bound_are_listed_and_no_more() {
    let parts = Limits::default().parts;
    let fits = analysed(&"a;".repeat(parts));
    assert_eq!((fits.commands.len(), reasons(&fits)), (parts, vec![]));
    let more = analysed(&"a;".repeat(parts + 1));
    assert_eq!(
        (more.commands.len(), reasons(&more)),
        (parts, vec![OpaqueReason::TooLarge])
    );
}

//! Laws that hold for every input.

use proptest::prelude::*;

use super::*;
use crate::shell::{Command, quote};

/// Pieces out of which lines are made that look like shell.
const PIECES: &[&str] = &[
    "ls",
    "rm -rf",
    "echo",
    " ",
    "\t",
    "\n",
    ";",
    ";;",
    "&",
    "&&",
    "|",
    "||",
    "|&",
    "(",
    ")",
    "((",
    "))",
    "{",
    "}",
    "{a,b}",
    "<",
    ">",
    ">>",
    "<<",
    "<<-",
    "<<<",
    "<&",
    ">&",
    "&>",
    "<(",
    ">(",
    "EOF",
    "\nEOF\n",
    "'",
    "\"",
    "\\",
    "\\\n",
    "`",
    "$",
    "$(",
    "${",
    "$((",
    "$[",
    "$'",
    "$\"",
    "${x:-",
    "${!x}",
    "${#",
    "${x@P}",
    "x=",
    "x=(",
    "x[",
    "x+=",
    "[[",
    "]]",
    "=~",
    "if",
    "then",
    "else",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "while",
    "case",
    "esac",
    "function",
    "f()",
    "select",
    "time",
    "!",
    "coproc",
    "#",
    "*",
    "?",
    "[",
    "]",
    "~",
    "~/",
    "~a",
    "@(",
    "!(",
    "sudo",
    "env",
    "-S",
    "-c",
    "bash",
    "sh",
    "eval",
    "xargs",
    "find",
    "-exec",
    "{}",
    "\\;",
    "+",
    "cd",
    "git",
    "-C",
    "tar",
    "czf",
    "sed",
    "-i",
    "s/a/b/",
    "awk",
    "curl",
    "-o",
    "@",
    "1",
    "99999999999999999999",
    "é",
    "\u{200b}",
    "\0",
    "\r",
    "=",
    "-",
    "--",
    "--x=y",
    "$IFS",
    "$@",
    "$1",
    "..",
    "{1..9}",
    "{9..-9..3}",
    "..}",
];

fn shell_like() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

/// What every analysis keeps, whatever the line.
fn holds(line: &str, analysis: &Analysis) {
    for command in &analysis.commands {
        let _ = (
            command.escape_option(),
            command.program_name(),
            command.assignments_harmless(),
            command.is_wrapper(),
        );
        assert!(command.words.len() <= line.len() * 520 + 64, "{line:?}");
    }
    // A line that says something gives something: no command, or a reason why not.
    let says = line.lines().any(|text| {
        !text.trim_matches([' ', '\t', '\r']).is_empty() && !text.trim_start_matches([' ', '\t']).starts_with('#')
    });
    let only_arithmetic = line.contains("((")
        || line.contains('!')
        || line.contains("time")
        || line.contains("case")
        || line.contains('\\');
    if says && !only_arithmetic {
        assert!(
            !analysis.commands.is_empty() || !analysis.opaque.is_empty(),
            "{line:?} vanished"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, max_global_rejects: 200_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// INVARIANT of `quote`.
    #[test]
    fn quoted_words_come_back(words in prop::collection::vec("[^\0]{0,12}", 1..6)) {
        let line = quote(&words);
        let analysis = analysed(&line);
        let direct: Vec<&Command> = analysis.commands.iter().filter(|command| command.seen_through.is_empty()).collect();
        // With something hidden in it the line is looked at once more, without that.
        let once = !crate::shell::hidden::hides(&line);
        prop_assert!(direct.len() == 1 || !once, "{}", line);
        let expected: Vec<Word> = words.into_iter().map(Word::Literal).collect();
        prop_assert_eq!(&direct[0].words, &expected);
        prop_assert!(direct[0].assignments.is_empty());
    }

    #[test]
    fn quoted_shell_words_come_back(words in prop::collection::vec(prop::sample::select(PIECES), 1..6)) {
        prop_assume!(words.iter().all(|word| !word.contains('\0')));
        let line = quote(&words);
        let analysis = analysed(&line);
        let direct: Vec<&Command> = analysis.commands.iter().filter(|command| command.seen_through.is_empty()).collect();
        // With something hidden in it the line is looked at once more, without that.
        let once = !crate::shell::hidden::hides(&line);
        prop_assert!(direct.len() == 1 || !once, "{}", line);
        let expected: Vec<Word> = words.into_iter().map(|word| Word::Literal(word.to_owned())).collect();
        prop_assert_eq!(&direct[0].words, &expected);
    }

    #[test]
    fn no_text_panics(line in any::<String>()) {
        holds(&line, &analysed(&line));
    }

    #[test]
    fn no_shell_like_text_panics(line in shell_like()) {
        holds(&line, &analysed(&line));
    }

    /// What stands before a `;` is found whatever follows it, if it can be read by itself.
    #[test]
    fn a_command_before_others_is_found(line in shell_like()) {
        prop_assume!(!line.contains('\0'));
        let line = format!("rm -rf /srv\n{line}");
        let analysis = analysed(&line);
        prop_assert!(commands(&analysis).iter().any(|command| command == "rm -rf /srv"), "{:?}", line);
    }

    /// The same line gives the same answer.
    #[test]
    fn analysis_is_a_function(line in shell_like()) {
        prop_assert_eq!(analysed(&line), analysed(&line));
    }

    /// A subshell around a line changes how its commands were reached, not which they are.
    #[test]
    fn a_subshell_hides_nothing(line in shell_like()) {
        let plain = analysed(&line);
        // A backslash at the end joins the next line, an open here-document takes it.
        prop_assume!(!line.ends_with('\\') && !line.contains("<<"));
        prop_assume!(plain.opaque.is_empty() && !plain.commands.is_empty());
        let wrapped = analysed(&format!("(\n{line}\n)"));
        if wrapped.opaque.is_empty() {
            prop_assert_eq!(commands(&plain), commands(&wrapped));
        }
    }

    /// A script given to `bash -c` is seen as well as the script itself.
    #[test]
    fn a_script_hides_nothing(line in shell_like()) {
        let plain = analysed(&line);
        prop_assume!(plain.opaque.is_empty() && !plain.commands.is_empty());
        let wrapped = analysed(&quote(&["bash", "-c", "--", &line]));
        let inner: Vec<String> = commands(&wrapped).into_iter().skip(1).collect();
        for command in commands(&plain) {
            prop_assert!(inner.contains(&command), "{} not in {:?}", command, inner);
        }
    }
}

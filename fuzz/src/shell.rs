//! The analysis of shell lines.

use portcullis_policy::{
    AbsPath,
    shell::{Analysis, Limits, ShellContext, analyse, quote},
};

/// A program that no other input names.
const CANARY: &str = "canary-program-4711";

fn analysed(line: &str) -> Analysis {
    let path = |text| AbsPath::parse(text).expect("a path");
    let context = ShellContext {
        cwd: path("/w/proj"),
        home: Some(path("/w/home")),
    };
    analyse(line, &context, Limits::default())
}

/// Any text has an analysis, always the same, within its bounds; words are found again; and a command that stands beside a
/// line that was understood is found beside it.
///
/// # Panics
/// If that does not hold.
pub fn shell(data: &[u8]) {
    let Some(line) = crate::text(data) else { return };
    let analysis = analysed(line);
    assert_eq!(analysis, analysed(line), "the same line, another analysis");
    let words: usize = analysis.commands.iter().map(|command| command.words.len()).sum();
    assert!(words <= Limits::default().steps, "more words than steps");
    for command in &analysis.commands {
        // What the evaluator asks of each command.
        let _ = (
            command.escape_option(),
            command.assignments_harmless(),
            command.is_wrapper(),
        );
    }
    plain_words(line);
    quoted_words(line);
    if analysis.opaque.is_empty() && line.len() < 4096 {
        neighbours(line);
    }
}

/// A line of plain words is one command of these words.
fn plain_words(line: &str) {
    const KEYWORDS: &[&str] = &[
        "if", "then", "elif", "else", "fi", "for", "select", "while", "until", "do", "done", "case", "in", "esac",
        "function", "coproc", "time",
    ];
    let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    let plain = |c: char| c.is_ascii_alphanumeric() || " ./-_:,%+@".contains(c);
    let Some(first) = words
        .first()
        .filter(|_| line.chars().all(plain) && line.len() < 100_000)
    else {
        return;
    };
    if KEYWORDS.contains(first) {
        return;
    }
    let found = analysed(line);
    let command = found.commands.first().expect("a line of words is a command");
    let literals: Vec<&str> = command.words.iter().filter_map(|word| word.literal()).collect();
    assert_eq!(literals, words, "{line:?}");
}

/// Quoted words are read as exactly these words.
fn quoted_words(line: &str) {
    let words: Vec<&str> = line.split('\0').collect();
    if words.first().is_none_or(|word| word.is_empty()) || line.len() > 10_000 {
        return;
    }
    let quoted = quote(&words);
    let found = analysed(&quoted);
    let command = found.commands.first().expect("quoted words are a command");
    let literals: Vec<&str> = command.words.iter().filter_map(|word| word.literal()).collect();
    assert_eq!(literals, words, "{quoted:?}");
}

/// A line that was understood has an end, and so has what stands before it.
fn neighbours(line: &str) {
    let found = |line: &str| {
        let analysis = analysed(line);
        let seen = analysis
            .commands
            .iter()
            .any(|command| command.program() == Some(CANARY));
        assert!(
            seen || !analysis.opaque.is_empty(),
            "{line:?} hides the command beside it"
        );
    };
    found(&format!("{CANARY} a\n{line}"));
    // A backslash at the end joins the next line.
    if !line.ends_with('\\') {
        found(&format!("{line}\n{CANARY} a"));
    }
}

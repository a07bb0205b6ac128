//! How much there is to do for a decision about one line, before it is done.
//!
//! The analysis has a budget of its own; a line that fits in it may still name thousands of patterns, or programs whose input has
//! to be looked through for each of them. What is counted depends on the line alone, so that the same line gets the same
//! answer everywhere. It measures nothing: `cargo xtask differential --hostile` does.

use crate::shell::{Command, FileTarget};

use super::told;

/// So much is done for one line, in units of about 25 ns: some 50 ms.
pub(super) const BUDGET: usize = 1 << 21;
/// What a command costs that has no words.
const COMMAND: usize = 220;
/// What each of its first words costs: they are what spellings of it are made of.
const WORD: usize = 250;
/// How many those are. Thousands of operands cost what they name, and a little more.
const FIRST_WORDS: usize = 16;
/// What each of the others costs, which may be a file.
const FURTHER_WORD: usize = 24;
/// What an option costs, which is looked for in several tables.
const OPTION: usize = 64;
/// What a pattern of files costs: it is compared with rules, protected paths and names below folders.
const PATTERN: usize = 4_096;
/// What a path costs.
const PATH: usize = 150;
/// What a letter costs of a text in which commands and files are looked for.
const LETTER: usize = 16;

/// What a command costs. `documents`: whether the line has here-documents at all; it is long, and asked about for each command.
pub(super) fn of(line: &str, documents: bool, command: &Command) -> usize {
    let targets = command.files.iter().map(|access| match &access.target {
        FileTarget::Pattern { .. } => PATTERN,
        FileTarget::Path(_) | FileTarget::Unknown(_) => PATH,
    });
    let told = match told::looks_through_line(line, documents, command) {
        true => line.len(),
        false => 0,
    };
    let options = command.words.iter().filter(|word| !word.is_operand());
    (COMMAND + command.text.len())
        .saturating_add(command.words.len().min(FIRST_WORDS).saturating_mul(WORD))
        .saturating_add(command.words.len().saturating_mul(FURTHER_WORD))
        .saturating_add(options.count().saturating_mul(OPTION))
        .saturating_add(targets.sum())
        .saturating_add(told.saturating_mul(LETTER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AbsPath,
        shell::{self, Limits, ShellContext},
    };

    fn cost(line: &str) -> usize {
        let context = ShellContext {
            cwd: AbsPath::root(),
            home: None,
        };
        let analysis = shell::analyse(line, &context, Limits::default());
        analysis
            .commands
            .iter()
            .map(|command| of(line, line.contains("<<"), command))
            .sum()
    }

    #[test]
    fn what_people_write_is_within_the_budget() {
        for line in [
            "git status".to_owned(),
            "cat src/*.rs docs/**/*.md | wc -l".to_owned(),
            format!("git add {}", "some/file.txt ".repeat(10_000)),
            "a;".repeat(4_096),
            format!("python3 - <<'E'\n{}E", "print(1)\n".repeat(1_000)),
        ] {
            assert!(cost(&line) < BUDGET, "{:.40}: {}", line, cost(&line));
        }
    }

    #[test]
    fn what_takes_long_is_not_within_it() {
        assert!(cost(&"kubectl get a -n b -o c -w;".repeat(4_000)) > BUDGET);
        assert!(cost(&format!("find .{}", " -exec".repeat(40_000))) > BUDGET);
        let patterns: String = (0..2_000).map(|number| format!("a{number}*.ts ")).collect();
        assert!(cost(&format!("cat {patterns}")) > BUDGET);
        assert!(cost(&format!("{}\n{}", "python3 - <<E;".repeat(300), "E\n".repeat(300))) > BUDGET);
    }
}

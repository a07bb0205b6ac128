//! Lines that people and attackers have written, with small damage: a byte more, a byte less, two lines spliced.

use crate::random::Random;

/// Pieces that matter to a shell reader.
const PIECES: &[&str] = &[
    "'",
    "\"",
    "`",
    "$(",
    ")",
    "(",
    "{",
    "}",
    ";",
    "&",
    "|",
    "\n",
    "\\",
    "\\\n",
    "#",
    " ",
    "\t",
    "<<E\n",
    "\nE\n",
    "$'",
    "\r",
    "\u{b}",
    "\u{c}",
    "\u{1}",
    "\u{a0}",
    "\u{2003}",
    "é",
    "<",
    ">",
    ">>",
    "<(",
    "${",
    "$((",
    "))",
    "[[",
    "]]",
    "!",
    "=",
    "*",
    "?",
    "[",
    "]",
    "~",
    ";;",
    "&&",
    "||",
    ">|",
    "<>",
    "&>",
    "2>&1",
    "<<<",
    "<<-E\n",
    "$\"",
    "esac",
    "done",
    "fi",
    "do ",
    "then ",
    "if ",
    "while ",
    "case a in a) ",
    "time ",
    "coproc ",
    "function ",
    "@(",
    "!(",
    "|&",
    "$X",
    "${X}",
    "%",
];

/// A line made from `seeds`; each is one command of the collected cases.
pub fn line(random: &mut Random, seeds: &[String]) -> String {
    if seeds.is_empty() {
        return String::new();
    }
    let mut chars: Vec<char> = seeds[random.below(seeds.len())].chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(chars.len() + 1);
        match random.below(7) {
            0 if at < chars.len() => drop(chars.remove(at)),
            1 => {
                let end = (at + random.below(8)).min(chars.len());
                drop(chars.drain(at..end));
            }
            2 => {
                let other: Vec<char> = seeds[random.below(seeds.len())].chars().collect();
                let from = random.below(other.len() + 1);
                chars.truncate(at);
                chars.extend(&other[from..]);
            }
            3 if at < chars.len() => {
                let flipped = (chars[at] as u8) ^ (1 << random.below(7));
                if chars[at].is_ascii() && flipped != 0 {
                    chars[at] = flipped as char;
                }
            }
            4 => {
                let other: Vec<char> = seeds[random.below(seeds.len())].chars().collect();
                let from = random.below(other.len() + 1);
                let to = (from + random.below(30)).min(other.len());
                drop(chars.splice(at..at, other[from..to].iter().copied()));
            }
            _ => drop(chars.splice(at..at, random.pick(PIECES).chars())),
        }
    }
    chars.into_iter().filter(|c| *c != '\0').take(1500).collect()
}

/// The commands of the collected cases: one JSON object a line, the command in `call.command`.
#[must_use]
pub fn seeds(cases: &str) -> Vec<String> {
    let commands = cases.lines().filter_map(|line| {
        let case: serde_json::Value = serde_json::from_str(line).ok()?;
        case.get("call")?.get("command")?.as_str().map(str::to_owned)
    });
    // A fork bomb would be followed faithfully by bash.
    commands.filter(|command| !command.contains(":|:")).collect()
}

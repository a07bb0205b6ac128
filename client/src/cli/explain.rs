//! The explanation of a decision for people: part by part the rules that speak about it, then what would turn the answer.
//!
//! Shown by `portcullis explain` and `portcullis decide --explain`. Long lines are wrapped; nothing rests on colour.

use std::fmt::Write as _;

use portcullis_client::{
    Answer, Verdict,
    answer::{Change, Explanation, MatchingRule, Standing},
};
use portcullis_policy::evaluate::suggest;

use super::{
    decide::rule_text,
    output::{printable, verdict},
};

/// Longest line, in characters.
const WIDTH: usize = 100;

/// The explanation. `asked` is the call as it was asked about.
pub(super) fn text(answer: &Answer, explanation: &Explanation, asked: &str) -> String {
    let mut out = format!("{}  {}\n", verdict(Some(answer.verdict())), printable(asked));
    match &answer.rule {
        Some(rule) => put(&mut out, 6, "decided by: ", &rule_text(rule)),
        None => put(&mut out, 6, "decided by: ", &answer.decided_by.to_string()),
    }
    put(&mut out, 6, "why: ", &answer.user_message);
    for (index, entry) in answer.trace.iter().enumerate() {
        let part = explanation.parts.get(index);
        let standing = part.and_then(|part| part.standing).map_or("", words);
        let _ = writeln!(out, "part {}: {}", index + 1, printable(&entry.subject));
        if !entry.seen_through.is_empty() {
            put(&mut out, 6, "by way of: ", &entry.seen_through.join(" > "));
        }
        let word = entry
            .verdict
            .map_or_else(|| "?".to_owned(), |verdict| verdict.to_string());
        let said = [standing, entry.reason.as_str()]
            .iter()
            .filter(|text| !text.is_empty())
            .copied()
            .collect::<Vec<_>>();
        put(&mut out, 6, &format!("{word}: "), &said.join(": "));
        let rules = part.map_or(&[][..], |part| &part.rules);
        for matching in rules {
            put(&mut out, 6, label(matching), &rule_text(&matching.rule));
        }
        if part.is_some() && rules.is_empty() {
            out.push_str("      no rule speaks about it\n");
        }
    }
    if answer.verdict() != Verdict::Allow {
        if !explanation.changes.is_empty() {
            out.push_str("what would turn the answer, nearest first (each was tried):\n");
        }
        for (index, change) in explanation.changes.iter().enumerate() {
            put_change(&mut out, index + 1, change);
        }
        if let Some(why) = &explanation.no_change {
            put(&mut out, 0, "", why);
        }
    }
    out.push_str("nothing was recorded\n");
    out
}

fn words(standing: Standing) -> &'static str {
    match standing {
        Standing::Allowed => "allowed",
        Standing::Forbidden => "forbidden",
        Standing::NothingMatched => "nothing matched",
        Standing::Unknown => "not known",
    }
}

fn label(matching: &MatchingRule) -> &'static str {
    match (matching.decided, matching.rule.effect) {
        (true, _) => "decided: ",
        (false, Some(Verdict::Allow)) => "also allow: ",
        (false, Some(Verdict::Ask)) => "also ask: ",
        (false, Some(Verdict::Deny)) => "also deny: ",
        (false, None) => "also: ",
    }
}

fn put_change(out: &mut String, number: usize, change: &Change) {
    let word = change
        .would_be
        .map_or_else(|| "?".to_owned(), |verdict| verdict.to_string());
    for (index, step) in change.steps.iter().enumerate() {
        let label = if index == 0 {
            format!("{number}. {word}: ")
        } else {
            "   and ".to_owned()
        };
        put(out, 3, &label, &step.text);
        if !step.added_rule.is_empty() {
            put_examples(out, "         ", &step.added_rule);
        }
    }
}

/// What a rule that is suggested would match, and what not.
pub(super) fn put_examples(out: &mut String, indent: &str, rule: &str) {
    let Some(examples) = suggest::examples(rule) else {
        return;
    };
    for (label, list) in [("matches: ", examples.covers), ("not: ", examples.leaves)] {
        if !list.is_empty() {
            let list: Vec<String> = list.iter().map(|example| format!("`{example}`")).collect();
            put(out, indent.len(), label, &list.join(", "));
        }
    }
}

/// A text behind a label, wrapped at blanks; what follows is indented further.
fn put(out: &mut String, indent: usize, label: &str, text: &str) {
    let text = printable(text);
    let hanging = indent + label.chars().count();
    let _ = write!(out, "{:indent$}{label}", "");
    let mut column = hanging;
    for (index, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > WIDTH {
            let _ = write!(out, "\n{:hanging$}", "");
            column = hanging;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_wrapped_and_nothing_is_lost() {
        let text = "word ".repeat(60);
        let mut out = String::new();
        put(&mut out, 6, "why: ", text.trim_end());
        assert!(
            out.lines().count() > 3 && out.lines().all(|line| line.chars().count() <= WIDTH),
            "{out}"
        );
        assert_eq!(out.split_whitespace().filter(|word| *word == "word").count(), 60);
        assert!(
            out.lines().skip(1).all(|line| line.starts_with("           word")),
            "{out}"
        );
    }

    #[test]
    fn a_suggested_rule_is_shown_with_examples() {
        let mut out = String::new();
        put_examples(&mut out, "   ", "Bash(npm run lint:*)");
        assert_eq!(
            out,
            "   matches: `npm run lint`, `npm run lint --verbose`, `npm run lint x y`\n   \
             not: `npm run lint-other`, `npm run other`, `npm run`\n"
        );
        put_examples(&mut out, "   ", "WebSearch");
        assert_eq!(out.lines().count(), 2);
    }
}

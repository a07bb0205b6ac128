//! The texts that a command is compared as, restated: an allow sees it as written and in canonical form, a deny or ask also
//! without quotes, without the program's folder, with and without assignments, and without options in front of other words.

use portcullis_policy::shell::{Command, Word, quote};

fn joined(words: &[Word], quoted: bool) -> String {
    let texts: Vec<String> = words
        .iter()
        .map(|word| match word {
            Word::Literal(text) if quoted => quote(&["x", text])[2..].to_owned(),
            Word::Literal(text) | Word::Dynamic { source: text, .. } => text.clone(),
        })
        .collect();
    texts.join(" ")
}

fn assigned(command: &Command) -> String {
    command
        .assignments
        .iter()
        .map(|assignment| {
            format!(
                "{}={} ",
                assignment.name,
                joined(std::slice::from_ref(&assignment.value), true)
            )
        })
        .collect()
}

pub(crate) fn narrow(command: &Command) -> Vec<String> {
    if command.words.is_empty() {
        return Vec::new();
    }
    let plain = [command.text.clone(), joined(&command.words, true)];
    let front = assigned(command);
    let with = plain.iter().map(|text| format!("{front}{text}")).collect();
    if front.is_empty() || !command.assignments_harmless() {
        return with;
    }
    [with, plain.to_vec()].concat()
}

pub(crate) fn wide(command: &Command) -> Vec<String> {
    let Some(first) = command.words.first() else {
        return Vec::new();
    };
    let mut spellings = vec![command.words.clone()];
    let mut forced = Vec::new();
    if let Word::Literal(program) = first {
        let name = program.rsplit('/').next().unwrap().to_owned();
        let mut words = command.words.clone();
        words[0] = Word::Literal(name.clone());
        spellings.push(words.clone());
        spellings.extend(left_out(&words, 1, 3));
        // The long names of options, as the generator has them: two, one behind the other.
        let long: Vec<Option<&str>> = words.iter().skip(1).take(2).map(Word::literal).collect();
        if name == "rm" && long == [Some("--recursive"), Some("--force")] {
            let joined = Word::Literal("-rf".to_owned());
            spellings.push([&words[..1], &[joined], &words[3..]].concat());
        }
        if name == "git" {
            while words.len() > 1 && words[1].literal().is_some_and(|word| word.starts_with('-')) {
                let takes_value = words[1].literal() == Some("-C");
                words.remove(1);
                if takes_value && words.len() > 1 {
                    words.remove(1);
                }
            }
            forced = force_pushes(&words);
            // It is a push by another name; the generator has this one.
            if words.get(1).and_then(Word::literal) == Some("subtree") {
                spellings.push([&words[..1], &words[2..]].concat());
            }
        }
    }
    let mut texts = vec![command.text.clone()];
    texts.extend(forced);
    texts.extend(
        spellings
            .iter()
            .flat_map(|words| [joined(words, true), joined(words, false)]),
    );
    let front = assigned(command);
    let with: Vec<String> = texts.iter().map(|text| format!("{front}{text}")).collect();
    texts.extend(with);
    texts
}

/// The words without one or more options that stand at `at`, and without options further behind as long as no more than
/// `words` words stand before them. An option may have the next word as its value; of those that the generator has, it is
/// known of git's `-C`, npm's `-w` and npm's `--silent` whether they do.
fn left_out(line: &[Word], at: usize, words: usize) -> Vec<Vec<Word>> {
    let is_option = |place: usize| {
        let text = match line.get(place) {
            Some(Word::Literal(text)) => text.as_str(),
            Some(Word::Dynamic { source, .. }) => source.trim_start_matches('"'),
            None => "",
        };
        text.len() > 1 && text.starts_with('-')
    };
    if at >= line.len() {
        return Vec::new();
    }
    if !is_option(at) {
        return if words == 0 {
            Vec::new()
        } else {
            left_out(line, at + 1, words - 1)
        };
    }
    let text = line[at].literal().unwrap_or_default();
    let program = line[0].literal().unwrap_or_default();
    let with_value = at + 1 < line.len() && !is_option(at + 1) && !text.contains('=') && text != "--";
    let lengths: &[usize] = match (program, text) {
        ("npm", "--silent") => &[1],
        ("git", "-C") | ("npm", "-w") if with_value => &[2],
        _ if with_value => &[1, 2],
        _ => &[1],
    };
    let mut all = Vec::new();
    for length in lengths {
        let shorter = [&line[..at], &line[at + length..]].concat();
        if shorter.len() > at {
            all.extend(left_out(&shorter, at, words));
            all.push(shorter);
        }
    }
    all
}

/// A force push in the words that people write in rules: one text per branch. The generator has `-f` and `+branch`.
fn force_pushes(words: &[Word]) -> Vec<String> {
    let texts: Vec<&str> = words.iter().filter_map(Word::literal).collect();
    if texts.get(1) != Some(&"push") {
        return Vec::new();
    }
    let all = texts.contains(&"-f");
    let mut operands = texts[2..].iter().filter(|word| !word.starts_with('-'));
    let Some(remote) = operands.next() else {
        return Vec::new();
    };
    let branches: Vec<&&str> = operands.collect();
    if all && branches.is_empty() {
        return vec![format!("git push --force {remote}")];
    }
    branches
        .iter()
        .filter(|branch| all || branch.starts_with('+'))
        .map(|branch| format!("git push --force {remote} {}", branch.trim_start_matches('+')))
        .collect()
}

/// The command, and its spellings without options, with `\0` for each word that is only known at run time; none if there is
/// no such word.
pub(crate) fn with_gaps(command: &Command) -> Vec<String> {
    let unknown = |word: &Word| matches!(word, Word::Dynamic { .. });
    let mut all = vec![command.words.clone()];
    if let Some(Word::Literal(program)) = command.words.first() {
        let mut words = command.words.clone();
        words[0] = Word::Literal(program.rsplit('/').next().unwrap().to_owned());
        all = left_out(&words, 1, 3);
        all.push(words);
    }
    if !command.words.iter().any(unknown) {
        return Vec::new();
    }
    let shown = all.iter().map(|words| {
        let words: Vec<&str> = words
            .iter()
            .map(|word| match word {
                Word::Dynamic { .. } => "\0",
                Word::Literal(text) => text,
            })
            .collect();
        words.join(" ")
    });
    shown.collect()
}

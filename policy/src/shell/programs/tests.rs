use std::collections::HashSet;

use super::*;

fn raws() -> Vec<Raw> {
    let read = |(file, text): &(&str, &str)| -> Raws { data::read(file, text) };
    FILES.iter().flat_map(|file| read(file).program).collect()
}

#[test]
fn each_name_stands_once() {
    let mut seen = HashSet::new();
    for name in raws().iter().flat_map(|raw| data::full_names(&raw.names, &raw.verbs)) {
        assert!(seen.insert(name.clone()), "{name} twice");
    }
}

#[test]
fn each_dangerous_option_says_why() {
    for raw in raws() {
        for (options, why) in &raw.escapes {
            assert!(
                why.split(' ').count() >= 3,
                "{} {options}: `{why}` says too little",
                raw.names
            );
            assert!(!options.trim().is_empty(), "{}", raw.names);
        }
    }
}

#[test]
fn each_option_stands_in_one_list() {
    for raw in raws() {
        let mut seen = HashSet::new();
        let flags = raw.flags.clone().unwrap_or_default();
        let lists = [
            &raw.values,
            &raw.attached,
            &raw.reads,
            &raw.writes,
            &raw.prefixed,
            &raw.hosts,
            &flags,
        ];
        for option in lists.into_iter().flat_map(|list| list.split_whitespace()) {
            assert!(option.starts_with(['-', '+']), "{}: {option} is no option", raw.names);
            let short = !option.starts_with("--") && !raw.one_dash;
            assert!(
                !short || option.chars().count() == 2,
                "{}: {option} is two options",
                raw.names
            );
            assert!(seen.insert(option.to_owned()), "{}: {option} twice", raw.names);
        }
    }
}

#[test]
fn what_only_looks_with_flags_of_its_own_lists_no_dangerous_one_among_them() {
    for raw in raws() {
        let flags = raw.flags.clone().unwrap_or_default();
        for flag in flags.split_whitespace() {
            let dangerous = raw
                .escapes
                .keys()
                .any(|options| options.split_whitespace().any(|option| option == flag));
            assert!(!dangerous, "{} {flag}", raw.names);
        }
    }
}

#[test]
fn what_only_looks_and_can_escape_lists_all_its_flags() {
    for raw in raws() {
        if raw.kind == Kind::Looks && !raw.escapes.is_empty() {
            assert!(
                raw.flags.is_some(),
                "{}: an option that is not known could be as bad",
                raw.names
            );
        }
        if raw.kind == Kind::Looks {
            assert!(
                raw.writes.is_empty()
                    || raw.escapes.keys().any(|options| {
                        raw.writes
                            .split_whitespace()
                            .all(|option| options.split_whitespace().any(|known| known == option))
                    }),
                "{}: writes",
                raw.names
            );
        }
    }
}

#[test]
fn an_option_that_runs_a_command_is_among_the_dangerous() {
    for raw in raws() {
        for option in raw.runs.split_whitespace() {
            let dangerous = |options: &String| options.split_whitespace().any(|known| known == option);
            assert!(raw.escapes.keys().any(dangerous), "{} {option}", raw.names);
            let lists = [&raw.values, &raw.reads, &raw.writes];
            let valued = lists
                .iter()
                .any(|list| list.split_whitespace().any(|known| known == option));
            assert!(valued, "{} {option} takes no value", raw.names);
        }
    }
}

#[test]
fn a_subcommand_has_an_entry_for_its_program() {
    for (name, _) in PROGRAMS.iter() {
        if let Some((program, _)) = name.split_once(' ') {
            assert!(find(program).is_some(), "{name}");
        }
    }
}

#[test]
fn subcommands_are_found_behind_global_options() {
    let known = |line: &str| {
        let words: Vec<Word> = line
            .split(' ')
            .skip(1)
            .map(|word| Word::Literal(word.to_owned()))
            .collect();
        know(line.split(' ').next().unwrap_or_default(), &words).map(|known| (known.last().kind, known.from()))
    };
    assert_eq!(known("docker ps -a"), Some((Kind::Looks, 1)));
    assert_eq!(known("docker -H tcp://h:1 ps"), Some((Kind::Looks, 3)));
    assert_eq!(known("docker rm x"), Some((Kind::Other, 0)));
    assert_eq!(known("docker compose ps"), Some((Kind::Looks, 2)));
    assert_eq!(known("no-such-program ps"), None);
}

#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "a test looks into its own folder; the crate itself reads nothing"
)]
fn every_file_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/programs");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<String> = entries
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    let listed: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, listed);
}

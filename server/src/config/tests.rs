//! Configurations as files whose names are their faults, and the order of the sources.

use std::{collections::BTreeMap, fs, path::Path};

use super::*;

fn environment(variables: &[(&str, &str)]) -> Environment {
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Environment {
        variables: variables.collect::<BTreeMap<_, _>>(),
        default_data_dir: Some("/home/p/.local/share/portcullis".into()),
        default_config: None,
    }
}

fn check_file(path: &Path) -> Result<Config, Vec<Fault>> {
    let flags = Flags {
        config: Some(path.to_owned()),
        ..Flags::default()
    };
    Config::check(&Sources::read(&flags, &environment(&[])))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn valid_files_are_accepted() {
    for path in files("valid") {
        check_file(&path).unwrap_or_else(|faults| panic!("{}: {faults:?}", path.display()));
    }
}

/// The complaints about every invalid file, as a person reads them, compared with those that were reviewed.
#[test]
fn invalid_files_are_refused_as_reviewed() {
    let mut report = String::new();
    for path in files("invalid") {
        let faults = check_file(&path).expect_err(&path.display().to_string());
        let name = path.file_name().unwrap().to_string_lossy();
        for fault in faults {
            let line = fault.to_string().replace(&path.display().to_string(), &name);
            report.push_str(&line);
            report.push('\n');
        }
        report.push('\n');
    }
    let reviewed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config/invalid.txt");
    if std::env::var_os("PORTCULLIS_REVIEW").is_some() {
        fs::write(&reviewed, &report).unwrap();
    }
    let expected = fs::read_to_string(&reviewed).unwrap_or_default();
    assert_eq!(
        report, expected,
        "review the change, then run this with PORTCULLIS_REVIEW=1"
    );
}

#[test]
fn every_default_is_accepted() {
    let config = Config::check(&Sources::read(&Flags::default(), &environment(&[]))).unwrap();
    assert_eq!(config.decide.ticket_lifetime, Duration::from_secs(60));
    assert_eq!(config.listen.address.to_string(), "127.0.0.1:7451");
}

#[test]
fn what_is_later_wins() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("server.toml");
    fs::write(&file, "listen = \"127.0.0.1:1\"\nmax_tails = 1\n").unwrap();
    let variables = environment(&[
        ("PORTCULLIS_SERVER_CONFIG", file.to_str().unwrap()),
        ("PORTCULLIS_SERVER_LISTEN", "127.0.0.1:2"),
        ("PORTCULLIS_SERVER_MAX_TAILS", "2"),
    ]);
    let flags = Flags {
        listen: Some("127.0.0.1:3".to_owned()),
        ..Flags::default()
    };
    let sources = Sources::read(&flags, &variables);
    assert_eq!(
        sources.value("listen"),
        ("127.0.0.1:3".to_owned(), Origin::Flag("--listen"))
    );
    let variable = Origin::Variable("PORTCULLIS_SERVER_MAX_TAILS".to_owned());
    assert_eq!(sources.value("max_tails"), ("2".to_owned(), variable));
    assert!(Config::check(&sources).is_ok());
}

#[test]
fn a_file_that_was_named_has_to_be_there_and_the_usual_one_need_not() {
    let missing = PathBuf::from("/nowhere/server.toml");
    let usual = Environment {
        default_config: Some(missing.clone()),
        ..environment(&[])
    };
    assert!(Config::check(&Sources::read(&Flags::default(), &usual)).is_ok());
    assert!(check_file(&missing).is_err());
}

#[test]
fn an_unknown_variable_is_a_fault_but_only_with_our_prefix() {
    let faults = Config::check(&Sources::read(
        &Flags::default(),
        &environment(&[("PORTCULLIS_SERVER_LISTN", "x")]),
    ));
    let text = faults.unwrap_err().iter().map(ToString::to_string).collect::<String>();
    assert_eq!(
        text,
        "environment variable PORTCULLIS_SERVER_LISTN: unknown key `listn`; did you mean `listen`?"
    );
}

#[test]
fn what_is_shown_can_be_read_again() {
    let temp = tempfile::tempdir().unwrap();
    let variables = environment(&[("PORTCULLIS_DATA_DIR", "/a \"quoted\" folder")]);
    let sources = Sources::read(&Flags::default(), &variables);
    let file = temp.path().join("server.toml");
    fs::write(&file, show(&sources)).unwrap();
    assert_eq!(check_file(&file), Config::check(&sources));
}

#[test]
fn each_key_is_checked() {
    // A value that no key accepts, for each kind: whoever adds a key and forgets its check fails here.
    for key in KEYS {
        let name = format!("PORTCULLIS_SERVER_{}", key.name.to_uppercase());
        let bad = match key.kind {
            Kind::Number { .. } | Kind::Bool => "x",
            Kind::Text if ["listen", "log_format"].contains(&key.name) => "x",
            Kind::Text if key.name == "log_filter" => "a=b=c",
            Kind::Text => continue,
        };
        let sources = Sources::read(&Flags::default(), &environment(&[(&name, bad)]));
        assert!(Config::check(&sources).is_err(), "{name}={bad}");
    }
}

#[test]
fn the_documents_name_every_key_with_its_default_and_bounds() {
    let documents = [
        include_str!("../../../docs/configuration.md"),
        include_str!("../../README.md"),
    ];
    for document in documents {
        for key in KEYS {
            let row = document
                .lines()
                .find(|line| line.starts_with('|') && line.contains(&format!("`{}`", key.name)))
                .unwrap_or_else(|| panic!("`{}` is not documented", key.name));
            assert!(row.contains(key.default), "{row}: {}", key.default);
            if let Kind::Number { min, max } = key.kind {
                assert!(row.contains(&format!(" {min} to {max}")), "{row}: {min} to {max}");
            }
        }
    }
}

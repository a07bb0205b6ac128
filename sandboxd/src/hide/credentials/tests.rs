//! What of a home folder is hidden.

use std::os::unix::fs::symlink;

use super::*;

const KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n";

struct Home {
    _keep: tempfile::TempDir,
    path: PathBuf,
}

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = keep.path().canonicalize().unwrap();
        for (file, text) in files {
            let file = path.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        Self { _keep: keep, path }
    }

    fn found(&self, revealed: &[&str], root: &str, variables: &[(&str, &str)]) -> Found {
        let person = Person {
            home: Some(self.path.clone()),
            ..Person::default()
        };
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), self.path.join(value)));
        let revealed: Vec<String> = revealed
            .iter()
            .map(|path| self.path.join(path).to_str().unwrap().to_owned())
            .collect();
        find(
            &person.with_variables(variables),
            &revealed,
            &[],
            &[self.path.join(root)],
        )
    }

    /// What is hidden in it, as relative paths.
    fn hidden(&self, revealed: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
        let found = self.found(revealed, "ws", variables);
        assert_eq!(found.missing, [""; 0]);
        let below = found
            .masked
            .iter()
            .filter_map(|path| path.strip_prefix(&self.path).ok());
        let mut below: Vec<String> = below.map(|path| path.to_str().unwrap().to_owned()).collect();
        below.sort();
        below
    }
}

#[test]
fn of_ssh_the_keys_are_hidden_and_nothing_else() {
    let home = Home::new(&[
        (".ssh/id_ed25519", KEY),
        (".ssh/id_rsa", "of another form"),
        (".ssh/id_ed25519.pub", "ssh-ed25519 AAAA"),
        (".ssh/id_ed25519-cert.pub", "ssh-ed25519-cert-v01@openssh.com AAAA"),
        (".ssh/work", KEY),
        (".ssh/sub/deploy", "# mine\n-----BEGIN RSA PRIVATE KEY-----\n"),
        (".ssh/config", "Host *\n"),
        (".ssh/known_hosts", "host ssh-ed25519 AAAA"),
        ("vault/key", KEY),
    ]);
    symlink(home.path.join("vault/key"), home.path.join(".ssh/linked")).unwrap();
    let all = [
        ".ssh/id_ed25519",
        ".ssh/id_rsa",
        ".ssh/sub/deploy",
        ".ssh/work",
        "vault/key",
    ];
    assert_eq!(home.hidden(&[], &[]), all);
    assert_eq!(home.hidden(&[".ssh/work", ".ssh/linked"], &[]), all[..3]);
    // Only the exact path: naming the folder above a key frees none but what is named.
    assert_eq!(home.hidden(&["."], &[]), all);
}

#[test]
fn files_that_are_settings_too_are_hidden_only_with_a_secret() {
    let npmrc = |text| Home::new(&[(".npmrc", text)]).hidden(&[], &[]);
    assert_eq!(npmrc("registry=https://registry.example/\n"), [""; 0]);
    assert_eq!(npmrc("//registry.example/:_authToken=x\n"), [".npmrc"]);
    assert_eq!(npmrc("//registry.example/:_AUTH=x\n"), [".npmrc"]);
    let home = Home::new(&[
        (".gradle/gradle.properties", "org.gradle.jvmargs=-Xmx2g\n"),
        (".m2/settings.xml", "<password>x</password>"),
    ]);
    assert_eq!(home.hidden(&[], &[]), [".m2/settings.xml"]);
}

#[test]
fn every_place_of_the_table_is_hidden_where_it_exists_and_free_where_it_is_named() {
    for entry in &hidden_places().unwrap().hidden {
        let Some(rest) = entry.path.strip_prefix("~/").filter(|_| !entry.keys) else {
            continue;
        };
        let text = entry.holds.first().map_or("x", String::as_str);
        let home = Home::new(&[(rest, text)]);
        assert_eq!(home.hidden(&[], &[]), [rest]);
        assert_eq!(home.hidden(&[rest], &[]), [""; 0]);
        assert_eq!(Home::new(&[(&format!("{rest}x"), text)]).hidden(&[], &[]), [""; 0]);
    }
}

#[test]
fn what_a_variable_puts_elsewhere_is_hidden_there_too() {
    let home = Home::new(&[
        ("cfg/gh/hosts.yml", "x"),
        ("c/credentials.toml", "x"),
        (".config/gh/hosts.yml", "x"),
    ]);
    assert_eq!(home.hidden(&[], &[]), [".config/gh"]);
    let variables = [("XDG_CONFIG_HOME", "cfg"), ("CARGO_HOME", "c"), ("OTHER", "cfg")];
    assert_eq!(
        home.hidden(&[], &variables),
        [".config/gh", "c/credentials.toml", "cfg/gh"]
    );
}

#[test]
fn a_workspace_in_such_a_folder_is_said() {
    let home = Home::new(&[(".aws/ws/x", "x"), (".netrc", "x")]);
    let found = home.found(&[], ".aws/ws", &[]);
    assert!(
        found.missing.len() == 1 && found.missing[0].contains("additionalReadonlyPaths"),
        "{found:?}"
    );
    assert!(found.masked.contains(&home.path.join(".netrc")));
    assert_eq!(home.found(&[".aws"], ".aws/ws", &[]).missing, [""; 0]);
}

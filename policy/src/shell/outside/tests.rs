//! Which words of a command name files, by examples.

use super::{
    table::{FILE, Raws},
    *,
};
use crate::{
    AbsPath,
    shell::{self, Limits, data},
};

#[test]
fn each_entry_has_words_and_a_reason() {
    let raws: Raws = data::read("outside.toml", FILE);
    for raw in raws.tree.iter().chain(&raws.harmless) {
        assert!(
            raw.paths.split_whitespace().all(|path| path.starts_with('/')),
            "{}",
            raw.paths
        );
        assert!(raw.why.len() > 5, "{}", raw.paths);
    }
    for raw in &raws.output {
        assert!(!raw.names.is_empty() && raw.why.len() > 5, "{}", raw.names);
    }
    for raw in &raws.program {
        let options = raw.texts.split_whitespace().all(|option| option.starts_with('-'));
        assert!(options && raw.why.len() > 5, "{}", raw.names);
    }
}

/// What the words of the first command name.
fn named(line: &str) -> Vec<String> {
    let home = AbsPath::root().join("home/dev");
    let context = ShellContext {
        cwd: home.join("proj"),
        home: Some(home),
    };
    let analysis = shell::analyse(line, &context, Limits::default());
    let named = analysis.commands.into_iter().next().map(|command| command.named);
    let shown = |named: Named| match named.target {
        FileTarget::Path(path) => path.to_string(),
        FileTarget::Pattern { pattern, .. } => pattern,
        FileTarget::Unknown(source) => format!("?{source}"),
    };
    named.unwrap_or_default().into_iter().map(shown).collect()
}

#[test]
fn files_are_found_wherever_they_stand_in_a_word() {
    for (line, path) in [
        ("foo ~/.ssh/x", "/home/dev/.ssh/x"),
        ("foo '~/.ssh/x'", "/home/dev/.ssh/x"),
        ("foo ~", "/home/dev"),
        ("foo --a=~root/x", "/root/x"),
        ("foo ~other/x", "/home/other/x"),
        ("foo -o/etc/x", "/etc/x"),
        ("foo -xzf/etc/x", "/etc/x"),
        ("foo -o../x", "/home/dev/x"),
        ("foo --out=/etc/x", "/etc/x"),
        ("foo --out=/opt/x", "/opt/x"),
        ("foo -test.coverprofile=/opt/x", "/opt/x"),
        ("foo a=@/etc/x", "/etc/x"),
        ("foo @/etc/x", "/etc/x"),
        ("foo +/tmp/x", "/tmp/x"),
        ("foo id=a,src=/etc/x,y", "/etc/x"),
        ("foo file:///etc/x", "/etc/x"),
        ("foo a=file:///%65tc/x", "/etc/x"),
        ("foo file://~/x", "/home/dev/x"),
        ("foo fileb:///etc/x", "/etc/x"),
        ("foo sqlite:////etc/x", "/etc/x"),
        ("foo -o '/etc/a b'", "/etc/a b"),
        ("foo --in=\"$HOME/$X\"", "/home/dev"),
        ("foo -bl:/etc/x", "/etc/x"),
        ("foo /etc/a:/opt/b", "/etc/a"),
        ("foo -- -o /etc/x", "/etc/x"),
        ("foo ../x", "/home/dev/x"),
        ("foo a/../../x", "/home/dev/x"),
        ("foo /usr/../etc/x", "/etc/x"),
        ("foo //etc/x", "/etc/x"),
        ("foo /etc/*.conf", "/etc"),
        ("foo /etc/$X", "/etc"),
        ("foo \"$HOME/$X\"", "/home/dev"),
        ("foo --in='/etc/a b'", "/etc/a b"),
        ("foo '/etc/a b/c'", "/etc/a b/c"),
        ("foo --output=.git/hooks/x", "/home/dev/proj/.git/hooks/x"),
        ("foo -o .npmrc", "/home/dev/proj/.npmrc"),
        ("foo .git/hooks/x", "/home/dev/proj/.git/hooks/x"),
        ("docker run -v /etc/a:/b img", "/etc/a"),
        ("python3 -m foo /etc/x", "/etc/x"),
        ("docker build -fe /etc", "/etc"),
        ("docker run --volume=/etc:/x img", "/etc"),
        ("adb push /etc/x shell", "/etc/x"),
        ("redis-cli --rdb /etc/x get", "/etc/x"),
        ("vault kv put a b=@/etc/x", "/etc/x"),
        ("aws ssm put-parameter --name x --value file:///etc/x", "/etc/x"),
        ("perl -c /etc/x", "/etc/x"),
        ("curl --output-dir /opt/x -O https://a.test", "/opt/x"),
        ("cargo rustc -- -o /etc/x", "/etc/x"),
    ] {
        assert!(
            named(line).iter().any(|found| found == path),
            "{line}: {:?}",
            named(line)
        );
    }
}

#[test]
fn what_is_no_file_is_not_noted() {
    for line in [
        "foo /dev/null",
        "foo /dev/ttyUSB0",
        "foo --prefix=/usr/local",
        "foo /opt/x",
        "foo https://a.test/etc/x",
        "foo --url=https://a.test:80/etc/x",
        "foo me@a.test:/etc/x",
        "foo 'the file /etc/x is read'",
        "foo '/etc is full'",
        "foo x@~1.2 '~1.3' a...b 1..2",
        "foo /home/dev/proj/a",
        "foo -Ibuild/tmp/x",
        "foo .vscode/settings.json",
        "foo --config .npmrc",
        "git commit -am /etc/x",
        "git show HEAD:/etc/x",
        "docker cp web:/etc/x a",
        "go build -ldflags '-X a=/etc/x -s' .",
        "gh search code path:/etc/x",
        "docker run --volume=./a:/etc/x -itw /srv img",
        "adb shell ls -l /etc",
        "redis-cli get /etc/x",
        "vault kv get /etc/x",
        "perl -pe s,/etc/x,/tmp/y, a",
        "curl -sH X:/etc/x https://a.test/etc/x",
        "docker run -e A=/etc/x -w /srv img ls /etc",
        "docker run --mount type=bind,src=a,dst=/etc img",
        "ssh a.test cat /etc/x",
        "kubectl set env deploy/x A=/etc/x",
        "sed -n s,/etc/x,/tmp/y, a",
        "echo /etc/x",
        "cd sub && foo ../a",
    ] {
        assert_eq!(named(line), Vec::<String>::new(), "{line}");
    }
    let moved = "cd sub && foo ../a";
    let context = ShellContext {
        cwd: AbsPath::root().join("home/dev/proj"),
        home: None,
    };
    let analysis = shell::analyse(moved, &context, Limits::default());
    let left = analysis.commands.iter().flat_map(|command| &command.named);
    // It stays inside; what is noted is the folder that it leaves.
    assert!(
        left.into_iter()
            .all(|named| named.through.as_ref().is_some_and(|left| !left.is_empty()))
    );
}

#[test]
fn of_many_words_one_that_is_not_known_is_noted() {
    let line = format!(
        "foo {}",
        (0..2 * MOST).map(|n| format!("/etc/{n}")).collect::<Vec<_>>().join(" ")
    );
    let named = named(&line);
    assert!(named.len() <= MOST + 1 && named.last().is_some_and(|last| last.starts_with('?')));
}

use std::collections::HashSet;

use super::*;

fn raws() -> Vec<Raw> {
    let raws: Raws = data::read("wrappers.toml", FILE);
    raws.wrapper
}

fn program(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split(' ').collect();
    let texts: Vec<Word> = words.iter().map(|word| Word::Literal((*word).to_owned())).collect();
    let (wrapper, start) = resolve(words.first()?, &texts)?;
    let found = unwrap(wrapper, &texts, start);
    assert_eq!(found.unknown, None, "{line}");
    words.get(found.program?).copied()
}

#[test]
fn each_name_stands_once() {
    let mut seen = HashSet::new();
    for raw in raws() {
        for name in data::full_names(&raw.names, &raw.verbs) {
            assert!(seen.insert(name.clone()), "{name} twice");
        }
    }
}

#[test]
fn each_option_has_one_grammar() {
    for raw in raws() {
        let mut seen = HashSet::new();
        let lists = [&raw.values, &raw.flags, &raw.attached, &raw.pairs];
        for option in lists.into_iter().flat_map(|list| list.split_whitespace()) {
            assert!(option.starts_with('-'), "{}: {option} is no option", raw.names);
            assert!(seen.insert(option), "{} {}: {option} twice", raw.names, raw.verbs);
        }
        let used = [
            &raw.reads,
            &raw.writes,
            &raw.script,
            &raw.cargo,
            &raw.folders,
            &raw.mounts,
            &raw.shell,
            &raw.direct,
        ];
        for option in used
            .into_iter()
            .chain([&raw.instead])
            .flat_map(|list| list.split_whitespace())
        {
            let known = seen.contains(option) || raw.reads.contains(option) || raw.writes.contains(option);
            assert!(known, "{}: {option} has no grammar", raw.names);
        }
    }
}

#[test]
fn each_dangerous_option_says_why() {
    for raw in raws() {
        for (options, why) in raw.escapes.iter().chain(&raw.opaque) {
            assert!(
                why.split(' ').count() >= 3,
                "{} {options}: `{why}` says too little",
                raw.names
            );
        }
    }
}

#[test]
fn options_with_values_are_skipped() {
    for line in [
        "timeout -k 5 -s KILL 10 rm x",
        "timeout --kill-after=5 --foreground 10 rm x",
        "timeout --sig KILL --for 10 rm x",
        "env -i -u HOME A=1 B= rm x",
        "env -- A=1 rm x",
        "env --unset HOME rm x",
        "nice -n 5 rm x",
        "nice -5 rm x",
        "nice --adj 5 rm x",
        "nice --adjustment=5 rm x",
        "sudo -n -u root -- rm x",
        "sudo -nu root A=1 rm x",
        "sudo --us root rm x",
        "xargs -0 -n1 -P 4 -I {} rm x",
        "stdbuf -oL -e 0 rm x",
        "flock -n lock rm x",
        "ionice -c2 -n 7 rm x",
        "exec -a ls rm x",
        "setsid -w rm x",
        "chrt -b 0 rm x",
        "runuser -u dev -- rm x",
        "pkexec --user root rm x",
        "nsenter -t 1 -m -u rm x",
        "x86_64 -R rm x",
        "setarch -R rm x",
        "docker exec -it -e A=1 box rm x",
        "docker -H tcp://h:1 exec box rm x",
        "docker run --rm -v a:/a --name n image rm x",
        "docker compose -f f.yml exec -T web rm x",
        "docker-compose exec web rm x",
        "podman container exec box rm x",
        "kubectl exec pod -c web -- rm x",
        "kubectl -n ns exec -it pod -- rm x",
        "npx -y -p pkg rm x",
        "npm exec -- rm x",
        "pnpm dlx rm x",
        "uv run --with requests -p 3.12 rm x",
        "uvx --from pkg rm x",
        "uv tool run rm x",
        "poetry -C dir run rm x",
        "conda run -n env --no-capture-output rm x",
        "mise x node@20 -- rm x",
        "direnv exec . rm x",
        "rustup run nightly rm x",
        "nix develop .#x -c rm x",
        "gdb -q --args rm x",
        "perf stat -e cycles -r 3 rm x",
        "bwrap --ro-bind / / --dev /dev rm x",
        "systemd-run --user -p A=1 --unit n rm x",
        "bundle exec rm x",
        "cross-env A=1 rm x",
    ] {
        assert_eq!(program(line), Some("rm"), "{line}");
    }
}

#[test]
fn an_option_outside_the_table_is_told_and_hides_no_subcommand() {
    let words = |line: &str| -> Vec<Word> { line.split(' ').map(|word| Word::Literal(word.to_owned())).collect() };
    let texts = words("timeout --new 5 rm");
    let found = unwrap(find("timeout").unwrap(), &texts, 0);
    assert_eq!((found.unknown.as_deref(), found.program), (Some("--new"), Some(3)));
    let texts = words("docker --new value exec box rm");
    assert_eq!(resolve("docker", &texts).map(|(_, at)| at), Some(3));
}

#[test]
fn a_wrapper_alone_runs_nothing() {
    for line in [
        "env A=1",
        "nice",
        "docker exec box",
        "docker ps -a",
        "npm run test",
        "nix run x",
        "su root",
    ] {
        assert_eq!(program(line), None, "{line}");
    }
}

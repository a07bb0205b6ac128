//! What follows from which documents.

use super::*;

fn host(text: &str) -> HostRule {
    HostRule::parse(text).unwrap()
}

fn said(layer: Layer, widens: bool, settings: &SandboxSettings) -> Said<'_> {
    Said {
        layer,
        widens,
        folder: None,
        settings,
    }
}

fn of_kind(kind: SandboxType) -> SandboxSettings {
    SandboxSettings {
        kind: Some(kind),
        ..SandboxSettings::default()
    }
}

fn hosts(allow: Option<&[&str]>, deny: &[&str]) -> SandboxSettings {
    SandboxSettings {
        network_mode: Some(NetworkMode::SandboxJsonOnly),
        network: NetworkPolicy {
            default_allow: None,
            allow: allow.map(|list| list.iter().map(|text| host(text)).collect()),
            deny: deny.iter().map(|text| host(text)).collect(),
        },
        ..SandboxSettings::default()
    }
}

#[test]
fn words_are_read_as_they_are_written() {
    for word in SandboxType::WORDS {
        assert_eq!(SandboxType::parse(word).map(SandboxType::word), Some(word));
    }
    for word in NetworkMode::WORDS {
        assert_eq!(NetworkMode::parse(word).map(NetworkMode::word), Some(word));
    }
    assert_eq!(SandboxType::parse("none"), None);
    assert_eq!(NetworkMode::parse("Allow_All"), None);
}

#[test]
fn nothing_said_is_a_writable_workspace_and_the_usual_hosts() {
    let effective = merge(&[]);
    assert_eq!(effective.kind, SandboxType::WorkspaceReadwrite);
    assert_eq!(effective.network.allow.len(), ecosystems().len());
    assert!(!effective.network.default_allow && !effective.share_tmp && effective.allow_root_owner);
}

#[test]
fn a_project_never_does_away_with_the_sandbox() {
    let none = of_kind(SandboxType::InsecureNone);
    let readonly = of_kind(SandboxType::WorkspaceReadonly);
    for layer in [Layer::Project, Layer::Local] {
        for widens in [true, false] {
            let effective = merge(&[said(layer, widens, &none)]);
            assert_eq!(effective.kind, SandboxType::WorkspaceReadwrite, "{layer} {widens}");
            assert!(effective.project_wants_none);
        }
    }
    let user = merge(&[said(Layer::User, true, &none)]);
    assert_eq!((user.kind, user.project_wants_none), (SandboxType::InsecureNone, false));
    let bound = merge(&[said(Layer::User, true, &none), said(Layer::Team, true, &readonly)]);
    assert_eq!(bound.kind, SandboxType::WorkspaceReadonly);
}

#[test]
fn the_stricter_type_wins_unless_the_project_is_trusted() {
    let (strict, loose) = (
        of_kind(SandboxType::WorkspaceReadonly),
        of_kind(SandboxType::WorkspaceReadwrite),
    );
    let both =
        |user, project, trusted| merge(&[said(Layer::User, true, user), said(Layer::Project, trusted, project)]).kind;
    assert_eq!(both(&strict, &loose, false), SandboxType::WorkspaceReadonly);
    assert_eq!(both(&strict, &loose, true), SandboxType::WorkspaceReadwrite);
    assert_eq!(both(&loose, &strict, false), SandboxType::WorkspaceReadonly);
    assert_eq!(both(&loose, &strict, true), SandboxType::WorkspaceReadonly);
}

#[test]
fn an_untrusted_project_widens_nothing() {
    let wide = SandboxSettings {
        read_write: vec!["/data".to_owned()],
        unix_sockets: Some(vec!["/run/docker.sock".to_owned()]),
        share_tmp: Some(true),
        shared_build_cache: Some(true),
        network_mode: Some(NetworkMode::AllowAll),
        network: NetworkPolicy {
            default_allow: Some(true),
            allow: Some(vec![host("evil.example")]),
            deny: vec![host("blocked.example")],
        },
        ..SandboxSettings::default()
    };
    let untrusted = merge(&[said(Layer::Project, false, &wide)]);
    assert_eq!(
        untrusted,
        EffectiveSandbox {
            network: NetworkRules {
                deny: vec![host("blocked.example")],
                ..merge(&[]).network
            },
            ..merge(&[])
        }
    );
    let trusted = merge(&[said(Layer::Project, true, &wide)]);
    assert!(trusted.network.default_allow && trusted.share_tmp && trusted.shared_build_cache);
    assert_eq!(trusted.read_write.len(), 1);
    assert_eq!(trusted.read_write[0].text, "/data");
}

#[test]
fn paths_start_where_their_document_says() {
    let path = |text: &str| AbsPath::parse(text).unwrap();
    let (root, home, folder) = (path("/w"), path("/home/ada"), path("/w/project"));
    let settings = SandboxSettings {
        read_write: ["out", "/data", "~/cache", "~", "~other", "../up"]
            .map(str::to_owned)
            .to_vec(),
        ..SandboxSettings::default()
    };
    let resolved = |folder: Option<&AbsPath>, home: Option<&AbsPath>| -> Vec<Option<String>> {
        let said = Said {
            folder,
            ..said(Layer::User, true, &settings)
        };
        let paths = merge(&[said]).read_write;
        paths
            .iter()
            .map(|path| Some(path.resolve(&root, home)?.to_string()))
            .collect()
    };
    let some = |texts: [&str; 6]| texts.map(|text| Some(text.to_owned())).to_vec();
    assert_eq!(
        resolved(None, Some(&home)),
        some(["/w/out", "/data", "/home/ada/cache", "/home/ada", "/w/~other", "/up"])
    );
    let unknown = resolved(Some(&folder), None);
    assert_eq!(unknown[0].as_deref(), Some("/w/project/out"));
    assert_eq!((&unknown[2], &unknown[3]), (&None, &None), "no home is known");
}

#[test]
fn a_teams_hosts_replace_the_lower_ones_and_its_denials_are_never_ignored() {
    let user = hosts(Some(&["user.example"]), &["u.example"]);
    let project = hosts(Some(&["project.example"]), &[]);
    let lower = [said(Layer::User, true, &user), said(Layer::Project, true, &project)];
    assert_eq!(
        merge(&lower).network.allow,
        [host("user.example"), host("project.example")]
    );

    let team = hosts(Some(&["team.example"]), &["t.example"]);
    let all = [lower[0], lower[1], said(Layer::Team, true, &team)];
    assert_eq!(merge(&all).network.allow, [host("team.example")]);
    assert_eq!(merge(&all).network.deny, [host("u.example"), host("t.example")]);

    let none = hosts(Some(&[]), &[]);
    let closed = [lower[0], said(Layer::Team, true, &none)];
    assert!(
        merge(&closed).network.reach_nothing(),
        "an empty list of the team is one"
    );

    let open = SandboxSettings {
        network_mode: Some(NetworkMode::AllowAll),
        ..hosts(None, &["t.example"])
    };
    let user = SandboxSettings {
        network_mode: None,
        ..user
    };
    let network = merge(&[said(Layer::User, true, &user), said(Layer::Team, true, &open)]).network;
    assert!(network.default_allow);
    assert_eq!(network.deny, [host("t.example")]);
}

#[test]
fn what_restricts_wins() {
    let yes = SandboxSettings {
        disable_tmp_write: Some(true),
        share_tmp: Some(true),
        allow_root_owner: Some(true),
        accept_without_landlock: Some(true),
        accept_without_namespaces: Some(true),
        ..SandboxSettings::default()
    };
    let no = SandboxSettings {
        disable_tmp_write: Some(false),
        share_tmp: Some(false),
        allow_root_owner: Some(false),
        accept_without_landlock: Some(false),
        accept_without_namespaces: Some(false),
        ..SandboxSettings::default()
    };
    let by = |trusted| {
        let effective = merge(&[said(Layer::Project, trusted, &yes)]);
        assert_eq!(effective.accept_without_namespaces, effective.accept_without_landlock);
        effective.accept_without_landlock
    };
    assert!(by(true) && !by(false) && !merge(&[]).accept_without_landlock);
    for pair in [[&yes, &no], [&no, &yes]] {
        let effective = merge(&[said(Layer::User, true, pair[0]), said(Layer::Project, true, pair[1])]);
        assert!(effective.disable_tmp_write && !effective.share_tmp && !effective.allow_root_owner);
        assert!(!effective.accept_without_landlock && !effective.accept_without_namespaces);
    }
}

#[test]
fn what_writes_reaches_or_hides_needs_namespaces() {
    let needs = |rest: &str| {
        let text = format!(r#"{{ "type": "workspace_readonly", "networkMode": "sandbox_json_only" {rest} }}"#);
        let settings = SandboxSettings::parse(&text).unwrap();
        merge(&[said(Layer::User, true, &settings)]).needs_namespaces()
    };
    for rest in [
        "",
        r#", "disableTmpWrite": true"#,
        r#", "denyRead": ["/etc/x", "~/.aws/**"]"#,
        r#", "additionalReadonlyPaths": ["a"]"#,
        r#", "networkPolicy": { "deny": ["a.example"] }"#,
    ] {
        assert_eq!(needs(rest), None, "{rest}");
    }
    for (rest, key) in [
        (r#", "additionalReadwritePaths": ["a"]"#, "additionalReadwritePaths"),
        (r#", "networkPolicy": { "allow": ["a.example"] }"#, "networkPolicy"),
        (r#", "networkPolicy": { "default": "allow" }"#, "networkPolicy"),
        (r#", "denyRead": [".env"]"#, "denyRead"),
        (r#", "denyRead": ["~/.aws/**", "./x"]"#, "denyRead"),
        (r#", "shareTmp": true"#, "shareTmp"),
        (r#", "enableSharedBuildCache": true"#, "enableSharedBuildCache"),
        (r#", "allowUnixSockets": ["/run/x"]"#, "allowUnixSockets"),
    ] {
        assert_eq!(needs(rest), Some(key), "{rest}");
    }
    assert_eq!(merge(&[]).needs_namespaces(), Some("type"));
    let mut ruled = merge(&[]);
    (ruled.kind, ruled.network) = (SandboxType::WorkspaceReadonly, NetworkRules::default());
    assert_eq!(ruled.needs_namespaces(), None);
    use crate::path::DenialReading::{IgnoreList, Rule};
    let denial = |reading, pattern: &str| DenialText {
        reading,
        pattern: pattern.to_owned(),
        folder: None,
        exceptions: Vec::new(),
    };
    ruled.ruled_out = vec![denial(Rule, "~/.aws/credentials"), denial(Rule, "//**/id_rsa")];
    assert_eq!(ruled.needs_namespaces(), None);
    for more in [
        denial(IgnoreList, ".env"),
        denial(IgnoreList, "~/x"),
        denial(Rule, "/x"),
        denial(Rule, ".env"),
    ] {
        let mut ruled = ruled.clone();
        ruled.ruled_out.push(more);
        assert!(ruled.needs_namespaces().is_some());
    }
}

#[test]
fn sockets_are_united_unless_the_team_says_which() {
    let naming = |list: &[&str]| SandboxSettings {
        unix_sockets: Some(list.iter().map(|path| (*path).to_owned()).collect()),
        ..SandboxSettings::default()
    };
    let (user, project, team, none) = (
        naming(&["/a", "~/b"]),
        naming(&["c", "/a"]),
        naming(&["/t"]),
        naming(&[]),
    );
    let texts = |documents: &[Said<'_>]| -> Vec<String> {
        merge(documents)
            .unix_sockets
            .into_iter()
            .map(|path| path.text)
            .collect()
    };
    let own = said(Layer::User, true, &user);
    assert!(texts(&[]).is_empty());
    assert_eq!(texts(&[own, said(Layer::Project, true, &project)]), ["/a", "~/b", "c"]);
    assert_eq!(texts(&[own, said(Layer::Project, false, &project)]), ["/a", "~/b"]);
    assert_eq!(texts(&[own, said(Layer::Team, true, &team)]), ["/t"]);
    assert!(texts(&[own, said(Layer::Team, true, &none)]).is_empty());
    assert_eq!(
        texts(&[own, said(Layer::Team, true, &SandboxSettings::default())]),
        ["/a", "~/b"]
    );
    // That it is not hidden with the credentials among which it lies is seen to where it is found to be a socket.
    assert!(merge(&[own]).revealed.is_empty());
}

#[test]
fn a_socket_is_named_in_full_with_the_place_of_the_fault() {
    let text = "{\n  \"allowUnixSockets\": [\"/run/*.sock\", \"/run/\", 1, \"/run/a b\"]\n}";
    let faults = SandboxSettings::parse(text).unwrap_err();
    let places: Vec<(u32, u32)> = faults.iter().map(|fault| (fault.line, fault.column)).collect();
    assert_eq!(places, [(2, 24), (2, 39), (2, 48)], "{faults:#?}");
    assert!(SandboxSettings::parse(r#"{"allowUnixSockets": "/run/x"}"#).is_err());
    let empty = SandboxSettings::parse(r#"{"allowUnixSockets": []}"#).unwrap();
    assert_eq!(empty.unix_sockets, Some(Vec::new()), "an empty list says something");
}

#[test]
fn a_whole_file_is_read() {
    let text = include_str!("../../../docs/examples/sandbox.json");
    let settings = SandboxSettings::parse(text).unwrap();
    assert_eq!(
        settings,
        SandboxSettings {
            kind: Some(SandboxType::WorkspaceReadwrite),
            read_write: vec!["~/.cache/build".to_owned()],
            read_only: vec!["/opt/tokens".to_owned()],
            deny_read: vec![".env".to_owned()],
            disable_tmp_write: Some(false),
            share_tmp: Some(false),
            shared_build_cache: Some(true),
            allow_root_owner: Some(true),
            accept_without_landlock: Some(false),
            accept_without_namespaces: Some(false),
            unix_sockets: Some(vec!["/run/postgresql/.s.PGSQL.5432".to_owned()]),
            network_mode: Some(NetworkMode::SandboxJsonPlusDefaults),
            network: NetworkPolicy {
                default_allow: Some(false),
                allow: Some(vec![
                    host("packages.example.com"),
                    host("*.docs.example.com"),
                    host("10.20.0.0/16")
                ]),
                deny: vec![host("*.internal.example.com")],
            },
        }
    );
    assert_eq!(SandboxSettings::parse("{}").unwrap(), SandboxSettings::default());
    let empty = SandboxSettings::parse(r#"{"networkPolicy": {"allow": []}}"#).unwrap();
    assert_eq!(empty.network.allow, Some(Vec::new()), "an empty list says something");
}

#[test]
fn all_faults_are_said_with_their_places() {
    let text = r#"{
  "type": "readwrite",
  "additionalReadwritePaths": "/x",
  "denyRead": ["", 1],
  "disableTmpWrite": "yes",
  "networkMode": "all",
  "networkPolicy": {
    "default": "ask",
    "allow": ["good.example", "10.0.0.1/8", "a b"],
    "deny": ["example.com:443"],
    "proxy": true
  },
  "Type": "workspace_readonly",
  "type": "workspace_readonly",
}"#;
    let faults = SandboxSettings::parse(text).unwrap_err();
    let places: Vec<(u32, u32)> = faults.iter().map(|fault| (fault.line, fault.column)).collect();
    assert_eq!(
        places,
        [
            (2, 11),
            (3, 31),
            (4, 16),
            (4, 20),
            (5, 22),
            (6, 18),
            (8, 16),
            (9, 32),
            (9, 47),
            (10, 26),
            (11, 5),
            (13, 3),
            (14, 3)
        ],
        "{faults:#?}"
    );
    assert!(
        faults.iter().any(|fault| fault.hint.as_deref() == Some("write `type`")),
        "{faults:#?}"
    );
}

#[test]
fn what_is_no_object_is_a_fault_and_hostile_texts_end() {
    for text in ["", "[]", "1", "{", "\u{feff}{}", "null"] {
        assert!(SandboxSettings::parse(text).is_err(), "{text:?}");
    }
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(SandboxSettings::parse(&deep).is_err());
    let many = format!(r#"{{"denyRead": [{}]}}"#, vec![r#""x""#; 1_001].join(","));
    assert_eq!(SandboxSettings::parse(&many).unwrap_err().len(), 1);
}

//! Facts field by field, from a host and from nobody.

use portcullis_policy::facts::{PathKind, SandboxOffer};

use super::{
    super::call::tests::{valid, valid_facts},
    *,
};
use crate::convert::question;

fn path(text: &str) -> AbsPath {
    AbsPath::parse(text).unwrap()
}

/// Facts with everything in them.
fn full() -> v1::HostFacts {
    v1::HostFacts {
        paths: vec![v1::PathFact {
            path: "/w/./a".into(),
            real_path: "/r".into(),
            kind: v1::PathKind::File.into(),
        }],
        programs: vec![
            v1::ProgramFact {
                name: "ls".into(),
                path: "/bin/ls".into(),
            },
            v1::ProgramFact {
                name: "nope".into(),
                path: String::new(),
            },
        ],
        repository: Some(v1::RepositoryFact {
            state: v1::RepositoryState::Read.into(),
            root: "/w".into(),
            executing_keys: vec!["core.fsmonitor".into()],
        }),
        documents: vec![
            document(v1::Layer::Project, "/w/.portcullis/policy.jsonc"),
            document(v1::Layer::User, "/home/dev/.config/portcullis/policy.jsonc"),
        ],
        sandbox: Some(v1::Enforcement {
            status: v1::EnforcementStatus::Full.into(),
            ..Default::default()
        }),
        repositories: Some(v1::RepositoryIdentities {
            repositories: vec![v1::RepositoryIdentity {
                root: "/w".into(),
                remotes: vec!["https://a.example/b".into()],
            }],
        }),
        mcp_servers: vec![v1::McpServerFact {
            name: "github".into(),
            launch: Some(v1::mcp_server_fact::Launch::Url("https://a.example/mcp".into())),
            configured_in: v1::ConfiguredIn::User.into(),
            approval: v1::McpApproval::Given.into(),
            ..Default::default()
        }],
        own_paths: vec!["/d".into()],
        own_secret_paths: vec!["/d/tokens".into()],
        ..valid_facts()
    }
}

fn document(layer: v1::Layer, path: &str) -> v1::HostDocument {
    v1::HostDocument {
        format: v1::DocumentFormat::Native.into(),
        layer: layer.into(),
        path: path.into(),
        content: b"{}".to_vec(),
    }
}

fn fault(change: impl FnOnce(&mut v1::HostFacts)) -> String {
    let mut wire = full();
    change(&mut wire);
    facts(Some(wire), Vouching::Host).expect_err("should be refused").field
}

#[test]
fn repositories_of_further_folders_are_the_hosts_to_say() {
    let fact = |folder: &str| v1::GitFolderFact {
        folder: folder.into(),
        repository: Some(v1::RepositoryFact {
            state: v1::RepositoryState::Read.into(),
            root: "/w".into(),
            executing_keys: Vec::new(),
        }),
    };
    let mut wire = full();
    let absent = v1::GitFolderFact {
        repository: None,
        ..fact("/w/b")
    };
    wire.git_folders = vec![fact("/w/a"), absent];
    let (read, _) = facts(Some(wire.clone()), Vouching::Host).unwrap();
    let known = Repository::Known {
        root: path("/w"),
        executing_keys: Vec::new(),
    };
    assert_eq!(
        read.git_folders,
        [(path("/w/a"), known), (path("/w/b"), Repository::Unknown)].into()
    );
    let (read, _) = facts(Some(wire), Vouching::Nobody).unwrap();
    assert!(read.git_folders.is_empty());
    let twice = |wire: &mut v1::HostFacts| wire.git_folders = vec![fact("/w/a"), fact("/w/a")];
    assert_eq!(fault(twice), "facts.git_folders[1]");
    let many = |wire: &mut v1::HostFacts| wire.git_folders = (0..65).map(|at| fact(&format!("/w/{at}"))).collect();
    assert_eq!(fault(many), "facts.git_folders");
    let relative = |wire: &mut v1::HostFacts| wire.git_folders = vec![fact("a")];
    assert_eq!(fault(relative), "facts.git_folders[0].folder");
}

#[test]
fn a_hosts_facts_count() {
    let (facts, host) = facts(Some(full()), Vouching::Host).unwrap();
    let host = host.unwrap();
    assert!(facts.vouched && facts.project_trusted && facts.failures.is_empty());
    let fact = &facts.paths[&path("/w/a")];
    assert_eq!((fact.real.clone(), fact.kind), (Some(path("/r")), PathKind::File));
    assert_eq!(facts.programs["ls"], Some(path("/bin/ls")));
    assert_eq!(facts.programs["nope"], None);
    assert_eq!(facts.sandbox, SandboxOffer::Full);
    assert!(
        matches!(&facts.repository, Repository::Known { executing_keys, .. } if executing_keys == &["core.fsmonitor"])
    );
    assert_eq!(facts.mcp_servers[0].approval, portcullis_policy::facts::Approval::Given);
    assert!(matches!(&facts.repositories, portcullis_policy::facts::Repositories::Known(all) if all.len() == 1));
    assert_eq!((host.uid, host.host_id.len()), (7, 64));
    assert_eq!(host.masked_paths, ["/d/tokens"]);
    let origins: Vec<_> = host.documents.iter().map(|document| &document.origin).collect();
    assert_eq!(
        (origins[0].layer, origins[0].folder.clone()),
        (Layer::Project, Some(path("/w")))
    );
    assert_eq!(origins[0].name, "/w/.portcullis/policy.jsonc");
    assert_eq!(
        (origins[1].layer, origins[1].folder.clone()),
        (Layer::User, Some(path("/home/dev/.config/portcullis")))
    );
    assert_eq!(host.documents[0].digest[..2], [0x44, 0x13]);
}

#[test]
fn the_same_facts_from_nobody_widen_nothing() {
    let mut wire = full();
    wire.failures = vec!["cannot read x".into()];
    let (facts, host) = facts(Some(wire), Vouching::Nobody).unwrap();
    assert_eq!(host, None);
    assert!(!facts.vouched && !facts.project_trusted && facts.programs.is_empty());
    assert_eq!(
        (&facts.repository, facts.sandbox),
        (&Repository::Unknown, SandboxOffer::None)
    );
    assert!(facts.mcp_servers.is_empty());
    assert_eq!(facts.repositories, portcullis_policy::facts::Repositories::Unknown);
    assert_eq!(facts.failures, ["cannot read x"]);
    assert_eq!(facts.own_secret_paths, [path("/d/tokens")]);
}

#[test]
fn without_facts_everything_is_unknown_and_a_host_has_to_send_them() {
    assert_eq!(facts(None, Vouching::Nobody).unwrap(), (Facts::default(), None));
    assert_eq!(facts(None, Vouching::Host).unwrap_err().field, "facts");
    let mut message = valid();
    message.facts = Some(full());
    assert!(question(message, Vouching::Host).unwrap().request.facts.vouched);
}

#[test]
fn each_fault_names_its_field() {
    assert_eq!(fault(|f| f.host_id = "A".repeat(64)), "facts.host_id");
    assert_eq!(fault(|f| f.mcp_servers[0].name.clear()), "facts.mcp_servers[0].name");
    assert_eq!(
        fault(|f| f.mcp_servers[0].configured_in = 9),
        "facts.mcp_servers[0].configured_in"
    );
    assert_eq!(
        fault(|f| f.repositories.as_mut().unwrap().repositories[0].root = "w".into()),
        "facts.repositories[0].root"
    );
    assert_eq!(fault(|f| f.host_id = "a".repeat(63)), "facts.host_id");
    assert_eq!(fault(|f| f.paths[0].path = "a".into()), "facts.paths[0].path");
    assert_eq!(fault(|f| f.paths[0].real_path = "a".into()), "facts.paths[0].real_path");
    assert_eq!(fault(|f| f.paths[0].kind = 9), "facts.paths[0].kind");
    assert_eq!(
        fault(|f| f.paths = vec![f.paths[0].clone(); MAX_FACTS + 1]),
        "facts.paths"
    );
    assert_eq!(fault(|f| f.programs[0].path = "ls".into()), "facts.programs[0].path");
    assert_eq!(
        fault(|f| f.repository.as_mut().unwrap().state = 9),
        "facts.repository.state"
    );
    assert_eq!(
        fault(|f| f.repository.as_mut().unwrap().root.clear()),
        "facts.repository.root"
    );
    assert_eq!(
        fault(|f| f.sandbox.as_mut().unwrap().status = 9),
        "facts.sandbox.status"
    );
    assert_eq!(fault(|f| f.own_paths.push("x".into())), "facts.own_paths[1]");
    assert_eq!(
        fault(|f| f.own_secret_paths.push("x".into())),
        "facts.own_secret_paths[1]"
    );
    assert_eq!(
        fault(|f| f.documents[0].layer = v1::Layer::Team.into()),
        "facts.documents[0].layer"
    );
    assert_eq!(fault(|f| f.documents[1].layer = 0), "facts.documents[1].layer");
    assert_eq!(
        fault(|f| f.documents[0].path = "/w/policy.jsonc".into()),
        "facts.documents[0].path"
    );
    assert_eq!(fault(|f| f.documents[1].path = "/".into()), "facts.documents[1].path");
    assert_eq!(
        fault(|f| f.documents[0].content = vec![b' '; PolicyDocument::MAX_BYTES + 1]),
        "facts.documents[0].content"
    );
    assert_eq!(
        fault(|f| f.documents = vec![f.documents[0].clone(); 129]),
        "facts.documents"
    );
}

#[test]
fn two_facts_on_one_path_must_agree() {
    assert_eq!(
        fault(|f| {
            let other = v1::PathFact {
                path: "/w/b/../a".into(),
                real_path: "/elsewhere".into(),
                ..f.paths[0].clone()
            };
            f.paths.push(other);
        }),
        "facts.paths[1]"
    );
    let mut wire = full();
    wire.paths.push(wire.paths[0].clone());
    assert!(facts(Some(wire), Vouching::Host).is_ok());
}

#[test]
fn a_document_that_is_no_text_is_a_failure() {
    let mut wire = full();
    wire.documents[0].content = vec![0xff];
    let (facts, host) = facts(Some(wire), Vouching::Host).unwrap();
    assert_eq!(
        facts.failures,
        ["the policy document /w/.portcullis/policy.jsonc is not UTF-8"]
    );
    assert_eq!(host.unwrap().documents.len(), 1);
}

#[test]
fn many_failures_stay_failures() {
    let mut wire = full();
    wire.failures = vec!["x".repeat(5000); 1000];
    let (facts, _) = facts(Some(wire), Vouching::Host).unwrap();
    assert_eq!(facts.failures.len(), KEPT_FAILURES + 1);
    assert_eq!(facts.failures.last().unwrap(), "900 further failures");
    assert!(facts.failures[0].len() < 1100);
}

#[test]
fn an_agents_file_lies_where_the_agent_keeps_it() {
    let anchor = |layer: v1::Layer, format: v1::DocumentFormat, path: &str| {
        let mut wire = full();
        wire.documents = vec![v1::HostDocument {
            format: format.into(),
            ..document(layer, path)
        }];
        let (_, claims) = facts(Some(wire), Vouching::Host)?;
        let documents = claims.unwrap().documents;
        Ok::<_, InvalidMessage>(documents[0].origin.folder.clone().unwrap().to_string())
    };
    use v1::{DocumentFormat as Format, Layer};
    for (layer, format, path, expected) in [
        (
            Layer::User,
            Format::ClaudeSettings,
            "/h/.claude/settings.json",
            Some("/h/.claude"),
        ),
        (
            Layer::Project,
            Format::ClaudeSettings,
            "/p/.claude/settings.json",
            Some("/p"),
        ),
        (
            Layer::Local,
            Format::ClaudeSettings,
            "/p/.claude/settings.local.json",
            Some("/p"),
        ),
        (Layer::Project, Format::ClaudeSettings, "/p/settings.json", None),
        (Layer::Project, Format::CursorCli, "/p/.cursor/cli.json", Some("/p")),
        (Layer::Project, Format::CursorCli, "/p/.claude/cli.json", None),
        (
            Layer::Project,
            Format::CodexRules,
            "/p/.codex/rules/a.rules",
            Some("/p"),
        ),
        (Layer::Project, Format::CodexRules, "/p/.codex/a.rules", None),
        (Layer::Project, Format::IgnoreFile, "/p/.cursorignore", Some("/p")),
        (Layer::User, Format::IgnoreFile, "/p/.cursorignore", None),
        (Layer::Project, Format::Native, "/p/.claude/settings.json", None),
        (Layer::Team, Format::ClaudeSettings, "/p/.claude/settings.json", None),
        (
            Layer::User,
            Format::Unspecified,
            "/h/.config/portcullis/policy.jsonc",
            None,
        ),
    ] {
        let told = anchor(layer, format, path);
        assert_eq!(told.ok().as_deref(), expected, "{layer:?} {format:?} {path}");
    }
}

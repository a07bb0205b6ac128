//! What follows from which documents.

use super::*;

fn host(text: &str) -> HostRule {
    HostRule::parse(text).unwrap()
}

fn said(layer: Layer, widens: bool, settings: &SandboxSettings) -> Said<'_> {
    Said {
        layer,
        widens,
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
    assert_eq!(trusted.read_write, ["/data"]);
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
        ..SandboxSettings::default()
    };
    let no = SandboxSettings {
        disable_tmp_write: Some(false),
        share_tmp: Some(false),
        allow_root_owner: Some(false),
        ..SandboxSettings::default()
    };
    for pair in [[&yes, &no], [&no, &yes]] {
        let effective = merge(&[said(Layer::User, true, pair[0]), said(Layer::Project, true, pair[1])]);
        assert!(effective.disable_tmp_write && !effective.share_tmp && !effective.allow_root_owner);
    }
}

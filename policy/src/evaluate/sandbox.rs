//! When the sandbox stands for a person's yes, and when every command has to run in it.
//!
//! "Can run in the sandbox" is decided before it runs, from what is known about the line: no part that was not understood,
//! no write outside the writable roots, nothing that needs more rights than the sandbox has, no socket of a service, no
//! host that its network does not reach; and the enforcement point has to say that it will run it there, with all
//! mechanisms in force. What fails in there all the same fails; it does not leave.

use crate::{
    Action, DecidedBy, Mode, Verdict,
    decision::Obligation,
    facts::SandboxOffer,
    mode::ActionClass,
    rule::file_of,
    sandbox::{EffectiveSandbox, SandboxType},
    shell::{Analysis, Command, Context, Word},
};

use super::{commands::is_feeder, part::Part, touched::host_contacted, world::World};

/// What a program needs that no sandbox gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// Other rights than the caller's.
    Privilege,
    /// The socket of a service that acts outside the sandbox.
    Service,
    /// The network, without naming an address that is found elsewhere.
    Network,
}

impl Need {
    fn describe(self) -> &'static str {
        match self {
            Self::Privilege => "it needs rights that the sandbox does not give",
            Self::Service => "it speaks to a service outside the sandbox",
            Self::Network => "it needs the network",
        }
    }
}

/// Programs that do not fit, with what they need.
const NEEDS: &[(Need, &[&str])] = &[
    (
        Need::Privilege,
        &[
            "sudo",
            "doas",
            "su",
            "pkexec",
            "runuser",
            "setpriv",
            "gosu",
            "chroot",
            "unshare",
            "nsenter",
            "mount",
            "umount",
            "chown",
            "chgrp",
            "useradd",
            "usermod",
            "userdel",
            "passwd",
            "visudo",
            "insmod",
            "modprobe",
            "rmmod",
            "sysctl",
            "iptables",
            "nft",
            "ip6tables",
            "reboot",
            "shutdown",
            "poweroff",
            "halt",
            "setcap",
            "fdisk",
            "parted",
            "mkfs",
            "swapon",
            "swapoff",
            "losetup",
            "cryptsetup",
            "apt",
            "apt-get",
            "dpkg",
            "dnf",
            "yum",
            "rpm",
            "pacman",
            "zypper",
            "apk",
            "strace",
            "gdb",
            "perf",
            "bpftrace",
        ],
    ),
    (
        Need::Service,
        &[
            "docker",
            "docker-compose",
            "podman",
            "nerdctl",
            "buildah",
            "ctr",
            "crictl",
            "minikube",
            "kind",
            "kubectl",
            "helm",
            "k9s",
            "systemctl",
            "journalctl",
            "systemd-run",
            "loginctl",
            "hostnamectl",
            "timedatectl",
            "machinectl",
            "service",
            "busctl",
            "dbus-send",
            "gdbus",
            "launchctl",
            "snap",
            "flatpak",
            "lxc",
            "incus",
            "virsh",
            "vagrant",
            "at",
            "batch",
            "crontab",
            "tmux",
            "screen",
            "ssh-add",
            "gpg-agent",
            "gpg",
            "code",
            "cursor",
            "open",
            "xdg-open",
            "osascript",
            "pbcopy",
            "pbpaste",
            "xclip",
            "wl-copy",
            "notify-send",
            "portcullis",
        ],
    ),
    (
        Need::Network,
        &[
            "ssh",
            "scp",
            "sftp",
            "ftp",
            "telnet",
            "nc",
            "ncat",
            "netcat",
            "socat",
            "ping",
            "traceroute",
            "dig",
            "host",
            "nslookup",
            "whois",
            "curl",
            "wget",
            "aria2c",
            "aws",
            "az",
            "gcloud",
            "gsutil",
            "gh",
            "glab",
            "heroku",
            "flyctl",
            "terraform",
            "tofu",
            "psql",
            "mysql",
            "redis-cli",
            "mongosh",
        ],
    ),
];

/// Verbs of git that speak to another machine.
const GIT_REMOTE: &[&str] = &["push", "pull", "fetch", "clone", "ls-remote", "submodule", "send-email"];

/// The verb of a git command: the first word that is neither an option nor the value of one.
fn git_verb(command: &Command) -> Option<&str> {
    let mut words = command.words.iter().skip(1).filter_map(Word::literal);
    while let Some(word) = words.next() {
        match word {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" => drop(words.next()),
            option if option.starts_with('-') => {}
            verb => return Some(verb),
        }
    }
    None
}

/// Why a command does not fit into the sandbox, if it does not.
fn misfit(command: &Command, sandbox: &EffectiveSandbox) -> Option<String> {
    for url in command.urls.iter().filter(|url| file_of(url).is_none()) {
        let Some(host) = host_contacted(url) else {
            return Some("which host it contacts cannot be told".to_owned());
        };
        if sandbox.network.reach_nothing() {
            return Some(format!("it contacts {host}, and the sandbox has no network"));
        }
        if let Err(refusal) = sandbox.network.host(&host) {
            return Some(format!("it contacts {host}: {refusal}"));
        }
    }
    let program = command.program_name()?;
    let remote = program == "git" && git_verb(command).is_some_and(|verb| GIT_REMOTE.contains(&verb));
    let need = if remote {
        Need::Network
    } else {
        let (need, _) = NEEDS.iter().find(|(_, names)| names.contains(&program))?;
        *need
    };
    // What names its hosts was judged above; of what finds them elsewhere nothing is known, unless every host is open.
    let reaches = need == Need::Network && (!command.urls.is_empty() || sandbox.network.default_allow);
    (!reaches).then(|| need.describe().to_owned())
}

impl World<'_> {
    /// Whether the enforcement point will run the command in the sandbox, with all of the profile in force.
    fn sandbox_is_offered(&self) -> bool {
        let facts = &self.request.facts;
        let wanted = self.rules.sandbox().kind != SandboxType::InsecureNone;
        wanted && facts.vouched && facts.sandbox == SandboxOffer::Full
    }

    /// Whether the mode, or policy in this mode, lets the sandbox stand for a question.
    fn tries_sandbox(&self) -> bool {
        let mode = self.request.mode;
        let by_policy = matches!(mode, Mode::Default | Mode::AcceptEdits | Mode::Auto | Mode::Allowlist);
        mode.answer(ActionClass::OtherCommand).tries_sandbox() || (by_policy && self.rules.auto_allow_if_sandboxed())
    }

    /// Where mode or policy say so, what would be asked for because no rule allows it is allowed inside the sandbox.
    pub(super) fn sandbox_first(&self, analysis: &Analysis, parts: &mut [Part]) -> Vec<Obligation> {
        if !self.tries_sandbox() {
            return Vec::new();
        }
        let sandbox = self.rules.sandbox();
        let writable = sandbox.kind == SandboxType::WorkspaceReadwrite;
        let lifted = |part: &Part| {
            part.verdict == Verdict::Ask
                && part.decided_by == DecidedBy::Mode
                && match part.class {
                    Some(ActionClass::OtherCommand | ActionClass::ReadOnlyCommand) => true,
                    Some(ActionClass::FileCommand | ActionClass::EditInside) => writable,
                    _ => false,
                }
        };
        if !parts.iter().any(lifted) {
            return Vec::new();
        }
        let changes_identity = |command: &Command| {
            command
                .seen_through
                .iter()
                .any(|context| matches!(context, Context::Changing(label) if !is_feeder(label)))
        };
        let why_not = if sandbox.kind == SandboxType::InsecureNone {
            Some(format!("policy has no sandbox (`{}`)", sandbox.kind.word()))
        } else if sandbox.project_wants_none {
            let none = SandboxType::InsecureNone.word();
            Some(format!(
                "the project wants no sandbox (`{none}`), which only you or the team can say"
            ))
        } else if !sandbox.unix_sockets.is_empty() {
            // Which program connects, nobody can tell from its line.
            Some(
                "it could speak to a service outside the sandbox, whose socket policy allows (`allowUnixSockets`)"
                    .to_owned(),
            )
        } else if !analysis.opaque.is_empty() {
            Some("a part of the line is not understood".to_owned())
        } else if analysis.commands.iter().any(changes_identity) {
            Some(Need::Privilege.describe().to_owned())
        } else if let Some(why) = analysis.commands.iter().find_map(|command| misfit(command, sandbox)) {
            Some(why)
        } else if !self.sandbox_is_offered() {
            Some("this host does not offer one that is fully enforced".to_owned())
        } else if !parts.iter().all(|part| part.verdict == Verdict::Allow || lifted(part)) {
            Some("another part of the line needs an answer".to_owned())
        } else {
            None
        };
        if let Some(why) = why_not {
            for part in parts.iter_mut().filter(|part| lifted(part)) {
                part.remark(format!("it cannot be left to the sandbox: {why}"));
            }
            return Vec::new();
        }
        for part in parts.iter_mut().filter(|part| lifted(part)) {
            part.verdict = Verdict::Allow;
            part.decided_by = DecidedBy::Sandbox;
            part.class = None;
            part.suggestions.clear();
            "it runs in the sandbox, where no question is wanted".clone_into(&mut part.reason);
        }
        vec![Obligation::RunInSandbox]
    }

    /// Where policy wants every command in the sandbox, an allow is bound to it, whoever gave it; where no sandbox is
    /// offered, the part is asked for.
    pub(super) fn sandbox_always(&self, parts: &mut [Part], obligations: &mut Vec<Obligation>) {
        let shell = matches!(self.request.call.action, Action::Shell { .. });
        if !shell || !self.rules.run().sandbox_always() || self.request.sandboxed_execution {
            return;
        }
        if self.sandbox_is_offered() {
            *obligations = vec![Obligation::RunInSandbox];
            return;
        }
        for part in parts.iter_mut().filter(|part| part.verdict == Verdict::Allow) {
            part.verdict = Verdict::Ask;
            part.decided_by = DecidedBy::Control;
            part.suggestions.clear();
            "policy wants every command in the sandbox, and this host does not offer one that is fully enforced"
                .clone_into(&mut part.reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_stands_in_the_table_once() {
        let mut names: Vec<&str> = NEEDS.iter().flat_map(|(_, names)| *names).copied().collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}

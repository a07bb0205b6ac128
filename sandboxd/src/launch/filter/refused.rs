//! System calls that were refused: how each fails, what it is called, and a count of them.
//!
//! Whoever listens to a program made with [`super::Reports`] answers by [`of`]. Nothing here lets a call go on.

use super::Architecture;
use super::calls::{CLONE, IOCTL, MODES, REFUSED, SOCKETS, UNSHARE};

/// Different calls that are counted. There are fewer that can be refused.
const MAX_COUNTED: usize = 128;

/// A call that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its name.
    pub name: &'static str,
    /// What it is refused for.
    pub reason: &'static str,
    /// The error number that it gets.
    pub errno: i32,
}

/// What is said of the call with this number on this machine; of one that no table knows, too.
#[must_use]
pub fn of(number: i32) -> Refused {
    named(Architecture::OWN, number).unwrap_or(Refused {
        name: "a system call",
        reason: "it is not for sandboxed commands",
        errno: libc::EPERM,
    })
}

fn named(on: Architecture, number: i32) -> Option<Refused> {
    let number = u32::try_from(number).ok()?;
    let is = |call| on.number(call) == Some(number);
    let not_permitted = |name, reason| Refused {
        name,
        reason,
        errno: libc::EPERM,
    };
    if let Some(listed) = REFUSED.iter().find(|listed| is(listed.number)) {
        return Some(not_permitted(listed.name, reason(listed.name)));
    }
    if let Some((name, ..)) = MODES.iter().find(|(_, call, _)| is(*call)) {
        return Some(not_permitted(
            name,
            "it marks a program to run as its owner (set-user-id)",
        ));
    }
    if let Some((name, _)) = SOCKETS.iter().find(|(_, call)| is(*call)) {
        return Some(Refused {
            name,
            reason: "it opens a socket that is neither local nor of the internet",
            errno: libc::EAFNOSUPPORT,
        });
    }
    let namespaces = "it makes namespaces, as programs with a sandbox of their own do";
    [
        (CLONE, "clone", namespaces),
        (UNSHARE, "unshare", namespaces),
        (IOCTL, "ioctl", "it puts input into a terminal"),
    ]
    .into_iter()
    .find(|(call, ..)| is(*call))
    .map(|(_, name, reason)| not_permitted(name, reason))
}

fn reason(name: &str) -> &'static str {
    match name {
        "mount" | "umount2" | "pivot_root" | "chroot" | "move_mount" | "open_tree" | "open_tree_attr" | "fsopen"
        | "fsconfig" | "fsmount" | "fspick" | "mount_setattr" => "it changes mounts",
        "setns" => "it joins namespaces",
        "keyctl" | "add_key" | "request_key" => "keyrings are shared with programs outside the sandbox",
        "bpf" | "perf_event_open" | "userfaultfd" => "it opens an interface of the kernel with a long list of holes",
        "open_by_handle_at" => "it opens files past the sandbox's mounts",
        _ => "it changes the whole machine",
    }
}

/// Refused calls, counted. Bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(Vec<(i32, u64)>);

impl Tally {
    /// Counts one.
    pub fn count(&mut self, number: i32) {
        if let Some((_, times)) = self.0.iter_mut().find(|(known, _)| *known == number) {
            *times = times.saturating_add(1);
        } else if self.0.len() < MAX_COUNTED {
            self.0.push((number, 1));
        }
    }

    /// Numbers, and how often, in the order in which they were first made.
    pub fn iter(&self) -> impl Iterator<Item = (i32, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Whether nothing was refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(i32, u64)> for Tally {
    fn from_iter<T: IntoIterator<Item = (i32, u64)>>(counts: T) -> Self {
        Self(counts.into_iter().take(MAX_COUNTED).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::filter::calls::Refusal;

    #[test]
    fn every_refused_call_has_a_name_and_fails_as_it_would_without_a_listener() {
        for on in [Architecture::X86_64, Architecture::Aarch64] {
            let number = |call| on.number(call).map(|number| i32::try_from(number).unwrap());
            for listed in REFUSED.iter().filter(|listed| listed.refusal == Refusal::NotPermitted) {
                let Some(number) = number(listed.number) else { continue };
                let refused = named(on, number).unwrap();
                assert_eq!((refused.name, refused.errno), (listed.name, libc::EPERM));
            }
            for (name, call) in SOCKETS {
                let refused = named(on, number(call).unwrap()).unwrap();
                assert_eq!((refused.name, refused.errno), (name, libc::EAFNOSUPPORT));
            }
            for call in [CLONE, UNSHARE, IOCTL] {
                assert_eq!(named(on, number(call).unwrap()).unwrap().errno, libc::EPERM);
            }
            for (name, call, _) in MODES {
                let Some(number) = number(*call) else { continue };
                assert_eq!(named(on, number).unwrap().name, *name);
            }
        }
        assert_eq!(named(Architecture::X86_64, 0), None);
        assert_eq!(of(-1).errno, libc::EPERM, "what is not known is refused too");
    }

    #[test]
    fn calls_without_end_take_no_memory_without_end() {
        let mut tally = Tally::default();
        for number in (0..1000).chain(0..3) {
            tally.count(number);
        }
        assert_eq!(tally.iter().count(), MAX_COUNTED);
        assert_eq!(tally.iter().next(), Some((0, 2)));
    }
}

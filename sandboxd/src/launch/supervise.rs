//! The supervisor: the launcher's outer half. Makes the namespaces, writes their uid map, waits.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use rustix::thread::CapabilitySet;

use super::init::{self, Ends};
use super::spec::Spec;
use super::{StepFailed, alone, limits};
use crate::sys::process::{ALL_BUT_USERS, ALL_NAMESPACES, Fork, fork_into};

/// A sandbox's init as its supervisor sees it.
#[derive(Debug)]
pub struct Init {
    /// Its process id, as seen from outside.
    pub pid: Pid,
    /// While this is open it lives.
    _alive: OwnedFd,
    /// It is process 1 of nothing: what it started is waited for as well.
    alone: bool,
}

/// Starts the init in new namespaces. It reports over `status`, obeys `control`, and hands its network to `filter`, if the
/// specification says that it is filtered.
///
/// # Errors
/// If there can be no namespaces, or their uid map cannot be written. The init is gone then.
pub fn start(spec: &Spec, status: OwnedFd, control: OwnedFd, filter: Option<OwnedFd>) -> Result<Init, StepFailed> {
    limits::enter_cgroup(&spec.cgroup)?;
    let (alive, hold) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| StepFailed::new("launcher", "making a pipe", error))?;
    let without = match spec.accept_without_namespaces {
        true => alone::why_no_namespaces(),
        false => None,
    };
    if without.is_some() {
        alone::refuse_what_takes_more(spec)?;
        alone::adopt()?;
    }
    let forked = match without {
        Some(_) => fork_into(0).map(|forked| (forked, false)),
        None => fork_init(),
    };
    let (forked, user_namespace) = forked.map_err(|error| {
        StepFailed::new(
            "user_namespace",
            "making user, mount, pid, ipc, uts, network and cgroup namespaces (where none can be made, what only reads runs if \
             policy says `acceptWithoutNamespaces`)",
            error,
        )
    })?;
    let pid = match forked {
        Fork::Child => {
            drop(hold);
            let ends = Ends {
                status,
                control,
                alive,
                filter,
                user_namespace,
            };
            match without {
                Some(why) => alone::run(spec, ends, &why),
                None => init::run(spec, ends),
            }
        }
        Fork::Parent(pid) => pid,
    };
    drop((status, control, alive, filter));
    if user_namespace {
        write_maps(pid).map_err(|error| StepFailed::new("user_namespace", "writing its uid and gid map", error))?;
    }
    rustix::io::write(hold.as_fd(), b"g").map_err(|error| StepFailed::new("launcher", "starting the init", error))?;
    Ok(Init {
        pid,
        _alive: hold,
        alone: without.is_some(),
    })
}

/// Forks into all namespaces. Beside the process whether it has a user namespace of its own: where the host permits none, who
/// has the right to make the others (root) does without; every wall is made of the others.
pub(super) fn fork_init() -> io::Result<(Fork, bool)> {
    let error = match fork_into(ALL_NAMESPACES) {
        Ok(forked) => return Ok((forked, true)),
        Err(error) => error,
    };
    let not_permitted = alone::is_not_permitted(&error);
    let may = || rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN));
    if !not_permitted || !may() {
        return Err(error);
    }
    // What went wrong first is what is told.
    fork_into(ALL_BUT_USERS)
        .map(|forked| (forked, false))
        .map_err(|_| error)
}

/// Waits until the init has ended, and with it everything inside.
///
/// # Errors
/// If there is nothing to wait for.
pub fn wait(init: &Init) -> io::Result<()> {
    loop {
        match rustix::process::waitpid(Some(init.pid), rustix::process::WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => break,
        }
    }
    if init.alone {
        alone::wait_for_all();
    }
    Ok(())
}

/// Inside, the caller keeps its own uid and gid and sees no other. `setgroups` stays closed, as the kernel demands of
/// callers without rights, and because dropping a group can open what a group was denied.
fn write_maps(pid: Pid) -> io::Result<()> {
    let folder = format!("/proc/{}", pid.as_raw_nonzero());
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    fs::write(format!("{folder}/setgroups"), "deny")?;
    fs::write(format!("{folder}/uid_map"), format!("{uid} {uid} 1"))?;
    fs::write(format!("{folder}/gid_map"), format!("{gid} {gid} 1"))
}

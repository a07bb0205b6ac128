//! By which means a run that is prepared gets its sandbox on this system.
//!
//! One value, chosen in one place, so that the code for both systems is compiled and tested on either. What a run may do is
//! settled before ([`crate::prepare`]) and does not depend on it.

use crate::seatbelt::command::Programs;

/// The means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Linux: namespaces, Landlock and seccomp, see [`crate::launch`].
    Namespaces,
    /// macOS: a profile of Seatbelt, see [`crate::seatbelt`], and the programs of the system that are needed for it.
    Seatbelt(Programs),
}

impl Launcher {
    /// What this system has. Nothing that a user says changes it: whoever could name another program would run without a sandbox.
    #[must_use]
    pub fn of_this_system() -> Self {
        Self::of(cfg!(target_os = "macos"))
    }

    fn of(macos: bool) -> Self {
        if macos {
            Self::Seatbelt(Programs::of_the_system())
        } else {
            Self::Namespaces
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_has_its_means_and_the_programs_are_the_systems_own() {
        assert_eq!(Launcher::of(false), Launcher::Namespaces);
        let Launcher::Seatbelt(programs) = Launcher::of(true) else {
            panic!("macOS has Seatbelt");
        };
        for program in [&programs.sandbox_exec, &programs.getconf, &programs.idle] {
            // A folder that nobody can write to, not even root: it is part of the sealed system volume.
            assert!(program.starts_with("/usr/bin"), "{program:?}");
        }
        assert_eq!(
            Launcher::of_this_system() == Launcher::Namespaces,
            cfg!(target_os = "linux")
        );
    }
}

//! Names and their made-up addresses, and which hosts a command wanted.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;
use std::sync::Mutex;

use portcullis_policy::network::Target;

/// The first made-up address: the second half of 198.18.0.0/15 less what is ours, see [`crate::launch::network::SERVICE`].
const FIRST: u32 = u32::from_be_bytes([198, 18, 1, 0]);

/// Most names of one run. Beyond it names are not answered, which is said.
const MAX_NAMES: usize = 16_384;

/// Most hosts that are reported of one run; further ones are counted together.
const MAX_REPORTED: usize = 256;

/// Names that the command asked for. An address stands for its name until the end of the run, as programs keep it.
#[derive(Debug, Default)]
pub(super) struct Pool {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Pool {
    /// The address that stands for a name; `None` if there are too many.
    pub(super) fn address_of(&mut self, name: &str) -> Option<Ipv4Addr> {
        if let Some(number) = self.numbers.get(name) {
            return Some(Ipv4Addr::from(FIRST + number));
        }
        if self.names.len() >= MAX_NAMES {
            return None;
        }
        let number = u32::try_from(self.names.len()).ok()?;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        Some(Ipv4Addr::from(FIRST + number))
    }

    /// The name for which an address stands.
    pub(super) fn name_of(&self, address: Ipv4Addr) -> Option<&str> {
        let number = u32::from(address).checked_sub(FIRST)?;
        self.names.get(usize::try_from(number).ok()?).map(String::as_str)
    }
}

/// One host that a command wanted, with what was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReport {
    /// The host: a name or an address; empty for those that were too many to be listed.
    pub host: String,
    /// The port; 0 if the name was only asked for, or is not known.
    pub port: u16,
    /// Why it was refused; `None` if it was allowed.
    pub refused: Option<String>,
    /// How often.
    pub times: u64,
}

/// The hosts of one run, as they are wanted.
#[derive(Debug, Default)]
pub struct Hosts(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    hosts: BTreeMap<(String, u16, Option<String>), u64>,
    more_allowed: u64,
    more_refused: u64,
}

impl Hosts {
    /// Notes that a host was allowed.
    pub(super) fn allowed(&self, target: &Target, port: u16) {
        self.note(target, port, None);
    }

    /// Notes that a host was refused, and why.
    pub(super) fn refused(&self, target: &Target, port: u16, reason: String) {
        self.note(target, port, Some(reason));
    }

    fn note(&self, target: &Target, port: u16, refused: Option<String>) {
        let mut seen = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let was_refused = refused.is_some();
        let key = (target.to_string(), port, refused);
        if seen.hosts.len() >= MAX_REPORTED && !seen.hosts.contains_key(&key) {
            let more = if was_refused {
                &mut seen.more_refused
            } else {
                &mut seen.more_allowed
            };
            *more += 1;
            return;
        }
        *seen.hosts.entry(key).or_default() += 1;
    }

    /// What was wanted so far.
    #[must_use]
    pub fn report(&self) -> Vec<HostReport> {
        let seen = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let listed = seen.hosts.iter().map(|((host, port, refused), times)| HostReport {
            host: host.clone(),
            port: *port,
            refused: refused.clone(),
            times: *times,
        });
        let more = |times, refused: Option<&str>| HostReport {
            host: String::new(),
            port: 0,
            refused: refused.map(str::to_owned),
            times,
        };
        let further = [
            more(seen.more_allowed, None),
            more(seen.more_refused, Some("further hosts, too many to be listed")),
        ];
        listed
            .chain(further.into_iter().filter(|report| report.times > 0))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_address_and_an_address_its_name() {
        let mut pool = Pool::default();
        let first = pool.address_of("a.test").unwrap();
        let second = pool.address_of("b.test").unwrap();
        assert_ne!(first, second);
        assert_eq!(pool.address_of("a.test"), Some(first));
        assert_eq!(pool.name_of(first), Some("a.test"));
        assert_eq!(pool.name_of(second), Some("b.test"));
        assert_eq!(pool.name_of(Ipv4Addr::new(198, 18, 0, 1)), None);
        assert_eq!(pool.name_of(Ipv4Addr::new(8, 8, 8, 8)), None);
    }

    #[test]
    fn names_without_end_take_no_memory_without_end() {
        let mut pool = Pool::default();
        let given = (0..MAX_NAMES + 10).filter(|number| pool.address_of(&format!("n{number}.test")).is_some());
        assert_eq!(given.count(), MAX_NAMES);
        assert!(pool.address_of("n1.test").is_some(), "known ones are still answered");
    }

    #[test]
    fn hosts_without_end_are_counted() {
        let hosts = Hosts::default();
        for number in 0..MAX_REPORTED + 10 {
            hosts.refused(&Target::Name(format!("n{number}.test")), 443, "no".to_owned());
        }
        hosts.allowed(&Target::Name("late.test".to_owned()), 80);
        let report = hosts.report();
        assert_eq!(report.len(), MAX_REPORTED + 2);
        assert_eq!(
            report.iter().map(|host| host.times).sum::<u64>(),
            MAX_REPORTED as u64 + 11
        );
    }
}

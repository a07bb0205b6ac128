//! Which hosts a sandboxed command may reach: the rules of `networkPolicy`, and what they say about a name or an address.
//!
//! Pure: nothing is resolved or dialled here. Whoever dials asks twice, once about the name and once about each address that
//! the name has, and connects to an address that it asked about. Deny over allow over default; special addresses
//! ([`special`]) are refused unless a rule names them by address.

mod ecosystems;
mod special;

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    ops::Range,
};

use ipnet::IpNet;

pub use ecosystems::ecosystems;
pub use special::{canonical, special};

use crate::rule::{HostPattern, host_of, is_deceptive};

/// One entry of `allow` or `deny`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostRule {
    /// Hosts by name.
    Name(HostPattern),
    /// Hosts by address.
    Range(IpNet),
}

impl HostRule {
    /// Reads an entry: a name, a pattern such as `*.example.com`, an address, or a range such as `10.0.0.0/8`. Of a whole
    /// `https://` address the host counts.
    ///
    /// # Errors
    /// With the span of what is wrong, and a hint.
    pub fn parse(text: &str) -> Result<Self, (Range<usize>, String, Option<String>)> {
        let whole = 0..text.len();
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self::Range(canonical(address).into()));
        }
        if text.contains("://") {
            let host = host_of(text).ok_or_else(|| {
                let hint = "write the host alone, as in `example.com`".to_owned();
                (
                    whole,
                    "programs read this address in different ways".to_owned(),
                    Some(hint),
                )
            })?;
            return Self::parse(&host);
        }
        if let Some((address, length)) = text.split_once('/') {
            let Ok(address) = address.parse::<IpAddr>() else {
                let hint = format!("write `{address}`; paths do not count");
                return Err((
                    whole,
                    "this is neither a host nor a range of addresses".to_owned(),
                    Some(hint),
                ));
            };
            let range = length.parse().ok().and_then(|length| IpNet::new(address, length).ok());
            let Some(range) = range else {
                let most = if address.is_ipv4() { 32 } else { 128 };
                let hint = format!("write a number from 0 to {most} behind the `/`");
                return Err((whole, format!("`{length}` is no length of a range"), Some(hint)));
            };
            if range.addr() != range.network() {
                let hint = format!("write `{}`, or `{address}` for that address alone", range.trunc());
                return Err((whole, "the range does not begin at this address".to_owned(), Some(hint)));
            }
            return Ok(Self::Range(mapped_range(range)));
        }
        HostPattern::parse(text).map(Self::Name)
    }

    /// Whether it covers a host by its name, in the spelling of [`host_of`].
    #[must_use]
    pub fn covers_name(&self, host: &str) -> bool {
        matches!(self, Self::Name(pattern) if pattern.matches(host))
    }

    /// Whether it covers an address.
    #[must_use]
    pub fn covers_address(&self, address: IpAddr) -> bool {
        match self {
            Self::Range(range) => range.contains(&canonical(address)),
            // A pattern for everything means everything.
            Self::Name(pattern) => pattern.text() == "*",
        }
    }
}

/// A range inside `::ffff:0:0/96` is one of IPv4 addresses.
fn mapped_range(range: IpNet) -> IpNet {
    let (IpAddr::V6(network), length) = (range.network(), range.prefix_len()) else {
        return range;
    };
    network
        .to_ipv4_mapped()
        .filter(|_| length >= 96)
        .and_then(|network| IpNet::new(network.into(), length - 96).ok())
        .unwrap_or(range)
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(pattern) => f.write_str(pattern.text()),
            Self::Range(range) if range.prefix_len() == range.max_prefix_len() => write!(f, "{}", range.addr()),
            Self::Range(range) => write!(f, "{range}"),
        }
    }
}

/// A host that a command wants to reach, in the spelling in which rules are compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// By name.
    Name(String),
    /// By address.
    Address(IpAddr),
}

impl Target {
    /// Reads a host as it stands in an address or in a question for a name, without a port. `None` if programs could read it
    /// in different ways.
    #[must_use]
    pub fn parse(host: &str) -> Option<Self> {
        let bare = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(host);
        let host = if bare.parse::<Ipv6Addr>().is_ok() {
            host_of(&format!("http://[{bare}]/"))?
        } else if host.contains([':', '/', '@', '?', '#', '[', ']']) {
            return None;
        } else {
            host_of(&format!("http://{host}/"))?
        };
        Some(match host.parse() {
            Ok(address) => Self::Address(address),
            Err(_) => Self::Name(host),
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

/// Why a host is out of reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A deny entry covers it.
    Denied(HostRule),
    /// No allow entry covers it, and the default is deny.
    NotAllowed,
    /// The address is special: why.
    Special(IpAddr, &'static str),
    /// The name can be read in more than one way, or could be taken for another one.
    Unreadable,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(rule) => write!(f, "the deny entry `{rule}` covers it"),
            Self::NotAllowed => f.write_str("no entry of `networkPolicy.allow` covers it"),
            Self::Special(address, what) => {
                write!(f, "{address} is {what}, which only an entry with that address allows")
            }
            Self::Unreadable => f.write_str("programs read this name in different ways"),
        }
    }
}

/// The rules of one sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkRules {
    /// Hosts that no entry covers may be reached.
    pub default_allow: bool,
    /// Hosts that may be reached.
    pub allow: Vec<HostRule>,
    /// Hosts that may not, whatever else covers them.
    pub deny: Vec<HostRule>,
}

impl NetworkRules {
    /// Whether nothing at all can be reached, so that no filter is needed.
    #[must_use]
    pub fn reach_nothing(&self) -> bool {
        !self.default_allow && self.allow.is_empty()
    }

    /// Whether a name may be looked up. Its addresses are to be judged too, by [`Self::resolved`].
    ///
    /// # Errors
    /// Why not.
    pub fn name(&self, host: &str) -> Result<(), Refusal> {
        if let Some(rule) = self.deny.iter().find(|rule| rule.covers_name(host)) {
            return Err(Refusal::Denied(rule.clone()));
        }
        if !self.default_allow && !self.allow.iter().any(|rule| rule.covers_name(host)) {
            return Err(Refusal::NotAllowed);
        }
        // Who wrote the entry may have seen another name.
        if is_deceptive(host) {
            return Err(Refusal::Unreadable);
        }
        Ok(())
    }

    /// Whether a host may be asked for, by its name or address, before anything is looked up.
    ///
    /// # Errors
    /// Why not.
    pub fn host(&self, host: &str) -> Result<(), Refusal> {
        match Target::parse(host) {
            Some(Target::Name(name)) => self.name(&name),
            Some(Target::Address(address)) => self.address(address),
            None => Err(Refusal::Unreadable),
        }
    }

    /// Whether an address of a name that [`Self::name`] permits may be dialled.
    ///
    /// # Errors
    /// Why not.
    pub fn resolved(&self, address: IpAddr) -> Result<(), Refusal> {
        let address = canonical(address);
        if let Some(rule) = self.deny.iter().find(|rule| rule.covers_address(address)) {
            return Err(Refusal::Denied(rule.clone()));
        }
        match special(address) {
            Some(what) if !self.names_address(address) => Err(Refusal::Special(address, what)),
            _ => Ok(()),
        }
    }

    /// Whether an address that the command itself named may be dialled.
    ///
    /// # Errors
    /// Why not.
    pub fn address(&self, address: IpAddr) -> Result<(), Refusal> {
        self.resolved(address)?;
        if self.default_allow || self.allow.iter().any(|rule| rule.covers_address(address)) {
            Ok(())
        } else {
            Err(Refusal::NotAllowed)
        }
    }

    fn names_address(&self, address: IpAddr) -> bool {
        let by_range = |rule: &HostRule| matches!(rule, HostRule::Range(_)) && rule.covers_address(address);
        self.allow.iter().any(by_range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(default_allow: bool, allow: &[&str], deny: &[&str]) -> NetworkRules {
        let read = |list: &[&str]| list.iter().map(|text| HostRule::parse(text).unwrap()).collect();
        NetworkRules {
            default_allow,
            allow: read(allow),
            deny: read(deny),
        }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn entries_are_read_and_printed() {
        for (text, printed) in [
            ("Example.COM.", "example.com"),
            ("*.example.com", "*.example.com"),
            ("https://api.example.com/v1?x", "api.example.com"),
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("127.0.0.1/32", "127.0.0.1"),
            ("127.0.0.1", "127.0.0.1"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("[::1]", "::1"),
            ("fd00::/8", "fd00::/8"),
            ("*", "*"),
        ] {
            let rule = HostRule::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
            assert_eq!(rule.to_string(), printed);
            assert_eq!(HostRule::parse(printed).unwrap(), rule);
        }
    }

    #[test]
    fn what_could_be_misread_is_a_fault_with_a_hint() {
        for text in [
            "",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "example.com/path",
            "example.com:443",
            "a b",
            "https://a.test\\@b.test/",
        ] {
            let (_, message, _) = HostRule::parse(text).unwrap_err();
            assert!(!message.is_empty(), "{text}");
        }
    }

    #[test]
    fn deny_beats_allow_beats_default() {
        let rules = rules(
            false,
            &["*.example.com", "example.com", "10.0.0.0/8"],
            &["evil.example.com", "10.1.0.0/16"],
        );
        assert_eq!(rules.name("a.example.com"), Ok(()));
        assert_eq!(rules.name("example.com"), Ok(()));
        assert!(matches!(rules.name("evil.example.com"), Err(Refusal::Denied(_))));
        assert_eq!(rules.name("example.org"), Err(Refusal::NotAllowed));
        assert_eq!(rules.name("badexample.com"), Err(Refusal::NotAllowed));
        assert_eq!(rules.address(ip("10.2.3.4")), Ok(()));
        assert_eq!(rules.address(ip("::ffff:10.2.3.4")), Ok(()));
        assert!(matches!(rules.address(ip("10.1.3.4")), Err(Refusal::Denied(_))));
        assert_eq!(rules.address(ip("8.8.8.8")), Err(Refusal::NotAllowed));
    }

    #[test]
    fn a_name_leads_to_no_special_address_unless_that_is_allowed_by_address() {
        let open = rules(true, &["*"], &[]);
        assert_eq!(open.name("rebind.example"), Ok(()));
        assert!(matches!(open.resolved(ip("127.0.0.1")), Err(Refusal::Special(..))));
        assert!(matches!(open.address(ip("169.254.169.254")), Err(Refusal::Special(..))));
        assert_eq!(open.address(ip("8.8.8.8")), Ok(()));
        let named = rules(false, &["db.internal", "10.0.0.0/8"], &[]);
        assert_eq!(named.resolved(ip("10.0.0.7")), Ok(()));
        assert!(matches!(named.resolved(ip("192.168.0.7")), Err(Refusal::Special(..))));
    }

    #[test]
    fn a_target_has_one_spelling_or_none() {
        for (text, target) in [
            ("Example.com.", Some("example.com")),
            ("0x7f.1", Some("127.0.0.1")),
            ("::ffff:127.0.0.1", Some("127.0.0.1")),
            ("[::1]", Some("::1")),
            ("user@example.com", None),
            ("example.com:80", None),
            ("a/b", None),
            ("", None),
        ] {
            assert_eq!(
                Target::parse(text).map(|found| found.to_string()).as_deref(),
                target,
                "{text}"
            );
        }
    }

    #[test]
    fn without_an_entry_nothing_is_reached() {
        assert!(NetworkRules::default().reach_nothing());
        assert!(!rules(true, &[], &[]).reach_nothing());
        assert!(!rules(false, &["a.test"], &[]).reach_nothing());
        assert_eq!(NetworkRules::default().address(ip("1.1.1.1")), Err(Refusal::NotAllowed));
    }
}

//! Judges a host, looks it up, and dials. The only place from which connections leave.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use portcullis_policy::network::{NetworkRules, Refusal, Target};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::hosts::Hosts;

/// Longest wait for the addresses of a name.
const LOOKUP_WITHIN: Duration = Duration::from_secs(10);

/// Longest wait for a connection to one address.
const DIAL_WITHIN: Duration = Duration::from_secs(10);

/// Most addresses of a name that are tried.
const MAX_ADDRESSES: usize = 16;

/// Names that are looked up at the same time: each holds a thread.
const MAX_LOOKUPS: usize = 32;

/// Connections of a run at the same time.
const MAX_CONNECTIONS: usize = 1024;

/// Finds the addresses of names.
pub trait Lookup: Send + Sync + fmt::Debug {
    /// The addresses of a name, in the order in which they are to be tried.
    fn addresses<'a>(&'a self, name: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;
}

/// As this host finds them.
#[derive(Debug)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn addresses<'a>(&'a self, name: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        Box::pin(async move {
            // With its final dot, so that no search list is tried.
            let found = tokio::net::lookup_host((format!("{name}."), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum Closed {
    /// The rules refuse it.
    Refused(Refusal),
    /// The name has no address.
    NoSuchName(io::Error),
    /// Nobody answers.
    Unreachable(io::Error),
    /// The command has too many connections.
    TooMany,
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::NoSuchName(cause) => write!(f, "the name cannot be looked up: {cause}"),
            Self::Unreachable(cause) => write!(f, "it cannot be reached: {cause}"),
            Self::TooMany => write!(f, "more than {MAX_CONNECTIONS} connections are open"),
        }
    }
}

/// The gate of one run.
#[derive(Debug)]
pub(super) struct Gate {
    rules: NetworkRules,
    lookup: Arc<dyn Lookup>,
    lookups: Semaphore,
    connections: Arc<Semaphore>,
    hosts: Arc<Hosts>,
}

/// A connection that counts until it is dropped.
#[derive(Debug)]
pub(super) struct Open {
    /// The connection.
    pub(super) stream: TcpStream,
    /// Counts it.
    pub(super) permit: tokio::sync::OwnedSemaphorePermit,
}

impl Gate {
    pub(super) fn new(rules: NetworkRules, lookup: Arc<dyn Lookup>, hosts: Arc<Hosts>) -> Self {
        Self {
            rules,
            lookup,
            lookups: Semaphore::new(MAX_LOOKUPS),
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            hosts,
        }
    }

    /// What the rules say about a host, before its addresses are known.
    pub(super) fn judge(&self, target: &Target) -> Result<(), Refusal> {
        match target {
            Target::Name(name) => match own_address(name) {
                Some(address) => self.rules.address(address),
                None => self.rules.name(name),
            },
            Target::Address(address) => self.rules.address(*address),
        }
    }

    /// Notes a refusal that was found elsewhere.
    pub(super) fn refuse(&self, target: &Target, port: u16, reason: impl fmt::Display) {
        self.hosts.refused(target, port, reason.to_string());
    }

    /// Connects to a host, if it may be reached. Judged are the name and the very address that is dialled.
    pub(super) async fn dial(&self, target: &Target, port: u16) -> Result<Open, Closed> {
        let result = self.try_dial(target, port).await;
        match &result {
            Ok(_) => self.hosts.allowed(target, port),
            Err(closed @ (Closed::Refused(_) | Closed::TooMany)) => {
                self.hosts.refused(target, port, closed.to_string())
            }
            // The rules let it pass; that nobody answers is the host's affair.
            Err(Closed::NoSuchName(_) | Closed::Unreachable(_)) => self.hosts.allowed(target, port),
        }
        result
    }

    async fn try_dial(&self, target: &Target, port: u16) -> Result<Open, Closed> {
        self.judge(target).map_err(Closed::Refused)?;
        let permit = Arc::clone(&self.connections)
            .try_acquire_owned()
            .map_err(|_| Closed::TooMany)?;
        let addresses = match target {
            Target::Address(address) => vec![*address],
            Target::Name(name) => match own_address(name) {
                Some(address) => vec![address],
                None => self.addresses(name).await?,
            },
        };
        let mut last = None;
        for address in addresses.into_iter().take(MAX_ADDRESSES) {
            // INVARIANT: the address that is dialled is the one that was judged; nothing looks it up again.
            let judged = match target {
                Target::Name(name) if own_address(name).is_none() => self.rules.resolved(address),
                _ => self.rules.address(address),
            };
            if let Err(refusal) = judged {
                last = Some(Closed::Refused(refusal));
                continue;
            }
            match timeout(DIAL_WITHIN, TcpStream::connect(SocketAddr::new(address, port))).await {
                Ok(Ok(stream)) => {
                    let _ = stream.set_nodelay(true);
                    return Ok(Open { stream, permit });
                }
                Ok(Err(error)) => last = Some(Closed::Unreachable(error)),
                Err(_) => last = Some(Closed::Unreachable(io::ErrorKind::TimedOut.into())),
            }
        }
        Err(last.unwrap_or_else(|| Closed::NoSuchName(io::Error::other("it has no address"))))
    }

    async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Closed> {
        let _permit = self.lookups.acquire().await.map_err(|_| Closed::TooMany)?;
        match timeout(LOOKUP_WITHIN, self.lookup.addresses(name)).await {
            Ok(found) => found.map_err(Closed::NoSuchName),
            Err(_) => Err(Closed::NoSuchName(io::ErrorKind::TimedOut.into())),
        }
    }
}

/// The address of a name that always means this machine (RFC 6761), whatever a name server says.
pub(super) fn own_address(name: &str) -> Option<IpAddr> {
    let own = name == "localhost" || name.ends_with(".localhost");
    own.then_some(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_policy::network::HostRule;

    /// Says something else each time.
    #[derive(Debug)]
    struct Rebinding(std::sync::Mutex<Vec<IpAddr>>);

    impl Lookup for Rebinding {
        fn addresses<'a>(&'a self, _: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
            Box::pin(async move { Ok(self.0.lock().unwrap().pop().into_iter().collect()) })
        }
    }

    fn gate(allow: &[&str], answers: &[&str]) -> (Gate, Arc<Hosts>) {
        let hosts = Arc::new(Hosts::default());
        let rules = NetworkRules {
            default_allow: false,
            allow: allow.iter().map(|text| HostRule::parse(text).unwrap()).collect(),
            deny: Vec::new(),
        };
        let answers = answers.iter().rev().map(|text| text.parse().unwrap()).collect();
        let lookup = Arc::new(Rebinding(std::sync::Mutex::new(answers)));
        (Gate::new(rules, lookup, Arc::clone(&hosts)), hosts)
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_not_dialled() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for address in ["127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0", "::"] {
            let (gate, hosts) = gate(&["rebind.test"], &[address]);
            let closed = gate
                .dial(&Target::Name("rebind.test".to_owned()), port)
                .await
                .unwrap_err();
            assert!(
                matches!(closed, Closed::Refused(Refusal::Special(..))),
                "{address}: {closed}"
            );
            assert_eq!(hosts.report().len(), 1);
            assert!(hosts.report()[0].refused.is_some());
        }
        // The control: the same name and address, allowed by address too.
        let (gate, hosts) = gate(&["rebind.test", "127.0.0.1"], &["127.0.0.1"]);
        let accepted = tokio::spawn(async move { listener.accept().await.map(drop) });
        assert!(gate.dial(&Target::Name("rebind.test".to_owned()), port).await.is_ok());
        accepted.await.unwrap().unwrap();
        assert_eq!(hosts.report()[0].refused, None);
    }

    #[tokio::test]
    async fn a_name_is_looked_up_once_per_connection_and_only_if_it_is_allowed() {
        let (gate, _) = gate(&["other.test"], &["8.8.8.8"]);
        let closed = gate
            .dial(&Target::Name("secret.evil.test".to_owned()), 443)
            .await
            .unwrap_err();
        assert!(matches!(closed, Closed::Refused(Refusal::NotAllowed)), "{closed}");
        let left = gate.lookup.addresses("any").await.unwrap();
        assert_eq!(left.len(), 1, "nothing was asked");
    }

    #[tokio::test]
    async fn names_of_this_machine_are_judged_by_address() {
        let (gate, _) = gate(&["localhost", "*.localhost", "*"], &["127.0.0.1"]);
        for name in ["localhost", "a.localhost"] {
            let closed = gate.dial(&Target::Name(name.to_owned()), 1).await.unwrap_err();
            assert!(
                matches!(closed, Closed::Refused(Refusal::Special(..))),
                "{name}: {closed}"
            );
        }
    }
}

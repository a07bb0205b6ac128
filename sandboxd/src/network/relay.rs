//! Passing bytes between a command and the host that it was allowed to reach, after a look at the first ones.

use std::future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use portcullis_policy::network::Target;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional_with_sizes};
use tokio::time::{Instant, sleep_until, timeout};

use super::beginning::{self, Beginning};
use super::gate::Open;
use super::tls::{self, Hello};
use super::wrapped::Begun;
use super::{Shared, http};

/// Bytes that one direction holds.
const BUFFER: usize = 64 * 1024;

/// Longest wait for the rest of a client's first message in TLS.
const HELLO_WITHIN: Duration = Duration::from_secs(10);

/// How long bytes are held back that may become a request. A protocol that says something short without a newline and waits for
/// the answer gets on after that; a request whose first bytes have gone out is broken off when it turns out to be one.
const HELD_FOR: Duration = Duration::from_millis(300);

/// Ports at which clients speak TLS from the first byte (IANA: https, smtps, nntps, ldaps, dns, ftps, imaps, pop3s).
const TLS_PORTS: [u16; 8] = [443, 465, 563, 636, 853, 990, 993, 995];

/// Passes bytes until both sides have ended. For a host by name a client has to ask for that name: of TLS in its first message, of
/// plain HTTP in each request, which goes on as in [`http::begun`].
pub(super) async fn relay<S>(shared: &Arc<Shared>, target: Target, port: u16, mut client: S, mut open: Open)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let seen = match &target {
        Target::Name(name) => look(name, port, &mut client, &mut open.stream).await,
        // By address a server answers to any name; what was allowed is the machine.
        Target::Address(_) => Ok(Seen::PassOn(Vec::new())),
    };
    let result = match seen {
        Ok(Seen::PassOn(first)) => pass_on(first, &mut client, &mut open.stream).await,
        Ok(Seen::Http(first)) => {
            http::begun(shared, Begun::new(first, client), target, port, open).await;
            return;
        }
        Ok(Seen::Over) => return,
        Err(broken) => Err(broken),
    };
    tell(shared, &target, port, result);
}

/// The same for a connection that was something else before: an HTTP connection that was switched to another protocol. It cannot
/// become one again.
pub(super) async fn relay_switched<C, H>(shared: &Arc<Shared>, target: &Target, port: u16, mut client: C, mut host: H)
where
    C: AsyncRead + AsyncWrite + Unpin,
    H: AsyncRead + AsyncWrite + Unpin,
{
    let seen = match target {
        Target::Name(name) => look(name, port, &mut client, &mut host).await,
        Target::Address(_) => Ok(Seen::PassOn(Vec::new())),
    };
    let result = match seen {
        Ok(Seen::PassOn(first)) => pass_on(first, &mut client, &mut host).await,
        Ok(Seen::Http(_)) => Err(Broken::refused("a connection that was switched becomes HTTP again")),
        Ok(Seen::Over) => return,
        Err(broken) => Err(broken),
    };
    tell(shared, target, port, result);
}

fn tell(shared: &Shared, target: &Target, port: u16, result: Result<(), Broken>) {
    match result {
        Ok(()) => {}
        Err(Broken::Refused(reason)) => shared.gate.refuse(target, port, reason),
        Err(Broken::Io(error)) => tracing::debug!(%error, %target, port, "a connection ended early"),
    }
}

enum Broken {
    Refused(String),
    Io(io::Error),
}

impl Broken {
    fn refused(reason: &str) -> Self {
        Self::Refused(reason.to_owned())
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What the first bytes of a client were.
enum Seen {
    /// Nothing to object to. These bytes have not gone out yet.
    PassOn(Vec<u8>),
    /// Requests, which are to be judged one by one, beginning with these bytes.
    Http(Vec<u8>),
    /// The connection has ended.
    Over,
}

async fn pass_on<C, H>(first: Vec<u8>, client: &mut C, host: &mut H) -> Result<(), Broken>
where
    C: AsyncRead + AsyncWrite + Unpin,
    H: AsyncRead + AsyncWrite + Unpin,
{
    host.write_all(&first).await?;
    copy_bidirectional_with_sizes(client, host, BUFFER, BUFFER).await?;
    Ok(())
}

/// Looks at the first bytes of a client, which go out only when it is known what they are; what the host says first is passed on
/// meanwhile.
async fn look<C, H>(name: &str, port: u16, client: &mut C, host: &mut H) -> Result<Seen, Broken>
where
    C: AsyncRead + AsyncWrite + Unpin,
    H: AsyncRead + AsyncWrite + Unpin,
{
    let mut greeting = vec![0u8; BUFFER];
    let mut first = Vec::new();
    // How much of it has gone out, and when the rest is to.
    let (mut gone, mut held) = (0, None);
    loop {
        let plain = match beginning::read(&first) {
            Beginning::Unclear => None,
            Beginning::Tls => {
                check_hello(name, &mut first, client).await?;
                return Ok(Seen::PassOn(first));
            }
            Beginning::Http if gone > 0 => {
                return Err(Broken::refused("a request that comes in pieces cannot be judged"));
            }
            Beginning::Http => Some(true),
            Beginning::Http2 => {
                let why = "HTTP/2 without TLS cannot be judged: which host a request is for is not read";
                return Err(Broken::refused(why));
            }
            Beginning::TooLong => return Err(Broken::refused("the first line is too long to be judged")),
            Beginning::Other => Some(false),
        };
        if let Some(is_http) = plain {
            if TLS_PORTS.contains(&port) && !first.starts_with(b"SSH-") {
                return Err(Broken::refused("this is no TLS, at a port for it"));
            }
            return Ok(match is_http {
                true => Seen::Http(first),
                false => Seen::PassOn(first.split_off(gone)),
            });
        }
        if first.len() > gone && held.is_none() {
            held = Some(Instant::now() + HELD_FOR);
        }
        tokio::select! {
            read = client.read_buf(&mut first) => if read? == 0 {
                // It has ended its side: the host may still speak.
                return Ok(Seen::PassOn(first.split_off(gone)));
            },
            read = host.read(&mut greeting) => {
                let read = read?;
                if read == 0 {
                    client.shutdown().await?;
                    return Ok(Seen::Over);
                }
                client.write_all(greeting.get(..read).unwrap_or_default()).await?;
            }
            () = wait(held) => {
                host.write_all(first.get(gone..).unwrap_or_default()).await?;
                (gone, held) = (first.len(), None);
            }
        }
    }
}

async fn wait(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => future::pending().await,
    }
}

/// Whether a TLS client asks for this name. Reads until it has said so.
async fn check_hello(name: &str, first: &mut Vec<u8>, client: &mut (impl AsyncRead + Unpin)) -> Result<(), Broken> {
    loop {
        match tls::read(first) {
            Hello::Incomplete => {
                let read = timeout(HELLO_WITHIN, client.read_buf(first)).await;
                if read.map_err(io::Error::from)?? == 0 {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
            }
            Hello::Complete(Some(asked)) if asked == name => return Ok(()),
            Hello::Complete(Some(asked)) => {
                let why = format!("the TLS client asks for another name, `{asked}`");
                return Err(Broken::Refused(why));
            }
            Hello::Complete(None) => return Err(Broken::refused("the TLS client names no host")),
            Hello::Unreadable => return Err(Broken::refused("this is no TLS that can be read")),
        }
    }
}

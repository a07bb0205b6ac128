//! HTTP: the proxy, and plain connections of programs that know of none.
//!
//! Each request of a connection is judged by the host that it names, not only the first: a connection that is kept open
//! must not carry one to somebody else. A refusal is an answer that says why.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty, Full, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1 as client;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use portcullis_policy::network::Target;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::gate::{Closed, Open};
use super::relay::{relay, relay_switched};
use super::wrapped::Lingering;
use super::{Shared, socks};

/// Longest wait for the head of a request, from one to the next too.
const HEAD_WITHIN: Duration = Duration::from_secs(120);

/// Longest wait for the first byte of a client.
const SPEAKS_WITHIN: Duration = Duration::from_secs(30);

/// Largest head of a request or answer, in bytes.
const MAX_HEAD: usize = 256 * 1024;

type Body = BoxBody<Bytes, hyper::Error>;

/// Takes connections to the proxy.
pub(super) async fn proxy(shared: Arc<Shared>, listener: TcpListener) {
    while let Some((stream, permit)) = shared.client(&listener).await {
        let own = Arc::clone(&shared);
        shared.spawn(async move {
            let _permit = permit;
            let mut first = [0u8];
            match timeout(SPEAKS_WITHIN, stream.peek(&mut first)).await {
                Ok(Ok(1)) if first == [socks::VERSION] => socks::connection(&own, stream).await,
                Ok(Ok(1)) => serve(&own, stream, Means::Proxy, None).await,
                _ => {}
            }
        });
    }
}

/// Serves a plain connection to one host.
pub(super) async fn transparent(shared: &Arc<Shared>, stream: TcpStream, target: Target, port: u16) {
    serve(shared, stream, Means::Host(target, port), None).await;
}

/// Serves a connection that turned out to be a plain one after its host was dialled.
pub(super) async fn begun<S>(shared: &Arc<Shared>, client: S, target: Target, port: u16, open: Open)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    serve(shared, client, Means::Host(target, port), Some(open)).await;
}

/// What a connection is for.
#[derive(Clone, Debug)]
enum Means {
    /// For whatever each request names.
    Proxy,
    /// For this host.
    Host(Target, u16),
}

/// A client's connection.
struct Connection {
    means: Means,
    /// A way to a host that may be used again by the next request.
    kept: Mutex<Option<(Target, u16, client::SendRequest<Incoming>)>>,
    /// The connection to the host of [`Means::Host`], where it was made before anybody knew that HTTP is spoken.
    dialled: Mutex<Option<Open>>,
}

/// Boxed, because a tunnel that is begun here may lead back here.
fn serve<S>(
    shared: &Arc<Shared>,
    stream: S,
    means: Means,
    dialled: Option<Open>,
) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stream = TokioIo::new(Lingering::new(shared, stream));
    let connection = Arc::new(Connection {
        means,
        kept: Mutex::default(),
        dialled: Mutex::new(dialled),
    });
    let service = service_fn(move |request| {
        let (shared, connection) = (Arc::clone(shared), Arc::clone(&connection));
        async move { Ok::<_, std::convert::Infallible>(respond(&shared, &connection, request).await) }
    });
    Box::pin(async move {
        let served = server::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_buf_size(MAX_HEAD)
            .preserve_header_case(true)
            .serve_connection(stream, service)
            .with_upgrades()
            .await;
        if let Err(error) = served {
            tracing::debug!(%error, "a connection ended early");
        }
    })
}

/// Why a request gets an answer of ours.
enum Answer {
    /// It cannot be understood.
    Bad(&'static str),
    /// It names another host than its connection is for.
    OtherHost { named: String, meant: String },
    /// There is no connection.
    Closed(Target, u16, Closed),
    /// The host breaks off, or speaks no HTTP.
    Broken(Target, u16, hyper::Error),
}

async fn respond(shared: &Arc<Shared>, connection: &Connection, request: Request<Incoming>) -> Response<Body> {
    let result = match &connection.means {
        Means::Proxy if request.method() == Method::CONNECT => tunnel(shared, request).await,
        Means::Proxy => match absolute(request.uri()) {
            Ok((target, port)) => pass(shared, connection, request, target, port).await,
            Err(answer) => Err(answer),
        },
        Means::Host(..) if request.method() == Method::CONNECT => Err(Answer::Bad("this is no proxy")),
        Means::Host(target, port) => match names(&request, target, *port) {
            Ok(()) => pass(shared, connection, request, target.clone(), *port).await,
            Err(answer) => {
                if let Answer::OtherHost { named, .. } = &answer {
                    let reason = format!("the request names another host, `{named}`");
                    shared.gate.refuse(target, *port, reason);
                }
                Err(answer)
            }
        },
    };
    result.unwrap_or_else(|answer| said(&answer))
}

/// The host of a request to a proxy.
fn absolute(uri: &Uri) -> Result<(Target, u16), Answer> {
    match (uri.scheme_str(), uri.host()) {
        (Some("http"), Some(host)) => {
            let target = Target::parse(host).ok_or(Answer::Bad("the host can be read in more than one way"))?;
            Ok((target, uri.port_u16().unwrap_or(80)))
        }
        (Some(_), Some(_)) => Err(Answer::Bad("use CONNECT for anything but plain HTTP")),
        _ => Err(Answer::Bad("this is a proxy: name the host, as in `GET http://host/`")),
    }
}

/// Whether a request on a connection to one host is for that host.
fn names(request: &Request<Incoming>, target: &Target, port: u16) -> Result<(), Answer> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (host, further) = (hosts.next(), hosts.next());
    let text = match (request.uri().authority(), host.map(HeaderValue::to_str), further) {
        (_, _, Some(_)) => return Err(Answer::Bad("the request names two hosts")),
        (Some(authority), Some(Ok(host)), None) if authority.as_str() != host => {
            return Err(Answer::Bad("the request names two hosts"));
        }
        (Some(authority), ..) => authority.as_str(),
        (None, Some(Ok(host)), None) => host,
        // Old clients name none: then it can only be the one that was dialled.
        (None, None, None) if request.version() == Version::HTTP_10 => return Ok(()),
        _ => return Err(Answer::Bad("the request names no host")),
    };
    let (host, named_port) = split(text);
    let fits = Target::parse(host).as_ref() == Some(target) && named_port.is_none_or(|named| named == port);
    // By address a server answers to any name; what was allowed is the machine.
    if fits || matches!(target, Target::Address(_)) {
        return Ok(());
    }
    Err(Answer::OtherHost {
        named: text.chars().take(200).collect(),
        meant: target.to_string(),
    })
}

/// Host and port of `host:port`, `[v6]:port` or `host`.
fn split(authority: &str) -> (&str, Option<u16>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (authority, None),
        },
        _ => (authority, None),
    }
}

/// A tunnel to whatever the client speaks.
async fn tunnel(shared: &Arc<Shared>, request: Request<Incoming>) -> Result<Response<Body>, Answer> {
    let authority = request
        .uri()
        .authority()
        .map(hyper::http::uri::Authority::as_str)
        .unwrap_or_default();
    let (host, port) = split(authority);
    let port = port.ok_or(Answer::Bad("CONNECT needs a host and a port"))?;
    let target = Target::parse(host).ok_or(Answer::Bad("the host can be read in more than one way"))?;
    let open = match shared.gate.dial(&target, port).await {
        Ok(open) => open,
        Err(closed) => return Err(Answer::Closed(target, port, closed)),
    };
    let own = Arc::clone(shared);
    shared.spawn(async move {
        match hyper::upgrade::on(request).await {
            Ok(client) => relay(&own, target, port, TokioIo::new(client), open).await,
            Err(error) => tracing::debug!(%error, "a tunnel was not used"),
        }
    });
    Ok(Response::new(Empty::new().map_err(|never| match never {}).boxed()))
}

/// Headers that are for the next hop only (RFC 9110 section 7.6.1), or for a proxy.
const HOP: [&str; 9] = [
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// Passes a request on to its host, and the host's answer back.
async fn pass(
    shared: &Arc<Shared>,
    connection: &Connection,
    mut request: Request<Incoming>,
    target: Target,
    port: u16,
) -> Result<Response<Body>, Answer> {
    let upgrade = upgrade_of(request.headers());
    to_origin_form(&mut request).map_err(Answer::Bad)?;
    strip(request.headers_mut(), upgrade.as_ref());
    let mut sender = way(shared, connection, &target, port).await?;
    let client = upgrade.is_some().then(|| hyper::upgrade::on(&mut request));
    let broken = |error| Answer::Broken(target.clone(), port, error);
    let mut response = sender.send_request(request).await.map_err(broken)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let host = hyper::upgrade::on(&mut response);
        if let Some(client) = client {
            let own = Arc::clone(shared);
            shared.spawn(async move {
                if let (Ok(client), Ok(host)) = (client.await, host.await) {
                    relay_switched(&own, &target, port, TokioIo::new(client), TokioIo::new(host)).await;
                }
            });
        }
        strip(response.headers_mut(), upgrade.as_ref());
    } else {
        strip(response.headers_mut(), None);
        *connection.kept.lock().await = Some((target, port, sender));
    }
    Ok(response.map(|body| body.boxed()))
}

/// A connection to the host: the one of the request before, if it still stands, else a new one.
async fn way(
    shared: &Arc<Shared>,
    connection: &Connection,
    target: &Target,
    port: u16,
) -> Result<client::SendRequest<Incoming>, Answer> {
    if let Some((known, known_port, mut sender)) = connection.kept.lock().await.take()
        && (&known, known_port) == (target, port)
        && sender.ready().await.is_ok()
    {
        return Ok(sender);
    }
    // A connection is made to one host only, so what was dialled for it leads there.
    let dialled = connection.dialled.lock().await.take();
    let Open { stream, permit } = match dialled {
        Some(open) => open,
        None => match shared.gate.dial(target, port).await {
            Ok(open) => open,
            Err(closed) => return Err(Answer::Closed(target.clone(), port, closed)),
        },
    };
    let (sender, driver) = client::Builder::new()
        .preserve_header_case(true)
        .max_buf_size(MAX_HEAD)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| Answer::Broken(target.clone(), port, error))?;
    shared.spawn(async move {
        let _permit = permit;
        let _ = driver.with_upgrades().await;
    });
    Ok(sender)
}

/// `http://host/path` becomes `/path`, with the host in its header: there is one host, the one that was judged.
fn to_origin_form(request: &mut Request<Incoming>) -> Result<(), &'static str> {
    if let Some(authority) = request.uri().authority() {
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| "the host cannot be written as a header")?;
        request.headers_mut().insert(HOST, host);
    }
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse().map_err(|_| "the path cannot be read")?;
    *request.version_mut() = Version::HTTP_11;
    Ok(())
}

/// What a request wants to be switched to. Not to HTTP/2 (RFC 7540 section 3.2): which hosts its requests are for is not read.
fn upgrade_of(headers: &HeaderMap) -> Option<HeaderValue> {
    let wanted = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let wanted = wanted
        .flat_map(|value| value.split(','))
        .any(|word| word.trim().eq_ignore_ascii_case("upgrade"));
    let is_http2 = |value: &HeaderValue| {
        let text = value.to_str().unwrap_or_default().to_ascii_lowercase();
        text.split(',').any(|word| matches!(word.trim(), "h2c" | "h2"))
    };
    let mut named = headers.get_all(UPGRADE).iter();
    match (named.next(), named.next()) {
        (Some(only), None) if wanted && !is_http2(only) => Some(only.clone()),
        _ => None,
    }
}

/// Takes away what is for this hop, and says it anew where a switch is wanted.
fn strip(headers: &mut HeaderMap, upgrade: Option<&HeaderValue>) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|word| word.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP {
        headers.remove(name);
    }
    if let Some(upgrade) = upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, upgrade.clone());
    }
}

/// An answer of ours, in words for people and agents.
fn said(answer: &Answer) -> Response<Body> {
    let (status, text) = match answer {
        Answer::Bad(what) => (StatusCode::BAD_REQUEST, (*what).to_owned()),
        Answer::OtherHost { named, meant } => (
            StatusCode::FORBIDDEN,
            format!("the request is for `{named}`, but the connection was made to `{meant}`"),
        ),
        Answer::Closed(target, port, closed) => match closed {
            Closed::Refused(refusal) => (
                StatusCode::FORBIDDEN,
                format!("{target}:{port} is out of reach: {refusal}. Ask to add it to `networkPolicy.allow`"),
            ),
            Closed::TooMany => (StatusCode::TOO_MANY_REQUESTS, closed.to_string()),
            Closed::NoSuchName(_) | Closed::Unreachable(_) => {
                (StatusCode::BAD_GATEWAY, format!("{target}:{port}: {closed}"))
            }
        },
        Answer::Broken(target, port, error) => (StatusCode::BAD_GATEWAY, format!("{target}:{port}: {error}")),
    };
    let body = Full::new(Bytes::from(format!("portcullis: {text}\n")));
    let mut response = Response::new(body.map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    // So that a program which keeps connections does not take the refusal for the host's.
    response
        .headers_mut()
        .insert("x-portcullis", HeaderValue::from_static("refused"));
    response
}

//! The network filter with a real sandbox in front of it and hosts on this machine behind it.
//!
//! Programs inside are bash and its `/dev/tcp`, which know of no proxy and look names up as any program does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests are here"
)]

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portcullis_policy::network::{HostRule, NetworkRules};
use portcullis_proto::v1::{self, NetworkAccess, SandboxProfile, WorkspaceAccess};
use portcullis_sandboxd::launch::spec::{Event, Spec};
use portcullis_sandboxd::network::{self, Filter, HostReport, Lookup};
use portcullis_sandboxd::prepare::{Extras, prepare};
use portcullis_sandboxd::process::launch;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Longest that anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A name server of the outside: every name that it knows is on this machine. It keeps what it was asked.
#[derive(Debug, Default)]
struct Names {
    known: BTreeMap<&'static str, IpAddr>,
    asked: Mutex<Vec<String>>,
}

impl Lookup for Names {
    fn addresses<'a>(&'a self, name: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        self.asked.lock().unwrap().push(name.to_owned());
        let found = self.known.get(name).copied();
        Box::pin(async move { found.map(|ip| vec![ip]).ok_or_else(|| io::ErrorKind::NotFound.into()) })
    }
}

/// A host on this machine: greets each connection, answers each request, and keeps what it received.
struct Upstream {
    port: u16,
    received: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Upstream {
    async fn start(greeting: &'static [u8], answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let keep = Arc::clone(&keep);
                tokio::spawn(async move {
                    stream.write_all(greeting).await?;
                    let mut bytes = Vec::new();
                    while stream.read_buf(&mut bytes).await? > 0 {
                        if answer.is_empty() {
                            continue;
                        }
                        if bytes.windows(4).any(|end| end == b"\r\n\r\n") {
                            let asked = std::mem::take(&mut bytes);
                            keep.lock().unwrap().push(asked.clone());
                            stream.write_all(answer).await?;
                            if asked.windows(6).any(|word| word == b" close") {
                                return Ok(());
                            }
                        }
                    }
                    keep.lock().unwrap().push(bytes);
                    io::Result::Ok(())
                });
            }
        });
        Self { port, received }
    }

    fn received(&self) -> Vec<String> {
        let received = self.received.lock().unwrap();
        received
            .iter()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .collect()
    }
}

const HTTP_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

struct Ran {
    code: u32,
    out: String,
    hosts: Vec<HostReport>,
    asked: Vec<String>,
}

impl Ran {
    fn refused(&self, host: &str) -> Option<&str> {
        let found = self.hosts.iter().filter(|report| report.host == host);
        found.filter_map(|report| report.refused.as_deref()).next()
    }

    fn allowed(&self, host: &str) -> bool {
        self.hosts
            .iter()
            .any(|report| report.host == host && report.refused.is_none())
    }
}

struct Sandbox {
    _keep: tempfile::TempDir,
    workspace: PathBuf,
    allow: Vec<&'static str>,
    deny: Vec<&'static str>,
    default_allow: bool,
    known: BTreeMap<&'static str, IpAddr>,
}

impl Sandbox {
    /// Names whose address is this machine, which has to be allowed by address too.
    fn new(allow: &[&'static str]) -> Self {
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let own: IpAddr = "127.0.0.1".parse().unwrap();
        let names = ["allowed.test", "other.test", "denied.test", "deep.sub.test"];
        Self {
            workspace: keep.path().canonicalize().unwrap(),
            _keep: keep,
            allow: allow.to_vec(),
            deny: Vec::new(),
            default_allow: false,
            known: names.map(|name| (name, own)).into(),
        }
    }

    fn file(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.workspace.join(name), bytes).unwrap();
    }

    async fn bash(&self, line: &str) -> Ran {
        tokio::time::timeout(PATIENCE, self.run(line)).await.expect("it hangs")
    }

    async fn run(&self, line: &str) -> Ran {
        let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let profile = SandboxProfile {
            workspace: WorkspaceAccess::ReadWrite.into(),
            roots: vec![self.workspace.display().to_string()],
            network: NetworkAccess::Filtered.into(),
            network_rules: Some(v1::NetworkRules {
                default_allow: self.default_allow,
                allow: texts(&self.allow),
                deny: texts(&self.deny),
            }),
            temporary_folder: v1::TemporaryFolder::Private.into(),
            ..SandboxProfile::default()
        };
        let prepared = prepare(&profile, &Extras::default()).unwrap();
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let spec = Spec {
            argv: ["bash", "-c", line].map(|word| word.as_bytes().to_vec()).to_vec(),
            cwd: bytes(&self.workspace),
            environment: vec![b"PATH=/usr/local/bin:/usr/bin:/bin".to_vec()],
            layout: Some(prepared.layout),
            filtered_network: true,
            ..Spec::default()
        };
        let read = |list: &[&str]| list.iter().map(|text| HostRule::parse(text).unwrap()).collect();
        let rules = NetworkRules {
            default_allow: self.default_allow,
            allow: read(&self.allow),
            deny: read(&self.deny),
        };
        assert_eq!(prepared.network.as_ref(), Some(&rules));
        let names = Arc::new(Names {
            known: self.known.clone(),
            ..Names::default()
        });
        let (ours, theirs) = network::pair().unwrap();
        let filter = Filter::start(ours, rules, Arc::clone(&names) as Arc<dyn Lookup>);
        let launcher = Path::new(env!("CARGO_BIN_EXE_portcullis-launch"));
        let mut launched = launch(launcher, &spec, Some(theirs), None, None).unwrap();
        drop(launched.stdin.take());
        let mut out = String::new();
        let (mut stdout, mut stderr) = (launched.stdout.take().unwrap(), launched.stderr.take().unwrap());
        let (mut said, mut complained) = (Vec::new(), Vec::new());
        let (first, second) = tokio::join!(stdout.read_to_end(&mut said), stderr.read_to_end(&mut complained));
        first.unwrap();
        second.unwrap();
        out.push_str(&String::from_utf8_lossy(&said));
        out.push_str(&String::from_utf8_lossy(&complained));
        let mut code = None;
        let mut events = Vec::new();
        while let Some(event) = launched.reports.next().await.unwrap() {
            if let Event::Exited(exited) = &event {
                code = Some(exited.code + exited.signal);
            }
            events.push(event);
        }
        Ran {
            code: code.unwrap_or_else(|| panic!("{events:?}\n{out}")),
            out,
            hosts: filter.finish().await.hosts,
            asked: names.asked.lock().unwrap().clone(),
        }
    }
}

/// Reads from a host until it ends.
fn listen_to(host: &str, port: u16) -> String {
    format!("exec 3<>/dev/tcp/{host}/{port} && exec 4<&3 && cat <&4")
}

/// Sends one request over a connection and prints what comes back.
fn ask(host: &str, port: u16, request: &str) -> String {
    format!("exec 3<>/dev/tcp/{host}/{port} && printf '{request}' >&3 && timeout 5 cat <&3")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_knows_of_no_proxy_reaches_what_is_allowed_by_name_at_any_port() {
    let upstream = Upstream::start(b"welcome\n", b"").await;
    let sandbox = Sandbox::new(&["allowed.test", "127.0.0.1"]);
    let line = format!(
        "exec 3<>/dev/tcp/allowed.test/{} && read -r greeting <&3 && echo \"$greeting\"",
        upstream.port
    );
    let ran = sandbox.bash(&line).await;
    assert_eq!((ran.code, ran.out.trim()), (0, "welcome"));
    assert!(ran.allowed("allowed.test"));
    assert_eq!(ran.asked, ["allowed.test"], "looked up once, outside");
}

/// Several processes at once, so that more than one call waits behind what the kernel tells of.
#[tokio::test(flavor = "multi_thread")]
async fn many_calls_of_several_processes_are_all_answered() {
    let sandbox = Sandbox::new(&["allowed.test"]);
    let connects = "for i in $(seq 200); do true 3<>/dev/tcp/127.0.0.1/9; done";
    let refused = "for i in $(seq 25); do unshare --user true; done";
    for each in [connects, refused] {
        let line = format!("for p in 1 2 3 4 5 6; do ({each}) 2>/dev/null & done; wait; echo all");
        let ran = sandbox.bash(&line).await;
        assert_eq!((ran.code, ran.out.trim()), (0, "all"), "{each}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_allowed_fails_at_once_and_its_name_goes_nowhere() {
    let upstream = Upstream::start(b"welcome\n", b"").await;
    for (allow, deny, default_allow) in [
        (vec!["allowed.test", "127.0.0.1"], vec![], false),
        (vec!["*.test", "127.0.0.1"], vec!["denied.test"], false),
        (vec!["127.0.0.1"], vec!["*.test"], true),
    ] {
        let sandbox = Sandbox {
            deny,
            default_allow,
            ..Sandbox::new(&allow)
        };
        let ran = sandbox.bash(&listen_to("denied.test", upstream.port)).await;
        assert_ne!(ran.code, 0, "{allow:?}: {}", ran.out);
        assert!(!ran.out.contains("welcome"));
        assert!(ran.refused("denied.test").is_some(), "{:?}", ran.hosts);
        assert!(ran.asked.is_empty(), "{:?}", ran.asked);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_leads_to_this_machine_is_refused_unless_that_is_allowed_by_address() {
    let upstream = Upstream::start(b"welcome\n", b"").await;
    let ran = Sandbox::new(&["allowed.test"])
        .bash(&listen_to("allowed.test", upstream.port))
        .await;
    assert!(!ran.out.contains("welcome"), "{}", ran.out);
    assert!(
        ran.refused("allowed.test")
            .is_some_and(|reason| reason.contains("loopback"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_over_http_says_why() {
    let ran = Sandbox::new(&["allowed.test"])
        .bash(&ask(
            "denied.test",
            80,
            r"GET / HTTP/1.1\r\nHost: denied.test\r\nConnection: close\r\n\r\n",
        ))
        .await;
    assert!(ran.out.starts_with("HTTP/1.1 403 "), "{}", ran.out);
    assert!(ran.out.contains("denied.test:80 is out of reach"), "{}", ran.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_of_a_connection_is_for_the_host_it_was_made_to() {
    let upstream = Upstream::start(b"", HTTP_ANSWER).await;
    let sandbox = Sandbox::new(&["allowed.test", "other.test", "127.0.0.1"]);
    let port = upstream.port;
    let two = format!(
        r"GET /1 HTTP/1.1\r\nHost: allowed.test:{port}\r\n\r\nGET /2 HTTP/1.1\r\nHost: other.test:{port}\r\nConnection: close\r\n\r\n"
    );
    let ran = sandbox.bash(&ask("allowed.test", port, &two)).await;
    assert!(ran.out.starts_with("HTTP/1.1 200 "), "{}", ran.out);
    assert!(ran.out.contains("HTTP/1.1 403 "), "{}", ran.out);
    let received = upstream.received().concat();
    assert!(
        received.contains("GET /1") && !received.contains("GET /2"),
        "{received}"
    );
}

/// What brings a request to its host is not what decides whether it is looked at.
#[tokio::test(flavor = "multi_thread")]
async fn no_way_to_a_host_carries_a_request_for_another_one() {
    let upstream = Upstream::start(b"", HTTP_ANSWER).await;
    let sandbox = Sandbox::new(&["allowed.test", "127.0.0.1"]);
    let port = upstream.port;
    let request = |method: &str, host: &str| {
        format!(r"{method} /{host} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n")
    };
    let direct = |sent: &str| format!("exec 3<>/dev/tcp/allowed.test/{port} && {sent} && timeout 20 cat <&3");
    let wish: String = [&[5, 1, 0, 5, 1, 0, 3, 12][..], b"allowed.test", &port.to_be_bytes()]
        .concat()
        .iter()
        .map(|byte| format!(r"\x{byte:02x}"))
        .collect();
    let proxy = "exec 3<>/dev/tcp/198.18.0.1/3128";
    // Each way, with a place for the request.
    let ways = [
        (
            "CONNECT",
            format!(
                r"{proxy} && printf 'CONNECT allowed.test:{port} HTTP/1.1\r\nHost: allowed.test\r\n\r\n' >&3 && head -n 2 <&3 >/dev/null && printf 'REQUEST' >&3 && timeout 20 cat <&3"
            ),
        ),
        (
            "SOCKS",
            format!(
                "{proxy} && printf '{wish}' >&3 && head -c 12 <&3 >/dev/null && printf 'REQUEST' >&3 && timeout 20 cat <&3"
            ),
        ),
        ("an empty line in front", direct(r"printf '\r\n\r\nREQUEST' >&3")),
        // Longer than anybody is waited for who may be waiting for the host.
        ("a late beginning", direct("sleep 0.6 && printf 'REQUEST' >&3")),
        ("plainly", direct("printf 'REQUEST' >&3")),
    ];
    for (way, line) in ways {
        for (method, host, passes) in [
            ("GET", "allowed.test", true),
            ("PROPFIND", "allowed.test", true),
            ("GET", "evil.test", false),
            ("PROPFIND", "evil.test", false),
        ] {
            let ran = sandbox.bash(&line.replace("REQUEST", &request(method, host))).await;
            let arrived = upstream.received().concat().contains(&format!("{method} /{host} "));
            assert_eq!(arrived, passes, "{way}, {method} {host}: {}", ran.out);
            let expected = if passes { "hello" } else { "403 Forbidden" };
            assert!(ran.out.contains(expected), "{way}, {method} {host}: {}", ran.out);
            assert_eq!(ran.refused("allowed.test").is_some(), !passes, "{way}: {:?}", ran.hosts);
            upstream.received.lock().unwrap().clear();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_judged_as_a_request_does_not_arrive() {
    let upstream = Upstream::start(b"", HTTP_ANSWER).await;
    let sandbox = Sandbox::new(&["allowed.test", "127.0.0.1"]);
    let port = upstream.port;
    let send = |sent: &str| format!("exec 3<>/dev/tcp/allowed.test/{port} && {sent} && timeout 20 cat <&3");
    for (sent, reason) in [
        (r"printf 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' >&3", "HTTP/2"),
        (
            r"printf G >&3 && sleep 1 && printf 'ET /x HTTP/1.1\r\nHost: evil.test\r\n\r\n' >&3",
            "pieces",
        ),
        (r"printf 'GET /%070000d' 1 >&3", "too long"),
    ] {
        let ran = sandbox.bash(&send(sent)).await;
        let refused = ran.refused("allowed.test").unwrap_or_default();
        assert!(refused.contains(reason), "{sent}: {:?} {}", ran.hosts, ran.out);
        let received = upstream.received().concat();
        assert!(!received.contains("HTTP/"), "{sent}: {received}");
    }
    // A switch to HTTP/2 is not passed on, one to something else is.
    for (switch, arrives) in [("h2c", false), ("websocket, H2C", false), ("websocket", true)] {
        let request = format!(
            r"GET /{arrives} HTTP/1.1\r\nHost: allowed.test:{port}\r\nConnection: Upgrade, close, HTTP2-Settings\r\nUpgrade: {switch}\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
        );
        upstream.received.lock().unwrap().clear();
        let ran = sandbox.bash(&ask("allowed.test", port, &request)).await;
        assert!(ran.out.contains("hello"), "{switch}: {}", ran.out);
        let received = upstream.received().concat().to_ascii_lowercase();
        assert_eq!(received.contains("upgrade: websocket"), arrives, "{received}");
        assert!(
            !received.contains("h2c") && !received.contains("http2-settings: "),
            "{received}"
        );
    }
}

/// Of protocols that are no HTTP nothing is lost, and who waits for an answer to half a line gets it.
#[tokio::test(flavor = "multi_thread")]
async fn other_protocols_are_passed_on_as_they_are() {
    let upstream = Upstream::start(b"ready\n", b"").await;
    let sandbox = Sandbox::new(&["allowed.test", "127.0.0.1"]);
    for sent in [
        "JDWP-Handshake",
        r"USER someone\r\nPASS x\r\n",
        r"\x00\x01GET / HTTP/1.1\r\n",
    ] {
        let line = format!(
            "exec 3<>/dev/tcp/allowed.test/{} && printf '{sent}' >&3 && head -n 1 <&3",
            upstream.port
        );
        let ran = sandbox.bash(&line).await;
        assert_eq!((ran.code, ran.out.trim()), (0, "ready"), "{sent}: {:?}", ran.hosts);
        assert_eq!(ran.refused("allowed.test"), None, "{sent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tls_client_has_to_ask_for_the_name_that_was_allowed() {
    let upstream = Upstream::start(b"", b"").await;
    let sandbox = Sandbox::new(&["allowed.test", "127.0.0.1"]);
    for (asked, passes) in [("allowed.test", true), ("other.test", false), ("", false)] {
        let hello = hello(asked);
        sandbox.file("hello", &hello);
        let line = format!(
            "exec 3<>/dev/tcp/allowed.test/{} && cat hello >&3; timeout 1 cat <&3",
            upstream.port
        );
        let ran = sandbox.bash(&line).await;
        // The end of the sandbox ends the connection, and the host then keeps what it received.
        let arrived = || upstream.received.lock().unwrap().contains(&hello);
        if passes {
            let deadline = tokio::time::Instant::now() + PATIENCE;
            while !arrived() {
                assert!(
                    tokio::time::Instant::now() < deadline,
                    "nothing arrived: {:?}",
                    ran.hosts
                );
                tokio::task::yield_now().await;
            }
        } else {
            assert!(!arrived(), "{asked}");
            assert!(
                ran.refused("allowed.test").is_some_and(|reason| reason.contains("TLS")),
                "{:?}",
                ran.hosts
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_judges_each_request_and_carries_nothing_to_this_machine() {
    let upstream = Upstream::start(b"", HTTP_ANSWER).await;
    let port = upstream.port;
    let proxy = |allow: &[&'static str], request: String| {
        let sandbox = Sandbox::new(allow);
        async move { sandbox.bash(&ask("198.18.0.1", 3128, &request)).await }
    };
    let absolute =
        |host: &str| format!(r"GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let connect = |host: &str| {
        format!(
            r"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
        )
    };
    let open: &[&'static str] = &["allowed.test", "127.0.0.1"];
    for request in [absolute("allowed.test"), connect("allowed.test")] {
        let ran = proxy(open, request.clone()).await;
        assert!(ran.out.contains("hello"), "{request}: {}", ran.out);
    }
    for request in [absolute("denied.test"), connect("denied.test")] {
        let ran = proxy(open, request.clone()).await;
        assert!(
            ran.out.starts_with("HTTP/1.1 403 ") && !ran.out.contains("hello"),
            "{request}: {}",
            ran.out
        );
    }
    // Without the address no spelling of this machine is reached.
    for host in [
        "127.0.0.1",
        "localhost",
        "0x7f.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "allowed.test",
    ] {
        for request in [absolute(host), connect(host)] {
            let ran = proxy(&["allowed.test", "*"], request.clone()).await;
            assert!(!ran.out.contains("hello"), "{request}: {}", ran.out);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn socks_is_judged_like_the_rest() {
    let upstream = Upstream::start(b"welcome\n", b"").await;
    let sandbox = Sandbox::new(&["allowed.test", "127.0.0.1"]);
    let port = upstream.port.to_be_bytes();
    let wish = |host: &str| {
        let bytes = [
            &[5, 1, 0, 5, 1, 0, 3, u8::try_from(host.len()).unwrap()][..],
            host.as_bytes(),
            &port,
        ]
        .concat();
        bytes.iter().map(|byte| format!(r"\x{byte:02x}")).collect::<String>()
    };
    // The answers of the protocol are 2 and 10 bytes.
    let line = |host: &str| {
        let open = "exec 3<>/dev/tcp/198.18.0.1/3128";
        format!(
            "{open} && printf '{}' >&3 && head -c 12 <&3 >/dev/null && head -n 1 <&3",
            wish(host)
        )
    };
    let ran = sandbox.bash(&line("allowed.test")).await;
    assert!(ran.out.contains("welcome"), "{:?} {:?}", ran.out, ran.hosts);
    let ran = sandbox.bash(&line("denied.test")).await;
    assert!(!ran.out.contains("welcome"));
    assert!(ran.refused("denied.test").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_are_judged_as_addresses_and_nothing_hangs() {
    let sandbox = Sandbox::new(&["allowed.test"]);
    for (host, port) in [
        ("127.0.0.1", 1),
        ("10.0.0.1", 443),
        ("169.254.169.254", 443),
        ("8.8.8.8", 443),
        ("::1", 1),
        ("2001:4860:4860::8888", 443),
    ] {
        let ran = sandbox.bash(&listen_to(host, port)).await;
        assert_ne!(ran.code, 0, "{host}: {}", ran.out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_opens_very_many_connections_does_not_use_up_the_filter() {
    let upstream = Upstream::start(b"welcome\n", b"").await;
    let sandbox = Sandbox::new(&["127.0.0.1"]);
    // The last of them is served when others have gone, and not before.
    let line = format!(
        "ulimit -n 1024; for i in {{1..300}}; do exec {{fd}}<>/dev/tcp/127.0.0.1/{}; all+=($fd); done; \
         for i in {{0..199}}; do read -r greeting <&${{all[i]}} && echo $greeting; done | uniq -c; \
         read -r -t 1 greeting <&${{all[299]}} || echo waits; \
         for i in {{0..199}}; do fd=${{all[i]}}; exec {{fd}}<&-; done; \
         read -r greeting <&${{all[299]}} && echo $greeting",
        upstream.port
    );
    let ran = sandbox.bash(&line).await;
    let said: Vec<&str> = ran.out.split_whitespace().collect();
    assert_eq!(said, ["200", "welcome", "waits", "welcome"], "{}", ran.out);
}

/// A first message of TLS, as clients send it (RFC 8446 section 4.1.2), that asks for a name, or for none.
fn hello(name: &str) -> Vec<u8> {
    let block = |bytes: Vec<u8>| [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], &bytes].concat();
    let extension = |kind: u16, data: Vec<u8>| [&kind.to_be_bytes()[..], &block(data)].concat();
    let mut extensions = vec![
        extension(10, block(vec![0, 29])),
        extension(13, block(vec![4, 3, 8, 4])),
        extension(43, vec![2, 3, 4]),
        extension(51, block([&[0, 29, 0, 32][..], &[7; 32]].concat())),
    ];
    if !name.is_empty() {
        extensions.push(extension(
            0,
            block([&[0u8][..], &block(name.as_bytes().to_vec())].concat()),
        ));
    }
    let body = [
        &[3u8, 3][..],
        &[1; 32],
        &[0],
        &block(vec![0x13, 1]),
        &[1, 0],
        &block(extensions.concat()),
    ]
    .concat();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[0x16u8, 3, 1][..], &block([&[1u8][..], &length[1..], &body].concat())].concat()
}

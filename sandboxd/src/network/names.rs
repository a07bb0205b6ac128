//! The name server inside: answers every name with a made-up address, and asks nobody.
//!
//! Names that no rule lets pass are answered too: the refusal follows at the connection, where it can be said why. So a
//! question carries nothing out of the sandbox, whatever is in it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, PTR};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use portcullis_policy::network::Target;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::timeout;

use super::Shared;
use super::gate::own_address;
use super::hosts::Pool;

/// Longest question, in bytes.
const MAX_QUESTION: usize = 4096;

/// Seconds for which an answer may be kept: a made-up address is good for the whole run.
const KEEP_FOR: u32 = 60;

/// Longest silence on a connection.
const SILENCE: Duration = Duration::from_secs(10);

/// Answers questions over UDP.
pub(super) async fn over_udp(shared: Arc<Shared>, socket: UdpSocket) {
    let mut question = vec![0u8; MAX_QUESTION];
    loop {
        match socket.recv_from(&mut question).await {
            Ok((length, from)) => {
                let question = question.get(..length).unwrap_or_default();
                if let Some(answer) = answered(&shared, question) {
                    let _ = socket.send_to(&answer, from).await;
                }
            }
            // The error of an earlier answer that nobody took.
            Err(error) => tracing::debug!(%error, "a question for a name cannot be read"),
        }
    }
}

/// Answers questions over TCP.
pub(super) async fn over_tcp(shared: Arc<Shared>, listener: TcpListener) {
    while let Some((stream, permit)) = shared.client(&listener).await {
        let own = Arc::clone(&shared);
        shared.spawn(async move {
            let _permit = permit;
            let _ = conversation(&own, stream).await;
        });
    }
}

async fn conversation(shared: &Shared, mut stream: TcpStream) -> std::io::Result<()> {
    loop {
        let length = timeout(SILENCE, stream.read_u16()).await??;
        let length = usize::from(length);
        if length > MAX_QUESTION {
            return Ok(());
        }
        let mut question = vec![0u8; length];
        timeout(SILENCE, stream.read_exact(&mut question)).await??;
        let Some(answer) = answered(shared, &question) else {
            return Ok(());
        };
        let Ok(length) = u16::try_from(answer.len()) else {
            return Ok(());
        };
        stream
            .write_all(&[length.to_be_bytes().as_slice(), &answer].concat())
            .await?;
    }
}

fn answered(shared: &Shared, question: &[u8]) -> Option<Vec<u8>> {
    let mut pool = shared.pool.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    answer(question, &mut pool)
}

/// The answer to a question; `None` to what is none.
fn answer(question: &[u8], pool: &mut Pool) -> Option<Vec<u8>> {
    let asked = Message::from_vec(question).ok()?;
    if asked.metadata.message_type != MessageType::Query {
        return None;
    }
    let mut answer = Message::response(asked.metadata.id, asked.metadata.op_code);
    answer.metadata.recursion_desired = asked.metadata.recursion_desired;
    answer.metadata.recursion_available = true;
    answer.metadata.response_code = match (asked.metadata.op_code, asked.queries.as_slice()) {
        (OpCode::Query, [query]) => {
            answer.add_query(query.clone());
            match about(query, pool) {
                Ok(record) => {
                    answer.add_answers(record);
                    ResponseCode::NoError
                }
                Err(code) => code,
            }
        }
        (OpCode::Query, _) => ResponseCode::FormErr,
        _ => ResponseCode::NotImp,
    };
    answer.to_vec().ok()
}

/// What there is to say about one question: a record, nothing of that kind, or why not.
fn about(query: &Query, pool: &mut Pool) -> Result<Option<Record>, ResponseCode> {
    if query.query_class() != DNSClass::IN {
        return Err(ResponseCode::NotImp);
    }
    let record = |data| Record::from_rdata(query.name().clone(), KEEP_FOR, data);
    let text = query.name().to_ascii();
    if query.query_type() == RecordType::PTR {
        let name = reversed(&text).and_then(|address| pool.name_of(address).map(str::to_owned));
        let name = name.and_then(|name| Name::from_ascii(format!("{name}.")).ok());
        return name
            .map(|name| Some(record(RData::PTR(PTR(name)))))
            .ok_or(ResponseCode::NXDomain);
    }
    let Some(target) = Target::parse(&text) else {
        // Nobody could say which host it is.
        return Err(ResponseCode::NXDomain);
    };
    let address = match &target {
        Target::Address(IpAddr::V4(address)) => *address,
        Target::Address(IpAddr::V6(_)) => return Ok(None),
        Target::Name(name) => match own_address(name) {
            Some(IpAddr::V4(address)) => address,
            _ => pool.address_of(name).ok_or(ResponseCode::Refused)?,
        },
    };
    // No addresses of IPv6, no hints for HTTPS, no mail: whoever asks goes on with the address of IPv4.
    Ok((query.query_type() == RecordType::A).then(|| record(RData::A(A(address)))))
}

/// The address that `4.3.2.1.in-addr.arpa` asks for.
fn reversed(name: &str) -> Option<Ipv4Addr> {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let address: Ipv4Addr = name.strip_suffix(".in-addr.arpa")?.parse().ok()?;
    let [d, c, b, a] = address.octets();
    Some(Ipv4Addr::new(a, b, c, d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ask(name: &str, kind: RecordType, pool: &mut Pool) -> (ResponseCode, Vec<RData>) {
        let mut message = Message::query();
        message.metadata.recursion_desired = true;
        message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
        let answer = Message::from_vec(&answer(&message.to_vec().unwrap(), pool).unwrap()).unwrap();
        assert_eq!(answer.metadata.id, message.metadata.id);
        assert_eq!(answer.metadata.message_type, MessageType::Response);
        let data = answer.answers.iter().map(|record| record.data.clone()).collect();
        (answer.metadata.response_code, data)
    }

    #[test]
    fn every_name_has_an_address_of_its_own_and_back() {
        let mut pool = Pool::default();
        let (code, data) = ask("Registry.Example.COM.", RecordType::A, &mut pool);
        assert_eq!(code, ResponseCode::NoError);
        let [RData::A(A(address))] = data.as_slice() else {
            panic!("{data:?}")
        };
        assert_eq!(pool.name_of(*address), Some("registry.example.com"));
        let [a, b, c, d] = address.octets();
        let (_, back) = ask(&format!("{d}.{c}.{b}.{a}.in-addr.arpa."), RecordType::PTR, &mut pool);
        let [RData::PTR(PTR(name))] = back.as_slice() else {
            panic!("{back:?}")
        };
        assert_eq!(name.to_ascii(), "registry.example.com.");
    }

    #[test]
    fn other_kinds_are_empty_and_this_machine_is_itself() {
        let mut pool = Pool::default();
        for kind in [RecordType::AAAA, RecordType::HTTPS, RecordType::TXT, RecordType::MX] {
            assert_eq!(
                ask("a.test.", kind, &mut pool),
                (ResponseCode::NoError, Vec::new()),
                "{kind}"
            );
        }
        let (_, data) = ask("localhost.", RecordType::A, &mut pool);
        assert_eq!(data, [RData::A(A(Ipv4Addr::LOCALHOST))]);
        let (code, data) = ask("1.2.0.192.in-addr.arpa.", RecordType::PTR, &mut pool);
        assert_eq!((code, data), (ResponseCode::NXDomain, Vec::new()));
    }

    proptest! {
        #[test]
        fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
            let _ = answer(&bytes, &mut Pool::default());
        }
    }
}

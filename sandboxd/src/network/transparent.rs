//! Connections of programs that know of no proxy: what they meant is known from where they arrive.

use std::sync::Arc;
use std::time::Duration;

use portcullis_policy::network::Target;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::beginning::{self, Beginning};
use super::{Shared, http, relay};

/// How long a client may be silent before it counts as one that waits for the host to speak first.
const SPEAKS_WITHIN: Duration = Duration::from_millis(200);

/// Longest beginning that is looked at before the host is dialled, in bytes. Whoever says more at once, and no whole line, is looked
/// at afterwards.
const LOOKED_AT: usize = 8 * 1024;

/// Takes connections to one host and port.
pub(super) async fn serve(shared: Arc<Shared>, listener: TcpListener, target: Target, port: u16) {
    while let Some((stream, permit)) = shared.client(&listener).await {
        let (own, target) = (Arc::clone(&shared), target.clone());
        shared.spawn(async move {
            let _permit = permit;
            connection(&own, stream, target, port).await;
        });
    }
}

async fn connection(shared: &Arc<Shared>, mut stream: TcpStream, target: Target, port: u16) {
    let _ = stream.set_nodelay(true);
    if speaks_http(&mut stream).await {
        return http::transparent(shared, stream, target, port).await;
    }
    match shared.gate.dial(&target, port).await {
        Ok(open) => relay::relay(shared, target, port, stream, open).await,
        // Closed with a reset, so that the program fails at once.
        Err(closed) => {
            tracing::debug!(%closed, %target, port, "a connection is not made");
            let _ = stream.set_zero_linger();
        }
    }
}

/// Whether the client begins to speak plain HTTP. Nothing is taken from the connection.
async fn speaks_http(stream: &mut TcpStream) -> bool {
    let mut first = vec![0u8; LOOKED_AT];
    let begins = async {
        loop {
            let read = stream.peek(&mut first).await?;
            match beginning::read(first.get(..read).unwrap_or_default()) {
                Beginning::Http => return Ok(true),
                // Part of a line: wait for more, without taking it.
                Beginning::Unclear if read > 0 && read < LOOKED_AT => {
                    tokio::time::sleep(Duration::from_millis(1)).await
                }
                _ => return Ok::<bool, std::io::Error>(false),
            }
        }
    };
    matches!(timeout(SPEAKS_WITHIN, begins).await, Ok(Ok(true)))
}

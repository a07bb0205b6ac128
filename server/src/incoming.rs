//! Accepts connections, a bounded number at a time.
//!
//! Each connection costs an open file and memory before anybody has shown a token. What comes beyond the bound waits in
//! the system's queue until a connection ends; a failure to accept (no open files left) is waited out, not the end.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{Stream, stream};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::sleep,
};
use tonic::transport::server::{Connected, TcpConnectInfo};

/// How long to wait after a failure to accept.
const PAUSE: Duration = Duration::from_millis(100);

/// A connection that counts until it is dropped.
pub(crate) struct Connection {
    stream: TcpStream,
    _slot: OwnedSemaphorePermit,
}

/// The connections of a listener, at most `max` at a time.
pub(crate) fn incoming(listener: TcpListener, max: usize) -> impl Stream<Item = io::Result<Connection>> {
    let slots = Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS)));
    stream::unfold((listener, slots), async |(listener, slots)| {
        let slot = slots.clone().acquire_owned().await.ok()?;
        let stream = loop {
            match listener.accept().await {
                Ok((stream, _)) => break stream,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(PAUSE).await;
                }
            }
        };
        // Answers are small and waited for; a failure only costs time.
        drop(stream.set_nodelay(true));
        Some((Ok(Connection { stream, _slot: slot }), (listener, slots)))
    })
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

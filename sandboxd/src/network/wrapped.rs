//! Connections with something before their first byte or after their last.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::timeout;

use super::Shared;

/// How long, and for how many bytes, a connection that was answered is read on before it is closed.
const LINGER_FOR: Duration = Duration::from_secs(2);
/// See [`LINGER_FOR`].
const LINGER_BYTES: usize = 1024 * 1024;

/// A connection of which some bytes were read already.
#[derive(Debug)]
pub(super) struct Begun<S> {
    first: Vec<u8>,
    taken: usize,
    inner: S,
}

impl<S> Begun<S> {
    /// Puts bytes in front of a connection.
    pub(super) fn new(first: Vec<u8>, inner: S) -> Self {
        Self { first, taken: 0, inner }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Begun<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let left = this.first.get(this.taken..).unwrap_or_default();
        if left.is_empty() {
            return Pin::new(&mut this.inner).poll_read(cx, buf);
        }
        let count = left.len().min(buf.remaining());
        buf.put_slice(left.get(..count).unwrap_or_default());
        this.taken += count;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Begun<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// A connection that is read on for a while when it is dropped. Closed with something unread, the kernel resets the connection,
/// and the client loses the answer that says why it was refused.
pub(super) struct Lingering<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> {
    inner: Option<S>,
    shared: Arc<Shared>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Lingering<S> {
    /// Lets a connection linger, at most to the end of the run.
    pub(super) fn new(shared: &Arc<Shared>, inner: S) -> Self {
        Self {
            inner: Some(inner),
            shared: Arc::clone(shared),
        }
    }

    fn inner(self: Pin<&mut Self>) -> io::Result<Pin<&mut S>> {
        let closed = || io::Error::from(io::ErrorKind::NotConnected);
        self.get_mut().inner.as_mut().map(Pin::new).ok_or_else(closed)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Drop for Lingering<S> {
    fn drop(&mut self) {
        // Outside of a runtime nothing is waited for any more.
        if let (Some(inner), Ok(_)) = (self.inner.take(), tokio::runtime::Handle::try_current()) {
            self.shared.spawn(linger(inner));
        }
    }
}

async fn linger(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let drained = async {
        let _ = stream.shutdown().await;
        let mut piece = vec![0u8; 16 * 1024];
        let mut left = LINGER_BYTES;
        while let Ok(read @ 1..) = stream.read(&mut piece).await {
            left = left.saturating_sub(read);
            if left == 0 {
                return;
            }
        }
    };
    let _ = timeout(LINGER_FOR, drained).await;
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> AsyncRead for Lingering<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.inner()?.poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> AsyncWrite for Lingering<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.inner()?.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner()?.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner()?.poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_read_comes_first_however_small_the_pieces() {
        let (near, mut far) = tokio::io::duplex(64);
        far.write_all(b" world").await.unwrap();
        far.shutdown().await.unwrap();
        let mut begun = Begun::new(b"hello".to_vec(), near);
        let mut piece = [0u8; 2];
        begun.read_exact(&mut piece).await.unwrap();
        let mut rest = String::new();
        begun.read_to_string(&mut rest).await.unwrap();
        assert_eq!((&piece, rest.as_str()), (b"he", "llo world"));
    }
}

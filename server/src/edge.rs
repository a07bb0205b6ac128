//! The outermost tower layer: what holds for every call before anybody looks at who calls.
//!
//! It gives each call an id for the log, keeps the number of calls at work bounded by refusing more (a queue here would
//! only make everybody late), and turns a panic of a handler into the status INTERNAL: a panic is a bug, but it must
//! neither end the process nor be an answer that a host could take for something else than a failure.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::sync::Semaphore;
use tonic::{
    Status,
    body::Body,
    codegen::http::{Request, Response},
};
use tower::{Layer, Service};
use tracing::Instrument as _;
use uuid::Uuid;

use crate::auth::{Method, table};

/// Bounds, names and guards calls.
#[derive(Clone)]
pub struct EdgeLayer {
    slots: Arc<Semaphore>,
}

impl EdgeLayer {
    /// At most `max_calls` at work. A stream counts until its first message, not while it lasts.
    #[must_use]
    pub fn new(max_calls: usize) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(max_calls.min(Semaphore::MAX_PERMITS))),
        }
    }
}

impl<S> Layer<S> for EdgeLayer {
    type Service = EdgeService<S>;

    fn layer(&self, inner: S) -> EdgeService<S> {
        EdgeService {
            slots: self.slots.clone(),
            inner,
        }
    }
}

/// What the layer makes of a service.
#[derive(Clone)]
pub struct EdgeService<S> {
    slots: Arc<Semaphore>,
    inner: S,
}

impl<S> Service<Request<Body>> for EdgeService<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let fresh = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, fresh);
        let path = request.uri().path();
        // The path comes from the caller: only one that we know goes into the log.
        let method = Method::from_path(path).map_or("other", Method::path);
        let span = tracing::info_span!("call", id = %Uuid::now_v7(), method);
        // Whoever checks the server's health wants to know that it is busy, not be told that it is too busy to say so.
        let slot = if table::is_open(path) {
            Ok(None)
        } else {
            self.slots.clone().try_acquire_owned().map(Some)
        };
        let Ok(slot) = slot else {
            tracing::debug!(parent: &span, "refused: too many calls at work");
            let status = Status::resource_exhausted("the server is busy: too many calls are at work; try again");
            return Box::pin(async { Ok(status.into_http()) });
        };
        let work = async move {
            let answer = AssertUnwindSafe(inner.call(request)).catch_unwind().await;
            drop(slot);
            answer.unwrap_or_else(|_| {
                tracing::error!("a handler panicked; this is a bug of portcullis-server");
                Ok(Status::internal("the server failed on this call; it is a bug, and in its log").into_http())
            })
        };
        Box::pin(work.instrument(span))
    }
}

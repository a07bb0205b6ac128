//! The tower layer that authenticates and authorises every call.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use portcullis_proto::metadata;
use tonic::{
    Status,
    body::Body,
    codegen::http::{HeaderMap, Request, Response},
};
use tower::{Layer, Service};

use super::{
    Caller, Method, Token,
    table::{self, Right},
};
use crate::{
    store::{Identity, KnownToken, Store},
    tally::Tally,
};

/// Authenticates and authorises.
#[derive(Clone)]
pub struct AuthLayer {
    store: Arc<dyn Store>,
    tally: Arc<Tally>,
}

impl AuthLayer {
    /// Looks tokens up in `store`, and counts refusals in `tally`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, tally: Arc<Tally>) -> Self {
        Self { store, tally }
    }

    /// Authenticates the call of `path` and looks up its right.
    async fn caller(&self, path: &str, headers: &HeaderMap) -> Result<Caller, Status> {
        // Closed unless listed: see `table`.
        let method = Method::from_path(path).ok_or_else(|| Status::unimplemented("there is no such method"))?;
        let identity = self.identity(headers, metadata::AUTHORIZATION).await?;
        let no_right = |identity: &Identity| {
            Status::permission_denied(format!(
                "`{}` has role {}, which has no right to this method",
                identity.principal, identity.role
            ))
        };
        let subject = match table::right(identity.role, method) {
            Right::No => return Err(no_right(&identity)),
            Right::Own => None,
            Right::Forward => {
                let subject = self.identity(headers, metadata::AGENT_AUTHORIZATION).await?;
                if subject.team != identity.team {
                    return Err(Status::permission_denied(
                        "the agent belongs to another team than the host",
                    ));
                }
                if table::right(subject.role, method) != Right::Own {
                    return Err(no_right(&subject));
                }
                Some(subject)
            }
        };
        Ok(Caller {
            method,
            identity,
            subject,
        })
    }

    async fn identity(&self, headers: &HeaderMap, name: &'static str) -> Result<Identity, Status> {
        let refuse = |text: String| {
            self.tally.refused_tokens.add();
            Status::unauthenticated(text)
        };
        let mut values = headers.get_all(name).iter();
        let value = values
            .next()
            .ok_or_else(|| refuse(format!("metadata `{name}` is missing: send `Bearer <token>`")))?;
        if values.next().is_some() {
            return Err(refuse(format!("metadata `{name}` is given twice")));
        }
        let bearer = value.to_str().ok().and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let token = bearer.and_then(|text| Token::parse(text).ok());
        let token = token.ok_or_else(|| {
            refuse(format!(
                "metadata `{name}` is not `Bearer <token>` with a token of ours"
            ))
        })?;
        match self.store.token(token.hash()).await {
            Ok(KnownToken::InForce(identity)) => Ok(identity),
            // One text for both: who holds a revoked token learns nothing from it.
            Ok(KnownToken::Unknown | KnownToken::Revoked) => Err(refuse(format!(
                "the token in metadata `{name}` is not valid on this server"
            ))),
            Err(error) => {
                tracing::error!(error = %error.with_causes(), "cannot look up a token");
                Err(Status::unavailable("the server cannot look up tokens"))
            }
        }
    }
}

impl<S> Layer<S> for AuthLayer {
    type Service = AuthService<S>;

    fn layer(&self, inner: S) -> AuthService<S> {
        AuthService {
            layer: self.clone(),
            inner,
        }
    }
}

/// What the layer makes of a service.
#[derive(Clone)]
pub struct AuthService<S> {
    layer: AuthLayer,
    inner: S,
}

impl<S> Service<Request<Body>> for AuthService<S>
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

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        // The clone that is ready goes into the future, the fresh one stays: https://docs.rs/tower/latest/tower/trait.Service.html#be-careful-when-cloning-inner-services
        let fresh = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, fresh);
        let layer = self.layer.clone();
        Box::pin(async move {
            request.extensions_mut().remove::<Caller>();
            if !table::is_open(request.uri().path()) {
                match layer.caller(request.uri().path(), request.headers()).await {
                    Ok(caller) => {
                        request.extensions_mut().insert(caller);
                    }
                    Err(status) => return Ok(status.into_http()),
                }
                // Nothing behind this line needs them.
                request.headers_mut().remove(metadata::AUTHORIZATION);
                request.headers_mut().remove(metadata::AGENT_AUTHORIZATION);
            }
            inner.call(request).await
        })
    }
}

//! Proofs that a call was authenticated and authorised.
//!
//! A handler that needs an authorised administrator takes an [`AdminPermit`]; there is no other way to get one than
//! from the [`Caller`] that the layer left in the request, so a handler that forgot to check does not compile.

use portcullis_proto::convert::Vouching;
use tonic::{Status, codegen::http::Extensions};

use super::{Caller, Method, Role};
use crate::store::TeamId;

/// May ask for decisions.
#[derive(Clone, Debug)]
pub struct DecidePermit {
    team: TeamId,
    principal: String,
    host: Option<String>,
}

/// May change the team's policy.
#[derive(Clone, Debug)]
pub struct AdminPermit {
    team: TeamId,
    principal: String,
}

/// May read the team's policy and trail.
#[derive(Clone, Debug)]
pub struct AuditorPermit {
    team: TeamId,
}

/// Speaks for a machine.
#[derive(Clone, Debug)]
pub struct HostPermit {
    team: TeamId,
    principal: String,
}

fn caller<'a>(extensions: &'a Extensions, methods: &[Method], roles: &[Role]) -> Result<&'a Caller, Status> {
    let caller = extensions
        .get::<Caller>()
        .ok_or_else(|| Status::unauthenticated("the call was not authenticated"))?;
    if methods.contains(&caller.method) && roles.contains(&caller.identity.role) {
        Ok(caller)
    } else {
        Err(Status::permission_denied(
            "the role of this token has no right to this method",
        ))
    }
}

impl DecidePermit {
    /// Takes it from a request.
    ///
    /// # Errors
    /// If the caller has no such right.
    pub fn of(extensions: &Extensions) -> Result<Self, Status> {
        let roles = [Role::Admin, Role::Agent, Role::Host];
        let caller = caller(extensions, &[Method::Decide, Method::Explain], &roles)?;
        let missing = || Status::unauthenticated("a host has to show the token of the agent it forwards for");
        let (subject, host) = match caller.identity.role {
            Role::Host => (
                caller.subject.as_ref().ok_or_else(missing)?,
                Some(caller.identity.principal.clone()),
            ),
            _ => (&caller.identity, None),
        };
        Ok(Self {
            team: subject.team.clone(),
            principal: subject.principal.clone(),
            host,
        })
    }

    /// The team.
    #[must_use]
    pub fn team(&self) -> &TeamId {
        &self.team
    }

    /// Who asks.
    #[must_use]
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// The principal of the host that forwards; `None` if the caller asks directly.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// Whether the facts in the request count.
    #[must_use]
    pub fn vouching(&self) -> Vouching {
        if self.host.is_some() {
            Vouching::Host
        } else {
            Vouching::Nobody
        }
    }
}

impl AdminPermit {
    /// Takes it from a request.
    ///
    /// # Errors
    /// If the caller has no such right.
    pub fn of(extensions: &Extensions) -> Result<Self, Status> {
        let caller = caller(extensions, &[Method::PushPolicy], &[Role::Admin])?;
        Ok(Self {
            team: caller.identity.team.clone(),
            principal: caller.identity.principal.clone(),
        })
    }

    /// For what the server does of its own accord at start, before anybody can call.
    #[must_use]
    pub(crate) fn server(team: TeamId) -> Self {
        Self {
            team,
            principal: crate::store::SERVER_PRINCIPAL.to_owned(),
        }
    }

    /// The team.
    #[must_use]
    pub fn team(&self) -> &TeamId {
        &self.team
    }

    /// Who it is.
    #[must_use]
    pub fn principal(&self) -> &str {
        &self.principal
    }
}

impl AuditorPermit {
    /// Takes it from a request.
    ///
    /// # Errors
    /// If the caller has no such right.
    pub fn of(extensions: &Extensions) -> Result<Self, Status> {
        let methods = [
            Method::GetPolicy,
            Method::ListPolicies,
            Method::QueryTrail,
            Method::TailTrail,
            Method::AnchorTrail,
            Method::ExportTrail,
        ];
        let caller = caller(extensions, &methods, &[Role::Admin, Role::Auditor])?;
        Ok(Self {
            team: caller.identity.team.clone(),
        })
    }

    /// The team.
    #[must_use]
    pub fn team(&self) -> &TeamId {
        &self.team
    }
}

impl HostPermit {
    /// Takes it from a request.
    ///
    /// # Errors
    /// If the caller has no such right.
    pub fn of(extensions: &Extensions) -> Result<Self, Status> {
        let caller = caller(
            extensions,
            &[Method::ReportOutcome, Method::ListTicketKeys],
            &[Role::Host],
        )?;
        Ok(Self {
            team: caller.identity.team.clone(),
            principal: caller.identity.principal.clone(),
        })
    }

    /// The team.
    #[must_use]
    pub fn team(&self) -> &TeamId {
        &self.team
    }

    /// The host's principal.
    #[must_use]
    pub fn principal(&self) -> &str {
        &self.principal
    }
}

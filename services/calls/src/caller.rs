//! Callers.

use std::{net::IpAddr, sync::Arc};

use http::Extensions;
use ziggurat_audit as audit;
use ziggurat_layers::client_ip::ClientIp;
use ziggurat_tokens::{CallerId, Identity, Local};

use crate::limits::{Allowance, Limits};

/// Kind of the caller without authentication.
pub(crate) const LOCAL: &str = "local";

/// The caller of a call: a user with all its sessions, an API token, a client of an issuer, or the
/// local caller where callers do not authenticate.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// The identity that the token proves, if there is one.
    pub identity: Option<&'a Identity>,
    /// The kind: `user`, `token`, `client`, `local` or `anonymous`.
    pub kind: &'static str,
    /// The name within its kind; empty if it has none.
    pub name: &'a str,
    /// Id of the account, which no later account of the same name has.
    pub account: &'a str,
    /// Address of the client, if it is connected over a network.
    pub address: Option<IpAddr>,
}

// === impl Caller ===

impl<'a> Caller<'a> {
    /// Names the caller with an identity, or the local caller.
    #[must_use]
    pub fn new(identity: Option<&'a Identity>) -> Self {
        Self {
            identity,
            kind: identity.map_or(LOCAL, Identity::kind),
            name: identity.map_or("", Identity::name),
            account: identity.map_or("", Identity::account_id),
            address: None,
        }
    }

    /// Names the caller of a request, as the layers around it found the caller.
    #[must_use]
    pub fn of(extensions: &'a Extensions) -> Self {
        let address = extensions.get().map(ClientIp::client);
        Self::new(extensions.get()).with_address(address)
    }

    /// Sets the name and the kind of a caller without an identity.
    #[must_use]
    pub fn with_local(self, local: &'a Local) -> Self {
        if self.identity.is_some() {
            return self;
        }
        Self {
            kind: if local.is_anonymous {
                "anonymous"
            } else {
                LOCAL
            },
            name: local.name.as_deref().unwrap_or_default(),
            ..self
        }
    }

    /// Sets the address of the client.
    #[must_use]
    pub fn with_address(self, address: Option<IpAddr>) -> Self {
        Self { address, ..self }
    }

    /// Returns the name that the caller has in lists of callers, and is counted by.
    #[must_use]
    pub fn id(&self) -> CallerId<'a> {
        self.identity.map_or(CallerId::Local, Identity::caller_id)
    }

    /// Returns the kind and the name, such as `user:alice`.
    #[must_use]
    pub fn shown(&self) -> String {
        match self.name {
            "" => self.kind.to_owned(),
            name => format!("{}:{name}", self.kind),
        }
    }

    /// Returns the allowance of the caller, if it has limits.
    ///
    /// Where callers authenticate, a caller without an identity has no allowance: all such clients
    /// would share it, so that one of them could use up what the others need to sign in. The limit
    /// of requests counts them by their addresses.
    #[must_use]
    pub fn allowance(&self, limits: &Limits) -> Option<Arc<Allowance>> {
        // First, because without limits nothing else is looked at.
        let allowance = limits.of(&self.id())?;
        let is_counted = self.identity.is_some() || self.kind == LOCAL;
        is_counted.then(|| Arc::new(allowance))
    }

    /// Returns the caller as the audit trail names it.
    pub(crate) fn recorded(&self) -> audit::Caller<'a> {
        audit::Caller {
            kind: self.kind,
            name: self.name,
            token: self.identity.map_or("", Identity::digits),
            ip: self.address,
        }
    }
}

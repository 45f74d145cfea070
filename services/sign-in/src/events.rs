//! Events of a sign-in, for an audit trail.

use std::{fmt, net::IpAddr, sync::OnceLock};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::Extensions;
use tracing::info;

use crate::{
    people::LoginError,
    store::{Grant, GrantId},
};

/// An event. No member has room for a secret: a client is a known client, and a reason is a text of
/// the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event<'a> {
    /// The kind of the event.
    pub kind: EventKind,
    /// The id of the person. It is absent after a wrong password, since the name may be one.
    pub person: Option<&'a str>,
    /// The id of the client.
    pub client: Option<&'a str>,
    /// The grant.
    pub grant: Option<GrantId>,
    /// The resource.
    pub resource: Option<&'a str>,
    /// The scope, words between blanks.
    pub scope: Option<&'a str>,
    /// The address that sent the request.
    pub address: Option<IpAddr>,
    /// The reason.
    pub reason: Option<&'static str>,
    /// The grant type of issued tokens, such as `device_code`.
    pub grant_type: Option<&'static str>,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// A person signed in.
    LoginOk,
    /// A name or a password was wrong.
    LoginFailed,
    /// A person has to wait after too many attempts.
    LoginLocked,
    /// The code of an authenticator app or a recovery code was wrong. A program that locks accounts
    /// counts it as a wrong password.
    SecondFactorFailed,
    /// A provider confirmed a person.
    UpstreamOk,
    /// A provider did not confirm a person, or the person has no access here.
    UpstreamRefused,
    /// An assertion of a provider admitted a person.
    AssertionOk,
    /// An assertion was refused.
    AssertionRefused,
    /// A client registered itself.
    ClientRegistered,
    /// The document of a client, or its keys, were fetched.
    ClientFetched,
    /// A client may not register itself so, or its document is not good.
    ClientRefused,
    /// A person allowed a client something.
    ConsentGiven,
    /// A person allowed a client nothing.
    ConsentDenied,
    /// A consent that a person gave before held without a click.
    ConsentSkipped,
    /// A person took a consent back.
    ConsentWithdrawn,
    /// A code was made.
    CodeIssued,
    /// A code was used twice.
    CodeReplayed,
    /// A client got the first tokens of a grant.
    TokenIssued,
    /// A client got further tokens of a grant.
    TokenRefreshed,
    /// An old refresh token was used again.
    RefreshReused,
    /// A person allowed a device something.
    DeviceApproved,
    /// A person allowed a device nothing.
    DeviceDenied,
    /// A grant ended.
    GrantEnded,
}

/// Something that takes events, with the extensions of the request they happened in.
type Take = Box<dyn Fn(&Event<'_>, &Extensions) + Send + Sync>;

/// The place that events go to: the log, unless the program gives another.
#[derive(Default)]
pub(crate) struct Events(OnceLock<Take>);

// === impl Event ===

impl Event<'_> {
    /// Writes it to the log at `info`.
    pub fn log(&self) {
        info!(
            event = self.kind.name(),
            person = self.person,
            client = self.client,
            grant = self.grant_id(),
            resource = self.resource,
            scope = self.scope,
            address = self.address.map(tracing::field::display),
            reason = self.reason,
            "sign-in"
        );
    }

    /// Returns the id of the grant as tokens have it.
    #[must_use]
    pub fn grant_id(&self) -> Option<String> {
        self.grant.map(|id| BASE64_URL_SAFE_NO_PAD.encode(id))
    }
}

impl<'a> Event<'a> {
    pub(crate) fn new(kind: EventKind) -> Self {
        Self {
            kind,
            person: None,
            client: None,
            grant: None,
            resource: None,
            scope: None,
            address: None,
            reason: None,
            grant_type: None,
        }
    }

    pub(crate) fn with_person(self, person: &'a str) -> Self {
        Self {
            person: Some(person),
            ..self
        }
    }

    pub(crate) fn with_client(self, client: &'a str) -> Self {
        Self {
            client: Some(client),
            ..self
        }
    }

    /// Adds a grant, its person and its client.
    pub(crate) fn with_grant(self, grant: &'a Grant) -> Self {
        Self {
            person: Some(&grant.person),
            client: Some(&grant.client),
            grant: Some(grant.id),
            resource: Some(&grant.resource),
            scope: Some(&grant.scope),
            ..self
        }
    }

    pub(crate) fn with_grant_type(self, grant_type: &'static str) -> Self {
        Self {
            grant_type: Some(grant_type),
            ..self
        }
    }

    pub(crate) fn with_reason(self, reason: &'static str) -> Self {
        Self {
            reason: Some(reason),
            ..self
        }
    }
}

// === impl EventKind ===

impl EventKind {
    /// Returns the kind of a login that failed.
    pub(crate) fn of_login(error: LoginError) -> Self {
        match error {
            LoginError::TooMany { .. } => Self::LoginLocked,
            _ => Self::LoginFailed,
        }
    }

    /// Returns the name in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LoginOk => "login.ok",
            Self::LoginFailed => "login.failed",
            Self::LoginLocked => "login.locked",
            Self::SecondFactorFailed => "second_factor.failed",
            Self::UpstreamOk => "upstream.ok",
            Self::UpstreamRefused => "upstream.refused",
            Self::AssertionOk => "assertion.ok",
            Self::AssertionRefused => "assertion.refused",
            Self::ClientRegistered => "client.registered",
            Self::ClientFetched => "client.fetched",
            Self::ClientRefused => "client.refused",
            Self::ConsentGiven => "consent.given",
            Self::ConsentDenied => "consent.denied",
            Self::ConsentSkipped => "consent.skipped",
            Self::ConsentWithdrawn => "consent.withdrawn",
            Self::CodeIssued => "code.issued",
            Self::CodeReplayed => "code.replayed",
            Self::TokenIssued => "token.issued",
            Self::TokenRefreshed => "token.refreshed",
            Self::RefreshReused => "refresh.reused",
            Self::DeviceApproved => "device.approved",
            Self::DeviceDenied => "device.denied",
            Self::GrantEnded => "grant.ended",
        }
    }
}

// === impl Events ===

impl Events {
    /// Sets the place that events go to, once.
    pub(crate) fn set(&self, take: impl Fn(&Event<'_>, &Extensions) + Send + Sync + 'static) {
        // The first call counts.
        let _ = self.0.set(Box::new(take));
    }

    pub(crate) fn take(&self, event: &Event<'_>, request: &Extensions) {
        match self.0.get() {
            Some(take) => take(event, request),
            None => event.log(),
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events(..)")
    }
}

//! Parameters of a tool.

use serde_json::Value;
use ziggurat_accounts::{Holder, Identity};

use crate::kind::{Checked, Kind};

/// A parameter of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) kind: Kind,
    pub(crate) filling: Filling,
    /// Its values are shown to no other user.
    pub(crate) is_sensitive: bool,
}

/// The origin of the value of a parameter.
#[derive(Clone, Debug)]
pub(crate) enum Filling {
    /// The caller has to send it.
    Required,
    /// NULL, if the caller sends none.
    Optional,
    /// This value, if the caller sends none; also as JSON.
    Default(Checked, Value),
    /// A fact about the caller, who cannot send it.
    Bound(Source),
}

/// A fact about a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The name of a user.
    User,
    /// The subject of a client.
    Client,
    /// The id of an API token.
    Token,
    /// The kind and the name.
    Caller,
}

// === impl Parameter ===

impl Parameter {
    /// Returns whether callers can send it.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.filling, Filling::Bound(_))
    }

    /// Returns the value for a parameter that is filled with a fact about the caller, if the caller
    /// has that fact and it has the type of the parameter.
    pub(crate) fn bound(&self, source: Source, identity: Option<&Identity>) -> Option<Checked> {
        let fact = source.of(identity)?;
        let text = Value::from(fact.clone()).to_string();
        let read = self.kind.check(&text).or_else(|_| self.kind.check(&fact));
        read.ok().filter(|_| !fact.contains('\0'))
    }
}

// === impl Source ===

impl Source {
    /// Reads the value of the key `from`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text {
            "user" => Some(Self::User),
            "client" => Some(Self::Client),
            "token" => Some(Self::Token),
            "caller" => Some(Self::Caller),
            _ => None,
        }
    }

    fn of(self, identity: Option<&Identity>) -> Option<String> {
        let (kind, name) = match identity.map(Identity::holder) {
            None => (None, "local"),
            Some(Holder::User { name, .. }) => (Some(Self::User), &**name),
            Some(Holder::Client { subject, .. }) => (Some(Self::Client), &**subject),
            Some(Holder::Program { id, .. }) => (Some(Self::Token), &**id),
        };
        match self {
            Self::Caller => Some(match kind {
                Some(Self::User) => format!("user:{name}"),
                Some(Self::Client) => format!("client:{name}"),
                Some(Self::Token) => format!("token:{name}"),
                _ => name.to_owned(),
            }),
            wanted => (kind == Some(wanted)).then(|| name.to_owned()),
        }
    }
}

//! Parameters of a tool.

use serde_json::Value;
use ziggurat_tokens::{Claim, Claims, Holder, Identity, LocalCaller};

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The name of a user.
    User,
    /// The subject of a client.
    Client,
    /// The id of an API token.
    Token,
    /// The kind and the name.
    Caller,
    /// The claim of this name.
    Claim(Box<str>),
}

/// The facts about the caller of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallerFacts<'a> {
    pub(crate) identity: Option<&'a Identity>,
    /// Without an identity, the caller is this one.
    pub(crate) local: &'a LocalCaller,
}

// === impl Parameter ===

impl Parameter {
    /// Returns whether callers can send it.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.filling, Filling::Bound(_))
    }

    /// Returns the value for a parameter that is filled with a fact about the caller, if the caller
    /// has that fact and it has the type of the parameter.
    pub(crate) fn bound(&self, source: &Source, facts: CallerFacts<'_>) -> Option<Checked> {
        match source {
            Source::Claim(name) => self.kind.convert(facts.claims().find(name)?),
            source => self.kind.convert(&Claim::Text(source.of(facts)?.into())),
        }
    }
}

// === impl Source ===

impl Source {
    /// Reads the value of the key `from`, unless it is a claim.
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text {
            "user" => Some(Self::User),
            "client" => Some(Self::Client),
            "token" => Some(Self::Token),
            "caller" => Some(Self::Caller),
            _ => None,
        }
    }

    /// Returns the name of the caller, if it is of this kind.
    fn of(&self, facts: CallerFacts<'_>) -> Option<String> {
        let (kind, name) = match facts.identity.map(Identity::holder) {
            None => return (*self == Self::Caller).then(|| facts.local_name()),
            Some(Holder::User { name, .. }) => ("user", name),
            Some(Holder::Client { subject, .. }) => ("client", subject),
            Some(Holder::Program { id, .. }) => ("token", id),
        };
        match self {
            Self::Caller => Some(format!("{kind}:{name}")),
            source => (Self::read(kind).as_ref() == Some(source)).then(|| name.to_string()),
        }
    }
}

// === impl CallerFacts ===

impl CallerFacts<'_> {
    fn claims(&self) -> Claims {
        let claims = self.identity.map(Identity::claims).cloned();
        claims.unwrap_or_else(|| self.local.get().claims.clone())
    }

    fn local_name(&self) -> String {
        match &self.local.get().name {
            Some(name) => format!("local:{name}"),
            None => "local".to_owned(),
        }
    }
}

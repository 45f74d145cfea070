//! Facts about a caller, for values that no caller can send.

use crate::{Claim, Claims, Holder, Identity, LocalCaller};

/// A fact about a caller.
///
/// ```
/// use ziggurat_tokens::{CallerFacts, Claim, Fact, LocalCaller};
///
/// let local = LocalCaller::default();
/// let facts = CallerFacts { identity: None, local: &local, role: None };
/// assert_eq!(facts.value(&Fact::Caller), Some(Claim::Text("local".into())));
/// assert_eq!(facts.value(&Fact::User), None, "without a login");
/// assert_eq!(Fact::read("user"), Some(Fact::User));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The name of a user.
    User,
    /// The subject of a client.
    Client,
    /// The id of an API token.
    Token,
    /// The kind and the name.
    Caller,
    /// The role in the database, if it knows its callers.
    Role,
    /// The claim of this name.
    Claim(Box<str>),
}

/// The facts about the caller of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallerFacts<'a> {
    /// The identity, if the caller has one.
    pub identity: Option<&'a Identity>,
    /// Without an identity, the caller is this one.
    pub local: &'a LocalCaller,
    /// The role of the caller in the database.
    pub role: Option<&'a str>,
}

// === impl Fact ===

impl Fact {
    /// Reads the name of a fact that is neither a claim nor the role.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "user" => Some(Self::User),
            "client" => Some(Self::Client),
            "token" => Some(Self::Token),
            "caller" => Some(Self::Caller),
            _ => None,
        }
    }
}

// === impl CallerFacts ===

impl CallerFacts<'_> {
    /// Returns a fact, if it is known of the caller.
    #[must_use]
    pub fn value(&self, fact: &Fact) -> Option<Claim> {
        match fact {
            Fact::Claim(name) => self.claims().find(name).cloned(),
            Fact::Role => Some(Claim::Text(self.role?.into())),
            fact => Some(Claim::Text(self.name(fact)?.into())),
        }
    }

    /// Returns the claims.
    #[must_use]
    pub fn claims(&self) -> Claims {
        let claims = self.identity.map(Identity::claims).cloned();
        claims.unwrap_or_else(|| self.local.get().claims.clone())
    }

    /// Returns the name of the caller, if it is of this kind.
    fn name(&self, fact: &Fact) -> Option<String> {
        let (kind, name) = match self.identity.map(Identity::holder) {
            None => return (*fact == Fact::Caller).then(|| self.local_name()),
            Some(Holder::User { name, .. }) => ("user", name),
            Some(Holder::Client { subject, .. }) => ("client", subject),
            Some(Holder::Program { id, .. }) => ("token", id),
        };
        match fact {
            Fact::Caller => Some(format!("{kind}:{name}")),
            fact => (Fact::read(kind).as_ref() == Some(fact)).then(|| name.to_string()),
        }
    }

    fn local_name(&self) -> String {
        match &self.local.get().name {
            Some(name) => format!("local:{name}"),
            None => "local".to_owned(),
        }
    }
}

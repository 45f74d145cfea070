//! A caller that an operator names: `token:ID`, `user:NAME`, `client:ID[,scope…]` or `local`.

use std::{fmt, str::FromStr};

/// A caller by its kind and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallerName {
    /// An API token, by its id.
    Token(String),
    /// A user.
    User(String),
    /// A client of the issuer: its name and subject, and the scopes of its token.
    Client(String, Vec<String>),
    /// The local user.
    Local,
}

// === impl CallerName ===

impl FromStr for CallerName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let caller = match text.split_once(':') {
            None if text == "local" => Some(Self::Local),
            Some(("token", id)) => named(id).map(Self::Token),
            Some(("user", name)) => named(name).map(Self::User),
            Some(("client", rest)) => {
                let mut parts = rest.split(',');
                let name = parts.next().and_then(named);
                let scopes = parts.map(str::to_owned).collect();
                name.map(|name| Self::Client(name, scopes))
            }
            _ => None,
        };
        caller.ok_or("token:ID, user:NAME, client:ID[,scope…] or local")
    }
}

impl fmt::Display for CallerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(id) => write!(f, "token:{id}"),
            Self::User(name) => write!(f, "user:{name}"),
            Self::Client(name, scopes) => {
                write!(f, "client:{name}")?;
                scopes.iter().try_for_each(|scope| write!(f, ",{scope}"))
            }
            Self::Local => f.write_str("local"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_named_by_its_kind() {
        for text in [
            "token:token-1",
            "user:a:b",
            "client:bot",
            "client:bot,a,b.c",
            "local",
        ] {
            let caller: CallerName = text.parse().expect(text);
            assert_eq!(caller.to_string(), text);
        }
        for text in ["", "alice", "user:", "client:,a", "local:me", "admin:x"] {
            assert!(text.parse::<CallerName>().is_err(), "{text}");
        }
    }
}

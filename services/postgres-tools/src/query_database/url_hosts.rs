//! The hosts a connection URL in a query may name.

use std::{fmt, str::FromStr};

use thiserror::Error;
use ziggurat_databases::Configured;
use ziggurat_postgres::database::Host;

/// The databases that a URL in the text of a query may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConnectionUrls {
    /// No databases.
    Off,
    /// Databases at a host and port of a configured database.
    #[default]
    Configured,
    /// Databases at these hosts.
    Listed(Vec<UrlHost>),
    /// All databases.
    Any,
}

/// A host that URLs may name, with one port or with any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlHost {
    name: String,
    port: Option<u16>,
}

/// A text that is not a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be a host or host:port (an IPv6 address goes in brackets)")]
pub struct InvalidUrlHost;

// === impl ConnectionUrls ===

impl ConnectionUrls {
    /// Returns the first host that a URL may not name.
    pub(super) fn refused<'a>(
        &self,
        hosts: &'a [Host],
        configured: &[Configured],
    ) -> Option<&'a Host> {
        hosts.iter().find(|host| match self {
            Self::Off => true,
            Self::Any => false,
            Self::Listed(list) => !list.iter().any(|listed| listed.is(host)),
            Self::Configured => !configured.iter().any(|database| {
                let known = database.database().settings().all_hosts();
                known.iter().any(|known| UrlHost::of(known).is(host))
            }),
        })
    }
}

// === impl UrlHost ===

impl UrlHost {
    fn of(host: &Host) -> Self {
        Self {
            name: host.name.clone(),
            port: Some(host.port),
        }
    }

    /// Compares names as written: resolving them would tell a caller which ones exist.
    fn is(&self, host: &Host) -> bool {
        let name = |name: &str| name.trim_end_matches('.').to_ascii_lowercase();
        name(&self.name) == name(&host.name) && self.port.is_none_or(|port| port == host.port)
    }
}

impl FromStr for UrlHost {
    type Err = InvalidUrlHost;

    fn from_str(text: &str) -> Result<Self, InvalidUrlHost> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (name, rest) = rest.split_once(']').ok_or(InvalidUrlHost)?;
                let is_end = rest.is_empty() || rest.starts_with(':');
                (is_end && name.contains(':'))
                    .then_some(())
                    .ok_or(InvalidUrlHost)?;
                (name, rest.strip_prefix(':'))
            }
            None => match text.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (text, None),
            },
        };
        let is_name = |c: char| c.is_alphanumeric() || "-._:".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(InvalidUrlHost);
        }
        let port = port.map(str::parse).transpose();
        Ok(Self {
            name: name.to_owned(),
            port: port.map_err(|_| InvalidUrlHost)?,
        })
    }
}

impl fmt::Display for UrlHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => Host::new(&self.name, port).fmt(f),
            None => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_compared_as_it_is_written() {
        let cases = [
            ("db.example", "DB.example.", 1, true),
            ("db.example:5432", "db.example", 5432, true),
            ("db.example:5432", "db.example", 5433, false),
            ("db.example", "other.example", 5432, false),
            ("10.0.0.1", "10.0.0.1", 5432, true),
            ("[::1]:5432", "::1", 5432, true),
            ("[::1]", "::1", 1, true),
        ];
        for (listed, host, port, fits) in cases {
            let listed: UrlHost = listed.parse().expect("a host");
            assert_eq!(
                listed.is(&Host::new(host, port)),
                fits,
                "{listed} {host}:{port}"
            );
        }
        for text in [
            "", ":1", "a:", "a:x", "a:65536", "::1", "[::1", "[::1]1", "[a]", "a/b",
        ] {
            assert_eq!(text.parse::<UrlHost>(), Err(InvalidUrlHost), "{text}");
        }
    }
}

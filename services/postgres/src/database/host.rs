//! Address of a server.

use std::{fmt, net::IpAddr};

/// Host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// A host name, an address, or the folder of a Unix socket.
    pub name: String,
    /// The port.
    pub port: u16,
    /// The address to connect to. Without it, the name is resolved.
    pub address: Option<IpAddr>,
}

// === impl Host ===

impl Host {
    /// Makes a host.
    pub fn new(name: impl Into<String>, port: u16) -> Self {
        Self {
            name: name.into(),
            port,
            address: None,
        }
    }

    /// Returns whether it is this machine.
    pub(super) fn is_here(&self) -> bool {
        let named = || self.name.trim_matches(['[', ']']).parse().ok();
        match self.address.or_else(named) {
            Some(address) => address.is_loopback(),
            None => self.is_socket() || self.name == "localhost",
        }
    }

    /// Returns whether it is the folder of a Unix socket.
    #[must_use]
    pub(crate) fn is_socket(&self) -> bool {
        self.name.starts_with('/')
    }
}

impl fmt::Display for Host {
    /// Hides the folder of a socket, since clients see this text too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, port, .. } = self;
        if self.is_socket() {
            write!(f, "local socket {port}")
        } else if name.contains(':') {
            write!(f, "[{name}]:{port}")
        } else {
            write!(f, "{name}:{port}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_shown_without_folders() {
        let cases = [
            ("db.example", "db.example:5432"),
            ("::1", "[::1]:5432"),
            ("/run/secret place", "local socket 5432"),
        ];
        for (name, expected) in cases {
            assert_eq!(Host::new(name, 5432).to_string(), expected);
        }
    }
}

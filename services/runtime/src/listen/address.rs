//! Address to listen on.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _},
    str::FromStr,
};

use thiserror::Error;
use tokio::net::TcpListener;

use crate::listen;

/// Address to listen on: `:8080`, `host:port` or `[::1]:80`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: Host,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// All interfaces, which is the meaning of a port without a host.
    All,
    Ip(IpAddr),
    Name(String),
}

/// Error of a text that is not an address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidAddress {
    /// The port is missing.
    #[error("has no port (write :port or host:port)")]
    NoPort,
    /// The port is invalid.
    #[error("has no port between 0 and 65535")]
    BadPort,
    /// The host is an IPv6 address without brackets, or brackets have something else in them.
    #[error("is neither :port nor host:port (an IPv6 address goes in brackets)")]
    BadHost,
}

// === impl Address ===

impl Address {
    /// Listens on the first candidate that can be bound; on both loopback addresses for
    /// `localhost`.
    ///
    /// # Panics
    /// Panics outside a Tokio runtime.
    ///
    /// # Errors
    /// Fails if the name of the host cannot be resolved, or nothing can be bound.
    pub fn listen(&self) -> io::Result<Vec<TcpListener>> {
        let candidates = self.candidates()?;
        match self.host {
            Host::Name(_) if self.is_loopback() => listen::on_all(candidates),
            _ => Ok(vec![listen::on_first(candidates)?]),
        }
    }

    /// Returns the socket addresses in the order of preference.
    ///
    /// Resolves a host name, and may therefore block.
    ///
    /// # Errors
    /// Fails if the name of the host cannot be resolved.
    pub fn candidates(&self) -> io::Result<Vec<SocketAddr>> {
        match &self.host {
            // On Linux the first also accepts IPv4; a machine without IPv6 uses the second.
            Host::All => Ok(vec![
                (Ipv6Addr::UNSPECIFIED, self.port).into(),
                (Ipv4Addr::UNSPECIFIED, self.port).into(),
            ]),
            Host::Ip(ip) => Ok(vec![(*ip, self.port).into()]),
            // Not looked up, because some systems resolve this name to only one of the two.
            Host::Name(_) if self.is_loopback() => Ok(vec![
                (Ipv4Addr::LOCALHOST, self.port).into(),
                (Ipv6Addr::LOCALHOST, self.port).into(),
            ]),
            Host::Name(name) => Ok((name.as_str(), self.port).to_socket_addrs()?.collect()),
        }
    }
}

impl Address {
    /// Returns the default port on the loopback address, which no other machine can reach.
    #[must_use]
    pub fn loopback() -> Self {
        Self {
            host: Host::Ip(Ipv4Addr::LOCALHOST.into()),
            ..Self::default()
        }
    }

    /// Returns whether the address is a port without a host.
    #[must_use]
    pub fn is_bare_port(&self) -> bool {
        self.host == Host::All
    }

    /// Returns the same port of `localhost`.
    #[must_use]
    pub fn at_localhost(&self) -> Self {
        Self {
            host: Host::Name("localhost".to_owned()),
            port: self.port,
        }
    }

    /// Returns whether only this machine can reach the address. The only such name is `localhost`:
    /// other names may resolve to a different address later.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::All => false,
            Host::Ip(ip) => ip.to_canonical().is_loopback(),
            Host::Name(name) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

impl Default for Address {
    fn default() -> Self {
        Self {
            host: Host::All,
            port: 8080,
        }
    }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let (host, port) = text.rsplit_once(':').ok_or(InvalidAddress::NoPort)?;
        let host = match host.strip_prefix('[') {
            Some(rest) => {
                let inside = rest.strip_suffix(']').ok_or(if rest.contains(']') {
                    InvalidAddress::BadHost
                } else {
                    InvalidAddress::NoPort
                })?;
                let ip: Ipv6Addr = inside.parse().map_err(|_| InvalidAddress::BadHost)?;
                Host::Ip(ip.into())
            }
            None if host.is_empty() => Host::All,
            None if host.contains([':', '/', '@', ' ']) => return Err(InvalidAddress::BadHost),
            None => host
                .parse()
                .map_or_else(|_| Host::Name(host.to_owned()), Host::Ip),
        };
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidAddress::BadPort);
        }
        let port = port.parse().map_err(|_| InvalidAddress::BadPort)?;
        Ok(Self { host, port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::All => write!(f, ":{}", self.port),
            Host::Ip(ip) => SocketAddr::new(*ip, self.port).fmt(f),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_they_were_read() {
        for text in [
            ":8080",
            ":0",
            "127.0.0.1:80",
            "0.0.0.0:80",
            "[::1]:443",
            "[::]:443",
            "localhost:8080",
            "db.example.com:65535",
        ] {
            let address: Address = text.parse().expect(text);
            assert_eq!(address.to_string(), text);
        }
        assert_eq!(Address::default().to_string(), ":8080");
    }

    #[test]
    fn invalid_addresses_are_refused() {
        for (text, reason) in [
            ("", InvalidAddress::NoPort),
            ("8080", InvalidAddress::NoPort),
            ("localhost", InvalidAddress::NoPort),
            ("[::1]", InvalidAddress::NoPort),
            ("::1:80", InvalidAddress::BadHost),
            ("[::1]x:80", InvalidAddress::BadHost),
            ("[localhost]:80", InvalidAddress::BadHost),
            ("http://localhost:80", InvalidAddress::BadHost),
            (":", InvalidAddress::BadPort),
            (":+80", InvalidAddress::BadPort),
            (":http", InvalidAddress::BadPort),
            (":65536", InvalidAddress::BadPort),
            ("localhost:-1", InvalidAddress::BadPort),
        ] {
            assert_eq!(text.parse::<Address>(), Err(reason), "{text}");
        }
    }

    #[test]
    fn only_this_machine_reaches_its_loopback_addresses() {
        for (text, expected) in [
            ("127.0.0.1:80", true),
            ("127.9.9.9:80", true),
            ("[::1]:80", true),
            ("[::ffff:127.0.0.1]:80", true),
            ("LocalHost:80", true),
            (":80", false),
            ("0.0.0.0:80", false),
            ("[::]:80", false),
            ("192.0.2.1:80", false),
            ("localhost.example:80", false),
        ] {
            let address: Address = text.parse().expect(text);
            assert_eq!(address.is_loopback(), expected, "{text}");
        }
        assert!(Address::loopback().is_loopback());
        assert!(!Address::default().is_loopback());
    }

    #[test]
    fn a_bare_port_means_every_interface() {
        let address: Address = ":80".parse().expect("an address");
        let candidates = address.candidates().expect("no look-up");
        assert!(candidates.iter().all(|socket| socket.ip().is_unspecified()));
        assert!(candidates.iter().any(SocketAddr::is_ipv4));
        let address: Address = "[::1]:80".parse().expect("an address");
        let candidates = address.candidates().expect("no look-up");
        assert_eq!(candidates, ["[::1]:80".parse().expect("a socket")]);
    }

    #[tokio::test]
    async fn localhost_is_one_port_of_both_loopback_addresses() {
        let address: Address = ":0".parse().expect("an address");
        assert!(address.is_bare_port());
        let address = address.at_localhost();
        assert!(address.is_loopback() && !address.is_bare_port());
        let listeners = address.listen().expect("bound");
        let bound = listeners.iter().map(|it| it.local_addr().expect("bound"));
        let bound: Vec<_> = bound.collect();
        assert!(bound.iter().all(|socket| socket.ip().is_loopback()));
        assert!(bound.iter().all(|socket| socket.port() == bound[0].port()));
    }
}

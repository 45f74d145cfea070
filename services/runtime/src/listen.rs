//! Binds the first of several addresses.
//!
//! ```
//! use ziggurat_runtime::listen;
//!
//! # tokio_test::block_on(async {
//! let listener = listen::on_first(["127.0.0.1:0".parse()?])?;
//! assert!(listener.local_addr().is_ok());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

pub(crate) mod address;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use tokio::net::{TcpListener, TcpSocket};

/// Called with the address of a server as soon as it accepts connections.
// Boxed: a program would be compiled again for each closure of its callers.
pub type Listening<'a> = Box<dyn FnOnce(SocketAddr) + 'a>;

/// A free port of `127.0.0.1`, held for a server that starts later: until this is dropped, the
/// system gives the port to no other program that asks for any port, or for a connection.
#[derive(Debug)]
pub struct HeldPort {
    port: u16,
    _socket: TcpSocket,
}

/// Limit on connections that wait to be accepted; the system may lower it. With a small one,
/// connections are refused or reset when many clients connect at once.
const BACKLOG: u32 = 4096;

// === impl HeldPort ===

impl HeldPort {
    /// Holds a port that the system chooses.
    ///
    /// # Errors
    /// Fails if no port is free.
    pub fn new() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        // With it, the server can bind the port beside this socket, which never listens.
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self {
            port: socket.local_addr()?.port(),
            _socket: socket,
        })
    }

    /// Returns the number of the port.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.port
    }
}

/// Listens on the first address that can be bound.
///
/// # Panics
/// Panics outside a Tokio runtime.
///
/// # Errors
/// Fails if no address can be bound, with the error of the last one, or if there is no address.
pub fn on_first(candidates: impl IntoIterator<Item = SocketAddr>) -> io::Result<TcpListener> {
    let mut refusal = no_address();
    for candidate in candidates {
        match bind(candidate) {
            Ok(listener) => return Ok(listener),
            Err(error) => refusal = explained(error),
        }
    }
    Err(refusal)
}

/// Listens on every address that this machine has. Port 0 is the same free port for all of them.
///
/// Addresses that this machine does not have are skipped, such as IPv6 ones without IPv6. An
/// address that another program uses is an error: clients would reach the wrong server.
///
/// # Panics
/// Panics outside a Tokio runtime.
///
/// # Errors
/// Fails if an address of this machine cannot be bound, or if the machine has none of them.
pub(crate) fn on_all(
    addresses: impl IntoIterator<Item = SocketAddr>,
) -> io::Result<Vec<TcpListener>> {
    let (mut listeners, mut refusal) = (Vec::<TcpListener>::new(), no_address());
    for mut address in addresses {
        if let (0, Some(first)) = (address.port(), listeners.first()) {
            address.set_port(first.local_addr()?.port());
        }
        match bind(address) {
            Ok(listener) => listeners.push(listener),
            Err(error) if is_elsewhere(&error) => refusal = explained(error),
            Err(error) => return Err(explained(error)),
        }
    }
    if listeners.is_empty() {
        return Err(refusal);
    }
    Ok(listeners)
}

/// Error of a host name that resolves to nothing.
fn no_address() -> io::Error {
    io::Error::new(
        io::ErrorKind::AddrNotAvailable,
        "the host name has no address",
    )
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // Lets a restarted program bind its address at once.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Adds advice to an error of the system.
fn explained(error: io::Error) -> io::Error {
    let words = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program uses this address; stop it, or choose another address"
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine does not have the address; choose one of its own"
        }
        io::ErrorKind::PermissionDenied => "this user may not use that port; choose 1024 or higher",
        _ => return error,
    };
    io::Error::new(error.kind(), words)
}

/// Returns whether this machine does not have the address.
fn is_elsewhere(error: &io::Error) -> bool {
    const EAFNOSUPPORT: i32 = if cfg!(target_os = "linux") { 97 } else { 47 };
    error.kind() == io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(EAFNOSUPPORT)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    /// An address that no machine has (RFC 5737).
    const ELSEWHERE: &str = "192.0.2.1:0";

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        let addresses = texts.iter().map(|text| text.parse().expect("an address"));
        addresses.collect()
    }

    #[tokio::test]
    async fn the_first_address_that_can_be_bound_is_used() {
        let listener = on_first(addresses(&[ELSEWHERE, "127.0.0.1:0"]));
        let listener = listener.expect("bound");
        assert!(listener.local_addr().expect("bound").ip().is_loopback());
        let error = on_first(addresses(&[ELSEWHERE])).expect_err("none");
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
        let error = on_first([]).expect_err("none");
        assert_eq!(error.to_string(), "the host name has no address");
    }

    #[tokio::test]
    async fn a_held_port_is_only_for_the_server_that_asks_for_it() {
        let held = HeldPort::new().expect("a port");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, held.number()));
        let refused = TcpStream::connect(address).expect_err("no listener");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let strict = TcpSocket::new_v4().expect("a socket");
        let error = strict.bind(address).expect_err("held");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let _listener = on_first([address]).expect("the server binds it");
        TcpStream::connect(address).expect("the server hears");
    }

    #[tokio::test]
    async fn an_address_of_another_machine_is_skipped_and_a_used_one_is_an_error() {
        let listeners = on_all(addresses(&["127.0.0.1:0", ELSEWHERE, "127.0.0.2:0"]));
        let listeners = listeners.expect("bound");
        assert_eq!(listeners.len(), 2);
        let taken = listeners[0].local_addr().expect("bound");
        let error = on_all(["127.0.0.3:0".parse().expect("an address"), taken]).expect_err("taken");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert_eq!(
            error.to_string(),
            "another program uses this address; stop it, or choose another address"
        );
        let error = on_all(addresses(&[ELSEWHERE])).expect_err("none");
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
        let error = on_all([]).expect_err("none");
        assert_eq!(error.to_string(), "the host name has no address");
    }
}

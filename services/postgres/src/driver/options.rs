//! Options of a connection.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use secrecy::SecretString;

use crate::driver::{RequireAuth, Tls, tunnel::TunnelAddress};

/// Address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A host name or an address.
    Tcp {
        host: String,
        port: u16,
        address: Option<IpAddr>,
    },
    /// The socket itself, not its folder.
    Unix(PathBuf),
    /// A program that connects.
    Tunnel(TunnelAddress),
}

/// Address to connect to, and the role to log in as.
#[derive(Clone, Debug)]
pub(crate) struct ConnectOptions {
    pub(crate) endpoint: Endpoint,
    pub(crate) user: String,
    pub(crate) password: SecretString,
    pub(crate) database: String,
    pub(crate) application_name: String,
    /// Options of the command line of PostgreSQL.
    pub(crate) session: Option<String>,
    /// The role that a session begins in, if it is not the user.
    pub(crate) role: Option<String>,
    pub(crate) tls: Tls,
    pub(crate) auth: RequireAuth,
    /// Time without an acknowledgement after which the connection counts as broken.
    pub(crate) silence: Duration,
}

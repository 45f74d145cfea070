//! Options of a connection.

use std::{path::PathBuf, time::Duration};

use secrecy::SecretString;

use super::Tls;

/// Address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::pg) enum Endpoint {
    /// A host name or an address.
    Tcp { host: String, port: u16 },
    /// The socket itself, not its folder.
    Unix(PathBuf),
}

/// Address to connect to, and the role to sign in as.
#[derive(Clone, Debug)]
pub(in crate::pg) struct ConnectOptions {
    pub(in crate::pg) endpoint: Endpoint,
    pub(in crate::pg) user: String,
    pub(in crate::pg) password: SecretString,
    pub(in crate::pg) database: String,
    pub(in crate::pg) application_name: String,
    pub(in crate::pg) tls: Tls,
    /// Time a network may stay silent before the connection counts as broken.
    pub(in crate::pg) silence: Duration,
}

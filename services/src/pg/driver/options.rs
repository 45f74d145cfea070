//! How to connect.

use std::{path::PathBuf, time::Duration};

use secrecy::SecretString;

use super::Tls;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::pg) enum Endpoint {
    /// A host name or an address.
    Tcp { host: String, port: u16 },
    /// The socket itself, not its folder.
    Unix(PathBuf),
}

/// Where to connect to, and as which role.
#[derive(Clone, Debug)]
pub(in crate::pg) struct ConnectOptions {
    pub(in crate::pg) endpoint: Endpoint,
    pub(in crate::pg) user: String,
    pub(in crate::pg) password: SecretString,
    pub(in crate::pg) database: String,
    pub(in crate::pg) application_name: String,
    pub(in crate::pg) tls: Tls,
    /// How long a network may stay silent before the connection counts as broken.
    pub(in crate::pg) silence: Duration,
}

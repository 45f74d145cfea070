//! What a caller is told about the databases it may use.

use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_accounts::Identity;
use ziggurat_postgres::database::SslMode;

use super::{Configured, Databases};

/// The databases a caller may use, and which of them it is using.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
#[schema(as = Databases)]
pub struct Listing {
    /// In the order of the configuration.
    pub databases: Vec<Entry>,
    /// The name of the one in use; empty if there is none.
    pub current: String,
}

/// A database as callers know it. Its password is not for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
#[schema(as = Database)]
pub struct Entry {
    /// The unique name of the connection.
    pub name: String,
    /// The preferred host.
    pub host: String,
    /// The port on that host.
    pub port: u16,
    /// The name of the database in PostgreSQL.
    pub database: String,
    /// The PostgreSQL role statements run as.
    pub user: String,
    /// How TLS is asked for.
    pub sslmode: &'static str,
    /// Whether statements may write.
    pub allow_writes: bool,
}

// === impl Listing ===

impl Listing {
    pub(super) fn of(databases: &Databases, identity: Option<&Identity>) -> Self {
        let visible = databases.visible(identity);
        let current = databases.current(identity).ok();
        Self {
            databases: visible.iter().map(Entry::of).collect(),
            current: current.map_or_else(String::new, |current| current.label().to_owned()),
        }
    }
}

// === impl Entry ===

impl Entry {
    fn of(configured: &Configured) -> Self {
        let settings = configured.database().settings();
        // Of several hosts the preferred one.
        let first = settings.all_hosts().swap_remove(0);
        Self {
            name: settings.name.clone(),
            host: first.name,
            port: first.port,
            database: settings.database.clone(),
            user: settings.user.clone(),
            sslmode: match settings.ssl_mode {
                SslMode::Disable => "disable",
                SslMode::Allow => "allow",
                SslMode::Prefer => "prefer",
                SslMode::Require => "require",
                SslMode::VerifyCa => "verify-ca",
                SslMode::VerifyFull => "verify-full",
            },
            allow_writes: settings.allow_writes,
        }
    }
}

//! The list of databases for a caller.

use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_postgres::database::SslMode;
use ziggurat_tokens::Identity;

use crate::{Configured, Databases};

/// Databases that a caller may use, and the one it is using.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
#[schema(as = Databases)]
pub struct Listing {
    /// Databases in the order of the configuration.
    pub databases: Vec<Entry>,
    /// Name of the database in use; empty if there is none.
    pub current: String,
}

/// A database, without its password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
#[schema(as = Database)]
pub struct Entry {
    /// Unique name of the connection.
    pub name: String,
    /// Preferred host.
    pub host: String,
    /// Port on that host.
    pub port: u16,
    /// Name of the database in PostgreSQL.
    pub database: String,
    /// PostgreSQL role that runs statements.
    pub user: String,
    /// TLS mode of the connection.
    pub sslmode: &'static str,
    /// Is true if statements may write.
    pub allow_writes: bool,
    /// Use of previews of changed rows: `offer` or `require`; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<&'static str>,
}

// === impl Listing ===

impl Listing {
    pub(super) fn of(databases: &Databases, identity: Option<&Identity>) -> Self {
        let databases = databases.fixed();
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
    pub(super) fn of(configured: &Configured) -> Self {
        let settings = configured.database().settings();
        // Shows only the preferred host of several.
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
            preview: configured.database().previews().map(|it| it.mode.as_str()),
        }
    }
}

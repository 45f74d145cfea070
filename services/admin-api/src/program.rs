//! The program that is administered.

use std::{fmt, pin::Pin, sync::Arc};

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Boxed future: the program chooses its type.
pub type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Operations that only the program can do, which has the parts of its server.
pub trait Program: Send + Sync {
    /// Returns the configuration in use, without its secrets.
    fn configuration(&self) -> Configuration;

    /// Reads the configuration again and applies it, or only checks it.
    fn reload(&self, is_dry_run: bool) -> Answer<Result<Reloaded, InvalidConfiguration>>;

    /// Returns whether the configuration in use has a toolset.
    fn has_toolset(&self, name: &str) -> bool;

    /// Has a database check the statements of the operator's tools that run there. Returns a
    /// sentence for each that cannot run.
    fn check_statements(&self, database: &str) -> Answer<Vec<String>>;
}

/// The program that is administered. Clones share it.
#[derive(Clone)]
pub struct SharedProgram(pub Arc<dyn Program>);

/// The configuration in use.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = AdminConfiguration)]
pub struct Configuration {
    /// The server.
    pub server: Server,
    /// Path of the file; null without one.
    pub path: Option<String>,
    /// Time at which it was read.
    #[schema(value_type = String, format = DateTime)]
    pub loaded_at: Timestamp,
    /// The values that may be shown, and the secrets.
    pub values: Vec<Setting>,
    /// Keys and sections that have changed since the start, and need a restart.
    pub needs_restart: Vec<&'static str>,
}

/// The server that answers.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = AdminServer)]
pub struct Server {
    /// Version of the program.
    pub version: &'static str,
    /// Name of the server among its replicas.
    pub replica: String,
    /// Time at which it was started.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// Memory of the process that is resident; null where the system does not tell it.
    pub memory_bytes: Option<u64>,
}

/// A key of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = AdminSetting)]
pub enum Setting {
    /// A key whose value may be shown.
    #[schema(title = "AdminShownSetting")]
    Shown {
        /// The key, such as `http.address`.
        key: String,
        /// Value in use.
        #[schema(value_type = Value)]
        value: serde_json::Value,
        /// Place that it comes from: `default`, `file`, `environment` or `flag`.
        source: &'static str,
    },
    /// A key whose value is secret.
    #[schema(title = "AdminSecretSetting")]
    Secret {
        /// The key.
        key: String,
        /// Is true if it has a value.
        is_set: bool,
    },
}

/// Result of reading the configuration again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = AdminReload)]
pub struct Reloaded {
    /// Keys and sections that were applied, or would be.
    pub changed: Vec<&'static str>,
    /// Keys and sections that have changed since the start, and need a restart.
    pub needs_restart: Vec<&'static str>,
}

/// The message that the start of the program with this configuration would end with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidConfiguration(pub String);

// === impl SharedProgram ===

impl fmt::Debug for SharedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedProgram").finish_non_exhaustive()
    }
}

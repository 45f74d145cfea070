//! `pg://system_info`: describes the PostgreSQL server of the caller.

#[cfg(test)]
mod tests;

use serde::Serialize;
use ziggurat_calls::Call;
use ziggurat_databases::{Current, Databases};
use ziggurat_mcp::{Caller, Failure, ReadError, ResourceDescriptor, ResourceHandler, Unavailable};
use ziggurat_postgres::server::Server;
use ziggurat_tokens::Identity;

const NOT_READY: &str = "DATABASE_NOT_READY";

/// Value of a part that is missing in the version text.
const UNKNOWN: &str = "Unknown";

/// Describes the PostgreSQL server of the caller's database.
#[derive(Clone, Debug)]
pub struct SystemInfo {
    databases: Databases,
}

/// The document, with its members in the order shown.
#[derive(Debug, Serialize)]
struct Document<'a> {
    version: &'a str,
    os: &'a str,
    arch: &'a str,
    postgresql_version: &'a str,
    version_number: &'a str,
    full_version: &'a str,
    operating_system: &'a str,
    architecture: &'a str,
    compiler: &'a str,
    bit_version: &'a str,
    database: &'a str,
    user: &'a str,
    host: &'a str,
    port: u16,
    connection_name: &'a str,
    allow_writes: bool,
}

/// The parts of the result of `version()`.
#[derive(Debug, PartialEq, Eq)]
struct Build<'a> {
    architecture: &'a str,
    os: &'a str,
    compiler: &'a str,
    bits: &'a str,
}

// === impl SystemInfo ===

impl SystemInfo {
    /// Makes a resource that describes the servers of these databases.
    #[must_use]
    pub fn new(databases: Databases) -> Self {
        Self { databases }
    }
}

impl ResourceHandler for SystemInfo {
    fn describe(&self) -> ResourceDescriptor {
        ResourceDescriptor::new(
            "pg://system_info",
            "postgresql_system_info",
            "The version of PostgreSQL, the system it was built for, and the database, role and \
             address of the connection in use.",
        )
        .with_title("About the database server")
    }

    async fn read(&self, caller: Caller) -> Result<String, ReadError> {
        let current = self
            .databases
            .current(caller.extension::<Identity>())
            .map_err(|error| Unavailable::new(NOT_READY, error.to_string()))?
            .with_call(Call::by(&caller).context());
        let not_ready = |message| Unavailable::new(NOT_READY, message).retryable();
        let ready = current.ready().await;
        ready.map_err(|error| not_ready(error.to_string()))?;
        let lease = current.pool().lease().await;
        let lease = lease.map_err(|error| not_ready(error.public_message()))?;
        let server = Server::ask(lease).await.map_err(|error| {
            Failure::new("PostgreSQL did not report its version").with_source(error)
        })?;
        Ok(document(&server, &current))
    }
}

fn document(server: &Server, current: &Current) -> String {
    let version = &server.description;
    let build = Build::of(version);
    let settings = current.database().settings();
    // As configured, not as reported by the server; of several hosts the preferred one.
    let hosts = settings.all_hosts();
    let document = Document {
        version,
        os: build.os,
        arch: build.architecture,
        postgresql_version: &server.version,
        version_number: &server.version_number,
        full_version: version,
        operating_system: build.os,
        architecture: build.architecture,
        compiler: build.compiler,
        bit_version: build.bits,
        database: &server.database,
        user: &server.user,
        host: &hosts[0].name,
        port: hosts[0].port,
        connection_name: current.label(),
        allow_writes: settings.allow_writes,
    };
    serde_json::to_string_pretty(&document).expect("texts and numbers are JSON")
}

// === impl Build ===

impl<'a> Build<'a> {
    /// Parses `PostgreSQL 16.4 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 12.2.0, 64-bit`.
    fn of(version: &'a str) -> Self {
        let after = |word| {
            let (_, rest) = version.split_once(word)?;
            rest.split(',').next().map(str::trim)
        };
        let architecture = after(" on ");
        let os = architecture.and_then(|architecture| architecture.split('-').nth(2));
        let bits = version
            .split([' ', ','])
            .find(|word| word.ends_with("-bit"));
        let or_unknown =
            |part: Option<&'a str>| part.filter(|part| !part.is_empty()).unwrap_or(UNKNOWN);
        Self {
            architecture: or_unknown(architecture),
            os: or_unknown(os),
            compiler: or_unknown(after("compiled by ")),
            bits: or_unknown(bits),
        }
    }
}

//! Runs SQL on the databases of users.
//!
//! A [`Database`](database::Database) is configured by an operator. Each caller leases connections
//! to it from its own [`Pool`](pool::Pool), and a [`Statement`](statement::Statement) runs the
//! caller's text on one:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use futures_util::TryStreamExt as _;
//! use ziggurat_postgres::{
//!     database::{Database, Settings}, pool::Pools, statement::Statement, tsv::Format,
//! };
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let database = Arc::new(Database::try_from(Settings {
//!     name: "main".into(),
//!     user: "reader".into(),
//!     ..Settings::default()
//! })?);
//! let (pools, reaper) = Pools::new();
//! # let _ = reaper;
//! // The program runs `reaper.run()` next to its server.
//!
//! let pool = pools.pool("a session key", &database);
//! let statement = Statement::new(&database, "SELECT now()")?;
//! let mut rows = statement.run(pool.lease().await?).await?;
//! let mut line = String::new();
//! while let Some(row) = rows.try_next().await? {
//!     line.clear();
//!     row.write_tsv(&mut line, Format::default())?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! No other crate sends SQL text that comes from a caller, but for `index_advice`, which lets
//! PostgreSQL plan it.

pub mod call_context;
pub mod database;
pub mod driver;
pub mod error;
pub mod kind;
pub mod large_rows;
pub mod metadata;
pub mod name;
pub mod notices;
pub mod pool;
pub mod rows;
pub mod scalar;
pub mod server;
pub mod single_round_trip;
pub mod statement;
mod statement_log;
pub mod tsv;
pub mod type_name;
pub mod url;

#[cfg(any(test, feature = "test-support"))]
pub mod fixture;

/// Target of log events about databases: connections that open and close at the info level,
/// statements at the debug level, and leases at the trace level.
///
/// The events name the kind of a statement, and never contain its text.
pub const LOG_TARGET: &str = "ziggurat::database";

/// Returns the name of a table or column in double quotes.
#[must_use]
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

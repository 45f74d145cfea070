//! The room that speaks SQL to a user's database.
//!
//! A [`Database`](database::Database) is what an operator has configured. Each caller leases
//! connections to it from a [`Pool`](pool::Pool) of its own, and a
//! [`Statement`](statement::Statement) runs the caller's text on one:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use futures_util::TryStreamExt as _;
//! use ziggurat_postgres::{database::{Database, Settings}, pool::Pools, statement::Statement};
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
//!     row.write_tsv(&mut line)?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! No other room sends SQL that it did not write itself.

pub mod database;
pub mod driver;
pub mod error;
pub mod kind;
pub mod large_rows;
pub mod metadata;
pub mod pool;
pub mod rows;
pub mod scalar;
pub mod server;
pub mod single_round_trip;
pub mod statement;
pub mod tsv;
pub mod url;

#[cfg(any(test, feature = "test-support"))]
pub mod fixture;

/// The target of the events about what goes on between the server and its databases:
/// connections that open and close at the info level, statements at the debug level, and who
/// is lent a connection at the trace level.
///
/// They say what kind of statement it was, and nothing of its text.
pub const LOG_TARGET: &str = "ziggurat::database";

//! Version and identity of a PostgreSQL server.
//!
//! ```no_run
//! use ziggurat_postgres::{error::QueryError, pool::Pool, server::Server};
//!
//! # async fn example(pool: Pool) -> Result<(), QueryError> {
//! let server = Server::ask(pool.lease().await?).await?;
//! println!("{} as {}", server.version, server.user);
//! # Ok(())
//! # }
//! ```

use crate::{
    error::{Phase, QueryError},
    pool::Lease,
    statement_log::{Counts, StatementLog, commented},
};

const QUESTION: &str = "SELECT pg_catalog.version(),
    pg_catalog.current_setting('server_version'),
    pg_catalog.current_setting('server_version_num'),
    pg_catalog.current_database()::text, current_user::text";

/// Server of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// The full text: `PostgreSQL 16.4 on x86_64-pc-linux-gnu, compiled by …`.
    pub description: String,
    /// `16.4`.
    pub version: String,
    /// `160004`.
    pub version_number: String,
    /// The database of the connection.
    pub database: String,
    /// The role of the connection.
    pub user: String,
}

// === impl Server ===

impl Server {
    /// Asks the server.
    ///
    /// # Errors
    /// Fails when the query fails.
    pub async fn ask(mut lease: Lease) -> Result<Self, QueryError> {
        let log = StatementLog::open(&lease, "SELECT", QUESTION);
        let comment = log.comment(&lease);
        let answer = lease.begin().ask(&commented(&comment, QUESTION)).await;
        let failed = |error| QueryError::new(error, Phase::Run, comment.len());
        let rows = answer.map_err(failed);
        log.close(rows.as_ref().map(|_| Counts::read(1)));
        let rows = rows?;
        lease.settle();
        let row = rows.first().ok_or_else(|| QueryError::value("no answer"))?;
        let text = |index| row.text(index).map(str::to_owned).map_err(failed);
        Ok(Self {
            description: text(0)?,
            version: text(1)?,
            version_number: text(2)?,
            database: text(3)?,
            user: text(4)?,
        })
    }
}

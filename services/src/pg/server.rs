//! What PostgreSQL says about itself.
//!
//! ```no_run
//! use ziggurat_services::pg::{error::QueryError, lease::Pool, server::Server};
//!
//! # async fn example(pool: Pool) -> Result<(), QueryError> {
//! let server = Server::ask(pool.lease().await?).await?;
//! println!("{} as {}", server.version, server.user);
//! # Ok(())
//! # }
//! ```

use super::{
    error::{Phase, QueryError},
    lease::Lease,
};

const QUESTION: &str = "SELECT pg_catalog.version(),
    pg_catalog.current_setting('server_version'),
    pg_catalog.current_setting('server_version_num'),
    pg_catalog.current_database()::text, current_user::text";

/// The server at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// The whole sentence: `PostgreSQL 16.4 on x86_64-pc-linux-gnu, compiled by …`.
    pub description: String,
    /// `16.4`.
    pub version: String,
    /// `160004`.
    pub version_number: String,
    /// The database the connection is to.
    pub database: String,
    /// The role it has.
    pub user: String,
}

// === impl Server ===

impl Server {
    /// Asks.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn ask(mut lease: Lease) -> Result<Self, QueryError> {
        let (description, version, version_number, database, user) = sqlx::query_as(QUESTION)
            .persistent(false)
            .fetch_one(lease.begin())
            .await
            .map_err(|error| QueryError::new(error, Phase::Run, 0))?;
        lease.settle();
        Ok(Self {
            description,
            version,
            version_number,
            database,
            user,
        })
    }
}

//! The session of the owner of a database.

use ziggurat_postgres::{
    driver::{DriverError, Row},
    pool::{Lease, Pool},
};

use crate::failure::ProveError;

/// A session, in which each text is a transaction of its own.
pub(crate) struct Owner {
    lease: Lease,
}

// === impl Owner ===

impl Owner {
    pub(crate) async fn open(pool: &Pool) -> Result<Self, ProveError> {
        let lease = pool.lease().await?;
        Ok(Self { lease })
    }

    /// Runs a text, and returns its rows. `doing` says what it is for.
    pub(crate) async fn ask(
        &mut self,
        doing: &'static str,
        text: &str,
    ) -> Result<Vec<Row>, ProveError> {
        let rows = self.run(text).await;
        rows.map_err(|source| ProveError::Owner { doing, source })
    }

    /// Runs a text that may fail.
    pub(crate) async fn run(&mut self, text: &str) -> Result<Vec<Row>, DriverError> {
        let rows = self.lease.begin().ask(text).await;
        if matches!(rows, Ok(_) | Err(DriverError::Server(_))) {
            self.lease.settle();
        }
        rows
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Its settings are of no use to the next one.
        self.lease.close_at_end();
    }
}

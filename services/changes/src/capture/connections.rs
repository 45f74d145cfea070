//! The connections of a capture.

use tokio::sync::OwnedSemaphorePermit;
use ziggurat_postgres::{
    error::{DriverError, Phase, QueryError},
    pool::{Lease, LeasePair, Pool},
};

use crate::{Reason, Rules};

/// Reason for the end of a capture.
#[derive(Debug)]
pub(crate) enum Stop {
    Unseen(Reason),
    Failed(QueryError),
}

/// Two connections of one caller, with one snapshot.
#[derive(Debug)]
pub(crate) struct Capture<'a> {
    pub(super) writer: Lease,
    pub(super) reader: Lease,
    /// Counts it among the captures of all callers.
    _permit: OwnedSemaphorePermit,
    pub(super) rules: &'a Rules,
    /// Bytes that values may still have.
    pub(super) left: usize,
}

// === impl Capture ===

impl<'a> Capture<'a> {
    /// Leases two connections of a caller.
    pub(crate) async fn begin(pool: &Pool, rules: &'a Rules) -> Result<Self, QueryError> {
        let LeasePair {
            writer,
            reader,
            permit,
        } = pool.lease_pair().await?;
        Ok(Self {
            writer,
            reader,
            _permit: permit,
            rules,
            left: rules.max_bytes,
        })
    }
}

// === impl Stop ===

impl From<DriverError> for Stop {
    fn from(error: DriverError) -> Self {
        Self::Failed(QueryError::new(error, Phase::Run, 0))
    }
}

//! Two connections of one caller at once.

use std::sync::Arc;

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{self, Instant},
};

use crate::pool::{Lease, LeaseError, Pool, wait::Wait};

/// Maximum number of pairs of all callers.
const MAX_PAIRS: usize = 4;

/// Two connections of one caller.
#[derive(Debug)]
pub struct LeasePair {
    /// One of them.
    pub writer: Lease,
    /// The other one.
    pub reader: Lease,
    /// Counts the pair until it is dropped.
    pub permit: OwnedSemaphorePermit,
}

/// Makes the limit on the pairs of all callers.
pub(super) fn limit() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(MAX_PAIRS))
}

impl Pool {
    /// Waits for two connections at once: two callers that hold one each could wait for each other.
    ///
    /// # Errors
    /// Fails if four pairs are in use, and like [`lease`](Self::lease).
    pub async fn lease_pair(&self) -> Result<LeasePair, LeaseError> {
        self.check_open()?;
        let shared = self.inner.shared.upgrade().ok_or(LeaseError::Closed)?;
        let pairs = Arc::clone(&shared.pairs);
        drop(shared);
        let permit = pairs.try_acquire_owned();
        let permit = permit.map_err(|_| LeaseError::TooManyPairs)?;
        let wait = Wait::begin(&self.inner.database);
        let began = self.inner.metrics.is_on().then(Instant::now);
        let [first, second] = self.two_permits(wait).await?;
        let writer = self.lease_with(first, wait, began).await?;
        let reader = self.lease_with(second, wait, began).await?;
        Ok(LeasePair {
            writer: tested(writer).await?,
            reader: tested(reader).await?,
            permit,
        })
    }

    /// Waits for two permits of the pool.
    async fn two_permits(&self, wait: Wait) -> Result<[OwnedSemaphorePermit; 2], LeaseError> {
        let limit = wait.at_most(self.inner.database.settings().lease_timeout);
        let both = Arc::clone(&self.inner.permits).acquire_many_owned(2);
        let both = time::timeout(limit, both).await;
        let both = both.map_err(|_| self.busy(wait))?;
        let mut both = both.map_err(|_| LeaseError::Closed)?;
        let one = both.split(1).expect("there are two");
        Ok([one, both])
    }
}

/// Replaces a connection that was closed while it was idle.
async fn tested(mut lease: Lease) -> Result<Lease, LeaseError> {
    if lease.is_untested() {
        match lease.begin().ask("").await {
            Ok(_) => lease.has_answered(),
            Err(_) => lease.renew().await?,
        }
        lease.settle();
    }
    Ok(lease)
}

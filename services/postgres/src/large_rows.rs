//! Limits the memory of large rows.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Rows up to this size are not limited.
const LARGE: usize = 128 << 10;

/// Copies of a row in memory until it is sent: as received, and as text that may be longer.
const COPIES: usize = 6;

/// Bytes per permit of the semaphore.
const UNIT: usize = 1 << 10;

/// Limit on the memory of the large rows of several statements.
///
/// A row of more than 128 KiB is read only when there is memory for it and for the text made of it.
/// Clones share the limit.
#[derive(Clone, Debug)]
pub struct LargeRows {
    permits: Arc<Semaphore>,
    units: usize,
}

/// Permit for one large row; its memory is free again when it is dropped.
pub type LargeRowPermit = OwnedSemaphorePermit;

// === impl LargeRows ===

impl LargeRows {
    /// Limits the total memory of large rows. A row of any size is read if it is the only one.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let units = (bytes / UNIT).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(units)),
            units,
        }
    }

    pub(super) fn is_large(bytes: usize) -> bool {
        bytes > LARGE
    }

    /// Waits for a permit for a row of this size.
    pub(super) async fn take(&self, bytes: usize) -> LargeRowPermit {
        let units = (bytes.saturating_mul(COPIES) / UNIT).min(self.units);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.permits).acquire_many_owned(units).await;
        permit.expect("never closed")
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn rows_wait_until_earlier_ones_are_dropped_and_a_single_one_always_fits() {
        const MIB: usize = 1 << 20;
        let rows = LargeRows::new(12 * MIB);
        let first = rows.take(MIB).now_or_never().expect("room");
        let second = rows.clone().take(MIB).now_or_never().expect("room");
        assert!(rows.take(MIB).now_or_never().is_none());
        drop(first);
        assert!(rows.take(100 * MIB).now_or_never().is_none());
        drop(second);
        assert!(rows.take(100 * MIB).now_or_never().is_some());
    }
}

//! The memory that large rows may take.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Rows up to this size are read without asking for room.
const LARGE: usize = 128 << 10;

/// Copies of a row that are held until it is sent: as it came, and as text that may be longer.
const COPIES: usize = 6;

/// The unit in which room is counted.
const UNIT: usize = 1 << 10;

/// The memory that the large rows of several statements take together.
///
/// A row of more than 128 KiB is read only when there is room for it and for the text made of
/// it. Clones share the room.
#[derive(Clone, Debug)]
pub struct LargeRows {
    room: Arc<Semaphore>,
    units: usize,
}

/// The room of one large row, free again when it is dropped.
pub type Room = OwnedSemaphorePermit;

// === impl LargeRows ===

impl LargeRows {
    /// Limits what large rows take together. One row at a time is read however large it is.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let units = (bytes / UNIT).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            room: Arc::new(Semaphore::new(units)),
            units,
        }
    }

    pub(super) fn is_large(bytes: usize) -> bool {
        bytes > LARGE
    }

    /// Waits for the room that a row of this size takes.
    pub(super) async fn take(&self, bytes: usize) -> Room {
        let units = (bytes.saturating_mul(COPIES) / UNIT).min(self.units);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(units).await;
        room.expect("never closed")
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn rows_wait_until_those_before_them_are_gone_and_one_always_fits() {
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

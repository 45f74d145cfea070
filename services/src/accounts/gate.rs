//! How many passwords are checked at a time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lets so many in, and so many more wait. Clones share the room.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    inside: Arc<Semaphore>,
    room: Arc<Semaphore>,
}

/// A place inside, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _inside: OwnedSemaphorePermit,
    _room: OwnedSemaphorePermit,
}

/// There is no room to wait in.
#[derive(Debug)]
pub(super) struct Full;

// === impl Gate ===

impl Gate {
    pub(super) fn new(inside: usize, waiting: usize) -> Self {
        let inside = inside.clamp(1, Semaphore::MAX_PERMITS / 2);
        let waiting = waiting.min(Semaphore::MAX_PERMITS / 2);
        Self {
            inside: Arc::new(Semaphore::new(inside)),
            room: Arc::new(Semaphore::new(inside + waiting)),
        }
    }

    pub(super) async fn enter(&self) -> Result<Turn, Full> {
        let room = Arc::clone(&self.room).try_acquire_owned();
        let room = room.map_err(|_| Full)?;
        let inside = Arc::clone(&self.inside).acquire_owned().await;
        Ok(Turn {
            _inside: inside.expect("it is never closed"),
            _room: room,
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio_test::{assert_pending, assert_ready, task};

    use super::*;

    #[test]
    fn one_is_inside_one_waits_and_one_is_sent_away() {
        let gate = Gate::new(1, 1);
        let first = assert_ready!(task::spawn(gate.enter()).poll()).expect("empty");
        let mut second = task::spawn(gate.enter());
        assert_pending!(second.poll());
        assert!(assert_ready!(task::spawn(gate.enter()).poll()).is_err());

        drop(first);
        assert!(second.is_woken());
        let second = assert_ready!(second.poll()).expect("its turn");
        let mut third = task::spawn(gate.enter());
        assert_pending!(third.poll());
        // Who gives up waiting leaves the room.
        drop(third);
        let mut fourth = task::spawn(gate.enter());
        assert_pending!(fourth.poll());
        drop(second);
        assert!(assert_ready!(fourth.poll()).is_ok());
    }
}

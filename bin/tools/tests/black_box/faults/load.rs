//! Clients that call continuously during an event.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::support::PATIENCE;

/// Runs this many clients, each on its own thread and without a pause, until the event is over.
/// Each gets its number.
pub(super) fn during<R>(
    clients: usize,
    call: impl Fn(usize) + Sync,
    event: impl FnOnce() -> R,
) -> R {
    let is_over = AtomicBool::new(false);
    let (call, over) = (&call, &is_over);
    thread::scope(|scope| {
        for client in 0..clients {
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    call(client);
                }
            });
        }
        let _end = End(over);
        event()
    })
}

/// Waits until a condition holds.
pub(super) fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Ends the load also if the event panics, because the scope would otherwise wait forever.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

//! Waiting for what happens by itself.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::PATIENCE;

/// Looks again and again until something is so, and says how long that took.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
    start.elapsed()
}

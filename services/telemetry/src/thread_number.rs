use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of threads that have asked for theirs.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed);
}

/// Returns a number of this thread, counted from 0 in the order in which threads first ask.
///
/// It chooses among parts of something that all threads change: threads that change the same memory
/// slow each other down.
#[must_use]
pub fn thread_number() -> usize {
    // While a thread ends, its number may be gone.
    NUMBER.try_with(|number| *number).unwrap_or_default()
}

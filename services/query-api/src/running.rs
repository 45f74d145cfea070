//! Statements that run now, counted by session.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use ziggurat_runtime::lock;

/// Maximum number of statements that a session runs at once.
const MAX_RUNNING: u8 = 2;

/// Counts the running statements of each session. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningQueries(Arc<Mutex<HashMap<String, u8>>>);

/// A running statement, until it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct RunningQuery {
    queries: RunningQueries,
    session: String,
}

// === impl RunningQueries ===

impl RunningQueries {
    /// Counts a statement of a session; `None` if too many of its statements run.
    pub(crate) fn enter(&self, session: &str) -> Option<RunningQuery> {
        let mut counts = lock(&self.0);
        let count = counts.entry(session.to_owned()).or_default();
        if *count == MAX_RUNNING {
            return None;
        }
        *count += 1;
        Some(RunningQuery {
            queries: self.clone(),
            session: session.to_owned(),
        })
    }
}

// === impl RunningQuery ===

impl Drop for RunningQuery {
    fn drop(&mut self) {
        let mut counts = lock(&self.queries.0);
        if let Some(count) = counts.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_runs_two_statements_at_once_and_nothing_is_left_of_it() {
        let queries = RunningQueries::default();
        let first = queries.enter("a").expect("the first");
        let second = queries.enter("a").expect("the second");
        assert!(queries.enter("a").is_none());
        let other = queries.enter("b").expect("another session");
        drop(first);
        let third = queries.enter("a").expect("one has ended");
        drop((second, third, other));
        assert!(lock(&queries.0).is_empty());
    }
}

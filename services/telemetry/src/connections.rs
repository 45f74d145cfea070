//! Counts of the connections to databases.

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    known::FIRST,
    label,
    metrics::{Metrics, State},
};

/// Keeps a connection counted as open, or as busy, until it is dropped.
#[derive(Default)]
pub struct CountedConnection(Option<Counted>);

struct Counted {
    state: Arc<State>,
    database: usize,
    /// Numbers of the states of the connection before and while this exists.
    before: Option<usize>,
    now: usize,
}

/// Numbers of the values of the label [`POOL_STATE`](label::POOL_STATE).
const IDLE: usize = FIRST;
const BUSY: usize = FIRST + 1;

// === impl Metrics ===

impl Metrics {
    /// Records a new connection to a database.
    #[must_use]
    pub fn connection_opened(&self, database: &str) -> CountedConnection {
        let counted = self.counted(database, None, IDLE);
        if let Some(counted) = &counted.0 {
            let opened = &counted.state.recorded.connections_opened;
            opened.at(counted.database).add(1);
        }
        counted
    }

    /// Records that a call uses an open connection to a database, after it waited for it.
    #[must_use]
    pub fn connection_lent(&self, database: &str, waited: Duration) -> CountedConnection {
        let counted = self.counted(database, Some(IDLE), BUSY);
        if let Some(counted) = &counted.0 {
            let waits = &counted.state.recorded.pool_wait;
            waits.at(counted.database).observe(waited);
        }
        counted
    }

    fn counted(&self, database: &str, before: Option<usize>, now: usize) -> CountedConnection {
        CountedConnection(self.state().map(|state| {
            let database = state.names.load().id(&label::DATABASE, database);
            let state = Arc::clone(state);
            let counted = Counted {
                state,
                database,
                before,
                now,
            };
            counted.change(1);
            counted
        }))
    }
}

// === impl Counted ===

impl Counted {
    fn change(&self, count: i64) {
        let gauges = self.state.recorded.pool_connections.at(self.database);
        gauges.at(self.now).add(count);
        if let Some(before) = self.before {
            gauges.at(before).add(-count);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.change(-1);
    }
}

impl fmt::Debug for CountedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_busy = self.0.as_ref().map(|counted| counted.now == BUSY);
        f.debug_tuple("CountedConnection").field(&is_busy).finish()
    }
}

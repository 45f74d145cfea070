//! Counts of the connections to databases.

use std::{fmt, sync::Arc};

use crate::{
    label,
    metrics::{Metrics, State},
};

/// Keeps a connection counted as open, or as busy, until it is dropped.
#[derive(Default)]
pub struct CountedConnection(Option<Counted>);

struct Counted {
    state: Arc<State>,
    database: usize,
    /// States of the connection before and while this exists.
    before: Option<&'static str>,
    now: &'static str,
}

// === impl Metrics ===

impl Metrics {
    /// Records a new connection to a database.
    #[must_use]
    pub fn connection_opened(&self, database: &str) -> CountedConnection {
        let counted = self.counted(database, None, "idle");
        if let Some(counted) = &counted.0 {
            let opened = &counted.state.recorded.connections_opened;
            opened.at(counted.database).add(1);
        }
        counted
    }

    /// Records that a call uses an open connection to a database.
    #[must_use]
    pub fn connection_lent(&self, database: &str) -> CountedConnection {
        self.counted(database, Some("idle"), "busy")
    }

    fn counted(
        &self,
        database: &str,
        before: Option<&'static str>,
        now: &'static str,
    ) -> CountedConnection {
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
        let names = self.state.names.load();
        let gauges = self.state.recorded.pool_connections.at(self.database);
        let gauge = |state| gauges.at(names.id(&label::POOL_STATE, state));
        gauge(self.now).add(count);
        if let Some(before) = self.before {
            gauge(before).add(-count);
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
        let state = self.0.as_ref().map(|counted| counted.now);
        f.debug_tuple("CountedConnection").field(&state).finish()
    }
}

//! Metrics of the connections to a database and of its statements.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use crate::{
    known::OTHER,
    label,
    metrics::{Metrics, State},
    recorded::Recorded,
};

/// The metrics of a database, which look up its name once.
#[derive(Default)]
pub struct DatabaseMetrics(Option<Named>);

struct Named {
    state: Arc<State>,
    name: String,
    /// Number of the name, once it is known.
    number: AtomicUsize,
}

/// Keeps a connection counted as open until it is dropped.
#[derive(Default)]
pub struct CountedConnection(Option<(Arc<State>, usize)>);

// === impl Metrics ===

impl Metrics {
    /// Returns the metrics of a database.
    #[must_use]
    pub fn database(&self, name: &str) -> DatabaseMetrics {
        DatabaseMetrics(self.state().map(|state| Named {
            state: Arc::clone(state),
            name: name.to_owned(),
            number: AtomicUsize::new(OTHER),
        }))
    }
}

// === impl DatabaseMetrics ===

impl DatabaseMetrics {
    /// Returns whether anything is recorded. Code that would read a clock only for a metric asks.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Records a new connection.
    #[must_use]
    pub fn connection_opened(&self) -> CountedConnection {
        CountedConnection(self.0.as_ref().map(|named| {
            let (database, recorded) = named.recorded();
            recorded.connections_opened.at(database).add(1);
            recorded.open_connections.at(database).add(1);
            (Arc::clone(&named.state), database)
        }))
    }

    /// Records a connection that could not be opened.
    pub fn connection_failed(&self) {
        if let Some(named) = &self.0 {
            let (database, recorded) = named.recorded();
            recorded.connections_failed.at(database).add(1);
        }
    }

    /// Records the time that a call waited for a connection.
    pub fn connection_lent(&self, waited: Duration) {
        if let Some(named) = &self.0 {
            let (database, recorded) = named.recorded();
            recorded.pool_wait.at(database).observe(waited);
        }
    }

    /// Records a statement after the end of its results.
    pub fn statement(&self, duration: Duration, rows: u64) {
        if let Some(named) = &self.0 {
            let (database, recorded) = named.recorded();
            recorded.database_statement.at(database).observe(duration);
            recorded.database_rows.at(database).add(rows);
        }
    }
}

impl fmt::Debug for DatabaseMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.as_ref().map(|named| &named.name);
        f.debug_tuple("DatabaseMetrics").field(&name).finish()
    }
}

// === impl Named ===

impl Named {
    /// Returns the number of the name, and the values of this thread.
    fn recorded(&self) -> (usize, &Recorded) {
        let mut number = self.number.load(Relaxed);
        // A reload may make a name known.
        if number == OTHER {
            number = self.state.names.load().id(&label::DATABASE, &self.name);
            self.number.store(number, Relaxed);
        }
        (number, self.state.recorded.mine())
    }
}

// === impl CountedConnection ===

impl Drop for CountedConnection {
    fn drop(&mut self) {
        if let Some((state, database)) = self.0.take() {
            let open = &state.recorded.mine().open_connections;
            open.at(database).add(-1);
        }
    }
}

impl fmt::Debug for CountedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CountedConnection")
            .field(&self.0.is_some())
            .finish()
    }
}

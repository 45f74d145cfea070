//! Numbers of the connections to a database.

use std::collections::HashMap;

use ziggurat_runtime::lock;

use super::{Pools, inner::Inner};
use crate::database::Database;

/// Connections to a database of all callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Number of connections that run statements, or are held by a call.
    pub in_use: usize,
    /// Number of connections that are kept open.
    pub idle: usize,
    /// Number of callers that wait because the limit is reached.
    pub waiting: usize,
    /// Greatest number of connections.
    pub limit: usize,
}

// === impl Pools ===

impl Pools {
    /// Counts the connections to a database.
    #[must_use]
    pub fn usage(&self, database: &Database) -> Usage {
        let idle_in = |inner: &Inner| {
            let is_its = inner.database.name() == database.name();
            if is_its { inner.idle().len() } else { 0 }
        };
        let pools = lock(&self.shared.pools);
        let all = pools.values().flat_map(HashMap::values);
        let idle = all.map(|pool| idle_in(&pool.inner)).sum();
        drop(pools);
        let limit = database.connection_limit();
        Usage {
            // Taken at another moment than the number of idle ones.
            in_use: limit.taken().saturating_sub(idle),
            idle,
            waiting: limit.waiting(),
            limit: limit.count(),
        }
    }
}

//! Values that are read when the page is, from the parts of a program that know them.

use std::{fmt, sync::OnceLock};

/// Function that is called whenever the page is read.
type Source<T> = OnceLock<Box<dyn Fn() -> T + Send + Sync>>;

/// Counts of the audit trail since the start of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditCounts {
    /// Records that were written.
    pub records: u64,
    /// Records that are missing because the queue was full.
    pub missed: u64,
    /// Writes that failed.
    pub failures: u64,
}

/// Open connections to a database that no call uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleCount {
    /// The name of the database.
    pub database: String,
    /// The number of connections.
    pub count: u64,
}

/// Accounts of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountCount {
    /// `tenant`, `user`, `client` or `invite`.
    pub kind: &'static str,
    /// The number of accounts of this kind.
    pub count: u64,
}

/// Grants of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantCount {
    /// `code`, `device`, `assertion` or `console`.
    pub kind: String,
    /// The number of grants of this kind that have not ended.
    pub count: u64,
}

/// The queues of a pipeline with tables that are kept in step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncCount {
    /// The name of the pipeline.
    pub pipeline: String,
    /// Rows in the queues.
    pub backlog: u64,
    /// Age of the oldest change in the queues, in seconds.
    pub oldest: u64,
    /// Rows that have failed for good.
    pub failed: u64,
}

/// All sources of a program. Those that it has not set have no values on the page.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) http_connections: Source<u64>,
    pub(crate) idle_connections: Source<Vec<IdleCount>>,
    pub(crate) audit: Source<AuditCounts>,
    pub(crate) dropped_spans: Source<u64>,
    pub(crate) accounts: Source<Vec<AccountCount>>,
    pub(crate) grants: Source<Vec<GrantCount>>,
    pub(crate) sync: Source<Vec<SyncCount>>,
}

// === impl Sources ===

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

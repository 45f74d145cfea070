//! Values that calls record.

use crate::{
    cells::{Cells, Counter, Gauge, Histogram},
    known::Names,
    slots::Slots,
    table::{Id, Metric, TABLE},
};

type By1<T> = Slots<T>;
type By2<T> = Slots<By1<T>>;
type By3<T> = Slots<By2<T>>;
type By5<T> = Slots<Slots<By3<T>>>;

/// Values of the metrics by the numbers of their labels, in the order of the table.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) calls: By5<Counter>,
    pub(crate) call_duration: By2<Histogram>,
    pub(crate) database_statement: By1<Histogram>,
    pub(crate) database_rows: By1<Counter>,
    pub(crate) result_bytes: By1<Counter>,
    pub(crate) pool_connections: By2<Gauge>,
    pub(crate) pool_wait: By1<Histogram>,
    pub(crate) connections_opened: By1<Counter>,
    pub(crate) connections_failed: By1<Counter>,
    pub(crate) http_requests: By2<Counter>,
    pub(crate) refused: By1<Counter>,
    pub(crate) limits_reached: By1<Counter>,
    pub(crate) reloads: By1<Counter>,
    pub(crate) provider: By3<Histogram>,
    pub(crate) provider_tokens: By2<Counter>,
    pub(crate) pipeline: By2<Histogram>,
    pub(crate) tokens_issued: By1<Counter>,
}

// === impl Recorded ===

impl Recorded {
    /// Makes the values that are on the page from the start.
    pub(crate) fn make(&self, names: &Names) {
        for metric in TABLE.iter().filter(|metric| metric.starts_at_zero()) {
            if let Some(cells) = self.of(metric) {
                cells.make(metric.labels, names);
            }
        }
    }

    /// Returns the values of a metric, unless they are read only when the page is.
    pub(crate) fn of(&self, metric: &Metric) -> Option<&dyn Cells> {
        let cells: &dyn Cells = match metric.id {
            Id::Calls => &self.calls,
            Id::CallDuration => &self.call_duration,
            Id::DatabaseStatement => &self.database_statement,
            Id::DatabaseRows => &self.database_rows,
            Id::ResultBytes => &self.result_bytes,
            Id::PoolConnections => &self.pool_connections,
            Id::PoolWait => &self.pool_wait,
            Id::ConnectionsOpened => &self.connections_opened,
            Id::ConnectionsFailed => &self.connections_failed,
            Id::HttpRequests => &self.http_requests,
            Id::Refused => &self.refused,
            Id::LimitsReached => &self.limits_reached,
            Id::Reloads => &self.reloads,
            Id::Provider => &self.provider,
            Id::ProviderTokens => &self.provider_tokens,
            Id::Pipeline => &self.pipeline,
            Id::TokensIssued => &self.tokens_issued,
            Id::HttpConnections
            | Id::AuditRecords
            | Id::AuditMissed
            | Id::AuditFailures
            | Id::TraceSpansDropped
            | Id::SyncBacklog
            | Id::SyncOldest
            | Id::SyncFailed
            | Id::Accounts
            | Id::BuildInfo
            | Id::ProcessCpu
            | Id::ProcessResidentMemory
            | Id::ProcessOpenFds => return None,
        };
        Some(cells)
    }
}

//! Values that calls record.

use std::collections::BTreeMap;

use crate::{
    cells::{Cells, Counter, Gauge, Histogram, Sample},
    known::Names,
    slots::Slots,
    table::{Id, Metric, TABLE},
    thread_number,
};

type By1<T> = Slots<T>;
type By2<T> = Slots<By1<T>>;
type By3<T> = Slots<By2<T>>;
type By5<T> = Slots<Slots<By3<T>>>;

/// Number of the parts of the recorded values.
const PARTS: usize = 8;

/// Recorded values in parts, of which each thread uses one: threads that write to the same memory
/// slow each other down. The page has their sums.
#[derive(Debug, Default)]
pub(crate) struct RecordedParts([Recorded; PARTS]);

/// Values of the metrics by the numbers of their labels, in the order of the table.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) calls: By5<Counter>,
    pub(crate) call_duration: By2<Histogram>,
    pub(crate) database_statement: By1<Histogram>,
    pub(crate) database_rows: By1<Counter>,
    pub(crate) result_bytes: By1<Counter>,
    pub(crate) open_connections: By1<Gauge>,
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
    pub(crate) tokens_issued: By2<Counter>,
    pub(crate) sign_ins: By2<Counter>,
}

// === impl RecordedParts ===

impl RecordedParts {
    /// Returns the part of this thread.
    pub(crate) fn mine(&self) -> &Recorded {
        let part = self.0.get(thread_number() % PARTS);
        part.unwrap_or_else(|| self.first())
    }

    /// Returns the part that has the values which are on the page from the start.
    pub(crate) fn first(&self) -> &Recorded {
        let [first, ..] = &self.0;
        first
    }

    /// Calls `each` with every value of a metric; the path is the numbers of its labels.
    pub(crate) fn visit(&self, metric: &Metric, each: &mut dyn FnMut(&[usize], Sample)) {
        let mut sums = BTreeMap::<Vec<usize>, Sample>::new();
        for cells in self.0.iter().filter_map(|part| part.of(metric)) {
            cells.visit(&mut Vec::new(), &mut |path, sample| {
                if let Some(sum) = sums.get_mut(path) {
                    sum.add(sample);
                } else {
                    sums.insert(path.to_owned(), sample);
                }
            });
        }
        for (path, sum) in sums {
            each(&path, sum);
        }
    }

    /// Returns the number of open connections to each database, by the number of its name.
    pub(crate) fn open_connections(&self) -> BTreeMap<usize, i64> {
        let mut open = BTreeMap::new();
        for (database, count) in self.0.iter().flat_map(|part| part.open_connections.iter()) {
            *open.entry(database).or_default() += count.get();
        }
        open
    }
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
            Id::SignIns => &self.sign_ins,
            Id::PoolConnections
            | Id::HttpConnections
            | Id::AuditRecords
            | Id::AuditMissed
            | Id::AuditFailures
            | Id::TraceSpansDropped
            | Id::SyncBacklog
            | Id::SyncOldest
            | Id::SyncFailed
            | Id::Accounts
            | Id::Grants
            | Id::BuildInfo
            | Id::ProcessCpu
            | Id::ProcessResidentMemory
            | Id::ProcessOpenFds => return None,
        };
        Some(cells)
    }
}

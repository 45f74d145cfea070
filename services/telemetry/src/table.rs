//! The table of all metrics: the page and the reference are made from it.

use prometheus_client::{metrics::MetricType, registry::Unit};

use crate::label::{self, Label};

/// A metric as operators see it.
#[derive(Debug)]
pub(crate) struct Metric {
    pub(crate) id: Id,
    /// Name on the page in text.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) labels: &'static [&'static Label],
    pub(crate) programs: &'static [Program],
    pub(crate) help: &'static str,
}

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
    Info,
}

/// Program that has metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `ziggurat-tools`.
    Tools,
    /// `ziggurat-rag`.
    Rag,
    /// `ziggurat-platform`.
    Platform,
}

/// Identifies a metric in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Calls,
    CallDuration,
    DatabaseStatement,
    DatabaseRows,
    ResultBytes,
    PoolConnections,
    PoolWait,
    ConnectionsOpened,
    ConnectionsFailed,
    HttpRequests,
    HttpConnections,
    Refused,
    LimitsReached,
    AuditRecords,
    AuditMissed,
    AuditFailures,
    TraceSpansDropped,
    Reloads,
    Provider,
    ProviderTokens,
    Pipeline,
    SyncBacklog,
    SyncOldest,
    SyncFailed,
    TokensIssued,
    SignIns,
    Grants,
    Accounts,
    BuildInfo,
    ProcessCpu,
    ProcessResidentMemory,
    ProcessOpenFds,
}

const ALL: &[Program] = &Program::ALL;
const ISSUERS: &[Program] = &[Program::Tools, Program::Platform];
const CALLED: &[Program] = &[Program::Tools, Program::Rag];
const RAG: &[Program] = &[Program::Rag];
const PLATFORM: &[Program] = &[Program::Platform];

/// All metrics, in the order of the page.
pub(crate) static TABLE: [Metric; 32] = [
    Metric {
        id: Id::Calls,
        name: "ziggurat_calls_total",
        kind: Kind::Counter,
        labels: &[
            &label::METHOD,
            &label::TOOL,
            &label::DATABASE,
            &label::VERDICT,
            &label::CALLER_KIND,
        ],
        programs: CALLED,
        help: "Calls that have ended, whatever their end.",
    },
    Metric {
        id: Id::CallDuration,
        name: "ziggurat_call_duration_seconds",
        kind: Kind::Histogram,
        labels: &[&label::METHOD, &label::TOOL],
        programs: CALLED,
        help: "Time from the arrival of a call to its end.",
    },
    Metric {
        id: Id::DatabaseStatement,
        name: "ziggurat_database_statement_seconds",
        kind: Kind::Histogram,
        labels: &[&label::DATABASE],
        programs: CALLED,
        help: "Time from sending a statement to the end of its results.",
    },
    Metric {
        id: Id::DatabaseRows,
        name: "ziggurat_database_rows_total",
        kind: Kind::Counter,
        labels: &[&label::DATABASE],
        programs: CALLED,
        help: "Rows that databases have sent.",
    },
    Metric {
        id: Id::ResultBytes,
        name: "ziggurat_result_bytes_total",
        kind: Kind::Counter,
        labels: &[&label::DATABASE],
        programs: CALLED,
        help: "Bytes of results that were sent to callers.",
    },
    Metric {
        id: Id::PoolConnections,
        name: "ziggurat_pool_connections",
        kind: Kind::Gauge,
        labels: &[&label::DATABASE, &label::POOL_STATE],
        programs: ALL,
        help: "Open connections of the pool of a database.",
    },
    Metric {
        id: Id::PoolWait,
        name: "ziggurat_pool_wait_seconds",
        kind: Kind::Histogram,
        labels: &[&label::DATABASE],
        programs: ALL,
        help: "Time that calls waited for a connection of the pool.",
    },
    Metric {
        id: Id::ConnectionsOpened,
        name: "ziggurat_connections_opened_total",
        kind: Kind::Counter,
        labels: &[&label::DATABASE],
        programs: ALL,
        help: "Connections that were opened to a database.",
    },
    Metric {
        id: Id::ConnectionsFailed,
        name: "ziggurat_connections_failed_total",
        kind: Kind::Counter,
        labels: &[&label::DATABASE],
        programs: ALL,
        help: "Connections to a database that could not be opened.",
    },
    Metric {
        id: Id::HttpRequests,
        name: "ziggurat_http_requests_total",
        kind: Kind::Counter,
        labels: &[&label::ENDPOINT, &label::STATUS_CLASS],
        programs: ALL,
        help: "HTTP requests by the class of the status they were answered with.",
    },
    Metric {
        id: Id::HttpConnections,
        name: "ziggurat_http_connections",
        kind: Kind::Gauge,
        labels: &[],
        programs: ALL,
        help: "Open connections of HTTP clients.",
    },
    Metric {
        id: Id::Refused,
        name: "ziggurat_refused_total",
        kind: Kind::Counter,
        labels: &[&label::REASON],
        programs: ALL,
        help: "HTTP requests that were refused before they reached a handler.",
    },
    Metric {
        id: Id::LimitsReached,
        name: "ziggurat_limits_reached_total",
        kind: Kind::Counter,
        labels: &[&label::LIMIT],
        programs: ALL,
        help: "Calls and requests that were stopped by a limit.",
    },
    Metric {
        id: Id::AuditRecords,
        name: "ziggurat_audit_records_total",
        kind: Kind::Counter,
        labels: &[],
        programs: ALL,
        help: "Records that were written to the audit trail.",
    },
    Metric {
        id: Id::AuditMissed,
        name: "ziggurat_audit_missed_total",
        kind: Kind::Counter,
        labels: &[],
        programs: ALL,
        help: "Records that the audit trail misses because its queue was full.",
    },
    Metric {
        id: Id::AuditFailures,
        name: "ziggurat_audit_failures_total",
        kind: Kind::Counter,
        labels: &[],
        programs: ALL,
        help: "Writes to the audit trail that failed.",
    },
    Metric {
        id: Id::TraceSpansDropped,
        name: "ziggurat_trace_spans_dropped_total",
        kind: Kind::Counter,
        labels: &[],
        programs: ALL,
        help: "Spans that were dropped by a full queue, a failed export or the collector.",
    },
    Metric {
        id: Id::Reloads,
        name: "ziggurat_reloads_total",
        kind: Kind::Counter,
        labels: &[&label::RELOAD_RESULT],
        programs: ALL,
        help: "Reloads of the configuration, and of signing keys; after a failed one the old ones stay.",
    },
    Metric {
        id: Id::Provider,
        name: "ziggurat_provider_seconds",
        kind: Kind::Histogram,
        labels: &[&label::PROVIDER, &label::PROVIDER_KIND, &label::OUTCOME],
        programs: CALLED,
        help: "Time of requests to providers of models.",
    },
    Metric {
        id: Id::ProviderTokens,
        name: "ziggurat_provider_tokens_total",
        kind: Kind::Counter,
        labels: &[&label::PROVIDER, &label::DIRECTION],
        programs: CALLED,
        help: "Tokens of prompts and replies, as the providers count them.",
    },
    Metric {
        id: Id::Pipeline,
        name: "ziggurat_pipeline_seconds",
        kind: Kind::Histogram,
        labels: &[&label::PIPELINE, &label::STAGE],
        programs: RAG,
        help: "Time of the stages of a question to a pipeline.",
    },
    Metric {
        id: Id::SyncBacklog,
        name: "ziggurat_sync_backlog_rows",
        kind: Kind::Gauge,
        labels: &[&label::PIPELINE],
        programs: RAG,
        help: "Rows in the queues of the tables that the server keeps in step with their texts.",
    },
    Metric {
        id: Id::SyncOldest,
        name: "ziggurat_sync_oldest_seconds",
        kind: Kind::Gauge,
        labels: &[&label::PIPELINE],
        programs: RAG,
        help: "Age of the oldest change in these queues, in whole seconds.",
    },
    Metric {
        id: Id::SyncFailed,
        name: "ziggurat_sync_failed_rows",
        kind: Kind::Gauge,
        labels: &[&label::PIPELINE],
        programs: RAG,
        help: "Rows of these tables that have failed for good.",
    },
    Metric {
        id: Id::TokensIssued,
        name: "ziggurat_tokens_issued_total",
        kind: Kind::Counter,
        labels: &[&label::GRANT_TYPE, &label::TOKEN_RESULT],
        programs: ISSUERS,
        help: "Requests for access tokens by their result.",
    },
    Metric {
        id: Id::SignIns,
        name: "ziggurat_sign_ins_total",
        kind: Kind::Counter,
        labels: &[&label::SIGN_IN_WAY, &label::SIGN_IN_RESULT],
        programs: ISSUERS,
        help: "Sign-ins of people with a browser by their result.",
    },
    Metric {
        id: Id::Grants,
        name: "ziggurat_grants",
        kind: Kind::Gauge,
        labels: &[&label::GRANT_KIND],
        programs: ISSUERS,
        help: "Grants of people that have not ended by kind; 100,000 are counted.",
    },
    Metric {
        id: Id::Accounts,
        name: "ziggurat_accounts",
        kind: Kind::Gauge,
        labels: &[&label::ACCOUNT_KIND],
        programs: PLATFORM,
        help: "Accounts by kind.",
    },
    Metric {
        id: Id::BuildInfo,
        name: "ziggurat_build_info",
        kind: Kind::Info,
        labels: &[&label::PROGRAM, &label::VERSION],
        programs: ALL,
        help: "The program and its version; the value is 1.",
    },
    Metric {
        id: Id::ProcessCpu,
        name: "process_cpu_seconds_total",
        kind: Kind::Counter,
        labels: &[],
        programs: ALL,
        help: "Processor time of the process, in user and system mode. Linux only.",
    },
    Metric {
        id: Id::ProcessResidentMemory,
        name: "process_resident_memory_bytes",
        kind: Kind::Gauge,
        labels: &[],
        programs: ALL,
        help: "Memory of the process that is resident. Linux only.",
    },
    Metric {
        id: Id::ProcessOpenFds,
        name: "process_open_fds",
        kind: Kind::Gauge,
        labels: &[],
        programs: ALL,
        help: "File descriptors that the process has open. Linux only.",
    },
];

// === impl Metric ===

impl Metric {
    /// Returns the metrics of a program.
    pub(crate) fn of(program: Program) -> impl Iterator<Item = &'static Self> {
        TABLE
            .iter()
            .filter(move |metric| metric.programs.contains(&program))
    }

    /// Returns the name without the suffix of its type and the unit, which the formats add.
    pub(crate) fn family(&self) -> &'static str {
        let name = self.stem();
        let end = self.unit().map(|unit| format!("_{}", unit.as_str()));
        end.and_then(|end| name.strip_suffix(&*end)).unwrap_or(name)
    }

    /// Returns the unit, which the name ends in.
    pub(crate) fn unit(&self) -> Option<Unit> {
        let units = [Unit::Seconds, Unit::Bytes];
        let name = self.stem();
        units.into_iter().find(|unit| {
            let before = name.strip_suffix(unit.as_str());
            before.is_some_and(|before| before.ends_with('_'))
        })
    }

    /// Returns whether the values of all known names are on the page from the start, so that a rate
    /// sees the first event. That is so for counters with few labels.
    pub(crate) fn starts_at_zero(&self) -> bool {
        self.kind == Kind::Counter && self.labels.len() <= 2
    }

    fn stem(&self) -> &'static str {
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        self.name.strip_suffix(suffix).unwrap_or(self.name)
    }
}

// === impl Kind ===

impl Kind {
    pub(crate) const fn encoded(self) -> MetricType {
        match self {
            Self::Counter => MetricType::Counter,
            Self::Gauge => MetricType::Gauge,
            Self::Histogram => MetricType::Histogram,
            Self::Info => MetricType::Info,
        }
    }

    /// Returns the word of the page in text.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge | Self::Info => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

// === impl Program ===

impl Program {
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Rag, Self::Platform];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tools => "ziggurat-tools",
            Self::Rag => "ziggurat-rag",
            Self::Platform => "ziggurat-platform",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_name_says_its_type_and_whose_it_is_and_is_there_once() {
        let mut names = HashSet::new();
        for metric in &TABLE {
            let name = metric.name;
            assert!(names.insert(name), "{name}");
            assert!(
                ["ziggurat_", "process_"]
                    .iter()
                    .any(|start| name.starts_with(start))
            );
            assert_eq!(
                name.ends_with("_total"),
                metric.kind == Kind::Counter,
                "{name}"
            );
            let is_time = name.ends_with("_seconds");
            let has_time = match metric.kind {
                Kind::Histogram => is_time,
                Kind::Gauge => true,
                Kind::Counter | Kind::Info => !is_time,
            };
            assert!(has_time, "{name}");
            assert!(metric.help.ends_with('.') && !metric.help.contains(['\n', '\\', '"']));
            assert!(!metric.programs.is_empty(), "{name}");
        }
    }

    #[test]
    fn the_formats_add_what_a_family_lacks() {
        for (name, family, unit) in [
            ("ziggurat_calls_total", "ziggurat_calls", None),
            (
                "ziggurat_result_bytes_total",
                "ziggurat_result",
                Some(Unit::Bytes),
            ),
            ("ziggurat_build_info", "ziggurat_build", None),
            (
                "process_cpu_seconds_total",
                "process_cpu",
                Some(Unit::Seconds),
            ),
            ("process_open_fds", "process_open_fds", None),
        ] {
            let metric = TABLE.iter().find(|metric| metric.name == name).expect(name);
            assert_eq!((metric.family(), metric.unit()), (family, unit));
        }
    }
}

//! Limits for clients. The older implementation does not have these keys.

use std::{ops::RangeInclusive, time::Duration};

use ziggurat_accounts as accounts;
use ziggurat_query_api::QueryLimits;
use ziggurat_runtime::config::Section;

const MAX_BODY: u64 = 1 << 30;
const MAX_QUERY_ROWS: u32 = 100_000_000;
const MAX_QUERY_BYTES: u64 = 1 << 40;

/// Limits for clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Maximum number of open connections.
    pub(crate) max_connections: usize,
    /// Maximum size of a request body, and of a line on standard input.
    pub(crate) max_body_bytes: u64,
    /// Timeout for the head of a request.
    pub(crate) header_timeout: Duration,
    /// Maximum length of the text of a statement.
    pub(crate) max_statement_bytes: u64,
    /// Timeout for the body of a request, extended as bytes arrive.
    pub(crate) body_timeout: Duration,
    /// Time for requests in flight when the server stops.
    pub(crate) shutdown_grace: Duration,
    /// Time for which `/ready` reports the end before connections are refused.
    pub(crate) shutdown_delay: Duration,
    /// Maximum size of the rows in one result, in bytes.
    pub(crate) max_result_bytes: u64,
    /// Maximum number of rows of a query over HTTP.
    pub(crate) max_rows: u32,
    /// Maximum number of rows of an export; 0 for no limit.
    pub(crate) max_export_rows: u32,
    /// Maximum size of the rows of a query over HTTP, in bytes.
    pub(crate) max_query_bytes: u64,
    /// Number of passwords checked at once; each takes almost half a second of processor time.
    pub(crate) max_login_workers: usize,
    /// Maximum number of sessions per user; a further one ends the oldest.
    pub(crate) max_sessions_per_user: usize,
}

// === impl Limits ===

impl Limits {
    pub(super) fn read(file: &Section<'_>) -> Self {
        let accounts = accounts::Settings::default();
        let query = QueryLimits::default();
        let count = |key: &str, most, usual| file.key(key).whole(1..=most).unwrap_or(usual);
        let bytes = |key: &str, usual| file.key(key).whole(1024..=MAX_BODY).unwrap_or(usual);
        let time = |key: &str, range: RangeInclusive<Duration>, usual: u64, problem| {
            let value = file.key(key);
            let time = value.time().unwrap_or(Duration::from_secs(usual));
            value.check(range.contains(&time), problem);
            time
        };
        let hour = Duration::from_hours(1);
        let some_time = |key: &str, usual| {
            let problem = "must be more than 0 and at most an hour";
            time(key, Duration::from_nanos(1)..=hour, usual, problem)
        };
        Self {
            max_connections: count("max_connections", 1_000_000, 1024),
            max_body_bytes: bytes("max_body_bytes", 10 << 20),
            max_statement_bytes: bytes("max_statement_bytes", 1 << 20),
            header_timeout: some_time("header_timeout", 10),
            body_timeout: some_time("body_timeout", 30),
            shutdown_grace: time(
                "shutdown_grace",
                Duration::ZERO..=hour,
                10,
                "must be at most an hour",
            ),
            shutdown_delay: time(
                "shutdown_delay",
                Duration::ZERO..=Duration::from_mins(1),
                0,
                "must be at most a minute",
            ),
            max_result_bytes: bytes("max_result_bytes", 4 << 20),
            max_rows: file
                .key("max_rows")
                .whole(1..=MAX_QUERY_ROWS)
                .unwrap_or(query.max_rows),
            max_export_rows: file
                .key("max_export_rows")
                .whole(0..=u32::MAX)
                .unwrap_or(query.max_export_rows),
            max_query_bytes: file
                .key("max_query_bytes")
                .whole(1024..=MAX_QUERY_BYTES)
                .unwrap_or(query.max_query_bytes),
            max_login_workers: count("max_login_workers", 1024, accounts.concurrent_logins),
            max_sessions_per_user: count("max_sessions_per_user", 10_000, accounts.max_sessions),
        }
    }
}

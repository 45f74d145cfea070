//! Limits for clients. The reference implementation does not have these keys.

use std::time::Duration;

use serde::Deserialize;
use ziggurat_accounts as accounts;
use ziggurat_runtime::duration;

use super::Invalid;

/// Section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawLimits {
    max_connections: Option<u32>,
    max_body_bytes: Option<u64>,
    header_timeout: Option<String>,
    body_timeout: Option<String>,
    shutdown_grace: Option<String>,
    max_result_bytes: Option<u64>,
    max_login_workers: Option<u32>,
    max_sessions_per_user: Option<u32>,
}

/// Limits for clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Maximum number of open connections.
    pub(crate) max_connections: usize,
    /// Maximum size of a request body, and of a line on standard input.
    pub(crate) max_body_bytes: u64,
    /// Timeout for the head of a request.
    pub(crate) header_timeout: Duration,
    /// Timeout for the body of a request, extended as bytes arrive.
    pub(crate) body_timeout: Duration,
    /// Time for requests in flight when the server stops.
    pub(crate) shutdown_grace: Duration,
    /// Maximum size of the rows in one result, in bytes.
    pub(crate) max_result_bytes: u64,
    /// Number of passwords checked at once; each takes almost half a second of processor time.
    pub(crate) max_login_workers: usize,
    /// Maximum number of sessions per user; a further one ends the oldest.
    pub(crate) max_sessions_per_user: usize,
}

// === impl RawLimits ===

impl RawLimits {
    pub(super) fn check(self) -> Result<Limits, Invalid> {
        let default = Limits::default();
        let limits = Limits {
            max_connections: size(self.max_connections, default.max_connections),
            max_body_bytes: self.max_body_bytes.unwrap_or(default.max_body_bytes),
            header_timeout: time(
                self.header_timeout,
                default.header_timeout,
                "limits.header_timeout",
            )?,
            body_timeout: time(
                self.body_timeout,
                default.body_timeout,
                "limits.body_timeout",
            )?,
            shutdown_grace: time(
                self.shutdown_grace,
                default.shutdown_grace,
                "limits.shutdown_grace",
            )?,
            max_result_bytes: self.max_result_bytes.unwrap_or(default.max_result_bytes),
            max_login_workers: size(self.max_login_workers, default.max_login_workers),
            max_sessions_per_user: size(self.max_sessions_per_user, default.max_sessions_per_user),
        };
        match limits.out_of_range() {
            Some((key, range)) => Err(Invalid::key(key, range)),
            None => Ok(limits),
        }
    }
}

// === impl Limits ===

impl Limits {
    /// Returns the first key that is out of range, and its range.
    fn out_of_range(&self) -> Option<(&'static str, &'static str)> {
        const MAX_BODY: u64 = 1 << 30;
        const HOUR: Duration = Duration::from_hours(1);
        let ranges = [
            (
                (1..=1_000_000).contains(&self.max_connections),
                "limits.max_connections",
                "must be between 1 and 1000000",
            ),
            (
                (1024..=MAX_BODY).contains(&self.max_body_bytes),
                "limits.max_body_bytes",
                "must be between 1024 and 1073741824",
            ),
            (
                (1024..=MAX_BODY).contains(&self.max_result_bytes),
                "limits.max_result_bytes",
                "must be between 1024 and 1073741824",
            ),
            (
                (1..=1024).contains(&self.max_login_workers),
                "limits.max_login_workers",
                "must be between 1 and 1024",
            ),
            (
                (1..=10_000).contains(&self.max_sessions_per_user),
                "limits.max_sessions_per_user",
                "must be between 1 and 10000",
            ),
            (
                !self.header_timeout.is_zero() && self.header_timeout <= HOUR,
                "limits.header_timeout",
                "must be more than nothing and an hour at most",
            ),
            (
                !self.body_timeout.is_zero() && self.body_timeout <= HOUR,
                "limits.body_timeout",
                "must be more than nothing and an hour at most",
            ),
            (
                self.shutdown_grace <= HOUR,
                "limits.shutdown_grace",
                "must be an hour at most",
            ),
        ];
        let wrong = ranges.into_iter().find(|(is_good, ..)| !is_good);
        wrong.map(|(_, key, range)| (key, range))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            max_body_bytes: 10 << 20,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            shutdown_grace: Duration::from_secs(10),
            max_result_bytes: 4 << 20,
            max_login_workers: accounts::Settings::default().concurrent_logins,
            max_sessions_per_user: accounts::Settings::default().max_sessions,
        }
    }
}

fn size(value: Option<u32>, default: usize) -> usize {
    // This fails only if a pointer is smaller than 32 bits.
    value.map_or(default, |value| {
        usize::try_from(value).unwrap_or(usize::MAX)
    })
}

/// Parses an optional duration.
pub(super) fn time(
    text: Option<String>,
    default: Duration,
    key: &'static str,
) -> Result<Duration, Invalid> {
    match text.filter(|text| !text.is_empty()) {
        None => Ok(default),
        Some(text) => duration::parse(&text)
            .map_err(|error| Invalid::key(key, format!("'{text}' is {error}"))),
    }
}

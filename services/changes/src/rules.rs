//! Limits of a preview.

use std::time::Duration;

use crate::Ignored;

/// Limits of a preview.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rules {
    /// Limit on changed rows.
    pub max_rows: u32,
    /// Limit on the bytes of their values, before and after together.
    pub max_bytes: usize,
    /// Limit on the bytes of the tables that are read through, in all.
    pub scan_bytes: u64,
    /// Limit on the wait for a lock.
    pub lock_timeout: Duration,
    /// Treatment of changed tables that the caller may not read.
    pub unreadable: Unreadable,
    /// Columns that are shown but not compared.
    pub ignored: Ignored,
}

/// Treatment of changed tables that the caller may not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unreadable {
    /// Their rows are counted.
    #[default]
    Count,
    /// There is no preview.
    Refuse,
}

// === impl Rules ===

impl Default for Rules {
    fn default() -> Self {
        Self {
            max_rows: 10_000,
            max_bytes: 16 << 20,
            scan_bytes: 1 << 30,
            lock_timeout: Duration::from_secs(2),
            unreadable: Unreadable::default(),
            ignored: Ignored::default(),
        }
    }
}

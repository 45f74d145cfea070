//! Limits of a preview.

use std::time::Duration;

use ziggurat_postgres::database::PreviewSettings;

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
    /// Time limit of one run with its capture.
    pub timeout: Duration,
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
        (&PreviewSettings::default()).into()
    }
}

impl From<&PreviewSettings> for Rules {
    fn from(settings: &PreviewSettings) -> Self {
        Self {
            max_rows: settings.max_rows,
            max_bytes: settings.max_bytes,
            scan_bytes: settings.scan_bytes,
            timeout: settings.timeout,
            lock_timeout: settings.lock_timeout,
            unreadable: if settings.refuses_unreadable {
                Unreadable::Refuse
            } else {
                Unreadable::Count
            },
            ignored: settings.ignored.iter().cloned().collect(),
        }
    }
}

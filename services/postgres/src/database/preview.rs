//! Settings of previews: the rows that a statement would change, before it is committed.

use std::{str::FromStr, time::Duration};

use thiserror::Error;

/// Settings of the previews of a database. The defaults are the documented ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewSettings {
    /// Use of previews.
    pub mode: PreviewMode,
    /// Party that approves a change where no person can be asked.
    pub approval: Approval,
    /// Limit on changed rows; a statement that changes more has no preview.
    pub max_rows: u32,
    /// Limit on the bytes of their values, and of the rows that are returned.
    pub max_bytes: usize,
    /// Limit on the bytes of the tables that are read through, in all.
    pub scan_bytes: u64,
    /// Time limit of one run with the search for what it changed.
    pub timeout: Duration,
    /// Limit on the wait for a lock.
    pub lock_timeout: Duration,
    /// Number of new previews in one exchange.
    pub rounds: u32,
    /// Columns that are shown but not compared, such as `public.page.hits` or `*.updated_at`.
    pub ignored: Vec<String>,
    /// True if there is no preview where a changed table cannot be read; else its rows are counted.
    pub refuses_unreadable: bool,
}

/// Use of previews.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PreviewMode {
    /// No previews.
    #[default]
    Off,
    /// A statement without a preview is confirmed by its text.
    Offer,
    /// A statement without a preview is refused.
    Require,
}

/// Party that approves a change where no person can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    /// A person; a client without one cannot approve.
    #[default]
    Person,
    /// The client.
    Client,
}

/// A word that names no mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be off, offer or require")]
pub struct UnknownPreviewMode;

/// A word that names no approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be person or client")]
pub struct UnknownApproval;

// === impl PreviewSettings ===

impl Default for PreviewSettings {
    fn default() -> Self {
        Self {
            mode: PreviewMode::default(),
            approval: Approval::default(),
            max_rows: 10_000,
            max_bytes: 16 << 20,
            scan_bytes: 1 << 30,
            timeout: Duration::from_secs(10),
            lock_timeout: Duration::from_secs(2),
            rounds: 3,
            ignored: Vec::new(),
            refuses_unreadable: false,
        }
    }
}

// === impl PreviewMode ===

impl PreviewMode {
    /// Returns its name in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Offer => "offer",
            Self::Require => "require",
        }
    }
}

impl FromStr for PreviewMode {
    type Err = UnknownPreviewMode;

    fn from_str(word: &str) -> Result<Self, UnknownPreviewMode> {
        let modes = [Self::Off, Self::Offer, Self::Require];
        let mut modes = modes.into_iter();
        modes
            .find(|mode| mode.as_str() == word)
            .ok_or(UnknownPreviewMode)
    }
}

// === impl Approval ===

impl Approval {
    /// Returns its name in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Client => "client",
        }
    }
}

impl FromStr for Approval {
    type Err = UnknownApproval;

    fn from_str(word: &str) -> Result<Self, UnknownApproval> {
        match word {
            "person" => Ok(Self::Person),
            "client" => Ok(Self::Client),
            _ => Err(UnknownApproval),
        }
    }
}

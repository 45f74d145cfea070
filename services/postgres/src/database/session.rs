//! Requirements on the server to connect to.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// Requirement on the server to connect to, as in libpq.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TargetSessionAttrs {
    /// The first server that answers.
    #[default]
    Any,
    /// A primary where sessions are read-write by default.
    ReadWrite,
    /// A standby, or a server where sessions are read-only by default.
    ReadOnly,
    /// Not a standby.
    Primary,
    /// A standby.
    Standby,
    /// A standby if one answers, else the first server that answers.
    PreferStandby,
}

/// A word that names no [`TargetSessionAttrs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be any, read-write, read-only, primary, standby or prefer-standby")]
pub struct UnknownSessionAttrs;

/// State of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerState {
    pub(crate) is_standby: bool,
    /// Its default for new transactions.
    pub(crate) is_read_only: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Yes,
    /// The server is used only if no other one fits.
    Barely,
    No(&'static str),
}

// === impl TargetSessionAttrs ===

impl TargetSessionAttrs {
    const ALL: [Self; 6] = [
        Self::Any,
        Self::ReadWrite,
        Self::ReadOnly,
        Self::Primary,
        Self::Standby,
        Self::PreferStandby,
    ];

    /// Returns its word in configuration files and URLs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::ReadWrite => "read-write",
            Self::ReadOnly => "read-only",
            Self::Primary => "primary",
            Self::Standby => "standby",
            Self::PreferStandby => "prefer-standby",
        }
    }

    pub(crate) fn judge(self, standing: ServerState) -> Match {
        let ServerState {
            is_standby,
            is_read_only,
        } = standing;
        match self {
            Self::ReadWrite if is_standby || is_read_only => Match::No("the server is read-only"),
            Self::ReadOnly if !is_standby && !is_read_only => {
                Match::No("the server is not read-only")
            }
            Self::Primary if is_standby => Match::No("the server is a standby"),
            Self::Standby if !is_standby => Match::No("the server is not a standby"),
            Self::PreferStandby if !is_standby => Match::Barely,
            _ => Match::Yes,
        }
    }
}

impl fmt::Display for TargetSessionAttrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TargetSessionAttrs {
    type Err = UnknownSessionAttrs;

    fn from_str(word: &str) -> Result<Self, UnknownSessionAttrs> {
        let mut all = Self::ALL.into_iter();
        all.find(|attrs| attrs.as_str() == word)
            .ok_or(UnknownSessionAttrs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_judged_as_libpq_judges_it() {
        use TargetSessionAttrs::{Any, PreferStandby, Primary, ReadOnly, ReadWrite, Standby};

        // A primary, one that is read-only by default, a standby, and a standby of the latter.
        let servers = [(false, false), (false, true), (true, false), (true, true)];
        let cases = [
            (Any, "yyyy"),
            (ReadWrite, "ynnn"),
            (ReadOnly, "nyyy"),
            (Primary, "yynn"),
            (Standby, "nnyy"),
            (PreferStandby, "bbyy"),
        ];
        for (attrs, expected) in cases {
            let verdicts: String = servers
                .into_iter()
                .map(|(is_standby, is_read_only)| ServerState {
                    is_standby,
                    is_read_only,
                })
                .map(|standing| match attrs.judge(standing) {
                    Match::Yes => 'y',
                    Match::Barely => 'b',
                    Match::No(_) => 'n',
                })
                .collect();
            assert_eq!(verdicts, expected, "{attrs}");
        }
    }

    #[test]
    fn words_read_back() {
        for attrs in TargetSessionAttrs::ALL {
            assert_eq!(attrs.to_string().parse(), Ok(attrs));
        }
        for word in ["", "Any", "read_write", "master"] {
            assert_eq!(
                word.parse::<TargetSessionAttrs>(),
                Err(UnknownSessionAttrs),
                "{word}"
            );
        }
    }
}

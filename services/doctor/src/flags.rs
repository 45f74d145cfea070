//! Flags of the checks, the same in each program.

use std::time::Duration;

use ziggurat_runtime::{
    duration,
    flags::{Flag, Flags, Takes},
};

use crate::Options;

/// The flag of the checks.
pub const DOCTOR: Flag = Flag::switch(
    "doctor",
    "Check the installation, and print what to do about each finding; exit with 1 if something does \
     not work or is not safe. Changes nothing, and needs no running server",
);

/// The flag of a report in JSON.
pub const JSON: Flag = Flag::switch("json", "With -doctor: print JSON");

/// The flag for which a warning counts.
pub const STRICT: Flag = Flag::switch("strict", "With -doctor: exit with 1 for a warning too");

/// The flag of the time limit of a check.
pub const TIMEOUT: Flag = Flag::text(
    "timeout",
    "duration",
    "With -doctor: time limit of each check (default 10s)",
);

/// The flag that asks a running server.
pub const HEALTHCHECK: Flag = Flag {
    name: "healthcheck",
    takes: Takes::SwitchOr("ready"),
    help: "Ask the running server at /health of its configured address, with =ready at /ready; exit \
           with 0 if it answers 200",
};

// === impl Options ===

impl Options {
    /// Reads the flags.
    ///
    /// # Errors
    /// Fails with the value of a time limit that is not a time.
    pub fn of_flags(flags: &Flags) -> Result<Self, InvalidTimeout> {
        let usual = Self::default();
        let timeout = match flags.text(TIMEOUT.name) {
            Some(text) => match duration::parse(text) {
                Ok(timeout) if timeout > Duration::ZERO => timeout,
                _ => return Err(InvalidTimeout(text.to_owned())),
            },
            None => usual.timeout,
        };
        Ok(Self {
            as_json: flags.has(JSON.name),
            is_strict: flags.has(STRICT.name),
            timeout,
        })
    }
}

/// A text that is no time limit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value '{0}' for -timeout: expected a time such as 10s")]
pub struct InvalidTimeout(pub String);

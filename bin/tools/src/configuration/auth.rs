//! Authentication, and limits on failed attempts.

mod issuer;

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;

use self::issuer::RawIssuer;
pub(crate) use self::issuer::TrustedIssuer;
use super::{
    ConfigSources, Invalid,
    environment::{Reader, set},
};
use crate::arguments::{AuthFlags, NoAuth};

/// Section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawAuth {
    enabled: Option<bool>,
    token_file: Option<PathBuf>,
    user_file: Option<PathBuf>,
    max_failed_attempts_before_lockout: Option<u32>,
    rate_limit_window_minutes: Option<u32>,
    rate_limit_max_attempts: Option<u32>,
    min_password_length: Option<u32>,
    issuer: Option<RawIssuer>,
}

/// Authentication over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Auth {
    /// True if clients need a token.
    pub(crate) is_enabled: bool,
    /// File with the API tokens.
    pub(crate) token_file: PathBuf,
    /// File with the user accounts.
    pub(crate) user_file: PathBuf,
    /// Number of failures in a row that lock an account; none for no lock.
    pub(crate) lockout: Option<NonZeroU32>,
    /// Time for which a failure of an address counts.
    pub(crate) window: Duration,
    /// Number of failures of an address within that time after which it is blocked.
    pub(crate) max_attempts: NonZeroU32,
    /// Least number of characters of a new password.
    pub(crate) min_password_length: usize,
    /// External issuer whose tokens are accepted too.
    pub(crate) issuer: Option<TrustedIssuer>,
}

// === impl RawAuth ===

impl RawAuth {
    pub(super) fn overlay(&mut self, reader: &mut Reader<'_>, flags: &AuthFlags) {
        set(&mut self.enabled, reader.boolean("ZIGGURAT_AUTH_ENABLED"));
        let is_wanted = flags.no_auth.map(|flag| flag == NoAuth::Off);
        set(&mut self.enabled, is_wanted);
        set(
            &mut self.token_file,
            reader.path("ZIGGURAT_AUTH_TOKEN_FILE"),
        );
        set(&mut self.token_file, flags.token_file.clone());
        set(&mut self.user_file, reader.path("ZIGGURAT_AUTH_USER_FILE"));
        set(&mut self.user_file, flags.user_file.clone());
        set(
            &mut self.max_failed_attempts_before_lockout,
            reader.integer("ZIGGURAT_AUTH_MAX_FAILED_ATTEMPTS_BEFORE_LOCKOUT"),
        );
        set(
            &mut self.rate_limit_window_minutes,
            reader.integer("ZIGGURAT_AUTH_RATE_LIMIT_WINDOW_MINUTES"),
        );
        set(
            &mut self.rate_limit_max_attempts,
            reader.integer("ZIGGURAT_AUTH_RATE_LIMIT_MAX_ATTEMPTS"),
        );
        set(
            &mut self.min_password_length,
            reader.integer("ZIGGURAT_AUTH_MIN_PASSWORD_LENGTH"),
        );
    }

    /// Checks the section. The default files are in the data folder.
    pub(super) fn check(
        self,
        reader: &mut Reader<'_>,
        around: &ConfigSources,
        data_folder: &Path,
    ) -> Result<Auth, Invalid> {
        const WINDOW: &str = "http.auth.rate_limit_window_minutes";
        const ATTEMPTS: &str = "http.auth.rate_limit_max_attempts";
        const LENGTH: &str = "http.auth.min_password_length";
        // One year, which is also the longest window of the limiter.
        const MAX_MINUTES: u32 = 366 * 24 * 60;
        let default = Auth::new(data_folder);
        let mut file = |named, usual: PathBuf, key| {
            let named = around.path(named);
            named.unwrap_or_else(|| in_use(usual, key, reader, around))
        };
        let window = match self.rate_limit_window_minutes {
            None => default.window,
            Some(minutes @ 1..=MAX_MINUTES) => Duration::from_mins(minutes.into()),
            Some(_) => return Err(Invalid::key(WINDOW, "must be between 1 and 527040")),
        };
        let max_attempts = match self.rate_limit_max_attempts {
            None => default.max_attempts,
            Some(count) => NonZeroU32::new(count)
                .ok_or_else(|| Invalid::key(ATTEMPTS, "must be at least 1"))?,
        };
        let min_password_length = match self.min_password_length {
            None => default.min_password_length,
            // bcrypt uses at most 72 bytes of a password.
            Some(length @ 1..=72) => usize::try_from(length).unwrap_or(72),
            Some(_) => return Err(Invalid::key(LENGTH, "must be between 1 and 72")),
        };
        Ok(Auth {
            is_enabled: self.enabled.unwrap_or(default.is_enabled),
            token_file: file(self.token_file, default.token_file, "http.auth.token_file"),
            user_file: file(self.user_file, default.user_file, "http.auth.user_file"),
            lockout: match self.max_failed_attempts_before_lockout {
                None => default.lockout,
                Some(count) => NonZeroU32::new(count),
            },
            window,
            max_attempts,
            min_password_length,
            issuer: match self.issuer {
                Some(issuer) => issuer.check(around)?,
                None => default.issuer,
            },
        })
    }
}

// === impl Auth ===

impl Auth {
    /// Returns the defaults, with the files in this folder.
    fn new(data_folder: &Path) -> Self {
        Self {
            is_enabled: true,
            token_file: data_folder.join("ziggurat-tools-tokens.yaml"),
            user_file: data_folder.join("ziggurat-tools-users.yaml"),
            lockout: None,
            window: Duration::from_mins(15),
            max_attempts: NonZeroU32::new(10).expect("ten is more than nothing"),
            min_password_length: 12,
            issuer: None,
        }
    }
}

/// Returns the default account file, or an existing one in the program's folder, the former
/// default.
fn in_use(usual: PathBuf, key: &str, reader: &mut Reader<'_>, around: &ConfigSources) -> PathBuf {
    let name = usual.file_name().unwrap_or_default();
    let older = around.binary_folder.join(name);
    if older == usual || !older.exists() {
        return usual;
    }
    let (shown, new) = (older.display(), usual.display());
    if usual.exists() {
        reader.warn(format!(
            "{shown} is not read, because there is {new}; remove one of them, or set {key}"
        ));
        return usual;
    }
    reader.warn(format!(
        "{shown} is read, which is next to the program; move it to {new}, or set {key}"
    ));
    older
}

//! Reasons why a login failed.

use std::time::Duration;

use rand::rngs::SysError;
use thiserror::Error;
use tokio::task::JoinError;
use ziggurat_state::StoreError;

/// `Retry-After` of a login that waited too long.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// Reason why a login failed. The message is for the client.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoginError {
    /// Too many attempts from this address have failed. The password was not checked.
    #[error("too many failed authentication attempts from this IP address, please try again later")]
    RateLimited {
        /// Time until the next attempt is allowed.
        retry_after: Duration,
    },
    /// Too many logins are waiting. The password was not checked.
    #[error("authentication failed: too many logins at the same time, please try again")]
    Busy {
        /// Time until a retry is useful.
        retry_after: Duration,
    },
    /// The user does not exist, or the password is wrong.
    #[error("authentication failed: invalid username or password")]
    Invalid,
    /// The API token is unknown, or has expired.
    #[error("Invalid or unknown token")]
    UnknownToken,
    /// The password is right, and the account is disabled.
    #[error("authentication failed: user account is disabled")]
    Disabled,
    /// The password is right, and is not enough without a browser.
    #[error("authentication failed: sign in with a browser")]
    UseBrowser,
    /// The server failed.
    #[error("authentication failed: the server could not open a session")]
    Internal(#[source] LoginFault),
    /// The database shared by the replicas is unreachable. The password may not have been checked.
    #[error("authentication failed: logins are unavailable at the moment, please try again later")]
    Unavailable {
        /// Time until a retry is useful.
        retry_after: Duration,
        /// Error of the database.
        source: StoreError,
    },
}

/// Server fault that prevented a session.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoginFault {
    /// The system has no random bytes.
    #[error("no random bytes for a token")]
    Random(#[from] SysError),
    /// The password check was aborted.
    #[error("the login was aborted")]
    Aborted(#[from] JoinError),
}

// === impl LoginError ===

impl From<StoreError> for LoginError {
    fn from(source: StoreError) -> Self {
        let retry_after = BUSY;
        Self::Unavailable {
            retry_after,
            source,
        }
    }
}

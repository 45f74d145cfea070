//! Rules that hold at all entrances while people also sign in with their browsers.

use std::{fmt, num::NonZeroU32, pin::Pin, time::Duration};

use ziggurat_layers::rate_limit::{Key, Outcome, Quota};
use ziggurat_state::StoreError;

use crate::{
    Accounts, LoginError,
    attempts::{PasswordAttempt, PasswordAttempts},
    person::PersonId,
};

/// Number of wrong passwords of an account in a window.
const FAILURES: NonZeroU32 = NonZeroU32::new(20).expect("twenty is more than nothing");

/// The window for wrong passwords of an account.
const WINDOW: Duration = Duration::from_mins(15);

/// Tells whether a password is not enough for a person. A store may have to be asked.
pub type NeedsBrowser = Pin<Box<dyn Future<Output = Result<bool, StoreError>> + Send>>;

/// The rules of a server with a sign-in for browsers.
pub(super) struct BrowserSignIn {
    needs_browser: Box<dyn Fn(PersonId) -> NeedsBrowser + Send + Sync>,
    attempts: PasswordAttempts,
}

// === impl Accounts ===

impl Accounts {
    /// Adds the rules of a server on which people also sign in with their browsers: at each entrance
    /// an account has 20 wrong passwords in 15 minutes, and a password alone opens no session for a
    /// person who needs a browser. The first call counts.
    pub fn add_browser_sign_in(
        &self,
        needs_browser: impl Fn(PersonId) -> NeedsBrowser + Send + Sync + 'static,
    ) {
        let shared = &self.shared;
        let quota = Quota::new(FAILURES, WINDOW).expect("whole minutes");
        let rules = BrowserSignIn {
            needs_browser: Box::new(needs_browser),
            attempts: shared.attempts.beside(quota, shared.clock.clone()),
        };
        // A second call has no effect.
        let _ = shared.browser_sign_in.set(rules);
    }
}

// === impl BrowserSignIn ===

impl BrowserSignIn {
    /// Admits an attempt for an account, unless too many of its passwords were wrong.
    pub(super) async fn admit(&self, username: &str) -> Result<PasswordAttempt, LoginError> {
        self.attempts.admit(Key::of(&username)).await
    }

    /// Refuses a right password where it is not enough.
    pub(super) async fn check(&self, person: PersonId) -> Result<(), LoginError> {
        if (self.needs_browser)(person).await? {
            return Err(LoginError::UseBrowser);
        }
        Ok(())
    }
}

impl fmt::Debug for BrowserSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrowserSignIn").finish_non_exhaustive()
    }
}

/// Returns the outcome of an attempt by its result.
pub(super) fn outcome_of<T>(result: &Result<T, LoginError>) -> Outcome {
    match result {
        Ok(_) => Outcome::Succeeded,
        Err(LoginError::Invalid | LoginError::Disabled) => Outcome::Failed,
        Err(_) => Outcome::Neither,
    }
}

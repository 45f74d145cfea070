//! Rules that hold at all entrances while people also sign in with their browsers.

use std::{fmt, num::NonZeroU32, pin::Pin, time::Duration};

use ziggurat_layers::rate_limit::{Key, Outcome, Quota};
use ziggurat_state::StoreError;

use crate::{
    Accounts, LoginError,
    attempts::{PasswordAttempt, PasswordAttempts},
    person::PersonId,
};

/// Returns the limit on wrong passwords of an account.
fn of_account() -> Quota {
    let failures = NonZeroU32::new(20).expect("twenty is more than nothing");
    Quota::new(failures, Duration::from_mins(15)).expect("whole minutes")
}

/// Tells whether a password is not enough for a person. A store may have to be asked.
pub type NeedsBrowser = Pin<Box<dyn Future<Output = Result<bool, StoreError>> + Send>>;

/// A sign-in for browsers beside the accounts.
pub trait BrowserSignIn: Send + Sync + 'static {
    /// Tells whether a password is not enough for a person.
    fn needs_browser(&self, person: PersonId) -> NeedsBrowser;

    /// Learns that users were disabled or removed. Must not block.
    fn people_gone(&self, people: Vec<PersonId>);
}

/// The rules of a server with a sign-in for browsers.
pub(super) struct BrowserRules {
    sign_in: Box<dyn BrowserSignIn>,
    attempts: PasswordAttempts,
}

// === impl Accounts ===

impl Accounts {
    /// Adds the rules of a server on which people also sign in with their browsers: at each entrance
    /// an account has 20 wrong passwords in 15 minutes, and a password alone opens no session for a
    /// person who needs a browser. The first call counts.
    pub fn add_browser_sign_in(&self, sign_in: impl BrowserSignIn) {
        let shared = &self.shared;
        let rules = BrowserRules {
            sign_in: Box::new(sign_in),
            attempts: shared.attempts.beside(of_account(), shared.clock.clone()),
        };
        // A second call has no effect.
        let _ = shared.browser_sign_in.set(rules);
    }
}

// === impl BrowserRules ===

impl BrowserRules {
    /// Admits an attempt for an account, unless too many of its passwords were wrong.
    pub(super) async fn admit(&self, username: &str) -> Result<PasswordAttempt, LoginError> {
        self.attempts.admit(Key::of(&username)).await
    }

    /// Passes on that users were disabled or removed.
    pub(super) fn people_gone(&self, people: Vec<PersonId>) {
        if !people.is_empty() {
            self.sign_in.people_gone(people);
        }
    }

    /// Refuses a right password where it is not enough.
    pub(super) async fn check(&self, person: PersonId) -> Result<(), LoginError> {
        if self.sign_in.needs_browser(person).await? {
            return Err(LoginError::UseBrowser);
        }
        Ok(())
    }
}

impl fmt::Debug for BrowserRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrowserRules").finish_non_exhaustive()
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

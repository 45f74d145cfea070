//! Rules that hold at all entrances while people also sign in with their browsers.

use std::{fmt, num::NonZeroU32, pin::Pin, time::Duration};

use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use ziggurat_layers::{
    bearer::TokenHash,
    rate_limit::{Key, Outcome, Quota},
};
use ziggurat_state::StoreError;
use ziggurat_tokens::secret;

use crate::{
    Accounts, LoginError, LoginFault, Session, Shared, State, UserRecord,
    attempts::{PasswordAttempt, PasswordAttempts},
    person::PersonId,
};

/// Returns the limit on wrong passwords of an account.
fn of_account() -> Quota {
    let failures = NonZeroU32::new(20).expect("twenty is more than nothing");
    Quota::new(failures, Duration::from_mins(15)).expect("whole minutes")
}

/// The id of a grant of a sign-in for browsers.
pub type GrantId = [u8; 16];

/// A user who signed in with a browser, for a session.
#[derive(Clone, Debug)]
pub struct BrowserLogin {
    /// The user.
    pub person: PersonId,
    /// Time of the sign-in.
    pub signed_in_at: Timestamp,
    /// The grant that the session ends with.
    pub grant: GrantId,
    /// Time at which the grant ends in any case.
    pub ends_at: Timestamp,
}

/// Tells whether a password is not enough for a person. A store may have to be asked.
pub type NeedsBrowser = Pin<Box<dyn Future<Output = Result<bool, StoreError>> + Send>>;

/// A sign-in for browsers beside the accounts.
pub trait BrowserSignIn: Send + Sync + 'static {
    /// Tells whether a password is not enough for a person.
    fn needs_browser(&self, person: PersonId) -> NeedsBrowser;

    /// Tells whether a grant has ended. Must not block.
    ///
    /// After a grant has ended, [`Accounts::sweep`](ziggurat_tokens::Watched::sweep) ends its session.
    fn has_ended(&self, grant: GrantId) -> bool;

    /// Learns that a user left the session of a grant. Must not block.
    fn signed_out(&self, grant: GrantId);

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

    /// Opens a session for a user who signed in with a browser, without a password. It ends with its
    /// grant.
    ///
    /// # Errors
    /// Fails if no session was opened.
    pub async fn open_session(&self, login: BrowserLogin) -> Result<Session, LoginError> {
        let token = secret::new_token().map_err(LoginFault::from)?;
        let hash = TokenHash::of(token.expose_secret());
        let sessions = &self.shared.sessions;
        let expires_at = sessions.open_by_browser(&self.shared, hash, login).await?;
        Ok(Session { token, expires_at })
    }
}

// === impl Shared ===

impl Shared {
    /// Returns whether a session is over with its grant.
    pub(super) fn has_ended(&self, grant: Option<GrantId>) -> bool {
        let rules = self.browser_sign_in.get();
        // Without the sign-in its grants are not known.
        grant.is_some_and(|grant| rules.is_none_or(|rules| rules.sign_in.has_ended(grant)))
    }

    /// Returns a user who signed in with a browser and may still log in.
    pub(super) fn enabled(state: &State, person: &PersonId) -> Result<UserRecord, LoginError> {
        let user = state.users.table().find(&person.name);
        match user.filter(|user| PersonId::of(user) == *person) {
            Some(user) if user.is_enabled => Ok(user.clone()),
            Some(_) => Err(LoginError::Disabled),
            None => Err(LoginError::Invalid),
        }
    }
}

// === impl BrowserRules ===

impl BrowserRules {
    /// Admits an attempt for an account, unless too many of its passwords were wrong.
    pub(super) async fn admit(&self, username: &str) -> Result<PasswordAttempt, LoginError> {
        self.attempts.admit(Key::of(&username)).await
    }

    /// Passes on that a user left the session of a grant.
    pub(super) fn signed_out(&self, grant: GrantId) {
        self.sign_in.signed_out(grant);
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

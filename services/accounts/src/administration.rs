//! Operations of administrators on the sessions and locks of users.

use std::collections::HashMap;

use jiff::Timestamp;
use ziggurat_state::{Shared, StoreError};

use crate::{Accounts, LoginError, UserRecord};

/// Accounts that were locked after too many failed logins, by the database that replicas share. Each
/// has its creation time, because an account may have been deleted and created again.
///
/// Without such a database this is empty, since the user file has all locks.
#[derive(Debug, Default)]
pub struct LockedAccounts(Vec<(String, Option<Timestamp>)>);

// === impl LockedAccounts ===

impl LockedAccounts {
    /// Reads the locked accounts.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn read(shared: &Shared) -> Result<Self, StoreError> {
        shared.locked().await.map(Self)
    }

    /// Returns whether an account is locked.
    #[must_use]
    pub fn contains(&self, user: &UserRecord) -> bool {
        let second = |at: Option<Timestamp>| at.map(Timestamp::as_second);
        let is_it = |(name, made): &(String, Option<Timestamp>)| {
            *name == user.name && second(*made) == second(user.created_at)
        };
        self.0.iter().any(is_it)
    }
}

// === impl Accounts ===

impl Accounts {
    /// Returns the number of valid sessions of each user who has some, at all replicas.
    ///
    /// # Errors
    /// Fails if the database that replicas share cannot be asked.
    pub async fn session_counts(&self) -> Result<HashMap<String, u64>, StoreError> {
        self.shared.sessions.counts(&self.shared).await
    }

    /// Ends all sessions of a user, at all replicas.
    ///
    /// # Errors
    /// Fails if they could not be ended.
    pub async fn log_out_user(&self, user: &str) -> Result<(), LoginError> {
        let shared = &self.shared;
        shared.sessions.end_all_of(shared, user).await
    }

    /// Returns the accounts that replicas have locked.
    ///
    /// # Errors
    /// Fails if the database that replicas share cannot be asked.
    pub async fn locked(&self) -> Result<LockedAccounts, StoreError> {
        match self.shared.sessions.store() {
            Some(store) => LockedAccounts::read(store).await,
            None => Ok(LockedAccounts::default()),
        }
    }

    /// Unlocks an account that replicas have locked. A lock in the user file stays.
    ///
    /// # Errors
    /// Fails if the database that replicas share cannot be asked.
    pub async fn unlock(&self, user: &str) -> Result<(), StoreError> {
        match self.shared.sessions.store() {
            Some(store) => store.unlock(user).await,
            None => Ok(()),
        }
    }
}

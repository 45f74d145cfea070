//! New passwords that users set themselves.

use std::{error::Error, net::IpAddr};

use secrecy::SecretString;
use thiserror::Error;
use tokio::task::spawn_blocking;
use tracing::error;
use ziggurat_passwords::PasswordError;
use ziggurat_tokens::Watched as _;

use crate::{
    Accounts, LoginError, LoginFault,
    person::PersonId,
    users::{UserError, UserRecord},
};

/// Reason why a user has no new password.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PasswordChangeError {
    /// The present password is not right, or cannot be checked.
    #[error(transparent)]
    Login(#[from] LoginError),
    /// The new password breaks a rule.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// The file of users cannot be written.
    #[error("the new password cannot be kept")]
    NotKept,
}

// === impl Accounts ===

impl Accounts {
    /// Sets a new password for a user who gives the present one, after the check of
    /// [`authenticate`](Self::authenticate). Sessions stay.
    ///
    /// # Errors
    /// Fails if the present password is not right, the new one breaks a rule, or the file of users
    /// cannot be written.
    pub async fn change_password(
        &self,
        person: &PersonId,
        present: SecretString,
        new: SecretString,
        client: Option<IpAddr>,
    ) -> Result<(), PasswordChangeError> {
        let shared = &self.shared;
        let admit = async |user: UserRecord| {
            // A later account of this name is another person.
            if shared.sessions.admit(shared, user.clone()).await? == *person {
                Ok(user)
            } else {
                Err(LoginError::Invalid)
            }
        };
        let user = self.attempt(person.name(), present, client, admit).await?;
        // A digest takes as long as a check.
        let slot = self.slot(person.name()).await?;
        let accounts = self.clone();
        let replaced = spawn_blocking(move || {
            let _slot = slot;
            let replaced = accounts.shared.user_file.replace_password(&user, &new);
            accounts.reload();
            replaced
        });
        let replaced = replaced.await.map_err(LoginFault::from);
        match replaced.map_err(LoginError::from)? {
            Ok(true) => Ok(()),
            Ok(false) => Err(LoginError::Invalid.into()),
            Err(UserError::Password(error)) => Err(error.into()),
            Err(error) => {
                let error: &dyn Error = &error;
                error!(error, "a new password cannot be written");
                Err(PasswordChangeError::NotKept)
            }
        }
    }
}

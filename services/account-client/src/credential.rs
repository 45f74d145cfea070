//! The credential of a session.

use ziggurat_runtime::Secret;

use crate::error::Error;

/// A credential: an id and a secret.
pub trait Credential {
    /// Returns the id.
    fn client_id(&self) -> &str;

    /// Returns the id of the login that stored the credential. A cached token is bound to it if it
    /// is known, otherwise to the secret.
    fn login_id(&self) -> Option<&str>;

    /// Returns whether the credential is of a person who signed in: the secret is then a refresh
    /// token, which is replaced at each use.
    fn is_person(&self) -> bool {
        false
    }

    /// Stores the next refresh token of a person.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be stored.
    fn replace(&mut self, _refresh: &Secret) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the secret. Called only if it is needed.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read.
    fn secret(&mut self) -> Result<Secret, Error>;
}

//! Clients that an administrator registers.

use aws_lc_rs::digest::{SHA256, digest};
use rand::rngs::SysError;
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;
use ziggurat_mcp_auth::{ManualClient, Resource, Settings, SettingsError};
use ziggurat_tokens::secret;

/// Letters of an id after its beginning.
const ID_LETTERS: usize = 24;

/// A new client, and its secret if it has one. The store keeps a digest of the secret.
///
/// ```
/// use ziggurat_sign_in_state::NewClient;
///
/// let redirect_uris = vec!["http://localhost/callback".to_owned()];
/// let new = NewClient::new("Acme".to_owned(), redirect_uris, false)?;
/// assert!(new.client.id.starts_with("app_") && new.secret.is_none());
/// let redirect_uris = vec!["javascript:alert(1)".to_owned()];
/// assert!(NewClient::new("Acme".to_owned(), redirect_uris, false).is_err());
/// # Ok::<_, ziggurat_sign_in_state::NewClientError>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct NewClient {
    /// The client, with a random id.
    pub client: ManualClient,
    /// The secret, which is shown once.
    pub secret: Option<SecretString>,
}

/// Reasons why a client cannot be registered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NewClientError {
    /// An address cannot be returned to.
    #[error(transparent)]
    Invalid(#[from] SettingsError),
    /// The operating system has no random bytes.
    #[error("no random bytes")]
    Random(#[from] SysError),
}

// === impl NewClient ===

impl NewClient {
    /// Creates a client with these addresses to return to.
    ///
    /// # Errors
    /// Fails if an address cannot be returned to, or without random bytes.
    pub fn new(
        name: String,
        redirect_uris: Vec<String>,
        has_secret: bool,
    ) -> Result<Self, NewClientError> {
        let random = secret::new_token()?;
        let letters = random.expose_secret()[..ID_LETTERS].replace(['-', '_'], "x");
        let secret = has_secret.then(secret::new_token).transpose()?;
        let client = ManualClient {
            id: format!("app_{letters}"),
            name,
            redirect_uris,
            secret_hash: secret.as_ref().map(hash),
            skip_consent: false,
        };
        // The addresses are checked as the ones of the configuration are.
        let checked = Settings {
            issuer: "http://localhost".to_owned(),
            resources: vec![Resource::new("http://localhost/mcp", "")],
            clients: vec![client.clone()],
            ..Settings::default()
        };
        checked.check()?;
        Ok(Self { client, secret })
    }
}

fn hash(secret: &SecretString) -> [u8; 32] {
    let mut hash = [0; 32];
    let text = secret.expose_secret().as_bytes();
    hash.copy_from_slice(digest(&SHA256, text).as_ref());
    hash
}

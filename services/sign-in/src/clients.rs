//! The programs that ask for tokens.

pub(crate) mod address;
pub(crate) mod assertion;
pub(crate) mod document;
pub(crate) mod pinned;
pub(crate) mod redirect;
pub(crate) mod registration;
pub(crate) mod user_code;

use serde_json::json;

use self::document::{ClientKeys, Published};
use crate::{
    keys::{Seal, digest},
    settings::{CONSOLE, ManualClient, Settings},
};

/// Beginning of the ids of clients that registered themselves without a secret.
pub(crate) const PUBLIC: &str = "dcr_";

/// Beginning of the ids of clients that registered themselves with a secret.
pub(crate) const WITH_SECRET: &str = "dcs_";

/// Name of the program's own console on pages.
const CONSOLE_NAME: &str = "Ziggurat Console";

/// Returns whether an id is the id of a client that registered itself.
pub(crate) fn is_of_registration(id: &str) -> bool {
    id.starts_with(PUBLIC) || id.starts_with(WITH_SECRET)
}

/// A client that registered itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredClient {
    /// Its id, which is made of what follows.
    pub id: String,
    /// The name it gave itself.
    pub name: String,
    /// The addresses that it may be sent back to, sorted.
    pub redirect_uris: Vec<String>,
    /// Says that it declared refresh tokens.
    pub has_refresh: bool,
    /// The way in which it proves itself at the token endpoint.
    pub method: Method,
    /// `web` or `native`, if it said so.
    pub application_type: Option<String>,
}

/// Ways in which a client proves itself at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// It proves nothing.
    None,
    /// Its secret is a header.
    Basic,
    /// Its secret is in the form.
    Post,
}

/// A client, wherever it is known from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) has_refresh: bool,
    pub(crate) secret: Option<Secret>,
    /// Says that the administrator registered it.
    pub(crate) is_manual: bool,
    /// Says that a consent that was given before holds without a click.
    pub(crate) skips_consent: bool,
    /// Facts of its document, if its id is the address of one.
    pub(crate) published: Option<Published>,
}

/// The secret of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Secret {
    /// Its digest is kept.
    Hash([u8; 32]),
    /// It is made of the id under the seal.
    OfId,
}

// === impl Method ===

impl Method {
    /// Returns the way of this name (RFC 7591, section 2).
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "client_secret_basic" => Self::Basic,
            "client_secret_post" => Self::Post,
            _ => return None,
        })
    }

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }
}

// === impl Client ===

impl Client {
    /// Returns the client with this id that the administrator registered, or the program's own
    /// console.
    pub(crate) fn manual(settings: &Settings, id: &str) -> Option<Self> {
        if let Some(path) = settings.console.as_ref().filter(|_| id == CONSOLE) {
            return Some(Self::console(settings.address(path)));
        }
        let client = settings.clients.iter().find(|client| client.id == id)?;
        Some(client.into())
    }

    fn console(redirect: String) -> Self {
        Self {
            id: CONSOLE.to_owned(),
            name: CONSOLE_NAME.to_owned(),
            redirect_uris: vec![redirect],
            has_refresh: false,
            secret: None,
            is_manual: true,
            skips_consent: false,
            published: None,
        }
    }

    /// Returns the redirect address of a request. It may be left out if exactly one is registered
    /// and that is https.
    pub(crate) fn redirect(&self, asked: Option<&str>) -> Option<String> {
        match (asked, &*self.redirect_uris) {
            (Some(asked), all) => {
                let is_known = all.iter().any(|known| address::fits(asked, known));
                is_known.then(|| asked.to_owned())
            }
            (None, [only]) => only.starts_with("https://").then(|| only.clone()),
            (None, _) => None,
        }
    }

    /// Returns whether the client proves itself when it exchanges a code, so that only the client can
    /// use a code that no person clicked for.
    ///
    /// The secret of a client that registered itself proves nothing: another program that registers
    /// the same gets it.
    pub(crate) fn can_prove_itself(&self) -> bool {
        let has_keys = self.published.as_ref().is_some_and(|it| it.keys.is_some());
        has_keys || self.is_manual && self.skips_consent && self.secret.is_some()
    }

    /// Returns whether each program that registers the same gets the same secret.
    pub(crate) fn has_shared_secret(&self) -> bool {
        matches!(self.secret, Some(Secret::OfId))
    }

    /// Returns whether the administrator or this program knows the client, so that it is not a
    /// stranger.
    pub(crate) fn is_trusted(&self) -> bool {
        self.is_manual || self.published.is_some() && pinned::is_known(&self.id)
    }

    /// Returns the digest of all that a person relies on in a consent that holds without a click.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let keys = self.published.as_ref().and_then(|it| it.keys.as_ref());
        let keys = keys.map(ClientKeys::text);
        let parts = json!([self.name, self.redirect_uris, keys]);
        digest(parts.to_string().as_bytes())
    }

    /// Returns whether a secret is the right one; without one, whether the client needs none.
    pub(crate) fn is_proved(&self, given: Option<&str>, seal: &Seal) -> bool {
        match (&self.secret, given) {
            (None, None) => self.published.as_ref().is_none_or(|it| it.takes_none),
            (None, Some(_)) | (Some(_), None) => false,
            (Some(Secret::Hash(hash)), Some(given)) => *hash == digest(given.as_bytes()),
            (Some(Secret::OfId), Some(given)) => {
                let right = registration::secret(&self.id, seal);
                digest(right.as_bytes()) == digest(given.as_bytes())
            }
        }
    }
}

impl From<&ManualClient> for Client {
    fn from(client: &ManualClient) -> Self {
        Self {
            id: client.id.clone(),
            name: client.name.clone(),
            redirect_uris: client.redirect_uris.clone(),
            has_refresh: true,
            secret: client.secret_hash.map(Secret::Hash),
            is_manual: true,
            skips_consent: client.skip_consent,
            published: None,
        }
    }
}

impl From<StoredClient> for Client {
    fn from(client: StoredClient) -> Self {
        let has_secret = client.id.starts_with(WITH_SECRET);
        Self {
            id: client.id,
            name: client.name,
            redirect_uris: client.redirect_uris,
            has_refresh: client.has_refresh,
            secret: has_secret.then_some(Secret::OfId),
            is_manual: false,
            skips_consent: false,
            published: None,
        }
    }
}

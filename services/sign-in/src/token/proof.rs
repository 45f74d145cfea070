//! The proof of a client at the token endpoint.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{StatusCode, header::AUTHORIZATION};

use crate::{
    answer::OAuthError,
    clients::Client,
    form::{Form, decoded},
    keys::Keys,
    people::People,
    service::{Read, Shared},
    store::Store,
};

/// Credentials of a request.
struct Credentials {
    id: String,
    secret: Option<String>,
    is_basic: bool,
}

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Refuses an address that sent too many wrong proofs.
    pub(super) fn may_prove(&self, read: &Read) -> Result<(), OAuthError> {
        let admitted = self.limits.proof_from(read.address);
        admitted.map_err(|limited| OAuthError::too_many("invalid_client", &limited))
    }

    /// Returns the client of a request, which has proved itself if it can.
    pub(super) async fn proved(&self, read: &Read, form: &Form) -> Result<Client, OAuthError> {
        let credentials = Credentials::read(read, form)?;
        let client = self.client(&credentials.id, read.now).await?;
        let client = client.ok_or_else(|| refused(credentials.is_basic))?;
        let admitted = self.limits.proof_of(&client.id);
        admitted.map_err(|limited| OAuthError::too_many("invalid_client", &limited))?;
        let secret = credentials.secret.as_deref();
        if client.is_proved(secret, &self.keys.seal()) {
            return Ok(client);
        }
        if secret.is_some() {
            self.limits.count_wrong_proof(read.address, &client.id);
        }
        Err(refused(credentials.is_basic))
    }
}

// === impl Credentials ===

impl Credentials {
    fn read(read: &Read, form: &Form) -> Result<Self, OAuthError> {
        let header = read.parts.headers.get(AUTHORIZATION);
        let in_form = form.get("client_id");
        let Some(header) = header else {
            let id = in_form.ok_or_else(|| refused(false))?.to_owned();
            // An empty secret counts as absent.
            let secret = form.get("client_secret").map(str::to_owned);
            let is_basic = false;
            return Ok(Self {
                id,
                secret,
                is_basic,
            });
        };
        let pair = header.to_str().ok().and_then(basic);
        let (id, secret) = pair.ok_or_else(|| refused(true))?;
        if in_form.is_some_and(|other| other != id) || form.get("client_secret").is_some() {
            return Err(refused(true));
        }
        Ok(Self {
            id,
            secret: Some(secret).filter(|secret| !secret.is_empty()),
            is_basic: true,
        })
    }
}

/// Reads `Basic`. Its parts are encoded as in a form (RFC 6749, section 2.3.1).
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, rest) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(BASE64_STANDARD.decode(rest.trim()).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some((decoded(id).ok()?, decoded(secret).ok()?))
}

fn refused(asks_basic: bool) -> OAuthError {
    let error = OAuthError::new(
        "invalid_client",
        "the client is not known, or its secret is wrong",
    );
    OAuthError {
        asks_basic,
        ..error.with_status(StatusCode::UNAUTHORIZED)
    }
}

//! The proof of a client at the token endpoint.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{StatusCode, header::AUTHORIZATION};
use serde_json::{Value, json};

use crate::{
    answer::OAuthError,
    clients::{Client, assertion},
    events::{Event, EventKind},
    form::{Form, decoded},
    keys::Keys,
    people::People,
    service::{NoClient, Read, Shared},
    store::Store,
};

/// Credentials of a request.
struct Credentials {
    id: String,
    secret: Option<String>,
    assertion: Option<String>,
    is_basic: bool,
}

/// The client of a request.
pub(super) struct Proved {
    pub(super) client: Client,
    /// Says that it has proved itself.
    pub(super) has_proof: bool,
}

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Refuses an address that sent too many wrong proofs.
    pub(super) fn may_prove(&self, read: &Read) -> Result<(), OAuthError> {
        let admitted = self.limits.proof_from(read.address);
        admitted.map_err(|limited| OAuthError::too_many("invalid_client", &limited))
    }

    /// Returns the client of a request, which has proved itself if it must.
    pub(super) async fn proved(&self, read: &Read, form: &Form) -> Result<Proved, OAuthError> {
        let credentials = Credentials::read(read, form)?;
        let is_basic = credentials.is_basic;
        let client = self.client(&credentials.id, read).await;
        let client = client.map_err(|reason| match reason {
            NoClient::Unknown | NoClient::NotAdmitted { .. } => refused(is_basic),
            // The document may be read later, and tokens are not lost until then.
            NoClient::Unreadable { .. } | NoClient::Unavailable => OAuthError::unavailable(),
        })?;
        let admitted = self.limits.proof_of(&client.id);
        admitted.map_err(|limited| OAuthError::too_many("invalid_client", &limited))?;
        let secret = credentials.secret.as_deref();
        let is_proved = match &credentials.assertion {
            Some(assertion) => self.is_asserted(read, &client, assertion).await?,
            None => client.is_proved(secret, &self.keys.seal()),
        };
        let has_proof = secret.is_some() || credentials.assertion.is_some();
        if is_proved {
            return Ok(Proved { client, has_proof });
        }
        if has_proof {
            self.limits.count_wrong_proof(read.address, &client.id);
        }
        Err(refused(is_basic))
    }

    /// Gives a client of the program itself its token.
    pub(super) async fn by_client_credentials(
        &self,
        read: &Read,
        form: &Form,
    ) -> Result<Value, OAuthError> {
        let credentials = Credentials::read(read, form)?;
        let id = &credentials.id;
        let admitted = self.limits.proof_of(id);
        admitted.map_err(|limited| OAuthError::too_many("invalid_client", &limited))?;
        let refused = || refused(credentials.is_basic);
        let secret = credentials.secret.as_ref().ok_or_else(refused)?;
        let Some(token) = self.people.client_token(id, secret).await? else {
            self.limits.count_wrong_proof(read.address, id);
            return Err(refused());
        };
        let event = Event::new(EventKind::TokenIssued).with_client(id);
        self.record(read, event.with_grant_type("client_credentials"));
        let mut answer = json!({
            "access_token": token.token,
            "token_type": "Bearer",
            "expires_in": token.expires_in,
        });
        if let Some(scope) = token.scope {
            answer["scope"] = scope.into();
        }
        Ok(answer)
    }
}

// === impl Credentials ===

impl Credentials {
    fn read(read: &Read, form: &Form) -> Result<Self, OAuthError> {
        if let Some(assertion) = form.get("client_assertion") {
            return Self::signed(read, form, assertion);
        }
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
                assertion: None,
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
            assertion: None,
            is_basic: true,
        })
    }

    /// Reads an assertion, which is the only proof of its request.
    fn signed(read: &Read, form: &Form, assertion: &str) -> Result<Self, OAuthError> {
        let is_typed = form.get("client_assertion_type") == Some(assertion::TYPE);
        let is_alone =
            !read.parts.headers.contains_key(AUTHORIZATION) && form.get("client_secret").is_none();
        let named = assertion::client_of(assertion).filter(|_| is_typed && is_alone);
        let id = named.ok_or_else(|| refused(false))?;
        if form.get("client_id").is_some_and(|other| other != id) {
            return Err(refused(false));
        }
        Ok(Self {
            id,
            secret: None,
            assertion: Some(assertion.to_owned()),
            is_basic: false,
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

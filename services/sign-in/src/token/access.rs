//! Access tokens (RFC 9068).

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    keys::{KeyError, Keys, random},
    service::Entitled,
    settings::Settings,
    store::{Grant, GrantId, Seconds},
};

/// Number of groups and roles together.
const MAX_CLAIMS: usize = 100;

#[derive(Deserialize)]
struct Named {
    grant_id: String,
}

/// An access token before it is signed.
pub(crate) struct Access<'a> {
    pub(crate) grant: &'a Grant,
    pub(crate) person: &'a Entitled,
    pub(crate) scope: &'a str,
    pub(crate) now: Seconds,
    /// The longest lifetime of the token.
    pub(crate) longest: Duration,
}

// === impl Access ===

impl Access<'_> {
    /// Signs the token.
    pub(crate) fn sign(&self, settings: &Settings, keys: &impl Keys) -> Result<String, KeyError> {
        keys.sign_token(&self.claims(settings)?)
    }

    /// Returns the seconds for which the token is good: never beyond its grant.
    pub(crate) fn lifetime(&self) -> Seconds {
        let left = self.grant.ends_at.saturating_sub(self.now);
        self.longest.as_secs().min(left)
    }

    fn claims(&self, settings: &Settings) -> Result<Value, KeyError> {
        let Self { grant, now, .. } = *self;
        let person = &self.person.person;
        let audience: Vec<_> = [Some(&grant.resource), grant.alias.as_ref()]
            .into_iter()
            .flatten()
            .collect();
        let number: [u8; 16] = random()?;
        let mut claims = json!({
            "iss": settings.issuer,
            "sub": person.subject,
            "aud": audience,
            "client_id": grant.client,
            "iat": now,
            "exp": now + self.lifetime(),
            "jti": BASE64_URL_SAFE_NO_PAD.encode(number),
            "scope": self.scope,
            "grant_id": BASE64_URL_SAFE_NO_PAD.encode(grant.id),
            "auth_time": grant.signed_in_at,
            "preferred_username": person.name,
        });
        if !grant.amr.is_empty() {
            claims["amr"] = json!(grant.amr.split(' ').collect::<Vec<_>>());
        }
        if let Some(tenant) = &grant.tenant {
            claims["tenant"] = tenant.as_str().into();
        }
        if let Some(email) = &person.email {
            claims["email"] = email.as_str().into();
        }
        if let Some(databases) = self.person.narrowed(grant.databases.as_deref()) {
            claims["databases"] = json!(databases);
        }
        let mut left = MAX_CLAIMS;
        for (name, list) in [("groups", &person.groups), ("roles", &person.roles)] {
            let taken = &list[..list.len().min(left)];
            left -= taken.len();
            if !taken.is_empty() {
                claims[name] = json!(taken);
            }
        }
        Ok(claims)
    }
}

/// Returns the grant of an access token of this server, expired or not.
pub(crate) fn grant_of(token: &str, keys: &impl Keys) -> Option<GrantId> {
    let named: Named = keys.read_token(token)?;
    let id = BASE64_URL_SAFE_NO_PAD.decode(named.grant_id).ok()?;
    id.try_into().ok()
}

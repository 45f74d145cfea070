//! Access tokens (RFC 9068).

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    keys::{KeyError, Keys, random},
    people::Person,
    settings::Settings,
    store::{Grant, GrantId, Seconds},
};

/// Number of claims of a list.
const MAX_CLAIMS: usize = 100;

#[derive(Deserialize)]
struct Named {
    grant_id: String,
}

/// Signs an access token of a grant.
pub(crate) fn sign(
    settings: &Settings,
    keys: &impl Keys,
    grant: &Grant,
    person: &Person,
    scope: &str,
    now: Seconds,
) -> Result<String, KeyError> {
    keys.sign_token(&claims(settings, grant, person, scope, now)?)
}

/// Returns the seconds for which an access token is good: never beyond its grant.
pub(crate) fn lifetime(settings: &Settings, grant: &Grant, now: Seconds) -> Seconds {
    let left = grant.ends_at.saturating_sub(now);
    settings.access_lifetime.as_secs().min(left)
}

fn claims(
    settings: &Settings,
    grant: &Grant,
    person: &Person,
    scope: &str,
    now: Seconds,
) -> Result<Value, KeyError> {
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
        "exp": now + lifetime(settings, grant, now),
        "jti": BASE64_URL_SAFE_NO_PAD.encode(number),
        "scope": scope,
        "grant_id": BASE64_URL_SAFE_NO_PAD.encode(grant.id),
        "auth_time": grant.signed_in_at,
        "amr": grant.amr.split(' ').collect::<Vec<_>>(),
        "preferred_username": person.name,
    });
    if let Some(email) = &person.email {
        claims["email"] = email.as_str().into();
    }
    if let Some(databases) = &grant.databases {
        claims["databases"] = json!(databases);
    }
    for (name, list) in [("groups", &person.groups), ("roles", &person.roles)] {
        if !list.is_empty() {
            claims[name] = json!(list[..list.len().min(MAX_CLAIMS)]);
        }
    }
    Ok(claims)
}

/// Returns the grant of an access token of this server, expired or not.
pub(crate) fn grant_of(token: &str, keys: &impl Keys) -> Option<GrantId> {
    let named: Named = keys.read_token(token)?;
    let id = BASE64_URL_SAFE_NO_PAD.decode(named.grant_id).ok()?;
    id.try_into().ok()
}

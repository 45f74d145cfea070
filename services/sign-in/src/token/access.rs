//! Access tokens (RFC 9068).

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    keys::{KeyError, Keys, digest, random},
    people::Person,
    settings::Settings,
    store::{Grant, GrantId, Seconds},
};

/// Number of claims of a list.
const MAX_CLAIMS: usize = 100;

#[derive(Deserialize)]
struct Header {
    kid: String,
}

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
    let id = keys.id();
    let header = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": id});
    let claims = claims(settings, grant, person, scope, now)?;
    let encoded = |part: &Value| BASE64_URL_SAFE_NO_PAD.encode(part.to_string());
    let signed = format!("{}.{}", encoded(&header), encoded(&claims));
    let signature = keys.sign(&id, signed.as_bytes())?;
    Ok(format!(
        "{signed}.{}",
        BASE64_URL_SAFE_NO_PAD.encode(signature)
    ))
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
        "exp": now + settings.access_lifetime.as_secs(),
        "jti": BASE64_URL_SAFE_NO_PAD.encode(number),
        "scope": scope,
        "grant_id": BASE64_URL_SAFE_NO_PAD.encode(grant.id),
        "auth_time": grant.signed_in_at,
        "amr": ["pwd"],
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
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let decoded = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).ok();
    let header: Header = serde_json::from_slice(&decoded(header)?).ok()?;
    // Signatures of Ed25519 are always the same for a text.
    let right = keys.sign(&header.kid, signed.as_bytes()).ok()?;
    if digest(&right) != digest(&decoded(signature)?) {
        return None;
    }
    let named: Named = serde_json::from_slice(&decoded(claims)?).ok()?;
    decoded(&named.grant_id)?.try_into().ok()
}

//! Claims in the tokens of an issuer.

use std::{borrow::Cow, collections::HashMap, str};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::value::RawValue;
use ziggurat_layers::access_token::AccessToken;

use crate::claims::{Claim, Claims, MAX_VALUE};

/// The members of an object, each as it was written.
#[derive(Deserialize)]
#[serde(transparent)]
struct Members<'a>(#[serde(borrow)] HashMap<Cow<'a, str>, &'a RawValue>);

// === impl Claims ===

impl Claims {
    /// Takes the claims of these names out of a token. `member` returns a member of it as JSON.
    /// Claims that are too long or of another type are left out.
    pub(crate) fn of_token<'a>(names: &[String], member: impl Fn(&str) -> Option<&'a str>) -> Self {
        let claims = names.iter().filter_map(|name| {
            // The names of some issuers are URLs, and have dots.
            let json = member(name).or_else(|| {
                let (head, rest) = name.split_once('.')?;
                within(member(head)?, rest)
            });
            Some((name.as_str().into(), Claim::of_json(json?)?))
        });
        // The names have been checked with the configuration.
        Self::new(claims.collect()).unwrap_or_default()
    }

    /// Takes claims of these names out of a token that has been verified.
    #[must_use]
    pub fn of_access_token<const N: usize>(names: [&str; N], token: &AccessToken) -> Self {
        Self::of_token(&names.map(str::to_owned), |name| token.claim(name))
    }

    /// Takes the claims of these names out of a token that has been verified, as it was presented.
    pub(crate) fn of_verified(names: &[String], token: &str) -> Self {
        let payload = token.split('.').nth(1).unwrap_or_default();
        let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).unwrap_or_default();
        let payload = str::from_utf8(&payload).unwrap_or_default();
        let Ok(Members(members)) = serde_json::from_str(payload) else {
            return Self::default();
        };
        Self::of_token(names, |name| Some(members.get(name)?.get()))
    }
}

/// Finds the value at a path in an object.
fn within<'a>(json: &'a str, path: &str) -> Option<&'a str> {
    let Members(members) = serde_json::from_str(json).ok()?;
    if let Some(value) = members.get(path) {
        return Some(value.get());
    }
    let (head, rest) = path.split_once('.')?;
    within(members.get(head)?.get(), rest)
}

// === impl Claim ===

impl Claim {
    fn of_json(json: &str) -> Option<Self> {
        let claim = match json.bytes().next()? {
            b'0'..=b'9' | b'-' => Self::Number(json.into()),
            _ => Self::of_value(serde_json::from_str(json).ok()?)?,
        };
        (claim.size() <= MAX_VALUE).then_some(claim)
    }
}

//! Claims of a token and their validation.

use std::sync::Arc;

use jsonwebtoken::{Algorithm, Validation, decode};
use serde::Deserialize;
use ziggurat_layers::bearer::{Denied, TokenHash};

use super::{Settings, keys::Key, token_cache::ValidToken};
use crate::{Holder, Identity};

/// Seconds for which an expired token is still valid, since clocks differ.
const LEEWAY: i64 = 30;

/// Seconds that the clock of an issuer may be ahead of this one.
const CLOCK_SKEW: i64 = 60;

/// Maximum length of a text kept from a token.
const MAX_NAME: usize = 512;

/// Rules for the claims of a token.
pub(super) struct Checks {
    validation: Validation,
    issuer: String,
    scope: Vec<String>,
    databases: Arc<[String]>,
}

#[derive(Deserialize)]
struct Claims {
    /// Must be a single text: a list, which the library also accepts, may contain other issuers.
    iss: String,
    sub: String,
    exp: f64,
    nbf: Option<f64>,
    iat: Option<f64>,
    client_id: Option<String>,
    azp: Option<String>,
    tenant: Option<String>,
    scope: Option<String>,
    scp: Option<TextOrList>,
}

/// Scopes in one text, or in a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrList {
    Text(String),
    List(Vec<String>),
}

// === impl Checks ===

impl Checks {
    pub(super) fn new(settings: &Settings) -> Self {
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_issuer(&[&settings.issuer]);
        validation.set_audience(&settings.audience);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // Checked below with the clock of the settings.
        validation.validate_exp = false;
        Self {
            validation,
            issuer: settings.issuer.clone(),
            scope: settings.scope.clone(),
            databases: settings.databases.clone().into(),
        }
    }

    /// Validates a token that is signed with this key.
    ///
    /// # Errors
    ///
    /// Fails if the token is invalid or lacks a required scope.
    pub(super) fn read(
        &self,
        token: &str,
        key: &Key,
        epoch: u64,
        now: i64,
    ) -> Result<ValidToken, Denied> {
        let mut validation = self.validation.clone();
        validation.algorithms = vec![key.algorithm];
        let read = decode::<Claims>(token, &key.verifying, &validation);
        let claims = read.map_err(|_| Denied::Invalid)?.claims;
        let ends = seconds(claims.exp).saturating_add(LEEWAY);
        let begins = [claims.nbf, claims.iat].into_iter().flatten().map(seconds);
        let is_now = ends > now && begins.max().is_none_or(|begins| begins <= now + CLOCK_SKEW);
        if !is_now
            || claims.iss != self.issuer
            || claims.sub.is_empty()
            || claims.sub.len() > MAX_NAME
        {
            return Err(Denied::Invalid);
        }
        if !self.scope.iter().all(|wanted| claims.has(wanted)) {
            return Err(Denied::InsufficientScope);
        }
        let Self {
            issuer, databases, ..
        } = self;
        // All tokens of a subject share one session key, which differs from all keys of own tokens.
        let session = TokenHash::of(&format!("client\0{issuer}\0{}", claims.sub));
        let name = |name: String| (name.len() <= MAX_NAME).then(|| Arc::from(name));
        let holder = Holder::Client {
            subject: Arc::from(&*claims.sub),
            // RFC 9068 defines `client_id`; OpenID Connect defines `azp` with the same meaning.
            client: claims.client_id.or(claims.azp).and_then(name),
            tenant: claims.tenant.and_then(name),
            databases: Arc::clone(databases),
        };
        Ok(ValidToken {
            subject: claims.sub,
            identity: Identity::new(session, holder),
            ends,
            epoch,
        })
    }
}

// === impl Claims ===

impl Claims {
    /// Returns whether a token has a scope (RFC 9068 and older conventions).
    fn has(&self, wanted: &str) -> bool {
        let in_text = |text: &String| text.split(' ').any(|word| word == wanted);
        self.scope.as_ref().is_some_and(in_text)
            || match &self.scp {
                Some(TextOrList::Text(text)) => in_text(text),
                Some(TextOrList::List(list)) => list.iter().any(|word| word == wanted),
                None => false,
            }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a date may have a fraction, and what is out of range ends at the end of it"
)]
fn seconds(date: f64) -> i64 {
    date.floor() as i64
}

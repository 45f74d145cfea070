//! The keys of an issuer.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, decode_header, jwk::Jwk};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use ziggurat_layers::bearer::Denied;

use super::fetch::FetchError;

/// Limit on the keys kept for an issuer.
const MAX_KEYS: usize = 64;

/// The keys of an issuer.
pub(super) struct KeySet {
    keys: Vec<Key>,
    /// Changes whenever the keys change.
    epoch: u64,
    /// The response of the issuer, to detect changes.
    state: Vec<u8>,
}

/// A key of an issuer.
pub(super) struct Key {
    id: Option<String>,
    pub(super) algorithm: Algorithm,
    pub(super) verifying: DecodingKey,
}

/// Key ID and algorithm in the header of a token.
pub(super) struct KeyId {
    id: Option<String>,
    algorithm: Algorithm,
}

#[derive(Deserialize)]
struct WrittenKeySet {
    keys: Vec<Value>,
}

/// Reads the key ID of a token.
///
/// # Errors
///
/// Fails if it is not a token, or its signature algorithm is not supported.
pub(super) fn key_id(token: &str) -> Result<KeyId, Denied> {
    let header = decode_header(token).map_err(|_| Denied::Invalid)?;
    if has_critical_header(token) {
        return Err(Denied::Invalid);
    }
    let is_usual = matches!(
        header.alg,
        Algorithm::RS256 | Algorithm::ES256 | Algorithm::EdDSA
    );
    let kind = header.typ.as_deref().unwrap_or("JWT");
    let kind = kind.strip_prefix("application/").unwrap_or(kind);
    let is_token = ["jwt", "at+jwt"]
        .iter()
        .any(|k| kind.eq_ignore_ascii_case(k));
    if !is_usual || !is_token {
        return Err(Denied::Invalid);
    }
    Ok(KeyId {
        id: header.kid,
        algorithm: header.alg,
    })
}

/// Returns whether a token requires extensions (RFC 7515, section 4.1.11). None of them is
/// supported here.
fn has_critical_header(token: &str) -> bool {
    #[derive(Deserialize)]
    struct CriticalHeader {
        crit: Option<IgnoredAny>,
    }

    let header = token.split('.').next().unwrap_or_default();
    let header = BASE64_URL_SAFE_NO_PAD.decode(header).unwrap_or_default();
    serde_json::from_slice(&header).map_or(true, |CriticalHeader { crit }| crit.is_some())
}

// === impl KeySet ===

impl KeySet {
    /// Parses a key set (RFC 7517). Skips keys of unsupported kinds.
    ///
    /// # Errors
    ///
    /// Fails if it is not a key set, or has no usable key: an error of the issuer, after which the
    /// known keys stay in use.
    pub(super) fn parse(body: &[u8], before: Option<&Self>) -> Result<Self, FetchError> {
        let written: WrittenKeySet = serde_json::from_slice(body)
            .map_err(|_| FetchError::NotUnderstood("not a set of keys"))?;
        let keys = written.keys.iter().filter_map(Key::parse);
        let keys: Vec<_> = keys.take(MAX_KEYS).collect();
        if keys.is_empty() {
            return Err(FetchError::NotUnderstood("a set without a usable key"));
        }
        let epoch = match before {
            Some(before) if before.state == body => before.epoch,
            Some(before) => before.epoch + 1,
            None => 0,
        };
        Ok(Self {
            keys,
            epoch,
            state: body.to_vec(),
        })
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the key of a token. A token without a key ID matches only if one key has its
    /// algorithm.
    pub(super) fn find(&self, wanted: &KeyId) -> Option<&Key> {
        let mut fitting = self
            .keys
            .iter()
            .filter(|key| key.algorithm == wanted.algorithm)
            .filter(|key| wanted.id.is_none() || key.id == wanted.id);
        let first = fitting.next()?;
        (wanted.id.is_some() || fitting.next().is_none()).then_some(first)
    }
}

// === impl Key ===

impl Key {
    fn parse(value: &Value) -> Option<Self> {
        let member = |name: &str| value.get(name).and_then(Value::as_str);
        // RFC 7517, sections 4.2 and 4.3: both members can restrict a key to other uses.
        let is_to_verify = |operations: &Value| {
            let mut listed = operations.as_array().into_iter().flatten();
            listed.any(|operation| operation == "verify")
        };
        if value.get("use").is_some_and(|usage| usage != "sig")
            || value
                .get("key_ops")
                .is_some_and(|listed| !is_to_verify(listed))
        {
            return None;
        }
        // The key decides its algorithm, not the token.
        let algorithm = match (member("kty")?, member("crv")) {
            ("RSA", _) => Algorithm::RS256,
            ("EC", Some("P-256")) => Algorithm::ES256,
            ("OKP", Some("Ed25519")) => Algorithm::EdDSA,
            _ => return None,
        };
        let name = match algorithm {
            Algorithm::RS256 => "RS256",
            Algorithm::ES256 => "ES256",
            _ => "EdDSA",
        };
        // RFC 9864 renames `EdDSA` to `Ed25519`.
        let own = member("alg").map(|own| if own == "Ed25519" { "EdDSA" } else { own });
        if own.is_some_and(|own| own != name) {
            return None;
        }
        let mut value = value.clone();
        value.as_object_mut()?.remove("alg");
        let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
        Some(Self {
            id: value.get("kid").and_then(Value::as_str).map(str::to_owned),
            algorithm,
            verifying: DecodingKey::from_jwk(&jwk).ok()?,
        })
    }
}

//! The keys of an issuer.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, decode_header, jwk::Jwk};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use ziggurat_layers::bearer::Denied;

use super::fetch::FetchError;

/// The most keys that are kept of an issuer.
const MAX_KEYS: usize = 64;

/// The keys of an issuer.
pub(super) struct KeySet {
    keys: Vec<Key>,
    /// Keys that are others than before have another.
    epoch: u64,
    /// What the issuer said, to tell.
    said: Vec<u8>,
}

/// A key of an issuer.
pub(super) struct Key {
    id: Option<String>,
    pub(super) algorithm: Algorithm,
    pub(super) verifying: DecodingKey,
}

/// By what a token names the key that has signed it.
pub(super) struct KeyId {
    id: Option<String>,
    algorithm: Algorithm,
}

#[derive(Deserialize)]
struct Written {
    keys: Vec<Value>,
}

/// What a token says of its key.
///
/// # Errors
/// When it is no token, or one that is signed in a way that is not believed.
pub(super) fn key_id(token: &str) -> Result<KeyId, Denied> {
    let header = decode_header(token).map_err(|_| Denied::Invalid)?;
    if demands_more(token) {
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

/// Tells whether a token must not be read by those who do not know certain extensions, none of which
/// are known here (RFC 7515, section 4.1.11).
fn demands_more(token: &str) -> bool {
    #[derive(Deserialize)]
    struct Critical {
        crit: Option<IgnoredAny>,
    }

    let header = token.split('.').next().unwrap_or_default();
    let header = BASE64_URL_SAFE_NO_PAD.decode(header).unwrap_or_default();
    serde_json::from_slice(&header).map_or(true, |Critical { crit }| crit.is_some())
}

// === impl KeySet ===

impl KeySet {
    /// Reads what RFC 7517 describes. Keys of other kinds than ours are left out.
    ///
    /// # Errors
    /// When it is no set of keys, or one without a key that can be used: a slip of the issuer's,
    /// for which the keys that are known are not given up.
    pub(super) fn parse(body: &[u8], before: Option<&Self>) -> Result<Self, FetchError> {
        let written: Written = serde_json::from_slice(body)
            .map_err(|_| FetchError::NotUnderstood("no set of keys"))?;
        let keys = written.keys.iter().filter_map(Key::parse);
        let keys: Vec<_> = keys.take(MAX_KEYS).collect();
        if keys.is_empty() {
            return Err(FetchError::NotUnderstood(
                "a set without a key that can be used",
            ));
        }
        let epoch = match before {
            Some(before) if before.said == body => before.epoch,
            Some(before) => before.epoch + 1,
            None => 0,
        };
        Ok(Self {
            keys,
            epoch,
            said: body.to_vec(),
        })
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The key of a token. One that names none can only mean the only one of its kind.
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
        // RFC 7517, sections 4.2 and 4.3: either may say that the key is for something else.
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
        // What a key is for follows from what it is, and not from what a token says.
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
        // RFC 9864 has another name for the last one.
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

//! Keys that check other signed texts than access tokens.

use std::{error::Error, fmt};

use crate::access_token::{
    Algorithm,
    jws::Jws,
    keys::{KeySet, Signature},
};

/// The public keys of a signer (RFC 7517), which check the signatures of its assertions.
///
/// They check the signature alone: the claims are yours. The keys are read by the rules of
/// [`AccessTokens`](super::AccessTokens).
///
/// ```
/// use ziggurat_layers::access_token::{Algorithm, PublicKeys, Unproved};
///
/// let document = br#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "1",
///     "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
/// let keys = PublicKeys::parse(document, &[Algorithm::EdDsa]).expect("a key");
/// assert_eq!(keys.payload("not.a.token", &["JWT"]), Err(Unproved::Invalid));
/// ```
#[derive(Debug)]
pub struct PublicKeys(KeySet);

/// The reason why a signed text is not accepted.
///
/// ```
/// use ziggurat_layers::access_token::Unproved;
///
/// /// A signer that has a new key has published it.
/// fn is_fetched_again(reason: Unproved) -> bool {
///     reason == Unproved::UnknownKey
/// }
/// assert!(!is_fetched_again(Unproved::Invalid));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unproved {
    /// It is malformed, of another type, or not signed by the key that it names.
    Invalid,
    /// No key fits the one that it names.
    UnknownKey,
}

// === impl PublicKeys ===

impl PublicKeys {
    /// Reads a set of keys, and leaves out keys that none of these algorithms may use. Returns
    /// `None` if no key is left.
    ///
    /// ```
    /// use ziggurat_layers::access_token::{Algorithm, PublicKeys};
    ///
    /// assert!(PublicKeys::parse(br#"{"keys": []}"#, &[Algorithm::Es256]).is_none());
    /// ```
    #[must_use]
    pub fn parse(document: &[u8], accepted: &[Algorithm]) -> Option<Self> {
        KeySet::parse(document, accepted).ok().map(Self)
    }

    /// Returns the payload of a text in the compact form (RFC 7515) that one of the keys has signed.
    /// Its `typ` is one of these types; without a `typ` it is a `JWT`.
    ///
    /// ```
    /// use ziggurat_layers::access_token::{Members, PublicKeys};
    ///
    /// fn subject(keys: &PublicKeys, assertion: &str) -> Option<String> {
    ///     let claims = keys.payload(assertion, &["JWT"]).ok()?;
    ///     Members::parse(&claims)?.get("sub").ok()?
    /// }
    /// # let _ = subject;
    /// ```
    ///
    /// # Errors
    /// Fails if no key has signed it, or if it is of another type.
    pub fn payload(&self, token: &str, types: &[&str]) -> Result<Vec<u8>, Unproved> {
        let jws = Jws::parse(token, types).ok_or(Unproved::Invalid)?;
        match self.0.check(&jws) {
            Signature::Valid => Ok(jws.payload),
            Signature::Invalid => Err(Unproved::Invalid),
            Signature::UnknownKey => Err(Unproved::UnknownKey),
        }
    }
}

// === impl Unproved ===

impl fmt::Display for Unproved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "it is not signed by the key that it names",
            Self::UnknownKey => "its key is not known",
        })
    }
}

impl Error for Unproved {}

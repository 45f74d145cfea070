//! The keys of an issuer (RFC 7517).

use std::ops::RangeInclusive;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, ParsedPublicKey,
    RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents,
    VerificationAlgorithm,
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::value::RawValue;

use crate::access_token::{Algorithm, jws::Jws, members::Members};

/// Maximum number of keys of an issuer.
const MAX_KEYS: usize = 100;

/// Sizes of RSA keys: smaller ones can be broken, larger ones take long to check.
const RSA_BITS: RangeInclusive<usize> = 2048..=8192;

/// The usable keys of an issuer.
#[derive(Debug)]
pub(super) struct KeySet {
    keys: Vec<PublicKey>,
    /// The document, to notice a change.
    document: Vec<u8>,
}

/// A public key, prepared for each algorithm that it may be used with.
#[derive(Debug)]
struct PublicKey {
    id: Option<String>,
    verifiers: Vec<(Algorithm, ParsedPublicKey)>,
}

/// The reason why a document is not a set of usable keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InvalidKeys {
    NoSet,
    TooMany,
    NoneUsable,
}

/// The outcome of looking for the key of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signature {
    Valid,
    Invalid,
    /// No key of the set has the identifier that the token names.
    UnknownKey,
}

// === impl KeySet ===

impl KeySet {
    /// Parses a set, and leaves out keys that no accepted algorithm may use.
    pub(super) fn parse(document: &[u8], accepted: &[Algorithm]) -> Result<Self, InvalidKeys> {
        let set = Members::parse(document).ok_or(InvalidKeys::NoSet)?;
        let written = set.raw("keys").ok_or(InvalidKeys::NoSet)?;
        let written: Vec<&RawValue> =
            serde_json::from_str(written).map_err(|_| InvalidKeys::NoSet)?;
        if written.len() > MAX_KEYS {
            return Err(InvalidKeys::TooMany);
        }
        let keys: Vec<_> = written
            .into_iter()
            .filter_map(|key| PublicKey::parse(key.get(), accepted))
            .collect();
        if keys.is_empty() {
            return Err(InvalidKeys::NoneUsable);
        }
        Ok(Self {
            keys,
            document: document.to_owned(),
        })
    }

    pub(super) fn is_of(&self, document: &[u8]) -> bool {
        self.document == document
    }

    /// Checks the signature of a token with the one key that fits its header.
    pub(super) fn check(&self, token: &Jws<'_>) -> Signature {
        let header = &token.header;
        let fitting = self.keys.iter().filter_map(|key| {
            let is_named = header.kid.is_none() || header.kid == key.id;
            key.verifier(header.algorithm).filter(|_| is_named)
        });
        let mut fitting = fitting.take(2);
        let verifier = match (fitting.next(), fitting.next()) {
            (Some(verifier), None) => verifier,
            // With two keys a token would choose the one it can be forged for.
            (Some(_), Some(_)) => return Signature::Invalid,
            (None, _) => return Signature::UnknownKey,
        };
        match verifier.verify_sig(token.signed, &token.signature) {
            Ok(()) => Signature::Valid,
            Err(_) => Signature::Invalid,
        }
    }
}

// === impl PublicKey ===

impl PublicKey {
    fn parse(document: &str, accepted: &[Algorithm]) -> Option<Self> {
        let members = Members::parse(document.as_bytes())?;
        let purpose: Option<String> = members.get("use").ok()?;
        let operations: Option<Vec<String>> = members.get("key_ops").ok()?;
        let is_for_signatures = purpose.is_none_or(|purpose| purpose == "sig")
            && operations.is_none_or(|known| known.iter().any(|known| known == "verify"));
        if !is_for_signatures {
            return None;
        }
        let own: Option<String> = members.get("alg").ok()?;
        let fits =
            |algorithm: &&Algorithm| own.as_deref().is_none_or(|own| own == algorithm.name());
        let material = Material::parse(&members)?;
        let verifiers: Vec<_> = accepted
            .iter()
            .filter(fits)
            .filter_map(|&algorithm| Some((algorithm, material.verifier(algorithm)?)))
            .collect();
        (!verifiers.is_empty()).then_some(Self {
            id: members.get("kid").ok()?,
            verifiers,
        })
    }

    fn verifier(&self, algorithm: Algorithm) -> Option<&ParsedPublicKey> {
        let mut verifiers = self.verifiers.iter();
        verifiers
            .find(|(known, _)| *known == algorithm)
            .map(|(_, verifier)| verifier)
    }
}

/// The numbers of a public key.
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Material {
    fn parse(members: &Members<'_>) -> Option<Self> {
        let number = |name| {
            let text: String = members.get(name).ok()??;
            BASE64_URL_SAFE_NO_PAD.decode(text).ok()
        };
        let curve: Option<String> = members.get("crv").ok()?;
        let kind: String = members.get("kty").ok()??;
        match (kind.as_str(), curve.as_deref()) {
            ("RSA", None) => Self::rsa(number("n")?, number("e")?),
            ("EC", Some("P-256")) => Some(Self::P256(point(32, number("x")?, number("y")?)?)),
            ("EC", Some("P-384")) => Some(Self::P384(point(48, number("x")?, number("y")?)?)),
            ("OKP", Some("Ed25519")) => Some(Self::Ed25519(number("x")?)),
            _ => None,
        }
    }

    fn rsa(n: Vec<u8>, e: Vec<u8>) -> Option<Self> {
        let n = without_leading_zeros(n);
        let e = without_leading_zeros(e);
        let zeros = n.first()?.leading_zeros() as usize;
        // With the exponent 1 every text is its own signature.
        let is_exponent = e.last()? % 2 == 1 && e != [1] && e.len() <= 8;
        (RSA_BITS.contains(&(n.len() * 8 - zeros)) && is_exponent).then_some(Self::Rsa { n, e })
    }

    /// Prepares the key for an algorithm; returns `None` if it is not for this kind of key.
    fn verifier(&self, algorithm: Algorithm) -> Option<ParsedPublicKey> {
        let (parameters, bytes): (&'static dyn VerificationAlgorithm, _) = match (self, algorithm) {
            (Self::Rsa { n, e }, Algorithm::Rs256 | Algorithm::Ps256) => {
                let parameters = match algorithm {
                    Algorithm::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
                    _ => &RSA_PSS_2048_8192_SHA256,
                };
                let key = RsaPublicKeyComponents { n, e };
                return key.to_parsed_public_key(parameters).ok();
            }
            (Self::P256(point), Algorithm::Es256) => (&ECDSA_P256_SHA256_FIXED, point),
            (Self::P384(point), Algorithm::Es384) => (&ECDSA_P384_SHA384_FIXED, point),
            (Self::Ed25519(point), Algorithm::EdDsa) => (&ED25519, point),
            _ => return None,
        };
        ParsedPublicKey::new(parameters, bytes).ok()
    }
}

/// Joins coordinates to an uncompressed point, as SEC 1 defines it.
fn point(bytes: usize, x: Vec<u8>, y: Vec<u8>) -> Option<Vec<u8>> {
    (x.len() == bytes && y.len() == bytes).then(|| [vec![4], x, y].concat())
}

fn without_leading_zeros(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|&&byte| byte == 0).count();
    number.drain(..zeros);
    number
}

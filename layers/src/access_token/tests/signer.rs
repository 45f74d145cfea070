//! Keys and tokens for tests.

use aws_lc_rs::{
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeySize},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
        RsaEncoding,
    },
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::access_token::Algorithm;

pub(super) const ISSUER: &str = "https://accounts.example";
pub(super) const AUDIENCE: &str = "https://api.example";
/// The date of all tests, in seconds since 1970.
pub(super) const NOW: u64 = 1_790_000_000;

type Sign = Box<dyn Fn(&[u8]) -> Vec<u8>>;

/// A key of an issuer.
pub(super) struct Signer {
    pub(super) jwk: Value,
    pub(super) algorithm: Algorithm,
    pub(super) sign: Sign,
}

pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    pub(super) fn new(algorithm: Algorithm, kid: &str) -> Self {
        match algorithm {
            Algorithm::Rs256 => Self::rsa(algorithm, &RSA_PKCS1_SHA256, KeySize::Rsa2048, kid),
            Algorithm::Ps256 => Self::rsa(algorithm, &RSA_PSS_SHA256, KeySize::Rsa2048, kid),
            Algorithm::Es256 => {
                Self::ecdsa(algorithm, &ECDSA_P256_SHA256_FIXED_SIGNING, "P-256", kid)
            }
            Algorithm::Es384 => {
                Self::ecdsa(algorithm, &ECDSA_P384_SHA384_FIXED_SIGNING, "P-384", kid)
            }
            Algorithm::EdDsa => Self::ed25519(kid),
        }
    }

    fn rsa(
        algorithm: Algorithm,
        encoding: &'static dyn RsaEncoding,
        size: KeySize,
        kid: &str,
    ) -> Self {
        let pair = RsaKeyPair::generate(size).expect("a key");
        let public = pair.public_key();
        let [n, e] = [public.modulus(), public.exponent()]
            .map(|number| encode(number.big_endian_without_leading_zero()));
        Self {
            jwk: json!({"kty": "RSA", "kid": kid, "n": n, "e": e}),
            algorithm,
            sign: Box::new(move |text| {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(encoding, &SystemRandom::new(), text, &mut signature)
                    .expect("signed");
                signature
            }),
        }
    }

    fn ecdsa(
        algorithm: Algorithm,
        signing: &'static EcdsaSigningAlgorithm,
        curve: &str,
        kid: &str,
    ) -> Self {
        let pair = EcdsaKeyPair::generate(signing).expect("a key");
        let point = &pair.public_key().as_ref()[1..];
        let (x, y) = point.split_at(point.len() / 2);
        Self {
            jwk: json!({"kty": "EC", "crv": curve, "kid": kid, "x": encode(x), "y": encode(y)}),
            algorithm,
            sign: Box::new(move |text| {
                let signature = pair.sign(&SystemRandom::new(), text);
                signature.expect("signed").as_ref().to_vec()
            }),
        }
    }

    fn ed25519(kid: &str) -> Self {
        let pair = Ed25519KeyPair::generate().expect("a key");
        let x = encode(pair.public_key());
        Self {
            jwk: json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x}),
            algorithm: Algorithm::EdDsa,
            sign: Box::new(move |text| pair.sign(text).as_ref().to_vec()),
        }
    }

    /// The header of a valid token.
    pub(super) fn header(&self) -> Value {
        json!({"alg": self.algorithm.name(), "kid": self.jwk["kid"], "typ": "at+jwt"})
    }

    /// Signs any header and claims.
    pub(super) fn sign(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = encode((self.sign)(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// Signs a valid token after these changes.
    pub(super) fn token(&self, change: impl FnOnce(&mut Value, &mut Value)) -> String {
        let (mut header, mut claims) = (self.header(), claims());
        change(&mut header, &mut claims);
        self.sign(&header.to_string(), &claims.to_string())
    }

    pub(super) fn plain(&self) -> String {
        self.token(|_, _| {})
    }
}

/// The claims of a valid token.
pub(super) fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "client_id": "console", "jti": "t1", "grant_id": "g1",
        "exp": NOW + 60, "iat": NOW, "scope": "read write", "tenant": "acme",
    })
}

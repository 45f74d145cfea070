//! Hosts that publish documents of clients, and keys that sign assertions.

use std::{
    collections::HashMap,
    error::Error,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

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
use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};

use super::{ISSUER, REDIRECT, RESOURCE, Server};
use crate::{FetchDocument, Resource, Settings};

/// The address of the document of the client of the tests.
pub(super) const CLIENT: &str = "https://app.example/client.json";

/// The address of its keys.
pub(super) const KEYS: &str = "https://app.example/keys.json";

type BoxError = Box<dyn Error + Send + Sync>;

type Sign = Box<dyn Fn(&[u8]) -> Vec<u8> + Send>;

/// Answers by address.
#[derive(Default)]
pub(super) struct Web {
    answers: Mutex<HashMap<String, Response<Bytes>>>,
    fetched: AtomicUsize,
}

/// A key of a client.
pub(super) struct Signer {
    pub(super) algorithm: &'static str,
    pub(super) key: Value,
    sign: Sign,
}

// === impl Web ===

impl Web {
    /// Returns hosts, and a server that fetches from them.
    pub(super) fn with_server() -> (Arc<Self>, Server) {
        Self::with_settings(Settings {
            issuer: ISSUER.to_owned(),
            resources: vec![Resource::new(RESOURCE, "Tools")],
            ..Settings::default()
        })
    }

    pub(super) fn with_settings(settings: Settings) -> (Arc<Self>, Server) {
        let web = Arc::new(Self::default());
        let mut server = Server::with(settings);
        server.sign_in = server.sign_in.with_fetch(Arc::clone(&web));
        (web, server)
    }

    /// Publishes an answer.
    pub(super) fn answer(&self, url: &str, answer: Response<Bytes>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(url.to_owned(), answer);
    }

    /// Publishes JSON that may be kept for ten minutes.
    pub(super) fn publish(&self, url: &str, document: &Value) {
        let answer = Response::builder()
            .header("content-type", "application/json")
            .header("cache-control", "max-age=600")
            .body(Bytes::from(document.to_string()));
        self.answer(url, answer.expect("an answer"));
    }

    /// Takes all answers away.
    pub(super) fn go_down(&self) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.clear();
    }

    /// Returns the number of fetches so far.
    pub(super) fn fetched(&self) -> usize {
        self.fetched.load(Ordering::Relaxed)
    }
}

impl FetchDocument for Arc<Web> {
    async fn fetch(&self, url: &str) -> Result<Response<Bytes>, BoxError> {
        self.fetched.fetch_add(1, Ordering::Relaxed);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.get(url).cloned();
        answer.ok_or_else(|| "connection refused".into())
    }
}

/// Returns the document of the client of the tests.
pub(super) fn document() -> Value {
    json!({"client_id": CLIENT, "client_name": "App", "redirect_uris": [REDIRECT]})
}

/// Returns a document with the address of keys.
pub(super) fn signing_document() -> Value {
    let mut document = document();
    document["token_endpoint_auth_method"] = json!("private_key_jwt");
    document["jwks_uri"] = json!(KEYS);
    document
}

// === impl Signer ===

impl Signer {
    pub(super) fn new(algorithm: &'static str) -> Self {
        let (key, sign) = match algorithm {
            "RS256" => rsa(&RSA_PKCS1_SHA256),
            "PS256" => rsa(&RSA_PSS_SHA256),
            "ES256" => ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256"),
            "ES384" => ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING, "P-384"),
            _ => ed25519(),
        };
        Self {
            algorithm,
            key,
            sign,
        }
    }

    /// Returns the set with its key.
    pub(super) fn keys(&self) -> Value {
        json!({"keys": [self.key]})
    }

    /// Signs claims under a header.
    pub(super) fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = format!(
            "{}.{}",
            encode(header.to_string()),
            encode(claims.to_string())
        );
        let signature = encode((self.sign)(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// Signs a good assertion of the client of the tests, after a change.
    pub(super) fn assertion(&self, server: &Server, id: &str, change: &[(&str, Value)]) -> String {
        let header = json!({"alg": self.algorithm, "kid": self.key["kid"], "typ": "JWT"});
        let now = server.now.load(Ordering::Relaxed);
        let mut claims = json!({"iss": CLIENT, "sub": CLIENT, "aud": ISSUER, "jti": id,
            "iat": now, "exp": now + 300});
        for (name, value) in change {
            claims[name] = value.clone();
        }
        self.sign(&header, &claims)
    }
}

fn rsa(encoding: &'static dyn RsaEncoding) -> (Value, Sign) {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).expect("a key");
    // RFC 8017, A.1.1: a sequence of two numbers, the modulus of 256 bytes after nine others.
    let public = pair.public_key().as_ref();
    let (n, e) = (encode(&public[9..265]), encode(&public[267..]));
    let key = json!({"kty": "RSA", "kid": "1", "n": n, "e": e});
    let sign = move |text: &[u8]| {
        let mut signature = vec![0; pair.public_modulus_len()];
        let signed = pair.sign(encoding, &SystemRandom::new(), text, &mut signature);
        signed.expect("signed");
        signature
    };
    (key, Box::new(sign))
}

fn ecdsa(signing: &'static EcdsaSigningAlgorithm, curve: &str) -> (Value, Sign) {
    let pair = EcdsaKeyPair::generate(signing).expect("a key");
    let point = &pair.public_key().as_ref()[1..];
    let (x, y) = point.split_at(point.len() / 2);
    let key = json!({"kty": "EC", "crv": curve, "kid": "1", "x": encode(x), "y": encode(y)});
    let sign = move |text: &[u8]| {
        let signature = pair.sign(&SystemRandom::new(), text);
        signature.expect("signed").as_ref().to_vec()
    };
    (key, Box::new(sign))
}

fn ed25519() -> (Value, Sign) {
    let pair = Ed25519KeyPair::generate().expect("a key");
    let x = encode(pair.public_key());
    let key = json!({"kty": "OKP", "crv": "Ed25519", "kid": "1", "x": x});
    (key, Box::new(move |text| pair.sign(text).as_ref().to_vec()))
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

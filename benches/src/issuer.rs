//! An OAuth issuer in memory, and what verifies its tokens.

use std::{
    future::pending,
    sync::LazyLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use aws_lc_rs::{
    rand::SystemRandom,
    rsa::{KeyPair, KeySize},
    signature::{KeyPair as _, RSA_PKCS1_SHA256},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderValue, Request, StatusCode, header};
use serde_json::json;
use tower_oauth2_resource_server::{
    claims::DefaultClaims, layer::OAuth2ResourceServerLayer, server::OAuth2ResourceServer,
    tenant::TenantConfiguration, validation::ClaimsValidationSpec,
};
use ziggurat_layers::access_token::{
    AccessTokens, Fetch, FetchError, FetchRequest, Fetched, Rules,
};

use crate::{Body, ready_now, request};

const ISSUER: &str = "https://accounts.example";
const AUDIENCE: &str = "https://api.example";
const KEYS: &str = "https://accounts.example/keys";

/// The set of keys of the issuer, and tokens that it signed with RS256.
struct Issuer {
    jwks: String,
    tokens: Vec<HeaderValue>,
    forged: HeaderValue,
}

static ISSUED: LazyLock<Issuer> = LazyLock::new(Issuer::new);

/// Fetches the keys from memory.
#[derive(Debug)]
pub struct InMemory;

impl Fetch for InMemory {
    async fn fetch(&self, request: FetchRequest<'_>) -> Result<Fetched, FetchError> {
        if request.url() == KEYS {
            return Ok(Fetched::new(ISSUED.jwks.as_str()));
        }
        Err(FetchError::status(StatusCode::NOT_FOUND))
    }

    async fn sleep(&self, _: Duration) {
        pending::<()>().await;
    }
}

// === impl Issuer ===

impl Issuer {
    fn new() -> Self {
        let key = KeyPair::generate(KeySize::Rsa2048).expect("a key");
        let public = key.public_key();
        let [n, e] = [public.modulus(), public.exponent()]
            .map(|number| encode(number.big_endian_without_leading_zero()));
        let jwk = json!({"kty": "RSA", "kid": "a", "use": "sig", "alg": "RS256", "n": n, "e": e});
        let tokens: Vec<_> = (0..64).map(|id| token(&key, &id.to_string())).collect();
        let (signed, _) = tokens[0].rsplit_once('.').expect("three parts");
        let forged = format!("{signed}.{}", encode([1; 256]));
        Self {
            jwks: json!({"keys": [jwk]}).to_string(),
            tokens: tokens.iter().map(|token| authorization(token)).collect(),
            forged: authorization(&forged),
        }
    }
}

/// Signs a token of its own for each id.
fn token(key: &KeyPair, id: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.expect("after 1970").as_secs();
    let header = json!({"alg": "RS256", "kid": "a", "typ": "at+jwt"}).to_string();
    let claims = json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "client_id": "console", "jti": id,
        "exp": now + 24 * 3600, "iat": now, "scope": "read write", "tenant": "acme",
    });
    let signed = format!("{}.{}", encode(header), encode(claims.to_string()));
    let mut signature = vec![0; key.public_modulus_len()];
    let random = SystemRandom::new();
    key.sign(
        &RSA_PKCS1_SHA256,
        &random,
        signed.as_bytes(),
        &mut signature,
    )
    .expect("signed");
    format!("{signed}.{}", encode(signature))
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn authorization(token: &str) -> HeaderValue {
    HeaderValue::try_from(format!("Bearer {token}")).expect("a header")
}

/// A verifier that has the keys of the issuer, and remembers as many tokens.
///
/// # Panics
/// Never: its parts are constants.
#[must_use]
pub fn access_tokens(max_remembered: usize) -> AccessTokens<InMemory> {
    let rules = Rules::new(ISSUER, [AUDIENCE]).and_then(|rules| rules.with_jwks(KEYS));
    let rules = rules.expect("https").with_max_remembered(max_remembered);
    let tokens = AccessTokens::new(rules, InMemory);
    ready_now(tokens.poll());
    tokens
}

/// The most similar published layer, with the same keys and the same claims to check.
///
/// # Panics
/// Never: its parts are constants.
#[must_use]
pub fn peer() -> OAuth2ResourceServerLayer<Body, DefaultClaims> {
    let audience = vec![AUDIENCE.to_owned()];
    let claims = ClaimsValidationSpec::new()
        .iss(ISSUER)
        .aud(&audience)
        .exp(true);
    let tenant = TenantConfiguration::static_builder(ISSUED.jwks.as_str())
        .audiences(&audience)
        .claims_validation(claims)
        .build()
        .expect("a set of keys");
    let server = <OAuth2ResourceServer>::builder().add_tenant(tenant).build();
    ready_now(server).expect("one tenant").into_layer()
}

/// A request with always the same token.
#[must_use]
pub fn with_token() -> Request<Body> {
    with(&ISSUED.tokens[0])
}

/// A request with another token than the last one.
#[must_use]
pub fn with_new_token() -> Request<Body> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    with(&ISSUED.tokens[next % ISSUED.tokens.len()])
}

/// A request with a wrongly signed token.
#[must_use]
pub fn with_forged_token() -> Request<Body> {
    with(&ISSUED.forged)
}

fn with(authorization: &HeaderValue) -> Request<Body> {
    let mut request = request();
    let headers = request.headers_mut();
    headers.insert(header::AUTHORIZATION, authorization.clone());
    request
}

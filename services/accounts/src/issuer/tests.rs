use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::{
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeySize},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
        RSA_PKCS1_SHA256,
    },
};
use axum::{Router, routing::get};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use ziggurat_http::serve::{Limits, Server};

use super::*;

const AUDIENCE: &str = "https://tools.example/mcp";

/// A fake issuer.
struct Own {
    issuer: Issuer,
    document: Arc<ArcSwap<Value>>,
    asked: Arc<AtomicUsize>,
    clock: WallClock,
    _server: JoinSet<()>,
}

type Sign = Box<dyn Fn(&[u8]) -> Vec<u8>>;

/// A claim and its new value.
type Change = (&'static str, Value);

/// Signs tokens.
struct Signer {
    jwk: Value,
    algorithm: &'static str,
    sign: Sign,
}

fn serve(listener: TcpListener, service: Router) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let outcome = Server::new(Limits::default())
            .serve(listener, service, std::future::pending())
            .await;
        outcome.expect("listening");
    });
    tasks
}

fn clock() -> WallClock {
    WallClock::manual("2026-11-21T10:00:00Z".parse().expect("a date"))
}

// === impl Own ===

impl Own {
    async fn new(keys: &[&Signer], adjust: impl FnOnce(&mut Settings)) -> Self {
        let document = Arc::new(ArcSwap::from_pointee(Self::set(keys)));
        let asked = Arc::new(AtomicUsize::new(0));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let (shown, count) = (Arc::clone(&document), Arc::clone(&asked));
        let service = Router::new().route(
            "/keys",
            get(async move || {
                count.fetch_add(1, Ordering::Relaxed);
                shown.load().to_string()
            }),
        );
        let clock = clock();
        let mut settings = Settings {
            issuer: "https://issuer.example".to_owned(),
            audience: vec![AUDIENCE.to_owned()],
            jwks: Some(format!("http://{address}/keys")),
            clock: clock.clone(),
            ..Settings::default()
        };
        adjust(&mut settings);
        Self {
            issuer: Issuer::new(settings, |_| {}).expect("a good one"),
            document,
            asked,
            clock,
            _server: serve(listener, service),
        }
    }

    fn set(keys: &[&Signer]) -> Value {
        let keys: Vec<_> = keys.iter().map(|key| key.jwk.clone()).collect();
        json!({"keys": keys})
    }

    fn verdict(&self, token: &str) -> Option<Result<Identity, Denied>> {
        self.issuer.verify_now(token)
    }
}

// === impl Signer ===

impl Signer {
    fn ed25519(id: &str) -> Self {
        let pair = Ed25519KeyPair::generate().expect("a key");
        let x = BASE64_URL_SAFE_NO_PAD.encode(pair.public_key());
        Self {
            jwk: json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "alg": "EdDSA", "x": x}),
            algorithm: "EdDSA",
            sign: Box::new(move |text| pair.sign(text).as_ref().to_vec()),
        }
    }

    fn p256(id: &str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
        let point = pair.public_key().as_ref()[1..].to_vec();
        let [x, y] = [&point[..32], &point[32..]].map(|c| BASE64_URL_SAFE_NO_PAD.encode(c));
        Self {
            jwk: json!({"kty": "EC", "crv": "P-256", "kid": id, "x": x, "y": y, "use": "sig"}),
            algorithm: "ES256",
            sign: Box::new(move |text| {
                let signed = pair.sign(&SystemRandom::new(), text);
                signed.expect("signed").as_ref().to_vec()
            }),
        }
    }

    fn rsa(id: &str) -> Self {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).expect("a key");
        let public = pair.public_key();
        let [n, e] = [public.modulus(), public.exponent()]
            .map(|c| BASE64_URL_SAFE_NO_PAD.encode(c.big_endian_without_leading_zero()));
        Self {
            jwk: json!({"kty": "RSA", "kid": id, "n": n, "e": e, "alg": "RS256"}),
            algorithm: "RS256",
            sign: Box::new(move |text| {
                let mut signed = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text, &mut signed)
                    .expect("signed");
                signed
            }),
        }
    }

    fn token(&self, adjust: impl FnOnce(&mut Value, &mut Value)) -> String {
        let now: Timestamp = "2026-11-21T10:00:00Z".parse().expect("a date");
        let now = now.as_second();
        let mut header = json!({"alg": self.algorithm, "kid": self.jwk["kid"], "typ": "JWT"});
        let mut claims = json!({"iss": "https://issuer.example", "sub": "robot", "exp": now + 60,
            "aud": AUDIENCE, "scope": "openid mcp", "tenant": "acme"});
        adjust(&mut header, &mut claims);
        let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", encode(&header), encode(&claims));
        let signature = BASE64_URL_SAFE_NO_PAD.encode((self.sign)(text.as_bytes()));
        format!("{text}.{signature}")
    }

    fn plain(&self) -> String {
        self.token(|_, _| {})
    }
}

#[tokio::test]
async fn three_signature_algorithms_are_accepted() {
    let signers = [Signer::rsa("a"), Signer::p256("b"), Signer::ed25519("c")];
    let own = Own::new(&signers.each_ref(), |_| {}).await;
    own.issuer.poll().await;
    for signer in &signers {
        let verdict = own.verdict(&signer.plain());
        assert!(matches!(verdict, Some(Ok(_))), "{}", signer.algorithm);
        let unnamed = signer.token(|header, _| header["kid"] = Value::Null);
        let verdict = own.verdict(&unnamed);
        assert!(matches!(verdict, Some(Ok(_))), "the only one of its kind");
        let stranger = match signer.algorithm {
            "RS256" => Signer::rsa("a"),
            "ES256" => Signer::p256("b"),
            _ => Signer::ed25519("c"),
        };
        let verdict = own.verdict(&stranger.plain());
        assert_eq!(verdict, Some(Err(Denied::Invalid)), "{}", signer.algorithm);
    }
}

#[tokio::test]
async fn the_claims_of_a_token_must_be_valid_for_this_server() {
    let signer = Signer::ed25519("a");
    let own = Own::new(&[&signer], |_| {}).await;
    own.issuer.poll().await;
    let now = own.clock.now().as_second();
    let bad: [Change; 14] = [
        ("aud", json!("https://else.example")),
        ("aud", json!([])),
        ("aud", Value::Null),
        ("iss", json!("https://issuer.example/")),
        ("iss", json!(["https://issuer.example"])),
        (
            "iss",
            json!(["https://else.example", "https://issuer.example"]),
        ),
        ("iss", Value::Null),
        ("iat", json!(now + 61)),
        ("iat", json!(now + 365 * 24 * 60 * 60)),
        ("exp", json!(now - 30)),
        ("exp", Value::Null),
        ("nbf", json!(now + 61)),
        ("sub", json!("")),
        ("sub", Value::Null),
    ];
    for (name, value) in bad {
        let token = signer.token(|_, claims| claims[name] = value.clone());
        let verdict = own.verdict(&token);
        assert_eq!(verdict, Some(Err(Denied::Invalid)), "{name}: {value}");
    }
    let good: [Change; 5] = [
        ("aud", json!(["https://else.example", AUDIENCE])),
        ("exp", json!(now - 29)),
        ("nbf", json!(now + 60)),
        ("iat", json!(now + 60)),
        ("exp", json!(f64::from(i32::MAX) + 0.5)),
    ];
    for (name, value) in good {
        let token = signer.token(|_, claims| claims[name] = value.clone());
        let verdict = own.verdict(&token);
        assert!(matches!(verdict, Some(Ok(_))), "{name}: {value}");
    }
}

#[tokio::test]
async fn a_token_does_not_choose_its_algorithm() {
    let signer = Signer::ed25519("a");
    let own = Own::new(&[&signer], |_| {}).await;
    own.issuer.poll().await;
    for algorithm in ["none", "HS256", "RS512", "ES384"] {
        let token = signer.token(|header, _| header["alg"] = json!(algorithm));
        assert_eq!(
            own.verdict(&token),
            Some(Err(Denied::Invalid)),
            "{algorithm}"
        );
    }
    let token = signer.token(|header, _| header["typ"] = json!("dpop+jwt"));
    assert_eq!(own.verdict(&token), Some(Err(Denied::Invalid)));
    let token = signer.token(|header, _| header["crit"] = json!(["exp"]));
    assert_eq!(own.verdict(&token), Some(Err(Denied::Invalid)));
    let (text, _) = signer
        .plain()
        .rsplit_once('.')
        .map(|(a, b)| (a.to_owned(), b.len()))
        .expect("three parts");
    for token in [
        format!("{text}."),
        format!("{text}.AAAA"),
        "a.b.c".to_owned(),
        "..".to_owned(),
    ] {
        assert_eq!(own.verdict(&token), Some(Err(Denied::Invalid)), "{token}");
    }
}

#[tokio::test]
async fn a_token_without_a_required_scope_is_valid_but_not_sufficient() {
    let signer = Signer::ed25519("a");
    let wanted = |settings: &mut Settings| settings.scope = vec!["mcp".into(), "openid".into()];
    let own = Own::new(&[&signer], wanted).await;
    own.issuer.poll().await;
    assert!(matches!(own.verdict(&signer.plain()), Some(Ok(_))));
    for scope in ["mcp", "", "mcpopenid", "openid mcp2"] {
        let token = signer.token(|_, claims| claims["scope"] = json!(scope));
        let verdict = own.verdict(&token);
        assert_eq!(verdict, Some(Err(Denied::InsufficientScope)), "{scope}");
    }
    let listed = signer.token(|_, claims| {
        claims["scope"] = Value::Null;
        claims["scp"] = json!(["mcp", "openid"]);
    });
    assert!(
        matches!(own.verdict(&listed), Some(Ok(_))),
        "as others write it"
    );
}

#[tokio::test]
async fn an_unknown_key_is_fetched_once_and_not_again_for_a_while() {
    let (old, new) = (Signer::ed25519("old"), Signer::p256("new"));
    let own = Own::new(&[&old], |_| {}).await;
    let mut tasks = JoinSet::from_iter([own.issuer.clone().run()]);
    assert!(own.issuer.verify(&old.plain()).await.is_ok());
    own.document.store(Arc::new(Own::set(&[&new])));
    let asked = own.asked.load(Ordering::Relaxed);
    for _ in 0..100 {
        assert_eq!(
            own.verdict(&new.plain()),
            Some(Err(Denied::Invalid)),
            "too soon"
        );
    }
    assert_eq!(own.asked.load(Ordering::Relaxed), asked);
    own.clock.advance(MIN_FETCH_INTERVAL);
    assert!(own.issuer.verify(&new.plain()).await.is_ok());
    assert_eq!(own.asked.load(Ordering::Relaxed), asked + 1);
    assert_eq!(
        own.verdict(&old.plain()),
        Some(Err(Denied::Invalid)),
        "its key is gone"
    );
    tasks.shutdown().await;
}

#[tokio::test]
async fn a_key_for_another_use_is_ignored() {
    let mut signer = Signer::ed25519("a");
    for (name, value) in [
        ("use", json!("enc")),
        ("use", json!(["sig"])),
        ("key_ops", json!(["encrypt"])),
        ("key_ops", json!(["sign", "deriveKey"])),
        ("key_ops", json!([])),
        ("key_ops", json!("verify")),
        ("alg", json!("RS256")),
        ("kty", json!("oct")),
        ("crv", json!("X25519")),
    ] {
        let before = signer.jwk.clone();
        signer.jwk[name] = value.clone();
        let own = Own::new(&[&signer, &Signer::p256("b")], |_| {}).await;
        own.issuer.poll().await;
        let token = signer.plain();
        assert_eq!(
            own.verdict(&token),
            Some(Err(Denied::Invalid)),
            "{name}: {value}"
        );
        signer.jwk = before;
    }
}

#[tokio::test]
async fn a_key_with_the_operation_verify_is_used() {
    let mut signer = Signer::ed25519("a");
    signer.jwk["key_ops"] = json!(["verify", "sign"]);
    let own = Own::new(&[&signer], |_| {}).await;
    own.issuer.poll().await;
    assert!(matches!(own.verdict(&signer.plain()), Some(Ok(_))));
}

#[tokio::test]
async fn a_set_without_a_usable_key_does_not_replace_the_known_keys() {
    let (signer, next) = (Signer::ed25519("a"), Signer::p256("b"));
    let own = Own::new(&[&signer], |_| {}).await;
    own.issuer.poll().await;
    let lasting =
        |claims: &mut Value| claims["exp"] = json!(claims["exp"].as_i64().map(|at| at + 86_400));
    let token = |signer: &Signer| signer.token(|_, claims| lasting(claims));
    let mut unusable = signer.jwk.clone();
    unusable["key_ops"] = json!(["encrypt"]);
    for keys in [json!([]), json!([unusable]), json!([{"kty": "oct"}])] {
        own.document.store(Arc::new(json!({"keys": keys})));
        own.clock.advance(KEYS);
        let asked = own.asked.load(Ordering::Relaxed);
        own.issuer.poll().await;
        assert!(own.asked.load(Ordering::Relaxed) > asked, "it was asked");
        let verdict = own.verdict(&token(&signer));
        assert!(matches!(verdict, Some(Ok(_))), "{keys}: {verdict:?}");
    }
    own.document.store(Arc::new(Own::set(&[&next])));
    own.issuer.poll().await;
    assert!(matches!(own.verdict(&token(&next)), Some(Ok(_))));
    let verdict = own.verdict(&token(&signer));
    assert!(!matches!(verdict, Some(Ok(_))), "its key is gone");
}

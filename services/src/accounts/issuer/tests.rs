use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use aws_lc_rs::{
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeySize},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
        RSA_PKCS1_SHA256,
    },
};
use axum::{Router, body::Body, routing::get};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::Request;
use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinSet};
use tower::ServiceExt as _;
use ziggurat_http::serve::{Limits, Server};

use super::*;
use crate::{
    accounts::Holder,
    platform::{
        ClientDraft, Id, Keys, Options, Owner, Store, TenantDraft, TokenSettings, Tokens, service,
    },
};

const AUDIENCE: &str = "https://tools.example/mcp";

/// A platform that is served, and an issuer that knows it.
struct World {
    store: Store,
    service: Router,
    tenant: Id,
    clock: WallClock,
    settings: Settings,
    keys: Keys,
    over: Arc<Mutex<Vec<String>>>,
    server: JoinSet<()>,
    _folder: TempDir,
}

/// An issuer of our own making.
struct Own {
    issuer: Issuer,
    document: Arc<ArcSwap<Value>>,
    asked: Arc<AtomicUsize>,
    clock: WallClock,
    _server: JoinSet<()>,
}

type Sign = Box<dyn Fn(&[u8]) -> Vec<u8>>;

/// A claim, and what it is to be instead.
type Change = (&'static str, Value);

/// Signs what it is given.
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

// === impl World ===

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = clock();
        let store = Store::open(folder.path()).await.expect("opened");
        let store = store.with_clock(clock.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let issuer = format!("http://{}", listener.local_addr().expect("bound"));
        let mut settings = TokenSettings::new(issuer.clone());
        settings.audience = vec![AUDIENCE.to_owned()];
        let keys = Keys::open(folder.path()).expect("keys");
        let tokens = Tokens::new(keys.clone(), settings, clock.clone());
        let options = Options {
            clock: clock.clone(),
            ..Options::default()
        };
        let service = service(store.clone(), tokens, &options);
        let draft = TenantDraft {
            name: "Acme".to_owned(),
            ..TenantDraft::default()
        };
        let owner = Owner {
            email: "ann@example.com".to_owned(),
            ..Owner::default()
        };
        let (tenant, _) = store.create_tenant(draft, &owner).await.expect("made");
        Self {
            server: serve(listener, service.clone()),
            store,
            service,
            tenant: tenant.id,
            settings: Settings {
                issuer,
                audience: vec![AUDIENCE.to_owned()],
                clock: clock.clone(),
                ..Settings::default()
            },
            clock,
            keys,
            over: Arc::default(),
            _folder: folder,
        }
    }

    fn issuer(&self) -> Issuer {
        let over = Arc::clone(&self.over);
        let issuer = Issuer::new(self.settings.clone(), move |session| {
            let mut over = over.lock().unwrap_or_else(PoisonError::into_inner);
            over.push(session.to_owned());
        });
        issuer.expect("a good one")
    }

    /// A client, and what it signs in with.
    async fn client(&self) -> (Id, Value) {
        let draft = ClientDraft {
            name: "ci".to_owned(),
            ..ClientDraft::default()
        };
        let made = self
            .store
            .create_client(self.tenant, draft)
            .await
            .expect("made");
        let pair = json!({
            "client_id": made.client.auth0_id,
            "client_secret": made.secret.expose_secret(),
        });
        (made.client.id, pair)
    }

    async fn token(&self, pair: &Value) -> String {
        let request = Request::post("/account/v1/oauth/token")
            .header("content-type", "application/json")
            .body(Body::from(pair.to_string()))
            .expect("valid parts");
        let response = self
            .service
            .clone()
            .oneshot(request)
            .await
            .expect("infallible");
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await;
        let answer: Value = serde_json::from_slice(&body.expect("whole")).expect("JSON");
        answer["access_token"].as_str().expect("a token").to_owned()
    }
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
async fn a_client_of_the_platform_is_let_in_until_it_is_deleted_and_we_have_looked() {
    let world = World::new().await;
    let issuer = world.issuer();
    let (id, pair) = world.client().await;
    let (other, other_pair) = world.client().await;
    let token = world.token(&pair).await;
    assert_eq!(issuer.verify_now(&token), None, "nothing is known yet");
    issuer.poll().await;
    let identity = issuer.verify_now(&token).expect("known").expect("good");
    let Holder::Client {
        subject,
        client,
        tenant,
        ..
    } = identity.holder()
    else {
        panic!("a client: {identity:?}");
    };
    assert_eq!(**subject, id.to_string());
    assert_eq!(client.as_deref(), pair["client_id"].as_str());
    assert_eq!(tenant.as_deref(), Some(&*world.tenant.to_string()));
    assert_eq!(identity.user(), None);
    let again = issuer.verify_now(&world.token(&pair).await);
    assert_eq!(
        again,
        Some(Ok(identity.clone())),
        "another token, the same caller"
    );
    let theirs = world.token(&other_pair).await;
    let theirs = issuer.verify_now(&theirs).expect("known").expect("good");
    assert_ne!(theirs.token(), identity.token());

    world
        .store
        .delete_client(world.tenant, id)
        .await
        .expect("deleted");
    assert!(
        issuer.verify_now(&token).expect("known").is_ok(),
        "not asked yet"
    );
    issuer.poll().await;
    assert_eq!(issuer.verify_now(&token), Some(Err(Denied::Invalid)));
    let over = world.over.lock().expect("whole").clone();
    assert_eq!(
        over,
        [identity.token().to_string()],
        "its connections close"
    );
    let fresh = world.token(&other_pair).await;
    assert!(issuer.verify_now(&fresh).expect("known").is_ok());
    world
        .store
        .delete_client(world.tenant, other)
        .await
        .expect("deleted");
    issuer.poll().await;
    let verdict = issuer.verify_now(&fresh);
    assert_eq!(verdict, Some(Err(Denied::Invalid)));
}

#[tokio::test]
async fn what_runs_by_itself_looks_too() {
    let world = World::new().await;
    let issuer = world.issuer();
    let mut tasks = JoinSet::from_iter([issuer.clone().run()]);
    let (_, pair) = world.client().await;
    let token = world.token(&pair).await;
    let identity = issuer.verify(&token).await;
    assert!(identity.is_ok(), "whoever comes first waits for the keys");
    world.keys.rotate(world.clock.now(), 3600).expect("rotated");
    world.clock.advance(GAP);
    let token = world.token(&pair).await;
    assert_eq!(issuer.verify_now(&token), None, "it may be worth a look");
    assert!(
        issuer.verify(&token).await.is_ok(),
        "signed with the new key"
    );
    tasks.shutdown().await;
}

#[tokio::test]
async fn an_issuer_that_cannot_be_reached_is_a_setting() {
    let mut world = World::new().await;
    let (_, pair) = world.client().await;
    let token = world.token(&pair).await;
    let strict = world.issuer();
    world.settings.when_stale = WhenStale::Accept;
    let lenient = world.issuer();
    let never = world.issuer();
    strict.poll().await;
    lenient.poll().await;
    world.server.shutdown().await;
    for issuer in [&strict, &lenient, &never] {
        issuer.poll().await;
    }
    assert_eq!(never.verify_now(&token), Some(Err(Denied::Unavailable)));
    for issuer in [&strict, &lenient] {
        assert!(issuer.verify_now(&token).expect("known").is_ok(), "a while");
    }
    world
        .clock
        .advance(Duration::from_mins(5) + Duration::from_secs(1));
    assert_eq!(strict.verify_now(&token), Some(Err(Denied::Unavailable)));
    assert!(lenient.verify_now(&token).expect("known").is_ok());
    world.clock.advance(Duration::from_hours(25));
    lenient.poll().await;
    assert_eq!(
        lenient.verify_now(&token),
        Some(Err(Denied::Invalid)),
        "it has ended"
    );
    assert_eq!(world.over.lock().expect("whole").len(), 2 - 1);
}

#[tokio::test]
async fn three_kinds_of_signatures_are_believed() {
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
async fn what_a_token_says_has_to_be_true_and_meant_for_us() {
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
async fn a_token_does_not_choose_how_it_is_checked() {
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
async fn a_token_without_a_scope_that_is_wanted_is_good_but_not_enough() {
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
async fn a_key_that_is_missed_is_looked_for_and_not_again_for_a_while() {
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
    own.clock.advance(GAP);
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
async fn a_key_for_something_else_is_none() {
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
async fn a_key_whose_operations_hold_verify_is_one() {
    let mut signer = Signer::ed25519("a");
    signer.jwk["key_ops"] = json!(["verify", "sign"]);
    let own = Own::new(&[&signer], |_| {}).await;
    own.issuer.poll().await;
    assert!(matches!(own.verdict(&signer.plain()), Some(Ok(_))));
}

#[tokio::test]
async fn a_set_without_a_key_that_can_be_used_replaces_no_good_ones() {
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

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use axum::{Router, routing::get};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use ziggurat_serve::{Limits, Server};

use super::*;
use crate::Claim;

const AUDIENCE: &str = "https://tools.example/mcp";

/// A claim and its new value.
type Change = (&'static str, Value);

/// A fake issuer with one key.
struct FakeIssuer {
    issuer: Issuer,
    key: Ed25519KeyPair,
    now: i64,
    _server: JoinSet<()>,
}

impl FakeIssuer {
    async fn new(adjust: impl FnOnce(&mut Settings)) -> Self {
        let key = Ed25519KeyPair::generate().expect("a key");
        let x = BASE64_URL_SAFE_NO_PAD.encode(key.public_key());
        let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": x}]});
        let keys = keys.to_string();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let service = Router::new().route("/keys", get(async move || keys.clone()));
        let mut server = JoinSet::new();
        server.spawn(async move {
            let server = Server::new(Limits::default());
            let outcome = server.serve(listener, service, std::future::pending());
            outcome.await.expect("listening");
        });
        let start: Timestamp = "2026-11-21T10:00:00Z".parse().expect("a date");
        let mut settings = Settings {
            issuer: "https://issuer.example".to_owned(),
            audience: vec![AUDIENCE.to_owned()],
            jwks: Some(format!("http://{address}/keys")),
            clock: WallClock::manual(start),
            ..Settings::default()
        };
        adjust(&mut settings);
        let issuer = Issuer::new(settings, |_| {}).expect("good settings");
        issuer.poll().await;
        Self {
            issuer,
            key,
            now: start.as_second(),
            _server: server,
        }
    }

    /// Returns the verdict on a token with these claims changed; `null` removes one.
    fn verdict(&self, typ: &str, changes: &[Change]) -> Result<Identity, Denied> {
        let mut claims = json!({"iss": "https://issuer.example", "sub": "robot",
            "exp": self.now + 60, "aud": AUDIENCE, "scope": "openid mcp", "tenant": "acme"});
        for (name, value) in changes {
            let claims = claims.as_object_mut().expect("an object");
            match value {
                Value::Null => drop(claims.remove(*name)),
                value => drop(claims.insert((*name).to_owned(), value.clone())),
            }
        }
        let header = json!({"alg": "EdDSA", "kid": "a", "typ": typ});
        let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", encode(&header), encode(&claims));
        let signature = BASE64_URL_SAFE_NO_PAD.encode(self.key.sign(text.as_bytes()));
        let verdict = self.issuer.verify_now(&format!("{text}.{signature}"));
        verdict.expect("the key is known")
    }
}

#[tokio::test]
async fn a_token_without_the_scope_for_changes_is_sent_for_it_where_the_server_does_that() {
    let document = "https://tools.example/.well-known/oauth-protected-resource/mcp";
    for asks in [true, false] {
        let own = FakeIssuer::new(|settings| {
            settings.write_scope = "mcp:write".to_owned();
            settings.step_up = asks.then(|| document.to_owned());
        });
        let own = own.await;
        let challenge = |scope: &str| {
            let identity = own.verdict("at+jwt", &[("scope", json!(scope))]);
            let identity = identity.expect("a good token");
            identity.step_up().cloned()
        };
        assert_eq!(challenge("mcp mcp:write"), None);
        let expected = format!(
            "Bearer error=\"insufficient_scope\", scope=\"openid mcp mcp:write\", \
             resource_metadata=\"{document}\""
        );
        let expected = asks.then(|| expected.try_into().expect("a header"));
        assert_eq!(challenge("openid mcp"), expected);
    }
}

#[tokio::test]
async fn tokens_of_issuers_before_rfc_9068_are_accepted() {
    let own = FakeIssuer::new(|_| {}).await;
    for typ in ["JWT", "at+jwt"] {
        for (changes, expected) in [
            (vec![], None),
            (vec![("client_id", json!("web"))], Some("web")),
            (vec![("azp", json!("app"))], Some("app")),
        ] {
            let identity = own.verdict(typ, &changes).expect("a good token");
            let Holder::Client {
                subject,
                client,
                tenant,
                scopes,
                ..
            } = identity.holder()
            else {
                panic!("a client: {identity:?}");
            };
            assert_eq!(
                (&**subject, client.as_deref()),
                ("robot", expected),
                "{typ}"
            );
            assert_eq!(tenant.as_deref(), Some("acme"));
            assert_eq!(**scopes, ["openid", "mcp"]);
        }
    }
    assert_eq!(own.verdict("dpop+jwt", &[]), Err(Denied::Invalid));
}

#[tokio::test]
async fn the_claims_of_a_token_must_be_valid_for_this_server() {
    let own = FakeIssuer::new(|_| {}).await;
    let now = own.now;
    let long = "x".repeat(MAX_NAME + 1);
    for change in [
        ("aud", json!("https://else.example")),
        ("iss", json!("https://issuer.example/")),
        ("iat", json!(now + 61)),
        ("exp", json!(now - 30)),
        ("nbf", json!(now + 61)),
        ("sub", json!(long)),
    ] {
        let shown = format!("{change:?}");
        assert_eq!(
            own.verdict("JWT", &[change]),
            Err(Denied::Invalid),
            "{shown}"
        );
    }
    for change in [
        ("aud", json!(["https://else.example", AUDIENCE])),
        ("exp", json!(now - 29)),
        ("nbf", json!(now + 60)),
        ("iat", json!(now + 60)),
        // Left out of the identity.
        ("tenant", json!(long)),
        ("tenant", json!(7)),
    ] {
        let shown = format!("{change:?}");
        assert!(own.verdict("JWT", &[change]).is_ok(), "{shown}");
    }
}

#[tokio::test]
async fn a_token_without_a_required_scope_is_valid_but_not_sufficient() {
    let wanted = |settings: &mut Settings| settings.scope = vec!["mcp".into(), "openid".into()];
    let own = FakeIssuer::new(wanted).await;
    assert!(own.verdict("JWT", &[]).is_ok());
    for scope in ["mcp", "", "mcpopenid", "openid mcp2"] {
        let verdict = own.verdict("JWT", &[("scope", json!(scope))]);
        assert_eq!(verdict, Err(Denied::InsufficientScope), "{scope}");
    }
    let listed = [("scope", Value::Null), ("scp", json!(["mcp", "openid"]))];
    assert!(
        own.verdict("JWT", &listed).is_ok(),
        "the form of other issuers"
    );
}

#[tokio::test]
async fn all_tokens_of_a_subject_are_one_caller() {
    let own = FakeIssuer::new(|_| {}).await;
    let first = own.verdict("JWT", &[]).expect("a good token");
    let second = own.verdict("JWT", &[("jti", json!("2"))]).expect("another");
    assert_eq!(first.token(), second.token());
    let other = own
        .verdict("JWT", &[("sub", json!("other"))])
        .expect("of another");
    assert_ne!(first.token(), other.token());
}

#[tokio::test]
async fn the_named_claims_of_a_token_are_kept_and_others_are_forgotten() {
    let kept = KeptClaims::new(vec!["tenant".into(), "realm.roles".into()]);
    let own = FakeIssuer::new(|settings| settings.claims = kept.clone()).await;
    let roles = json!({"roles": ["a", "b"]});
    let claims = |tenant: Value| {
        let changes = [("tenant", tenant), ("realm", roles.clone())];
        let identity = own.verdict("JWT", &changes).expect("a good token");
        identity.claims().clone()
    };
    let names = |claims: &Claims| claims.names().map(str::to_owned).collect::<Vec<_>>();
    let found = claims(json!("acme"));
    assert_eq!(names(&found), ["tenant", "realm.roles"]);
    assert_eq!(found.find("tenant"), Some(&Claim::Text("acme".into())));
    for tenant in [
        json!("x".repeat(1025)),
        json!({"a": 1}),
        json!([1]),
        Value::Null,
    ] {
        assert_eq!(names(&claims(tenant)), ["realm.roles"]);
    }
    // Also of tokens that were verified before.
    kept.replace(&KeptClaims::new(vec!["sub".into(), "realm.roles".into()]));
    let found = claims(json!("acme"));
    assert_eq!(names(&found), ["sub", "realm.roles"]);
    assert_eq!(found.find("sub"), Some(&Claim::Text("robot".into())));
    kept.replace(&KeptClaims::default());
    assert_eq!(claims(json!("acme")), Claims::default());
}

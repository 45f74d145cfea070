//! Clients that prove themselves with a key.

use std::sync::{Arc, atomic::Ordering};

use serde_json::{Value, json};

use super::{
    Answered, Browser, ISSUER, Server, VERIFIER, authorize,
    web::{CLIENT, KEYS, Signer, Web, signing_document},
};
use crate::clients::assertion::TYPE;

/// Exchanges a new code with an assertion.
async fn exchange(server: &Server, assertion: &str, more: &[(&str, &str)]) -> Answered {
    let code = server.code(&mut Browser::default(), CLIENT, &[]).await;
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("code", &*code),
        ("code_verifier", VERIFIER),
        ("client_assertion_type", TYPE),
        ("client_assertion", assertion),
    ];
    form.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
    form.extend(more);
    server.post("/oauth/token", &form).await
}

/// Publishes a client with the key of a signer.
fn published(signer: &Signer) -> (Arc<Web>, Server) {
    let (web, server) = Web::with_server();
    web.publish(CLIENT, &signing_document());
    web.publish(KEYS, &signer.keys());
    (web, server)
}

#[tokio::test]
async fn a_client_proves_itself_with_each_of_the_algorithms() {
    for algorithm in ["RS256", "PS256", "ES256", "EdDSA"] {
        let signer = Signer::new(algorithm);
        let (web, server) = published(&signer);
        for (id, more) in [("1", &[][..]), ("2", &[("client_id", CLIENT)])] {
            let assertion = signer.assertion(&server, id, &[]);
            let answer = exchange(&server, &assertion, more).await;
            assert_eq!(answer.status, 200, "{algorithm}: {answer:?}");
        }
        assert_eq!(web.fetched(), 2, "{algorithm}");
    }
    let signer = Signer::new("ES384");
    let (_, server) = published(&signer);
    let answer = exchange(&server, &signer.assertion(&server, "1", &[]), &[]).await;
    // No key is left that an allowed algorithm may use.
    assert_eq!(answer.error(), "temporarily_unavailable");
}

#[tokio::test]
async fn an_assertion_with_other_claims_proves_nothing() {
    let (signer, stranger) = (Signer::new("EdDSA"), Signer::new("EdDSA"));
    let (_, server) = published(&signer);
    let used = signer.assertion(&server, "1", &[]);
    assert_eq!(exchange(&server, &used, &[]).await.status, 200);
    let now = server.now.load(Ordering::Relaxed);
    let other = "https://app.example/other.json";
    let changed = |name: &str, value: Value| signer.assertion(&server, "2", &[(name, value)]);
    for (name, assertion, expected) in [
        ("used", used, "invalid_client"),
        (
            "a stranger's key",
            stranger.assertion(&server, "2", &[]),
            "invalid_client",
        ),
        (
            "another server",
            changed("aud", json!("https://other.example")),
            "invalid_client",
        ),
        (
            "two servers",
            changed("aud", json!([ISSUER, "https://other.example"])),
            "invalid_client",
        ),
        (
            "another subject",
            changed("sub", json!(other)),
            "invalid_client",
        ),
        // That client has no document.
        (
            "another issuer",
            changed("iss", json!(other)),
            "temporarily_unavailable",
        ),
        ("expired", changed("exp", json!(now)), "invalid_client"),
        (
            "too long",
            changed("exp", json!(now + 601)),
            "invalid_client",
        ),
        ("no number", changed("jti", Value::Null), "invalid_client"),
    ] {
        let answer = exchange(&server, &assertion, &[]).await;
        assert_eq!(answer.error(), expected, "{name}");
    }
    let unused = signer.assertion(&server, "2", &[]);
    assert_eq!(exchange(&server, &unused, &[]).await.status, 200);
}

#[tokio::test]
async fn an_assertion_under_another_header_proves_nothing() {
    let signer = Signer::new("EdDSA");
    let (_, server) = published(&signer);
    let now = server.now.load(Ordering::Relaxed);
    let claims = json!({"iss": CLIENT, "sub": CLIENT, "aud": ISSUER, "jti": "1", "exp": now + 60});
    let token = |algorithm: &str, kid: &str, typ: &str| {
        let header = json!({"alg": algorithm, "kid": kid, "typ": typ});
        signer.sign(&header, &claims)
    };
    let unsigned = token("none", "1", "JWT");
    let unsigned = unsigned.rsplit_once('.').expect("three parts").0.to_owned() + ".";
    for (name, assertion) in [
        ("no algorithm", unsigned),
        ("a secret", token("HS256", "1", "JWT")),
        ("another algorithm", token("ES256", "1", "JWT")),
        ("an unknown key", token("EdDSA", "2", "JWT")),
        ("an access token", token("EdDSA", "1", "at+jwt")),
        (
            "an assertion of another kind",
            token("EdDSA", "1", "oauth-id-jag+jwt"),
        ),
        ("no token", "x".to_owned()),
        ("no claims", "..".to_owned()),
    ] {
        let answer = exchange(&server, &assertion, &[]).await;
        assert_eq!(answer.error(), "invalid_client", "{name}");
    }
    for typ in ["JWT", "client-authentication+jwt"] {
        let header = json!({"alg": "EdDSA", "kid": "1", "typ": typ});
        let mut claims = claims.clone();
        claims["jti"] = json!(typ);
        let assertion = signer.sign(&header, &claims);
        assert_eq!(
            exchange(&server, &assertion, &[]).await.status,
            200,
            "{typ}"
        );
    }
}

#[tokio::test]
async fn an_assertion_is_the_only_proof_of_its_request() {
    let signer = Signer::new("EdDSA");
    let (web, server) = published(&signer);
    for more in [
        ("client_secret", "x"),
        ("client_id", "https://app.example/other.json"),
        (
            "client_assertion_type",
            "urn:ietf:params:oauth:client-assertion-type:saml2-bearer",
        ),
        ("client_assertion_type", ""),
    ] {
        let answer = exchange(&server, &signer.assertion(&server, "1", &[]), &[more]).await;
        assert_eq!(answer.status, 401, "{more:?}");
        assert_eq!(answer.error(), "invalid_client", "{more:?}");
    }
    // Without an assertion the client is nothing, unless its document says so.
    let code = server.code(&mut Browser::default(), CLIENT, &[]).await;
    assert_eq!(
        server.exchange(CLIENT, &code).await.error(),
        "invalid_client"
    );
    let mut document = signing_document();
    document["token_endpoint_auth_methods_supported"] = json!(["none", "private_key_jwt"]);
    web.publish(CLIENT, &document);
    server.wait(600);
    let code = server.code(&mut Browser::default(), CLIENT, &[]).await;
    assert_eq!(server.exchange(CLIENT, &code).await.status, 200);
}

#[tokio::test]
async fn a_client_ends_its_grant_with_an_assertion() {
    let signer = Signer::new("ES256");
    let (_, server) = published(&signer);
    let tokens = exchange(&server, &signer.assertion(&server, "1", &[]), &[])
        .await
        .json();
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    let revoke = async |id: &str| {
        let assertion = signer.assertion(&server, id, &[]);
        let form = [
            ("token", refresh),
            ("client_assertion_type", TYPE),
            ("client_assertion", &assertion),
        ];
        server.post("/oauth/revoke", &form).await.status
    };
    let form = [("token", refresh), ("client_id", CLIENT)];
    assert_eq!(server.post("/oauth/revoke", &form).await.status, 401);
    assert_eq!(revoke("1").await, 401);
    assert_eq!(revoke("2").await, 200);
    let assertion = signer.assertion(&server, "3", &[]);
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh),
        ("client_assertion_type", TYPE),
        ("client_assertion", &assertion),
    ];
    assert_eq!(
        server.post("/oauth/token", &form).await.error(),
        "invalid_grant"
    );
}

#[tokio::test]
async fn a_new_key_of_a_client_is_fetched_but_not_at_each_request() {
    let (mut signer, old) = (Signer::new("EdDSA"), Signer::new("EdDSA"));
    let (web, server) = published(&old);
    assert_eq!(
        exchange(&server, &old.assertion(&server, "1", &[]), &[])
            .await
            .status,
        200
    );
    signer.key["kid"] = json!("2");
    web.publish(KEYS, &signer.keys());
    for (wait, id, status, fetched) in [(0, "2", 401, 2), (299, "3", 401, 2), (1, "4", 200, 3)] {
        server.wait(wait);
        let answer = exchange(&server, &signer.assertion(&server, id, &[]), &[]).await;
        assert_eq!(answer.status, status, "{id}");
        assert_eq!(web.fetched(), fetched, "{id}");
    }
    let stale = exchange(&server, &old.assertion(&server, "5", &[]), &[]).await;
    assert_eq!(stale.error(), "invalid_client");
}

#[tokio::test]
async fn the_code_of_a_skipped_consent_is_worthless_without_the_key() {
    let signer = Signer::new("EdDSA");
    let (web, server) = published(&signer);
    let redirect = "https://app.example/back";
    let mut document = signing_document();
    document["redirect_uris"] = json!([redirect]);
    document["token_endpoint_auth_methods_supported"] = json!(["none"]);
    web.publish(CLIENT, &document);
    let mut browser = Browser::default();
    let more = [("redirect_uri", redirect)];
    server.code(&mut browser, CLIENT, &more).await;
    for has_key in [false, true] {
        let skipped = browser.visit(&server, &authorize(CLIENT, &more)).await;
        assert_eq!(skipped.status, 303, "{skipped:?}");
        let back = skipped.back();
        let code = back.get("code").expect("a code");
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("client_id", CLIENT),
            ("code", code),
            ("code_verifier", VERIFIER),
        ];
        let assertion = signer.assertion(&server, "1", &[]);
        let proof = [
            ("client_assertion_type", TYPE),
            ("client_assertion", &*assertion),
        ];
        form.extend(proof.into_iter().filter(|_| has_key));
        let answer = server.post("/oauth/token", &form).await;
        assert_eq!(answer.status == 200, has_key, "{answer:?}");
        assert!(has_key || answer.error() == "invalid_grant", "{answer:?}");
    }
    // Another name needs a click.
    document["client_name"] = json!("Bank");
    web.publish(CLIENT, &document);
    server.wait(600);
    let page = browser.visit(&server, &authorize(CLIENT, &more)).await;
    assert!(page.body.contains("Allow access?"), "{page:?}");
}

#[tokio::test]
async fn wrong_assertions_are_counted_like_wrong_secrets() {
    let (signer, stranger) = (Signer::new("EdDSA"), Signer::new("EdDSA"));
    let (_, server) = published(&signer);
    for (signer, times, status) in [(&stranger, 30, 401), (&signer, 1, 429)] {
        for _ in 0..times {
            let assertion = signer.assertion(&server, "1", &[]);
            let form = [
                ("token", "x"),
                ("client_assertion_type", TYPE),
                ("client_assertion", &*assertion),
            ];
            let answer = server.post("/oauth/revoke", &form).await;
            assert_eq!(answer.status, status, "{answer:?}");
        }
    }
}

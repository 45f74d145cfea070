//! Tests of the exchange of secrets, and of the tokens.

use std::time::Duration;

use axum::body::Body;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::Request;
use serde_json::{Value, json};
use ziggurat_layers::client_ip::ClientIp;

use ziggurat_sign_in_state::KeyFile;

use crate::{
    TokenSettings, Tokens,
    fixture::{Answer, ISSUER, TestService},
};

fn part(token: &str, at: usize) -> Value {
    let part = token.split('.').nth(at).expect("three parts");
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).expect("base64");
    serde_json::from_slice(&bytes).expect("JSON")
}

async fn exchange(setup: &TestService, address: [u8; 4], id: &str, secret: &str) -> Answer {
    let body = json!({"client_id": id, "client_secret": secret});
    let request = Request::post("/account/v1/oauth/token")
        .header("content-type", "application/json")
        .extension(ClientIp::from_peer((address, 4711).into()))
        .body(Body::from(body.to_string()));
    setup.ask(request.expect("valid parts")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_names_its_issuer_its_audience_its_tenant_and_its_end() {
    for setup in TestService::all().await {
        let (id, secret) = setup.pair.clone();
        let body = json!({"client_id": id, "client_secret": secret,
            "grant_type": "client_credentials"});
        let answer = setup.post("/oauth/token", &body).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.headers["cache-control"], "no-store");
        let answer = answer.json();
        assert_eq!(answer["expires_in"], 3600);
        assert_eq!(answer["token_type"], "Bearer");
        assert_eq!(answer.as_object().map(serde_json::Map::len), Some(3));
        let token = answer["access_token"].as_str().expect("a token");
        let header = part(token, 0);
        assert_eq!(
            (&header["alg"], &header["typ"]),
            (&json!("EdDSA"), &json!("at+jwt"))
        );
        let claims = part(token, 1);
        assert_eq!(claims["iss"], ISSUER);
        assert_eq!(claims["aud"], json!([ISSUER, "https://tools.example/mcp"]));
        assert_eq!(claims["sub"], setup.client.to_string());
        assert_eq!(claims["client_id"], id);
        assert_eq!(claims["tenant"], setup.tenant.to_string());
        assert_eq!(claims["scope"], "mcp");
        assert_eq!(
            claims["exp"],
            claims["iat"].as_i64().expect("a time") + 3600
        );
        assert_ne!(claims["jti"], part(&setup.token, 1)["jti"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_accepted_as_well() {
    let setup = TestService::on_a_file().await;
    let (id, secret) = setup.pair.clone();
    let secret = secret.replace('=', "%3D");
    let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}&x=1");
    let request = |form: String| {
        Request::post("/account/v1/oauth/token")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(form))
            .expect("valid parts")
    };
    assert_eq!(setup.ask(request(form)).await.status, 200);
    let answer = setup.ask(request(format!("client_id={id}"))).await;
    answer.is_refusal(400, "client_secret is required");
    let answer = setup.ask(request("a b\u{7f}".to_owned())).await;
    answer.is_refusal(400, "the body must be a form");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_secret_and_an_unknown_id_get_the_same_answer() {
    for setup in TestService::all().await {
        let (id, secret) = setup.pair.clone();
        let mut said = Vec::new();
        for (id, secret) in [(&*id, "wrong"), ("nobody", &*secret), ("\0", "\0")] {
            let answer = exchange(&setup, [192, 0, 2, 9], id, secret).await;
            answer.is_refusal(401, "invalid client credentials");
            said.push((answer.headers, answer.body));
        }
        assert!(said.iter().all(|answer| *answer == said[0]), "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_invalid_member_is_400() {
    let setup = TestService::on_a_file().await;
    for (body, message) in [
        (json!({}), "client_id is required"),
        (json!({"client_id": "a"}), "client_secret is required"),
        (
            json!({"client_id": "", "client_secret": "b"}),
            "client_id is required",
        ),
        (
            json!({"client_id": "a", "client_secret": ""}),
            "client_secret is required",
        ),
        (
            json!({"client_id": 1, "client_secret": "b"}),
            "client_id must be a string",
        ),
        (
            json!({"client_id": "a", "client_secret": "b", "grant_type": "password"}),
            "grant_type must be client_credentials",
        ),
        (json!("text"), "the body must be a JSON object"),
    ] {
        setup
            .post("/oauth/token", &body)
            .await
            .is_refusal(400, message);
    }
    let request = Request::post("/account/v1/oauth/token").body(Body::from("{}"));
    let answer = setup.ask(request.expect("valid parts")).await;
    assert_eq!(answer.status, 415);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_failures_block_an_address_and_an_id() {
    let setup = TestService::on_a_file().await;
    let (id, secret) = setup.pair.clone();
    let (here, there) = ([198, 51, 100, 1], [198, 51, 100, 2]);
    for _ in 0..30 {
        let answer = exchange(&setup, here, "nobody", "wrong").await;
        assert_eq!(answer.status, 401);
    }
    let answer = exchange(&setup, here, &id, &secret).await;
    answer.is_refusal(429, "too many failed attempts, try again later");
    assert_eq!(answer.headers["retry-after"], "900");
    assert_eq!(answer.headers["ratelimit"], r#""failures";r=0;t=900"#);
    assert_eq!(exchange(&setup, there, &id, &secret).await.status, 200);

    // More failures for this id than one address may have, so several addresses cause them.
    for (address, times) in [(there, 29), ([198, 51, 100, 3], 29), ([198, 51, 100, 4], 2)] {
        for _ in 0..times {
            let answer = exchange(&setup, address, &id, "wrong").await;
            assert_eq!(answer.status, 401);
        }
    }
    let elsewhere = [198, 51, 100, 5];
    let answer = exchange(&setup, elsewhere, &id, &secret).await;
    assert_eq!(
        (
            answer.status.as_u16(),
            answer.headers["retry-after"].as_bytes()
        ),
        (429, &b"60"[..])
    );
    let answer = exchange(&setup, elsewhere, "another", &secret).await;
    assert_eq!(answer.status, 401, "others are not held by it");
    setup.clock.advance(Duration::from_mins(1));
    assert_eq!(exchange(&setup, elsewhere, &id, &secret).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn successful_exchanges_are_never_limited() {
    let setup = TestService::on_a_file().await;
    let (id, secret) = setup.pair.clone();
    for _ in 0..100 {
        let answer = exchange(&setup, [198, 51, 100, 1], &id, &secret).await;
        assert_eq!(answer.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_and_token_of_a_deleted_client_are_invalid_at_once() {
    for setup in TestService::all().await {
        let path = format!("/clients/{}", setup.client);
        let answer = setup.send("DELETE", &path, None).await;
        assert_eq!(
            (answer.status.as_u16(), &*answer.body),
            (204, &b""[..]),
            "itself, too"
        );
        assert_eq!(setup.get("/clients").await.status, 401);
        let (id, secret) = setup.pair.clone();
        let answer = exchange(&setup, [192, 0, 2, 1], &id, &secret).await;
        answer.is_refusal(401, "invalid client credentials");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_or_expired_token_is_refused() {
    let setup = TestService::on_a_file().await;
    let clock = setup.clock.clone();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let other_keys = KeyFile::open(elsewhere.path()).expect("keys");
    let forged = Tokens::new(other_keys, TokenSettings::new(ISSUER), clock.clone());
    let own_keys = || KeyFile::open(setup.folder()).expect("keys");
    let foreign = Tokens::new(
        own_keys(),
        TokenSettings::new("https://else.example"),
        clock,
    );
    let hour = Duration::from_hours(1);
    let for_user = |tokens: &Tokens| tokens.for_user(setup.tenant, setup.owner, hour);
    let (head, rest) = setup.token.split_once('.').expect("three parts");
    let (claims, signature) = rest.split_once('.').expect("three parts");
    let none = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"at+jwt"}"#);
    let other_claims = BASE64_URL_SAFE_NO_PAD.encode(
        part(&setup.token, 1)
            .to_string()
            .replace(&setup.client.to_string(), &setup.tenant.to_string()),
    );
    for token in [
        "x".to_owned(),
        "a.b.c".to_owned(),
        for_user(&forged).expect("signed"),
        for_user(&foreign).expect("signed"),
        format!("{none}.{claims}."),
        format!("{head}.{other_claims}.{signature}"),
        format!("{head}.{claims}.AAAA"),
    ] {
        let answer = setup.send_as(&token, "GET", "/clients", None).await;
        assert_eq!(answer.status, 401, "{token}");
        assert_eq!(answer.json()["code"], 401);
        assert_eq!(
            answer.headers["www-authenticate"],
            "Bearer error=\"invalid_token\""
        );
    }
    let answer = setup.send_as("", "GET", "/clients", None).await;
    assert_eq!(answer.headers["www-authenticate"], "Bearer");
    setup.clock.advance(Duration::from_secs(3599));
    assert_eq!(setup.get("/clients").await.status, 200);
    setup.clock.advance(Duration::from_secs(1));
    assert_eq!(setup.get("/clients").await.status, 401, "it has ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_can_be_replaced_while_its_tokens_are_valid() {
    let setup = TestService::on_a_file().await;
    let keys = setup.tokens.keys();
    keys.rotate(setup.clock.now(), 3600).expect("rotated");
    assert_eq!(setup.get("/clients").await.status, 200, "the old token");
    let new = setup.sign_in(&setup.pair.clone()).await;
    assert_ne!(part(&new, 0)["kid"], part(&setup.token, 0)["kid"]);
    assert_eq!(
        setup.send_as(&new, "GET", "/clients", None).await.status,
        200
    );
    keys.rotate(setup.clock.now(), 0).expect("rotated");
    assert_eq!(setup.get("/clients").await.status, 401);
    assert_eq!(
        setup.send_as(&new, "GET", "/clients", None).await.status,
        401
    );
}

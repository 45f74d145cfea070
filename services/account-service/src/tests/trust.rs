//! Tests of the public documents for servers that trust this one.

use std::time::Duration;

use axum::body::Body;
use http::Request;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, jwk::JwkSet};
use serde_json::{Value, json};

use crate::{
    METADATA,
    fixture::{Answer, ISSUER, TestService},
    well_known::{JWKS, REVOCATIONS},
};

async fn document(setup: &TestService, path: &str, tag: Option<&str>) -> Answer {
    let mut request = Request::get(path);
    if let Some(tag) = tag {
        request = request.header("if-none-match", tag);
    }
    setup
        .ask(request.body(Body::empty()).expect("valid parts"))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_can_be_checked_with_the_published_keys_alone() {
    let setup = TestService::on_a_file().await;
    let answer = document(&setup, JWKS, None).await;
    let keys: JwkSet = serde_json::from_slice(&answer.body).expect("keys");
    let key = DecodingKey::from_jwk(&keys.keys[0]).expect("a key");
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.validate_exp = false;
    validation.set_audience(&["https://tools.example/mcp"]);
    validation.set_issuer(&[ISSUER]);
    decode::<Value>(&setup.token, &key, &validation).expect("good");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metadata_names_all_endpoints() {
    let setup = TestService::on_a_file().await;
    let said = document(&setup, METADATA, None).await.json();
    assert_eq!(said["issuer"], ISSUER);
    assert_eq!(said["jwks_uri"], format!("{ISSUER}{JWKS}"));
    assert_eq!(
        said["revoked_clients_uri"],
        format!("{ISSUER}{REVOCATIONS}")
    );
    assert_eq!(
        said["token_endpoint"],
        format!("{ISSUER}/account/v1/oauth/token")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_client_is_listed_until_its_last_token_has_expired() {
    for setup in TestService::all().await {
        let before = document(&setup, REVOCATIONS, None).await;
        assert_eq!(before.json(), json!({"issuer": ISSUER, "revoked": []}));
        let tag = before.headers["etag"].to_str().expect("text").to_owned();
        let same = document(&setup, REVOCATIONS, Some(&tag)).await;
        assert_eq!((same.status.as_u16(), &*same.body), (304, &b""[..]));

        setup.clock.advance(Duration::from_secs(100));
        setup.sign_in(&setup.pair.clone()).await;
        let path = format!("/clients/{}", setup.client);
        assert_eq!(setup.send("DELETE", &path, None).await.status, 204);
        let after = document(&setup, REVOCATIONS, Some(&tag)).await;
        assert_eq!(after.status, 200);
        let gone = &after.json()["revoked"][0];
        assert_eq!(gone["client"], setup.client.to_string());
        let last_end = setup.clock.now().as_second() + 3600;
        let until = gone["until"].as_i64().expect("a time");
        assert!((last_end..last_end + 600).contains(&until), "{until}");
        setup.clock.advance(Duration::from_hours(1));
        let still = document(&setup, REVOCATIONS, None).await.json();
        assert_eq!(still["revoked"].as_array().map(Vec::len), Some(1));
        setup.clock.advance(Duration::from_mins(10));
        let over = document(&setup, REVOCATIONS, None).await.json();
        assert_eq!(over["revoked"], json!([]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clients_of_a_deleted_tenant_are_listed_too() {
    for setup in TestService::all().await {
        setup
            .store
            .delete_tenant(setup.tenant)
            .await
            .expect("deleted");
        assert_eq!(setup.get("/tenants").await.status, 401);
        let gone = document(&setup, REVOCATIONS, None).await.json();
        assert_eq!(gone["revoked"][0]["client"], setup.client.to_string());
        let error = setup.store.delete_tenant(setup.tenant).await;
        assert_eq!(error.expect_err("gone").to_string(), "tenant not found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_client_without_tokens_is_not_listed() {
    let setup = TestService::on_a_file().await;
    let body = json!({"name": "a", "description": ""});
    let made = setup.post("/clients", &body).await.json();
    let path = format!("/clients/{}", made["id"].as_str().expect("an id"));
    assert_eq!(setup.send("DELETE", &path, None).await.status, 204);
    let said = document(&setup, REVOCATIONS, None).await.json();
    assert_eq!(said["revoked"], json!([]));
}

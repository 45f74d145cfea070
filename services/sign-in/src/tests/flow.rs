//! The ways of people and clients when all is well.

use http::{Request, header::CONTENT_TYPE};
use http_body_util::Full;
use serde_json::json;

use super::{Browser, ISSUER, REDIRECT, RESOURCE, Server, acme, authorize, claims};
use crate::{ManualClient, keys::digest};

#[tokio::test]
async fn a_client_connects_with_a_bare_address() {
    let server = Server::new();
    let about = server
        .get("/.well-known/oauth-protected-resource/mcp")
        .await
        .json();
    assert_eq!(about["resource"], RESOURCE);
    assert_eq!(about["authorization_servers"], json!([ISSUER]));
    let about = server.get("/.well-known/oauth-authorization-server").await;
    assert_eq!(about.headers["access-control-allow-origin"], "*");
    assert_eq!(
        about.json()["registration_endpoint"],
        "https://tools.example/oauth/register"
    );
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let page = browser.sign_in(&server, &client, &[]).await;
    assert!(
        page.body.contains("a name the program gave itself"),
        "{}",
        page.body
    );
    assert!(page.body.contains("The &lt;shop&gt;"), "{}", page.body);
    let form = [("decision", "allow"), ("database.shop", "on")];
    let end = browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await;
    let back = end.back();
    assert!(end.address().starts_with(REDIRECT), "{end:?}");
    assert_eq!(back.get("state"), Some("s t&a=te"));
    let tokens = server
        .exchange(&client, back.get("code").expect("a code"))
        .await;
    assert_eq!(tokens.headers["cache-control"], "no-store");
    let tokens = tokens.json();
    assert_eq!(tokens["scope"], "mcp");
    assert_eq!(tokens["expires_in"], 12 * 3600);
    let claims = claims(&tokens);
    for (claim, expected) in [
        ("iss", json!(ISSUER)),
        ("sub", json!("7")),
        ("aud", json!([RESOURCE])),
        ("client_id", json!(client)),
        ("databases", json!(["shop"])),
        ("groups", json!(["analysts"])),
        ("preferred_username", json!("ann")),
    ] {
        assert_eq!(claims[claim], expected, "{claim}");
    }
}

#[tokio::test]
async fn the_person_decides_whether_a_client_may_write() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let wants = [("scope", "mcp mcp:write openid")];
    let allow = [
        ("decision", "allow"),
        ("write", "on"),
        ("database.logs", "on"),
    ];
    for (shop, expected) in [(true, "mcp mcp:write"), (false, "mcp")] {
        let mut browser = Browser::default();
        let page = browser.sign_in(&server, &client, &wants).await;
        assert!(
            page.body.contains("Inspector asks for this."),
            "{}",
            page.body
        );
        let shop = shop.then_some(("database.shop", "on"));
        let form: Vec<_> = allow.into_iter().chain(shop).collect();
        let end = browser
            .submit(&server, &page, "/oauth/consent", &form)
            .await;
        let code = end.back();
        let tokens = server
            .exchange(&client, code.get("code").expect("a code"))
            .await
            .json();
        // Only the shop allows changes.
        assert_eq!(tokens["scope"], expected);
    }
    let code = server.code(&mut Browser::default(), &client, &wants).await;
    assert_eq!(server.exchange(&client, &code).await.json()["scope"], "mcp");
}

#[tokio::test]
async fn a_person_may_deny_and_must_choose_a_database() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let page = browser.sign_in(&server, &client, &[]).await;
    let nothing = [("decision", "allow")];
    let again = browser
        .submit(&server, &page, "/oauth/consent", &nothing)
        .await;
    assert_eq!(again.status, 400);
    assert!(
        again.body.contains("Choose at least one database."),
        "{}",
        again.body
    );
    let end = browser
        .submit(&server, &again, "/oauth/consent", &[("decision", "deny")])
        .await;
    assert_eq!(end.back().get("error"), Some("access_denied"));
    assert_eq!(end.back().get("iss"), Some(ISSUER));
}

#[tokio::test]
async fn a_session_goes_on_to_the_consent_and_another_account_signs_in() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    browser.sign_in(&server, &client, &[]).await;
    let page = browser.visit(&server, &authorize(&client, &[])).await;
    assert!(page.body.contains("Allow access?"), "{}", page.body);
    let login = browser
        .visit(&server, &authorize(&client, &[("prompt", "login")]))
        .await;
    assert!(login.body.contains("Password"), "{}", login.body);
    let login = browser.submit(&server, &page, "/oauth/logout", &[]).await;
    assert!(login.body.contains("Password"), "{}", login.body);
    let page = browser.visit(&server, &authorize(&client, &[])).await;
    assert!(page.body.contains("Password"), "{}", page.body);
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_or_old() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    for (step, steps) in [(3600, 1), (3000, 15)] {
        let mut browser = Browser::default();
        browser.sign_in(&server, &client, &[]).await;
        for _ in 1..steps {
            server.wait(step);
            browser.visit(&server, &authorize(&client, &[])).await;
        }
        server.wait(step);
        let page = browser.visit(&server, &authorize(&client, &[])).await;
        assert!(page.body.contains("Password"), "{step}");
    }
}

#[tokio::test]
async fn a_refresh_token_is_replaced_and_a_retry_gets_the_same_one() {
    let server = Server::new();
    let (client, tokens) = server.connected().await;
    let first = tokens["refresh_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    let second = server.refresh(&client, &first).await.json();
    let second = second["refresh_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    assert_ne!(first, second);
    server.wait(60);
    let retry = server.refresh(&client, &first).await.json();
    assert_eq!(retry["refresh_token"], *second);
    let third = server.refresh(&client, &second).await.json();
    assert_ne!(third["refresh_token"], *second);
}

#[tokio::test]
async fn a_client_ends_its_grant_with_either_token() {
    for name in ["refresh_token", "access_token"] {
        let server = Server::new();
        let (client, tokens) = server.connected().await;
        let refresh = tokens["refresh_token"].as_str().expect("a token");
        let token = tokens[name].as_str().expect("a token");
        let foreign = server.register("http://127.0.0.1:1/").await;
        for other in [("client_id", &*foreign), ("client_id", &*client)] {
            let answer = server
                .post("/oauth/revoke", &[other, ("token", token)])
                .await;
            assert_eq!(answer.status, 200);
            let is_over = server.refresh(&client, refresh).await.status == 400;
            assert_eq!(is_over, other.1 == client, "{name}");
            if !is_over {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_client_of_the_administrator_proves_its_secret() {
    let client = ManualClient {
        secret_hash: Some(digest(b"se:cret")),
        ..acme(REDIRECT)
    };
    let server = Server::with_client(client);
    for (secret, is_right) in [("se%3Acret", true), ("other", false), ("", false)] {
        let code = server.code(&mut Browser::default(), "acme", &[]).await;
        let pair = format!("acme:{secret}");
        let basic = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, pair);
        let form = super::encoded(&[
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("code_verifier", super::VERIFIER),
        ]);
        let request = Request::post("/oauth/token")
            .header("authorization", format!("Basic {basic}"))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(form));
        let answer = server.send(request.expect("a request")).await;
        assert_eq!(answer.status == 200, is_right, "{answer:?}");
        if !is_right {
            assert_eq!(answer.error(), "invalid_client");
            assert!(answer.headers.contains_key("www-authenticate"));
        }
    }
}

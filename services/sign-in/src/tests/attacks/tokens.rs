//! Tokens: bent, at once, and for other servers, clients and uses.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    Resource, Settings,
    tests::{Browser, ISSUER, REDIRECT, RESOURCE, Server, VERIFIER, claims},
};

const OTHER: &str = "https://other.example/mcp";

/// Creates a server that issues tokens for two others.
fn server() -> Server {
    let resources = [RESOURCE, OTHER].map(|uri| Resource::new(uri, "Tools"));
    Server::with(Settings {
        issuer: ISSUER.to_owned(),
        resources: resources.to_vec(),
        ..Settings::default()
    })
}

fn text<'v>(tokens: &'v Value, name: &str) -> &'v str {
    tokens[name].as_str().expect("a token")
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_refreshes_at_once_make_one_generation() {
    let server = Arc::new(Server::new());
    let (client, tokens) = server.connected().await;
    let mut last = text(&tokens, "refresh_token").to_owned();
    for _ in 0..20 {
        let mut all = JoinSet::new();
        for _ in 0..8 {
            let (server, client, last) = (Arc::clone(&server), client.clone(), last.clone());
            all.spawn(async move { server.refresh(&client, &last).await });
        }
        let mut next: Vec<_> = all.join_all().await;
        assert!(
            next.iter().all(|it| it.status == StatusCode::OK),
            "{next:?}"
        );
        let first = next.pop().expect("eight").json();
        for other in next {
            assert_eq!(other.json()["refresh_token"], first["refresh_token"]);
        }
        assert_ne!(first["refresh_token"], *last);
        last = text(&first, "refresh_token").to_owned();
    }
}

#[tokio::test]
async fn no_bit_of_a_token_can_be_flipped_and_a_guess_ends_nothing() {
    let server = Server::new();
    let (client, tokens) = server.connected().await;
    let refresh = text(&tokens, "refresh_token");
    let bytes = refresh.strip_prefix("zrt_").expect("its beginning");
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(bytes).expect("base64url");
    assert_eq!(bytes.len(), 16 + 4 + 24);
    for bit in 0..bytes.len() * 8 {
        let mut bent = bytes.clone();
        bent[bit / 8] ^= 1 << (bit % 8);
        let bent = format!("zrt_{}", BASE64_URL_SAFE_NO_PAD.encode(bent));
        let refused = server.refresh(&client, &bent).await;
        assert_eq!(refused.error(), "invalid_grant", "{bit}");
        let form = [("client_id", &*client), ("token", &bent)];
        server.post("/oauth/revoke", &form).await;
    }
    let access = text(&tokens, "access_token");
    // The last letter has bits that stand for nothing.
    for place in 0..access.len() - 1 {
        let mut bent = access.as_bytes().to_vec();
        bent[place] ^= 1;
        let bent = String::from_utf8(bent).expect("ASCII");
        let form = [("client_id", &*client), ("token", &bent)];
        server.post("/oauth/revoke", &form).await;
    }
    let good = server.refresh(&client, refresh).await;
    assert_eq!(good.status, StatusCode::OK, "{good:?}");
}

/// CVE-2026-67332: the audience comes from the grant, never from a later request.
#[tokio::test]
async fn the_audience_of_a_grant_changes_at_no_later_request() {
    let server = server();
    let client = server.register(REDIRECT).await;
    let code = server.code(&mut Browser::default(), &client, &[]).await;
    let form = |more: (&'static str, &'static str)| {
        [
            ("grant_type", "authorization_code"),
            ("client_id", &*client),
            ("code", &*code),
            ("code_verifier", VERIFIER),
            more,
        ]
    };
    let elsewhere = server
        .post("/oauth/token", &form(("resource", OTHER)))
        .await;
    assert_eq!(elsewhere.error(), "invalid_target");

    let code = server.code(&mut Browser::default(), &client, &[]).await;
    let tokens = server.exchange(&client, &code).await.json();
    assert_eq!(claims(&tokens)["aud"], json!([RESOURCE]));
    let mut refresh = text(&tokens, "refresh_token").to_owned();
    for (name, value, is_refused) in [
        ("resource", OTHER, true),
        ("resource", "https://tools.example.evil.example/mcp", true),
        ("resource", "https://tools.example@evil.example/mcp", true),
        ("resource", "https://tools.example/mcp/../other", true),
        ("resource", "http://tools.example/mcp", true),
        ("resource", "https://TOOLS.example:443/mcp/", false),
        ("audience", OTHER, false),
        ("aud", OTHER, false),
    ] {
        let form = [
            ("grant_type", "refresh_token"),
            ("client_id", &*client),
            ("refresh_token", &*refresh),
            (name, value),
        ];
        let answer = server.post("/oauth/token", &form).await;
        if is_refused {
            assert_eq!(answer.error(), "invalid_target", "{value}");
            continue;
        }
        let tokens = answer.json();
        assert_eq!(claims(&tokens)["aud"], json!([RESOURCE]), "{name}={value}");
        text(&tokens, "refresh_token").clone_into(&mut refresh);
    }
}

#[tokio::test]
async fn a_scope_does_not_grow_at_an_exchange_or_after_it_shrank() {
    let server = server();
    let client = server.register(REDIRECT).await;
    let code = server.code(&mut Browser::default(), &client, &[]).await;
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", &*client),
        ("code", &*code),
        ("code_verifier", VERIFIER),
        ("scope", "mcp mcp:write offline_access"),
    ];
    let tokens = server.post("/oauth/token", &form).await.json();
    assert_eq!(
        (&tokens["scope"], &claims(&tokens)["scope"]),
        (&json!("mcp"), &json!("mcp"))
    );
    for scope in [
        "mcp:write",
        "mcp MCP:WRITE",
        "mcp\tmcp:write",
        "mcp openid",
        "*",
    ] {
        let form = [
            ("grant_type", "refresh_token"),
            ("client_id", &*client),
            ("refresh_token", text(&tokens, "refresh_token")),
            ("scope", scope),
        ];
        let refused = server.post("/oauth/token", &form).await;
        assert_eq!(refused.error(), "invalid_scope", "{scope}");
    }
}

#[tokio::test]
async fn a_token_of_one_kind_or_client_is_not_a_token_of_another() {
    let server = Server::new();
    let (client, tokens) = server.connected().await;
    let mut browser = Browser::default();
    let code = server.code(&mut browser, &client, &[]).await;
    let other = server.register("http://127.0.0.1/other").await;
    let refresh = text(&tokens, "refresh_token");
    let cookie = browser.cookies.values().next().expect("a cookie");
    for (client, token) in [
        (&other, refresh),
        (&client, text(&tokens, "access_token")),
        (&client, &*code),
        (&client, cookie),
    ] {
        let refused = server.refresh(client, token).await;
        assert_eq!(refused.error(), "invalid_grant", "{token}");
    }
    for token in [refresh, text(&tokens, "access_token"), cookie] {
        let refused = server.exchange(&client, token).await;
        assert_eq!(refused.error(), "invalid_grant", "{token}");
    }
    // None of it used anything up.
    assert_eq!(
        server.refresh(&client, refresh).await.status,
        StatusCode::OK
    );
    assert_eq!(server.exchange(&client, &code).await.status, StatusCode::OK);
}

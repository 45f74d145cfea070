//! Devices without a browser (RFC 8628).

use bytes::Bytes;
use http::{Request, header::CONTENT_TYPE};
use http_body_util::Full;
use serde_json::{Value, json};
use ziggurat_layers::client_ip::ClientIp;

use super::{Answered, Browser, ISSUER, RESOURCE, Server, claims, encoded};
use crate::{ManualClient, Resource, Settings, documents::DEVICE_CODE};

/// Creates a server with a public client for devices and another one.
fn server() -> Server {
    let client = |id: &str| ManualClient {
        id: id.to_owned(),
        name: "Command line".to_owned(),
        redirect_uris: vec!["http://127.0.0.1/callback".to_owned()],
        secret_hash: None,
        skip_consent: false,
    };
    Server::with(Settings {
        issuer: ISSUER.to_owned(),
        resources: vec![Resource::new(RESOURCE, "Tools")],
        clients: vec![client("cli"), client("tv"), client("other")],
        device_clients: ["cli", "tv"].map(str::to_owned).to_vec(),
        ..Settings::default()
    })
}

async fn start(server: &Server) -> Value {
    let form = [("client_id", "cli"), ("scope", "mcp mcp:write")];
    let answer = server.post("/oauth/device_authorization", &form).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn text<'v>(codes: &'v Value, name: &str) -> &'v str {
    codes[name].as_str().expect(name)
}

async fn poll(server: &Server, client: &str, codes: &Value) -> Answered {
    let form = [
        ("grant_type", DEVICE_CODE),
        ("client_id", client),
        ("device_code", text(codes, "device_code")),
    ];
    server.post("/oauth/token", &form).await
}

/// Types the code of a device, and signs ann in.
async fn choose(browser: &mut Browser, server: &Server, user_code: &str) -> Answered {
    let page = browser.visit(server, "/oauth/device").await;
    let form = [("user_code", user_code)];
    let login = browser.submit(server, &page, "/oauth/device", &form).await;
    assert!(
        login
            .body
            .contains("Sign in to connect <strong>Command line"),
        "{login:?}"
    );
    let form = [("name", "ann"), ("password", "right")];
    browser.submit(server, &login, "/oauth/login", &form).await
}

#[tokio::test]
async fn a_device_gets_what_a_person_allows_on_another_one() {
    let server = server();
    let codes = start(&server).await;
    assert_eq!(
        (&codes["expires_in"], &codes["interval"]),
        (&json!(600), &json!(5))
    );
    let (page, code) = (text(&codes, "verification_uri"), text(&codes, "user_code"));
    assert_eq!(page, "https://tools.example/oauth/device");
    let complete = format!("{page}?user_code={code}");
    assert_eq!(text(&codes, "verification_uri_complete"), complete);
    assert_eq!(
        poll(&server, "cli", &codes).await.error(),
        "authorization_pending"
    );
    let mut browser = Browser::default();
    let lower = code.to_lowercase().replace('-', " ");
    let consent = choose(&mut browser, &server, &lower).await;
    let warning = "Only go on if you started this on a device in front of you.";
    assert!(consent.body.contains(warning), "{}", consent.body);
    let form = [
        ("decision", "allow"),
        ("write", "on"),
        ("database.shop", "on"),
    ];
    for _ in 0..2 {
        let end = browser
            .submit(&server, &consent, "/oauth/consent", &form)
            .await;
        assert!(end.body.contains("The device can go on."), "{end:?}");
    }
    let tokens = poll(&server, "cli", &codes).await;
    assert_eq!(tokens.headers["cache-control"], "no-store");
    let tokens = tokens.json();
    assert_eq!(tokens["scope"], "mcp mcp:write");
    let claims = claims(&tokens);
    assert_eq!(
        (&claims["sub"], &claims["databases"]),
        (&json!("7"), &json!(["shop"]))
    );
    let refresh = text(&tokens, "refresh_token");
    let next = server.refresh("cli", refresh).await;
    assert_eq!(next.status, 200);
    let events = server.events();
    assert!(events.contains(&"device.approved"), "{events:?}");
    // A second use ends the grant.
    assert_eq!(poll(&server, "cli", &codes).await.error(), "invalid_grant");
    let next = next.json();
    let next = server.refresh("cli", text(&next, "refresh_token")).await;
    assert_eq!(next.error(), "invalid_grant");
}

#[tokio::test]
async fn a_page_asks_for_the_code_also_if_the_address_has_it() {
    let server = server();
    let codes = start(&server).await;
    let mut browser = Browser::default();
    let complete = text(&codes, "verification_uri_complete");
    let page = browser
        .visit(&server, complete.strip_prefix(ISSUER).expect("our own"))
        .await;
    let field = format!("name=\"user_code\" value=\"{}\"", text(&codes, "user_code"));
    assert!(page.body.contains(&field), "{}", page.body);
    let hostile = "/oauth/device?user_code=%22%3E%3Cscript%3E";
    let page = browser.visit(&server, hostile).await;
    assert!(
        page.body.contains("name=\"user_code\" value=\"\""),
        "{}",
        page.body
    );
}

#[tokio::test]
async fn a_device_that_asks_too_often_waits_five_seconds_more_each_time() {
    let server = server();
    let codes = start(&server).await;
    for (wait, expected) in [
        (0, "authorization_pending"),
        (5, "authorization_pending"),
        (4, "slow_down"),
        (9, "slow_down"),
        (14, "slow_down"),
        (20, "authorization_pending"),
        (20, "authorization_pending"),
        (528, "expired_token"),
    ] {
        server.wait(wait);
        assert_eq!(
            poll(&server, "cli", &codes).await.error(),
            expected,
            "{wait}"
        );
    }
    server.wait(4000);
    assert_eq!(poll(&server, "cli", &codes).await.error(), "invalid_grant");
}

#[tokio::test]
async fn a_person_denies_a_device_and_nothing_undoes_it() {
    let server = server();
    let codes = start(&server).await;
    let mut browser = Browser::default();
    let consent = choose(&mut browser, &server, text(&codes, "user_code")).await;
    let form = [("decision", "deny")];
    let end = browser
        .submit(&server, &consent, "/oauth/consent", &form)
        .await;
    assert!(end.body.contains("The device got no access."), "{end:?}");
    let form = [("decision", "allow"), ("database.shop", "on")];
    let late = browser
        .submit(&server, &consent, "/oauth/consent", &form)
        .await;
    assert_eq!(late.status, 400, "{late:?}");
    assert_eq!(poll(&server, "cli", &codes).await.error(), "access_denied");
    assert_eq!(server.events().last(), Some(&"device.denied"));
}

#[tokio::test]
async fn a_device_code_is_worthless_to_another_client_and_after_ten_minutes() {
    let server = server();
    let codes = start(&server).await;
    let mut browser = Browser::default();
    let consent = choose(&mut browser, &server, text(&codes, "user_code")).await;
    let form = [("decision", "allow"), ("database.shop", "on")];
    browser
        .submit(&server, &consent, "/oauth/consent", &form)
        .await;
    assert_eq!(
        poll(&server, "other", &codes).await.error(),
        "unauthorized_client"
    );
    assert_eq!(poll(&server, "tv", &codes).await.error(), "invalid_grant");
    let other = server.register(super::REDIRECT).await;
    assert_eq!(
        poll(&server, &other, &codes).await.error(),
        "unauthorized_client"
    );
    let form = [("client_id", &*other)];
    let refused = server.post("/oauth/device_authorization", &form).await;
    assert_eq!(refused.error(), "unauthorized_client");
    server.wait(600);
    assert_eq!(poll(&server, "cli", &codes).await.error(), "expired_token");
    let codes = start(&server).await;
    server.wait(600);
    let page = browser.visit(&server, "/oauth/device").await;
    let form = [("user_code", text(&codes, "user_code"))];
    let late = browser.submit(&server, &page, "/oauth/device", &form).await;
    assert!(
        late.body.contains("The code is wrong or has expired."),
        "{late:?}"
    );
}

#[tokio::test]
async fn ten_wrong_codes_close_the_page_for_their_address() {
    let server = server();
    let codes = start(&server).await;
    let mut browser = Browser::default();
    let page = browser.visit(&server, "/oauth/device").await;
    let cookie = browser.header();
    let guess = async |number, code: &str| {
        let mut request = Request::post("/oauth/device")
            .header("cookie", &cookie)
            .header("origin", ISSUER)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::<Bytes>::from(encoded(&[
                ("flow", page.flow()),
                ("user_code", code),
            ])))
            .expect("a request");
        let peer = ClientIp::from_peer(([192, 0, 2, number], 4711).into());
        request.extensions_mut().insert(peer);
        server.send(request).await.status.as_u16()
    };
    let right = text(&codes, "user_code");
    for _ in 0..20 {
        assert_eq!(guess(1, right).await, 200);
    }
    for wrong in 0..10 {
        assert_eq!(guess(1, "BCDF-BCDF").await, 400, "{wrong}");
    }
    assert_eq!(guess(1, right).await, 429);
    assert_eq!(guess(2, right).await, 200);
}

#[tokio::test]
async fn a_code_of_a_device_is_read_from_its_own_page_only() {
    let server = server();
    let codes = start(&server).await;
    let mut browser = Browser::default();
    let page = browser.visit(&server, "/oauth/account").await;
    let form = [("user_code", text(&codes, "user_code"))];
    let refused = browser.submit(&server, &page, "/oauth/device", &form).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(
        refused.body.contains("This sign-in has expired."),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_server_without_devices_says_nothing_of_them() {
    let server = Server::new();
    for path in ["/oauth/device", "/oauth/device_authorization"] {
        assert_eq!(server.post(path, &[]).await.status, 404);
        assert_eq!(server.get(path).await.status, 404);
    }
    let path = "/.well-known/oauth-authorization-server";
    assert!(!server.get(path).await.body.contains("device"));
    let document = self::server().get(path).await.json();
    assert!(document["device_authorization_endpoint"].is_string());
    let grants = document["grant_types_supported"]
        .as_array()
        .expect("a list");
    assert!(grants.contains(&json!(DEVICE_CODE)));
    let form = [("grant_type", DEVICE_CODE), ("client_id", "cli")];
    let refused = server.post("/oauth/token", &form).await;
    assert_eq!(refused.error(), "unsupported_grant_type");
}

//! Documents of clients that are fetched.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::json;
use ziggurat_layers::client_ip::ClientIp;

use super::{
    Answered, Browser, Server, authorize, claims,
    web::{CLIENT, Web, document},
};

const HOUR: u64 = 3600;
const UNREADABLE: &str = "What app.example says about the program could not be read.";

/// Asks for the page of a client.
async fn page(server: &Server, client: &str) -> Answered {
    server.get(&authorize(client, &[])).await
}

#[tokio::test]
async fn a_client_connects_by_a_document_that_is_fetched_once() {
    let (web, server) = Web::with_server();
    web.publish(CLIENT, &document());
    let about = server
        .get("/.well-known/oauth-authorization-server")
        .await
        .json();
    assert_eq!(about["client_id_metadata_document_supported"], true);
    let methods = &about["token_endpoint_auth_methods_supported"];
    assert_eq!(methods[3], "private_key_jwt");
    let algorithms = &about["token_endpoint_auth_signing_alg_values_supported"];
    assert_eq!(*algorithms, json!(["RS256", "PS256", "ES256", "EdDSA"]));
    let mut browser = Browser::default();
    let page = browser.sign_in(&server, CLIENT, &[]).await;
    assert!(
        page.body.contains("App: published by app.example<"),
        "{}",
        page.body
    );
    let code = server.code(&mut browser, CLIENT, &[]).await;
    let tokens = server.exchange(CLIENT, &code).await.json();
    assert_eq!(claims(&tokens)["client_id"], CLIENT);
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    assert_eq!(server.refresh(CLIENT, refresh).await.status, 200);
    assert_eq!(web.fetched(), 1);
}

#[tokio::test]
async fn requests_at_the_same_time_wait_for_one_fetch() {
    let (web, server) = Web::with_server();
    web.publish(CLIENT, &document());
    let (one, other, third) = tokio::join!(
        page(&server, CLIENT),
        page(&server, CLIENT),
        page(&server, CLIENT)
    );
    assert_eq!(
        [one.status, other.status, third.status],
        [StatusCode::OK; 3]
    );
    assert_eq!(web.fetched(), 1);
    let missing = "https://app.example/other.json";
    let (one, other) = tokio::join!(page(&server, missing), page(&server, missing));
    assert_eq!([one.status, other.status], [StatusCode::BAD_GATEWAY; 2]);
    assert_eq!(web.fetched(), 2);
}

#[tokio::test]
async fn a_copy_is_fresh_as_its_host_says_and_good_a_day_longer() {
    let (web, server) = Web::with_server();
    web.publish(CLIENT, &document());
    for (wait, expected) in [(0, 1), (599, 1), (1, 2)] {
        server.wait(wait);
        assert_eq!(page(&server, CLIENT).await.status, 200);
        assert_eq!(web.fetched(), expected);
    }
    web.go_down();
    server.wait(600);
    for (wait, expected) in [(0, 3), (59, 3), (1, 4), (23 * HOUR, 5), (HOUR - 120, 6)] {
        server.wait(wait);
        assert_eq!(page(&server, CLIENT).await.status, 200, "{expected}");
        assert_eq!(web.fetched(), expected);
    }
    server.wait(61);
    let failed = page(&server, CLIENT).await;
    assert_eq!(failed.status, StatusCode::BAD_GATEWAY);
    assert!(failed.body.contains(UNREADABLE), "{}", failed.body);
    let form = [
        ("grant_type", "refresh_token"),
        ("client_id", CLIENT),
        ("refresh_token", "x"),
    ];
    let answer = server.post("/oauth/token", &form).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.error(), "temporarily_unavailable");
    web.publish(CLIENT, &document());
    server.wait(60);
    assert_eq!(page(&server, CLIENT).await.status, 200);
}

#[tokio::test]
async fn a_built_in_copy_stands_in_for_a_host_that_is_down() {
    let (web, server) = Web::with_server();
    let client = "https://zed.dev/oauth/client-metadata.json";
    let redirect = "http://127.0.0.1:9/callback";
    let more = [("redirect_uri", redirect)];
    let path = authorize(client, &more);
    assert_eq!(server.get(&path).await.status, 200);
    assert_eq!(web.fetched(), 1);
    web.publish(
        client,
        &json!({"client_id": client, "client_name": "Zed 2", "redirect_uris": [redirect]}),
    );
    server.wait(60);
    let page = server.get(&path).await;
    assert!(page.body.contains("Zed 2"), "{}", page.body);
}

#[tokio::test]
async fn an_answer_that_breaks_a_rule_is_not_read() {
    let good = document().to_string();
    let long = format!("{good}{}", " ".repeat(65 << 10));
    let other = good.replace("client.json", "other.json");
    let twice = good.replacen('{', "{\"client_name\":\"Bank\",", 1);
    let json = "application/json";
    for (status, media_type, body) in [
        (404, json, &*good),
        (500, json, &good),
        (204, json, ""),
        (301, json, &good),
        (302, json, &good),
        (307, json, &good),
        (200, "text/html", &good),
        (200, "", &good),
        (200, json, &long),
        (200, json, &other),
        (200, json, &twice),
        (200, json, "[]"),
        (200, json, "\u{feff}{}"),
    ] {
        let (web, server) = Web::with_server();
        let answer = Response::builder()
            .status(status)
            .header("content-type", media_type)
            .header("location", "https://app.example/elsewhere.json")
            .body(Bytes::from(body.to_owned()));
        web.answer(CLIENT, answer.expect("an answer"));
        web.publish("https://app.example/elsewhere.json", &document());
        let page = page(&server, CLIENT).await;
        assert_eq!(
            page.status,
            StatusCode::BAD_GATEWAY,
            "{status} {media_type}"
        );
        assert!(page.body.contains(UNREADABLE), "{}", page.body);
        assert_eq!(web.fetched(), 1, "{status} {media_type}");
    }
}

#[tokio::test]
async fn a_client_cannot_have_this_server_fetch_without_limit() {
    let (web, server) = Web::with_server();
    web.publish(CLIENT, &document());
    assert_eq!(page(&server, CLIENT).await.status, 200);
    let ask = async |address: &str, file: u32| {
        let client = format!("https://app.example/{file}.json");
        let address = address.parse().expect("an address");
        let request = Request::get(authorize(&client, &[]))
            .extension(ClientIp::from_peer(address))
            .body(Full::default());
        server.send(request.expect("a request")).await.status
    };
    for file in 0..20 {
        assert_eq!(ask("192.0.2.1:1", file).await, StatusCode::BAD_GATEWAY);
    }
    assert_eq!(web.fetched(), 11);
    for host in 2..20 {
        for file in 0..10 {
            ask(&format!("192.0.2.{host}:1"), host * 100 + file).await;
        }
    }
    assert_eq!(web.fetched(), 60);
    // A copy that is there is as good as before.
    assert_eq!(page(&server, CLIENT).await.status, 200);
    server.wait(60);
    ask("192.0.2.1:1", 99).await;
    assert_eq!(web.fetched(), 61);
}

#[tokio::test]
async fn the_page_of_the_account_shows_a_client_without_a_fetch() {
    let (web, server) = Web::with_server();
    web.publish(CLIENT, &document());
    let mut browser = Browser::default();
    server.code(&mut browser, CLIENT, &[]).await;
    assert!(server.events().contains(&"client.fetched"));
    web.go_down();
    server.wait(600);
    let account = browser.visit(&server, "/oauth/account").await;
    assert!(
        account.body.contains("published by app.example<"),
        "{}",
        account.body
    );
    assert_eq!(web.fetched(), 1);
    page(&server, CLIENT).await;
    assert_eq!(server.events().last(), Some(&"client.refused"));
}

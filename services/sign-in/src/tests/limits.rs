//! Limits of what an address or a client may ask for.

use bytes::Bytes;
use http::{Request, header::CONTENT_TYPE};
use http_body_util::Full;
use serde_json::json;
use ziggurat_layers::client_ip::ClientIp;

use super::{Answered, Browser, REDIRECT, Server, acme, authorize, encoded};

/// Sends a request from an address with this last number.
async fn send_from(server: &Server, number: u8, request: Request<Full<Bytes>>) -> Answered {
    let mut request = request;
    let peer = ClientIp::from_peer(([192, 0, 2, number], 4711).into());
    request.extensions_mut().insert(peer);
    server.send(request).await
}

#[tokio::test]
async fn an_address_asks_for_sixty_sign_ins_a_minute() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let ask = async |number| {
        let request = Request::get(authorize(&client, &[])).body(Full::default());
        send_from(&server, number, request.expect("a request")).await
    };
    for _ in 0..60 {
        assert_eq!(ask(1).await.status, 200);
    }
    let refused = ask(1).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.headers["retry-after"], "1");
    assert!(
        refused.body.contains("There were too many attempts."),
        "{}",
        refused.body
    );
    assert_eq!(ask(2).await.status, 200);
    server.wait(1);
    assert_eq!(ask(1).await.status, 200);
}

#[tokio::test]
async fn an_address_registers_twenty_new_clients_an_hour_and_any_that_is_known() {
    let server = Server::new();
    let register = async |number, name: &str| {
        let metadata = json!({"client_name": name, "redirect_uris": [REDIRECT]});
        let request = Request::post("/oauth/register").body(Full::from(metadata.to_string()));
        send_from(&server, number, request.expect("a request")).await
    };
    for number in 0..20 {
        assert_eq!(register(1, &number.to_string()).await.status, 201);
    }
    let refused = register(1, "one more").await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.error(), "temporarily_unavailable");
    assert_eq!(refused.headers["retry-after"], "180");
    assert_eq!(register(1, "7").await.status, 201);
    assert_eq!(register(2, "one more").await.status, 201);
}

#[tokio::test]
async fn wrong_secrets_are_refused_by_address_and_then_by_client() {
    let server = Server::with_client(acme(REDIRECT));
    let exchange = async |number, client: &str, secret: &str, code: &str| {
        let form = encoded(&[
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("client_secret", secret),
            ("code", code),
            ("code_verifier", super::VERIFIER),
        ]);
        let request = Request::post("/oauth/token")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(form));
        send_from(&server, number, request.expect("a request")).await
    };
    // Bad codes and unknown clients count nothing.
    for _ in 0..100 {
        let bad = exchange(1, "acme", "right", "zac_bad").await;
        assert_eq!(bad.error(), "invalid_grant");
        assert_eq!(exchange(1, "other", "any", "x").await.status, 401);
    }
    for number in [1, 2] {
        for _ in 0..30 {
            assert_eq!(exchange(number, "acme", "wrong", "x").await.status, 401);
        }
        let refused = exchange(number, "acme", "right", "x").await;
        assert_eq!(
            (refused.status, &*refused.error()),
            (429.try_into().expect("a status"), "invalid_client")
        );
        assert!(refused.headers.contains_key("retry-after"));
    }
    let code = server.code(&mut Browser::default(), "acme", &[]).await;
    assert_eq!(exchange(3, "acme", "right", &code).await.status, 429);
    server.wait(60);
    let code = server.code(&mut Browser::default(), "acme", &[]).await;
    assert_eq!(exchange(3, "acme", "right", &code).await.status, 200);
    assert_eq!(exchange(1, "acme", "right", &code).await.status, 429);
}

//! A hostile server that names the pages of this one as its own (RFC 9700, section 4.4), and programs
//! that register to deceive people.

use http::StatusCode;
use serde_json::json;

use crate::{
    ManualClient, Settings,
    clients::assertion::TYPE,
    tests::{
        Answered, Browser, ISSUER, REDIRECT, RESOURCE, Server, VERIFIER, acme, authorize,
        web::{CLIENT, KEYS, Signer, Web, document, signing_document},
    },
};

/// The token endpoint of the hostile server, for which a client makes its assertion.
const HOSTILE: &str = "https://evil.example";

const CLAUDE: &str = "https://claude.ai/api/mcp/auth_callback";

const BACK: &str = "https://app.example/back";

/// Returns the client of the tests, with an address that is https.
fn hosted(mut document: serde_json::Value) -> serde_json::Value {
    document["redirect_uris"] = json!([BACK]);
    document
}

/// Lets ann allow a client everything that she may, and returns her browser.
async fn allowed_before(server: &Server, client: &str, redirect: &str) -> Browser {
    let mut browser = Browser::default();
    let more = [("redirect_uri", redirect), ("scope", "mcp offline_access")];
    server.code(&mut browser, client, &more).await;
    browser
}

#[tokio::test]
async fn each_answer_to_a_client_names_this_server() {
    let server = Server::with_client(ManualClient {
        skip_consent: true,
        ..acme(CLAUDE)
    });
    let stranger = server.register(CLAUDE).await;
    let mut browser = Browser::default();
    let to = ("redirect_uri", CLAUDE);
    let assert_named = |answer: &Answered, expected: &str| {
        let back = answer.back();
        assert_eq!(back.get("iss"), Some(ISSUER), "{expected}: {answer:?}");
        assert_eq!(back.get("state"), Some("s t&a=te"), "{expected}");
        let named = back.get("error").or(back.get("code").map(|_| "code"));
        assert_eq!(named, Some(expected), "{answer:?}");
    };
    for client in ["acme", &stranger] {
        for (more, expected) in [
            (("code_challenge", ""), "invalid_request"),
            (("response_type", "token"), "unsupported_response_type"),
            (
                ("request_uri", "https://evil.example"),
                "request_uri_not_supported",
            ),
            (("resource", "https://other.example"), "invalid_target"),
            (("prompt", "none"), "login_required"),
        ] {
            let answer = server.get(&authorize(client, &[to, more])).await;
            assert_named(&answer, expected);
        }
    }
    let page = browser.sign_in(&server, "acme", &[to]).await;
    let none = authorize("acme", &[to, ("prompt", "none")]);
    assert_named(&browser.visit(&server, &none).await, "consent_required");
    let deny = [("decision", "deny")];
    let denied = browser
        .submit(&server, &page, "/oauth/consent", &deny)
        .await;
    assert_named(&denied, "access_denied");
    let allow = [("decision", "allow"), ("database.shop", "on")];
    let end = browser
        .submit(&server, &page, "/oauth/consent", &allow)
        .await;
    assert_named(&end, "code");
    let skipped = browser.visit(&server, &authorize("acme", &[to])).await;
    assert_eq!(skipped.status, StatusCode::SEE_OTHER);
    assert_named(&skipped, "code");
}

/// The client ignores `iss`, and sends code and verifier to a hostile server. Only a click, or a key
/// that the hostile server has not, helps.
#[tokio::test]
async fn a_client_that_obeys_a_hostile_server_brings_it_no_code_without_a_click() {
    let (web, server) = Web::with_settings(Settings {
        issuer: ISSUER.to_owned(),
        resources: vec![crate::Resource::new(RESOURCE, "Tools")],
        clients: vec![
            ManualClient {
                secret_hash: None,
                skip_consent: true,
                ..acme(BACK)
            },
            ManualClient {
                id: "desktop".to_owned(),
                skip_consent: true,
                ..acme(REDIRECT)
            },
        ],
        ..Settings::default()
    });
    web.publish(CLIENT, &hosted(document()));
    let registered = server.register(CLAUDE).await;
    let metadata = json!({"redirect_uris": [CLAUDE],
        "token_endpoint_auth_method": "client_secret_post"});
    let with_secret = server.register_with(&metadata).await.json();
    let with_secret = with_secret["client_id"].as_str().expect("an id");
    for (client, redirect) in [
        (&*registered, CLAUDE),
        (with_secret, CLAUDE),
        ("acme", BACK),
        ("desktop", REDIRECT),
        (CLIENT, BACK),
        ("https://claude.ai/oauth/mcp-oauth-client-metadata", CLAUDE),
    ] {
        let mut browser = allowed_before(&server, client, redirect).await;
        let more = [("redirect_uri", redirect)];
        let page = browser.visit(&server, &authorize(client, &more)).await;
        assert_eq!(page.status, StatusCode::OK, "{client}: {page:?}");
        assert!(page.body.contains("Allow access?"), "{client}: {page:?}");
        let more = [more[0], ("prompt", "none")];
        let none = browser.visit(&server, &authorize(client, &more)).await;
        let back = none.back();
        assert_eq!(back.get("error"), Some("consent_required"), "{client}");
        assert_eq!(back.get("code"), None, "{client}");
    }
}

/// GHSA-6x8h-498w-gv8c: the hostile server has code and verifier, and even an assertion that the client
/// made for its own endpoint.
#[tokio::test]
async fn a_hostile_server_cannot_use_the_code_of_a_skipped_consent() {
    let (signer, stranger) = (Signer::new("ES256"), Signer::new("ES256"));
    let (web, server) = Web::with_server();
    let mut document = hosted(signing_document());
    document["token_endpoint_auth_methods_supported"] = json!(["none"]);
    web.publish(CLIENT, &document);
    web.publish(KEYS, &signer.keys());
    let mut browser = allowed_before(&server, CLIENT, BACK).await;
    let for_hostile = signer.assertion(&server, "1", &[("aud", json!(HOSTILE))]);
    let for_both = signer.assertion(&server, "2", &[("aud", json!([HOSTILE, ISSUER]))]);
    let forged = stranger.assertion(&server, "3", &[]);
    for (assertion, expected) in [
        (None, "invalid_grant"),
        (Some(for_hostile), "invalid_client"),
        (Some(for_both), "invalid_client"),
        (Some(forged), "invalid_client"),
    ] {
        let more = [("redirect_uri", BACK)];
        let skipped = browser.visit(&server, &authorize(CLIENT, &more)).await;
        assert_eq!(skipped.status, StatusCode::SEE_OTHER, "{skipped:?}");
        let back = skipped.back();
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("client_id", CLIENT),
            ("code", back.get("code").expect("a code")),
            ("code_verifier", VERIFIER),
            ("redirect_uri", BACK),
        ];
        if let Some(assertion) = &assertion {
            form.push(("client_assertion_type", TYPE));
            form.push(("client_assertion", assertion));
        }
        let answer = server.post("/oauth/token", &form).await;
        assert_eq!(answer.error(), expected, "{assertion:?}");
        // Another client of the hostile server cannot have it either.
        let own = server.register(REDIRECT).await;
        form.retain(|(name, _)| !name.starts_with("client_"));
        form.push(("client_id", &*own));
        let answer = server.post("/oauth/token", &form).await;
        assert_eq!(answer.error(), "invalid_grant", "{assertion:?}");
    }
}

#[tokio::test]
async fn a_program_that_registers_a_known_name_gets_no_address_of_its_own_and_no_trust() {
    let server = Server::new();
    for redirect in [
        "https://evil.example/callback",
        "https://claude.ai.evil.example/api/mcp/auth_callback",
        "https://claude.ai/api/mcp/auth_callback?next=https://evil.example",
        "https://claude.ai/redirect?to=https://evil.example",
    ] {
        let metadata = json!({"client_name": "Claude", "redirect_uris": [redirect]});
        let refused = server.register_with(&metadata).await;
        assert_eq!(refused.error(), "invalid_redirect_uri", "{redirect}");
    }
    // Good addresses beside it do not bring it in.
    let metadata = json!({"client_name": "Claude", "logo_uri": "https://evil.example/claude.png",
        "client_uri": "https://evil.example", "tos_uri": "https://evil.example",
        "redirect_uris": ["https://evil.example/callback", CLAUDE]});
    let registered = server.register_with(&metadata).await.json();
    assert_eq!(registered["redirect_uris"], json!([CLAUDE]));
    let client = registered["client_id"].as_str().expect("an id");
    let more = [("redirect_uri", "https://evil.example/callback")];
    let refused = server.get(&authorize(client, &more)).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(!refused.body.contains("evil.example"), "{refused:?}");
    let mut browser = Browser::default();
    let page = browser
        .sign_in(&server, client, &[("redirect_uri", CLAUDE)])
        .await;
    for text in [
        "Claude: a name the program gave itself; nobody has checked it",
        "<dt>It returns to</dt><dd>claude.ai</dd>",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    assert!(!page.body.contains("evil.example"), "{}", page.body);
    let local = server.register(REDIRECT).await;
    let page = browser.visit(&server, &authorize(&local, &[])).await;
    let text = "Allow this only if you have just started to connect it yourself.";
    assert!(page.body.contains(text), "{}", page.body);
}

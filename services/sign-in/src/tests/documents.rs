//! Clients that are known by a document.

use http::StatusCode;

use super::{Browser, ISSUER, RESOURCE, Server, VERIFIER, acme, authorize, claims, web::Web};
use crate::{ManualClient, Registration, Resource, Settings};

const CLAUDE: &str = "https://claude.ai/oauth/mcp-oauth-client-metadata";
const CLAUDE_BACK: &str = "https://claude.ai/api/mcp/auth_callback";

fn settings(registration: Registration) -> Settings {
    Settings {
        issuer: ISSUER.to_owned(),
        resources: vec![Resource::new(RESOURCE, "Tools")],
        registration,
        ..Settings::default()
    }
}

#[tokio::test]
async fn a_client_with_a_built_in_document_connects_without_a_fetch() {
    let server = Server::new();
    let about = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(about["client_id_metadata_document_supported"], false);
    let methods = about["token_endpoint_auth_methods_supported"].as_array();
    assert!(methods.is_some_and(|methods| !methods.contains(&"private_key_jwt".into())));
    assert!(about["token_endpoint_auth_signing_alg_values_supported"].is_null());
    for (client, redirect, host) in [
        (CLAUDE, CLAUDE_BACK, "claude.ai"),
        (
            "https://chatgpt.com/oauth/abc-1/client.json",
            "https://chatgpt.com/connector/oauth/abc-1",
            "chatgpt.com",
        ),
        (
            "https://chatgpt.com/oauth/client.json",
            "https://chatgpt.com/connector_platform_oauth_redirect",
            "chatgpt.com",
        ),
        (
            "https://vscode.dev/oauth/client-metadata.json",
            "http://127.0.0.1:51234/",
            "vscode.dev",
        ),
    ] {
        let mut browser = Browser::default();
        let more = [("redirect_uri", redirect)];
        let page = browser.sign_in(&server, client, &more).await;
        let vouched = format!("published by {host}");
        assert!(page.body.contains(&vouched), "{}", page.body);
        let form = [("decision", "allow"), ("database.shop", "on")];
        let end = browser
            .submit(&server, &page, "/oauth/consent", &form)
            .await;
        assert!(end.address().starts_with(redirect), "{end:?}");
        let back = end.back();
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("code", back.get("code").expect("a code")),
            ("code_verifier", VERIFIER),
        ];
        let tokens = server.post("/oauth/token", &form).await.json();
        assert_eq!(claims(&tokens)["client_id"], client);
        let refresh = tokens["refresh_token"].as_str().expect("a token");
        assert_eq!(server.refresh(client, refresh).await.status, 200);
    }
}

#[tokio::test]
async fn a_client_without_a_document_to_read_gets_a_page_alone() {
    let admits = |hosts: &[&str]| Registration {
        document_hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
        ..Registration::default()
    };
    let off = Registration {
        metadata_documents: false,
        ..Registration::default()
    };
    let unknown = "The program that sent you here is not known.";
    let refused = "Programs of claude.ai are not admitted here.";
    let other = "https://app.example/client.json";
    for (registration, client, status, problem) in [
        (admits(&[]), other, 400, unknown),
        (admits(&[]), "https://claude.ai/oauth/other", 400, unknown),
        (
            admits(&[]),
            "https://claude.ai:443/oauth/mcp-oauth-client-metadata",
            400,
            unknown,
        ),
        (admits(&["*.example"]), CLAUDE, 403, refused),
        (off, CLAUDE, 400, unknown),
    ] {
        let server = Server::with(settings(registration));
        let redirect = [("redirect_uri", CLAUDE_BACK)];
        let page = server.get(&authorize(client, &redirect)).await;
        assert_eq!(page.status, status, "{client}");
        assert!(page.body.contains(problem), "{client}: {}", page.body);
        let form = [("grant_type", "refresh_token"), ("client_id", client)];
        let answer = server.post("/oauth/token", &form).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        assert_eq!(answer.error(), "invalid_client", "{client}");
    }
}

#[tokio::test]
async fn an_error_goes_straight_back_to_a_built_in_client() {
    let server = Server::new();
    let more = [
        ("redirect_uri", CLAUDE_BACK),
        ("code_challenge_method", "plain"),
    ];
    let answer = server.get(&authorize(CLAUDE, &more)).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert!(answer.address().starts_with(CLAUDE_BACK), "{answer:?}");
    assert_eq!(answer.back().get("error"), Some("invalid_request"));
    assert_eq!(answer.back().get("iss"), Some(ISSUER));
}

#[tokio::test]
async fn nothing_is_fetched_where_the_settings_say_so() {
    let own = "https://own.example/client.json";
    for (fetch, metadata_documents, status) in [(false, true, 200), (true, false, 400)] {
        let (web, server) = Web::with_settings(Settings {
            clients: vec![ManualClient {
                id: own.to_owned(),
                ..acme(CLAUDE_BACK)
            }],
            ..settings(Registration {
                metadata_documents,
                fetch,
                ..Registration::default()
            })
        });
        let about = server.get("/.well-known/oauth-authorization-server").await;
        assert_eq!(about.json()["client_id_metadata_document_supported"], false);
        let redirect = [("redirect_uri", CLAUDE_BACK)];
        let page = server.get(&authorize(CLAUDE, &redirect)).await;
        assert_eq!(page.status, status, "{page:?}");
        // The administrator may give a client any id.
        assert_eq!(server.get(&authorize(own, &redirect)).await.status, 200);
        assert_eq!(web.fetched(), 0);
    }
}

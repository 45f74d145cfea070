//! Consents that hold for the next time.

use super::{Answered, Browser, ISSUER, Server, VERIFIER, acme, authorize, claims};
use crate::{ManualClient, Settings};

const REDIRECT: &str = "https://acme.example/callback";

/// Creates a server with a client that needs no second click.
fn server() -> Server {
    Server::with_client(ManualClient {
        skip_consent: true,
        ..acme(REDIRECT)
    })
}

fn ask(more: &[(&str, &str)]) -> String {
    authorize("acme", &[&[("redirect_uri", REDIRECT)], more].concat())
}

/// Signs ann in, who allows a part of it.
async fn allow(browser: &mut Browser, server: &Server, chosen: &[(&str, &str)]) -> Answered {
    let more = [("redirect_uri", REDIRECT), ("scope", "mcp mcp:write")];
    let page = browser.sign_in(server, "acme", &more).await;
    let form = [&[("decision", "allow")], chosen].concat();
    browser.submit(server, &page, "/oauth/consent", &form).await
}

async fn exchange(server: &Server, code: &str, secret: &str) -> Answered {
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", "acme"),
        ("client_secret", secret),
        ("code", code),
        ("code_verifier", VERIFIER),
    ];
    server.post("/oauth/token", &form).await
}

#[tokio::test]
async fn a_consent_holds_without_a_click_for_a_client_that_proves_itself() {
    let server = server();
    let mut browser = Browser::default();
    let chosen = [("database.shop", "on"), ("write", "on")];
    allow(&mut browser, &server, &chosen).await;
    for (prompt, scope) in [("", "mcp"), ("none", "mcp mcp:write")] {
        let more = [("prompt", prompt), ("scope", scope)];
        let answer = browser.visit(&server, &ask(&more)).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        let back = answer.back();
        assert_eq!(back.get("iss"), Some(ISSUER));
        assert_eq!(back.get("state"), Some("s t&a=te"));
        let code = back.get("code").expect("a code");
        let tokens = exchange(&server, code, "right").await.json();
        assert_eq!(tokens["scope"], scope);
        assert_eq!(claims(&tokens)["databases"], serde_json::json!(["shop"]));
    }
    let events = server.events();
    let is_skipped = |name: &&&str| **name == "consent.skipped";
    assert_eq!(events.iter().filter(is_skipped).count(), 2);
    // After a password the end is a page.
    let mut other = Browser::default();
    let more = [("redirect_uri", REDIRECT)];
    let end = other.sign_in(&server, "acme", &more).await;
    assert!(end.back().get("code").is_some(), "{end:?}");
}

#[tokio::test]
async fn a_consent_needs_a_click_where_anything_differs() {
    for (case, more, client) in [
        ("a prompt", ("prompt", "consent"), acme(REDIRECT)),
        ("more scope", ("scope", "mcp mcp:write"), acme(REDIRECT)),
        (
            "more scope",
            ("scope", "mcp offline_access"),
            acme(REDIRECT),
        ),
        (
            "no secret",
            ("prompt", ""),
            ManualClient {
                secret_hash: None,
                ..acme(REDIRECT)
            },
        ),
    ] {
        let server = Server::with_client(ManualClient {
            skip_consent: true,
            ..client
        });
        let mut browser = Browser::default();
        allow(&mut browser, &server, &[("database.shop", "on")]).await;
        let page = browser.visit(&server, &ask(&[more])).await;
        assert!(page.body.contains("Allow access?"), "{case}: {page:?}");
        let former = (
            "database.shop\" value=\"on\" checked",
            "database.logs\" value=\"on\">",
        );
        assert!(page.body.contains(former.0), "{}", page.body);
        assert!(page.body.contains(former.1), "{}", page.body);
        assert!(!page.body.contains("name=\"write\" value=\"on\" checked"));
    }
}

#[tokio::test]
async fn a_consent_needs_a_click_where_the_settings_say_so() {
    let home = "http://127.0.0.1:9/callback";
    let skips = |redirect| ManualClient {
        skip_consent: true,
        ..acme(redirect)
    };
    let defaults = Settings {
        issuer: ISSUER.to_owned(),
        resources: vec![crate::Resource::new(super::RESOURCE, "Tools")],
        ..Settings::default()
    };
    for (client, remember_consent) in [
        (acme(REDIRECT), true),
        (skips(home), true),
        (skips(REDIRECT), false),
    ] {
        let redirect = client.redirect_uris[0].clone();
        let server = Server::with(Settings {
            clients: vec![client],
            remember_consent,
            ..defaults.clone()
        });
        let mut browser = Browser::default();
        let more = [("redirect_uri", &*redirect)];
        let page = browser.sign_in(&server, "acme", &more).await;
        let form = [("decision", "allow"), ("database.shop", "on")];
        browser
            .submit(&server, &page, "/oauth/consent", &form)
            .await;
        let none = [("redirect_uri", &*redirect), ("prompt", "none")];
        let answer = browser.visit(&server, &authorize("acme", &none)).await;
        assert_eq!(answer.back().get("error"), Some("consent_required"));
        let page = browser.visit(&server, &authorize("acme", &more)).await;
        let is_remembered = page.body.contains("database.logs\" value=\"on\">");
        assert_eq!(is_remembered, remember_consent, "{}", page.body);
    }
}

#[tokio::test]
async fn a_code_without_a_click_is_worthless_without_the_secret() {
    let server = server();
    let mut browser = Browser::default();
    allow(&mut browser, &server, &[("database.shop", "on")]).await;
    let answer = browser.visit(&server, &ask(&[])).await;
    let code = answer.back().get("code").expect("a code").to_owned();
    for secret in ["", "wrong"] {
        let refused = exchange(&server, &code, secret).await;
        assert_eq!(refused.error(), "invalid_client");
    }
    assert_eq!(exchange(&server, &code, "right").await.status, 200);
}

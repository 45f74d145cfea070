//! Events of a sign-in.

use super::{Browser, REDIRECT, Server, VERIFIER, authorize};

#[tokio::test]
async fn a_whole_sign_in_is_recorded_without_secrets() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let code = server.code(&mut browser, &client, &[]).await;
    let tokens = server.exchange(&client, &code).await.json();
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    let access = tokens["access_token"].as_str().expect("a token");
    server.refresh(&client, refresh).await;
    server.refresh(&client, "zrt_bad").await;
    let form = [("client_id", &*client), ("token", access)];
    server.post("/oauth/revoke", &form).await;
    let seen = server.events.lock().expect("events").clone();
    let names: Vec<_> = seen.iter().map(|(name, _)| *name).collect();
    let expected = [
        "client.registered",
        "login.ok",
        "consent.given",
        "code.issued",
        "token.issued",
        "token.refreshed",
        "grant.ended",
    ];
    assert_eq!(names, expected);
    for (name, event) in &seen {
        assert!(event.contains(&client), "{name}: {event}");
        let cookies = browser.cookies.values().map(String::as_str);
        let secrets = [
            code.as_str(),
            access,
            refresh,
            VERIFIER,
            "s t&a=te",
            "right",
        ];
        for secret in cookies.chain(secrets) {
            assert!(!event.contains(secret), "{name}: {event}");
        }
    }
    let (_, issued) = &seen[4];
    let grant_type = "grant_type: Some(\"authorization_code\")";
    assert!(issued.contains(grant_type), "{issued}");
    let (_, last) = seen.last().expect("an event");
    assert!(last.contains("person: Some(\"7\")"), "{last}");
    assert!(last.contains("reason: Some(\"revoked\")"), "{last}");
}

#[tokio::test]
async fn what_fails_is_recorded_by_its_name() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let page = browser.visit(&server, &authorize(&client, &[])).await;
    let form = [("name", "secret"), ("password", "wrong")];
    browser.submit(&server, &page, "/oauth/login", &form).await;
    let wrong = server.events.lock().expect("events").last().cloned();
    let (name, event) = wrong.expect("an event");
    assert_eq!(name, "login.failed");
    // A person may type the password in the wrong field.
    assert!(!event.contains("secret"), "{event}");
    let page = browser.sign_in(&server, &client, &[]).await;
    let form = [("decision", "deny")];
    browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await;
    let code = server.code(&mut browser, &client, &[]).await;
    let tokens = server.exchange(&client, &code).await.json();
    server.exchange(&client, &code).await;
    let events = server.events();
    let expected = [
        "client.registered",
        "login.failed",
        "login.ok",
        "consent.denied",
    ];
    assert_eq!(events[..4], expected);
    assert_eq!(events.last(), Some(&"code.replayed"));

    let code = server.code(&mut browser, &client, &[]).await;
    let first = server.exchange(&client, &code).await.json();
    assert_ne!(first, tokens);
    let first = first["refresh_token"].as_str().expect("a token");
    server.refresh(&client, first).await;
    server.wait(61);
    server.refresh(&client, first).await;
    assert_eq!(server.events().last(), Some(&"refresh.reused"));
}

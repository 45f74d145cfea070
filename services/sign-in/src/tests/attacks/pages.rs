//! Pages in the frames of others.

use http::header::{CONTENT_TYPE, LOCATION};

use crate::tests::{Answered, Browser, authorize, idp::Idp, upstream};

fn assert_own(page: &Answered, case: &str) {
    let header = |name: &str| page.headers.get(name).and_then(|it| it.to_str().ok());
    let kind = header(CONTENT_TYPE.as_str()).unwrap_or_default();
    assert!(kind.starts_with("text/html"), "{case}: {page:?}");
    let policy = header("content-security-policy").unwrap_or_default();
    for part in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ] {
        assert!(policy.contains(part), "{case}: {policy}");
    }
    for (name, value) in [
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
        ("strict-transport-security", "max-age=31536000"),
    ] {
        assert_eq!(header(name), Some(value), "{case}: {name}");
    }
    assert_eq!(header("access-control-allow-origin"), None, "{case}");
    assert_eq!(header(LOCATION.as_str()), None, "{case}");
    assert!(!page.body.contains("<script"), "{case}: {}", page.body);
}

#[tokio::test]
async fn no_page_is_shown_in_a_frame() {
    let (idp, server) = Idp::with_server();
    let hosted = "https://claude.ai/api/mcp/auth_callback";
    let client = server.register(hosted).await;
    let mut browser = Browser::default();
    let to = ("redirect_uri", hosted);
    for (case, path) in [
        ("a sign-in", authorize(&client, &[to])),
        (
            "an error for a client",
            authorize(&client, &[to, ("code_challenge", "")]),
        ),
        ("an unknown client", authorize("unknown", &[])),
        ("a malformed request", "/oauth/authorize?a=1&a=1".to_owned()),
        ("an account", "/oauth/account".to_owned()),
        ("an invitation", "/oauth/invite/1?token=x".to_owned()),
        ("a new password", "/oauth/reset?token=x".to_owned()),
        ("a provider", "/oauth/upstream/corp?flow=x".to_owned()),
        (
            "a way back",
            "/oauth/upstream/corp/callback?state=x".to_owned(),
        ),
    ] {
        assert_own(&browser.visit(&server, &path).await, case);
    }
    let page = browser.visit(&server, &authorize(&client, &[to])).await;
    let wrong = [("name", "ann"), ("password", "wrong")];
    let page = browser.submit(&server, &page, "/oauth/login", &wrong).await;
    assert_own(&page, "a wrong password");
    let consent = upstream::arrive(&idp, &server, &mut browser, "acme").await;
    assert_own(&consent, "a consent");
    let none = [("decision", "allow")];
    let page = browser
        .submit(&server, &consent, "/oauth/consent", &none)
        .await;
    assert_own(&page, "a consent without a database");
    let allow = [("decision", "allow"), ("database.shop", "on")];
    let end = browser
        .submit(&server, &consent, "/oauth/consent", &allow)
        .await;
    assert_own(&end, "the end");
    let account = browser.visit(&server, "/oauth/account").await;
    let everywhere = [("everywhere", "yes")];
    let out = browser
        .submit(&server, &account, "/oauth/account", &everywhere)
        .await;
    assert_own(&out, "the end of all sessions");
    let late = server.post("/oauth/consent", &[]).await;
    assert_own(&late, "a form without a page");
}

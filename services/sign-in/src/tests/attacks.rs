//! Attacks, which must fail.

mod codes;
mod forms;
mod mix_up;
mod names;
mod pages;
mod redirects;
mod tokens;

use http::{Request, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use std::sync::atomic::Ordering;

use super::{Browser, REDIRECT, Server, authorize, encoded};

#[tokio::test]
async fn a_code_is_good_once_and_a_second_use_ends_its_grant() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let code = server.code(&mut Browser::default(), &client, &[]).await;
    let tokens = server.exchange(&client, &code).await.json();
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    assert_eq!(
        server.exchange(&client, &code).await.error(),
        "invalid_grant"
    );
    assert_eq!(
        server.refresh(&client, refresh).await.error(),
        "invalid_grant"
    );
}

#[tokio::test]
async fn a_code_of_another_request_is_refused() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let other = server.register("http://127.0.0.1/other").await;
    for (name, value) in [
        ("client_id", &*other),
        (
            "code_verifier",
            "another-verifier-of-forty-three-letters-or-so",
        ),
        ("code_verifier", ""),
        ("redirect_uri", "http://127.0.0.1:9/callback"),
        ("resource", "https://other.example/mcp"),
        ("code", "zac_unknown"),
    ] {
        let code = server.code(&mut Browser::default(), &client, &[]).await;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("client_id", &*client),
            ("code", &code),
            ("code_verifier", super::VERIFIER),
            ("redirect_uri", REDIRECT),
        ];
        form.retain(|(other, _)| *other != name);
        form.push((name, value));
        let answer = server.post("/oauth/token", &form).await;
        let expected = if name == "resource" {
            "invalid_target"
        } else {
            "invalid_grant"
        };
        assert_eq!(answer.error(), expected, "{name}={value}");
        if name != "code" {
            // It is used now, whatever was wrong.
            assert_eq!(
                server.exchange(&client, &code).await.error(),
                "invalid_grant"
            );
        }
    }
    let code = server.code(&mut Browser::default(), &client, &[]).await;
    server.wait(60);
    assert_eq!(
        server.exchange(&client, &code).await.error(),
        "invalid_grant"
    );
}

#[tokio::test]
async fn an_old_refresh_token_ends_the_grant() {
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
    server.wait(61);
    assert_eq!(
        server.refresh(&client, &first).await.error(),
        "invalid_grant"
    );
    assert_eq!(
        server.refresh(&client, &second).await.error(),
        "invalid_grant"
    );
}

#[tokio::test]
async fn a_person_who_is_gone_gets_no_tokens() {
    let server = Server::new();
    let (client, tokens) = server.connected().await;
    let code = server.code(&mut Browser::default(), &client, &[]).await;
    server.staff.is_ann_gone.store(true, Ordering::Relaxed);
    assert_eq!(
        server.exchange(&client, &code).await.error(),
        "invalid_grant"
    );
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    assert_eq!(
        server.refresh(&client, refresh).await.error(),
        "invalid_grant"
    );
    server.staff.is_ann_gone.store(false, Ordering::Relaxed);
    assert_eq!(
        server.refresh(&client, refresh).await.error(),
        "invalid_grant"
    );
}

#[tokio::test]
async fn a_scope_does_not_grow_at_a_refresh() {
    let server = Server::new();
    let (client, tokens) = server.connected().await;
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    let form = [
        ("grant_type", "refresh_token"),
        ("client_id", &*client),
        ("refresh_token", refresh),
        ("scope", "mcp mcp:write"),
    ];
    assert_eq!(
        server.post("/oauth/token", &form).await.error(),
        "invalid_scope"
    );
    // A refused request uses nothing up.
    assert_eq!(server.refresh(&client, refresh).await.status, 200);
}

#[tokio::test]
async fn a_registration_that_is_too_long_is_refused() {
    let server = Server::new();
    let body = format!("{{\"client_name\": \"{}\"}}", "x".repeat(16 << 10));
    let request = Request::post("/oauth/register").body(Full::from(body));
    let answer = server.send(request.expect("a request")).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn a_request_without_a_good_challenge_goes_back_with_an_error() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    for (more, expected) in [
        (("code_challenge", ""), "invalid_request"),
        (("code_challenge", "short"), "invalid_request"),
        (("code_challenge_method", "plain"), "invalid_request"),
        (("code_challenge_method", ""), "invalid_request"),
        (("response_type", "token"), "unsupported_response_type"),
        (("response_mode", "fragment"), "invalid_request"),
        (("request", "x"), "request_not_supported"),
        (("resource", "https://other.example/mcp"), "invalid_target"),
        (("prompt", "none"), "login_required"),
        (("prompt", "none login"), "invalid_request"),
        (("max_age", "x"), "invalid_request"),
    ] {
        let answer = server.get(&authorize(&client, &[more])).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{more:?}: {answer:?}");
        let back = answer.back();
        assert_eq!(back.get("error"), Some(expected), "{more:?}");
        assert_eq!(back.get("state"), Some("s t&a=te"));
        assert_eq!(back.get("iss"), Some(super::ISSUER));
    }
}

#[tokio::test]
async fn an_address_that_was_not_registered_is_never_gone_to() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    for (name, value) in [
        ("redirect_uri", "https://evil.example/"),
        ("redirect_uri", ""),
        ("client_id", "dcr_unknown"),
        ("client_id", ""),
    ] {
        let answer = server.get(&authorize(&client, &[(name, value)])).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{name}={value}");
        assert!(!answer.body.contains("evil.example"), "{}", answer.body);
    }
    let twice = authorize(&client, &[]) + "&state=x";
    let answer = server.get(&twice).await;
    assert!(answer.body.contains("The sign-in request is malformed."));
}

#[tokio::test]
async fn a_hosted_client_with_an_error_gets_a_page_with_a_link() {
    let server = Server::new();
    let redirect = "https://claude.ai/api/mcp/auth_callback";
    let client = server.register(redirect).await;
    let more = [("redirect_uri", redirect), ("code_challenge", "")];
    let answer = server.get(&authorize(&client, &more)).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(answer.address().starts_with(redirect), "{answer:?}");
}

#[tokio::test]
async fn a_form_of_another_site_or_browser_is_refused() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let page = browser.sign_in(&server, &client, &[]).await;
    let form = [
        ("flow", page.flow()),
        ("decision", "allow"),
        ("database.shop", "on"),
    ];
    let send = async |headers: &[(&str, &str)]| {
        let mut request = Request::post("/oauth/consent");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(encoded(&form)));
        server.send(request.expect("a request")).await.status
    };
    let (kind, cookie) = (CONTENT_TYPE.as_str(), browser.header());
    let type_of_form = (kind, "application/x-www-form-urlencoded");
    let cookie = ("cookie", &*cookie);
    for (headers, expected) in [
        (
            vec![cookie, type_of_form, ("origin", "https://evil.example")],
            403,
        ),
        (vec![cookie, type_of_form, ("origin", "null")], 403),
        (
            vec![cookie, type_of_form, ("sec-fetch-site", "cross-site")],
            403,
        ),
        (
            vec![cookie, (kind, "text/plain"), ("origin", super::ISSUER)],
            415,
        ),
        (vec![type_of_form, ("origin", super::ISSUER)], 400),
        (
            vec![("cookie", "__Host-ziggurat-flow=x"), type_of_form],
            400,
        ),
        (
            vec![cookie, type_of_form, ("sec-fetch-site", "same-origin")],
            200,
        ),
    ] {
        assert_eq!(send(&headers).await, expected, "{headers:?}");
    }
    let mut other = Browser::default();
    other.sign_in(&server, &client, &[]).await;
    let stolen = other
        .submit(&server, &page, "/oauth/consent", &form[1..])
        .await;
    assert_eq!(stolen.status, 400);
}

#[tokio::test]
async fn a_sign_in_that_began_in_one_browser_does_not_end_in_another() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let form = [("name", "ann"), ("password", "right")];
    let (mut one, mut other) = (Browser::default(), Browser::default());
    let page = one.visit(&server, &authorize(&client, &[])).await;
    other.visit(&server, &authorize(&client, &[])).await;
    let stolen = other.submit(&server, &page, "/oauth/login", &form).await;
    assert_eq!(stolen.status, 400);
    assert_eq!(
        one.submit(&server, &page, "/oauth/login", &form)
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn a_consent_of_the_session_before_is_refused() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let page = browser.sign_in(&server, &client, &[]).await;
    let login = browser.submit(&server, &page, "/oauth/logout", &[]).await;
    let form = [("name", "ann"), ("password", "right")];
    browser.submit(&server, &login, "/oauth/login", &form).await;
    let form = [("decision", "allow"), ("database.shop", "on")];
    let late = browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await;
    assert_eq!(late.status, 400);
}

#[tokio::test]
async fn a_consent_sent_twice_makes_one_grant_with_one_good_code() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let page = browser.sign_in(&server, &client, &[]).await;
    let form = [("decision", "allow"), ("database.shop", "on")];
    let first = browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await
        .back();
    let second = browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await
        .back();
    let code = |form: &crate::form::Form| form.get("code").expect("a code").to_owned();
    assert_eq!(
        server.exchange(&client, &code(&first)).await.error(),
        "invalid_grant"
    );
    assert_eq!(server.exchange(&client, &code(&second)).await.status, 200);
    server.wait(61);
    let late = browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await;
    assert_eq!(late.status, 400, "{late:?}");
}

#[tokio::test]
async fn a_page_is_too_old_after_a_quarter_of_an_hour() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let page = browser.visit(&server, &authorize(&client, &[])).await;
    server.wait(15 * 60);
    let form = [("name", "ann"), ("password", "right")];
    let late = browser.submit(&server, &page, "/oauth/login", &form).await;
    assert_eq!(late.status, 400);
    assert!(
        late.body.contains("This sign-in has expired."),
        "{}",
        late.body
    );
}

#[tokio::test]
async fn a_wrong_password_says_nothing_more_and_keeps_the_session_closed() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    for (name, password) in [("ann", "wrong"), ("nobody", "right"), ("", "")] {
        let mut browser = Browser::default();
        let page = browser.visit(&server, &authorize(&client, &[])).await;
        let form = [("name", name), ("password", password)];
        let answer = browser.submit(&server, &page, "/oauth/login", &form).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        assert!(answer.body.contains("The name or the password is wrong."));
        assert!(
            browser
                .cookies
                .keys()
                .all(|name| !name.ends_with("session"))
        );
    }
}

#[tokio::test]
async fn a_name_of_a_client_is_shown_without_tricks() {
    let server = Server::new();
    let name = "\u{202e}<b>Bank</b>\u{200b}\n\"x\" ".to_owned() + &"y".repeat(150);
    let metadata = serde_json::json!({"client_name": name, "redirect_uris": [REDIRECT]});
    let request = Request::post("/register").body(Full::from(metadata.to_string()));
    let client = server.send(request.expect("a request")).await.json();
    let client = client["client_id"].as_str().expect("an id");
    let page = server.get(&authorize(client, &[])).await;
    let shown = format!(
        "<strong>&lt;b&gt;Bank&lt;/b&gt;&quot;x&quot; {}</strong>",
        "y".repeat(49)
    );
    assert!(page.body.contains(&shown), "{}", page.body);
}

#[tokio::test]
async fn pages_have_the_headers_that_keep_them_for_themselves() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let page = server.get(&authorize(&client, &[])).await;
    let policy = page.headers["content-security-policy"]
        .to_str()
        .expect("ASCII");
    for part in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert_eq!(page.headers["referrer-policy"], "same-origin");
    assert_eq!(page.headers["x-frame-options"], "DENY");
    assert!(!page.headers.contains_key("access-control-allow-origin"));
    assert!(!page.body.contains("<script"), "{}", page.body);
}

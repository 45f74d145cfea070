//! The sign-in to the program's own console.

use http::Extensions;

use super::{Answered, Browser, ISSUER, REDIRECT, RESOURCE, Server, VERIFIER, authorize, factor};
use crate::{CONSOLE, ConsoleCode, ConsoleLogin, Resource, Settings};

const PAGE: &str = "https://tools.example/console/sign-in";

const TO_PAGE: [(&str, &str); 1] = [("redirect_uri", PAGE)];

const DAY: u64 = 24 * 3600;

fn settings(issuer: &str) -> Settings {
    Settings {
        issuer: issuer.to_owned(),
        resources: vec![Resource::new(format!("{issuer}/mcp"), "Tools")],
        console: Some("/console/sign-in".to_owned()),
        ..Settings::default()
    }
}

/// Signs ann in for the console, and returns the last page.
async fn signed_in(server: &Server, browser: &mut Browser) -> Answered {
    browser.sign_in(server, CONSOLE, &TO_PAGE).await
}

fn code_of(end: &Answered) -> String {
    assert!(end.address().starts_with(PAGE), "{end:?}");
    end.back().get("code").expect("a code").to_owned()
}

/// Brings a code to the console.
async fn enter(server: &Server, code: &str, verifier: &str, page: &str) -> Option<ConsoleLogin> {
    let code = ConsoleCode {
        code,
        verifier,
        redirect_uri: page,
    };
    let request = Extensions::new();
    let entered = server.sign_in.enter_console(code, &request).await;
    entered.expect("a store")
}

#[tokio::test]
async fn a_person_enters_the_console_without_a_consent() {
    let server = Server::with(settings(ISSUER));
    let mut browser = Browser::default();
    let end = signed_in(&server, &mut browser).await;
    assert_eq!(end.back().get("iss"), Some(ISSUER));
    assert_eq!(end.back().get("state"), Some("s t&a=te"));
    assert_eq!(server.events(), ["login.ok", "code.issued"]);
    let entered = enter(&server, &code_of(&end), VERIFIER, PAGE).await;
    let entered = entered.expect("a login");
    let now = 1_800_000_000;
    assert_eq!((&*entered.person, entered.signed_in_at), ("7", now));
    assert_eq!(entered.ends_at, now + DAY);

    // The moment is the one of the sign-in, not of the way to the console.
    server.wait(1000);
    let end = browser.visit(&server, &authorize(CONSOLE, &TO_PAGE)).await;
    assert_eq!(end.status, 303);
    let again = enter(&server, &code_of(&end), VERIFIER, PAGE).await;
    let again = again.expect("a login");
    assert_eq!(again.signed_in_at, now);
    assert_ne!(again.grant, entered.grant);
}

#[tokio::test]
async fn the_second_factor_comes_before_the_console() {
    let server = Server::with(settings(ISSUER));
    let mut browser = Browser::default();
    signed_in(&server, &mut browser).await;
    let (secret, _) = factor::set_up(&mut browser, &server).await;
    server.wait(60);
    let mut other = Browser::default();
    let page = signed_in(&server, &mut other).await;
    assert!(page.body.contains("Second factor"), "{}", page.body);
    let code = factor::code(&server, &secret);
    let form = [("code", &*code)];
    let end = other.submit(&server, &page, "/oauth/second-factor", &form);
    let end = end.await;
    assert!(
        enter(&server, &code_of(&end), VERIFIER, PAGE)
            .await
            .is_some()
    );
}

#[tokio::test]
async fn the_token_endpoint_has_nothing_for_the_console() {
    let server = Server::with(settings(ISSUER));
    let end = signed_in(&server, &mut Browser::default()).await;
    let code = code_of(&end);
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", CONSOLE),
        ("code", &*code),
        ("code_verifier", VERIFIER),
        ("redirect_uri", PAGE),
    ];
    let answer = server.post("/oauth/token", &form).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.error(), "unauthorized_client");
    assert!(enter(&server, &code, VERIFIER, PAGE).await.is_some());
}

#[tokio::test]
async fn a_code_of_the_console_is_good_once_and_only_with_its_proofs() {
    let server = Server::with(settings(ISSUER));
    for (verifier, page) in [
        ("another-verifier-of-forty-three-letters-or-more", PAGE),
        (VERIFIER, "https://evil.example/console/sign-in"),
        (VERIFIER, ""),
    ] {
        let end = signed_in(&server, &mut Browser::default()).await;
        let code = code_of(&end);
        assert_eq!(enter(&server, &code, verifier, page).await, None);
        assert_eq!(enter(&server, &code, VERIFIER, PAGE).await, None, "{page}");
    }
    let end = signed_in(&server, &mut Browser::default()).await;
    let code = code_of(&end);
    assert!(enter(&server, &code, VERIFIER, PAGE).await.is_some());
    server.events();
    assert_eq!(enter(&server, &code, VERIFIER, PAGE).await, None);
    assert_eq!(server.events(), ["code.replayed"]);
}

#[tokio::test]
async fn a_code_of_another_client_does_not_open_the_console() {
    let server = Server::with(settings(ISSUER));
    let client = server.register(REDIRECT).await;
    let code = server.code(&mut Browser::default(), &client, &[]).await;
    assert_eq!(enter(&server, &code, VERIFIER, REDIRECT).await, None);
    let answer = server.exchange(&client, &code).await;
    assert_eq!(answer.error(), "invalid_grant");
}

#[tokio::test]
async fn a_person_who_may_not_sign_in_any_more_does_not_enter_the_console() {
    let server = Server::with(settings(ISSUER));
    let end = signed_in(&server, &mut Browser::default()).await;
    let is_gone = &server.staff.is_ann_gone;
    is_gone.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(enter(&server, &code_of(&end), VERIFIER, PAGE).await, None);
}

#[tokio::test]
async fn a_program_at_another_port_of_this_computer_is_not_the_console() {
    let issuer = "http://localhost:8080";
    let server = Server::with(settings(issuer));
    for (page, is_known) in [
        ("http://localhost:8080/console/sign-in", true),
        ("http://localhost:9999/console/sign-in", false),
        ("http://localhost/console/sign-in", false),
        ("http://127.0.0.1:8080/console/sign-in", false),
        ("http://localhost:8080/console/sign-in?x", false),
        ("http://localhost:8080/console/", false),
    ] {
        let more = [("redirect_uri", page), ("resource", "")];
        let answer = server.get(&authorize(CONSOLE, &more)).await;
        let expected = if is_known { 200 } else { 400 };
        assert_eq!(answer.status, expected, "{page}");
    }
}

#[tokio::test]
async fn without_a_console_there_is_no_such_client() {
    let server = Server::new();
    let answer = server.get(&authorize(CONSOLE, &TO_PAGE)).await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("is not known"), "{}", answer.body);
    let entered = enter(&server, "zac_a", VERIFIER, RESOURCE).await;
    assert_eq!(entered, None);
}

#[test]
fn the_place_of_the_console_is_a_path() {
    let console = Some(PAGE.to_owned());
    let settings = Settings {
        console,
        ..settings(ISSUER)
    };
    assert!(settings.check().is_err());
}

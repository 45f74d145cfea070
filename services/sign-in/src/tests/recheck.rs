//! People who are confirmed at their provider from time to time.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    Answered, Browser, REDIRECT, Server, authorize, claims,
    idp::{Idp, held, settings, upstream},
    upstream::{arrive, connected},
};
use crate::{Provision, Settings};

const HOUR: u64 = 3600;

/// A client that refreshes its tokens.
struct Program {
    client: String,
    tokens: Value,
}

// === impl Program ===

impl Program {
    async fn connected(idp: &Idp, server: &Server) -> Self {
        let (client, tokens) = connected(idp, server).await;
        Self { client, tokens }
    }

    async fn refresh(&mut self, server: &Server) -> Answered {
        let token = self.tokens["refresh_token"].as_str().expect("a token");
        let answer = server.refresh(&self.client, token).await;
        if answer.status == StatusCode::OK {
            self.tokens = answer.json();
        }
        answer
    }
}

#[tokio::test]
async fn a_person_is_confirmed_each_hour_and_mapped_anew() {
    let (idp, server) = Idp::with_server();
    let mut program = Program::connected(&idp, &server).await;
    let before = idp.requests.load(Ordering::Relaxed);
    server.wait(HOUR - 1);
    assert_eq!(program.refresh(&server).await.status, StatusCode::OK);
    assert_eq!(idp.requests.load(Ordering::Relaxed), before, "still fresh");
    idp.claim("preferred_username", json!("ann.b"));
    for _ in 0..3 {
        server.wait(HOUR);
        assert_eq!(program.refresh(&server).await.status, StatusCode::OK);
    }
    assert_eq!(claims(&program.tokens)["preferred_username"], "ann.b");
    let events = server.events();
    let confirmed = events.iter().filter(|name| **name == "upstream.ok");
    assert_eq!(confirmed.count(), 4);
}

#[tokio::test]
async fn a_grant_ends_when_the_provider_refuses_or_the_rules_do() {
    for (name, value) in [
        ("error", json!("invalid_grant")),
        ("error", json!("interaction_required")),
        ("groups", json!(["all"])),
        ("email_verified", json!(false)),
    ] {
        let (idp, server) = Idp::with_server();
        let mut program = Program::connected(&idp, &server).await;
        let mut other = Program::connected(&idp, &server).await;
        if name == "error" {
            let error = value.as_str().expect("a code").to_owned();
            *held(&idp.error) = Some(error.leak());
        } else {
            idp.claim(name, value.clone());
        }
        server.wait(HOUR);
        let refused = program.refresh(&server).await;
        assert_eq!(refused.error(), "invalid_grant", "{name} {value}");
        // The account may be open again, but the grants have ended.
        *held(&idp.error) = None;
        held(&idp.claims).clear();
        assert_eq!(other.refresh(&server).await.error(), "invalid_grant");
        assert_eq!(program.refresh(&server).await.error(), "invalid_grant");
        let events = server.events();
        assert!(events.contains(&"upstream.refused"), "{events:?}");
        assert!(events.contains(&"grant.ended"), "{events:?}");
        // A new sign-in there is a new confirmation.
        let mut new = Program::connected(&idp, &server).await;
        assert_eq!(new.refresh(&server).await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_provider_out_of_reach_is_waited_for_four_times_as_long() {
    for error in [None, Some("invalid_client"), Some("server_error")] {
        let (idp, server) = Idp::with_server();
        let mut program = Program::connected(&idp, &server).await;
        let is_down = |is_down: bool| match error {
            None => idp.is_down.store(is_down, Ordering::Relaxed),
            Some(code) => *held(&idp.error) = is_down.then_some(code),
        };
        is_down(true);
        server.wait(4 * HOUR - 1);
        assert_eq!(program.refresh(&server).await.status, StatusCode::OK);
        server.wait(1);
        let refused = program.refresh(&server).await;
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(refused.error(), "temporarily_unavailable");
        assert!(refused.headers.contains_key("retry-after"));
        is_down(false);
        server.wait(15);
        assert_eq!(program.refresh(&server).await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn an_answer_about_another_person_confirms_no_person() {
    for (name, value) in [
        ("sub", json!("249")),
        ("iss", json!("https://evil.example")),
        ("aud", json!("other")),
    ] {
        let (idp, server) = Idp::with_server();
        let mut program = Program::connected(&idp, &server).await;
        idp.claim(name, value);
        server.wait(4 * HOUR);
        let refused = program.refresh(&server).await;
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{name}");
    }
}

#[tokio::test]
async fn a_provider_may_leave_the_id_token_out_of_a_refresh() {
    let (idp, server) = Idp::with_server();
    let mut program = Program::connected(&idp, &server).await;
    idp.gives_no_id_token.store(true, Ordering::Relaxed);
    for _ in 0..6 {
        server.wait(HOUR);
        assert_eq!(program.refresh(&server).await.status, StatusCode::OK);
    }
    assert_eq!(claims(&program.tokens)["databases"], json!(["shop"]));
}

#[tokio::test]
async fn eight_programs_ask_the_provider_once() {
    let (idp, server) = Idp::with_server();
    let server = Arc::new(server);
    let mut programs = Vec::new();
    for _ in 0..8 {
        programs.push(Program::connected(&idp, &server).await);
    }
    server.wait(HOUR);
    let before = idp.requests.load(Ordering::Relaxed);
    let mut tasks = tokio::task::JoinSet::new();
    for mut program in programs {
        let server = Arc::clone(&server);
        tasks.spawn(async move { program.refresh(&server).await.status });
    }
    for status in tasks.join_all().await {
        assert_eq!(status, StatusCode::OK);
    }
    // The documents are fetched anew, and the token of the provider is used once: it would refuse it
    // the second time.
    assert_eq!(idp.requests.load(Ordering::Relaxed) - before, 3);
}

#[tokio::test]
async fn without_a_refresh_token_a_grant_ends_twelve_hours_after_the_sign_in() {
    let (idp, server) = Idp::with_server();
    idp.gives_no_refresh.store(true, Ordering::Relaxed);
    let mut program = Program::connected(&idp, &server).await;
    server.wait(11 * HOUR + HOUR / 2);
    assert_eq!(program.refresh(&server).await.status, StatusCode::OK);
    assert_eq!(
        program.tokens["expires_in"],
        HOUR / 2,
        "never beyond its grant"
    );
    server.wait(HOUR / 2);
    assert_eq!(program.refresh(&server).await.error(), "invalid_grant");
}

#[tokio::test]
async fn a_refresh_token_that_is_given_once_is_kept_at_the_next_sign_in() {
    let (idp, server) = Idp::with_server();
    Program::connected(&idp, &server).await;
    idp.gives_no_refresh.store(true, Ordering::Relaxed);
    let mut program = Program::connected(&idp, &server).await;
    server.wait(13 * HOUR);
    assert_eq!(program.refresh(&server).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_code_of_a_person_who_is_gone_there_gives_no_tokens() {
    let (idp, server) = Idp::with_server();
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    arrive(&idp, &server, &mut browser, &client).await;
    for _ in 0..3 {
        server.wait(HOUR / 2);
        browser.visit(&server, "/oauth/account").await;
    }
    // The session still holds, but the last confirmation is older than an hour.
    let page = browser.visit(&server, &authorize(&client, &[])).await;
    let form = [("decision", "allow"), ("database.shop", "on")];
    let end = browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await;
    let code = end.back().get("code").expect("a code").to_owned();
    *held(&idp.error) = Some("invalid_grant");
    let refused = server.exchange(&client, &code).await;
    assert_eq!(refused.error(), "invalid_grant");
    // The session of the browser is over, too.
    let page = browser.visit(&server, &authorize(&client, &[])).await;
    assert!(page.body.contains("Password"), "{page:?}");
}

#[tokio::test]
async fn tokens_are_not_longer_than_a_confirmation() {
    let mut corp = upstream();
    corp.recheck = Duration::from_secs(300);
    corp.provision = Provision::Mapped;
    let settings = Settings {
        access_lifetime: Duration::from_secs(12 * HOUR),
        ..settings(corp)
    };
    let (idp, server) = Idp::with_settings(settings);
    let program = Program::connected(&idp, &server).await;
    assert_eq!(program.tokens["expires_in"], 300);
    let (_, tokens) = server.connected().await;
    assert_eq!(tokens["expires_in"], 12 * HOUR, "a person with a password");
}

#[tokio::test]
async fn a_person_whom_the_program_removed_has_no_grant() {
    let (idp, server) = Idp::with_server();
    let mut program = Program::connected(&idp, &server).await;
    server.staff.is_ann_gone.store(true, Ordering::Relaxed);
    assert_eq!(program.refresh(&server).await.error(), "invalid_grant");
}

#[tokio::test]
async fn an_account_that_was_linked_with_another_person_leaves_nothing_to_the_one_before() {
    let (idp, server) = Idp::with_server();
    let mut before = Program::connected(&idp, &server).await;
    server.staff.is_ann_linked.store(true, Ordering::Relaxed);
    let mut program = Program::connected(&idp, &server).await;
    assert_eq!(claims(&program.tokens)["sub"], "7");
    assert_eq!(before.refresh(&server).await.error(), "invalid_grant");
    assert_eq!(program.refresh(&server).await.status, StatusCode::OK);
}

#[tokio::test]
async fn without_a_refresh_token_a_session_ends_with_its_grants() {
    for (gives_no_refresh, expected) in [(false, "Allow access?"), (true, "Password")] {
        let day = Duration::from_secs(24 * HOUR);
        let settings = Settings {
            session_lifetime: day,
            session_idle: day,
            ..settings(upstream())
        };
        let (idp, server) = Idp::with_settings(settings);
        idp.gives_no_refresh
            .store(gives_no_refresh, Ordering::Relaxed);
        let mut browser = Browser::default();
        arrive(&idp, &server, &mut browser, "acme").await;
        server.wait(12 * HOUR);
        let page = browser.visit(&server, &authorize("acme", &[])).await;
        assert!(page.body.contains(expected), "{page:?}");
    }
}

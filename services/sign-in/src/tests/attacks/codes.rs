//! Codes: at once, and without their own proofs.

use std::sync::Arc;

use http::StatusCode;
use tokio::task::JoinSet;

use crate::{
    browser::challenge_of,
    tests::{Answered, Browser, REDIRECT, Server, VERIFIER, authorize},
};

/// Allows a client the shop in a browser in which ann is signed in, and returns the code.
async fn allow(server: &Server, browser: &mut Browser, client: &str, challenge: &str) -> String {
    let more = [("code_challenge", challenge)];
    let page = browser.visit(server, &authorize(client, &more)).await;
    let form = [("decision", "allow"), ("database.shop", "on")];
    let end = browser.submit(server, &page, "/oauth/consent", &form).await;
    end.back().get("code").expect("a code").to_owned()
}

async fn exchange(server: &Server, client: &str, code: &str, verifier: Option<&str>) -> Answered {
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", code),
        ("redirect_uri", REDIRECT),
    ];
    form.extend(verifier.map(|verifier| ("code_verifier", verifier)));
    server.post("/oauth/token", &form).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_exchanges_at_once_one_wins_a_thousand_times_and_its_grant_ends() {
    let server = Arc::new(Server::new());
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    browser.sign_in(&server, &client, &[]).await;
    for number in 0..1000 {
        // An address asks for sixty sign-ins a minute.
        server.wait(1);
        let code = allow(&server, &mut browser, &client, &challenge_of(VERIFIER)).await;
        let mut both = JoinSet::new();
        for _ in 0..2 {
            let (server, client, code) = (Arc::clone(&server), client.clone(), code.clone());
            both.spawn(async move { server.exchange(&client, &code).await });
        }
        let both = both.join_all().await;
        let (won, lost): (Vec<_>, Vec<_>) = both.iter().partition(|it| it.status == StatusCode::OK);
        assert_eq!((won.len(), lost.len()), (1, 1), "{number}: {both:?}");
        assert_eq!(lost[0].error(), "invalid_grant", "{number}");
        let tokens = won[0].json();
        let refresh = tokens["refresh_token"].as_str().expect("a token");
        let after = server.refresh(&client, refresh).await;
        assert_eq!(after.error(), "invalid_grant", "{number}");
    }
}

#[tokio::test]
async fn a_code_without_the_verifier_of_its_own_flow_is_refused() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let other = "the-verifier-of-another-flow-of-the-same-client";
    let challenge = challenge_of(VERIFIER);
    let mut browser = Browser::default();
    browser.sign_in(&server, &client, &[]).await;
    for verifier in [None, Some(""), Some(other), Some(&*challenge)] {
        let code = allow(&server, &mut browser, &client, &challenge).await;
        let of_other = allow(&server, &mut browser, &client, &challenge_of(other)).await;
        let refused = exchange(&server, &client, &code, verifier).await;
        assert_eq!(refused.error(), "invalid_grant", "{verifier:?}");
        let refused = exchange(&server, &client, &of_other, Some(VERIFIER)).await;
        assert_eq!(refused.error(), "invalid_grant", "{verifier:?}");
    }
    let code = allow(&server, &mut browser, &client, &challenge).await;
    let good = exchange(&server, &client, &code, Some(VERIFIER)).await;
    assert_eq!(good.status, StatusCode::OK, "{good:?}");
}

#[tokio::test]
async fn no_bit_of_a_code_can_be_flipped_and_a_guess_ends_nothing() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let code = server.code(&mut Browser::default(), &client, &[]).await;
    for place in 0..code.len() {
        for bit in 0..7 {
            let mut bent = code.clone().into_bytes();
            bent[place] ^= 1 << bit;
            let bent = String::from_utf8(bent).expect("ASCII");
            let refused = server.exchange(&client, &bent).await;
            assert_eq!(refused.error(), "invalid_grant", "{place}, {bit}");
        }
    }
    let good = server.exchange(&client, &code).await;
    assert_eq!(good.status, StatusCode::OK, "{good:?}");
}

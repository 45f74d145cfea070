//! A new password, on the page of the account.

use super::{Answered, Browser, ISSUER, RESOURCE, Server, authorize};
use crate::{Resource, Settings};

const PATH: &str = "/oauth/account";

const CHANGED: [(&str, &str); 2] = [
    ("present_password", "right"),
    ("new_password", "a new one of many words"),
];

fn settings() -> Settings {
    Settings {
        issuer: ISSUER.to_owned(),
        resources: vec![Resource::new(RESOURCE, "Tools")],
        password_change: true,
        ..Settings::default()
    }
}

/// Signs ann in on the way to the account.
async fn account(browser: &mut Browser, server: &Server) -> Answered {
    let page = browser.visit(server, PATH).await;
    let form = [("name", "ann"), ("password", "right")];
    browser.submit(server, &page, "/oauth/login", &form).await
}

/// Returns the new password of ann.
fn changed(server: &Server) -> Option<String> {
    server.staff.changed.lock().expect("a password").clone()
}

#[tokio::test]
async fn a_new_password_ends_all_other_sessions_and_no_grant() {
    let server = Server::with(settings());
    let (client, tokens) = server.connected().await;
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    let mut other = Browser::default();
    other.sign_in(&server, &client, &[]).await;
    let mut browser = Browser::default();
    let page = account(&mut browser, &server).await;
    let copy = Browser {
        cookies: browser.cookies.clone(),
    };
    let after = browser.submit(&server, &page, PATH, &CHANGED).await;
    assert_eq!(after.status, 200);
    assert!(after.body.contains("You have a new password."), "{after:?}");
    assert_eq!(changed(&server).as_deref(), Some(CHANGED[1].1));
    assert_eq!(*server.staff.signed_out.lock().expect("names"), ["7"]);
    // The session here goes on with a new value: a copy of its cookie is worth nothing.
    let again = browser.submit(&server, &after, PATH, &[]).await;
    assert!(again.body.contains("You are <strong>ann"), "{again:?}");
    for mut browser in [other, copy] {
        let page = browser.visit(&server, &authorize(&client, &[])).await;
        assert!(page.body.contains("Sign in to connect"), "{page:?}");
    }
    assert_eq!(server.refresh(&client, refresh).await.status, 200);
}

#[tokio::test]
async fn a_password_stays_when_the_present_one_is_wrong_or_the_new_one_is_refused() {
    let server = Server::with(settings());
    let mut browser = Browser::default();
    let mut page = account(&mut browser, &server).await;
    for (present, new, status, text, event) in [
        (
            "",
            "new",
            403,
            "The present password is wrong.",
            Some("login.failed"),
        ),
        (
            "wrong",
            "new",
            403,
            "The present password is wrong.",
            Some("login.failed"),
        ),
        (
            "right",
            "short",
            400,
            "The password is &lt;short&gt;.",
            None,
        ),
        (
            "often",
            "new",
            429,
            "too many attempts",
            Some("login.locked"),
        ),
    ] {
        let form = [("present_password", present), ("new_password", new)];
        page = browser.submit(&server, &page, PATH, &form).await;
        assert_eq!(page.status, status, "{page:?}");
        assert!(page.body.contains(text), "{page:?}");
        assert_eq!(server.events().pop(), event, "{present} {new}");
    }
    assert_eq!(page.headers["retry-after"], "40");
    assert_eq!(changed(&server), None);
    assert!(server.staff.signed_out.lock().expect("names").is_empty());
    assert_eq!(browser.visit(&server, PATH).await.status, 200);
}

#[tokio::test]
async fn a_password_changes_only_where_the_program_lets_it() {
    let server = Server::with(Settings {
        password_change: false,
        ..settings()
    });
    let mut browser = Browser::default();
    let page = account(&mut browser, &server).await;
    assert!(!page.body.contains("new_password"), "{page:?}");
    let after = browser.submit(&server, &page, PATH, &CHANGED).await;
    assert!(after.body.contains("You are <strong>ann"), "{after:?}");
    assert_eq!(changed(&server), None);
}

#[tokio::test]
async fn a_form_for_a_new_password_counts_only_from_its_own_page() {
    let server = Server::with(settings());
    let (client, _) = server.connected().await;
    let mut browser = Browser::default();
    let consent = browser.sign_in(&server, &client, &[]).await;
    let refused = browser.submit(&server, &consent, PATH, &CHANGED).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    let page = browser.visit(&server, PATH).await;
    server.wait(3600);
    browser.submit(&server, &page, PATH, &CHANGED).await;
    assert_eq!(changed(&server), None);
}

//! The page of the account.

use http::{Request, header::CONTENT_TYPE};
use http_body_util::Full;

use super::{Answered, Browser, Server, authorize, encoded};

const PATH: &str = "/oauth/account";

/// Signs a person in on the way to the account.
async fn account(browser: &mut Browser, server: &Server, name: &str) -> Answered {
    let page = browser.visit(server, PATH).await;
    assert!(
        page.body.contains("Sign in to see your account."),
        "{page:?}"
    );
    let form = [("name", name), ("password", "right")];
    let page = browser.submit(server, &page, "/oauth/login", &form).await;
    assert!(page.body.contains("Your account"), "{page:?}");
    page
}

/// Returns the ids of the grants on a page.
fn grants(page: &Answered) -> Vec<&str> {
    let parts = page.body.split("name=\"withdraw\" value=\"").skip(1);
    parts
        .map(|part| part.split('"').next().expect("an id"))
        .collect()
}

#[tokio::test]
async fn a_person_sees_each_grant_and_withdraws_it_with_its_consent() {
    let server = Server::new();
    let (client, tokens) = server.connected().await;
    server.wait(7200);
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    let mut browser = Browser::default();
    let page = account(&mut browser, &server, "ann").await;
    for text in [
        "<strong>ann</strong>",
        "Inspector",
        "a name the program gave itself; nobody has checked it",
        "<dd>Tools</dd>",
        "all: The &lt;shop&gt;, The &lt;logs&gt;",
        "<dt>May change data</dt><dd>no</dd>",
        "<dd>2 hours ago</dd>",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    let [grant] = grants(&page)[..] else {
        panic!("{}", page.body);
    };
    let form = [("withdraw", grant)];
    let after = browser.submit(&server, &page, PATH, &form).await;
    assert!(
        after.body.contains("No program may use your account."),
        "{after:?}"
    );
    assert_eq!(
        server.refresh(&client, refresh).await.error(),
        "invalid_grant"
    );
    let events = server.events();
    assert_eq!(
        events[events.len() - 2..],
        ["consent.withdrawn", "grant.ended"]
    );
    let again = browser.submit(&server, &page, PATH, &form).await;
    assert!(
        again.body.contains("could not use your account any more"),
        "{again:?}"
    );
}

#[tokio::test]
async fn a_grant_that_was_not_used_for_too_long_is_not_on_the_page() {
    let server = Server::new();
    server.connected().await;
    server.wait(720 * 3600 - 1);
    let mut browser = Browser::default();
    let page = account(&mut browser, &server, "ann").await;
    assert_eq!(grants(&page).len(), 1, "{page:?}");
    server.wait(1);
    let page = browser.visit(&server, PATH).await;
    assert!(grants(&page).is_empty(), "{page:?}");
}

#[tokio::test]
async fn a_person_signs_out_everywhere() {
    let server = Server::new();
    let (client, tokens) = server.connected().await;
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    let mut other = Browser::default();
    other.sign_in(&server, &client, &[]).await;
    let mut browser = Browser::default();
    let page = account(&mut browser, &server, "ann").await;
    let form = [("everywhere", "yes")];
    let after = browser.submit(&server, &page, PATH, &form).await;
    assert!(
        after.body.contains("You are signed out everywhere."),
        "{after:?}"
    );
    assert_eq!(
        server.refresh(&client, refresh).await.error(),
        "invalid_grant"
    );
    for mut browser in [browser, other] {
        let page = browser.visit(&server, &authorize(&client, &[])).await;
        assert!(page.body.contains("Password"), "{page:?}");
    }
    assert_eq!(*server.staff.signed_out.lock().expect("names"), ["7"]);
}

#[tokio::test]
async fn a_session_older_than_an_hour_signs_in_first_and_comes_back() {
    let server = Server::new();
    server.connected().await;
    let mut browser = Browser::default();
    account(&mut browser, &server, "ann").await;
    // The session is in use all the time.
    for _ in 0..7 {
        server.wait(500);
        assert!(
            browser
                .visit(&server, PATH)
                .await
                .body
                .contains("Your account")
        );
    }
    let page = browser.visit(&server, PATH).await;
    server.wait(100);
    let form = [("withdraw", grants(&page)[0])];
    let login = browser.submit(&server, &page, PATH, &form).await;
    assert!(login.body.contains("Password"), "{login:?}");
    assert!(browser.visit(&server, PATH).await.body.contains("Password"));
    let form = [("name", "ann"), ("password", "right")];
    let page = browser.submit(&server, &login, "/oauth/login", &form).await;
    assert_eq!(grants(&page).len(), 1, "{page:?}");
}

#[tokio::test]
async fn a_person_cannot_withdraw_a_grant_of_another_person() {
    let server = Server::new();
    let (client, tokens) = server.connected().await;
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    let mut ann = Browser::default();
    let page = account(&mut ann, &server, "ann").await;
    let grant = grants(&page)[0].to_owned();
    let mut bob = Browser::default();
    let page = account(&mut bob, &server, "bob").await;
    assert!(grants(&page).is_empty(), "{}", page.body);
    for id in [&*grant, "x", "AAAA"] {
        bob.submit(&server, &page, PATH, &[("withdraw", id)]).await;
    }
    bob.submit(&server, &page, PATH, &[("everywhere", "yes")])
        .await;
    assert_eq!(server.refresh(&client, refresh).await.status, 200);
}

#[tokio::test]
async fn a_form_of_the_account_counts_only_from_its_own_page() {
    let server = Server::new();
    let (client, _) = server.connected().await;
    let mut browser = Browser::default();
    let consent = browser.sign_in(&server, &client, &[]).await;
    let page = browser.visit(&server, PATH).await;
    let form = [("everywhere", "yes")];
    // A page that a client brought a person to is no page of the account.
    assert_eq!(
        browser.submit(&server, &consent, PATH, &form).await.status,
        400
    );
    let cookie = browser.header();
    let form = encoded(&[("flow", page.flow()), form[0]]);
    for (origin, cookie, expected) in [
        ("https://evil.example", &*cookie, 403),
        ("null", &*cookie, 403),
        (super::ISSUER, "", 400),
    ] {
        let request = Request::post(PATH)
            .header("cookie", cookie)
            .header("origin", origin)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(form.clone()));
        let answer = server.send(request.expect("a request")).await;
        assert_eq!(answer.status, expected, "{origin}: {answer:?}");
    }
    // A form of the session before.
    let login = browser.submit(&server, &page, "/oauth/logout", &[]).await;
    let signed_in = [("name", "bob"), ("password", "right")];
    browser
        .submit(&server, &login, "/oauth/login", &signed_in)
        .await;
    let late = [("everywhere", "yes")];
    assert_eq!(
        browser.submit(&server, &page, PATH, &late).await.status,
        400
    );
    assert!(server.staff.signed_out.lock().expect("names").is_empty());
}

//! The second factor.

use std::sync::atomic::Ordering;

use super::{Answered, Browser, ISSUER, REDIRECT, RESOURCE, Server, authorize, claims};
use crate::{
    Resource, SecondFactor, Settings,
    keys::totp::{self, Secret},
};

const PATH: &str = "/oauth/second-factor";

const SIGN_IN: [(&str, &str); 2] = [("name", "ann"), ("password", "right")];

fn server(second_factor: SecondFactor) -> Server {
    Server::with(Settings {
        issuer: ISSUER.to_owned(),
        resources: vec![Resource::new(RESOURCE, "Tools")],
        second_factor,
        ..Settings::default()
    })
}

/// Returns the texts in `code` elements of a page.
fn codes(page: &Answered) -> Vec<&str> {
    let parts = page.body.split("<code>").skip(1);
    parts
        .map(|part| part.split('<').next().expect("a text"))
        .collect()
}

/// Reads the key of a page for the set-up.
fn secret(page: &Answered) -> Secret {
    let [key] = codes(page)[..] else {
        panic!("{}", page.body);
    };
    let letters = key.bytes().filter(|byte| *byte != b' ');
    let bits = letters.flat_map(|letter| {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            _ => letter - b'2' + 26,
        };
        (0..5).rev().map(move |place| value >> place & 1)
    });
    let bits: Vec<u8> = bits.collect();
    let bytes = bits
        .chunks(8)
        .map(|byte| byte.iter().fold(0, |all, bit| all << 1 | bit));
    bytes.collect::<Vec<u8>>().try_into().expect("20 bytes")
}

/// Returns the code of the current step.
pub(super) fn code(server: &Server, secret: &Secret) -> String {
    totp::code(secret, server.now.load(Ordering::Relaxed) / 30)
}

/// Goes to the account page and sets a factor up, and returns its secret and the last page.
pub(super) async fn set_up(browser: &mut Browser, server: &Server) -> (Secret, Answered) {
    let page = browser.visit(server, "/oauth/account").await;
    let page = browser
        .submit(server, &page, "/oauth/login", &SIGN_IN)
        .await;
    let form = [("set_up", "yes")];
    let page = browser.submit(server, &page, "/oauth/account", &form).await;
    let secret = secret(&page);
    let code = code(server, &secret);
    let page = browser
        .submit(server, &page, PATH, &[("code", &code)])
        .await;
    assert!(page.body.contains("Recovery codes"), "{page:?}");
    server.wait(30);
    (secret, page)
}

/// Signs ann in up to the page for the code.
async fn password(browser: &mut Browser, server: &Server, client: &str) -> Answered {
    let page = browser.visit(server, &authorize(client, &[])).await;
    let page = browser
        .submit(server, &page, "/oauth/login", &SIGN_IN)
        .await;
    assert!(page.body.contains("recovery code"), "{page:?}");
    assert!(
        browser
            .cookies
            .keys()
            .all(|name| !name.ends_with("session"))
    );
    page
}

#[tokio::test]
async fn a_person_sets_a_factor_up_and_gives_it_at_the_next_sign_in() {
    let server = server(SecondFactor::Optional);
    let client = server.register(REDIRECT).await;
    let needs = async || server.sign_in.needs_second_factor("7").await;
    assert_eq!(needs().await, Ok(false));
    let mut browser = Browser::default();
    let page = browser.visit(&server, "/oauth/account").await;
    browser
        .submit(&server, &page, "/oauth/login", &SIGN_IN)
        .await;
    let mut before = Browser {
        cookies: browser.cookies.clone(),
    };
    let (secret, page) = set_up(&mut Browser::default(), &server).await;
    assert_eq!(needs().await, Ok(true));
    assert_eq!(codes(&page).len(), 10);
    // A session from before opens nothing any more.
    let login = before.visit(&server, "/oauth/account").await;
    assert!(login.body.contains("Password"), "{login:?}");
    let mut browser = Browser::default();
    let page = password(&mut browser, &server, &client).await;
    let code = code(&server, &secret);
    let page = browser
        .submit(&server, &page, PATH, &[("code", &code)])
        .await;
    let form = [("decision", "allow"), ("database.shop", "on")];
    let end = browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await;
    let back = end.back();
    let tokens = server
        .exchange(&client, back.get("code").expect("a code"))
        .await
        .json();
    assert_eq!(claims(&tokens)["amr"], serde_json::json!(["pwd", "otp"]));
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    let tokens = server.refresh(&client, refresh).await.json();
    assert_eq!(claims(&tokens)["amr"], serde_json::json!(["pwd", "otp"]));
    assert!(server.events().contains(&"login.ok"));
}

#[tokio::test]
async fn a_session_gets_a_new_value_after_a_second_factor() {
    let server = server(SecondFactor::Optional);
    let mut browser = Browser::default();
    let page = browser.visit(&server, "/oauth/account").await;
    browser
        .submit(&server, &page, "/oauth/login", &SIGN_IN)
        .await;
    let mut stolen = Browser {
        cookies: browser.cookies.clone(),
    };
    let page = browser.visit(&server, "/oauth/account").await;
    let form = [("set_up", "yes")];
    let page = browser
        .submit(&server, &page, "/oauth/account", &form)
        .await;
    let code = code(&server, &secret(&page));
    let page = browser
        .submit(&server, &page, PATH, &[("code", &code)])
        .await;
    assert!(page.body.contains("I have kept them"), "{page:?}");
    let account = browser.submit(&server, &page, PATH, &[]).await;
    assert!(
        account.body.contains("10 recovery codes are left"),
        "{account:?}"
    );
    let late = stolen.submit(&server, &page, PATH, &[]).await;
    assert_eq!(late.status, 400);
    let login = stolen.visit(&server, "/oauth/account").await;
    assert!(login.body.contains("Password"), "{login:?}");
}

#[tokio::test]
async fn a_set_up_ends_with_its_session() {
    let server = server(SecondFactor::Optional);
    let mut browser = Browser::default();
    let page = browser.visit(&server, "/oauth/account").await;
    let account = browser
        .submit(&server, &page, "/oauth/login", &SIGN_IN)
        .await;
    let form = [("set_up", "yes")];
    let page = browser
        .submit(&server, &account, "/oauth/account", &form)
        .await;
    let form = [("everywhere", "yes")];
    browser
        .submit(&server, &account, "/oauth/account", &form)
        .await;
    let code = code(&server, &secret(&page));
    let late = browser
        .submit(&server, &page, PATH, &[("code", &code)])
        .await;
    assert_eq!(late.status, 400, "{late:?}");
    assert_eq!(server.sign_in.needs_second_factor("7").await, Ok(false));
}

#[tokio::test]
async fn a_code_holds_once_and_a_recovery_code_too() {
    let server = server(SecondFactor::Optional);
    let client = server.register(REDIRECT).await;
    let (secret, page) = set_up(&mut Browser::default(), &server).await;
    let recovery = codes(&page)[3].to_uppercase().replace('-', " ");
    let code = code(&server, &secret);
    for given in [&code, &recovery] {
        for expected in [200, 403] {
            let mut browser = Browser::default();
            let page = password(&mut browser, &server, &client).await;
            let answer = browser
                .submit(&server, &page, PATH, &[("code", given)])
                .await;
            assert_eq!(answer.status, expected, "{given}");
        }
    }
    // The code of the step before does not hold after a later one.
    let before = totp::code(&secret, server.now.load(Ordering::Relaxed) / 30 - 1);
    let mut browser = Browser::default();
    let page = password(&mut browser, &server, &client).await;
    let answer = browser
        .submit(&server, &page, PATH, &[("code", &before)])
        .await;
    assert_eq!(answer.status, 403);
}

#[tokio::test]
async fn five_wrong_codes_end_the_sign_in_and_twenty_close_it_for_the_person() {
    let server = server(SecondFactor::Optional);
    let client = server.register(REDIRECT).await;
    let (secret, _) = set_up(&mut Browser::default(), &server).await;
    for round in 0..4 {
        let mut browser = Browser::default();
        let first = password(&mut browser, &server, &client).await;
        let wrong = [("code", "000000")];
        let mut page = browser.submit(&server, &first, PATH, &wrong).await;
        // A form counts once, so the count cannot begin again.
        let again = browser.submit(&server, &first, PATH, &wrong).await;
        assert_eq!(again.status, 400, "{again:?}");
        for _ in 0..3 {
            assert!(
                page.body.contains("The code is wrong."),
                "{round}: {page:?}"
            );
            page = browser.submit(&server, &page, PATH, &wrong).await;
        }
        let last = browser.submit(&server, &page, PATH, &wrong).await;
        assert_eq!(last.status, 403);
        assert!(
            last.body.contains("There were too many wrong codes."),
            "{last:?}"
        );
        assert!(!last.body.contains("<form"), "{last:?}");
    }
    let failed = server.events();
    let failed = failed
        .iter()
        .filter(|name| **name == "second_factor.failed");
    assert_eq!(failed.count(), 20);
    let mut browser = Browser::default();
    let page = password(&mut browser, &server, &client).await;
    let right = code(&server, &secret);
    let refused = browser
        .submit(&server, &page, PATH, &[("code", &right)])
        .await;
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn a_password_alone_opens_nothing_where_a_factor_is_due() {
    let server = server(SecondFactor::Required);
    let client = server.register(REDIRECT).await;
    assert_eq!(server.sign_in.needs_second_factor("8").await, Ok(true));
    let (secret, _) = set_up_at_sign_in(&server, &client).await;
    let mut browser = Browser::default();
    let page = password(&mut browser, &server, &client).await;
    let allow = [("decision", "allow"), ("database.shop", "on")];
    for (path, form) in [
        ("/oauth/consent", &allow[..]),
        ("/oauth/account", &[("everywhere", "yes")]),
        ("/oauth/device", &[]),
    ] {
        let answer = browser.submit(&server, &page, path, form).await;
        assert!(
            [400, 404].contains(&answer.status.as_u16()),
            "{path}: {answer:?}"
        );
    }
    for path in [authorize(&client, &[]), "/oauth/account".to_owned()] {
        let answer = browser.visit(&server, &path).await;
        assert!(answer.body.contains("Password"), "{path}: {answer:?}");
    }
    let none = browser
        .visit(&server, &authorize(&client, &[("prompt", "none")]))
        .await;
    assert_eq!(none.back().get("error"), Some("login_required"));
    // Another browser cannot go on with the password of this one.
    let mut other = Browser::default();
    other.visit(&server, &authorize(&client, &[])).await;
    let code = code(&server, &secret);
    let stolen = other.submit(&server, &page, PATH, &[("code", &code)]).await;
    assert_eq!(stolen.status, 400);
    let answer = browser
        .submit(&server, &page, PATH, &[("code", &code)])
        .await;
    assert_eq!(answer.status, 200);
}

/// Sets a factor up at a sign-in that requires it, after a look at another account.
async fn set_up_at_sign_in(server: &Server, client: &str) -> (Secret, Answered) {
    let mut browser = Browser::default();
    let page = browser.visit(server, &authorize(client, &[])).await;
    let page = browser
        .submit(server, &page, "/oauth/login", &SIGN_IN)
        .await;
    assert!(page.body.contains("Set up a second factor"), "{page:?}");
    let page = browser
        .submit(server, &page, "/oauth/login", &SIGN_IN)
        .await;
    let secret = secret(&page);
    let wrong = browser
        .submit(server, &page, PATH, &[("code", "000000")])
        .await;
    assert_eq!(wrong.status, 400, "{wrong:?}");
    let code = code(server, &secret);
    let page = browser
        .submit(server, &wrong, PATH, &[("code", &code)])
        .await;
    let consent = browser.submit(server, &page, PATH, &[]).await;
    assert!(consent.body.contains("Allow access?"), "{consent:?}");
    server.wait(30);
    (secret, page)
}

#[tokio::test]
async fn a_password_alone_replaces_no_factor() {
    let server = server(SecondFactor::Required);
    let client = server.register(REDIRECT).await;
    let mut thief = Browser::default();
    let page = thief.visit(&server, &authorize(&client, &[])).await;
    let page = thief.submit(&server, &page, "/oauth/login", &SIGN_IN).await;
    let own = secret(&page);
    set_up_at_sign_in(&server, &client).await;
    let code = code(&server, &own);
    let late = thief.submit(&server, &page, PATH, &[("code", &code)]).await;
    assert_eq!(late.status, 400, "{late:?}");
    let page = password(&mut Browser::default(), &server, &client).await;
    assert!(codes(&page).is_empty(), "{page:?}");
}

#[tokio::test]
async fn a_factor_is_removed_with_a_code_only() {
    for setting in [SecondFactor::Optional, SecondFactor::Required] {
        let server = server(setting);
        let client = server.register(REDIRECT).await;
        let (secret, _) = set_up_at(&server, setting, &client).await;
        let mut browser = Browser::default();
        let page = password(&mut browser, &server, &client).await;
        let given = code(&server, &secret);
        browser
            .submit(&server, &page, PATH, &[("code", &given)])
            .await;
        server.wait(30);
        let account = browser.visit(&server, "/oauth/account").await;
        for (given, expected) in [("", 403), ("000000", 403), (&*code(&server, &secret), 200)] {
            let form = [("remove", "yes"), ("code", given)];
            let answer = browser
                .submit(&server, &account, "/oauth/account", &form)
                .await;
            assert_eq!(answer.status, expected, "{given}: {answer:?}");
            let is_asked = answer.body.contains("Add this key");
            assert_eq!(
                is_asked,
                setting == SecondFactor::Required && expected == 200
            );
        }
        let needs = server.sign_in.needs_second_factor("7").await;
        assert_eq!(needs, Ok(setting == SecondFactor::Required));
    }
}

async fn set_up_at(server: &Server, setting: SecondFactor, client: &str) -> (Secret, Answered) {
    match setting {
        SecondFactor::Required => set_up_at_sign_in(server, client).await,
        _ => set_up(&mut Browser::default(), server).await,
    }
}

#[tokio::test]
async fn a_server_without_second_factors_shows_none() {
    let server = server(SecondFactor::Off);
    let mut browser = Browser::default();
    let page = browser.visit(&server, "/oauth/account").await;
    let page = browser
        .submit(&server, &page, "/oauth/login", &SIGN_IN)
        .await;
    assert!(!page.body.contains("econd factor"), "{}", page.body);
    let form = [("set_up", "yes")];
    let refused = browser
        .submit(&server, &page, "/oauth/account", &form)
        .await;
    assert_eq!(refused.status, 400);
    assert_eq!(server.sign_in.needs_second_factor("7").await, Ok(false));
}

#[tokio::test]
async fn another_account_in_the_same_browser_sets_its_own_factor_up() {
    let server = server(SecondFactor::Required);
    let client = server.register(REDIRECT).await;
    let (secret, _) = set_up_at_sign_in(&server, &client).await;
    let mut browser = Browser::default();
    let page = password(&mut browser, &server, &client).await;
    let code = code(&server, &secret);
    let consent = browser
        .submit(&server, &page, PATH, &[("code", &code)])
        .await;
    let login = browser
        .submit(&server, &consent, "/oauth/logout", &[])
        .await;
    let form = [("name", "bob"), ("password", "right")];
    let page = browser.submit(&server, &login, "/oauth/login", &form).await;
    let code = self::code(&server, &self::secret(&page));
    let page = browser
        .submit(&server, &page, PATH, &[("code", &code)])
        .await;
    assert_eq!(codes(&page).len(), 10, "{page:?}");
}

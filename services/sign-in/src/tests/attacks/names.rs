//! Names with markup, hidden characters and 10 kB.

use http::StatusCode;
use serde_json::json;

use crate::{
    Tenant,
    tests::{
        Answered, Browser, REDIRECT, Server, authorize,
        idp::Idp,
        upstream,
        web::{CLIENT, Web, document},
    },
};

/// Characters that turn or hide text, and markup.
const HOSTILE: &str =
    "\u{202e}\u{2066}<script>alert(1)</script>\u{200b}\u{feff}\u{e0041}\"'><img src=x>\u{7}&";

fn assert_harmless(page: &Answered, case: &str) {
    for part in ["<script", "<img", "\"'>", "alert(1)<"] {
        assert!(!page.body.contains(part), "{case}: {}", page.body);
    }
    let is_hidden = |c: char| {
        matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}' | '\u{7}')
    };
    assert!(!page.body.contains(is_hidden), "{case}: {}", page.body);
}

/// Returns the hostile name, and one of 10 kB with it.
fn hostile_names() -> [String; 2] {
    [
        HOSTILE.to_owned(),
        HOSTILE.repeat(10_000 / HOSTILE.len() + 1),
    ]
}

#[tokio::test]
async fn a_hostile_name_of_a_person_is_wrong_and_not_shown() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    for name in hostile_names() {
        let mut browser = Browser::default();
        let page = browser.visit(&server, &authorize(&client, &[])).await;
        let form = [("name", &*name), ("password", &*name)];
        let answer = browser.submit(&server, &page, "/oauth/login", &form).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        assert_harmless(&answer, "a login");
        assert!(!answer.body.contains("alert(1)"), "{answer:?}");
        // A password manager of another person does not learn it either.
        let mut events = server.events.lock().expect("events").clone().into_iter();
        assert!(events.all(|(_, event)| !event.contains("alert(1)")));
    }
}

#[tokio::test]
async fn a_hostile_name_of_a_client_is_shortened_and_shown_as_text() {
    let (web, server) = Web::with_server();
    let [short, long] = hostile_names();
    for (name, status) in [(&long, StatusCode::BAD_GATEWAY), (&short, StatusCode::OK)] {
        let mut document = document();
        document["client_name"] = json!(name);
        web.publish(CLIENT, &document);
        server.wait(700);
        let page = server.get(&authorize(CLIENT, &[])).await;
        assert_eq!(page.status, status, "{page:?}");
        assert_harmless(&page, "a document");
    }
    let metadata = |name: &str| json!({"client_name": name, "redirect_uris": [REDIRECT]});
    let refused = server.register_with(&metadata(&long)).await;
    assert_eq!(refused.error(), "invalid_client_metadata");
    let client = server.register_with(&metadata(&short)).await.json();
    let client = client["client_id"].as_str().expect("an id");
    let mut browser = Browser::default();
    let login = browser.visit(&server, &authorize(client, &[])).await;
    let consent = browser.sign_in(&server, client, &[]).await;
    let form = [("decision", "allow"), ("database.shop", "on")];
    let end = browser
        .submit(&server, &consent, "/oauth/consent", &form)
        .await;
    let account = browser.visit(&server, "/oauth/account").await;
    for page in [login, consent, end, account] {
        assert_harmless(&page, "a registration");
        let text = "&lt;script&gt;alert(1)&lt;/script&gt;";
        assert!(page.body.contains(text), "{}", page.body);
    }
}

#[tokio::test]
async fn a_hostile_name_of_a_tenant_or_of_an_account_elsewhere_is_shown_as_text() {
    let [short, long] = hostile_names();
    for name in [&short, &long] {
        let (idp, server) = Idp::with_server();
        let titles = ["one", "two"].map(|id| Tenant {
            id: id.to_owned(),
            title: name.clone(),
            groups: Vec::new(),
            roles: Vec::new(),
        });
        *server.staff.tenants.lock().expect("tenants") = titles.to_vec();
        idp.claim("preferred_username", json!(name));
        let mut browser = Browser::default();
        let consent = upstream::arrive(&idp, &server, &mut browser, "acme").await;
        assert_eq!(consent.status, StatusCode::OK, "{consent:?}");
        assert_harmless(&consent, "a consent");
        let account = browser.visit(&server, "/oauth/account").await;
        assert!(account.body.contains("Your account"), "{account:?}");
        assert_harmless(&account, "an account");
    }
}

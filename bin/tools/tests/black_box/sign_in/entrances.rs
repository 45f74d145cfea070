//! One check of passwords for all entrances, and tokens of other kinds beside the sign-in.

use serde_json::json;

use super::{ALL, Office};
use crate::support::{Browser, Client, OAuthClient, records, records::PASSWORD};

/// Tries a password at the login tool, the console and the page.
pub(super) fn try_all(client: &Client, password: &str) -> [String; 3] {
    let tool = client.login("ann", password).body;
    let address = client.address();
    let body = json!({"username": "ann", "password": password}).to_string();
    let console = client.send(
        "POST",
        "/api/console/session",
        &format!(
            "content-type: application/json\r\nziggurat-console: 1\r\n\
             origin: http://{address}\r\n"
        ),
        &body,
    );
    let registered = OAuthClient::register(client);
    let page = Browser::new(client).sign_in(&registered.request("mcp"), "ann", password);
    [tool, console.body, page.body]
}

#[test]
fn wrong_passwords_over_three_entrances_lock_as_at_one() {
    let office = Office::new("http: {auth: {max_failed_attempts_before_lockout: 3}}\n");
    let (_program, client) = office.serve();
    let tried = try_all(&client, "wrong");
    let users = std::fs::read_to_string(office.home.users()).expect("text");
    assert!(users.contains("enabled: false"), "{users} {tried:?}");
    let [tool, console, page] = try_all(&client, PASSWORD);
    assert!(tool.contains("user account is disabled"), "{tool}");
    assert!(console.contains("user account is disabled"), "{console}");
    assert!(
        page.contains("The name or the password is wrong."),
        "{page}"
    );
}

#[test]
fn other_tokens_work_beside_the_sign_in_and_prove_nothing_there() {
    let office = Office::new("");
    let token = records::token(1, "good", &["database: shop"]);
    office
        .home
        .replace(&office.home.tokens(), &records::tokens(&[token]));
    let (_program, client) = office.serve();
    assert_eq!(client.bearing("good").get("/api/databases").status, 200);
    let session = client.logged_in("ann", PASSWORD);
    assert_eq!(session.get("/api/user/info").status, 200);
    let registered = OAuthClient::register(&client);
    for token in ["good", session.token().expect("a session")] {
        let refused = registered.refresh(token);
        assert_eq!(
            (refused.status, &refused.json()["error"]),
            (400, &json!("invalid_grant"))
        );
        assert_eq!(registered.revoke(token).status, 200);
        assert_eq!(client.bearing(token).get("/api/databases").status, 200);
    }
    let tokens = registered.tokens("ann", PASSWORD, ALL);
    let refreshing = client.bearing(&tokens.refresh).get("/api/databases");
    assert_eq!(refreshing.status, 401, "a refresh token opens nothing");
    let ann = client.bearing(&tokens.access);
    assert_eq!(
        ann.get("/api/admin/users").status,
        403,
        "a client never administers"
    );
}

#[test]
fn a_person_changes_the_password_for_all_entrances() {
    const NEW: &str = "a new one of many words";
    let office = Office::new("http: {auth: {min_password_length: 20}}\n");
    let (_program, client) = office.serve();
    let session = client.logged_in("ann", PASSWORD);
    let browser = Browser::new(&client);
    let mut page = browser.sign_in("/oauth/account", "ann", PASSWORD);
    for (present, new, text) in [
        ("wrong", NEW, "The present password is wrong."),
        (PASSWORD, "nineteen characters", "at least 20 characters."),
        (
            PASSWORD,
            "the plans of ANN, in many words",
            "the name of the account.",
        ),
        (PASSWORD, NEW, "You have a new password."),
    ] {
        let form = [("present_password", present), ("new_password", new)];
        page = browser.submit(&page, "/oauth/account", &form);
        assert!(page.body.contains(text), "{page:?}");
    }
    assert_eq!(session.get("/api/user/info").status, 401, "it has ended");
    let [tool, console, page] = try_all(&client, PASSWORD);
    assert!(tool.contains("invalid username or password"), "{tool}");
    assert!(
        console.contains("invalid username or password"),
        "{console}"
    );
    assert!(
        page.contains("The name or the password is wrong."),
        "{page}"
    );
    let [tool, console, page] = try_all(&client, NEW);
    assert!(tool.contains("session_token"), "{tool}");
    assert!(console.contains("ann"), "{console}");
    assert!(page.contains("Allow access?"), "{page}");
}

//! Commands of administrators beside a running server.

use super::{ALL, Office};
use crate::support::{Browser, OAuthClient, Ran, granted, records::PASSWORD, until};

fn done(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout
}

/// Runs a command that is refused, and returns the reason.
fn refused(office: &Office, words: &[&str]) -> String {
    let ran = office.home.ran(words, "");
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    ran.stderr
}

#[test]
fn grants_are_listed_and_end_by_commands() {
    let office = Office::new("");
    let (_program, client) = office.serve();
    let list = |more: &[&str]| done(office.home.ran(&[&["-list-grants"], more].concat(), ""));
    assert_eq!(list(&[]), "No grants found.\n");
    let registered = OAuthClient::register(&client);
    let ann = registered.tokens("ann", PASSWORD, ALL);
    let bob = registered.tokens("bob", PASSWORD, &[("database.logs", "1")]);
    let listed = list(&[]);
    assert_eq!(listed.lines().count(), 3, "{listed}");
    let of_ann = list(&["-username", "ann"]);
    assert!(
        of_ann.contains(&format!("{}, mcp mcp:write, all", registered.id)),
        "{of_ann}"
    );
    let id = of_ann
        .lines()
        .nth(1)
        .and_then(|line| line.split(' ').next())
        .expect("an id");
    let info = |token: &str| client.bearing(token).get("/api/user/info").status;
    assert_eq!(
        done(office.home.ran(&["-revoke-grant", id], "")),
        "Grant ended\n"
    );
    until("the server follows", || info(&ann.access) == 401);
    assert_eq!(info(&bob.access), 200);
    assert!(refused(&office, &["-revoke-grant", id]).contains("there is no grant"));
    assert!(refused(&office, &["-revoke-grant", "x"]).contains("is not the id of a grant"));
    let ended = done(office.home.ran(&["-revoke-grants", "-username", "bob"], ""));
    assert_eq!(ended, "1 grant(s) ended\n");
    until("the server follows", || info(&bob.access) == 401);
    assert!(refused(&office, &["-list-grants", "-username", "eve"]).contains("not found"));
}

#[test]
fn a_client_is_added_signs_people_in_and_is_removed_with_its_grants() {
    let office = Office::new("");
    let (_program, client) = office.serve();
    let redirect = "http://localhost:3118/callback";
    let words = [
        "-add-client",
        "-client-name",
        "Acme",
        "-redirect-uri",
        redirect,
    ];
    let added = done(office.home.ran(&words, ""));
    let id = added.trim().strip_prefix("Client: ").expect("an id");
    let acme = OAuthClient::of(&client, id);
    let page = Browser::new(&client).sign_in(&acme.request("mcp"), "ann", PASSWORD);
    assert!(
        page.body.contains("registered by the administrator"),
        "{page:?}"
    );
    let tokens = acme.tokens("ann", PASSWORD, ALL);
    assert_eq!(
        client.bearing(&tokens.access).get("/api/user/info").status,
        200
    );
    let listed = done(office.home.ran(&["-list-clients"], ""));
    assert!(
        listed.contains("Acme, http://localhost:3118/callback"),
        "{listed}"
    );
    assert!(refused(&office, &["-add-client", "-client-name", "A"]).contains("-redirect-uri"));
    let words = [
        "-add-client",
        "-client-name",
        "A",
        "-redirect-uri",
        "javascript:alert(1)",
    ];
    assert!(refused(&office, &words).contains("cannot be returned to"));
    done(office.home.ran(&["-remove-client", id], ""));
    until("the server follows", || {
        client.bearing(&tokens.access).get("/api/user/info").status == 401
    });
    assert_eq!(client.get(&acme.request("mcp")).status, 400);
    assert!(refused(&office, &["-remove-client", id]).contains("there is no client"));
}

#[test]
fn a_new_key_signs_at_once_and_revoking_ends_everything() {
    let office = Office::new("");
    let (_program, client) = office.serve();
    let registered = OAuthClient::register(&client);
    let before = registered.tokens("ann", PASSWORD, ALL);
    let keys = || {
        client.get("/.well-known/jwks.json").json()["keys"]
            .as_array()
            .map_or(0, Vec::len)
    };
    assert_eq!(keys(), 1);
    done(office.home.ran(&["-rotate-key"], ""));
    until("the server has both keys", || keys() == 2);
    let info = |token: &str| client.bearing(token).get("/api/user/info").status;
    assert_eq!(info(&before.access), 200);
    let after = granted(&registered.refresh(&before.refresh));
    assert_eq!(info(&after.access), 200);
    let browser = Browser::new(&client);
    browser.sign_in(&registered.request("mcp"), "ann", PASSWORD);
    assert!(
        browser
            .open(&registered.request("mcp"))
            .body
            .contains("/oauth/consent")
    );
    done(office.home.ran(&["-rotate-key", "-revoke"], ""));
    until("the old tokens are bad", || info(&after.access) == 401);
    assert_eq!(registered.refresh(&after.refresh).status, 400);
    let page = browser.open(&registered.request("mcp"));
    assert!(
        page.body.contains("name=\"password\""),
        "its session has ended: {page:?}"
    );
    until("new tokens are good", || {
        info(&registered.tokens("ann", PASSWORD, ALL).access) == 200
    });
}

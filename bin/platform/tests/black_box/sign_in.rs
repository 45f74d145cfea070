//! People sign in with their browsers, as users and members of tenants.

mod administration;
mod events;
mod providers;

use serde_json::{Value, json};
use ziggurat_black_box::{Answer, Browser, OAuthClient, claims, granted, until};

use crate::support::{Client, Home, request};

/// A platform that people sign in at, for one tool server.
const SIGN_IN: &str = "sign_in:
  enabled: true
  resources:
    - uri: https://tools.example/mcp
      title: Shop
      databases: [{name: shop, title: The shop}]
      write: true
";

const PASSWORD: &str = "correct horse battery";

/// Fields that allow everything.
const ALL: [(&str, &str); 2] = [("database.shop", "on"), ("write", "on")];

fn home() -> Home {
    let home = Home::new();
    home.configure(SIGN_IN);
    home
}

/// Returns the path and the query of an address.
fn path(url: &Value) -> String {
    let url = url.as_str().expect("an address");
    let (_, rest) = url.split_once("://").expect("a scheme");
    rest[rest.find('/').expect("a path")..].to_owned()
}

/// Creates a member with a password.
fn add_person(home: &Home, client: &Client, email: &str) -> Value {
    let made = home.done(&["user", "create", "-email", email]);
    let done = set_password(client, &path(&made["reset_url"]), PASSWORD);
    assert!(done.body.contains("Your account is ready."), "{done:?}");
    made
}

fn set_password(client: &Client, path: &str, password: &str) -> Answer {
    let browser = Browser::new(client);
    let page = browser.open(path);
    assert_eq!(page.status, 200, "{page:?}");
    browser.submit(&page, "/oauth/reset", &[("password", password)])
}

/// Asks the list of revocations until a grant is on it.
fn wait_for_revocation(client: &Client) {
    until("the grant is listed", || {
        let list = client.get("/.well-known/revoked-clients.json").json();
        list["revoked_grants"]
            .as_array()
            .is_some_and(|list| !list.is_empty())
    });
}

#[test]
fn a_person_gets_tokens_for_a_server_until_the_grant_ends() {
    let home = home();
    let made = home.done(&["init"]);
    let (_program, client) = home.serve();
    let ann = add_person(&home, &client, "Ann@Shop.example");
    let id = ann["id"].as_str().expect("an id");
    home.done(&[
        "membership",
        "update",
        id,
        "-groups",
        "buyers, staff",
        "-roles",
        "reader",
    ]);

    let app = OAuthClient::register(&client);
    let tokens = app.tokens("ann@shop.example", PASSWORD, &ALL);
    assert_eq!(tokens.scope, "mcp mcp:write");
    let token = claims(&tokens.access);
    assert_eq!(token["aud"], json!(["https://tools.example/mcp"]));
    assert_eq!(token["tenant"], made["tenant_id"]);
    assert_eq!(token["sub"], ann["user_id"]);
    assert_eq!(token["email"], "ann@shop.example");
    assert_eq!(token["preferred_username"], "ann@shop.example");
    assert_eq!(token["groups"], json!(["buyers", "staff"]));
    assert_eq!(token["roles"], json!(["reader"]));
    let lifetime = token["exp"].as_u64().zip(token["iat"].as_u64());
    assert_eq!(lifetime.map(|(end, begin)| end - begin), Some(3600));
    let answer = client.bearing(&tokens.access).get("/account/v1/users/me");
    assert_eq!(answer.status, 401, "the token is for another server");

    let next = granted(&app.refresh(&tokens.refresh));
    let grants = home.done(&["grant", "list"]);
    assert_eq!(grants[0]["user_email"], "ann@shop.example");
    assert_eq!(grants[0]["id"], token["grant_id"]);
    let grant = grants[0]["id"].as_str().expect("an id");
    assert_eq!(
        home.ran(&["grant", "revoke", "AAAAAAAAAAAAAAAAAAAAAA"])
            .code,
        Some(1)
    );
    home.done(&["grant", "revoke", grant]);
    wait_for_revocation(&client);
    let list = client.get("/.well-known/revoked-clients.json").json();
    assert_eq!(list["revoked_grants"][0]["grant"], token["grant_id"]);
    let until = list["revoked_grants"][0]["until"].as_u64();
    assert!(until >= token["exp"].as_u64(), "{list}");
    assert_eq!(app.refresh(&next.refresh).json()["error"], "invalid_grant");
}

#[test]
fn tool_servers_hear_of_the_grant_of_a_replayed_code() {
    let home = home();
    home.done(&["init"]);
    let (_program, client) = home.serve();
    add_person(&home, &client, "ann@shop.example");
    let app = OAuthClient::register(&client);
    let browser = Browser::new(&client);
    let page = browser.sign_in(&app.request("mcp"), "ann@shop.example", PASSWORD);
    let code = app.allow(&browser, &page, &ALL);
    let tokens = granted(&app.exchange(&code));
    assert_eq!(app.exchange(&code).json()["error"], "invalid_grant");
    wait_for_revocation(&client);
    let list = client.get("/.well-known/revoked-clients.json").json();
    let grant = &claims(&tokens.access)["grant_id"];
    assert_eq!(list["revoked_grants"][0]["grant"], *grant);
    assert_eq!(
        app.refresh(&tokens.refresh).json()["error"],
        "invalid_grant"
    );
}

#[test]
fn a_person_without_membership_or_disabled_is_out() {
    let home = home();
    home.done(&["init"]);
    let (_program, client) = home.serve();
    let ann = add_person(&home, &client, "ann@shop.example");
    let app = OAuthClient::register(&client);
    let tokens = app.tokens("ann@shop.example", PASSWORD, &ALL);
    home.done(&["user", "disable", "-email", "ann@shop.example"]);
    wait_for_revocation(&client);
    assert_eq!(
        app.refresh(&tokens.refresh).json()["error"],
        "invalid_grant"
    );
    let page = Browser::new(&client).sign_in(&app.request("mcp"), "ann@shop.example", PASSWORD);
    assert!(
        page.body.contains("The name or the password is wrong."),
        "{page:?}"
    );

    home.done(&["user", "enable", "-email", "ann@shop.example"]);
    let tokens = app.tokens("ann@shop.example", PASSWORD, &ALL);
    home.done(&["membership", "delete", ann["id"].as_str().expect("an id")]);
    assert_eq!(
        app.refresh(&tokens.refresh).json()["error"],
        "invalid_grant"
    );
}

#[test]
fn an_invited_person_joins_on_a_page_and_the_address_holds_once() {
    let home = home();
    home.done(&["init"]);
    let (_program, client) = home.serve();
    let invite = home.done(&["invite", "create", "-email", "bob@shop.example"]);
    let address = path(&invite["accept_url"]);
    let browser = Browser::new(&client);
    let page = browser.open(&address);
    assert!(
        page.body
            .contains("You are invited to <strong>default</strong>."),
        "{page:?}"
    );
    let join = |password| {
        let names = [
            ("first_name", "Bob"),
            ("last_name", "Moss"),
            ("password", password),
        ];
        browser.submit(&page, "/oauth/invite/", &names)
    };
    for (password, problem) in [
        ("short", "The password must have at least 12 characters."),
        (
            "I am bob of the shop",
            "The password must not contain the name of the account.",
        ),
    ] {
        let refused = join(password);
        assert_eq!(refused.status, 400);
        assert!(refused.body.contains(problem), "{refused:?}");
    }
    let done = join(PASSWORD);
    assert!(done.body.contains("Your account is ready."), "{done:?}");
    assert_eq!(join(PASSWORD).status, 404, "once");
    let members = home.done(&["membership", "list"]);
    let members = members.as_array().expect("a list");
    // Both may have joined in one second, so their order is not known.
    assert_eq!(members.len(), 2);
    assert!(members.iter().any(|it| it["user_name"] == "Bob Moss"));
    OAuthClient::register(&client).tokens("bob@shop.example", PASSWORD, &ALL);
    for address in [
        "/oauth/reset?token=x",
        "/oauth/reset",
        "/oauth/invite/x?token=y",
    ] {
        assert_eq!(client.get(address).status, 404, "{address}");
    }
}

#[test]
fn an_invitation_of_another_tenant_opens_no_account() {
    let home = home();
    let first = home.done(&["init"]);
    let (_program, client) = home.serve();
    let tenant = first["tenant_id"].as_str().expect("an id");
    let made = home.done(&[
        "tenant",
        "create",
        "-name",
        "Evil",
        "-email",
        "eve@evil.example",
    ]);
    let evil = made["tenant"]["id"].as_str().expect("an id");
    let create = [
        "user",
        "create",
        "-tenant",
        tenant,
        "-email",
        "ann@shop.example",
    ];
    let ann = home.done(&create);
    let invite = [
        "invite",
        "create",
        "-tenant",
        evil,
        "-email",
        "ann@shop.example",
    ];
    let address = path(&home.done(&invite)["accept_url"]);
    let try_it = |password| {
        let browser = Browser::new(&client);
        let page = browser.open(&address);
        browser.submit(&page, "/oauth/invite/", &[("password", password)])
    };
    let refused = try_it(PASSWORD);
    assert!(
        refused.body.contains("Your account has no password yet."),
        "{refused:?}"
    );
    set_password(&client, &path(&ann["reset_url"]), PASSWORD);
    let refused = try_it("a password of the attacker");
    assert_eq!(refused.status, 403);
    assert!(
        refused.body.contains("The password is wrong."),
        "{refused:?}"
    );
    assert_eq!(try_it(PASSWORD).status, 200, "the person does");

    // Two tenants: the person chooses.
    let app = OAuthClient::register(&client);
    let allowed = [ALL[0], ("tenant", evil)];
    let tokens = app.tokens("ann@shop.example", PASSWORD, &allowed);
    assert_eq!(claims(&tokens.access)["tenant"], evil);
}

#[test]
fn the_accounts_take_tokens_of_people_from_the_command_line_only() {
    let home = home();
    let made = home.done(&["init"]);
    let (_program, client) = home.serve();
    add_person(&home, &client, "ann@shop.example");
    let document = client.get("/.well-known/oauth-authorization-server").json();
    let issuer = document["issuer"].as_str().expect("an issuer");
    assert_eq!(
        document["protected_resources"],
        json!(["https://tools.example/mcp"])
    );
    let app = OAuthClient::register(&client).for_resource(issuer);
    let refused = client.get(&app.request("mcp"));
    assert!(refused.head.contains("error=invalid_target"), "{refused:?}");

    let line = OAuthClient::of(&client, "ziggurat-cli").returning_to("http://127.0.0.1/callback");
    let line = line.for_resource(issuer);
    let browser = Browser::new(&client);
    let page = browser.sign_in(&line.request("mcp"), "ann@shop.example", PASSWORD);
    let code = line.allow(&browser, &page, &[]);
    let tokens = granted(&line.exchange(&code));
    assert_eq!(claims(&tokens.access)["aud"], json!([issuer]));
    let ann = client.bearing(&tokens.access);
    assert_eq!(
        ann.get("/account/v1/users/me").json()["email"],
        "ann@shop.example"
    );
    let own = ann.get("/account/v1/grants").json();
    assert_eq!(own[0]["client_id"], "ziggurat-cli");
    assert_eq!(ann.get("/account/v1/grants?all=true").status, 403);
    let id = own[0]["id"].as_str().expect("an id");
    let path = format!("/account/v1/grants/{id}");
    assert_eq!(request(&ann, "DELETE", &path, None).status, 204);
    assert_eq!(
        ann.get("/account/v1/users/me").status,
        401,
        "the grant has ended"
    );

    // A client of the service gets the same token at both addresses.
    let form = |secret: &str| {
        let kind = "content-type: application/x-www-form-urlencoded\r\n";
        let id = made["client_id"].as_str().expect("an id");
        let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
        client.send("POST", "/oauth/token", kind, &form)
    };
    let answer = form(made["client_secret"].as_str().expect("a secret"));
    let token = answer.json()["access_token"].as_str().map(str::to_owned);
    let robot = client.bearing(&token.expect("a token"));
    assert_eq!(robot.get("/account/v1/clients").status, 200);
    assert_eq!(robot.get("/account/v1/grants").status, 401, "for people");
    assert_eq!(form("wrong").json()["error"], "invalid_client");
}

#[test]
fn a_sign_in_that_cannot_be_used_is_refused_at_the_start() {
    let on = "sign_in: {enabled: true, resources: [{uri: 'https://tools.example/mcp'}]";
    let far = "server: {address: '0.0.0.0:8090', public_url: 'http://accounts.example'}\n";
    for (yaml, problem) in [
        (
            format!("server: {{address: '0.0.0.0:8090'}}\n{on}}}"),
            "sign_in needs server.public_url",
        ),
        (
            format!("{far}{on}}}"),
            "sign_in: server.public_url must be https, or http on a loopback host",
        ),
        (
            format!("{on}, password_login: false}}"),
            "sign_in: nobody could sign in: password_login is off, upstreams and \
             identity_assertion are empty",
        ),
        (
            "sign_in: {enabled: true}".to_owned(),
            "sign_in.resources is empty",
        ),
        (
            format!("{on}, access_lifetime: 25h}}"),
            "sign_in.access_lifetime: must be 5m to 24h",
        ),
    ] {
        let home = Home::new();
        home.configure(&yaml);
        let ran = home.ran(&["serve"]);
        assert_eq!(ran.code, Some(1), "{yaml}");
        let said = format!("invalid configuration: {problem}");
        assert!(ran.stderr.contains(&said), "{yaml}: {}", ran.stderr);
    }
}

#[test]
fn a_person_changes_the_password_on_the_page_of_the_account() {
    const NEW: &str = "a new one of many words";
    let home = home();
    home.done(&["init"]);
    let (_program, client) = home.serve();
    add_person(&home, &client, "ann@shop.example");
    let browser = Browser::new(&client);
    let page = browser.sign_in("/oauth/account", "ann@shop.example", PASSWORD);
    let form = [("present_password", PASSWORD), ("new_password", NEW)];
    let page = browser.submit(&page, "/oauth/account", &form);
    assert!(page.body.contains("You have a new password."), "{page:?}");
    for (password, text) in [
        (PASSWORD, "The name or the password is wrong."),
        (NEW, "Your account"),
    ] {
        let page = Browser::new(&client).sign_in("/oauth/account", "ann@shop.example", password);
        assert!(page.body.contains(text), "{page:?}");
    }
}

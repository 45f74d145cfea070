//! Scopes that people allow one by one.

use super::{Browser, ISSUER, REDIRECT, RESOURCE, Server, acme, tenants::tenant};
use crate::{ManualClient, NamedScope, Resource, Settings, SettingsError};

const HOME: &str = "https://acme.example/callback";

fn scope(name: &str, groups: &[&str]) -> NamedScope {
    NamedScope {
        name: name.to_owned(),
        title: format!("The <{name}>"),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
    }
}

/// Creates a server with three scopes: for all, for the group of ann, and for another group.
fn server() -> Server {
    Server::with(settings(vec![
        scope("open", &[]),
        scope("shop.read", &["analysts", "buyers"]),
        scope("secret", &["directors", "buyers"]),
    ]))
}

fn settings(scopes: Vec<NamedScope>) -> Settings {
    Settings {
        issuer: ISSUER.to_owned(),
        resources: vec![Resource::new(RESOURCE, "Tools")],
        scopes,
        clients: vec![ManualClient {
            skip_consent: true,
            ..acme(HOME)
        }],
        ..Settings::default()
    }
}

/// Signs ann in for all scopes; returns the page of the consent and the scope after these choices.
async fn allowed(server: &Server, chosen: &[(&str, &str)]) -> (String, String) {
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let more = [("scope", "mcp open shop.read secret other")];
    let page = browser.sign_in(server, &client, &more).await;
    let form = [&[("decision", "allow"), ("database.shop", "on")], chosen].concat();
    let end = browser.submit(server, &page, "/oauth/consent", &form).await;
    let code = end.back().get("code").expect("a code").to_owned();
    let tokens = server.exchange(&client, &code).await.json();
    let scope = tokens["scope"].as_str().expect("a scope").to_owned();
    (page.body, scope)
}

#[tokio::test]
async fn a_person_allows_each_scope_that_is_open_to_the_groups() {
    let server = server();
    let document = server.get("/.well-known/oauth-authorization-server").await;
    let listed = &document.json()["scopes_supported"];
    let all = [
        "mcp",
        "mcp:write",
        "offline_access",
        "open",
        "shop.read",
        "secret",
    ];
    assert_eq!(*listed, serde_json::json!(all));
    let everything = [
        "scope.open",
        "scope.shop.read",
        "scope.secret",
        "scope.other",
    ];
    let (page, scope) = allowed(&server, &everything.map(|name| (name, "on"))).await;
    assert_eq!(scope, "mcp open shop.read", "secret is for another group");
    let shown = "name=\"scope.shop.read\" value=\"on\" checked> The &lt;shop.read&gt;";
    assert!(page.contains(shown), "{page}");
    assert!(!page.contains("secret"), "{page}");
    let (_, scope) = allowed(&server, &[("scope.open", "on")]).await;
    assert_eq!(scope, "mcp open");
    // The next page has the former choices.
    let (page, _) = allowed(&server, &[]).await;
    assert!(
        page.contains("name=\"scope.open\" value=\"on\" checked"),
        "{page}"
    );
    assert!(
        page.contains("name=\"scope.shop.read\" value=\"on\">"),
        "{page}"
    );
}

#[tokio::test]
async fn the_groups_of_the_chosen_tenant_count_and_a_refresh_asks_again() {
    let server = server();
    let join = |tenants: &[(&str, &[&str])]| {
        let tenants = tenants.iter().map(|(id, groups)| tenant(id, groups));
        *server.staff.tenants.lock().expect("no test panics here") = tenants.collect();
    };
    join(&[("one", &["buyers"]), ("two", &["sellers"])]);
    let boxes = [("scope.open", "on"), ("scope.secret", "on")];
    let in_tenant = |tenant| [&boxes[..], &[("tenant", tenant)]].concat();
    let (page, scope) = allowed(&server, &in_tenant("one")).await;
    assert!(page.contains("scope.secret"), "one tenant has it: {page}");
    assert_eq!(scope, "mcp open secret");
    let (_, scope) = allowed(&server, &in_tenant("two")).await;
    assert_eq!(scope, "mcp open");

    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let page = browser
        .sign_in(&server, &client, &[("scope", "mcp secret")])
        .await;
    let form = [
        ("decision", "allow"),
        ("database.shop", "on"),
        ("tenant", "one"),
    ];
    let form = [&form[..], &boxes].concat();
    let end = browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await;
    let code = end.back().get("code").expect("a code").to_owned();
    let tokens = server.exchange(&client, &code).await.json();
    assert_eq!(tokens["scope"], "mcp secret");
    join(&[("one", &["sellers"]), ("two", &["sellers"])]);
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    let tokens = server.refresh(&client, refresh).await.json();
    assert_eq!(
        tokens["scope"], "mcp",
        "the group is gone, and the scope with it"
    );
}

#[tokio::test]
async fn a_click_is_needed_for_a_scope_that_was_not_allowed_and_not_for_a_closed_one() {
    let server = server();
    let mut browser = Browser::default();
    let ask = |scope| [("redirect_uri", HOME), ("scope", scope)];
    let page = browser
        .sign_in(&server, "acme", &ask("mcp open shop.read"))
        .await;
    let form = [
        ("decision", "allow"),
        ("database.shop", "on"),
        ("scope.open", "on"),
    ];
    browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await;
    for (scope, status) in [
        ("mcp open", 303),
        ("mcp open secret", 303),
        ("mcp shop.read", 200),
    ] {
        let path = super::authorize("acme", &ask(scope));
        let answer = browser.visit(&server, &path).await;
        assert_eq!(answer.status, status, "{scope}: {answer:?}");
    }
}

#[test]
fn a_scope_has_a_word_of_its_own() {
    let problem = |names: &[&str]| {
        let scopes = names.iter().map(|name| scope(name, &[])).collect();
        let checked = settings(scopes).check();
        checked.map_err(|error: SettingsError| error.to_string())
    };
    assert_eq!(problem(&["shop.read", "shop:write"]), Ok(()));
    for (names, expected) in [
        (&["mcp"][..], "scopes: mcp has a meaning already"),
        (&["mcp:write"], "scopes: mcp:write has a meaning already"),
        (&["a", "b", "a"], "scopes: a has a meaning already"),
        (&["a b"], "scopes: \"a b\" is not a word without quotes"),
        (&[""], "scopes: \"\" is not a word without quotes"),
    ] {
        assert_eq!(problem(names), Err(expected.to_owned()), "{names:?}");
    }
}

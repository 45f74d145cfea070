//! Tenants, resources with databases of their own, and clients of the program itself.

use serde_json::json;

use super::{Browser, ISSUER, REDIRECT, RESOURCE, Server, claims};
use crate::{Database, ManualClient, Resource, Settings, Tenant};

pub(super) fn tenant(id: &str, groups: &[&str]) -> Tenant {
    Tenant {
        id: id.to_owned(),
        title: format!("The <{id}>"),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        roles: Vec::new(),
    }
}

/// Creates a server for two tenants, a resource with a database, and a command line.
fn server() -> Server {
    let database = |name: &str| Database {
        name: name.to_owned(),
        title: name.to_owned(),
        is_writable: true,
    };
    let shop = Resource::new(RESOURCE, "Shop").with_databases(vec![database("stock")], true);
    let server = Server::with(Settings {
        issuer: ISSUER.to_owned(),
        resources: vec![shop, Resource::new(ISSUER, "Accounts").with_client("line")],
        clients: vec![ManualClient {
            id: "line".to_owned(),
            name: "Command line".to_owned(),
            redirect_uris: vec![REDIRECT.to_owned()],
            secret_hash: None,
            skip_consent: false,
        }],
        revoked_clients_uri: Some(format!("{ISSUER}/list.json")),
        ..Settings::default()
    });
    *server.staff.tenants.lock().expect("no test panics here") =
        vec![tenant("one", &["buyers"]), tenant("two", &["sellers"])];
    server
}

#[tokio::test]
async fn a_person_chooses_the_tenant_that_tokens_are_for() {
    let server = server();
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let page = browser.sign_in(&server, &client, &[]).await;
    assert!(
        page.body
            .contains("<option value=\"two\">The &lt;two&gt;</option>"),
        "{page:?}"
    );
    assert!(
        !page.body.contains("database.shop"),
        "the resource has its own"
    );
    let form = [
        ("decision", "allow"),
        ("database.stock", "on"),
        ("tenant", "two"),
    ];
    let end = browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await;
    let code = end.back().get("code").expect("a code").to_owned();
    let tokens = server.exchange(&client, &code).await.json();
    let claims = claims(&tokens);
    assert_eq!(claims["tenant"], "two");
    assert_eq!(claims["groups"], json!(["analysts", "sellers"]));
    assert_eq!(claims["aud"], json!([RESOURCE]));

    // The person leaves the tenant, and is still in the other one.
    server
        .staff
        .tenants
        .lock()
        .expect("no test panics here")
        .pop();
    let token = tokens["refresh_token"].as_str().expect("a token");
    let refused = server.refresh(&client, token).await;
    assert_eq!(refused.error(), "invalid_grant");
}

#[tokio::test]
async fn a_tenant_that_the_person_is_not_in_is_not_given() {
    let server = server();
    let client = server.register(REDIRECT).await;
    for tenant in [None, Some("three"), Some("")] {
        let mut browser = Browser::default();
        let page = browser.sign_in(&server, &client, &[]).await;
        let mut form = vec![("decision", "allow"), ("database.stock", "on")];
        form.extend(tenant.map(|tenant| ("tenant", tenant)));
        let end = browser
            .submit(&server, &page, "/oauth/consent", &form)
            .await;
        assert_eq!(end.status, 400, "{tenant:?}");
    }
}

#[tokio::test]
async fn a_resource_for_one_client_is_given_to_no_other() {
    let server = server();
    let client = server.register(REDIRECT).await;
    let asked = [("resource", ISSUER)];
    let mut stranger = Browser::default();
    let refused = stranger
        .visit(&server, &super::authorize(&client, &asked))
        .await;
    assert_eq!(refused.back().get("error"), Some("invalid_target"));
    let mut browser = Browser::default();
    let page = browser.sign_in(&server, "line", &asked).await;
    let form = [
        ("decision", "allow"),
        ("tenant", "one"),
        ("database.shop", "on"),
    ];
    let end = browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await;
    let code = end.back().get("code").expect("a code").to_owned();
    let tokens = server.exchange("line", &code).await.json();
    assert_eq!(claims(&tokens)["aud"], json!([ISSUER]));
    let document = server
        .get("/.well-known/oauth-authorization-server")
        .await
        .json();
    assert_eq!(document["protected_resources"], json!([RESOURCE]));
}

#[tokio::test]
async fn a_client_of_the_program_gets_its_token_for_its_secret() {
    let server = server();
    let document = server
        .get("/.well-known/oauth-authorization-server")
        .await
        .json();
    assert_eq!(
        document["revoked_clients_uri"],
        format!("{ISSUER}/list.json")
    );
    let grants = document["grant_types_supported"]
        .as_array()
        .expect("a list");
    assert!(grants.contains(&json!("client_credentials")));
    let form = |secret| {
        [
            ("grant_type", "client_credentials"),
            ("client_id", "robot"),
            ("client_secret", secret),
        ]
    };
    let answer = server.post("/oauth/token", &form("right")).await;
    assert_eq!(answer.json()["access_token"], "a.b.c", "{answer:?}");
    for _ in 0..30 {
        let refused = server.post("/oauth/token", &form("wrong")).await;
        assert_eq!(
            (refused.status.as_u16(), &*refused.error()),
            (401, "invalid_client")
        );
    }
    let limited = server.post("/oauth/token", &form("right")).await;
    assert_eq!(limited.status, 429, "wrong secrets of this address count");

    let without = Server::new().post("/oauth/token", &form("right")).await;
    assert_eq!(without.error(), "unsupported_grant_type");
}

#[tokio::test]
async fn a_form_without_a_database_comes_back_with_the_choices_of_the_person() {
    let server = server();
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let page = browser.sign_in(&server, &client, &[]).await;
    let ticked = |name: &str| format!("name=\"{name}\" value=\"on\" checked>");
    assert!(page.body.contains(&ticked("database.stock")), "{page:?}");
    assert!(!page.body.contains(&ticked("write")), "{page:?}");
    let form = [("decision", "allow"), ("tenant", "two"), ("write", "on")];
    let again = browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await;
    assert_eq!(again.status, 400);
    assert!(!again.body.contains(&ticked("database.stock")), "{again:?}");
    assert!(again.body.contains(&ticked("write")), "{again:?}");
    let chosen = "<option value=\"two\" selected>";
    assert!(again.body.contains(chosen), "{again:?}");
}

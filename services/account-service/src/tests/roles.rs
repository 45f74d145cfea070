//! Tests of roles, and of repeated members in a body.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, sqlite::SqliteConnectOptions};
use ziggurat_postgres::fixture::Fixture;

use crate::{
    ClientDraft, InviteDraft, Owner, Role, Store, TenantDraft,
    fixture::{TestService, state},
};

const REFUSED: &str = "a client with the role reader may only read; this needs the role admin";

/// Makes a client with these members and a name; returns its record and a token.
async fn make(setup: &TestService, more: &Value) -> (Value, String) {
    let mut body = json!({"name": "another", "description": ""});
    for (name, value) in more.as_object().expect("members") {
        body[name] = value.clone();
    }
    let made = setup.post("/clients", &body).await;
    assert_eq!(made.status, 200, "{made:?}");
    let made = made.json();
    let pair = ["auth0_id", "auth0_secret"].map(|name| made[name].as_str().expect(name).to_owned());
    let token = setup.sign_in(&pair.into()).await;
    (made, token)
}

fn path(client: &Value) -> String {
    format!("/clients/{}", client["id"].as_str().expect("an id"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_only_reads_but_may_delete_itself() {
    for setup in TestService::all().await {
        let (reader, token) = make(&setup, &json!({})).await;
        assert_eq!(reader["role"], "reader", "unless something else is said");
        let draft = InviteDraft {
            email: "bob@example.com".to_owned(),
            ..InviteDraft::default()
        };
        let invite = setup.store.create_invite(setup.tenant, draft).await;
        let invite = format!("/invites/{}", invite.expect("made").invite.id);
        let members = setup.get("/memberships").await.json();
        let member = format!("/memberships/{}", members[0]["id"].as_str().expect("an id"));
        let admin = format!("/clients/{}", setup.client);
        let tenant = format!("/tenants/{}", setup.tenant);
        for path in [
            "/clients",
            "/invites",
            "/memberships",
            "/tenants",
            &admin,
            &invite,
            &tenant,
        ] {
            let answer = setup.send_as(&token, "GET", path, None).await;
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
        }
        let named = json!({"name": "mine", "description": ""});
        let itself = path(&reader);
        for (method, path, body) in [
            ("POST", "/clients", Some(&named)),
            ("POST", "/clients", Some(&json!([]))),
            ("PATCH", &admin, Some(&named)),
            ("PATCH", &itself, Some(&json!({"role": "admin"}))),
            ("DELETE", &admin, None),
            ("DELETE", &invite, None),
            ("DELETE", &member, None),
            ("PATCH", &tenant, Some(&named)),
        ] {
            let answer = setup.send_as(&token, method, path, body).await;
            answer.is_refusal(403, REFUSED);
        }
        let gone = setup.send_as(&token, "DELETE", &itself, None).await;
        assert_eq!(gone.status, 204, "{gone:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_can_be_set_and_changed_and_holds_at_once() {
    for setup in TestService::all().await {
        let first = setup
            .get(&format!("/clients/{}", setup.client))
            .await
            .json();
        assert_eq!(first["role"], "admin", "the first of its tenant");
        let (client, token) = make(&setup, &json!({"role": "admin"})).await;
        assert_eq!(client["role"], "admin");
        let (path, renamed) = (path(&client), json!({"name": "renamed"}));
        for (role, status) in [("reader", 403), ("admin", 200)] {
            let body = json!({"role": role});
            let changed = setup.send("PATCH", &path, Some(&body)).await.json();
            assert_eq!(
                (&changed["role"], &changed["auth0_id"]),
                (&json!(role), &client["auth0_id"])
            );
            let answer = setup.send_as(&token, "PATCH", &path, Some(&renamed)).await;
            assert_eq!(answer.status, status, "{role}: {answer:?}");
        }
        for (role, message) in [
            (json!("owner"), "role must be admin or reader"),
            (json!(null), "role must be a string"),
        ] {
            let body = json!({"name": "a", "description": "", "role": role});
            setup.post("/clients", &body).await.is_refusal(400, message);
            let answer = setup
                .send("PATCH", &path, Some(&json!({"role": role})))
                .await;
            answer.is_refusal(400, message);
        }
    }
}

/// Makes a tenant with a client that only reads.
async fn reader_of(store: &Store) -> crate::Id {
    let draft = TenantDraft {
        name: "Acme".to_owned(),
        ..TenantDraft::default()
    };
    let owner = Owner {
        email: "ann@example.com".to_owned(),
        ..Owner::default()
    };
    let (tenant, _) = store.create_tenant(draft, &owner).await.expect("made");
    let draft = ClientDraft {
        name: "old".to_owned(),
        role: Some(Role::Reader),
        ..ClientDraft::default()
    };
    store.create_client(tenant.id, draft).await.expect("made");
    tenant.id
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_older_than_roles_are_admins() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).await.expect("opened");
    let tenant = reader_of(&store).await;
    store.close().await;
    let options = SqliteConnectOptions::new().filename(folder.path().join("platform.db"));
    let mut before = options.connect().await.expect("opened");
    let undo = "ALTER TABLE platform_clients DROP COLUMN role; \
                DELETE FROM _sqlx_migrations WHERE version = 2";
    sqlx::raw_sql(undo).execute(&mut before).await.expect(undo);
    sqlx::Connection::close(before).await.expect("closed");
    let store = Store::open(folder.path()).await.expect("opened");
    let clients = store.clients(tenant).await.expect("read");
    assert_eq!(clients[0].role, Role::Admin);

    let mut fixture = Fixture::new().await;
    let (shared, _tasks) = state(&fixture);
    let tenant = reader_of(&Store::replicated(shared)).await;
    fixture
        .given(
            "ALTER TABLE ziggurat.platform_clients DROP COLUMN role; \
             DELETE FROM ziggurat.platform_migrations WHERE version = 2",
        )
        .await;
    let (shared, _tasks) = state(&fixture);
    let clients = Store::replicated(shared)
        .clients(tenant)
        .await
        .expect("read");
    assert_eq!(clients[0].role, Role::Admin);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_names_a_member_twice_is_refused_at_any_depth() {
    let setup = TestService::on_a_file().await;
    for (body, name) in [
        (r#"{"name":"a","description":"","name":"b"}"#, "name"),
        (r#"{"name":"a","description":"","n\u0061me":"b"}"#, "name"),
        (r#"{"name":"a","description":"","x":[{"y":1,"y":1}]}"#, "y"),
    ] {
        let request = Request::post("/account/v1/clients")
            .header("authorization", format!("Bearer {}", setup.token))
            .header("content-type", "application/json")
            .body(Body::from(body));
        let answer = setup.ask(request.expect("valid parts")).await;
        answer.is_refusal(400, &format!("the body has the member \"{name}\" twice"));
    }
    let (id, secret) = &setup.pair;
    let body = format!(r#"{{"client_id":"x","client_id":"{id}","client_secret":"{secret}"}}"#);
    let request = Request::post("/account/v1/oauth/token")
        .header("content-type", "application/json")
        .body(Body::from(body));
    let answer = setup.ask(request.expect("valid parts")).await;
    answer.is_refusal(400, "the body has the member \"client_id\" twice");
    let listed = setup.get("/clients").await.json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
}

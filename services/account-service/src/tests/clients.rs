//! Tests of clients, tenants and the format of requests.

use std::time::Duration;

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::{
    ClientDraft, Limits, Options, Owner, TenantDraft,
    fixture::{Answer, TestService},
    service,
};

/// An id that no record has.
const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";

async fn make(setup: &TestService, name: &str) -> Value {
    let body = json!({"name": name, "description": "d"});
    let answer = setup.post("/clients", &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_made_with_a_secret_that_is_shown_once() {
    for setup in TestService::all().await {
        let body = json!({"name": "  ci ", "description": "CI runner", "else": [1]});
        let answer = setup.post("/clients", &body).await;
        assert_eq!(answer.status, 200, "not 201");
        assert_eq!(answer.headers["cache-control"], "no-store");
        let made = answer.json();
        assert_eq!(made["name"], "ci");
        assert_eq!(made["created_at"], "2026-01-02T03:04:05Z");
        assert_eq!(made["updated_at"], made["created_at"]);
        let (id, secret) = (&made["auth0_id"], &made["auth0_secret"]);
        assert_eq!(secret.as_str().map(str::len), Some(44), "32 bytes");
        let pair = [id, secret].map(|text| text.as_str().expect("a text").to_owned());
        setup.sign_in(&pair.into()).await;

        let path = format!("/clients/{}", made["id"].as_str().expect("an id"));
        let mut shown = setup.get(&path).await.json();
        assert_eq!(shown.get("auth0_secret"), None);
        shown["auth0_secret"] = secret.clone();
        assert_eq!(shown, made);
        let listed = setup.get("/clients").await;
        assert!(!String::from_utf8_lossy(&listed.body).contains("secret"));
        let upper = path.to_uppercase().replace("/CLIENTS", "/clients");
        assert_eq!(setup.get(&upper).await.status, 200, "an id has no case");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_new_client_is_refused_with_the_name_of_the_member() {
    let setup = TestService::on_a_file().await;
    let long = format!(r#"{{"name":"{}","description":""}}"#, "a".repeat(256));
    let text = "name must be a string";
    for (body, message) in [
        ("{}", "name is required"),
        (r#"{"name":"a"}"#, "description is required"),
        (r#"{"name":null,"description":""}"#, text),
        (r#"{"name":1,"description":""}"#, text),
        (r#"{"name":" ","description":""}"#, "name must not be empty"),
        (&long, "name must have at most 255 characters"),
        (
            r#"{"name":"a","description":"\u001b[1m"}"#,
            "description must not contain control characters",
        ),
        ("[]", "the body must be a JSON object"),
    ] {
        let body: Value = serde_json::from_str(body).expect(body);
        let answer = setup.post("/clients", &body).await;
        answer.is_refusal(400, message);
    }
    let listed = setup.get("/clients").await.json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_change_of_a_client_is_refused() {
    let setup = TestService::on_a_file().await;
    let path = format!("/clients/{}", setup.client);
    for (body, message) in [
        (json!({"name": null}), "name must be a string"),
        (json!({"description": 7}), "description must be a string"),
        (json!({"name": ""}), "name must not be empty"),
    ] {
        let answer = setup.send("PATCH", &path, Some(&body)).await;
        answer.is_refusal(400, message);
    }
    let same = setup.get(&path).await.json();
    assert_eq!(
        (&same["name"], &same["description"]),
        (&json!("first"), &json!("The first"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_sets_the_named_members_and_the_date_only_if_a_value_differs() {
    for setup in TestService::all().await {
        let made = make(&setup, "old").await;
        let path = format!("/clients/{}", made["id"].as_str().expect("an id"));
        setup.clock.advance(Duration::from_mins(1));
        for body in [json!({}), json!({"name": "old"}), json!({"nmae": "new"})] {
            let same = setup.send("PATCH", &path, Some(&body)).await.json();
            assert_eq!(same["updated_at"], made["created_at"], "{body}");
        }
        let changed = setup
            .send("PATCH", &path, Some(&json!({"name": "new"})))
            .await;
        let changed = changed.json();
        assert_eq!(changed["name"], "new");
        assert_eq!(changed["description"], "d");
        assert_eq!(changed["updated_at"], "2026-01-02T03:05:05Z");
        assert_eq!(changed["created_at"], made["created_at"]);
        let body = json!({"description": ""});
        let changed = setup.send("PATCH", &path, Some(&body)).await.json();
        assert_eq!(
            (&changed["name"], &changed["description"]),
            (&json!("new"), &json!(""))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_ordered_by_time_and_then_by_id() {
    for setup in TestService::all().await {
        for name in ["b", "a", "b"] {
            make(&setup, name).await;
        }
        setup.clock.advance(Duration::from_secs(1));
        make(&setup, "last").await;
        let listed = setup.get("/clients").await.json();
        let listed = listed.as_array().expect("a bare list");
        assert_eq!(listed.len(), 5, "the caller itself included");
        let keys: Vec<_> = listed
            .iter()
            .map(|client| (client["created_at"].as_str(), client["id"].as_str()))
            .collect();
        assert!(keys.is_sorted(), "{keys:?}");
        assert_eq!(listed[4]["name"], "last");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_another_tenant_are_not_found() {
    for setup in TestService::all().await {
        let draft = TenantDraft {
            name: "Other".to_owned(),
            ..TenantDraft::default()
        };
        let owner = Owner {
            email: "bob@example.com".to_owned(),
            ..Owner::default()
        };
        let made = setup.store.create_tenant(draft, &owner).await;
        let (other, member) = made.expect("made");
        let draft = ClientDraft {
            name: "theirs".to_owned(),
            ..ClientDraft::default()
        };
        let made = setup.store.create_client(other.id, draft).await;
        let client = format!("/clients/{}", made.expect("made").client.id);
        let tenant = format!("/tenants/{}", other.id);
        let member = format!("/memberships/{}", member.id);
        let invite = format!("/invites/{UNKNOWN_ID}");
        let body = json!({"name": "mine"});
        for (method, path, body, kind) in [
            ("GET", &client, None, "client"),
            ("PATCH", &client, Some(&body), "client"),
            ("DELETE", &client, None, "client"),
            ("GET", &tenant, None, "tenant"),
            ("PATCH", &tenant, Some(&body), "tenant"),
            ("DELETE", &member, None, "membership"),
            ("GET", &invite, None, "invite"),
            ("DELETE", &invite, None, "invite"),
        ] {
            let answer = setup.send(method, path, body).await;
            answer.is_refusal(404, &format!("{kind} not found"));
        }
        let tenants = setup.get("/tenants").await.json();
        assert_eq!(tenants.as_array().map(Vec::len), Some(1));
        assert_eq!(tenants[0]["name"], "Acme");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_id_is_refused_before_any_look_up() {
    let setup = TestService::on_a_file().await;
    for path in [
        "/clients/1",
        "/invites/x",
        "/tenants/%ff",
        "/clients/{b0c1d2e3}",
    ] {
        let path = path.replace(['{', '}'], "%7b");
        setup.get(&path).await.is_refusal(400, "invalid id");
    }
    let answer = setup.send(
        "DELETE",
        "/memberships/b0c1d2e3f4a56789bcde890123456789",
        None,
    );
    answer.await.is_refusal(400, "invalid id");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_path_has_no_code_with_or_without_a_token() {
    let setup = TestService::on_a_file().await;
    let says = |answer: &Answer, status: u16, message: &str| {
        let said = (answer.status.as_u16(), answer.json());
        assert_eq!(said, (status, json!({"message": message})));
    };
    for token in ["", &setup.token] {
        for path in ["/nothing", "/clients/", "/", "/users", "/clients/1/secret"] {
            says(
                &setup.send_as(token, "GET", path, None).await,
                404,
                "Not Found",
            );
        }
        let answer = setup.send_as(token, "GET", "/oauth/token", None).await;
        says(&answer, 405, "Method Not Allowed");
    }
    for path in [
        "/clients",
        "/tenants",
        "/memberships",
        "/users/me",
        "/invites",
    ] {
        let answer = setup.send("PUT", path, None).await;
        says(&answer, 405, "Method Not Allowed");
        assert!(answer.headers.contains_key("allow"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_another_media_type_is_415() {
    let setup = TestService::on_a_file().await;
    for kind in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
    ] {
        let mut request = Request::post("/account/v1/clients")
            .header("authorization", format!("Bearer {}", setup.token));
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        let body = Body::from(r#"{"name":"a","description":""}"#);
        let answer = setup.ask(request.body(body).expect("valid parts")).await;
        answer.is_refusal(415, "the body must be application/json");
    }
    let request = Request::post("/account/v1/clients")
        .header("authorization", format!("bearer {}", setup.token))
        .header("content-type", "Application/JSON; charset=utf-8")
        .body(Body::from(r#"{"name":"a","description":""}"#));
    assert_eq!(setup.ask(request.expect("valid parts")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_has_a_limit_of_clients_that_includes_deleted_ones() {
    for mut setup in TestService::all().await {
        let limits = Limits {
            clients: 3,
            ..Limits::default()
        };
        let store = setup.store.clone().with_limits(limits);
        setup.service = service(store, setup.tokens.clone(), &Options::default());
        make(&setup, "second").await;
        make(&setup, "third").await;
        let body = json!({"name": "fourth", "description": ""});
        let full = "plan does not allow creating clients";
        setup.post("/clients", &body).await.is_refusal(400, full);
        // The first client has a token, so its deletion has to be recorded.
        let path = format!("/clients/{}", setup.client);
        let second = setup.get("/clients").await.json();
        let second = second.as_array().expect("a list").iter();
        let second = second.clone().find(|client| client["name"] == "second");
        let second = second.expect("there")["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let deleted = setup
            .send("DELETE", &format!("/clients/{second}"), None)
            .await;
        assert_eq!(deleted.status, 204, "it never had a token");
        make(&setup, "fourth").await;
        assert_eq!(setup.send("DELETE", &path, None).await.status, 204);
        let again = ClientDraft {
            name: "fifth".to_owned(),
            ..ClientDraft::default()
        };
        let store = setup.store.clone().with_limits(limits);
        let error = store.create_client(setup.tenant, again.clone()).await;
        assert_eq!(error.expect_err("full").to_string(), full);
        setup.clock.advance(Duration::from_hours(2));
        store
            .create_client(setup.tenant, again)
            .await
            .expect("its tokens have ended");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_is_renamed() {
    for setup in TestService::all().await {
        let path = format!("/tenants/{}", setup.tenant);
        setup.clock.advance(Duration::from_secs(5));
        let same = setup.send("PATCH", &path, Some(&json!({}))).await.json();
        assert_eq!(same, setup.get(&path).await.json());
        assert_eq!(same["updated_at"], "2026-01-02T03:04:05Z");
        let named = json!({"name": " Zenith "});
        let renamed = setup.send("PATCH", &path, Some(&named)).await.json();
        assert_eq!(renamed["name"], "Zenith");
        assert_eq!(renamed["updated_at"], "2026-01-02T03:04:10Z");
        let answer = setup
            .send("PATCH", &path, Some(&json!({"name": null})))
            .await;
        answer.is_refusal(400, "name must be a string");
        for absent in ["plan", "domain", "plan_trial", "external_id"] {
            assert_eq!(renamed.get(absent), None, "what is not there is left out");
        }
    }
}

/// Makes a client with the token and the key of a caller.
async fn make_with_key(setup: &TestService, token: &str, key: &str, name: &str) -> Answer {
    let body = json!({"name": name, "description": "d", "role": "admin"}).to_string();
    let request = Request::post("/account/v1/clients")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .header("idempotency-key", key);
    let request = request.body(Body::from(body));
    setup.ask(request.expect("valid parts")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_made_once_for_each_key_of_a_caller() {
    let setup = TestService::on_a_file().await;
    let first = make_with_key(&setup, &setup.token, "k-1", "ci").await;
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(first.headers.get("idempotent-replayed"), None);
    let again = make_with_key(&setup, &setup.token, "k-1", "ci").await;
    assert_eq!((again.status, &again.body), (first.status, &first.body));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(again.headers["cache-control"], "no-store");
    let count = async || setup.get("/clients").await.json().as_array().map(Vec::len);
    assert_eq!(count().await, Some(2));

    let other = make_with_key(&setup, &setup.token, "k-1", "other").await;
    assert_eq!(
        (other.status.as_u16(), &other.json()["code"]),
        (422, &json!(422))
    );
    assert_eq!(count().await, Some(2));
    let made = first.json();
    let pair = ["auth0_id", "auth0_secret"].map(|name| made[name].as_str().expect("a text"));
    let token = setup.sign_in(&pair.map(str::to_owned).into()).await;
    let own = make_with_key(&setup, &token, "k-1", "ci").await;
    assert_eq!(own.headers.get("idempotent-replayed"), None);
    assert_eq!(count().await, Some(3));
    make(&setup, "ci").await;
    make(&setup, "ci").await;
    assert_eq!(count().await, Some(5));
}

//! Tests of the library.

use tempfile::TempDir;
use tokio::task::JoinSet;
use ziggurat_state::Conversations;

use super::*;

const ITEMS: (&str, &str) = ("GET", "/api/library");
const NEW: (&str, &str) = ("POST", "/api/library");

/// The endpoints, and what they need as long as they run.
struct Served {
    service: Router,
    _folder: TempDir,
    _tasks: JoinSet<()>,
}

async fn library() -> Served {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, writer) = Conversations::local(folder.path()).await.expect("opened");
    let routes = crate::library::routes(store.library(), fixture::databases());
    Served {
        service: router([routes]),
        _folder: folder,
        _tasks: JoinSet::from_iter([writer.run()]),
    }
}

/// Makes an item of a user, and returns it.
async fn made(service: &Router, user: &Identity, members: Value) -> Value {
    let mut item = json!({"kind": "query", "title": "One", "text": "SELECT 1"});
    let object = item.as_object_mut().expect("an object");
    object.extend(members.as_object().expect("an object").clone());
    let (status, item) = said(service, Some(user), NEW, item.to_string()).await;
    assert_eq!(status, 201, "{item}");
    item
}

async fn status(service: &Router, user: &Identity, method: &str, item: &Value) -> (u16, String) {
    let id = item["id"].as_str().expect("an id");
    let path = format!("/api/library/{id}");
    let mut item = item.clone();
    item["title"] = "New".into();
    let response = answer(service, Some(user), (method, &path), item.to_string()).await;
    let status = response.status().as_u16();
    let body: Value = serde_json::from_str(&text(response).await).unwrap_or_default();
    (status, body["code"].as_str().unwrap_or_default().to_owned())
}

async fn titles(service: &Router, user: &Identity, query: &str) -> Vec<String> {
    let path = format!("/api/library{query}");
    let (status, list) = said(service, Some(user), ("GET", &path), "").await;
    assert_eq!(status, 200, "{list}");
    let items = list["items"].as_array().expect("a list").iter();
    items
        .map(|item| item["title"].as_str().expect("a title").to_owned())
        .collect()
}

#[tokio::test]
async fn an_item_has_all_members_and_a_change_the_next_version() {
    let Served { service, .. } = &library().await;
    let bob = user("bob");
    let body = json!({"kind": "prompt", "title": " Weekly ", "text": "Sum up {{week}}",
        "database": "docs", "tags": ["a"], "shared": true, "more": 1});
    let (status, item) = said(service, Some(&bob), NEW, body.to_string()).await;
    assert_eq!(status, 201);
    let (id, at) = (item["id"].clone(), item["updated_at"].clone());
    let expected = json!({"id": id, "kind": "prompt", "title": "Weekly",
        "text": "Sum up {{week}}", "database": "docs", "tags": ["a"], "shared": true,
        "owner": "bob", "version": 1, "updated_at": at});
    assert_eq!(item, expected);
    let names: Vec<_> = item.as_object().expect("an object").keys().collect();
    assert_eq!(names.len(), 10);

    let path = format!("/api/library/{}", id.as_str().expect("an id"));
    let change = json!({"kind": "query", "title": "W", "text": "SELECT 2", "version": 1});
    let (status, changed) = said(service, Some(&bob), ("PUT", &path), change.to_string()).await;
    assert_eq!(status, 200, "{changed}");
    let at = changed["updated_at"].clone();
    let expected = json!({"id": id, "kind": "query", "title": "W", "text": "SELECT 2",
        "database": null, "tags": [], "shared": false, "owner": "bob", "version": 2,
        "updated_at": at});
    assert_eq!(changed, expected);
    let (_, list) = said(service, Some(&bob), ITEMS, "").await;
    assert_eq!(list, json!({"items": [expected]}));

    let again = said(service, Some(&bob), ("PUT", &path), change.to_string()).await;
    let refusal = json!({"error": "The item was changed in the meantime: read it again",
        "code": "changed"});
    assert_eq!(again, (409, refusal), "another tab was first");
    let response = answer(service, Some(&bob), ("DELETE", &path), "").await;
    assert_eq!(response.status(), 204);
    assert_eq!(text(response).await, "");
    let gone = said(service, Some(&bob), ("DELETE", &path), "").await;
    assert_eq!(
        gone,
        (404, json!({"error": "Item not found", "code": "not_found"}))
    );
}

#[tokio::test]
async fn others_read_shared_items_and_only_owners_and_administrators_change_them() {
    let Served { service, .. } = &library().await;
    let (ann, bob) = (user("ann"), user("bob"));
    let (root, carol) = (user("root").with_admin(true), user("carol"));
    let own = made(service, &ann, json!({"title": "own"})).await;
    let shared = made(service, &ann, json!({"title": "shared", "shared": true})).await;
    let team = json!({"title": "team", "shared": true, "database": "team"});
    let team = made(service, &ann, team).await;
    assert_eq!(titles(service, &ann, "").await, ["team", "shared", "own"]);
    // Only ann may use the database of the third.
    for other in [&bob, &carol, &root] {
        assert_eq!(titles(service, other, "").await, ["shared"]);
    }
    for (caller, item, expected) in [
        (&bob, &own, (404, "not_found")),
        (&bob, &shared, (403, "not_owner")),
        (&bob, &team, (404, "not_found")),
        (&root, &own, (404, "not_found")),
        (&root, &team, (404, "not_found")),
        (&root, &shared, (200, "")),
    ] {
        let (put, code) = status(service, caller, "PUT", item).await;
        assert_eq!((put, &*code), expected, "{caller:?} {item}");
    }
    // The owner stays, and her version is an old one now.
    let (_, list) = said(service, Some(&carol), ITEMS, "").await;
    assert_eq!(
        (&list["items"][0]["owner"], &list["items"][0]["version"]),
        (&json!("ann"), &json!(2))
    );
    let stale = status(service, &ann, "PUT", &shared).await;
    assert_eq!(stale, (409, "changed".to_owned()));
    for (caller, item, expected) in [
        (&bob, &own, 404),
        (&bob, &shared, 403),
        (&root, &own, 404),
        (&root, &shared, 204),
        (&ann, &shared, 404),
        (&ann, &own, 204),
    ] {
        let (deleted, _) = status(service, caller, "DELETE", item).await;
        assert_eq!(deleted, expected, "{caller:?} {item}");
    }
}

#[tokio::test]
async fn only_users_have_a_library() {
    let Served { service, .. } = &library().await;
    for caller in [None, Some(program(None))] {
        for target in [
            ITEMS,
            NEW,
            ("PUT", "/api/library/item_1"),
            ("DELETE", "/api/library/item_1"),
        ] {
            let refused = said(service, caller.as_ref(), target, "{}").await;
            let expected = json!({"error": "Only users who sign in have a library",
                "code": "users_only"});
            assert_eq!(refused, (403, expected), "{target:?}");
        }
    }
}

#[tokio::test]
async fn invalid_items_are_refused_and_nothing_is_stored() {
    let Served { service, .. } = &library().await;
    let bob = user("bob");
    let large = "x".repeat(102_401);
    let long = "é".repeat(201);
    let tags: Vec<_> = (0..17).map(|tag| tag.to_string()).collect();
    for (members, expected) in [
        (json!({"kind": "page"}), (400, "bad_request")),
        (json!({"kind": null}), (400, "bad_request")),
        (json!({"title": " \n"}), (400, "bad_request")),
        (json!({"title": 7}), (400, "bad_request")),
        (json!({"title": long}), (400, "bad_request")),
        (json!({"text": null}), (400, "bad_request")),
        (json!({"text": large}), (400, "bad_request")),
        (json!({"tags": tags}), (400, "bad_request")),
        (json!({"tags": ["x".repeat(65)]}), (400, "bad_request")),
        (json!({"tags": "a"}), (400, "bad_request")),
        (json!({"shared": "yes"}), (400, "bad_request")),
        (json!({"database": "gone"}), (404, "not_found")),
        (json!({"database": "team"}), (404, "not_found")),
    ] {
        let mut item = json!({"kind": "query", "title": "One", "text": "SELECT 1"});
        let object = item.as_object_mut().expect("an object");
        object.extend(members.as_object().expect("an object").clone());
        let (status, refusal) = said(service, Some(&bob), NEW, item.to_string()).await;
        let code = refusal["code"].as_str().expect("a code");
        assert_eq!((status, code), expected, "{members} {refusal}");
        assert!(refusal["error"].is_string(), "{refusal}");
    }
    for body in ["", "[]", "null", "{"] {
        let (status, refusal) = said(service, Some(&bob), NEW, body).await;
        assert_eq!((status, &refusal["code"]), (400, &json!("bad_request")));
    }
    assert_eq!(titles(service, &bob, "").await, [""; 0]);
    let longest = json!({"text": "x".repeat(102_400), "title": "é".repeat(200)});
    made(service, &bob, longest).await;
}

#[tokio::test]
async fn a_change_needs_a_version_and_keeps_a_database_that_the_owner_lost() {
    let Served { service, .. } = &library().await;
    let ann = user("ann");
    let item = made(service, &ann, json!({"database": "team"})).await;
    let path = format!("/api/library/{}", item["id"].as_str().expect("an id"));
    let mut without = item.clone();
    without
        .as_object_mut()
        .expect("an object")
        .remove("version");
    let (status, refusal) = said(service, Some(&ann), ("PUT", &path), without.to_string()).await;
    assert_eq!((status, &refusal["code"]), (400, &json!("bad_request")));
    // A name is an account: this ann may not use the database any more.
    let holder = Holder::User {
        name: "ann".into(),
        databases: ["docs".into()].into(),
    };
    let narrowed = Identity::new(TokenHash::of("ann"), holder);
    let moved =
        json!({"kind": "query", "title": "x", "text": "x", "database": "team", "version": 1});
    let (status, changed) = said(service, Some(&narrowed), ("PUT", &path), moved.to_string()).await;
    assert_eq!((status, &changed["version"]), (200, &json!(2)), "{changed}");
    assert_eq!(titles(service, &narrowed, "").await, ["x"]);
    let other =
        json!({"kind": "query", "title": "x", "text": "x", "database": "main", "version": 2});
    let (status, refusal) = said(service, Some(&narrowed), ("PUT", &path), other.to_string()).await;
    assert_eq!((status, &refusal["code"]), (404, &json!("not_found")));
}

#[tokio::test]
async fn lists_are_filtered_by_kind_and_words_and_come_in_pages() {
    let Served { service, .. } = &library().await;
    let bob = user("bob");
    for (kind, title, text) in [
        ("query", "Revenue", "select MONTH"),
        ("prompt", "Explain", "the month of a plan"),
        ("query", "Stock", "select week"),
    ] {
        let item = json!({"kind": kind, "title": title, "text": text});
        made(service, &bob, item).await;
    }
    for (query, expected) in [
        ("", &["Stock", "Explain", "Revenue"][..]),
        ("?kind=query", &["Stock", "Revenue"]),
        ("?kind=prompt&q=", &["Explain"]),
        ("?q=month", &["Explain", "Revenue"]),
        ("?q=month%20revenue", &["Revenue"]),
        ("?kind=query&q=month+WEEK", &[]),
        ("?limit=1&offset=1", &["Explain"]),
        ("?limit=x&offset=2", &["Revenue"]),
    ] {
        assert_eq!(titles(service, &bob, query).await, expected, "{query}");
    }
    for path in ["/api/library?kind=page", "/api/library?kind="] {
        let (status, refusal) = said(service, Some(&bob), ("GET", path), "").await;
        assert_eq!(
            (status, &refusal["code"]),
            (400, &json!("bad_request")),
            "{path}"
        );
    }
    assert_eq!(titles(service, &user("ann"), "").await, [""; 0]);
}

//! Tests of all endpoints, and of the small areas.

mod library;

use std::{convert::Infallible, sync::Arc};

use axum::{Json, body::Body, routing};
use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use ziggurat_databases::fixture;
use ziggurat_http::Payload;
use ziggurat_layers::{
    bearer::TokenHash,
    body_limit::BodyLimitLayer,
    reject::Rejection,
    sanitize::{ErrorDetail, SanitizeLayer},
};
use ziggurat_tokens::{Holder, Identity};

use super::*;

fn served() -> Router {
    router([databases::routes(fixture::databases()), user::routes()])
}

fn program(database: Option<&str>) -> Identity {
    let (id, database) = ("token-1".into(), database.map(Arc::from));
    Identity::new(TokenHash::of("program"), Holder::Program { id, database })
}

fn user(name: &str) -> Identity {
    let holder = Holder::User {
        name: name.into(),
        databases: Arc::default(),
    };
    Identity::new(TokenHash::of(name), holder)
}

async fn answer(
    service: &Router,
    identity: Option<&Identity>,
    (method, path): (&str, &str),
    body: impl Into<Body>,
) -> Response<Body> {
    let request = Request::builder().method(method).uri(path);
    let mut request = request.body(body.into()).expect("valid parts");
    if let Some(identity) = identity {
        request.extensions_mut().insert(identity.clone());
    }
    let answered: Result<_, Infallible> = service.clone().oneshot(request).await;
    answered.expect("infallible")
}

async fn text(response: Response<Body>) -> String {
    let bytes = response.into_body().collect().await.expect("whole");
    String::from_utf8(bytes.to_bytes().into()).expect("text")
}

/// Returns the status, and the body as JSON.
async fn said(
    service: &Router,
    identity: Option<&Identity>,
    target: (&str, &str),
    body: impl Into<Body>,
) -> (u16, Value) {
    let response = answer(service, identity, target, body).await;
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/json");
    let text = text(response).await;
    (status, serde_json::from_str(&text).expect("JSON"))
}

const LIST: (&str, &str) = ("GET", "/api/databases");
const SELECT: (&str, &str) = ("POST", "/api/databases/select");
const INFO: (&str, &str) = ("GET", "/api/user/info");

#[tokio::test]
async fn the_listed_databases_are_those_the_caller_may_use() {
    let service = served();
    let entry = |name: &str| {
        json!({"name": name, "host": "db.example", "port": 5432, "database": "shop",
            "user": "reader", "sslmode": "prefer", "allow_writes": false})
    };
    let cases: [(_, &[&str], &str); 6] = [
        (None, &["main", "docs", "team"], "main"),
        (Some(program(None)), &["main"], "main"),
        (Some(program(Some("docs"))), &["docs"], "docs"),
        (Some(program(Some("gone"))), &[], ""),
        (Some(user("ann")), &["main", "docs", "team"], "main"),
        (Some(user("bob")), &["main", "docs"], "main"),
    ];
    for (identity, names, current) in cases {
        let entries: Vec<_> = names.iter().map(|name| entry(name)).collect();
        let expected = json!({"databases": entries, "current": current});
        let said = said(&service, identity.as_ref(), LIST, "").await;
        assert_eq!(said, (200, expected), "{identity:?}");
    }
}

#[tokio::test]
async fn a_selection_belongs_to_the_session() {
    let service = served();
    let [ann, bob] = [user("ann"), user("bob")];
    for who in [None, Some(&ann)] {
        let chosen = said(&service, who, SELECT, r#"{"name":"docs","x":1}"#).await;
        let expected = json!({"success": true, "current": "docs",
            "message": "Database selected successfully"});
        assert_eq!(chosen, (200, expected));
    }
    for (who, current) in [(None, "docs"), (Some(&ann), "docs"), (Some(&bob), "main")] {
        let (_, list) = said(&service, who, LIST, "").await;
        assert_eq!(list["current"], current, "{who:?}");
    }
}

#[tokio::test]
async fn refused_selections_are_checked_in_order() {
    let service = served();
    let (guest, bound) = (None, Some(program(None)));
    let cases = [
        (&guest, "", 400, "Invalid request body"),
        (&guest, "{", 400, "Invalid request body"),
        (&guest, "null", 400, "Invalid request body"),
        (&guest, r#"["docs"]"#, 400, "Invalid request body"),
        (&guest, r#"{"name":7}"#, 400, "Invalid request body"),
        (&guest, r#"{"name":"docs"} x"#, 400, "Invalid request body"),
        (&guest, "{\"name\":\"\u{0}\"}", 400, "Invalid request body"),
        (
            &guest,
            r#"{"name":"a","name":"b"}"#,
            400,
            "Invalid request body",
        ),
        (&guest, "{}", 400, "Database name is required"),
        (&guest, r#"{"name":null}"#, 400, "Database name is required"),
        (&guest, r#"{"name":""}"#, 400, "Database name is required"),
        (&guest, r#"{"name":"x"}"#, 404, "Database not found"),
        (&bound, r#"{"name":"x"}"#, 404, "Database not found"),
        (
            &bound,
            r#"{"name":"docs"}"#,
            403,
            "API token is bound to a different database",
        ),
        (
            &Some(user("bob")),
            r#"{"name":"team"}"#,
            403,
            "Access denied to this database",
        ),
    ];
    for (identity, body, status, error) in cases {
        let said = said(&service, identity.as_ref(), SELECT, body).await;
        let expected = json!({"success": false, "error": error});
        assert_eq!(said, (status, expected), "{body}");
    }
    let not_text = &b"{\"name\":\"docs\",\"x\":\"\xff\"}"[..];
    let (status, _) = said(&service, None, SELECT, not_text).await;
    assert_eq!(status, 400, "text is UTF-8");
}

#[tokio::test]
async fn only_users_have_a_name() {
    let service = served();
    for (identity, username) in [
        (None, ""),
        (Some(program(None)), ""),
        (Some(user("ann")), "ann"),
    ] {
        let said = said(&service, identity.as_ref(), INFO, "").await;
        assert_eq!(said, (200, json!({"username": username})));
    }
}

#[tokio::test]
async fn other_paths_are_not_found_and_other_methods_are_listed() {
    let service = served();
    for path in [
        "/api/",
        "/api/nothing",
        "/api/databases/",
        "/api/databases/select/",
        "/api/Databases",
        "/api/%64atabases",
        "/api//databases",
        "/api/user",
        "/nothing",
    ] {
        for method in ["GET", "POST", "BREW"] {
            let said = said(&service, None, (method, path), "").await;
            assert_eq!(
                said,
                (404, json!({"error": "Not found"})),
                "{method} {path}"
            );
        }
    }
    let plain = json!({"error": "Method not allowed"});
    let of_databases = json!({"success": false, "error": "Method not allowed"});
    for (path, allow, expected) in [
        (INFO.1, "GET,HEAD", &plain),
        (LIST.1, "GET,HEAD", &of_databases),
        (SELECT.1, "POST", &of_databases),
    ] {
        for method in [
            "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW",
        ] {
            let response = answer(&service, None, (method, path), "{").await;
            assert_eq!(response.status(), 405, "{method} {path}");
            assert_eq!(response.headers()["allow"], allow, "{method} {path}");
            let text = text(response).await;
            assert_eq!(
                &serde_json::from_str::<Value>(&text).expect("JSON"),
                expected
            );
        }
    }
}

#[tokio::test]
async fn a_head_request_gets_the_same_headers_without_the_body() {
    let service = served();
    let get = answer(&service, None, LIST, "").await;
    let head = answer(&service, None, ("HEAD", LIST.1), "").await;
    assert_eq!(get.headers(), head.headers());
    let length = text(get).await.len().to_string();
    assert_eq!(head.headers()[header::CONTENT_LENGTH], *length);
    assert_eq!(text(head).await, "");
}

#[tokio::test]
async fn an_incomplete_body_is_refused_in_the_format_of_the_endpoint() {
    let broken = || {
        let frames = [Ok(Bytes::from("{")), Err("reset by peer at 10.0.0.7")];
        Body::from_stream(stream::iter(frames))
    };
    let (status, body) = said(&served(), None, SELECT, broken()).await;
    let expected = json!({"success": false, "error": "Failed to read request body"});
    assert_eq!((status, body), (400, expected));

    let echo =
        async |payload: Payload| payload.object::<Value>().map(Json).map_err(<Refusal>::from);
    let service = router([Router::new().route("/echo", routing::post(echo))]);
    let (status, body) = said(&service, None, ("POST", "/echo"), broken()).await;
    let expected = json!({"error": "Failed to read request body"});
    assert_eq!((status, body), (400, expected));
}

#[tokio::test]
async fn a_body_over_the_limit_is_too_large_here_too() {
    let service = tower::ServiceBuilder::new()
        .layer(BodyLimitLayer::new(20))
        .service(served());
    let chunks = stream::iter([Ok::<_, Infallible>(r#"{"name":"docs","#), Ok(r#""x":"y"}"#)]);
    for (body, status) in [
        (Body::from(r#"{"name":"docs"}"#), 200),
        (Body::from(r#"{"name":"docs","x":1}"#), 413),
        (Body::from_stream(chunks), 413),
    ] {
        let request = Request::post(SELECT.1).body(body).expect("valid parts");
        let response: Response<Body> = service.clone().oneshot(request).await.expect("infallible");
        assert_eq!(response.status(), status);
        if status == 413 {
            assert_eq!(
                text(response).await,
                r#"{"error":"Request body too large"}"#
            );
        }
    }
}

#[tokio::test]
async fn a_fault_returns_the_message_for_the_client() {
    let refuses = async || {
        let detail = ErrorDetail::new("no such file: /srv/secret.db");
        <Refusal>::fault("Failed to list conversations", detail)
    };
    let panics = async || -> () { panic!("at the disco") };
    let area = Router::new()
        .route("/refuses", routing::get(refuses))
        .route("/panics", routing::get(panics));
    let service = tower::ServiceBuilder::new()
        .layer(SanitizeLayer::new())
        .service(router([area]));
    for (path, error) in [
        ("/refuses", "Failed to list conversations"),
        ("/panics", "Internal server error"),
    ] {
        let request = Request::get(path).body(Body::empty()).expect("valid parts");
        let response: Response<Body> = service.clone().oneshot(request).await.expect("infallible");
        assert_eq!(response.status(), 500, "{path}");
        assert_eq!(text(response).await, json!({"error": error}).to_string());
    }
}

#[test]
fn a_refusal_can_be_made_from_a_rejection_of_a_layer() {
    let rejection = Rejection::new(http::StatusCode::IM_A_TEAPOT, "tea", "No coffee");
    let refusal = <Refusal>::from(rejection);
    let shown = format!("{refusal:?}");
    assert!(shown.contains("No coffee"), "{shown}");
}

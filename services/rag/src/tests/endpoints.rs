//! Paths, methods, and the parts that all responses share.

use futures_util::{FutureExt as _, stream};
use http::HeaderValue;
use ziggurat_fake_providers::{Gate, Turn};

use super::*;

const READING: [&str; 5] = [
    "/v1/live",
    "/v1/health",
    "/v1/pipelines",
    "/v1/stats",
    "/v1/openapi.json",
];

const DOCUMENT: &str = "{\n  \"openapi\": \"3.0.3\",\n  \"paths\": {}\n}\n";

fn local() -> Router {
    let options = Options {
        document: DOCUMENT,
        ..Options::default()
    };
    let parts = ["docs", "more"].map(|name| bare(name, Embedder::local(), Completer::local()));
    served_with(parts, options)
}

#[tokio::test]
async fn responses_to_get_are_one_line_of_json() {
    let service = local();
    for (path, expected) in [
        ("/v1/live", json!({"status": "ok"})),
        (
            "/v1/pipelines",
            json!({"pipelines": [
                {"name": "docs", "description": "All about docs"},
                {"name": "more", "description": "All about more"},
            ]}),
        ),
        (
            "/v1/health",
            json!({"status": "healthy", "pipelines": [
                {"name": "docs", "embedding": {"reachable": true}, "completion": {"reachable": true}},
                {"name": "more", "embedding": {"reachable": true}, "completion": {"reachable": true}},
            ]}),
        ),
        ("/v1/openapi.json", json!({"openapi": "3.0.3", "paths": {}})),
    ] {
        let answer = said(sent(&service, "GET", path, "").await).await;
        assert_eq!(answer, (200, expected), "{path}");
        let query = said(sent(&service, "GET", &format!("{path}?a=b"), "").await).await;
        assert_eq!(query, answer, "{path}");
    }
}

#[tokio::test]
async fn head_has_the_header_fields_of_get_and_no_body() {
    let service = local();
    for path in READING {
        let get = sent(&service, "GET", path, "").await;
        let head = sent(&service, "HEAD", path, "").await;
        assert_eq!(head.status(), 200, "{path}");
        for name in ["content-type", "link", "etag"] {
            let (get, head) = (get.headers().get(name), head.headers().get(name));
            assert_eq!(get, head, "{path} {name}");
        }
        let length = head.headers()["content-length"].clone();
        assert_eq!(text(head).await, "", "{path}");
        assert_eq!(length, text(get).await.len().to_string(), "{path}");
    }
}

#[tokio::test]
async fn other_methods_get_405_with_the_allowed_methods() {
    let service = local();
    let refused = error("METHOD_NOT_ALLOWED", "method not allowed");
    let post = HeaderValue::from_static("POST");
    for path in READING {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
            let response = sent(&service, method, path, "").await;
            assert_eq!(response.headers()["allow"], "GET, HEAD", "{method} {path}");
            assert_eq!(said(response).await, (405, refused.clone()));
        }
    }
    for path in ["/v1/pipelines/docs", "/v1/pipelines/gone"] {
        for method in ["GET", "PUT", "DELETE", "OPTIONS"] {
            let response = sent(&service, method, path, "").await;
            assert_eq!(response.headers()["allow"], "POST", "{method} {path}");
            assert_eq!(said(response).await, (405, refused.clone()));
        }
        let head = sent(&service, "HEAD", path, "").await;
        assert_eq!(
            (head.status().as_u16(), &head.headers()["allow"]),
            (405, &post)
        );
        let length = refused.to_string().len() + 1;
        assert_eq!(head.headers()["content-length"], length.to_string());
        assert_eq!(text(head).await, "");
    }
}

#[tokio::test]
async fn unknown_paths_are_not_found() {
    let service = local();
    for path in [
        "/v1",
        "/v1/",
        "/v1/live/",
        "/v1/health/",
        "/v1/pipelines/",
        "/v1/pipelines/docs/",
        "/v1/pipelines/a/b",
        "/v1/Live",
        "/v2/live",
        "/openapi.json",
    ] {
        for method in ["GET", "POST"] {
            let answer = said(sent(&service, method, path, "{}").await).await;
            let expected = error("NOT_FOUND", "resource not found");
            assert_eq!(answer, (404, expected), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn an_unknown_pipeline_is_refused_before_the_body_is_checked() {
    let service = local();
    for (path, name) in [
        ("/v1/pipelines/gone", "gone"),
        ("/v1/pipelines/g%6Fne", "gone"),
        ("/v1/pipelines/DOCS", "DOCS"),
        ("/v1/pipelines/a%2Fb", "a/b"),
        ("/v1/pipelines/%22%0a", "\"\n"),
    ] {
        let message = format!("pipeline not found: {name}");
        for body in ["", "{", &" ".repeat(2 << 20)] {
            let answer = said(sent(&service, "POST", path, body.to_owned()).await).await;
            assert_eq!(
                answer,
                (404, error("PIPELINE_NOT_FOUND", &message)),
                "{path}"
            );
        }
    }
}

/// A body without an announced length.
fn unannounced(bytes: usize) -> Body {
    let pieces = stream::unfold(bytes, |left| async move {
        let piece = left.min(1 << 16);
        (piece > 0).then(|| (Ok::<_, Infallible>(vec![b' '; piece]), left - piece))
    });
    Body::from_stream(pieces)
}

#[tokio::test]
async fn a_body_has_an_upper_limit_whether_its_length_is_announced_or_not() {
    let service = local();
    let path = "/v1/pipelines/docs";
    let too_large = "request body exceeds maximum size of 1048576 bytes";
    for body in [
        Body::from(" ".repeat((1 << 20) + 1)),
        unannounced((1 << 20) + 1),
    ] {
        let response = sent(&service, "POST", path, body).await;
        assert_eq!(response.headers()["connection"], "close");
        let expected = error("REQUEST_TOO_LARGE", too_large);
        assert_eq!(said(response).await, (413, expected));
    }
    for body in [Body::from(" ".repeat(1 << 20)), unannounced(1 << 20)] {
        let (status, answer) = said(sent(&service, "POST", path, body).await).await;
        assert_eq!(
            (status, &answer["error"]["code"]),
            (400, &json!("INVALID_REQUEST"))
        );
    }
    // An endless body is read only to the limit.
    let endless = stream::repeat_with(|| Ok::<_, Infallible>(vec![b' '; 1 << 16]));
    let response = sent(&service, "POST", path, Body::from_stream(endless)).await;
    assert_eq!(response.status(), 413);
}

#[tokio::test]
async fn a_length_that_is_too_large_is_refused_without_reading_the_body() {
    let service = local();
    let silent = stream::pending::<Result<Bytes, Infallible>>();
    let request = Request::post("/v1/pipelines/docs").header("content-length", "1048577");
    let request = request.body(Body::from_stream(silent)).expect("valid");
    let answered = service.oneshot(request).now_or_never().expect("at once");
    assert_eq!(answered.expect("infallible").status(), 413);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_refused() {
    let service = local();
    let broken = stream::iter([
        Ok(Bytes::from_static(b"{\"query\":")),
        Err(std::io::Error::other("reset by peer 10.0.0.7")),
    ]);
    let response = sent(
        &service,
        "POST",
        "/v1/pipelines/docs",
        Body::from_stream(broken),
    )
    .await;
    assert_eq!(response.headers()["connection"], "close");
    let expected = error("INVALID_REQUEST", "invalid request body: it is incomplete");
    assert_eq!(said(response).await, (400, expected));
}

#[tokio::test]
async fn a_body_may_arrive_in_any_number_of_pieces() {
    let service = local();
    let body = br#"{"query":"What do ferns like?"}"#;
    for size in [1, 2, 7, body.len()] {
        let pieces = body
            .chunks(size)
            .map(|piece| Ok::<_, Infallible>(piece.to_vec()));
        let pieces: Vec<_> = pieces.collect();
        let body = Body::from_stream(stream::iter(pieces));
        let response = sent(&service, "POST", "/v1/pipelines/docs", body).await;
        assert_eq!(said(response).await.0, 200, "{size}");
    }
}

#[tokio::test]
async fn an_invalid_question_is_refused_in_json_even_if_a_stream_was_requested() {
    let service = local();
    for (body, message) in [
        (json!({"stream": true}), "query is required"),
        (
            json!({"query": "q", "stream": true, "messages": [{"role": "system", "content": "x"}]}),
            "messages[0].role must be user or assistant",
        ),
    ] {
        assert_eq!(
            ask(&service, body).await,
            (400, error("INVALID_REQUEST", message))
        );
    }
}

#[tokio::test]
async fn the_openapi_document_is_not_sent_again_to_a_client_that_has_it() {
    let service = local();
    let first = sent(&service, "GET", DESCRIPTION, "").await;
    let tag = first.headers()["etag"].clone();
    let request = Request::get(DESCRIPTION).header("if-none-match", tag);
    let request = request.body(Body::empty()).expect("valid");
    let again = service.oneshot(request).await.expect("infallible");
    assert_eq!(again.status(), 304);
    assert_eq!(text(first).await, "{\"openapi\":\"3.0.3\",\"paths\":{}}\n");
}

#[tokio::test]
async fn it_is_alive_while_all_providers_hang() {
    let fake = Fake::start();
    fake.always(Turn::answer().held(&Gate::new()));
    let parts = bare(
        "docs",
        embedder(&fake, Api::OpenAi),
        completer(&fake, Api::Ollama),
    );
    let service = served([parts]);
    let mut health = Box::pin(sent(&service, "GET", "/v1/health", ""));
    assert!((&mut health).now_or_never().is_none());
    for path in ["/v1/live", "/v1/pipelines", "/v1/stats"] {
        let response = sent(&service, "GET", path, "").now_or_never();
        assert_eq!(response.expect("at once").status(), 200, "{path}");
    }
}

#[tokio::test]
async fn replaced_pipelines_are_served_at_once() {
    let parts = |name: &str| Pipeline::new(bare(name, Embedder::local(), Completer::local()));
    let pipelines = Pipelines::new(vec![parts("docs")]);
    let service = linked(service(pipelines.clone(), Options::default()));
    assert_eq!(ask(&service, question()).await.0, 200);
    pipelines.replace(vec![parts("new")]);
    assert_eq!(ask(&service, question()).await.0, 404);
    let (_, listed) = said(sent(&service, "GET", "/v1/pipelines", "").await).await;
    assert_eq!(listed["pipelines"][0]["name"], "new");
    let (_, health) = said(sent(&service, "GET", "/v1/health", "").await).await;
    assert_eq!(health["pipelines"][0]["name"], "new");
    pipelines.replace(Vec::new());
    let (_, health) = said(sent(&service, "GET", "/v1/health", "").await).await;
    assert_eq!(health, json!({"status": "healthy"}));
}

#[tokio::test]
async fn the_console_has_the_pipelines_and_nothing_else_of_the_configuration() {
    let fake = Fake::start();
    let keyless = bare("docs", Embedder::local(), Completer::local());
    let options = SearchOptions::default();
    let (embedder, completer) = (embedder(&fake, Api::OpenAi), completer(&fake, Api::OpenAi));
    let hybrid = Parts {
        description: String::new(),
        retriever: Retriever::new(nowhere(), "more", Vec::new(), options),
        top_n: 5,
        allow_include_sources: false,
        ..bare("more", embedder, completer)
    };
    let pipelines = Pipelines::new(vec![Pipeline::new(keyless), Pipeline::new(hybrid)]);
    let service = linked(console_service(pipelines, true));
    let expected = json!({"version": env!("CARGO_PKG_VERSION"), "mcp": true, "pipelines": [
        {"name": "docs", "description": "All about docs", "sources": true, "hybrid": false,
            "top_n": 10, "keyless": true},
        {"name": "more", "description": "", "sources": false, "hybrid": true, "top_n": 5,
            "keyless": false},
    ]});
    let answer = said(sent(&service, "GET", "/v1/console", "").await).await;
    assert_eq!(answer, (200, expected));
    let (status, _) = said(sent(&service, "POST", "/v1/console", "").await).await;
    assert_eq!(status, 405);
    // A program without a console does not have it.
    let (status, refusal) = said(sent(&local(), "GET", "/v1/console", "").await).await;
    assert_eq!(
        (status, &refusal["error"]["code"]),
        (404, &json!("NOT_FOUND"))
    );
}

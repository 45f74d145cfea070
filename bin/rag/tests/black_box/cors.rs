//! CORS, and the header fields of every response.

use ziggurat_black_box::{Answer, Program};

use crate::support::{Client, Home, nowhere, server};

fn serve(cors: &str) -> (Home, Program, Client) {
    let list = nowhere("docs", "");
    let home = Home::with(&format!("{}pipelines:\n{list}", server(cors)));
    let (program, client) = home.serve();
    (home, program, client)
}

fn ask(client: &Client, method: &str, path: &str, origin: &str) -> Answer {
    client.send(method, path, &format!("origin: {origin}\r\n"), "")
}

#[test]
fn without_cors_options_is_a_method_that_is_not_allowed() {
    let (_home, _program, client) = serve("");
    let answer = ask(&client, "OPTIONS", "/v1/live", "http://localhost:3000");
    assert_eq!(answer.status, 405);
    assert_eq!(answer.header("allow"), Some("GET, HEAD"));
    assert_eq!(answer.header("access-control-allow-origin"), None);
    assert_eq!(
        answer.json(),
        serde_json::json!({"error": {"code": "METHOD_NOT_ALLOWED", "message": "method not allowed"}})
    );
}

#[test]
fn pages_of_listed_origins_get_cors_headers_and_others_do_not() {
    let (_home, _program, client) =
        serve("  cors: {enabled: true, allowed_origins: ['https://a.example']}\n");
    for path in ["/v1/live", "/v1/pipelines/docs", "/nothing"] {
        let answer = ask(&client, "OPTIONS", path, "https://a.example");
        assert_eq!((answer.status, &*answer.body), (204, ""), "{path}");
        for (name, value) in [
            ("access-control-allow-origin", "https://a.example"),
            ("access-control-allow-methods", "GET, POST, OPTIONS"),
            ("access-control-allow-headers", "Content-Type, Accept"),
            ("access-control-max-age", "86400"),
            ("vary", "Origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        let answer = ask(&client, "OPTIONS", path, "https://b.example");
        assert_eq!(answer.status, 204, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
    // Pages can also read refusals.
    let answer = ask(&client, "GET", "/nothing", "https://a.example");
    assert_eq!(answer.status, 404);
    let allowed = answer.header("access-control-allow-origin");
    assert_eq!(allowed, Some("https://a.example"));
}

#[test]
fn a_star_allows_all_origins_and_an_empty_list_allows_none() {
    let (_home, _program, client) = serve("  cors: {enabled: true, allowed_origins: ['*']}\n");
    let answer = ask(&client, "GET", "/v1/live", "https://b.example");
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.header("vary"), None);
    let (_home, _program, client) = serve("  cors: {enabled: true}\n");
    let answer = ask(&client, "GET", "/v1/live", "https://b.example");
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (403, None)
    );
}

#[test]
fn every_json_response_links_to_the_openapi_document() {
    let (_home, _program, client) = serve("");
    let link = Some("</v1/openapi.json>; rel=\"service-desc\"");
    for (method, path, body, status) in [
        ("GET", "/v1/live", "", 200),
        ("GET", "/v1/pipelines", "", 200),
        ("GET", "/v1/stats", "", 200),
        ("GET", "/v1/health", "", 200),
        ("POST", "/v1/pipelines/docs", "{", 400),
        ("POST", "/v1/pipelines/none", "{}", 404),
        ("GET", "/v1/live/", "", 404),
        ("GET", "/v1/pipelines/", "", 404),
        ("GET", "/v1/pipelines/a/b", "", 404),
        ("DELETE", "/v1/live", "", 405),
        ("GET", "/v1/pipelines/docs", "", 405),
        // The database of this pipeline is unreachable.
        ("POST", "/v1/pipelines/docs", "{\"query\":\"ferns\"}", 500),
    ] {
        let answer = client.send(method, path, "", body);
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert_eq!(answer.header("link"), link, "{method} {path}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/json"),
            "{path}"
        );
        assert!(
            answer.body.ends_with("}\n"),
            "{method} {path}: {}",
            answer.body
        );
        assert_eq!(answer.body.matches('\n').count(), 1, "{method} {path}");
    }
    let large = "x".repeat(2 << 20);
    for (path, status) in [("/v1/pipelines/none", 404), ("/v1/pipelines/docs", 413)] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{large}",
            large.len()
        );
        let answer = client.exchange(request.as_bytes());
        assert_eq!(
            (answer.status, answer.header("link")),
            (status, link),
            "{path}"
        );
    }
}

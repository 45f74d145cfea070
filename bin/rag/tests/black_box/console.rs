//! The console: its page, its files, and what they show of the pipelines.

use serde_json::json;

use crate::support::{Home, nowhere, server};

fn home(more: &str) -> Home {
    let list = nowhere("docs", "");
    Home::with(&format!("{}pipelines:\n{list}", server(more)))
}

#[test]
fn a_browser_gets_the_page_and_its_files_and_nothing_from_elsewhere() {
    let home = home("");
    let (_program, client) = home.serve();
    let page = client.get("/");
    assert_eq!(page.status, 200);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let mut files = vec!["/".to_owned()];
    for attribute in ["src=\"", "href=\""] {
        let rest = page.body.split(attribute).skip(1);
        files.extend(
            rest.filter_map(|rest| rest.split('"').next())
                .map(str::to_owned),
        );
    }
    for path in files {
        let file = client.send("HEAD", &path, "", "");
        assert_eq!(file.status, 200, "{path}");
        let policy = file.header("content-security-policy").expect("a policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert!(policy.ends_with("trusted-types 'none'"), "{policy}");
        assert_eq!(
            file.header("cross-origin-opener-policy"),
            Some("same-origin")
        );
        let tag = file.header("etag").expect("a tag").to_owned();
        let again = client.send("GET", &path, &format!("if-none-match: {tag}\r\n"), "");
        assert_eq!((again.status, &*again.body), (304, ""), "{path}");
        let cached = file.header("cache-control").expect("it says");
        assert!(
            path == "/" || cached.ends_with("immutable"),
            "{path}: {cached}"
        );
    }
    for path in [
        "/console",
        "/console/",
        "/console/assets/",
        "/console/assets/none.js",
    ] {
        assert_eq!(client.get(path).status, 404, "{path}");
    }
    assert_eq!(client.post("/", "").status, 405);
    let shown = client.get("/v1/console");
    assert_eq!(shown.header("content-type"), Some("application/json"));
    let expected = json!({"version": env!("CARGO_PKG_VERSION"), "mcp": true, "pipelines": [
        {"name": "docs", "description": "", "sources": false, "hybrid": true, "top_n": 10,
            "keyless": true},
    ]});
    assert_eq!(shown.json(), expected);
}

#[test]
fn a_console_that_is_switched_off_does_not_exist() {
    let home = home("  console: false\n");
    let (_program, client) = home.serve();
    for path in ["/", "/v1/console", "/console/assets/x.js"] {
        let answer = client.get(path);
        let code = &answer.json()["error"]["code"];
        assert_eq!((answer.status, code), (404, &json!("NOT_FOUND")), "{path}");
    }
    assert_eq!(client.get("/v1/pipelines").status, 200);
}

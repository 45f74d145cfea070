//! All methods in all revisions.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use http::StatusCode;
use serde_json::{Value, json};
use tower::ServiceBuilder;
use ziggurat_layers::json_rpc::JsonRpcLayer;

use super::{doubles::*, *};
use ziggurat_mcp::protocol::Revision;

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Length {
    length: usize,
}

/// Calls everything once.
async fn visit(client: &Client, revision: Revision) {
    let server = client.server();
    assert_eq!((&*server.name, &*server.version), ("test", "1.2.3"));
    assert_eq!(server.instructions.as_deref(), Some("Be kind."));
    assert_eq!(server.revision, revision);
    assert!(server.has("tools") && !server.has("tasks"));
    client.ping().await.expect("pinged");

    let tools = client.tools().await.expect("tools");
    let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["confirm", "count", "echo", "regional", "wait"]);
    assert!(tools[2].input_schema.get().contains("What to say."));
    let has_structure = revision >= Revision::V2025_06_18;
    assert_eq!(tools[2].output_schema.is_some(), has_structure);

    let echo = client.call("echo", &json!({"text": "hällo"})).await;
    let echo = echo.expect("called");
    assert_eq!((echo.text(), echo.is_error), ("hällo".to_owned(), false));
    let structured: Option<Length> = echo.structured().expect("a length");
    assert_eq!(structured, has_structure.then_some(Length { length: 6 }));
    let failed = client.call("echo", &()).await.expect("called");
    assert!(failed.is_error);

    let resources = client.resources().await.expect("resources");
    assert_eq!(resources[0].uri, "poem://roses");
    let poem = client.read("poem://roses").await.expect("read");
    assert_eq!(poem[0].text.as_deref(), Some("Roses are red."));
    let templates = client.templates().await.expect("templates");
    assert_eq!(templates[0].uri_template, "page://{number}");
    let page = client.read("page://7").await.expect("read");
    assert_eq!(page[0].text.as_deref(), Some("7"));

    let prompts = client.prompts().await.expect("prompts");
    assert_eq!(prompts[0].arguments[0].name, "mood");
    let arguments = BTreeMap::from([("mood", "sad")]);
    let haiku = client.get_prompt("haiku", &arguments).await.expect("got");
    let content = &haiku.messages[0].content;
    assert_eq!(content.text(), Some("A sad haiku, please."));

    let moods = client.complete_prompt("haiku", "mood", "m").await;
    let pages = client.complete_template("page://{number}", "number", "4");
    let pages = pages.await;
    if revision == Revision::V2024_11_05 {
        let error = moods.expect_err("not in this revision");
        assert!(matches!(error, ClientError::Rpc { code: -32601, .. }));
    } else {
        assert_eq!(moods.expect("completed").values, ["merry"]);
        assert_eq!(pages.expect("completed").values, ["40"]);
    }

    let region = client.call("regional", &json!({"region": "süd"})).await;
    assert_eq!(region.expect("called").text(), "there");
}

/// Counts with reports, and checks them.
async fn count(client: &Client) {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&reports);
    let counted = client
        .with_progress(move |report| received.lock().expect("not poisoned").push(report))
        .call("count", &())
        .await;
    assert_eq!(counted.expect("counted").text(), "three");
    let reports = reports.lock().expect("not poisoned");
    let steps: Vec<_> = reports.iter().map(|report| report.progress).collect();
    assert_eq!(steps, [1.0, 2.0, 3.0]);
    assert_eq!(reports[0].total, Some(3.0));
    assert_eq!(reports[0].message.as_deref(), Some("counting"));
}

#[tokio::test]
async fn every_method_works_over_http_in_every_revision() {
    for revision in Revision::ALL {
        let client = over_http(mcp().0).with_revision(revision).connect().await;
        let client = client.expect("connected");
        soon(visit(&client, revision)).await;
        soon(count(&client)).await;
        client.close().await.expect("closed");
    }
}

#[tokio::test]
async fn every_method_works_over_pipes_in_every_revision() {
    for revision in Revision::ALL {
        over_pipes(mcp().0, async |builder| {
            let client = builder.with_revision(revision).connect().await;
            let client = client.expect("connected");
            visit(&client, revision).await;
            count(&client).await;
            client.close().await.expect("closed");
        })
        .await;
    }
}

#[tokio::test]
async fn a_call_that_lacks_a_header_is_repeated_with_it() {
    let client = over_http(mcp().0).connect().await.expect("connected");
    let region = client.call("regional", &json!({"region": "south"})).await;
    assert_eq!(region.expect("called").text(), "there");
}

#[tokio::test]
async fn the_newest_revision_is_chosen_unless_the_program_says_otherwise() {
    let client = over_http(mcp().0).connect().await.expect("connected");
    assert_eq!(client.server().revision, Revision::V2026_07_28);
    over_pipes(mcp().0, async |builder| {
        let client = builder.connect().await.expect("connected");
        assert_eq!(client.server().revision, Revision::V2026_07_28);
        client.close().await.expect("closed");
    })
    .await;
}

#[tokio::test]
async fn a_server_of_the_oldest_revision_is_spoken_to_in_that() {
    let server = ServiceBuilder::new()
        .layer(JsonRpcLayer::new().with_dialect(ziggurat_mcp::dialect()))
        .service(mcp().0);
    let builder = || Client::service("http://localhost/", server.clone());
    let client = builder().connect().await.expect("connected");
    assert_eq!(client.server().revision, Revision::V2024_11_05);
    let tools = client.tools().await.expect("tools");
    assert!(tools.iter().any(|tool| tool.name == "echo"));

    let chosen = builder().with_revision(Revision::V2025_06_18).connect();
    let error = chosen.await.expect_err("another revision");
    let text = "the server supports no revision of the client, only 2024-11-05";
    assert_eq!(error.to_string(), text);
    let chosen = builder().with_revision(Revision::V2026_07_28).connect();
    let error = chosen.await.expect_err("another revision");
    assert!(matches!(error, ClientError::Rpc { code: -32601, .. }));
}

/// Connects without a revision to a server that answers `server/discover` like this.
async fn discover(
    answer: fn(&Value) -> Response<TestBody>,
) -> (Result<Client, ClientError>, Vec<Seen>) {
    let (builder, mut received) = scripted(move |seen| answer(&seen.message));
    let client = soon(builder.connect()).await;
    let mut requests = Vec::new();
    while let Ok(seen) = received.try_recv() {
        requests.push(seen);
    }
    (client, requests)
}

fn unsupported(request: &Value, supported: &Value) -> Response<TestBody> {
    let data = json!({"supported": supported, "requested": "2026-07-28"});
    let error = json!({"code": -32022, "message": "Unsupported", "data": data});
    let body = json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
    status(StatusCode::BAD_REQUEST, body.to_string())
}

#[tokio::test]
async fn the_newest_older_revision_is_chosen_that_a_server_names() {
    let (client, requests) = discover(|request| {
        unsupported(request, &json!(["2025-03-26", "2025-06-18", "2027-01-01"]))
    })
    .await;
    let client = client.expect("connected");
    assert_eq!(client.server().revision, Revision::V2025_06_18);
    let version = &requests[1].message["params"]["protocolVersion"];
    assert_eq!(version, "2025-06-18");

    let (client, _) = discover(|request| unsupported(request, &json!(["2027-01-01"]))).await;
    let error = client.expect_err("no revision in common");
    assert!(error.to_string().ends_with("only 2027-01-01"), "{error}");

    let (client, _) = discover(|request| {
        let supported = json!(["2025-11-25"]);
        let found = json!({"supportedVersions": supported, "capabilities": {}});
        json_response(&result(request, &found))
    })
    .await;
    let client = client.expect("connected");
    assert_eq!(client.server().revision, Revision::V2025_11_25);
}

#[tokio::test]
async fn a_refused_probe_is_followed_by_initialize_and_a_refused_login_is_not() {
    for (code, is_connected) in [
        (StatusCode::BAD_REQUEST, true),
        (StatusCode::NOT_FOUND, true),
        (StatusCode::UNAUTHORIZED, false),
        (StatusCode::FORBIDDEN, false),
        (StatusCode::BAD_GATEWAY, false),
    ] {
        let (builder, _received) = scripted(move |_| status(code, "no"));
        let connected = soon(builder.connect()).await;
        match &connected {
            Ok(client) => assert_eq!(client.server().revision, Revision::V2025_11_25),
            Err(error) => assert!(error.to_string().contains(code.as_str()), "{error}"),
        }
        assert_eq!(connected.is_ok(), is_connected, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ignores_the_probe_is_sent_initialize_after_ten_seconds() {
    let (builder, mut peer) = pipes(1024);
    let serving = async {
        peer.expect("server/discover").await;
        peer.expect("notifications/cancelled").await;
        peer.welcome().await;
    };
    let (client, ()) = tokio::join!(builder.connect(), serving);
    let revision = client.expect("connected").server().revision;
    assert_eq!(revision, Revision::V2025_11_25);
}

#[tokio::test]
async fn the_headers_of_a_call_are_those_of_its_revision() {
    let (builder, mut received) = scripted(|seen| {
        let page = json!({"tools": [], "supportedVersions": ["2026-07-28"], "capabilities": {}});
        json_response(&result(&seen.message, &page))
    });
    let builder = builder.with_bearer("secret");
    let client = builder.connect().await.expect("connected");
    let seen = received.recv().await.expect("a request");
    assert_eq!(seen.headers["mcp-method"], "server/discover");
    let meta = &seen.message["params"]["_meta"];
    let capabilities = &meta["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(*capabilities, json!({}), "no closure, no capability");

    client.call("ä", &()).await.expect("called");
    let seen = received.recv().await.expect("a request");
    for (name, value) in [
        ("host", "localhost"),
        ("authorization", "Bearer secret"),
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "=?base64?w6Q=?="),
    ] {
        assert_eq!(seen.headers[name], value, "{name}");
    }
}

#[tokio::test]
async fn a_session_that_a_server_opens_is_named_until_it_is_closed() {
    let (builder, mut received) =
        scripted(|seen| json_response(&result(&seen.message, &json!({"tools": []}))));
    let builder = builder.with_revision(Revision::V2025_06_18);
    let client = builder.connect().await.expect("connected");
    client.tools().await.expect("a list");
    client.close().await.expect("closed");
    let mut sessions = Vec::new();
    while let Ok(Seen { headers, message }) = received.try_recv() {
        assert!(!headers.contains_key("mcp-method"), "only modern requests");
        let session = headers.get("mcp-session-id").cloned();
        let version = headers.get("mcp-protocol-version").cloned();
        sessions.push((
            message["method"].clone(),
            session.is_some(),
            version.is_some(),
        ));
    }
    let expected = [
        (json!("initialize"), false, false),
        (json!("notifications/initialized"), true, true),
        (json!("tools/list"), true, true),
        (Value::Null, true, true),
    ];
    assert_eq!(sessions, expected, "the last is DELETE");
}

#[tokio::test]
async fn a_list_is_read_to_its_last_page_and_not_in_circles() {
    let page = |seen: &Seen, next: [&str; 2]| {
        let cursor = seen.message["params"]["cursor"].as_str();
        let (uri, next) = match cursor {
            None => ("a://1", next[0]),
            Some(_) => ("a://2", next[1]),
        };
        let page = json!({"resources": [{"uri": uri, "name": uri}], "nextCursor": next});
        json_response(&result(&seen.message, &page))
    };
    for (next, expected) in [(["two", ""], Some(2)), (["two", "two"], None)] {
        let (builder, _received) = scripted(move |seen| page(seen, next));
        let builder = builder.with_revision(Revision::V2025_11_25);
        let client = builder.connect().await.expect("connected");
        match client.resources().await {
            Ok(list) => assert_eq!(Some(list.len()), expected),
            Err(error) => {
                let text = "the list of `resources/list` repeats a cursor";
                assert!(error.to_string().ends_with(text), "{error}");
                assert_eq!(expected, None);
            }
        }
    }
}

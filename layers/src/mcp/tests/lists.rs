use proptest::prelude::*;

use super::*;

/// Sends a list request to a server with this answer.
fn list_from(response: Response<Full<Bytes>>) -> Outcome {
    list_with(&layer(), some_access(), response)
}

fn list_with(
    layer: &McpPolicyLayer<Getter>,
    access: Access,
    response: Response<Full<Bytes>>,
) -> Outcome {
    let text = message("tools/list", &json!({}));
    send_to(
        layer,
        request(access, &[("accept-encoding", "gzip")], &text),
        response,
    )
}

fn filtered(body: &str) -> String {
    let outcome = list_from(response("application/json; charset=utf-8", body.to_owned()));
    assert_eq!(outcome.status, 200, "{body}");
    outcome.text().to_owned()
}

fn filtered_events(stream: &str) -> String {
    let outcome = list_from(response("text/event-stream", stream.to_owned()));
    assert_eq!(outcome.status, 200, "{stream}");
    outcome.text().to_owned()
}

fn is_unreadable(outcome: &Outcome) -> bool {
    outcome.status == 502 && outcome.rejection() == "list_unreadable"
}

#[test]
fn only_elements_that_are_not_allowed_are_cut_out() {
    for (list, expected) in [
        ("[]", "[]"),
        ("[ ]", "[ ]"),
        (r#"[{"name":"search"}]"#, r#"[{"name":"search"}]"#),
        (r#"[{"name":"drop"}]"#, "[]"),
        (r#"[ {"name":"drop"} , {"name":"kill"} ]"#, "[]"),
        (
            r#"[ {"name":"search", "x": 1.0} ,{"name":"drop"}, {"name":"report_a"}]"#,
            r#"[ {"name":"search", "x": 1.0} , {"name":"report_a"}]"#,
        ),
        (
            r#"[{"name":"drop"}, {"name":"search"} ]"#,
            r#"[ {"name":"search"} ]"#,
        ),
        (
            r#"[{"name":"search"} , {"name":"drop"}]"#,
            r#"[{"name":"search"} ]"#,
        ),
        (
            r#"[{"name":"drop"},{"name":"kill"},{"name":"search"}]"#,
            r#"[{"name":"search"}]"#,
        ),
        (
            r#"[{"n\u0061me":"se\u0061rch"}]"#,
            r#"[{"n\u0061me":"se\u0061rch"}]"#,
        ),
        (
            r#"[{"name":"dr\u006fp"},{"name":5},{},7,"search",null]"#,
            "[]",
        ),
        (r#"[{"name":"search","Name":"drop"},{"Name":"drop"}]"#, "[]"),
        (r#"[{"x":{"name":"search"},"name":"drop"}]"#, "[]"),
        (
            r#"[{"x":[{"name":"drop"}],"name":"search"}]"#,
            r#"[{"x":[{"name":"drop"}],"name":"search"}]"#,
        ),
    ] {
        let body = |list| {
            format!(
                "{{\"jsonrpc\":\"2.0\", \"id\":1e0,\n\"result\":{{\"b\":1.50,\"tools\":{list},\"nextCursor\":\"c\"}} }}\n"
            )
        };
        assert_eq!(filtered(&body(list)), body(expected), "{list}");
    }
}

#[test]
fn all_kinds_of_lists_are_filtered_whatever_was_asked_for() {
    let body = json!({"jsonrpc": "2.0", "id": 1, "result": {
        "tools": [{"name": "search"}, {"name": "summary"}],
        "prompts": [{"name": "search"}, {"name": "summary"}],
        "resources": [{"uri": "db://status"}, {"uri": "db://other"}, {"name": "search"}],
        "resourceTemplates": [
            {"uriTemplate": "file:///handbook/{page}"},
            {"uriTemplate": "file:///{path}"},
            {"uriTemplate": "file:///handbook/../{path}"},
        ],
    }});
    let json: Value = serde_json::from_str(&filtered(&body.to_string())).expect("JSON");
    let expected = json!({
        "tools": [{"name": "search"}],
        "prompts": [{"name": "summary"}],
        "resources": [{"uri": "db://status"}],
        "resourceTemplates": [{"uriTemplate": "file:///handbook/{page}"}],
    });
    assert_eq!(json["result"], expected);
}

#[test]
fn a_list_for_all_caches_becomes_private() {
    let body = |scope| format!(r#"{{"result":{{"cacheScope":{scope},"tools":[],"ttlMs":1}}}}"#);
    let private = body(r#""private""#);
    for scope in [r#""public""#, r#""pub\u006cic""#, "null", r#""private""#] {
        assert_eq!(filtered(&body(scope)), private, "{scope}");
    }
}

#[test]
fn the_answers_to_a_batch_are_filtered() {
    let body = r#"[{"id":1,"result":{}}, {"id":2,"result":{"tools":[{"name":"drop"}]}},{"id":3,"error":{}}]"#;
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let text = format!("[{ping},{list}]");
    let request = request(some_access(), &[], &text);
    let outcome = send_to(&layer(), request, response("application/json", body));
    let expected = r#"[{"id":1,"result":{}}, {"id":2,"result":{"tools":[]}},{"id":3,"error":{}}]"#;
    assert_eq!(outcome.text(), expected);
}

#[test]
fn a_response_that_cannot_be_read_is_not_passed_on() {
    for body in [
        "x",
        "7",
        "{",
        r#"{"result":[]}"#,
        r#"{"result":"drop"}"#,
        r#"{"result":{"tools":{"a":{"name":"drop"}}}}"#,
        r#"{"result":{"tools":[],"tools":[{"name":"drop"}]}}"#,
        r#"{"result":{"tools":[],"Tools":[{"name":"drop"}]}}"#,
        r#"{"result":{},"RESULT":{"tools":[{"name":"drop"}]}}"#,
        r#"{"result":{"tools":[{"name":"search","name":"drop"}]}}"#,
        r#"[[{"result":{"tools":[{"name":"drop"}]}}]]"#,
        "\u{feff}{}",
    ] {
        let outcome = list_from(response("application/json", body));
        assert!(is_unreadable(&outcome), "{body}");
        let events = format!("data: {body}\n\n");
        let outcome = list_from(response("text/event-stream", events));
        assert!(is_unreadable(&outcome), "event {body}");
    }
    let deep = format!(
        r#"{{"result":{{"tools":{}{}}}}}"#,
        "[".repeat(70),
        "]".repeat(70)
    );
    assert!(is_unreadable(&list_from(response(
        "application/json",
        deep
    ))));
    assert!(is_unreadable(&list_from(response(
        "application/json",
        &b"{\"a\":\"\xff\"}"[..]
    ))));
}

#[test]
fn a_response_in_another_form_is_not_passed_on() {
    let list = r#"{"result":{"tools":[{"name":"search"}]}}"#;
    for (name, value, status) in [
        ("content-encoding", "identity", 200),
        ("content-encoding", "gzip", 502),
        ("content-type", "application/json", 502), // twice
    ] {
        let mut response = response("application/json", list);
        response
            .headers_mut()
            .append(name, HeaderValue::from_static(value));
        assert_eq!(list_from(response).status, status, "{name}: {value}");
    }
    for content_type in ["text/plain", "text/html", "application/x-ndjson", ""] {
        assert!(
            is_unreadable(&list_from(response(content_type, list))),
            "{content_type}"
        );
    }
    let layer = layer().with_max_list_bytes(list.len() - 1);
    let outcome = list_with(&layer, some_access(), response("application/json", list));
    assert!(is_unreadable(&outcome));
    let outcome = list_with(&layer, Access::everything(), response("a/b", list));
    assert_eq!(outcome.text(), list, "nothing has to be hidden");
}

#[test]
fn an_error_of_another_type_keeps_its_status_without_its_body() {
    let mut ended = response("text/plain", "drop");
    *ended.status_mut() = StatusCode::NOT_FOUND;
    ended
        .headers_mut()
        .insert("x-kept", HeaderValue::from_static("yes"));
    ended
        .headers_mut()
        .insert("content-length", HeaderValue::from_static("4"));
    let outcome = list_from(ended);
    assert_eq!((outcome.status, outcome.text()), (404, ""));
    assert_eq!(outcome.headers["x-kept"], "yes");
    assert!(!outcome.headers.contains_key("content-length"));
    assert!(!outcome.headers.contains_key("content-type"));

    let mut refused = response("application/json", r#"{"error":{"code":1}}"#);
    *refused.status_mut() = StatusCode::BAD_REQUEST;
    let outcome = list_from(refused);
    assert_eq!(
        (outcome.status, outcome.text()),
        (400, r#"{"error":{"code":1}}"#)
    );

    let mut ended = response("application/json", "");
    *ended.status_mut() = StatusCode::NOT_FOUND;
    assert_eq!(list_from(ended).status, 404);

    let mut accepted = Response::new(Full::default());
    *accepted.status_mut() = StatusCode::ACCEPTED;
    assert_eq!(list_from(accepted).status, 202);
}

#[test]
fn headers_about_the_body_are_removed_and_compression_is_not_asked_for() {
    let mut list = response(
        "application/json",
        r#"{"result":{"tools":[{"name":"drop"}]}}"#,
    );
    for name in ["content-length", "etag", "content-digest", "mcp-session-id"] {
        list.headers_mut()
            .insert(name, HeaderValue::from_static("38"));
    }
    let outcome = list_from(list);
    let names: Vec<_> = outcome.headers.keys().map(HeaderName::as_str).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(outcome.headers["mcp-session-id"], "38");
    assert_eq!(outcome.headers["content-type"], "application/json");
    assert_eq!(outcome.sent[0].headers()["accept-encoding"], "identity");

    let ping = message("ping", &json!({}));
    let outcome = send(&[("accept-encoding", "gzip")], &ping);
    assert_eq!(outcome.sent[0].headers()["accept-encoding"], "gzip");
}

#[test]
fn the_response_to_a_call_is_not_touched() {
    let text = message("tools/call", &json!({"name": "search"}));
    let served = response(
        "text/plain",
        "{\"result\":{\"tools\":[{\"name\":\"drop\"}]}}",
    );
    let outcome = send_to(&layer(), request(some_access(), &[], &text), served);
    assert!(outcome.text().contains("drop"));
}

#[test]
fn lists_in_event_streams_are_filtered() {
    let full = r#"{"id":1,"result":{"tools":[{"name":"drop"},{"name":"search"}]}}"#;
    let short = r#"{"id":1,"result":{"tools":[{"name":"search"}]}}"#;
    let note = r#"{"method":"notifications/progress","params":{"name":"drop"}}"#;
    for (stream, expected) in [
        (": ping\n\n".to_owned(), ": ping\n\n".to_owned()),
        ("id: 1\ndata:\n\n".to_owned(), "id: 1\ndata:\n\n".to_owned()),
        (
            format!("event: message\nid: 7\ndata: {full}\n\n"),
            format!("event: message\nid: 7\ndata: {short}\n\n"),
        ),
        (
            format!("data:{note}\r\n\r\ndata:{full}\r\nid:x\r\n\r\n"),
            format!("data:{note}\r\n\r\ndata: {short}\nid:x\r\n\r\n"),
        ),
        (format!("data: {full}\r\r"), format!("data: {short}\n\r")),
        (format!("data: {full}"), format!("data: {short}\n")),
        (
            format!("\u{feff}data: {full}\n\n"),
            format!("data: {short}\n\n"),
        ),
        (
            full.replacen(":[", ":[\ndata: ", 1)
                .replacen('{', "data: {", 1)
                + "\n\n",
            format!("data: {short}\n\n"),
        ),
        (
            format!("\n\ndata: {short}\n\n"),
            format!("\n\ndata: {short}\n\n"),
        ),
        (
            format!("data: [{full}]\n\n"),
            format!("data: [{short}]\n\n"),
        ),
    ] {
        assert_eq!(filtered_events(&stream), expected, "{stream:?}");
    }
}

/// A name, and a way to write it as JSON.
fn arb_name() -> impl Strategy<Value = (String, bool)> {
    let names = prop_oneof![
        Just("search".to_owned()),
        Just("drop".to_owned()),
        "report_[a-z]{0,3}",
        "\\PC{0,6}",
        any::<String>(),
    ];
    (names, any::<bool>())
}

fn written(name: &str, escaped: bool) -> String {
    if !escaped {
        return serde_json::to_string(name).expect("JSON");
    }
    let units = name.encode_utf16().map(|unit| format!("\\u{unit:04X}"));
    format!("\"{}\"", units.collect::<String>())
}

fn blanks() -> impl Strategy<Value = String> {
    "[ \t\r\n]{0,3}"
}

prop_compose! {
    /// A list as JSON, and its names.
    fn arb_list()(
        elements in prop::collection::vec((arb_name(), blanks(), blanks(), any::<i32>()), 0..8),
        inside in blanks(),
    ) -> (String, Vec<String>) {
        let names = elements.iter().map(|((name, _), ..)| name.clone()).collect();
        let elements: Vec<_> = elements.iter().map(|((name, escaped), before, after, other)| {
            let key = if *escaped { "n\\u0061me" } else { "name" };
            let name = written(name, *escaped);
            format!("{before}{{\"x\":[{other},{{\"name\":\"search\"}}],{after}\"{key}\":{before}{name}}}{after}")
        }).collect();
        let list = if elements.is_empty() { inside } else { elements.join(",") };
        (format!("[{list}]"), names)
    }
}

fn names(body: &str) -> Vec<String> {
    let json: Value = serde_json::from_str(body).expect("still JSON");
    let tools = json["result"]["tools"].as_array().expect("a list");
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    tools.iter().map(name).collect()
}

proptest! {
    #[test]
    fn exactly_the_allowed_names_stay_in_a_list((list, all) in arb_list(), cuts in any::<u64>()) {
        let access = some_access();
        let body = format!("{{\"result\":{{\"tools\":{list},\"nextCursor\":1.50}}}}");
        let allowed: Vec<_> = all.iter().filter(|name| access.allows_tool(name)).cloned().collect();
        let json = filtered(&body);
        prop_assert_eq!(names(&json), &allowed[..]);
        prop_assert!(json.ends_with("],\"nextCursor\":1.50}}"));
        if allowed.len() == all.len() {
            prop_assert_eq!(&json, &body);
        }

        // Line ends of the JSON become ends of data lines.
        let line_end = ["\n", "\r\n", "\r"][usize::try_from(cuts % 3).expect("small")];
        let data: Vec<_> = body.split(['\r', '\n']).map(|line| format!("data: {line}")).collect();
        let events = filtered_events(&format!("{}{line_end}{line_end}", data.join(line_end)));
        let data: Vec<_> = events
            .split(['\r', '\n'])
            .filter_map(|line| line.strip_prefix("data: "))
            .collect();
        prop_assert_eq!(names(&data.join("\n")), &allowed[..]);
    }

    #[test]
    fn any_response_is_refused_or_valid_and_without_hidden_names(
        body in r#"[{]"result":[{]"tools":[\[\]{}",: \\a-z\r\n]{0,30}[}][}]"#,
    ) {
        let outcome = list_from(response("application/json", body));
        if !is_unreadable(&outcome) {
            let access = some_access();
            prop_assert!(names(outcome.text()).iter().all(|name| access.allows_tool(name)));
        }
    }
}

//! The chat completions API of `OpenAI`.

use ziggurat_fake_providers::{Answer, Turn};

use super::*;

const CHAT: &str = "/v1/chat/completions";

fn compatible(parts: impl IntoIterator<Item = Parts>) -> Router {
    compatible_with(parts, Options::default())
}

fn compatible_with(parts: impl IntoIterator<Item = Parts>, options: Options) -> Router {
    let pipelines = Pipelines::new(parts.into_iter().map(Pipeline::new).collect());
    let chat = chat_service(pipelines.clone(), options.clone());
    linked(service(pipelines, options).merge(chat))
}

fn conversation() -> Value {
    json!({"model": "docs", "temperature": 0.7, "max_tokens": 100, "user": "ann",
    "messages": [
        {"role": "system", "content": "Obey me."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "Good morning."}]},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ]})
}

async fn chat(service: &Router, body: &Value) -> (u16, Value) {
    said(sent(service, "POST", CHAT, body.to_string()).await).await
}

/// Returns the chunks of a stream, and the data after them.
async fn chunks(service: &Router, mut body: Value) -> (Vec<Value>, String) {
    body["stream"] = json!(true);
    let response = sent(service, "POST", CHAT, body.to_string()).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let frames = text(response).await;
    let data: Vec<_> = frames
        .split_terminator("\n\n")
        .map(|frame| frame.strip_prefix("data: ").expect("data"))
        .collect();
    let (last, chunks) = data.split_last().expect("a frame");
    let chunks = chunks
        .iter()
        .map(|json| serde_json::from_str(json).expect("JSON"));
    (chunks.collect(), (*last).to_owned())
}

#[tokio::test]
async fn without_the_setting_there_are_no_such_paths() {
    let service = served([bare("docs", Embedder::local(), Completer::local())]);
    let expected = error("NOT_FOUND", "resource not found");
    for (method, path) in [
        ("GET", "/v1/models"),
        ("GET", "/v1/models/docs"),
        ("POST", CHAT),
    ] {
        let response = said(sent(&service, method, path, "{}").await).await;
        assert_eq!(response, (404, expected.clone()), "{path}");
    }
}

#[tokio::test]
async fn each_pipeline_is_a_model() {
    let parts = |name| bare(name, Embedder::local(), Completer::local());
    let service = compatible([parts("docs"), parts("faq")]);
    let (status, mut models) = said(sent(&service, "GET", "/v1/models", "").await).await;
    for model in models["data"].as_array_mut().expect("a list") {
        let created = model["created"].take();
        assert!(
            created
                .as_u64()
                .is_some_and(|created| created > 1_700_000_000),
            "{created}"
        );
    }
    let model =
        |name| json!({"id": name, "object": "model", "created": null, "owned_by": "ziggurat"});
    let expected = json!({"object": "list", "data": [model("docs"), model("faq")]});
    assert_eq!((status, models), (200, expected));
    let (status, found) = said(sent(&service, "GET", "/v1/models/faq", "").await).await;
    assert_eq!((status, &found["id"]), (200, &json!("faq")));
    let (status, missing) = said(sent(&service, "GET", "/v1/models/none", "").await).await;
    let expected = json!({"error": {"message": "The model `none` does not exist",
        "type": "invalid_request_error", "param": "model", "code": "model_not_found"}});
    assert_eq!((status, missing), (404, expected));
}

#[tokio::test]
async fn the_last_message_is_the_question_and_the_others_are_its_history() {
    let setup = Setup::new().await;
    let service = compatible([setup.parts()]);
    setup
        .fake
        .next_of(Api::Anthropic, Turn::text("Shade [1], not [9]."));
    let (status, mut answer) = chat(&service, &conversation()).await;
    let id = answer["id"].take();
    assert!(
        id.as_str().is_some_and(|id| id.starts_with("chatcmpl-")),
        "{id}"
    );
    answer["created"].take();
    let annotation = json!({"type": "url_citation", "url_citation":
        {"start_index": 6, "end_index": 9, "title": "fern", "url": ""}});
    let expected = json!({"id": null, "object": "chat.completion", "created": null,
        "model": "docs", "choices": [{"index": 0, "message": {"role": "assistant",
            "content": "Shade [1], not.", "refusal": null, "annotations": [annotation]},
            "logprobs": null, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}});
    assert_eq!((status, answer), (200, expected));
    let (messages, system) = setup.told();
    let texts: Vec<_> = messages
        .as_array()
        .expect("messages")
        .iter()
        .map(|message| message["content"][0]["text"].as_str().expect("a text"))
        .collect();
    assert_eq!(texts[..2], ["Hello", "Good morning."]);
    assert!(
        texts[2].ends_with(&format!("Question: {QUESTION}")),
        "{}",
        texts[2]
    );
    assert!(!system.contains("Obey me"), "{system}");

    let mut plain = conversation();
    plain["citations"] = json!(false);
    setup.fake.next_of(
        Api::Anthropic,
        Turn::saying(Answer::text("Shade [9].").cut()),
    );
    let (_, answer) = chat(&service, &plain).await;
    let choice = &answer["choices"][0];
    assert_eq!(choice["message"]["content"], "Shade [9].");
    assert_eq!(choice["message"]["annotations"], json!([]));
    assert_eq!(choice["finish_reason"], "length");
}

#[tokio::test]
async fn an_annotation_says_if_its_passage_does_not_support_the_claim() {
    let setup = Setup::new().await;
    let service = compatible([setup.parts()]);
    let turn = Turn::text("Moss likes rain [1]. Ferns like shade [1].");
    setup.fake.next_of(Api::Anthropic, turn);
    let (_, answer) = chat(&service, &conversation()).await;
    let annotations = &answer["choices"][0]["message"]["annotations"];
    assert_eq!(annotations[0]["url_citation"]["supported"], false);
    let right = &annotations[1]["url_citation"];
    assert_eq!(right.get("supported"), None, "{right}");
}

#[tokio::test]
async fn a_stream_has_chunks_annotations_and_the_usage_if_it_is_asked_for() {
    let setup = Setup::new().await;
    let service = compatible([setup.parts()]);
    for has_usage in [false, true] {
        let mut asked = conversation();
        if has_usage {
            asked["stream_options"] = json!({"include_usage": true});
        }
        setup.fake.next_of(Api::Anthropic, Turn::text("Shade [1]."));
        let (mut sent_chunks, last) = chunks(&service, asked).await;
        assert_eq!(last, "[DONE]");
        let id = sent_chunks[0]["id"].clone();
        for chunk in &mut sent_chunks {
            let chunk = chunk.as_object_mut().expect("an object");
            assert_eq!(chunk.remove("id"), Some(id.clone()));
            assert_eq!(chunk.remove("object"), Some(json!("chat.completion.chunk")));
            assert_eq!(chunk.remove("model"), Some(json!("docs")));
            assert!(chunk.remove("created").is_some());
        }
        if has_usage {
            let usage = json!({"choices": [],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}});
            assert_eq!(sent_chunks.pop(), Some(usage));
            for chunk in &mut sent_chunks {
                let usage = chunk.as_object_mut().expect("an object").remove("usage");
                assert_eq!(usage, Some(Value::Null));
            }
        }
        let part = |delta: Value, reason: Value| {
            json!({"choices": [{"index": 0, "delta": delta, "logprobs": null,
                "finish_reason": reason}]})
        };
        let annotation = json!({"type": "url_citation", "url_citation":
            {"start_index": 6, "end_index": 9, "title": "fern", "url": ""}});
        let expected = [
            part(json!({"role": "assistant", "content": ""}), Value::Null),
            part(json!({"content": "Shade"}), Value::Null),
            part(json!({"content": " [1]"}), Value::Null),
            part(json!({"annotations": [annotation]}), Value::Null),
            part(json!({"content": "."}), Value::Null),
            part(json!({}), json!("stop")),
        ];
        assert_eq!(sent_chunks, expected);
    }
    let turn = Turn::raw(
        200,
        "data: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}\n\n",
    );
    setup.fake.next_of(Api::Anthropic, turn);
    let (sent_chunks, last) = chunks(&service, conversation()).await;
    let message = "the provider rate limit was exceeded; retry later";
    let expected = json!({"error": {"message": message, "type": "server_error", "param": null,
        "code": "execution_error"}});
    assert_eq!(sent_chunks, [Value::Null; 0]);
    assert_eq!(
        serde_json::from_str::<Value>(&last).expect("JSON"),
        expected
    );
}

/// A member that makes a request invalid, with the status, the parameter, the code, and a part of the
/// message.
type InvalidMember = (
    &'static str,
    &'static str,
    u16,
    Option<&'static str>,
    &'static str,
    &'static str,
);

const REFUSED: [InvalidMember; 15] = [
    (
        "model",
        "null",
        400,
        Some("model"),
        "invalid_request",
        "model is required",
    ),
    (
        "model",
        "\"none\"",
        404,
        Some("model"),
        "model_not_found",
        "`none`",
    ),
    (
        "n",
        "2",
        400,
        Some("n"),
        "unsupported_parameter",
        "leave it out",
    ),
    (
        "tools",
        "[{}]",
        400,
        Some("tools"),
        "unsupported_parameter",
        "tools",
    ),
    (
        "tool_choice",
        "\"required\"",
        400,
        Some("tool_choice"),
        "unsupported_parameter",
        "tool",
    ),
    (
        "response_format",
        r#"{"type": "json_object"}"#,
        400,
        Some("response_format"),
        "unsupported_parameter",
        "response_format",
    ),
    (
        "logprobs",
        "true",
        400,
        Some("logprobs"),
        "unsupported_parameter",
        "not supported",
    ),
    (
        "stop",
        "[\"end\"]",
        400,
        Some("stop"),
        "unsupported_parameter",
        "stop",
    ),
    (
        "messages",
        "[]",
        400,
        Some("messages"),
        "invalid_request",
        "last message",
    ),
    (
        "messages",
        r#"[{"role": "assistant", "content": "x"}]"#,
        400,
        Some("messages"),
        "invalid_request",
        "last message",
    ),
    (
        "messages",
        r#"[{"role": "tool", "content": "x"}]"#,
        400,
        Some("messages"),
        "invalid_request",
        "messages[0].role",
    ),
    (
        "messages",
        r#"[{"role": "user", "content": [{"type": "image_url"}]}]"#,
        400,
        Some("messages"),
        "invalid_request",
        "\"image_url\"",
    ),
    (
        "messages",
        r#"[{"role": "user", "content": " "}]"#,
        400,
        None,
        "invalid_request",
        "query is required",
    ),
    (
        "messages",
        "5",
        400,
        None,
        "invalid_request",
        "invalid request body: ",
    ),
    (
        "filter",
        r#"{"conditions": [{"column": "id", "operator": "~"}]}"#,
        400,
        None,
        "invalid_request",
        "invalid filter",
    ),
];

#[tokio::test]
async fn requests_that_cannot_be_served_get_errors_in_the_format_of_that_api() {
    let setup = Setup::new().await;
    let service = compatible([setup.parts()]);
    for (name, value, status, param, code, words) in REFUSED {
        let mut body = conversation();
        body[name] = serde_json::from_str(value).expect("JSON");
        let (found, answer) = chat(&service, &body).await;
        let error = &answer["error"];
        assert_eq!((found, &error["code"]), (status, &json!(code)), "{answer}");
        assert_eq!(error["param"], json!(param), "{body}");
        assert_eq!(error["type"], "invalid_request_error", "{body}");
        let message = error["message"].as_str().expect("a text");
        assert!(message.contains(words), "{message}");
    }
    let large = sent(&service, "POST", CHAT, "x".repeat((1 << 20) + 1)).await;
    let (status, answer) = said(large).await;
    let code = &answer["error"]["code"];
    assert_eq!((status, code), (413, &json!("request_too_large")));
    assert!(setup.fake.requests().is_empty());

    setup.fake.always_of(Api::Anthropic, Turn::refusal(500));
    let (status, answer) = chat(&service, &conversation()).await;
    let expected = json!({"message": "the provider returned an error", "type": "server_error",
        "param": null, "code": "execution_error"});
    assert_eq!((status, &answer["error"]), (500, &expected));
}

#[tokio::test]
async fn parameters_that_ask_for_nothing_are_ignored() {
    let setup = Setup::new().await;
    let service = compatible([setup.parts()]);
    let harmless = json!({"n": 1, "tools": [], "tool_choice": "auto", "stop": null,
        "logprobs": false, "response_format": {"type": "text"}, "seed": 5, "store": false,
        "metadata": {"a": "b"}});
    let mut body = conversation();
    for (name, value) in harmless.as_object().expect("an object") {
        body[name] = value.clone();
    }
    assert_eq!(chat(&service, &body).await.0, 200);
}

#[tokio::test]
async fn limits_of_callers_count_conversations() {
    let setup = Setup::new().await;
    let options = Options {
        limits: limits::limits("local: true", "calls: 1 per minute"),
        ..Options::default()
    };
    let service = compatible_with([setup.parts()], options);
    assert_eq!(chat(&service, &conversation()).await.0, 200);
    let (status, answer) = chat(&service, &conversation()).await;
    let error = &answer["error"];
    assert_eq!(
        (status, &error["type"], &error["code"]),
        (429, &json!("rate_limit_error"), &json!("rate_limited"))
    );
}

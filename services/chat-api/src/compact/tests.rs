//! Tests of shortened chats over HTTP.

mod properties;

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;

async fn post_text(service: &Router, body: String) -> (u16, String) {
    let request = Request::post("/api/chat/compact").body(Body::from(body));
    let request = request.expect("valid parts");
    let response = service.clone().oneshot(request).await.expect("infallible");
    assert_eq!(response.headers()["content-type"], "application/json");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("whole");
    let text = String::from_utf8(body.to_bytes().into()).expect("text");
    (status, text)
}

async fn compacted(body: Value) -> Value {
    let (status, text) = post_text(&routes(), body.to_string()).await;
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).expect("JSON")
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn call(id: &str, tool: &str) -> Value {
    let block = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
    json!({"role": "assistant", "content": [block]})
}

fn result(id: &str, text: &str) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": text});
    json!({"role": "user", "content": [block]})
}

/// Returns numbered remarks of 25 tokens each.
fn remarks(count: usize) -> Vec<Value> {
    (0..count)
        .map(|at| assistant(&format!("{at:03} {}", "x".repeat(56))))
        .collect()
}

/// Returns the positions of the messages in the answer, with -1 for the summary line.
fn places(answer: &Value, messages: &[Value]) -> Vec<i64> {
    let answered = answer["messages"].as_array().expect("a list");
    let place = |message| {
        let at = messages.iter().position(|one| one == message);
        at.map_or(-1, |at| i64::try_from(at).expect("few"))
    };
    answered.iter().map(place).collect()
}

const BARE: fn() -> Value = || json!({"enable_summarization": false});

#[tokio::test]
async fn a_chat_that_is_short_enough_stays_as_it_is() {
    let messages = remarks(12);
    // Few messages of any length, or many short ones.
    for (count, max_tokens) in [(11, 1), (12, 300)] {
        let messages = &messages[..count];
        let answer = compacted(json!({"messages": messages, "max_tokens": max_tokens})).await;
        let expected = json!({
            "messages": messages,
            "token_estimate": 25 * count,
            "compaction_info": {"original_count": count, "compacted_count": count,
                "dropped_count": 0, "anchor_count": 0, "tokens_saved": 0,
                "compression_ratio": 1.0},
        });
        assert_eq!(answer, expected);
    }
    let answer = compacted(json!({"messages": messages, "max_tokens": 299})).await;
    assert_eq!(answer["compaction_info"]["original_count"], 12);
    assert_ne!(answer["compaction_info"]["dropped_count"], 0);
}

#[tokio::test]
async fn the_first_and_the_last_stay_and_a_summary_replaces_the_rest() {
    let mut messages = remarks(20);
    messages[0] = user("How many orders are there in the orders table?");
    let answer = compacted(
        json!({"messages": messages, "max_tokens": 400, "recent_window": 5,
        "options": {"enable_summarization": true}}),
    )
    .await;
    assert_eq!(places(&answer, &messages), [0, -1, 15, 16, 17, 18, 19]);
    let line = &answer["messages"][1];
    let description = "[Compressed context: 14 messages compressed]";
    assert_eq!(line, &json!({"role": "assistant", "content": description}));
    let summary = json!({"topics": [], "tables": [], "tools": [], "description": description});
    assert_eq!(answer["summary"], summary);
    // The first message has 46 bytes; the summary has 44 bytes in brackets, which count as JSON.
    assert_eq!(answer["token_estimate"], (11 + 10) + 125 + (12 + 10));
    let info = json!({"original_count": 20, "compacted_count": 7, "dropped_count": 14,
        "anchor_count": 1, "tokens_saved": 496 - 168, "compression_ratio": 168.0 / 496.0});
    assert_eq!(answer["compaction_info"], info);
}

#[tokio::test]
async fn without_the_option_a_summary_is_added_only_to_a_chat_that_is_still_long() {
    let messages = remarks(20);
    let asked = |max_tokens: u64| {
        json!({"messages": messages, "max_tokens": max_tokens, "recent_window": 5,
            "options": BARE()})
    };
    let roomy = compacted(asked(200)).await;
    assert_eq!(places(&roomy, &messages), [0, 15, 16, 17, 18, 19]);
    let description = "[Compressed context: 14 messages compressed]";
    assert_eq!(roomy["summary"]["description"], description);
    let tight = compacted(asked(140)).await;
    assert_eq!(places(&tight, &messages), [0, -1, 15, 16, 17, 18, 19]);
}

#[tokio::test]
async fn important_messages_stay_in_order() {
    let mut messages = remarks(20);
    messages[3] = user("Actually, it is the other one");
    messages[5] = assistant("The query plan has a sequential scan");
    messages[7] = json!({"role": "system", "content": "Be brief"});
    messages[9] = user("ok");
    let asked = |min: u64, anchors: bool| {
        json!({"messages": messages, "max_tokens": 400, "recent_window": 4,
            "keep_anchors": anchors,
            "options": {"enable_summarization": false, "min_important_messages": min}})
    };
    for (min, anchors, expected) in [
        (0, true, &[0, 3, 5, 7, 16, 17, 18, 19][..]),
        (3, true, &[0, 3, 5, 7, 16, 17, 18, 19]),
        (5, true, &[0, 1, 2, 3, 5, 7, 16, 17, 18, 19]),
        // A correction that is no anchor is context, which stays while there is space.
        (2, false, &[0, 3, 5, 7, 16, 17, 18, 19]),
        (4, false, &[0, 1, 2, 3, 5, 7, 16, 17, 18, 19]),
    ] {
        let answer = compacted(asked(min, anchors)).await;
        assert_eq!(places(&answer, &messages), expected, "{min} {anchors}");
        let info = &answer["compaction_info"];
        assert_eq!(info["anchor_count"], expected.len() - 4, "{min} {anchors}");
        assert_eq!(info["dropped_count"], 20 - expected.len());
    }
    // All messages but the acknowledgment stay before the limit applies.
    let all = compacted(
        json!({"messages": messages, "max_tokens": 450, "recent_window": 4,
        "options": {"min_important_messages": 99}}),
    )
    .await;
    let missing = (0..20).filter(|at| !places(&all, &messages).contains(at));
    assert_eq!(missing.collect::<Vec<_>>(), [9]);
}

#[tokio::test]
async fn contextual_messages_stay_while_there_is_space_the_latest_first() {
    let mut messages = remarks(20);
    for at in [2, 4, 6] {
        messages[at] = user(&format!("{at} {}", "y".repeat(98)));
    }
    for (max_tokens, expected) in [
        (490, &[0, 2, 4, 6, 18, 19][..]),
        (150, &[0, 4, 6, 18, 19]),
        (115, &[0, 6, 18, 19]),
        (80, &[0, 18, 19]),
    ] {
        let answer = compacted(json!({"messages": messages, "max_tokens": max_tokens,
            "recent_window": 2, "options": BARE()}))
        .await;
        assert_eq!(places(&answer, &messages), expected, "{max_tokens}");
    }
}

#[tokio::test]
async fn a_call_and_its_result_both_stay_or_are_both_removed() {
    let mut messages = remarks(20);
    messages[2] = call("t1", "get_schema_info");
    messages[3] = result("t1", "a list");
    messages[5] = call("t2", "count_rows");
    messages[6] = result("t2", "error: no such table");
    messages[8] = call("t3", "count_rows");
    messages[9] = result("t3", "7");
    messages[15] = call("t4", "count_rows");
    messages[16] = result("t4", "8");
    let asked = json!({"messages": messages, "max_tokens": 300, "recent_window": 4,
        "options": BARE()});
    let answer = compacted(asked).await;
    let expected = [0, 2, 3, 5, 6, 8, 9, 15, 16, 17, 18, 19];
    assert_eq!(places(&answer, &messages), expected);
}

#[tokio::test]
async fn the_summary_does_not_separate_a_call_from_its_result() {
    let mut messages = remarks(20);
    messages[0] = call("t1", "count_rows");
    messages[1] = result("t1", "7");
    let asked = json!({"messages": messages, "max_tokens": 300, "recent_window": 2,
        "options": {"enable_summarization": true}});
    let answer = compacted(asked).await;
    assert_eq!(places(&answer, &messages), [0, 1, -1, 18, 19]);
}

#[tokio::test]
async fn less_important_messages_are_removed_first_while_the_chat_is_too_long() {
    let mut messages = remarks(24);
    let pad = "x".repeat(380);
    for (at, text) in [
        (2, format!("actually {pad}")),
        (4, format!("the first question? {pad}")),
        (6, format!("the second question? {pad}")),
        (8, format!("{pad} a remark")),
    ] {
        messages[at] = user(&text);
    }
    messages[10] = call("t", "similarity_search");
    messages[11] = result("t", &pad);
    // Remarks, long texts and tool results are removed before the questions. Corrections stay.
    let order = [
        1, 3, 5, 7, 9, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 8, 10, 11, 4, 6,
    ];
    let mut fewest = order.len();
    for max_tokens in (1..1000).step_by(37) {
        let answer = compacted(json!({"messages": messages, "max_tokens": max_tokens,
            "recent_window": 2, "options": {"min_important_messages": 99}}))
        .await;
        let places = places(&answer, &messages);
        let (gone, kept) = order.split_at(26 - places.len() - 1);
        let mut expected = kept.to_vec();
        expected.extend([-1, 0, 2, 22, 23]);
        expected.sort_unstable();
        let mut places = places;
        places.sort_unstable();
        assert_eq!(places, expected, "{max_tokens}");
        assert!(gone.len() <= fewest, "{max_tokens}");
        fewest = gone.len();
        let estimate = answer["token_estimate"].as_i64().expect("a number");
        assert!(estimate <= max_tokens || kept.is_empty(), "{max_tokens}");
        // Fails if one message more than necessary was removed.
        assert!(estimate + 150 > max_tokens, "{max_tokens}: {estimate}");
    }
    assert!(fewest < 10);
}

#[tokio::test]
async fn results_of_tools_stay_above_the_limit_if_requested() {
    let mut messages = remarks(30);
    for at in [2, 9, 16] {
        let id = format!("t{at}");
        messages[at] = call(&id, "query_database");
        messages[at + 1] = result(&id, &"x".repeat(4000));
    }
    let default = json!({"messages": messages, "max_tokens": 10, "recent_window": 2});
    let mut asked = default.clone();
    asked["options"] = json!({"preserve_tool_results": true});
    asked["keep_anchors"] = json!(false);
    for asked in [default.clone(), asked] {
        let answer = compacted(asked).await;
        let expected = [0, -1, 2, 3, 9, 10, 16, 17, 28, 29];
        assert_eq!(places(&answer, &messages), expected);
    }
    let mut others = default;
    others["options"] = json!({"preserve_tool_results": false});
    assert_eq!(places(&compacted(others).await, &messages), [0, -1, 28, 29]);
}

#[tokio::test]
async fn a_result_is_matched_to_its_call() {
    let mut messages = remarks(20);
    messages[2] = call("t1", "count_rows");
    messages[3] = call("t2", "get_schema_info");
    messages[4] = assistant("a remark");
    messages[5] = result("t2", "far from its call");
    messages[6] = result("t1", "far too");
    messages[8] = call("t3", "execute_explain");
    messages[9] = result("", "it does not say of what");
    let asked = json!({"messages": messages, "max_tokens": 300, "recent_window": 2,
        "options": BARE()});
    let answer = compacted(asked).await;
    assert_eq!(places(&answer, &messages), [0, 2, 3, 5, 6, 8, 9, 18, 19]);
}

#[tokio::test]
async fn zero_and_null_are_the_defaults_and_negative_numbers_are_refused() {
    let messages = remarks(12);
    for (member, value) in [
        ("max_tokens", json!(0)),
        ("max_tokens", json!(null)),
        ("max_tokens", json!(9_007_199_254_740_991_u64)),
        ("recent_window", json!(0)),
        ("recent_window", json!(null)),
        ("recent_window", json!(9_007_199_254_740_991_u64)),
        ("keep_anchors", json!(null)),
        ("options", json!(null)),
        (
            "options",
            json!({"min_important_messages": 0, "token_counter_type": null}),
        ),
        ("options", json!({"token_counter_type": "unknown", "x": []})),
        ("x", json!({})),
    ] {
        let answer = compacted(json!({"messages": messages, member: value})).await;
        assert_eq!(answer["token_estimate"], 300, "{member}: {value}");
    }
    // The default window of ten and the default options keep eleven messages, and three more.
    let zeroes = json!({"messages": remarks(30), "max_tokens": 700, "recent_window": 0});
    let answer = compacted(zeroes).await;
    assert_eq!(answer["compaction_info"]["compacted_count"], 15);
}

#[tokio::test]
async fn a_chat_without_messages_is_refused() {
    let service = routes();
    for body in [
        "{}",
        r#"{"messages":[]}"#,
        r#"{"messages":null,"options":7}"#,
    ] {
        let (status, text) = post_text(&service, body.to_owned()).await;
        let expected = r#"{"error":"Messages array cannot be empty"}"#;
        assert_eq!((status, &*text), (400, expected), "{body}");
    }
}

#[tokio::test]
async fn an_invalid_request_is_refused_with_the_reason() {
    let service = routes();
    let hi = r#""messages":[{"role":"user","content":"hi"}]"#;
    for (body, reason) in [
        (String::new(), "EOF while parsing a value"),
        ("[]".to_owned(), "expected an object"),
        ("{".to_owned(), "EOF while parsing an object"),
        (r#"{"messages":{}}"#.to_owned(), "invalid type: map"),
        (
            r#"{"messages":[7]}"#.to_owned(),
            "messages[0]: a message must be an object",
        ),
        (
            r#"{"messages":[{},{"role":7}]}"#.to_owned(),
            "messages[1]: the role of a message",
        ),
        (
            format!(r#"{{{hi},"max_tokens":-1}}"#),
            "invalid value: integer `-1`",
        ),
        (
            format!(r#"{{{hi},"recent_window":-1}}"#),
            "invalid value: integer `-1`",
        ),
        (
            format!(r#"{{{hi},"max_tokens":9007199254740992}}"#),
            "invalid value",
        ),
        (
            format!(r#"{{{hi},"max_tokens":1.5}}"#),
            "invalid type: floating point",
        ),
        (
            format!(r#"{{{hi},"keep_anchors":"no"}}"#),
            "invalid type: string",
        ),
        (format!(r#"{{{hi},"options":[]}}"#), "expected an object"),
        (
            format!(r#"{{{hi},"options":{{"min_important_messages":-1}}}}"#),
            "invalid value",
        ),
        (
            format!(r#"{{{hi},"max_tokens":"{}"}}"#, "é".repeat(500)),
            "invalid type: string",
        ),
    ] {
        let (status, text) = post_text(&service, body.clone()).await;
        assert_eq!(status, 400, "{body}");
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        let error = answer["error"].as_str().expect("a text");
        let detail = error.strip_prefix("Invalid request body: ").expect(error);
        assert!(detail.starts_with(reason), "{body}: {detail}");
        assert!(detail.len() < 210, "{detail}");
    }
}

#[tokio::test]
async fn messages_are_returned_byte_for_byte() {
    let odd = [
        r#"{ "role" : "user", "content" : "\u0041\ud800", "cache_control": {"type":"x"} }"#,
        r#"{"content":[{"type":"text","text":"a","more":1e400}],"role":"assistant","n":1.0}"#,
        r#"{"role":"tool","content":{"z":1,"a":0.10},"z":[ ]}"#,
        r"{}",
    ];
    let recent: Vec<_> = remarks(14).iter().map(Value::to_string).collect();
    let messages = odd.iter().copied().chain(recent.iter().map(String::as_str));
    let messages: Vec<_> = messages.collect();
    let body = format!(r#"{{"messages":[{}]}}"#, messages.join(" ,\n"));
    let (status, text) = post_text(&routes(), body).await;
    assert_eq!(status, 200);
    let expected = format!(r#"{{"messages":[{}],"token_estimate""#, messages.join(","));
    assert!(text.starts_with(&expected), "{text}");
    let body = format!(
        r#"{{"messages":[{}],"max_tokens":9,"options":{{"min_important_messages":1}}}}"#,
        messages.join(",")
    );
    let (_, text) = post_text(&routes(), body).await;
    assert!(
        text.starts_with(&format!(r#"{{"messages":[{},"#, odd[0])),
        "{text}"
    );
}

#[tokio::test]
async fn an_answer_is_cached_for_equal_requests_that_allow_it() {
    let service = routes();
    let ask = |options: Value, window: u64| {
        let body = json!({"messages": remarks(40), "max_tokens": 500, "recent_window": window,
            "options": options});
        post_text(&service, body.to_string())
    };
    let cached = json!({"enable_caching": true, "enable_analytics": true});
    let (_, first) = ask(cached.clone(), 5).await;
    assert_eq!(ask(cached.clone(), 5).await, (200, first.clone()));
    assert_ne!(ask(cached.clone(), 6).await.1, first);
    assert_ne!(
        ask(
            json!({"enable_caching": true, "token_counter_type": "ollama"}),
            5
        )
        .await
        .1,
        first
    );
    assert_eq!(
        ask(BARE(), 5).await.1,
        first,
        "without the cache it is the same"
    );
}

#[tokio::test]
async fn a_large_chat_is_answered_like_a_small_one() {
    let mut messages = remarks(8000);
    messages[4000] = user("Actually, something else");
    let answer = compacted(json!({"messages": messages, "options": BARE()})).await;
    let expected: Vec<i64> = [0, 4000].into_iter().chain(7990..8000).collect();
    assert_eq!(places(&answer, &messages), expected);
}

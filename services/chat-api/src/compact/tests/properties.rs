//! Properties of every shortened chat.

use proptest::{collection::vec, prelude::*};
use serde_json::value::RawValue;

use super::{super::message::Message, *};

fn content() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-z ?.]{0,80}",
        Just("actually".to_owned()),
        Just("CREATE TABLE t".to_owned()),
        Just("ok".to_owned()),
        "\\PC{0,40}",
    ];
    let tool = prop_oneof![
        Just("get_schema_info"),
        Just("query_database"),
        Just("execute_explain"),
        Just("count_rows"),
    ];
    let block = prop_oneof![
        text.clone()
            .prop_map(|text| json!({"type": "text", "text": text})),
        ("[a-c]", tool).prop_map(|(id, name)| json!({"type": "tool_use", "id": id, "name": name})),
        ("[a-c]", text.clone()).prop_map(
            |(id, text)| json!({"type": "tool_result", "tool_use_id": id, "content": text})
        ),
        Just(json!(["nonsense"])),
    ];
    prop_oneof![
        text.prop_map(Value::from),
        vec(block, 0..3).prop_map(Value::from),
        Just(json!(7)),
    ]
}

/// Generates messages that all differ.
fn chat() -> impl Strategy<Value = Vec<Value>> {
    let role = prop_oneof![
        Just("user"),
        Just("assistant"),
        Just("system"),
        Just("tool")
    ];
    vec((role, content()), 1..40).prop_map(|parts| {
        let numbered = parts.into_iter().enumerate();
        numbered
            .map(|(at, (role, content))| json!({"role": role, "content": content, "at": at}))
            .collect()
    })
}

fn options() -> impl Strategy<Value = Value> {
    let flags = any::<[bool; 4]>();
    let counter = prop_oneof![
        Just("generic"),
        Just("openai"),
        Just("anthropic"),
        Just("ollama")
    ];
    let given = (flags, 0..9_u64, counter).prop_map(|(flags, min, counter)| {
        let [results, schema, summarize, enhance] = flags;
        json!({"preserve_tool_results": results, "preserve_schema_info": schema,
            "enable_summarization": summarize, "min_important_messages": min,
            "token_counter_type": counter, "enable_llm_summarization": enhance})
    });
    prop_oneof![Just(json!(null)), given]
}

fn has_block(message: &Value, role: &str, kind: &str) -> bool {
    let blocks = message["content"].as_array();
    message["role"] == role && blocks.is_some_and(|list| list.iter().any(|one| one["type"] == kind))
}

fn is_of_tools(message: &Value) -> bool {
    let blocks = message["content"].as_array().into_iter().flatten();
    let mut kinds = blocks.map(|block| &block["type"]);
    kinds.any(|kind| kind == "tool_use" || kind == "tool_result")
}

fn answer(request: &Value) -> Value {
    let text = request.to_string();
    let asked: CompactRequest<'_> = serde_json::from_str(&text).expect("a request");
    let request = asked.checked().expect("a good one");
    let chat = Chat::read(&request.messages, &request.rules).expect("good messages");
    let compacted = chat.compact(&request.rules).expect("good messages");
    serde_json::from_slice(&compacted.body).expect("JSON")
}

proptest! {
    #[test]
    fn messages_that_must_stay_are_kept(
        messages in chat(),
        window in 0..12_u64,
        max_tokens in 1..600_u64,
        anchors: bool,
        options in options(),
    ) {
        let count = messages.len();
        let request = json!({"messages": messages, "recent_window": window,
            "max_tokens": max_tokens, "keep_anchors": anchors, "options": options});
        let answer = answer(&request);
        let places = places(&answer, &messages);
        let kept: Vec<usize> = places.iter().filter_map(|at| usize::try_from(*at).ok()).collect();

        prop_assert!(kept.is_sorted(), "in order, each once");
        prop_assert_eq!(places.first(), Some(&0));
        let window = usize::try_from(if window == 0 { 10 } else { window }).expect("few");
        for recent in count.saturating_sub(window)..count {
            prop_assert!(kept.contains(&recent), "{} is recent", recent);
        }
        for (at, pair) in messages.windows(2).enumerate() {
            if has_block(&pair[0], "assistant", "tool_use") && has_block(&pair[1], "user", "tool_result") {
                let halves = [at, at + 1].map(|half| kept.contains(&half));
                prop_assert_eq!(halves[0], halves[1], "the pair at {}", at);
                let after = places.iter().position(|place| *place == i64::try_from(at).expect("few"));
                if let Some(after) = after {
                    prop_assert!(places[after + 1] >= 0, "a line between a pair");
                }
            }
        }
        prop_assert!(places.iter().filter(|at| **at < 0).count() <= 1);

        let info = &answer["compaction_info"];
        prop_assert_eq!(&info["original_count"], &json!(count));
        prop_assert_eq!(&info["compacted_count"], &json!(places.len()));
        prop_assert_eq!(&info["dropped_count"], &json!(count - kept.len()));
        let is_changed = kept.len() < count;
        prop_assert_eq!(answer.get("summary").is_some(), is_changed);
    }

    #[test]
    fn a_chat_fits_unless_all_remaining_messages_must_stay(
        messages in chat(),
        max_tokens in 1..600_u64,
    ) {
        let request = json!({"messages": messages, "recent_window": 3, "max_tokens": max_tokens,
            "keep_anchors": false});
        let answer = answer(&request);
        let estimate = answer["token_estimate"].as_u64().expect("a number");
        let middle = places(&answer, &messages).into_iter().filter(|at| {
            let at = usize::try_from(*at).unwrap_or(0);
            // Two messages at either end may be partners of kept ones, and messages of tools stay.
            at > 1 && at + 5 <= messages.len() && !is_of_tools(&messages[at])
        });
        prop_assert!(estimate <= max_tokens || middle.count() == 0);
    }

    #[test]
    fn no_message_causes_a_panic(text in "\\PC{0,200}", json in r#"[{}\[\]",:a-z0-9\\ ]{0,40}"#) {
        let strange = json!({"role": text, "content": [{"type": text, "text": text}, text]});
        answer(&json!({"messages": [strange, {"content": text}], "max_tokens": 1}));
        if let Ok(raw) = RawValue::from_string(json) {
            let _ = Message::read(&raw).map(|message| message.text.len());
        }
    }
}

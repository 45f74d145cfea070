//! Tests of comments in front of statements.

use percent_encoding::percent_decode_str;
use proptest::prelude::*;

use super::*;

#[test]
fn a_comment_has_what_is_there_in_the_order_of_its_keys() {
    let all = SqlComment {
        caller: Some("user:alice"),
        request: Some("0b7e"),
        tool: Some("query_database"),
        pipeline: Some("a docs"),
        traceparent: TraceParent::parse(SENT),
    };
    let expected = format!(
        "/*caller='user%3Aalice',pipeline='a%20docs',request='0b7e',tool='query_database',traceparent='{SENT}'*/"
    );
    assert_eq!(all.to_string(), expected);

    let tool = SqlComment {
        tool: Some("a-b_c.d~e"),
        caller: Some(""),
        ..SqlComment::default()
    };
    assert_eq!(tool.to_string(), "/*tool='a-b_c.d~e'*/");
    assert_eq!(SqlComment::default().to_string(), "");
}

#[test]
fn a_value_is_cut_between_characters() {
    for (value, expected) in [
        ("x".repeat(128), "x".repeat(128)),
        ("x".repeat(129), "x".repeat(128)),
        ("'".repeat(43), "%27".repeat(42)),
        ("ü".repeat(22), "%C3%BC".repeat(21)),
        ("x".repeat(126) + "'", "x".repeat(126)),
        ("x".repeat(125) + "''", "x".repeat(125) + "%27"),
    ] {
        let comment = SqlComment {
            tool: Some(&value),
            ..SqlComment::default()
        };
        assert_eq!(comment.to_string(), format!("/*tool='{expected}'*/"));
    }
}

proptest! {
    #[test]
    fn a_comment_ends_where_it_should_whatever_it_holds(
        caller in any::<Option<String>>(),
        request in any::<Option<String>>(),
        tool in proptest::option::of("[-*/'\"\\\\%\0\n$?;a-c]{0,200}"),
    ) {
        let comment = SqlComment {
            caller: caller.as_deref(),
            request: request.as_deref(),
            tool: tool.as_deref(),
            ..SqlComment::default()
        };
        let comment = comment.to_string();
        let given = [("caller", &caller), ("request", &request), ("tool", &tool)];
        let given = given.into_iter().filter_map(|(key, value)| {
            let value = value.as_deref().filter(|value| !value.is_empty())?;
            Some((key, value))
        });
        let given: Vec<_> = given.collect();
        if given.is_empty() {
            prop_assert_eq!(comment, "");
            return Ok(());
        }
        let inside = comment.strip_prefix("/*").and_then(|rest| rest.strip_suffix("*/"));
        let values: Vec<_> = inside.expect("a comment").split(',').collect();
        prop_assert_eq!(values.len(), given.len());
        for (found, (key, value)) in values.into_iter().zip(given) {
            let found = found.strip_prefix(key).and_then(|rest| rest.strip_prefix("='"));
            let found = found.and_then(|rest| rest.strip_suffix('\'')).expect("quoted");
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~%".contains(&byte);
            prop_assert!(found.bytes().all(is_plain));
            prop_assert!(found.len() <= 128);
            let decoded = percent_decode_str(found).decode_utf8().expect("whole characters");
            prop_assert!(value.starts_with(&*decoded));
            prop_assert!(!decoded.is_empty());
        }
    }
}

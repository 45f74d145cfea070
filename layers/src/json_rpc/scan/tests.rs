use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

const LIMITS: Limits = Limits {
    max_depth: 64,
    max_messages: 8,
};

fn scan_text(text: &str) -> Result<Document, Fault> {
    scan(text.as_bytes(), LIMITS)
}

fn fault(document: impl AsRef<[u8]>) -> String {
    match scan(document.as_ref(), LIMITS) {
        Ok(_) => String::new(),
        Err(fault) => fault.to_string(),
    }
}

fn nested(levels: usize) -> String {
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    format!("{open}{close}")
}

fn object(keys: impl IntoIterator<Item = String>) -> String {
    let members: Vec<_> = keys.into_iter().map(|key| format!("\"{key}\":0")).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn objects_with_more_keys_than_there_is_memory_for_are_refused() {
    let of = |count: usize| {
        let members: Vec<_> = (0..count).map(|key| format!("\"{key}\":0")).collect();
        format!("{{{}}}", members.join(","))
    };
    let limits = Limits {
        max_depth: 8,
        max_messages: 1,
    };
    assert!(scan(of(MAX_KEYS).as_bytes(), limits).is_ok());
    let fault = scan(of(MAX_KEYS + 1).as_bytes(), limits).expect_err("too many");
    assert_eq!(fault.kind, FaultKind::TooManyKeys);
    // Objects that are closed do not count.
    let closed = format!("[{}]", vec![of(1000); 300].join(","));
    assert!(scan(closed.as_bytes(), limits).is_ok());
}

#[test]
fn text_that_is_not_json_is_refused_with_its_position() {
    let cases: [(&[u8], &str); 34] = [
        (b"", "expected a value at line 1 column 1"),
        (b" \n ", "expected a value at line 2 column 2"),
        (b"nul", "expected a value at line 1 column 1"),
        (b"True", "expected a value at line 1 column 1"),
        (b"\xef\xbb\xbf{}", "expected a value at line 1 column 1"),
        (b"\xc2\xa0{}", "expected a value at line 1 column 1"),
        (b"{} x", "expected the end at line 1 column 4"),
        (b"{}{}", "expected the end at line 1 column 3"),
        (b"01", "expected the end at line 1 column 2"),
        (b"+1", "expected a value at line 1 column 1"),
        (b"-", "expected a digit at line 1 column 2"),
        (b"-a", "expected a digit at line 1 column 2"),
        (b"1.", "expected a digit at line 1 column 3"),
        (b".5", "expected a value at line 1 column 1"),
        (b"1e+", "expected a digit at line 1 column 4"),
        (b"1e-+5", "expected a digit at line 1 column 4"),
        (b"[1,]", "expected a value at line 1 column 4"),
        (b"[1 2]", "expected `,` or `]` at line 1 column 4"),
        (b"[", "expected a value at line 1 column 2"),
        (b"{,}", "expected a key at line 1 column 2"),
        (b"{\"a\":1,}", "expected a key at line 1 column 8"),
        (b"{a:1}", "expected a key at line 1 column 2"),
        (b"{\"a\" 1}", "expected `:` at line 1 column 6"),
        (b"{\"a\":1]", "expected `,` or `}` at line 1 column 7"),
        (b"{\"a\":\n1,\n\"b\"", "expected `:` at line 3 column 4"),
        (b"\"a", "expected the end of the string at line 1 column 3"),
        (
            b"\"a\nb\"",
            "control character in a string at line 1 column 3",
        ),
        (b"\"\\x\"", "invalid escape at line 1 column 2"),
        (b"\"\\u12g4\"", "invalid escape at line 1 column 2"),
        (b"\"\\u+123\"", "invalid escape at line 1 column 2"),
        (b"\"\\u12", "invalid escape at line 1 column 2"),
        (
            b"\"\\ud800\"",
            "half of a surrogate pair at line 1 column 8",
        ),
        (
            b"\"\\ud800\\ud800\"",
            "half of a surrogate pair at line 1 column 14",
        ),
        (
            b"\"\xc3\xa9\\udc00\"",
            "half of a surrogate pair at line 1 column 9",
        ),
    ];
    for (document, problem) in cases {
        let text = String::from_utf8_lossy(document);
        assert_eq!(fault(document), problem, "{text}");
    }
    assert_eq!(fault(b"[\n\"\xff\"]"), "invalid UTF-8 at line 2 column 2");
    assert_eq!(fault(b"\xed\xa0\x80"), "invalid UTF-8 at line 1 column 1");
}

#[test]
fn nesting_is_allowed_up_to_the_limit() {
    assert_eq!(fault(nested(64)), "");
    assert_eq!(
        fault(nested(65)),
        "more than 64 levels deep at line 1 column 65"
    );
    assert_eq!(
        fault(nested(100_000)),
        "more than 64 levels deep at line 1 column 65"
    );

    let deepest = Limits {
        max_depth: u8::MAX,
        ..LIMITS
    };
    assert!(scan(nested(255).as_bytes(), deepest).is_ok());
    assert!(scan(nested(256).as_bytes(), deepest).is_err());

    let none = Limits {
        max_depth: 0,
        ..LIMITS
    };
    assert!(scan(b"7", none).is_ok());
    assert!(scan(b"{}", none).is_err());
}

#[test]
fn siblings_do_not_add_to_the_depth() {
    let siblings = vec![nested(63); 100].join(",");
    assert_eq!(fault(format!("[{siblings}]")), "");
}

#[test]
fn a_key_must_not_come_twice_in_one_object() {
    let numbered = |count: usize| (0..count).map(|number| format!("k{number}"));
    let with_first_again = |count: usize| object(numbered(count).chain([String::from("\\u006b0")]));
    let cases = [
        (String::from(r#"{"a":1,"a":2}"#), false),
        (String::from(r#"{"a":1,"\u0061":2}"#), false),
        (String::from(r#"{"\u0061":1,"\u0061":2}"#), false),
        (String::from(r#"{"a/":1,"a\/":2}"#), false),
        (String::from(r#"{"😀":1,"\ud83d\ude00":2}"#), false),
        (String::from(r#"{"":1,"":2}"#), false),
        (String::from(r#"{"p":{"q":[{"a":1,"a":1}]}}"#), false),
        (String::from(r#"[[{"a":1,"a":1}]]"#), false),
        (String::from(r#"{"a":{"b":1},"c":{"b":1},"a":1}"#), false),
        (String::from(r#"{"a":1,"A":2,"\\u0061":3}"#), true),
        (String::from(r#"{"a":{"a":{"a":1}}}"#), true),
        (String::from(r#"[{"a":1},{"a":1}]"#), true),
        (object(numbered(16)), true),
        (with_first_again(15), false),
        (object(numbered(17)), true),
        (with_first_again(16), false),
        (object(numbered(33)), true),
        (with_first_again(32), false),
        // Keys of an inner object after keys of outer objects that no longer fit inline.
        (format!(r#"{{"x":{},"x":1}}"#, object(numbered(40))), false),
        (
            format!(
                r#"{{"k0":{0},"k1":{0},"k2":{{"k0":1,"k0":2}}}}"#,
                object(numbered(40))
            ),
            false,
        ),
        (
            format!(
                r#"{{"k0":{0},"k1":[{0},{{"k0":1}}],"k2":{0}}}"#,
                object(numbered(40))
            ),
            true,
        ),
    ];
    for (document, is_fine) in cases {
        let fault = fault(&document);
        assert_eq!(fault.is_empty(), is_fine, "{document}: {fault}");
        assert!(is_fine || fault.starts_with("duplicate key"), "{fault}");
    }
}

#[test]
fn many_keys_are_checked_without_pairwise_comparison() {
    let keys = || (0..200_000).map(|number| format!("some-common-prefix-{number}"));
    assert_eq!(fault(object(keys())), "");
    let twice = keys().chain([String::from("some-common-prefix-77")]);
    assert!(fault(object(twice)).starts_with("duplicate key"));
}

#[test]
fn the_members_of_the_envelope_are_found() {
    let text =
        r#" {"params" : {"id":9,"method":"inner"} ,"\u006dethod":"m","id" : -1.5e3,"x":[]} "#;
    let Ok(Document::Single(message)) = scan_text(text) else {
        panic!("a message");
    };
    let at = |span: Option<Span>| span.map(|span| &text[span.start..span.end]);
    assert!(message.is_object && !message.has_outcome);
    assert_eq!(at(message.params), Some(r#"{"id":9,"method":"inner"}"#));
    assert_eq!(at(message.method), Some(r#""m""#));
    assert_eq!(at(message.id), Some("-1.5e3"));
    assert_eq!(at(message.jsonrpc), None);
}

#[test]
fn messages_of_an_array_are_kept_up_to_the_limit() {
    for count in [0_usize, 1, 8, 9, 5000] {
        let mut text = String::from("[");
        for number in 0..count {
            let comma = if number == 0 { "" } else { "," };
            write!(text, "{comma} {{\"id\":{number}}} ").expect("text");
        }
        text.push(']');
        let Ok(Document::Array {
            kept,
            count: counted,
        }) = scan_text(&text)
        else {
            panic!("an array");
        };
        assert_eq!(counted, count);
        assert_eq!(kept.len(), count.min(8));
    }
}

/// Values that `serde_json` writes and both parsers must accept.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::hash_map("[a-c\"\\\\é]{0,2}", inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Returns whether the scanner and `serde_json` agree where they should.
fn agree(document: &[u8]) -> bool {
    let ours = scan(document, LIMITS);
    let theirs = serde_json::from_slice::<Value>(document);
    match (ours, theirs) {
        (Ok(_), Ok(_)) | (Err(_), Err(_)) => true,
        // `serde_json` keeps the last of two keys and has another depth limit.
        (Err(fault), Ok(_)) => {
            matches!(fault.kind, FaultKind::DuplicateKey | FaultKind::TooDeep(_))
        }
        // `serde_json` must fit a number into a float.
        (Ok(_), Err(error)) => error.to_string().starts_with("number out of range"),
    }
}

#[test]
fn the_scanner_and_serde_json_agree_on_the_fuzzer_corpus() {
    for input in corpus::INPUTS {
        assert!(agree(input), "{}", input.escape_ascii());
    }
}

proptest! {
    #[test]
    fn every_value_is_accepted(value in json()) {
        let text = value.to_string();
        prop_assert!(scan_text(&text).is_ok(), "{text}");
        let text = serde_json::to_string_pretty(&value).expect("JSON");
        prop_assert!(scan_text(&text).is_ok(), "{text}");
    }

    #[test]
    fn the_scanner_and_serde_json_agree_on_damaged_values(
        value in json(),
        place: prop::sample::Index,
        damage: Option<u8>,
    ) {
        let mut document = value.to_string().into_bytes();
        let place = place.index(document.len());
        match damage {
            Some(byte) => document[place] = byte,
            None => drop(document.remove(place)),
        }
        prop_assert!(agree(&document), "{}", String::from_utf8_lossy(&document));
    }

    #[test]
    fn the_scanner_and_serde_json_agree_on_json_fragments(
        fragments in "([\\[\\]{},:\"\\\\ u0-9aeE.+-]|\"a\":|\\\\ud8[0-9]0|\\\\udc00|true|null|é){0,24}",
    ) {
        prop_assert!(agree(fragments.as_bytes()), "{fragments}");
        let quoted = format!("\"{fragments}\"");
        prop_assert!(agree(quoted.as_bytes()), "{quoted}");
    }

    #[test]
    fn the_scanner_and_serde_json_agree_on_any_bytes(document: Vec<u8>) {
        prop_assert!(agree(&document));
    }

    #[test]
    fn keys_are_duplicates_exactly_if_their_text_is_equal(
        keys in prop::collection::vec("(a|\\\\u0061|b|/|\\\\/){0,3}", 0..40),
    ) {
        let read: std::collections::HashSet<String> = keys
            .iter()
            .map(|key| serde_json::from_str(&format!("\"{key}\"")).expect("a string"))
            .collect();
        let is_fine = read.len() == keys.len();
        prop_assert_eq!(scan_text(&object(keys)).is_ok(), is_fine);
    }
}

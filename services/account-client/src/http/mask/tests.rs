use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[test]
fn secret_members_are_masked_at_any_depth_and_nothing_else_changes() {
    let mask = Mask::default();
    for (body, shown) in [
        (
            r#"{"client_id":"a", "client_secret" : "b" }"#,
            r#"{"client_id":"a", "client_secret" : "████" }"#,
        ),
        (
            r#"[{"x":{"token":null}},{"token":[1,{"a":2}]}]"#,
            r#"[{"x":{"token":"████"}},{"token":"████"}]"#,
        ),
        (r#"{"a":1.50,"b":null}"#, r#"{"a":1.50,"b":null}"#),
        (r#"{"tokens":"plain"}"#, r#"{"tokens":"plain"}"#),
        (r#"{"\u0074oken":"x"}"#, r#"{"\u0074oken":"████"}"#),
        (
            r#"{"password":"a\"b\\"} {"password":1}"#,
            r#"{"password":"████"} {"password":"████"}"#,
        ),
        ("", ""),
        ("true", "true"),
    ] {
        assert_eq!(mask.body(body.as_bytes()), shown, "{body}");
    }
}

#[test]
fn every_name_of_the_list_is_masked() {
    let mask = Mask::default();
    for name in MEMBERS {
        let body = json!({ name: "a-secret" }).to_string();
        assert_eq!(
            mask.body(body.as_bytes()),
            format!("{{\"{name}\":\"████\"}}")
        );
        let form = format!("x=1&{name}=a-secret&y=2");
        assert_eq!(
            mask.body(form.as_bytes()),
            format!("x=1&{name}=████&y=2"),
            "{form}"
        );
    }
}

#[test]
fn a_broken_body_that_carries_a_secret_is_replaced_whole() {
    let mask = Mask::default();
    for (body, shown) in [
        (
            r#"{"a":1,"token":"abc"#,
            "<redacted: the body carries a credential field; top-level keys: a, token>",
        ),
        (
            r#"[{"token":"abc""#,
            "<redacted: the body carries a credential field>",
        ),
        (
            r#"{"a":1,"\u0074oken":"abc"#,
            "<redacted: the body carries a credential field; top-level keys: a, token>",
        ),
        (
            r#"oops "{\"token\":\"abc\"}" oops"#,
            "<redacted: the body carries a credential field>",
        ),
    ] {
        assert_eq!(mask.body(body.as_bytes()), shown, "{body}");
    }
    let deep = format!("{}{{\"token\":1}}{}", "[".repeat(200), "]".repeat(200));
    assert_eq!(
        mask.body(deep.as_bytes()),
        "<redacted: the body carries a credential field>"
    );
}

#[test]
fn text_keeps_its_words_and_loses_its_secrets() {
    let mask = Mask::default();
    for (text, shown) in [
        ("invalid token: expired", "invalid token: expired"),
        (
            "<p>see /x?token=abc&a=1</p>",
            "<p>see /x?token=████&a=1</p>",
        ),
        ("a: 1\npassword: abc def", "a: 1\npassword: ████ def"),
        ("client%5Fsecret=abc", "client%5Fsecret=████"),
        ("the token", "the token"),
        ("mytoken=abc", "mytoken=abc"),
        ("token=", "token="),
    ] {
        assert_eq!(mask.body(text.as_bytes()), shown, "{text}");
    }
}

#[test]
fn a_known_secret_is_masked_wherever_it_turns_up() {
    let mut mask = Mask::default();
    mask.add("s3cr3t-value");
    mask.add("short");
    assert_eq!(
        mask.body(br#"{"message":"no s3cr3t-value here, how short"}"#),
        r#"{"message":"no ████ here, how short"}"#
    );
    assert_eq!(
        mask.url("http://h/p/s3cr3t-value?x=s3cr3t-value"),
        "http://h/p/████?x=████"
    );
}

#[test]
fn headers_that_carry_credentials_are_masked_in_any_case() {
    let mask = Mask::default();
    for name in HEADERS {
        assert_eq!(mask.header(&name.to_uppercase(), "v"), MASK);
    }
    assert_eq!(
        mask.header("Content-Type", "text/plain; x=1"),
        "text/plain; x=1"
    );
}

#[test]
fn an_address_loses_its_password_and_its_secret_parameters() {
    let mask = Mask::default();
    for (url, shown) in [
        ("http://a:b@h/p", "http://a:xxxxx@h/p"),
        ("http://a@h/p", "http://a@h/p"),
        (
            "https://h/p?a=1&client%5fsecret=2&token=",
            "https://h/p?a=1&client%5fsecret=████&token=",
        ),
        ("http://h?p@q", "http://h?p@q"),
        ("/p?password=1", "/p?password=████"),
    ] {
        assert_eq!(mask.url(url), shown);
    }
}

#[test]
fn a_long_body_is_masked_before_it_is_cut() {
    let mask = Mask::default();
    let body = format!("{}\"token\":\"{}\"}}", "{", "x".repeat(9000));
    assert_eq!(mask.excerpt(body.as_bytes()), r#"{"token":"████"}"#);
    let body = "é".repeat(600);
    let shown = mask.excerpt(body.as_bytes());
    assert_eq!(
        shown,
        format!("{}… (truncated, 1200 bytes total)", "é".repeat(512))
    );
    assert_eq!(mask.excerpt(b"word \n"), "word");
}

proptest! {
    #[test]
    fn no_nesting_and_no_spacing_lets_a_secret_through(
        value in tree(),
        is_pretty in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mask = Mask::default();
        let text = if is_pretty {
            serde_json::to_string_pretty(&value)
        } else {
            serde_json::to_string(&value)
        }.expect("a value can be written");
        let shown = mask.body(text.as_bytes());
        prop_assert!(!shown.contains("hush"), "{}", shown);
        serde_json::from_str::<Value>(&shown).expect("what is masked stays JSON");
        // A text that is cut anywhere may be shown or withheld, but never with a secret in it.
        let end = cut.index(text.len() + 1);
        let part = mask.body(&text.as_bytes()[..end]);
        prop_assert!(!part.contains("hush"), "{}", part);
    }
}

proptest! {
    #[test]
    fn no_input_causes_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in r#"(token|password|[{}\[\]",:=&\\'\n é]|\PC){0,30}"#,
    ) {
        let mut mask = Mask::default();
        mask.add("é-known-secret");
        for body in [&bytes[..], text.as_bytes()] {
            mask.excerpt(body);
            let _ = mask.dump(body);
        }
        mask.text(&text);
        let _ = mask.url(&text);
        let _ = mask.url(&format!("http://{text}"));
    }
}

/// Values in which every secret member, and nothing else, carries the word.
fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-g\"\\\\{}:,é ]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-d]{1,3}", inner.clone()), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            (prop::sample::select(MEMBERS.to_vec()), inner)
                .prop_map(|(name, inner)| { json!({ name: ["hush", inner, {"x": "hush"}] }) }),
        ]
    })
}

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn text(rules: TextRules) -> Scalar {
    Scalar::Text(rules)
}

fn range<T>(min: T, max: T) -> Range<T> {
    Range {
        min: Some(min),
        max: Some(max),
    }
}

fn decimal(text: &str) -> Decimal {
    Decimal::read(text).expect("a number")
}

fn date(text: &str) -> Date {
    text.parse().expect("a date")
}

/// A type, the values that it takes with their texts for PostgreSQL, and those that it refuses.
type TypeCases = (Scalar, Vec<(String, &'static str)>, Vec<&'static str>);

/// Values that leave quotes, comments and types, in all types of JSON.
const HOSTILE: &[&str] = &[
    r#""'; DROP TABLE t; --""#,
    r#""\\'; SELECT 1""#,
    r#""$1::text""#,
    r#""$$; DELETE FROM t; $$""#,
    r#""\"; --""#,
    r#""/* ' */""#,
    r#""E'\\x27'""#,
    r#""\ud800""#,
    r#""\u0027 OR 1=1""#,
    r#""now""#,
    r#""infinity""#,
    r#""NaN""#,
    r#""epoch""#,
    r#""{1,2}""#,
    "null",
    "[]",
    "{}",
    "[[1]]",
    "1e400",
    "-1",
    "true",
    "\"\"",
];

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn a_scalar_takes_exactly_the_values_of_its_type() {
    let integer = |range| Scalar::Integer {
        range,
        allowed: Vec::new(),
    };
    let uuid = "123e4567-E89B-12d3-a456-426614174000";
    let cases: Vec<TypeCases> = vec![
        (
            integer(Range::default()),
            vec![
                ("0".into(), "0"),
                ("-0".into(), "0"),
                ("9223372036854775807".into(), "9223372036854775807"),
                ("-9223372036854775808".into(), "-9223372036854775808"),
            ],
            vec!["1.0", "1e0", "9223372036854775808", "\"1\"", "true"],
        ),
        (
            integer(range(1, 5)),
            vec![("1".into(), "1"), ("5".into(), "5")],
            vec!["0", "6", "1.5"],
        ),
        (
            Scalar::Number(Range::default()),
            vec![
                ("1.50".into(), "1.50"),
                ("-0.1e-3".into(), "-0.1e-3"),
                ("1e30".into(), "1e30"),
                (
                    "0.123456789012345678901234567890".into(),
                    "0.123456789012345678901234567890",
                ),
            ],
            vec!["\"1\"", "\"NaN\"", "true"],
        ),
        (
            Scalar::Number(range(decimal("0"), decimal("1"))),
            vec![("1.000".into(), "1.000"), ("1e-99".into(), "1e-99")],
            vec!["1.00000000000000000000000000001", "-1e-400"],
        ),
        (
            Scalar::Boolean,
            vec![("true".into(), "true"), ("false".into(), "false")],
            vec!["0", "\"t\"", "\"true\""],
        ),
        (
            Scalar::Enum(vec!["a b".into(), "é".into()]),
            vec![("\"a b\"".into(), "a b"), ("\"\\u00e9\"".into(), "é")],
            vec!["\"a\"", "\"A b\"", "1"],
        ),
        (
            Scalar::Date(Range::default()),
            vec![
                ("\"2024-02-29\"".into(), "2024-02-29"),
                ("\"0001-01-01\"".into(), "0001-01-01"),
            ],
            vec![
                "\"2023-02-29\"",
                "\"2024-2-1\"",
                "\"2024-13-01\"",
                "\"0000-01-01\"",
                "\"today\"",
                "\"2024-02-29 \"",
                "\"-2024-01-01\"",
                "\"2024-02-29T00:00:00Z\"",
                "\"２０２４-01-01\"",
                "20240229",
            ],
        ),
        (
            Scalar::Date(range(date("2024-01-01"), date("2024-12-31"))),
            vec![("\"2024-12-31\"".into(), "2024-12-31")],
            vec!["\"2025-01-01\"", "\"2023-12-31\""],
        ),
        (
            Scalar::Timestamp(Range::default()),
            vec![
                ("\"2024-01-31T12:00:00Z\"".into(), "2024-01-31T12:00:00Z"),
                (
                    "\"2024-01-31t12:00:00.5z\"".into(),
                    "2024-01-31T12:00:00.5Z",
                ),
                (
                    "\"2024-01-31T12:00:00+01:30\"".into(),
                    "2024-01-31T10:30:00Z",
                ),
            ],
            vec![
                "\"2024-01-31T12:00:00\"",
                "\"2024-01-31 12:00:00Z\"",
                "\"2024-01-31T12:00Z\"",
                "\"2024-01-31T12:00:00.Z\"",
                "\"2024-01-31T25:00:00Z\"",
                "\"2024-01-31\"",
                "\"0000-12-31T23:00:00Z\"",
                "\"2024-01-31T12:00:00Z[UTC]\"",
                "\"2024-01-31T12:00:00+0100\"",
                "\"é2024-01-31T12:00:00Z\"",
            ],
        ),
        (
            Scalar::Uuid,
            vec![(format!("\"{uuid}\""), uuid)],
            vec![
                "\"123e4567e89b12d3a456426614174000\"",
                "\"{123e4567-e89b-12d3-a456-42661417400}\"",
                "\"123e4567-e89b-12d3-a456-42661417400g\"",
            ],
        ),
        (
            Scalar::Json { max_bytes: 20 },
            vec![
                ("{\"a\": [1, null]}".into(), "{\"a\": [1, null]}"),
                ("null".into(), "null"),
                ("\"'\"".into(), "\"'\""),
            ],
            vec!["{\"a\": \"longer than 20\"}", "\"\\ud800\""],
        ),
        (
            text(TextRules {
                length: range(1, 3),
                ..TextRules::default()
            }),
            vec![("\"äöü\"".into(), "äöü"), ("\"'\"".into(), "'")],
            vec!["\"\"", "\"abcd\"", "1", "null", "[\"a\"]"],
        ),
        (
            text(TextRules {
                pattern: Some(Pattern::new("a|bc").expect("valid")),
                ..TextRules::default()
            }),
            vec![("\"a\"".into(), "a"), ("\"bc\"".into(), "bc")],
            vec!["\"ac\"", "\"abc\"", "\"a\\n\"", "\"bbc\"", "\"\""],
        ),
    ];
    for (scalar, right, wrong) in cases {
        for (json, expected) in right {
            assert_eq!(
                scalar.check(&json).as_deref(),
                Ok(expected),
                "{scalar:?} {json}"
            );
        }
        for json in wrong {
            assert!(scalar.check(json).is_err(), "{scalar:?} {json}");
        }
    }
}

#[test]
fn hostile_values_pass_only_as_strings_and_json_and_unchanged() {
    for json in HOSTILE {
        let string: Option<String> = serde_json::from_str(json).ok();
        let checked = text(TextRules::default()).check(json);
        assert_eq!(checked.ok(), string, "{json}");
        let typed = [
            Scalar::Boolean,
            Scalar::Uuid,
            Scalar::Date(Range::default()),
            Scalar::Timestamp(Range::default()),
            Scalar::Enum(vec!["a".into()]),
        ];
        for scalar in typed.iter().filter(|_| *json != "true") {
            assert!(scalar.check(json).is_err(), "{scalar:?} {json}");
        }
        let name = Kind::Identifier(vec!["a".into()]).check(json);
        assert!(name.is_err(), "{json}");
        let items = Scalar::Integer {
            range: Range::default(),
            allowed: Vec::new(),
        };
        let list = Kind::List(List {
            items,
            length: Range::default(),
        });
        assert!(list.check(json).is_err() || *json == "[]", "{json}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn an_error_says_what_a_value_must_be() {
    let list = |min, max| {
        Kind::List(List {
            items: Scalar::Boolean,
            length: Range { min, max },
        })
    };
    let one = |scalar| Kind::Scalar(scalar);
    let integer = |range, allowed| one(Scalar::Integer { range, allowed });
    let half_open = Range {
        min: Some(1),
        max: None,
    };
    let pattern = TextRules {
        pattern: Some(Pattern::new("[a-z]+").expect("valid")),
        ..TextRules::default()
    };
    let allowed = TextRules {
        allowed: vec!["a".into(), "b".into()],
        ..TextRules::default()
    };
    let time = |text: &str| text.parse::<Timestamp>().expect("a time");
    let times = range(time("2024-01-01T00:00:00Z"), time("2024-12-31T00:00:00Z"));
    let cases = [
        (one(text(TextRules::default())), "1", "a string"),
        (
            one(text(TextRules {
                length: range(2, 3),
                ..TextRules::default()
            })),
            "\"a\"",
            "a string of 2 to 3 characters",
        ),
        (one(text(pattern)), "\"1\"", "a match of [a-z]+"),
        (one(text(allowed)), "\"c\"", "one of a, b"),
        (integer(Range::default(), vec![]), "1.5", "an integer"),
        (
            integer(Range::default(), vec![]),
            "99999999999999999999",
            "an integer from -9223372036854775808 to 9223372036854775807",
        ),
        (integer(range(1, 9), vec![]), "0", "an integer from 1 to 9"),
        (
            integer(half_open, vec![]),
            "\"1\"",
            "an integer from 1 to 9223372036854775807",
        ),
        (integer(Range::default(), vec![1, 2]), "3", "one of 1, 2"),
        (one(Scalar::Number(Range::default())), "\"1\"", "a number"),
        (
            one(Scalar::Number(range(decimal("0.5"), decimal("1.50")))),
            "0",
            "a number from 0.5 to 1.50",
        ),
        (one(Scalar::Boolean), "1", "true or false"),
        (
            one(Scalar::Enum(vec!["x".into(), "y".into()])),
            "1",
            "one of x, y",
        ),
        (
            one(Scalar::Date(Range::default())),
            "1",
            "a date such as 2026-01-31",
        ),
        (
            one(Scalar::Date(range(date("2024-01-01"), date("2024-02-01")))),
            "1",
            "a date from 2024-01-01 to 2024-02-01",
        ),
        (
            one(Scalar::Timestamp(Range::default())),
            "1",
            "a date and time such as 2026-01-31T12:00:00Z",
        ),
        (
            one(Scalar::Timestamp(times)),
            "1",
            "a date and time from 2024-01-01T00:00:00Z to 2024-12-31T00:00:00Z",
        ),
        (one(Scalar::Uuid), "1", "a UUID"),
        (
            one(Scalar::Json { max_bytes: 3 }),
            "\"abc\"",
            "JSON of at most 3 bytes",
        ),
        (list(None, None), "1", "a list"),
        (list(Some(1), Some(2)), "[]", "a list of 1 to 2 values"),
        (
            list(None, Some(1)),
            "[true,true]",
            "a list of 0 to 1 values",
        ),
        (
            Kind::Identifier(vec!["x".into(), "y".into()]),
            "\"z\"",
            "one of x, y",
        ),
    ];
    for (kind, json, expected) in cases {
        let wrong = kind.check(json).expect_err(json);
        assert_eq!((&*wrong.expected, wrong.item), (expected, None), "{kind:?}");
    }
    let wrong = list(None, None)
        .check("[true, false, 1]")
        .expect_err("no boolean");
    assert_eq!((&*wrong.expected, wrong.item), ("true or false", Some(3)));
}

#[test]
fn a_nul_character_is_found_anywhere() {
    for json in [
        json!("a\0"),
        json!(["a", ["\0"]]),
        json!({"a": {"\0": 1}}),
        json!({"a": "\0"}),
    ] {
        assert!(holds_nul(&json.to_string()), "{json}");
    }
    for json in [
        json!("\\u0000"),
        json!("\\\\u0000\"\\"),
        json!("\u{1}0"),
        json!("0"),
        json!({"a": [1, null, true]}),
    ] {
        assert!(!holds_nul(&json.to_string()), "{json}");
    }
}

#[test]
fn a_pattern_cannot_leave_its_group() {
    for wrong in ["a)|(b", "(", "a{100000000}", "(?x) a #"] {
        assert!(Pattern::new(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn every_string_is_bound_as_it_is(value in "\\PC{0,40}") {
        let json = serde_json::to_string(&value).expect("a string");
        prop_assert_eq!(text(TextRules::default()).check(&json), Ok(value));
    }

    #[test]
    fn what_passes_as_a_number_has_only_the_characters_of_one(value in "[-+0-9eE.'a\" ]{1,12}") {
        if serde_json::from_str::<&RawValue>(&value).is_ok()
            && let Ok(bound) = Scalar::Number(Range::default()).check(&value)
        {
            prop_assert!(bound.bytes().all(|byte| b"-+0123456789eE.".contains(&byte)));
        }
    }
}

use proptest::prelude::*;
use sqlx::{Row as _, postgres::PgRow};

use super::*;
use crate::fixture::{Fixture, ask};

fn written(kind: u32, text: &str) -> String {
    let mut out = String::new();
    write_value(&mut out, Kind::built_in(kind).expect("built in"), text);
    out
}

const INT_ARRAY: u32 = 1007;
const TEXT_ARRAY: u32 = 1009;
const JSON: u32 = 114;
const TIMESTAMPTZ: u32 = 1184;

#[tokio::test]
async fn every_value_is_written_as_documented() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE TYPE mood AS ENUM ('so so', 'happy', 'null');
             CREATE TYPE pair AS (a int, b text);
             CREATE DOMAIN positive AS int CHECK (value > 0);
             CREATE DOMAIN numbers AS int[];
             CREATE TYPE span AS RANGE (subtype = float8);",
        )
        .await;
    let pool = fixture.readable();
    for (sql, expected) in VALUES {
        let (answer, _) = ask(&pool, &format!("SELECT {sql} AS v"))
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        assert_eq!(answer, format!("v\n{expected}"), "{sql}");
    }
}

const VALUES: &[(&str, &str)] = &[
    ("NULL", ""),
    ("NULL::bool", ""),
    ("true", "true"),
    ("1 > 2", "false"),
    ("42::int2", "42"),
    ("-42::int4", "-42"),
    ("9223372036854775807::int8", "9223372036854775807"),
    ("'text'::text", "text"),
    ("'vc'::varchar(5)", "vc"),
    ("'c'::char(3)", "c  "),
    ("'n'::name", "n"),
    ("'x'::\"char\"", "x"),
    ("1.5::float4", "1.5"),
    ("0.1::float8 + 0.2", "0.30000000000000004"),
    ("'NaN'::float8", "NaN"),
    ("'-Infinity'::float4", "-Infinity"),
    ("19.95", "19.95"),
    ("1e30::numeric", "1000000000000000000000000000000"),
    ("'12.34'::money", "$12.34"),
    ("date '2024-01-31'", "2024-01-31"),
    ("date 'infinity'", "infinity"),
    ("timestamp '2024-01-31 12:34:56'", "2024-01-31T12:34:56"),
    (
        "timestamp '2024-01-31 12:34:56.789'",
        "2024-01-31T12:34:56.789",
    ),
    ("timestamp '-infinity'", "-infinity"),
    (
        "timestamp '0044-03-15 12:00:00 BC'",
        "0044-03-15 12:00:00 BC",
    ),
    (
        "timestamptz '2024-01-31 12:34:56+02'",
        "2024-01-31T10:34:56Z",
    ),
    (
        "timestamptz '2024-01-31 12:34:56.5+00'",
        "2024-01-31T12:34:56.5Z",
    ),
    ("timestamptz 'infinity'", "infinity"),
    ("time '12:34:56.1'", "12:34:56.1"),
    ("timetz '12:34:56+02'", "12:34:56+02"),
    (
        "interval '1 month 2 days 03:04:05'",
        "1 mon 2 days 03:04:05",
    ),
    (
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    ("'10.0.0.1/8'::inet", "10.0.0.1/8"),
    ("'10.0.0.0/8'::cidr", "10.0.0.0/8"),
    ("'08:00:2b:01:02:03'::macaddr", "08:00:2b:01:02:03"),
    (
        "'08:00:2b:01:02:03:04:05'::macaddr8",
        "08:00:2b:01:02:03:04:05",
    ),
    ("B'0101'", "0101"),
    ("B'01'::varbit", "01"),
    ("'\\x0102'::bytea", "\\x0102"),
    ("int4range(1, 5)", "[1,5)"),
    ("'{[1,3),[5,7)}'::int4multirange", "{[1,3),[5,7)}"),
    ("tsrange('2024-01-01', NULL)", "[\"2024-01-01 00:00:00\",)"),
    ("span(1.5, 2)", "[1.5,2)"),
    ("point(1, 2)", "(1,2)"),
    ("'((0,0),(1,1))'::box", "(1,1),(0,0)"),
    ("'a fat cat'::tsvector", "'a' 'cat' 'fat'"),
    ("'a & b'::tsquery", "'a' & 'b'"),
    ("'$.a'::jsonpath", "$.\"a\""),
    ("'pg_class'::regclass", "pg_class"),
    ("'1 2 3'::int2vector", "1 2 3"),
    ("'1 2'::oidvector", "1 2"),
    ("'0/16B3748'::pg_lsn", "0/16B3748"),
    ("'[1,2.5]'::vector", "[1,2.5]"),
    ("'so so'::mood", "so so"),
    ("5::positive", "5"),
    ("ROW(1, 'a b')::pair", "(1,\"a b\")"),
    ("ROW(1, NULL)", "(1,)"),
    // JSON
    (r#"'{"b": 1, "a": [1, 2]}'::jsonb"#, r#"{"a":[1,2],"b":1}"#),
    (
        r#"'{ "b" : "x  y" ,"a":null}'::json"#,
        r#"{"b":"x  y","a":null}"#,
    ),
    (r#"'"plain"'::jsonb"#, "plain"),
    (r#"' "a\tb\"c\u00e9\ud83d\ude00" '::json"#, "a\\tb\"cé😀"),
    ("'null'::jsonb", "null"),
    ("' 1.50 '::json", "1.50"),
    (
        r#"'{"a": "tab\t, \"quoted\"  "}'::json"#,
        r#"{"a":"tab\t, \"quoted\"  "}"#,
    ),
    // Arrays
    ("'{}'::int[]", "[]"),
    ("ARRAY[1, NULL, 3]", "[1,null,3]"),
    ("ARRAY[[1, 2], [3, NULL]]", "[[1,2],[3,null]]"),
    ("'[0:2]={1,2,3}'::int[]", "[1,2,3]"),
    ("'[2:2][-1:0]={{1,2}}'::int[]", "[[1,2]]"),
    (
        "ARRAY['a', NULL, 'NULL', '', 'b c']",
        r#"["a",null,"NULL","","b c"]"#,
    ),
    (
        r#"ARRAY[E'q"b\\c\t\n{},', 'é']"#,
        r#"["q\"b\\c\t\n{},","é"]"#,
    ),
    (
        "ARRAY[1.5::float8, 'NaN', 'Infinity', 1e20]",
        r#"[1.5,"NaN","Infinity",1e+20]"#,
    ),
    ("ARRAY[19.95, -0.5]", "[19.95,-0.5]"),
    ("ARRAY[true, false, NULL]", r#"["true","false",null]"#),
    (
        "ARRAY[timestamptz '2024-01-31 12:34:56+00']",
        r#"["2024-01-31T12:34:56Z"]"#,
    ),
    (
        "ARRAY[timestamp '2024-01-31 12:34:56', NULL]",
        r#"["2024-01-31T12:34:56",null]"#,
    ),
    ("ARRAY[date '2024-01-31']", r#"["2024-01-31"]"#),
    (r#"ARRAY['{"a": "b c"}'::jsonb]"#, r#"["{\"a\":\"b c\"}"]"#),
    (
        "ARRAY['(1,1),(0,0)'::box, '(2,2),(0,0)']",
        r#"["(1,1),(0,0)","(2,2),(0,0)"]"#,
    ),
    ("ARRAY['\\x01'::bytea]", r#"["\\x01"]"#),
    ("ARRAY['1'::money]", r#"["$1.00"]"#),
    ("ARRAY[int4range(1, 2)]", r#"["[1,2)"]"#),
    (
        "ARRAY['happy', NULL, 'null', 'so so']::mood[]",
        r#"["happy",null,"null","so so"]"#,
    ),
    ("ARRAY[5]::positive[]", "[5]"),
    ("'{1,2}'::numbers", "[1,2]"),
    ("ARRAY['[1,2]'::vector, NULL]", r#"["[1,2]",null]"#),
    ("ARRAY[ROW(1, 'a\"b')::pair]", r#"["(1,\"a\"\"b\")"]"#),
    ("ARRAY[span(1, 2)]", r#"["[1,2)"]"#),
    ("ARRAY['a'::information_schema.sql_identifier]", r#"["a"]"#),
    (
        "ARRAY[timestamptz 'epoch']::information_schema.time_stamp[]",
        r#"["1970-01-01T00:00:00Z"]"#,
    ),
    // Escapes
    ("E'a\\tb\\nc\\rd'", "a\\tb\\nc\\rd"),
    ("'a\\b'", "a\\b"),
];

#[tokio::test]
async fn every_built_in_array_type_is_known() {
    let mut fixture = Fixture::new().await;
    let rows: Vec<PgRow> = sqlx::raw_sql(
        "SELECT oid::int4, typname, (typcategory = 'A' AND typlen = -1
                AND typname NOT IN ('int2vector', 'oidvector'))::int4
         FROM pg_type WHERE oid < 10000",
    )
    .fetch_all(&mut fixture.outside)
    .await
    .expect("types");
    assert!(rows.len() > 100);
    for row in rows {
        let (oid, name): (i32, String) = (row.get(0), row.get(1));
        let kind = Kind::built_in(oid.unsigned_abs()).expect("a fixed number");
        let is_array = row.get::<i32, _>(2) == 1;
        assert_eq!(matches!(kind, Kind::Array(_)), is_array, "{oid} {name}");
    }
}

#[tokio::test]
async fn names_of_columns_are_escaped_like_values() {
    let fixture = Fixture::new().await;
    let pool = fixture.readable();
    let (answer, _) = ask(&pool, "SELECT 1 AS \"a\tb\", 2 AS \"c\nd\", 3 AS \"a\tb\"")
        .await
        .expect("a result");
    assert_eq!(answer, "a\\tb\tc\\nd\ta\\tb\n1\t2\t3");
}

#[test]
fn timestamps_are_shown_in_utc_and_other_forms_stay_as_they_are() {
    let cases = [
        ("2024-01-31 12:34:56+05:30", "2024-01-31T07:04:56Z"),
        ("2024-01-31 22:34:56.125-03", "2024-02-01T01:34:56.125Z"),
        ("2024-01-01 00:00:00+01", "2023-12-31T23:00:00Z"),
        ("1800-01-01 00:00:00+00:19:32", "1799-12-31T23:40:28Z"),
        ("0001-01-01 00:00:00+01", "0000-12-31T23:00:00Z"),
        ("10000-01-01 00:00:00+01", "10000-01-01 00:00:00+01"),
        ("31.01.2024 12:34:56 CET", "31.01.2024 12:34:56 CET"),
        ("Wed Jan 31 12:34:56 2024", "Wed Jan 31 12:34:56 2024"),
        ("10000-01-01 00:00:00", "10000-01-01T00:00:00"),
        ("10000-01-01 00:00:00+00", "10000-01-01T00:00:00Z"),
        ("2024-01-31 12:34:56+", "2024-01-31 12:34:56+"),
        ("é", "é"),
        ("", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(written(TIMESTAMPTZ, text), expected, "{text}");
    }
}

#[tokio::test]
async fn a_time_zone_of_the_call_changes_no_instant_and_gives_a_timestamp_none() {
    let fixture = Fixture::new().await;
    let pool = fixture.writable();
    let (answer, _) = ask(
        &pool,
        "SET LOCAL timezone = 'Europe/Berlin';
         SELECT timestamptz '2024-01-31 12:34:56.5+00' AS a, timestamptz '2024-07-31 00:00+00' AS b,
                timestamptz '1800-01-01 00:00+00' AS c, timestamp '2024-01-31 12:34:56.5' AS d,
                ARRAY[timestamptz '2024-01-31 12:34:56.5+00'] AS e",
    )
    .await
    .expect("a result");
    assert_eq!(
        answer,
        "a\tb\tc\td\te\n2024-01-31T12:34:56.5Z\t2024-07-31T00:00:00Z\t1800-01-01T00:00:00Z\t\
         2024-01-31T12:34:56.5\t[\"2024-01-31T12:34:56.5Z\"]"
    );
}

#[test]
fn what_is_no_array_is_written_as_text() {
    for text in [
        "", "{", "}", "{1", "{1,", "{1}x", "{{1}", "[0:1]", "[0:1]=", "{\"a}", "1,2", "{1}}",
    ] {
        assert_eq!(written(INT_ARRAY, text), text, "{text}");
    }
}

#[test]
fn json_strings_with_odd_escapes_do_not_break() {
    let cases = [
        (r#""\ud83d""#, "\u{fffd}"),
        (r#""\ud83d\u0041""#, "\u{fffd}A"),
        (r#""\ude00""#, "\u{fffd}"),
        (r#""\/\b\f""#, "/\u{8}\u{c}"),
        (r#""\u12""#, "\u{fffd}12"),
        (r#"""#, r#"""#),
    ];
    for (text, expected) in cases {
        assert_eq!(written(JSON, text), expected, "{text}");
    }
}

/// Returns the text that `array_out` makes of a list.
fn array_text(elements: &[Option<String>]) -> String {
    let elements: Vec<String> = elements
        .iter()
        .map(|element| match element {
            None => "NULL".to_owned(),
            Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        })
        .collect();
    format!("{{{}}}", elements.join(","))
}

proptest! {
    #[test]
    fn an_array_is_the_json_of_its_elements(
        elements in proptest::collection::vec(proptest::option::of(any::<String>()), 0..6),
    ) {
        let json = written(TEXT_ARRAY, &array_text(&elements));
        let read: Vec<Option<String>> = serde_json::from_str(&json).expect(&json);
        prop_assert_eq!(read, elements);
        prop_assert!(!json.contains(['\t', '\n', '\r']));
    }

    #[test]
    fn any_json_is_the_same_document_afterwards(
        key in any::<String>(), text in any::<String>(), number in any::<i64>(),
    ) {
        let document = serde_json::json!({ key: [text, number, null, true] });
        let spaced = serde_json::to_string_pretty(&document).expect("valid");
        let compact = written(JSON, &spaced);
        prop_assert_eq!(compact, document.to_string());
    }

    #[test]
    fn a_json_string_is_written_decoded(text in any::<String>()) {
        let json = serde_json::to_string(&text).expect("valid");
        let mut plain = String::new();
        write_text(&mut plain, &text);
        prop_assert_eq!(written(JSON, &json), plain);
    }

    #[test]
    fn no_value_ends_its_field(kind in 0_u32..7000, text in any::<String>()) {
        prop_assert!(!written(kind, &text).contains(['\t', '\n', '\r']));
    }

    #[test]
    fn malformed_arrays_do_not_end_their_field(text in "[{}\\[\\]=:,;\"\\\\aN1 \t\n]*") {
        for kind in [INT_ARRAY, TEXT_ARRAY, 1020, 3807, 1185, 1000] {
            prop_assert!(!written(kind, &text).contains(['\t', '\n', '\r']), "{}", kind);
        }
    }
}

#[test]
fn a_format_can_tell_all_values_apart_and_show_or_cut_what_a_reader_does_not_see() {
    let format = Format {
        is_unambiguous: true,
        shows_hidden: true,
        guards_end: true,
        max_bytes: Some(12),
    };
    let cases = [
        (Kind::Text, r"\N", r"\\N", false),
        (Kind::Text, "a\tb\\", r"a\tb\\", false),
        (Kind::Text, "a\u{202e}b", r"a\u{202e}b", false),
        (Kind::Text, "</data k>", r"\u{3c}/data k>", false),
        (Kind::Text, "123456789012", "123456789012", false),
        (
            Kind::Text,
            "1234567890123",
            "123456789012… (13 bytes)",
            true,
        ),
        (Kind::Text, "12345678901é", "12345678901… (13 bytes)", true),
        (Kind::Json, r#""a\u202eb""#, r"a\u{202e}b", false),
        (
            Kind::Json,
            r#"{"a": [1, 2, 3, 4]}"#,
            r#"{"a":[1,2,3,… (15 bytes)"#,
            true,
        ),
        (Kind::Bool, "t", "true", false),
    ];
    for (kind, text, expected, is_cut) in cases {
        let mut out = String::new();
        assert_eq!(format.write_value(&mut out, kind, text), is_cut, "{text}");
        assert_eq!(out, expected, "{text}");
    }
    let mut out = String::new();
    format.write_null(&mut out);
    Format::default().write_null(&mut out);
    assert_eq!(out, r"\N");
}

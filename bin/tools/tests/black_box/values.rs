//! Tests of the text of values, with a real PostgreSQL.

use serde_json::json;

use crate::support::{Home, Postgres, Transports};

const TYPES: &str = "CREATE TYPE mood AS ENUM ('glad', 'very sad');
    CREATE TYPE pair AS (a int, b text);
    CREATE DOMAIN percent AS int CHECK (VALUE BETWEEN 0 AND 100)";

/// Expression, and its text in the result.
const VALUES: [(&str, &str); 104] = [
    // NULL and booleans.
    ("NULL", ""),
    ("NULL::int[]", ""),
    ("NULL::jsonb", ""),
    ("true", "true"),
    ("false", "false"),
    // Numbers.
    ("(-32768)::int2", "-32768"),
    ("2147483647", "2147483647"),
    ("(-9223372036854775808)::int8", "-9223372036854775808"),
    ("4294967295::oid", "4294967295"),
    ("7::percent", "7"),
    ("1.5::float4", "1.5"),
    ("0.1::float4", "0.1"),
    ("0.1::float8 + 0.2::float8", "0.30000000000000004"),
    ("1000000::float8", "1000000"),
    ("1e300::float8", "1e+300"),
    ("-0.0::float8", "-0"),
    ("'NaN'::float8", "NaN"),
    ("'Infinity'::float8", "Infinity"),
    ("'-Infinity'::float4", "-Infinity"),
    ("19.95::numeric(8,2)", "19.95"),
    ("19.950::numeric", "19.950"),
    (
        "123456789012345678901234567890.000000000000000000001",
        "123456789012345678901234567890.000000000000000000001",
    ),
    ("'NaN'::numeric", "NaN"),
    // Text.
    ("'Ada'", "Ada"),
    ("'Ada'::varchar(2)", "Ad"),
    ("'Ada'::name", "Ada"),
    ("'A'::\"char\"", "A"),
    ("'very sad'::mood", "very sad"),
    ("''", ""),
    ("'日本 🏺'", "日本 🏺"),
    (r"E'a\tb\nc\rd\r\ne'", r"a\tb\nc\rd\r\ne"),
    (r"'a\b\\c\n'", r"a\b\\c\n"),
    (r#"'"quoted"'"#, r#""quoted""#),
    // Times.
    ("date '2024-01-31'", "2024-01-31"),
    ("date 'infinity'", "infinity"),
    ("date '-infinity'", "-infinity"),
    ("timestamp '2024-01-31 12:34:56'", "2024-01-31T12:34:56"),
    ("timestamp '2024-01-31 00:00'", "2024-01-31T00:00:00"),
    (
        "timestamp '2024-01-31 12:34:56.789'",
        "2024-01-31T12:34:56.789",
    ),
    (
        "timestamp '2024-01-31 12:34:56.000001'",
        "2024-01-31T12:34:56.000001",
    ),
    ("timestamp 'infinity'", "infinity"),
    ("timestamptz '2024-01-31 12:34:56Z'", "2024-01-31T12:34:56Z"),
    (
        "timestamptz '2024-01-31 01:34:56.789+02'",
        "2024-01-30T23:34:56.789Z",
    ),
    ("timestamptz '-infinity'", "-infinity"),
    ("time '12:34:56.5'", "12:34:56.5"),
    ("timetz '12:34:56+02'", "12:34:56+02"),
    (
        "interval '1 year 2 days 03:04:05'",
        "1 year 2 days 03:04:05",
    ),
    ("interval '-1 second'", "-00:00:01"),
    // Types with PostgreSQL's own text.
    (
        "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    ("'10.1.2.3'::inet", "10.1.2.3"),
    ("'10.1.2.3/8'::inet", "10.1.2.3/8"),
    ("'::1'::inet", "::1"),
    ("'10.0.0.0/8'::cidr", "10.0.0.0/8"),
    ("'08002b010203'::macaddr", "08:00:2b:01:02:03"),
    ("'08002b0102030405'::macaddr8", "08:00:2b:01:02:03:04:05"),
    ("B'0101'", "0101"),
    ("B'101'::varbit", "101"),
    ("int4range(1, 5)", "[1,5)"),
    ("numrange(1.5, NULL)", "[1.5,)"),
    ("'empty'::daterange", "empty"),
    (
        "daterange('2024-01-01', '2024-02-01')",
        "[2024-01-01,2024-02-01)",
    ),
    ("'{[1,2],[4,5]}'::int4multirange", "{[1,3),[4,6)}"),
    ("point(1, 2.5)", "(1,2.5)"),
    ("'((0,0),(1,1))'::box", "(1,1),(0,0)"),
    ("'((0,0),(1,1))'::path", "((0,0),(1,1))"),
    ("'<(0,0),2>'::circle", "<(0,0),2>"),
    ("'{1,-1,0}'::line", "{1,-1,0}"),
    ("'[(0,0),(1,1)]'::lseg", "[(0,0),(1,1)]"),
    ("'((0,0),(1,0),(1,1))'::polygon", "((0,0),(1,0),(1,1))"),
    ("'b:2 a'::tsvector", "'a' 'b':2"),
    ("'a & b'::tsquery", "'a' & 'b'"),
    ("'[1,2.5,-3]'::vector", "[1,2.5,-3]"),
    ("'16/B374D848'::pg_lsn", "16/B374D848"),
    ("'pg_class'::regclass", "pg_class"),
    ("'(1,2)'::tid", "(1,2)"),
    // JSON.
    (
        r#"'{ "b" : 1, "a" : [ 1, "x y" ] }'::json"#,
        r#"{"b":1,"a":[1,"x y"]}"#,
    ),
    (
        r#"'{"bb":1,"a":[1, 2.50]}'::jsonb"#,
        r#"{"a":[1,2.50],"bb":1}"#,
    ),
    (r#"'"a b"'::json"#, "a b"),
    (r#"'"a\tb"'::jsonb"#, r"a\tb"),
    ("'null'::jsonb", "null"),
    ("'12.50'::jsonb", "12.50"),
    ("'true'::json", "true"),
    ("'[]'::json", "[]"),
    (r#"'{"a": "x\ty"}'::jsonb"#, r#"{"a":"x\ty"}"#),
    // Arrays.
    ("'{}'::int[]", "[]"),
    ("ARRAY[1, 2, NULL]", "[1,2,null]"),
    ("ARRAY[1.50, -2]::numeric[]", "[1.50,-2]"),
    ("ARRAY[0.5, 1e10]::float8[]", "[0.5,10000000000]"),
    ("ARRAY[[1, 2], [3, 4]]", "[[1,2],[3,4]]"),
    ("'[0:1]={7,8}'::int[]", "[7,8]"),
    (
        "ARRAY['a', 'b c', NULL, 'NULL', '']",
        r#"["a","b c",null,"NULL",""]"#,
    ),
    (
        r#"ARRAY['x"y', 'x\y', '{x}', 'x,y']"#,
        r#"["x\"y","x\\y","{x}","x,y"]"#,
    ),
    (r"ARRAY[E'a\tb\nc']", r#"["a\tb\nc"]"#),
    ("ARRAY['glad']::mood[]", r#"["glad"]"#),
    ("ARRAY[date '2024-01-31']", r#"["2024-01-31"]"#),
    (
        "ARRAY[timestamptz '2024-01-31 12:34:56Z']",
        r#"["2024-01-31T12:34:56Z"]"#,
    ),
    (
        "ARRAY['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']::uuid[]",
        r#"["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]"#,
    ),
    ("ARRAY['10.0.0.0/8']::cidr[]", r#"["10.0.0.0/8"]"#),
    // Composites and bytes.
    ("ROW(1, 'a b')::pair", r#"(1,"a b")"#),
    ("ROW(NULL, '')::pair", r#"(,"")"#),
    ("ARRAY[ROW(1, 'a')::pair]", r#"["(1,a)"]"#),
    (r"'\x0102ff'::bytea", r"\x0102ff"),
    ("''::bytea", r"\x"),
    (r"ARRAY['\x01']::bytea[]", r#"["\\x01"]"#),
];

fn check(transports: &mut Transports, expression: &str, expected: &str) {
    let query = format!("SELECT {expression} AS value");
    let text = transports.succeed("query_database", &json!({"query": query}));
    let rows = text.split("Results (1 rows):\nvalue\n").nth(1);
    let rows = rows.unwrap_or_else(|| panic!("{expression}: {text}"));
    assert_eq!(rows, expected, "{expression}");
}

#[test]
fn every_type_has_its_expected_text() {
    let postgres = Postgres::with(TYPES);
    let mut transports = Transports::open(Home::with(&postgres));
    for (expression, expected) in VALUES {
        check(&mut transports, expression, expected);
    }
    // Types that not every build of PostgreSQL has.
    let optional = [
        (
            "SELECT count(*) FROM pg_available_extensions WHERE name = 'hstore'",
            "CREATE EXTENSION hstore",
            "'b=>2, a=>\"x y\"'::hstore",
            r#""a"=>"x y", "b"=>"2""#,
        ),
        (
            "SELECT count(*) FROM pg_config WHERE setting LIKE '%--with-libxml%'",
            "",
            "'<a>x</a>'::xml",
            "<a>x</a>",
        ),
    ];
    for (question, prepare, expression, expected) in optional {
        if postgres.count(question) > 0 {
            postgres.run(prepare);
            check(&mut transports, expression, expected);
        }
    }
}

#[test]
fn settings_of_the_database_do_not_change_the_text() {
    let postgres = Postgres::with(TYPES);
    let name = postgres.name();
    for setting in [
        "TimeZone = 'America/St_Johns'",
        "DateStyle = 'German, DMY'",
        "bytea_output = 'escape'",
        "extra_float_digits = -5",
        "quote_all_identifiers = on",
        "standard_conforming_strings = off",
    ] {
        postgres.run(&format!("ALTER DATABASE \"{name}\" SET {setting}"));
    }
    let mut transports = Transports::open(Home::with(&postgres));
    for (expression, expected) in VALUES {
        // The text of a `regclass` depends on the setting.
        if !expression.contains("regclass") {
            check(&mut transports, expression, expected);
        }
    }
}

#[test]
fn names_of_columns_are_escaped_like_fields() {
    let postgres = Postgres::new();
    let mut transports = Transports::open(Home::with(&postgres));
    let cases = [
        ("SELECT 1 AS \"a\tb\nc\\\"", r"a\tb\nc\".to_owned()),
        ("SELECT 1 AS \"\r\"", r"\r".to_owned()),
        ("SELECT 1 AS a, 2 AS a, 3", "a\ta\t?column?".to_owned()),
        (
            "SELECT 1 AS \"SELECT\", 2 AS \"日\"",
            "SELECT\t日".to_owned(),
        ),
        ("SELECT 1 AS \"say \"\"hi\"\"\"", "say \"hi\"".to_owned()),
    ];
    for (query, expected) in cases {
        let text = transports.succeed("query_database", &json!({"query": query}));
        let header = text.split("Results (1 rows):\n").nth(1);
        let header = header.and_then(|rows| rows.lines().next());
        assert_eq!(header, Some(&*expected), "{text}");
    }
}

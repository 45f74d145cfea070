//! Values as JSON scalars, and as text where JSON has no exact form.
//!
//! Booleans, integers that every JSON parser reads exactly, and finite floating-point numbers keep
//! their type. Timestamps are written as in [`tsv`](super::tsv). Everything else is the text that
//! PostgreSQL prints, so that a `numeric` or a JSON document loses no digits.
//!
//! ```
//! use ziggurat_postgres::scalar::Scalar;
//!
//! const BIGINT: u32 = 20;
//! assert_eq!(Scalar::of(BIGINT, "9007199254740991"), Scalar::Number("9007199254740991"));
//! assert_eq!(Scalar::of(BIGINT, "9007199254740992"), Scalar::Text("9007199254740992"));
//! ```

use crate::{
    tsv::is_json_number,
    type_name::{BOOL, FLOAT4, FLOAT8, INT2, INT4, INT8, TIMESTAMP, TIMESTAMPTZ},
};

/// The largest integer that every JSON parser reads exactly (RFC 8259, section 6).
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Value of one of the kinds that JSON has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar<'a> {
    /// NULL.
    Null,
    /// True or false.
    Bool(bool),
    /// A number, written as in JSON.
    Number(&'a str),
    /// A timestamp as PostgreSQL prints it; it is shown in the form of RFC 3339.
    Timestamp(&'a str),
    /// Anything else, as PostgreSQL prints it.
    Text(&'a str),
}

// === impl Scalar ===

impl<'a> Scalar<'a> {
    /// Reads a value from the OID of its type and the text that PostgreSQL prints.
    #[must_use]
    pub fn of(type_oid: u32, text: &'a str) -> Self {
        match (type_oid, text) {
            (BOOL, "t") => Self::Bool(true),
            (BOOL, "f") => Self::Bool(false),
            (INT8, number) if is_exact(number) => Self::Number(number),
            // JSON has no form for infinity and NaN.
            (INT2 | INT4 | FLOAT4 | FLOAT8, number) if is_json_number(number) => {
                Self::Number(number)
            }
            (TIMESTAMP | TIMESTAMPTZ, text) => Self::Timestamp(text),
            (_, text) => Self::Text(text),
        }
    }
}

fn is_exact(number: &str) -> bool {
    let number = number.parse::<i64>();
    number.is_ok_and(|number| number.unsigned_abs() <= MAX_SAFE_INTEGER)
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt as _;

    use super::{
        Scalar::{Bool, Null, Number, Text, Timestamp},
        *,
    };
    use crate::{fixture::Fixture, statement::Statement};

    /// SQL expressions and their expected values.
    const VALUES: &[(&str, Scalar<'_>)] = &[
        ("NULL", Null),
        ("NULL::int", Null),
        ("''", Text("")),
        ("true", Bool(true)),
        ("1 > 2", Bool(false)),
        ("(-32768)::int2", Number("-32768")),
        ("2147483647", Number("2147483647")),
        ("9007199254740991", Number("9007199254740991")),
        ("-9007199254740991", Number("-9007199254740991")),
        ("9007199254740992", Text("9007199254740992")),
        ("-9007199254740992", Text("-9007199254740992")),
        ("'-9223372036854775808'::int8", Text("-9223372036854775808")),
        ("1.5::float4", Number("1.5")),
        ("0.1::float8 + 0.2", Number("0.30000000000000004")),
        ("'1e300'::float8", Number("1e+300")),
        ("'1e-7'::float4", Number("1e-07")),
        ("'-0'::float8", Number("-0")),
        ("'NaN'::float8", Text("NaN")),
        ("'Infinity'::float8", Text("Infinity")),
        ("'-Infinity'::float4", Text("-Infinity")),
        ("19.90", Text("19.90")),
        ("'NaN'::numeric", Text("NaN")),
        ("'12.34'::money", Text("$12.34")),
        ("7::oid", Text("7")),
        ("'t'::text", Text("t")),
        ("'42'::text", Text("42")),
        ("5::whole", Number("5")),
        ("'t'::truth", Bool(true)),
        ("'so so'::mood", Text("so so")),
        (
            r#"'{"b":  1.50, "a": 1e400}'::json"#,
            Text(r#"{"b":  1.50, "a": 1e400}"#),
        ),
        (r#"'{"b":1,"a":[2]}'::jsonb"#, Text(r#"{"a": [2], "b": 1}"#)),
        ("'null'::jsonb", Text("null")),
        ("ARRAY[1, NULL, 3]", Text("{1,NULL,3}")),
        ("ARRAY[true]", Text("{t}")),
        ("ARRAY['a b']", Text("{\"a b\"}")),
        ("'\\x0102'::bytea", Text("\\x0102")),
        (
            "timestamptz '2024-01-31 12:34:56+00'",
            Timestamp("2024-01-31 12:34:56+00"),
        ),
        ("date 'infinity'", Text("infinity")),
        ("ROW(1, NULL, 'a')", Text("(1,,a)")),
        ("E'tab\\t\"quote\"\\n'", Text("tab\t\"quote\"\n")),
    ];

    #[tokio::test]
    async fn a_value_is_a_json_scalar_where_json_has_an_exact_form_and_else_its_text() {
        let mut fixture = Fixture::new().await;
        fixture
            .given(
                "CREATE TYPE mood AS ENUM ('so so'); CREATE DOMAIN whole AS int;
                 CREATE DOMAIN truth AS bool;",
            )
            .await;
        let pool = fixture.readable();
        for (sql, expected) in VALUES {
            let text = format!("SELECT {sql} AS v");
            let statement = Statement::new(pool.database(), &text).expect(sql);
            let lease = pool.lease().await.expect("a connection");
            let mut rows = statement.run(lease).await.expect(sql);
            let row = rows.try_next().await.expect(sql).expect("a row");
            let found = row.scalars().next().expect("a value").expect(sql);
            assert_eq!(found, *expected, "{sql}");
            while rows.try_next().await.expect(sql).is_some() {}
        }
    }

    #[test]
    fn what_does_not_look_like_its_type_is_text() {
        for (type_oid, text) in [
            (BOOL, "true"),
            (INT4, ""),
            (INT4, "1,000"),
            (INT8, "+1 "),
            (FLOAT8, "1.5f"),
            (0, "1"),
        ] {
            assert_eq!(Scalar::of(type_oid, text), Text(text), "{type_oid} {text}");
        }
    }
}

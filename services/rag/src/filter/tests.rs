use proptest::prelude::*;

use super::*;

fn read(json: &str) -> Filter {
    serde_json::from_str(json).expect(json)
}

/// Checks a filter with one condition on the column `c`.
fn checked(operator: &str, value: &str) -> Result<Test, String> {
    let operator = serde_json::Value::from(operator);
    let json = format!(
        r#"{{"conditions": [{{"column": "c", "operator": {operator}, "value": {value}}}]}}"#
    );
    let filter = read(&json).check().map_err(|error| error.to_string())?;
    let mut list = filter.expect("a condition").conditions.list;
    Ok(list.pop().expect("one").test)
}

fn refusal(json: &str) -> String {
    read(json).check().expect_err(json).to_string()
}

#[test]
fn a_filter_without_conditions_is_none() {
    for json in [
        "{}",
        r#"{"conditions": []}"#,
        r#"{"conditions": null, "logic": null}"#,
        r#"{"logic": "OR", "more": 1}"#,
    ] {
        assert_eq!(read(json).check(), Ok(None), "{json}");
    }
}

#[test]
fn only_an_object_whose_members_have_the_right_types_is_decoded() {
    for json in [
        r#""tenant = 1""#,
        "[]",
        "5",
        r#"{"conditions": {}}"#,
        r#"{"conditions": ["c"]}"#,
        r#"{"conditions": [{"column": 5}]}"#,
        r#"{"logic": true}"#,
    ] {
        assert!(serde_json::from_str::<Filter>(json).is_err(), "{json}");
    }
}

#[test]
fn values_are_texts_with_the_digits_they_were_written_with() {
    let cases = [
        ("12345678901234567890123", "12345678901234567890123"),
        ("-0.10000000000000000000001", "-0.10000000000000000000001"),
        ("1e400", "1e400"),
        (r#""a 'b' \u00e9 \n""#, "a 'b' é \n"),
        ("true", "true"),
        ("false", "false"),
        (r#"{ "a" : [1.50, " x "] }"#, r#"{"a":[1.50," x "]}"#),
        (r#"[ 1, "a b", null, [ 2 ] ]"#, r#"[1,"a b",null,[2]]"#),
    ];
    for (json, expected) in cases {
        let test = checked("=", json);
        let expected = Test::Compares(Comparison::Equal, expected.to_owned());
        assert_eq!(test, Ok(expected), "{json}");
    }
}

#[test]
fn all_operators_are_known_in_any_case_and_with_one_space() {
    let compares = |comparison| Ok(Test::Compares(comparison, "1".to_owned()));
    let one_of = |is_wanted| {
        Ok(Test::OneOf {
            is_wanted,
            values: vec!["1".to_owned(), "b".to_owned()],
        })
    };
    let cases = [
        ("=", compares(Comparison::Equal)),
        ("!=", compares(Comparison::NotEqual)),
        ("<", compares(Comparison::Less)),
        (">", compares(Comparison::Greater)),
        ("<=", compares(Comparison::AtMost)),
        (">=", compares(Comparison::AtLeast)),
        ("like", compares(Comparison::Like)),
        ("iLike", compares(Comparison::LikeInAnyCase)),
        ("In", one_of(true)),
        ("not IN", one_of(false)),
        ("is null", Ok(Test::Null { is_wanted: true })),
        ("Is Not Null", Ok(Test::Null { is_wanted: false })),
    ];
    for (operator, expected) in cases {
        let value = if matches!(expected, Ok(Test::OneOf { .. })) {
            r#"[1, "b"]"#
        } else {
            "1"
        };
        assert_eq!(checked(operator, value), expected, "{operator}");
    }
    for operator in ["not  in", "is\tnull", " =", "~", "", "= 1 OR 1", "<>"] {
        let text = checked(operator, "1").expect_err(operator);
        let expected = format!(
            "unsupported operator: {operator} (allowed: =, !=, <, >, <=, >=, LIKE, ILIKE, IN, \
             NOT IN, IS NULL, IS NOT NULL)"
        );
        assert_eq!(text, expected);
    }
}

#[test]
fn invalid_filters_are_refused_with_the_messages_of_the_specification() {
    let cases = [
        (
            "not in",
            "1",
            "IN operator requires array value, got: number",
        ),
        (
            "in",
            r#""a""#,
            "IN operator requires array value, got: string",
        ),
        ("in", "{}", "IN operator requires array value, got: object"),
        ("in", "null", "IN operator requires array value, got: null"),
        ("IN", "[]", "IN operator requires non-empty array"),
        (
            "IN",
            "[1, null]",
            "IN operator does not accept null elements",
        ),
        ("Like", "null", "operator Like requires non-nil value"),
    ];
    for (operator, value, expected) in cases {
        assert_eq!(checked(operator, value), Err(expected.to_owned()));
    }
    let two = r#"{"column": "c", "operator": "IS NULL"}"#;
    assert_eq!(
        refusal(&format!(r#"{{"conditions": [{two}], "logic": "xor"}}"#)),
        "invalid logic operator: XOR (must be AND or OR)"
    );
    assert_eq!(
        refusal(r#"{"conditions": [{"operator": "="}]}"#),
        "filter column is required"
    );
    assert_eq!(
        refusal(r#"{"conditions": [{"column": "c", "operator": "="}]}"#),
        "operator = requires non-nil value"
    );
    let many = vec![two; 51].join(",");
    assert_eq!(
        refusal(&format!(r#"{{"conditions": [{many}]}}"#)),
        "filter exceeds maximum of 50 conditions"
    );
}

#[test]
fn conditions_are_joined_by_and_unless_it_is_or() {
    let condition = r#"{"column": "c", "operator": "IS NULL"}"#;
    for (logic, any) in [("", false), ("and", false), ("Or", true)] {
        let json = format!(r#"{{"conditions": [{condition}], "logic": "{logic}"}}"#);
        let filter = read(&json).check().expect("valid").expect("a condition");
        assert_eq!(filter.conditions.any, any, "{logic}");
    }
}

#[test]
fn a_filter_in_yaml_means_the_same() {
    let yaml = "logic: or\nconditions:\n- {column: a, operator: '=', value: 5}\n\
                - {column: b, operator: in, value: [x, 2, true, 0.5]}\n\
                - {column: c, operator: '!=', value: null}";
    let filter: Filter = serde_yaml::from_str(yaml).expect("a filter");
    assert_eq!(
        filter.check().expect_err("null").to_string(),
        "operator != requires non-nil value"
    );
    let yaml = &yaml[..yaml.rfind('\n').expect("three conditions")];
    let filter: Filter = serde_yaml::from_str(yaml).expect("a filter");
    let json = r#"{"logic": "or", "conditions": [{"column": "a", "operator": "=", "value": 5},
        {"column": "b", "operator": "in", "value": ["x", 2, true, 0.5]}]}"#;
    assert_eq!(filter.check(), read(json).check());
    let mapping = "conditions: [{column: a, operator: '=', value: {a: 1}}]";
    assert!(serde_yaml::from_str::<Filter>(mapping).is_err());
}

#[test]
fn a_deeply_nested_filter_is_parsed_without_recursion() {
    let value = "[".repeat(200_000) + &"]".repeat(200_000);
    assert!(matches!(checked("=", &value), Ok(Test::Compares(..))));
}

#[test]
fn raw_filters_that_could_change_the_query_around_them_are_refused() {
    let cases = [
        ("a = 1) OR (true", "unbalanced parentheses"),
        ("(a = 1", "unbalanced parentheses"),
        ("a = 1 -- all", "comments"),
        ("a = 1 /* all */", "comments"),
        ("a = 1 /* all", "comments"),
        ("a = 1; DROP TABLE t", "';'"),
        ("a = 'x", "a string or name without its closing quote"),
        ("a = $1", "parameters"),
        ("a = 'x\0'", "NUL"),
    ];
    for (sql, expected) in cases {
        let refusal = RawFilter::new(sql.to_owned()).expect_err(sql).to_string();
        assert_eq!(
            refusal,
            format!("filter must not contain {expected}"),
            "{sql}"
        );
    }
}

#[test]
fn raw_filters_may_have_anything_inside_of_strings_and_names() {
    for sql in [
        "a = ');--' AND \"b(;--\" = 1",
        "a IN ('(', $$;)$$, E'\\')') AND (b - 1) * 2 > 3",
        "a -> 'x' ->> 'y' = '--'",
        "note = '/* no */'",
    ] {
        let filter = RawFilter::new(sql.to_owned()).expect(sql);
        assert_eq!(filter.sql(), Some(sql));
    }
    for sql in ["", " \n"] {
        assert_eq!(RawFilter::new(sql.to_owned()).expect("none").sql(), None);
    }
}

proptest! {
    #[test]
    fn no_filter_causes_a_panic(column: String, operator in "[a-zA-Z <>=!]{0,12}", value: String) {
        let json = serde_json::json!({"conditions": [
            {"column": column, "operator": operator, "value": [value.clone(), value]},
        ]});
        let filter: Filter = serde_json::from_str(&json.to_string()).expect("the right shapes");
        let _ = filter.check();
    }

    #[test]
    fn an_accepted_raw_filter_is_balanced(sql in r#"[a-z()'"$;/*= \n-]{0,40}"#) {
        if let Ok(filter) = RawFilter::new(sql.clone()) {
            let rest = format!("({}\n) AND x", filter.sql().unwrap_or("true"));
            prop_assert!(RawFilter::new(rest).is_ok());
        }
    }
}

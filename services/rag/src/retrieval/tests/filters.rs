//! Filters of requests: matching rows, refused columns and injection attempts.

use super::*;

const THINGS: &str = r#"CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TYPE mood AS ENUM ('sad', 'happy');
    CREATE DOMAIN code AS varchar(9) CHECK (VALUE <> 'bad');
    CREATE TABLE thing (id int PRIMARY KEY, content text, embedding vector(2), big bigint,
        exact numeric, is_new boolean, day date, at timestamptz, mark uuid, info jsonb,
        tags text[], mood mood, code code, "Odd ""name" text, padded char(5));
    INSERT INTO thing VALUES
        (1, 'one wool', '[1, 0]', 9007199254740993, 0.10000000000000000001, true, '2024-01-01',
         '2024-01-01T10:00:00Z', '00000000-0000-0000-0000-000000000001', '{"a": 1}',
         '{x,y}', 'sad', 'abc', 'it', 'ab'),
        (2, 'two wool', '[1, 1]', 9007199254740992, 0.1, false, '2024-06-01',
         '2024-06-01T10:00:00Z', '00000000-0000-0000-0000-000000000002', '{"a": 2}',
         '{z}', 'happy', 'abd', '100%', 'cd'),
        (3, 'three wool', '[0, 1]', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
         NULL, NULL);"#;

fn filter(json: &str) -> CheckedFilter {
    let filter: Filter = serde_json::from_str(json).expect(json);
    filter.check().expect(json).expect(json)
}

fn condition(column: &str, operator: &str, value: &str) -> String {
    let column = serde_json::Value::from(column);
    format!(r#"{{"column": {column}, "operator": "{operator}", "value": {value}}}"#)
}

async fn answer(retriever: &Retriever, json: &str) -> Result<Vec<Passage>, RetrievalFailure> {
    let filter = filter(json);
    let asked = SearchRequest {
        filter: Some(&filter),
        ..question("wool")
    };
    ask(retriever, &asked, &[1.0, 0.0]).await
}

fn both(test_database: &TestDatabase, table: &Table) -> [Retriever; 2] {
    [by_meaning(), SearchOptions::default()]
        .map(|options| test_database.retriever(vec![table.clone()], options))
}

#[tokio::test]
async fn the_column_decides_what_a_value_means() {
    let test_database = TestDatabase::with(THINGS).await;
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("big", "=", "9007199254740993", &["1"]),
        ("big", "=", r#""9007199254740993""#, &["1"]),
        ("big", "!=", "9007199254740993", &["2"]),
        ("big", "in", "[9007199254740993, \"7\"]", &["1"]),
        ("big", "not in", "[9007199254740993]", &["2"]),
        ("big", "is null", "5", &["3"]),
        ("big", "IS NOT NULL", "null", &["1", "2"]),
        ("exact", ">", "0.1", &["1"]),
        ("exact", "<=", "0.1", &["2"]),
        ("exact", "=", "0.10000000000000000001", &["1"]),
        ("is_new", "=", "true", &["1"]),
        ("is_new", "in", "[false, true]", &["1", "2"]),
        ("day", "<", r#""2024-03-01""#, &["1"]),
        ("day", "in", r#"["2024-06-01"]"#, &["2"]),
        ("at", ">=", r#""2024-06-01 12:00+02""#, &["2"]),
        (
            "mark",
            "=",
            r#""00000000-0000-0000-0000-000000000002""#,
            &["2"],
        ),
        ("info", "=", r#"{ "a" : 1.0 }"#, &["1"]),
        ("info", "in", r#"[{"a": 2}, {"b": []}]"#, &["2"]),
        ("tags", "=", r#""{x,y}""#, &["1"]),
        ("tags", "in", r#"["{z}", "{}"]"#, &["2"]),
        ("tags", "not in", r#"["{z}"]"#, &["1"]),
        ("mood", ">", r#""sad""#, &["2"]),
        ("mood", "in", r#"["sad"]"#, &["1"]),
        ("code", "=", r#""abc""#, &["1"]),
        ("code", "!=", r#""bad""#, &["1", "2"]),
        ("code", "like", r#""ab_""#, &["1", "2"]),
        ("code", "ILIKE", r#""AB%""#, &["1", "2"]),
        ("padded", "=", r#""ab""#, &["1"]),
        ("padded", "like", r#""c%""#, &["2"]),
        ("Odd \"name", "=", r#""it""#, &["1"]),
        ("Odd \"name", "like", r#""100\\%""#, &["2"]),
        ("content", "ilike", r#""%O% WOOL""#, &["1", "2"]),
    ];
    for retriever in both(&test_database, &table("thing")) {
        for (column, operator, value, expected) in cases {
            let json = format!(
                r#"{{"conditions": [{}]}}"#,
                condition(column, operator, value)
            );
            let found = answer(&retriever, &json).await.expect(&json);
            let mut found = ids(&found);
            found.sort_unstable();
            assert_eq!(&found, expected, "{json}");
        }
    }
}

#[tokio::test]
async fn a_filter_that_fits_no_table_is_a_client_error_and_one_that_fits_some_is_not() {
    let sql = format!(
        "{THINGS} CREATE TABLE other AS SELECT 4 AS id, 'four wool' AS content,
        '[1, 0]'::vector(2) AS embedding, 'z'::text AS big, '1'::text AS only;"
    );
    let test_database = TestDatabase::with(&sql).await;
    let cases = [
        ("nope", "=", "1"),
        ("nope", "IS NULL", "1"),
        ("big", "=", "5.7"),
        ("big", "=", "99999999999999999999999"),
        ("big", "=", r#""x""#),
        ("big", "like", r#""5%""#),
        ("big", "in", r#"[1, "x"]"#),
        ("day", "=", r#""2024-99-99""#),
        ("tags", "=", r#"["x", "y"]"#),
        ("mood", "=", r#""angry""#),
        ("content", "like", r#""%\\""#),
        ("content", "=", r#""nul \u0000""#),
        ("embedding", "=", r#""no""#),
    ];
    for retriever in both(&test_database, &table("thing")) {
        for (column, operator, value) in cases {
            let condition = condition(column, operator, value);
            let json = format!(r#"{{"conditions": [{condition}]}}"#);
            let found = answer(&retriever, &json).await;
            assert!(
                matches!(found, Err(RetrievalFailure::Filter)),
                "{json}: {found:?}"
            );
        }
    }
    let retriever = test_database.retriever(
        vec![table("thing"), table("other")],
        SearchOptions::default(),
    );
    let json = format!(r#"{{"conditions": [{}]}}"#, condition("only", "=", "1"));
    assert_eq!(
        ids(&answer(&retriever, &json).await.expect("one has it")),
        ["4"]
    );
    let json = format!(r#"{{"conditions": [{}]}}"#, condition("only", "=", "2"));
    assert_eq!(
        answer(&retriever, &json).await.expect("one could have it"),
        []
    );
    // A fault of the table is not reported as a fault of the filter.
    let broken = Table {
        text: "nope".to_owned(),
        ..table("thing")
    };
    let retriever = test_database.retriever(vec![broken], SearchOptions::default());
    let json = format!(r#"{{"conditions": [{}]}}"#, condition("big", "=", "1"));
    let found = answer(&retriever, &json).await;
    assert!(
        matches!(
            found,
            Err(RetrievalFailure::Database(FailureKind::Refused, _))
        ),
        "{found:?}"
    );
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn a_filter_may_name_only_allowed_columns() {
    let sql = format!(
        "{THINGS} CREATE TABLE other AS SELECT 4 AS id, 'four wool' AS content,
        '[1, 0]'::vector(2) AS embedding, 'z'::text AS big;"
    );
    let test_database = TestDatabase::with(&sql).await;
    let of = |name: &str, filter_columns| Table {
        filter_columns,
        ..table(name)
    };
    let listed = || FilterColumns::Listed(vec!["big".to_owned(), "day".to_owned()]);
    let operators = Table {
        filter: Some(TableFilter::Structured(filter(&format!(
            r#"{{"conditions": [{}]}}"#,
            condition("mood", "=", r#""sad""#)
        )))),
        ..of("thing", FilterColumns::Shown)
    };
    let cases: [(Vec<Table>, &str, Option<&str>); 10] = [
        (vec![of("thing", FilterColumns::Shown)], "id", None),
        (vec![of("thing", FilterColumns::Shown)], "i\0d", None),
        (
            vec![of("thing", FilterColumns::Shown)],
            "big",
            Some("big cannot be filtered by; allowed columns: content, id"),
        ),
        (
            vec![operators],
            "mood",
            Some("mood cannot be filtered by; allowed columns: content, id"),
        ),
        (vec![of("thing", listed())], "big", None),
        (
            vec![of("thing", listed())],
            "id",
            Some("id cannot be filtered by; allowed columns: big, day"),
        ),
        (
            vec![of("thing", FilterColumns::Listed(Vec::new()))],
            "id",
            Some("id cannot be filtered by; allowed columns: none"),
        ),
        (vec![of("thing", FilterColumns::All)], "embedding", None),
        (
            vec![of("thing", FilterColumns::All)],
            "ct\0id",
            Some("ctid cannot be filtered by; allowed columns: all but system columns"),
        ),
        (
            vec![of("thing", listed()), of("other", FilterColumns::Shown)],
            "xmin",
            Some("xmin cannot be filtered by; allowed columns: big, day, content, id"),
        ),
    ];
    for (tables, column, refusal) in cases {
        let retriever = test_database.retriever(tables, SearchOptions::default());
        let json = format!(
            r#"{{"conditions": [{}]}}"#,
            condition(column, "IS NOT NULL", "null")
        );
        let logged = retriever.check_filter(&filter(&json));
        let logged = logged.map_err(|error| error.to_string());
        let expected = refusal.map_or(Ok(()), |refusal| Err(format!("column {refusal}")));
        assert_eq!(logged, expected, "{column:?}");
        let found = answer(&retriever, &json).await;
        match refusal {
            None => assert!(!found.expect(&json).is_empty(), "{json}"),
            Some(_) => assert!(matches!(found, Err(RetrievalFailure::Filter)), "{found:?}"),
        }
    }
    // A table that does not allow the column is left out.
    let tables = vec![of("thing", listed()), of("other", FilterColumns::Shown)];
    let retriever = test_database.retriever(tables, SearchOptions::default());
    let json = format!(
        r#"{{"conditions": [{}]}}"#,
        condition("big", "IS NOT NULL", "null")
    );
    let found = answer(&retriever, &json).await.expect("one allows it");
    let mut found = ids(&found);
    found.sort_unstable();
    assert_eq!(found, ["1", "2"]);
}

#[tokio::test]
async fn no_input_of_a_client_is_interpreted_as_sql() {
    let mut test_database = TestDatabase::with(THINGS).await;
    let attacks = [
        r#""; DROP TABLE thing; --"#,
        r#"id" = 1 OR "id"#,
        "x' OR '1'='1",
        "id\0",
        "$1",
        "id) OR (true",
    ];
    for retriever in both(&test_database, &table("thing")) {
        for attack in attacks {
            let text = serde_json::Value::from(attack);
            let as_column = format!(
                r#"{{"conditions": [{}]}}"#,
                condition(attack, "=", "'x'").replace("'x'", r#""77""#)
            );
            let found = answer(&retriever, &as_column).await;
            // After its NUL is removed, `id\0` names the column `id`.
            match found {
                Ok(found) => assert_eq!((attack, found.len()), ("id\0", 0)),
                Err(failure) => assert!(matches!(failure, RetrievalFailure::Filter), "{failure:?}"),
            }
            if attack.contains('\0') {
                continue;
            }
            for (operator, value) in [("=", text.to_string()), ("IN", format!("[{text}]"))] {
                let json = format!(
                    r#"{{"conditions": [{}]}}"#,
                    condition("content", operator, &value)
                );
                assert_eq!(answer(&retriever, &json).await.expect(&json), [], "{json}");
            }
        }
    }
    assert_eq!(
        test_database
            .fixture
            .count("SELECT count(*) FROM thing")
            .await,
        3
    );
}

#[tokio::test]
async fn the_filter_of_a_request_narrows_that_of_the_operator_and_never_widens_it() {
    let test_database = TestDatabase::with(THINGS).await;
    let raw = RawFilter::new("id < 3 AND content <> 'a)b' OR id = 77".to_owned());
    let raw = TableFilter::Raw(raw.expect("it is balanced"));
    let tests = TableFilter::Structured(filter(&format!(
        r#"{{"logic": "or", "conditions": [{}, {}]}}"#,
        condition("id", "=", "1"),
        condition("id", "=", "2")
    )));
    for allowed in [raw, tests] {
        let limited = Table {
            filter: Some(allowed),
            ..table("thing")
        };
        for retriever in both(&test_database, &limited) {
            let found = ask(&retriever, &question("wool"), &[1.0, 0.0]).await;
            assert_eq!(ids(&found.expect("passages")), ["1", "2"]);
            let json = format!(
                r#"{{"logic": "OR", "conditions": [{}, {}]}}"#,
                condition("id", "=", "2"),
                condition("id", "=", "3")
            );
            let found = answer(&retriever, &json).await.expect("passages");
            assert_eq!(ids(&found), ["2"]);
        }
    }
}

/// CVE-2026-108586: a filter of the caller widened the scope that the operator had set.
#[tokio::test]
async fn no_logic_and_no_test_of_a_request_reaches_a_row_outside_of_the_scope() {
    let test_database = TestDatabase::with(THINGS).await;
    let scope = filter(&format!(
        r#"{{"conditions": [{}]}}"#,
        condition("id", "=", "1")
    ));
    let limited = Table {
        filter: Some(TableFilter::Structured(scope)),
        ..table("thing")
    };
    let other = condition("id", "=", "3");
    for second in [
        condition("id", "!=", "1"),
        condition("id", "NOT IN", "[1]"),
        condition("id", "IS NOT NULL", "null"),
        condition("content", "LIKE", r#""%""#),
        condition("id", "=", "1"),
    ] {
        for logic in ["OR", "or", "AND"] {
            let json = format!(r#"{{"logic": "{logic}", "conditions": [{other}, {second}]}}"#);
            for retriever in both(&test_database, &limited) {
                let found = answer(&retriever, &json).await.expect("passages");
                let outside = ids(&found).into_iter().any(|id| id != "1");
                assert!(!outside, "{json}: {:?}", ids(&found));
            }
        }
    }
}

/// CVE-2026-59369: parts of the filter of a retrieval became SQL.
#[tokio::test]
async fn no_part_of_a_filter_becomes_sql() {
    let mut test_database = TestDatabase::with(THINGS).await;
    let scope = filter(&format!(
        r#"{{"conditions": [{}]}}"#,
        condition("id", "=", "1")
    ));
    let limited = Table {
        filter: Some(TableFilter::Structured(scope)),
        ..table("thing")
    };
    for text in [
        "= 1 OR 1",
        "=1--",
        "LIKE '%' OR 1 =",
        "IN (1) OR id IN",
        "; --",
        "@@",
    ] {
        let json = format!(r#"{{"conditions": [{}]}}"#, condition("id", text, "1"));
        let given: Filter = serde_json::from_str(&json).expect(&json);
        given.check().expect_err(text);
        let json = serde_json::json!({"logic": format!("OR 1=1 {text}"), "conditions": [
            {"column": "id", "operator": "=", "value": 1},
            {"column": "id", "operator": "=", "value": 2},
        ]});
        let given: Filter = serde_json::from_value(json).expect("a filter");
        given.check().expect_err(text);
    }
    for hostile in [
        "1 OR 1=1",
        "1) OR (1=1",
        "1; DELETE FROM thing",
        "'' OR ''=''",
        "1\" OR \"1",
    ] {
        let value = serde_json::Value::from(hostile).to_string();
        let columns = condition(hostile, "=", "1");
        let values = condition("content", "LIKE", &value);
        let list = condition("content", "IN", &format!("[{value}]"));
        for tested in [columns, values, list] {
            for retriever in both(&test_database, &limited) {
                let json = format!(r#"{{"conditions": [{tested}]}}"#);
                // Refused, or compared as a value that no row has.
                if let Ok(found) = answer(&retriever, &json).await {
                    assert!(found.is_empty(), "{json}");
                }
            }
        }
    }
    let rows = test_database.fixture.count("SELECT count(*) FROM thing");
    assert_eq!(rows.await, 3);
}

//! Tests of `query_database`.

use serde_json::{Value, json};

use crate::support::{Home, Postgres, Transports};

const NUMBERS: &str = "CREATE TABLE numbers AS SELECT g AS n FROM generate_series(1, 250) AS g";

/// Returns the statement, the heading and the rows of a result.
fn parts(text: &str) -> (&str, &str, &str) {
    let rest = text.strip_prefix("Database: main\n\nSQL Query:\n");
    let rest = rest.unwrap_or_else(|| panic!("{text}"));
    let at = rest.find("Results (").unwrap_or_else(|| panic!("{text}"));
    let (sql, rest) = rest.split_at(at);
    let (heading, rows) = rest.split_once('\n').unwrap_or_else(|| panic!("{text}"));
    (sql, heading, rows)
}

#[test]
fn an_answer_has_its_exact_layout() {
    let postgres = Postgres::with(
        "CREATE TABLE t (id int, name text); INSERT INTO t VALUES (1, 'Ada'), (2, NULL);
         CREATE TABLE bare (); INSERT INTO bare DEFAULT VALUES; INSERT INTO bare DEFAULT VALUES",
    );
    let mut transports = Transports::open(Home::with(&postgres));
    let cases = [
        (
            "SELECT id, name FROM t ORDER BY id",
            "Database: main\n\nSQL Query:\nSELECT id, name FROM t ORDER BY id\n\n\
             Results (2 rows):\nid\tname\n1\tAda\n2\t",
        ),
        (
            "  SELECT id FROM t\n WHERE id = 1 ; ;\n ",
            "Database: main\n\nSQL Query:\nSELECT id FROM t\n WHERE id = 1\n\n\
             Results (1 rows):\nid\n1",
        ),
        (
            "SELECT id, name FROM t WHERE false",
            "Database: main\n\nSQL Query:\nSELECT id, name FROM t WHERE false\n\n\
             Results (0 rows):\nid\tname",
        ),
        (
            "SELECT FROM t WHERE false",
            "Database: main\n\nSQL Query:\nSELECT FROM t WHERE false\n\nResults (0 rows):\n",
        ),
        (
            "SELECT FROM bare",
            "Database: main\n\nSQL Query:\nSELECT FROM bare\n\nResults (2 rows):\n",
        ),
        (
            "SHOW server_encoding",
            "Database: main\n\nSQL Query:\nSHOW server_encoding\n\n\
             Results (1 rows):\nserver_encoding\nUTF8",
        ),
        (
            "EXPLAIN (COSTS OFF) SELECT 1",
            "Database: main\n\nSQL Query:\nEXPLAIN (COSTS OFF) SELECT 1\n\n\
             Results (1 rows):\nQUERY PLAN\nResult",
        ),
    ];
    for (query, expected) in cases {
        let text = transports.succeed("query_database", &json!({"query": query}));
        assert_eq!(text, expected);
    }
}

/// Heading of the first page.
const FIRST: &str = "Results (100 rows shown, more available - use offset=100 for next page or \
    count_rows for total):";

/// Arguments, heading, first row and number of rows.
const WINDOWS: [(&str, &str, &str, usize); 19] = [
    ("{}", FIRST, "1", 100),
    (r#"{"limit": 250}"#, "Results (250 rows):", "1", 250),
    (r#"{"limit": 1000}"#, "Results (250 rows):", "1", 250),
    (
        r#"{"limit": 249}"#,
        "Results (249 rows shown, more available - use offset=249 for next page or \
             count_rows for total):",
        "1",
        249,
    ),
    (
        r#"{"limit": 1}"#,
        "Results (1 rows shown, more available - use offset=1 for next page or count_rows \
             for total):",
        "1",
        1,
    ),
    (
        r#"{"offset": 100}"#,
        "Results (rows 101-200, more available - use offset=200 for next page):",
        "101",
        100,
    ),
    (
        r#"{"offset": 7, "limit": 3}"#,
        "Results (rows 8-10, more available - use offset=10 for next page):",
        "8",
        3,
    ),
    (r#"{"offset": 200}"#, "Results (rows 201-250):", "201", 50),
    (
        r#"{"offset": 150, "limit": 100}"#,
        "Results (rows 151-250):",
        "151",
        100,
    ),
    (r#"{"offset": -5}"#, FIRST, "1", 100),
    (r#"{"offset": "7", "limit": null}"#, FIRST, "1", 100),
    // A limit out of range is ignored.
    (r#"{"limit": 0}"#, FIRST, "1", 100),
    (r#"{"limit": -1}"#, FIRST, "1", 100),
    (r#"{"limit": 1001}"#, FIRST, "1", 100),
    (r#"{"limit": 2.5}"#, FIRST, "1", 100),
    (r#"{"limit": 1e300}"#, FIRST, "1", 100),
    (r#"{"limit": "250"}"#, FIRST, "1", 100),
    (r#"{"limit": true}"#, FIRST, "1", 100),
    (r#"{"limit": [1]}"#, FIRST, "1", 100),
];

#[test]
fn limit_and_offset_choose_the_rows() {
    let postgres = Postgres::with(NUMBERS);
    let mut transports = Transports::open(Home::with(&postgres));
    for (arguments, heading, row, number) in WINDOWS {
        let mut arguments: Value = serde_json::from_str(arguments).expect("JSON");
        arguments["query"] = json!("SELECT n FROM numbers ORDER BY n");
        let text = transports.succeed("query_database", &arguments);
        let (_, said, rows) = parts(&text);
        assert_eq!(said, heading, "{arguments}");
        let lines: Vec<_> = rows.split('\n').collect();
        assert_eq!((lines[0], lines[1]), ("n", row), "{arguments}");
        assert_eq!(lines.len(), 1 + number, "{arguments}");
    }
    // After the last row there are no more.
    let arguments = json!({"query": "SELECT n FROM numbers ORDER BY n", "offset": 300});
    let text = transports.succeed("query_database", &arguments);
    let (_, said, rows) = parts(&text);
    assert!(said.starts_with("Results ("), "{text}");
    assert_eq!(rows, "n", "{text}");
}

/// Query, further arguments, first row and number of rows.
const OWN_LIMITS: [(&str, &str, &str, usize); 22] = [
    // A limit of its own, at the end.
    ("SELECT n FROM numbers ORDER BY n LIMIT 150", "{}", "1", 150),
    (
        "SELECT n FROM numbers ORDER BY n LIMIT 150",
        r#"{"limit": 10}"#,
        "1",
        150,
    ),
    (
        "SELECT n FROM numbers ORDER BY n LIMIT 5 OFFSET 10",
        r#"{"offset": 3}"#,
        "11",
        5,
    ),
    (
        "SELECT n FROM numbers ORDER BY n FETCH FIRST 150 ROWS ONLY",
        "{}",
        "1",
        150,
    ),
    (
        "SELECT n FROM numbers ORDER BY n limit 150;",
        "{}",
        "1",
        150,
    ),
    ("TABLE numbers ORDER BY n LIMIT 120", "{}", "1", 120),
    (
        "(SELECT n FROM numbers ORDER BY n) LIMIT 130",
        "{}",
        "1",
        130,
    ),
    // The row limit of the server applies in any case.
    (
        "SELECT g AS n FROM generate_series(1, 5000) g LIMIT 5000",
        "{}",
        "1",
        1000,
    ),
    (
        "SELECT g AS n FROM generate_series(1, 5000) g LIMIT ALL",
        "{}",
        "1",
        1000,
    ),
    // No limit of its own: the word has another meaning here.
    (
        "SELECT n FROM (SELECT n FROM numbers ORDER BY n LIMIT 150) t",
        "{}",
        "1",
        100,
    ),
    (
        "SELECT n, 'x LIMIT 5' FROM numbers ORDER BY n",
        "{}",
        "1\tx LIMIT 5",
        100,
    ),
    (
        "SELECT n AS \"LIMIT\" FROM numbers ORDER BY n",
        "{}",
        "1",
        100,
    ),
    (
        "SELECT n FROM numbers ORDER BY n -- LIMIT 5",
        "{}",
        "1",
        100,
    ),
    (
        "SELECT n FROM numbers ORDER BY n /* LIMIT 5 */",
        "{}",
        "1",
        100,
    ),
    (
        "SELECT n, $$ LIMIT 5 $$ FROM numbers ORDER BY n",
        "{}",
        "1\t LIMIT 5 ",
        100,
    ),
    (
        "WITH t AS (SELECT n FROM numbers ORDER BY n LIMIT 150) SELECT * FROM t",
        "{}",
        "1",
        100,
    ),
    // Other statements that return rows.
    ("TABLE numbers ORDER BY n", r#"{"offset": 5}"#, "6", 100),
    ("VALUES (1), (2), (3)", r#"{"limit": 2}"#, "1", 2),
    ("VALUES (1), (2), (3)", r#"{"offset": 2}"#, "3", 1),
    (
        "-- first\n/* second */ SELECT n FROM numbers ORDER BY n",
        r#"{"limit": 4}"#,
        "1",
        4,
    ),
    (
        "EXPLAIN (ANALYZE, VERBOSE, TIMING OFF) SELECT n FROM numbers",
        r#"{"limit": 1}"#,
        "",
        1,
    ),
    (
        "SELECT n FROM numbers ORDER BY n -- the end",
        r#"{"limit": 3, "offset": 3}"#,
        "4",
        3,
    ),
];

#[test]
fn a_statement_with_its_own_limit_keeps_it() {
    let postgres = Postgres::with(NUMBERS);
    let mut transports = Transports::open(Home::with(&postgres));
    for (query, arguments, row, number) in OWN_LIMITS {
        let mut arguments: Value = serde_json::from_str(arguments).expect("JSON");
        arguments["query"] = json!(query);
        let [http, stdio] = transports.tool_each("query_database", &arguments);
        for (text, is_error) in [http, stdio] {
            assert!(!is_error, "{query}: {text}");
            let (sql, _, rows) = parts(&text);
            let written = query.trim_end_matches(';');
            assert!(sql.starts_with(&format!("{written}\n\n")), "{text}");
            let lines: Vec<_> = rows.split('\n').collect();
            assert_eq!(lines.len(), 1 + number, "{query}: {text}");
            assert!(row.is_empty() || lines[1] == row, "{query}: {text}");
        }
    }
}

#[test]
fn the_operator_sets_the_row_limit() {
    let postgres = Postgres::with(NUMBERS);
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    row_limit: 7\n",
        postgres.entry("main")
    ));
    let mut transports = Transports::open(home);
    let query = "SELECT n FROM numbers ORDER BY n";
    for (limit, number) in [(json!(null), 7), (json!(2000), 7), (json!(9), 9)] {
        let arguments = json!({"query": query, "limit": limit});
        let text = transports.succeed("query_database", &arguments);
        let (_, heading, rows) = parts(&text);
        assert!(
            heading.contains(&format!("use offset={number} for next page")),
            "{text}"
        );
        assert_eq!(rows.split('\n').count(), 1 + number, "{text}");
    }
}

/// Query, and the start of its error.
const ERRORS: [(&str, &str); 16] = [
    // Refused before execution: the statement is shown.
    (
        "SELECT * FROM nope",
        "SQL Query:\nSELECT * FROM nope\n\nError executing query: ERROR: relation \"nope\" \
             does not exist (SQLSTATE 42P01)",
    ),
    (
        "SELECT wrong FROM numbers",
        "SQL Query:\nSELECT wrong FROM numbers\n\nError executing query: ERROR: column \
             \"wrong\" does not exist (SQLSTATE 42703)",
    ),
    (
        "SELEC 1",
        "SQL Query:\nSELEC 1\n\nError executing query: ERROR: syntax error at or near \
             \"SELEC\" (SQLSTATE 42601)",
    ),
    (
        "SELECT nope(1)",
        "SQL Query:\nSELECT nope(1)\n\nError executing query: ERROR: function nope(integer) \
             does not exist (SQLSTATE 42883)",
    ),
    (
        "SELECT (1",
        "SQL Query:\nSELECT (1\n\nError executing query: ERROR: syntax error at end of \
             input (SQLSTATE 42601)",
    ),
    // Failed during execution.
    (
        "INSERT INTO numbers VALUES (1)",
        "Error iterating rows: ERROR: cannot execute INSERT in a read-only transaction \
             (SQLSTATE 25006)\nHINT: To change data, the operator has to \
             set allow_writes: true for this database.",
    ),
    (
        "UPDATE numbers SET n = 0",
        "Error iterating rows: ERROR: cannot execute UPDATE in a read-only transaction \
             (SQLSTATE 25006)\nHINT: To change data, the operator has to \
             set allow_writes: true for this database.",
    ),
    (
        "DELETE FROM numbers",
        "Error iterating rows: ERROR: cannot execute DELETE in a read-only transaction \
             (SQLSTATE 25006)\nHINT: To change data, the operator has to \
             set allow_writes: true for this database.",
    ),
    (
        "CREATE TABLE more (a int)",
        "Error iterating rows: ERROR: cannot execute CREATE TABLE in a read-only \
             transaction (SQLSTATE 25006)\nHINT: To change data, the operator has to \
             set allow_writes: true for this database.",
    ),
    (
        "WITH gone AS (DELETE FROM numbers RETURNING n) SELECT * FROM gone",
        "Error iterating rows: ERROR: cannot execute SELECT in a read-only transaction \
             (SQLSTATE 25006)\nHINT: To change data, the operator has to \
             set allow_writes: true for this database.",
    ),
    (
        "SELECT 1 / n FROM (VALUES (1), (0)) AS t (n)",
        "Error iterating rows: ERROR: division by zero (SQLSTATE 22012)",
    ),
    (
        "SELECT n::text::date FROM numbers",
        "Error iterating rows: ERROR: ",
    ),
    (
        "SELECT pg_sleep(60)",
        "Error iterating rows: ERROR: canceling statement due to statement timeout \
             (SQLSTATE 57014)",
    ),
    ("", "Query is empty"),
    (" \n ", "Query is empty"),
    (" ; ;; ", "Query is empty"),
];

#[test]
fn errors_have_the_texts_that_clients_rely_on() {
    let mut postgres = Postgres::with(NUMBERS);
    let reader = postgres.role();
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    query_timeout: 200ms\n{}",
        postgres.entry("main"),
        postgres.entry_as("reader", &reader),
    ));
    let mut transports = Transports::open(home);
    for (query, expected) in ERRORS {
        let text = transports.fail("query_database", &json!({"query": query}));
        // PostgreSQL may add a detail or a hint, on separate lines.
        let is_right = text.strip_prefix(expected).is_some_and(|more| {
            more.is_empty() || more.starts_with('\n') || expected.ends_with(' ')
        });
        assert!(is_right, "{query}: {text}");
    }
    transports.call("svc/selectDatabase", &json!({"name": "reader"}));
    let text = transports.fail("query_database", &json!({"query": "SELECT n FROM numbers"}));
    let denied = "ERROR: permission denied for table numbers (SQLSTATE 42501)";
    assert_eq!(text, format!("Error iterating rows: {denied}"));
    assert_eq!(postgres.count("SELECT sum(n) FROM numbers"), 31375);
}

#[test]
fn a_query_must_be_a_string() {
    let postgres = Postgres::new();
    let mut transports = Transports::open(Home::with(&postgres));
    for arguments in [
        json!({}),
        json!({"query": null}),
        json!({"query": 7}),
        json!({"query": ["SELECT 1"]}),
        json!({"sql": "SELECT 1"}),
    ] {
        let text = transports.fail("query_database", &arguments);
        assert_eq!(text, "Missing or invalid 'query' parameter");
    }
}

/// Statements that are not sent to a read-only database.
const REJECTED: [&str; 38] = [
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE numbers",
    "COMMIT; DROP TABLE numbers",
    "BEGIN",
    "START TRANSACTION",
    "COMMIT",
    "END",
    "ROLLBACK",
    "ABORT",
    "SAVEPOINT a",
    "RELEASE a",
    "PREPARE TRANSACTION 'a'",
    "SET TRANSACTION READ WRITE",
    "set transaction read /* x */ write",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "RESET ALL",
    "DISCARD ALL",
    "SET SESSION AUTHORIZATION postgres",
    "SET ROLE postgres",
    "SET LOCAL ROLE postgres",
    "SET SESSION ROLE postgres",
    "ALTER ROLE postgres SUPERUSER",
    "ALTER USER postgres SUPERUSER",
    "ALTER DATABASE postgres RENAME TO x",
    "DO $$ BEGIN END $$",
    "-- hidden\n DO $$ BEGIN END $$",
    "SET transaction_read_only = off",
    "SET default_transaction_read_only TO off",
    "RESET transaction_read_only",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "SELECT pg_catalog . set_config('a', 'b', false)",
    "SELECT lo_export(1, '/tmp/x')",
    "SELECT pg_file_write('a', 'b', true)",
    "SELECT pg_file_unlink('a')",
    "SELECT pg_file_rename('a', 'b')",
    "SELECT * FROM dblink('host=x', 'SELECT 1') AS t (a int)",
    "SELECT dblink_exec('host=x', 'DROP TABLE t')",
    "COPY numbers TO PROGRAM 'cat'",
];

#[test]
fn statements_that_a_read_only_transaction_does_not_stop_are_not_sent() {
    let postgres = Postgres::with(NUMBERS);
    let mut transports = Transports::open(Home::with(&postgres));
    for query in REJECTED {
        let text = transports.fail("query_database", &json!({"query": query}));
        assert!(text.starts_with("query rejected: "), "{query}: {text}");
    }
    // The same words in places where they have no effect.
    let accepted = [
        "SELECT 'COMMIT; DROP TABLE numbers'",
        "SELECT ';' AS \"READ WRITE\"",
        "SELECT $$ DISCARD ALL; $$",
        "SELECT $a$ $$ ; $a$",
        r"SELECT E'\'; DROP TABLE numbers --'",
        "SELECT 1 /* /* ; */ ; */",
        "SELECT 1 -- ; SELECT 2",
        "SELECT 'set_config(' , 'dblink('",
        "SELECT 1 AS begin",
        "SELECT \"do\" FROM (SELECT 1 AS \"do\") t",
        "SELECT 1 AS a$b, 2 AS c$b",
    ];
    for query in accepted {
        transports.succeed("query_database", &json!({"query": query}));
    }
    assert_eq!(postgres.count("SELECT count(*) FROM numbers"), 250);
}

#[test]
fn a_database_that_allows_writes_returns_the_number_of_rows() {
    let postgres = Postgres::with("CREATE TABLE t (id int, name text)");
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\n",
        postgres.entry("main")
    ));
    let (_program, client) = home.serve(&["-no-auth"]);
    let cases = [
        (
            "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
            "Statement executed successfully.\nCommand: INSERT 0 2\nRows affected: 2",
        ),
        (
            "UPDATE t SET name = 'c' WHERE id = 1",
            "Statement executed successfully.\nCommand: UPDATE 1\nRows affected: 1",
        ),
        (
            "UPDATE t SET name = 'c' WHERE false",
            "Statement executed successfully.\nCommand: UPDATE 0\nRows affected: 0",
        ),
        (
            "CREATE TABLE more (id int)",
            "Statement executed successfully.\nCommand: CREATE TABLE",
        ),
        (
            "INSERT INTO t VALUES (3, 'd') RETURNING id, name",
            "Results (1 rows):\nid\tname\n3\td",
        ),
        (
            "DELETE FROM t WHERE id = 3",
            "Statement executed successfully.\nCommand: DELETE 1\nRows affected: 1",
        ),
        ("SELECT count(*) FROM t", "Results (1 rows):\ncount\n2"),
    ];
    for (query, expected) in cases {
        let expected = format!("Database: main\n\nSQL Query:\n{query}\n\n{expected}");
        assert_eq!(client.query(query), expected);
    }
}

#[test]
fn several_statements_are_one_transaction_and_new_definitions_are_known_at_once() {
    let postgres = Postgres::with("CREATE TABLE t (id int, name text)");
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\n",
        postgres.entry("main")
    ));
    let (_program, client) = home.serve(&["-no-auth"]);
    client.query("CREATE TABLE more (id int)");
    client.query("INSERT INTO t VALUES (4, 'e'); INSERT INTO t VALUES (5, 'f')");
    assert_eq!(postgres.count("SELECT count(*) FROM t"), 2);
    let several = json!({"query": "DELETE FROM t; SELECT 1/0"});
    let (text, is_error) = client.tool("query_database", &several);
    assert!(is_error && text.contains("(SQLSTATE 22012)"), "{text}");
    assert_eq!(postgres.count("SELECT count(*) FROM t"), 2);
    let (text, _) = client.tool("get_schema_info", &json!({}));
    assert!(text.contains("public\tmore\tTABLE"), "{text}");
    client.query("ALTER TABLE more ADD extra text");
    let (text, _) = client.tool("get_schema_info", &json!({}));
    assert!(text.contains("\textra\ttext\t"), "{text}");
}

/// Creates a server that allows large results.
fn large(postgres: &Postgres) -> Home {
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    row_limit: 50000\n",
        postgres.entry("main")
    ));
    home
}

#[test]
fn large_results_are_streamed_completely() {
    let postgres = Postgres::new();
    let mut transports = Transports::open(large(&postgres));
    let query = "SELECT g AS n, repeat('\"\\é', 20) AS filler FROM generate_series(1, 60000) g";
    let text = transports.succeed("query_database", &json!({"query": query}));
    let (sql, heading, rows) = parts(&text);
    assert_eq!(sql, format!("{query}\n\n"));
    assert_eq!(
        heading,
        "Results (50000 rows shown, more available - use offset=50000 for next page or \
         count_rows for total):"
    );
    let filler = "\"\\é".repeat(20);
    let mut lines = rows.split('\n');
    assert_eq!(lines.next(), Some("n\tfiller"));
    for (index, line) in lines.by_ref().take(50_000).enumerate() {
        assert_eq!(line, format!("{}\t{filler}", index + 1));
    }
    assert_eq!(lines.next(), None);

    let arguments = json!({"query": query, "offset": 50_000});
    let text = transports.succeed("query_database", &arguments);
    let (_, heading, rows) = parts(&text);
    assert_eq!(heading, "Results (rows 50001-60000):");
    assert_eq!(rows.split('\n').count(), 10_001);
    // A large result is sent as a body of unknown length.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "query_database", "arguments": {"query": query}}});
    let answer = transports.client.post("/mcp/v1", &call.to_string());
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert_eq!(answer.header("content-length"), None);
    let answer = answer.json();
    assert_eq!(answer["result"].get("isError"), None::<&Value>);
}

#[test]
fn a_row_that_cannot_be_computed_is_an_error_without_rows() {
    let postgres = Postgres::new();
    let mut transports = Transports::open(large(&postgres));
    let query = "SELECT 1 / (40000 - g) FROM generate_series(1, 60000) g";
    let text = transports.fail("query_database", &json!({"query": query}));
    assert_eq!(
        text,
        "Error iterating rows: ERROR: division by zero (SQLSTATE 22012)"
    );
}

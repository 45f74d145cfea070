//! Tests of `execute_explain`.

use serde_json::{Value, json};

use crate::support::{Home, Postgres, Transports};

const RULE: &str =
    "================================================================================";

/// Returns the query, the plan and the analysis of a result.
fn parts(text: &str) -> (&str, &str, &str) {
    let rest = text.strip_prefix("Database: main\n\nQuery:\n");
    let rest = rest.unwrap_or_else(|| panic!("{text}"));
    let opening = format!("\n\nExecution Plan:\n{RULE}\n");
    let (query, rest) = rest.split_once(&opening).expect(text);
    let (plan, analysis) = rest.split_once(&format!("\n{RULE}")).expect(text);
    (query, plan, analysis)
}

fn writable(postgres: &Postgres) -> Home {
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\n",
        postgres.entry("main")
    ));
    home
}

fn explained(transports: &mut Transports, arguments: &Value) -> String {
    let [(http, failed), (stdio, failed_too)] = transports.tool_each("execute_explain", arguments);
    assert!(!failed && !failed_too, "{arguments}: {http} {stdio}");
    // The same except for times and costs, and for what PostgreSQL read to plan: a session that has
    // planned for the table before reads nothing.
    let words = |text: &str| {
        let is_planning = |line: &&str| *line == "Planning:" || line.starts_with("  Buffers: ");
        let lines = text.lines().filter(|line| !is_planning(line));
        let text: Vec<_> = lines.collect();
        text.join("\n")
            .split(|c: char| c.is_ascii_digit() || c == '.')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    if arguments["analyze"] == false {
        assert_eq!(words(&http), words(&stdio), "{arguments}");
    }
    stdio
}

#[test]
fn a_plan_has_its_exact_layout() {
    let postgres = Postgres::with("CREATE TABLE t AS SELECT g AS n FROM generate_series(1, 99) g");
    let mut transports = Transports::open(Home::with(&postgres));
    let accepted = [
        "SELECT * FROM t",
        "  select n from t ;",
        "SELECT * FROM t WHERE n > 1 -- the end",
        "-- first\nSELECT 1 FROM t",
        "/* a /* b */ */ (SELECT n FROM t) UNION (SELECT 1)",
        "WITH u AS (SELECT n FROM t) SELECT * FROM u",
    ];
    for query in accepted {
        let text = explained(&mut transports, &json!({"query": query}));
        let (shown, plan, _) = parts(&text);
        assert_eq!(shown, query.trim().trim_end_matches(';').trim());
        assert!(plan.contains("on t"), "{query}: {text}");
        assert!(plan.contains("actual time="), "{query}: {text}");
        assert!(plan.contains("Execution Time:"), "{query}: {text}");
        assert!(plan.contains("Buffers:"), "{query}: {text}");
    }
    let text = explained(&mut transports, &json!({"query": "SELECT * FROM t"}));
    let (_, _, analysis) = parts(&text);
    assert!(analysis.starts_with("\n\nAnalysis:\n<issues>\n"), "{text}");
    for word in ["</issues>", "<recommendations>\n1. ", "</recommendations>"] {
        assert!(analysis.contains(word), "{text}");
    }
    let (issues, recommendations) = analysis.split_once("</issues>").expect("both");
    assert!(issues.lines().any(|line| line.ends_with(" t")), "{text}");
    assert!(recommendations.contains("index"), "{text}");
}

#[test]
fn options_decide_what_is_in_the_plan() {
    let postgres = Postgres::with("CREATE TABLE t AS SELECT g AS n FROM generate_series(1, 99) g");
    let mut transports = Transports::open(Home::with(&postgres));
    // Options, and texts that must and must not be in the plan.
    let cases = [
        (
            json!({"analyze": false, "buffers": false}),
            "cost=",
            "actual time=",
        ),
        (json!({"analyze": false}), "cost=", "actual time="),
        (json!({"buffers": false}), "actual time=", "Buffers:"),
        (json!({"format": "yaml"}), "actual time=", "- Plan:"),
        // An option of the wrong type is ignored.
        (
            json!({"analyze": "no", "buffers": 0, "format": 7}),
            "Buffers:",
            "\"Plan\"",
        ),
        (json!({"format": "json"}), "\"Actual Total Time\"", "cost="),
        (
            json!({"format": "json", "analyze": false, "buffers": false}),
            "\"Total Cost\"",
            "\"Actual Total Time\"",
        ),
    ];
    for (mut arguments, with, without) in cases {
        arguments["query"] = json!("SELECT * FROM t");
        let text = explained(&mut transports, &arguments);
        let (_, plan, analysis) = parts(&text);
        assert!(plan.contains(with), "{arguments}: {text}");
        assert!(!plan.contains(without), "{arguments}: {text}");
        let is_json = arguments["format"] == "json";
        if is_json {
            let plan: Value = serde_json::from_str(plan).expect(plan);
            assert_eq!(plan[0]["Plan"]["Relation Name"], "t", "{text}");
        }
        let is_analysed = !is_json && arguments["analyze"] != false;
        assert_eq!(analysis.contains("Analysis:"), is_analysed, "{text}");
    }
    // Without findings there is no analysis.
    let text = explained(&mut transports, &json!({"query": "SELECT 1"}));
    assert_eq!(parts(&text).2, "");
}

#[test]
fn only_a_select_is_explained() {
    let postgres = Postgres::with("CREATE TABLE t AS SELECT g AS n FROM generate_series(1, 99) g");
    let mut transports = Transports::open(writable(&postgres));
    for arguments in [
        json!({}),
        json!({"query": ""}),
        json!({"query": " \n "}),
        json!({"query": 7}),
        json!({"query": null}),
    ] {
        let text = transports.fail("execute_explain", &arguments);
        assert_eq!(
            text,
            "Parameter 'query' is required and must be a non-empty string"
        );
    }
    let refused = [
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET n = 0",
        "DELETE FROM t",
        "TRUNCATE t",
        "DROP TABLE t",
        "EXPLAIN SELECT 1",
        "SELECTED",
        "VALUES (1)",
        "WITH gone AS (DELETE FROM t RETURNING n) SELECT * FROM gone",
        "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
        "-- SELECT\nDELETE FROM t",
        "CREATE TABLE u AS SELECT 1",
    ];
    for query in refused {
        let text = transports.fail("execute_explain", &json!({"query": query}));
        let expected = "Only SELECT queries are supported. ";
        assert!(text.starts_with(expected), "{query}: {text}");
        assert!(text.contains("ANALYZE"), "{text}");
    }
    for query in ["SELECT 1; DELETE FROM t", "SELECT lo_export(1, 'x')"] {
        let text = transports.fail("execute_explain", &json!({"query": query}));
        assert!(text.starts_with("query rejected: "), "{query}: {text}");
    }
}

#[test]
fn it_only_reads_even_if_the_database_allows_writes() {
    let postgres = Postgres::with(
        "CREATE TABLE t AS SELECT g AS n FROM generate_series(1, 99) g; CREATE SEQUENCE s",
    );
    let mut transports = Transports::open(writable(&postgres));
    for query in ["SELECT * INTO u FROM t", "SELECT nextval('s')"] {
        transports.fail("execute_explain", &json!({"query": query}));
    }
    assert_eq!(
        postgres.count("SELECT last_value FROM s WHERE NOT is_called"),
        1
    );
    assert_eq!(postgres.count("SELECT count(*) FROM t"), 99);
    assert_eq!(
        postgres.count("SELECT count(*) FROM pg_class WHERE relname = 'u'"),
        0
    );
}

#[test]
fn errors_show_the_statement_that_was_sent() {
    let postgres = Postgres::with("CREATE TABLE t AS SELECT g AS n FROM generate_series(1, 99) g");
    let mut transports = Transports::open(Home::with(&postgres));
    let text = transports.fail("execute_explain", &json!({"query": "SELECT * FROM nope"}));
    assert_eq!(
        text,
        "Error executing EXPLAIN: ERROR: relation \"nope\" does not exist (SQLSTATE 42P01)\n\n\
         Query: EXPLAIN (ANALYZE TRUE, BUFFERS TRUE) SELECT * FROM nope"
    );
    let text = transports.fail(
        "execute_explain",
        &json!({"query": "SELECT * FROM nope", "analyze": false, "buffers": false}),
    );
    assert!(
        text.ends_with("\n\nQuery: EXPLAIN SELECT * FROM nope"),
        "{text}"
    );
    let query = "SELECT 1 / (n - n) FROM t";
    let text = transports.fail("execute_explain", &json!({"query": query}));
    assert_eq!(
        text,
        "Error iterating EXPLAIN output: ERROR: division by zero (SQLSTATE 22012)"
    );
}

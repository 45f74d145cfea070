//! Tests of `index_advice`, on a PostgreSQL without hypopg.

use serde_json::{Value, json};

use crate::{
    revisions::result,
    support::{Client, Home, Postgres},
};

const SHOP: &str = "
    CREATE SCHEMA shop;
    CREATE TABLE shop.customers (id int PRIMARY KEY, email text);
    INSERT INTO shop.customers SELECT n, 'c' || n || '@example.com' FROM generate_series(1, 12000) n;
    CREATE TABLE shop.orders (id int PRIMARY KEY, customer_id int, status text, day date);
    INSERT INTO shop.orders SELECT n, n % 5000, 's' || n % 4, date '2020-01-01' + n % 2000
    FROM generate_series(1, 60000) n;
    CREATE TABLE shop.small AS SELECT * FROM shop.orders LIMIT 9999;
    VACUUM ANALYZE;";

/// Returns the cost of a statement with indexes, or -1 if its plan does not use all of them. Undoes
/// what it does.
const COST: &str = r#"
    CREATE FUNCTION cost(statement text, indexes text[]) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE
        plan json;
        result float8;
    BEGIN
        FOR i IN 1 .. cardinality(indexes) LOOP
            EXECUTE replace(indexes[i], 'CREATE INDEX ON', format('CREATE INDEX made_%s ON', i));
        END LOOP;
        EXECUTE 'EXPLAIN (GENERIC_PLAN, FORMAT JSON) ' || statement INTO plan;
        result := plan #>> '{0,Plan,Total Cost}';
        FOR i IN 1 .. cardinality(indexes) LOOP
            IF strpos(plan::text, format('"made_%s"', i)) = 0 THEN
                result := -1;
            END IF;
        END LOOP;
        RAISE EXCEPTION 'undo';
    EXCEPTION WHEN raise_exception THEN
        RETURN result;
    END $$"#;

/// Statements, and the best indexes for each.
const KNOWN: [(&str, &[&str]); 5] = [
    (
        "SELECT * FROM shop.orders WHERE customer_id = 42",
        &["shop.orders (customer_id)"],
    ),
    (
        "SELECT * FROM shop.orders WHERE customer_id = $1 AND day > $2 -- the end",
        &["shop.orders (customer_id, day)"],
    ),
    (
        "SELECT * FROM shop.orders WHERE status = $1 ORDER BY day DESC LIMIT 5;",
        &["shop.orders (status, day)"],
    ),
    (
        "SELECT * FROM shop.customers c JOIN shop.orders o ON o.customer_id = c.id
         WHERE c.email = 'c7@example.com'",
        &["shop.customers (email)", "shop.orders (customer_id)"],
    ),
    (
        "UPDATE shop.orders SET status = 'new' WHERE customer_id = $1",
        &["shop.orders (customer_id)"],
    ),
];

/// A server with the tool and this database.
fn home(postgres: &Postgres) -> Home {
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}dba: {{enabled: true}}\n",
        postgres.entry("main")
    ));
    home
}

/// Calls the tool. Returns the text of the answer, and whether it is an error.
fn advise(client: &Client, arguments: &Value) -> (String, bool) {
    let params = json!({"name": "index_advice", "arguments": arguments});
    let answer = result(client, "tools/call", &params);
    let text = answer["content"][0]["text"].as_str().expect("a text");
    (text.to_owned(), answer["isError"] == true)
}

/// Returns the cost of a statement with indexes that the planner has to use.
fn cost(postgres: &Postgres, statement: &str, indexes: &[String]) -> f64 {
    let indexes: Vec<String> = indexes.iter().map(|it| format!("$i${it}$i$")).collect();
    let indexes = indexes.join(", ");
    let statement = statement.trim_end_matches(';');
    let sql = format!("SELECT cost($s${statement}\n$s$, ARRAY[{indexes}]::text[])");
    let cost = postgres.count(&sql);
    assert!(cost >= 0, "{statement}: not used: {indexes}");
    f64::from(i32::try_from(cost).expect("a small cost"))
}

#[test]
fn the_advised_indexes_are_as_good_as_the_best_and_none_is_created() {
    let postgres = Postgres::with(COST);
    for statement in SHOP.split_terminator(';') {
        postgres.run(statement);
    }
    let (_program, client) = home(&postgres).serve(&["-no-auth"]);
    let relations = "SELECT count(*) + sum(oid::bigint)::bigint FROM pg_class";
    let before = postgres.count(relations);
    for (statement, best) in KNOWN {
        let (text, failed) = advise(&client, &json!({"query": statement}));
        assert!(!failed, "{statement}: {text}");
        assert_eq!(postgres.count(relations), before, "{statement}");
        let advice = text
            .strip_prefix(
                "not tried: hypopg is not installed\n\
                 index\tsize_MB\tcost_before\tcost_after\tgain_%\thelps\n",
            )
            .unwrap_or_else(|| panic!("{statement}: {text}"));
        let advice = advice.split("\n\n").next().unwrap_or_default();
        let lines: Vec<Vec<&str>> = advice.lines().map(|it| it.split('\t').collect()).collect();
        for line in &lines {
            assert_eq!((line.len(), line[3], line[4]), (6, "", ""), "{text}");
            assert!(line[5].contains(" on "), "{text}");
        }
        let indexes: Vec<String> = lines.iter().map(|line| line[0].to_owned()).collect();
        let best: Vec<String> = best
            .iter()
            .map(|it| format!("CREATE INDEX ON {it}"))
            .collect();
        let (cost, best) = (
            cost(&postgres, statement, &indexes),
            cost(&postgres, statement, &best),
        );
        assert!(best >= 0.9 * cost, "{statement}: {cost} {best} {text}");
    }
}

#[test]
fn a_call_is_about_one_statement_that_may_be_planned() {
    let postgres = Postgres::with(
        SHOP.split_once("CREATE TABLE shop.small")
            .expect("tables")
            .0,
    );
    let (_program, client) = home(&postgres).serve(&["-no-auth"]);
    let query = |text: &str| json!({"query": text});
    let cases = [
        (
            json!({}),
            "Give query or queryid. Advice is for one statement",
        ),
        (query(" \n"), "Give query or queryid. "),
        (
            json!({"query": "SELECT 1", "queryid": "1"}),
            "Give query or queryid, not both.",
        ),
        (json!({"queryid": "first"}), "queryid must be an integer"),
        (json!({"queryid": 7}), "'queryid' must be"),
        (json!({"sql": "SELECT 1"}), "Unknown argument 'sql'"),
        (query("SELECT 1; SELECT 2"), "query rejected: "),
        (
            query("SELECT pg_read_file('/etc/passwd')"),
            "query rejected: pg_read_file is not allowed",
        ),
        (query("CREATE TABLE t AS SELECT 1"), "query rejected: "),
        (query("EXPLAIN SELECT 1"), "PostgreSQL plans only SELECT"),
        (query("SHOW work_mem"), "PostgreSQL plans only SELECT"),
        (
            query("SELECT * FROM shop.nothing"),
            "ERROR: relation \"shop.nothing\" does not exist",
        ),
        (
            query("SELECT nothing FROM shop.orders"),
            "ERROR: column \"nothing\" does not exist",
        ),
        (query("SELECT 1 / 0"), "ERROR: division by zero"),
    ];
    for (arguments, expected) in cases {
        let (text, failed) = advise(&client, &arguments);
        assert!(failed && text.starts_with(expected), "{arguments}: {text}");
    }
    // The connection is as good as before.
    let (text, failed) = advise(&client, &query("SELECT 1"));
    assert!(
        !failed && text.contains("\nNo index is advised: "),
        "{text}"
    );
}

#[test]
fn a_queryid_needs_pg_stat_statements() {
    let postgres = Postgres::new();
    let (_program, client) = home(&postgres).serve(&["-no-auth"]);
    let (text, failed) = advise(&client, &json!({"queryid": "-123"}));
    assert!(failed, "{text}");
    assert_eq!(
        text,
        "pg_stat_statements is not installed: add it to shared_preload_libraries, then \
         CREATE EXTENSION pg_stat_statements;"
    );
}

#[test]
fn candidates_that_fall_have_a_reason_and_small_tables_have_none() {
    let postgres = Postgres::new();
    for statement in SHOP.split_terminator(';') {
        postgres.run(statement);
    }
    postgres.run("CREATE INDEX by_status ON shop.orders (status, customer_id)");
    let (_program, client) = home(&postgres).serve(&["-no-auth"]);
    let query = "SELECT * FROM shop.orders WHERE status = 's1' AND customer_id > 4000";
    let (text, failed) = advise(&client, &json!({"query": query}));
    assert!(!failed, "{text}");
    let fallen = "No index is advised.\n\nother\treason\n\
        CREATE INDEX ON shop.orders (status, customer_id)\tshop.by_status begins with the same \
        columns\n";
    assert!(text.contains(fallen), "{text}");
    let other = "CREATE INDEX ON shop.orders (customer_id)\tanother index is a better guess";
    assert!(text.contains(other), "{text}");
    for query in [
        "SELECT * FROM shop.small WHERE customer_id = 5",
        "SELECT count(*) FROM shop.orders",
    ] {
        let (text, failed) = advise(&client, &json!({"query": query}));
        assert!(
            !failed && text.contains("No index is advised: no scan"),
            "{text}"
        );
        assert!(!text.contains("CREATE INDEX"), "{text}");
    }
}

#[test]
fn advice_for_the_partitions_of_a_table_is_one_index_on_the_table() {
    let postgres = Postgres::new();
    for statement in SHOP.split_terminator(';') {
        postgres.run(statement);
    }
    postgres.run(
        "CREATE TABLE shop.events (id int, customer_id int, day int) PARTITION BY RANGE (day)",
    );
    for number in 0..12 {
        postgres.run(&format!(
            "CREATE TABLE shop.events_of_{number} PARTITION OF shop.events
             FOR VALUES FROM ({number}) TO ({number} + 1)"
        ));
    }
    // No partition has 10,000 rows.
    postgres
        .run("INSERT INTO shop.events SELECT n, n % 5000, n % 12 FROM generate_series(1, 60000) n");
    postgres.run("ANALYZE shop.events");
    let (_program, client) = home(&postgres).serve(&["-no-auth"]);
    let filtered = "SELECT * FROM shop.events WHERE customer_id = 42 ORDER BY id";
    let joined = "SELECT * FROM shop.customers c JOIN shop.events e ON e.customer_id = c.id
                  WHERE c.email = 'c7@example.com'";
    for (query, index, alias) in [
        (filtered, "(customer_id, id)", ""),
        (joined, "(customer_id)", " e"),
    ] {
        let (text, failed) = advise(&client, &json!({"query": query}));
        assert!(!failed && !text.contains("events_of"), "{text}");
        let lines = text.lines().map(|line| line.split('\t').collect());
        let lines: Vec<Vec<&str>> = lines.collect();
        let line = lines
            .iter()
            .find(|line| line[0] == format!("CREATE INDEX ON shop.events {index}"))
            .unwrap_or_else(|| panic!("{text}"));
        let helps = format!("Seq Scan on partitions of events{alias}");
        assert_eq!(line[5], helps, "{text}");
    }
    postgres.run("CREATE INDEX by_customer ON shop.events (customer_id, id)");
    let (text, failed) = advise(&client, &json!({"query": filtered}));
    let exists = "CREATE INDEX ON shop.events (customer_id, id)\tshop.by_customer begins with";
    assert!(!failed && text.contains(exists), "{text}");
}

#[test]
fn with_several_databases_a_call_may_name_one_and_the_answer_does() {
    let postgres = Postgres::new();
    for statement in SHOP.split_terminator(';') {
        postgres.run(statement);
    }
    let (home, empty) = (Home::new(), Postgres::new());
    home.configure(&format!(
        "databases:\n{}{}dba: {{enabled: true}}\n",
        empty.entry("empty"),
        postgres.entry("shop")
    ));
    let (_program, client) = home.serve(&["-no-auth"]);
    let (text, failed) = advise(&client, &json!({"query": KNOWN[0].0, "database": "shop"}));
    assert!(!failed, "{text}");
    let head = "database: shop\nnot tried: hypopg is not installed\nindex\t";
    assert!(text.starts_with(head), "{text}");
    let (text, failed) = advise(&client, &json!({"query": KNOWN[0].0}));
    assert!(failed, "{text}");
    assert!(
        text.starts_with("database: empty\nERROR: relation"),
        "{text}"
    );
}

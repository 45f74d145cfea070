//! Answers of the tools.

use std::thread;

use serde_json::{Value, json};

use super::{ENABLED, TOOLS};
use crate::{
    revisions::result,
    support::{Client, Home, Postgres},
};

/// A server with these databases, and with structured results.
fn home(entries: &[String]) -> Home {
    let home = Home::new();
    let entries = entries.concat();
    home.configure(&format!(
        "databases:\n{entries}{ENABLED}mcp: {{structured_output: true}}\n"
    ));
    home
}

/// Calls a tool in the newest revision. Returns its text, its structure, and whether it is an error.
fn call(client: &Client, name: &str, arguments: &Value) -> (String, Value, bool) {
    let params = json!({"name": name, "arguments": arguments});
    let found = result(client, "tools/call", &params);
    let text = found["content"][0]["text"].as_str().expect("a text");
    let structure = found["structuredContent"].clone();
    (text.to_owned(), structure, found["isError"] == true)
}

/// Calls a tool, which must succeed, and returns its rows as objects.
#[track_caller]
fn rows(client: &Client, name: &str, arguments: &Value) -> Vec<Value> {
    let (text, table, is_error) = call(client, name, arguments);
    assert!(!is_error, "{name}: {text}");
    let columns = table["columns"].as_array().expect("columns").iter();
    let columns: Vec<_> = columns.map(|name| name.as_str().expect("a name")).collect();
    let rows = table["rows"].as_array().expect("rows").iter();
    rows.map(|row| {
        let values = row.as_array().expect("a row").iter();
        columns.iter().copied().zip(values.cloned()).collect()
    })
    .collect()
}

/// Returns the findings of these rows: each check with its subject.
fn findings(rows: &[Value]) -> Vec<String> {
    let found = rows
        .iter()
        .filter(|row| row["status"] == "warn" || row["status"] == "critical");
    let found = found.map(|row| format!("{} {}", row["check"], row["subject"]));
    let mut found: Vec<_> = found.map(|text| text.replace('"', "")).collect();
    found.sort();
    found
}

/// Returns whether roles can be made, which an external PostgreSQL may not allow.
fn has_roles(postgres: &Postgres) -> bool {
    let sql = "SELECT rolsuper::int::bigint FROM pg_roles WHERE rolname = current_user";
    postgres.count(sql) == 1
}

#[test]
fn each_tool_answers_an_ordinary_role_whatever_its_limit_on_rows() {
    let mut postgres = Postgres::new();
    if !has_roles(&postgres) {
        return;
    }
    let role = postgres.role();
    let entry = postgres.entry_as("main", &role) + "    row_limit: 1\n";
    let home = home(&[entry]);
    let (_program, client) = home.serve(&["-no-auth"]);
    for name in TOOLS {
        let arguments = match name {
            "index_advice" => json!({"query": "SELECT 1"}),
            _ => json!({}),
        };
        let (text, _, is_error) = call(&client, name, &arguments);
        assert!(!is_error, "{name}: {text}");
    }
    let (text, _, _) = call(&client, "db_health", &json!({}));
    let header = "check\tstatus\tsubject\tvalue\tthreshold\tadvice\n";
    let (first, rest) = text.split_once('\n').expect("lines");
    assert!(
        first.ends_with(" rows):") && rest.starts_with(header),
        "{text}"
    );
    let rows = rows(&client, "db_health", &json!({}));
    let mut checks: Vec<_> = rows.iter().map(|row| row["check"].to_string()).collect();
    checks.dedup();
    assert_eq!(checks.len(), 16, "{checks:?}");
    for row in &rows {
        assert_eq!(row.as_object().map(serde_json::Map::len), Some(6));
        let advice = row["advice"].as_str().expect("a text");
        let has_remedy = advice.contains(':') || advice.contains(" TO ");
        assert!(row["status"] != "unknown" || has_remedy, "{row}");
    }
}

const SICK: &str = "
    CREATE SCHEMA healthy;
    CREATE TABLE healthy.parent (id int PRIMARY KEY, a int CONSTRAINT checked CHECK (a > 0));
    CREATE INDEX good ON healthy.parent (a);
    CREATE INDEX good_partial ON healthy.parent (a) WHERE a > 5;
    CREATE TABLE healthy.child (parent_id int REFERENCES healthy.parent);
    CREATE INDEX good_key ON healthy.child (parent_id);
    ALTER TABLE healthy.child ENABLE ROW LEVEL SECURITY;
    CREATE POLICY good ON healthy.child
        USING (parent_id = nullif(current_setting('app.id', true), '')::int);
    CREATE SCHEMA sick;
    CREATE TABLE sick.parent (id int PRIMARY KEY, a int);
    CREATE INDEX good ON sick.parent (a);
    CREATE INDEX twin ON sick.parent (a);
    ALTER TABLE sick.parent ADD CONSTRAINT unchecked CHECK (a > 0) NOT VALID;
    CREATE TABLE sick.child (parent_id int CONSTRAINT slow REFERENCES sick.parent);
    ALTER TABLE sick.child ENABLE ROW LEVEL SECURITY;
    CREATE POLICY weak ON sick.child USING (parent_id = current_setting('app.id', true)::int);
    CREATE SEQUENCE sick.ending AS smallint; SELECT setval('sick.ending', 32000);";

#[test]
fn what_is_wrong_in_a_schema_is_named_and_nothing_else() {
    let postgres = Postgres::with(SICK);
    let home = home(&[postgres.entry("main")]);
    let (_program, client) = home.serve(&["-no-auth"]);
    let checks = json!([
        "indexes_invalid",
        "indexes_duplicate",
        "indexes_missing_fk",
        "sequences",
        "constraints",
        "policies"
    ]);
    for (schema, expected) in [
        (
            "sick",
            &[
                "constraints unchecked of sick.parent",
                "indexes_duplicate sick.twin",
                "indexes_missing_fk slow of sick.child",
                "policies policy weak of sick.child",
                "sequences sick.ending",
            ][..],
        ),
        ("healthy", &[]),
    ] {
        let arguments = json!({"schema": schema, "checks": checks});
        let found = rows(&client, "db_health", &arguments);
        assert_eq!(findings(&found), expected, "{found:?}");
    }
    let arguments = json!({"schema": "absent", "checks": ["constraints", "settings"]});
    let found = rows(&client, "db_health", &arguments);
    let expected = json!({"check": "constraints", "status": "unknown", "subject": "constraints",
        "value": "", "threshold": "",
        "advice": "there is no such schema: leave schema out, or name one that exists"});
    assert!(found.contains(&expected), "{found:?}");
    for (arguments, expected) in [
        (json!({"checks": []}), "must be a list of 1 to 16 values"),
        (json!({"checks": ["all"]}), "must be one of cache, "),
    ] {
        let (text, _, is_error) = call(&client, "db_health", &arguments);
        assert!(is_error && text.contains(expected), "{text}");
    }
}

#[test]
fn an_answer_that_is_too_long_ends_early_and_says_so() {
    let postgres = Postgres::new();
    let home = home(&[postgres.entry("main")]);
    let file = home.file("ziggurat-tools.yaml");
    let text = std::fs::read_to_string(file).expect("a configuration");
    home.configure(&format!("{text}limits: {{max_result_bytes: 1024}}\n"));
    let (_program, client) = home.serve(&["-no-auth"]);
    let (text, table, _) = call(&client, "db_health", &json!({}));
    let (first, _) = text.split_once('\n').expect("lines");
    assert!(first.ends_with(" rows shown, more available):"), "{text}");
    assert_eq!(table["truncated"], true);
}

#[test]
fn a_session_that_waits_is_shown_below_the_one_that_blocks_it() {
    let postgres = Postgres::with("CREATE TABLE counts AS SELECT 1 AS id, 0 AS n");
    let home = home(&[postgres.entry("main")]);
    let (_program, client) = home.serve(&["-no-auth"]);
    let change = "UPDATE counts SET n = n + 1";
    let holder = postgres.holding(&format!("BEGIN; {change}"));
    let (tree, sessions, pids) = thread::scope(|scope| {
        scope.spawn(|| postgres.run(change));
        let waiting = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                       AND datname = current_database()";
        postgres.wait_until(&format!("EXISTS (SELECT {waiting})"));
        let waiter = postgres.count(&format!("SELECT pid::bigint {waiting}"));
        let holder_pid = postgres.count(&format!("SELECT (pg_blocking_pids({waiter}))[1]::bigint"));
        let answers = ["lock_tree", "active_sessions"].map(|name| call(&client, name, &json!({})));
        // Ends the other thread, also if an answer is wrong.
        drop(holder);
        let [tree, sessions] = answers.map(|(_, table, _)| table["rows"].clone());
        (tree, sessions, [holder_pid, waiter])
    });
    let [holder, waiter] = pids.map(|pid| pid.to_string());
    let row = |table: &Value, pid: &str| {
        let mut rows = table.as_array().expect("rows").iter();
        let found = rows.position(|row| row[0] == *pid);
        let at = found.unwrap_or_else(|| panic!("{pid} in {table}"));
        (at, table[at].clone())
    };
    let (place, blocking) = row(&tree, &holder);
    let (next, waiting) = row(&tree, &format!("  {waiter}"));
    assert_eq!(next, place + 1, "{tree}");
    let object = waiting[2].as_str().expect("an object");
    assert!(object.ends_with(" of public.counts"), "{waiting}");
    for row in [&blocking, &waiting] {
        assert!(row[4].as_str().expect("a query").ends_with(change), "{row}");
    }
    let (_, waiting) = row(&sessions, &waiter);
    assert_eq!(waiting[7], *holder, "{waiting}");
    let (_, blocking) = row(&sessions, &holder);
    assert_eq!(blocking[3], "idle in transaction", "{blocking}");
}

/// Views in place of `pg_stat_statements`, for which PostgreSQL refuses the statement of `top_queries`.
const REFUSED: [&str; 4] = [
    // 42P01.
    "SELECT 1",
    // 42703.
    "CREATE VIEW pg_stat_statements AS SELECT 1 AS other",
    // 42501.
    "DROP VIEW pg_stat_statements;
     CREATE VIEW pg_stat_statements AS
     SELECT 0::oid AS dbid, 1::bigint AS queryid, ''::text AS query",
    // 55000.
    "DROP VIEW pg_stat_statements;
     CREATE FUNCTION refuse() RETURNS bigint LANGUAGE plpgsql AS
       $$BEGIN RAISE 'not loaded' USING ERRCODE = '55000'; END$$;
     CREATE VIEW pg_stat_statements AS
     SELECT refuse()::oid AS dbid, 1::bigint AS queryid, ''::text AS query;
     GRANT SELECT ON pg_stat_statements TO PUBLIC",
];

#[test]
fn top_queries_says_what_it_lacks() {
    let mut postgres = Postgres::new();
    if !has_roles(&postgres) {
        return;
    }
    let role = postgres.role();
    let home = home(&[postgres.entry_as("main", &role)]);
    let (_program, client) = home.serve(&["-no-auth"]);
    for refused in REFUSED {
        postgres.run(refused);
        let found = rows(&client, "top_queries", &json!({"by": "io", "limit": 3}));
        assert_eq!(found.len(), 1, "{refused}: {found:?}");
        assert_eq!(found[0]["queryid"], "unknown", "{found:?}");
        let sentence = found[0]["query"].as_str().expect("a sentence");
        let expected = "pg_stat_statements is not installed: ";
        assert!(sentence.starts_with(expected), "{refused}: {sentence}");
    }
    // Any other error is one.
    postgres.run(
        "CREATE OR REPLACE FUNCTION refuse() RETURNS bigint LANGUAGE sql AS 'SELECT (1 / 0)::bigint'",
    );
    let (text, _, is_error) = call(&client, "top_queries", &json!({}));
    assert!(is_error && text.contains("division by zero"), "{text}");
}

#[test]
fn a_check_that_takes_too_long_or_fails_is_unknown_and_the_others_are_not() {
    let mut postgres = Postgres::new();
    if !has_roles(&postgres) {
        return;
    }
    let role = postgres.role();
    let entry = postgres.entry_as("main", &role) + "    query_timeout: 2s\n";
    let home = home(&[entry]);
    let (_program, client) = home.serve(&["-no-auth"]);
    let arguments = json!({"checks": ["constraints", "settings"]});
    let asked = || {
        let found = rows(&client, "db_health", &arguments);
        let (constraints, settings): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|row| row["check"] == "constraints");
        assert!(!settings.is_empty(), "{settings:?}");
        assert!(settings.iter().all(|row| row["status"] != "unknown"));
        assert_eq!(constraints.len(), 1, "{constraints:?}");
        let text = |name: &str| constraints[0][name].as_str().expect("a text").to_owned();
        [text("status"), text("advice")]
    };
    assert_eq!(asked(), ["ok", ""]);
    let holder = postgres.holding("BEGIN; LOCK TABLE pg_constraint IN ACCESS EXCLUSIVE MODE");
    let [status, advice] = asked();
    assert!(advice.starts_with("cancelled after "), "{advice}");
    assert_eq!(status, "unknown");
    drop(holder);
    postgres.wait_until(
        "NOT EXISTS (SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' \
         AND relation = 'pg_constraint'::regclass \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))",
    );
    postgres.run("REVOKE SELECT ON pg_catalog.pg_constraint FROM PUBLIC");
    let expected = format!("permission denied for table pg_constraint: grant it to \"{role}\"");
    assert_eq!(asked(), ["unknown", &expected]);
}

#[test]
fn with_several_databases_a_call_names_one_and_its_answer_begins_with_it() {
    let (one, two) = (Postgres::new(), Postgres::with(SICK));
    let home = home(&[one.entry("one"), two.entry("two")]);
    let (_program, client) = home.serve(&["-no-auth"]);
    let tools = result(&client, "tools/list", &json!({}))["tools"].clone();
    for tool in tools.as_array().expect("a list") {
        if TOOLS.iter().any(|name| tool["name"] == *name) {
            let schema = &tool["inputSchema"];
            assert_eq!(schema["properties"]["database"]["type"], "string");
            assert_eq!(schema["required"], json!([]));
        }
    }
    for (arguments, database, number) in [
        (json!({"checks": ["constraints"]}), "one", 0),
        (
            json!({"checks": ["constraints"], "database": "two"}),
            "two",
            1,
        ),
        (
            json!({"checks": ["constraints"], "database": null}),
            "one",
            0,
        ),
    ] {
        let (text, _, _) = call(&client, "db_health", &arguments);
        assert!(
            text.starts_with(&format!("database: {database}\nResults (")),
            "{text}"
        );
        assert_eq!(
            text.matches("unchecked of sick.parent").count(),
            number,
            "{text}"
        );
    }
    let text = call(&client, "top_queries", &json!({"database": "two"})).0;
    assert!(
        text.starts_with("database: two\nResults (1 rows):\nqueryid\t"),
        "{text}"
    );
    for (arguments, expected) in [
        (json!({"database": "three"}), "Unknown database: three"),
        (
            json!({"database": 2}),
            "Invalid argument 'database': must be a string",
        ),
        (json!({"x": 2}), "Unknown argument: x"),
    ] {
        let (text, _, is_error) = call(&client, "lock_tree", &arguments);
        assert_eq!((&*text, is_error), (expected, true));
    }
}

const MANUAL: &str = include_str!("../../../../../docs/src/dba.md");

/// Returns the code blocks of the manual in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let rest = MANUAL.split(&*fence).skip(1);
    rest.map(|block| block.split("```").next().expect("an end"))
        .collect()
}

#[test]
fn the_examples_of_the_manual_are_valid_and_have_the_answers_that_it_shows() {
    let [schema, grant] = blocks("sql")[..] else {
        panic!("two blocks of SQL");
    };
    let mut postgres = Postgres::with(schema);
    let configurations = blocks("yaml");
    assert_eq!(configurations.len(), 2);
    for configuration in configurations {
        let home = Home::new();
        home.configure(configuration);
        let ran = home.ran(&["-check-config"], "");
        assert_eq!(
            ran.stdout, "the configuration is valid\n",
            "{configuration}"
        );
    }
    let home = home(&[postgres.entry("main")]);
    let (_program, client) = home.serve(&["-no-auth"]);
    let (calls, answers) = (blocks("json"), blocks("answer"));
    assert_eq!((calls.len(), answers.len()), (2, 2));
    for (example, answer) in calls.into_iter().zip(answers) {
        let params: Value = serde_json::from_str(example).expect(example);
        let name = params["name"].as_str().expect("a name");
        let (text, _, _) = call(&client, name, &params["arguments"]);
        assert_eq!(text, answer.trim_end(), "{example}");
    }
    if has_roles(&postgres) {
        let role = postgres.role();
        postgres.run(&grant.replace("reader", &format!("\"{role}\"")));
    }
}

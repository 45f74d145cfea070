//! Tests of statements over HTTP: `/api/query`.

mod cut;
mod ends;
mod exports;
mod rights;
mod schema;

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
};

use serde_json::{Value, json};

use crate::support::{Answer, Client, Home, Postgres, memory};

const QUERY: &str = "/api/query";

/// Runs a statement with more members in the request.
fn ask(client: &Client, sql: &str, more: &Value) -> Answer {
    let mut body = json!({"sql": sql});
    for (name, value) in more.as_object().expect("members") {
        body[name] = value.clone();
    }
    client.post(QUERY, &body.to_string())
}

/// Returns the lines of a response.
fn lines(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(answer.body.ends_with('\n'), "{answer:?}");
    let lines = answer.body.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("lines of JSON")
}

/// Returns the rows of a response.
fn rows(lines: &[Value]) -> Vec<Value> {
    let pieces = lines.iter().filter_map(|line| line["rows"].as_array());
    pieces.flatten().cloned().collect()
}

/// Returns the last line of a statement that ran.
fn done(lines: &[Value]) -> &Value {
    let done = &lines.last().expect("a line")["done"];
    assert!(done.is_object(), "{lines:?}");
    done
}

/// Returns the last line of a statement that failed.
fn error(lines: &[Value]) -> &Value {
    let error = &lines.last().expect("a line")["error"];
    assert!(error.is_object(), "{lines:?}");
    error
}

fn refused(answer: &Answer) -> (u16, String) {
    let json = answer.json();
    assert_eq!(json.as_object().expect("members").len(), 2, "{answer:?}");
    assert!(json["error"].is_string(), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    (
        answer.status,
        json["code"].as_str().expect("a code").to_owned(),
    )
}

#[test]
fn rows_that_postgresql_has_sent_go_out_while_the_statement_runs() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    // PostgreSQL keeps the last 8 KiB of its rows until there are more.
    let sql = "SELECT n, repeat('x', 9000), pg_sleep(CASE n WHEN 3 THEN 300 ELSE 0 END)
        FROM generate_series(1, 3) n";
    let body = json!({"sql": sql}).to_string();
    let headers = "content-type: application/json\r\n";
    drop(client.open(QUERY, headers, &body, r#"{"rows":[[1,"xxx"#));
}

#[test]
fn a_statement_has_its_columns_its_rows_and_one_end() {
    let postgres = Postgres::with(
        "CREATE TYPE mood AS ENUM ('so so');
         CREATE TABLE book (id bigint PRIMARY KEY, gone int, title text, at timestamptz,
             price numeric, moods mood[], is_new boolean);
         ALTER TABLE book DROP COLUMN gone;
         INSERT INTO book VALUES (1, 'Emma', '2024-01-31 13:34:56+01', 19.90, '{\"so so\"}', true),
             (2, NULL, NULL, NULL, NULL, NULL)",
    );
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let sql = "SELECT *, id + 1 AS next, title AS name FROM book ORDER BY id;";
    let found = lines(&ask(&client, sql, &json!({})));
    let started = &found[0]["started"];
    assert!(!started["id"].as_str().expect("an id").is_empty());
    assert_eq!(
        (&started["database"], &started["read_only"]),
        (&json!("main"), &json!(true))
    );
    let column = |name: &str, data_type: &str, origin: Option<&str>| {
        let table = origin.map(|_| "public.book");
        json!({"name": name, "type": data_type, "table": table, "column": origin})
    };
    assert_eq!(
        found[1],
        json!({"columns": [
            column("id", "int8", Some("id")),
            column("title", "text", Some("title")),
            column("at", "timestamptz", Some("at")),
            column("price", "numeric", Some("price")),
            column("moods", "mood[]", Some("moods")),
            column("is_new", "bool", Some("is_new")),
            column("next", "int8", None),
            column("name", "text", Some("title")),
        ]})
    );
    let first = json!([
        1,
        "Emma",
        "2024-01-31T12:34:56Z",
        "19.90",
        "{\"so so\"}",
        true,
        2,
        "Emma"
    ]);
    let second = json!([2, null, null, null, null, null, 3, null]);
    assert_eq!(rows(&found), [first, second]);
    let end = done(&found);
    assert!(end["ms"].as_f64().expect("a number") > 0.0);
    let mut end = end.clone();
    end["ms"] = Value::Null;
    assert_eq!(
        end,
        json!({"rows": 2, "truncated": null, "command": null, "affected": null, "notices": [],
            "ms": null})
    );
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn rows_come_in_pieces_up_to_the_limit_whatever_the_statement_looks_like() {
    let postgres = Postgres::new();
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}limits: {{max_rows: 3000, max_query_bytes: 20000}}\n",
        postgres.entry("main")
    ));
    let (_program, client) = home.serve(&["-no-auth"]);
    for (sql, max_rows, expected, truncated) in [
        (
            "SELECT 1 FROM generate_series(1, 5000)",
            None,
            1000,
            json!("rows"),
        ),
        (
            "SELECT 1 FROM generate_series(1, 1000)",
            None,
            1000,
            Value::Null,
        ),
        (
            "SELECT 1 FROM generate_series(1, 5000)",
            Some(2500),
            2500,
            json!("rows"),
        ),
        (
            "SELECT 1 FROM generate_series(1, 5000)",
            Some(9_000_000),
            3000,
            json!("rows"),
        ),
        (
            "SELECT 1 FROM generate_series(1, 5000) LIMIT 2400",
            Some(2400),
            2400,
            Value::Null,
        ),
        (
            "SELECT 1 FROM generate_series(1, 5000) LIMIT 2500",
            Some(2400),
            2400,
            json!("rows"),
        ),
        ("VALUES (1), (2) ; ", Some(1), 1, json!("rows")),
        (
            "SELECT 1 AS \";\" FROM generate_series(1, 5000)",
            Some(1500),
            1500,
            json!("rows"),
        ),
        ("SELECT 1", Some(0), 1, Value::Null),
        ("SHOW server_version", None, 1, Value::Null),
        (
            "SELECT repeat('x', 1000) FROM generate_series(1, 100)",
            None,
            19,
            json!("bytes"),
        ),
        ("SELECT repeat('x', 30000)", None, 1, Value::Null),
    ] {
        let found = lines(&ask(&client, sql, &json!({"max_rows": max_rows})));
        let end = done(&found);
        let pieces = found.iter().filter_map(|line| line["rows"].as_array());
        assert!(pieces.clone().all(|piece| piece.len() <= 500), "{sql}");
        let count = pieces.map(Vec::len).sum::<usize>();
        assert_eq!((count, &end["rows"]), (expected, &json!(expected)), "{sql}");
        assert_eq!(end["truncated"], truncated, "{sql}");
    }
}

#[test]
fn a_long_value_is_cut_and_a_row_beyond_all_measure_ends_the_result() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let sql = "SELECT repeat('x', 65536) AS whole, 'é' || repeat('é', 40000) AS cut";
    let found = lines(&ask(&client, sql, &json!({})));
    let row = &rows(&found)[0];
    assert_eq!(row[0].as_str().map(str::len), Some(65536));
    assert_eq!(row[1]["bytes"], 80002);
    let cut = row[1]["cut"].as_str().expect("the beginning");
    assert_eq!(cut, "é".repeat(32768));
    let sql = "SELECT 1 AS n, '' AS text UNION ALL SELECT 2, repeat('x', 17000000)";
    let found = lines(&ask(&client, sql, &json!({})));
    assert_eq!(rows(&found), [json!([1, ""])]);
    assert_eq!(done(&found)["truncated"], "bytes");
}

#[test]
fn an_error_says_where_it_is_in_the_text_of_the_caller() {
    let postgres = Postgres::with("CREATE TABLE book AS SELECT 1 AS id");
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let position = |sql: &str, at: &str| {
        let at = sql.find(at).expect("in the text");
        json!(sql[..at].chars().count() + 1)
    };
    let sql = "\n  SELECT 'é', nope FROM book";
    let found = lines(&ask(&client, sql, &json!({})));
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(
        error(&found),
        &json!({"message": "column \"nope\" does not exist", "sqlstate": "42703",
            "position": position(sql, "nope"), "detail": null, "hint": null, "code": "failed"})
    );
    let sql = "SELECT idd FROM book LIMIT 3";
    let hinted = lines(&ask(&client, sql, &json!({})));
    assert_eq!(error(&hinted)["position"], position(sql, "idd"));
    let hint = error(&hinted)["hint"].as_str().expect("a hint");
    assert!(hint.contains("book.id"), "{hint}");

    let sql = "SELECT 100 / (250 - n) FROM generate_series(1, 1000) n";
    let found = lines(&ask(&client, sql, &json!({})));
    assert_eq!(error(&found)["sqlstate"], "22012");
    assert!(found.iter().all(|line| line.get("done").is_none()));

    let found = lines(&ask(
        &client,
        "SELECT pg_read_file('/etc/passwd')",
        &json!({}),
    ));
    let refused = error(&found);
    assert_eq!(
        (&refused["code"], &refused["sqlstate"]),
        (&json!("refused"), &Value::Null)
    );
    let found = lines(&ask(&client, "DELETE FROM book", &json!({})));
    assert_eq!(error(&found)["sqlstate"], "25006", "{found:?}");
    // A phrase that names a connection elsewhere is only wrong SQL here.
    let at = "SELECT 1 at postgres://u:p@127.0.0.1/db";
    assert_eq!(
        error(&lines(&ask(&client, at, &json!({}))))["sqlstate"],
        "42601"
    );
}

#[test]
fn the_time_limit_of_a_request_ends_its_statement() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let found = lines(&ask(
        &client,
        "SELECT pg_sleep(3600)",
        &json!({"timeout_ms": 50}),
    ));
    let timeout = error(&found);
    assert_eq!(
        (&timeout["code"], &timeout["sqlstate"]),
        (&json!("timeout"), &json!("57014"))
    );
    // For PostgreSQL 0 is no limit.
    let answer = ask(&client, "SELECT 1", &json!({"timeout_ms": 0}));
    assert_eq!(refused(&answer), (400, "bad_request".to_owned()));
}

#[test]
fn notices_arrive_with_the_end() {
    let postgres = Postgres::with(
        "CREATE FUNCTION talk() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
             RAISE NOTICE 'hello'; RAISE WARNING 'mind' USING HINT = 'the gap', DETAIL = 'wide';
             RETURN 1; END $$",
    );
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let found = lines(&ask(&client, "SELECT talk()", &json!({})));
    assert_eq!(
        done(&found)["notices"],
        json!([
            {"severity": "NOTICE", "message": "hello", "sqlstate": "00000", "detail": null,
                "hint": null},
            {"severity": "WARNING", "message": "mind", "sqlstate": "01000", "detail": "wide",
                "hint": "the gap"},
        ])
    );
    let found = lines(&ask(&client, "SELECT 1", &json!({})));
    assert_eq!(done(&found)["notices"], json!([]));
}

#[test]
fn rows_are_sent_as_they_come() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    // The second row takes an hour.
    // PostgreSQL itself sends what fills its buffer of 8 KiB.
    let sql = "SELECT n, repeat('x', 20000) FROM generate_series(1, 2) n
        WHERE n = 1 OR pg_sleep(3600) IS NULL";
    let body = json!({"sql": sql}).to_string();
    let stream = client.open(QUERY, "", &body, r#"{"rows":[[1,"xxx"#);
    postgres.wait_for_running("generate_series", 1);
    drop(stream);
    postgres.wait_for_running("generate_series", 0);
}

/// Sends the head and the body of a request, and reads nothing.
fn begin(client: &Client, sql: &str) -> TcpStream {
    let body = json!({"sql": sql, "max_rows": 100_000}).to_string();
    let (address, length) = (client.address(), body.len());
    let mut stream = TcpStream::connect(address).expect("listening");
    let request = format!(
        "POST {QUERY} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("sent");
    stream
}

#[test]
fn a_client_that_hangs_up_cancels_its_statement_and_frees_its_place() {
    let postgres = Postgres::new();
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    pool_max_conns: 2\n    query_timeout: \"0\"\n",
        postgres.entry("main")
    ));
    let (_program, client) = home.serve(&["-no-auth"]);
    for sql in [
        "SELECT pg_sleep(3600)",
        "SELECT pg_sleep(3600), ';'",
        "EXPLAIN ANALYZE SELECT pg_sleep(3600)",
    ] {
        let streams = [begin(&client, sql), begin(&client, sql)];
        postgres.wait_for_running("pg_sleep", 2);
        let busy = ask(&client, "SELECT 1", &json!({}));
        assert_eq!(refused(&busy), (503, "busy".to_owned()), "{sql}");
        for stream in streams {
            stream.shutdown(Shutdown::Both).expect("open");
        }
        postgres.wait_for_running("pg_sleep", 0);
        let found = lines(&ask(&client, "SELECT 1", &json!({})));
        assert_eq!(rows(&found), [json!([1])], "{sql}");
    }
}

#[test]
fn a_client_that_reads_slowly_makes_postgresql_wait() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (program, client) = home.serve(&["-no-auth"]);
    let sql = "SELECT repeat('x', 10000) FROM generate_series(1, 100000)";
    lines(&ask(&client, "SELECT 1", &json!({})));
    let before = memory(&program);
    let mut stream = begin(&client, sql);
    stream.read_exact(&mut vec![0; 100_000]).expect("rows");
    // All buffers between PostgreSQL and this client are full, and it still has most of a gigabyte.
    postgres.wait_until(
        "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'ClientWrite'
             AND datname = current_database() AND strpos(query, 'repeat') > 0
             AND pid <> pg_backend_pid())",
    );
    // Only Linux shows the memory.
    if let (Some((_, before)), Some((peak, _))) = (before, memory(&program)) {
        assert!(peak < before + 32 * 1024, "from {before} kB to {peak} kB");
    }
    drop(stream);
    postgres.wait_for_running("repeat", 0);
}

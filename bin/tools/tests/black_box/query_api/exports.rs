//! Tests of rows as a file: `/api/exports`.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
};

use serde_json::{Value, json};

use super::refused;
use crate::support::{
    Answer, Client, Home, PATIENCE, Postgres, memory, records, records::PASSWORD,
};

const EXPORTS: &str = "/api/exports";

const TABLE: &str = "CREATE TABLE t (n int, a text, j jsonb, at timestamptz, d numeric, b boolean);
    INSERT INTO t VALUES (1, 'say \"hi\", é', '{\"k\":  [1, 2.50]}', '2024-01-31 12:34:56+00', -1.50,
        true), (2, '', NULL, NULL, NULL, NULL), (3, '=1+1', '\"x\"', NULL, 7, false)";

/// Asks for an export.
fn create(client: &Client, sql: &str, more: &Value) -> Answer {
    let mut body = json!({"sql": sql, "format": "csv"});
    for (name, value) in more.as_object().expect("members") {
        body[name] = value.clone();
    }
    client.post(EXPORTS, &body.to_string())
}

/// Returns the link of an export.
fn link(client: &Client, sql: &str, more: &Value) -> String {
    let answer = create(client, sql, more);
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let link = answer.json();
    assert!(
        link["expires_at"].as_str().expect("a time").ends_with('Z'),
        "{link}"
    );
    link["href"].as_str().expect("a path").to_owned()
}

#[test]
fn an_export_whose_database_does_not_answer_in_time_is_504() {
    let postgres = Postgres::new();
    let home = Home::new();
    let entry = postgres.entry("main");
    home.configure(&format!("databases:\n{entry}    query_timeout: 200ms\n"));
    let (_program, client) = home.serve(&["-no-auth"]);
    let href = link(&client, "SELECT pg_sleep(60)", &json!({}));
    assert_eq!(refused(&client.get(&href)), (504, "timeout".to_owned()));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of formats")]
fn each_format_has_its_form() {
    let postgres = Postgres::with(TABLE);
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let sql = "SELECT n, a, j, at, d, b, 1 AS n FROM t ORDER BY t.n";
    for (format, content_type, more, expected) in [
        (
            "csv",
            "text/csv; charset=utf-8",
            json!({}),
            "n,a,j,at,d,b,n\r\n\
             1,\"say \"\"hi\"\", é\",\"{\"\"k\"\": [1, 2.50]}\",2024-01-31T12:34:56Z,-1.50,true,1\r\n\
             2,\"\",,,,,1\r\n\
             3,=1+1,\"\"\"x\"\"\",,7,false,1\r\n",
        ),
        (
            "csv",
            "text/csv; charset=utf-8",
            json!({"guard_formulas": true, "max_rows": 3}),
            "n,a,j,at,d,b,n\r\n\
             1,\"say \"\"hi\"\", é\",\"{\"\"k\"\": [1, 2.50]}\",2024-01-31T12:34:56Z,-1.50,true,1\r\n\
             2,\"\",,,,,1\r\n\
             3,'=1+1,\"\"\"x\"\"\",,7,false,1\r\n",
        ),
        (
            "tsv",
            "text/tab-separated-values; charset=utf-8",
            json!({"max_rows": 1}),
            "n\ta\tj\tat\td\tb\tn\r\n\
             1\t\"say \"\"hi\"\", é\"\t\"{\"\"k\"\": [1, 2.50]}\"\t2024-01-31T12:34:56Z\t-1.50\ttrue\t1\r\n",
        ),
        (
            "ndjson",
            "application/x-ndjson",
            json!({"max_rows": 2}),
            "{\"n\":1,\"a\":\"say \\\"hi\\\", é\",\"j\":{\"k\":[1,2.50]},\
             \"at\":\"2024-01-31T12:34:56Z\",\"d\":\"-1.50\",\"b\":true,\"n_2\":1}\n\
             {\"n\":2,\"a\":\"\",\"j\":null,\"at\":null,\"d\":null,\"b\":null,\"n_2\":1}\n",
        ),
        (
            "json",
            "application/json",
            json!({"max_rows": 1}),
            "[\n{\"n\":1,\"a\":\"say \\\"hi\\\", é\",\"j\":{\"k\":[1,2.50]},\
             \"at\":\"2024-01-31T12:34:56Z\",\"d\":\"-1.50\",\"b\":true,\"n_2\":1}\n]\n",
        ),
    ] {
        let mut more = more;
        more["format"] = json!(format);
        let file = client.get(&link(&client, sql, &more));
        assert_eq!((file.status, &*file.body), (200, expected), "{format}");
        assert_eq!(file.header("content-type"), Some(content_type));
        let disposition = format!("attachment; filename=\"main.{format}\"");
        assert_eq!(file.header("content-disposition"), Some(&*disposition));
        assert_eq!(file.header("cache-control"), Some("no-store"));
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
    }
    for (format, expected) in [("csv", "n\r\n"), ("json", "[]\n"), ("ndjson", "")] {
        let path = link(
            &client,
            "SELECT n FROM t WHERE n > 3",
            &json!({"format": format}),
        );
        assert_eq!(client.get(&path).body, expected, "{format}");
    }
}

#[test]
fn a_link_works_once_for_the_session_that_made_it() {
    let postgres = Postgres::with(TABLE);
    let home = Home::with(&postgres);
    let users = ["alice", "bob"].map(|name| records::user(name, &[]));
    home.replace(&home.users(), &records::users(&users));
    home.replace(&home.tokens(), &records::tokens(&[]));
    let (_program, stranger) = home.serve(&[]);
    let [alice, bob] = ["alice", "bob"].map(|name| stranger.logged_in(name, PASSWORD));
    let again = stranger.logged_in("alice", PASSWORD);
    let path = link(&alice, "SELECT n FROM t", &json!({}));
    let gone = (404, "gone".to_owned());
    assert_eq!(stranger.get(&path).status, 401);
    for other in [&bob, &again] {
        assert_eq!(refused(&other.get(&path)), gone);
    }
    let head = alice.send("HEAD", &path, "", "");
    assert_eq!(head.status, 405, "it does not use up the link");
    assert_eq!(alice.get(&path).status, 200);
    assert_eq!(refused(&alice.get(&path)), gone);
    assert_eq!(refused(&alice.get(&format!("{EXPORTS}/nothing"))), gone);
}

#[test]
fn what_cannot_be_exported_is_told_with_the_request() {
    let postgres = Postgres::with(TABLE);
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\n",
        postgres.entry("main")
    ));
    let token = home.token("main");
    let (_program, client) = home.serve(&["-no-auth"]);
    for (sql, more, status, code) in [
        ("", json!({}), 400, "no_sql"),
        ("DELETE FROM t", json!({}), 400, "not_a_query"),
        ("SELECT nope FROM t", json!({}), 400, "failed"),
        ("SELECT FROM WHERE", json!({}), 400, "failed"),
        (
            "SELECT pg_read_file('/etc/passwd')",
            json!({}),
            400,
            "refused",
        ),
        ("SELECT 1", json!({"format": "parquet"}), 400, "bad_request"),
        ("SELECT 1", json!({"database": "two"}), 404, "not_found"),
    ] {
        let answer = create(&client, sql, &more);
        assert_eq!(refused(&answer), (status, code.to_owned()), "{sql} {more}");
    }
    // A function that writes has no effect either.
    postgres.run("CREATE FUNCTION sly() RETURNS int LANGUAGE sql AS 'DELETE FROM t RETURNING 1'");
    let path = link(&client, "SELECT sly()", &json!({}));
    assert_eq!(refused(&client.get(&path)), (400, "failed".to_owned()));
    assert_eq!(postgres.count("SELECT count(*) FROM t"), 3);

    let (_program, stranger) = home.serve(&[]);
    let answer = create(&stranger.bearing(&token), "SELECT 1", &json!({}));
    assert_eq!(refused(&answer), (403, "not_available".to_owned()));
}

/// Sends a request for a file, and reads nothing.
fn begin(client: &Client, path: &str) -> TcpStream {
    let address = client.address();
    let mut stream = TcpStream::connect(address).expect("listening");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    stream
}

#[test]
fn a_failure_half_way_breaks_the_connection_off() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let sql = "SELECT repeat('x', 100), 1 / (50000 - n) FROM generate_series(1, 100000) n";
    let path = link(&client, sql, &json!({}));
    let mut stream = begin(&client, &path);
    let mut file = Vec::new();
    stream.read_to_end(&mut file).ok();
    let file = String::from_utf8(file).expect("text");
    assert!(file.starts_with("HTTP/1.1 200 "), "{}", &file[..100]);
    assert!(file.len() > 1_000_000);
    assert!(
        !file.ends_with("\r\n0\r\n\r\n"),
        "the last chunk is missing"
    );
}

#[test]
fn a_client_that_hangs_up_cancels_the_export() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    for sql in [
        "SELECT pg_sleep(3600)",
        "SELECT n, repeat('x', 1000) FROM generate_series(1, 10000000) n, (SELECT 'pg_sleep') s",
    ] {
        let stream = begin(&client, &link(&client, sql, &json!({})));
        postgres.wait_for_running("pg_sleep", 1);
        drop(stream);
        postgres.wait_for_running("pg_sleep", 0);
    }
}

#[test]
fn a_large_file_needs_little_memory() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (program, client) = home.serve(&["-no-auth"]);
    client.get(&link(&client, "SELECT 1", &json!({})));
    let before = memory(&program);
    let sql = "SELECT n, repeat('x', 100) AS t FROM generate_series(1, 1000001) n";
    let mut stream = begin(&client, &link(&client, sql, &json!({})));
    let (mut piece, mut bytes, mut found) = (vec![0; 1 << 16], 0, 0);
    loop {
        let read = match stream.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.expect("a piece"),
        };
        if read == 0 {
            break;
        }
        bytes += read;
        found += piece[..read].split(|byte| *byte == b'x').count() - 1;
    }
    // The head of the response has a few more.
    assert_eq!(found / 100, 1_000_000, "a million rows in {bytes} bytes");
    // Only Linux shows the memory.
    if let (Some((_, before)), Some((peak, _))) = (before, memory(&program)) {
        assert!(peak < before + 64 * 1024, "from {before} kB to {peak} kB");
    }
}

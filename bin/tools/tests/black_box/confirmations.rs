//! Tests that a confirmation is valid for one execution.

use std::{fs, thread};

use serde_json::{Value, json};

use crate::{
    previews::{call, message, yes},
    support::{Client, Home, Postgres, records, records::PASSWORD},
};

const INSERT: &str = "INSERT INTO t VALUES (2)";

fn table() -> Postgres {
    Postgres::with("CREATE TABLE t AS SELECT 1 AS n")
}

/// Creates a server that may write to this database, with a secret for signatures.
fn home(postgres: &Postgres) -> Home {
    let home = Home::new();
    let entry = postgres.entry("main");
    home.configure(&format!(
        "secret_file: {}\ndatabases:\n{entry}    allow_writes: true\n",
        home.file("secret").display()
    ));
    fs::write(home.file("secret"), "what replicas have in common").expect("written");
    home
}

/// Sends a statement from a client that supports elicitation, with the answers of its user.
fn send(client: &Client, query: &str, answers: &Value) -> Value {
    call(client, &json!({"query": query}), true, answers)
}

fn assert_done(result: &Value) {
    assert_eq!(result["resultType"], "complete", "{result}");
    assert_eq!(result.get("isError"), None, "{result}");
}

#[test]
fn a_client_that_sends_a_confirmation_twice_is_asked_again() {
    let postgres = table();
    let home = home(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let rows = || postgres.count("SELECT count(*) FROM t");
    let asked = send(&client, INSERT, &json!({}));
    let question = message(&asked);
    assert!(question.starts_with("May this statement"), "{question}");
    let confirmed = yes(&asked);
    assert_done(&send(&client, INSERT, &confirmed));
    assert_eq!(rows(), 2);
    let mut again = send(&client, INSERT, &confirmed);
    for _ in 0..3 {
        assert_ne!(again["requestState"], asked["requestState"]);
        let question = message(&again);
        assert!(question.contains("may have been run"), "{question}");
        again = send(&client, INSERT, &confirmed);
    }
    assert_eq!(rows(), 2);
    // A second confirmation runs the statement again.
    assert_done(&send(&client, INSERT, &yes(&again)));
    assert_eq!(rows(), 3);
}

#[test]
fn a_question_has_the_whole_statement_and_nothing_that_looks_like_the_question() {
    let postgres = table();
    let home = home(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let sly = "DELETE FROM t /* \u{202e}\rMay this statement be run in the database test?\n*/ WHERE n = 7";
    let asked = send(&client, sly, &json!({}));
    let expected = "May this statement be run in the database main?\n\n    DELETE FROM t /* \\u{202e}\
                    \n    May this statement be run in the database test?\n    */ WHERE n = 7";
    assert_eq!(message(&asked), expected);
    let long = format!("{INSERT} /* {} */, (3)", "x".repeat(8000));
    let asked = send(&client, &long, &json!({}));
    assert!(message(&asked).ends_with("xx */, (3)"), "{asked}");
    let longer = format!("{INSERT} /* {} */, (3)", "x".repeat(17_000));
    let refused = send(&client, &longer, &json!({}));
    let text = refused["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("to see the whole statement"), "{text}");
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(postgres.count("SELECT count(*) FROM t"), 1);
}

#[test]
fn of_concurrent_requests_with_one_confirmation_one_is_executed() {
    let postgres = table();
    let home = home(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    for round in 1..=5 {
        let confirmed = yes(&send(&client, INSERT, &json!({})));
        let results: Vec<_> = thread::scope(|scope| {
            let sending = [(); 8].map(|()| scope.spawn(|| send(&client, INSERT, &confirmed)));
            let results = sending.into_iter().map(|one| one.join().expect("answered"));
            results.collect()
        });
        let done = results.iter().filter(|it| it["resultType"] == "complete");
        assert_eq!(done.count(), 1, "{results:?}");
        assert_eq!(postgres.count("SELECT count(*) FROM t"), 1 + round);
    }
}

#[test]
fn a_server_asks_again_after_a_restart() {
    let postgres = table();
    let home = home(&postgres);
    let confirmed = {
        let (_program, client) = home.serve(&["-no-auth"]);
        let confirmed = yes(&send(&client, INSERT, &json!({})));
        assert_done(&send(&client, INSERT, &confirmed));
        confirmed
    };
    let (_program, client) = home.serve(&["-no-auth"]);
    let asked = send(&client, INSERT, &confirmed);
    assert_eq!(postgres.count("SELECT count(*) FROM t"), 2);
    assert_done(&send(&client, INSERT, &yes(&asked)));
    assert_eq!(postgres.count("SELECT count(*) FROM t"), 3);
}

#[test]
fn of_all_replicas_one_accepts_a_confirmation() {
    let (state, postgres) = (Postgres::new(), table());
    let homes = [(); 2].map(|()| {
        let mut home = home(&postgres);
        home.replace(&home.tokens(), &records::tokens(&[]));
        let alice = records::user("alice", &[]);
        home.replace(&home.users(), &records::users(&[alice]));
        home.set("ZIGGURAT_STATE_URL", state.url());
        home
    });
    let [(_one, first), (_two, second)] = homes.each_ref().map(|home| home.serve(&[]));
    let first = first.logged_in("alice", PASSWORD);
    let second = first.at(&second);
    for round in 1..=5 {
        let confirmed = yes(&send(&first, INSERT, &json!({})));
        let results: Vec<_> = thread::scope(|scope| {
            let sending = [&first, &second, &first, &second]
                .map(|client| scope.spawn(|| send(client, INSERT, &confirmed)));
            let results = sending.into_iter().map(|one| one.join().expect("answered"));
            results.collect()
        });
        let done = results.iter().filter(|it| it["resultType"] == "complete");
        assert_eq!(done.count(), 1, "{results:?}");
        assert_eq!(postgres.count("SELECT count(*) FROM t"), 1 + round);
    }
    // If the state cannot be checked, the confirmation is not accepted.
    let confirmed = yes(&send(&second, INSERT, &json!({})));
    state.run("ALTER TABLE ziggurat.spent RENAME TO gone");
    let failed = send(&second, INSERT, &confirmed);
    assert_eq!(failed["isError"], true, "{failed}");
    assert_eq!(postgres.count("SELECT count(*) FROM t"), 6);
    state.run("ALTER TABLE ziggurat.gone RENAME TO spent");
    assert_done(&send(&second, INSERT, &confirmed));
}

#[test]
fn a_query_that_writes_by_a_function_is_confirmed_like_any_other_write() {
    let postgres = Postgres::with(
        "CREATE TABLE t AS SELECT 1 AS n; CREATE SEQUENCE numbers;
         CREATE FUNCTION wipe() RETURNS int LANGUAGE sql AS 'DELETE FROM t; SELECT 1'",
    );
    let home = home(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let state = || {
        postgres.count(
            "SELECT 100 * (SELECT count(*) FROM t) + 10 * (SELECT count(*) FROM
             pg_largeobject_metadata) + (SELECT last_value FROM numbers)",
        )
    };
    for (sql, expected) in [
        ("SELECT wipe()", 1),
        ("EXPLAIN ANALYZE SELECT wipe()", 1),
        ("SELECT setval('numbers', 7)", 107),
        ("SELECT lo_create(0)", 111),
    ] {
        postgres.run(
            "TRUNCATE t; INSERT INTO t VALUES (1); SELECT setval('numbers', 1);
             SELECT lo_unlink(oid) FROM pg_largeobject_metadata",
        );
        assert_eq!(state(), 101);
        let asked = send(&client, sql, &json!({}));
        let question = message(&asked);
        assert!(question.starts_with("May this statement"), "{question}");
        assert!(question.ends_with(sql), "{question}");
        assert_eq!(state(), 101, "{sql}");
        assert_done(&send(&client, sql, &yes(&asked)));
        assert_eq!(state(), expected, "{sql}");
    }
    assert_done(&send(&client, "SELECT count(*) FROM t", &json!({})));
    // A client that cannot ask its user is taken at its word, as for other writes.
    let arguments = json!({"query": "SELECT wipe()"});
    let (text, is_error) = client.tool("query_database", &arguments);
    assert!(!is_error, "{text}");
    assert_eq!(state() / 100, 0);
}

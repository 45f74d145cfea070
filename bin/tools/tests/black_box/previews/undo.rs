//! Statements that undo a committed change.

use super::*;

/// Commits a statement, and returns its last line.
fn commit(shop: &Shop, sql: &str, more: &Value) -> Value {
    let mut members = more.clone();
    members["confirm"] = demand(&shop.client, sql)["confirm"].clone();
    done(&ask(&shop.client, sql, &members))
}

fn rows(shop: &Shop) -> i64 {
    let sql = "SELECT (SELECT count(*) FROM orders WHERE status IN ('open', 'late')) * 10 \
               + (SELECT count(ord) FROM line)";
    shop.postgres.count(sql)
}

#[test]
fn a_committed_change_is_undone_by_the_statement_that_comes_with_it() {
    let shop = Shop::new("mode: offer");
    assert_eq!(rows(&shop), 21);
    let update = "UPDATE orders SET status = 'it''s done'; DELETE FROM line";
    for sql in [DELETE, update, "SELECT wipe()"] {
        let done = commit(&shop, sql, &json!({"undo": true}));
        assert_ne!(rows(&shop), 21, "{sql}");
        let undo = done["undo"].as_str();
        let undo = undo.unwrap_or_else(|| panic!("{sql}: {done}"));
        commit(&shop, undo, &json!({}));
        assert_eq!(rows(&shop), 21, "{sql}: {undo}");
    }
    let done = commit(&shop, DELETE, &json!({}));
    assert_eq!((done.get("undo"), done.get("reason")), (None, None));
}

#[test]
fn a_change_since_makes_the_statement_fail() {
    let shop = Shop::new("mode: offer");
    let sql = "UPDATE orders SET status = 'new'";
    let done = commit(&shop, sql, &json!({"undo": true}));
    let undo = done["undo"].as_str().expect("a statement");
    shop.postgres
        .run("UPDATE orders SET customer = 5 WHERE id = 8");
    let answer = ask(&shop.client, undo, &json!({}));
    assert!(answer.body.contains("22012"), "{answer:?}");
    let count = "SELECT count(*) FROM orders WHERE status = 'new'";
    assert_eq!(shop.postgres.count(count), 2);
}

#[test]
fn without_a_statement_there_is_a_reason() {
    let shop = Shop::new("mode: offer");
    shop.postgres.run("CREATE TABLE bare (n int)");
    for (sql, reason) in [
        (
            "INSERT INTO bare VALUES (1)",
            "public.bare has no primary key",
        ),
        ("CREATE TABLE more (n int)", "the statement had no preview"),
        ("DELETE FROM bare WHERE n = 7", "no row was changed"),
    ] {
        let done = commit(&shop, sql, &json!({"undo": true}));
        let expected = format!("There is no undo script: {reason}.");
        assert_eq!(
            (&done["undo"], &done["reason"]),
            (&json!(null), &json!(expected)),
            "{sql}"
        );
        assert!(
            done.as_object().expect("members").contains_key("undo"),
            "{done}"
        );
    }
}

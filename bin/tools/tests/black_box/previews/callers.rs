//! Tests of previews of several callers.

use super::*;
use crate::support::{records, records::PASSWORD};

/// Starts a server for alice and bob, with this text behind the entry of a database.
fn served(home: &Home, entries: &str) -> (Program, [Client; 2]) {
    home.configure(&format!("databases:\n{entries}"));
    let users = ["alice", "bob"].map(|name| records::user(name, &[]));
    home.replace(&home.users(), &records::users(&users));
    home.replace(&home.tokens(), &records::tokens(&[]));
    let (program, stranger) = home.serve(&[]);
    let clients = ["alice", "bob"].map(|name| stranger.logged_in(name, PASSWORD));
    (program, clients)
}

#[test]
fn a_seal_holds_for_one_caller_and_one_database() {
    let postgres = Postgres::with(SHOP);
    let home = Home::new();
    let entries = ["shop", "two"].map(|name| {
        let entry = postgres.entry(name);
        format!("{entry}    allow_writes: true\n    preview: {{mode: require}}\n")
    });
    let (_program, [alice, bob]) = served(&home, &entries.concat());
    let more = json!({"database": "shop"});
    let confirm = ask(&alice, DELETE, &more).json()["confirm"].clone();
    for (client, database) in [(&bob, "shop"), (&alice, "two")] {
        let more = json!({"database": database, "confirm": confirm});
        let answer = ask(client, DELETE, &more);
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (409, &json!("confirm"))
        );
    }
    assert_eq!(postgres.count("SELECT count(*) FROM orders"), 2);
    done(&ask(
        &alice,
        DELETE,
        &json!({"database": "shop", "confirm": confirm}),
    ));
    assert_eq!(postgres.count("SELECT count(*) FROM orders"), 1);
}

#[test]
fn a_caller_with_a_role_sees_only_changes_of_rows_of_that_role() {
    let mut postgres = Postgres::with(
        "CREATE TABLE orders (id int PRIMARY KEY, owner name, note text);
         ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
         CREATE POLICY own ON orders USING (owner = current_user);
         GRANT SELECT, UPDATE ON orders TO PUBLIC;
         REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC",
    );
    let [one, two, login] = [(); 3].map(|()| postgres.role());
    postgres.run(&format!(
        "INSERT INTO orders VALUES (1, '{one}', 'red'), (2, '{two}', 'blue');
         ALTER ROLE \"{login}\" NOINHERIT; GRANT \"{one}\", \"{two}\" TO \"{login}\""
    ));
    let home = Home::new();
    let entry = postgres.entry_as("shop", &login);
    let (_program, [alice, bob]) = served(
        &home,
        &format!(
            "{entry}    allow_writes: true\n    preview: {{mode: require}}\n    identity:\n      \
             mode: set_role\n      roles:\n      - {{user: alice, role: {one}}}\n      \
             - {{user: bob, role: {two}}}\n"
        ),
    );
    let sql = "UPDATE orders SET note = 'x'";
    let answer = ask(&alice, sql, &json!({}));
    assert_eq!(answer.status, 409, "{answer:?}");
    assert!(
        answer.body.contains("red") && !answer.body.contains("blue"),
        "{answer:?}"
    );
    let confirm = answer.json()["confirm"].clone();
    assert_eq!(ask(&bob, sql, &json!({"confirm": confirm})).status, 409);
    done(&ask(&alice, sql, &json!({"confirm": confirm})));
    let left = "SELECT count(*) FROM orders WHERE note = 'blue'";
    assert_eq!(postgres.count(left), 1);
}

//! Tests of previews of several callers.

use ziggurat_black_box::within_a_day;

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

const OWNED: &str = "
    CREATE TABLE orders (id int PRIMARY KEY, owner name, note text);
    ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON orders USING (owner = current_user);
    GRANT SELECT, UPDATE ON orders TO PUBLIC;
    REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC";

/// Makes two roles with a row each, and a role that may be both of them.
fn roles(postgres: &mut Postgres) -> [String; 3] {
    let [one, two, login] = [(); 3].map(|()| postgres.role());
    postgres.run(&format!(
        "INSERT INTO orders VALUES (1, '{one}', 'red'), (2, '{two}', 'blue');
         ALTER ROLE \"{login}\" NOINHERIT; GRANT \"{one}\", \"{two}\" TO \"{login}\""
    ));
    [one, two, login]
}

/// Writes the entry of a database in which alice and bob have roles.
fn entry(postgres: &Postgres, login: &str, [alice, bob]: [&str; 2]) -> String {
    let entry = postgres.entry_as("shop", login);
    format!(
        "{entry}    allow_writes: true\n    preview: {{mode: require}}\n    identity:\n      mode: \
         set_role\n      roles:\n      - {{user: alice, role: {alice}}}\n      - {{user: bob, role: \
         {bob}}}\n"
    )
}

#[test]
fn a_caller_with_a_role_sees_only_changes_of_rows_of_that_role() {
    let mut postgres = Postgres::with(OWNED);
    let [one, two, login] = roles(&mut postgres);
    let home = Home::new();
    let (_program, [alice, bob]) = served(&home, &entry(&postgres, &login, [&one, &two]));
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

#[test]
fn a_seal_does_not_hold_for_another_role_of_the_same_caller() {
    let mut postgres = Postgres::with(OWNED);
    let [one, two, login] = roles(&mut postgres);
    let home = Home::new();
    let (program, [alice, _]) = served(&home, &entry(&postgres, &login, [&one, &two]));
    let sql = "UPDATE orders SET note = 'x'";
    let confirm = ask(&alice, sql, &json!({})).json()["confirm"].clone();
    program.until_it_says("configuration reloaded from", || {
        let entry = entry(&postgres, &login, [&two, &two]);
        home.configure(&format!("databases:\n{entry}"));
        program.signal(Signal::HUP);
    });
    let answer = ask(&alice, sql, &json!({"confirm": confirm}));
    let found = (answer.status, &answer.json()["code"]);
    assert_eq!(found, (409, &json!("confirm")), "{answer:?}");
    assert!(answer.body.contains("blue"), "{answer:?}");
}

#[test]
fn shown_rows_count_for_the_limits_of_a_caller() {
    within_a_day(|| {
        let postgres = Postgres::with(SHOP);
        let home = Home::new();
        let entry = postgres.entry("shop");
        let (_program, [alice, _]) = served(
            &home,
            &format!(
                "{entry}    allow_writes: true\n    preview: {{mode: require}}\nlimits:\n  callers:\n  \
                 - {{for: {{users: [alice]}}, rows_per_day: 3}}\n"
            ),
        );
        let statuses = [(); 3].map(|()| ask(&alice, DELETE, &json!({})).status);
        assert_eq!(statuses, [409, 409, 429]);
    });
}

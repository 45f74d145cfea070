//! Tests of the administration of databases.

use serde_json::{Value, json};

use super::{Server, TOKEN, check, serve, serve_in};
use crate::support::{Client, Home, Postgres, records::PASSWORD, until};

const PATH: &str = "/api/admin/databases";

const DEFINITIONS: &str = "
tools:
- {name: bad, description: D, database: weak, statement: SELECT nothing FROM people}
- {name: other, description: D, database: main, statement: SELECT nothing FROM people}
";

fn serve_with(postgres: &mut Postgres) -> Server {
    postgres.run(
        "CREATE TABLE people (id int) PARTITION BY RANGE (id);
         CREATE TABLE people_1 PARTITION OF people FOR VALUES FROM (1) TO (10)",
    );
    let role = postgres.role();
    let home = Home::new();
    std::fs::write(home.file("own.yaml"), DEFINITIONS).expect("written");
    let away = "  - {name: away, host: 127.0.0.1, port: 1, user: reader, password: swordfish, \
                available_to_users: [bob], allow_dangerous_functions: true}\n";
    let configuration = format!(
        "databases:\n{}{}{away}custom_definitions_path: own.yaml\n",
        postgres.entry("main"),
        postgres.entry_as("weak", &role),
    );
    serve_in(home, &configuration, &[])
}

fn listed(client: &Client) -> Vec<Value> {
    let answer = client.get(PATH);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(!answer.body.contains("swordfish"), "{answer:?}");
    answer.json()["databases"]
        .as_array()
        .expect("a list")
        .clone()
}

/// Tests a database, also if another test has just ended.
fn test(client: &Client, name: &str) -> Value {
    let path = format!("{PATH}/{name}/test");
    let mut result = Value::Null;
    until("a test may begin", || {
        let answer = client.post(&path, "");
        if answer.status == 429 {
            return false;
        }
        assert_eq!(answer.status, 200, "{answer:?}");
        result = answer.json();
        true
    });
    result
}

#[test]
fn all_databases_are_listed_with_their_state() {
    let mut postgres = Postgres::new();
    let server = serve_with(&mut postgres);
    let ada = server.client.logged_in("ada", PASSWORD);
    until("each is checked", || {
        listed(&ada).iter().all(|it| it["checked_at"].is_string())
    });
    until("tables are known", || !listed(&ada)[0]["tables"].is_null());
    let all = listed(&ada);
    let (main, away) = (&all[0], &all[2]);
    assert_eq!(
        (&main["name"], &main["status"]),
        (&json!("main"), &json!("ready"))
    );
    assert_eq!(main["tables"], 1);
    assert!(
        main["version"]
            .as_str()
            .is_some_and(|it| it.starts_with(|first: char| first.is_ascii_digit()))
    );
    let limit = main["connections"]["limit"].as_u64().expect("a number");
    assert!(limit > 0);
    let expected = json!({
        "name": "away",
        "host": "127.0.0.1",
        "port": 1,
        "database": away["database"],
        "user": "reader",
        "sslmode": "prefer",
        "allow_writes": false,
        "allow_dangerous_functions": true,
        "available_to_users": ["bob"],
        "available_to_clients": [],
        "status": "unreachable",
        "checked_at": away["checked_at"],
        "version": null,
        "tables": null,
        "connections": {"in_use": 0, "idle": 0, "waiting": 0, "limit": limit},
    });
    assert_eq!(*away, expected);
    ada.query("SELECT 1");
    until("a connection is kept", || {
        listed(&ada)[0]["connections"]["idle"] == 1
    });
}

#[test]
fn a_test_tells_what_the_role_may_do() {
    let mut postgres = Postgres::new();
    let server = serve_with(&mut postgres);
    let ada = server.client.logged_in("ada", PASSWORD);
    let main = test(&ada, "main");
    assert_eq!((&main["ok"], &main["error"]), (&json!(true), &json!(null)));
    assert_eq!(main["standby"], false);
    let role = json!({"superuser": true, "may_write": true, "bypasses_row_security": true});
    assert_eq!(main["role"], role);
    let warnings = main["warnings"].as_array().expect("a list");
    assert!(
        warnings[0]
            .as_str()
            .is_some_and(|it| it.contains("superuser")),
        "{warnings:?}"
    );
    let extensions = main["extensions"].as_array().expect("a list");
    assert!(
        extensions
            .iter()
            .any(|it| it["name"] == "plpgsql" && it["version"].is_string())
    );

    // Until PostgreSQL 14 every role may create tables in the schema public.
    postgres.run("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    let weak = test(&ada, "weak");
    let role = json!({"superuser": false, "may_write": false, "bypasses_row_security": false});
    assert_eq!(weak["role"], role, "{weak}");
    let warnings = weak["warnings"].as_array().expect("a list");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let bad = "own.yaml:3: tool 'bad' cannot run: ";
    assert!(
        warnings[0].as_str().is_some_and(|it| it.starts_with(bad)),
        "{warnings:?}"
    );

    let name = postgres.name().to_owned();
    postgres.run(&format!("GRANT UPDATE (id) ON people TO \"{name}_0\""));
    assert_eq!(test(&ada, "weak")["role"]["may_write"], true);
}

#[test]
fn a_test_that_fails_is_an_answer_without_secrets() {
    let mut postgres = Postgres::new();
    let server = serve_with(&mut postgres);
    let ada = server.client.logged_in("ada", PASSWORD);
    let away = test(&ada, "away");
    let expected = json!({
        "ok": false,
        "ms": away["ms"],
        "version": null,
        "tls": null,
        "standby": null,
        "role": null,
        "extensions": null,
        "warnings": [],
        "error": "connection refused",
    });
    assert_eq!(away, expected);
    let again = ada.post(&format!("{PATH}/away/test"), "");
    check(&again, 429, "too_many_requests");
    assert_eq!(again.header("retry-after"), Some("1"));
    check(
        &ada.post(&format!("{PATH}/other/test"), ""),
        404,
        "not_found",
    );
}

#[test]
fn other_callers_see_no_databases_of_administrators() {
    let server = serve("", &[]);
    let bob = server.client.logged_in("bob", PASSWORD);
    let one = format!("{PATH}/main/test");
    for client in [&bob, &server.client.bearing(TOKEN)] {
        check(&client.get(PATH), 403, "not_admin");
        check(&client.post(&one, ""), 403, "not_admin");
    }
    let open = serve("", &["-no-auth"]);
    assert_eq!(open.client.get(PATH).status, 404);
    assert_eq!(open.client.post(&one, "").status, 404);
}

//! Tests of several databases, of the permission to use them, and of connection URLs in the text of
//! a query.

use serde_json::{Value, json};

use crate::support::{Client, Home, Postgres, Transports};

fn two() -> (Postgres, Postgres) {
    (
        Postgres::with("CREATE TABLE here AS SELECT 'one' AS name"),
        Postgres::with("CREATE TABLE here AS SELECT 'two' AS name; CREATE VIEW v AS SELECT 1"),
    )
}

fn with_both(one: &Postgres, two: &Postgres) -> Home {
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}{}",
        one.entry("one"),
        two.entry("two")
    ));
    home
}

fn alone(one: &Postgres) -> Home {
    let home = Home::new();
    home.configure(&format!("databases:\n{}", one.entry("one")));
    home
}

/// Returns the name of the database that a client is connected to.
fn place(client: &Client) -> String {
    let text = client.query("SELECT name FROM here");
    let name = text.rsplit('\n').next().expect("a row").to_owned();
    assert!(text.starts_with(&format!("Database: {name}\n\n")), "{text}");
    name
}

fn selected(client: &Client, name: &str) -> Value {
    client.call("svc/selectDatabase", &json!({"name": name}))["result"].clone()
}

fn names(client: &Client) -> (Vec<String>, String) {
    let answer = client.call("svc/listDatabases", &json!({}));
    let list = answer["result"]["databases"].as_array().expect("a list");
    let names = list
        .iter()
        .map(|entry| entry["name"].as_str().expect("a text").to_owned());
    let current = answer["result"]["current"].as_str().expect("a text");
    (names.collect(), current.to_owned())
}

fn chosen(name: &str) -> Value {
    json!({"success": true, "current": name, "message": "Database selected successfully"})
}

fn refused(error: &str) -> Value {
    json!({"success": false, "error": error})
}

#[test]
fn the_databases_are_listed_and_one_is_selected() {
    let (one, two) = two();
    let mut transports = Transports::open(with_both(&one, &two));
    let entry = |name: &str, postgres: &Postgres| {
        let [host, port, database, user, _] = postgres.environment().map(|(_, value)| value);
        json!({"name": name, "host": host, "port": port.parse::<u16>().expect("a port"),
            "database": database, "user": user, "sslmode": "prefer", "allow_writes": false})
    };
    let list = |current: &str| json!({"databases": [entry("one", &one), entry("two", &two)], "current": current});
    for params in [json!({}), json!(null)] {
        let answer = transports.call("svc/listDatabases", &params);
        assert_eq!(answer["result"], list("one"));
    }
    let where_am_i = json!({"query": "SELECT name FROM here"});
    let text = transports.succeed("query_database", &where_am_i);
    assert!(text.starts_with("Database: one\n\n") && text.ends_with("name\none"));

    let answer = transports.call("svc/selectDatabase", &json!({"name": "two"}));
    assert_eq!(answer["result"], chosen("two"));
    let answer = transports.call("svc/listDatabases", &json!({}));
    assert_eq!(answer["result"], list("two"));
    let text = transports.succeed("query_database", &where_am_i);
    assert!(text.starts_with("Database: two\n\n") && text.ends_with("name\ntwo"));
    let text = transports.succeed("get_schema_info", &json!({"compact": true}));
    assert!(text.contains("public\tv\tVIEW\t"), "{text}");
    let answer = transports.call("resources/read", &json!({"uri": "pg://system_info"}));
    let text = answer["result"]["contents"][0]["text"]
        .as_str()
        .expect("a text");
    assert!(text.contains(two.name()), "{text}");

    // A failed selection changes nothing.
    let answer = transports.call("svc/selectDatabase", &json!({"name": "three"}));
    assert_eq!(answer["result"], refused("Database not found"));
    for params in [
        json!({}),
        json!({"name": ""}),
        json!({"name": 7}),
        json!({"name": null}),
    ] {
        let answer = transports.call("svc/selectDatabase", &params);
        assert_eq!(
            answer["error"],
            json!({"code": -32602, "message": "Invalid params",
                "data": "database name is required"}),
            "{params}"
        );
    }
    let answer = transports.call("svc/listDatabases", &json!({}));
    assert_eq!(answer["result"], list("two"));
}

#[test]
fn a_token_is_bound_to_its_database() {
    let (one, two) = two();
    let home = with_both(&one, &two);
    let tokens = ["one", "two"].map(|name| home.token(name));
    let (_program, stranger) = home.serve(&[]);
    let [first, second] = tokens.map(|token| stranger.bearing(&token));
    assert_eq!(names(&first), (vec!["one".to_owned()], "one".to_owned()));
    assert_eq!(names(&second), (vec!["two".to_owned()], "two".to_owned()));
    assert_eq!(
        (place(&first), place(&second)),
        ("one".into(), "two".into())
    );
    let bound = refused("API token is bound to a different database");
    assert_eq!(selected(&first, "two"), bound);
    assert_eq!(selected(&second, "one"), bound);
    assert_eq!(selected(&second, "three"), refused("Database not found"));
    assert_eq!(selected(&second, "two"), chosen("two"));
    assert_eq!(
        (place(&first), place(&second)),
        ("one".into(), "two".into())
    );
}

#[test]
fn a_session_of_a_user_has_its_own_selection() {
    let (one, two) = two();
    let home = Home::new();
    let own = Postgres::new();
    home.configure(&format!(
        "databases:\n{}{}{}    available_to_users: [bob]\n",
        one.entry("one"),
        two.entry("two"),
        own.entry("bobs"),
    ));
    home.token("one");
    home.user("alice", "correct horse");
    home.user("bob", "correct horse");
    let (_program, stranger) = home.serve(&[]);
    let alice = stranger.logged_in("alice", "correct horse");
    let again = stranger.logged_in("alice", "correct horse");
    let bob = stranger.logged_in("bob", "correct horse");
    let list = |names: &[&str]| {
        names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&alice), (list(&["one", "two"]), "one".to_owned()));
    assert_eq!(
        names(&bob),
        (list(&["one", "two", "bobs"]), "one".to_owned())
    );
    assert_eq!(selected(&alice, "two"), chosen("two"));
    assert_eq!(
        selected(&alice, "bobs"),
        refused("Access denied to this database")
    );
    assert_eq!(selected(&bob, "bobs"), chosen("bobs"));
    assert_eq!(place(&alice), "two");
    assert_eq!(place(&again), "one");
    assert_eq!(names(&bob).1, "bobs");
}

#[test]
fn a_token_does_not_share_its_connections() {
    let postgres = Postgres::new();
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\n    pool_max_conns: 1\n",
        postgres.entry("main")
    ));
    let tokens = [home.token("main"), home.token("main")];
    let (_program, stranger) = home.serve(&[]);
    let [one, two] = tokens.map(|token| stranger.bearing(&token));
    let process = "SELECT pg_backend_pid() AS process";
    let (first, other) = (one.query(process), two.query(process));
    assert_ne!(first, other);
    one.query("CREATE TEMP TABLE mine AS SELECT 7 AS n");
    one.query("SET my.word = 'hello'");
    for client in [&one, &two] {
        let question = json!({"query": "SELECT n FROM mine"});
        let (text, is_error) = client.tool("query_database", &question);
        assert!(is_error && text.contains("(SQLSTATE 42P01)"), "{text}");
        let question = "SELECT current_setting('my.word', true) AS word";
        assert!(client.query(question).ends_with("word\n"));
    }
    assert_eq!(one.query(process), first);
}

#[test]
fn a_query_may_contain_a_connection_url() {
    let (one, two) = two();
    let mut transports = Transports::open(alone(&one));
    let (url, shown) = (two.url(), two.shown_url());
    let cases = [
        (
            format!("SELECT name FROM here at {url}"),
            "SELECT name FROM here",
        ),
        (
            format!("SELECT name FROM here\nON\t{url} ;"),
            "SELECT name FROM here",
        ),
        (
            format!("For {url} SELECT name FROM here"),
            "SELECT name FROM here",
        ),
        (
            format!("SELECT name in {url} FROM here"),
            "SELECT name FROM here",
        ),
        (
            format!("database {url} SELECT name FROM here"),
            "SELECT name FROM here",
        ),
        (
            format!("DB {url}\nSELECT name FROM here"),
            "SELECT name FROM here",
        ),
    ];
    for (query, rest) in cases {
        let text = transports.succeed("query_database", &json!({"query": query}));
        let expected = format!(
            "Using connection: {shown}\n\nSQL Query:\n{rest}\n\nResults (1 rows):\nname\ntwo"
        );
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&text), squeezed(&expected), "{query}");
        assert!(text.starts_with(&format!("Using connection: {shown}\n\nSQL Query:\n")));
    }
    let text = transports.succeed("query_database", &json!({"query": format!(" at {url} ")}));
    assert_eq!(
        text,
        "Connection command executed successfully. No query to run."
    );
    // Errors show the connection, without the password.
    let query = format!("SELECT nope FROM here at {url}");
    let text = transports.fail("query_database", &json!({"query": query}));
    let expected = format!(
        "Using connection: {shown}\n\nSQL Query:\nSELECT nope FROM here\n\nError executing \
         query: ERROR: column \"nope\" does not exist (SQLSTATE 42703)"
    );
    assert!(text.starts_with(&expected), "{text}");
    let query = "SELECT 1 at postgres://me:hush-hush@127.0.0.1:1/x";
    let text = transports.fail("query_database", &json!({"query": query}));
    let expected = "Failed to connect to postgres://me:***@127.0.0.1:1/x";
    assert!(text.starts_with(expected), "{text}");
    assert!(!text.contains("hush-hush"), "{text}");
    // The connection is closed afterwards.
    two.wait_until(
        "(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND backend_type = 'client backend' AND pid <> pg_backend_pid()) = 0",
    );
}

#[test]
fn strings_and_comments_contain_no_connection_directives() {
    let (one, two) = two();
    let mut transports = Transports::open(alone(&one));
    let url = two.url();
    let cases = [
        format!("SELECT name, ' at {url}' AS url FROM here"),
        format!("SELECT name FROM here -- at {url}"),
        format!("SELECT name FROM here /* set default {url} */"),
        format!("SELECT name FROM here WHERE name <> $$ use database {url} $$"),
        format!("SELECT name AS \" switch to {url}\" FROM here"),
    ];
    for query in cases {
        let text = transports.succeed("query_database", &json!({"query": query}));
        assert!(text.starts_with("Database: one\n\n"), "{text}");
        let row = text.rsplit('\n').next().expect("a row");
        assert!(row.starts_with("one"), "{text}");
    }
    // Without a URL the words have no effect.
    let query = "ALTER TABLE here ALTER name SET DEFAULT 'x'";
    let text = transports.fail("query_database", &json!({"query": query}));
    assert!(text.contains("(SQLSTATE 25006)"), "{text}");
}

#[test]
fn a_query_may_change_the_default_database_of_its_session() {
    let (one, two) = two();
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\n",
        one.entry("one")
    ));
    let mut transports = Transports::open(home);
    let (url, shown) = (two.url(), two.shown_url());
    for phrase in ["set default", "please Use  Database:", "SWITCH TO"] {
        let query = format!("{phrase} {url}");
        let text = transports.succeed("query_database", &json!({"query": query}));
        assert_eq!(
            text,
            format!(
                "Successfully set default database connection to:\n{shown}\n\n\
                 Metadata loaded: 2 tables/views available."
            )
        );
    }
    let text = transports.succeed("query_database", &json!({"query": "SELECT name FROM here"}));
    assert!(
        text.starts_with(&format!("Database: {shown}\n\n")),
        "{text}"
    );
    assert!(text.ends_with("name\ntwo"), "{text}");
    let text = transports.succeed("get_schema_info", &json!({"compact": true}));
    assert!(text.contains("public\tv\tVIEW\t"), "{text}");
    // A database from a URL is read-only, even if the configured one allows writes.
    let query = "INSERT INTO here VALUES ('x')";
    let text = transports.fail("query_database", &json!({"query": query}));
    assert!(text.contains("(SQLSTATE 25006)"), "{text}");
    // A database that cannot be reached is not selected.
    let query = "set default postgres://me:hush-hush@127.0.0.1:1/x";
    let text = transports.fail("query_database", &json!({"query": query}));
    let expected = "Failed to set default connection to postgres://me:***@127.0.0.1:1/x";
    assert!(
        text.starts_with(expected) && !text.contains("hush-hush"),
        "{text}"
    );
    let text = transports.succeed("query_database", &json!({"query": "SELECT name FROM here"}));
    assert!(text.ends_with("name\ntwo"), "{text}");
    // The configured database can be selected again.
    let answer = transports.call("svc/selectDatabase", &json!({"name": "one"}));
    assert_eq!(answer["result"], chosen("one"));
    let text = transports.succeed("query_database", &json!({"query": "SELECT name FROM here"}));
    assert!(text.ends_with("name\none"), "{text}");
}

#[test]
fn a_connection_url_gets_no_password_of_the_server() {
    let postgres = Postgres::new();
    let mut home = Home::with(&postgres);
    for (name, value) in postgres.environment() {
        home.set(name, value);
    }
    let [host, port, database, user, password] = postgres.environment().map(|(_, value)| value);
    std::fs::write(
        home.file(".pgpass"),
        format!("{host}:{port}:*:*:{password}\n"),
    )
    .expect("written");
    let mut transports = Transports::open(home);
    for url in [
        format!("postgres://{user}@{host}:{port}/{database}"),
        format!("postgres://{user}:@{host}:{port}/{database}"),
    ] {
        let query = format!("SELECT 1 at {url}");
        let text = transports.fail("query_database", &json!({"query": query}));
        assert!(
            text.starts_with("Failed to connect to postgres://"),
            "{text}"
        );
    }
}

#[test]
fn callers_limited_to_certain_databases_cannot_use_connection_urls() {
    let (one, two) = two();
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}{}    available_to_users: [bob]\n",
        one.entry("one"),
        two.entry("two"),
    ));
    let token = home.token("one");
    home.user("alice", "correct horse");
    let (_program, stranger) = home.serve(&[]);
    let url = two.url();
    let callers = [
        stranger.bearing(&token),
        stranger.logged_in("alice", "correct horse"),
    ];
    let unused = Postgres::new().url();
    for client in &callers {
        for query in [
            format!("SELECT name FROM here at {url}"),
            format!("set default {url}"),
            format!("switch to {unused}"),
            format!("db {url} SELECT 1"),
        ] {
            let (text, is_error) = client.tool("query_database", &json!({"query": query}));
            assert!(
                is_error && text.starts_with("Failed to "),
                "{query}: {text}"
            );
            let (_, rest) = url.split_once(':').expect("a scheme");
            assert!(!text.contains(rest), "the password in {text}");
        }
        assert_eq!(place(client), "one");
    }
}

#[test]
fn an_operator_may_switch_connection_urls_off() {
    let (one, two) = two();
    let home = with_both(&one, &two);
    let yaml = std::fs::read_to_string(home.file("ziggurat-tools.yaml")).expect("configured");
    home.configure(&format!("{yaml}builtins: {{connection_urls: false}}\n"));
    let mut transports = Transports::open(home);
    let url = two.url();
    for query in [
        format!("SELECT name FROM here at {url}"),
        format!("set default {url}"),
    ] {
        let text = transports.fail("query_database", &json!({"query": query}));
        assert!(text.contains("switched off"), "{text}");
    }
    let text = transports.succeed("query_database", &json!({"query": "SELECT name FROM here"}));
    assert!(text.ends_with("name\none"), "{text}");
}

#[test]
fn a_url_may_name_configured_servers_unless_the_operator_lists_others() {
    let (one, two) = two();
    let yaml = format!("databases:\n{}", one.entry("one"));
    let listed = "builtins: {connection_urls: true, connection_url_hosts: [db.example]}\n";
    let strange = "SELECT 1 at postgres://me:hush-hush@db.example.invalid/x";
    let known = format!("SELECT name FROM here at {}", two.url());
    for (builtins, query, is_served) in [
        ("", strange, false),
        ("", &known, true),
        ("builtins: {connection_urls: auto}\n", strange, false),
        (listed, strange, false),
        (listed, &known, false),
        ("builtins: {connection_urls: true}\n", &known, true),
    ] {
        let home = Home::new();
        home.configure(&format!("{yaml}{builtins}"));
        let mut transports = Transports::open(home);
        let arguments = json!({"query": query});
        if is_served {
            let text = transports.succeed("query_database", &arguments);
            assert!(text.ends_with("name\ntwo"), "{builtins} {text}");
        } else {
            let text = transports.fail("query_database", &arguments);
            assert!(
                text.contains("is no host and port that"),
                "{builtins} {text}"
            );
        }
    }
}

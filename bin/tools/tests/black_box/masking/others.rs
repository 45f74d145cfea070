//! Texts of the statements of others beside masked columns: literals may be values.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    activity::send,
    masking::PEOPLE,
    revisions::result,
    support::{Client, Home, Postgres, Program, records, records::PASSWORD, until},
};

const MASKING: &str = "masking: {databases: {shop: [{column: public.person.ssn, mask: fixed}]}}\n";

/// A server with the administrator ada and the user bob, without masks at first.
struct Server {
    postgres: Postgres,
    home: Home,
    program: Program,
    client: Client,
}

impl Server {
    fn new(more: &str) -> Self {
        let postgres = Postgres::with(PEOPLE);
        let home = Home::new();
        home.configure(&configuration(&postgres, more));
        let users = [("ada", &["admin: true"][..]), ("bob", &[])];
        let users = users.map(|(name, more)| records::user(name, more));
        home.replace(&home.users(), &records::users(&users));
        home.replace(&home.tokens(), &records::tokens(&[]));
        let (program, client) = home.serve(&[]);
        Self {
            postgres,
            home,
            program,
            client,
        }
    }

    fn user(&self, name: &str) -> Client {
        self.client.logged_in(name, PASSWORD)
    }

    /// Reloads the configuration with these sections.
    fn reload(&self, more: &str) {
        self.home.configure(&configuration(&self.postgres, more));
        self.program.until_it_says("configuration reloaded", || {
            self.program.signal(Signal::HUP);
        });
    }
}

fn configuration(postgres: &Postgres, more: &str) -> String {
    let entry = postgres.entry("shop");
    format!("databases:\n{entry}    query_timeout: \"0\"\ndba: {{enabled: true}}\n{more}")
}

/// Returns the texts of the statements in a list, those that run and those that have ended.
fn texts(client: &Client, query: &str) -> Vec<String> {
    let listed = client.get(&format!("/api/activity{query}")).json();
    let lists =
        ["running", "finished"].map(|name| listed[name].as_array().expect("a list").clone());
    let texts = lists.concat().into_iter().map(|it| it["statement"].clone());
    texts
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect()
}

#[test]
fn literals_of_others_are_hidden_as_soon_as_columns_are_masked() {
    let server = Server::new("");
    let [ada, bob] = ["ada", "bob"].map(|name| server.user(name));
    let ended = "SELECT 'sec-ended', 7 FROM note";
    bob.query(ended);
    let sleeps = "SELECT pg_sleep(3600), 'sec-runs'";
    let body = json!({"sql": sleeps}).to_string();
    let _running = send(&bob, "POST", "/api/query", &body);
    server.postgres.wait_for_running("sec-runs", 1);
    let whole = vec![sleeps.to_owned(), ended.to_owned()];
    assert_eq!(texts(&ada, "?scope=all"), whole);
    server.reload(MASKING);
    let hidden = ["SELECT pg_sleep(?), ?", "SELECT ?, ? FROM note"];
    assert_eq!(texts(&ada, "?scope=all"), hidden);
    assert_eq!(texts(&bob, ""), whole, "its own texts");
    ada.query("SELECT 'own'");
    let all = texts(&ada, "?scope=all");
    assert!(all.contains(&"SELECT 'own'".to_owned()), "{all:?}");
    assert!(!all.concat().contains("sec-"), "{all:?}");
    server.reload("");
    assert!(texts(&ada, "?scope=all").contains(&sleeps.to_owned()));
}

#[test]
fn tools_for_administrators_show_statements_without_literals_beside_masks() {
    let server = Server::new("");
    let ada = server.user("ada");
    let _holder = server
        .postgres
        .holding("BEGIN; LOCK TABLE note; SELECT 'sec-held', $$sec-too$$");
    let waits = "SELECT 'sec-waits' FROM note";
    let body = json!({"sql": waits}).to_string();
    let _waiting = send(&server.user("bob"), "POST", "/api/query", &body);
    server.postgres.wait_until(
        "EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database \
         WHERE d.datname = current_database() AND NOT l.granted)",
    );
    let shown = |tool: &str| {
        let params = json!({"name": tool, "arguments": {}});
        let called: Value = result(&ada, "tools/call", &params);
        called.to_string()
    };
    for (masking, is_hidden) in [("", false), (MASKING, true)] {
        server.reload(masking);
        for tool in ["active_sessions", "lock_tree"] {
            let answer = shown(tool);
            assert_eq!(answer.contains("SELECT ?"), is_hidden, "{tool}: {answer}");
            assert_eq!(answer.contains("sec-"), !is_hidden, "{tool}: {answer}");
        }
        let health = shown("db_health");
        assert!(!health.contains("sec-"), "{health}");
    }
}

#[test]
fn audit_records_have_no_literals_beside_masks() {
    let audit = "audit: {file: audit.jsonl, statement: text}\n";
    let server = Server::new(audit);
    let bob = server.user("bob");
    let recorded = || fs::read_to_string(server.home.file("audit.jsonl")).unwrap_or_default();
    bob.query("SELECT 'open-1'");
    server.reload(&format!("{audit}{MASKING}"));
    bob.query("SELECT 'sec-1', id FROM note WHERE id = 17");
    bob.tool(
        "count_rows",
        &json!({"table": "person", "where": "name = 'sec-2'"}),
    );
    bob.post("/api/query", &json!({"sql": "SELECT 'sec-3'"}).to_string());
    until("recorded", || recorded().contains("SELECT ?\""));
    let trail = recorded();
    assert!(trail.contains("'open-1'"), "{trail}");
    assert!(
        trail.contains("SELECT ?, id FROM note WHERE id = ?"),
        "{trail}"
    );
    assert!(!trail.contains("sec-"), "{trail}");
}

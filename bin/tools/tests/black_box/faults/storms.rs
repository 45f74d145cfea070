//! Tests of many signals or calls at once.

use std::{collections::BTreeSet, fs};

use rustix::process::Signal;
use serde_json::json;

use super::{
    load::{during, until},
    scaled, wire,
};
use crate::support::{Home, Postgres};

#[test]
fn many_hangups_disturb_no_client_and_end_with_the_last_configuration() {
    let postgres = Postgres::new();
    let home = Home::new();
    let main = postgres.entry("main");
    let complete = format!("databases:\n{main}{}", postgres.entry("last"));
    home.configure(&complete);
    let [token, last] = [home.token("main"), home.token("last")];
    let (program, client) = home.serve(&[]);
    let call = |_| {
        let reply = wire::ask(client.address(), &token, &wire::query("SELECT 7 AS n"));
        let (text, is_error) = reply.expect("answered").said();
        assert!(!is_error && text.ends_with("n\n7"), "{text}");
    };
    let configure = |text: &str| {
        // Replaces the file in one step: the program may still be reading it after the previous
        // signal.
        let new = home.file("new.yaml");
        fs::write(&new, text).expect("written");
        fs::rename(new, home.file("ziggurat-tools.yaml")).expect("renamed");
        program.signal(Signal::HUP);
    };
    during(4, call, || {
        for round in 0..scaled(200) {
            // Every fifth file is invalid.
            configure(&match round % 5 {
                4 => "databases:\n  - name: [".to_owned(),
                _ => format!(
                    "databases:\n{main}{}",
                    postgres.entry(&format!("db{round}"))
                ),
            });
        }
        configure("databases: [");
        configure(&complete);
        until("the last configuration is in force", || {
            let reply = wire::ask(client.address(), &last, &wire::query("SELECT 8 AS n"));
            !reply.expect("answered").said().1
        });
    });
    assert!(!program.log().contains("panicked"), "{}", program.log());
}

#[test]
fn two_hundred_calls_at_once_over_standard_input_are_each_answered_once() {
    let calls = scaled(200);
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (_program, mut stdio) = home.stdio(&[]);
    let mut lines = String::new();
    for id in 0..calls {
        let arguments = json!({"query": format!("SELECT {id} AS n, pg_sleep(0.01)")});
        let params = json!({"name": "query_database", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        lines.push_str(&call.to_string());
        lines.push('\n');
    }
    stdio.send_bytes(lines.as_bytes());
    let mut answered = BTreeSet::new();
    for _ in 0..calls {
        let answer = stdio.receive();
        let id = answer["id"].as_u64().expect("an id of ours");
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("a text in {answer}"));
        assert!(text.ends_with(&format!("\n{id}\t")), "{id}: {text}");
        assert!(answered.insert(id), "{id} twice");
    }
    stdio.hang_up();
    assert!(stdio.is_over(), "nothing more");
}

//! Test of a flood of logins.

use std::{
    net::Ipv4Addr,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::{Duration, Instant},
};

use serde_json::json;

use super::{load::during, scaled, wire};
use crate::support::{Home, Postgres};

/// Time after which the attacker drops the connection and tries another password.
const IMPATIENCE: Duration = Duration::from_secs(1);

#[test]
fn a_flood_of_wrong_logins_from_many_addresses_does_not_block_other_clients() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let token = home.token("main");
    home.user("alice", "correct horse");
    let (_program, client) = home.serve(&[]);
    let sent = AtomicUsize::new(0);
    let flood = |_| {
        let call = sent.fetch_add(1, SeqCst);
        let name = if call.is_multiple_of(2) {
            "alice"
        } else {
            "nobody"
        };
        let arguments = json!({"username": name, "password": "wrong"});
        let body = wire::tool("authenticate_user", &arguments);
        // Systems other than Linux have only one loopback address.
        let host = u8::try_from(call % 200 + 2).expect("small");
        let source = Ipv4Addr::new(127, 0, 0, if cfg!(target_os = "linux") { host } else { 1 });
        let reply = wire::log_in_from(source, client.address(), &body, IMPATIENCE);
        if let Ok(reply) = reply {
            assert!(!reply.body.contains("session_token"), "{reply:?}");
            assert!([200, 429, 503].contains(&reply.status), "{reply:?}");
        }
    };
    during(32, flood, || {
        let begun = Instant::now();
        let mut slowest = Duration::ZERO;
        for call in 0..scaled(500) {
            let asked = Instant::now();
            let query = wire::query(&format!("SELECT {call} AS n"));
            let reply = wire::ask(client.address(), &token, &query).expect("answered");
            let (text, is_error) = reply.said();
            assert!(!is_error && text.ends_with(&format!("\n{call}")), "{text}");
            slowest = slowest.max(asked.elapsed());
        }
        println!(
            "{} calls in {:?}, the slowest {slowest:?}",
            scaled(500),
            begun.elapsed()
        );
    });
    println!("{} wrong logins", sent.load(SeqCst));
}

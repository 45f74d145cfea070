//! `query_database` on `/mcp`, which negotiates the revision, compared with `/mcp/v1`.
//!
//! The same call of the same statement: on `/mcp/v1`, on `/mcp` in the last revision with
//! `initialize`, and on `/mcp` in the newest, which names the revision in every request.

use std::{process::ExitCode, time::Duration};

use serde_json::json;
use ziggurat_benches::tools::{
    CONNECTIONS, Home, Load, Postgres, Report, median, modern, negotiated, post, query, thousands,
};

/// Turns of each.
const TURNS: usize = 9;

/// Length of a turn.
const TURN: Duration = Duration::from_secs(1);

/// Minimum rate of the newer revisions relative to `/mcp/v1`: they may cost a tenth.
const TARGET: f64 = 0.9;

fn main() -> ExitCode {
    let postgres = Postgres::with("SELECT 1");
    let home = Home::new(&postgres.entry(&format!("pool_max_conns: {CONNECTIONS}")));
    let token = home.token();
    let (program, address) = home.serve();
    let call = query("SELECT 1");
    let exact = post(&address, &token, &call);
    let endpoints = [
        ("2025-11-25 on /mcp", legacy(&address, &token, &call)),
        (
            "2026-07-28 on /mcp",
            modern(&address, &token, &call, json!({})),
        ),
    ];
    let mut load = Load::new(&address, CONNECTIONS, exact.clone());
    let mut report = Report::default();
    for (name, request) in endpoints {
        for request in [&exact, &request] {
            load.set_request(request.clone());
            let answer = load.once();
            assert!(answer.contains(" rows):"), "{answer}");
            load.rate(Duration::from_millis(300));
        }
        let mut ratios = Vec::new();
        for _ in 0..TURNS {
            let mut rate = |request: &Vec<u8>| {
                load.set_request(request.clone());
                let before = program.processor_time();
                let rate = load.rate(TURN);
                let spent = (program.processor_time() - before) / TURN.as_secs_f64() / rate * 1e6;
                (rate, spent)
            };
            let (theirs, spent_theirs) = rate(&exact);
            let (ours, spent) = rate(&request);
            ratios.push(ours / theirs);
            report.print(format_args!(
                "  {:>7}/s, {spent:.0} µs of processor time each; /mcp/v1 {:>7}/s, {spent_theirs:.0} µs",
                thousands(ours),
                thousands(theirs),
            ));
        }
        report.at_least(name, median(&ratios), TARGET, " of /mcp/v1");
    }
    report.exit_code()
}

fn legacy(address: &str, token: &str, call: &str) -> Vec<u8> {
    negotiated(address, token, "mcp-protocol-version: 2025-11-25\r\n", call)
}

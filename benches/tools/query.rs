//! `query_database` behind authentication, compared with pgbench on the same server in the same
//! run.
//!
//! pgbench makes the usual four round trips: begin, declare, fetch, commit. Both have 16
//! connections to PostgreSQL over TCP.

use std::{fmt::Write as _, process::ExitCode, time::Duration};

use ziggurat_benches::tools::{
    CONNECTIONS, Home, Load, Postgres, Report, WIDE, median, post, query as ask, thousands,
};

/// Turns with each statement: many and short, since the load of a machine changes over time.
const TURNS: usize = 21;

/// Seconds of a turn.
const SECONDS: u32 = 1;

/// Statements, and the ratio they must reach.
const CASES: [(&str, f64); 2] = [("SELECT 1", 1.0), ("SELECT * FROM wide", 0.6)];

fn main() -> ExitCode {
    let postgres = Postgres::with(WIDE);
    let home = Home::new(&postgres.entry(&format!("pool_max_conns: {CONNECTIONS}")));
    let token = home.token();
    let (program, address) = home.serve();
    let mut report = Report::default();
    let version = postgres.version();
    report.print(format_args!(
        "PostgreSQL {version}, {CONNECTIONS} connections"
    ));
    for (query, target) in CASES {
        let script = format!(
            "BEGIN READ ONLY;\nDECLARE c NO SCROLL CURSOR FOR {query};\n\
             FETCH FORWARD 101 FROM c;\nCOMMIT;\n"
        );
        let mut load = Load::new(&address, CONNECTIONS, post(&address, &token, &ask(query)));
        let answer = load.once();
        assert!(answer.contains(" rows):"), "{answer}");
        load.rate(Duration::from_millis(500));

        let mut ratios = Vec::new();
        let mut line = String::new();
        for _ in 0..TURNS {
            let theirs = postgres.pgbench(&script, CONNECTIONS, SECONDS);
            let before = program.processor_time();
            let ours = load.rate(Duration::from_secs(SECONDS.into()));
            let spent = (program.processor_time() - before) / f64::from(SECONDS) / ours * 1e6;
            ratios.push(ours / theirs);
            line.clear();
            write!(
                line,
                "  {:>7}/s, {spent:.0} µs of processor time each; pgbench {:>7}/s",
                thousands(ours),
                thousands(theirs),
            )
            .expect("a string takes everything");
            report.print(&line);
        }
        report.at_least(query, median(&ratios), target, " of pgbench");
    }
    let memory = program.memory();
    report.print(format_args!("memory after all that: {memory:.1} MiB"));
    report.exit_code()
}

//! `query_database` with a receipt for each answer, compared with the same calls without one.
//!
//! One server answers 64 callers in turns, with receipts and without. A number as an argument sets
//! the number of turns: `cargo bench -p ziggurat-benches --bench tools_receipt_rates -- 3`.

use std::{env, process::ExitCode, time::Duration};

use serde_json::json;
use ziggurat_benches::tools::{
    CONNECTIONS, Home, Load, Postgres, Report, WIDE, median, modern, query, thousands,
};
use ziggurat_receipts::make_key_file;

/// Callers at the same time.
const CALLERS: usize = 64;

/// Turns of each, unless an argument says otherwise.
const TURNS: usize = 20;

/// Length of a turn.
const TURN: Duration = Duration::from_secs(1);

/// Rate with receipts relative to the rate without.
const TARGET: f64 = 0.95;

const WIDE_ROWS: &str = "SELECT * FROM wide";

/// Takes PostgreSQL about a millisecond.
const COUNT: &str = "SELECT count(*) FROM generate_series(1, 10000)";

/// Names, the key `snapshot`, statements, and the ratios they must reach. PostgreSQL alone loses more
/// than a tenth where a snapshot is added to `SELECT 1`, so that figure is only reported.
const CASES: [(&str, bool, &str, f64); 5] = [
    ("100 rows", true, WIDE_ROWS, TARGET),
    ("100 rows, no snapshot", false, WIDE_ROWS, TARGET),
    ("a count of 10,000", true, COUNT, TARGET),
    ("SELECT 1", true, "SELECT 1", 0.0),
    ("SELECT 1, no snapshot", false, "SELECT 1", TARGET),
];

fn main() -> ExitCode {
    let turns = env::args().find_map(|word| word.parse().ok());
    let postgres = Postgres::with(WIDE);
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key.pem");
    make_key_file(&key).expect("a key");
    let databases = postgres.entry(&format!("pool_max_conns: {CONNECTIONS}"));
    let mut report = Report::default();
    for (name, snapshot, text, target) in CASES {
        let section = json!({"key_file": key, "snapshot": snapshot});
        let home = Home::new(&format!("{databases}receipts: {section}\n"));
        let token = home.token();
        let (program, address) = home.serve();
        let [plain, asking] = [json!({}), json!({"ziggurat/receipt": true})]
            .map(|meta| modern(&address, &token, &query(text), meta));
        let mut load = Load::new(&address, CALLERS, plain.clone());
        for (request, has_receipt) in [(&plain, false), (&asking, true)] {
            load.set_request(request.clone());
            let answer = load.once();
            assert_eq!(answer.contains("signature"), has_receipt, "{answer}");
            load.rate(TURN);
        }
        let mut pairs = Vec::new();
        for _ in 0..turns.unwrap_or(TURNS) {
            let pair = [&plain, &asking].map(|request| {
                load.set_request(request.clone());
                let before = program.processor_time();
                let rate = load.rate(TURN);
                let spent = program.processor_time() - before;
                (rate, spent / TURN.as_secs_f64() / rate * 1e6)
            });
            pairs.push(pair);
        }
        let of = |figure: fn(&[(f64, f64); 2]) -> f64| {
            median(&pairs.iter().map(figure).collect::<Vec<_>>())
        };
        report.print(format_args!(
            "  {:>7}/s, {:.1} µs of processor time each; without {:>7}/s, {:.1} µs",
            thousands(of(|[_, ours]| ours.0)),
            of(|[_, ours]| ours.1),
            thousands(of(|[plain, _]| plain.0)),
            of(|[plain, _]| plain.1),
        ));
        let ratio = of(|[plain, ours]| ours.0 / plain.0);
        report.at_least(name, ratio, target, " of the rate without receipts");
    }
    report.exit_code()
}

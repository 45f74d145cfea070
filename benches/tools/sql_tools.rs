//! A tool of the operator's own, compared with `query_database` and the same statement, in turns on
//! the same server.
//!
//! All take one write to PostgreSQL. With a parameter the tool binds its value, which takes more
//! messages; `query_database` gets the value in the text.

use std::{fs, process::ExitCode, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use ziggurat_benches::tools::{
    CONNECTIONS, Home, Load, Postgres, Report, median, post, query, thousands, tool,
};

/// Turns with each: many and short, since the load of a machine changes over time.
const TURNS: usize = 21;

/// Length of a turn.
const TURN: Duration = Duration::from_secs(1);

/// Ratio that each tool must reach.
const TARGET: f64 = 0.8;

const DEFINITIONS: &str = "tools:
- {name: one, description: One, statement: SELECT 1}
- name: item
  description: An item
  statement: SELECT name, price FROM item WHERE id = :id
  parameters: [{name: id, type: integer}]
";

const TABLE: &str = "CREATE TABLE item (id bigint PRIMARY KEY, name text, price numeric);
    INSERT INTO item SELECT n, 'item ' || n, n * 1.25 FROM generate_series(1, 1000) AS n;
    ANALYZE item";

fn main() -> ExitCode {
    let postgres = Postgres::with(TABLE);
    let folder = TempDir::new().expect("a folder");
    let definitions = folder.path().join("definitions.yaml");
    fs::write(&definitions, DEFINITIONS).expect("written");
    let entry = postgres.entry(&format!("pool_max_conns: {CONNECTIONS}"));
    let path = definitions.display();
    let home = Home::new(&format!("custom_definitions_path: {path}\n{entry}"));
    let token = home.token();
    let (_program, address) = home.serve();
    let mut report = Report::default();
    let cases: [(&str, Value, &str); 2] = [
        ("one", json!({}), "SELECT 1"),
        (
            "item",
            json!({"id": 500}),
            "SELECT name, price FROM item WHERE id = 500",
        ),
    ];
    for (name, arguments, statement) in cases {
        let load = |call: &str| Load::new(&address, CONNECTIONS, post(&address, &token, call));
        let (mut ours, mut theirs) = (load(&tool(name, &arguments)), load(&query(statement)));
        for load in [&mut ours, &mut theirs] {
            let answer = load.once();
            assert!(answer.contains("(1 rows):"), "{answer}");
            load.rate(TURN / 2);
        }
        let mut ratios = Vec::new();
        for _ in 0..TURNS {
            let (query, own) = (theirs.rate(TURN), ours.rate(TURN));
            ratios.push(own / query);
            report.print(format_args!(
                "  {:>7}/s; query_database {:>7}/s",
                thousands(own),
                thousands(query)
            ));
        }
        let unit = " of query_database";
        report.at_least(statement, median(&ratios), TARGET, unit);
    }
    report.exit_code()
}

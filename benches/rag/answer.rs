//! Time that the server adds to an answer, at 500 requests a second, without citations and details
//! of the answer, and with both.
//!
//! Provider `local` makes vectors and answers inside the server, so no time of an external provider
//! is included. The same search is sent to PostgreSQL directly, just before and at the same rate.
//! The difference is the server's time, including its share of the busy machine.
//!
//! The statement of the server for a question is recorded, and sent by pgbench in turns with the plain
//! statement: that compares the processor time of PostgreSQL for both.

use std::{
    net::TcpStream,
    process::ExitCode,
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use tokio::runtime::Runtime;
use ziggurat_benches::{
    rag::Answers,
    tools::{Postgres, Report, exchange, median, send},
};
use ziggurat_llm::Embedder;

const RATE: u32 = 500;
const CLIENTS: u32 = 20;
const SECONDS: u32 = 10;

/// Number and seconds of the turns in which pgbench sends statements.
const TURNS: usize = 31;
const TURN: u32 = 1;

const TABLE: &str = "CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE page (id int PRIMARY KEY, body text NOT NULL, body_embedding vector(256));
    INSERT INTO page SELECT n, repeat('wool is washed by hand, page ' || n || '. ', 10),
        (SELECT array_agg(random() - 0.5)::vector FROM generate_series(1, 256) WHERE n > 0)
        FROM generate_series(1, 2000) AS n;
    CREATE INDEX ON page USING hnsw (body_embedding vector_cosine_ops); ANALYZE page;";

const TEXT: &str = "How is wool washed by hand?";

fn main() -> ExitCode {
    let postgres = Postgres::with(TABLE);
    let settings =
        "  rag_llm: {provider: local}\n  allow_include_sources: true\n  allow_debug: true\n";
    let server = Answers::serve(&postgres, settings);
    let plain = question(&server.address, "");
    let checked = question(&server.address, r#","citations":true,"debug":true"#);
    let mut report = Report::default();
    report.print(format_args!(
        "PostgreSQL {}, {RATE} requests a second",
        postgres.version()
    ));
    // One warm-up run, so that both have their data in memory.
    ask(&server.address, &plain, 1);
    let mut bare = postgres.times(&vec![search(); 1000]);
    for (request, kind, targets) in [
        (&plain, "the server's own time", [1.0, 3.0]),
        (
            &checked,
            "its own time with citations and debug",
            [1.5, 4.5],
        ),
    ] {
        let mut whole = ask(&server.address, request, RATE * SECONDS / CLIENTS);
        for ((name, at), target) in [("p50", 50), ("p99", 99)].into_iter().zip(targets) {
            let (whole, bare) = (percentile(&mut whole, at), percentile(&mut bare, at));
            report.print(format_args!(
                "{name}: {whole:.2} ms, PostgreSQL alone {bare:.2} ms"
            ));
            let what = format!("{name} of {kind}");
            report.less_than(&what, whole - bare, target, " ms");
        }
    }
    drop(server);
    let (ours, bare) = (statement_of(&postgres, settings), search());
    let turns: Vec<_> = (0..TURNS)
        .map(|turn| {
            // In turns first, because the machine is not equally fast all the time.
            let first = (turn % 2 == 0).then(|| cost(&postgres, &bare));
            let ours = cost(&postgres, &ours);
            (ours, first.unwrap_or_else(|| cost(&postgres, &bare)))
        })
        .collect();
    let of = |figure: fn(&(f64, f64)) -> f64| median(&turns.iter().map(figure).collect::<Vec<_>>());
    report.print(format_args!(
        "PostgreSQL takes {:.0} µs of processor time for what the server sends, {:.0} µs for the \
         plain statement",
        of(|(ours, _)| ours * 1e6),
        of(|(_, bare)| bare * 1e6)
    ));
    report.less_than(
        "PostgreSQL's work for a question",
        of(|(ours, bare)| ours / bare),
        1.05,
        " of the plain statement",
    );
    report.exit_code()
}

/// Returns a request with more members.
fn question(address: &str, members: &str) -> Vec<u8> {
    let body = format!(r#"{{"query":"{TEXT}","disable_hybrid":true{members}}}"#);
    send("POST", "/v1/pipelines/bench", address, None, &body)
}

/// Returns what the server sends to PostgreSQL for a question, as a line for pgbench.
fn statement_of(postgres: &Postgres, settings: &str) -> String {
    let sent = postgres.sent_by(|database| {
        let server = Answers::serve_over(database, settings);
        ask(&server.address, &question(&server.address, ""), 1);
    });
    let sent = String::from_utf8_lossy(&sent);
    let message = sent.split('\0').rfind(|text| text.contains("<=>"));
    let text = message.expect("a search");
    let begin = text
        .find("SET TRANSACTION")
        .expect("a transaction that reads");
    text[begin..].replace('\n', " ").replace("; ", " \\; ") + ";"
}

/// Returns PostgreSQL's seconds of processor time for each statement of a turn.
fn cost(postgres: &Postgres, statement: &str) -> f64 {
    let before = postgres.processor_time();
    let rate = postgres.pgbench(statement, 1, TURN);
    (postgres.processor_time() - before) / (rate * f64::from(TURN))
}

/// Returns the milliseconds of each request. Every client sends `requests` at a constant rate.
fn ask(address: &str, request: &[u8], requests: u32) -> Vec<f64> {
    let pace = Duration::from_secs(1) * CLIENTS / RATE;
    let begun = Instant::now();
    let client = |number: u32| {
        let mut stream = TcpStream::connect(address).expect("listening");
        stream.set_nodelay(true).expect("set");
        let first = begun + pace * number / CLIENTS;
        let turns = (0..requests).map(|turn| {
            let due = first + pace * turn;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let sent = Instant::now();
            let (status, body) = exchange(&mut stream, request).expect("answered");
            assert_eq!(status, 200, "{body}");
            assert!(body.contains("wool is washed by hand"), "{body}");
            sent.elapsed().as_secs_f64() * 1e3
        });
        turns.collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| scope.spawn(move || client(number)))
            .collect();
        let times = clients.into_iter().map(ScopedJoinHandle::join);
        times.flat_map(|times| times.expect("a client")).collect()
    })
}

/// The search that the server sends to PostgreSQL.
fn search() -> String {
    let runtime = Runtime::new().expect("a runtime");
    let embedding = runtime.block_on(Embedder::local().embed(TEXT));
    let vector = embedding.expect("a vector").vector;
    let numbers: Vec<_> = vector.iter().map(f32::to_string).collect();
    let vector = format!("'[{}]'::vector", numbers.join(","));
    format!(
        "SELECT id::text, body, 1 - (body_embedding <=> {vector}) FROM page
         WHERE body_embedding IS NOT NULL AND body IS NOT NULL
         ORDER BY body_embedding <=> {vector} LIMIT 20"
    )
}

fn percentile(times: &mut [f64], at: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(times.len() - 1) * at / 100]
}

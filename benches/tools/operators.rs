//! `query_database` with limits, metrics, traces and an audit trail, compared with the same program
//! without them.
//!
//! Two servers of one PostgreSQL answer in turns, and pairs of servers follow each other. The first
//! pairs are the program against itself: their ratio says how much the machine can tell.
//!
//! An argument, such as `audit`, leaves only the cases that have it in their name.

use std::{
    env,
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
    process::ExitCode,
    thread,
    time::Duration,
};

use ziggurat_benches::tools::{
    CONNECTIONS, Home, Load, Postgres, Program, Report, median, post, query, thousands,
};

/// Pairs of servers with each configuration: many, because two processes of the same program differ
/// by a few percent, for as long as they run.
const PAIRS: usize = 32;

/// Turns of each pair: several and short, since the load of a machine changes over time.
const TURNS: usize = 4;

/// Length of a turn.
const TURN: Duration = Duration::from_millis(250);

/// A server with its client.
struct Server {
    program: Program,
    load: Load,
    _home: Home,
}

/// Rate and microseconds of processor time of a turn.
type Turn = (f64, f64);

fn main() -> ExitCode {
    let postgres = Postgres::with("SELECT 1");
    let folder = tempfile::tempdir().expect("a folder");
    let mut report = Report::default();
    let wanted: Vec<_> = env::args().skip(1).filter(|it| it != "--bench").collect();
    let mut cases = Vec::from(cases(folder.path()));
    cases.retain(|(name, ..)| wanted.iter().all(|part| name.contains(&**part)));
    if cases.is_empty() {
        let wanted = wanted.join(" and ");
        report.print(format_args!("No case has {wanted} in its name."));
        return ExitCode::FAILURE;
    }
    for (name, configuration, target) in cases {
        let mut turns = Vec::new();
        for _ in 0..PAIRS {
            let mut plain = Server::start(&postgres, "");
            let mut server = Server::start(&postgres, &configuration);
            turns.extend((0..TURNS).map(|turn| in_turn(&mut plain, &mut server, turn % 2 == 0)));
        }
        let of = |figure: fn(&(Turn, Turn)) -> f64| {
            median(&turns.iter().map(figure).collect::<Vec<_>>())
        };
        report.print(format_args!(
            "  {:>7}/s, {:.1} µs of processor time each; without {:>7}/s, {:.1} µs",
            thousands(of(|(_, ours)| ours.0)),
            of(|(_, ours)| ours.1),
            thousands(of(|(theirs, _)| theirs.0)),
            of(|(theirs, _)| theirs.1),
        ));
        let ratio = of(|(theirs, ours)| ours.0 / theirs.0);
        report.at_least(name, ratio, target, " of the rate without");
    }
    report.exit_code()
}

/// Returns names, sections of the configuration, and the ratios they must reach.
fn cases(folder: &Path) -> [(&'static str, String, f64); 7] {
    let file = |name: &str| folder.join(name).display().to_string();
    let collector = collector();
    let limits = "limits: {callers: [{for: {everyone: true}, calls: 100000000 per minute, \
                  concurrent: 64, rows_per_day: 1000000000000}]}";
    [
        ("the same program", String::new(), 0.9),
        ("limits of callers", limits.to_owned(), 0.97),
        (
            "metrics",
            "telemetry: {metrics: {address: '127.0.0.1:0'}}".to_owned(),
            0.98,
        ),
        (
            "traces of one percent",
            format!("telemetry: {{otlp: {{url: '{collector}', ratio: 0.01}}}}"),
            0.97,
        ),
        (
            "comments with traces",
            format!("telemetry: {{sql_comment: trace, otlp: {{url: '{collector}', ratio: 0.01}}}}"),
            0.96,
        ),
        (
            "the audit trail",
            format!("audit: {{file: '{}'}}", file("audit.jsonl")),
            0.95,
        ),
        (
            "the required audit trail",
            format!(
                "audit: {{file: '{}', required: true}}",
                file("required.jsonl")
            ),
            0.9,
        ),
    ]
}

/// Measures both servers, the plain one first or last, and returns its turn first.
fn in_turn(plain: &mut Server, server: &mut Server, is_plain_first: bool) -> (Turn, Turn) {
    if is_plain_first {
        let theirs = plain.turn();
        (theirs, server.turn())
    } else {
        let ours = server.turn();
        (plain.turn(), ours)
    }
}

/// Starts a collector of traces that accepts everything, and returns its URL.
fn collector() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut piece = vec![0; 1 << 16];
                while stream.read(&mut piece).is_ok_and(|read| read > 0) {
                    let answer =
                        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
                    stream.write_all(answer).ok();
                }
            });
        }
    });
    format!("http://{address}/v1/traces")
}

// === impl Server ===

impl Server {
    fn start(postgres: &Postgres, configuration: &str) -> Self {
        let databases = postgres.entry(&format!("pool_max_conns: {CONNECTIONS}"));
        let home = Home::new(&format!("{databases}\n{configuration}\n"));
        let token = home.token();
        let (program, address) = home.serve();
        let request = post(&address, &token, &query("SELECT 1"));
        let mut load = Load::new(&address, CONNECTIONS, request);
        let answer = load.once();
        assert!(answer.contains(" rows):"), "{answer}");
        load.rate(TURN);
        Self {
            program,
            load,
            _home: home,
        }
    }

    fn turn(&mut self) -> Turn {
        let before = self.program.processor_time();
        let rate = self.load.rate(TURN);
        let seconds = self.program.processor_time() - before;
        (rate, seconds / TURN.as_secs_f64() / rate * 1e6)
    }
}

//! Effect of a flood of wrong logins on other clients.
//!
//! Runs the release build with a PostgreSQL of its own. Clients query one row again and again,
//! first alone, then while wrong logins come in from 200 addresses, in turns. `cargo bench -p
//! ziggurat-benches --bench login_flood` builds the program; `ZIGGURAT_BENCH_PROGRAM` names another
//! build, `ZIGGURAT_LOGIN_WORKERS` the number of passwords checked at a time, and
//! `ZIGGURAT_BENCH_SECONDS` the length of a turn.

use std::{
    env,
    io::{self, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::net::TcpSocket;
use ziggurat_benches::tools::{Home, Postgres, exchange, post, query, send, tool};

const CALLERS: usize = 4;
const GUESSERS: usize = 32;
const TURNS: usize = 3;

/// The server, and the token of its clients.
struct Target {
    address: String,
    token: String,
}

/// Durations of calls.
struct Times(Vec<Duration>);

fn main() -> io::Result<()> {
    let postgres = Postgres::with("");
    let workers = env::var("ZIGGURAT_LOGIN_WORKERS").ok();
    let limits = workers.map_or_else(String::new, |workers| {
        format!("limits: {{max_login_workers: {workers}}}\n")
    });
    let home = Home::new(&(postgres.entry("") + &limits));
    let token = home.token();
    home.user("alice", "correct-horse");
    let (_program, address) = home.serve();
    let target = Target { address, token };
    let seconds = env::var("ZIGGURAT_BENCH_SECONDS").ok();
    let turn = Duration::from_secs(seconds.and_then(|text| text.parse().ok()).unwrap_or(5));

    for pause in [Duration::from_millis(5), Duration::ZERO] {
        let (mut calm, mut flooded) = (Vec::new(), Vec::new());
        let mut guesses = 0;
        for _ in 0..TURNS {
            calm.extend(target.call(pause, turn));
            let during = target.flood(|| target.call(pause, turn));
            flooded.extend(during.0);
            guesses += during.1;
        }
        let (mut calm, mut flooded) = (Times(calm), Times(flooded));
        let mut out = io::stdout().lock();
        writeln!(out, "{CALLERS} callers that pause for {pause:?}:")?;
        writeln!(out, "  alone           {}", calm.describe())?;
        writeln!(out, "  {guesses:>5} wrong logins {}", flooded.describe())?;
        let ratio = flooded.at(99).as_secs_f64() / calm.at(99).as_secs_f64();
        writeln!(out, "  p99 {ratio:.2} times as long")?;
    }
    Ok(())
}

// === impl Target ===

impl Target {
    /// Runs the clients for one turn; returns the duration of each call.
    fn call(&self, pause: Duration, turn: Duration) -> Vec<Duration> {
        let ask = || {
            let mut stream = TcpStream::connect(&self.address).expect("listening");
            stream.set_nodelay(true).expect("set");
            let request = post(&self.address, &self.token, &query("SELECT 1 AS one"));
            let end = Instant::now() + turn;
            let mut times = Vec::new();
            while Instant::now() < end {
                let begun = Instant::now();
                let (_, answer) = exchange(&mut stream, &request).expect("answered");
                times.push(begun.elapsed());
                assert!(answer.contains("one\\n1"), "{answer}");
                thread::sleep(pause);
            }
            times
        };
        thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(ask)).collect();
            let times = callers.into_iter().map(thread::ScopedJoinHandle::join);
            times.flat_map(|times| times.expect("no panic")).collect()
        })
    }

    /// Guesses passwords while `work` runs; returns the number of guesses.
    fn flood<R>(&self, work: impl FnOnce() -> R) -> (R, usize) {
        let is_over = AtomicBool::new(false);
        let guesses = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..GUESSERS {
                scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        let guess = guesses.fetch_add(1, Relaxed);
                        // A refused guesser tries again at once.
                        self.guess(guess).ok();
                    }
                });
            }
            let done = work();
            is_over.store(true, Relaxed);
            (done, guesses.load(Relaxed))
        })
    }

    fn guess(&self, guess: usize) -> io::Result<()> {
        let host = u8::try_from(guess % 200 + 2).expect("small");
        let address = self.address.parse().expect("an address");
        let mut stream = connect_from(Ipv4Addr::new(127, 0, 0, host), address)?;
        let name = ["alice", "nobody"][guess % 2];
        let arguments = json!({"username": name, "password": "wrong"});
        let call = tool("authenticate_user", &arguments);
        let request = send("POST", "/mcp/v1", &self.address, None, &call);
        exchange(&mut stream, &request).map(|_| ())
    }
}

// === impl Times ===

impl Times {
    fn at(&mut self, percent: usize) -> Duration {
        self.0.sort_unstable();
        self.0[(self.0.len() - 1) * percent / 100]
    }

    fn describe(&mut self) -> String {
        format!(
            "{:>6} calls, p50 {:>9.1?}, p99 {:>9.1?}, longest {:>9.1?}",
            self.0.len(),
            self.at(50),
            self.at(99),
            self.at(100)
        )
    }
}

fn connect_from(source: Ipv4Addr, address: SocketAddr) -> io::Result<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        // On other systems than Linux there is one loopback address.
        if cfg!(target_os = "linux") {
            socket.bind((source, 0).into())?;
        }
        socket.connect(address).await?.into_std()
    })?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

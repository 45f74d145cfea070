//! What a flood of wrong logins costs those who only ask for rows.
//!
//! The program runs as a release does, with a PostgreSQL of its own. Callers ask for one row
//! again and again while nothing else goes on, then while wrong logins come in from 200
//! addresses, and so on in turns. `cargo bench -p ziggurat-benches --bench login_flood` builds
//! it; `ZIGGURAT_BENCH_PROGRAM` names another build, `ZIGGURAT_LOGIN_WORKERS` another number of
//! passwords checked at a time, and `ZIGGURAT_BENCH_SECONDS` how long a turn takes.

use std::{
    env, fs,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpSocket;
use ziggurat_local_pg::LocalPg;

const CALLERS: usize = 4;
const GUESSERS: usize = 32;
const TURNS: usize = 3;

/// A server that is killed with this.
struct Server {
    child: Child,
    address: SocketAddr,
    token: String,
    // Held open, or the program could not write its log.
    _log: BufReader<std::process::ChildStderr>,
    _folder: TempDir,
}

/// How long calls took.
struct Times(Vec<Duration>);

fn main() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    let runtime = tokio::runtime::Runtime::new()?;
    let postgres = runtime
        .block_on(LocalPg::private(folder.path()))
        .map_err(io::Error::other)?;
    let server = Server::start(&postgres)?;
    let seconds = env::var("ZIGGURAT_BENCH_SECONDS").ok();
    let turn = Duration::from_secs(seconds.and_then(|text| text.parse().ok()).unwrap_or(5));

    for pause in [Duration::from_millis(5), Duration::ZERO] {
        let (mut calm, mut flooded) = (Vec::new(), Vec::new());
        let mut guesses = 0;
        for _ in 0..TURNS {
            calm.extend(server.call(pause, turn));
            let during = server.flood(|| server.call(pause, turn));
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

// === impl Server ===

impl Server {
    fn start(postgres: &LocalPg) -> io::Result<Self> {
        let program = env::var_os("ZIGGURAT_BENCH_PROGRAM").map_or_else(build, PathBuf::from);
        let folder = tempfile::tempdir()?;
        let workers = env::var("ZIGGURAT_LOGIN_WORKERS").ok();
        let limits = workers.map_or_else(String::new, |workers| {
            format!("limits:\n  max_login_workers: {workers}\n")
        });
        let url = postgres.url("postgres");
        let password = url.split('@').next().and_then(|who| who.rsplit(':').next());
        let configuration = format!(
            "{limits}databases:\n  - name: main\n    host: \"{}\"\n    port: {}\n    \
             database: postgres\n    user: {}\n    password: \"{}\"\n",
            postgres.host(),
            postgres.port(),
            postgres.user(),
            password.unwrap_or_default()
        );
        fs::write(folder.path().join("config.yaml"), configuration)?;
        let command = |words: &str| {
            let mut command = Command::new(&program);
            command
                .args(words.split_whitespace())
                .args(["-config", "config.yaml", "-token-file", "tokens.yaml"])
                .args(["-user-file", "users.yaml"])
                .current_dir(folder.path())
                .env_clear()
                .env("ZIGGURAT_DATA_DIR", folder.path().join("data"))
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            command
        };
        let words = "-add-token -token-note x -token-expiry never -token-database main";
        let output = command(words).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let token = text.lines().find_map(|line| line.strip_prefix("Token: "));
        let token = token.expect("a token").to_owned();
        command("-add-user -username alice -password correct -user-note x").output()?;
        let mut child = command("-http -addr 127.0.0.1:0").spawn()?;
        let mut log = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(log.read_line(&mut line)? > 0, "the server ended");
            if let Some((_, address)) = line.split_once("listening on http://") {
                break address.trim().parse().expect("an address");
            }
        };
        Ok(Self {
            child,
            address,
            token,
            _log: log,
            _folder: folder,
        })
    }

    /// Has callers ask for a while: how long each call took.
    fn call(&self, pause: Duration, turn: Duration) -> Vec<Duration> {
        let ask = || {
            let mut stream = TcpStream::connect(self.address).expect("listening");
            stream.set_nodelay(true).expect("set");
            let call = tool("query_database", &json!({"query": "SELECT 1 AS one"}));
            let authorization = format!("authorization: Bearer {}\r\n", self.token);
            let request = post(&authorization, &call);
            let end = Instant::now() + turn;
            let mut times = Vec::new();
            while Instant::now() < end {
                let begun = Instant::now();
                let answer = exchange(&mut stream, &request).expect("answered");
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

    /// Guesses passwords meanwhile, and says how often.
    fn flood<R>(&self, work: impl FnOnce() -> R) -> (R, usize) {
        let is_over = AtomicBool::new(false);
        let guesses = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..GUESSERS {
                scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        let guess = guesses.fetch_add(1, Relaxed);
                        // Whoever is turned away comes back at once.
                        self.guess(guess).ok();
                    }
                });
            }
            let done = work();
            is_over.store(true, Relaxed);
            (done, guesses.load(Relaxed))
        })
    }

    fn guess(&self, guess: usize) -> io::Result<String> {
        let host = u8::try_from(guess % 200 + 2).expect("small");
        let mut stream = connect_from(Ipv4Addr::new(127, 0, 0, host), self.address)?;
        let name = ["alice", "nobody"][guess % 2];
        let arguments = json!({"username": name, "password": "wrong"});
        exchange(
            &mut stream,
            &post("", &tool("authenticate_user", &arguments)),
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
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

fn build() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--package", "ziggurat-tools"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo, which runs this");
    assert!(output.status.success(), "it does not build");
    let messages = String::from_utf8_lossy(&output.stdout);
    let program = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    program.expect("cargo says where it is")
}

fn tool(name: &str, arguments: &Value) -> String {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

fn post(authorization: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /mcp/v1 HTTP/1.1\r\nhost: localhost\r\n{authorization}\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// Sends a request, and reads as much as its head says.
fn exchange(stream: &mut TcpStream, request: &str) -> io::Result<String> {
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        answer.push_str(&String::from_utf8_lossy(&piece[..read]));
        let Some((head, body)) = answer.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.lines().next()?.parse::<usize>().ok());
        if length.map_or_else(
            || body.ends_with("0\r\n\r\n"),
            |length| body.len() >= length,
        ) {
            return Ok(answer);
        }
    }
}

fn connect_from(source: Ipv4Addr, address: SocketAddr) -> io::Result<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        // Elsewhere than on Linux there is one address.
        if cfg!(target_os = "linux") {
            socket.bind((source, 0).into())?;
        }
        socket.connect(address).await?.into_std()
    })?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

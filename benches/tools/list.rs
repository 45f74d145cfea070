//! `tools/list` behind authentication, compared with a bare hyper server that echoes the request.
//!
//! The echo measures the cost of HTTP on this machine at this time: same runtime, same client, same
//! connections, no layer and no answer of its own.

use std::{
    convert::Infallible,
    env,
    io::{self, BufRead as _, BufReader, Write as _},
    net::SocketAddr,
    process::{Child, Command, ExitCode, Stdio},
    time::Duration,
};

use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, task::JoinSet};
use ziggurat_benches::tools::{CONNECTIONS, Home, Load, Report, median, post, thousands};

/// Turns of each.
const TURNS: usize = 7;

/// Length of a turn.
const TURN: Duration = Duration::from_secs(2);

/// Argument that starts this program as the echo.
const ECHO: &str = "--echo";

/// A database to bind the token to; no connection is made to it.
const DATABASES: &str = "databases: [{name: bench, host: localhost, user: nobody}]\n";

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// The bare server, in a separate process like the measured one; killed when it is dropped.
struct Echo {
    child: Child,
}

fn main() -> ExitCode {
    if env::args().any(|word| word == ECHO) {
        echo().expect("the listener lives");
        return ExitCode::SUCCESS;
    }
    let home = Home::new(DATABASES);
    let token = home.token();
    let (program, address) = home.serve();
    let mut ours = Load::new(&address, CONNECTIONS, post(&address, &token, CALL));
    let (echo, address) = Echo::start();
    let mut theirs = Load::new(&address, CONNECTIONS, post(&address, &token, CALL));
    assert!(ours.once().contains("query_database"), "a list of tools");
    assert!(theirs.once().ends_with(CALL), "an echo");

    let mut report = Report::default();
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let theirs = theirs.rate(TURN);
        let before = program.processor_time();
        let ours = ours.rate(TURN);
        let spent = (program.processor_time() - before) / TURN.as_secs_f64() / ours * 1e6;
        report.print(format_args!(
            "  {:>7}/s, {spent:.0} µs of processor time each; echo {:>7}/s",
            thousands(ours),
            thousands(theirs),
        ));
        rates.push(ours);
        ratios.push(ours / theirs);
    }
    drop(echo);
    let rate = median(&rates);
    if rate < 25_000.0 {
        report.at_least("tools/list", median(&ratios), 0.6, " of the echo");
    } else {
        report.at_least("tools/list", rate, 25_000.0, "/s");
    }
    report.exit_code()
}

// === impl Echo ===

impl Echo {
    fn start() -> (Self, String) {
        let program = env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .arg(ECHO)
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program");
        let mut address = String::new();
        let output = child.stdout.take().expect("piped");
        let read = BufReader::new(output).read_line(&mut address);
        read.expect("an address");
        (Self { child }, address.trim().to_owned())
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[tokio::main]
async fn echo() -> io::Result<()> {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    writeln!(io::stdout(), "{}", listener.local_addr()?)?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = |request: Request<Incoming>| async {
            Ok::<_, Infallible>(Response::new(request.into_body()))
        };
        let connection =
            http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
        connections.spawn(connection);
    }
}

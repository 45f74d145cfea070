//! Runs the examples of the README and of the book as tests, and helps the examples of the guides
//! to serve and to call what they build.

use std::{
    env,
    io::{self, Read as _, Write as _},
    process::{Command, Stdio},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../docs/src/layers.md")]
struct Layers;

#[cfg(doctest)]
#[doc = include_str!("../docs/src/gateway.md")]
struct Gateway;

#[cfg(doctest)]
#[doc = include_str!("../docs/src/mcp-server.md")]
struct McpServer;

/// Serves an MCP server on a free port, and runs calls of a client with this token.
#[macro_export]
macro_rules! serve {
    ($http:expr, $token:expr, |$client:ident| $calls:expr) => {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}/mcp", listener.local_addr()?);
        let calls = async {
            let client = ziggurat_mcp_client::Client::http(&address);
            let $client = client.with_bearer($token).connect().await?;
            $calls;
            Ok::<(), Box<dyn std::error::Error>>(())
        };
        let http = $http;
        tokio::select! {
            served = http.serve_on(listener, std::future::pending()) => served?,
            called = calls => called?,
        }
    };
}

/// Serves a router on a free port, and runs calls of its address.
#[macro_export]
macro_rules! serve_router {
    ($router:expr, |$address:ident| $calls:expr) => {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let $address = listener.local_addr()?;
        let router = $router.into_make_service_with_connect_info::<std::net::SocketAddr>();
        let calls = async {
            $calls;
            Ok::<(), Box<dyn std::error::Error>>(())
        };
        tokio::select! {
            served = async { axum::serve(listener, router).await } => served?,
            called = calls => called?,
        }
    };
}

/// Runs the program again with a variable set, unless it is: a thread of a test must not set one.
///
/// # Panics
/// Panics if the program fails.
#[must_use]
pub fn restarted_with(name: &str, value: &str) -> bool {
    if env::var_os(name).is_some() {
        return false;
    }
    let program = env::current_exe().expect("the path of a program");
    let mut program = Command::new(program);
    let status = program
        .args(env::args_os().skip(1))
        .env(name, value)
        .status();
    assert!(status.expect("a program that starts").success());
    true
}

/// Starts the program again with this variable set, sends it a line, and returns its output.
///
/// # Errors
/// Fails if the program cannot be started, or if its pipes fail.
pub fn answer_of_child(variable: &str, line: &str) -> io::Result<String> {
    let mut program = Command::new(env::current_exe()?);
    let program = program.args(env::args_os().skip(1)).env(variable, "1");
    let program = program.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = program.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        writeln!(input, "{line}")?;
    }
    let mut answer = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut answer)?;
    }
    child.wait()?;
    Ok(answer)
}

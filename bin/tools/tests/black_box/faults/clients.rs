//! Tests of clients that stop in the middle of a request or of an answer.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
    time::{Duration, Instant},
};

#[cfg(target_os = "linux")]
use rustix::process::Pid;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use super::{
    load::{during, until},
    scaled, wire,
};
use crate::support::{Home, PATIENCE, Postgres, Program, memory};

/// Raises the limit of open files of this process to the system's maximum.
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, all).expect("up to the maximum");
}

/// Wraps a command in a shell that sets limits first.
pub(super) fn limited(command: &Command, limits: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell
        .arg("-c")
        .arg(format!("{limits}; exec \"$0\" \"$@\""))
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(command.get_current_dir().expect("it has one"))
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    shell
}

/// Opens connections that send at most a part of a request.
fn half_open(address: &str, token: &str, number: usize) -> Vec<TcpStream> {
    let request = wire::request(token, &wire::query("SELECT 1"));
    let shares = [0, 1, request.len() / 4, request.len() - 5];
    (0..number)
        .map(|at| {
            let mut stream = TcpStream::connect(address).expect("listening");
            // The server closes some early if there are more than it accepts.
            stream.write_all(&request.as_bytes()[..shares[at % 4]]).ok();
            stream
        })
        .collect()
}

fn others_are_served(address: &str, token: &str) {
    for call in 0..100 {
        let reply = wire::ask(address, token, &wire::query(&format!("SELECT {call} AS n")));
        let (text, is_error) = reply.expect("answered").said();
        assert!(!is_error && text.ends_with(&format!("\n{call}")), "{text}");
    }
}

#[test]
fn a_thousand_half_open_connections_keep_no_client_out() {
    allow_open_files();
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let token = home.token("main");
    let (_program, client) = home.serve(&[]);
    let half_open = half_open(client.address(), &token, scaled(1000));
    others_are_served(client.address(), &token);
    drop(half_open);
}

#[test]
fn more_half_open_connections_than_open_files_keep_no_client_out() {
    allow_open_files();
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let token = home.token("main");
    let command = home.command(&["-http", "-addr", "127.0.0.1:0"]);
    let (program, client) = Program::listening(&mut limited(&command, "ulimit -n 128"));
    assert!(
        program.log().contains("suffice for 64 only"),
        "{}",
        program.log()
    );
    let crowd = half_open(client.address(), &token, scaled(300));
    others_are_served(client.address(), &token);
    drop(crowd);
}

/// This happens if the limit is lowered while the server runs, or if PostgreSQL takes more
/// connections than planned.
#[cfg(target_os = "linux")]
#[test]
fn without_free_open_files_half_open_connections_are_closed_first() {
    allow_open_files();
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let token = home.token("main");
    let (program, client) = home.serve(&[]);
    client.bearing(&token).query("SELECT 1");
    let few = Rlimit {
        current: Some(64),
        maximum: Some(64),
    };
    let id = i32::try_from(program.id()).ok().and_then(Pid::from_raw);
    rustix::process::prlimit(id, Resource::Nofile, few).expect("a child of ours");
    let crowd = half_open(client.address(), &token, scaled(200));
    let begun = Instant::now();
    others_are_served(client.address(), &token);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "a second for each"
    );
    program.wait_for("cannot accept before another connection ends");
    drop(crowd);
}

#[test]
fn clients_that_disconnect_in_the_middle_of_a_request_leak_nothing() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let token = home.token("main");
    let (program, client) = home.serve(&[]);
    client.bearing(&token).query("SELECT 1");
    let files = || fs::read_dir(format!("/proc/{}/fd", program.id())).map(Iterator::count);
    let Ok(before) = files() else {
        // Only Linux shows the open files.
        return;
    };
    for _ in 0..scaled(5) {
        drop(half_open(client.address(), &token, 100));
        others_are_served(client.address(), &token);
    }
    // The number of connections to PostgreSQL may differ by a few.
    until("their connections are closed", || {
        files().expect("it runs") <= before + 2
    });
}

#[test]
fn clients_that_do_not_read_a_large_answer_cost_little_memory() {
    const LARGE: &str = "SELECT n, repeat('x', 1000) FROM generate_series(1, 50000) AS n";
    let postgres = Postgres::new();
    let home = Home::new();
    let entry = postgres.entry("main");
    home.configure(&format!("databases:\n{entry}    row_limit: 100000\n"));
    let tokens: Vec<_> = (0..4).map(|_| home.token("main")).collect();
    let (program, client) = home.serve(&[]);
    let token = home.token("main");
    until("the token is known", || {
        client.bearing(&token).get("/nowhere").status != 401
    });
    others_are_served(client.address(), &token);
    let before = memory(&program);

    // Each result has 50 MB.
    let request = |token: &String| {
        let mut stream = TcpStream::connect(client.address()).expect("listening");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        let call = wire::request(token, &wire::query(LARGE));
        stream.write_all(call.as_bytes()).expect("sent");
        let mut first = [0; 1];
        stream.read_exact(&mut first).expect("answered");
        stream
    };
    let deaf: Vec<_> = tokens.iter().map(request).collect();
    for _ in 0..5 {
        others_are_served(client.address(), &token);
    }
    let after = memory(&program);
    println!("{before:?} kB before, {after:?} kB with four that do not read");
    if let (Some((_, before)), Some((peak, _))) = (before, after) {
        assert!(peak < before + 16_000, "{peak} kB, {before} kB before");
    }
    drop(deaf);
    // A client that reads gets the whole result.
    let reply = wire::ask(client.address(), &token, &wire::query(LARGE)).expect("whole");
    let (text, is_error) = reply.said();
    assert!(!is_error && text.contains("\n50000\t"), "{text:.200}");
}

#[test]
fn callers_of_slow_statements_do_not_delay_the_others() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let [slow, quick] = [home.token("main"), home.token("main")];
    let (_program, client) = home.serve(&[]);
    let sleep = wire::tool("query_database", &json!({"query": "SELECT pg_sleep(0.5)"}));
    let ask_slowly = |_| {
        let reply = wire::ask(client.address(), &slow, &sleep).expect("answered");
        let (text, is_error) = reply.said();
        // There are more calls than connections per caller, so some are refused.
        assert!(!is_error || text.contains("were busy"), "{text}");
    };
    during(16, ask_slowly, || {
        for _ in 0..scaled(3) {
            others_are_served(client.address(), &quick);
        }
    });
}

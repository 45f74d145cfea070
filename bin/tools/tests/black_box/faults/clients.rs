//! Clients that begin and do not go on.

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
use crate::support::{Home, PATIENCE, Postgres, Program};

/// Lets this process have as many open files as the system allows it.
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, all).expect("up to the maximum");
}

/// The same command under limits set by the shell.
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

/// Opens connections that do not get further than half a request.
fn half_open(address: &str, token: &str, number: usize) -> Vec<TcpStream> {
    let request = wire::request(token, &wire::query("SELECT 1"));
    let shares = [0, 1, request.len() / 4, request.len() - 5];
    (0..number)
        .map(|at| {
            let mut stream = TcpStream::connect(address).expect("listening");
            // It may be gone already, if there are more than the server bears with.
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
fn a_thousand_half_open_connections_keep_nobody_out() {
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
fn more_half_open_connections_than_open_files_keep_nobody_out() {
    allow_open_files();
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let token = home.token("main");
    let command = home.command(&["-http", "-addr", "127.0.0.1:0"]);
    let (program, client) = Program::listening(&mut limited(&command, "ulimit -n 128"));
    assert!(
        program.log().contains("room for 64 only"),
        "{}",
        program.log()
    );
    let crowd = half_open(client.address(), &token, scaled(300));
    others_are_served(client.address(), &token);
    drop(crowd);
}

/// Whoever lowers the limit of a server that runs, or lets it have more connections to
/// PostgreSQL than were reckoned with.
#[cfg(target_os = "linux")]
#[test]
fn a_system_without_open_files_has_half_open_connections_go_first() {
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
fn clients_that_leave_in_the_middle_of_a_request_leave_nothing_behind() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let token = home.token("main");
    let (program, client) = home.serve(&[]);
    client.bearing(&token).query("SELECT 1");
    let files = || fs::read_dir(format!("/proc/{}/fd", program.id())).map(Iterator::count);
    let Ok(before) = files() else {
        // Only Linux tells.
        return;
    };
    for _ in 0..scaled(5) {
        drop(half_open(client.address(), &token, 100));
        others_are_served(client.address(), &token);
    }
    // One for PostgreSQL more or less: each caller has a few.
    until("their connections are closed", || {
        files().expect("it runs") <= before + 2
    });
}

/// What a program has held at most, and holds now, in kilobytes; `None` where it cannot be told.
fn memory(program: &Program) -> Option<(u64, u64)> {
    let status = fs::read_to_string(format!("/proc/{}/status", program.id())).ok()?;
    let number = |name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    };
    Some((number("VmHWM:")?, number("VmRSS:")?))
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

    // 50 MB each.
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
    // Whoever reads gets all of it.
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
        // More at a time than a caller has connections: some are told so.
        assert!(!is_error || text.contains("were busy"), "{text}");
    };
    during(16, ask_slowly, || {
        for _ in 0..scaled(3) {
            others_are_served(client.address(), &quick);
        }
    });
}

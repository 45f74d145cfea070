//! Tests of the message lines on standard input and output.

use std::{
    io::{Write as _, pipe},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    io::{ioctl_fionbio, ioctl_fionread},
    process::Signal,
};
use serde_json::{Value, json};

use crate::support::{Home, Postgres, Program, StdioClient, until};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

fn open(more: &str) -> (Home, Program, StdioClient) {
    let home = Home::new();
    home.configure(&format!(
        "databases: [{{name: main, host: 127.0.0.1, port: 1, user: nobody}}]\n{more}"
    ));
    let (program, stdio) = home.stdio(&[]);
    (home, program, stdio)
}

fn ping(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

fn query(id: u32, sql: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "query_database", "arguments": {"query": sql}}})
}

fn ends_well(mut program: Program, stdio: &StdioClient, since: Instant) {
    assert!(stdio.is_over());
    assert_eq!(program.ended().code(), Some(0), "{}", program.log());
    assert!(
        since.elapsed() < Duration::from_secs(4),
        "{:?}",
        since.elapsed()
    );
}

/// Checks the answer to a call that the end of the program cuts off.
fn assert_is_cut_off(answer: &Value, id: u32) {
    assert_eq!(answer["id"], id, "{answer}");
    let is_error = answer["result"]["isError"] == true || answer["error"].is_object();
    assert!(is_error, "{answer}");
}

#[test]
fn lines_may_have_any_line_end_and_arrive_in_parts() {
    let (_home, program, mut stdio) = open("");
    // A byte-order mark is accepted only at the start of the input.
    stdio.send_bytes(b"\xef\xbb\xbf");
    for ending in ["\n", "\r\n", "\n\n", "\n\r\n \t\n", " \r\n"] {
        stdio.send_bytes(format!("{PING}{ending}").as_bytes());
        assert_eq!(stdio.receive_line(), PONG, "{ending:?}");
    }
    stdio.send_bytes(b"\n\r\n   \n");
    // One line in many parts, then many lines in one.
    for piece in PING.as_bytes().chunks(3) {
        stdio.send_bytes(piece);
    }
    stdio.send_bytes(b"\n");
    assert_eq!(stdio.receive_line(), PONG);
    let many: String = (0..20).map(|id| ping(id) + "\n").collect();
    stdio.send_bytes(many.as_bytes());
    let mut ids: Vec<_> = (0..20).map(|_| stdio.receive()["id"].as_i64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..20).map(Some).collect::<Vec<_>>());
    // The last line may lack a line end.
    let since = Instant::now();
    stdio.send_bytes(PING.as_bytes());
    stdio.hang_up();
    assert_eq!(stdio.receive_line(), PONG);
    ends_well(program, &stdio, since);
}

#[test]
fn an_invalid_line_gets_an_error_and_the_next_is_processed() {
    let (_home, _program, mut stdio) = open("");
    let bad = [
        &b"{"[..],
        b"not JSON",
        b"\xff\xfe\x00",
        b"\0",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
        // A byte-order mark on a later line is invalid.
        b"\xef\xbb\xbf\xef\xbb\xbf{}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\r\"method\":\"ping\",}",
    ];
    for line in bad {
        stdio.send_bytes(line);
        stdio.send_bytes(format!("\n{PING}\n").as_bytes());
        let mut answers = [stdio.receive_line(), stdio.receive_line()];
        // The answers may come in either order.
        answers.sort_by_key(|answer| answer == PONG);
        let answer: Value = serde_json::from_str(&answers[0]).expect("JSON");
        assert_eq!(answer["id"], Value::Null, "{line:?}: {answer}");
        assert_eq!(answer["error"]["code"], -32700, "{line:?}: {answer}");
        assert_eq!(answer["error"]["message"], "Parse error", "{answer}");
        assert!(answer["error"]["data"].is_string(), "{answer}");
        assert_eq!(answers[1], PONG, "{line:?}");
    }
}

#[test]
fn a_line_may_be_ten_megabytes_long_and_no_longer() {
    let (_home, _program, mut stdio) = open("");
    let padded = |length: usize| format!("{PING}{}\n", " ".repeat(length - PING.len()));
    stdio.send_bytes(padded(10 << 20).as_bytes());
    assert_eq!(stdio.receive_line(), PONG);
    for length in [(10 << 20) + 1, 25 << 20] {
        stdio.send_bytes(padded(length).as_bytes());
        let answer = stdio.receive();
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
        assert_eq!(answer["id"], Value::Null, "{answer}");
        stdio.send_bytes(format!("{PING}\n").as_bytes());
        assert_eq!(stdio.receive_line(), PONG);
    }
}

#[test]
fn a_parent_may_hand_over_pipes_that_do_not_wait() {
    let home = Home::new();
    home.configure("databases: [{name: main, host: 127.0.0.1, port: 1, user: nobody}]");
    let (input, mut writer) = pipe().expect("a pipe");
    let (reader, output) = pipe().expect("a pipe");
    // The mode belongs to the end of a pipe, which the program shares with its parent.
    for end in [
        OwnedFd::from(input.try_clone().expect("ours")),
        output.try_clone().expect("ours").into(),
    ] {
        ioctl_fionbio(end, true).expect("a pipe");
    }
    let mut program = Program::start(home.command(&[]).stdin(input).stdout(output));
    // Now it waits for the first message.
    program.wait_for("Mode: STDIO");
    // The id comes back, and the answer is larger than a pipe.
    let id = "x".repeat(1 << 20);
    let large = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#);
    writeln!(writer, "{large}").expect("somebody listens");
    until("a full pipe", || {
        ioctl_fionread(&reader).expect("a pipe") >= 64 << 10
    });
    let mut stdio = StdioClient::new(OwnedFd::from(writer).into(), OwnedFd::from(reader).into());
    assert_eq!(stdio.receive()["id"], *id);
    stdio.send_bytes(format!("{PING}\n").as_bytes());
    assert_eq!(stdio.receive_line(), PONG);
    let since = Instant::now();
    stdio.hang_up();
    assert!(stdio.is_over());
    assert_eq!(program.ended().code(), Some(0), "{}", program.log());
    assert!(since.elapsed() < Duration::from_secs(4));
}

#[test]
fn a_fast_call_overtakes_a_slow_one() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (_program, mut stdio) = home.stdio(&[]);
    postgres.run("CREATE TABLE locked (id int)");
    // The statement waits for a table that another client has locked.
    let held = postgres.holding("BEGIN; LOCK TABLE locked");
    stdio.send(&query(2, "SELECT count(*) FROM locked"));
    postgres.wait_for_running("FROM locked", 1);
    stdio.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}));
    assert_eq!(stdio.receive()["id"], 3);
    stdio.send(&query(4, "SELECT 1"));
    assert_eq!(stdio.receive()["id"], 4);
    drop(held);
    let answer = stdio.receive();
    assert_eq!(answer["id"], 2);
    assert!(answer["result"].get("isError").is_none(), "{answer}");
}

#[test]
fn nothing_but_messages_is_written_to_standard_output() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (mut program, mut stdio) = home.stdio(&["-debug"]);
    let calls = [
        r#"{"jsonrpc":"2.0","id":"x","method":"initialize","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "nonsense",
        r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"query_database","arguments":{"query":"SELECT E'a\\nb'"}}}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"query_database","arguments":{"query":"SELECT nope"}}}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":"pg://system_info"}}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"nothing"}"#,
    ];
    for call in calls {
        stdio.send_bytes(format!("{call}\n").as_bytes());
    }
    let answers: Vec<_> = (1..calls.len()).map(|_| stdio.receive()).collect();
    for answer in &answers {
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        let is_one = answer.get("result").is_some() != answer.get("error").is_some();
        assert!(is_one && answer.get("id").is_some(), "{answer}");
    }
    stdio.hang_up();
    assert!(stdio.is_over());
    assert_eq!(program.ended().code(), Some(0));
    assert!(program.log().contains("Mode: STDIO"), "{}", program.log());
}

#[test]
fn calls_in_flight_at_the_end_of_input_are_finished_or_cut_off() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (program, mut stdio) = home.stdio(&[]);
    stdio.send(&query(1, "SELECT 'quick' AS word"));
    stdio.send(&query(2, "SELECT pg_sleep(3600), 'slow' AS word"));
    postgres.wait_for_running("pg_sleep", 1);
    let since = Instant::now();
    stdio.hang_up();
    assert_eq!(stdio.receive()["id"], 1);
    assert_is_cut_off(&stdio.receive(), 2);
    ends_well(program, &stdio, since);
    postgres.wait_for_running("pg_sleep", 0);
}

#[test]
fn a_signal_ends_the_server() {
    let postgres = Postgres::new();
    for signal in [Signal::TERM, Signal::INT] {
        let home = Home::with(&postgres);
        let (program, mut stdio) = home.stdio(&[]);
        stdio.send(&query(1, "SELECT pg_sleep(3600)"));
        postgres.wait_for_running("pg_sleep", 1);
        let since = Instant::now();
        program.signal(signal);
        assert_is_cut_off(&stdio.receive(), 1);
        ends_well(program, &stdio, since);
        postgres.wait_for_running("pg_sleep", 0);
    }
}

//! Tests of trails that cannot be written, and of trails from which records were removed.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
    thread,
};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};
use serde_json::{Value, json};
use ziggurat_black_box::{Client, Program};

use super::{Audited, query};
use crate::support::until;

/// Starts the server without authentication, with files that can grow no more than a full disk lets
/// them.
fn on_a_small_disk(audited: &Audited) -> (Program, Client) {
    let server = audited
        .home
        .command(&["-http", "-addr", "127.0.0.1:0", "-no-auth"]);
    // An ignored signal stays ignored: a write that is too long fails, and no signal ends the
    // server.
    let script = "trap '' XFSZ; ulimit -S -f 16; exec \"$0\" \"$@\"";
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).arg(server.get_program());
    command.args(server.get_args()).env_clear();
    let variables = server.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Program::listening(command.stderr(Stdio::piped()))
}

/// Makes room on the small disk.
fn make_room(program: &Program) {
    let id = i32::try_from(program.id()).ok().and_then(Pid::from_raw);
    let maximum = getrlimit(Resource::Fsize).maximum;
    let (current, limit) = (maximum, Resource::Fsize);
    prlimit(id, limit, Rlimit { current, maximum }).expect("it is ours");
}

fn call(client: &Client) -> u16 {
    client.get("/api/user/info").status
}

fn ready(client: &Client) -> (u16, Value) {
    let answer = client.get("/ready");
    (answer.status, answer.json())
}

fn unavailable() -> (u16, Value) {
    (
        503,
        json!({"status": "audit unavailable", "unavailable": 0}),
    )
}

fn is_ready() -> (u16, Value) {
    (200, json!({"status": "ready", "unavailable": 0}))
}

#[test]
fn a_server_that_has_to_record_is_not_ready_while_its_disk_is_full() {
    let audited = Audited::new(", required: true");
    let (program, client) = on_a_small_disk(&audited);
    until("it is ready", || ready(&client) == is_ready());
    until("the disk is full", || call(&client) == 503);
    assert_eq!(ready(&client), unavailable());
    assert_eq!(client.get("/health").status, 200);
    make_room(&program);
    // A load balancer sends no call to a server that is not ready.
    until("it is ready again", || ready(&client) == is_ready());
    assert_eq!(call(&client), 200);
    audited.calls(program);
    assert_eq!(audited.verify("audit.jsonl").1, Some(0));
}

#[test]
fn the_log_has_the_number_of_records_that_a_full_disk_took_and_the_next_start_says_so() {
    let audited = Audited::new("");
    let (mut program, client) = on_a_small_disk(&audited);
    program.until_it_says("the audit trail cannot be written", || {
        (0..200).for_each(|_| assert_eq!(call(&client), 200));
    });
    assert_eq!(ready(&client), is_ready());
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let written = audited.lines("audit.jsonl");
    let missing = 200 - written.iter().filter(|line| line["kind"] == "call").count();
    let log = program.whole_log();
    let said = "the audit trail ends without records that could not be written";
    let line = log.lines().find(|line| line.contains(said));
    let line = line.unwrap_or_else(|| panic!("no number: {log}"));
    assert!(
        line.contains(&format!("records={missing}")),
        "{missing}: {line}"
    );

    let (program, _client) = audited.home.serve(&["-no-auth"]);
    audited.calls(program);
    let lines = audited.lines("audit.jsonl");
    // The number is in the trail only if a short line still fitted on the disk.
    let mut lines = lines.iter();
    assert!(lines.any(|line| {
        line["missed"] == json!(missing) || line["unfinished"] == json!(written.len())
    }));
    assert_eq!(audited.verify("audit.jsonl").1, Some(0));
}

#[test]
fn a_reader_of_standard_error_that_stopped_blocks_no_thread_of_the_server() {
    let audited = Audited::new("");
    let entries = fs::read_to_string(audited.home.file("ziggurat-tools.yaml")).expect("written");
    let entries = entries.split("audit:").next().expect("databases");
    audited.home.configure(&format!(
        "{entries}audit: {{file: stderr, required: true}}\n"
    ));
    let mut server = audited
        .home
        .command(&["-http", "-addr", "127.0.0.1:0", "-no-auth"]);
    let mut child = server.spawn().expect("built");
    let mut log = BufReader::with_capacity(1, child.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.contains("listening on http://") {
        line.clear();
        assert!(log.read_line(&mut line).expect("text") > 0, "it has ended");
    }
    let address = line.rsplit("://").next().expect("an address").trim();
    let client = Client::new(address.to_owned());
    until("it is ready", || ready(&client) == is_ready());
    // Nothing reads from here on.
    until("the pipe is full", || call(&client) == 503);
    assert_eq!(ready(&client), unavailable());
    let several: Vec<_> = (0..8)
        .map(|_| {
            let address = address.to_owned();
            thread::spawn(move || call(&Client::new(address)))
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(client.get("/health").status, 200);
    }
    for call in several {
        assert_eq!(call.join().expect("an answer"), 503);
    }
    let reader = thread::spawn(move || {
        let mut rest = String::new();
        log.read_to_string(&mut rest).map(|_| rest)
    });
    until("it is ready again", || ready(&client) == is_ready());
    assert_eq!(call(&client), 200);
    rustix::process::kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    assert!(child.wait().expect("ours").success());
    let rest = reader.join().expect("read").expect("text");
    assert!(rest.contains(r#""kind":"stop""#), "{rest}");
}

#[test]
fn records_that_were_removed_from_either_end_are_noticed() {
    let audited = Audited::new("");
    let (program, client) = audited.home.serve(&["-no-auth"]);
    query(&client, "SELECT 1");
    query(&client, "SELECT 2");
    audited.calls(program);
    let path = audited.home.file("audit.jsonl");
    let whole = fs::read_to_string(&path).expect("a trail");
    let lines: Vec<_> = whole.split_inclusive('\n').collect();
    fs::write(&path, lines[..2].concat()).expect("written");
    assert_eq!(audited.verify("audit.jsonl").1, Some(0));
    let (program, _client) = audited.home.serve(&["-no-auth"]);
    program.wait_for("the end of the audit trail was removed or replaced");
    audited.calls(program);
    let (text, code) = audited.verify("audit.jsonl");
    assert!(
        text.ends_with("audit.jsonl:3: record 3 is missing\n"),
        "{text}"
    );
    assert_eq!(code, Some(1));

    // With its folder, since the position of the last record is elsewhere.
    fs::remove_file(&path).expect("removed");
    let (program, _client) = audited.home.serve(&["-no-auth"]);
    audited.calls(program);
    let first = audited.lines("audit.jsonl")[0]["seq"].to_string();
    let (text, code) = audited.verify("audit.jsonl");
    let said = format!(": begins at record {first}: earlier records are not in these files;");
    assert!(text.contains(&said), "{text}");
    assert_eq!(code, Some(1));
    let path = path.to_str().expect("text");
    let ran = audited
        .home
        .ran_before(&["-expect-first", &first, "-verify-audit", path]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
}

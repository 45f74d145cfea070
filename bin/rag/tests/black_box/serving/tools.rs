//! Tests of the tools over HTTP and over standard input and output.

use std::{
    fs,
    io::{BufRead as _, BufReader, Lines, Write as _},
    process::{ChildStdin, ChildStdout, Command, Stdio},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use ziggurat_black_box::{Answer, Postgres, Program, Ran, output};
use ziggurat_fake_providers::{Fake, Gate, Turn};

use crate::support::{Client, Home, asking, library, pipeline, server};

/// Headers of a call.
const CALL: &str = "content-type: application/json\r\nmcp-protocol-version: 2025-11-25\r\n\
    accept: application/json, text/event-stream\r\n";

const SHARING: &str = "  allow_include_sources: true\n";

/// A client on the standard streams of the program.
struct Pipes {
    program: Program,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Pipes {
    fn open(command: &mut Command) -> Self {
        let mut program = Program::start(command.stdin(Stdio::piped()));
        let (input, output) = program.pipes();
        let output = BufReader::new(output).lines();
        let mut pipes = Self {
            program,
            input,
            output,
        };
        let about = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let server = pipes.call("initialize", &about);
        assert_eq!(server["serverInfo"]["name"], "ziggurat-rag");
        pipes
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        let message = message(method, params);
        writeln!(self.input, "{message}").expect("written");
        let line = self.output.next().expect("an answer").expect("text");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        answer["result"].clone()
    }

    fn search(&mut self, text: &str) -> Value {
        let arguments = json!({"query": text, "top_n": 1});
        let params = json!({"name": "search_documents", "arguments": arguments});
        self.call("tools/call", &params)["structuredContent"]["passages"].clone()
    }

    /// Closes the input, and returns the log.
    fn close(self) -> String {
        let Self {
            mut program, input, ..
        } = self;
        drop(input);
        assert!(program.ended().success(), "{}", program.log());
        program.whole_log()
    }
}

fn message(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

fn ask(client: &Client) -> Answer {
    let params = json!({"name": "ask_documents", "arguments": {"query": "What do ferns like?"}});
    client.send("POST", "/mcp", CALL, &message("tools/call", &params))
}

fn served_folder(home: &Home, postgres: &Postgres) -> Pipes {
    let mut command = home.bare(&["stdio", "texts"]);
    command.env("DATABASE_URL", postgres.url());
    Pipes::open(command.current_dir(home.path()))
}

#[test]
fn one_command_serves_a_folder_and_takes_up_its_changes_at_the_next_start() {
    let postgres = Postgres::new();
    let home = Home::new();
    let texts = home.file("texts");
    fs::create_dir(&texts).expect("a folder");
    let write = |name: &str, text: &str| fs::write(texts.join(name), text).expect("written");
    write("ferns.md", "# Ferns\n\nFerns like shade and damp soil.\n");
    write("wool.md", "# Wool\n\nWool is washed in cold water.\n");
    let mut pipes = served_folder(&home, &postgres);
    let found = pipes.search("What do ferns like?");
    assert_eq!(found[0]["title"], "Ferns");
    let read = json!({"name": "read_document", "arguments": {"id": found[0]["id"]}});
    let read = pipes.call("tools/call", &read);
    let text = read["structuredContent"]["text"].as_str().expect("a text");
    assert!(text.contains("Ferns like shade"), "{text}");
    let log = pipes.close();
    assert!(log.contains("documents: 2 written, 0 unchanged"), "{log}");
    assert!(!log.contains(&postgres.password()), "{log}");

    write("moss.md", "# Moss\n\nMoss likes rain.\n");
    fs::remove_file(texts.join("wool.md")).expect("removed");
    let mut pipes = served_folder(&home, &postgres);
    assert_eq!(pipes.search("What does moss like?")[0]["title"], "Moss");
    let log = pipes.close();
    assert!(
        log.contains("documents: 1 written, 1 unchanged, 1 removed"),
        "{log}"
    );
}

#[test]
fn a_folder_that_cannot_be_served_says_why() {
    let home = Home::new();
    let ran = |arguments: &[&str], address: Option<&str>| {
        let mut command = home.bare(arguments);
        command.current_dir(home.path());
        if let Some(address) = address {
            command.env("DATABASE_URL", address);
        }
        Ran::from(output(&mut command))
    };
    fs::create_dir(home.file("texts")).expect("a folder");
    home.write("texts/ferns.md", "Ferns like shade.");
    for (arguments, address, code, expected) in [
        (&["stdio", "texts"][..], None, 1, "DATABASE_URL is not set"),
        (
            &["stdio", "texts"],
            Some("mysql://x/y"),
            1,
            "a connection URL starts with postgres://",
        ),
        (
            &["stdio", "none"],
            Some("postgres://u@127.0.0.1:1/d"),
            1,
            "folder none",
        ),
        (
            &["stdio", "texts"],
            Some("postgres://u:sesame@127.0.0.1:1/d"),
            1,
            "127.0.0.1:1",
        ),
        (
            &["stdio", "-model", "m"],
            None,
            2,
            "-model (it is for a folder)",
        ),
        (
            &["stdio", "texts", "-config", "a"],
            None,
            2,
            "without a configuration file",
        ),
    ] {
        let ran = ran(arguments, address);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains(expected),
            "{arguments:?}: {}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("sesame"), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn a_configuration_is_served_over_standard_streams_to_the_local_caller() {
    let postgres = library();
    let home = Home::new();
    let tokens = home.file("tokens.yaml");
    let section = server(&format!("  auth: {{token_file: {}}}\n", tokens.display()));
    let list = pipeline("docs", &postgres, SHARING)
        + &pipeline("other", &postgres, "  for: {tokens: [some-token]}\n");
    home.configure(&format!("{section}pipelines:\n{list}"));
    let mut pipes = Pipes::open(&mut home.command(&["stdio"]));
    assert_eq!(pipes.search("What do ferns like?")[0]["id"], "doc-0");
    let tools = pipes.call("tools/list", &json!({}));
    assert!(!tools.to_string().contains("other"), "{tools}");
    pipes.close();
}

#[test]
fn the_tools_are_off_if_the_operator_says_so_and_only_take_posted_calls() {
    let postgres = library();
    let list = pipeline("docs", &postgres, "");
    let home = Home::with(&format!("{}pipelines:\n{list}", server("  mcp: false\n")));
    let (_program, client) = home.serve();
    assert_eq!(ask(&client).status, 404);
    // Its page then shows no lines that connect an assistant.
    assert_eq!(client.get("/v1/console").json()["mcp"], false);
    let home = Home::with(&format!("{}pipelines:\n{list}", server("")));
    let (_program, client) = home.serve();
    assert_eq!(ask(&client).status, 200);
    let answer = client.get("/mcp");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    let foreign = format!("{CALL}origin: https://evil.example\r\n");
    assert_eq!(client.send("POST", "/mcp", &foreign, "{}").status, 403);
}

#[test]
fn calls_have_records_and_count_for_the_limits_of_their_callers() {
    let postgres = library();
    let section = server("");
    let list = pipeline("docs", &postgres, "");
    let home = Home::with(&format!(
        "{section}audit: {{file: audit.jsonl}}\n\
         limits: {{callers: [{{for: {{local: true}}, calls: 1 per day}}]}}\npipelines:\n{list}"
    ));
    let (mut program, client) = home.serve();
    let answer = ask(&client);
    assert_eq!(
        answer.json()["result"]["isError"],
        Value::Null,
        "{answer:?}"
    );
    assert!(answer.header("ratelimit").is_some(), "{answer:?}");
    let refused = ask(&client).json()["result"].clone();
    assert_eq!(refused["isError"], true);
    let text = refused["content"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("Too many calls: 1 per day."), "{text}");
    program.signal(Signal::TERM);
    assert!(program.ended().success(), "{}", program.log());
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    let records = trail.lines().map(serde_json::from_str::<Value>);
    let mut records: Vec<_> = records.collect::<Result<_, _>>().expect("lines of JSON");
    records.retain(|record| record["kind"] == "call");
    let verdicts: Vec<_> = records.iter().map(|record| &record["verdict"]).collect();
    assert_eq!(verdicts, ["ok", "limited"]);
    for (member, expected) in [
        ("method", "tools/call"),
        ("tool", "ask_documents"),
        ("pipeline", "docs"),
        ("endpoint", "/mcp"),
        ("transport", "http"),
    ] {
        assert_eq!(records[0][member], expected, "{member}");
    }
    assert!(
        !trail.contains("ferns"),
        "at most a digest of the question: {trail}"
    );
}

#[test]
fn a_client_that_leaves_ends_the_request_to_the_provider() {
    let (fake, postgres) = (Fake::start(), library());
    let list = asking("docs", &postgres, &fake, "");
    let mut home = Home::with(&format!("{}pipelines:\n{list}", server("")));
    home.set("ANTHROPIC_API_KEY", "sk-test");
    let (_program, client) = home.serve();
    let gate = Gate::new();
    fake.next(Turn::text("never").held(&gate));
    let params = json!({"name": "ask_documents", "arguments": {"query": "What do ferns like?"},
        "_meta": {"progressToken": 7}});
    let body = message("tools/call", &params);
    let connection = client.open("/mcp", CALL, &body, "\"message\":\"answering\"");
    fake.wait_for(1);
    drop(connection);
    fake.wait_for_leaving(1);
}

#[test]
fn answers_of_the_tool_are_those_of_the_endpoint() {
    let postgres = library();
    let list = pipeline("docs", &postgres, SHARING);
    let home = Home::with(&format!("{}pipelines:\n{list}", server("")));
    let (_program, client) = home.serve();
    let beginnings = ["What do", "How about", "Tell me of", "Why", "Where is the"];
    let subjects = [
        "ferns",
        "wool",
        "a kettle",
        "vinegar",
        "cold water",
        "shade",
        "soil",
        "dust",
    ];
    let ends = [
        "",
        " like?",
        " and damp soil?",
        " in cold water",
        " with vinegar?",
    ];
    for beginning in beginnings {
        for subject in subjects {
            for end in ends {
                let query = format!("{beginning} {subject}{end}");
                let body = json!({"query": query, "citations": true, "include_sources": true});
                let expected = client.post("/v1/pipelines/docs", &body.to_string()).json();
                let params = json!({"name": "ask_documents", "arguments": {"query": query}});
                let message = message("tools/call", &params);
                let answer = client.send("POST", "/mcp", CALL, &message).json();
                let said = &answer["result"]["structuredContent"];
                // Its answers are quotes.
                let citations = said["citations"].as_array().into_iter().flatten();
                let doubtful = citations.filter(|it| it.get("supported").is_some());
                assert_eq!(doubtful.count(), 0, "{query}: {said}");
                for member in ["answer", "citations", "tokens_used"] {
                    assert_eq!(said[member], expected[member], "{query}: {member}");
                }
                let ids = |list: &Value| -> Vec<Value> {
                    let list = list.as_array().into_iter().flatten();
                    list.map(|source| source["id"].clone()).collect()
                };
                assert_eq!(ids(&said["sources"]), ids(&expected["sources"]), "{query}");
            }
        }
    }
}

//! The demo as a new user runs it: started, used, stopped.

use std::{
    env, fs,
    io::{Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{process::Child, runtime::Runtime, time::timeout};
use ziggurat_black_box::{PATIENCE, Program, connect, ended, output, until};
use ziggurat_mcp_client::{Client, ClientBuilder};
use ziggurat_search::{
    bm25::{Bm25, Question},
    tokens,
};

/// A running demo, killed if a test fails.
struct Demo {
    program: Program,
    address: String,
    token: String,
    welcome: String,
    /// The folder of its temporary files.
    temporary: TempDir,
}

/// A server started by a client.
struct Started {
    runtime: Runtime,
    child: Child,
    client: Client,
}

impl Demo {
    fn start(arguments: &[&str]) -> Self {
        let temporary = tempfile::tempdir().expect("a folder");
        let program = Program::start_on_stdout(
            Command::new(env!("CARGO_BIN_EXE_ziggurat-demo"))
                .args(["--port", "0"])
                .args(arguments)
                .env("TMPDIR", temporary.path())
                .stdout(Stdio::piped()),
        );
        program.wait_for("Ctrl-C");
        let welcome = program.log();
        let after = |label: &str| {
            let line = welcome
                .lines()
                .find_map(|line| line.trim().strip_prefix(label));
            line.expect(label).trim().to_owned()
        };
        Self {
            address: after("Address"),
            token: after("Token"),
            program,
            welcome,
            temporary,
        }
    }

    /// Sends a request to a path below the printed address.
    fn post(&self, path: &str, token: Option<&str>, body: &Value) -> (u16, Value) {
        let host = self.address.strip_prefix("http://").expect("a URL");
        let (host, address) = host.split_once('/').expect("with a path");
        let mut stream = connect(host);
        let authorization = token.map_or_else(String::new, |token| {
            format!("authorization: Bearer {token}\r\n")
        });
        let body = body.to_string();
        let length = body.len();
        // HTTP/1.0 answers are not chunked.
        write!(
            stream,
            "POST /{address}{path} HTTP/1.0\r\nhost: {host}\r\n{authorization}\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).expect("a status");
        let status = status.parse().expect("a number");
        (status, serde_json::from_str(body).expect(body))
    }

    fn tool(&self, name: &str, arguments: &Value) -> String {
        runtime().block_on(async {
            let client = connected(Client::http(&self.address).with_bearer(&self.token)).await;
            let called = timeout(PATIENCE, client.call(name, arguments)).await;
            called.expect("answered").expect("called").text()
        })
    }

    fn query(&self, query: &str) -> String {
        self.tool("query_database", &json!({"query": query}))
    }

    /// The printed configurations that begin like this, parsed.
    fn configurations(&self, list: &str) -> Vec<Value> {
        let start = format!("{{\"{list}\"");
        let lines = self.welcome.lines().map(str::trim);
        let found = lines.filter(|line| line.starts_with(&start));
        found
            .map(|line| serde_json::from_str(line).expect(line))
            .map(|configuration: Value| configuration[list]["ziggurat-demo"].clone())
            .collect()
    }

    /// Presses Ctrl-C and waits for the end.
    fn stop(self) {
        self.stop_with(Signal::INT);
    }

    fn stop_with(mut self, signal: Signal) {
        let process = i32::try_from(self.program.id())
            .ok()
            .and_then(Pid::from_raw);
        let process = process.expect("the id of a process");
        self.program.signal(signal);
        let log = self.program.whole_log();
        assert!(log.contains("Stopped."), "{log}");
        assert!(self.program.ended().success());
        assert!(test_kill_process(process).is_err(), "still there");
        let left = entries(self.temporary.path());
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

impl Started {
    /// Starts the command of a client's configuration, in the environment of a client.
    fn new(server: &Value, temporary: &Path) -> Self {
        let words = |list: &Value| -> Vec<String> {
            serde_json::from_value(list.clone()).expect("a list of texts")
        };
        let mut command = tokio::process::Command::new(server["command"].as_str().expect("a text"));
        command
            .args(words(&server["args"]))
            .env_clear()
            .envs(["HOME", "PATH", "USER"].map(|name| (name, env::var(name).unwrap_or_default())))
            // Not part of the client's environment: the PostgreSQL that these tests use.
            .envs(env::vars().filter(|(name, _)| name == "ZIGGURAT_TEST_DATABASE_URL"))
            .env("TMPDIR", temporary)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        if let Some(variables) = server["env"].as_object() {
            let texts = variables.iter();
            command.envs(texts.map(|(name, value)| (name, value.as_str().expect("a text"))));
        }
        let runtime = runtime();
        let (child, client) = runtime.block_on(async {
            let mut child = command.spawn().expect("what was printed can be started");
            let output = child.stdout.take().expect("piped");
            let input = child.stdin.take().expect("piped");
            let client = connected(Client::stdio(output, input)).await;
            (child, client)
        });
        assert_eq!(client.server().name, "ziggurat-tools");
        Self {
            runtime,
            child,
            client,
        }
    }

    fn counts_customers(&self) {
        let query = json!({"query": "SELECT count(*) FROM customers"});
        let call = async { timeout(PATIENCE, self.client.call("query_database", &query)).await };
        let result = self.runtime.block_on(call).expect("answered");
        let text = result.expect("called").text();
        assert!(text.ends_with("count\n200"), "{text}");
    }

    /// Waits for the end of the server while its input stays open.
    fn ends(mut self) {
        let end = async { timeout(PATIENCE, self.child.wait()).await };
        let status = self.runtime.block_on(end).expect("it ends");
        assert!(status.expect("a child").success());
    }

    fn ends_with_its_input(self) {
        let close = self.client.clone().close();
        self.runtime.block_on(close).expect("closed");
        self.ends();
    }
}

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime")
}

async fn connected(client: ClientBuilder) -> Client {
    let connected = timeout(PATIENCE, client.connect()).await;
    connected.expect("answered").expect("connected")
}

fn call(name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

fn text_of(answer: &Value) -> String {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("a text in {answer}"))
        .to_owned()
}

fn entries(folder: &Path) -> Vec<String> {
    fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("read").path().display().to_string())
        .collect()
}

#[test]
fn the_demo_starts_answers_and_stops() {
    let demo = Demo::start(&[]);
    let answer = demo.query("SELECT count(*) FROM orders");
    assert!(
        answer.ends_with("Results (1 rows):\ncount\n1500"),
        "{answer}"
    );

    let (status, _) = demo.post("", Some("wrong"), &json!({}));
    assert_eq!(status, 401);
    demo.stop();
}

#[test]
fn the_handbook_is_loaded_from_a_folder_of_markdown_before_the_servers_start() {
    let demo = Demo::start(&[]);
    let mut lines = demo.welcome.lines();
    let command = lines.next().expect("a command");
    let start = "$ ziggurat-rag ingest -pipeline handbook ";
    let folder = command.strip_prefix(start).expect(command).to_owned();
    let files = entries(Path::new(&folder));
    let is_markdown = |file: &String| Path::new(file).extension().is_some_and(|it| it == "md");
    assert!(files.iter().all(is_markdown), "{files:?}");
    let progress = lines.next().expect("progress");
    let counted = format!("{} files  ", files.len());
    assert!(progress.starts_with(&counted), "{progress}");
    assert!(progress.contains("  0 failed  "), "{progress}");
    let answer = demo.query("SELECT count(DISTINCT document_id) FROM passages");
    assert!(answer.ends_with(&format!("\n{}", files.len())), "{answer}");
    demo.stop();
    assert!(!Path::new(&folder).exists(), "{folder}");
}

#[test]
fn a_second_demo_starts_quickly_while_the_first_is_running() {
    // The first makes the cluster and the template, and keeps both alive.
    let first = Demo::start(&[]);
    let start = Instant::now();
    let another = Demo::start(&[]);
    println!("a warm start: {:?}", start.elapsed());
    another.stop();
    first.stop();
}

#[test]
fn the_printed_line_for_curl_works() {
    let demo = Demo::start(&[]);
    let lines = demo.welcome.lines();
    let lines = lines.skip_while(|line| !line.contains("curl "));
    let lines: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    let line = lines.join("\n");
    let output = output(Command::new("sh").args(["-c", &line]));
    // 127: there is no curl on this machine.
    if output.status.code() != Some(127) {
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let text = text_of(&answer);
        assert!(
            text.contains("month\torders\trevenue\n2024-06-01\t"),
            "{text}"
        );
    }
    demo.stop();
}

#[test]
fn the_metrics_and_the_audit_trail_show_a_call() {
    let demo = Demo::start(&[]);
    demo.query("SELECT count(*) FROM customers");
    let line = |name: &str| {
        let line = demo
            .welcome
            .lines()
            .find_map(|line| line.trim().strip_prefix(name));
        let place = line.expect(name).split_whitespace().next();
        place.expect("a place").to_owned()
    };
    let url = line("Metrics");
    let host = url
        .strip_prefix("http://")
        .and_then(|it| it.strip_suffix("/metrics"));
    let page = ziggurat_black_box::Client::new(host.expect("a URL").to_owned());
    let page = page.get("/metrics").body;
    assert!(
        page.contains(r#"tool="query_database",database="shop",verdict="ok""#),
        "{page}"
    );
    let path = line("Audit");
    // The record is written soon after the answer.
    until("the record", || {
        fs::read_to_string(&path).is_ok_and(|trail| trail.contains(r#""kind":"call""#))
    });
    demo.stop();
    assert!(!Path::new(&path).exists(), "{path}");
}

#[test]
fn the_printed_lines_for_the_handbook_answer_whole_and_as_a_stream() {
    let demo = Demo::start(&[]);
    let lines = demo.welcome.lines();
    let lines: Vec<_> = lines.skip_while(|line| !line.contains("/v1/")).collect();
    let commands: Vec<_> = lines
        .chunks(3)
        .take(2)
        .map(|pair| pair.join("\n"))
        .collect();
    for (command, expected) in commands.iter().zip([
        ["\"sources\":[", "\"citations\":[{\"marker\":"],
        ["{\"type\":\"sources\"", "{\"type\":\"done\""],
    ]) {
        let output = output(Command::new("sh").args(["-c", command]));
        // 127: there is no curl on this machine.
        if output.status.code() != Some(127) {
            let text = String::from_utf8_lossy(&output.stdout);
            for expected in expected {
                assert!(text.contains(expected), "{text}");
            }
            assert!(text.contains("ool"), "{text}");
        }
    }
    demo.stop();
}

/// Returns the value of a key that has its own line.
fn value<'a>(configuration: &'a str, key: &str) -> &'a str {
    let found = configuration.lines().find_map(|line| {
        let (name, value) = line.trim().split_once(": ")?;
        (name == key).then_some(value)
    });
    found.expect(key).trim_matches('"')
}

#[test]
fn the_profile_of_the_command_line_signs_in() {
    let demo = Demo::start(&[]);
    let line = demo.welcome.lines().find(|line| line.contains("--config "));
    let words = line.and_then(|line| line.split_once("--config "));
    let path = words.and_then(|(_, rest)| rest.split(' ').next());
    let path = Path::new(path.expect("a path"));
    let about = fs::metadata(path).expect("written");
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
    let profile = fs::read_to_string(path).expect("text");
    let service = value(&profile, "api_url").strip_prefix("http://");
    let service = service.expect("an address");
    let body = json!({
        "client_id": value(&profile, "client_id"),
        "client_secret": value(&profile, "client_secret"),
    });
    let body = body.to_string();
    let mut stream = connect(service);
    write!(
        stream,
        "POST /account/v1/oauth/token HTTP/1.0\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
    assert!(answer.contains("\"access_token\":"), "{answer}");
    demo.stop();
}

#[test]
fn the_configurations_for_http_name_the_server_that_runs() {
    let demo = Demo::start(&[]);
    let mut servers = demo.configurations("mcpServers");
    servers.extend(demo.configurations("servers"));
    servers.retain(|server| server["type"] == "http");
    assert_eq!(servers.len(), 2);
    for server in servers {
        assert_eq!(server["url"], *demo.address);
        let authorization = format!("Bearer {}", demo.token);
        assert_eq!(server["headers"]["Authorization"], authorization);
    }
    demo.stop();
}

#[test]
fn the_configurations_for_stdio_start_a_server_that_answers() {
    let demo = Demo::start(&[]);
    let mut servers = demo.configurations("mcpServers");
    servers.extend(demo.configurations("servers"));
    servers.retain(|server| server["type"] == "stdio");
    assert_eq!(servers.len(), 2);
    // They work without the demo that printed them.
    demo.stop();
    for server in servers {
        let temporary = tempfile::tempdir().expect("a folder");
        let started = Started::new(&server, temporary.path());
        started.counts_customers();
        started.ends_with_its_input();
        let left = entries(temporary.path());
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

#[test]
fn a_signal_ends_a_server_on_standard_input_that_is_still_open() {
    let temporary = tempfile::tempdir().expect("a folder");
    let server = json!({"command": env!("CARGO_BIN_EXE_ziggurat-demo"), "args": ["--stdio"]});
    let started = Started::new(&server, temporary.path());
    started.counts_customers();
    let process = started.child.id().expect("still running");
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    kill_process(process.expect("an id"), Signal::HUP).expect("still running");
    started.ends();
    let left = entries(temporary.path());
    assert!(left.is_empty(), "left behind: {left:?}");
}

#[test]
fn closing_the_terminal_ends_it_too() {
    Demo::start(&[]).stop_with(Signal::HUP);
}

#[test]
fn an_interrupted_start_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().expect("a folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_ziggurat-demo"))
        .args(["--port", "0"])
        .env("TMPDIR", temporary.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("built");
    // The folder is made first; hashing the password in it takes some tenths of a second.
    until("the folder is there", || {
        assert_eq!(child.try_wait().expect("a child"), None);
        !entries(temporary.path()).is_empty()
    });
    kill_process(Pid::from_child(&child), Signal::INT).expect("running");
    assert!(ended(&mut child).success());
    let left = entries(temporary.path());
    assert!(left.is_empty(), "left behind: {left:?}");
}

#[test]
fn the_user_can_log_in() {
    let demo = Demo::start(&[]);
    let (_, password) = demo.welcome.split_once("(password ").expect("a password");
    let (password, _) = password.split_once(')').expect("its end");
    let arguments = json!({"username": "demo", "password": password});
    let (status, answer) = demo.post("/v1", None, &call("authenticate_user", &arguments));
    assert_eq!(status, 200);
    assert!(text_of(&answer).contains("session_token"), "{answer}");
    demo.stop();
}

#[test]
fn the_servers_can_only_read() {
    let demo = Demo::start(&[]);
    let answer = demo.query("DELETE FROM orders");
    let refusal = "cannot execute DELETE in a read-only transaction";
    assert!(answer.contains(refusal), "{answer}");

    // A given PostgreSQL keeps its roles.
    if env::var_os("ZIGGURAT_TEST_DATABASE_URL").is_none() {
        let answer = demo.query(
            "SELECT current_setting('is_superuser'), has_table_privilege('orders', 'DELETE')",
        );
        assert!(answer.ends_with("\noff\tfalse"), "{answer}");
    }
    demo.stop();
}

#[test]
fn the_handbook_is_described_and_its_vectors_find_neighbours() {
    let demo = Demo::start(&[]);
    let schema = demo.tool(
        "get_schema_info",
        &json!({"schema_name": "public", "table_name": "handbook"}),
    );
    for promised in [
        "vector(256)",
        "What the shop tells its customers",
        "compare with <=>",
    ] {
        assert!(schema.contains(promised), "{promised}: {schema}");
    }
    let answer = demo.query(
        "SELECT other.title FROM handbook AS one, handbook AS other
         WHERE one.title = 'Cleaning a cast-iron pan' AND other.id <> one.id
         ORDER BY other.embedding <=> one.embedding LIMIT 1",
    );
    assert!(answer.ends_with("Seasoning a cast-iron pan"), "{answer}");
    demo.stop();
}

/// Results of a question: whether the article is the first by vectors alone, and by keywords alone.
const QUESTIONS: [(&str, &str, bool, bool); 6] = [
    ("how do I clean brass", "Brass lamps", true, true),
    (
        "eggs stick to my pan",
        "Seasoning a cast-iron pan",
        false,
        true,
    ),
    (
        "where do I hang a hammock",
        "Hanging a hammock",
        false,
        true,
    ),
    ("my order came in parts", "Several parcels", false, true),
    ("how can I water less", "How much to water", true, false),
    (
        "what does delivery of a large pot cost",
        "What delivery costs",
        true,
        false,
    ),
];

/// The articles of the handbook: number, title and text.
fn handbook(demo: &Demo) -> Vec<[String; 3]> {
    let answer = demo.query("SELECT id, title, body FROM handbook ORDER BY id");
    let (_, lines) = answer.split_once("id\ttitle\tbody\n").expect(&answer);
    let fields = |line: &str| {
        let fields: Vec<_> = line.split('\t').map(str::to_owned).collect();
        fields.try_into().expect("three fields")
    };
    lines.lines().map(fields).collect()
}

/// The title of the article that contains most words of a question.
fn by_words<'a>(articles: &'a [[String; 3]], question: &str) -> &'a str {
    let question = Question::new(tokens::words(question));
    let tallies: Vec<_> = articles
        .iter()
        .map(|[_, title, body]| question.count_terms(tokens::words(&format!("{title}. {body}"))))
        .collect();
    let scores = Bm25::PASSAGES.scores(&tallies);
    let best = articles
        .iter()
        .zip(scores)
        .max_by(|a, b| a.1.total_cmp(&b.1));
    &best.expect("a handbook").0[1]
}

#[test]
fn vectors_and_words_together_find_what_each_alone_misses() {
    let demo = Demo::start(&[]);
    let articles = handbook(&demo);
    for (question, expected, vectors_do, words_do) in QUESTIONS {
        let search = |format: &str| {
            demo.tool(
                "similarity_search",
                &json!({"query_text": question, "table_name": "handbook",
                    "output_format": format}),
            )
        };
        let ids = search("ids_only");
        let (_, first) = ids.split_once("\n1. ID: ").expect(&ids);
        let id = first.split(' ').next().expect("a number");
        let article = articles.iter().find(|[of, ..]| of == id).expect(&ids);
        assert_eq!(
            article[1] == expected,
            vectors_do,
            "{question}: {}",
            article[1]
        );

        let words = by_words(&articles, question);
        assert_eq!(words == expected, words_do, "{question}: {words}");

        let text = search("full");
        let (_, first) = text.split_once("\nResult 1/").expect(&text);
        let (_, rank) = first.split_once("rank: #").expect(&text);
        let rank = rank.split(',').next().expect("a rank");
        let (_, named) = ids.split_once(&format!("\n{rank}. ID: ")).expect(&ids);
        let id = named.split(' ').next().expect("a number");
        let article = articles.iter().find(|[of, ..]| of == id).expect(&ids);
        assert_eq!(article[1], expected, "{question}: {text}");
    }
    demo.stop();
}

#[test]
fn kept_data_are_there_at_the_next_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("to be made");
    let keep = ["--keep", folder.to_str().expect("text")];
    let sum = "SELECT sum(quantity * unit_price) FROM order_items";

    let demo = Demo::start(&keep);
    let result = |answer: String| answer.rsplit_once("sum\n").expect("a sum").1.to_owned();
    let first = result(demo.query(sum));
    let token = demo.token.clone();
    let server = folder.join("server");
    let mode = fs::metadata(&server).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    demo.stop();

    let demo = Demo::start(&keep);
    assert_eq!(demo.token, token);
    assert_eq!(result(demo.query(sum)), first);
    // A server started by a client uses the same data.
    let configurations = demo.configurations("mcpServers");
    let mut servers = configurations.iter();
    let server = servers.find(|server| server["type"] == "stdio");
    let temporary = tempfile::tempdir().expect("a folder");
    let started = Started::new(server.expect("printed"), temporary.path());
    started.counts_customers();
    started.ends_with_its_input();
    demo.stop();
}

#[test]
fn an_unknown_argument_is_an_error_that_names_it() {
    let output = output(Command::new(env!("CARGO_BIN_EXE_ziggurat-demo")).arg("--prot"));
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).expect("text");
    assert_eq!(complaint, "error: unknown argument --prot; see --help\n");
}

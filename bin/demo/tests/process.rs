//! The demo as a new user meets it: started, asked, stopped.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, ChildStdout, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

/// The demo, which is killed if a test fails.
struct Demo {
    child: Child,
    out: BufReader<ChildStdout>,
    address: String,
    token: String,
    welcome: String,
}

impl Demo {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ziggurat-demo"))
            .args(["--port", "0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("built");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let mut welcome = String::new();
        while !welcome.contains("Ctrl-C") {
            let read = out.read_line(&mut welcome).expect("text");
            assert_ne!(read, 0, "it ended after: {welcome}");
        }
        let after = |label: &str| {
            let line = welcome
                .lines()
                .find_map(|line| line.trim().strip_prefix(label));
            line.expect(label).trim().to_owned()
        };
        Self {
            address: after("Address"),
            token: after("Token"),
            child,
            out,
            welcome,
        }
    }

    fn post(&self, token: &str, body: &str) -> String {
        let host = self.address.strip_prefix("http://").expect("a URL");
        let (host, path) = host.split_once('/').expect("with a path");
        let mut stream = TcpStream::connect(host).expect("listening");
        let length = body.len();
        write!(
            stream,
            "POST /{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
             connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        answer
    }

    fn query(&self, query: &str) -> String {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"query_database","arguments":{{"query":"{query}"}}}}}}"#
        );
        self.post(&self.token, &body)
    }

    /// Presses Ctrl-C and waits for the end.
    fn stop(mut self) {
        let process = Pid::from_child(&self.child);
        kill_process(process, Signal::INT).expect("still running");
        let mut farewell = String::new();
        self.out.read_to_string(&mut farewell).expect("text");
        assert!(farewell.contains("Stopped."), "{farewell}");
        assert!(self.child.wait().expect("ended").success());
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn it_comes_up_answers_and_goes() {
    let demo = Demo::start(&[]);
    for promised in [
        "curl -s http://",
        r#""mcpServers""#,
        "Authorization: Bearer",
    ] {
        assert!(
            demo.welcome.contains(promised),
            "{promised}: {}",
            demo.welcome
        );
    }
    let answer = demo.query("SELECT count(*) FROM orders");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(
        answer.contains(r"Results (1 rows):\ncount\n1500"),
        "{answer}"
    );

    let answer = demo.query("DELETE FROM orders");
    assert!(
        answer.contains("cannot execute DELETE in a read-only transaction"),
        "{answer}"
    );

    let answer = demo.post("wrong", "{}");
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    demo.stop();
}

#[test]
fn what_is_kept_is_there_the_next_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let keep = ["--keep", folder.path().to_str().expect("text")];
    let sum = "SELECT sum(quantity * unit_price) FROM order_items";

    let demo = Demo::start(&keep);
    let result = |answer: String| answer.rsplit_once(r"sum\n").expect("a sum").1.to_owned();
    let first = result(demo.query(sum));
    demo.stop();

    let demo = Demo::start(&keep);
    assert_eq!(result(demo.query(sum)), first);
    demo.stop();
}

#[test]
fn an_argument_nobody_knows_is_an_error_that_names_it() {
    let output = Command::new(env!("CARGO_BIN_EXE_ziggurat-demo"))
        .arg("--prot")
        .output()
        .expect("built");
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).expect("text");
    assert_eq!(complaint, "error: unknown argument --prot; see --help\n");
}

//! Client over standard input and output.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{ChildStdin, ChildStdout},
    sync::mpsc,
    thread,
};

use serde_json::{Value, json};

use ziggurat_black_box::PATIENCE;

/// Client's end of the pipes.
pub(crate) struct StdioClient {
    input: Option<ChildStdin>,
    answers: mpsc::Receiver<String>,
}

impl StdioClient {
    pub(crate) fn new(input: ChildStdin, output: ChildStdout) -> Self {
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines();
            for line in lines.map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            input: Some(input),
            answers,
        }
    }

    /// Sends bytes as they are.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("not hung up");
        input.write_all(bytes).expect("somebody listens");
        input.flush().expect("somebody listens");
    }

    /// Sends a message on a line of its own.
    pub(crate) fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    /// Returns the next line.
    pub(crate) fn receive_line(&self) -> String {
        self.answers.recv_timeout(PATIENCE).expect("an answer")
    }

    /// Returns the next line, which must be JSON.
    pub(crate) fn receive(&self) -> Value {
        let line = self.receive_line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Returns whether the program has closed its output, without further lines.
    pub(crate) fn is_over(&self) -> bool {
        matches!(
            self.answers.recv_timeout(PATIENCE),
            Err(mpsc::RecvTimeoutError::Disconnected)
        )
    }

    /// Sends a request and waits for the answer; no other request may be in flight.
    pub(crate) fn call(&mut self, id: &Value, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.receive()
    }

    /// Calls a tool, and returns its text and whether it is an error.
    pub(crate) fn tool(&mut self, name: &str, arguments: &Value) -> (String, bool) {
        let params = json!({"name": name, "arguments": arguments});
        let answer = self.call(&json!(1), "tools/call", &params);
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("a text in {answer}"));
        (text.to_owned(), answer["result"]["isError"] == true)
    }

    /// Closes standard input.
    pub(crate) fn hang_up(&mut self) {
        self.input = None;
    }
}

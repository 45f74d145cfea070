//! Client of the same server over HTTP and over standard input and output.

use serde_json::{Value, json};

use super::{Client, Home, Program, StdioClient};

/// Replaces the ids that identify a line in the log.
fn without_ids(answer: &str) -> String {
    const BEFORE: &str = "for request id ";
    let mut parts = answer.split(BEFORE);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let id = part.find(')').unwrap_or(part.len());
        text.push_str(BEFORE);
        text.push_str(&part[id..]);
    }
    text
}

/// Server on HTTP, and one on standard input and output, with the same files and without
/// authentication; both must give the same answers.
pub(crate) struct Transports {
    pub(crate) client: Client,
    pub(crate) stdio: StdioClient,
    _programs: [Program; 2],
    /// The programs read the folder after their start.
    _home: Home,
}

impl Transports {
    pub(crate) fn open(home: Home) -> Self {
        let (http, client) = home.serve(&["-no-auth"]);
        let (program, stdio) = home.stdio(&[]);
        Self {
            client,
            stdio,
            _programs: [http, program],
            _home: home,
        }
    }

    /// Sends a message over both transports, and returns the answer, which must be identical except
    /// for ids of lines in the log.
    pub(crate) fn ask(&mut self, message: &str) -> String {
        let [http, stdio] = self.ask_each(message);
        assert_eq!(without_ids(&http), without_ids(&stdio), "{message}");
        stdio
    }

    /// Sends a message over both transports, and returns both answers.
    pub(crate) fn ask_each(&mut self, message: &str) -> [String; 2] {
        let http = self.client.post("/mcp/v1", message);
        assert_eq!(http.status, 200, "{message}: {http:?}");
        assert_eq!(http.header("content-type"), Some("application/json"));
        self.stdio.send_bytes(format!("{message}\n").as_bytes());
        [http.body, self.stdio.receive_line()]
    }

    /// Sends a notification over both transports.
    pub(crate) fn tell(&mut self, message: &str) {
        let http = self.client.post("/mcp/v1", message);
        assert_eq!(
            (http.status, &*http.body),
            (202, ""),
            "{message}: {}",
            http.head
        );
        self.stdio.send_bytes(format!("{message}\n").as_bytes());
    }

    /// Calls a method over both transports, and returns the identical answer.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self.ask(&call.to_string());
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// Calls a tool over both transports, and returns its text and whether it is an error.
    pub(crate) fn tool(&mut self, name: &str, arguments: &Value) -> (String, bool) {
        said(&self.call("tools/call", &json!({"name": name, "arguments": arguments})))
    }

    /// Calls a tool with answers that differ from call to call.
    pub(crate) fn tool_each(&mut self, name: &str, arguments: &Value) -> [(String, bool); 2] {
        let params = json!({"name": name, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answers = self.ask_each(&call.to_string());
        answers.map(|answer| said(&serde_json::from_str(&answer).expect("JSON")))
    }

    /// Calls a tool that must succeed.
    pub(crate) fn succeed(&mut self, name: &str, arguments: &Value) -> String {
        let (text, is_error) = self.tool(name, arguments);
        assert!(!is_error, "{arguments}: {text}");
        text
    }

    /// Calls a tool that must fail with a tool error.
    pub(crate) fn fail(&mut self, name: &str, arguments: &Value) -> String {
        let (text, is_error) = self.tool(name, arguments);
        assert!(is_error, "{arguments}: {text}");
        text
    }
}

/// Returns the text of a tool result, and whether it is an error.
fn said(answer: &Value) -> (String, bool) {
    let result = answer["result"].as_object();
    let result = result.unwrap_or_else(|| panic!("a result in {answer}"));
    let is_error = match result.get("isError") {
        None => false,
        // Absent instead of false.
        Some(is_error) => {
            assert_eq!(*is_error, true, "{answer}");
            true
        }
    };
    assert_eq!(result.len(), 1 + usize::from(is_error), "{answer}");
    let content = result["content"].as_array().expect("a list");
    assert_eq!(content.len(), 1, "{answer}");
    assert_eq!(content[0]["type"], "text", "{answer}");
    let text = content[0]["text"].as_str().expect("a text");
    (text.to_owned(), is_error)
}

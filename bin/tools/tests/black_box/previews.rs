//! Tests of previews: what a statement would change is shown, and exactly that is committed.

mod asking;
mod callers;
mod http;
mod limits;
mod manual;
mod masks;
mod tools;
mod undo;
mod without;

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    revisions::result,
    support::{Answer, Client, Home, Postgres, Program},
};

const SHOP: &str = "
    CREATE TABLE orders (id int PRIMARY KEY, customer int, status text);
    CREATE TABLE line (id int PRIMARY KEY, ord int REFERENCES orders ON DELETE SET NULL);
    CREATE TABLE draft (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text);
    INSERT INTO orders VALUES (7, 3, 'open'), (8, 4, 'late');
    INSERT INTO line VALUES (12, 7);
    CREATE FUNCTION wipe() RETURNS int LANGUAGE sql AS 'DELETE FROM orders WHERE id = 7; SELECT 1';";

const DELETE: &str = "DELETE FROM orders WHERE id = 7";

/// Text about the rows that this statement changes.
const DELETED: &str = "public.line: 1 changed\n  id 12: ord 7 -> NULL\npublic.orders: 1 removed\n  \
                       id 7: customer 3, status 'open'";

/// A server with previews, and its database.
struct Shop {
    postgres: Postgres,
    home: Home,
    program: Program,
    client: Client,
}

impl Shop {
    /// Starts one with these keys of the section `preview`.
    fn new(keys: &str) -> Self {
        Self::with(keys, "")
    }

    /// Starts one with more lines in its configuration.
    fn with(keys: &str, more: &str) -> Self {
        let postgres = Postgres::with(SHOP);
        let home = Home::new();
        fs::write(home.file("own.yaml"), tools::TOOLS).expect("written");
        let entry = postgres.entry("shop");
        let secret = home.file("secret");
        fs::write(&secret, "what replicas have in common").expect("written");
        home.configure(&format!(
            "secret_file: {}\naudit: {{file: audit.jsonl}}\ndatabases:\n{entry}    \
             allow_writes: true\n    preview: {{{keys}}}\n{more}",
            secret.display()
        ));
        let (program, client) = home.serve(&["-no-auth"]);
        Self {
            postgres,
            home,
            program,
            client,
        }
    }

    fn orders(&self) -> i64 {
        self.postgres.count("SELECT count(*) FROM orders")
    }

    /// Ends the server, and returns the members `write` of its records with their verdicts.
    fn recorded(self) -> Vec<(Value, Value)> {
        let Self {
            home, mut program, ..
        } = self;
        program.signal(Signal::TERM);
        assert!(program.ended().success());
        let text = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let written = lines.filter(|line| line["write"].is_object());
        written
            .map(|line| (line["write"].clone(), line["verdict"].clone()))
            .collect()
    }
}

/// Returns the steps of records with their verdicts.
fn steps(recorded: &[(Value, Value)]) -> Vec<[&str; 2]> {
    let steps = recorded.iter();
    let texts = steps.map(|(write, verdict)| [&write["step"], verdict]);
    texts
        .map(|texts| texts.map(|text| text.as_str().unwrap_or_default()))
        .collect()
}

/// Sends a statement over HTTP, with more members.
fn ask(client: &Client, sql: &str, more: &Value) -> Answer {
    let mut body = json!({"sql": sql});
    for (name, value) in more.as_object().expect("members") {
        body[name] = value.clone();
    }
    client.post("/api/query", &body.to_string())
}

/// Returns the demand to confirm a preview.
fn demand(client: &Client, sql: &str) -> Value {
    let answer = ask(client, sql, &json!({}));
    assert_eq!(answer.status, 409, "{answer:?}");
    answer.json()
}

/// Returns the last line of a statement that ran.
fn done(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    let last = answer.body.lines().last().expect("a line");
    let done: Value = serde_json::from_str(last).expect("JSON");
    assert!(done["done"].is_object(), "{answer:?}");
    done["done"].clone()
}

/// Calls a tool with a modern revision.
pub(crate) fn call(client: &Client, arguments: &Value, can_ask: bool, members: &Value) -> Value {
    let capabilities = if can_ask {
        json!({"elicitation": {}})
    } else {
        json!({})
    };
    let mut params = json!({
        "name": "query_database",
        "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        },
    });
    for (key, value) in members.as_object().expect("members") {
        if key == "_meta" {
            for (key, value) in value.as_object().expect("members") {
                params["_meta"][key] = value.clone();
            }
        } else {
            params[key] = value.clone();
        }
    }
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = "content-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\n\
        mcp-method: tools/call\r\nmcp-name: query_database\r\n";
    let answer = client.send("POST", "/mcp", headers, &call.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["result"].clone()
}

/// Returns the question to a user, if there is one.
pub(crate) fn message(asked: &Value) -> &str {
    let params = &asked["inputRequests"]["confirm"]["params"];
    params["message"].as_str().unwrap_or_default()
}

/// Confirms a question.
pub(crate) fn yes(asked: &Value) -> Value {
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let response = json!({"action": "accept", "content": {"confirm": true}});
    json!({"inputResponses": {"confirm": response}, "requestState": asked["requestState"]})
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// Returns the arguments of a tool.
fn properties(client: &Client, name: &str) -> Value {
    let list = result(client, "tools/list", &json!({}));
    let mut tools = list["tools"].as_array().expect("tools").iter();
    let tool = tools.find(|tool| tool["name"] == name).expect("the tool");
    tool["inputSchema"]["properties"].clone()
}

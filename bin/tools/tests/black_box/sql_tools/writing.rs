//! Tests of SQL tools that write.

use serde_json::{Value, json};

use super::{SHOP, home, text};
use crate::{
    revisions::result,
    support::{Client, Postgres},
};

const WRITING: &str = r"
- name: cancel
  title: Cancel an order
  description: D
  database: main
  write: true
  destructive: false
  idempotent: true
  statement: UPDATE orders SET note = :why WHERE id = :id AND :who = 'local' RETURNING id, note
  parameters:
  - {name: id, type: integer}
  - {name: why, type: string, sensitive: true}
  - {name: who, type: string, from: caller}
- {name: erase, description: D, database: main, write: true, confirm: always, statement: DELETE FROM orders}
- name: add
  description: D
  database: main
  write: true
  statement: INSERT INTO orders (id, note) SELECT n, 'new' FROM unnest(:ids) n
  parameters: [{name: ids, type: array, items: {type: integer}}]
- name: pay
  description: D
  database: main
  write: true
  confirm: always
  statement: INSERT INTO orders (id, note) SELECT :amount, concat(:note, cardinality(:tags), :maybe)
  parameters:
  - {name: note, type: string, max_length: 20000}
  - {name: tags, type: array, items: {type: string}}
  - {name: maybe, type: string, required: false}
  - {name: amount, type: integer}
- {name: show, description: D, statement: SELECT 1}
";

/// Calls a tool from a client that supports elicitation, with the answers of its user.
pub(crate) fn asked(client: &Client, call: &Value, answers: &Value) -> Value {
    let name = call["name"].as_str().expect("a name");
    let mut params = json!({
        "name": name,
        "arguments": call["arguments"],
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        },
    });
    for (key, value) in answers.as_object().expect("members") {
        params[key] = value.clone();
    }
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = format!(
        "content-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {name}\r\n"
    );
    let answer = client.send("POST", "/mcp", &headers, &call.to_string());
    answer.json()["result"].clone()
}

/// Returns the answer of a user to a question.
pub(crate) fn confirmed(question: &Value, confirm: bool) -> Value {
    let response = json!({"action": "accept", "content": {"confirm": confirm}});
    json!({"inputResponses": {"confirm": response}, "requestState": question["requestState"]})
}

#[test]
fn a_tool_that_writes_is_confirmed_by_the_user() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, WRITING);
    let (_program, client) = home.serve(&["-no-auth"]);
    let note = |note: &str| {
        postgres.count(&format!(
            "SELECT count(*) FROM orders WHERE note = '{note}'"
        ))
    };
    let cancel = |arguments: &Value, answers: &Value| {
        let call = json!({"name": "cancel", "arguments": arguments});
        asked(&client, &call, answers)
    };
    let arguments = json!({"id": 1, "why": "it's secret"});
    let question = cancel(&arguments, &json!({}));
    let message = &question["inputRequests"]["confirm"]["params"]["message"];
    let expected =
        "May the tool \"Cancel an order\" change data in the database main?\nid: \"1\"\nwhy: ***";
    assert_eq!(message, expected, "{question}");
    assert_eq!(note("it''s secret"), 0);
    let declined = cancel(&arguments, &confirmed(&question, false));
    assert_eq!(
        text(&declined),
        "The user did not confirm the call, and it was not run."
    );
    // The answer is for these values only.
    let others = json!({"id": 2, "why": "it's secret"});
    let refused = cancel(&others, &confirmed(&question, true));
    assert_eq!(refused, Value::Null);
    let done = cancel(&arguments, &confirmed(&question, true));
    assert_eq!(text(&done), "Results (1 rows):\nid\tnote\n1\tit's secret");
    assert_eq!(
        done["structuredContent"]["rows"],
        json!([[1, "it's secret"]])
    );
    assert_eq!(note("it''s secret"), 1);
    let again = cancel(&arguments, &confirmed(&question, true));
    assert_eq!(again["resultType"], "input_required", "{again}");

    // A client that cannot be asked is taken at its word, unless the operator wants a confirmation.
    let (text, is_error) = client.tool("cancel", &json!({"id": 3, "why": "b"}));
    assert_eq!(
        (&*text, is_error),
        ("Results (1 rows):\nid\tnote\n3\tb", false)
    );
    let (text, _) = client.tool("cancel", &json!({"id": 99, "why": "b"}));
    assert_eq!(text, "No rows.");
    let (text, _) = client.tool("add", &json!({"ids": [11, 12]}));
    assert_eq!(text, "Rows affected: 2");
    assert_eq!(note("new"), 2);
    let (text, is_error) = client.tool("add", &json!({"ids": [13, 11]}));
    let expected = "Error: ERROR: duplicate key value violates unique constraint \"orders_pkey\" \
                    (SQLSTATE 23505)\nDETAIL: Key (id)=(11) already exists.";
    assert_eq!((&*text, is_error), (expected, true));
    assert_eq!(note("new"), 2);
    let (text, is_error) = client.tool("erase", &json!({}));
    let expected = "This tool changes data and has to be confirmed by a user, whom this client \
                    cannot ask.";
    assert_eq!((&*text, is_error), (expected, true));
    assert_eq!(postgres.count("SELECT count(*) FROM orders"), 5);
}

#[test]
fn a_value_cannot_look_like_another_line_of_the_question_and_is_shown_whole_or_not_at_all() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, WRITING);
    let (_program, client) = home.serve(&["-no-auth"]);
    let pay = |note: &str| {
        let arguments = json!({"note": note, "tags": ["a", "b\", \"c"], "amount": 1_000_000});
        asked(
            &client,
            &json!({"name": "pay", "arguments": arguments}),
            &json!({}),
        )
    };
    let message = |question: &Value| {
        let message = &question["inputRequests"]["confirm"]["params"]["message"];
        message.as_str().expect("a question").to_owned()
    };
    let expected = r#"May the tool "pay" change data in the database main?
note: "x\namount: \"1\"\r\t\\ \u{202e}\u{2028}"
tags: ["a", "b\", \"c"]
maybe: NULL
amount: "1000000""#;
    let question = pay("x\namount: \"1\"\r\t\\ \u{202e}\u{2028}");
    assert_eq!(message(&question), expected);
    let question = message(&pay(&format!("{}end", "x".repeat(9000))));
    assert!(question.contains("xxend\"\ntags"), "{question}");
    let refused = pay(&"x".repeat(17_000));
    let expected = "The user has to see the whole call to confirm it. The question has 17115 bytes, \
                    and at most 16384 can be shown, so the call was not run. Send a shorter one.";
    assert_eq!(text(&refused), expected, "{refused}");
}

#[test]
fn tools_are_listed_on_every_endpoint_with_their_annotations() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, WRITING);
    let (_program, client) = home.serve(&["-no-auth"]);
    let exact = client.call("tools/list", &json!({}))["result"]["tools"].clone();
    let newest = result(&client, "tools/list", &json!({}))["tools"].clone();
    let find = |tools: &Value, name: &str| {
        let mut tools = tools.as_array().expect("a list").iter();
        tools.find(|tool| tool["name"] == name).expect(name).clone()
    };
    assert_eq!(
        find(&exact, "cancel"),
        json!({"name": "cancel", "description": "D", "inputSchema": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "why": {"type": "string", "maxLength": 10000}},
            "required": ["id", "why"],
            "additionalProperties": false,
        }})
    );
    let cancel = find(&newest, "cancel");
    assert_eq!(cancel["title"], "Cancel an order");
    let annotations = |tool: &Value| tool["annotations"].clone();
    assert_eq!(
        annotations(&cancel),
        json!({"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
    );
    assert_eq!(
        annotations(&find(&newest, "erase"))["destructiveHint"],
        true
    );
    let expected = json!({"readOnlyHint": true, "openWorldHint": false});
    assert_eq!(annotations(&find(&newest, "show")), expected);
}

//! Tests that every statement for a call has a span and a comment.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use ziggurat_black_box::Collector;

use super::{TRACE, below, home, only, spans_at_the_end, traced, word};
use crate::{
    revisions::{ask, result},
    support::Postgres,
    tools_similarity::garden,
};

/// Calls of tools and resources, each of which has a statement of its own.
const CALLS: [(&str, &str); 6] = [
    ("get_schema_info", r#"{"compact": true}"#),
    ("search_schema", r#"{"query": "page"}"#),
    ("count_rows", r#"{"table": "page"}"#),
    ("execute_explain", r#"{"query": "SELECT 1"}"#),
    ("similarity_search", r#"{"query_text": "shade"}"#),
    ("query_database", r#"{"query": "SELECT 1"}"#),
];

#[test]
fn every_call_that_sends_a_statement_has_a_span_of_it() {
    let postgres = garden();
    let collector = Collector::start();
    let telemetry = format!("{{otlp: {{url: {}, ratio: 0}}}}", collector.url);
    let mut home = home(&postgres, &telemetry);
    // Each call reads the tables anew.
    let entry = postgres.entry("main");
    home.configure(&format!(
        "databases:\n{entry}    metadata_ttl: 0s\ntelemetry: {telemetry}\n"
    ));
    home.set("ZIGGURAT_EMBEDDING_ENABLED", "true");
    home.set("ZIGGURAT_EMBEDDING_PROVIDER", "local");
    let token = home.token("main");
    let (program, client) = home.serve(&[]);
    let client = client.bearing(&token);
    for (name, arguments) in CALLS {
        let arguments: Value = serde_json::from_str(arguments).expect("JSON");
        let params = json!({"name": name, "arguments": arguments});
        result(&client, "tools/call", &traced(params));
    }
    for uri in ["pg://system_info", "pg://main/public/page"] {
        result(&client, "resources/read", &traced(json!({ "uri": uri })));
    }

    let spans = spans_at_the_end(program, &collector);
    for (name, _) in CALLS {
        let call = only(&spans, &format!("tools/call {name}"));
        let statements = below(&spans, call);
        assert!(!statements.is_empty(), "{name}");
        for statement in statements {
            assert_eq!(statement["name"], "main", "{name}");
            assert_eq!(word(statement, "db.namespace"), Some("main"), "{name}");
            assert!(word(statement, "db.query.summary").is_some(), "{name}");
        }
    }
    let reads = spans.iter().filter(|span| span["name"] == "resources/read");
    let counts: Vec<_> = reads.map(|read| below(&spans, read).len()).collect();
    // The tables and the details of one of them.
    assert_eq!(counts, [1, 2]);
}

#[test]
fn a_trace_of_a_client_ends_in_the_comment_of_a_search() {
    let postgres = garden();
    // Each text is the message that PostgreSQL runs.
    postgres.run(
        "CREATE VIEW shown AS SELECT id, title, current_query() AS body, body_embedding FROM page",
    );
    let collector = Collector::start();
    let telemetry = format!(
        "{{otlp: {{url: {}, ratio: 0}}, sql_comment: trace}}",
        collector.url
    );
    let mut home = home(&postgres, &telemetry);
    home.set("ZIGGURAT_EMBEDDING_ENABLED", "true");
    home.set("ZIGGURAT_EMBEDDING_PROVIDER", "local");
    let token = home.token("main");
    let (program, client) = home.serve(&[]);
    let client = client.bearing(&token);
    let arguments = json!({"query_text": "similarity_search caller", "table_name": "shown"});
    let params = json!({"name": "similarity_search", "arguments": arguments});
    let answer = result(&client, "tools/call", &traced(params)).to_string();

    let spans = spans_at_the_end(program, &collector);
    let call = only(&spans, "tools/call similarity_search");
    let named = below(&spans, call).into_iter().filter(|statement| {
        let own = statement["spanId"].as_str().expect("an id");
        let parent = format!("traceparent='00-{TRACE}-{own}-01'*/SET TRANSACTION READ ONLY");
        answer.contains(&format!("tool='similarity_search',{parent}"))
    });
    assert_eq!(named.count(), 1, "{answer}");
    assert!(!answer.contains(&token), "{answer}");
}

#[test]
fn without_comments_a_search_sends_none() {
    let postgres = garden();
    postgres.run(
        "CREATE VIEW shown AS SELECT id, title, current_query() AS body, body_embedding FROM page",
    );
    let mut home = home(&postgres, "{}");
    home.set("ZIGGURAT_EMBEDDING_ENABLED", "true");
    home.set("ZIGGURAT_EMBEDDING_PROVIDER", "local");
    let (_program, client) = home.serve(&["-no-auth"]);
    let arguments = json!({"query_text": "transaction", "table_name": "shown"});
    let params = json!({"name": "similarity_search", "arguments": arguments});
    let answer = result(&client, "tools/call", &params).to_string();
    assert!(answer.contains("SET TRANSACTION READ ONLY"), "{answer}");
    assert!(!answer.contains("/*"), "{answer}");
}

#[test]
fn a_completion_has_a_span_with_its_statement() {
    let postgres = garden();
    let collector = Collector::start();
    let telemetry = format!("{{otlp: {{url: {}, ratio: 0}}}}", collector.url);
    let home = home(&postgres, &telemetry);
    let entry = postgres.entry("main");
    home.configure(&format!(
        "databases:\n{entry}    metadata_ttl: 0s\ntelemetry: {telemetry}\n"
    ));
    let token = home.token("main");
    let (program, client) = home.serve(&[]);
    let params = json!({
        "ref": {"type": "ref/resource", "uri": "pg://{database}/{schema}/{table}"},
        "argument": {"name": "table", "value": "pa"},
        "context": {"arguments": {"database": "main", "schema": "public"}},
    });
    let client = client.bearing(&token);
    let completed = result(&client, "completion/complete", &traced(params));
    assert_eq!(completed["completion"]["values"], json!(["page"]));

    let spans = spans_at_the_end(program, &collector);
    let call = only(&spans, "completion/complete");
    assert_eq!(call["traceId"], TRACE);
    let [statement] = below(&spans, call)[..] else {
        panic!("one statement: {spans:?}");
    };
    assert_eq!(word(statement, "db.namespace"), Some("main"));
}

#[test]
fn statements_of_the_shared_state_have_spans_without_values() {
    let (postgres, state) = (Postgres::new(), Postgres::new());
    let collector = Collector::start();
    let telemetry = format!("{{otlp: {{url: {}, ratio: 1}}}}", collector.url);
    let mut home = home(&postgres, &telemetry);
    home.set("ZIGGURAT_STATE_URL", state.url());
    home.token("main");
    home.user("ophelia", "the password of ophelia");
    let (program, stranger) = home.serve(&[]);
    let ophelia = stranger.logged_in("ophelia", "the password of ophelia");
    assert_eq!(ophelia.get("/api/user/info").status, 200);
    let token = ophelia.token().expect("a token").to_owned();

    let spans = spans_at_the_end(program, &collector);
    let of_state = spans.iter().filter(|span| span["name"] == "state");
    let mut commands = BTreeSet::new();
    for span in of_state {
        assert_eq!(word(span, "db.system.name"), Some("postgresql"));
        assert_eq!(word(span, "db.namespace"), Some("state"));
        assert_eq!(span["parentSpanId"], Value::Null, "{span}");
        commands.extend(word(span, "db.query.summary"));
    }
    assert!(
        commands.is_superset(&BTreeSet::from(["DELETE", "INSERT"])),
        "{commands:?}"
    );
    let exported = json!(spans).to_string();
    assert!(
        !exported.contains("ophelia") && !exported.contains(&token),
        "{exported}"
    );
}

#[test]
fn a_resource_that_cannot_be_read_is_logged_with_its_trace() {
    let postgres = Postgres::new();
    let collector = Collector::start();
    let url = &collector.url;
    let definitions = "resources: [{uri: custom://broken, name: B, type: sql, sql: SELECT 1 / 0}]";
    let home = home(&postgres, "{}");
    std::fs::write(home.file("own.yaml"), definitions).expect("written");
    home.configure(&format!(
        "databases:\n{}telemetry: {{otlp: {{url: {url}, ratio: 0}}}}\n\
         custom_definitions_path: own.yaml\n",
        postgres.entry("main")
    ));
    let (program, client) = home.serve(&["-no-auth"]);
    let uri = json!({"uri": "custom://broken"});
    let tool = json!({"name": "read_resource", "arguments": uri});
    for (method, params) in [("resources/read", uri), ("tools/call", tool)] {
        let line = program.until_it_says("call failed", || {
            ask(&client, method, &traced(params));
        });
        assert!(line.contains(method) && line.contains(TRACE), "{line}");
    }
}

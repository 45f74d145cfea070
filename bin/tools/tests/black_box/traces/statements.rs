//! Tests that every statement for a call has a span and a comment.

use serde_json::json;
use ziggurat_black_box::Collector;

use super::{TRACE, below, home, only, spans_at_the_end, traced, word};
use crate::{revisions::result, tools_similarity::garden};

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
        let arguments: serde_json::Value = serde_json::from_str(arguments).expect("JSON");
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

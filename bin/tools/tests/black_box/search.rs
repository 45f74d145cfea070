//! Tests of the tools that need embeddings, without an embedding provider.

use serde_json::{Value, json};

use crate::support::{Home, Postgres};

const LIBRARY: &str = "CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE book (id int, content text, content_embedding vector(3));
    CREATE TABLE plain (id int, note text)";

#[test]
fn five_tools_are_listed_and_the_others_answer_by_name() {
    let home = Home::new();
    let (_program, mut stdio) = home.stdio(&[]);
    let answer = stdio.call(&json!(1), "tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().expect("a list");
    let names: Vec<_> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let expected = [
        "generate_embedding",
        "get_schema_info",
        "query_database",
        "read_resource",
        "similarity_search",
    ];
    assert_eq!(names, expected);
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["text"]));
    assert_eq!(tools[4]["inputSchema"]["required"], json!(["query_text"]));

    for name in ["search_knowledgebase", "execute_explain", "count_rows"] {
        let (_, failed) = stdio.tool(name, &json!({}));
        assert!(failed, "{name} is there and lacks arguments");
    }
}

#[test]
fn without_configuration_each_names_what_is_missing() {
    let postgres = Postgres::with(LIBRARY);
    let home = Home::with(&postgres);
    let (_program, mut stdio) = home.stdio(&[]);
    let cases: [(&str, Value, &str); 5] = [
        (
            "generate_embedding",
            json!({"text": "fern"}),
            "Embedding generation is not enabled. ",
        ),
        (
            "similarity_search",
            json!({"query_text": "fern"}),
            "Failed to generate query embedding: embedding generation is not enabled in server \
             configuration\n",
        ),
        (
            "similarity_search",
            json!({"query_text": "fern", "table_name": "plain"}),
            "No vector columns found in table 'plain'.\n",
        ),
        (
            "similarity_search",
            json!({"query_text": "fern", "table_name": "nope"}),
            "Table 'nope' not found.\n",
        ),
        (
            "search_knowledgebase",
            json!({"query": "fern"}),
            "Knowledgebase search is not configured",
        ),
    ];
    for (name, arguments, expected) in cases {
        let (text, failed) = stdio.tool(name, &arguments);
        assert!(text.starts_with(expected), "{name}: {text}");
        assert!(failed, "{name}");
    }
}

#[test]
fn a_tool_that_is_switched_off_is_neither_listed_nor_run() {
    let home = Home::new();
    home.configure("builtins: {tools: {similarity_search: false, search_knowledgebase: false}}");
    let (_program, mut stdio) = home.stdio(&[]);
    let answer = stdio.call(&json!(1), "tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().expect("a list");
    assert!(tools.iter().all(|tool| tool["name"] != "similarity_search"));
    for name in ["similarity_search", "search_knowledgebase"] {
        let (text, failed) = stdio.tool(name, &json!({"query_text": "fern"}));
        assert_eq!(text, format!("Tool '{name}' is not available"));
        assert!(failed);
    }
}

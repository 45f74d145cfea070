use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio_test::block_on;
use ziggurat_layers::json_rpc::Answer;
use ziggurat_mcp::{Mcp, Resources, ResultBody, ServerInfo, SetupError, Tools, dialect};

use super::*;

fn serve(prompts: Prompts) -> Result<Mcp, SetupError> {
    let about = ServerInfo::new("ziggurat-tools", "1.2.3");
    Mcp::new(&about, Tools::new(), Resources::new(), prompts)
}

fn server() -> Mcp {
    serve(built_in()).expect("well-formed lists")
}

/// Returns the answer to a request, without its envelope.
fn ask(mcp: &Mcp, method: &str, params: &str) -> String {
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let incoming = dialect().read(Request::new(Bytes::from(message)));
    let Ok(answer) = block_on(incoming.answer(mcp.clone()));
    let answer: Answer<ResultBody> = answer;
    let body = answer.into_body().expect("an answer");
    let whole = block_on(body.collect()).expect("a whole body").to_bytes();
    let text = str::from_utf8(&whole).expect("UTF-8");
    let outcome = text.strip_prefix(r#"{"jsonrpc":"2.0","id":1,"#);
    let outcome = outcome.and_then(|outcome| outcome.strip_suffix('}'));
    outcome.expect("an envelope").to_owned()
}

fn ask_json(mcp: &Mcp, method: &str, params: &str) -> Value {
    let outcome = format!("{{{}}}", ask(mcp, method, params));
    serde_json::from_str(&outcome).expect("JSON")
}

#[test]
fn two_prompts_of_one_name_are_refused() {
    let result = serve(built_in().with(ExploreDatabase)).map(drop);
    let expected = SetupError::DuplicatePrompt("explore-database".to_owned());
    assert_eq!(result, Err(expected));
}

#[test]
fn prompts_are_listed_by_name_with_their_arguments() {
    let list = concat!(
        r#""result":{"prompts":["#,
        r#"{"name":"design-schema","description":"Designs a PostgreSQL schema from requirements: entities, types, constraints, indexes and complete DDL.","arguments":["#,
        r#"{"name":"requirements","description":"The data that the application stores, and its queries.","required":true},"#,
        r#"{"name":"use_case","description":"oltp, olap, hybrid or general; default: general."},"#,
        r#"{"name":"full_featured","description":"true for a comprehensive design; default: strictly minimal.","type":"boolean"}]},"#,
        r#"{"name":"diagnose-query-issue","description":"Finds out why a query fails or returns the wrong rows, step by step, and proposes a fix.","arguments":["#,
        r#"{"name":"issue_description","description":"The problem: the query, the error message, or the expected result."}]},"#,
        r#"{"name":"explore-database","description":"Explores an unfamiliar database with as few calls as possible and summarises what it holds."},"#,
        r#"{"name":"setup-semantic-search","description":"Finds the right vector table for a question, searches it in two steps and answers from what it finds.","arguments":["#,
        r#"{"name":"query_text","description":"The question, in natural language.","required":true}]}"#,
        r#"]}"#,
    );
    assert_eq!(ask(&server(), "prompts/list", "{}"), list);
}

fn assert_prompts(cases: &[(&str, Value, &str, &str)]) {
    let mcp = server();
    for (name, arguments, description, text) in cases {
        let params = json!({ "name": name, "arguments": arguments }).to_string();
        let result = &ask_json(&mcp, "prompts/get", &params)["result"];
        assert_eq!(result["description"], **description, "{params}");
        let messages = result["messages"].as_array().expect("messages");
        assert_eq!(messages.len(), 1, "{params}");
        assert_eq!(messages[0]["role"], "user", "{params}");
        assert_eq!(messages[0]["content"]["type"], "text", "{params}");
        let said = messages[0]["content"]["text"].as_str().expect("text");
        assert!(said.contains(text), "{params}: {said}");
    }
}

#[test]
fn a_prompt_is_one_message_of_the_user() {
    let cases = [
        (
            "explore-database",
            json!({}),
            "Systematic database exploration workflow",
            "get_schema_info once",
        ),
        (
            "setup-semantic-search",
            json!({ "query_text": "lost {{query_text}} \"socks\"" }),
            "Semantic search for: \"lost {{query_text}} \"socks\"\"",
            "\n\nlost {{query_text}} \"socks\"\n\n",
        ),
        (
            "setup-semantic-search",
            json!({}),
            "Semantic search for: \"[your search query]\"",
            "\n\n[your search query]\n\n",
        ),
        (
            "diagnose-query-issue",
            json!({ "issue_description": "it is slow" }),
            "Diagnosing issue: it is slow",
            "The issue: it is slow\n",
        ),
        (
            "diagnose-query-issue",
            json!({ "issue_description": " " }),
            "Diagnosing issue: query not working as expected",
            "The issue: query not working as expected\n",
        ),
    ];
    assert_prompts(&cases);
}

#[test]
fn the_design_prompt_follows_the_use_case_and_the_scope() {
    let cases = [
        (
            "design-schema",
            json!({ "requirements": "a library", "use_case": "OLAP" }),
            "Database schema design for: a library (use case: olap)",
            "A star: fact tables",
        ),
        (
            "design-schema",
            json!({ "requirements": "a library", "use_case": "novel" }),
            "Database schema design for: a library (use case: general)",
            "Keep it strictly minimal",
        ),
        (
            "design-schema",
            json!({ "full_featured": "true" }),
            "Database schema design for: [your requirements] (use case: general)",
            "Make it comprehensive",
        ),
    ];
    assert_prompts(&cases);
}

#[test]
fn every_use_case_fills_every_placeholder_of_the_design_prompt() {
    let mcp = server();
    for use_case in ["oltp", "olap", "hybrid", "general"] {
        for full_featured in ["true", "false"] {
            let arguments = json!({
                "requirements": "a library",
                "use_case": use_case,
                "full_featured": full_featured,
            });
            let params = json!({ "name": "design-schema", "arguments": arguments });
            let text = ask(&mcp, "prompts/get", &params.to_string());
            assert!(!text.contains("{{"), "{params}: {text}");
            assert!(text.contains(&format!("Use case: {use_case}")), "{params}");
        }
    }
}

#[test]
fn the_error_for_an_unknown_prompt_lists_the_prompts() {
    assert_eq!(
        ask(&server(), "prompts/get", r#"{"name":"sing"}"#),
        r#""error":{"code":-32603,"message":"Prompt execution error","data":"prompt \"sing\" not found. Available prompts: [design-schema diagnose-query-issue explore-database setup-semantic-search]"}"#
    );
}

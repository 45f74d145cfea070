use std::time::Duration;

use serde_json::{Value, json};
use tokio::time;

use super::*;
use crate::{databases::Configured, mcp::tools::bench::Bench};

const LIBRARY: &str = r#"CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE book (id int, title text, content varchar(99), content_embedding vector(3),
        "Title_Vector" halfvec(2));
    CREATE TABLE plain (id int, note text);
    CREATE TABLE blind (id int, embedding vector(3));
    CREATE TABLE loose (id int, note text, remark char(9), tags text[], embedding vector(3));
    CREATE SCHEMA "my docs"; CREATE TABLE "my docs".page (body text, body_emb vector);
    CREATE TABLE "dotted.name" (body text, body_emb vector);"#;

async fn search(bench: &Bench, arguments: Value) -> String {
    let tool = |databases| SimilaritySearch::new(databases, Embedder::Disabled);
    let (text, failed) = bench.call(tool, arguments).await;
    assert!(failed, "{text}");
    text
}

/// The line of an answer that says what would be searched.
fn place(text: &str) -> &str {
    let line = text.lines().find(|line| line.starts_with("- Table "));
    line.unwrap_or_else(|| panic!("a table in {text}"))
}

#[tokio::test]
async fn a_question_that_is_none_is_told_apart_from_an_empty_one() {
    let bench = Bench::with("SELECT").await;
    let cases = [
        (json!({}), "Missing or invalid 'query_text' argument"),
        (
            json!({"query_text": ""}),
            "Missing or invalid 'query_text' argument",
        ),
        (
            json!({"query_text": 7, "table_name": "book"}),
            "Missing or invalid 'query_text' argument",
        ),
        (json!({"query_text": " \n"}), "query_text cannot be empty"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(
            search(&bench, arguments.clone()).await,
            expected,
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn the_first_line_says_why_a_table_cannot_be_searched() {
    let bench = Bench::with(LIBRARY).await;
    let cases = [
        (
            json!("nope"),
            "Table 'nope' not found.",
            "'public' of the database 'main'",
        ),
        (json!("Book"), "Table 'Book' not found.", "compared exactly"),
        (
            json!("away.book"),
            "Table 'away.book' not found.",
            "no schema 'away'",
        ),
        (
            json!("public.page"),
            "Table 'public.page' not found.",
            "'public' has no table",
        ),
        (
            json!("plain"),
            "No vector columns found in table 'plain'.",
            "public.book",
        ),
        (
            json!("public.blind"),
            "No text columns found corresponding to vector columns in table 'public.blind'.",
            "embedding (vector(3))",
        ),
        (
            json!(null),
            "Missing or invalid 'table_name' argument",
            "public.book, public.dotted.name, public.loose",
        ),
        (
            json!(""),
            "Missing or invalid 'table_name' argument",
            "my docs.page",
        ),
        (
            json!(["book"]),
            "Missing or invalid 'table_name' argument",
            "vector_tables_only",
        ),
    ];
    for (table, first_line, reason) in cases {
        let arguments = json!({"query_text": "ferns", "table_name": table});
        let text = search(&bench, arguments).await;
        assert_eq!(text.lines().next(), Some(first_line), "{table}");
        assert!(text.contains(reason), "{table}: {text}");
        assert!(text.contains("\n<diagnosis>\n- "), "{text}");
        assert!(text.ends_with("\n</next_steps>"), "{text}");
    }
}

#[tokio::test]
async fn a_table_that_can_be_searched_lacks_only_the_vector_of_the_question() {
    let bench = Bench::with(LIBRARY).await;
    let cases = [
        (
            "book",
            "- Table public.book was found. Its vectors are in content_embedding (vector(3)), \
             Title_Vector (halfvec(2)), its texts in content (character varying(99));",
        ),
        (
            "loose",
            "- Table public.loose was found. Its vectors are in embedding (vector(3)), its texts \
             in note (text), remark (character(9));",
        ),
        (
            "my docs.page",
            "- Table my docs.page was found. Its vectors are in body_emb (vector), its texts in \
             body (text);",
        ),
        ("dotted.name", "- Table public.dotted.name was found."),
    ];
    for (table, expected) in cases {
        let arguments = json!({"query_text": "ferns", "table_name": table});
        let text = search(&bench, arguments).await;
        assert_eq!(
            text.lines().next(),
            Some(
                "Failed to generate query embedding: embedding generation is not enabled in \
                 server configuration"
            ),
        );
        assert!(place(&text).starts_with(expected), "{text}");
    }
}

#[tokio::test]
async fn the_only_table_with_vectors_need_not_be_named() {
    let mut bench = Bench::with(
        "CREATE EXTENSION IF NOT EXISTS vector; CREATE TABLE plain (note text);
         CREATE TABLE page (body text, body_vector vector(3), part int) PARTITION BY LIST (part);
         CREATE TABLE page_1 PARTITION OF page DEFAULT;",
    )
    .await;
    let arguments = json!({"query_text": "ferns", "top_n": 0, "lambda": "much"});
    let text = search(&bench, arguments.clone()).await;
    assert!(
        place(&text).starts_with("- Table public.page was found."),
        "{text}"
    );

    bench
        .fixture
        .given("CREATE TABLE other (a text, a_vector vector(3))")
        .await;
    let text = search(&bench, arguments).await;
    assert!(
        text.starts_with("Missing or invalid 'table_name' argument\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_table_in_a_schema_the_role_may_not_use_is_not_called_missing_without_saying_so() {
    let mut bench = Bench::with("CREATE SCHEMA closed; CREATE TABLE closed.page (id int)").await;
    let role = format!("searcher_of_{}", bench.fixture.settings.database);
    let create = format!("CREATE ROLE \"{role}\" LOGIN PASSWORD 'readers'");
    bench.fixture.given(&create).await;
    bench.settings.user.clone_from(&role);
    bench.settings.password = "readers".to_owned().into();
    let arguments = json!({"query_text": "ferns", "table_name": "closed.page"});
    let text = search(&bench, arguments).await;
    bench.fixture.pools.close_all();
    let drop = format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\"");
    bench.fixture.given(&drop).await;

    assert!(
        text.starts_with("Table 'closed.page' not found.\n"),
        "{text}"
    );
    assert!(text.contains("may not use the schema 'closed'"), "{text}");
}

#[tokio::test]
async fn a_table_that_came_only_now_is_found_before_it_is_said_not_to_exist() {
    let mut bench = Bench::with("CREATE EXTENSION IF NOT EXISTS vector").await;
    let database = bench.fixture.describe(|_| {});
    let databases = Databases::new(bench.fixture.pools.clone(), [Configured::new(database)]);
    let tool = |_| SimilaritySearch::new(databases.clone(), Embedder::Unserved);
    let arguments = json!({"query_text": "ferns", "table_name": "late"});
    let (text, _) = bench.call(tool, arguments.clone()).await;
    assert!(text.starts_with("Table 'late' not found."), "{text}");

    let late = "CREATE TABLE late (note text, note_emb vector(3))";
    bench.fixture.given(late).await;
    time::pause();
    time::advance(Duration::from_secs(3)).await;
    time::resume();
    let (text, failed) = bench.call(tool, arguments).await;
    assert!(place(&text).contains("public.late"), "{text}");
    assert!(text.contains("does not serve it yet"), "{text}");
    assert!(!text.contains("not enabled"), "{text}");
    assert!(failed);
}

#[test]
fn all_is_optional_but_the_question() {
    let schema = serde_json::to_value(schema()).expect("JSON");
    assert_eq!(schema["required"], json!(["query_text"]));
    let defaults = [
        ("top_n", json!(10)),
        ("chunk_size_tokens", json!(100)),
        ("lambda", json!(0.6)),
        ("max_output_tokens", json!(1000)),
        ("distance_metric", json!("cosine")),
        ("output_format", json!("full")),
    ];
    for (name, default) in defaults {
        assert_eq!(schema["properties"][name]["default"], default, "{name}");
    }
    let formats = &schema["properties"]["output_format"]["enum"];
    assert_eq!(*formats, json!(["full", "summary", "ids_only"]));
}

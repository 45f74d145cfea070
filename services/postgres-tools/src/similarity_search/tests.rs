use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};
use tokio::time;
use ziggurat_answers::test_server::{self, TestServer};
use ziggurat_databases::Configured;
use ziggurat_llm as llm;

use super::{arguments::schema, *};

const LIBRARY: &str = r#"CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE book (id int, title text, content varchar(99), content_embedding vector(3),
        "Title_Vector" halfvec(2));
    CREATE TABLE plain (id int, note text);
    CREATE TABLE blind (id int, embedding vector(3));
    CREATE TABLE loose (id int, note text, remark char(9), tags text[], embedding vector(3));
    CREATE SCHEMA "my docs"; CREATE TABLE "my docs".page (body text, body_emb vector);
    CREATE TABLE "dotted.name" (body text, body_emb vector);"#;

/// Searches without an embedder; returns the error message.
async fn search(test_server: &TestServer, arguments: Value) -> String {
    let tool = |databases| SimilaritySearch::new(databases, Embedder::Disabled);
    let (text, failed) = test_server.call(tool, arguments).await;
    assert!(failed, "{text}");
    text
}

/// Searches with vectors of the local embedder. Returns the text, and whether it is an error.
async fn ask(test_server: &TestServer, arguments: Value) -> (String, bool) {
    let tool = |databases| {
        let embedder = Embedder::Ready(llm::Embedder::local());
        SimilaritySearch::new(databases, embedder)
    };
    test_server.call(tool, arguments).await
}

/// Searches a table for ferns; returns the text of the answer.
async fn found(test_server: &TestServer, table: &str, more: Value) -> String {
    let mut arguments = json!({"query_text": "ferns in the shade", "table_name": table});
    for (name, value) in more.as_object().expect("an object") {
        arguments[name] = value.clone();
    }
    let (text, failed) = ask(test_server, arguments).await;
    assert!(!failed, "{text}");
    text
}

/// Returns the vector of a text as an SQL literal.
async fn vector(text: &str) -> String {
    let embedding = llm::Embedder::local().embed(text).await.expect("a vector");
    let numbers: Vec<_> = embedding.vector.iter().map(f32::to_string).collect();
    format!("'[{}]'", numbers.join(","))
}

/// Makes a table of three pages about a garden, with vectors of their titles and their bodies.
async fn garden() -> TestServer {
    let mut sql = String::from(
        "CREATE EXTENSION IF NOT EXISTS vector;
         CREATE TABLE page (code text PRIMARY KEY, title text, body text,
             title_embedding vector(256), body_embedding vector(256));",
    );
    for (code, title, body) in [
        (
            "f1",
            "Ferns",
            "Ferns grow in the shade.\nThey want water, and no sun.",
        ),
        ("m1", "Moss", "Moss covers stones where it is wet."),
        ("t1", "Tools", "A spade wants oil, and a dry place to hang."),
    ] {
        let (title_vector, body_vector) = (vector(title).await, vector(body).await);
        write!(
            sql,
            "INSERT INTO page VALUES ('{code}', '{title}', '{body}', {title_vector}, \
             {body_vector});"
        )
        .expect("a string takes everything");
    }
    TestServer::with(&sql).await
}

/// Returns the line of an answer that names the table.
fn place(text: &str) -> &str {
    let line = text.lines().find(|line| line.starts_with("- Table "));
    line.unwrap_or_else(|| panic!("a table in {text}"))
}

#[tokio::test]
async fn a_missing_question_and_an_empty_question_are_different_errors() {
    let test_server = TestServer::with("SELECT").await;
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
            search(&test_server, arguments.clone()).await,
            expected,
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn the_first_line_says_why_a_table_cannot_be_searched() {
    let test_server = TestServer::with(LIBRARY).await;
    let cases = [
        (
            json!("nope"),
            "Table 'nope' not found.",
            "'public' of the database 'main'",
        ),
        (json!("Book"), "Table 'Book' not found.", "case-sensitive"),
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
        let text = search(&test_server, arguments).await;
        assert_eq!(text.lines().next(), Some(first_line), "{table}");
        assert!(text.contains(reason), "{table}: {text}");
        assert!(text.contains("\n<diagnosis>\n- "), "{text}");
        assert!(text.ends_with("\n</next_steps>"), "{text}");
    }
}

#[tokio::test]
async fn a_table_that_can_be_searched_lacks_only_the_vector_of_the_question() {
    let test_server = TestServer::with(LIBRARY).await;
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
        let text = search(&test_server, arguments).await;
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
    let mut test_server = TestServer::with(
        "CREATE EXTENSION IF NOT EXISTS vector; CREATE TABLE plain (note text);
         CREATE TABLE page (body text, body_vector vector(3), part int) PARTITION BY LIST (part);
         CREATE TABLE page_1 PARTITION OF page DEFAULT;",
    )
    .await;
    let arguments = json!({"query_text": "ferns", "top_n": 0, "lambda": "much"});
    let text = search(&test_server, arguments.clone()).await;
    assert!(
        place(&text).starts_with("- Table public.page was found."),
        "{text}"
    );

    test_server
        .fixture
        .given("CREATE TABLE other (a text, a_vector vector(3))")
        .await;
    let text = search(&test_server, arguments).await;
    assert!(
        text.starts_with("Missing or invalid 'table_name' argument\n"),
        "{text}"
    );
}

#[tokio::test]
async fn the_error_for_a_missing_table_names_schemas_the_role_may_not_use() {
    let mut test_server =
        TestServer::with("CREATE SCHEMA closed; CREATE TABLE closed.page (id int)").await;
    let role = format!("searcher_of_{}", test_server.fixture.settings.database);
    let create = format!("CREATE ROLE \"{role}\" LOGIN PASSWORD 'readers'");
    test_server.fixture.given(&create).await;
    test_server.settings.user.clone_from(&role);
    test_server.settings.password = "readers".to_owned().into();
    let arguments = json!({"query_text": "ferns", "table_name": "closed.page"});
    let text = search(&test_server, arguments).await;
    test_server.fixture.pools.close_all();
    let drop = format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\"");
    test_server.fixture.given(&drop).await;

    assert!(
        text.starts_with("Table 'closed.page' not found.\n"),
        "{text}"
    );
    assert!(text.contains("may not use the schema 'closed'"), "{text}");
}

#[tokio::test]
async fn a_table_that_was_just_created_is_found() {
    let mut test_server = TestServer::with("CREATE EXTENSION IF NOT EXISTS vector").await;
    let database = test_server.fixture.describe(|_| {});
    let databases = Databases::new(
        test_server.fixture.pools.clone(),
        [Configured::new(database)],
    );
    let tool = |_| SimilaritySearch::new(databases.clone(), Embedder::unusable("no key"));
    let arguments = json!({"query_text": "ferns", "table_name": "late"});
    let (text, _) = test_server.call(tool, arguments.clone()).await;
    assert!(text.starts_with("Table 'late' not found."), "{text}");

    let late = "CREATE TABLE late (note text, note_emb vector(3))";
    test_server.fixture.given(late).await;
    time::pause();
    time::advance(Duration::from_secs(3)).await;
    time::resume();
    let (text, failed) = test_server.call(tool, arguments).await;
    assert!(place(&text).contains("public.late"), "{text}");
    assert!(text.contains("embedding: no key"), "{text}");
    assert!(!text.contains("not enabled"), "{text}");
    assert!(failed);
}

#[test]
fn only_the_question_is_required() {
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

#[tokio::test]
async fn passages_are_shown_with_their_source() {
    let test_server = garden().await;
    let text = found(&test_server, "page", json!({})).await;
    let double = "=".repeat(80);
    let single = "-".repeat(80);
    let start = format!(
        "Database: main\nTable: page\n\nSimilarity Search Results: \"ferns in the shade\"\n\
         {double}\n\nConfiguration:\n  - Vector Search: Top 10 rows\n  \
         - Chunking: 100 tokens per chunk, 25 token overlap\n  \
         - Diversity: λ=0.60 (60% relevance, 40% diversity)\n  - Distance Metric: cosine\n  \
         - Column Weights:\n      title (30.0%) [title]\n      body (70.0%) [content]\n"
    );
    assert!(text.starts_with(&start), "{text}");
    let first = "Source: page.body (vector search rank: #1, chunk: 1)\nRelevance Score: ";
    assert!(text.contains(first), "{text}");
    let passage = format!(
        "\nTokens: ~8\n\nFerns grow in the shade.\nThey want water, and no sun.\n\n{single}\n"
    );
    assert!(text.contains(&passage), "{text}");
    assert!(text.contains("\nResult 1/6\n"), "{text}");
    let end = format!("\n{single}\n\n{double}\nTotal: 6 chunks, ~");
    assert!(text.contains(&end), "{text}");
    assert!(text.contains("local, made of words"), "{text}");
}

#[tokio::test]
async fn titles_weigh_less_than_content() {
    let mut test_server = garden().await;
    let long = "UPDATE page SET body = body || repeat(' and more of it', 20)";
    test_server.fixture.given(long).await;
    let text = found(&test_server, "page", json!({})).await;
    let weights =
        "  - Column Weights:\n      title (30.0%) [title]\n      body (70.0%) [content]\n";
    assert!(text.contains(weights), "{text}");

    let comment = "COMMENT ON COLUMN page.body IS 'Another heading';
        UPDATE page SET body = left(body, 50)";
    test_server.fixture.given(comment).await;
    let text = found(&test_server, "page", json!({})).await;
    let weights = "      title (50.0%) [title]\n      body (50.0%) [title]\n";
    assert!(text.contains(weights), "{text}");
}

#[tokio::test]
async fn a_summary_has_a_line_for_each_passage() {
    let test_server = garden().await;
    let text = found(&test_server, "page", json!({"output_format": "summary"})).await;
    let start = format!(
        "Database: main\nTable: page\n\nSimilarity Search Results (Summary): \
         \"ferns in the shade\"\n{}\n\nFound 6 relevant chunks. Showing summaries:\n\n1. Score: ",
        "=".repeat(80)
    );
    assert!(text.starts_with(&start), "{text}");
    let line = " | Source: page.body (rank #1)\n   Ferns grow in the shade. They want water, and \
                no sun.\n\n2. Score: ";
    assert!(text.contains(line), "{text}");
    assert!(
        text.contains("\nTotal: 6 results shown in summary mode\n"),
        "{text}"
    );
}

#[tokio::test]
async fn rows_are_named_by_their_key() {
    let test_server = garden().await;
    let arguments = json!({"output_format": "ids_only", "top_n": 2, "distance_metric": "l2"});
    let text = found(&test_server, "page", arguments).await;
    let (start, rest) = text.split_once("\n1. ID: f1 | Distance: ").expect(&text);
    assert!(
        start.ends_with("\n\nFound 2 matching rows. Row IDs and distances:\n"),
        "{text}"
    );
    let (distance, rest) = rest.split_once('\n').expect(&text);
    let distance: f64 = distance.parse().expect(distance);
    assert!(distance > 0.0 && distance < 1.5, "{text}");
    assert!(rest.starts_with("2. ID: "), "{text}");
    assert!(
        rest.contains(&format!("\n\n{}\nTotal: 2 results\n", "=".repeat(80))),
        "{text}"
    );
}

#[tokio::test]
async fn no_rows_and_no_space_for_passages_are_answers_and_not_errors() {
    let mut test_server = garden().await;
    let text = found(
        &test_server,
        "page",
        json!({"max_output_tokens": 1, "chunk_size_tokens": 50}),
    )
    .await;
    // Titles have one token; the best passage has more.
    let first = "\n\nSearch completed successfully, but no chunks fit within the token budget.\n";
    assert!(text.contains(first), "{text}");

    test_server.fixture.given("DELETE FROM page").await;
    let text = found(&test_server, "page", json!({})).await;
    let first = "Table: page\n\nNo results found for query: \"ferns in the shade\"\n";
    assert!(text.contains(first), "{text}");
}

#[tokio::test]
async fn vectors_of_another_length_are_refused() {
    let mut test_server = TestServer::with(LIBRARY).await;
    let arguments = json!({"query_text": "ferns", "table_name": "book"});
    let (text, failed) = ask(&test_server, arguments).await;
    assert!(failed, "{text}");
    let first = "Vector search failed: the query embedding has 256 dimensions, and no vector column \
                 of table 'book' has as many.\n";
    assert!(text.starts_with(first), "{text}");
    assert!(text.contains("content_embedding (vector(3))"), "{text}");

    // PostgreSQL detects the mismatch for a column without a declared length.
    test_server
        .fixture
        .given("INSERT INTO \"my docs\".page VALUES ('ferns', '[1,2,3]')")
        .await;
    let arguments = json!({"query_text": "ferns", "table_name": "my docs.page"});
    let (text, failed) = ask(&test_server, arguments).await;
    assert!(failed, "{text}");
    let first =
        "Vector search failed: ERROR: different vector dimensions 3 and 256 (SQLSTATE 22000)\n";
    assert!(text.starts_with(first), "{text}");
}

#[tokio::test]
async fn only_vectors_of_the_same_length_are_compared() {
    let mut test_server = garden().await;
    let other = "ALTER TABLE page ALTER title_embedding TYPE vector(3) USING NULL";
    test_server.fixture.given(other).await;
    let text = found(&test_server, "page", json!({})).await;
    assert!(
        text.contains("  - Column Weights:\n      body (100.0%) ["),
        "{text}"
    );
    assert!(!text.contains("      title ("), "{text}");
}

#[tokio::test]
async fn a_table_whose_vectors_match_no_text_shows_all_its_texts() {
    let mut test_server = garden().await;
    let all = "ALTER TABLE page DROP title_embedding;
        ALTER TABLE page RENAME body_embedding TO embedding";
    test_server.fixture.given(all).await;
    let text = found(&test_server, "public.page", json!({})).await;
    assert!(
        text.contains("      embedding (100.0%) [vector]\n"),
        "{text}"
    );
    for source in ["page.code", "page.title", "page.body"] {
        assert!(
            text.contains(&format!("Source: {source} (")),
            "{source}: {text}"
        );
    }
}

#[tokio::test]
async fn the_error_of_postgresql_is_in_the_answer() {
    let mut test_server = garden().await;
    let broken = "CREATE VIEW broken AS SELECT 1/(1 - length('a')) AS id, body, body_embedding
        FROM page";
    test_server.fixture.given(broken).await;
    let arguments = json!({"query_text": "ferns", "table_name": "broken"});
    let (text, failed) = ask(&test_server, arguments).await;
    assert!(failed, "{text}");
    let first = "Vector search failed: ERROR: division by zero (SQLSTATE 22012)\n";
    assert!(text.starts_with(first), "{text}");
}

#[tokio::test]
async fn the_structure_has_passages_or_rows() {
    let test_server = garden().await;
    let ask = async |mut arguments: Value| {
        arguments["query_text"] = "ferns in the shade".into();
        let embedder = Embedder::Ready(llm::Embedder::local());
        let tool = SimilaritySearch::new(test_server.databases(), embedder);
        test_server::structured(tool, arguments).await
    };
    let (text, found) = ask(json!({})).await;
    assert_eq!(
        (&found["database"], &found["table"]),
        (&json!("main"), &json!("page"))
    );
    assert_eq!(found.get("rows"), None);
    for passage in found["passages"].as_array().expect("passages") {
        let (column, rank) = (
            passage["column"].as_str().expect("a name"),
            &passage["rank"],
        );
        let id = passage["id"].as_str().expect("the key of its row");
        let source = format!(
            "Source: page.{column} (id: {id}, vector search rank: #{rank}, chunk: {})",
            passage["chunk"]
        );
        assert!(text.contains(&source), "{source} in {text}");
        let score = passage["score"].as_f64().expect("a number");
        assert!(
            text.contains(&format!("Relevance Score: {score:.3}")),
            "{text}"
        );
        assert!(
            text.contains(passage["text"].as_str().expect("a text")),
            "{text}"
        );
    }
    let (text, found) = ask(json!({"output_format": "ids_only"})).await;
    assert_eq!(found.get("passages"), None);
    let rows = found["rows"].as_array().expect("rows");
    assert_eq!((rows.len(), &rows[0]["id"]), (3, &json!("f1")));
    let distance = rows[0]["distance"].as_f64().expect("a number");
    assert!(
        text.contains(&format!("1. ID: f1 | Distance: {distance:.4}")),
        "{text}"
    );
    let (_, found) = ask(json!({"output_format": "summary"})).await;
    let first = found["passages"][0]["text"].as_str().expect("a text");
    assert!(!first.contains('\n'), "{first}");
    let (_, found) = ask(json!({"max_output_tokens": 1})).await;
    assert_eq!(found["passages"], json!([]));
}

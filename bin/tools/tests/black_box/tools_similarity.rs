//! Tests of `similarity_search` over both transports, with embeddings of the local provider.

use std::{fmt::Write as _, fs};

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use ziggurat_black_box::within_a_day;
use ziggurat_llm::Embedder;

use crate::{
    revisions::ask,
    support::{Home, Postgres, Transports},
};

const PAGES: [(&str, &str); 4] = [
    ("Ferns", "Ferns want shade and water, and no sun at noon."),
    ("Moss", "Moss covers stones where it is wet all year."),
    ("Spades", "A spade wants oil and a dry place to hang."),
    ("Seeds", "Seeds keep for three years in the dark."),
];

/// Creates a database of pages, with their embeddings by the local provider.
pub(crate) fn garden() -> Postgres {
    Postgres::with(&pages())
}

/// Returns the SQL of a table of pages, with their embeddings by the local provider.
pub(crate) fn pages() -> String {
    let runtime = Runtime::new().expect("a runtime");
    let embedder = Embedder::local();
    let mut sql = String::from(
        "CREATE EXTENSION IF NOT EXISTS vector;
         CREATE TABLE plain (id int, note text);
         CREATE TABLE page (id int PRIMARY KEY, title text, body text,
             body_embedding vector(256));
         CREATE INDEX ON page USING hnsw (body_embedding vector_cosine_ops);",
    );
    for (id, (title, body)) in (1..).zip(PAGES) {
        let embedding = runtime.block_on(embedder.embed(body)).expect("a vector");
        let numbers: Vec<_> = embedding.vector.iter().map(f32::to_string).collect();
        let vector = numbers.join(",");
        write!(
            sql,
            "INSERT INTO page VALUES ({id}, '{title}', '{body}', '[{vector}]');"
        )
        .expect("a string takes everything");
    }
    sql
}

/// Creates a server with the local embedding provider.
fn home(postgres: &Postgres) -> Home {
    let mut home = Home::with(postgres);
    home.set("ZIGGURAT_EMBEDDING_ENABLED", "true");
    home.set("ZIGGURAT_EMBEDDING_PROVIDER", "local");
    home
}

fn asked(more: &Value) -> Value {
    let mut arguments = json!({"query_text": "which plants want shade?"});
    for (name, value) in more.as_object().expect("an object") {
        arguments[name] = value.clone();
    }
    arguments
}

#[test]
fn the_only_table_with_vectors_is_searched() {
    let postgres = garden();
    let mut transports = Transports::open(home(&postgres));
    let text = transports.succeed("similarity_search", &asked(&json!({})));
    let (start, rest) = text.split_once("\nResult 1/4\n").expect(&text);
    let double = "=".repeat(80);
    assert!(
        start.contains(&format!(
            "\nTable: page\n\nSimilarity Search Results: \"which plants want shade?\"\n{double}\n\n\
             Configuration:\n  - Vector Search: Top 10 rows\n"
        )),
        "{text}"
    );
    assert!(start.contains("      body (100.0%) [content]\n"), "{text}");
    let source = "Source: page.body (vector search rank: #1, chunk: 1)\nRelevance Score: ";
    assert!(rest.starts_with(source), "{text}");
    let passage = format!("\n\n{}\n\n", PAGES[0].1);
    assert!(rest.contains(&passage), "{text}");
    assert!(
        text.contains(&format!("\n{double}\nTotal: 4 chunks, ~")),
        "{text}"
    );
}

#[test]
fn there_are_two_shorter_output_formats() {
    let postgres = garden();
    let mut transports = Transports::open(home(&postgres));
    let summary = json!({"output_format": "summary", "table_name": "public.page"});
    let text = transports.succeed("similarity_search", &asked(&summary));
    assert!(
        text.contains("Similarity Search Results (Summary): \""),
        "{text}"
    );
    assert!(
        text.contains("\nFound 4 relevant chunks. Showing summaries:\n"),
        "{text}"
    );

    let ids = json!({"output_format": "ids_only", "top_n": 2, "distance_metric": "l2"});
    let text = transports.succeed("similarity_search", &asked(&ids));
    assert!(
        text.contains("Similarity Search Results (IDs Only): \""),
        "{text}"
    );
    assert!(text.contains("\n1. ID: 1 | Distance: "), "{text}");
    assert!(text.contains("\nTotal: 2 results\n"), "{text}");
}

#[test]
fn passages_and_rows_of_a_search_are_recorded_and_counted() {
    within_a_day(|| {
        let postgres = garden();
        let home = Home::new();
        home.configure(&format!(
            "databases:\n{}embedding: {{enabled: true, provider: local}}\n\
             audit: {{file: audit.jsonl}}\n\
             limits: {{callers: [{{for: {{everyone: true}}, rows_per_day: 90}}]}}\n",
            postgres.entry("main")
        ));
        let (mut program, client) = home.serve(&["-no-auth"]);
        let search = |more: &Value| {
            let params = json!({"name": "similarity_search", "arguments": asked(more)});
            let answer = ask(&client, "tools/call", &params);
            let left = answer.header("ratelimit").unwrap_or_default();
            left.split(';').nth(1).unwrap_or_default().to_owned()
        };
        assert_eq!(search(&json!({})), "r=86");
        let ids = json!({"output_format": "ids_only", "top_n": 2});
        assert_eq!(search(&ids), "r=84");
        program.signal(Signal::TERM);
        assert!(program.ended().success());
        let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
        for rows in ["\"rows\":4,", "\"rows\":2,"] {
            assert_eq!(trail.matches(rows).count(), 1, "{trail}");
        }
    });
}

#[test]
fn an_empty_result_is_no_error_but_a_missing_table_is() {
    let postgres = garden();
    postgres.run("TRUNCATE page");
    let mut transports = Transports::open(home(&postgres));
    let text = transports.succeed("similarity_search", &asked(&json!({})));
    let first = "\n\nNo results found for query: \"which plants want shade?\"\n";
    assert!(text.contains(first), "{text}");

    for (table, first_line) in [
        ("plain", "No vector columns found in table 'plain'."),
        ("nope", "Table 'nope' not found."),
    ] {
        let text = transports.fail("similarity_search", &asked(&json!({"table_name": table})));
        assert_eq!(text.lines().next(), Some(first_line));
    }
    for (question, expected) in [
        ("", "Missing or invalid 'query_text' argument"),
        (" \n", "query_text cannot be empty"),
    ] {
        let text = transports.fail("similarity_search", &json!({"query_text": question}));
        assert_eq!(text, expected);
    }
}

#[test]
fn vectors_of_another_model_are_not_compared() {
    let postgres = garden();
    postgres.run("CREATE TABLE other (id int, note text, note_vector vector(3))");
    let mut transports = Transports::open(home(&postgres));
    let text = transports.fail("similarity_search", &asked(&json!({"table_name": "other"})));
    let first = "Vector search failed: the query embedding has 256 dimensions, and no vector \
                 column of table 'other' has as many.\n";
    assert!(text.starts_with(first), "{text}");
}

#[test]
fn a_search_writes_nothing() {
    let postgres = garden();
    postgres.run(
        "CREATE SEQUENCE seen;
         CREATE VIEW writer AS SELECT nextval('seen') AS id, body, body_embedding FROM page",
    );
    let mut transports = Transports::open(home(&postgres));
    let text = transports.fail(
        "similarity_search",
        &asked(&json!({"table_name": "writer"})),
    );
    let first = "Vector search failed: ERROR: cannot execute nextval() in a read-only transaction";
    assert!(text.starts_with(first), "{text}");
    assert_eq!(
        postgres.count("SELECT last_value FROM seen WHERE is_called UNION ALL SELECT 0"),
        0
    );
}

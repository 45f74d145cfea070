use std::fs;

use serde_json::{Value, json};
use ziggurat_answers::{ResultFormat, ShowHidden, test_server};
use ziggurat_knowledge::{
    Embed, KnowledgeBase, Provider,
    fixture::{Chunk, KnowledgeFile},
};
use ziggurat_mcp::{ToolHandler as _, Visibility};
use ziggurat_telemetry::traces::Trace;

use super::SearchKnowledgebase;

/// An embedder that returns the same vector for every question, or none.
#[derive(Clone)]
struct Parrot(Option<Vec<f32>>);

impl Embed for Parrot {
    type Error = &'static str;

    async fn vector(&self, _: &str, _: Trace) -> Result<Vec<f32>, &'static str> {
        self.0.clone().ok_or("the parrot is asleep")
    }
}

const CHUNKS: [Chunk<'_>; 4] = [
    Chunk {
        product: ("PostgreSQL", "17"),
        place: (Some("SQL Functions"), Some("Window Functions")),
        text: "A window function\n\"looks\" at rows.",
        vector: &[0.892, 0.452_044],
    },
    Chunk {
        product: ("PostgreSQL", "17"),
        place: (Some(""), None),
        text: "Frames.",
        vector: &[0.6, 0.8],
    },
    Chunk {
        product: ("PostgreSQL", "16"),
        place: (None, None),
        text: "Older.",
        vector: &[0.0, 1.0],
    },
    Chunk {
        product: ("Other", ""),
        place: (None, Some("Notes")),
        text: "Different.",
        vector: &[-1.0, 0.0],
    },
];

async fn ask(base: KnowledgeBase, vector: Option<Vec<f32>>, arguments: Value) -> (String, bool) {
    let tool = SearchKnowledgebase::new(base, Parrot(vector));
    test_server::call(tool, arguments).await
}

async fn answer(library: &KnowledgeFile, arguments: Value) -> String {
    let base = library.base(Provider::OpenAi);
    let (text, failed) = ask(base, Some(vec![1.0, 0.0]), arguments).await;
    assert!(!failed, "{text}");
    text
}

async fn complaint(library: &KnowledgeFile, arguments: Value) -> String {
    let base = library.base(Provider::OpenAi);
    let (text, failed) = ask(base, Some(vec![1.0, 0.0]), arguments).await;
    assert!(failed, "{text}");
    text
}

#[tokio::test]
async fn without_documentation_every_call_reports_that() {
    for arguments in [
        json!({}),
        json!({"query": "window functions"}),
        json!({"list_products": true}),
    ] {
        let tool = SearchKnowledgebase::<Parrot>::unconfigured();
        let (text, failed) = test_server::call(tool, arguments.clone()).await;
        assert_eq!(text, "Knowledgebase search is not configured");
        assert!(failed);

        let tool = SearchKnowledgebase::<Parrot>::unplaced();
        let (text, failed) = test_server::call(tool, arguments).await;
        assert!(text.starts_with("Knowledgebase search is not configured: "));
        assert!(failed);
    }
}

#[test]
fn the_tool_is_not_listed() {
    let descriptor = SearchKnowledgebase::<Parrot>::unconfigured().describe();
    assert!(descriptor.visibility() == Visibility::Nowhere);
}

#[tokio::test]
async fn an_answer_is_laid_out_as_documented() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    let arguments = json!({
        "query": "window functions",
        "project_names": ["PostgreSQL"],
        "project_versions": ["17"],
    });
    let expected = format!(
        "Knowledgebase Search Results: \"window functions\"\n\
         Filter - Projects: PostgreSQL; Versions: 17\n\
         {thick}\n\n\
         Found 2 relevant chunks:\n\n\
         Result 1/2\n\
         Project: PostgreSQL 17\n\
         Title: SQL Functions\n\
         Section: Window Functions\n\
         Similarity: 0.892\n\n\
         A window function\n\"looks\" at rows.\n\n\
         {thin}\n\n\
         Result 2/2\n\
         Project: PostgreSQL 17\n\
         Similarity: 0.600\n\n\
         Frames.\n\n\
         {thick}\n\
         Total: 2 results",
        thick = "=".repeat(80),
        thin = "-".repeat(80),
    );
    assert_eq!(answer(&library, arguments).await, expected);
}

#[tokio::test]
async fn an_answer_names_the_filters_of_the_call() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    for (arguments, line) in [
        (json!({}), None),
        (
            json!({"project_names": [], "project_versions": [" "]}),
            None,
        ),
        (
            json!({"project_versions": ["17", "16"]}),
            Some("Filter - Versions: 17, 16"),
        ),
        (
            json!({"project_names": ["Other", "PostgreSQL"]}),
            Some("Filter - Projects: Other, PostgreSQL"),
        ),
        // One name instead of a list, as models send it.
        (
            json!({"project_names": "Other"}),
            Some("Filter - Projects: Other"),
        ),
    ] {
        let mut arguments = arguments;
        arguments["query"] = json!("x");
        let text = answer(&library, arguments.clone()).await;
        let second = text.lines().nth(1).expect("more lines");
        let expected = line.unwrap_or("=====");
        assert!(second.starts_with(expected), "{arguments}: {text}");
    }
    let other = json!({"query": "x", "project_names": ["Other"]});
    let text = answer(&library, other).await;
    assert!(text.contains("\nProject: Other\nSection: Notes\nSimilarity: -1.000\n"));
}

#[tokio::test]
async fn the_number_of_results_is_as_requested_within_limits() {
    let chunk = Chunk::new(("Big", "1"), "text", &[1.0, 0.0]);
    let library = KnowledgeFile::with(&[chunk; 25]).await;
    for (top_n, count) in [
        (json!(3), 3),
        (json!(0), 1),
        (json!(-7), 1),
        (json!(99), 20),
        (json!("many"), 5),
        (Value::Null, 5),
    ] {
        let text = answer(&library, json!({"query": "x", "top_n": top_n})).await;
        let last = text.lines().last();
        let expected = format!("Total: {count} results");
        assert_eq!(last, Some(&*expected), "{top_n}");
    }
}

#[tokio::test]
async fn an_empty_answer_names_the_filter() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    let arguments = json!({
        "query": "the \"new\"",
        "project_names": ["PostgreSQL", "Other"],
        "project_versions": ["18"],
    });
    assert_eq!(
        answer(&library, arguments).await,
        "No results found for query: \"the \"new\"\" (projects: PostgreSQL, Other; versions: 18)"
    );
    let empty = KnowledgeFile::with(&[]).await;
    assert_eq!(
        answer(&empty, json!({"query": "x"})).await,
        "No results found for query: \"x\""
    );
}

#[tokio::test]
async fn products_are_listed_whatever_the_other_arguments_are() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    let expected = format!(
        "Available Products in Knowledgebase\n\
         {rule}\n\n\
         Product: Other\n  - (no version) (1 chunks)\n\n\
         Product: PostgreSQL\n  - Version 16 (1 chunks)\n  - Version 17 (2 chunks)\n\n\
         {rule}\n\
         Total: 4 chunks across all products",
        rule = "=".repeat(50),
    );
    for arguments in [
        json!({"list_products": true}),
        json!({"list_products": true, "query": "", "project_names": ["Nobody"]}),
    ] {
        assert_eq!(answer(&library, arguments).await, expected);
    }
}

#[tokio::test]
async fn missing_and_unknown_arguments_are_reported() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    for (arguments, expected) in [
        (json!({}), "Missing or invalid 'query' argument"),
        (json!({"query": 7}), "Missing or invalid 'query' argument"),
        (
            json!({"query": "", "list_products": "yes"}),
            "query parameter is required when not using list_products",
        ),
        (
            json!({"query": " \n"}),
            "query parameter is required when not using list_products",
        ),
        (
            json!({"query": "x", "project_names": ["PostgreSQL", "postgresql"]}),
            "Unknown project name: postgresql\nThe products there are can be listed with \
             list_products.",
        ),
    ] {
        assert_eq!(
            complaint(&library, arguments.clone()).await,
            expected,
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn a_missing_file_is_reported_without_its_path() {
    let library = KnowledgeFile::empty();
    let searching = complaint(&library, json!({"query": "x"})).await;
    let missing = "the knowledge base file is missing";
    assert_eq!(searching, format!("Knowledgebase search failed: {missing}"));
    let listing = complaint(&library, json!({"list_products": true})).await;
    assert_eq!(listing, format!("Failed to list products: {missing}"));
}

#[tokio::test]
async fn a_vector_of_the_wrong_length_and_a_missing_vector_are_reported() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    let query = json!({"query": "x"});
    let base = library.base(Provider::OpenAi);
    let (text, failed) = ask(base, Some(vec![1.0; 3]), query.clone()).await;
    assert!(failed);
    assert!(
        text.starts_with("Knowledgebase search failed: vectors of 2 numbers"),
        "{text}"
    );

    let (text, failed) = ask(library.base(Provider::Voyage), None, query.clone()).await;
    assert!(failed);
    assert!(
        text.contains("no vectors of the configured provider 'voyage'"),
        "{text}"
    );

    let (text, failed) = ask(library.base(Provider::OpenAi), None, query.clone()).await;
    assert!(failed);
    assert_eq!(
        text,
        "Failed to generate query embedding: the parrot is asleep"
    );

    // Without passages to compare, no vector is requested, because it may cost money.
    fs::remove_file(library.path()).expect("removed");
    let (text, _) = ask(library.base(Provider::OpenAi), None, query).await;
    assert!(text.contains("missing"), "{text}");
}

#[tokio::test]
async fn the_structure_has_passages_or_products() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    let ask = async |arguments: Value| {
        let base = library.base(Provider::OpenAi);
        let tool = SearchKnowledgebase::new(base, Parrot(Some(vec![0.6, 0.8])));
        test_server::structured(tool, arguments).await.1
    };
    let found = ask(json!({"query": "frames", "top_n": 2})).await;
    let passages = found["passages"].as_array().expect("passages");
    assert_eq!(found.get("products"), None);
    assert_eq!(passages.len(), 2);
    let similarity = &passages[0]["similarity"];
    assert!(similarity.as_f64().expect("a number") > 0.99, "{found}");
    let first = json!({
        "project": "PostgreSQL", "version": "17", "similarity": similarity, "text": "Frames.",
    });
    assert_eq!(passages[0], first);
    assert_eq!(passages[1]["title"], "SQL Functions");
    assert_eq!(passages[1]["section"], "Window Functions");

    let found = ask(json!({"list_products": true})).await;
    let products = json!({"products": [
        {"name": "Other", "chunks": 1},
        {"name": "PostgreSQL", "version": "16", "chunks": 1},
        {"name": "PostgreSQL", "version": "17", "chunks": 2},
    ]});
    assert_eq!(found, products);
    let found = ask(json!({"query": "x", "project_versions": ["9"]})).await;
    assert_eq!(found, json!({"passages": []}));
}

#[tokio::test]
async fn hidden_characters_of_products_and_errors_are_shown() {
    let chunk = Chunk {
        product: ("Post\u{202e}gres", "1"),
        ..CHUNKS[0]
    };
    let library = KnowledgeFile::with(&[chunk]).await;
    let format = ResultFormat {
        show_hidden: ShowHidden::Always,
        ..ResultFormat::default()
    };
    for arguments in [
        json!({"list_products": true}),
        json!({"query": "a", "project_names": ["\u{202e}"]}),
    ] {
        let base = library.base(Provider::OpenAi);
        let tool = SearchKnowledgebase::new(base, Parrot(Some(vec![1.0, 0.0]))).with_format(format);
        let (text, _) = test_server::call(tool, arguments).await;
        assert!(
            text.contains("\\u{202e}") && !text.contains('\u{202e}'),
            "{text}"
        );
    }
}

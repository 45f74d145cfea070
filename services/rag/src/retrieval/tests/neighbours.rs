//! Passages that are joined with those next to them.

use ziggurat_vector_search::retrieval_queries::DocumentOrder;

use super::*;

/// Two documents of twelve passages. Words and vectors come from their numbers.
const PASSAGES: &str = r#"CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE docs (id text PRIMARY KEY, document_id text, content text, metadata jsonb,
        "at" float8, is_draft bool, embedding vector(2));
    INSERT INTO docs SELECT d || '#' || n, d, 'Passage ' || d || n,
            jsonb_build_object('_passage', n, 'other', 'x'), n * 10.5, n = 10,
            ARRAY[1, CASE d WHEN 'a' THEN 0 ELSE 0.5 END + n * 0.01]::vector
        FROM unnest(ARRAY['a', 'b']) AS d, generate_series(1, 12) AS n;
    CREATE INDEX ON docs (document_id);"#;

fn ordered(position: &str) -> Table {
    Table {
        order: Some(DocumentOrder {
            document: "document_id".to_owned(),
            position: position.to_owned(),
        }),
        ..table("docs")
    }
}

async fn expanded(
    test_database: &TestDatabase,
    tables: Vec<Table>,
    expand: u32,
    question: &SearchRequest<'_>,
) -> Vec<String> {
    let options = SearchOptions {
        expand,
        ..by_meaning()
    };
    let retriever = test_database.retriever(tables, options);
    let found = ask(&retriever, question, &[1.0, 0.12]).await;
    let found = retriever.expand(found.expect("passages"), question).await;
    found
        .into_iter()
        .map(|passage| passage.content.replace("Passage ", "").replace("\n\n", " "))
        .collect()
}

#[tokio::test]
async fn passages_are_joined_with_those_next_to_them_in_their_document() {
    let test_database = TestDatabase::with(PASSAGES).await;
    let asked = SearchRequest {
        top_n: 1,
        ..question("?")
    };
    for position in ["metadata", "at"] {
        let expanded =
            async |expand| expanded(&test_database, vec![ordered(position)], expand, &asked).await;
        // Passages are ordered as numbers and not as texts.
        assert_eq!(expanded(0).await, ["a12"]);
        assert_eq!(expanded(1).await, ["a11 a12"]);
        assert_eq!(expanded(3).await, ["a9 a10 a11 a12"]);
    }
    let two = SearchRequest { top_n: 2, ..asked };
    let found = expanded(&test_database, vec![ordered("at")], 1, &two).await;
    assert_eq!(found, ["a10 a11 a12"], "the second is a part of the first");
    let unordered = expanded(&test_database, vec![table("docs")], 1, &asked).await;
    assert_eq!(unordered, ["a12"]);
}

#[tokio::test]
async fn no_neighbour_is_joined_that_the_filters_leave_out() {
    let test_database = TestDatabase::with(PASSAGES).await;
    let asked = SearchRequest {
        top_n: 1,
        ..question("?")
    };
    let raw = RawFilter::new("NOT is_draft".to_owned()).expect("it is balanced");
    let filtered = Table {
        filter: Some(TableFilter::Raw(raw)),
        ..ordered("at")
    };
    // Passage 10 is a draft, and the one before it is no neighbour.
    let found = expanded(&test_database, vec![filtered], 3, &asked).await;
    assert_eq!(found, ["a11 a12"]);
    let json = r#"{"conditions": [{"column": "is_draft", "operator": "=", "value": false}]}"#;
    let filter: Filter = serde_json::from_str(json).expect(json);
    let filter = filter.check().expect(json);
    let narrowed = SearchRequest {
        filter: filter.as_ref(),
        ..asked
    };
    let found = expanded(&test_database, vec![ordered("at")], 3, &narrowed).await;
    assert_eq!(found, ["a11 a12"]);
}

#[tokio::test]
async fn an_order_that_cannot_be_read_leaves_passages_as_they_are() {
    let test_database = TestDatabase::with(PASSAGES).await;
    let asked = SearchRequest {
        top_n: 1,
        ..question("?")
    };
    let broken = expanded(&test_database, vec![ordered("nothing")], 1, &asked).await;
    assert_eq!(broken, ["a12"]);
}

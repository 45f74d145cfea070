//! Search by the words of several columns.

use super::*;

/// Rows with words in their titles and tags that their texts do not have.
const ROWS: &str = "CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE docs (id int PRIMARY KEY, title text, tags jsonb, content text,
        embedding vector(2));
    INSERT INTO docs SELECT n, 'Row ' || n, '[]', 'filler words of a row', '[1, 0]'
        FROM generate_series(1, 2500) AS n;
    INSERT INTO docs VALUES (9001, 'Ferns', '[\"plants\"]', 'They like shade and moss.', '[1, 0]'),
        (9002, 'Moss', NULL, 'It likes shade, as a fern does: ferns and ferns.', '[1, 0]'),
        (9003, NULL, '[\"moss\", \"stones\"]', 'Grey things.', '[1, 0]');";

/// An index over all columns that are searched.
const WHOLE: &str = "CREATE INDEX ON docs USING gin (to_tsvector('english',
    coalesce(title, '') || ' ' || coalesce(tags::text, '') || ' ' || coalesce(content, '')));";

/// An index over the texts.
const PART: &str = "CREATE INDEX ON docs USING gin (to_tsvector('english', content));";

async fn found(test_database: &TestDatabase, columns: &[(&str, u32)], text: &str) -> Vec<String> {
    let columns = columns
        .iter()
        .map(|(name, weight)| ((*name).to_owned(), *weight));
    let table = Table {
        keyword_columns: columns.collect(),
        ..table("docs")
    };
    let retriever = test_database.retriever(vec![table], weighing(0.0));
    let passages = ask(&retriever, &question(text), &[1.0, 0.0]).await;
    let passages = passages.expect("an answer");
    ids(&passages).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn words_of_other_columns_are_found_and_count_by_their_weight() {
    let few = "DELETE FROM docs WHERE id < 2000; ANALYZE docs;".to_owned();
    let both = format!("{PART}{WHOLE}ANALYZE docs;");
    for change in [few, "ANALYZE docs;".to_owned(), both] {
        let test_database = TestDatabase::with(&format!("{ROWS}{change}")).await;
        let found = async |columns, text| found(&test_database, columns, text).await;
        assert_eq!(found(&[], "ferns").await, ["9002"], "{change}");
        let light = found(&[("title", 1)], "ferns").await;
        assert_eq!(light, ["9002", "9001"], "{change}");
        let heavy = found(&[("title", 9)], "ferns").await;
        assert_eq!(heavy, ["9001", "9002"], "{change}");
        let tags = found(&[("tags", 1)], "stones").await;
        assert_eq!(tags, ["9003"], "{change}");
    }
}

#[tokio::test]
async fn an_index_over_the_texts_alone_finds_rows_by_their_texts() {
    let test_database = TestDatabase::with(&format!("{ROWS}{PART}ANALYZE docs;")).await;
    let found = found(&test_database, &[("title", 9)], "ferns").await;
    assert_eq!(found, ["9002"]);
}

#[tokio::test]
async fn titles_are_searched_by_words_unless_their_weight_is_0() {
    let few = "DELETE FROM docs WHERE id < 2000; ANALYZE docs;".to_owned();
    for change in [few, format!("{WHOLE}ANALYZE docs;")] {
        let test_database = TestDatabase::with(&format!("{ROWS}{change}")).await;
        let found = async |columns: Vec<(String, u32)>| {
            let table = Table {
                title: Some("title".to_owned()),
                keyword_columns: columns,
                ..table("docs")
            };
            let retriever = test_database.retriever(vec![table], weighing(0.0));
            let passages = ask(&retriever, &question("ferns"), &[1.0, 0.0]).await;
            let passages = passages.expect("an answer");
            let mut found: Vec<_> = passages.into_iter().filter_map(|one| one.id).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(found(Vec::new()).await, ["9001", "9002"], "{change}");
        let without = found(vec![("title".to_owned(), 0)]).await;
        assert_eq!(without, ["9002"], "{change}");
    }
}

#[tokio::test]
async fn an_index_without_titles_still_finds_rows_by_their_texts() {
    let test_database = TestDatabase::with(&format!("{ROWS}{PART}ANALYZE docs;")).await;
    let table = Table {
        title: Some("title".to_owned()),
        ..table("docs")
    };
    let retriever = test_database.retriever(vec![table], weighing(0.0));
    let passages = ask(&retriever, &question("shade ferns"), &[1.0, 0.0]).await;
    assert_eq!(ids(&passages.expect("an answer")), ["9002", "9001"]);
}

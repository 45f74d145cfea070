//! Operators in questions.

use super::*;

const ROWS: &str = "CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE docs (id int PRIMARY KEY, content text, embedding vector(2));
    INSERT INTO docs SELECT n, 'filler words of a row', '[0, 1]' FROM generate_series(1, 2500) AS n;
    INSERT INTO docs VALUES (9001, 'Vacuum full rewrites the table.', '[1, 0]'),
        (9002, 'A vacuum is not fullness.', '[1, 0.1]'), (9003, 'Vacuuming a table', '[1, 0.2]'),
        (9004, 'Größe und Vakuum', '[1, 0.3]');";

async fn found(test_database: &TestDatabase, options: SearchOptions, text: &str) -> Vec<String> {
    let retriever = test_database.retriever(vec![table("docs")], options);
    let operators = retriever.operators(text);
    let asked = SearchRequest {
        operators: operators.as_ref(),
        top_n: 4,
        ..question(operators.as_ref().map_or(text, |found| &found.text))
    };
    let passages = ask(&retriever, &asked, &[1.0, 0.0]).await;
    let passages = passages.expect("an answer");
    ids(&passages).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn texts_with_a_word_are_left_out_of_both_searches_if_that_is_permitted() {
    let few = "DELETE FROM docs WHERE id < 2000; ANALYZE docs;";
    let index = "CREATE INDEX ON docs USING gin (to_tsvector('english', content)); ANALYZE docs;";
    for change in [few, "ANALYZE docs;", index] {
        let test_database = TestDatabase::with(&format!("{ROWS}{change}")).await;
        for options in [by_meaning(), weighing(0.0), weighing(0.5)] {
            let permitted = SearchOptions {
                operators: true,
                ..options
            };
            let all = found(&test_database, options, "vacuum -Full").await;
            assert!(all.contains(&"9001".to_owned()), "{change} {all:?}");
            let some = found(&test_database, permitted, "vacuum -Full").await;
            assert_eq!(some[0], "9002", "{change} {some:?}");
            assert!(!some.contains(&"9001".to_owned()), "{change} {some:?}");
            let some = found(&test_database, permitted, "vacuum vakuum -Größe").await;
            assert!(!some.contains(&"9004".to_owned()), "{change} {some:?}");
        }
    }
}

#[tokio::test]
async fn a_star_finds_all_words_that_begin_so() {
    let few = "DELETE FROM docs WHERE id < 2000; ANALYZE docs;";
    let index = "CREATE INDEX ON docs USING gin (to_tsvector('english', content)); ANALYZE docs;";
    for change in [few, "ANALYZE docs;", index] {
        let test_database = TestDatabase::with(&format!("{ROWS}{change}")).await;
        let options = SearchOptions {
            operators: true,
            ..weighing(0.0)
        };
        assert_eq!(found(&test_database, weighing(0.0), "vacu*").await, [""; 0]);
        let mut all = found(&test_database, options, "vacu*").await;
        all.sort_unstable();
        assert_eq!(all, ["9001", "9002", "9003"], "{change}");
        let mut all = found(&test_database, options, "full*").await;
        all.sort_unstable();
        assert_eq!(all, ["9001", "9002"], "{change}");
    }
}

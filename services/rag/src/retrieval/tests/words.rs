//! Keyword search with every method.

use std::collections::BTreeSet;

use ziggurat_search::{
    bm25::{self, Bm25},
    tokens,
};

use super::*;

/// Texts of random words with the skewed frequencies of a natural language.
fn retriever_of(rows: u32) -> String {
    format!(
        "CREATE EXTENSION IF NOT EXISTS vector; SELECT setseed(0.25);
         CREATE TABLE docs (id int PRIMARY KEY, content text, embedding vector(2));
         INSERT INTO docs SELECT n, (SELECT string_agg(
                 translate(floor(exp(random() * ln(8000)))::int::text, '0123456789', 'bdfgklmnpr')
                     || 'x', ' ')
             FROM generate_series(1, 10 + n % 41)), '[1, 0]' FROM generate_series(1, {rows}) AS n;"
    )
}

/// Returns a word of these texts; low numbers are the most common.
fn word(number: u32) -> String {
    let letters = number.to_string();
    let letters = letters
        .bytes()
        .map(|digit| b"bdfgklmnpr"[usize::from(digit - b'0')]);
    letters.map(char::from).chain(['x']).collect()
}

fn questions() -> Vec<String> {
    let numbers: [&[u32]; 8] = [
        &[700, 50],
        &[3, 900, 40],
        &[1500, 2500, 3500],
        &[10, 20, 30],
        &[1, 2, 3000],
        &[77, 177, 1777, 7],
        &[400],
        &[6000, 2, 88, 5],
    ];
    let question = |numbers: &&[u32]| {
        let words: Vec<_> = numbers.iter().copied().map(word).collect();
        words.join(" ")
    };
    numbers.iter().map(question).collect()
}

/// Returns the expected result: every row, ranked.
async fn exact(test_database: &mut TestDatabase, text: &str, count: usize) -> Vec<String> {
    let rows: Vec<(i32, String)> = sqlx::query_as("SELECT id, content FROM docs")
        .fetch_all(&mut test_database.fixture.outside)
        .await
        .expect("rows");
    let question = bm25::Question::new(tokens::terms(text));
    let tallies: Vec<_> = rows
        .iter()
        .map(|(_, content)| question.count_terms(tokens::terms(content)))
        .collect();
    let scores = Bm25::DOCUMENTS.scores(&tallies);
    let mut ranked: Vec<_> = rows
        .iter()
        .zip(scores)
        .filter(|(_, score)| *score > 0.0)
        .collect();
    ranked.sort_by(|(one, score), (two, other)| {
        other
            .total_cmp(score)
            .then_with(|| one.0.to_string().cmp(&two.0.to_string()))
    });
    let best = ranked.into_iter().take(count);
    best.map(|((id, _), _)| id.to_string()).collect()
}

fn by_words(test_database: &TestDatabase, backend: Backend) -> Retriever {
    let options = SearchOptions {
        max_scanned: 20_000,
        ..weighing(0.0)
    };
    let table = Table {
        keyword: backend,
        ..table("docs")
    };
    test_database.retriever(vec![table], options)
}

async fn found(retriever: &Retriever, text: &str) -> Vec<String> {
    let passages = ask(retriever, &question(text), &[1.0, 0.0])
        .await
        .expect("an answer");
    ids(&passages).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_small_table_is_ranked_exactly() {
    let mut test_database = TestDatabase::with(&retriever_of(1500)).await;
    test_database.fixture.given("ANALYZE docs").await;
    let retriever = by_words(&test_database, Backend::Auto);
    for text in questions() {
        assert_eq!(
            found(&retriever, &text).await,
            exact(&mut test_database, &text, 10).await,
            "{text}"
        );
    }
    assert_eq!(found(&retriever, "the of").await, [""; 0]);
}

/// Asserts that nearly all of the best rows of an exact ranking are found.
async fn assert_finds_the_best(test_database: &mut TestDatabase, backend: Backend) {
    let retriever = by_words(test_database, backend);
    let (mut same, mut all) = (0, 0);
    for text in questions() {
        let expected = exact(test_database, &text, 10).await;
        let found: BTreeSet<_> = found(&retriever, &text).await.into_iter().collect();
        same += expected.iter().filter(|id| found.contains(*id)).count();
        all += expected.len();
    }
    assert!(same * 10 >= all * 9, "{backend}: {same} of {all}");
}

#[tokio::test]
async fn an_index_finds_what_reading_every_row_finds() {
    let sql = retriever_of(20_000)
        + "CREATE INDEX ON docs USING gin (to_tsvector('english', content)); ANALYZE docs;";
    let mut test_database = TestDatabase::with(&sql).await;
    for backend in [Backend::Auto, Backend::Tsvector, Backend::Scan] {
        assert_finds_the_best(&mut test_database, backend).await;
    }
}

#[tokio::test]
async fn words_without_statistics_in_postgresql_are_found_as_well() {
    let sql = retriever_of(20_000)
        + "CREATE INDEX words ON docs USING gin (to_tsvector('english', content));
           ALTER INDEX words ALTER COLUMN 1 SET STATISTICS 1; ANALYZE docs;";
    let mut test_database = TestDatabase::with(&sql).await;
    assert_finds_the_best(&mut test_database, Backend::Tsvector).await;
    // If all words had the same expected count, the common ones would use up the limit.
    let retriever = by_words(&test_database, Backend::Tsvector);
    let mut same = 0;
    for numbers in [[12, 15, 5500], [11, 14, 6100], [13, 16, 4900]] {
        let text = numbers.map(word).join(" ");
        let best = exact(&mut test_database, &text, 5).await;
        let found = found(&retriever, &text).await;
        same += best.iter().filter(|id| found.contains(*id)).count();
    }
    assert!(same >= 13, "{same} of 15");
}

#[tokio::test]
async fn rows_that_a_filter_leaves_out_do_not_hide_others() {
    let sql = retriever_of(20_000)
        + "CREATE INDEX ON docs USING gin (to_tsvector('english', content)); ANALYZE docs;";
    let test_database = TestDatabase::with(&sql).await;
    let raw = RawFilter::new("id % 50 = 7".to_owned()).expect("it is balanced");
    for keyword in [Backend::Tsvector, Backend::Scan] {
        let limited = Table {
            keyword,
            filter: Some(TableFilter::Raw(raw.clone())),
            ..table("docs")
        };
        let options = SearchOptions {
            max_scanned: 20_000,
            ..weighing(0.0)
        };
        let retriever = test_database.retriever(vec![limited], options);
        let text = [word(900), word(30), word(2)].join(" ");
        let found = found(&retriever, &text).await;
        assert_eq!(found.len(), 10, "{keyword}: {found:?}");
        let fits = |id: &String| id.parse::<u32>().is_ok_and(|id| id % 50 == 7);
        assert!(found.iter().all(fits), "{found:?}");
    }
}

#[tokio::test]
async fn without_an_index_no_more_rows_are_read_than_configured() {
    let sql = retriever_of(5000) + "ANALYZE docs;";
    let test_database = TestDatabase::with(&sql).await;
    let options = SearchOptions {
        max_scanned: 3,
        ..weighing(0.0)
    };
    let retriever = test_database.retriever(vec![table("docs")], options);
    assert_eq!(found(&retriever, &word(1)).await.len(), 3);
    let wanted = Table {
        keyword: Backend::PgSearch,
        ..table("docs")
    };
    let retriever = test_database.retriever(vec![wanted], options);
    retriever.check().await;
    // The extension is not installed.
    assert_eq!(found(&retriever, &word(1)).await.len(), 0);
}

#[tokio::test]
async fn a_keyword_search_that_fails_does_not_affect_vector_search() {
    let sql = format!(
        "{DOCS} ALTER TABLE docs ADD words tsvector GENERATED ALWAYS AS
             (to_tsvector('english', content)) STORED;
         CREATE INDEX ON docs USING gin (words);"
    );
    let mut test_database = TestDatabase::with(&sql).await;
    let wanted = Table {
        keyword: Backend::Tsvector,
        ..table("docs")
    };
    let retriever = test_database.retriever(vec![wanted], SearchOptions::default());
    let asked = question("replication");
    let best = async || {
        let found = ask(&retriever, &asked, &[1.0, 0.0])
            .await
            .expect("passages");
        ids(&found)[0].to_owned()
    };
    assert_eq!(best().await, "3");
    test_database
        .fixture
        .given("ALTER TABLE docs DROP COLUMN words")
        .await;
    assert_eq!(best().await, "1");
}

#[tokio::test]
async fn an_index_finds_addresses_and_words_of_any_script() {
    let sql = "CREATE EXTENSION IF NOT EXISTS vector;
        CREATE TABLE docs (id int PRIMARY KEY, content text, embedding vector(2));
        INSERT INTO docs SELECT n, 'filler words of row ' || n, '[1, 0]'
            FROM generate_series(1, 3000) AS n;
        INSERT INTO docs VALUES (9001, 'See foo.example.com for more.', '[1, 0]'),
            (9002, 'Crème brûlée', '[1, 0]'), (9003, 'C3PO & x-ray', '[1, 0]'),
            (9004, 'it''s \\o/ a zebra''s', '[1, 0]'), (9005, 'version 1.5 is out', '[1, 0]');
        CREATE INDEX ON docs USING gin (to_tsvector('english', content)); ANALYZE docs;";
    let test_database = TestDatabase::with(sql).await;
    let retriever = by_words(&test_database, Backend::Auto);
    let cases = [
        ("What is foo.example.com?", "9001"),
        ("crème BRÛLÉE", "9002"),
        ("the x-ray", "9003"),
        ("c3po", "9003"),
        ("zebra's \\o/ '", "9004"),
        ("3000", "3000"),
    ];
    for (text, expected) in cases {
        assert_eq!(
            found(&retriever, text).await.first().map(String::as_str),
            Some(expected),
            "{text}"
        );
    }
    assert_eq!(found(&retriever, "' & | ! \\ :*").await, [""; 0]);
}

/// Rows with other forms of words than in the questions.
const FORMS: &str = "CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE docs (id int PRIMARY KEY, content text, embedding vector(2));
    INSERT INTO docs SELECT n, 'filler of row ' || n, '[1, 0]' FROM generate_series(1, 2500) AS n;
    INSERT INTO docs VALUES (9001, 'Vacuuming removes the dead tuples.', '[1, 0]'),
        (9002, 'Die Häuser am See.', '[1, 0]'), (9003, 'The happiness of replicas.', '[1, 0]');";

#[tokio::test]
async fn other_forms_of_a_word_are_found_with_an_index_and_without_one() {
    let index = "CREATE INDEX ON docs USING gin (to_tsvector('english', content)); ANALYZE docs;";
    let few = "DELETE FROM docs WHERE id < 2000; ANALYZE docs;";
    for (change, backend) in [
        (index, Backend::Tsvector),
        ("ANALYZE docs;", Backend::Scan),
        (few, Backend::Auto),
    ] {
        let test_database = TestDatabase::with(&format!("{FORMS}{change}")).await;
        let retriever = by_words(&test_database, backend);
        for (text, expected) in [
            ("How does vacuum remove a tuple?", "9001"),
            ("a happy replica", "9003"),
        ] {
            let found = found(&retriever, text).await;
            assert_eq!(found, [expected], "{text} {backend} {change}");
        }
        assert_eq!(found(&retriever, "Haus").await, [""; 0]);
    }
}

#[tokio::test]
async fn a_row_with_a_phrase_in_quotes_comes_first() {
    let rows = "INSERT INTO docs VALUES (9010, 'dead dead tuples tuples are tuples', '[1, 0]'),
        (9011, 'A long row about something else, which says at its end: tuples dead.', '[1, 0]');";
    let index = "CREATE INDEX ON docs USING gin (to_tsvector('english', content));";
    for (index, backend) in [("", Backend::Scan), (index, Backend::Tsvector)] {
        let sql = format!("{FORMS}{rows}{index}ANALYZE docs;");
        let test_database = TestDatabase::with(&sql).await;
        let retriever = by_words(&test_database, backend);
        let found = found(&retriever, "about \"Tuples dead\" rows").await;
        assert_eq!(found[0], "9011", "{backend}: {found:?}");
        let found = self::found(&retriever, "tuples dead").await;
        assert_eq!(found[0], "9010", "{backend}: {found:?}");
    }
}

#[tokio::test]
async fn the_configuration_of_a_table_sets_its_language() {
    let few = format!("{FORMS}DELETE FROM docs WHERE id < 2000; ANALYZE docs;");
    let test_database = TestDatabase::with(&few).await;
    let found_with = async |name: &str, text: &str| {
        let table = Table {
            text_search_config: Some(name.to_owned()),
            ..table("docs")
        };
        found(&test_database.retriever(vec![table], weighing(0.0)), text).await
    };
    assert_eq!(found_with("german", "Haus").await, ["9002"]);
    assert_eq!(found_with("simple", "tuple").await, [""; 0]);
    assert_eq!(found_with("pg_catalog.simple", "TUPLES").await, ["9001"]);
    // PostgreSQL has no such configuration; the log says so.
    assert_eq!(found_with("it's none", "tuples").await, [""; 0]);
}

#[tokio::test]
async fn chinese_is_found_by_parts_of_its_sentences_or_with_an_index_by_whole_ones() {
    let rows = "INSERT INTO docs VALUES (9004, '如何维护 数据库系统', '[1, 0]'),
        (9005, '天气很好', '[1, 0]');";
    let index = "CREATE INDEX ON docs USING gin (to_tsvector('simple', content));";
    for (index, backend, text) in [
        ("", Backend::Scan, "数据库怎么用?"),
        (index, Backend::Tsvector, "数据库系统"),
    ] {
        let sql = format!("{FORMS}{rows}{index}ANALYZE docs;");
        let test_database = TestDatabase::with(&sql).await;
        let retriever = by_words(&test_database, backend);
        let found = found(&retriever, text).await;
        assert_eq!(found, ["9004"], "{backend}");
    }
}

#[tokio::test]
async fn a_role_that_owns_nothing_finds_the_same() {
    let sql = retriever_of(5000)
        + "CREATE INDEX ON docs USING gin (to_tsvector('english', content)); ANALYZE docs;";
    let mut test_database = TestDatabase::with(&sql).await;
    let role = format!(
        "reader_{}",
        test_database.fixture.settings.database.replace('-', "_")
    );
    test_database
        .fixture
        .given(&format!(
            "CREATE ROLE \"{role}\" LOGIN PASSWORD 'x'; GRANT SELECT ON docs TO \"{role}\""
        ))
        .await;
    let pool = test_database.fixture.pool(|settings| {
        settings.user = role.clone();
        settings.password = "x".to_owned().into();
    });
    let theirs = TestDatabase {
        pool,
        fixture: test_database.fixture,
    };
    let retriever = by_words(&theirs, Backend::Tsvector);
    let text = [word(900), word(2)].join(" ");
    let found = found(&retriever, &text).await;
    let TestDatabase { mut fixture, .. } = theirs;
    fixture
        .given(&format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\""))
        .await;
    assert_eq!(found.len(), 10);
}

#[tokio::test]
async fn a_word_too_long_for_an_index_is_not_searched_for() {
    let longest = "k".repeat(tokens::LONGEST_WORD);
    let sql = retriever_of(3000)
        + &format!(
            "INSERT INTO docs VALUES (5001, '{longest}', '[1, 0]'),
                (5002, '{longest}k', '[1, 0]'); ANALYZE docs;"
        );
    for index in [
        "",
        "CREATE INDEX ON docs USING gin (to_tsvector('simple', content));",
    ] {
        let test_database = TestDatabase::with(&(sql.clone() + index)).await;
        let retriever = by_words(&test_database, Backend::Auto);
        assert_eq!(found(&retriever, &longest).await, ["5001"], "{index}");
        let longer = format!("{longest}k {longest}.{longest}k");
        assert_eq!(found(&retriever, &longer).await, ["5001"], "{index}");
        assert_eq!(
            found(&retriever, &format!("{longest}k")).await,
            [""; 0],
            "{index}"
        );
    }
}

#[tokio::test]
async fn a_vector_index_continues_its_scan_if_a_filter_removes_rows() {
    let sql = "CREATE EXTENSION IF NOT EXISTS vector; SELECT setseed(0.5);
        CREATE TABLE docs (id int PRIMARY KEY, content text, embedding vector(4), kind text);
        INSERT INTO docs SELECT n, 'text ' || n,
            (SELECT array_agg(random() - 0.5) FROM generate_series(1, 4) WHERE n > 0)::vector,
            CASE WHEN n % 100 = 0 THEN 'rare' ELSE 'common' END
            FROM generate_series(1, 10000) AS n;
        CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops); ANALYZE docs;";
    let test_database = TestDatabase::with(sql).await;
    let json = r#"{"conditions": [{"column": "kind", "operator": "=", "value": "rare"}]}"#;
    let filter: Filter = serde_json::from_str(json).expect(json);
    let filter = filter.check().expect(json);
    let asked = SearchRequest {
        filter: filter.as_ref(),
        top_n: 30,
        ..question("?")
    };
    let retriever = test_database.retriever(vec![table("docs")], by_meaning());
    let found = ask(&retriever, &asked, &[0.1, 0.2, 0.3, 0.4])
        .await
        .expect("passages");
    assert_eq!(found.len(), 30);
    let all = SearchRequest {
        top_n: 200,
        filter: None,
        ..asked
    };
    let found = ask(&retriever, &all, &[0.1, 0.2, 0.3, 0.4])
        .await
        .expect("passages");
    assert_eq!(found.len(), 200);
}

#[tokio::test]
async fn a_word_within_another_is_found_in_languages_that_join_words() {
    let sql = "CREATE EXTENSION IF NOT EXISTS vector;
        CREATE TABLE docs (id int PRIMARY KEY, content text, embedding vector(2));
        INSERT INTO docs VALUES (1, 'Die Donaudampfschifffahrt begann im Frühling.', '[1, 0]'),
            (2, 'Die Schifffahrt ruht.', '[1, 0]'), (3, 'Ein Boot fährt.', '[1, 0]');";
    let many = "INSERT INTO docs SELECT n, 'Nichts als Sand ' || n, '[1, 0]'
            FROM generate_series(10, 2600) AS n;";
    for change in ["", many] {
        let test_database = TestDatabase::with(&format!("{sql}{change} ANALYZE docs;")).await;
        let found = async |configuration: &str, compounds| {
            let table = Table {
                text_search_config: Some(configuration.to_owned()),
                ..table("docs")
            };
            let options = SearchOptions {
                compounds,
                ..weighing(0.0)
            };
            let retriever = test_database.retriever(vec![table], options);
            let passages = ask(&retriever, &question("Schifffahrt"), &[1.0, 0.0]).await;
            let passages = passages.expect("an answer");
            ids(&passages).join(" ")
        };
        assert_eq!(found("german", None).await, "2 1", "{change}");
        assert_eq!(found("german", Some(false)).await, "2", "{change}");
        if change.is_empty() {
            assert_eq!(found("simple", None).await, "2");
            assert_eq!(found("simple", Some(true)).await, "2 1");
        }
    }
}

use std::{future, time::Duration};

use tokio::time;
use ziggurat_postgres::{database::Settings, fixture::Fixture};

use super::*;
use crate::filter::Filter;

mod columns;
mod filters;
mod neighbours;
mod operators;
mod words;

/// Two dimensions, so that the position shows the similarity.
const DOCS: &str = r"CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE docs (id int PRIMARY KEY, content text, embedding vector(2));
    INSERT INTO docs VALUES
        (1, 'PostgreSQL vacuum removes dead tuples.', '[1, 0]'),
        (2, 'The vacuum cleaner is in the hall.', '[1, 0.2]'),
        (3, 'Replication streams WAL to standby servers.', '[1, 1]'),
        (4, 'Autovacuum runs vacuum; vacuum frees dead tuples for reuse.', '[0, 1]'),
        (5, NULL, '[1, 0]'), (6, 'No vector has this one.', NULL), (7, 'zero', '[0, 0]');";

pub(super) struct TestDatabase {
    pub(super) fixture: Fixture,
    pub(super) pool: Pool,
}

impl TestDatabase {
    pub(super) async fn with(sql: &str) -> Self {
        Self::as_described(sql, |_| {}).await
    }

    pub(super) async fn as_described(sql: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.given(sql).await;
        let pool = fixture.pool(change);
        Self { fixture, pool }
    }

    pub(super) fn retriever(&self, tables: Vec<Table>, options: SearchOptions) -> Retriever {
        Retriever::new(self.pool.clone(), "pipeline", tables, options)
    }
}

pub(super) fn table(name: &str) -> Table {
    Table {
        name: name.to_owned(),
        text: "content".to_owned(),
        vector: "embedding".to_owned(),
        id: Some("id".to_owned()),
        title: None,
        url: None,
        filter: None,
        filter_columns: FilterColumns::All,
        keyword: Backend::Auto,
        text_search_config: None,
        keyword_columns: Vec::new(),
        order: None,
    }
}

pub(super) fn by_meaning() -> SearchOptions {
    SearchOptions {
        hybrid: false,
        ..SearchOptions::default()
    }
}

/// Fusion by rank, with this weight of the vector search.
pub(super) fn weighing(vector_weight: f64) -> SearchOptions {
    let fusion = Fusion {
        method: Method::RECIPROCAL_RANK,
        vector_weight,
    };
    SearchOptions {
        fusion,
        ..SearchOptions::default()
    }
}

pub(super) fn question(text: &str) -> SearchRequest<'_> {
    SearchRequest {
        text,
        filter: None,
        top_n: 10,
        disable_hybrid: false,
        operators: None,
    }
}

/// Asks with a vector that is available at once.
pub(super) async fn ask(
    retriever: &Retriever,
    question: &SearchRequest<'_>,
    vector: &[f32],
) -> Result<Vec<Passage>, RetrievalFailure> {
    retriever
        .find(question, future::ready(Ok(vector.to_vec())))
        .await
}

pub(super) fn ids(passages: &[Passage]) -> Vec<&str> {
    let ids = passages.iter().map(|passage| passage.id.as_deref());
    ids.map(|id| id.unwrap_or("none")).collect()
}

#[tokio::test]
async fn the_closest_rows_come_first_and_rows_without_a_text_or_a_vector_are_left_out() {
    let test_database = TestDatabase::with(DOCS).await;
    let retriever = test_database.retriever(vec![table("docs")], by_meaning());
    let found = ask(&retriever, &question("?"), &[1.0, 0.0]).await;
    let found = found.expect("passages");
    assert_eq!(ids(&found), ["1", "2", "3", "4"]);
    assert!((found[0].score - 1.0).abs() < 1e-9);
    assert!((found[2].score - 0.5_f64.sqrt()).abs() < 1e-6);
    assert!(found[3].score.abs() < 1e-9);
    let two = SearchRequest {
        top_n: 2,
        ..question("?")
    };
    let found = ask(&retriever, &two, &[0.0, 1.0]).await.expect("passages");
    assert_eq!(ids(&found), ["4", "3"]);
}

#[tokio::test]
async fn min_similarity_limits_vector_search_and_not_keyword_search() {
    let test_database = TestDatabase::with(DOCS).await;
    let options = |hybrid| SearchOptions {
        hybrid,
        min_similarity: Some(0.9),
        ..SearchOptions::default()
    };
    let asked = question("Replication");
    let retriever = test_database.retriever(vec![table("docs")], options(false));
    let found = ask(&retriever, &asked, &[1.0, 0.0])
        .await
        .expect("passages");
    assert_eq!(ids(&found), ["1", "2"]);
    let retriever = test_database.retriever(vec![table("docs")], options(true));
    let found = ask(&retriever, &asked, &[1.0, 0.0])
        .await
        .expect("passages");
    assert_eq!(ids(&found), ["3", "1", "2"]);
}

#[tokio::test]
async fn both_searches_are_fused_unless_one_is_off_or_has_no_weight() {
    let test_database = TestDatabase::with(DOCS).await;
    let asked = question("How does vacuum remove dead tuples?");
    let find = async |weight, hybrid, disable_hybrid| {
        let options = SearchOptions {
            hybrid,
            ..weighing(weight)
        };
        let retriever = test_database.retriever(vec![table("docs")], options);
        let asked = SearchRequest {
            disable_hybrid,
            ..asked
        };
        let found = ask(&retriever, &asked, &[1.0, 1.0]).await;
        let found = found.expect("passages");
        let ids: Vec<_> = ids(&found).into_iter().map(str::to_owned).collect();
        (ids, found[0].score)
    };
    let meaning = ["3", "2", "1", "4"];
    let (ids, score) = find(0.5, true, false).await;
    // Ranks by vector and keyword: 1 is third and first, 4 fourth and second, 2 second and third, 3
    // first and unranked.
    assert_eq!(ids, ["1", "2", "4", "3"]);
    assert!((score - 0.5 / 61.0 - 0.5 / 63.0).abs() < 1e-9);
    let (ids, score) = find(0.5, true, true).await;
    assert_eq!(ids, meaning);
    assert!((score - 1.0).abs() < 1e-6);
    assert_eq!(find(0.5, false, false).await.0, meaning);
    assert_eq!(find(1.0, true, false).await.0, meaning);
    assert_eq!(find(0.0, true, false).await.0, ["1", "4", "2"]);
}

#[tokio::test]
async fn results_that_repeat_others_make_room_if_that_is_configured() {
    let sql = format!(
        "{DOCS} INSERT INTO docs SELECT n, 'PostgreSQL vacuum removes dead tuples.', '[1, 0]'
             FROM generate_series(11, 15) AS n;"
    );
    let test_database = TestDatabase::with(&sql).await;
    let asked = SearchRequest {
        top_n: 3,
        ..question("vacuum")
    };
    for (diversity, options, expected) in [
        (0.0, by_meaning(), 1),
        (0.5, by_meaning(), 3),
        (0.5, SearchOptions::default(), 3),
    ] {
        let options = SearchOptions {
            diversity,
            ..options
        };
        let retriever = test_database.retriever(vec![table("docs")], options);
        let found = ask(&retriever, &asked, &[1.0, 0.0]).await;
        let mut texts: Vec<_> = found
            .expect("passages")
            .into_iter()
            .map(|passage| passage.content)
            .collect();
        assert_eq!(texts.len(), 3);
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), expected, "{options:?}");
    }
}

#[tokio::test]
async fn names_may_contain_any_character_and_rows_without_an_id_are_identified_by_their_text() {
    let sql = r#"CREATE EXTENSION IF NOT EXISTS vector; CREATE SCHEMA "My Shop";
        CREATE TABLE "My Shop"."Doc.s" ("Id" uuid, "Con tent" varchar(50), "Vec" halfvec(2));
        INSERT INTO "My Shop"."Doc.s" VALUES
            ('00000000-0000-0000-0000-000000000001', 'one', '[1, 0]'),
            (NULL, 'two', '[1, 1]'), (NULL, 'two', '[1, 1]');
        CREATE VIEW "My Shop".seen AS SELECT "Con tent" AS content,
            "Vec"::vector AS embedding FROM "My Shop"."Doc.s";
        CREATE TABLE nothing (content text, embedding sparsevec(2));"#;
    let test_database = TestDatabase::with(sql).await;
    let named = Table {
        text: "Con tent".to_owned(),
        vector: "Vec".to_owned(),
        id: Some("Id".to_owned()),
        ..table(r#"My Shop."Doc.s""#)
    };
    let seen = Table {
        id: None,
        ..table("My Shop.seen")
    };
    for options in [by_meaning(), SearchOptions::default()] {
        let retriever = test_database.retriever(vec![named.clone()], options);
        let found = ask(&retriever, &question("two"), &[1.0, 0.0]).await;
        let found = found.expect("passages");
        let mut texts: Vec<_> = found.iter().map(|passage| &*passage.content).collect();
        texts.sort_unstable();
        assert_eq!(texts, ["one", "two"]);
        assert!(found.iter().any(|passage| passage.id.is_none()));
        assert!(found.iter().any(|passage| passage.id.is_some()));
        let retriever = test_database.retriever(vec![seen.clone()], options);
        let found = ask(&retriever, &question("two"), &[1.0, 0.0]).await;
        assert_eq!(ids(&found.expect("passages")), ["none", "none"]);
        let nothing = Table {
            id: None,
            ..table("nothing")
        };
        let retriever = test_database.retriever(vec![nothing], options);
        let found = ask(&retriever, &question("two"), &[1.0, 0.0]).await;
        assert_eq!(found.expect("no passages"), []);
    }
}

#[tokio::test]
async fn tables_are_merged_and_one_that_fails_is_left_out() {
    let sql = format!(
        "{DOCS} CREATE TABLE more (LIKE docs);
         INSERT INTO more VALUES (1, 'Another first.', '[1, 0.1]');"
    );
    let test_database = TestDatabase::with(&sql).await;
    let tables = vec![table("docs"), table("missing"), table("more")];
    let retriever = test_database.retriever(tables, by_meaning());
    let three = SearchRequest {
        top_n: 3,
        ..question("?")
    };
    let found = ask(&retriever, &three, &[1.0, 0.0])
        .await
        .expect("passages");
    assert_eq!(ids(&found), ["1", "1", "2"]);
    assert_eq!(found[1].content, "Another first.");

    let options = SearchOptions {
        min_similarity: Some(0.99),
        ..by_meaning()
    };
    let tables = vec![table("docs"), table("missing")];
    let retriever = test_database.retriever(tables, options);
    let failure = ask(&retriever, &three, &[-1.0, 0.0]).await;
    let failure = failure.expect_err("nothing, and one has failed");
    assert!(
        matches!(failure, RetrievalFailure::Database(FailureKind::Refused, _)),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_vector_of_another_size_is_a_failure() {
    let test_database = TestDatabase::with(DOCS).await;
    let retriever = test_database.retriever(vec![table("docs")], SearchOptions::default());
    retriever.check().await;
    let failure = ask(&retriever, &question("zebra"), &[1.0, 0.0, 0.0]).await;
    let failure = failure.expect_err("three are not two");
    assert!(
        matches!(failure, RetrievalFailure::Database(FailureKind::Failed, _)),
        "{failure:?}"
    );
    // Keyword search does not need the vector.
    let found = ask(&retriever, &question("vacuum"), &[1.0, 0.0, 0.0]).await;
    assert_eq!(found.expect("passages").len(), 3);
}

#[tokio::test]
async fn without_a_vector_the_keyword_search_is_cancelled() {
    let sql = format!(
        "{DOCS} CREATE VIEW slow AS SELECT id, content, embedding FROM docs,
             pg_sleep(3600) AS nap WHERE nap IS NOT NULL;"
    );
    let test_database = TestDatabase::with(&sql).await;
    let retriever = test_database.retriever(vec![table("slow")], SearchOptions::default());
    let asked = question("vacuum");
    let failed = future::ready(Err(llm::Error::Empty));
    let failure = retriever.find(&asked, failed).await.expect_err("no vector");
    assert!(matches!(
        failure,
        RetrievalFailure::Embedding(llm::Error::Empty)
    ));
}

#[tokio::test]
async fn a_search_that_is_dropped_is_cancelled() {
    let sql = format!(
        "{DOCS} CREATE VIEW slow AS SELECT id, content, embedding FROM docs,
             pg_sleep(3600) AS nap WHERE nap IS NOT NULL;"
    );
    let mut test_database =
        TestDatabase::as_described(&sql, |settings| settings.max_connections = 2).await;
    let retriever = test_database.retriever(vec![table("slow")], SearchOptions::default());
    let running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%slow%'
        AND query LIKE '%<=>%' AND state = 'active' AND pid <> pg_backend_pid()";
    {
        let asked = question("vacuum");
        let search = ask(&retriever, &asked, &[1.0, 0.0]);
        let watch = async {
            let mut watcher = test_database.fixture.connect().await;
            loop {
                let count: i64 = sqlx::query_scalar(running)
                    .fetch_one(&mut watcher)
                    .await
                    .expect("a number");
                if count > 0 {
                    break;
                }
            }
        };
        tokio::select! {
            _ = search => panic!("it should take an hour"),
            () = watch => {}
        }
    }
    // Both connections are free only after both searches have ended.
    let leases = future_leases(&test_database.pool).await;
    drop(leases);
    assert_eq!(test_database.fixture.count(running).await, 0);
}

async fn future_leases(pool: &Pool) -> [ziggurat_postgres::pool::Lease; 2] {
    let one = pool.lease().await.expect("a connection");
    let two = pool.lease().await.expect("another");
    [one, two]
}

#[tokio::test]
async fn a_database_that_is_down_is_unavailable_and_is_used_again_when_it_is_up() {
    let mut test_database = TestDatabase::with(DOCS).await;
    let silence = ziggurat_postgres::fixture::Silence::new().await;
    let silent = test_database.fixture.describe(|settings| {
        silence.stand_in(settings);
        settings.connect_timeout = Duration::from_millis(50);
    });
    let pool = test_database.fixture.pools.pool("another user", &silent);
    let retriever = Retriever::new(
        pool,
        "pipeline",
        vec![table("docs")],
        SearchOptions::default(),
    );
    retriever.check().await;
    let failure = ask(&retriever, &question("vacuum"), &[1.0, 0.0]).await;
    let failure = failure.expect_err("the database is down");
    assert!(
        matches!(
            failure,
            RetrievalFailure::Database(FailureKind::Unavailable, _)
        ),
        "{failure:?}"
    );

    // All connections are closed, as when PostgreSQL restarts; the next search reconnects.
    let retriever = test_database.retriever(vec![table("docs")], SearchOptions::default());
    let asked = question("vacuum");
    for _ in 0..2 {
        let found = ask(&retriever, &asked, &[1.0, 0.0])
            .await
            .expect("passages");
        assert_eq!(found.len(), 4);
        let kill = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        assert!(test_database.fixture.count(kill).await > 0);
    }
    let found = ask(&retriever, &asked, &[1.0, 0.0])
        .await
        .expect("passages");
    assert_eq!(found.len(), 4);
}

#[test]
fn a_search_can_be_sent_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let _ = |retriever: &Retriever, question: &SearchRequest<'_>| {
        is_send(&retriever.find(question, future::ready(Ok(Vec::new()))));
        is_send(&retriever.check());
    };
}

fn told(outcome: Result<(), ProbeError>) -> String {
    outcome.expect_err("an obstacle").to_string()
}

#[tokio::test]
async fn a_table_without_vector_search_is_reported_until_it_is_repaired() {
    let mut test_database = TestDatabase::with(DOCS).await;
    let retriever = test_database.retriever(vec![table("docs")], SearchOptions::default());
    assert!(retriever.is_sound(Some(3)), "nothing is known yet");
    for dimensions in [None, Some(2)] {
        retriever.probe(dimensions).await.expect("it fits");
        assert!(retriever.is_sound(dimensions));
    }
    let expected = "table docs: the column embedding has vectors of 2 dimensions and the embedding model returns 3: configure the model that filled the table";
    assert_eq!(told(retriever.probe(Some(3)).await), expected);
    assert!(!retriever.is_sound(Some(3)));
    let change = "ALTER TABLE docs ALTER embedding TYPE vector(3) USING NULL::vector(3)";
    test_database.fixture.given(change).await;
    time::pause();
    time::advance(2 * Duration::from_secs(1)).await;
    time::resume();
    retriever.probe(Some(3)).await.expect("it fits now");
    assert!(retriever.is_sound(Some(3)));
}

#[tokio::test]
async fn a_pipeline_is_ready_while_one_of_its_tables_can_be_searched() {
    let test_database = TestDatabase::with(DOCS).await;
    let missing = || table("nope");
    let both = test_database.retriever(vec![missing(), table("docs")], SearchOptions::default());
    both.probe(Some(2)).await.expect("one is there");
    assert!(!both.is_sound(Some(2)));
    let none = test_database.retriever(vec![missing()], SearchOptions::default());
    let logged = told(none.probe(Some(2)).await);
    assert!(
        logged.starts_with("table nope: there is no table"),
        "{logged}"
    );

    let away = TestDatabase::as_described("SELECT 1", |settings| {
        settings.host = "127.0.0.1".into();
        settings.port = 1;
    });
    let away = away
        .await
        .retriever(vec![table("docs")], SearchOptions::default());
    let logged = told(away.probe(None).await);
    assert_eq!(logged, "the database is unreachable");
}

#[tokio::test]
async fn a_row_that_only_words_find_counts_with_its_similarity_too() {
    let sql = "CREATE EXTENSION IF NOT EXISTS vector;
        CREATE TABLE docs (id int PRIMARY KEY, content text, embedding vector(2));
        INSERT INTO docs SELECT n, 'filler ' || n, '[1, 0]' FROM generate_series(1, 4) AS n;
        INSERT INTO docs VALUES (8, 'ferns and moss', '[-0.6, 0.8]'),
            (9, 'moss and ferns', '[0.6, 0.8]'), (10, 'ferns and stones', NULL);";
    let test_database = TestDatabase::with(sql).await;
    let options = SearchOptions {
        candidates: 2,
        ..SearchOptions::default()
    };
    let retriever = test_database.retriever(vec![table("docs")], options);
    let asked = SearchRequest {
        top_n: 1,
        ..question("moss ferns")
    };
    let found = ask(&retriever, &asked, &[1.0, 0.0])
        .await
        .expect("an answer");
    // The words of both are the same.
    assert_eq!(ids(&found), ["9"]);
    // Words are a reason of their own: a minimum of the similarity does not leave it out.
    assert_eq!(found[0].relevance, None);
}

use std::{fmt::Write as _, pin::pin, time::Duration};

use sqlx::AssertSqlSafe;

use super::*;
use ziggurat_postgres::{
    database::Settings,
    fixture::{Fixture, ask},
    metadata::Metadata,
};

/// Vectors `(n, 1)`, so that the id of a row is its distance from `(0, 1)`.
const PLACES: &str = r#"CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE "my place" (id int PRIMARY KEY, "na;me" text, spot vector(2), half halfvec(2),
        sparse sparsevec(2));
    INSERT INTO "my place" SELECT n, 'place ' || n, ARRAY[n, 1]::vector, ARRAY[n, 1]::vector,
        ARRAY[n, 1]::vector::sparsevec FROM generate_series(1, 9) AS n;
    INSERT INTO "my place" VALUES (10, 'nowhere', NULL, NULL, NULL);"#;

/// Rows with two independent random vectors.
fn mixed(rows: u32) -> String {
    let vector = "(SELECT array_agg(random() - 0.5) FROM generate_series(1, 8) WHERE n > 0)";
    format!(
        "CREATE EXTENSION IF NOT EXISTS vector; SELECT setseed(0.5);
         CREATE TABLE mixed (id int PRIMARY KEY, title text, body text, title_emb vector(8),
             body_emb vector(8));
         INSERT INTO mixed SELECT n, 'title ' || n, 'body ' || n, {vector}::vector,
             {vector}::vector FROM generate_series(1, {rows}) AS n;
         CREATE INDEX ON mixed USING hnsw (title_emb vector_cosine_ops);
         CREATE INDEX ON mixed USING hnsw (body_emb vector_cosine_ops);
         ANALYZE mixed;"
    )
}

struct Setup {
    fixture: Fixture,
    pool: Pool,
    metadata: Metadata,
}

impl Setup {
    async fn with(sql: &str) -> Self {
        Self::as_described(sql, |_| {}).await
    }

    async fn as_described(sql: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.given(sql).await;
        let pool = fixture.pool(change);
        let lease = pool.lease().await.expect("a connection");
        let metadata = Metadata::load(lease).await.expect("tables");
        Self {
            fixture,
            pool,
            metadata,
        }
    }

    fn nearest(&self, table: &str, vectors: &[(&str, f64)], texts: &[&str]) -> Nearest<'_> {
        let table = self.metadata.table("public", table).expect("it is there");
        let column = |name: &str| {
            let mut columns = table.columns();
            columns.find(|column| column.name() == name)
        };
        let vectors = vectors.iter();
        Nearest {
            table,
            vectors: vectors
                .map(|(name, weight)| Weighted::new(column(name).expect(name), *weight))
                .collect(),
            texts: texts.iter().map(|name| column(name).expect(name)).collect(),
            id: column("id"),
            metric: Metric::Cosine,
            rows: 3,
            characters: 100,
        }
    }

    /// Returns the plan of a query, run with its settings.
    async fn plan(&mut self, reach: u32, query: &str) -> String {
        let settings = settings(reach, false);
        self.fixture.given(&format!("BEGIN; {settings}")).await;
        let explain = AssertSqlSafe(format!("EXPLAIN {query}"));
        let lines: Vec<String> = sqlx::query_scalar(explain)
            .fetch_all(&mut self.fixture.outside)
            .await
            .expect("a plan");
        self.fixture.given("ROLLBACK").await;
        lines.join("\n")
    }
}

fn ids(rows: &[Neighbour]) -> Vec<&str> {
    rows.iter()
        .map(|row| row.id.as_deref().unwrap_or("none"))
        .collect()
}

#[tokio::test]
async fn the_closest_rows_come_first_whatever_the_type_and_the_metric() {
    let setup = Setup::with(PLACES).await;
    let cases = [
        (Metric::Cosine, ["4", "3", "5"]),
        (Metric::Euclidean, ["4", "5", "3"]),
        (Metric::InnerProduct, ["9", "8", "7"]),
    ];
    for column in ["spot", "half", "sparse"] {
        for (metric, expected) in cases {
            let mut nearest = setup.nearest("my place", &[(column, 1.0)], &["na;me"]);
            nearest.metric = metric;
            // Between two places, so that no two are equally far away.
            let asked = if metric == Metric::Cosine { 3.6 } else { 4.1 };
            let rows = nearest.find(&[asked, 1.0], &setup.pool).await;
            let rows = rows.expect("an answer");
            assert_eq!(ids(&rows), expected, "{column} {metric:?}");
            let text = format!("place {}", expected[0]);
            assert_eq!(rows[0].texts, [Some(text)]);
        }
    }
}

#[tokio::test]
async fn distances_are_those_of_the_operators_and_rows_without_a_vector_are_left_out() {
    let setup = Setup::with(PLACES).await;
    let mut nearest = setup.nearest("my place", &[("spot", 1.0)], &["na;me"]);
    nearest.rows = 50;
    nearest.metric = Metric::Euclidean;
    let rows = nearest.find(&[0.0, 1.0], &setup.pool).await.expect("rows");
    let distances: Vec<_> = rows.iter().filter_map(|row| row.distance).collect();
    assert_eq!(distances, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
}

#[tokio::test]
async fn texts_are_cut_by_postgresql_and_a_row_may_have_no_id() {
    let mut setup = Setup::with(PLACES).await;
    let long = "UPDATE \"my place\" SET \"na;me\" = repeat('é', 500) WHERE id = 4";
    setup.fixture.given(long).await;
    let mut nearest = setup.nearest("my place", &[("spot", 1.0)], &["na;me"]);
    nearest.id = None;
    nearest.rows = 1;
    nearest.characters = 7;
    let rows = nearest.find(&[4.0, 1.0], &setup.pool).await.expect("rows");
    assert_eq!(rows[0].texts, [Some("ééééééé".to_owned())]);
    assert_eq!(rows[0].id, None);
}

#[tokio::test]
async fn an_index_serves_one_column() {
    let mut setup = Setup::with(&mixed(2000)).await;
    let nearest = setup.nearest("mixed", &[("body_emb", 1.0)], &["body"]);
    let query = Query::new(&nearest, &[0.5; 8]).ordered();
    let plan = setup.plan(3, &query).await;
    assert!(
        plan.contains("Index Scan using mixed_body_emb_idx"),
        "{plan}"
    );
    assert!(!plan.contains("Sort"), "{plan}");
}

#[tokio::test]
async fn the_indexes_of_several_columns_serve_their_sum() {
    let mut setup = Setup::with(&mixed(5000)).await;
    let weights = [("title_emb", 0.3), ("body_emb", 0.7)];
    let nearest = setup.nearest("mixed", &weights, &["title", "body"]);
    let query = Query::new(&nearest, &[0.5; 8]).joined(100);
    let plan = setup.plan(100, &query).await;
    for index in ["mixed_title_emb_idx", "mixed_body_emb_idx"] {
        assert!(
            plan.contains(&format!("Index Scan using {index}")),
            "{plan}"
        );
    }
}

#[tokio::test]
async fn the_order_of_several_columns_is_that_of_the_whole_table() {
    let setup = Setup::with(&mixed(3000)).await;
    let weights = [("title_emb", 0.3), ("body_emb", 0.7)];
    for (rows, asked) in [(1, 0.5), (3, -0.1), (10, 0.3)] {
        let mut nearest = setup.nearest("mixed", &weights, &["title"]);
        nearest.rows = rows;
        let asked: Vec<f32> = (0_u8..8).map(|n| asked + f32::from(n) / 10.0).collect();
        assert!(nearest.can_join_indexes());
        let found = nearest.find(&asked, &setup.pool).await.expect("rows");

        let query = Query::new(&nearest, &asked).ordered();
        let whole = read(query, rows, &setup.pool).await.expect("rows");
        let whole = in_order(whole);
        assert_eq!(ids(&found), ids(&whole), "{rows}");
    }
}

#[tokio::test]
async fn rows_from_indexes_are_not_the_result_until_that_is_proven() {
    // Each column has its own closest rows, which are far away in the other; the best sums are in
    // neither list.
    let mut sql = String::from(
        "CREATE EXTENSION IF NOT EXISTS vector; CREATE TABLE split (id int, title text,
             title_emb vector(1), body_emb vector(1));
         CREATE INDEX ON split USING hnsw (title_emb vector_l2_ops);
         CREATE INDEX ON split USING hnsw (body_emb vector_l2_ops);
         INSERT INTO split SELECT 1000 + n, 'one', ARRAY[n * 0.001]::vector, '[900]'
             FROM generate_series(1, 300) AS n;
         INSERT INTO split SELECT 2000 + n, 'other', '[900]', ARRAY[n * 0.001]::vector
             FROM generate_series(1, 300) AS n;",
    );
    for id in 1..=3 {
        write!(
            sql,
            "INSERT INTO split VALUES ({id}, 'both', '[{id}]', '[{id}]');"
        )
        .expect("a string takes everything");
    }
    let setup = Setup::with(&sql).await;
    let mut nearest = setup.nearest(
        "split",
        &[("title_emb", 0.5), ("body_emb", 0.5)],
        &["title"],
    );
    nearest.metric = Metric::Euclidean;
    let found = nearest.find(&[0.0], &setup.pool).await.expect("rows");
    assert_eq!(ids(&found), ["1", "2", "3"]);

    let query = Query::new(&nearest, &[0.0]).joined(100);
    let first = read(query, 100, &setup.pool).await.expect("rows");
    assert!(nearest.proved_closest(first).is_none());
}

#[tokio::test]
async fn rows_that_lack_a_vector_come_last() {
    let setup = Setup::with(
        "CREATE EXTENSION IF NOT EXISTS vector; CREATE TABLE part (id int, title text,
             title_emb vector(1), body_emb vector(1));
         CREATE INDEX ON part USING hnsw (title_emb vector_l2_ops);
         CREATE INDEX ON part USING hnsw (body_emb vector_l2_ops);
         INSERT INTO part VALUES (1, 'near', '[1]', NULL), (2, 'far', '[9]', '[9]'),
             (3, 'none', NULL, NULL), (4, 'middle', '[4]', '[4]')",
    )
    .await;
    let mut nearest = setup.nearest("part", &[("title_emb", 0.5), ("body_emb", 0.5)], &["title"]);
    nearest.metric = Metric::Euclidean;
    let found = nearest.find(&[0.0], &setup.pool).await.expect("rows");
    assert_eq!(ids(&found), ["4", "2", "1"]);
    assert_eq!(found[2].distance, None);
}

#[tokio::test]
async fn a_list_longer_than_the_default_of_an_index_is_complete() {
    let setup = Setup::with(&mixed(2000)).await;
    let mut nearest = setup.nearest("mixed", &[("body_emb", 1.0)], &[]);
    nearest.rows = 200;
    // The first search loads pgvector into the session, the second finds it loaded.
    for _ in 0..2 {
        let found = nearest.find(&[0.5; 8], &setup.pool).await.expect("rows");
        assert_eq!(found.len(), 200);
        assert!(found.is_sorted_by_key(|row| row.distance));
    }
}

#[tokio::test]
async fn settings_of_a_search_end_with_it_and_those_of_an_operator_stay() {
    let setup = Setup::as_described(&mixed(100), |settings| settings.max_connections = 1).await;
    let mut nearest = setup.nearest("mixed", &[("body_emb", 1.0)], &[]);
    nearest.rows = 60;
    let reach = "SELECT current_setting('hnsw.ef_search')";
    nearest.find(&[0.5; 8], &setup.pool).await.expect("rows");
    let (answer, _) = ask(&setup.pool, reach).await.expect(reach);
    assert!(answer.ends_with("\n40"), "{answer}");

    let mut lease = setup.pool.lease().await.expect("a connection");
    let client = lease.begin();
    client.ask("SET hnsw.ef_search = 300").await.expect("set");
    for is_acting in [false, true] {
        let settings = format!("BEGIN; {}", settings(60, is_acting));
        client.ask(&settings).await.expect("set");
        let rows = client.ask(reach).await.expect("a number");
        assert_eq!(rows[0].text(0).expect("a number"), "300");
        client.ask("ROLLBACK").await.expect("the end");
    }
}

#[tokio::test]
async fn a_role_has_the_settings_of_a_search_without_a_right_to_set_config() {
    let setup = Setup::as_described(&mixed(10), |settings| settings.max_connections = 1).await;
    let mut lease = setup.pool.lease().await.expect("a connection");
    let client = lease.begin();
    client.ask("SELECT '[1]'::vector").await.expect("loaded");
    let asked = "SELECT current_setting('hnsw.ef_search'), current_setting('hnsw.iterative_scan'),
                 current_setting('ivfflat.iterative_scan')";
    for (before, expected) in [
        ("SELECT 1", ["60", "strict_order", "relaxed_order"]),
        (
            "SET LOCAL hnsw.iterative_scan = relaxed_order",
            ["60", "relaxed_order", "relaxed_order"],
        ),
        (
            "SET LOCAL hnsw.ef_search = 90",
            ["90", "strict_order", "relaxed_order"],
        ),
    ] {
        let told = async |client: &mut ziggurat_postgres::driver::Client, is_acting| {
            let begun = format!("BEGIN; {before}; {}", settings(60, is_acting));
            client.ask(&begun).await.expect("set");
            let rows = client.ask(asked).await.expect("settings");
            let values = [0, 1, 2].map(|at| rows[0].text(at).expect("a text").to_owned());
            client.ask("ROLLBACK").await.expect("the end");
            values
        };
        assert_eq!(told(client, true).await, expected, "{before}");
        assert_eq!(told(client, false).await, expected, "{before}");
    }
}

#[tokio::test]
async fn errors_of_postgresql_are_returned_and_the_connection_stays_usable() {
    let setup = Setup::as_described(PLACES, |settings| settings.max_connections = 1).await;
    let nearest = setup.nearest("my place", &[("spot", 1.0)], &["na;me"]);
    let error = nearest.find(&[1.0, 2.0, 3.0], &setup.pool).await;
    let error = error.expect_err("three dimensions");
    let QueryError::Failed { report, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(
        report.message.contains("different vector dimensions"),
        "{report}"
    );
    let rows = nearest.find(&[1.0, 2.0], &setup.pool).await.expect("rows");
    assert_eq!(rows.len(), 3);
}

#[tokio::test]
async fn nothing_is_written_and_a_slow_search_ends_in_time() {
    let sql = "CREATE EXTENSION IF NOT EXISTS vector; CREATE SEQUENCE seen;
        CREATE TABLE page (id int, body text, emb vector(1));
        INSERT INTO page VALUES (1, 'a', '[1]');
        CREATE VIEW writer AS SELECT nextval('seen') AS id, body, emb FROM page;
        CREATE VIEW slow AS SELECT id, body, emb FROM page WHERE pg_sleep(3600) IS NOT NULL";
    let setup = Setup::as_described(sql, |settings| {
        settings.query_timeout = Duration::from_millis(200);
        settings.allow_writes = true;
    })
    .await;
    let vectors = [("emb", 1.0)];
    let writer = setup.nearest("writer", &vectors, &["body"]);
    let slow = setup.nearest("slow", &vectors, &["body"]);
    for (nearest, expected) in [(writer, "25006"), (slow, "57014")] {
        let error = nearest.find(&[1.0], &setup.pool).await;
        match error.expect_err(expected) {
            QueryError::Failed { report, .. } => assert_eq!(report.sqlstate, expected),
            error => panic!("{error:?}"),
        }
    }
}

#[tokio::test]
async fn a_connection_that_died_while_it_was_idle_is_replaced() {
    let mut setup = Setup::with(PLACES).await;
    let nearest = setup.nearest("my place", &[("spot", 1.0)], &["na;me"]);
    nearest.find(&[1.0, 2.0], &setup.pool).await.expect("rows");
    setup
        .fixture
        .given(
            "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
    let nearest = setup.nearest("my place", &[("spot", 1.0)], &["na;me"]);
    let rows = nearest.find(&[1.0, 2.0], &setup.pool).await.expect("rows");
    assert_eq!(rows.len(), 3);
}

#[tokio::test]
async fn an_extension_that_is_not_on_the_search_path_is_found() {
    let setup = Setup::with(
        "CREATE SCHEMA \"my ext\"; DROP EXTENSION IF EXISTS vector; CREATE EXTENSION vector SCHEMA \"my ext\";
         CREATE TABLE page (id int, body text, emb \"my ext\".vector(2));
         INSERT INTO page VALUES (1, 'a', '[1,0]'), (2, 'b', '[0,1]')",
    )
    .await;
    let nearest = setup.nearest("page", &[("emb", 1.0)], &["body"]);
    let rows = nearest.find(&[0.1, 1.0], &setup.pool).await.expect("rows");
    assert_eq!(ids(&rows), ["2", "1"]);
}

#[tokio::test]
async fn a_dropped_search_is_cancelled() {
    let sql = "CREATE EXTENSION IF NOT EXISTS vector;
        CREATE TABLE page (id int, body text, emb vector(1));
        INSERT INTO page VALUES (1, 'a', '[1]');
        CREATE VIEW slow AS SELECT id, body, emb FROM page WHERE pg_sleep(3600) IS NOT NULL";
    let mut setup = Setup::as_described(sql, |settings| {
        settings.query_timeout = Duration::ZERO;
        settings.max_connections = 1;
    })
    .await;
    let running = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND state = 'active' AND pid <> pg_backend_pid()";
    {
        let nearest = setup.nearest("slow", &[("emb", 1.0)], &["body"]);
        let search = nearest.find(&[1.0], &setup.pool);
        let mut search = pin!(search);
        let watch = async {
            let mut watcher = setup.fixture.connect().await;
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
            _ = &mut search => panic!("it should take an hour"),
            () = watch => {}
        }
    }
    // There is one connection, so this lease waits for the end of the search.
    drop(setup.pool.lease().await.expect("a connection"));
    assert_eq!(setup.fixture.count(running).await, 0);
}

#[test]
fn a_search_can_be_sent_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let _ = |nearest: &Nearest<'_>, pool: &Pool| is_send(&nearest.find(&[], pool));
}

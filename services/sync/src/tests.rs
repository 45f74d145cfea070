//! Queues and workers against a PostgreSQL.

mod claims;
mod faults;
mod installing;

use std::time::Duration;

use tokio::{sync::watch, time};
use ziggurat_fake_providers::{Api, Fake};
use ziggurat_llm::{Access, Embedder, Http, Provider, Retry, client};
use ziggurat_postgres::{fixture::Fixture, pool::Pool};

use crate::{Status, SyncedTable, TableSync, Worker, WorkerSettings};

/// Time for a worker to do what a test waits for.
const PATIENCE: Duration = Duration::from_mins(2);

/// A table with triggers, and the parts of a worker.
struct Setup {
    fixture: Fixture,
    pool: Pool,
    embedder: Embedder,
}

impl Setup {
    /// Makes a table without triggers.
    async fn bare() -> Self {
        let mut fixture = Fixture::new().await;
        fixture
            .given(
                "CREATE EXTENSION IF NOT EXISTS vector; CREATE TABLE documents (
                     id bigint PRIMARY KEY, content text, other int, embedding vector(256))",
            )
            .await;
        Self {
            pool: fixture.pool(|settings| settings.max_connections = 4),
            fixture,
            embedder: Embedder::local(),
        }
    }

    async fn new() -> Self {
        let setup = Self::bare().await;
        setup.sync().install().await.expect("installed");
        setup
    }

    /// Uses a fake provider with vectors of eight numbers.
    async fn with_provider(fake: &Fake) -> Self {
        let mut setup = Self::new().await;
        setup
            .given("ALTER TABLE documents ALTER embedding TYPE vector(8)")
            .await;
        let access = Access {
            base_url: Some(fake.url(Api::OpenAi)),
            key: Some("wq8JkLmN2pRs7TuV".into()),
            retry: Retry::never(),
            ..Access::default()
        };
        let http = Http::new(&client().expect("a client"), Provider::OpenAi, &access);
        setup.embedder = Embedder::new(http.expect("an address"), None).expect("it embeds");
        setup
    }

    fn sync(&self) -> TableSync {
        let table = SyncedTable {
            table: "documents".to_owned(),
            id: "id".to_owned(),
            text: "content".to_owned(),
            vector: "embedding".to_owned(),
        };
        TableSync::new(self.pool.clone(), table)
    }

    fn worker(&self) -> Worker {
        let settings = WorkerSettings {
            poll_interval: Duration::from_millis(50),
            ..WorkerSettings::default()
        };
        Worker::new(self.sync(), self.embedder.clone(), settings)
    }

    async fn given(&mut self, sql: &str) {
        self.fixture.given(sql).await;
    }

    async fn status(&self) -> Status {
        self.sync().status().await.expect("figures")
    }

    /// Runs a worker until the figures are as they should be.
    async fn work_until(&self, is_done: impl Fn(Status) -> bool) -> Status {
        let worker = self.worker();
        let (stop, stopped) = watch::channel(false);
        let watching = async {
            let mut status = self.status().await;
            while !is_done(status) {
                time::sleep(Duration::from_millis(10)).await;
                status = self.status().await;
            }
            stop.send(true).expect("a worker");
            status
        };
        let working = async { tokio::join!(watching, worker.run(stopped)).0 };
        time::timeout(PATIENCE, working)
            .await
            .expect("done in time")
    }

    /// Runs a worker until the queue is empty.
    async fn work(&self) {
        self.work_until(|status| status.backlog == 0).await;
    }

    /// Returns one text for each row of a query.
    async fn rows(&mut self, sql: &'static str) -> Vec<String> {
        sqlx::query_scalar(sql)
            .fetch_all(&mut self.fixture.outside)
            .await
            .expect(sql)
    }

    /// Checks that the rows have these texts, and the vectors of the local model of them.
    async fn expect(&mut self, texts: &[&str]) {
        let found = self
            .rows("SELECT content || '|' || embedding::text FROM documents ORDER BY id")
            .await;
        let mut expected = Vec::new();
        for text in texts {
            let embedding = Embedder::local().embed(text).await.expect("a vector");
            expected.push((*text, embedding.vector));
        }
        let found = found.iter().map(|row| {
            let (text, vector) = row.split_once('|').expect("two columns");
            let numbers = vector.trim_matches(['[', ']']).split(',');
            let numbers = numbers.map(|number| number.parse::<f32>().expect("a number"));
            (text, numbers.collect::<Vec<_>>())
        });
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn inserted_changed_and_deleted_rows_have_the_vectors_of_their_texts() {
    let mut setup = Setup::new().await;
    setup
        .given("INSERT INTO documents (id, content) VALUES (1, 'loam'), (2, 'fern'), (3, 'mud')")
        .await;
    assert_eq!(setup.status().await.backlog, 3);
    setup.work().await;
    setup.expect(&["loam", "fern", "mud"]).await;

    // Changes of one row are one row of the queue.
    setup
        .given(
            "UPDATE documents SET content = 'sand' WHERE id = 1;
             UPDATE documents SET content = 'silt' WHERE id = 1;
             UPDATE documents SET other = 1;
             UPDATE documents SET id = 4 WHERE id = 2;
             DELETE FROM documents WHERE id = 3",
        )
        .await;
    assert_eq!(setup.status().await.backlog, 2);
    setup.work().await;
    setup.expect(&["silt", "fern"]).await;
}

#[tokio::test]
async fn a_blank_text_has_no_vector() {
    let mut setup = Setup::new().await;
    setup
        .given("INSERT INTO documents (id, content) VALUES (1, 'loam'), (2, 'fern')")
        .await;
    setup.work().await;
    setup
        .given(
            "UPDATE documents SET content = ' ' WHERE id = 1;
             UPDATE documents SET content = NULL WHERE id = 2",
        )
        .await;
    setup.work().await;
    let without = "SELECT id::text FROM documents WHERE embedding IS NULL ORDER BY id";
    assert_eq!(setup.rows(without).await, ["1", "2"]);
}

#[tokio::test]
async fn a_running_worker_hears_of_changes() {
    let mut setup = Setup::new().await;
    let settings = WorkerSettings {
        // Longer than the test waits.
        poll_interval: Duration::from_hours(1),
        ..WorkerSettings::default()
    };
    let worker = Worker::new(setup.sync(), Embedder::local(), settings);
    let watched = worker.watched();
    let (stop, stopped) = watch::channel(false);
    let changing = async {
        while watched.latest().is_none() {
            time::sleep(Duration::from_millis(5)).await;
        }
        for (id, text) in [(1, "loam"), (2, "fern")] {
            setup
                .given(&format!(
                    "INSERT INTO documents (id, content) VALUES ({id}, '{text}')"
                ))
                .await;
            while setup.status().await.backlog > 0 {
                time::sleep(Duration::from_millis(5)).await;
            }
        }
        stop.send(true).expect("a worker");
    };
    let working = async { tokio::join!(changing, worker.run(stopped)) };
    time::timeout(PATIENCE, working)
        .await
        .expect("done in time");
    setup.expect(&["loam", "fern"]).await;
}

#[tokio::test]
async fn rows_from_before_the_triggers_are_filled_in() {
    let mut setup = Setup::bare().await;
    setup
        .given(
            "INSERT INTO documents (id, content)
                 SELECT n, 'text ' || n FROM generate_series(1, 5000) n;
             INSERT INTO documents (id, content) VALUES (0, ' ')",
        )
        .await;
    setup.sync().install().await.expect("installed");
    let worker = setup.worker();
    let mut seen = Vec::new();
    let progress = crate::Backfill::new(&worker, false)
        .run(|progress| seen.push(progress))
        .await
        .expect("filled in");
    assert_eq!((progress.all, progress.done), (5000, 5000));
    assert!(seen.is_sorted_by_key(|progress| progress.done), "{seen:?}");
    let without = "SELECT id::text FROM documents WHERE embedding IS NULL";
    assert_eq!(setup.rows(without).await, ["0"]);

    let again = crate::Backfill::new(&worker, true)
        .run(|_| {})
        .await
        .expect("filled in");
    assert_eq!(again.all, 5000);
}

//! Runs against a PostgreSQL.

mod sources;

use std::{fs, path::PathBuf, sync::Mutex};

use tempfile::TempDir;
use ziggurat_fake_providers::{Api, Fake, Turn};
use ziggurat_llm::{Access, Embedder, Http, Provider, Retry, client};
use ziggurat_postgres::{fixture::Fixture, pool::Pool};

use crate::{Columns, Event, Ingest, IngestError, Input, Outcome, Settings, TableName};

/// A folder of documents, and a database for them.
struct Setup {
    folder: TempDir,
    fixture: Fixture,
    pool: Pool,
    embedder: Embedder,
    log: Mutex<Vec<String>>,
}

impl Setup {
    async fn with(documents: &[(&str, &str)]) -> Self {
        let fixture = Fixture::new().await;
        let pool = fixture.pool(|settings| settings.max_connections = 8);
        let setup = Self {
            folder: tempfile::tempdir().expect("a folder"),
            fixture,
            pool,
            embedder: Embedder::local(),
            log: Mutex::default(),
        };
        for (name, text) in documents {
            setup.write(name, text);
        }
        setup
    }

    /// Returns the path of the folder without links.
    fn docs(&self) -> PathBuf {
        let home = self.folder.path().canonicalize();
        home.expect("a folder").join("docs")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join("docs").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.folder.path().join("docs").join(name)).expect("removed");
    }

    fn paths(&self) -> Input {
        Input::paths(&[self.folder.path().join("docs")]).expect("a folder")
    }

    async fn run_with(
        &self,
        input: Input,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Outcome, IngestError> {
        let mut settings = Settings::new(TableName {
            table: "documents".to_owned(),
            columns: Columns::default(),
        });
        change(&mut settings);
        let ingest = Ingest::new(&self.embedder, &self.pool, settings);
        let log = |event: Event<'_>| {
            let mut log = self.log.lock().expect("whole");
            log.push(format!("{event:?}"));
        };
        ingest.run(input, log).await
    }

    async fn run(&self) -> Outcome {
        self.run_with(self.paths(), |_| {}).await.expect("loaded")
    }

    fn log(&self) -> String {
        self.log.lock().expect("whole").join("\n")
    }

    /// Returns one text for each row of a query.
    async fn rows(&mut self, sql: &'static str) -> Vec<String> {
        sqlx::query_scalar(sql)
            .fetch_all(&mut self.fixture.outside)
            .await
            .expect(sql)
    }

    /// Returns the ids and texts of all passages.
    async fn passages(&mut self) -> Vec<String> {
        self.rows("SELECT id || ' = ' || content FROM documents ORDER BY id")
            .await
    }
}

/// Returns the numbers of documents: written, kept, removed, skipped.
fn documents(outcome: Outcome) -> [usize; 4] {
    [
        outcome.written,
        outcome.kept,
        outcome.removed,
        outcome.skipped,
    ]
}

#[tokio::test]
async fn documents_of_every_format_become_rows_of_a_new_table() {
    let lines = "{\"id\": \"x1\", \"text\": \"silk\", \"title\": \"Cloth\", \"url\": \"https://e.x/1\", \
                 \"metadata\": {\"lang\": \"en\\u0000\"}}\n";
    let mut setup = Setup::with(&[
        (
            "a.md",
            "---\ntags: [x]\nurl: /beds\n---\n# Beds\n\n## Soil\n\nloam\n",
        ),
        ("deep/b.html", "<title>Ponds</title><p>mud</p>"),
        ("c.txt", "plain"),
        ("d.rst", "Kilns\n=====\n\nheat"),
        ("e.adoc", "= Looms\n\nyarn"),
        ("f.jsonl", lines),
        ("g.png", "no text"),
        ("empty.md", "\n"),
    ])
    .await;
    let outcome = setup.run().await;
    assert_eq!(documents(outcome), [6, 0, 0, 0], "{}", setup.log());
    assert_eq!((outcome.passages, outcome.embedded), (6, 6));
    assert_eq!(
        setup.passages().await,
        [
            "docs/a.md#1 = Soil\n\nloam",
            "docs/c.txt#1 = plain",
            "docs/d.rst#1 = heat",
            "docs/deep/b.html#1 = mud",
            "docs/e.adoc#1 = yarn",
            "x1#1 = silk",
        ]
    );
    let facts = "SELECT concat_ws('|', document_id, title, url, metadata, vector_dims(embedding))
                 FROM documents WHERE document_id IN ('docs/a.md', 'x1') ORDER BY 1";
    let docs = setup.docs();
    let docs = docs.display();
    assert_eq!(
        setup.rows(facts).await,
        [
            format!(
                r#"docs/a.md|Beds|/beds|{{"url": "/beds", "tags": ["x"], "_source": "{docs}", "_passage": 1}}|256"#
            ),
            format!(
                r#"x1|Cloth|https://e.x/1|{{"lang": "en", "_source": "{docs}//f.jsonl", "_passage": 1}}|256"#
            ),
        ]
    );
    let indexes = "SELECT amname FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
        JOIN pg_am a ON a.oid = relam WHERE indrelid = 'documents'::regclass ORDER BY 1";
    let indexes = setup.rows(indexes).await;
    assert_eq!(indexes, ["btree", "btree", "gin", "gin", "hnsw"]);
    let log = setup.log();
    for told in [
        "LeftOut { name: \"docs/g.png\", reason: \"no format that is read\" }",
        "LeftOut { name: \"docs/empty.md\", reason: \"it has no text\" }",
        "Created { table: \"documents\" }",
    ] {
        assert!(log.contains(told), "{told} in {log}");
    }
}

#[tokio::test]
async fn a_new_table_is_counted_and_has_an_index_over_titles_and_texts() {
    let mut setup = Setup::with(&[("a.md", "# Beds\n\nloam"), ("b.md", "mud")]).await;
    setup.run().await;
    let words = "SELECT (pg_get_expr(indexprs, indrelid) LIKE '%title%content%')::text
        FROM pg_index WHERE indrelid = 'documents'::regclass AND indexprs IS NOT NULL";
    let counted = "SELECT reltuples::text FROM pg_class WHERE oid = 'documents'::regclass";
    assert_eq!(setup.rows(words).await, ["true"]);
    assert_eq!(setup.rows(counted).await, ["2"]);
}

#[tokio::test]
async fn a_second_run_embeds_nothing_and_changes_are_followed() {
    let lines = |text: &str| {
        format!("{{\"id\": 1, \"text\": \"{text}\"}}\n{{\"id\": 2, \"text\": \"b\"}}\n")
    };
    let mut setup =
        Setup::with(&[("a.md", "one"), ("b.md", "two"), ("c.jsonl", &lines("a"))]).await;
    assert_eq!(documents(setup.run().await), [4, 0, 0, 0]);
    let state = "SELECT documents::text FROM documents ORDER BY id";
    let before = setup.rows(state).await;
    let again = setup.run().await;
    assert_eq!((documents(again), again.embedded), ([0, 4, 0, 0], 0));
    assert_eq!(setup.rows(state).await, before);

    setup.write("a.md", "one more");
    setup.write("c.jsonl", &lines("changed").replace("2,", "3,"));
    setup.remove("b.md");
    let changed = setup.run().await;
    assert_eq!((documents(changed), changed.embedded), ([3, 0, 2, 0], 3));
    let texts = setup.passages().await;
    assert_eq!(
        texts,
        ["1#1 = changed", "3#1 = b", "docs/a.md#1 = one more"]
    );
    let kept_time = "SELECT (created_at < updated_at)::text FROM documents
        WHERE document_id = 'docs/a.md'";
    assert_eq!(setup.rows(kept_time).await, ["true"]);

    // Other settings make other passages.
    let other =
        |settings: &mut Settings| settings.splitter = ziggurat_documents::Splitter::new(50, 5);
    let outcome = setup.run_with(setup.paths(), other).await.expect("loaded");
    assert_eq!(documents(outcome), [3, 0, 0, 0]);
}

#[tokio::test]
async fn what_cannot_be_read_is_named_and_its_rows_stay() {
    let mut setup = Setup::with(&[
        ("a.md", "one"),
        ("b.md", "two"),
        (
            "c.jsonl",
            "{\"id\": 1, \"text\": \"a\"}\n{\"id\": 2, \"text\": \"b\"}\n",
        ),
    ])
    .await;
    setup.run().await;
    fs::write(setup.folder.path().join("docs/b.md"), b"\xff\xfe").expect("written");
    setup.write(
        "c.jsonl",
        "{\"id\": 1, \"text\": \"new\"}\n{\"id\": 2, \"text\n{\"id\": 1, \"text\": \"\"}",
    );
    let outcome = setup.run().await;
    assert_eq!(documents(outcome), [1, 1, 0, 3], "{}", setup.log());
    assert_eq!(
        setup.passages().await,
        [
            "1#1 = new",
            "2#1 = b",
            "docs/a.md#1 = one",
            "docs/b.md#1 = two"
        ]
    );
    let log = setup.log();
    for told in [
        "docs/b.md",
        "docs/c.jsonl, line 2",
        "another document has the same id",
    ] {
        assert!(log.contains(told), "{told} in {log}");
    }
}

#[tokio::test]
async fn only_documents_of_the_sources_of_a_run_are_deleted() {
    let mut setup = Setup::with(&[("a.md", "one"), ("b.md", "two")]).await;
    setup.run().await;
    let lines = |text: &'static str| Input::lines(text.as_bytes());
    let text = "{\"id\": \"x\", \"text\": \"x\"}\n{\"id\": \"y\", \"text\": \"y\"}\n";
    setup.run_with(lines(text), |_| {}).await.expect("loaded");
    assert_eq!(setup.passages().await.len(), 4);
    setup.remove("b.md");
    let text = "{\"id\": \"y\", \"text\": \"y\"}\n";
    let keep = |settings: &mut Settings| settings.keep_missing = true;
    let outcome = setup.run_with(lines(text), keep).await.expect("loaded");
    assert_eq!(documents(outcome), [0, 1, 0, 0]);
    let outcome = setup.run_with(lines(text), |_| {}).await.expect("loaded");
    assert_eq!(documents(outcome), [0, 1, 1, 0]);
    let texts = setup.passages().await;
    assert_eq!(texts, ["docs/a.md#1 = one", "docs/b.md#1 = two", "y#1 = y"]);
}

#[tokio::test]
async fn a_trial_run_changes_nothing() {
    let mut setup = Setup::with(&[("a.md", "one")]).await;
    let dry = |settings: &mut Settings| settings.dry_run = true;
    let outcome = setup.run_with(setup.paths(), dry).await.expect("told");
    assert_eq!((documents(outcome), outcome.embedded), ([1, 0, 0, 0], 0));
    let tables = "SELECT to_regclass('documents')::text";
    let found: Vec<Option<String>> = sqlx::query_scalar(tables)
        .fetch_all(&mut setup.fixture.outside)
        .await
        .expect("asked");
    assert_eq!(found, [None]);
    setup.run().await;
    setup.remove("a.md");
    setup.write("b.md", "two");
    let outcome = setup.run_with(setup.paths(), dry).await.expect("told");
    assert_eq!((documents(outcome), outcome.embedded), ([1, 0, 1, 0], 0));
    assert_eq!(setup.passages().await, ["docs/a.md#1 = one"]);
}

#[tokio::test]
async fn a_table_that_may_not_be_created_is_described() {
    let setup = Setup::with(&[("a.md", "one")]).await;
    let never = |settings: &mut Settings| settings.create = Some(false);
    let error = setup
        .run_with(setup.paths(), never)
        .await
        .expect_err("none");
    let IngestError::NoTable { statements, .. } = error else {
        panic!("{error}");
    };
    assert!(
        statements[0].starts_with("CREATE TABLE documents ("),
        "{statements:?}"
    );
    assert!(statements[0].contains("vector(256)"), "{statements:?}");
    let empty = tempfile::tempdir().expect("a folder");
    let input = Input::paths(&[empty.path().to_owned()]).expect("a folder");
    let error = setup.run_with(input, |_| {}).await.expect_err("nothing");
    assert!(matches!(error, IngestError::NoDocuments), "{error}");
}

/// Returns settings for a table with names of its own.
fn own_table(settings: &mut Settings) {
    settings.table = TableName {
        table: "shop.manual".to_owned(),
        columns: Columns {
            id: "number".to_owned(),
            document_id: "doc".to_owned(),
            title: Some("heading".to_owned()),
            content: "body".to_owned(),
            metadata: "meta".to_owned(),
            embedding: "vec".to_owned(),
            checksum: "digest".to_owned(),
            ..Columns::default()
        },
    };
}

#[tokio::test]
async fn an_existing_table_is_used_by_the_names_of_its_columns() {
    let mut setup = Setup::with(&[("a.md", "# Beds\n\nloam"), ("b.md", "two")]).await;
    setup
        .fixture
        .given(
            "CREATE SCHEMA shop;
             CREATE TABLE shop.manual (number bigint GENERATED ALWAYS AS IDENTITY, doc text,
                 body text, vec halfvec(256), meta json, digest text, heading text, stays text);
             INSERT INTO shop.manual (doc, body, stays) VALUES ('other', 'by hand', 'x')",
        )
        .await;
    for expected in [[2, 0, 0, 0], [0, 2, 0, 0]] {
        let loaded = setup.run_with(setup.paths(), own_table).await;
        assert_eq!(documents(loaded.expect("loaded")), expected);
    }
    let rows =
        "SELECT concat_ws('|', doc, heading, body, vec IS NULL) FROM shop.manual ORDER BY doc";
    assert_eq!(
        setup.rows(rows).await,
        [
            "docs/a.md|Beds|loam|f",
            "docs/b.md|b|two|f",
            "other|by hand|t"
        ]
    );
}

#[tokio::test]
async fn a_table_that_does_not_fit_is_refused_with_what_to_do() {
    let mut setup = Setup::with(&[("a.md", "one")]).await;
    for (sql, problem) in [
        (
            "CREATE SCHEMA shop; CREATE TABLE shop.manual (number int, doc text, body text,
                 vec vector(3), meta jsonb)",
            "columns are missing: name others in pipelines[].ingest.columns, or run: ALTER TABLE \
             shop.manual ADD COLUMN \"heading\" text, ADD COLUMN \"digest\" text",
        ),
        (
            "ALTER TABLE shop.manual ADD digest text, ADD heading text",
            "column vec has 3 dimensions, and the vectors of the model have 256",
        ),
        (
            "ALTER TABLE shop.manual ALTER meta TYPE text",
            "column meta has type text and not jsonb",
        ),
        (
            "ALTER TABLE shop.manual ALTER vec TYPE text",
            "column vec has type text and not vector or halfvec",
        ),
    ] {
        setup.fixture.given(sql).await;
        let refused = setup.run_with(setup.paths(), own_table).await;
        let expected = format!("table shop.manual: {problem}");
        assert_eq!(refused.expect_err("refused").to_string(), expected);
    }
}

#[tokio::test]
async fn a_run_waits_for_another_one() {
    let setup = Setup::with(&[("a.md", "one")]).await;
    let (one, other) = tokio::join!(setup.run(), setup.run());
    let written = one.written + other.written;
    assert_eq!((written, one.kept + other.kept), (1, 1));
}

#[tokio::test]
async fn documents_share_requests_and_one_that_the_provider_refuses_is_named() {
    let fake = Fake::start();
    let access = Access {
        base_url: Some(fake.url(Api::OpenAi)),
        key: Some("wq8JkLmN2pRs7TuV".into()),
        retry: Retry::never(),
        ..Access::default()
    };
    let http = Http::new(&client().expect("a client"), Provider::OpenAi, &access);
    let mut setup = Setup::with(&[("a.md", "one")]).await;
    setup.embedder = Embedder::new(http.expect("an address"), None).expect("it embeds");
    setup.run().await;
    for name in ["b.md", "c.md", "d.md"] {
        setup.write(name, name);
    }
    let before = fake.requests().len();
    // The request, its halves down to one text, and the first document alone.
    for _ in 0..4 {
        fake.next_of(Api::OpenAi, Turn::refusal(400));
    }
    let outcome = setup.run().await;
    assert_eq!(documents(outcome), [2, 1, 0, 1], "{}", setup.log());
    let requests = fake.requests().split_off(before);
    let sizes = requests.iter().map(|seen| {
        let input = seen.json()["input"].as_array().map(Vec::len);
        input.expect("a list")
    });
    assert_eq!(sizes.collect::<Vec<_>>(), [3, 2, 1, 1, 1, 1]);
    assert!(
        setup.log().contains("Skipped { name: \"docs/b.md\""),
        "{}",
        setup.log()
    );
    assert_eq!(documents(setup.run().await), [1, 3, 0, 0]);

    fake.always_of(Api::OpenAi, Turn::refusal(503));
    setup.write("a.md", "changed");
    let error = setup
        .run_with(setup.paths(), |_| {})
        .await
        .expect_err("no vectors");
    assert!(
        error.to_string().starts_with("docs/a.md: no vectors: "),
        "{error}"
    );
    assert_eq!(setup.passages().await.len(), 4);
}

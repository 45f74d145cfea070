//! Knowledge bases for tests, made the way others make them.

use std::path::PathBuf;

use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

use super::{KnowledgeBase, Provider, schema, vector};

/// A file in a folder of its own.
pub(crate) struct Library {
    folder: TempDir,
}

/// A chunk of a product.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'a> {
    pub(crate) product: (&'a str, &'a str),
    pub(crate) place: (Option<&'a str>, Option<&'a str>),
    pub(crate) text: &'a str,
    pub(crate) vector: &'a [f32],
}

// === impl Library ===

impl Library {
    /// An empty folder.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder }
    }

    /// A file with these chunks, all with vectors of `OpenAI`.
    pub(crate) async fn with(chunks: &[Chunk<'_>]) -> Self {
        let library = Self::empty();
        library.run(schema::CREATE).await;
        library.add(chunks).await;
        library
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("docs.db")
    }

    pub(crate) fn base(&self, provider: Provider) -> KnowledgeBase {
        KnowledgeBase::new(self.path(), provider).with_model("model")
    }

    pub(crate) async fn run(&self, sql: &'static str) {
        let mut connection = self.connect().await;
        sqlx::raw_sql(sql)
            .execute(&mut connection)
            .await
            .expect("SQL of a test");
        connection.close().await.expect("closed");
    }

    pub(crate) async fn add(&self, chunks: &[Chunk<'_>]) {
        let mut connection = self.connect().await;
        let mut transaction = connection.begin().await.expect("a transaction");
        for chunk in chunks {
            sqlx::query(Provider::OpenAi.statements().insert)
                .bind(chunk.product.0)
                .bind(chunk.product.1)
                .bind("0")
                .bind("file")
                .bind(chunk.place.0)
                .bind(chunk.place.1)
                .bind(chunk.text)
                .bind(vector::bytes(chunk.vector))
                .execute(&mut *transaction)
                .await
                .expect("inserted");
        }
        transaction.commit().await.expect("committed");
        connection.close().await.expect("closed");
    }

    pub(crate) async fn connect(&self) -> SqliteConnection {
        SqliteConnectOptions::new()
            .filename(self.path())
            .create_if_missing(true)
            .connect()
            .await
            .expect("a database")
    }
}

// === impl Chunk ===

impl<'a> Chunk<'a> {
    pub(crate) fn new(
        (name, version): (&'a str, &'a str),
        text: &'a str,
        vector: &'a [f32],
    ) -> Self {
        Self {
            product: (name, version),
            place: (None, None),
            text,
            vector,
        }
    }
}

//! Knowledge bases for tests, written with plain SQL.

#![expect(
    clippy::missing_panics_doc,
    reason = "a test ends when its database fails"
)]

use std::path::PathBuf;

use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

use super::{KnowledgeBase, Provider, schema, vector};

/// A file in a temporary folder.
#[derive(Debug)]
pub struct KnowledgeFile {
    folder: TempDir,
}

/// A chunk of a product.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Its product: name and version.
    pub product: (&'a str, &'a str),
    /// Its title and section.
    pub place: (Option<&'a str>, Option<&'a str>),
    /// Its text.
    pub text: &'a str,
    /// Its embedding.
    pub vector: &'a [f32],
}

// === impl KnowledgeFile ===

impl KnowledgeFile {
    /// Makes an empty folder.
    #[must_use]
    pub fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder }
    }

    /// Makes a file of these chunks, all with vectors of `OpenAI`.
    pub async fn with(chunks: &[Chunk<'_>]) -> Self {
        let library = Self::empty();
        library.run(schema::CREATE).await;
        library.add(chunks).await;
        library
    }

    #[must_use]
    /// Returns the path of the file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("docs.db")
    }

    #[must_use]
    /// Opens the file for a provider of embeddings.
    pub fn base(&self, provider: Provider) -> KnowledgeBase {
        KnowledgeBase::new(self.path(), provider).with_model("model")
    }

    /// Runs SQL on the file.
    pub async fn run(&self, sql: &'static str) {
        let mut connection = self.connect().await;
        sqlx::raw_sql(sql)
            .execute(&mut connection)
            .await
            .expect("SQL of a test");
        connection.close().await.expect("closed");
    }

    /// Adds chunks.
    pub async fn add(&self, chunks: &[Chunk<'_>]) {
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

    /// Connects to the file.
    pub async fn connect(&self) -> SqliteConnection {
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
    #[must_use]
    /// Makes a chunk without title and section.
    pub fn new((name, version): (&'a str, &'a str), text: &'a str, vector: &'a [f32]) -> Self {
        Self {
            product: (name, version),
            place: (None, None),
            text,
            vector,
        }
    }
}

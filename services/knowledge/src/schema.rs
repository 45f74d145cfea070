//! The tables of a knowledge base.

use sqlx::{Row as _, SqliteConnection};

use crate::{Error, column::Provider};

/// Name of the index over the words of the chunks.
const WORDS: &str = "chunk_words";

/// The documented tables, one more with the model of the vectors, and an index over the words.
///
/// Triggers keep the index in step. A file of an earlier version has no index, and a program that
/// does not know it may have removed the triggers, so it is rebuilt if it has another number of
/// chunks.
pub(super) const CREATE: &str = "
    CREATE TABLE IF NOT EXISTS chunks (
      id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL, title TEXT, section TEXT,
      project_name TEXT NOT NULL, project_version TEXT NOT NULL, file_path TEXT,
      source_file_checksum TEXT,
      openai_embedding BLOB, voyage_embedding BLOB, ollama_embedding BLOB,
      created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
    CREATE TABLE IF NOT EXISTS source_files (
      checksum TEXT NOT NULL, file_path TEXT NOT NULL, project_name TEXT NOT NULL,
      project_version TEXT NOT NULL, doc_type TEXT, num_chunks INTEGER DEFAULT 0,
      processed_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
      PRIMARY KEY (checksum, project_name, project_version));
    CREATE INDEX IF NOT EXISTS idx_project ON chunks(project_name, project_version);
    CREATE INDEX IF NOT EXISTS idx_source ON chunks(source_file_checksum);
    CREATE TABLE IF NOT EXISTS embedding_models (
      provider TEXT PRIMARY KEY, model TEXT NOT NULL);
    CREATE VIRTUAL TABLE IF NOT EXISTS chunk_words USING fts5(
      title, section, text, content='chunks', content_rowid='id',
      tokenize='porter unicode61 remove_diacritics 2');
    CREATE TRIGGER IF NOT EXISTS chunk_words_insert AFTER INSERT ON chunks BEGIN
      INSERT INTO chunk_words(rowid, title, section, text)
        VALUES (new.id, new.title, new.section, new.text);
    END;
    CREATE TRIGGER IF NOT EXISTS chunk_words_delete AFTER DELETE ON chunks BEGIN
      INSERT INTO chunk_words(chunk_words, rowid, title, section, text)
        VALUES ('delete', old.id, old.title, old.section, old.text);
    END;
    CREATE TRIGGER IF NOT EXISTS chunk_words_update AFTER UPDATE OF title, section, text ON chunks
    BEGIN
      INSERT INTO chunk_words(chunk_words, rowid, title, section, text)
        VALUES ('delete', old.id, old.title, old.section, old.text);
      INSERT INTO chunk_words(rowid, title, section, text)
        VALUES (new.id, new.title, new.section, new.text);
    END;
    INSERT INTO chunk_words(chunk_words) SELECT 'rebuild' WHERE
      (SELECT count(*) FROM chunk_words_docsize) <> (SELECT count(*) FROM chunks);
";

/// Finds chunks by their words: the best first, each with a score. A title counts most.
///
/// Parameters: the words, the names and versions of products as JSON or NULL for all, the limit.
pub(super) const BY_WORDS: &str = "
    SELECT chunks.id, -bm25(chunk_words, 4.0, 2.0, 1.0) FROM chunk_words
    JOIN chunks ON chunks.id = chunk_words.rowid
    WHERE chunk_words MATCH ?1 AND (?2 IS NULL OR (project_name, project_version) IN (
      SELECT value ->> 0, value ->> 1 FROM json_each(?2)))
    ORDER BY 2 DESC, 1 LIMIT ?3";

/// The columns of the table of chunks.
pub(super) struct Columns(Vec<String>);

// === impl Columns ===

impl Columns {
    pub(super) async fn read(connection: &mut SqliteConnection) -> Result<Self, sqlx::Error> {
        let rows = sqlx::query("SELECT name FROM pragma_table_info('chunks')")
            .fetch_all(connection)
            .await?;
        rows.iter()
            .map(|row| row.try_get(0))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Checks that it has all columns a search needs, except vectors.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.0.is_empty() {
            return Err(Error::Foreign("it has no table 'chunks'".into()));
        }
        let needed = [
            "id",
            "text",
            "title",
            "section",
            "project_name",
            "project_version",
        ];
        let missing = needed.into_iter().find(|name| !self.has(name));
        missing.map_or(Ok(()), |name| {
            let problem = format!("its table 'chunks' has no column '{name}'");
            Err(Error::Foreign(problem.into()))
        })
    }

    /// Returns whether there is a column for the vectors of a provider.
    pub(super) fn has_vectors_of(&self, provider: Provider) -> bool {
        self.has(provider.column())
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|column| column == name)
    }
}

/// Returns whether the file has an index over the words of its chunks.
pub(super) async fn has_words(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    has_table(connection, WORDS).await
}

async fn has_table(connection: &mut SqliteConnection, name: &str) -> Result<bool, sqlx::Error> {
    let table = sqlx::query("SELECT 1 FROM sqlite_master WHERE name = ?1")
        .bind(name)
        .fetch_optional(connection)
        .await?;
    Ok(table.is_some())
}

/// Reads the model of a provider's vectors, if the file names it.
pub(super) async fn model(
    connection: &mut SqliteConnection,
    provider: Provider,
) -> Result<Option<String>, sqlx::Error> {
    if !has_table(connection, "embedding_models").await? {
        return Ok(None);
    }
    let row = sqlx::query("SELECT model FROM embedding_models WHERE provider = ?1")
        .bind(provider.name())
        .fetch_optional(connection)
        .await?;
    row.map(|row| row.try_get(0)).transpose()
}

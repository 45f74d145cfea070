//! The tables of a knowledge base.

use sqlx::{Row as _, SqliteConnection};

use super::{Error, column::Provider};

/// The documented tables, and one more with the model of the vectors.
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
";

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

/// Reads the model of a provider's vectors, if the file names it.
pub(super) async fn model(
    connection: &mut SqliteConnection,
    provider: Provider,
) -> Result<Option<String>, sqlx::Error> {
    let table = sqlx::query("SELECT 1 FROM sqlite_master WHERE name = 'embedding_models'")
        .fetch_optional(&mut *connection)
        .await?;
    if table.is_none() {
        return Ok(None);
    }
    let row = sqlx::query("SELECT model FROM embedding_models WHERE provider = ?1")
        .bind(provider.name())
        .fetch_optional(connection)
        .await?;
    row.map(|row| row.try_get(0)).transpose()
}

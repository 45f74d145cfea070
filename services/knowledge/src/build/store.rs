//! Writes to the file during a build.

use std::{fs::OpenOptions, io, os::unix::fs::OpenOptionsExt as _, path::Path};

use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions,
};

use crate::{
    Error, Provider,
    build::StoredState,
    schema::{self, Columns},
    vector,
};

/// The part of a file for one product in one version, with vectors of one provider.
pub(super) struct Store<'a> {
    connection: SqliteConnection,
    provider: Provider,
    project: &'a str,
    version: &'a str,
}

/// A chunk to be written.
#[derive(Debug)]
pub(super) struct NewChunk<'a> {
    pub(super) title: Option<&'a str>,
    pub(super) section: Option<&'a str>,
    pub(super) text: &'a str,
    pub(super) vector: Vec<u8>,
}

/// A chunk without a vector.
#[derive(Debug)]
pub(super) struct MissingVector {
    id: i64,
    pub(super) title: Option<String>,
    pub(super) section: Option<String>,
    pub(super) text: String,
}

/// Creates an empty file that only its owner can read, unless there is one.
pub(super) fn create(path: &Path) -> io::Result<()> {
    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match created {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(drop),
    }
}

// === impl Store ===

impl<'a> Store<'a> {
    /// Opens a file, and adds missing tables and columns.
    pub(super) async fn open(
        path: &Path,
        provider: Provider,
        project: &'a str,
        version: &'a str,
    ) -> Result<Self, Error> {
        let options = SqliteConnectOptions::new().filename(path);
        let mut connection = options.connect().await?;
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let tables = sqlx::query("SELECT 1 FROM sqlite_master LIMIT 1")
            .fetch_optional(&mut *transaction)
            .await?;
        if tables.is_some() {
            // The tables must not be added to a database of another program.
            Columns::read(&mut transaction).await?.check()?;
        }
        sqlx::raw_sql(schema::CREATE)
            .execute(&mut *transaction)
            .await?;
        let columns = Columns::read(&mut transaction).await?;
        if !columns.has_vectors_of(provider) {
            sqlx::query(provider.statements().add)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(Self {
            connection,
            provider,
            project,
            version,
        })
    }

    /// Returns the model of the provider's vectors; sets it to this one if no model is set.
    pub(super) async fn claim(&mut self, model: &str) -> Result<String, Error> {
        sqlx::query("INSERT OR IGNORE INTO embedding_models (provider, model) VALUES (?1, ?2)")
            .bind(self.provider.name())
            .bind(model)
            .execute(&mut self.connection)
            .await?;
        let built = schema::model(&mut self.connection, self.provider).await?;
        Ok(built.unwrap_or_default())
    }

    /// Looks up a document with these contents.
    pub(super) async fn known(&mut self, checksum: &str, kind: &str) -> Result<StoredState, Error> {
        let row = sqlx::query(
            "SELECT doc_type FROM source_files WHERE checksum = ?1 AND project_name = ?2 AND \
             project_version = ?3",
        )
        .bind(checksum)
        .bind(self.project)
        .bind(self.version)
        .fetch_optional(&mut self.connection)
        .await?;
        let known: Option<String> = row.map(|row| row.try_get(0)).transpose()?.flatten();
        if known.as_deref() != Some(kind) {
            return Ok(StoredState::No);
        }
        let missing_vectors = sqlx::query(self.provider.statements().missing_vectors)
            .bind(self.project)
            .bind(self.version)
            .bind(checksum)
            .fetch_optional(&mut self.connection)
            .await?;
        Ok(missing_vectors.map_or(StoredState::Whole, |_| StoredState::MissingVector))
    }

    /// Updates the name of a document.
    pub(super) async fn moved(&mut self, checksum: &str, name: &str) -> Result<(), Error> {
        let mut transaction = self.connection.begin().await?;
        let moved = sqlx::query(
            "UPDATE source_files SET file_path = ?4 WHERE checksum = ?1 AND project_name = ?2 \
             AND project_version = ?3 AND file_path <> ?4",
        )
        .bind(checksum)
        .bind(self.project)
        .bind(self.version)
        .bind(name)
        .execute(&mut *transaction)
        .await?;
        if moved.rows_affected() > 0 {
            sqlx::query(
                "UPDATE chunks SET file_path = ?4 WHERE source_file_checksum = ?1 AND \
                 project_name = ?2 AND project_version = ?3",
            )
            .bind(checksum)
            .bind(self.project)
            .bind(self.version)
            .bind(name)
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Writes a document in one transaction; it replaces those with its name or its contents.
    pub(super) async fn replace(
        &mut self,
        (name, kind): (&str, &str),
        checksum: &str,
        chunks: &[NewChunk<'_>],
    ) -> Result<(), Error> {
        let (project, version) = (self.project, self.version);
        let insert = self.provider.statements().insert;
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        let old = sqlx::query(
            "SELECT checksum FROM source_files WHERE project_name = ?1 AND project_version = ?2 \
             AND (file_path = ?3 OR checksum = ?4)",
        )
        .bind(project)
        .bind(version)
        .bind(name)
        .bind(checksum)
        .fetch_all(&mut *transaction)
        .await?;
        for row in old {
            delete(&mut transaction, row.try_get(0)?, project, version).await?;
        }
        for chunk in chunks {
            sqlx::query(insert)
                .bind(project)
                .bind(version)
                .bind(checksum)
                .bind(name)
                .bind(chunk.title)
                .bind(chunk.section)
                .bind(chunk.text)
                .bind(&*chunk.vector)
                .execute(&mut *transaction)
                .await?;
        }
        sqlx::query(
            "INSERT INTO source_files (checksum, file_path, project_name, project_version, \
             doc_type, num_chunks) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .bind(checksum)
        .bind(name)
        .bind(project)
        .bind(version)
        .bind(kind)
        .bind(i64::try_from(chunks.len()).unwrap_or(i64::MAX))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Returns the chunks of a document that have no vector.
    pub(super) async fn missing_vectors(
        &mut self,
        checksum: &str,
    ) -> Result<Vec<MissingVector>, Error> {
        let rows = sqlx::query(self.provider.statements().missing_vectors)
            .bind(self.project)
            .bind(self.version)
            .bind(checksum)
            .fetch_all(&mut self.connection)
            .await?;
        let missing_vectors = rows.iter().map(|row| {
            Ok(MissingVector {
                id: row.try_get(0)?,
                title: row.try_get(1)?,
                section: row.try_get(2)?,
                text: row.try_get(3)?,
            })
        });
        missing_vectors.collect()
    }

    /// Adds the missing vectors of chunks in one transaction.
    pub(super) async fn fill(
        &mut self,
        chunks: &[MissingVector],
        vectors: &[Vec<f32>],
    ) -> Result<(), Error> {
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        for (chunk, vector) in chunks.iter().zip(vectors) {
            sqlx::query(self.provider.statements().fill)
                .bind(chunk.id)
                .bind(vector::bytes(vector))
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Returns the checksums and names of the documents.
    pub(super) async fn sources(&mut self) -> Result<Vec<(String, String)>, Error> {
        let rows = sqlx::query(
            "SELECT checksum, file_path FROM source_files WHERE project_name = ?1 AND \
             project_version = ?2 ORDER BY file_path",
        )
        .bind(self.project)
        .bind(self.version)
        .fetch_all(&mut self.connection)
        .await?;
        let sources = rows
            .iter()
            .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        sources.collect()
    }

    /// Removes a document and its chunks.
    pub(super) async fn remove(&mut self, checksum: &str) -> Result<(), Error> {
        let (project, version) = (self.project, self.version);
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        delete(&mut transaction, checksum, project, version).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Counts the chunks.
    pub(super) async fn chunks(&mut self) -> Result<u64, Error> {
        let row = sqlx::query(
            "SELECT count(*) FROM chunks WHERE project_name = ?1 AND project_version = ?2",
        )
        .bind(self.project)
        .bind(self.version)
        .fetch_one(&mut self.connection)
        .await?;
        let count: i64 = row.try_get(0)?;
        Ok(count.unsigned_abs())
    }

    pub(super) async fn close(self) -> Result<(), Error> {
        Ok(self.connection.close().await?)
    }
}

async fn delete(
    connection: &mut SqliteConnection,
    checksum: &str,
    project: &str,
    version: &str,
) -> Result<(), Error> {
    for statement in [
        "DELETE FROM chunks WHERE source_file_checksum = ?1 AND project_name = ?2 AND \
         project_version = ?3",
        "DELETE FROM source_files WHERE checksum = ?1 AND project_name = ?2 AND \
         project_version = ?3",
    ] {
        sqlx::query(statement)
            .bind(checksum)
            .bind(project)
            .bind(version)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

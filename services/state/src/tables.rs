//! Transactions in either database.
//!
//! Both run the same statements. In PostgreSQL every transaction adds the schema of the tables to
//! its search path.

use std::path::Path;

use sqlx::{
    ConnectOptions as _, Connection as _, Sqlite, SqlitePool, Transaction, migrate::Migrator,
};
use ziggurat_postgres::pool::Lease;

use crate::{
    FileOptions, Row, StateDatabase, StoreError, Value, prepare,
    statement::{postgres_rows, sqlite_query, sqlite_rows},
    within,
};

/// Tables in a file, or in the database that replicas share. Clones share its connections.
#[derive(Clone, Debug)]
pub enum Tables {
    /// A file, with many readers and one writer.
    Local {
        /// Connections that read.
        readers: SqlitePool,
        /// The connection that writes.
        writer: SqlitePool,
    },
    /// A database that replicas share.
    Replicated(StateDatabase),
}

/// A transaction, rolled back unless it is committed.
#[derive(Debug)]
pub enum TablesTransaction {
    /// In the file.
    Local(Transaction<'static, Sqlite>),
    /// In the database that replicas share.
    Replicated(Box<Lease>),
}

// === impl Tables ===

impl Tables {
    /// Opens a file of this name in a folder; creates both if missing. Only their owner can access
    /// them, and several processes may use them at the same time.
    ///
    /// # Errors
    /// Fails if the folder or the file cannot be used, or the file belongs to another program.
    pub async fn open(folder: &Path, name: &str, tables: &Migrator) -> Result<Self, StoreError> {
        let path = folder.join(name);
        // Held until the tables exist, because another process may be starting as well.
        let _lock = prepare(folder, &path)?;
        let options = FileOptions::new(&path);
        let mut connection = options.writing.connect().await?;
        tables.run_direct(None, &mut connection, false).await?;
        connection.close().await?;
        Ok(Self::Local {
            readers: options.readers(),
            writer: options.writer(),
        })
    }

    /// Begins a transaction that only reads.
    ///
    /// # Errors
    /// Fails if the database is unreachable, or its tables cannot be created.
    pub async fn read(&self) -> Result<TablesTransaction, StoreError> {
        match self {
            Self::Local { readers, .. } => Ok(TablesTransaction::Local(readers.begin().await?)),
            Self::Replicated(state) => {
                let begin = "BEGIN READ ONLY; SET LOCAL search_path TO ziggurat, pg_catalog";
                TablesTransaction::begin(state, begin).await
            }
        }
    }

    /// Begins a transaction that writes.
    ///
    /// # Errors
    /// Fails if the database is unreachable, or its tables cannot be created.
    pub async fn write(&self) -> Result<TablesTransaction, StoreError> {
        match self {
            // Takes the write lock at the start: waiting for it later would fail instead.
            Self::Local { writer, .. } => {
                let begun = writer.begin_with("BEGIN IMMEDIATE").await?;
                Ok(TablesTransaction::Local(begun))
            }
            Self::Replicated(state) => {
                let begin = "BEGIN; SET LOCAL search_path TO ziggurat, pg_catalog";
                TablesTransaction::begin(state, begin).await
            }
        }
    }

    /// Returns the rows of a statement that only reads.
    ///
    /// # Errors
    /// Fails if the statement fails.
    pub async fn rows<const N: usize>(
        &self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<Vec<Row>, StoreError> {
        let mut session = self.read().await?;
        let rows = session.rows(sql, values).await?;
        session.commit().await?;
        Ok(rows)
    }

    /// Returns the first row of a statement that only reads.
    ///
    /// # Errors
    /// Fails if the statement fails.
    pub async fn row<const N: usize>(
        &self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Closes the file.
    pub async fn close(&self) {
        if let Self::Local { readers, writer } = self {
            readers.close().await;
            // Closed last: SQLite merges its log into the file when the last connection closes.
            writer.close().await;
        }
    }
}

// === impl TablesTransaction ===

impl TablesTransaction {
    async fn begin(state: &StateDatabase, begin: &'static str) -> Result<Self, StoreError> {
        let mut lease = state.lease().await?;
        within(lease.begin().ask(begin)).await?;
        Ok(Self::Replicated(Box::new(lease)))
    }

    /// Returns the rows of a statement.
    ///
    /// # Errors
    /// Fails if the statement fails.
    pub async fn rows<const N: usize>(
        &mut self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Local(transaction) => {
                sqlite_rows(&mut **transaction, sqlite_query(sql, values)).await
            }
            Self::Replicated(lease) => postgres_rows(lease.begin(), sql, values).await,
        }
    }

    /// Returns the first row of a statement.
    ///
    /// # Errors
    /// Fails if the statement fails.
    pub async fn row<const N: usize>(
        &mut self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Returns the number that is the result of a statement.
    ///
    /// # Errors
    /// Fails if the statement fails.
    pub async fn number<const N: usize>(
        &mut self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<i64, StoreError> {
        let row = self.row(sql, values).await?;
        row.map_or(Ok(0), |row| row.get(0))
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// Fails if the transaction cannot be committed.
    pub async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Local(transaction) => Ok(transaction.commit().await?),
            Self::Replicated(mut lease) => {
                within(lease.begin().ask("COMMIT")).await?;
                lease.settle();
                Ok(())
            }
        }
    }
}

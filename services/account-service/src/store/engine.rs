//! Transactions in either database.
//!
//! Both run the same statements. In PostgreSQL every transaction adds the schema of the tables to
//! its search path.

use sqlx::{Sqlite, SqlitePool, Transaction};
use ziggurat_postgres::pool::Lease;
use ziggurat_state::{
    Row, StateDatabase, StoreError, Value, postgres_rows, sqlite_query, sqlite_rows, within,
};

use crate::{Id, InvalidId, UnixTime};

/// The database of the accounts.
#[derive(Clone, Debug)]
pub(super) enum Engine {
    /// A file, with many readers and one writer.
    Local {
        readers: SqlitePool,
        writer: SqlitePool,
    },
    /// A database that replicas share.
    Replicated(StateDatabase),
}

/// A transaction, rolled back unless it is committed.
pub(super) enum Session {
    Local(Transaction<'static, Sqlite>),
    Replicated(Box<Lease>),
}

/// Reads columns of a row in the forms of the accounts.
pub(super) trait Columns {
    /// Returns the id in a column.
    fn id(&self, at: usize) -> Result<Id, StoreError>;

    /// Returns the time in a column.
    fn time(&self, at: usize) -> Result<UnixTime, StoreError>;

    /// Returns whether the number in a column is not zero.
    fn flag(&self, at: usize) -> Result<bool, StoreError>;
}

// === impl Engine ===

impl Engine {
    /// Begins a transaction that only reads.
    pub(super) async fn read(&self) -> Result<Session, StoreError> {
        match self {
            Self::Local { readers, .. } => Ok(Session::Local(readers.begin().await?)),
            Self::Replicated(state) => {
                let begin = "BEGIN READ ONLY; SET LOCAL search_path TO ziggurat, pg_catalog";
                Session::begin(state, begin).await
            }
        }
    }

    /// Begins a transaction that writes.
    pub(super) async fn write(&self) -> Result<Session, StoreError> {
        match self {
            // Takes the write lock at the start: waiting for it later would fail instead.
            Self::Local { writer, .. } => {
                let begun = writer.begin_with("BEGIN IMMEDIATE").await?;
                Ok(Session::Local(begun))
            }
            Self::Replicated(state) => {
                let begin = "BEGIN; SET LOCAL search_path TO ziggurat, pg_catalog";
                Session::begin(state, begin).await
            }
        }
    }

    /// Returns the rows of a statement that only reads.
    pub(super) async fn rows<const N: usize>(
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
    pub(super) async fn row<const N: usize>(
        &self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Closes the file.
    pub(super) async fn close(&self) {
        if let Self::Local { readers, writer } = self {
            readers.close().await;
            // Closed last: SQLite merges its log into the file when the last connection closes.
            writer.close().await;
        }
    }
}

// === impl Session ===

impl Session {
    async fn begin(state: &StateDatabase, begin: &'static str) -> Result<Self, StoreError> {
        let mut lease = state.lease().await?;
        within(lease.begin().ask(begin)).await?;
        Ok(Self::Replicated(Box::new(lease)))
    }

    /// Returns the rows of a statement.
    pub(super) async fn rows<const N: usize>(
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
    pub(super) async fn row<const N: usize>(
        &mut self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Returns the number that is the result of a statement.
    pub(super) async fn number<const N: usize>(
        &mut self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<i64, StoreError> {
        let row = self.row(sql, values).await?;
        row.map_or(Ok(0), |row| row.get(0))
    }

    /// Commits the transaction.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
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

// === impl Columns ===

impl Columns for Row {
    fn id(&self, at: usize) -> Result<Id, StoreError> {
        let text: String = self.get(at)?;
        text.parse()
            .map_err(|error: InvalidId| sqlx::Error::Decode(error.into()).into())
    }

    fn time(&self, at: usize) -> Result<UnixTime, StoreError> {
        self.get(at).map(UnixTime::from_seconds)
    }

    fn flag(&self, at: usize) -> Result<bool, StoreError> {
        self.get(at).map(|number: i64| number != 0)
    }
}

// === impl Value ===

impl From<Id> for Value {
    fn from(id: Id) -> Self {
        id.to_string().into()
    }
}

impl From<UnixTime> for Value {
    fn from(at: UnixTime) -> Self {
        at.seconds().into()
    }
}

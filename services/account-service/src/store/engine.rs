//! Statements for either database.
//!
//! Both run the same statements: placeholders are `$1`, `$2`…, columns are texts and numbers. In
//! PostgreSQL every transaction adds the schema of the tables to its search path.

use sqlx::{Decode, Row as _, Sqlite, SqlitePool, Transaction, Type, sqlite::SqliteRow};
use ziggurat_postgres::{
    driver::{self, FromText, query},
    pool::Lease,
};

pub(super) use ziggurat_state::{StateDatabase, StoreError, within};

pub(super) use crate::{Id, InvalidId, Moment};

/// The database of the accounts.
#[derive(Clone, Debug)]
pub(super) enum Engine {
    /// A file, with many readers and one writer.
    File {
        readers: SqlitePool,
        writer: SqlitePool,
    },
    /// A database that replicas share.
    Shared(StateDatabase),
}

/// A transaction, rolled back unless it is committed.
pub(super) enum Session {
    File(Transaction<'static, Sqlite>),
    Shared(Box<Lease>),
}

/// Value of a placeholder.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Text(&'a str),
    Optional(Option<&'a str>),
    Number(i64),
}

/// A row of either database.
pub(super) enum Row {
    File(SqliteRow),
    Shared(driver::Row),
}

/// Type of a column.
pub(super) trait Cell: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + FromText {}

// === impl Engine ===

impl Engine {
    /// Begins a transaction that only reads.
    pub(super) async fn read(&self) -> Result<Session, StoreError> {
        match self {
            Self::File { readers, .. } => Ok(Session::File(readers.begin().await?)),
            Self::Shared(state) => {
                let begin = "BEGIN READ ONLY; SET LOCAL search_path TO ziggurat, pg_catalog";
                Session::begin(state, begin).await
            }
        }
    }

    /// Begins a transaction that writes.
    pub(super) async fn write(&self) -> Result<Session, StoreError> {
        match self {
            // Takes the write lock at the start: waiting for it later would fail instead.
            Self::File { writer, .. } => {
                let begun = writer.begin_with("BEGIN IMMEDIATE").await?;
                Ok(Session::File(begun))
            }
            Self::Shared(state) => {
                let begin = "BEGIN; SET LOCAL search_path TO ziggurat, pg_catalog";
                Session::begin(state, begin).await
            }
        }
    }

    /// Closes the file.
    pub(super) async fn close(&self) {
        if let Self::File { readers, writer } = self {
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
        Ok(Self::Shared(Box::new(lease)))
    }

    /// Returns the rows of a statement.
    pub(super) async fn rows(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::File(transaction) => {
                let query = values
                    .iter()
                    .fold(sqlx::query(sql), |query, value| match value {
                        Value::Text(text) => query.bind(*text),
                        Value::Optional(text) => query.bind(*text),
                        Value::Number(number) => query.bind(*number),
                    });
                let rows = query.fetch_all(&mut **transaction).await?;
                Ok(rows.into_iter().map(Row::File).collect())
            }
            Self::Shared(lease) => {
                let query = values.iter().fold(query(sql), |query, value| match value {
                    Value::Text(text) => query.bind(*text),
                    Value::Optional(text) => query.bind(*text),
                    Value::Number(number) => query.bind(*number),
                });
                let rows = within(query.fetch_all(lease.begin())).await?;
                Ok(rows.into_iter().map(Row::Shared).collect())
            }
        }
    }

    /// Returns the first row of a statement.
    pub(super) async fn row(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Returns the number that is the result of a statement.
    pub(super) async fn number(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<i64, StoreError> {
        match self.row(sql, values).await? {
            Some(row) => row.get(0),
            None => Ok(0),
        }
    }

    /// Commits the transaction.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::File(transaction) => Ok(transaction.commit().await?),
            Self::Shared(mut lease) => {
                within(lease.begin().ask("COMMIT")).await?;
                lease.settle();
                Ok(())
            }
        }
    }
}

// === impl Row ===

impl Row {
    /// Returns the value in a column.
    pub(super) fn get<T: Cell>(&self, at: usize) -> Result<T, StoreError> {
        Ok(match self {
            Self::File(row) => row.try_get(at)?,
            Self::Shared(row) => row.get(at)?,
        })
    }

    /// Returns the id in a column.
    pub(super) fn id(&self, at: usize) -> Result<Id, StoreError> {
        let text: String = self.get(at)?;
        text.parse()
            .map_err(|error: InvalidId| sqlx::Error::Decode(error.into()).into())
    }

    /// Returns the time in a column.
    pub(super) fn moment(&self, at: usize) -> Result<Moment, StoreError> {
        self.get(at).map(Moment::from_seconds)
    }

    /// Returns whether the number in a column is not zero.
    pub(super) fn flag(&self, at: usize) -> Result<bool, StoreError> {
        self.get(at).map(|number: i64| number != 0)
    }
}

// === impl Cell ===

impl Cell for String {}
impl Cell for Option<String> {}
impl Cell for i64 {}
impl Cell for Option<i64> {}

//! Statements in either database.
//!
//! Both take the same statements: placeholders are `$1`, `$2`…, columns are texts and numbers.
//! In PostgreSQL the tables are in a schema that every transaction puts into its search path.

use sqlx::{Decode, Row as _, Sqlite, SqlitePool, Transaction, Type, sqlite::SqliteRow};
use ziggurat_postgres::{
    driver::{self, FromText, query},
    pool::Lease,
};

pub(super) use ziggurat_state::{StateDatabase, StoreError, within};

pub(super) use crate::{Id, InvalidId, Moment};

/// Where everything is kept.
#[derive(Clone, Debug)]
pub(super) enum Engine {
    /// In a file. Many read at a time, one writes.
    File {
        readers: SqlitePool,
        writer: SqlitePool,
    },
    /// In a database that replicas share.
    Shared(StateDatabase),
}

/// A transaction. What is not committed has not happened.
pub(super) enum Session {
    File(Transaction<'static, Sqlite>),
    Shared(Box<Lease>),
}

/// What stands for a placeholder.
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

/// What can be in a column.
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
            // Taken at once: waiting for it in the middle would fail instead.
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

    /// Lets go of the file in good order.
    pub(super) async fn close(&self) {
        if let Self::File { readers, writer } = self {
            readers.close().await;
            // The last connection is the one that tidies up.
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

    /// The rows of a statement.
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

    /// The first row of a statement.
    pub(super) async fn row(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// The number that a statement comes to.
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

    /// Makes what was done so for everybody.
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
    /// What is in a column.
    pub(super) fn get<T: Cell>(&self, at: usize) -> Result<T, StoreError> {
        Ok(match self {
            Self::File(row) => row.try_get(at)?,
            Self::Shared(row) => row.get(at)?,
        })
    }

    /// The id in a column.
    pub(super) fn id(&self, at: usize) -> Result<Id, StoreError> {
        let text: String = self.get(at)?;
        text.parse()
            .map_err(|error: InvalidId| sqlx::Error::Decode(error.into()).into())
    }

    /// The moment in a column.
    pub(super) fn moment(&self, at: usize) -> Result<Moment, StoreError> {
        self.get(at).map(Moment::from_seconds)
    }

    /// Whether there is something else than zero in a column.
    pub(super) fn flag(&self, at: usize) -> Result<bool, StoreError> {
        self.get(at).map(|number: i64| number != 0)
    }
}

// === impl Cell ===

impl Cell for String {}
impl Cell for Option<String> {}
impl Cell for i64 {}
impl Cell for Option<i64> {}

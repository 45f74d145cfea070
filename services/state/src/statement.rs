//! Statements that run in SQLite and in PostgreSQL.
//!
//! Placeholders are `$1`, `$2`…, columns are texts and numbers.

use serde_json::value::RawValue;
use sqlx::{
    Decode, Row as _, SqlSafeStr, Sqlite, Type,
    query::Query,
    sqlite::{SqliteArguments, SqliteExecutor, SqliteRow},
};
use ziggurat_postgres::driver::{self, Client, FromText};

use crate::{StoreError, state_database::within};

/// Value of a placeholder.
#[derive(Clone, Debug)]
pub enum Value {
    /// A text or NULL.
    Text(Option<String>),
    /// A number.
    Number(i64),
}

/// A row of either database.
#[derive(Debug)]
pub enum Row {
    /// A row of SQLite.
    Sqlite(SqliteRow),
    /// A row of PostgreSQL.
    Postgres(driver::Row),
}

/// Type of a column.
pub trait Cell: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + FromText {}

impl Cell for String {}
impl Cell for Option<String> {}
impl Cell for i64 {}
impl Cell for Option<i64> {}

/// Makes a statement for SQLite.
pub(crate) fn sqlite_query(
    sql: impl SqlSafeStr,
    values: impl IntoIterator<Item = Value>,
) -> Query<'static, Sqlite, SqliteArguments> {
    let query = sqlx::query(sql);
    values.into_iter().fold(query, |query, value| match value {
        Value::Text(text) => query.bind(text),
        Value::Number(number) => query.bind(number),
    })
}

/// Runs a statement in SQLite, and returns its rows.
///
/// # Errors
/// Fails if SQLite cannot run the statement.
pub(crate) async fn sqlite_rows(
    executor: impl SqliteExecutor<'_>,
    query: Query<'static, Sqlite, SqliteArguments>,
) -> Result<Vec<Row>, StoreError> {
    let rows = query.fetch_all(executor).await?;
    Ok(rows.into_iter().map(Row::Sqlite).collect())
}

/// Runs a statement in PostgreSQL, and returns its rows.
///
/// # Errors
/// Fails if the database cannot run the statement, or does not answer in time.
pub(crate) async fn postgres_rows(
    client: &mut Client,
    sql: &str,
    values: impl IntoIterator<Item = Value>,
) -> Result<Vec<Row>, StoreError> {
    let query = values
        .into_iter()
        .fold(driver::query(sql), |query, value| match value {
            Value::Text(text) => query.bind(text.as_deref()),
            Value::Number(number) => query.bind(number),
        });
    let rows = within(query.fetch_all(client)).await?;
    Ok(rows.into_iter().map(Row::Postgres).collect())
}

// === impl Value ===

impl<T: Into<String>> From<Option<T>> for Value {
    fn from(text: Option<T>) -> Self {
        Self::Text(text.map(Into::into))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl From<Box<RawValue>> for Value {
    fn from(json: Box<RawValue>) -> Self {
        String::from(Box::<str>::from(json)).into()
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

// === impl Row ===

impl Row {
    /// Returns the value in a column.
    ///
    /// # Errors
    /// Fails if the column has another type.
    pub fn get<T: Cell>(&self, at: usize) -> Result<T, StoreError> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(at)?,
            Self::Postgres(row) => row.get(at)?,
        })
    }
}

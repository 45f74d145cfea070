//! Converts the file of the older implementation, which has the same name.

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, path::Path};

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde_json::value::RawValue;
use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteRow},
};

use crate::{
    StoreError,
    conversation::{Message, preview, storable, written},
};

/// Columns of the table of the older implementation.
const COLUMNS: [&str; 9] = [
    "connection",
    "created_at",
    "id",
    "messages",
    "model",
    "provider",
    "title",
    "updated_at",
    "username",
];

/// Number of conversations read at a time, because they may be large.
const BATCH: i64 = 64;

/// Kind of the table of conversations in a file.
enum Table {
    Reference,
    OursOrNone,
    Foreign,
}

/// Error code of SQLite for a file that is not a database.
const SQLITE_NOTADB: &str = "26";

/// Returns whether a file of the older implementation can be converted. Changes nothing.
///
/// # Errors
/// Fails if the file belongs to another program.
pub(super) async fn is_in(options: &SqliteConnectOptions, path: &Path) -> Result<bool, StoreError> {
    let mut connection = options.connect().await?;
    let is_known = is_known(&mut connection).await;
    connection.close().await.ok();
    match is_known {
        Ok(Table::Reference) => Ok(true),
        Ok(Table::OursOrNone) => Ok(false),
        Err(error) if !is_no_database(&error) => Err(error.into()),
        Ok(Table::Foreign) | Err(_) => Err(StoreError::Foreign {
            path: path.to_owned(),
        }),
    }
}

fn is_no_database(error: &sqlx::Error) -> bool {
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    code.as_deref() == Some(SQLITE_NOTADB)
}

async fn is_known(connection: &mut SqliteConnection) -> sqlx::Result<Table> {
    let has_ours = has_table(connection, "_sqlx_migrations").await?;
    if has_ours || !has_table(connection, "conversations").await? {
        return Ok(Table::OursOrNone);
    }
    let columns = sqlx::query_scalar("SELECT name FROM pragma_table_info('conversations')");
    let columns: Vec<String> = columns.fetch_all(&mut *connection).await?;
    if !BTreeSet::from_iter(columns).iter().eq(COLUMNS) {
        return Ok(Table::Foreign);
    }
    let unreadable = sqlx::query_scalar(
        "SELECT count(*) FROM conversations WHERE messages <> '' AND CASE json_valid(messages) \
         WHEN 1 THEN json_type(messages) NOT IN ('array', 'null') ELSE 1 END",
    );
    let unreadable: i64 = unreadable.fetch_one(connection).await?;
    Ok(if unreadable == 0 {
        Table::Reference
    } else {
        Table::Foreign
    })
}

/// Moves the rows of the older implementation to a table of another name.
pub(super) async fn rename_table(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    // Copied, not renamed, because dropping the table also drops its indexes of unknown names.
    for statement in [
        "CREATE TABLE conversations_of_reference AS SELECT * FROM conversations",
        "DROP TABLE conversations",
    ] {
        sqlx::query(statement).execute(&mut *transaction).await?;
    }
    transaction.commit().await
}

/// Copies the moved rows into our table in one transaction and returns their number.
///
/// # Errors
/// Fails if a conversation cannot be read; then all rows stay in the other table.
pub(super) async fn import(
    connection: &mut SqliteConnection,
    now: Timestamp,
) -> Result<Option<u64>, StoreError> {
    if !has_table(connection, "conversations_of_reference").await? {
        return Ok(None);
    }
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let (mut last, mut count) = (0_i64, 0);
    loop {
        let rows = sqlx::query(
            "SELECT rowid, id, CAST(username AS TEXT), CAST(title AS TEXT), \
             CAST(provider AS TEXT), CAST(model AS TEXT), CAST(connection AS TEXT), \
             CAST(created_at AS TEXT), CAST(updated_at AS TEXT), CAST(messages AS TEXT) \
             FROM conversations_of_reference WHERE rowid > ? AND id IS NOT NULL \
             ORDER BY rowid LIMIT ?",
        )
        .bind(last)
        .bind(BATCH)
        .fetch_all(&mut *transaction)
        .await?;
        let Some(row) = rows.last() else { break };
        last = row.try_get(0)?;
        for row in &rows {
            count += insert(&mut transaction, row, now).await?;
        }
    }
    sqlx::query("DROP TABLE conversations_of_reference")
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(Some(count))
}

async fn insert(
    connection: &mut SqliteConnection,
    row: &SqliteRow,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let text = |column: usize| -> sqlx::Result<String> {
        let text: Option<String> = row.try_get(column)?;
        Ok(text.unwrap_or_default())
    };
    let moment =
        |column| -> sqlx::Result<String> { Ok(written(moment(&text(column)?).unwrap_or(now))) };
    // Conversations without messages may have an empty text instead of a list.
    let messages: Option<Vec<Box<RawValue>>> = match text(9)?.as_str() {
        "" => None,
        messages => serde_json::from_str(messages)?,
    };
    let messages = messages.unwrap_or_default();
    let known = messages
        .iter()
        .map(|message| serde_json::from_str::<Message>(message.get()));
    let known: Vec<_> = known.filter_map(Result::ok).collect();
    let done = sqlx::query(
        "INSERT INTO conversations (id, username, title, provider, model, connection, preview, \
         created_at, updated_at, messages) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(text(1)?)
    .bind(text(2)?)
    .bind(storable(text(3)?))
    .bind(text(4)?)
    .bind(text(5)?)
    .bind(text(6)?)
    .bind(preview(&known))
    .bind(moment(7)?)
    .bind(moment(8)?)
    .bind(serde_json::to_string(&messages)?)
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Reads a time in the formats that programs write to SQLite: RFC 3339 with a blank or a `T`,
/// without a zone (then UTC), followed by the name of the zone and more, or in seconds since 1970.
fn moment(text: &str) -> Option<Timestamp> {
    if let Ok(moment) = text.parse() {
        return Some(moment);
    }
    if let Ok(seconds) = text.parse() {
        return Timestamp::from_second(seconds).ok();
    }
    let mut words = text.split(' ');
    let (date, time) = (words.next()?, words.next()?);
    if let Some(offset) = words.next() {
        return format!("{date}T{time}{offset}").parse().ok();
    }
    let moment: DateTime = text.parse().ok()?;
    Some(moment.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

async fn has_table(connection: &mut SqliteConnection, name: &str) -> sqlx::Result<bool> {
    let count =
        sqlx::query_scalar("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?");
    let count: i64 = count.bind(name).fetch_one(connection).await?;
    Ok(count > 0)
}

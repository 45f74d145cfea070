//! The place of conversations and of the library: a file, or the database that replicas share.

use std::path::Path;

use sqlx::{AssertSqlSafe, SqlitePool};
use tokio::sync::mpsc;

use crate::{
    StateDatabase, StoreError, Writer,
    conversation::storable,
    sqlite::{self, Job},
    statement::{Row, Value, postgres_rows, sqlite_query, sqlite_rows},
};

/// Runs statements in either place. Clones share it.
///
/// Tables are named with the schema `ziggurat`, which the file does not have.
#[derive(Clone, Debug)]
pub(crate) enum Storage {
    /// A local file. Reads run in parallel; all writes go through one [`Writer`].
    Local {
        readers: SqlitePool,
        jobs: mpsc::Sender<Job>,
    },
    /// A database that replicas share.
    Replicated(StateDatabase),
}

// === impl Storage ===

impl Storage {
    /// Opens the file in a folder. Nothing is written before the writer runs.
    pub(crate) async fn local(folder: &Path) -> Result<(Self, Writer), StoreError> {
        let (readers, jobs, writer) = sqlite::open(folder).await?;
        Ok((Self::Local { readers, jobs }, writer))
    }

    /// Runs a statement that changes nothing, and returns its rows.
    pub(crate) async fn read<const N: usize>(
        &self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Local { readers, .. } => sqlite_rows(readers, local(sql, values)).await,
            Self::Replicated(state) => replicated(state, sql, values).await,
        }
    }

    /// Runs a statement that changes something, and returns its rows.
    pub(crate) async fn write<const N: usize>(
        &self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Local { jobs, .. } => Job::run(jobs, local(sql, values)).await,
            Self::Replicated(state) => replicated(state, sql, values).await,
        }
    }
}

/// Makes a value of a text that PostgreSQL can store.
pub(crate) fn text(text: &str) -> Value {
    storable(text.to_owned()).into()
}

/// Makes a statement for the file, where tables have no schema.
fn local(sql: &str, values: impl IntoIterator<Item = Value>) -> sqlite::Query {
    sqlite_query(AssertSqlSafe(sql.replace("ziggurat.", "")), values)
}

async fn replicated(
    state: &StateDatabase,
    sql: &str,
    values: impl IntoIterator<Item = Value>,
) -> Result<Vec<Row>, StoreError> {
    state
        .traced(sql, async {
            let mut lease = state.lease().await?;
            let rows = postgres_rows(lease.begin(), sql, values).await?;
            lease.settle();
            Ok(rows)
        })
        .await
}

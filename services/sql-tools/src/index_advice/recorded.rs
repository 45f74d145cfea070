//! Statements that `pg_stat_statements` has recorded.

use ziggurat_databases::Current;
use ziggurat_mcp::Reported;
use ziggurat_postgres::{
    error::QueryError,
    single_round_trip::{ReadOnlyQuery, Value},
};

const RECORDED: &str = include_str!("../../dba/index_advice_statement.sql");

/// The statement that says in its last column why the view cannot be read.
pub(crate) const NO_TOP_QUERIES: &str = include_str!("../../dba/top_queries_absent.sql");

const UNKNOWN: &str = "pg_stat_statements has no statement with this queryid in this database. \
    Take one from top_queries, or give the text as query.";

/// The SQLSTATE codes of a statement that needs an extension or a privilege.
pub(crate) const ABSENT_CODES: [&str; 4] = ["42P01", "42703", "42501", "55000"];

/// The reason why there is no text.
pub(super) enum Missing {
    Query(QueryError),
    Reported(Reported),
}

/// Returns the text of a statement.
pub(super) async fn text(current: &Current, queryid: i64) -> Result<String, Missing> {
    let found = read(current, RECORDED, vec![Value::Integer(queryid)], [0, 1]).await;
    match found {
        Ok([Some(text), _]) => Ok(text),
        Ok([None, Some(hidden)]) => Err(Missing::Reported(Reported::new(hidden))),
        Ok([None, None]) => Err(Missing::Reported(Reported::new(UNKNOWN))),
        Err(QueryError::Failed { report, .. }) if ABSENT_CODES.contains(&&*report.sqlstate) => {
            let [reason] = read(current, NO_TOP_QUERIES, Vec::new(), [ABSENT_COLUMN])
                .await
                .map_err(Missing::Query)?;
            let reason = reason.unwrap_or_default();
            Err(Missing::Reported(Reported::new(reason)))
        }
        Err(error) => Err(Missing::Query(error)),
    }
}

const ABSENT_COLUMN: usize = 11;

/// Returns columns of the first row.
async fn read<const N: usize>(
    current: &Current,
    query: &str,
    values: Vec<Value>,
    columns: [usize; N],
) -> Result<[Option<String>; N], QueryError> {
    let query = ReadOnlyQuery {
        name: "index advice",
        before: None,
        query: query.to_owned(),
        values,
    };
    let lease = current.pool().lease().await?;
    let rows = query.read(lease, |row| {
        let mut texts = [const { None }; N];
        for (text, column) in texts.iter_mut().zip(columns) {
            *text = row.get(column)?;
        }
        Ok(texts)
    });
    let first = rows.await?.into_iter().next();
    first.ok_or_else(|| QueryError::value("no row"))
}

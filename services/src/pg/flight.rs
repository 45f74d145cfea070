//! One message of ours that only reads, and takes one round trip.

use std::{error::Error, time::Instant};

use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, Either, Executor as _, postgres::PgRow};
use tracing::{debug, warn};

use super::{
    LOG_TARGET,
    error::{Phase, QueryError},
    lease::{Lease, milliseconds},
};

/// A query, and what is settled for it.
pub(super) struct Flight {
    /// What the log calls it.
    pub(super) name: &'static str,
    /// A query whose rows nobody needs, run first: settings for this transaction.
    pub(super) before: Option<String>,
    pub(super) query: String,
    /// What stands for `$1`, `$2` and so on. With none it is one message, else a few.
    pub(super) values: Vec<Value>,
}

/// A value that comes from a client. It travels beside the query and never in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Of the type `text`.
    Text(String),
    /// Of the type `text[]`.
    Texts(Vec<String>),
}

// === impl Flight ===

impl Flight {
    /// Runs the query in a read-only transaction that the timeout of the database bounds, and
    /// reads its rows. Dropped before the end, it is cancelled.
    pub(super) async fn read<T>(
        &self,
        mut lease: Lease,
        row: impl Fn(&PgRow) -> sqlx::Result<T>,
    ) -> Result<Vec<T>, QueryError> {
        let began = Instant::now();
        let mut read = self.send(&mut lease, &row).await;
        if let Err(error) = &read
            && lease.is_untested()
            && found_nobody(error)
        {
            // It was idle, and had died meanwhile.
            lease.renew().await?;
            read = self.send(&mut lease, &row).await;
        }
        debug!(
            target: LOG_TARGET,
            database = lease.database().name(),
            process = lease.process(),
            command = self.name,
            duration_ms = began.elapsed().as_secs_f64() * 1e3,
            rows = read.as_ref().ok().map(Vec::len),
            is_ok = read.is_ok(),
            "statement"
        );
        match read {
            Ok(rows) => {
                lease.settle();
                Ok(rows)
            }
            Err(error) => Err(leave(lease, error).await),
        }
    }

    fn opening(&self, lease: &Lease) -> String {
        let timeout = milliseconds(lease.database().query_timeout());
        let (before, end) = match &self.before {
            Some(before) => (&**before, "; "),
            None => ("", ""),
        };
        format!("BEGIN READ ONLY; SET LOCAL statement_timeout = {timeout}; {before}{end}")
    }

    async fn send<T>(
        &self,
        lease: &mut Lease,
        row: impl Fn(&PgRow) -> sqlx::Result<T>,
    ) -> Result<Vec<T>, QueryError> {
        let answer = if self.values.is_empty() {
            self.send_at_once(lease, row).await
        } else {
            self.send_with_values(lease, row).await
        };
        match answer {
            Ok(rows) => {
                lease.has_answered();
                Ok(rows)
            }
            Err(error @ sqlx::Error::Decode(_)) => Err(QueryError::Row(error)),
            Err(error) => Err(QueryError::new(error, Phase::Run, 0)),
        }
    }

    async fn send_at_once<T>(
        &self,
        lease: &mut Lease,
        row: impl Fn(&PgRow) -> sqlx::Result<T>,
    ) -> sqlx::Result<Vec<T>> {
        let message = format!("{}{}; COMMIT", self.opening(lease), self.query);
        let mut rows = Vec::new();
        let mut completed = 0;
        // Behind BEGIN, SET and what comes before.
        let ours = 2 + usize::from(self.before.is_some());
        let results = sqlx::raw_sql(AssertSqlSafe(message));
        let mut results = results.fetch_many(lease.begin());
        while let Some(result) = results.try_next().await? {
            match result {
                Either::Left(_) => completed += 1,
                Either::Right(found) if completed == ours => rows.push(row(&found)?),
                Either::Right(_) => {}
            }
        }
        Ok(rows)
    }

    async fn send_with_values<T>(
        &self,
        lease: &mut Lease,
        row: impl Fn(&PgRow) -> sqlx::Result<T>,
    ) -> sqlx::Result<Vec<T>> {
        let opening = self.opening(lease);
        let opening = sqlx::raw_sql(AssertSqlSafe(opening));
        opening.execute(lease.begin()).await?;
        // Not kept prepared: clients decide how many queries there are.
        let mut query = sqlx::query(AssertSqlSafe(&*self.query)).persistent(false);
        for value in &self.values {
            query = match value {
                Value::Text(text) => query.bind(text),
                Value::Texts(texts) => query.bind(texts),
            };
        }
        let mut rows = Vec::new();
        let mut results = query.fetch(lease.begin());
        while let Some(found) = results.try_next().await? {
            rows.push(row(&found)?);
        }
        drop(results);
        lease.begin().execute("COMMIT").await?;
        Ok(rows)
    }
}

/// Whether nobody was there to get the message.
fn found_nobody(error: &QueryError) -> bool {
    match error {
        QueryError::Connection(sqlx::Error::Io(_)) => true,
        // What a server that ended the connection had left in the line.
        QueryError::Failed { report, .. } => report.is_fatal() && report.is_intervention(),
        _ => false,
    }
}

/// Gives the connection back if it can be used again. Else the lease stays as it is, and what
/// runs is cancelled.
async fn leave(mut lease: Lease, error: QueryError) -> QueryError {
    match &error {
        QueryError::Failed { report, .. } if !report.is_fatal() => {
            match lease.begin().execute("ROLLBACK").await {
                Ok(_) => lease.settle(),
                Err(lost) => {
                    lease.give_up();
                    warn!(
                        error = &lost as &dyn Error,
                        "a transaction could not be rolled back"
                    );
                }
            }
        }
        QueryError::Failed { .. } | QueryError::Connection(sqlx::Error::Io(_)) => lease.give_up(),
        _ => {}
    }
    error
}

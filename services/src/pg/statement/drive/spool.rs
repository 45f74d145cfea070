//! Results of which nobody holds more than a row, and whose size is known first.

use std::{fmt::Write as _, sync::Arc};

use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, Either};
use tracing::warn;

use super::{CURSOR, Message, Run, Set, Stop, learn};
use crate::pg::{
    error::{Phase, QueryError},
    rows::{Column, Extent, Found, Summary},
};

/// The rows of one FETCH, which PostgreSQL gathers before it sends the first.
const ROWS_AT_ONCE: u32 = 1000;

/// The rows of one message, so that a distant server does not make every thousand wait.
const ROWS_PER_MESSAGE: u32 = 64 * ROWS_AT_ONCE;

impl Run {
    /// Has PostgreSQL keep the rows, counts them, and hands them on.
    pub(super) async fn spool(&mut self) -> Result<Summary, Stop> {
        self.begin().await?;
        // By itself, before anything is put around it: what is one statement in parentheses
        // need not be one without.
        if let Err(error) = self.prove().await {
            return Err(self.stop(error, false, true).await);
        }
        let message = self.spooled();
        let lead = message.lead;
        let counted = match self.count(message).await {
            Ok(counted) => counted,
            Err(error) => {
                let is_unfit = self.tally.completed == 0;
                let error = QueryError::new(error, Phase::Run, lead);
                return Err(self.stop(error, is_unfit, true).await);
            }
        };
        let most = self.statement.window.rows;
        let extent = Extent {
            rows: u32::try_from(counted).unwrap_or(most).min(most),
            has_more: counted > most.into(),
        };
        let head = Found::Head {
            columns: self.learned().await,
            is_command: false,
            extent: Some(extent),
        };
        self.desk.leave(head).await;
        self.tally.set = Set::Over;
        self.tally.has_more = extent.has_more;
        if let Err(error) = self.fetch(extent.rows).await {
            let error = QueryError::new(error, Phase::Run, 0);
            return Err(self.stop(error, false, true).await);
        }
        self.end("COMMIT").await?;
        self.finish(false).await
    }

    /// The text behind a cursor that reads it once, as far as it is wanted, and keeps the rows.
    fn spooled(&self) -> Message {
        let window = self.statement.window;
        let mut sql = format!(
            "DECLARE {CURSOR} SCROLL CURSOR FOR \
             WITH kept AS MATERIALIZED (SELECT * FROM ("
        );
        let lead = sql.len();
        sql.push_str(&self.statement.text);
        // The line break ends whatever comment the text ends with.
        write!(
            sql,
            "\n) AS asked OFFSET {} LIMIT {}) SELECT * FROM kept; \
             MOVE FORWARD ALL IN {CURSOR}; MOVE ABSOLUTE 0 IN {CURSOR}",
            window.offset,
            window.rows + 1,
        )
        .expect("a string takes everything");
        Message { sql, lead }
    }

    async fn count(&mut self, message: Message) -> sqlx::Result<u64> {
        let tally = &mut self.tally;
        let mut results = sqlx::raw_sql(AssertSqlSafe(message.sql)).fetch_many(self.lease.begin());
        let mut counted = 0;
        while let Some(result) = results.try_next().await? {
            if let Either::Left(done) = result {
                tally.completed += 1;
                // The first MOVE passes every row, the second counts none.
                counted = done.rows_affected().max(counted);
            }
        }
        Ok(counted)
    }

    /// Hands on so many rows.
    async fn fetch(&mut self, rows: u32) -> sqlx::Result<()> {
        let mut left = rows;
        while left > 0 {
            let mut message = String::new();
            let mut batch = left.min(ROWS_PER_MESSAGE);
            left -= batch;
            while batch > 0 {
                let rows = batch.min(ROWS_AT_ONCE);
                batch -= rows;
                write!(message, "FETCH FORWARD {rows} FROM {CURSOR};")
                    .expect("a string takes everything");
            }
            let mut results = sqlx::raw_sql(AssertSqlSafe(message)).fetch_many(self.lease.begin());
            while let Some(result) = results.try_next().await? {
                if let Either::Right(row) = result {
                    self.tally.rows += 1;
                    self.desk.leave(Found::Row(row)).await;
                }
            }
        }
        Ok(())
    }

    /// The columns, types that nobody has met before looked up.
    async fn learned(&self) -> Arc<[Column]> {
        let columns = self.columns.clone().unwrap_or_default();
        let pool = self.lease.pool();
        let unknown: Vec<u32> = columns
            .iter()
            .map(Column::type_oid)
            .filter(|&oid| pool.catalogue().kind(oid).is_none())
            .collect();
        if unknown.is_empty() {
            return columns;
        }
        if let Err(error) = learn(&unknown, &pool).await {
            warn!(
                error = &*error,
                database = pool.database().name(),
                "types could not be looked up"
            );
        }
        columns
            .iter()
            .map(|column| column.learned(|oid| pool.catalogue().kind(oid)))
            .collect()
    }
}

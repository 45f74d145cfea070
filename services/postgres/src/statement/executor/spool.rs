//! Results that PostgreSQL keeps, so that the number of rows is known before the first row.

use std::fmt::Write as _;

use crate::{
    driver::{DriverError, Event},
    error::{Phase, QueryError},
    rows::{Extent, Item, Summary},
    statement::executor::{AttemptError, CURSOR, Execution, Route, RowsState},
};

/// Rows of one FETCH, which PostgreSQL collects before it sends the first.
const ROWS_AT_ONCE: u32 = 1000;

/// Rows of one message, so that a slow network does not delay every FETCH.
const ROWS_PER_MESSAGE: u32 = 64 * ROWS_AT_ONCE;

impl Execution<'_> {
    /// Lets PostgreSQL keep the rows, counts them, and passes them to the reader.
    pub(super) async fn spool(&mut self) -> Result<Summary, AttemptError> {
        // Parsed alone first, since a text that is one statement in parentheses may be several
        // without them.
        self.begin(Route::Spool).await?;
        let (sql, lead) = self.spooled();
        let counted = match self.count(&sql).await {
            Ok(counted) => counted,
            Err(error) => {
                let is_unfit = self.progress.completed == 0;
                let error = QueryError::new(error, Phase::Run, lead);
                return Err(self.stop(error, is_unfit, true).await);
            }
        };
        let most = self.statement.window.rows;
        let extent = Extent {
            rows: u32::try_from(counted).unwrap_or(most).min(most),
            has_more: counted > most.into(),
        };
        let head = Item::Head {
            header: self.header.clone().unwrap_or_default(),
            is_command: false,
            extent: Some(extent),
        };
        self.handoff.put(head).await;
        self.progress.has_head = true;
        self.progress.set = RowsState::Over;
        self.progress.has_more = extent.has_more;
        if let Err(error) = self.fetch(extent.rows).await {
            let error = QueryError::new(error, Phase::Run, 0);
            return Err(self.stop(error, false, true).await);
        }
        if self.progress.oversized.is_none() {
            self.queue_ending(Route::Spool);
        }
        self.finish(false).await
    }

    /// Returns the text behind a cursor that runs it once, for the wanted rows, and keeps them;
    /// also returns where in it the text begins.
    fn spooled(&self) -> (String, usize) {
        let window = self.statement.window;
        let mut sql = format!(
            "{}DECLARE {CURSOR} SCROLL CURSOR FOR \
             WITH kept AS MATERIALIZED (SELECT * FROM (",
            self.comment
        );
        let lead = sql.len();
        sql.push_str(&self.statement.text);
        // The line break ends a comment at the end of the text.
        write!(
            sql,
            "\n) AS asked OFFSET {} LIMIT {}) SELECT * FROM kept; \
             MOVE FORWARD ALL IN {CURSOR}; MOVE ABSOLUTE 0 IN {CURSOR}",
            window.offset,
            window.rows + 1,
        )
        .expect("a string takes everything");
        (sql, lead)
    }

    async fn count(&mut self, sql: &str) -> Result<u64, DriverError> {
        let progress = &mut self.progress;
        let client = self.lease.begin();
        client.queue(sql);
        client.flush().await?;
        let mut counted = 0;
        while let Some(event) = client.next().await? {
            if let Event::Completed { rows } = event {
                progress.completed += 1;
                // The first MOVE reports the number of rows, the second zero.
                counted = rows.max(counted);
            }
        }
        Ok(counted)
    }

    /// Passes `rows` rows to the reader.
    async fn fetch(&mut self, rows: u32) -> Result<(), DriverError> {
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
            let client = self.lease.begin();
            client.set_max_row_bytes(self.statement.max_row_bytes);
            client.set_large_rows(self.statement.large_rows.as_ref());
            client.queue(&message);
            client.flush().await?;
            while let Some(event) = client.next().await? {
                match event {
                    Event::Row(row) => {
                        self.progress.rows += 1;
                        self.handoff.put(Item::Row(row)).await;
                    }
                    Event::Oversized { bytes } => {
                        // The lease is dropped in mid-result, which cancels the rest.
                        self.progress.oversized = Some(bytes);
                        self.progress.has_more = true;
                        return Ok(());
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

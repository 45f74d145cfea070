//! Runs a statement in a transaction that is open and stays open.

use std::{future::poll_fn, mem, pin::pin, task::Poll};

use ziggurat_sql::Refusal;

use crate::{
    driver::{DriverError, Row},
    error::{Phase, QueryError},
    pool::{Lease, Pool, milliseconds},
    rows::{Handoff, Header, Item, Rows, Summary},
    statement::{
        Route, Statement, Window,
        executor::{AttemptError, Execution, masked::without_values, tag},
    },
    statement_log::{Counts, StatementLog},
};

/// The result of a statement that ran in an open transaction. It can be read after the end of that.
#[must_use]
pub struct HeldRows {
    items: Vec<Item>,
    summary: Summary,
    has_masked_source: bool,
    hides_errors: bool,
}

// === impl Statement ===

impl Statement {
    /// Runs it in the transaction that is open on a connection, and holds its rows.
    ///
    /// The checks are the same as for [`run`](Self::run). After an error the transaction has to be
    /// rolled back.
    ///
    /// # Errors
    /// Fails when PostgreSQL refuses it, and with [`DriverError::Oversized`] if its rows have more
    /// than `max_bytes`.
    pub async fn run_within(
        &self,
        lease: &mut Lease,
        max_bytes: usize,
    ) -> Result<HeldRows, QueryError> {
        let log = StatementLog::open(lease, &self.command, &self.text);
        let comment = log.comment(lease);
        let handoff = Handoff::default();
        let statement = Self {
            // The limit on all rows holds instead.
            large_rows: None,
            ..self.clone()
        };
        let mut run = Execution::new(lease, statement, handoff.clone(), comment);
        let held = hold(run.run_within(), &handoff, max_bytes).await;
        let held = match held {
            Err(error) if run.masked.is_some() => Err(run.told(error).await),
            held => held,
        };
        log.close(held.as_ref().map(|(_, summary)| Counts::of(summary)));
        let (items, summary) = held?;
        let masked = run.masked.as_ref();
        Ok(HeldRows {
            items,
            summary,
            has_masked_source: masked.is_some_and(|it| it.hides_computed),
            hides_errors: masked.is_some_and(|it| it.hides_errors),
        })
    }
}

/// Runs a statement to its end, and takes its rows.
async fn hold(
    run: impl Future<Output = Result<Summary, QueryError>>,
    handoff: &Handoff,
    max_bytes: usize,
) -> Result<(Vec<Item>, Summary), QueryError> {
    let mut run = pin!(run);
    let (mut items, mut left) = (Vec::new(), Some(max_bytes));
    let summary = poll_fn(|cx| {
        loop {
            if let Poll::Ready(done) = run.as_mut().poll(cx) {
                return Poll::Ready(done);
            }
            let Some(item) = handoff.take() else {
                return Poll::Pending;
            };
            if let Item::Row(row) = &item {
                left = left.and_then(|left| left.checked_sub(row.size()));
            }
            // The rest is read to the end, and dropped.
            if left.is_some() {
                items.push(item);
            }
        }
    });
    let summary = summary.await?;
    if left.is_none() {
        return Err(QueryError::Row(DriverError::Oversized { bytes: max_bytes }));
    }
    Ok((items, summary))
}

impl Execution<'_> {
    async fn run_within(&mut self) -> Result<Summary, QueryError> {
        let statement = &self.statement;
        if statement.outlives && self.lease.session().is_shared {
            return Err(Refusal::Session.into());
        }
        if statement.timeout != self.lease.database().query_timeout() {
            let timeout = milliseconds(statement.timeout);
            let sql = format!("SET LOCAL statement_timeout = {timeout}");
            let set = self.lease.begin().run(&sql).await;
            set.map_err(|error| QueryError::new(error, Phase::Begin, 0))?;
        }
        if self.lease.database().masks().is_some() {
            self.judge().await?;
        }
        let (is_bound, is_script) = (
            self.statement.is_bound(),
            self.statement.route() == Route::Script,
        );
        if !is_bound && !is_script {
            self.lease.begin().queue_parse(&self.statement.text);
            self.prove().await?;
        }
        self.check_masks().await.map_err(failed)?;
        let route = if is_script {
            Route::Script
        } else {
            Route::Plain
        };
        self.check_cost(route).await.map_err(failed)?;
        let is_capped = self.statement.limit_on_changes().is_some();
        if is_capped {
            self.queue_count();
            let counted = async {
                self.lease.begin().flush().await?;
                self.read_count().await
            };
            let counted = counted.await;
            counted.map_err(|error| QueryError::new(error, Phase::Begin, 0))?;
        }
        let sql = format!("{}{}", self.comment, self.statement.text);
        if is_bound {
            self.queue_bound(&sql, Route::Plain);
        } else {
            self.lease.begin().queue(&sql);
        }
        let lead = self.comment.len() + self.statement.lead;
        let read = self.flush_and_read(self.statement.window.offset).await;
        read.map_err(|error| QueryError::new(error, Phase::Run, lead))?;
        if is_capped {
            self.queue_recount();
            let limit = self.find_limit().await;
            let limit = limit.map_err(|error| QueryError::new(error, Phase::Commit, 0))?;
            if let Some(limit) = limit {
                return Err(limit.into());
            }
        }
        Ok(self.summarize(true).await)
    }
}

fn failed(stop: AttemptError) -> QueryError {
    match stop {
        AttemptError::Failed(error) => error,
        AttemptError::Unfit => unreachable!("the text is sent as it is"),
    }
}

// === impl HeldRows ===

impl HeldRows {
    /// Returns whether the statement names a table with masked columns, and its computed columns are
    /// masked: new values could be made of masked ones.
    #[must_use]
    pub fn has_masked_source(&self) -> bool {
        self.has_masked_source
    }

    /// Returns an error of the same transaction as the caller may see it.
    #[must_use]
    pub fn told(&self, error: QueryError) -> QueryError {
        if self.hides_errors {
            without_values(error)
        } else {
            error
        }
    }

    /// Takes the rows out, and leaves the result of a command without rows.
    pub fn without_rows(mut self, command: &str) -> (Self, Vec<Row>) {
        let head = Item::Head {
            header: Header::default(),
            is_command: true,
            extent: None,
        };
        let items = mem::replace(&mut self.items, vec![head]);
        let rows = items.into_iter().filter_map(|item| match item {
            Item::Row(row) => Some(row),
            Item::Head { .. } => None,
        });
        let affected = self.summary.processed;
        self.summary = Summary {
            rows: 0,
            has_more: false,
            oversized: None,
            command: tag(command, affected),
            affected,
            processed: 0,
        };
        (self, rows.collect())
    }

    /// Returns the result of the statement, which was committed by a transaction, to be read on behalf of
    /// the call of a pool. The mark is of the changed rows.
    ///
    /// # Panics
    /// Never panics, since nothing that is held can fail.
    pub async fn read(
        self,
        statement: &Statement,
        pool: &Pool,
        (transaction, mark): (u64, &str),
    ) -> Rows {
        let Self { items, summary, .. } = self;
        let handoff = Handoff::default();
        let slot = handoff.clone();
        let replay = Box::pin(async move {
            for item in items {
                slot.put(item).await;
            }
            Ok(summary)
        });
        let evidence = pool.call().evidence().cloned();
        if let Some(evidence) = &evidence {
            let Window { rows, offset } = statement.window;
            evidence.begin(pool.database(), &statement.text, rows, offset);
            evidence.set_change(transaction, mark);
        }
        let rows = Rows::start(replay, handoff, evidence).await;
        rows.expect("nothing that is held can fail")
    }
}

impl std::fmt::Debug for HeldRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldRows")
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

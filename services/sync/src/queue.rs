//! The queue of a table: claims of its rows, and their ends.

use std::{fmt::Write as _, time::Duration};

use ziggurat_postgres::{
    driver::{Client, DriverError, Query, Row, Value, query},
    pool::{Lease, Pool},
};

use crate::{
    TableSync,
    batch_statements::CLAIM,
    definition::Definition,
    error::{During as _, SyncError},
    status::{FailedRows, Status},
};

/// Maximum length of a reason that is kept, in characters.
const MAX_REASON: usize = 2000;

/// First key of the advisory locks of workers; the second is the number of the worker.
pub(crate) const LOCK_KEY: i32 = 0x7a67_7379;

/// Rows that go back into the queue in one statement.
const RETRY_ROWS: i64 = 1000;

/// The queue of one table.
#[derive(Debug)]
pub(crate) struct Queue {
    pool: Pool,
    pub(crate) definition: Definition,
    claim: String,
    finish: String,
    fail: String,
    forget: String,
}

/// A row that a worker has claimed.
#[derive(Clone, Debug)]
pub(crate) struct ClaimedRow {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) content: Content,
}

/// The text of a claimed row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A text to be embedded. A blank one has no vector.
    Text(String),
    /// A text that no model reads, with its size in bytes.
    TooLong(i64),
    /// The row is gone, or locked by the application.
    Unseen,
}

// === impl Queue ===

impl Queue {
    /// Uses the queue of a table, if it is installed for its columns.
    pub(crate) async fn open(sync: &TableSync) -> Result<Self, SyncError> {
        let definition = Definition::load(&sync.pool, &sync.table).await?;
        let task = format!("reading the queue of table {}", sync.table.table);
        let comment = query("SELECT pg_catalog.obj_description(pg_catalog.to_regclass($1))");
        let mut lease = sync.pool.lease().await?;
        let comment = comment
            .in_catalog()
            .bind(&definition.queue)
            .fetch_optional(lease.begin());
        let row = comment.await.during(&task)?;
        lease.settle();
        let found = row.as_ref().map_or(Ok(""), |row| row.text(0));
        let found = found.during(&task)?;
        if found != definition.fingerprint() {
            return Err(SyncError::NotInstalled {
                table: sync.table.table.clone(),
                problem: if found.is_empty() {
                    "it has no triggers for sync"
                } else {
                    "its triggers for sync are those of other columns or another version"
                },
            });
        }
        Ok(Self {
            pool: sync.pool.clone(),
            claim: definition.claim(),
            finish: definition.finish(),
            fail: definition.fail(),
            forget: definition.forget(),
            definition,
        })
    }

    async fn lease(&self) -> Result<Lease, SyncError> {
        Ok(self.pool.lease().await?)
    }

    /// Runs one statement in a transaction of its own.
    async fn run(&self, task: &str, sql: &str, values: Vec<Value>) -> Result<Vec<Row>, SyncError> {
        let mut lease = self.lease().await?;
        let rows = run(lease.begin(), sql, values).await;
        // A statement that PostgreSQL has refused is over.
        if matches!(rows, Ok(_) | Err(DriverError::Server(_))) {
            lease.settle();
        }
        rows.during(task)
    }

    /// Claims up to `limit` rows that are due.
    pub(crate) async fn claim(
        &self,
        worker: i64,
        limit: usize,
    ) -> Result<Vec<ClaimedRow>, SyncError> {
        let task = "claiming rows of the queue";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values = vec![worker.into(), limit.into()];
        let rows = self.run(task, &self.claim, values).await?;
        let read = |row: &Row| {
            let content = match (row.get(2)?, row.get(3)?) {
                (None::<i64>, _) => Content::Unseen,
                (_, Some(text)) => Content::Text(text),
                (Some(bytes), None) => Content::TooLong(bytes),
            };
            Ok(ClaimedRow {
                id: row.get(0)?,
                version: row.get(1)?,
                content,
            })
        };
        rows.iter().map(read).collect::<Result<_, _>>().during(task)
    }

    /// Writes vectors, an empty one for a text without any, and removes the rows from the queue.
    /// Returns the number of rows that were removed: not those that have changed or are locked.
    pub(crate) async fn finish(
        &self,
        rows: &[&ClaimedRow],
        vectors: Vec<String>,
    ) -> Result<usize, SyncError> {
        let texts = rows.iter().map(|row| match &row.content {
            Content::Text(text) => text.clone(),
            Content::TooLong(_) | Content::Unseen => String::new(),
        });
        let values = vec![
            ids(rows),
            versions(rows),
            Value::Texts(texts.collect()),
            Value::Texts(vectors),
        ];
        let removed = self.run("writing vectors", &self.finish, values).await?;
        Ok(removed.len())
    }

    /// Counts a failed attempt of some rows, each with its reason.
    pub(crate) async fn fail(&self, failed: &[(&ClaimedRow, String)]) -> Result<(), SyncError> {
        let rows: Vec<_> = failed.iter().map(|(row, _)| *row).collect();
        let reasons = failed.iter().map(|(_, reason)| shortened(reason));
        let values = vec![ids(&rows), versions(&rows), Value::Texts(reasons.collect())];
        self.run("counting failed rows", &self.fail, values).await?;
        Ok(())
    }

    /// Removes rows from the queue that are no longer in the table.
    pub(crate) async fn forget(&self, rows: &[&ClaimedRow]) -> Result<(), SyncError> {
        let values = vec![ids(rows), versions(rows)];
        self.run("removing rows from the queue", &self.forget, values)
            .await?;
        Ok(())
    }

    /// Sets the end of the claims that a worker has of some rows.
    pub(crate) async fn extend(&self, worker: i64, rows: &[&ClaimedRow]) -> Result<(), SyncError> {
        self.hold(worker, rows, worker, CLAIM).await
    }

    /// Ends the claims that a worker has of some rows; they are due after a pause.
    pub(crate) async fn release(
        &self,
        worker: i64,
        rows: &[&ClaimedRow],
        pause: Duration,
    ) -> Result<(), SyncError> {
        self.hold(worker, rows, 0, pause).await
    }

    async fn hold(
        &self,
        worker: i64,
        rows: &[&ClaimedRow],
        next: i64,
        pause: Duration,
    ) -> Result<(), SyncError> {
        let Definition { queue, id_type, .. } = &self.definition;
        let sql = format!(
            "UPDATE {queue} q SET worker = $3::int4, due_at = now() + $4 * interval '1 ms'
             FROM (SELECT row_id FROM {queue} WHERE worker = $1::int4 AND row_id IN (
                     SELECT id::{id_type} FROM unnest($2::text[]) AS g (id))
                 FOR UPDATE SKIP LOCKED) l
             WHERE q.row_id = l.row_id"
        );
        let pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
        let values = vec![worker.into(), ids(rows), next.into(), pause.into()];
        self.run("extending claims", &sql, values).await?;
        Ok(())
    }

    /// Ends the claims of workers that have lost their connection.
    pub(crate) async fn reclaim(&self) -> Result<(), SyncError> {
        let queue = &self.definition.queue;
        // Workers behind a pooler that shares connections have no lock and a negative number.
        let sql = format!(
            "UPDATE {queue} q SET worker = 0, due_at = now()
             FROM (SELECT row_id FROM {queue} c WHERE due_at > now() AND worker > 0
                 AND NOT EXISTS (SELECT FROM pg_catalog.pg_locks l
                     WHERE l.locktype = 'advisory' AND l.classid = {LOCK_KEY}::oid
                     AND l.objid = c.worker::oid AND l.objsubid = 2 AND l.granted
                     AND l.database = (SELECT oid FROM pg_catalog.pg_database
                         WHERE datname = pg_catalog.current_database()))
                 FOR UPDATE SKIP LOCKED) l
             WHERE q.row_id = l.row_id"
        );
        self.run("ending claims of workers that are gone", &sql, Vec::new())
            .await?;
        Ok(())
    }

    /// Ends all claims of a worker.
    pub(crate) async fn leave(&self, worker: i64) -> Result<(), SyncError> {
        let queue = &self.definition.queue;
        let sql = format!(
            "UPDATE {queue} q SET worker = 0, due_at = now()
             FROM (SELECT row_id FROM {queue} WHERE worker = $1::int4 FOR UPDATE SKIP LOCKED) l
             WHERE q.row_id = l.row_id"
        );
        self.run("ending claims", &sql, vec![worker.into()]).await?;
        Ok(())
    }

    /// Puts rows into the queue that have no vector, or all rows, after an id. Returns the last id
    /// and the number of rows that were looked at; `None` at the end.
    pub(crate) async fn enqueue(
        &self,
        after: Option<&str>,
        every: bool,
        limit: i64,
    ) -> Result<Option<(String, u64)>, SyncError> {
        let Definition {
            table,
            id,
            id_type,
            text,
            vector,
            queue,
            failed,
            ..
        } = &self.definition;
        let mut condition = format!("t.{text}::text ~ '\\S'");
        if !every {
            let _ = write!(
                condition,
                " AND t.{vector} IS NULL
                 AND NOT EXISTS (SELECT FROM {failed} f WHERE f.row_id = t.{id})"
            );
        }
        let mut values: Vec<Value> = vec![limit.into()];
        if let Some(after) = after {
            let _ = write!(condition, " AND t.{id} > $2::text::{id_type}");
            values.push(after.into());
        }
        // The rows that the application has locked come with its own change, or in the next run.
        let sql = format!(
            "WITH page AS MATERIALIZED (
                 SELECT t.{id} AS row_id FROM {table} t WHERE {condition}
                 ORDER BY t.{id} LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
             ), queued AS (
                 INSERT INTO {queue} (row_id) SELECT row_id FROM page
                 ON CONFLICT (row_id) DO NOTHING
             )
             SELECT row_id::text, count(*) OVER () FROM page ORDER BY page.row_id DESC LIMIT 1"
        );
        let task = "queueing rows without a vector";
        let rows = self.run(task, &sql, values).await?;
        let last = rows
            .first()
            .map(|row| Ok((row.get(0)?, row.get::<i64>(1)?)));
        let last: Option<(String, i64)> = last.transpose().during(task)?;
        Ok(last.map(|(id, count)| (id, count.unsigned_abs())))
    }

    /// Counts the rows that `enqueue` would put into the queue.
    pub(crate) async fn count(&self, every: bool) -> Result<u64, SyncError> {
        let Definition {
            table,
            text,
            vector,
            ..
        } = &self.definition;
        let condition = if every {
            String::new()
        } else {
            format!(" AND {vector} IS NULL")
        };
        let sql = format!("SELECT count(*) FROM {table} WHERE {text}::text ~ '\\S'{condition}");
        let task = "counting rows without a vector";
        let rows = self.run(task, &sql, Vec::new()).await?;
        number(rows.first(), 0).during(task)
    }

    /// Puts the rows that have failed for good back into the queue.
    pub(crate) async fn retry(&self) -> Result<u64, SyncError> {
        let Definition {
            table,
            id,
            queue,
            failed,
            ..
        } = &self.definition;
        // A row that the application has locked stays; its change queues it anyway.
        let sql = format!(
            "WITH page AS MATERIALIZED (
                 SELECT f.row_id FROM {failed} f JOIN {table} t ON t.{id} = f.row_id
                 LIMIT {RETRY_ROWS} FOR NO KEY UPDATE OF t SKIP LOCKED
             ), queued AS (
                 INSERT INTO {queue} (row_id) SELECT row_id FROM page
                 ON CONFLICT (row_id) DO NOTHING
             ), removed AS (
                 DELETE FROM {failed} f USING page WHERE f.row_id = page.row_id RETURNING 1
             )
             SELECT count(*) FROM removed"
        );
        let task = "queueing failed rows";
        let gone = format!(
            "DELETE FROM {failed} f
             WHERE NOT EXISTS (SELECT FROM {table} t WHERE t.{id} = f.row_id)"
        );
        self.run(task, &gone, Vec::new()).await?;
        let mut all = 0;
        loop {
            let rows = self.run(task, &sql, Vec::new()).await?;
            let moved = number(rows.first(), 0).during(task)?;
            all += moved;
            if moved == 0 {
                return Ok(all);
            }
        }
    }

    pub(crate) async fn status(&self) -> Result<Status, SyncError> {
        let Definition { queue, failed, .. } = &self.definition;
        let sql = format!(
            "SELECT count(*), count(*) FILTER (WHERE attempts > 0),
                 (SELECT count(*) FROM {failed}),
                 extract(epoch FROM clock_timestamp() - min(changed_at))::float8
             FROM {queue}"
        );
        let task = "reading the figures of the queue";
        let rows = self.run(task, &sql, Vec::new()).await?;
        let row = rows.first();
        let oldest: Option<f64> = row.map_or(Ok(None), |row| row.get(3)).during(task)?;
        Ok(Status {
            backlog: number(row, 0).during(task)?,
            retrying: number(row, 1).during(task)?,
            failed: number(row, 2).during(task)?,
            oldest: oldest.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default()),
        })
    }

    pub(crate) async fn failures(&self, limit: u32) -> Result<Vec<FailedRows>, SyncError> {
        let sql = format!(
            "SELECT reason, count(*), min(row_id::text) FROM {} GROUP BY reason
             ORDER BY count(*) DESC, reason LIMIT $1",
            self.definition.failed
        );
        let task = "reading the reasons of failed rows";
        let rows = self.run(task, &sql, vec![i64::from(limit).into()]).await?;
        let read = |row: &Row| {
            Ok(FailedRows {
                reason: row.get(0)?,
                count: number(Some(row), 1)?,
                example: row.get(2)?,
            })
        };
        rows.iter().map(read).collect::<Result<_, _>>().during(task)
    }
}

async fn run(client: &mut Client, sql: &str, values: Vec<Value>) -> Result<Vec<Row>, DriverError> {
    let statement = query(sql).in_catalog();
    let statement = values.into_iter().fold(statement, Query::bind);
    statement.fetch_all(client).await
}

fn number(row: Option<&Row>, index: usize) -> Result<u64, DriverError> {
    let number: i64 = row.map_or(Ok(0), |row| row.get(index))?;
    Ok(number.unsigned_abs())
}

fn ids(rows: &[&ClaimedRow]) -> Value {
    Value::Texts(rows.iter().map(|row| row.id.clone()).collect())
}

fn versions(rows: &[&ClaimedRow]) -> Value {
    Value::Texts(rows.iter().map(|row| row.version.clone()).collect())
}

/// Shortens a reason, and removes what PostgreSQL has in no text.
fn shortened(reason: &str) -> String {
    let reason = reason.chars().filter(|letter| *letter != '\0');
    reason.take(MAX_REASON).collect()
}

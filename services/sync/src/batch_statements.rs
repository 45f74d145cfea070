//! The statements on batches of rows: a claim, and its ends.
//!
//! Rows are locked with `SKIP LOCKED` before they are changed, in the table first and in the queue
//! after it, as the triggers do: no statement here waits for the application, or the application for
//! more than one statement.

use std::{fmt::Write as _, time::Duration};

use crate::definition::Definition;

/// Time after which a claim ends, unless its worker extends it.
pub(crate) const CLAIM: Duration = Duration::from_secs(30);

/// Maximum size of the texts of a claim, in bytes, and of one text.
const MAX_TEXTS: usize = 4 << 20;
pub(crate) const MAX_TEXT: usize = 1 << 20;

/// Attempts after which a row has failed for good.
const MAX_ATTEMPTS: i64 = 8;

/// Maximum pause before the next attempt; it triples from a second on.
const MAX_PAUSE_SECONDS: u32 = 600;

// === impl Definition ===

/// The statements on batches. `given` are the rows of the batch.
impl Definition {
    fn given(&self, more: &str) -> String {
        let types = ["text[]"].repeat(more.split(", ").filter(|name| !name.is_empty()).count());
        let mut arrays = "$1::text[], $2::text[]".to_owned();
        for (index, kind) in types.iter().enumerate() {
            let _ = write!(arrays, ", ${}::{kind}", index + 3);
        }
        let comma = if more.is_empty() { "" } else { ", " };
        format!(
            "given AS MATERIALIZED (
                 SELECT g.id::{} AS row_id, g.version::bigint{comma}{more}
                 FROM unnest({arrays}) AS g (id, version{comma}{more})
             )",
            self.id_type
        )
    }

    /// Returns the rows of the batch that are still as they were claimed, as a lateral query.
    fn unchanged(&self) -> String {
        format!(
            "(SELECT * FROM {} WHERE row_id = g.row_id AND version = g.version
                 FOR UPDATE SKIP LOCKED)",
            self.queue
        )
    }

    pub(crate) fn claim(&self) -> String {
        let Self {
            table,
            id,
            text,
            queue,
            ..
        } = self;
        let claim = CLAIM.as_secs();
        // Rows are locked in the table, too: those that the application has locked could not be
        // written, and would be embedded in vain.
        format!(
            "WITH due AS MATERIALIZED (
                 SELECT row_id, version, due_at FROM {queue} WHERE due_at <= now()
                 ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
             ), seen AS MATERIALIZED (
                 SELECT due.*, t.bytes, t.text,
                     sum(coalesce(least(t.bytes, {MAX_TEXT}), 0)) OVER (
                         ORDER BY due_at, due.row_id ROWS UNBOUNDED PRECEDING) AS total
                 FROM due LEFT JOIN LATERAL (
                     SELECT coalesce(octet_length({text}::text), 0) AS bytes,
                         CASE WHEN coalesce(octet_length({text}::text), 0) <= {MAX_TEXT}
                             THEN coalesce({text}::text, '') END AS text
                     FROM {table} WHERE {id} = due.row_id FOR NO KEY UPDATE SKIP LOCKED
                 ) t ON true
             ), claimed AS (
                 UPDATE {queue} q SET worker = $1::int4, due_at = now() + interval '{claim} s'
                 FROM seen s WHERE q.row_id = s.row_id
                     AND s.total - coalesce(least(s.bytes, {MAX_TEXT}), 0) < {MAX_TEXTS}
                 RETURNING q.row_id
             )
             SELECT s.row_id::text, s.version::text, s.bytes, s.text
             FROM seen s JOIN claimed c ON c.row_id = s.row_id"
        )
    }

    pub(crate) fn finish(&self) -> String {
        let Self {
            table,
            id,
            text,
            vector,
            vector_type,
            queue,
            ..
        } = self;
        let given = self.given("text, vector");
        let unchanged = self.unchanged();
        format!(
            "WITH {given}, held AS MATERIALIZED (
                 SELECT g.* FROM given g CROSS JOIN LATERAL (
                     SELECT coalesce({text}::text, '') AS text FROM {table}
                     WHERE {id} = g.row_id FOR NO KEY UPDATE SKIP LOCKED
                 ) t WHERE t.text = g.text
             ), written AS (
                 UPDATE {table} t SET {vector} = nullif(g.vector, '')::{vector_type}
                 FROM held g WHERE t.{id} = g.row_id RETURNING g.row_id, g.version
             ), done AS MATERIALIZED (
                 SELECT g.row_id FROM written g CROSS JOIN LATERAL {unchanged} q
             )
             DELETE FROM {queue} q USING done WHERE q.row_id = done.row_id RETURNING 1"
        )
    }

    pub(crate) fn fail(&self) -> String {
        let Self { queue, failed, .. } = self;
        let given = self.given("reason");
        let unchanged = self.unchanged();
        format!(
            "WITH {given}, held AS MATERIALIZED (
                 SELECT g.row_id, g.reason, q.attempts + 1 AS attempts, q.changed_at
                 FROM given g CROSS JOIN LATERAL {unchanged} q
             ), kept AS (
                 UPDATE {queue} q SET attempts = h.attempts, reason = h.reason, worker = 0,
                     due_at = now() + least({MAX_PAUSE_SECONDS}, 3 ^ (h.attempts - 1))
                         * interval '1 s'
                 FROM held h WHERE q.row_id = h.row_id AND h.attempts < {MAX_ATTEMPTS}
             ), moved AS (
                 DELETE FROM {queue} q USING held h
                 WHERE q.row_id = h.row_id AND h.attempts >= {MAX_ATTEMPTS} RETURNING q.row_id
             )
             INSERT INTO {failed} AS f (row_id, changed_at, attempts, reason)
             SELECT h.row_id, h.changed_at, h.attempts, h.reason
             FROM held h JOIN moved m ON m.row_id = h.row_id
             ON CONFLICT (row_id) DO UPDATE SET changed_at = EXCLUDED.changed_at,
                 failed_at = now(), attempts = EXCLUDED.attempts, reason = EXCLUDED.reason"
        )
    }

    /// A row that the snapshot of this later statement lacks is gone: its insert would be older than
    /// the version that was claimed.
    pub(crate) fn forget(&self) -> String {
        let Self {
            table, id, queue, ..
        } = self;
        let given = self.given("");
        let unchanged = self.unchanged();
        format!(
            "WITH {given}, held AS MATERIALIZED (
                 SELECT g.row_id FROM given g CROSS JOIN LATERAL {unchanged} q
             )
             DELETE FROM {queue} q USING held h WHERE q.row_id = h.row_id
                 AND NOT EXISTS (SELECT FROM {table} t WHERE t.{id} = h.row_id)"
        )
    }
}

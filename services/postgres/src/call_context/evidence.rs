//! Facts about the statement of a call, for a receipt.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use aws_lc_rs::digest::{self, Context, SHA256, digest};
use ziggurat_runtime::lock;

use crate::{database::Database, driver::Row};

/// Number of rows that have a digest each.
const MAX_EACH: usize = 1000;

/// Bytes of the digest of a row that are kept.
const KEPT: usize = 8;

/// Largest row of which the digest is made at once, for which its values are joined: that takes a
/// third of the time.
const MAX_JOINED: usize = 16 << 10;

/// Query for the snapshot of a transaction, the end of the write-ahead log, and the version.
pub(crate) const SNAPSHOT: &str = "; SELECT pg_catalog.pg_current_snapshot(), \
     CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() \
     ELSE pg_catalog.pg_current_wal_insert_lsn() END, \
     pg_catalog.current_setting('server_version')";

/// A SHA-256.
pub type Digest = [u8; 32];

/// Collects the facts about the statement of a call. If a call runs several, the last one counts.
/// Clones share the facts.
#[derive(Clone)]
pub struct Evidence(Arc<Shared>);

struct Shared {
    wants_snapshot: bool,
    wants_each: bool,
    found: Mutex<Option<Found>>,
}

/// Facts so far.
struct Found {
    facts: Facts,
    rows: Context,
    /// Memory for the values of a row.
    joined: Vec<u8>,
    /// Digest of the last row, which the reader may leave out.
    last: Option<Digest>,
    is_over: bool,
}

/// Facts about a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// Name of the database.
    pub database: String,
    /// Mark of the role and the settings of the caller.
    pub identity: Option<String>,
    /// Digest of the text.
    pub text: Digest,
    /// Limit on the number of rows.
    pub limit: u32,
    /// Number of rows that were skipped.
    pub offset: u64,
    /// The snapshot, if it was wanted.
    pub snapshot: Option<Snapshot>,
    /// Id of the transaction and mark of the changed rows, of a write that was approved by them.
    pub change: Option<(u64, String)>,
    /// Number of rows that were read, without one that the reader left out.
    pub rows: u64,
    /// Digest of the digests of these rows.
    pub digest: Digest,
    /// The beginnings of the digests of the first rows, if they were wanted.
    pub each: Option<Vec<u8>>,
    /// True if there are more rows.
    pub is_truncated: bool,
    /// True if a mask held.
    pub is_masked: bool,
}

/// State of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// `pg_current_snapshot()`.
    pub snapshot: String,
    /// End of the write-ahead log; on a standby, of its replayed part.
    pub lsn: String,
    /// Version of PostgreSQL.
    pub version: String,
}

// === impl Evidence ===

impl Evidence {
    /// Collects facts, with the snapshot and a digest of each row if they are wanted.
    #[must_use]
    pub fn new(wants_snapshot: bool, wants_each: bool) -> Self {
        Self(Arc::new(Shared {
            wants_snapshot,
            wants_each,
            found: Mutex::new(None),
        }))
    }

    /// Returns whether a statement has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        lock(&self.0.found).is_some()
    }

    /// Returns the facts, if a statement ran.
    #[must_use]
    pub fn facts(&self) -> Option<Facts> {
        let mut found = lock(&self.0.found);
        let found = found.as_mut()?;
        found.keep_last();
        Some(Facts {
            digest: copied(&found.rows.clone().finish()),
            ..found.facts.clone()
        })
    }

    pub(crate) fn wants_snapshot(&self) -> bool {
        self.0.wants_snapshot
    }

    /// Begins with a statement, in place of an earlier one.
    pub(crate) fn begin(&self, database: &Database, text: &str, limit: u32, offset: u64) {
        let identity = database.acts().map(|acting| acting.mark().to_owned());
        let facts = Facts {
            database: database.name().to_owned(),
            identity,
            text: sha256(text.as_bytes()),
            limit,
            offset,
            snapshot: None,
            change: None,
            rows: 0,
            digest: Digest::default(),
            each: self.0.wants_each.then(Vec::new),
            is_truncated: false,
            is_masked: false,
        };
        *lock(&self.0.found) = Some(Found {
            facts,
            rows: Context::new(&SHA256),
            joined: Vec::new(),
            last: None,
            is_over: false,
        });
    }

    fn change(&self, change: impl FnOnce(&mut Found)) {
        if let Some(found) = &mut *lock(&self.0.found) {
            change(found);
        }
    }

    /// Notes the transaction and the mark of the changed rows.
    pub(crate) fn set_change(&self, transaction: u64, mark: &str) {
        self.change(|found| found.facts.change = Some((transaction, mark.to_owned())));
    }

    /// Takes the answer to the query for the snapshot.
    pub(crate) fn set_snapshot(&self, row: &Row) {
        let text = |column| row.text(column).map(str::to_owned);
        let (Ok(snapshot), Ok(lsn), Ok(version)) = (text(0), text(1), text(2)) else {
            return;
        };
        self.change(|found| {
            found.facts.snapshot = Some(Snapshot {
                snapshot,
                lsn,
                version,
            });
        });
    }

    /// Notes that columns are masked.
    pub(crate) fn masked(&self) {
        self.change(|found| found.facts.is_masked = true);
    }

    /// Takes a row as the reader gets it.
    pub(crate) fn row(&self, row: &Row) {
        self.change(|found| {
            if found.is_over {
                return;
            }
            found.keep_last();
            found.last = Some(found.digest_of(row));
        });
    }

    /// Leaves out the last row, and all that follow: the answer has no room for them.
    pub(crate) fn leave_out(&self) {
        self.change(|found| {
            found.last = None;
            found.is_over = true;
            found.facts.is_truncated = true;
        });
    }

    /// Notes the end of the rows.
    pub(crate) fn end(&self, has_more: bool) {
        self.change(|found| found.facts.is_truncated |= has_more);
    }
}

impl fmt::Debug for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evidence").finish_non_exhaustive()
    }
}

// === impl Found ===

impl Found {
    fn digest_of(&mut self, row: &Row) -> Digest {
        if row.size() > MAX_JOINED {
            let mut context = Context::new(&SHA256);
            write_values(row, |bytes| context.update(bytes));
            return copied(&context.finish());
        }
        self.joined.clear();
        write_values(row, |bytes| self.joined.extend_from_slice(bytes));
        sha256(&self.joined)
    }

    /// Adds the last row to the digest: the reader has kept it.
    fn keep_last(&mut self) {
        let Some(last) = self.last.take() else {
            return;
        };
        self.rows.update(&last);
        self.facts.rows += 1;
        let each = self.facts.each.as_mut();
        if let Some(each) = each.filter(|each| each.len() < MAX_EACH * KEPT) {
            each.extend_from_slice(&last[..KEPT]);
        }
    }
}

/// Writes the bytes that the digest of a row covers.
fn write_values(row: &Row, mut write: impl FnMut(&[u8])) {
    for value in row.values() {
        match value {
            None => write(&[0]),
            Some(value) => {
                write(&[1]);
                write(&(value.len() as u64).to_be_bytes());
                write(value);
            }
        }
    }
}

fn sha256(bytes: &[u8]) -> Digest {
    copied(&digest(&SHA256, bytes))
}

fn copied(digest: &digest::Digest) -> Digest {
    let mut sha = Digest::default();
    sha.copy_from_slice(digest.as_ref());
    sha
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt as _;

    use super::*;
    use crate::{call_context::CallContext, fixture::Fixture, rows::Rows, statement::Statement};

    async fn run(fixture: &Fixture, sql: &str, evidence: &Evidence) -> Rows {
        let pool = fixture.readable();
        let call = CallContext::default().with_evidence(evidence.clone());
        let statement = Statement::new(pool.database(), sql).expect(sql);
        let lease = pool.lease().await.expect("a connection").with_call(call);
        statement.run(lease).await.expect(sql)
    }

    #[tokio::test]
    async fn the_facts_are_those_of_the_rows_that_the_reader_kept() {
        let fixture = Fixture::new().await;
        let evidence = Evidence::new(true, true);
        let mut rows = run(
            &fixture,
            "SELECT g, NULL FROM generate_series(1, 3) g",
            &evidence,
        )
        .await;
        while rows.try_next().await.expect("a row").is_some() {}
        let all = evidence.facts().expect("facts");
        assert_eq!((all.rows, all.is_truncated), (3, false));
        let each = all.each.expect("one for each row");
        assert_eq!(each.len(), 3 * KEPT);
        let snapshot = all.snapshot.expect("a snapshot");
        assert!(snapshot.snapshot.contains(':') && snapshot.lsn.contains('/'));

        let mut rows = run(
            &fixture,
            "SELECT g, NULL FROM generate_series(1, 9) g",
            &evidence,
        )
        .await;
        for _ in 0..3 {
            rows.try_next().await.expect("a row");
        }
        rows.leave_out();
        rows.try_next().await.expect("a row");
        let two = evidence.facts().expect("facts");
        assert_eq!((two.rows, two.is_truncated), (2, true));
        assert_eq!(two.each.as_deref(), Some(&each[..2 * KEPT]));
        assert_ne!(two.digest, all.digest);
    }

    /// Returns the bytes of a value that a digest covers.
    fn covered(value: Option<&[u8]>) -> Vec<u8> {
        let Some(value) = value else { return vec![0] };
        let length = u64::try_from(value.len()).expect("small").to_be_bytes();
        [&[1], &length[..], value].concat()
    }

    #[tokio::test]
    async fn a_digest_covers_each_row_of_its_own_and_tells_null_from_an_empty_text() {
        let fixture = Fixture::new().await;
        let evidence = Evidence::new(false, true);
        let long = vec![b'x'; MAX_JOINED + 1];
        let sql = format!(
            "VALUES (1, NULL), (2, ''), (3, repeat('x', {}))",
            long.len()
        );
        let mut rows = run(&fixture, &sql, &evidence).await;
        while rows.try_next().await.expect("a row").is_some() {}
        let facts = evidence.facts().expect("facts");
        let values = [(b"1", None), (b"2", Some(&b""[..])), (b"3", Some(&*long))];
        let digests = values.map(|(id, text)| sha256(&[covered(Some(id)), covered(text)].concat()));
        assert_eq!(facts.digest, sha256(digests.as_flattened()));
        let each = facts.each.expect("one for each row");
        let starts: Vec<_> = digests.iter().map(|digest| &digest[..KEPT]).collect();
        assert_eq!(each.chunks(KEPT).collect::<Vec<_>>(), starts);
        assert_eq!(facts.snapshot, None);
    }

    #[tokio::test]
    async fn each_way_to_send_a_text_takes_the_snapshot_and_keeps_the_answer() {
        let fixture = Fixture::new().await;
        let evidence = Evidence::new(true, false);
        for (sql, count) in [
            ("SELECT 1", 1),
            ("SELECT 1 LIMIT 5", 1),
            ("WITH a AS (SELECT 1) SELECT * FROM a", 1),
            ("SHOW transaction_isolation", 1),
            ("EXPLAIN SELECT 1", 1),
            ("SELECT ';'", 1),
            ("VALUES (1), (2) FETCH FIRST ROW ONLY", 1),
            ("SELECT current_setting('transaction_isolation')", 1),
        ] {
            let mut rows = run(&fixture, sql, &evidence).await;
            let mut found = Vec::new();
            while let Some(row) = rows.try_next().await.expect(sql) {
                found.push(row.text(0).expect(sql).unwrap_or_default().to_owned());
            }
            assert_eq!(found.len(), count, "{sql}");
            let facts = evidence.facts().expect(sql);
            assert!(facts.snapshot.is_some(), "{sql}");
            assert_eq!(facts.rows, count as u64, "{sql}");
            if sql.contains("isolation") {
                assert_eq!(found, ["repeatable read"], "{sql}");
            }
        }
    }
}

//! The rows of a table before and after a statement.

use std::collections::BTreeSet;

use ziggurat_postgres::{
    driver::{Client, Row},
    error::DriverError,
};

use crate::{
    Reason, Text,
    capture::{
        connections::{Capture, Stop},
        describe::Stored,
        opening::{FACTS, MISSING, Opening},
    },
    change::literal,
};

impl Capture<'_> {
    /// Returns the rows of a table before and after, all or the ones with a condition.
    pub(super) async fn rows(
        &mut self,
        opening: &Opening,
        table: &Stored,
        condition: Option<&str>,
    ) -> Result<[Vec<Vec<Text>>; 2], Stop> {
        let condition = condition.map_or_else(String::new, |it| format!(" AND ({it})"));
        let most = u64::from(self.rules.max_rows) + 1;
        let (path, columns) = (&table.path, table.columns.join(", "));
        // The rows that the transaction has made: its own id is the newest there is, but for
        // subtransactions of it.
        let sql = format!(
            "SELECT {columns} FROM ONLY {path} AS t WHERE age(t.xmin) <= 0{condition} LIMIT {most}"
        );
        let after = self.values(Side::Writer, &sql).await?;
        if after.len() as u64 == most {
            return Ok([Vec::new(), after]);
        }
        // Rows with a deletion, an update or a lock since: by the transaction, or by others.
        let multixact = opening.multixact;
        let transaction = opening.transaction & 0xffff_ffff;
        let sql = format!(
            "SELECT t.ctid FROM ONLY {path} AS t \
             WHERE (age(t.xmax) BETWEEN 1 AND age('{transaction}'::xid) \
             OR mxid_age(t.xmax) BETWEEN 1 AND mxid_age('{multixact}'::xid)){condition}"
        );
        let candidates = places(self.reader.begin(), &sql).await;
        let candidates = candidates.map_err(|error| match error {
            DriverError::Oversized { .. } => Stop::Unseen(Reason::Rows(self.rules.max_rows)),
            error => error.into(),
        })?;
        if candidates.is_empty() {
            return Ok([Vec::new(), after]);
        }
        // Those that the writer still sees in their place were only locked, or others change them.
        let list = literal(&list(&candidates));
        let sql = format!("SELECT t.ctid FROM ONLY {path} AS t WHERE t.ctid = ANY ({list}::tid[])");
        let still = places(self.writer.begin(), &sql).await?;
        let gone: Vec<_> = candidates.difference(&still).collect();
        if gone.is_empty() {
            return Ok([Vec::new(), after]);
        }
        let list = literal(&self::list(gone));
        let sql = format!(
            "SELECT {columns} FROM ONLY {path} AS t \
             WHERE t.ctid = ANY ({list}::tid[]) LIMIT {most}"
        );
        Ok([self.values(Side::Reader, &sql).await?, after])
    }

    /// Reads rows as texts.
    async fn values(&mut self, side: Side, sql: &str) -> Result<Vec<Vec<Text>>, Stop> {
        let lease = match side {
            Side::Writer => &mut self.writer,
            Side::Reader => &mut self.reader,
        };
        let sets = lease.begin().ask_all(sql, &mut self.left).await;
        let sets = sets.map_err(|error| match error {
            DriverError::Oversized { .. } => Stop::Unseen(Reason::Bytes(self.rules.max_bytes)),
            error => error.into(),
        })?;
        let rows = sets.first().ok_or(MISSING)?;
        Ok(rows.iter().map(texts).collect::<Result<_, _>>()?)
    }
}

/// Connection of a capture.
#[derive(Clone, Copy, Debug)]
enum Side {
    Writer,
    Reader,
}

/// Reads the places of rows.
async fn places(client: &mut Client, sql: &str) -> Result<BTreeSet<String>, DriverError> {
    let sets = client.ask_all(sql, &mut FACTS.clone()).await?;
    let rows = sets.first().ok_or(MISSING)?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// Writes places as an array.
pub(super) fn list(places: impl IntoIterator<Item: AsRef<str>>) -> String {
    let places = places
        .into_iter()
        .map(|place| format!("\"{}\"", place.as_ref()));
    format!("{{{}}}", places.collect::<Vec<_>>().join(","))
}

fn texts(row: &Row) -> Result<Vec<Text>, DriverError> {
    let texts = (0..row.fields().len()).map(|at| {
        let value = row.value(at)?;
        let text = value.map(|bytes| str::from_utf8(bytes).map(Box::from));
        text.transpose().map_err(DriverError::value)
    });
    texts.collect()
}

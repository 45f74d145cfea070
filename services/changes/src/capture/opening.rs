//! The beginning of a run: the snapshot, and what the transaction has counted so far.

use std::{borrow::Cow, collections::HashMap};

use ziggurat_postgres::{driver::Row, error::DriverError, quoted};
use ziggurat_sql::{Lexer, Token};

use crate::{
    Reason,
    capture::{
        connections::{Capture, Stop},
        target::Target,
    },
    change::literal,
};

/// Most sequences that are looked at.
const MAX_SEQUENCES: usize = 2000;

/// Bytes of answers about definitions.
pub(super) const FACTS: usize = 16 << 20;

/// Number of added, changed and removed rows of each relation. PostgreSQL counts on from earlier
/// transactions of the session, and counts what a subtransaction has undone.
pub(super) type Counters = HashMap<u32, [u64; 3]>;

/// Facts from before the statement.
#[derive(Debug)]
pub(super) struct Opening {
    /// The id of the transaction.
    pub(super) transaction: u64,
    /// The name of the snapshot.
    snapshot: String,
    /// The next multixact.
    pub(super) multixact: u32,
    /// The beginning of the second in which it began, in UTC and in the zone of the session.
    pub(super) began: [String; 2],
    pub(super) counters: Counters,
    pub(super) sequences: LastValues,
    /// The OID of the table that an INSERT names.
    pub(super) inserts: Option<u32>,
    /// The version of PostgreSQL if the table that the text changes may be too large to be read through, and
    /// can return the places of the rows; else 0.
    pub(super) returns: i64,
}

/// The last value of each sequence, or the one before its first; `None` if there are too many.
pub(super) type LastValues = Option<HashMap<u32, i64>>;

/// INSERT with a list of columns, as a text has it.
#[derive(Debug)]
pub(super) struct Insert {
    /// The name of the table, quoted.
    table: String,
    /// The columns that the text may set.
    pub(super) columns: Vec<String>,
}

/// Counts rows of tables, of the catalogue too.
pub(super) const COUNTERS: &str = "SELECT c.oid, pg_stat_get_xact_tuples_inserted(c.oid), \
    pg_stat_get_xact_tuples_updated(c.oid), pg_stat_get_xact_tuples_deleted(c.oid) \
    FROM pg_class c WHERE c.relkind IN ('r', 'm') \
    AND pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid) \
    + pg_stat_get_xact_tuples_deleted(c.oid) > 0";

/// Lists the last values of sequences.
pub(super) const SEQUENCES: &str = "SELECT seqrelid, coalesce(\
    CASE WHEN has_sequence_privilege(seqrelid, 'USAGE') \
    AND has_sequence_privilege(seqrelid, 'SELECT') \
    THEN pg_sequence_last_value(seqrelid) END, greatest(-9223372036854775808, \
    least(9223372036854775807, seqstart::numeric - seqincrement))::bigint) \
    FROM pg_sequence LIMIT 2001";

/// A table with more than this part of the bytes that may be read through may be too large, beside
/// other ones.
const LARGE: u64 = 4;

/// Lists tables that can return the places of changed rows, with more bytes than a number.
const RETURNS: &str = "SELECT FROM pg_catalog.pg_class AS c WHERE c.relkind IN ('r', 'p') \
    AND NOT c.relhasrules AND NOT pg_catalog.row_security_active(c.oid) \
    AND pg_catalog.has_table_privilege(c.oid, 'SELECT') AND EXISTS (\
    SELECT FROM pg_catalog.pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary) \
    AND (SELECT pg_catalog.sum(pg_catalog.pg_relation_size(oid)) FROM (SELECT c.oid UNION \
    SELECT relid FROM pg_catalog.pg_partition_tree(c.oid)) AS part (oid)) >";

/// Commands that keep nothing of what they set: the transaction goes on as it was.
const APART: &str = "SAVEPOINT ziggurat; SET LOCAL search_path = pg_catalog, pg_temp";
const TOGETHER: &str = "ROLLBACK TO SAVEPOINT ziggurat; RELEASE SAVEPOINT ziggurat";

impl Capture<'_> {
    /// Begins the transaction of the writer.
    pub(super) async fn open(
        &mut self,
        named: Option<&Insert>,
        target: Option<&Target>,
    ) -> Result<Opening, Stop> {
        let (level, sequences) = self.level().await?;
        let lock = self.rules.lock_timeout.as_millis();
        let idle = self.rules.timeout.as_millis();
        let opening = self
            .writer
            .opening(&format!("BEGIN ISOLATION LEVEL {level} READ WRITE"));
        let named = named.map_or("NULL".to_owned(), |insert| literal(&insert.table));
        let target = target.map_or("NULL".to_owned(), |target| literal(&target.table));
        let large = self.rules.scan_bytes / LARGE;
        let sql = format!(
            "{opening}; SET LOCAL lock_timeout = {lock}; \
             SET LOCAL idle_in_transaction_session_timeout = {idle}; \
             SELECT pg_catalog.pg_current_xact_id(), pg_catalog.pg_export_snapshot(), \
             pg_catalog.mxid_age('1'), pg_catalog.current_setting('track_counts'), \
             pg_catalog.date_trunc('second', localtimestamp), \
             pg_catalog.to_regclass({named})::pg_catalog.oid, \
             CASE WHEN EXISTS ({RETURNS} {large} AND c.oid = pg_catalog.to_regclass({target})) \
             THEN pg_catalog.current_setting('server_version_num')::int8 ELSE 0 END; \
             {APART}; SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'; \
             SELECT date_trunc('second', now()); {COUNTERS}; {TOGETHER}"
        );
        let sets = self
            .writer
            .begin()
            .ask_all(&sql, &mut FACTS.clone())
            .await?;
        let [first, times, counters] = &*sets else {
            return Err(MISSING.into());
        };
        let (Some(row), Some(time)) = (first.first(), times.first()) else {
            return Err(MISSING.into());
        };
        if row.text(3)? != "on" {
            return Err(Stop::Unseen(Reason::Uncounted));
        }
        let age: i64 = row.get(2)?;
        let low = |wide: i64| u32::try_from(wide & 0xffff_ffff).unwrap_or_default();
        Ok(Opening {
            transaction: row.text(0)?.parse().map_err(DriverError::value)?,
            snapshot: row.get(1)?,
            multixact: low(age + 1),
            began: [time.get(0)?, row.get(4)?],
            counters: counted(counters)?,
            sequences,
            inserts: row.get(5)?,
            returns: row.get(6)?,
        })
    }

    /// Returns the level of isolation of the writer, and the last values of sequences. To ask for them
    /// locks them, so a transaction before the one of the statement does.
    async fn level(&mut self) -> Result<(&'static str, LastValues), Stop> {
        let opening = self.writer.opening("BEGIN READ ONLY");
        let sql = format!(
            "{opening}; SET LOCAL search_path = pg_catalog, pg_temp; \
             SELECT current_setting('default_transaction_isolation'); {SEQUENCES}; ROLLBACK"
        );
        let sets = self
            .writer
            .begin()
            .ask_all(&sql, &mut FACTS.clone())
            .await?;
        let [level, sequences] = &*sets else {
            return Err(MISSING.into());
        };
        let level = match level.first().ok_or(MISSING)?.text(0)? {
            "serializable" => "SERIALIZABLE",
            _ => "REPEATABLE READ",
        };
        Ok((level, last_values(sequences)?))
    }

    /// Begins the transaction of the reader, with the snapshot of the writer. Must come after the
    /// statement: the reader remembers which transaction is the newest.
    pub(super) async fn join(&mut self, opening: &Opening) -> Result<(), Stop> {
        let snapshot = &opening.snapshot;
        let begin = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT {}",
            literal(snapshot)
        );
        let sql = format!("{}; {FORMATS}", self.reader.opening(&begin));
        let joined = self.reader.begin().run(&sql).await;
        joined.map_err(|error| match error {
            DriverError::Server(error) if ["22023", "42704", "58P01"].contains(&&*error.code) => {
                Stop::Unseen(Reason::Snapshot)
            }
            error => error.into(),
        })
    }
}

/// Settings for one form of each value. A temporary table of the caller could have the name of one in
/// the catalogue, so these come last.
pub(super) const FORMATS: &str = "SET LOCAL search_path = pg_catalog, pg_temp; \
    SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = postgres; \
    SET LOCAL TimeZone = 'UTC'; SET LOCAL bytea_output = hex; SET LOCAL extra_float_digits = 1; \
    SET LOCAL lc_monetary = 'C'; SET LOCAL xmlbinary = base64";

pub(super) const MISSING: DriverError = DriverError::Protocol("a question has no answer");

/// Reads counters of relations.
pub(super) fn counted(rows: &[Row]) -> Result<Counters, DriverError> {
    let counters = rows.iter().map(|row| {
        let count = |at| row.get(at).map(|count: i64| count.unsigned_abs());
        Ok((row.get(0)?, [count(1)?, count(2)?, count(3)?]))
    });
    counters.collect()
}

/// Reads the last values of sequences, unless there are too many.
pub(super) fn last_values(rows: &[Row]) -> Result<LastValues, DriverError> {
    if rows.len() > MAX_SEQUENCES {
        return Ok(None);
    }
    let values = rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?)));
    values.collect::<Result<_, DriverError>>().map(Some)
}

/// Returns the INSERT of a text, if it has a list of columns and no other statement adds rows.
pub(super) fn inserted(text: &str) -> Option<Insert> {
    if Lexer::new(text).any(|token| token == Token::Symbol(b';')) {
        return None;
    }
    let mut tokens = Lexer::new(text).peekable();
    for keyword in ["insert", "into"] {
        let Some(Token::Word(word)) = tokens.next() else {
            return None;
        };
        word.eq_ignore_ascii_case(keyword).then_some(())?;
    }
    let mut table = quoted(&tokens.next()?.identifier()?);
    if tokens.peek() == Some(&Token::Symbol(b'.')) {
        tokens.next();
        table = format!("{table}.{}", quoted(&tokens.next()?.identifier()?));
    }
    if matches!(tokens.peek(), Some(Token::Word(word)) if word.eq_ignore_ascii_case("as")) {
        tokens.next();
        tokens.next();
    }
    (tokens.next()? == Token::Symbol(b'(')).then_some(())?;
    let mut columns = Vec::new();
    loop {
        columns.push(tokens.next()?.identifier()?.into_owned());
        match tokens.next()? {
            Token::Symbol(b',') => {}
            Token::Symbol(b')') => break,
            _ => return None,
        }
    }
    // ON CONFLICT may set more of them.
    let update = |token: &Token<'_>| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case("update"));
    let set = tokens.skip_while(|token| !update(token));
    let set = set.filter_map(Token::identifier).map(Cow::into_owned);
    columns.extend(set);
    Some(Insert { table, columns })
}

//! Read-only queries of this server, in one round trip.

use std::error::Error;

use tracing::warn;

pub use crate::driver::Value;
use crate::{
    driver::{Client, DriverError, Event, Row},
    error::{Phase, QueryError},
    pool::{Lease, Pool},
    statement_log::{Counts, StatementLog, commented},
};

/// Query in one round trip, with its settings and values.
#[derive(Debug)]
pub struct ReadOnlyQuery {
    /// Its name in the log.
    pub name: &'static str,
    /// A query that runs first, for settings of this transaction; its rows are ignored.
    pub before: Option<String>,
    /// The query itself.
    pub query: String,
    /// Values for `$1`, `$2` and so on.
    pub values: Vec<Value>,
}

/// Names of the types with these numbers, as `format_type` writes them.
const TYPE_NAMES: &str = "SELECT pg_catalog.format_type(oid::pg_catalog.oid, NULL) \
                          FROM pg_catalog.unnest($1) WITH ORDINALITY AS types (oid, place) \
                          ORDER BY place";

/// Lets PostgreSQL check a text, which it takes apart and does not run.
///
/// # Errors
/// Fails when PostgreSQL refuses the text, and when there is no connection.
pub async fn prove(lease: Lease, text: &str) -> Result<(), QueryError> {
    parse(lease, text).await.map(drop)
}

/// Returns the types of `$1`, `$2` and so on in a text, which PostgreSQL takes apart in a read-only
/// transaction and does not run.
///
/// # Errors
/// Fails when PostgreSQL refuses the text, and when there is no connection.
pub async fn parameter_types(pool: &Pool, text: &str) -> Result<Vec<String>, QueryError> {
    let types = parse(pool.lease().await?, text).await?;
    if types.is_empty() {
        return Ok(Vec::new());
    }
    let types = types.iter().map(ToString::to_string);
    let names = ReadOnlyQuery {
        name: "SELECT",
        before: None,
        query: TYPE_NAMES.to_owned(),
        values: vec![Value::Texts(types.collect())],
    };
    let name = |row: &Row| row.text(0).map(str::to_owned);
    names.read(pool.lease().await?, name).await
}

/// Lets PostgreSQL take a text apart, and returns the types of its parameters.
async fn parse(mut lease: Lease, text: &str) -> Result<Vec<u32>, QueryError> {
    let opening = lease.read_only_opening();
    let client = lease.begin();
    client.queue(&opening);
    client.queue_parse(text);
    client.queue("ROLLBACK");
    match parameters(client).await {
        Ok(types) => {
            lease.has_answered();
            lease.settle();
            Ok(types)
        }
        Err(error) => Err(restore(lease, QueryError::new(error, Phase::Parse, 0)).await),
    }
}

/// Reads the answers to a text that is taken apart.
async fn parameters(client: &mut Client) -> Result<Vec<u32>, DriverError> {
    client.flush().await?;
    let (mut types, mut failed) = (Vec::new(), None);
    loop {
        match client.next().await {
            Ok(Some(Event::Parameters(found))) => types = found,
            Ok(Some(_)) => {}
            Ok(None) => return failed.map_or(Ok(types), Err),
            // The transaction still has to end.
            Err(error @ DriverError::Server(_)) => {
                failed.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
}

// === impl ReadOnlyQuery ===

impl ReadOnlyQuery {
    /// Runs the query in a read-only transaction limited by the query timeout of the database, and
    /// reads its rows. Dropped before the end, it is cancelled.
    pub async fn read<T>(
        &self,
        mut lease: Lease,
        row: impl Fn(&Row) -> Result<T, DriverError>,
    ) -> Result<Vec<T>, QueryError> {
        let log = StatementLog::open(&lease, self.name, &self.query);
        let comment = log.comment(&lease);
        let mut read = self.send(&mut lease, &comment, &row).await;
        if let Err(error) = &read
            && lease.is_untested()
            && error.is_dead_connection()
        {
            // The connection died while it was idle.
            lease.renew().await?;
            read = self.send(&mut lease, &comment, &row).await;
        }
        log.close(read.as_ref().map(|rows| Counts::read(rows.len())));
        match read {
            Ok(rows) => {
                lease.settle();
                Ok(rows)
            }
            Err(error) => Err(restore(lease, error).await),
        }
    }

    async fn send<T>(
        &self,
        lease: &mut Lease,
        comment: &str,
        row: impl Fn(&Row) -> Result<T, DriverError>,
    ) -> Result<Vec<T>, QueryError> {
        let answer = if self.values.is_empty() {
            self.send_at_once(lease, comment, row).await
        } else {
            self.send_with_values(lease, comment, row).await
        };
        match answer {
            Ok(rows) => {
                lease.has_answered();
                Ok(rows)
            }
            Err(error) => Err(QueryError::new(error, Phase::Run, comment.len())),
        }
    }

    async fn send_at_once<T>(
        &self,
        lease: &mut Lease,
        comment: &str,
        row: impl Fn(&Row) -> Result<T, DriverError>,
    ) -> Result<Vec<T>, DriverError> {
        let opening = self.opening(lease);
        let query = &self.query;
        let session = lease.session();
        let (is_one, commands) = (session.takes_one_message(), session.prefix.commands);
        let client = lease.begin();
        let mut ours = 2 + commands + u32::from(self.before.is_some());
        if is_one {
            // PostgreSQL runs one message as one transaction.
            client.queue(&format!(
                "{comment}SET TRANSACTION READ ONLY; {opening}; {query}"
            ));
        } else {
            client.queue(&format!("{comment}BEGIN READ ONLY; {opening}"));
            // Repeated, since this message is already sent if the one before it fails.
            client.queue(&format!("{comment}SET TRANSACTION READ ONLY; {query}"));
            client.queue("COMMIT");
            ours += 4;
        }
        rows(client, ours, row).await
    }

    async fn send_with_values<T>(
        &self,
        lease: &mut Lease,
        comment: &str,
        row: impl Fn(&Row) -> Result<T, DriverError>,
    ) -> Result<Vec<T>, DriverError> {
        let opening = self.opening(lease);
        // The query is sent after the transaction is known to be read-only.
        lease
            .begin()
            .ask(&format!("{comment}BEGIN READ ONLY; {opening}"))
            .await?;
        let client = lease.begin();
        client.queue_with_values(&commented(comment, &self.query), &self.values);
        client.queue("COMMIT");
        rows(client, 0, row).await
    }

    fn opening(&self, lease: &Lease) -> String {
        let mut opening = String::new();
        let timeout = lease.database().query_timeout();
        lease.session().write_settings(timeout, &mut opening);
        if let Some(before) = &self.before {
            opening.push_str("; ");
            opening.push_str(before);
        }
        opening
    }
}

async fn rows<T>(
    client: &mut Client,
    ours: u32,
    row: impl Fn(&Row) -> Result<T, DriverError>,
) -> Result<Vec<T>, DriverError> {
    client.flush().await?;
    let mut rows = Vec::new();
    let mut completed = 0;
    while let Some(event) = client.next().await? {
        match event {
            Event::Completed { .. } => completed += 1,
            Event::Row(found) if completed == ours => rows.push(row(&found)?),
            Event::Oversized { bytes } => return Err(DriverError::Oversized { bytes }),
            Event::Row(_) | Event::Parameters(_) | Event::Columns(_) | Event::Ready => {}
        }
    }
    Ok(rows)
}

/// Returns the connection to the pool if it can be used again. Else the lease stays busy, and what
/// runs is cancelled.
async fn restore(mut lease: Lease, error: QueryError) -> QueryError {
    match &error {
        QueryError::Failed { report, .. } if !report.is_fatal() => {
            // Without a transaction, ROLLBACK only causes a warning.
            let client = lease.begin();
            client.queue("ROLLBACK");
            match client.drain().await {
                Ok(_) => lease.settle(),
                Err(lost) => {
                    lease.give_up();
                    warn!(
                        error = &lost as &dyn Error,
                        "cannot read the rest of a response"
                    );
                }
            }
        }
        QueryError::Failed { .. } | QueryError::Connection(DriverError::Io(_)) => lease.give_up(),
        _ => {}
    }
    error
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use ziggurat_telemetry::traces::Trace;

    use super::*;
    use crate::{
        call_context::{CallComment, CallContext},
        fixture::Fixture,
        pool::Pool,
    };

    async fn read(pool: &Pool, query: &str, values: &[Value]) -> Result<Vec<String>, QueryError> {
        let query = ReadOnlyQuery {
            name: "SELECT",
            before: None,
            query: query.to_owned(),
            values: values.to_vec(),
        };
        let lease = pool.lease().await?;
        query.read(lease, |row| Ok(row.text(0)?.to_owned())).await
    }

    #[tokio::test]
    async fn the_types_of_a_statement_are_told_without_running_it() {
        let mut fixture = Fixture::new().await;
        let outside = "CREATE TABLE t (id int, at timestamptz, tags text[]); CREATE SCHEMA far; \
                       CREATE TYPE far.\"Mood\" AS ENUM ('ok'); CREATE TABLE far.m (mood far.\"Mood\")";
        sqlx::raw_sql(outside)
            .execute(&mut fixture.outside)
            .await
            .expect("made");
        let pool = fixture.pool(|_| {});
        for (text, expected) in [
            ("SELECT 1", &[][..]),
            (
                "SELECT * FROM t WHERE id = $2 AND at > $1 AND tags && $3",
                &["timestamp with time zone", "integer", "text[]"],
            ),
            ("SELECT * FROM far.m WHERE mood = $1", &["far.\"Mood\""]),
            ("INSERT INTO t (id) VALUES ($1)", &["integer"]),
        ] {
            let types = parameter_types(&pool, text).await.expect(text);
            assert_eq!(types, expected, "{text}");
        }
        for text in ["SELECT nothing", "SELECT 1; SELECT 2"] {
            let error = parameter_types(&pool, text).await.expect_err(text);
            assert!(
                matches!(error, QueryError::Failed { .. }),
                "{text}: {error}"
            );
        }
        let rows = read(&pool, "SELECT count(*) FROM t", &[]).await;
        assert_eq!(rows.expect("a count"), ["0"], "nothing was inserted");
    }

    #[tokio::test]
    async fn a_comment_is_in_front_of_the_message_and_moves_no_position() {
        let fixture = Fixture::new().await;
        let plain = fixture.pool(|_| {});
        let comment = CallComment {
            caller: "local".to_owned(),
            ..CallComment::default()
        };
        let call = CallContext::new(Trace::off(), Some(comment));
        let commented = plain.clone().with_call(call);
        for (values, condition) in [(vec![], "true"), (vec![Value::from(1_i64)], "$1 = 1")] {
            let query = format!("SELECT current_query() WHERE {condition}");
            let [own] = &read(&plain, &query, &values).await.expect("a row")[..] else {
                panic!("{condition}");
            };
            let [named] = &read(&commented, &query, &values).await.expect("a row")[..] else {
                panic!("{condition}");
            };
            assert_eq!(*named, format!("/*caller='local'*/{own}"));

            let query = format!("SELECT nothing WHERE {condition}");
            let failed = async |pool| match read(pool, &query, &values).await {
                Err(QueryError::Failed { report, .. }) => report.position,
                other => panic!("{other:?}"),
            };
            assert_eq!(
                failed(&commented).await,
                failed(&plain).await,
                "{condition}"
            );
        }
    }

    #[test]
    fn without_a_comment_a_text_is_sent_as_it_is() {
        assert!(matches!(commented("", "SELECT"), Cow::Borrowed("SELECT")));
        assert_eq!(commented("/**/", "SELECT"), "/**/SELECT");
    }
}

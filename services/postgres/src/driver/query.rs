//! Statements with a value for each placeholder, for the stores.

use crate::driver::{Client, DriverError, Event, Row, Value};

/// Statement and the values of its placeholders.
#[derive(Clone, Debug)]
#[must_use = "a query is sent when it is executed or fetched"]
pub struct Query<'a> {
    /// The text.
    pub sql: &'a str,
    values: Vec<Value>,
    /// Runs before it in the same transaction, unless it is empty.
    guard: &'static str,
}

/// Sets the search path of one transaction. Where a database knows its callers, no role may execute
/// `set_config`; and outside of a block `SET LOCAL` would end before the text.
const CATALOG_ONLY: &str = "DO 'BEGIN SET LOCAL search_path = pg_catalog; END'";

/// Makes a statement without values.
pub fn query(sql: &str) -> Query<'_> {
    Query {
        sql,
        values: Vec::new(),
        guard: "",
    }
}

// === impl Query ===

impl Query<'_> {
    /// Adds the value of the next placeholder.
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Looks up names without a schema in `pg_catalog` only. In the path of the role, an operator that
    /// another role has created there may fit better, and would run with the rights of the role.
    pub fn in_catalog(mut self) -> Self {
        self.guard = CATALOG_ONLY;
        self
    }

    /// Runs it, and returns its rows.
    pub async fn fetch_all(self, client: &mut Client) -> Result<Vec<Row>, DriverError> {
        client.queue_first(self.guard, self.sql, &self.values, 0);
        client.flush().await?;
        client.rows().await
    }

    /// Runs it, and returns its first row.
    pub async fn fetch_optional(self, client: &mut Client) -> Result<Option<Row>, DriverError> {
        Ok(self.fetch_all(client).await?.into_iter().next())
    }

    /// Runs it, and returns the number of rows it changed.
    pub async fn execute(self, client: &mut Client) -> Result<u64, DriverError> {
        client.queue_first(self.guard, self.sql, &self.values, 0);
        client.flush().await?;
        let (mut changed, mut failed) = (0, None);
        loop {
            match client.next().await {
                Ok(None) => break,
                Ok(Some(Event::Completed { rows })) => changed = rows,
                Ok(Some(_)) => {}
                Err(error @ DriverError::Server(_)) => failed = Some(error),
                Err(error) => return Err(error),
            }
        }
        failed.map_or(Ok(changed), Err)
    }
}

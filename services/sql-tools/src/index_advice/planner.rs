//! Plans of a caller's statement, also as they were with indexes that do not exist.
//!
//! The statement does not run: PostgreSQL only plans it, in a read-only transaction that is rolled
//! back. A parameter such as `$1` needs no value, since the plan is the one for any value.
//! PostgreSQL 16 and later make it with `EXPLAIN (GENERIC_PLAN)`. Before, it is the plan of a
//! prepared statement under `plan_cache_mode = force_generic_plan`. A prepared statement outlives
//! its transaction, so it is removed in it.
//!
//! The extension `hypopg` keeps hypothetical indexes in the memory of a process of PostgreSQL, where
//! only EXPLAIN sees them. The connection is closed afterwards. Behind a pooler that shares
//! connections they are not used, because its connections are not closed.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Instant};

use serde_json::Value as Json;
use tracing::debug;
use ziggurat_postgres::{
    LOG_TARGET,
    call_context::CallContext,
    database::Database,
    driver::{Query, Row, Value, query},
    error::{DriverError, Phase, QueryError},
    pool::{Lease, Pool},
    quoted,
    single_round_trip::{ReadOnlyQuery, prove},
    statement::Statement,
};
use ziggurat_sql::Refusal;

/// Limit on the bytes of a plan.
const MAX_PLAN_BYTES: usize = 16 << 20;

const EXPLAIN: &str = "EXPLAIN (VERBOSE, FORMAT JSON) ";

const EXPLAIN_GENERIC: &str = "EXPLAIN (GENERIC_PLAN, VERBOSE, FORMAT JSON) ";

/// The prepared statement. Its name only has to differ from the names that other programs behind
/// the same pooler use.
const PREPARE: &str = "PREPARE ziggurat_planned AS ";

const DEALLOCATE: &str = "DEALLOCATE ziggurat_planned";

const COUNT_PARAMETERS: &str = "SELECT pg_catalog.cardinality(parameter_types)
    FROM pg_catalog.pg_prepared_statements WHERE name = 'ziggurat_planned'";

/// After an error inside of the transaction, undoes everything since the savepoint.
const BACK: &str = "ROLLBACK TO SAVEPOINT ziggurat_planner";

const FACTS: &str = "SELECT pg_catalog.current_setting('server_version_num')::int >= 160000,
        n.nspname, pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND (
            SELECT pg_catalog.bool_and(pg_catalog.has_function_privilege(p.oid, 'EXECUTE'))
            FROM pg_catalog.pg_proc p
            WHERE p.pronamespace = n.oid AND p.proname IN ('hypopg_create_index', 'hypopg_reset'))
    FROM (VALUES ('hypopg')) wanted (name)
    LEFT JOIN pg_catalog.pg_extension e ON e.extname = wanted.name
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace";

/// A statement that may be planned.
#[derive(Debug)]
pub(super) struct PlannedText {
    text: Arc<str>,
    call: CallContext,
}

/// Plans one statement on a connection.
#[derive(Debug)]
pub(super) struct Planner {
    lease: Lease,
    planned: PlannedText,
    hypothetical: Hypothetical,
    /// EXPLAIN has the option `GENERIC_PLAN`.
    has_generic_plan: bool,
    /// Hypothetical indexes may exist.
    is_changed: bool,
}

/// Use of hypothetical indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hypothetical {
    /// The extension is not installed.
    Absent,
    /// The role may not execute the functions of the extension.
    Denied,
    /// A pooler shares the connection with other programs.
    Shared,
    /// They can be used; the functions are in this schema.
    Usable(String),
}

// === impl PlannedText ===

impl PlannedText {
    /// Checks a text by the policy for statements that only read. It may be a statement that
    /// changes rows, since it does not run.
    pub(super) fn new(
        database: &Database,
        text: &str,
        call: CallContext,
    ) -> Result<Self, QueryError> {
        let is_end = |c: char| c == ';' || c.is_whitespace();
        let text = text.trim().trim_end_matches(is_end);
        if text.is_empty() {
            return Err(QueryError::Empty);
        }
        if database.masks().is_some() {
            // A plan tells how many rows have a value.
            let why = "index advice may not be used beside masked columns";
            return Err(Refusal::Masked(why.into()).into());
        }
        // By itself, and as it is sent: EXPLAIN hides the command from the policy.
        for command in ["", EXPLAIN] {
            Statement::wrapped(database, command, text, "").map(drop)?;
        }
        let text = text.into();
        Ok(Self { text, call })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

// === impl Planner ===

impl Planner {
    /// Lets PostgreSQL parse the text, which proves that it is one statement, and begins a
    /// transaction.
    pub(super) async fn begin(pool: &Pool, planned: PlannedText) -> Result<Self, QueryError> {
        let facts = ReadOnlyQuery {
            name: "index advice",
            before: None,
            query: FACTS.to_owned(),
            values: Vec::new(),
        };
        let facts = facts.read(pool.lease().await?, |row| {
            let is_allowed: Option<bool> = row.get(2)?;
            Ok((row.get(0)?, row.get::<Option<String>>(1)?, is_allowed))
        });
        let facts = facts.await?.into_iter().next();
        let (has_generic_plan, schema, is_allowed) =
            facts.ok_or_else(|| QueryError::value("no facts"))?;
        prove(pool.lease().await?, &planned.text).await?;
        let mut lease = pool.lease().await?;
        let hypothetical = match schema {
            None => Hypothetical::Absent,
            Some(_) if lease.is_shared() => Hypothetical::Shared,
            Some(_) if is_allowed != Some(true) => Hypothetical::Denied,
            Some(schema) => Hypothetical::Usable(schema),
        };
        let opening = format!(
            "{}; SET LOCAL plan_cache_mode = force_generic_plan; SAVEPOINT ziggurat_planner",
            lease.read_only_opening()
        );
        let client = lease.begin();
        client.set_max_row_bytes(MAX_PLAN_BYTES);
        let begun = client.ask(&opening).await;
        begun.map_err(|error| QueryError::new(error, Phase::Begin, 0))?;
        Ok(Self {
            lease,
            planned,
            hypothetical,
            has_generic_plan,
            is_changed: false,
        })
    }

    /// Returns whether hypothetical indexes can be used, or why not.
    pub(super) fn hypothetical(&self) -> &Hypothetical {
        &self.hypothetical
    }

    /// Returns the plan, as `EXPLAIN (VERBOSE, FORMAT JSON)` writes it. After an error of PostgreSQL
    /// the planner can still be used.
    pub(super) async fn plan(&mut self) -> Result<Json, QueryError> {
        let began = Instant::now();
        let database = Arc::clone(self.lease.database());
        let span = self.planned.call.begin(database.name(), &self.planned.text);
        let comment = self.planned.call.comment(span.as_ref());
        let planned = if self.has_generic_plan {
            self.explain(&comment).await
        } else {
            self.explain_prepared(&comment).await
        };
        debug!(
            target: LOG_TARGET,
            database = database.name(),
            command = "EXPLAIN",
            duration_ms = began.elapsed().as_secs_f64() * 1e3,
            is_ok = planned.is_ok(),
            "statement"
        );
        planned
    }

    /// Returns the plan as it was if these indexes existed, and no other hypothetical ones. Each is
    /// a `CREATE INDEX` of this server.
    pub(super) async fn plan_with(&mut self, indexes: Vec<String>) -> Result<Json, QueryError> {
        let Hypothetical::Usable(schema) = &self.hypothetical else {
            return Err(QueryError::value("no hypothetical indexes"));
        };
        let schema = quoted(schema);
        self.is_changed = true;
        self.ask(&format!("SELECT {schema}.hypopg_reset()"), Vec::new())
            .await?;
        let create = format!(
            "SELECT {schema}.hypopg_create_index(i) FROM pg_catalog.unnest($1::pg_catalog.text[]) i"
        );
        self.ask(&create, vec![Value::Texts(indexes)]).await?;
        self.plan().await
    }

    /// Runs a query of this server in the transaction, and returns its rows.
    pub(super) async fn ask(
        &mut self,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, QueryError> {
        let asked = values.into_iter().fold(query(sql), Query::bind);
        match asked.fetch_all(self.lease.begin()).await {
            Ok(rows) => Ok(rows),
            Err(error) => Err(self.back(error, 0).await),
        }
    }

    /// Ends the transaction. The connection returns to its pool, unless it has hypothetical indexes:
    /// then it is closed.
    pub(super) async fn end(mut self) -> Result<(), QueryError> {
        let ended = self.lease.begin().ask("ROLLBACK").await;
        ended.map_err(|error| QueryError::new(error, Phase::Commit, 0))?;
        if self.is_changed {
            self.lease.close_at_end();
        } else {
            self.lease.settle();
        }
        Ok(())
    }

    async fn explain(&mut self, comment: &str) -> Result<Json, QueryError> {
        let sql = format!("{comment}{EXPLAIN_GENERIC}{}", self.planned.text);
        let rows = self.lease.begin().ask(&sql).await;
        match rows.and_then(|rows| plan_of(&rows)) {
            Ok(plan) => Ok(plan),
            Err(error) => {
                let lead = comment.len() + EXPLAIN_GENERIC.len();
                Err(self.back(error, lead).await)
            }
        }
    }

    /// Reads the plan of a prepared statement. Its plan is kept, so each plan needs a new one.
    async fn explain_prepared(&mut self, comment: &str) -> Result<Json, QueryError> {
        let sql = format!("{comment}{PREPARE}{}", self.planned.text);
        if let Err(error) = self.lease.begin().ask(&sql).await {
            return Err(self.back(error, comment.len() + PREPARE.len()).await);
        }
        let plan = match self.explain_execute().await {
            Ok(plan) => Ok(plan),
            Err(error) => Err(self.back(error, 0).await),
        };
        let removed = self.lease.begin().ask(DEALLOCATE).await;
        removed.map_err(|error| QueryError::new(error, Phase::Run, 0))?;
        plan
    }

    async fn explain_execute(&mut self) -> Result<Json, DriverError> {
        let client = self.lease.begin();
        let rows = client.ask(COUNT_PARAMETERS).await?;
        let count: i64 = rows.first().map_or(Ok(0), |row| row.get(0))?;
        let values = vec!["NULL"; count.try_into().unwrap_or(0)].join(", ");
        let list = if count == 0 {
            values
        } else {
            format!("({values})")
        };
        let execute = format!("{EXPLAIN}EXECUTE ziggurat_planned{list}");
        plan_of(&client.ask(&execute).await?)
    }

    /// Classifies an error. After one of PostgreSQL it returns to the savepoint; if PostgreSQL has
    /// closed the connection, the next command fails.
    async fn back(&mut self, error: DriverError, lead: usize) -> QueryError {
        let error = QueryError::new(error, Phase::Run, lead);
        if let QueryError::Failed { .. } = &error {
            let returned = self.lease.begin().ask(BACK).await;
            return returned.map_or_else(|lost| QueryError::new(lost, Phase::Run, 0), |_| error);
        }
        error
    }
}

fn plan_of(rows: &[Row]) -> Result<Json, DriverError> {
    let row = rows.first().ok_or(DriverError::Protocol("no plan"))?;
    serde_json::from_str(row.text(0)?).map_err(DriverError::value)
}

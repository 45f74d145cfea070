//! Statements of callers for whom some columns are masked.

use std::sync::Arc;

use ziggurat_masking::plan;
use ziggurat_sql::{Refusal, explained};

use crate::{
    database::{CallerColumns, CallerMasks, ResultMasks, Taint},
    driver::{DriverError, Event, Field},
    error::{Phase, QueryError},
    pool::Pool,
    rows::Header,
    statement::{
        Access, MaskMode, Route,
        executor::{AttemptError, Execution, learn_types},
        masked_columns::{look_up, readable, role},
    },
};

/// Limit on the bytes of a plan; a query with a longer one is refused.
const MAX_PLAN_BYTES: usize = 8 << 20;

/// Commands that a caller with masks may use in a database that allows writes. Others can hide a text
/// that runs later.
const COMMANDS: [&str; 28] = [
    "SELECT",
    "VALUES",
    "TABLE",
    "WITH",
    "SHOW",
    "EXPLAIN",
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "TRUNCATE TABLE",
    "COMMENT",
    "ANALYZE",
    "REFRESH MATERIALIZED VIEW",
    "CREATE TABLE",
    "CREATE INDEX",
    "CREATE VIEW",
    "CREATE MATERIALIZED VIEW",
    "CREATE SEQUENCE",
    "ALTER TABLE",
    "ALTER INDEX",
    "ALTER VIEW",
    "ALTER SEQUENCE",
    "DROP TABLE",
    "DROP INDEX",
    "DROP VIEW",
    "DROP MATERIALIZED VIEW",
    "DROP SEQUENCE",
];

/// Masks of a statement.
pub(super) struct Masked {
    masks: Arc<CallerMasks>,
    columns: Arc<CallerColumns>,
    /// A table with masked columns that the text names.
    table: Option<String>,
    /// The plan decides.
    needs_plan: bool,
    /// Computed columns are masked too.
    pub(super) hides_computed: bool,
    /// Errors of PostgreSQL may have values in them.
    pub(super) hides_errors: bool,
}

/// SQLSTATE of a missing privilege.
const DENIED: &str = "42501";

/// Class of errors about names and syntax. Their messages have no values.
const NAMES: &str = "42";

// === impl Masked ===

impl Masked {
    /// Looks the columns up again if the result is of tables that are not known.
    async fn learn(&mut self, fields: &[Field], pool: &Pool) {
        if self.columns.know(fields) {
            return;
        }
        if let Some(newer) = look_up(&self.masks, pool).await {
            self.columns = newer;
        }
    }
}

/// Returns the columns of a result with their masks. Unknown types are looked up on another
/// connection, since this one may be in the middle of an answer.
///
/// `statements` is the name of a column with statements that are shown without their literals.
pub(super) async fn header(
    fields: &[Field],
    pool: &Pool,
    masked: Option<&mut Masked>,
    statements: Option<&str>,
) -> Header {
    learn_types(fields, pool).await;
    let masks = match masked {
        None => None,
        Some(masked) => {
            // Boxed: rare, and large.
            Box::pin(masked.learn(fields, pool)).await;
            masked.columns.masks(fields, masked.hides_computed)
        }
    };
    let masks = match statements {
        None => masks,
        Some(column) => Some(ResultMasks::with_statements(masks.as_ref(), fields, column)),
    };
    Header::new(fields, |oid| pool.catalogue().kind(oid), masks)
}

/// Returns an error without what could be a value.
pub(super) fn without_values(error: QueryError) -> QueryError {
    match error {
        QueryError::Failed { phase, report } => QueryError::Failed {
            phase,
            report: Box::new(report.without_values()),
        },
        error => error,
    }
}

fn refused(refusal: &plan::Refusal) -> QueryError {
    Refusal::Masked(refusal.to_string().into()).into()
}

impl Execution<'_> {
    /// Returns whether the plan of the text has to be read.
    pub(super) fn needs_plan(&self) -> bool {
        self.masked.as_ref().is_some_and(|it| it.needs_plan)
    }

    /// Judges the text by its names, if columns are masked for the caller.
    pub(super) async fn judge(&mut self) -> Result<(), QueryError> {
        let mode = self.statement.mask_mode;
        let masks = match self.lease.database().masks() {
            Some(masks) if mode != MaskMode::Off => Arc::clone(masks),
            _ => return Ok(()),
        };
        let columns = match masks.known(role(self.lease.database())) {
            Some(columns) => columns,
            None => look_up(&masks, &self.lease.pool())
                .await
                .ok_or(Refusal::NotReady)?,
        };
        let text = Arc::clone(&self.statement.text);
        let explains = explained(&text).is_some();
        let trusts_privileges = masks.trusts_privileges();
        let reads_plans = match mode {
            _ if trusts_privileges => false,
            MaskMode::Plan => true,
            MaskMode::Origin => false,
            _ => masks.reads_plans() || explains,
        };
        let is_of_caller = mode != MaskMode::Origin;
        let taint = columns.taint(&text, is_of_caller);
        let table = match taint.map_err(|it| refused(&it))? {
            Taint::None => None,
            Taint::Opaque(table) if reads_plans => {
                return Err(refused(&plan::Refusal::Form(table)));
            }
            Taint::Call(function) if reads_plans => {
                return Err(refused(&plan::Refusal::Function(function)));
            }
            Taint::Table(name) | Taint::Opaque(name) | Taint::Call(name) => Some(name),
        };
        self.check_command()?;
        let is_tainted = table.is_some();
        if let Some(table) = table.as_ref().filter(|_| reads_plans) {
            if !(self.statement.route.wraps() || explains) {
                return Err(refused(&plan::Refusal::NotAQuery(table.clone())));
            }
            if self.statement.is_bound() {
                return Err(refused(&plan::Refusal::Form(table.clone())));
            }
        }
        if is_tainted {
            // They could quote a value.
            self.statement.notices = None;
        }
        self.masked = Some(Masked {
            masks,
            columns,
            table,
            needs_plan: is_tainted && reads_plans,
            hides_computed: is_tainted && !reads_plans && !trusts_privileges,
            hides_errors: is_tainted,
        });
        Ok(())
    }

    /// Returns an error as the caller may see it.
    pub(super) async fn told(&self, error: QueryError) -> QueryError {
        let QueryError::Failed { phase, report } = &error else {
            return error;
        };
        let masked = self.masked.as_ref().filter(|it| it.hides_errors);
        let Some(masked) = masked else {
            return error;
        };
        if !(masked.masks.trusts_privileges() && report.sqlstate.starts_with(NAMES)) {
            return without_values(error);
        }
        let text = &self.statement.text;
        let is_query = self.statement.route.wraps() || explained(text).is_some();
        if report.sqlstate != DENIED || !is_query {
            return error;
        }
        let Some((relation, column)) = masked.columns.denied(&report.message, text) else {
            return error;
        };
        let readable = readable(&masked.masks, &self.lease.pool(), relation).await;
        if readable.is_empty() {
            return error;
        }
        QueryError::Failed {
            phase: *phase,
            report: Box::new(report.about_masked(column, &readable)),
        }
    }

    /// Refuses commands that can hide a text.
    fn check_command(&self) -> Result<(), QueryError> {
        let statement = &self.statement;
        if statement.access == Access::ReadOnly {
            return Ok(());
        }
        if statement.route == Route::Script {
            return Err(Refusal::Several.into());
        }
        let command = &*statement.command;
        if COMMANDS.contains(&command) {
            return Ok(());
        }
        Err(refused(&plan::Refusal::Function(command.to_owned())))
    }

    /// Reads the plan of the text in the open transaction, and ends that if the text is refused.
    pub(super) async fn check_masks(&mut self) -> Result<(), AttemptError> {
        if !self.needs_plan() {
            return Ok(());
        }
        let checked = self.read_plan().await;
        let Some(masked) = &mut self.masked else {
            return Ok(());
        };
        match checked {
            Ok((plan, fields)) => {
                let table = masked.table.as_deref().unwrap_or_default();
                let plan = plan.as_deref().unwrap_or_default();
                match masked.columns.check_plan(plan, &fields, table) {
                    Ok(()) => {
                        masked.hides_errors = false;
                        Ok(())
                    }
                    Err(refusal) => Err(self.refuse(refused(&refusal)).await),
                }
            }
            Err(error) => {
                let error = QueryError::new(error, Phase::Parse, 0);
                Err(self.stop(error, false, true).await)
            }
        }
    }

    /// Returns the plan of the text, and the columns of its result; of an EXPLAIN, of the query
    /// that it is about.
    async fn read_plan(&mut self) -> Result<(Option<String>, Arc<[Field]>), DriverError> {
        let text = Arc::clone(&self.statement.text);
        let query = explained(&text);
        let mut fields = self.fields.clone().unwrap_or_default();
        let comment = &self.comment;
        let explain = format!(
            "{comment}EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) {}",
            query.unwrap_or(&text)
        );
        let client = self.lease.begin();
        client.set_max_row_bytes(MAX_PLAN_BYTES);
        client.set_large_rows(None);
        client.set_notices(None);
        client.queue("SET LOCAL jit = off");
        if let Some(query) = query {
            client.queue_parse(query);
            client.flush().await?;
            while let Some(event) = client.next().await? {
                if let Event::Columns(found) = event {
                    fields = found;
                }
            }
        }
        client.queue(&explain);
        client.flush().await?;
        let mut plan = None;
        while let Some(event) = client.next().await? {
            if let Event::Row(row) = event {
                // A text that PostgreSQL would make several statements of has several plans.
                plan = if plan.is_none() {
                    Some(row.text(0)?.to_owned())
                } else {
                    Some(String::new())
                };
            }
        }
        Ok((plan, fields))
    }
}

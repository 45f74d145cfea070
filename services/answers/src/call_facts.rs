//! Facts about a call that only its tool learns.

use std::{
    mem,
    sync::{Arc, Mutex},
};

use ziggurat_calls::{activity::CallEntry, limits::Refused};
use ziggurat_databases::Current;
use ziggurat_mcp::{Caller, Reported, ToolRequest};
use ziggurat_postgres::{
    call_context::CallContext,
    database::Database,
    error::QueryError,
    pool::{Lease, LeaseError},
};
use ziggurat_runtime::lock;
use ziggurat_telemetry::traces::Trace;

use crate::CallLimits;

/// Facts about a call that only its tool learns, for records and metrics.
///
/// An observer of the calls stores it in the extensions of the caller and reads it when the call
/// has ended. Without an observer there is none, and nothing is noted. It also tells the tool the
/// context for its statements, and the limits of the caller.
#[derive(Clone, Debug, Default)]
pub struct CallFacts(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    facts: Mutex<Facts>,
    context: CallContext,
    limits: CallLimits,
    entry: CallEntry,
}

/// The facts about a call so far.
#[derive(Debug, Default)]
pub struct Facts {
    /// The database.
    pub database: Option<Arc<Database>>,
    /// The number of rows of the result.
    pub rows: Option<u64>,
    /// The SQLSTATE of the error.
    pub code: Option<String>,
    /// The reason for an error, if it is a particular one.
    pub reason: Option<ErrorReason>,
}

/// A reason for an error that a tool reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorReason {
    /// A rule of this server forbids the statement, or PostgreSQL because it may only read.
    Refused,
    /// The caller may not use the database, or its password is wrong.
    Denied,
    /// The limit with this name was reached.
    Limited(&'static str),
    /// The statement took too long.
    Timeout,
}

// === impl CallFacts ===

impl CallFacts {
    /// Makes the facts of a call, whose statements have a context, whose caller has limits, and which
    /// has an entry in the list of running statements.
    #[must_use]
    pub fn new(context: CallContext, limits: CallLimits, entry: CallEntry) -> Self {
        Self(Arc::new(Shared {
            facts: Mutex::default(),
            context,
            limits,
            entry,
        }))
    }

    /// Returns the entry of the call in the list of running statements.
    #[must_use]
    pub fn entry(&self) -> &CallEntry {
        &self.0.entry
    }

    /// Returns the context for the statements of a caller's call.
    #[must_use]
    pub fn context(caller: &Caller) -> CallContext {
        let facts: Option<&Self> = caller.extension();
        facts
            .map(|facts| facts.0.context.clone())
            .unwrap_or_default()
    }

    /// Returns the trace of a caller's call, for its requests to providers.
    #[must_use]
    pub fn trace(caller: &Caller) -> Trace {
        let facts: Option<&Self> = caller.extension();
        facts
            .map(|facts| facts.0.context.trace())
            .unwrap_or_default()
    }

    /// Returns the limits of a caller.
    #[must_use]
    pub fn limits(caller: &Caller) -> CallLimits {
        let facts: Option<&Self> = caller.extension();
        facts
            .map(|facts| facts.0.limits.clone())
            .unwrap_or_default()
    }

    /// Returns the limits of the caller of this call.
    #[must_use]
    pub fn own_limits(&self) -> &CallLimits {
        &self.0.limits
    }

    /// Returns the limit on the cost of a statement of the caller.
    #[must_use]
    pub fn max_cost(caller: &Caller) -> Option<f64> {
        caller.extension::<Self>()?.0.limits.max_cost()
    }

    /// Waits until the caller may run a statement in a database, but no longer than for a
    /// connection, and checks that it may be sent rows and bytes today. From now on the statement is
    /// in the list of those that run, without its text if that is empty.
    ///
    /// # Errors
    /// Fails if a limit of the caller is reached.
    pub async fn admit(
        caller: &Caller,
        database: &Database,
        statement: &str,
    ) -> Result<(), Reported> {
        let Some(facts) = caller.extension::<Self>() else {
            return Ok(());
        };
        let admitted = facts.admit_statement(database, statement).await;
        admitted.map_err(|refused| Reported::new(refused.to_string()))
    }

    /// Waits like [`admit`](Self::admit) with a statement of the operator, of which only administrators
    /// see the text in the list.
    ///
    /// # Errors
    /// Fails if a limit of the caller is reached.
    pub async fn admit_of_operator(
        caller: &Caller,
        database: &Database,
        statement: &str,
    ) -> Result<(), Reported> {
        if let Some(facts) = caller.extension::<Self>() {
            facts.0.entry.conceal();
        }
        Self::admit(caller, database, statement).await
    }

    /// Waits like [`admit`](Self::admit), for a caller that is not one of the protocol.
    ///
    /// # Errors
    /// Fails if a limit of the caller is reached.
    pub async fn admit_statement(
        &self,
        database: &Database,
        statement: &str,
    ) -> Result<(), Refused> {
        self.0.entry.wait(database.name(), statement);
        let patience = database.settings().lease_timeout;
        let admitted = self.0.limits.admit(patience).await;
        admitted.inspect_err(|refused| self.set_reason(ErrorReason::Limited(refused.key())))
    }

    /// Waits for a connection for the statement of a caller's call, which runs then.
    ///
    /// # Errors
    /// Fails if there is no connection.
    pub async fn lease(caller: &Caller, current: &Current) -> Result<Lease, LeaseError> {
        let lease = current.pool().lease().await?;
        Self::runs(caller);
        Ok(lease)
    }

    /// Notes that a statement of a caller's call runs, or gets its connection at once.
    pub fn runs(caller: &Caller) {
        if let Some(facts) = caller.extension::<Self>() {
            facts.0.entry.run();
        }
    }

    /// Returns the context for the statements of this call.
    #[must_use]
    pub fn own_context(&self) -> &CallContext {
        &self.0.context
    }

    /// Returns the facts of a call, if it has an observer.
    #[must_use]
    pub fn of(request: &ToolRequest) -> Option<&Self> {
        request.identity()
    }

    /// Takes the facts, at the end of the call.
    #[must_use]
    pub fn take(&self) -> Facts {
        mem::take(&mut *lock(&self.0.facts))
    }

    /// Returns the reason for an error so far.
    #[must_use]
    pub fn reason(&self) -> Option<ErrorReason> {
        lock(&self.0.facts).reason
    }

    /// Sets the database.
    pub fn set_database(&self, database: &Arc<Database>) {
        lock(&self.0.facts).database = Some(Arc::clone(database));
    }

    /// Counts rows that are sent, and the bytes of their text, for the limits of the caller and the
    /// list of running statements.
    pub fn count(&self, rows: u64, bytes: usize) {
        self.0.limits.count(rows, bytes);
        self.0.entry.count(rows, bytes);
    }

    /// Sets the number of rows of the result.
    pub fn set_rows(&self, rows: u64) {
        lock(&self.0.facts).rows = Some(rows);
    }

    /// Sets the reason for an error.
    pub fn set_reason(&self, reason: ErrorReason) {
        lock(&self.0.facts).reason = Some(reason);
    }

    /// Notes the error of a statement.
    pub fn set_error(&self, error: &QueryError) {
        let mut facts = lock(&self.0.facts);
        facts.reason = match error {
            QueryError::Refused(_) => Some(ErrorReason::Refused),
            QueryError::TooCostly { .. } => Some(ErrorReason::Limited("max_cost")),
            QueryError::Silent => Some(ErrorReason::Timeout),
            QueryError::Failed { report, .. } => {
                facts.code = Some(report.sqlstate.clone());
                match &*report.sqlstate {
                    // A transaction that may only read.
                    "25006" => Some(ErrorReason::Refused),
                    // A call that is cancelled is dropped and reports nothing.
                    "57014" => Some(ErrorReason::Timeout),
                    _ => None,
                }
            }
            _ => None,
        };
    }
}

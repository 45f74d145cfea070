//! Facts about a statement for the program.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, OnceLock},
    task::Poll,
};

use http::{HeaderValue, StatusCode, header::RETRY_AFTER};
use ziggurat_answers::CallFacts;
use ziggurat_audit::Record;
use ziggurat_calls::activity::CancelledBy;
use ziggurat_http::{ErrorAndCode, Refusal};
use ziggurat_layers::reject::Rejection;
use ziggurat_mcp::Outcome;
use ziggurat_postgres::database::Database;

/// Seconds after which a client may try again when no record can be written.
const RETRY_SECONDS: u16 = 5;

/// Observes one request. The program adds it to the extensions of the request, and reads it after
/// the response was sent; by default nothing is observed.
#[derive(Clone, Debug, Default)]
pub struct ObservedQuery {
    facts: CallFacts,
    record: Option<Record>,
    outcome: Arc<OnceLock<Outcome>>,
}

/// A statement was cancelled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cancelled(CancelledBy);

// === impl Cancelled ===

impl Cancelled {
    /// The code for programs.
    pub(crate) const CODE: &str = "cancelled";

    /// Returns the sentence for the caller.
    pub(crate) fn message(self) -> &'static str {
        self.0.message()
    }
}

// === impl ObservedQuery ===

impl ObservedQuery {
    /// Observes a request with these facts, which have the limits of the caller, and a record of the
    /// audit trail if there is one.
    #[must_use]
    pub fn new(facts: CallFacts, record: Option<Record>) -> Self {
        Self {
            facts,
            record,
            outcome: Arc::default(),
        }
    }

    /// Returns the facts.
    #[must_use]
    pub fn facts(&self) -> &CallFacts {
        &self.facts
    }

    /// Returns the outcome; `None` if the response was refused, or not sent to its end.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome.get().copied()
    }

    /// Notes the statement and its database.
    pub(crate) fn begin(&self, database: &Arc<Database>, statement: &str) {
        self.facts.set_database(database);
        if let Some(record) = &self.record {
            record.database(database.name());
            record.statement(statement);
        }
    }

    /// Waits until the audit trail says that the statement is about to run, if that is required.
    pub(crate) async fn open(&self) -> Result<(), Refusal<ErrorAndCode>> {
        let Some(record) = &self.record else {
            return Ok(());
        };
        record.open().await.map_err(|_| {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            let seconds = HeaderValue::from(RETRY_SECONDS);
            Rejection::new(status, "audit_unavailable", "Audit is unavailable")
                .with_header(RETRY_AFTER, seconds)
                .into()
        })
    }

    /// Runs a part of the work for the statement, unless it is cancelled; then that part is dropped.
    pub(crate) async fn or_cancelled<F: Future>(&self, work: F) -> Result<F::Output, Cancelled> {
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(by) = self.facts.entry().poll_cancelled(cx) {
                self.end(Outcome::Cancelled);
                return Poll::Ready(Err(Cancelled(by)));
            }
            work.as_mut().poll(cx).map(Ok)
        })
        .await
    }

    /// Notes the outcome; only the first counts.
    pub(crate) fn end(&self, outcome: Outcome) {
        self.outcome.set(outcome).ok();
    }
}

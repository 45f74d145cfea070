//! Ends the transaction of a statement.

use std::error::Error;

use tracing::warn;

use crate::{
    driver::DriverError,
    error::{Phase, QueryError},
    statement::{
        Access, Route,
        executor::{AttemptError, Execution},
    },
};

impl Execution<'_> {
    /// Ends the transaction, and resets the session unless a pooler shares it or it was a query.
    pub(super) fn queue_ending(&mut self, route: Route) {
        let is_shared = self.lease.session().is_shared;
        let is_read_only = self.statement.access == Access::ReadOnly;
        let is_undone = route == Route::Trial || is_shared && is_read_only;
        let is_kept = is_shared || self.is_pipelined(route);
        let client = self.lease.begin();
        client.queue(if is_undone { "ROLLBACK" } else { "COMMIT" });
        if !is_kept {
            client.queue("DISCARD ALL");
        }
    }

    /// Undoes the transaction, and also resets the session if the text may have run in it.
    fn queue_undoing(&mut self) {
        let may_have_run = self.statement.limit_on_changes().is_some();
        let is_shared = self.lease.session().is_shared;
        let client = self.lease.begin();
        client.queue("ROLLBACK");
        if may_have_run && !is_shared {
            client.queue("DISCARD ALL");
        }
    }

    /// Reads the answers to the commands that end a statement.
    pub(super) async fn end(&mut self) -> Result<(), AttemptError> {
        let ended = async {
            let client = self.lease.begin();
            client.flush().await?;
            client.rows().await
        };
        if let Err(error) = ended.await {
            let error = QueryError::new(error, Phase::Commit, 0);
            return Err(self.stop(error, false, false).await);
        }
        self.lease.has_answered();
        self.lease.settle();
        Ok(())
    }

    /// Restores the connection after a failed statement if possible; `has_begun` means that a
    /// transaction is open.
    pub(super) async fn stop(
        &mut self,
        error: QueryError,
        is_unfit: bool,
        has_begun: bool,
    ) -> AttemptError {
        let QueryError::Failed { report, .. } = &error else {
            if matches!(&error, QueryError::Connection(DriverError::Io(_))) {
                self.lease.give_up();
            }
            // Else the state of the server is unknown: the lease stays busy, so its statement is
            // cancelled and the connection closed.
            return AttemptError::Failed(error);
        };
        let is_intervention = report.is_intervention();
        if report.is_fatal() {
            self.lease.give_up();
            return AttemptError::Failed(error);
        }
        self.lease.has_answered();
        if has_begun {
            self.queue_undoing();
        }
        if let Err(lost) = self.lease.begin().drain().await {
            self.lease.give_up();
            warn!(
                error = &lost as &dyn Error,
                "cannot read the rest of a response"
            );
            return AttemptError::Failed(error);
        }
        self.lease.settle();
        if is_unfit && !is_intervention {
            AttemptError::Unfit
        } else {
            AttemptError::Failed(error)
        }
    }

    /// Ends the transaction of a statement that is refused.
    pub(super) async fn refuse(&mut self, error: QueryError) -> AttemptError {
        self.queue_undoing();
        match self.lease.begin().drain().await {
            Ok(_) => {
                self.lease.has_answered();
                self.lease.settle();
                AttemptError::Failed(error)
            }
            Err(lost) => AttemptError::Failed(QueryError::new(lost, Phase::Begin, 0)),
        }
    }
}

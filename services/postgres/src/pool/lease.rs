//! A connection that belongs to its holder.

use std::{sync::Arc, time::Duration};

use tracing::trace;

use crate::{
    LOG_TARGET,
    call_context::CallContext,
    database::Database,
    driver::Client,
    pool::{
        Inner, LeaseError, Pool, Session, inner::HeldConnection, reaper::CleanupJob, wait::Wait,
    },
};

/// Time that PostgreSQL has to report its own timeout, before a statement is given up. The answers
/// have this time at least, also after a long wait for the connection.
const GRACE: Duration = Duration::from_secs(3);

/// Connection that belongs to its holder until it is dropped.
///
/// A lease dropped between statements returns its connection to the pool. In the middle of a
/// statement (see `Lease::begin`) the statement is cancelled and the connection closed.
#[derive(Debug)]
pub struct Lease {
    /// `None` only while it is being dropped.
    held: Option<HeldConnection>,
    pool: Arc<Inner>,
    state: State,
    /// The connection was idle before, and has not answered since.
    is_untested: bool,
    /// The caller's wait for this lease.
    wait: Wait,
    /// The call that its statements run for.
    call: CallContext,
    /// No statement of this lease was answered yet.
    is_first: bool,
    /// All messages are of one statement, and share its time.
    is_limited: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between statements and outside of transactions.
    Settled,
    /// A statement may be running.
    Busy,
    /// Between statements, but its session must not be used again.
    Spent,
    /// The connection is closed by the server, or unusable.
    Broken,
}

// === impl Lease ===

impl Lease {
    /// Makes one of a connection, which may have been idle before, after this wait for it.
    pub(super) fn new(
        held: HeldConnection,
        pool: Arc<Inner>,
        (is_untested, wait): (bool, Wait),
        call: CallContext,
    ) -> Self {
        Self {
            held: Some(held),
            pool,
            state: State::Settled,
            is_untested,
            wait,
            call,
            is_first: true,
            is_limited: false,
        }
    }

    /// Lends the connection to a statement.
    ///
    /// Until [`settle`](Self::settle) is called after its end, dropping the lease cancels the
    /// statement and closes the connection. So an error, or a dropped future, needs no other
    /// cleanup.
    pub fn begin(&mut self) -> &mut Client {
        self.state = State::Busy;
        if !self.is_limited {
            self.set_patience(self.database().query_timeout());
        }
        &mut self.held_mut().connection.client
    }

    /// Limits the time of all that follows on this lease: it is one statement with this timeout.
    pub(crate) fn limit(&mut self, timeout: Option<Duration>) {
        self.is_limited = true;
        self.set_patience(timeout);
    }

    /// Sets how long PostgreSQL may take: its own timeout ends a statement earlier. For the first
    /// statement of a lease the time includes the wait for the connection.
    fn set_patience(&mut self, timeout: Option<Duration>) {
        let waited = self.is_first.then(|| self.wait.since.elapsed());
        let patience = timeout.map(|timeout| {
            let left = (timeout + GRACE).saturating_sub(waited.unwrap_or_default());
            left.max(GRACE)
        });
        let client = &mut self.held_mut().connection.client;
        client.set_patience(patience);
    }

    /// Returns the commands that begin a read-only transaction, limited by the query timeout.
    #[must_use]
    pub fn read_only_opening(&self) -> String {
        self.opening("BEGIN READ ONLY")
    }

    /// Returns the commands that begin a transaction with a command, limited by the query timeout.
    #[must_use]
    pub fn opening(&self, begin: &str) -> String {
        let mut opening = format!("{begin}; ");
        let timeout = self.database().query_timeout();
        self.session().write_settings(timeout, &mut opening);
        opening
    }

    /// Returns whether a pooler shares the connection with other programs.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.session().is_shared
    }

    /// Returns the properties of its session that statements depend on.
    pub(crate) fn session(&self) -> &Session {
        let held = self.held.as_ref().expect("held until it is dropped");
        &held.connection.session
    }

    /// Marks that no statement runs and no transaction is open.
    pub fn settle(&mut self) {
        self.state = State::Settled;
    }

    /// Marks that no statement runs, and that the connection must be closed.
    pub fn close_at_end(&mut self) {
        self.state = State::Spent;
    }

    /// Marks that the connection is unusable, and nothing can be cancelled.
    pub(crate) fn give_up(&mut self) {
        self.state = State::Broken;
    }

    /// Marks that the connection has answered.
    pub(crate) fn has_answered(&mut self) {
        self.is_untested = false;
        self.is_first = false;
    }

    /// Returns whether the connection was idle before and has not answered since: it may be closed.
    pub(crate) fn is_untested(&self) -> bool {
        self.is_untested
    }

    /// Replaces a dead connection.
    pub(crate) async fn renew(&mut self) -> Result<(), LeaseError> {
        let until = self.wait.end_of_connecting();
        let mut fresh = self.pool.connect(until).await?;
        self.is_untested = false;
        self.state = State::Settled;
        let connection = &mut self.held_mut().connection;
        fresh.permit = connection.permit.take();
        *connection = fresh;
        Ok(())
    }

    /// Sets the call that its statements run for.
    #[must_use]
    pub fn with_call(mut self, call: CallContext) -> Self {
        self.call = call;
        self
    }

    /// Returns the call that its statements run for.
    pub(crate) fn call(&self) -> &CallContext {
        &self.call
    }

    /// Returns the database it is connected to.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        &self.pool.database
    }

    /// Returns the pool, which knows where its statements are recorded.
    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.pool
    }

    /// Returns the process id of the connection in PostgreSQL.
    pub(crate) fn process(&self) -> i32 {
        self.held
            .as_ref()
            .expect("held until it is dropped")
            .connection
            .process
    }

    /// Returns the pool it came from.
    #[must_use]
    pub fn pool(&self) -> Pool {
        Pool {
            inner: Arc::clone(&self.pool),
            call: self.call.clone(),
        }
    }

    fn held_mut(&mut self) -> &mut HeldConnection {
        self.held.as_mut().expect("held until it is dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else {
            return;
        };
        let process = held.connection.process;
        trace!(target: LOG_TARGET, process, state = ?self.state, "connection given back");
        match self.state {
            State::Settled => self.pool.take_back(held),
            State::Busy => {
                let pool = Arc::clone(&self.pool);
                self.pool.send(CleanupJob::Cancel { held, pool });
            }
            State::Spent => self.pool.send(CleanupJob::Close(held.connection)),
            State::Broken => drop(held),
        }
    }
}

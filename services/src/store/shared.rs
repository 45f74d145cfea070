//! What replicas know together: who is logged in, what they have selected, who has failed, and
//! what must not happen twice.
//!
//! Every request of a session asks for it, so that what one replica was told holds for the next
//! request at any other. Many requests ask in one statement (see [`Clerk`]); the rest is rare
//! enough to go its own way. Windows of failed logins go by the clock of PostgreSQL, which all
//! replicas have in common.

mod clerk;
mod logins;
mod spent;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};
use ziggurat_layers::bearer::TokenHash;

use super::{StateDatabase, StoreError, conversation::storable, postgres::within};
use crate::pg::driver::query;

use self::clerk::Ask;
pub use self::{
    clerk::{Answer, Clerk, LookUp},
    logins::Attempt,
};

/// How many sessions one user may have, as on a server that stands alone.
const MAX_PER_USER: i64 = 64;

/// How many may ask for a session at a time; one more is told that it cannot be known.
const WAITING: usize = 4096;

/// What replicas know together. Clones know the same.
#[derive(Clone, Debug)]
pub struct Shared {
    state: StateDatabase,
    asks: mpsc::Sender<Ask>,
    /// Unbounded, but there are no more than users.
    ended: mpsc::UnboundedSender<String>,
}

/// A session as all replicas know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedSession {
    /// Who has logged in.
    pub user: Arc<str>,
    /// When the account was made: another of the same name is another account.
    pub account_made: Option<Timestamp>,
    /// When it ends.
    pub ends: Timestamp,
    /// The database it uses, once it has selected one.
    pub selection: Option<Arc<str>>,
}

// === impl Shared ===

impl Shared {
    /// Shares what is in this database, and makes the one who looks things up.
    pub fn new(state: StateDatabase) -> (Self, Clerk) {
        let (asks, inbox) = mpsc::channel(WAITING);
        let (ended, users) = mpsc::unbounded_channel();
        let clerk = Clerk::new(state.clone(), inbox, users);
        (Self { state, asks, ended }, clerk)
    }

    /// Asks what a token stands for at this moment.
    pub fn look_up(&self, token: TokenHash) -> LookUp {
        let (answer, hears) = oneshot::channel();
        // If there is no room the answer is dropped, which is one as well.
        let _ = self.asks.try_send(Ask { token, answer });
        LookUp::new(hears)
    }

    /// Opens a session, and ends the oldest of a user who has too many. Says whether it did: an
    /// account that is locked has none.
    ///
    /// # Errors
    /// When the database did not do it.
    pub async fn open_session(
        &self,
        token: TokenHash,
        session: &SharedSession,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut lease = self.state.front_lease().await?;
        let sweep = query(
            "DELETE FROM ziggurat.sessions WHERE ends_at <= $1 OR token IN ( \
             SELECT token FROM ziggurat.sessions WHERE username = $2 \
             ORDER BY opened_at DESC, token OFFSET $3)",
        )
        .bind(now.as_second())
        .bind(storable(session.user.to_string()))
        .bind(MAX_PER_USER - 1);
        within(sweep.execute(lease.begin())).await?;
        let insert = query(
            "INSERT INTO ziggurat.sessions (token, username, account_made, ends_at) \
             SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT FROM ziggurat.failed_accounts \
             WHERE username = $2 AND account_made IS NOT DISTINCT FROM $3 AND is_locked)",
        )
        .bind(&token.as_bytes()[..])
        .bind(storable(session.user.to_string()))
        .bind(session.account_made.map(Timestamp::as_second))
        .bind(session.ends.as_second());
        let inserted = within(insert.execute(lease.begin())).await?;
        lease.settle();
        Ok(inserted > 0)
    }

    /// Has a session use a database from now on, at every replica. Says whether there is such a
    /// session.
    ///
    /// # Errors
    /// When the database did not do it.
    pub async fn select(&self, token: TokenHash, name: &str) -> Result<bool, StoreError> {
        let mut lease = self.state.front_lease().await?;
        let query = query("UPDATE ziggurat.sessions SET selection = $1 WHERE token = $2")
            .bind(storable(name.to_owned()))
            .bind(&token.as_bytes()[..]);
        let done = within(query.execute(lease.begin())).await?;
        lease.settle();
        Ok(done > 0)
    }

    /// Ends all sessions of a user, as soon as the database can be reached.
    pub fn end_sessions_of(&self, user: &str) {
        // Once the clerk has gone nobody has sessions here.
        let _ = self.ended.send(storable(user.to_owned()));
    }
}

//! What replicas know together: who is logged in, what they have selected, who has failed, and
//! what must not happen twice.
//!
//! Every request of a session asks for it, so that what one replica was told holds for the next
//! request at any other. Many requests ask in one statement (see [`SessionBatcher`]); the rest is rare
//! enough to go its own way. When a session or a window of failed logins ends is decided by the
//! clock of PostgreSQL, which all replicas have in common.

mod logins;
mod session_batcher;
mod spent;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};
use ziggurat_layers::bearer::TokenHash;
pub(super) use ziggurat_postgres::driver::{DriverError, query};

use super::{StateDatabase, StoreError, conversation::storable, postgres::within};

use self::session_batcher::Ask;
pub use self::{
    logins::Attempt,
    session_batcher::{Answer, LookUp, SessionBatcher},
};

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
    /// For how much longer it is good, by the clock of the database.
    pub left: Duration,
    /// The database it uses, once it has selected one.
    pub selection: Option<Arc<str>>,
}

/// A session that is to be opened.
#[derive(Clone, Copy, Debug)]
pub struct NewSession<'a> {
    /// Name of the user that has logged in.
    pub user: &'a str,
    /// Time the account was made.
    pub account_made: Option<Timestamp>,
    /// For how long the session is good, in seconds.
    pub seconds: i64,
    /// Sessions the user may have, this one included.
    pub max_per_user: usize,
}

// === impl Shared ===

impl Shared {
    /// Shares what is in this database, and makes the one who looks things up.
    pub fn new(state: StateDatabase) -> (Self, SessionBatcher) {
        let (asks, inbox) = mpsc::channel(WAITING);
        let (ended, users) = mpsc::unbounded_channel();
        let clerk = SessionBatcher::new(state.clone(), inbox, users);
        (Self { state, asks, ended }, clerk)
    }

    /// Asks what a token stands for at this moment.
    pub fn look_up(&self, token: TokenHash) -> LookUp {
        let (answer, hears) = oneshot::channel();
        // If there is no room the answer is dropped, which is one as well.
        let _ = self.asks.try_send(Ask { token, answer });
        LookUp::new(hears)
    }

    /// Opens a session, and ends the oldest of a user who has too many. Says when it ends; an
    /// account that is locked gets none.
    ///
    /// # Errors
    /// When the database did not do it.
    pub async fn open_session(
        &self,
        token: TokenHash,
        new: &NewSession<'_>,
    ) -> Result<Option<Timestamp>, StoreError> {
        let user = storable(new.user.to_owned());
        let mut lease = self.state.front_lease().await?;
        let insert = query(
            "INSERT INTO ziggurat.sessions (token, username, account_made, ends_at) \
             SELECT $1, $2, $3, \
             pg_catalog.floor(pg_catalog.date_part('epoch', statement_timestamp()))::bigint + $4 \
             WHERE NOT EXISTS (SELECT FROM ziggurat.failed_accounts \
             WHERE username = $2 AND account_made IS NOT DISTINCT FROM $3 AND is_locked) \
             RETURNING ends_at",
        )
        .bind(&token.as_bytes()[..])
        .bind(&user)
        .bind(new.account_made.map(Timestamp::as_second))
        .bind(new.seconds);
        let row = within(insert.fetch_optional(lease.begin())).await?;
        let ends: Option<i64> = row.map(|row| row.get(0)).transpose()?;
        // Afterwards, so that of two logins at the same time one sees both sessions.
        let sweep = query(
            "DELETE FROM ziggurat.sessions WHERE ends_at <= \
             pg_catalog.floor(pg_catalog.date_part('epoch', statement_timestamp()))::bigint \
             OR token IN (SELECT token FROM ziggurat.sessions WHERE username = $1 \
             ORDER BY opened_at DESC, token OFFSET $2)",
        )
        .bind(&user)
        .bind(i64::try_from(new.max_per_user).unwrap_or(i64::MAX));
        within(sweep.execute(lease.begin())).await?;
        lease.settle();
        let ends = ends.map(Timestamp::from_second).transpose();
        Ok(ends.map_err(DriverError::value)?)
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

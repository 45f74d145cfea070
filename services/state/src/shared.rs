//! State that replicas share: sessions, selected databases, failed logins, used tickets and usage.
//!
//! Every request of a session reads it, so that a change at one replica holds for the next request
//! at any other. Many requests share one statement (see [`SessionBatcher`]); other operations are
//! rare and use their own. The clock of PostgreSQL, common to all replicas, decides when a session
//! or a window of failed logins ends.

mod leases;
mod logins;
mod session_batcher;
#[cfg(test)]
mod tests;
mod usage;
mod used_tickets;

use std::{collections::HashMap, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};
use ziggurat_layers::bearer::TokenHash;
use ziggurat_postgres::driver::{DriverError, Row, query};

use crate::{StateDatabase, StoreError, conversation::storable};

use self::session_batcher::LookUpRequest;
pub use self::{
    leases::CallLease,
    logins::Attempt,
    session_batcher::{Answer, LookUp, SessionBatcher},
    usage::{CallerUsage, UsageExchange, UsagePage},
};

/// Maximum number of waiting look-ups; any further one gets [`Answer::Unknown`].
const MAX_WAITING: usize = 4096;

/// Accesses the state that replicas share. Clones access the same state.
#[derive(Clone, Debug)]
pub struct Shared {
    state: StateDatabase,
    questions: mpsc::Sender<LookUpRequest>,
    /// Unbounded, but limited by the number of users.
    ended: mpsc::UnboundedSender<String>,
}

/// A session that all replicas share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedSession {
    /// Name of the user that has logged in; without a meaning for an API token.
    pub user: Arc<str>,
    /// Id of the account, because a new account may get the name of a deleted one; `None` in a session
    /// of an earlier version, and for an API token.
    pub account: Option<Arc<str>>,
    /// Creation time of the account, for accounts with their names as ids.
    pub account_made: Option<Timestamp>,
    /// API token that was exchanged for this session, if it is not of a user.
    pub api_token: Option<TokenHash>,
    /// Grant of the sign-in with a browser that it was opened for, if any.
    pub grant: Option<[u8; 16]>,
    /// Time at which its user signed in, or it was opened for an API token.
    pub signed_in_at: Timestamp,
    /// Time at which it ends.
    pub ends_at: Timestamp,
    /// Time until the session expires, by the clock of the database.
    pub left: Duration,
    /// Name of the selected database, if any.
    pub selection: Option<Arc<str>>,
}

/// A session to open.
#[derive(Clone, Copy, Debug)]
pub struct NewSession<'a> {
    /// Name of the user that has logged in, or another name for what its sessions are counted by.
    pub user: &'a str,
    /// Id of the account, unless the session is of an API token.
    pub account: Option<&'a str>,
    /// Time the account was made.
    pub account_made: Option<Timestamp>,
    /// API token that is exchanged for this session, if it is not of a user.
    pub api_token: Option<TokenHash>,
    /// Grant of the sign-in with a browser that it is opened for, if any.
    pub grant: Option<[u8; 16]>,
    /// Time at which the user signed in, if it was before.
    pub signed_in_at: Option<Timestamp>,
    /// Lifetime of the session, in seconds.
    pub seconds: i64,
    /// Maximum number of sessions of the user, including this one.
    pub max_per_user: usize,
}

// === impl Shared ===

impl Shared {
    /// Uses this database, and makes the task that looks up sessions.
    pub fn new(state: StateDatabase) -> (Self, SessionBatcher) {
        let (questions, inbox) = mpsc::channel(MAX_WAITING);
        let (ended, users) = mpsc::unbounded_channel();
        let batcher = SessionBatcher::new(state.clone(), inbox, users);
        (
            Self {
                state,
                questions,
                ended,
            },
            batcher,
        )
    }

    /// Looks up the session of a token.
    pub fn look_up(&self, token: TokenHash) -> LookUp {
        let (answer, receiver) = oneshot::channel();
        // If the queue is full, the sender is dropped, and the caller gets `Answer::Unknown`.
        let _ = self.questions.try_send(LookUpRequest { token, answer });
        LookUp::new(receiver)
    }

    /// Opens a session, and ends the oldest of a user that has too many. Returns its end; a locked
    /// account gets no session.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn open_session(
        &self,
        token: TokenHash,
        new: &NewSession<'_>,
    ) -> Result<Option<Timestamp>, StoreError> {
        let user = storable(new.user.to_owned());
        let insert = query(
            "INSERT INTO ziggurat.sessions (token, username, account_made, ends_at, api_token, \
             account, grant_id, signed_in_at) SELECT $1, $2, $3, \
             pg_catalog.floor(pg_catalog.date_part('epoch', statement_timestamp()))::bigint + $4, \
             $5, $6, $7, $8 WHERE NOT EXISTS (SELECT FROM ziggurat.failed_accounts \
             WHERE username = $2 AND account_made IS NOT DISTINCT FROM $3 AND is_locked) \
             RETURNING ends_at",
        )
        .bind(&token.as_bytes()[..])
        .bind(&user)
        .bind(new.account_made.map(Timestamp::as_second))
        .bind(new.seconds)
        .bind(new.api_token.as_ref().map(|token| &token.as_bytes()[..]))
        .bind(new.account.map(|id| storable(id.to_owned())))
        .bind(new.grant.as_ref().map(|grant| &grant[..]))
        .bind(new.signed_in_at.map(Timestamp::as_second));
        let ends: Option<i64> = self.state.value(insert).await?;
        // Runs after the insert, so that one of two parallel logins sees both sessions.
        let sweep = query(
            "DELETE FROM ziggurat.sessions WHERE ends_at <= \
             pg_catalog.floor(pg_catalog.date_part('epoch', statement_timestamp()))::bigint \
             OR token IN (SELECT token FROM ziggurat.sessions WHERE username = $1 \
             ORDER BY opened_at DESC, token OFFSET $2)",
        )
        .bind(&user)
        .bind(i64::try_from(new.max_per_user).unwrap_or(i64::MAX));
        self.state.execute(sweep).await?;
        let ends = ends.map(Timestamp::from_second).transpose();
        Ok(ends.map_err(DriverError::value)?)
    }

    /// Ends a session for all replicas. Returns its grant, if it has one.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn end_session(&self, token: TokenHash) -> Result<Option<[u8; 16]>, StoreError> {
        let query = query(
            "DELETE FROM ziggurat.sessions WHERE token = $1 \
             RETURNING pg_catalog.encode(grant_id, 'base64')",
        );
        let rows = self.state.rows(query.bind(&token.as_bytes()[..])).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let grant = row.get::<Option<String>>(0)?;
        Ok(grant.map(|_| bytes(row, 0)).transpose()?)
    }

    /// Selects the database of a session, for all replicas. Returns whether the session exists.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn select(&self, token: TokenHash, name: &str) -> Result<bool, StoreError> {
        let query = query("UPDATE ziggurat.sessions SET selection = $1 WHERE token = $2")
            .bind(storable(name.to_owned()))
            .bind(&token.as_bytes()[..]);
        Ok(self.state.execute(query).await? > 0)
    }

    /// Ends all sessions of a user now, for all replicas.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn end_all_sessions_of(&self, user: &str) -> Result<(), StoreError> {
        let query =
            query("DELETE FROM ziggurat.sessions WHERE username = $1 AND api_token IS NULL")
                .bind(storable(user.to_owned()));
        self.state.execute(query).await.map(drop)
    }

    /// Returns the number of sessions of each user who has some, at all replicas.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn session_counts(&self) -> Result<HashMap<String, u64>, StoreError> {
        let query = query(
            "SELECT username, pg_catalog.count(*) FROM ziggurat.sessions \
             WHERE api_token IS NULL AND ends_at > \
             pg_catalog.date_part('epoch', statement_timestamp()) GROUP BY username",
        );
        let rows = self.state.rows(query).await?;
        let counts = rows.iter().map(|row| {
            let count: i64 = row.get(1)?;
            let count = u64::try_from(count).map_err(DriverError::value)?;
            Ok((row.get(0)?, count))
        });
        counts.collect()
    }

    /// Ends all sessions of a user, as soon as the database is reachable.
    pub fn end_sessions_of(&self, user: &str) {
        // After the batcher has stopped, this replica accepts no session.
        let _ = self.ended.send(storable(user.to_owned()));
    }
}

/// Reads bytes, such as a digest, from a column in base64.
fn bytes<const N: usize>(row: &Row, index: usize) -> Result<[u8; N], DriverError> {
    let bytes = STANDARD.decode(row.text(index)?);
    let bytes = bytes.map_err(DriverError::value)?;
    <[u8; N]>::try_from(&*bytes).map_err(DriverError::value)
}

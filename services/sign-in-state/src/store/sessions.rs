//! Sessions of browsers.

use std::time::Duration;

use ziggurat_mcp_auth::{Digest, Seconds, Session};
use ziggurat_state::StoreError;

use crate::store::{
    NOTED, SignInStore,
    columns::{Columns as _, bytes, moment, number, origin},
};

// === impl SignInStore ===

impl SignInStore {
    pub(super) async fn insert_session(&self, session: &Session) -> Result<(), StoreError> {
        let mut writing = self.tables.write().await?;
        // 50 at most for a person, with the new one.
        writing
            .rows(
                "DELETE FROM oauth_sessions WHERE hash IN ( \
                 SELECT hash FROM oauth_sessions WHERE person = $1 \
                 ORDER BY seen_at DESC, hash LIMIT 1000000 OFFSET 49)",
                [(&session.person).into()],
            )
            .await?;
        let [provider, subject] = origin(session.origin.as_ref());
        writing
            .rows(
                "INSERT INTO oauth_sessions (hash, person, auth_time, seen_at, ends_at, amr, \
                 upstream, subject) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                [
                    bytes(session.hash),
                    (&session.person).into(),
                    moment(session.signed_in_at),
                    moment(session.used_at),
                    moment(session.ends_at),
                    (&session.amr).into(),
                    provider,
                    subject,
                ],
            )
            .await?;
        writing.commit().await
    }

    pub(super) async fn find_session(
        &self,
        hash: Digest,
        idle: Duration,
        now: Seconds,
    ) -> Result<Option<Session>, StoreError> {
        let row = self
            .tables
            .row(
                "SELECT person, auth_time, seen_at, ends_at, amr, upstream, subject FROM oauth_sessions \
                 WHERE hash = $1 AND ends_at > $2 AND seen_at + $3 > $2",
                [bytes(hash), moment(now), moment(idle.as_secs())],
            )
            .await?;
        let Some(row) = row else { return Ok(None) };
        let seen_at: i64 = row.get(2)?;
        if seen_at + NOTED <= number(now) {
            let mut writing = self.tables.write().await?;
            writing
                .rows(
                    "UPDATE oauth_sessions SET seen_at = $2 WHERE hash = $1 AND seen_at < $2",
                    [bytes(hash), moment(now)],
                )
                .await?;
            writing.commit().await?;
        }
        Ok(Some(Session {
            hash,
            person: row.get(0)?,
            signed_in_at: row.moment(1)?,
            used_at: now,
            ends_at: row.moment(3)?,
            amr: row.get(4)?,
            origin: row.origin(5)?,
        }))
    }

    pub(super) async fn delete_session(&self, hash: Digest) -> Result<(), StoreError> {
        let mut writing = self.tables.write().await?;
        let delete = "DELETE FROM oauth_sessions WHERE hash = $1";
        writing.rows(delete, [bytes(hash)]).await?;
        writing.commit().await
    }

    pub(super) async fn delete_sessions_of(&self, person: &str) -> Result<(), StoreError> {
        let mut writing = self.tables.write().await?;
        let delete = "DELETE FROM oauth_sessions WHERE person = $1";
        writing.rows(delete, [person.into()]).await?;
        writing.commit().await
    }
}

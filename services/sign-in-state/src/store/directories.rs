//! Sign-ins at other providers, and the people who come from there.

use ziggurat_mcp_auth::{Attempt, Consent, Digest, Grant, Link, Origin, Seconds};
use ziggurat_state::{Row, StoreError};

use crate::store::{
    SignInStore,
    columns::{Columns as _, bytes, moment, origin},
    grants::{keep, prolong, use_form},
};

/// Number of attempts.
const MAX_ATTEMPTS: i64 = 10_000;

// === impl SignInStore ===

impl SignInStore {
    pub(super) async fn insert_attempt(
        &self,
        attempt: &Attempt,
        now: Seconds,
    ) -> Result<bool, StoreError> {
        let mut writing = self.tables.write().await?;
        let added = writing
            .row(
                "INSERT INTO oauth_upstream_attempts (state_hash, flow, nonce, verifier, ends_at) \
                 SELECT $1, $2, $3, $4, $5 \
                 WHERE (SELECT count(*) FROM oauth_upstream_attempts WHERE ends_at > $6) < $7 \
                 RETURNING state_hash",
                [
                    bytes(attempt.hash),
                    (&attempt.flow).into(),
                    bytes(attempt.nonce),
                    (&attempt.verifier).into(),
                    moment(attempt.ends_at),
                    moment(now),
                    MAX_ATTEMPTS.into(),
                ],
            )
            .await?;
        writing.commit().await?;
        Ok(added.is_some())
    }

    pub(super) async fn take_attempt(
        &self,
        hash: Digest,
        now: Seconds,
    ) -> Result<Option<Attempt>, StoreError> {
        let mut writing = self.tables.write().await?;
        let taken = writing
            .row(
                "DELETE FROM oauth_upstream_attempts WHERE state_hash = $1 AND ends_at > $2 \
                 RETURNING flow, nonce, verifier, ends_at",
                [bytes(hash), moment(now)],
            )
            .await?;
        writing.commit().await?;
        let Some(row) = taken else { return Ok(None) };
        Ok(Some(Attempt {
            hash,
            flow: row.get(0)?,
            nonce: row.bytes(1)?,
            verifier: row.get(2)?,
            ends_at: row.moment(3)?,
        }))
    }

    pub(super) async fn find_link(&self, origin: &Origin) -> Result<Option<Link>, StoreError> {
        let row = self
            .tables
            .row(
                "SELECT person, claims, refresh_sealed, checked_at FROM oauth_links \
                 WHERE upstream = $1 AND subject = $2",
                [(&origin.provider).into(), (&origin.subject).into()],
            )
            .await?;
        row.map(|row| link(origin, &row)).transpose()
    }

    pub(super) async fn write_link(&self, link: &Link) -> Result<(), StoreError> {
        let mut writing = self.tables.write().await?;
        writing
            .rows(
                "INSERT INTO oauth_links (upstream, subject, person, claims, refresh_sealed, \
                 checked_at, checking_until) VALUES ($1, $2, $3, $4, $5, $6, 0) \
                 ON CONFLICT (upstream, subject) DO UPDATE SET person = excluded.person, \
                 claims = excluded.claims, refresh_sealed = excluded.refresh_sealed, \
                 checked_at = excluded.checked_at, checking_until = 0",
                [
                    (&link.origin.provider).into(),
                    (&link.origin.subject).into(),
                    (&link.person).into(),
                    (&link.claims).into(),
                    link.refresh.as_ref().into(),
                    moment(link.checked_at),
                ],
            )
            .await?;
        writing.commit().await
    }

    pub(super) async fn take_check(
        &self,
        origin: &Origin,
        until: Seconds,
        now: Seconds,
    ) -> Result<Option<Link>, StoreError> {
        let mut writing = self.tables.write().await?;
        let taken = writing
            .row(
                "UPDATE oauth_links SET checking_until = $3 \
                 WHERE upstream = $1 AND subject = $2 AND checking_until <= $4 \
                 RETURNING person, claims, refresh_sealed, checked_at",
                [
                    (&origin.provider).into(),
                    (&origin.subject).into(),
                    moment(until),
                    moment(now),
                ],
            )
            .await?;
        writing.commit().await?;
        taken.map(|row| link(origin, &row)).transpose()
    }

    pub(super) async fn insert_asserted(
        &self,
        grant: Grant,
        assertion: Consent,
    ) -> Result<Option<Grant>, StoreError> {
        let now = grant.made_at;
        let mut writing = self.tables.write().await?;
        // An assertion that another request uses at the same time is waited for.
        if !use_form(&mut writing, grant.id, assertion).await? {
            writing.commit().await?;
            return Ok(None);
        }
        // Other assertions of the person wait for the row of the link, so that there is one grant.
        let [provider, subject] = origin(grant.origin.as_ref());
        let lock = "UPDATE oauth_links SET checking_until = checking_until \
                    WHERE upstream = $1 AND subject = $2";
        writing.rows(lock, [provider, subject]).await?;
        if let Some(before) = prolong(&mut writing, &grant).await? {
            writing.commit().await?;
            return Ok(Some(before));
        }
        let ended = keep(&mut writing, &grant, "assertion").await?;
        writing.commit().await?;
        self.ended.add(&ended, now);
        Ok(Some(grant))
    }
}

fn link(origin: &Origin, row: &Row) -> Result<Link, StoreError> {
    Ok(Link {
        origin: origin.clone(),
        person: row.get(0)?,
        claims: row.get(1)?,
        refresh: row.get(2)?,
        checked_at: row.moment(3)?,
    })
}

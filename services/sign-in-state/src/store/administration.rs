//! Operations of administrators on grants and clients.

use ziggurat_mcp_auth::{Grant, GrantId, ManualClient, Origin, Seconds};
use ziggurat_state::{Row, StoreError};
use ziggurat_telemetry::GrantCount;

use crate::store::{
    SignInStore,
    clients::Metadata,
    columns::{Columns as _, bytes, moment},
    grants::grant,
};

/// A client for an administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedClient {
    /// Its id.
    pub id: String,
    /// `dynamic` if it registered itself, else `manual`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The addresses that it may be sent back to.
    pub redirect_uris: Vec<String>,
    /// Says that it has a secret of its own.
    pub has_secret: bool,
    /// The moment at which it was made.
    pub made_at: Seconds,
    /// The moment at which it was used last.
    pub used_at: Seconds,
}

// === impl SignInStore ===

impl SignInStore {
    /// Lists the grants of all people that have not ended, the last used first, 10,000 at most.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn list_grants(&self, now: Seconds) -> Result<Vec<Grant>, StoreError> {
        let rows = self
            .tables
            .rows(
                concat!(
                    "SELECT ",
                    grant_columns!(),
                    " FROM oauth_grants WHERE ended_at IS NULL AND ends_at > $1 \
                     ORDER BY used_at DESC, id LIMIT 10000"
                ),
                [moment(now)],
            )
            .await?;
        rows.iter().map(grant).collect()
    }

    /// Counts the grants that have not ended, by kind: 100,000 at most.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn count_grants(&self, now: Seconds) -> Result<Vec<GrantCount>, StoreError> {
        let rows = self
            .tables
            .rows(
                "SELECT kind, count(*) FROM (SELECT kind FROM oauth_grants \
                 WHERE ended_at IS NULL AND ends_at > $1 LIMIT 100000) AS open GROUP BY kind",
                [moment(now)],
            )
            .await?;
        let counted = |row: &Row| {
            let count: i64 = row.get(1)?;
            Ok(GrantCount {
                kind: row.get(0)?,
                count: count.try_into().unwrap_or_default(),
            })
        };
        rows.iter().map(counted).collect()
    }

    /// Lists the clients, by their names.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn list_clients(&self) -> Result<Vec<ListedClient>, StoreError> {
        let select = "SELECT id, kind, metadata, secret_hash, created_at, used_at \
                      FROM oauth_clients ORDER BY kind, id";
        let rows = self.tables.rows(select, []).await?;
        rows.iter().map(listed).collect()
    }

    /// Adds a client that an administrator registered. Returns false if the id is taken.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub async fn add_manual_client(
        &self,
        client: &ManualClient,
        now: Seconds,
    ) -> Result<bool, StoreError> {
        let metadata = Metadata {
            name: client.name.clone(),
            redirect_uris: client.redirect_uris.clone(),
            skip_consent: client.skip_consent,
            ..Metadata::default()
        };
        let metadata = serde_json::to_string(&metadata)?;
        let mut writing = self.tables.write().await?;
        let added = writing
            .row(
                "INSERT INTO oauth_clients (id, kind, metadata, secret_hash, created_at, used_at) \
                 VALUES ($1, 'manual', $2, $3, $4, $4) ON CONFLICT (id) DO NOTHING RETURNING id",
                [
                    (&client.id).into(),
                    metadata.into(),
                    client.secret_hash.map_or_else(no_text, bytes),
                    moment(now),
                ],
            )
            .await?;
        writing.commit().await?;
        Ok(added.is_some())
    }

    /// Removes a client and ends its grants. Returns whether it was there.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub async fn remove_client(&self, id: &str, now: Seconds) -> Result<bool, StoreError> {
        let mut writing = self.tables.write().await?;
        let removed = writing
            .row(
                "DELETE FROM oauth_clients WHERE id = $1 RETURNING id",
                [id.into()],
            )
            .await?;
        let ended = writing
            .rows(
                "UPDATE oauth_grants SET ended_at = $2, why = 'client' \
                 WHERE client_id = $1 AND ended_at IS NULL AND ends_at > $2 RETURNING id",
                [id.into(), moment(now)],
            )
            .await?;
        writing.commit().await?;
        self.ended.add(&ids(&ended)?, now);
        Ok(removed.is_some() || !ended.is_empty())
    }

    /// Links an account at another provider to a person, for the next sign-in there. If the account was
    /// linked to another person, the grants and the sessions of that person by this account end.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub async fn link_person(
        &self,
        origin: &Origin,
        person: &str,
        now: Seconds,
    ) -> Result<(), StoreError> {
        let account = || {
            [
                (&origin.provider).into(),
                (&origin.subject).into(),
                person.into(),
            ]
        };
        let mut writing = self.tables.write().await?;
        // Until the provider confirms the person, the link gives no access.
        let link = "INSERT INTO oauth_links (upstream, subject, person, claims, checked_at, \
                    checking_until) VALUES ($1, $2, $3, '{}', 0, 0) \
                    ON CONFLICT (upstream, subject) DO UPDATE SET person = excluded.person, \
                    claims = excluded.claims, refresh_sealed = NULL, checked_at = 0, \
                    checking_until = 0 WHERE oauth_links.person <> excluded.person";
        writing.rows(link, account()).await?;
        let sessions = "DELETE FROM oauth_sessions \
                        WHERE upstream = $1 AND subject = $2 AND person <> $3";
        writing.rows(sessions, account()).await?;
        let [provider, subject, other] = account();
        let grants = "UPDATE oauth_grants SET ended_at = $4, why = 'administrator' \
                      WHERE upstream = $1 AND subject = $2 AND person <> $3 \
                      AND ended_at IS NULL AND ends_at > $4 RETURNING id";
        let parameters = [provider, subject, other, moment(now)];
        let ended = writing.rows(grants, parameters).await?;
        writing.commit().await?;
        self.ended.add(&ids(&ended)?, now);
        Ok(())
    }

    /// Ends all grants and all sessions of browsers.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub async fn end_all(&self, now: Seconds) -> Result<(), StoreError> {
        let mut writing = self.tables.write().await?;
        let ended = writing
            .rows(
                "UPDATE oauth_grants SET ended_at = $1, why = 'administrator' \
                 WHERE ended_at IS NULL AND ends_at > $1 RETURNING id",
                [moment(now)],
            )
            .await?;
        writing.rows("DELETE FROM oauth_sessions", []).await?;
        writing.commit().await?;
        self.ended.add(&ids(&ended)?, now);
        Ok(())
    }

    pub(super) async fn find_manual_client(
        &self,
        id: &str,
    ) -> Result<Option<ManualClient>, StoreError> {
        let select = "SELECT metadata, secret_hash FROM oauth_clients \
                      WHERE id = $1 AND kind = 'manual'";
        let Some(row) = self.tables.row(select, [id.into()]).await? else {
            return Ok(None);
        };
        let metadata: String = row.get(0)?;
        let metadata: Metadata = serde_json::from_str(&metadata)?;
        let has_secret = row.get::<Option<String>>(1)?.is_some();
        Ok(Some(ManualClient {
            id: id.to_owned(),
            name: metadata.name,
            redirect_uris: metadata.redirect_uris,
            secret_hash: has_secret.then(|| row.bytes(1)).transpose()?,
            skip_consent: metadata.skip_consent,
        }))
    }
}

fn listed(row: &Row) -> Result<ListedClient, StoreError> {
    let metadata: String = row.get(2)?;
    let metadata: Metadata = serde_json::from_str(&metadata)?;
    Ok(ListedClient {
        id: row.get(0)?,
        kind: row.get(1)?,
        name: metadata.name,
        redirect_uris: metadata.redirect_uris,
        has_secret: row.get::<Option<String>>(3)?.is_some(),
        made_at: row.moment(4)?,
        used_at: row.moment(5)?,
    })
}

fn ids(rows: &[Row]) -> Result<Vec<GrantId>, StoreError> {
    rows.iter().map(|row| row.bytes(0)).collect()
}

fn no_text() -> ziggurat_state::Value {
    None::<String>.into()
}

//! Clients that registered themselves.

use serde::{Deserialize, Serialize};
use ziggurat_mcp_auth::{Method, Seconds, StoredClient};
use ziggurat_state::{Row, StoreError};

use crate::store::{
    NOTED, SignInStore,
    columns::{moment, number},
};

/// Number of clients that may register themselves.
const MAX_CLIENTS: i64 = 10_000;

/// Metadata of a client, as they are stored.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) redirect_uris: Vec<String>,
    pub(super) has_refresh: bool,
    pub(super) method: String,
    pub(super) application_type: Option<String>,
    /// Of clients that an administrator made.
    pub(super) skip_consent: bool,
}

// === impl SignInStore ===

impl SignInStore {
    pub(super) async fn find_client(
        &self,
        id: &str,
        now: Seconds,
    ) -> Result<Option<StoredClient>, StoreError> {
        let row = self
            .tables
            .row(
                "SELECT metadata, used_at FROM oauth_clients WHERE id = $1 AND kind = 'dynamic'",
                [id.into()],
            )
            .await?;
        let Some(row) = row else { return Ok(None) };
        let used_at: i64 = row.get(1)?;
        if used_at + NOTED <= number(now) {
            self.note_client(id, now).await?;
        }
        client(id, &row)
    }

    async fn note_client(&self, id: &str, now: Seconds) -> Result<(), StoreError> {
        let mut writing = self.tables.write().await?;
        writing
            .rows(
                "UPDATE oauth_clients SET used_at = $2 WHERE id = $1 AND used_at < $2",
                [id.into(), moment(now)],
            )
            .await?;
        writing.commit().await
    }

    pub(super) async fn insert_client(
        &self,
        client: &StoredClient,
        now: Seconds,
    ) -> Result<bool, StoreError> {
        if self.find_client(&client.id, now).await?.is_some() {
            return Ok(true);
        }
        let metadata = Metadata {
            name: client.name.clone(),
            redirect_uris: client.redirect_uris.clone(),
            has_refresh: client.has_refresh,
            method: client.method.name().to_owned(),
            application_type: client.application_type.clone(),
            skip_consent: false,
        };
        let metadata = serde_json::to_string(&metadata)?;
        let mut writing = self.tables.write().await?;
        let count = "SELECT count(*) FROM oauth_clients WHERE kind = 'dynamic'";
        let has_room = writing.number(count, []).await? < MAX_CLIENTS;
        if has_room {
            writing
                .rows(
                    "INSERT INTO oauth_clients (id, kind, metadata, created_at, used_at) \
                     VALUES ($1, 'dynamic', $2, $3, $3) ON CONFLICT (id) DO NOTHING",
                    [(&client.id).into(), metadata.into(), moment(now)],
                )
                .await?;
        }
        writing.commit().await?;
        Ok(has_room)
    }
}

/// Reads a client, unless a later version wrote it.
fn client(id: &str, row: &Row) -> Result<Option<StoredClient>, StoreError> {
    let metadata: String = row.get(0)?;
    let metadata: Metadata = serde_json::from_str(&metadata)?;
    Ok(Method::of(&metadata.method).map(|method| StoredClient {
        id: id.to_owned(),
        name: metadata.name,
        redirect_uris: metadata.redirect_uris,
        has_refresh: metadata.has_refresh,
        method,
        application_type: metadata.application_type,
    }))
}

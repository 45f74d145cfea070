//! Consents that people gave, for the next time.

use ziggurat_mcp_auth::GivenConsent;
use ziggurat_state::StoreError;

use crate::store::{
    SignInStore,
    columns::{Columns as _, bytes, moment},
};

// === impl SignInStore ===

impl SignInStore {
    pub(super) async fn write_consent(&self, consent: &GivenConsent) -> Result<(), StoreError> {
        let databases = consent.databases.as_ref().map(serde_json::to_string);
        let mut writing = self.tables.write().await?;
        writing
            .rows(
                "INSERT INTO oauth_consents (person, client_id, resource, scope, databases, \
                 client_digest, given_at, tenant) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
                 ON CONFLICT (person, client_id, resource) DO UPDATE SET \
                 scope = excluded.scope, tenant = excluded.tenant, databases = excluded.databases, \
                 client_digest = excluded.client_digest, given_at = excluded.given_at",
                [
                    (&consent.person).into(),
                    (&consent.client).into(),
                    (&consent.resource).into(),
                    (&consent.scope).into(),
                    databases.transpose()?.into(),
                    bytes(consent.client_digest),
                    moment(consent.given_at),
                    consent.tenant.as_ref().into(),
                ],
            )
            .await?;
        // 500 at most for a person.
        writing
            .rows(
                "DELETE FROM oauth_consents WHERE person = $1 AND (client_id, resource) IN ( \
                 SELECT client_id, resource FROM oauth_consents WHERE person = $1 \
                 ORDER BY given_at DESC, client_id, resource LIMIT 1000000 OFFSET 500)",
                [(&consent.person).into()],
            )
            .await?;
        writing.commit().await
    }

    pub(super) async fn find_consent(
        &self,
        person: &str,
        client: &str,
        resource: &str,
    ) -> Result<Option<GivenConsent>, StoreError> {
        let row = self
            .tables
            .row(
                "SELECT scope, databases, client_digest, given_at, tenant FROM oauth_consents \
                 WHERE person = $1 AND client_id = $2 AND resource = $3",
                [person.into(), client.into(), resource.into()],
            )
            .await?;
        let Some(row) = row else { return Ok(None) };
        let databases: Option<String> = row.get(1)?;
        let databases = databases.as_deref().map(serde_json::from_str);
        Ok(Some(GivenConsent {
            person: person.to_owned(),
            client: client.to_owned(),
            resource: resource.to_owned(),
            scope: row.get(0)?,
            databases: databases.transpose()?,
            client_digest: row.bytes(2)?,
            given_at: row.moment(3)?,
            tenant: row.get(4)?,
        }))
    }

    pub(super) async fn delete_consent(
        &self,
        person: &str,
        client: &str,
        resource: &str,
    ) -> Result<bool, StoreError> {
        let mut writing = self.tables.write().await?;
        let deleted = writing
            .row(
                "DELETE FROM oauth_consents \
                 WHERE person = $1 AND client_id = $2 AND resource = $3 RETURNING person",
                [person.into(), client.into(), resource.into()],
            )
            .await?;
        writing.commit().await?;
        Ok(deleted.is_some())
    }
}

//! Deleted clients with tokens that have not expired.

use ziggurat_state::{StoreError, TablesTransaction};

use crate::{
    AccountError, Id, UnixTime,
    store::{Store, columns::Columns as _},
};

/// A deleted client with tokens that servers must refuse until they expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revocation {
    /// Record id of the client.
    pub client: Id,
    /// Expiry of the last of its tokens.
    pub ends: UnixTime,
}

// === impl Store ===

impl Store {
    /// Lists all of them, in a fixed order. Their number is bounded: only administrators make
    /// tenants, and the limit of clients per tenant includes deleted ones.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn revocations(&self) -> Result<Vec<Revocation>, AccountError> {
        let rows = self
            .tables
            .rows(
                "SELECT client_id, ends_at FROM platform_revocations WHERE ends_at > $1 \
                 ORDER BY client_id",
                [self.now().into()],
            )
            .await?;
        let revocations: Result<_, StoreError> = rows
            .iter()
            .map(|row| {
                let client = row.id(0)?;
                let ends = row.time(1)?;
                Ok(Revocation { client, ends })
            })
            .collect();
        Ok(revocations?)
    }

    /// Records a deleted client, unless it has no tokens. Deletes expired records.
    pub(super) async fn revoke(
        &self,
        session: &mut TablesTransaction,
        tenant: Id,
        client: Id,
        ends: i64,
    ) -> Result<(), StoreError> {
        let now = self.now().seconds();
        session
            .rows(
                "DELETE FROM platform_revocations WHERE ends_at <= $1",
                [now.into()],
            )
            .await?;
        if ends > now {
            session
                .rows(
                    "INSERT INTO platform_revocations (client_id, tenant_id, ends_at) \
                     VALUES ($1, $2, $3) ON CONFLICT (client_id) DO NOTHING",
                    [client.into(), tenant.into(), ends.into()],
                )
                .await?;
        }
        Ok(())
    }
}

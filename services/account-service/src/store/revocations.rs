//! Clients that are gone before their tokens.

use ziggurat_state::StoreError;

use super::{
    Store,
    engine::{Session, Value},
};
use crate::{Id, Moment, Trouble};

/// A client that is gone, and whose tokens are not to be believed until they end by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revocation {
    /// Which one.
    pub client: Id,
    /// When the last of its tokens ends.
    pub ends: Moment,
}

// === impl Store ===

impl Store {
    /// All of them, in a fixed order. Tenants are made by administrators and have so many clients
    /// at most, those that are gone included, so there are no more of them than that.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn revocations(&self) -> Result<Vec<Revocation>, Trouble> {
        let mut session = self.engine.read().await?;
        let rows = session
            .rows(
                "SELECT client_id, ends_at FROM platform_revocations WHERE ends_at > $1 \
                 ORDER BY client_id",
                &[Value::Number(self.now().seconds())],
            )
            .await?;
        session.commit().await?;
        let revocations: Result<_, StoreError> = rows
            .iter()
            .map(|row| {
                let client = row.id(0)?;
                let ends = row.moment(1)?;
                Ok(Revocation { client, ends })
            })
            .collect();
        Ok(revocations?)
    }

    /// Writes down that a client is gone, unless it has no tokens. What has ended goes.
    pub(super) async fn revoke(
        &self,
        session: &mut Session,
        tenant: &str,
        client: &str,
        ends: i64,
    ) -> Result<(), StoreError> {
        let now = self.now().seconds();
        session
            .rows(
                "DELETE FROM platform_revocations WHERE ends_at <= $1",
                &[Value::Number(now)],
            )
            .await?;
        if ends > now {
            session
                .rows(
                    "INSERT INTO platform_revocations (client_id, tenant_id, ends_at) \
                     VALUES ($1, $2, $3) ON CONFLICT (client_id) DO NOTHING",
                    &[
                        Value::Text(client),
                        Value::Text(tenant),
                        Value::Number(ends),
                    ],
                )
                .await?;
        }
        Ok(())
    }
}

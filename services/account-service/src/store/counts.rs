//! Numbers of accounts.

use ziggurat_state::{Row, StoreError};

use crate::store::Store;

/// Numbers of all accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccountCounts {
    /// Tenants.
    pub tenants: u64,
    /// Users, whether they are members of a tenant or not.
    pub users: u64,
    /// Clients, without deleted ones.
    pub clients: u64,
    /// Invitations that can be accepted.
    pub invites: u64,
}

// === impl Store ===

impl Store {
    /// Counts the accounts of all tenants.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn counts(&self) -> Result<AccountCounts, StoreError> {
        let row = self
            .tables
            .row(
                "SELECT (SELECT count(*) FROM platform_tenants), \
                 (SELECT count(*) FROM platform_users), \
                 (SELECT count(*) FROM platform_clients), \
                 (SELECT count(*) FROM platform_invites WHERE expires_at > $1)",
                [self.now().into()],
            )
            .await?;
        let Some(row) = row else {
            return Ok(AccountCounts::default());
        };
        Ok(AccountCounts {
            tenants: count(&row, 0)?,
            users: count(&row, 1)?,
            clients: count(&row, 2)?,
            invites: count(&row, 3)?,
        })
    }
}

fn count(row: &Row, at: usize) -> Result<u64, StoreError> {
    let count: i64 = row.get(at)?;
    Ok(count.try_into().unwrap_or_default())
}

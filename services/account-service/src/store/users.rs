//! Users.

use ziggurat_state::{StoreError, TablesTransaction};

use crate::{
    AccountError, Id, User, rules,
    store::{Store, columns::Columns as _, tenants::tenant},
};

/// Changes to a user.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserChange {
    /// New first name, if it changes.
    pub first_name: Option<String>,
    /// New last name, if it changes.
    pub last_name: Option<String>,
}

// === impl Store ===

impl Store {
    /// Returns a user with the tenants it is a member of.
    ///
    /// # Errors
    /// Fails if the user does not exist, or the store fails.
    pub async fn user(&self, id: Id) -> Result<User, AccountError> {
        let mut session = self.tables.read().await?;
        let found = find(&mut session, id).await?;
        session.commit().await?;
        found.ok_or(AccountError::NotFound("user"))
    }

    /// Returns the member of a tenant with this mail address.
    ///
    /// # Errors
    /// Fails if there is no such member, or the store fails.
    pub async fn member(&self, tenant: Id, email: &str) -> Result<Id, AccountError> {
        let email = rules::email(email)?;
        let row = self
            .tables
            .row(
                "SELECT u.id FROM platform_users u \
                 JOIN platform_memberships m ON m.user_id = u.id \
                 WHERE m.tenant_id = $1 AND u.email = $2",
                [tenant.into(), email.into()],
            )
            .await?;
        let row = row.ok_or(AccountError::NotFound("user"))?;
        Ok(row.id(0)?)
    }

    /// Returns whether a user who is not disabled is a member of a tenant.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub(crate) async fn has_member(&self, tenant: Id, user: Id) -> Result<bool, AccountError> {
        let mut session = self.tables.read().await?;
        let count = session
            .number(
                "SELECT count(*) FROM platform_memberships m \
                 JOIN platform_users u ON u.id = m.user_id \
                 WHERE m.tenant_id = $1 AND m.user_id = $2 AND u.is_disabled = 0",
                [tenant.into(), user.into()],
            )
            .await?;
        session.commit().await?;
        Ok(count > 0)
    }

    /// Changes the name of a user and returns the new state.
    ///
    /// # Errors
    /// Fails if the user does not exist, an input is invalid, or the store fails.
    pub(crate) async fn change_user(
        &self,
        id: Id,
        change: UserChange,
    ) -> Result<User, AccountError> {
        let part = |member, name: Option<String>| {
            let name = name.map(|name| rules::name_part(member, &name));
            name.transpose()
        };
        let first_name = part("first_name", change.first_name)?;
        let last_name = part("last_name", change.last_name)?;
        let mut session = self.tables.write().await?;
        session
            .rows(
                "UPDATE platform_users SET first_name = COALESCE($2, first_name), \
                 last_name = COALESCE($3, last_name), updated_at = $4 WHERE id = $1 \
                 AND (COALESCE($2, first_name, '') <> COALESCE(first_name, '') \
                 OR COALESCE($3, last_name, '') <> COALESCE(last_name, ''))",
                [
                    id.into(),
                    first_name.into(),
                    last_name.into(),
                    self.now().into(),
                ],
            )
            .await?;
        let found = find(&mut session, id).await?;
        session.commit().await?;
        found.ok_or(AccountError::NotFound("user"))
    }
}

async fn find(session: &mut TablesTransaction, id: Id) -> Result<Option<User>, StoreError> {
    let row = session
        .row(
            "SELECT created_at, email, first_name, last_name, picture, updated_at \
             FROM platform_users WHERE id = $1",
            [id.into()],
        )
        .await?;
    let Some(row) = row else { return Ok(None) };
    let tenants = session
        .rows(
            "SELECT t.created_at, t.domain, t.external_id, t.id, t.name, t.plan, \
             t.plan_expires_at, t.plan_trial, t.updated_at FROM platform_tenants t \
             JOIN platform_memberships m ON m.tenant_id = t.id \
             WHERE m.user_id = $1 ORDER BY t.created_at, t.id",
            [id.into()],
        )
        .await?;
    let tenants: Result<_, StoreError> = tenants.iter().map(tenant).collect();
    Ok(Some(User {
        created_at: row.time(0)?,
        email: row.get(1)?,
        first_name: row.get(2)?,
        id,
        last_name: row.get(3)?,
        picture: row.get(4)?,
        tenants: tenants?,
        updated_at: row.time(5)?,
    }))
}

//! Tenants, the customers of the service.

use ziggurat_state::{Row, StoreError, TablesTransaction};

use crate::{
    AccountError, Id, Membership, Tenant, UnixTime, rules,
    store::{Owner, Store, columns::Columns as _, members},
};

/// A tenant to create.
#[derive(Clone, Debug, Default)]
pub struct TenantDraft {
    /// Name of the tenant, for people.
    pub name: String,
    /// Domain of the mail addresses of the tenant.
    pub domain: Option<String>,
    /// Id of the tenant in another system.
    pub external_id: Option<String>,
    /// Plan of the tenant.
    pub plan: Option<String>,
    /// Set if the plan is a trial.
    pub plan_trial: Option<bool>,
}

// === impl Store ===

impl Store {
    /// Lists all tenants, oldest first; for administrators.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn tenants(&self) -> Result<Vec<Tenant>, AccountError> {
        let rows = self
            .tables
            .rows(
                "SELECT created_at, domain, external_id, id, name, plan, plan_expires_at, \
                 plan_trial, updated_at FROM platform_tenants ORDER BY created_at, id",
                [],
            )
            .await?;
        let tenants: Result<_, StoreError> = rows.iter().map(tenant).collect();
        Ok(tenants?)
    }

    /// Returns a tenant.
    ///
    /// # Errors
    /// Fails if the tenant does not exist, or the store fails.
    pub async fn tenant(&self, id: Id) -> Result<Tenant, AccountError> {
        let mut session = self.tables.read().await?;
        let found = find(&mut session, id).await?;
        session.commit().await?;
        found.ok_or(AccountError::NotFound("tenant"))
    }

    /// Makes a tenant, and its owner a member.
    ///
    /// # Errors
    /// Fails if an input is invalid, or the store fails.
    pub async fn create_tenant(
        &self,
        draft: TenantDraft,
        owner: &Owner,
    ) -> Result<(Tenant, Membership), AccountError> {
        let now = self.now();
        let named = |member, text: Option<String>| {
            let text = text.map(|text| rules::name(member, &text));
            text.transpose()
        };
        let tenant = Tenant {
            created_at: now,
            domain: named("domain", draft.domain)?,
            external_id: named("external_id", draft.external_id)?,
            id: Id::random()?,
            name: rules::name("name", &draft.name)?,
            plan: named("plan", draft.plan)?,
            plan_expires_at: None,
            plan_trial: draft.plan_trial,
            updated_at: now,
        };
        rules::email(&owner.email)?;
        let mut session = self.tables.write().await?;
        let trial = tenant.plan_trial.map(|trial| if trial { "1" } else { "0" });
        session
            .rows(
                "INSERT INTO platform_tenants (id, name, domain, external_id, plan, plan_trial, \
                 created_at, updated_at) \
                 VALUES ($1, $2, $3, $4, $5, CAST($6 AS bigint), $7, $7)",
                [
                    tenant.id.into(),
                    (&tenant.name).into(),
                    tenant.domain.clone().into(),
                    tenant.external_id.clone().into(),
                    tenant.plan.clone().into(),
                    trial.into(),
                    now.into(),
                ],
            )
            .await?;
        let member = members::join(&mut session, tenant.id, owner, true, now).await?;
        session.commit().await?;
        Ok((tenant, member))
    }

    /// Renames a tenant, if there is a new name, and returns its new state.
    ///
    /// # Errors
    /// Fails if the tenant does not exist, the name is invalid, or the store fails.
    pub(crate) async fn rename_tenant(
        &self,
        id: Id,
        name: Option<String>,
    ) -> Result<Tenant, AccountError> {
        let name = name.map(|name| rules::name("name", &name)).transpose()?;
        let mut session = self.tables.write().await?;
        if let Some(name) = &name {
            session
                .rows(
                    "UPDATE platform_tenants SET name = $2, updated_at = $3 \
                     WHERE id = $1 AND name <> $2",
                    [id.into(), name.into(), self.now().into()],
                )
                .await?;
        }
        let found = find(&mut session, id).await?;
        session.commit().await?;
        found.ok_or(AccountError::NotFound("tenant"))
    }

    /// Deletes a tenant with all its records. The tokens of its clients become invalid.
    ///
    /// # Errors
    /// Fails if the tenant does not exist, or the store fails.
    pub async fn delete_tenant(&self, id: Id) -> Result<(), AccountError> {
        let mut session = self.tables.write().await?;
        let clients = session
            .rows(
                "DELETE FROM platform_clients WHERE tenant_id = $1 RETURNING id, tokens_until",
                [id.into()],
            )
            .await?;
        for client in clients {
            let ends = client.get(1)?;
            self.revoke(&mut session, id, client.id(0)?, ends).await?;
        }
        let deleted = session
            .row(
                "DELETE FROM platform_tenants WHERE id = $1 RETURNING id",
                [id.into()],
            )
            .await?;
        session.commit().await?;
        deleted.map(|_| ()).ok_or(AccountError::NotFound("tenant"))
    }
}

async fn find(session: &mut TablesTransaction, id: Id) -> Result<Option<Tenant>, StoreError> {
    let row = session
        .row(
            "SELECT created_at, domain, external_id, id, name, plan, plan_expires_at, \
             plan_trial, updated_at FROM platform_tenants WHERE id = $1",
            [id.into()],
        )
        .await?;
    row.as_ref().map(tenant).transpose()
}

pub(super) fn tenant(row: &Row) -> Result<Tenant, StoreError> {
    let trial: Option<i64> = row.get(7)?;
    let ends: Option<i64> = row.get(6)?;
    Ok(Tenant {
        created_at: row.time(0)?,
        domain: row.get(1)?,
        external_id: row.get(2)?,
        id: row.id(3)?,
        name: row.get(4)?,
        plan: row.get(5)?,
        plan_expires_at: ends.map(UnixTime::from_seconds),
        plan_trial: trial.map(|trial| trial != 0),
        updated_at: row.time(8)?,
    })
}

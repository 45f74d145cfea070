//! Customers.

use ziggurat_state::StoreError;

use super::{
    Owner, Store,
    engine::{Row, Session, Value},
    members,
};
use crate::{Id, Membership, Moment, Tenant, Trouble, words};

/// What an administrator says of a tenant to be made.
#[derive(Clone, Debug, Default)]
pub struct TenantDraft {
    /// What people are to call it.
    pub name: String,
    /// The domain of its mail addresses.
    pub domain: Option<String>,
    /// What others call it.
    pub external_id: Option<String>,
    /// What it may use.
    pub plan: Option<String>,
    /// Whether that is for trying it out.
    pub plan_trial: Option<bool>,
}

// === impl Store ===

impl Store {
    /// All tenants, in the order in which they were made; for administrators.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tenants(&self) -> Result<Vec<Tenant>, Trouble> {
        let mut session = self.engine.read().await?;
        let rows = session
            .rows(
                "SELECT created_at, domain, external_id, id, name, plan, plan_expires_at, \
                 plan_trial, updated_at FROM platform_tenants ORDER BY created_at, id",
                &[],
            )
            .await?;
        session.commit().await?;
        let tenants: Result<_, StoreError> = rows.iter().map(tenant).collect();
        Ok(tenants?)
    }

    /// One of them.
    ///
    /// # Errors
    /// When there is none, or the store fails.
    pub async fn tenant(&self, id: Id) -> Result<Tenant, Trouble> {
        let mut session = self.engine.read().await?;
        let found = find(&mut session, id).await?;
        session.commit().await?;
        found.ok_or(Trouble::NotFound("tenant"))
    }

    /// Makes a tenant, and its owner a member.
    ///
    /// # Errors
    /// When the words will not do, or the store fails.
    pub async fn create_tenant(
        &self,
        draft: TenantDraft,
        owner: &Owner,
    ) -> Result<(Tenant, Membership), Trouble> {
        let now = self.now();
        let named = |member, text: Option<String>| {
            let text = text.map(|text| words::name(member, &text));
            text.transpose()
        };
        let tenant = Tenant {
            created_at: now,
            domain: named("domain", draft.domain)?,
            external_id: named("external_id", draft.external_id)?,
            id: Id::random()?,
            name: words::name("name", &draft.name)?,
            plan: named("plan", draft.plan)?,
            plan_expires_at: None,
            plan_trial: draft.plan_trial,
            updated_at: now,
        };
        words::email(&owner.email)?;
        let mut session = self.engine.write().await?;
        let trial = tenant.plan_trial.map(|trial| if trial { "1" } else { "0" });
        session
            .rows(
                "INSERT INTO platform_tenants (id, name, domain, external_id, plan, plan_trial, \
                 created_at, updated_at) \
                 VALUES ($1, $2, $3, $4, $5, CAST($6 AS bigint), $7, $7)",
                &[
                    Value::Text(&tenant.id.to_string()),
                    Value::Text(&tenant.name),
                    Value::Optional(tenant.domain.as_deref()),
                    Value::Optional(tenant.external_id.as_deref()),
                    Value::Optional(tenant.plan.as_deref()),
                    Value::Optional(trial),
                    Value::Number(now.seconds()),
                ],
            )
            .await?;
        let member = members::join(&mut session, tenant.id, owner, true, now).await?;
        session.commit().await?;
        Ok((tenant, member))
    }

    /// Gives a tenant another name, if there is one, and gives it back as it is now.
    ///
    /// # Errors
    /// When there is none, the name will not do, or the store fails.
    pub async fn rename_tenant(&self, id: Id, name: Option<String>) -> Result<Tenant, Trouble> {
        let name = name.map(|name| words::name("name", &name)).transpose()?;
        let mut session = self.engine.write().await?;
        if let Some(name) = &name {
            session
                .rows(
                    "UPDATE platform_tenants SET name = $2, updated_at = $3 \
                     WHERE id = $1 AND name <> $2",
                    &[
                        Value::Text(&id.to_string()),
                        Value::Text(name),
                        Value::Number(self.now().seconds()),
                    ],
                )
                .await?;
        }
        let found = find(&mut session, id).await?;
        session.commit().await?;
        found.ok_or(Trouble::NotFound("tenant"))
    }

    /// Deletes a tenant with all that is its own. The tokens of its clients are good no more.
    ///
    /// # Errors
    /// When there is none, or the store fails.
    pub async fn delete_tenant(&self, id: Id) -> Result<(), Trouble> {
        let mut session = self.engine.write().await?;
        let text = id.to_string();
        let clients = session
            .rows(
                "DELETE FROM platform_clients WHERE tenant_id = $1 RETURNING id, tokens_until",
                &[Value::Text(&text)],
            )
            .await?;
        for client in clients {
            let ends = client.get(1)?;
            let client: String = client.get(0)?;
            self.revoke(&mut session, &text, &client, ends).await?;
        }
        let deleted = session
            .row(
                "DELETE FROM platform_tenants WHERE id = $1 RETURNING id",
                &[Value::Text(&text)],
            )
            .await?;
        session.commit().await?;
        deleted.map(|_| ()).ok_or(Trouble::NotFound("tenant"))
    }
}

async fn find(session: &mut Session, id: Id) -> Result<Option<Tenant>, StoreError> {
    let row = session
        .row(
            "SELECT created_at, domain, external_id, id, name, plan, plan_expires_at, \
             plan_trial, updated_at FROM platform_tenants WHERE id = $1",
            &[Value::Text(&id.to_string())],
        )
        .await?;
    row.as_ref().map(tenant).transpose()
}

pub(super) fn tenant(row: &Row) -> Result<Tenant, StoreError> {
    let trial: Option<i64> = row.get(7)?;
    let ends: Option<i64> = row.get(6)?;
    Ok(Tenant {
        created_at: row.moment(0)?,
        domain: row.get(1)?,
        external_id: row.get(2)?,
        id: row.id(3)?,
        name: row.get(4)?,
        plan: row.get(5)?,
        plan_expires_at: ends.map(Moment::from_seconds),
        plan_trial: trial.map(|trial| trial != 0),
        updated_at: row.moment(8)?,
    })
}

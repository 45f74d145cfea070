//! Members of tenants.

use ziggurat_state::{Row, StoreError, TablesTransaction};

use crate::{
    AccountError, Id, Membership, UnixTime, rules,
    store::{Store, columns::Columns as _},
};

/// A person that becomes a member or the owner of a tenant.
#[derive(Clone, Debug, Default)]
pub struct Owner {
    /// Mail address, which identifies the person.
    pub email: String,
    /// First name, used for a new user.
    pub first_name: Option<String>,
    /// Last name, used for a new user.
    pub last_name: Option<String>,
}

// === impl Store ===

impl Store {
    /// Lists the members of a tenant, in the order in which they joined.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn memberships(&self, tenant: Id) -> Result<Vec<Membership>, AccountError> {
        let rows = self
            .tables
            .rows(
                "SELECT m.created_at, m.id, m.is_owner, m.updated_at, u.email, u.id, \
                 u.first_name, u.last_name, u.picture FROM platform_memberships m \
                 JOIN platform_users u ON u.id = m.user_id \
                 WHERE m.tenant_id = $1 ORDER BY m.created_at, m.id",
                [tenant.into()],
            )
            .await?;
        let members: Result<_, StoreError> = rows.iter().map(membership).collect();
        Ok(members?)
    }

    /// Ends a membership, and returns the user.
    ///
    /// # Errors
    /// Fails if it does not exist, belongs to the owner, or the store fails.
    pub async fn delete_membership(&self, tenant: Id, id: Id) -> Result<Id, AccountError> {
        let mut session = self.tables.write().await?;
        let row = session
            .row(
                "SELECT is_owner, user_id FROM platform_memberships \
                 WHERE tenant_id = $1 AND id = $2",
                [tenant.into(), id.into()],
            )
            .await?;
        let outcome = match row {
            None => Err(AccountError::NotFound("membership")),
            Some(row) if row.flag(0)? => {
                let message = "the tenant owner cannot be removed".to_owned();
                Err(AccountError::Invalid(message))
            }
            Some(row) => {
                session
                    .rows(
                        "DELETE FROM platform_memberships WHERE tenant_id = $1 AND id = $2",
                        [tenant.into(), id.into()],
                    )
                    .await?;
                Ok(row.id(1)?)
            }
        };
        session.commit().await?;
        outcome
    }

    /// Makes a person a member, without an invitation.
    ///
    /// # Errors
    /// Fails if the tenant does not exist, an input is invalid, or the store fails.
    pub async fn add_member(&self, tenant: Id, person: &Owner) -> Result<Membership, AccountError> {
        let mut session = self.tables.write().await?;
        let member = join(&mut session, tenant, person, false, self.now()).await?;
        session.commit().await?;
        Ok(member)
    }

    /// Creates a user who comes from another provider as a member, and returns the id; `None` if there
    /// is no such tenant, or a user has this address: an address links no accounts.
    pub(crate) async fn add_newcomer(
        &self,
        tenant: Id,
        email: &str,
    ) -> Result<Option<Id>, AccountError> {
        let email = rules::email(email)?;
        let mut session = self.tables.write().await?;
        let known = session
            .row(
                "SELECT id FROM platform_tenants WHERE id = $1 AND NOT EXISTS ( \
                 SELECT 1 FROM platform_users WHERE email = $2)",
                [tenant.into(), (&email).into()],
            )
            .await?;
        let mut added = None;
        if known.is_some() {
            let person = Owner {
                email,
                ..Owner::default()
            };
            let member = join(&mut session, tenant, &person, false, self.now()).await?;
            added = Some(member.user_id);
        }
        session.commit().await?;
        Ok(added)
    }

    /// Returns whether a user is the owner of a tenant.
    pub(crate) async fn has_owner(&self, tenant: Id, user: Id) -> Result<bool, AccountError> {
        let row = self
            .tables
            .row(
                "SELECT is_owner FROM platform_memberships WHERE tenant_id = $1 AND user_id = $2",
                [tenant.into(), user.into()],
            )
            .await?;
        Ok(row.map(|row| row.flag(0)).transpose()?.unwrap_or(false))
    }

    /// Makes a member the owner of its tenant, and the previous owner a normal member.
    ///
    /// # Errors
    /// Fails if the member does not exist, or the store fails.
    pub async fn make_owner(&self, tenant: Id, id: Id) -> Result<(), AccountError> {
        let mut session = self.tables.write().await?;
        let found = session
            .row(
                "SELECT id FROM platform_memberships WHERE tenant_id = $1 AND id = $2",
                [tenant.into(), id.into()],
            )
            .await?;
        if found.is_some() {
            session
                .rows(
                    "UPDATE platform_memberships \
                     SET is_owner = CASE WHEN id = $2 THEN 1 ELSE 0 END, updated_at = $3 \
                     WHERE tenant_id = $1 AND (id = $2) <> (is_owner = 1)",
                    [tenant.into(), id.into(), self.now().into()],
                )
                .await?;
        }
        session.commit().await?;
        found
            .map(|_| ())
            .ok_or(AccountError::NotFound("membership"))
    }
}

/// Makes a person a member, and creates the user if missing.
pub(super) async fn join(
    session: &mut TablesTransaction,
    tenant: Id,
    person: &Owner,
    is_owner: bool,
    now: UnixTime,
) -> Result<Membership, AccountError> {
    let email = rules::email(&person.email)?;
    let part = |member, name: &Option<String>| {
        let name = name.as_deref().map(|name| rules::name_part(member, name));
        name.transpose()
    };
    let first_name = part("first_name", &person.first_name)?;
    let last_name = part("last_name", &person.last_name)?;
    session
        .rows(
            "INSERT INTO platform_users (id, email, first_name, last_name, created_at, \
             updated_at) VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (email) DO NOTHING",
            [
                Id::random()?.into(),
                (&email).into(),
                first_name.into(),
                last_name.into(),
                now.into(),
            ],
        )
        .await?;
    session
        .rows(
            "INSERT INTO platform_memberships (id, tenant_id, user_id, is_owner, created_at, \
             updated_at) SELECT $1, $2, id, $3, $4, $4 FROM platform_users WHERE email = $5 \
             ON CONFLICT (tenant_id, user_id) DO NOTHING",
            [
                Id::random()?.into(),
                tenant.into(),
                i64::from(is_owner).into(),
                now.into(),
                (&email).into(),
            ],
        )
        .await?;
    let row = session
        .row(
            "SELECT m.created_at, m.id, m.is_owner, m.updated_at, u.email, u.id, \
             u.first_name, u.last_name, u.picture FROM platform_memberships m \
             JOIN platform_users u ON u.id = m.user_id \
             WHERE m.tenant_id = $1 AND u.email = $2",
            [tenant.into(), (&email).into()],
        )
        .await?;
    let row = row.ok_or(AccountError::NotFound("membership"))?;
    Ok(membership(&row)?)
}

fn membership(row: &Row) -> Result<Membership, StoreError> {
    let user_email: String = row.get(4)?;
    let names: [Option<String>; 2] = [row.get(6)?, row.get(7)?];
    let names: Vec<_> = names.into_iter().flatten().collect();
    let user_name = match names.join(" ") {
        name if name.trim().is_empty() => user_email.clone(),
        name => name,
    };
    Ok(Membership {
        created_at: row.time(0)?,
        id: row.id(1)?,
        is_owner: row.flag(2)?,
        updated_at: row.time(3)?,
        user_email,
        user_id: row.id(5)?,
        user_name,
        user_picture: row.get(8)?,
    })
}

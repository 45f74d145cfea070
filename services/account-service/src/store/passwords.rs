//! Passwords of users, and the facts that a sign-in asks for.

use secrecy::{ExposeSecret as _, SecretString};
use ziggurat_mcp_auth::Tenant;
use ziggurat_state::{Row, StoreError};
use ziggurat_tokens::secret;

use crate::{
    AccountError, Id, rules,
    store::{Store, columns::Columns as _, digest},
};

/// Lifetime of the address for a new password, in seconds.
const RESET: i64 = 24 * 3600;

const KEEP_PASSWORD: &str = "INSERT INTO platform_passwords (user_id, hash, set_at) \
     VALUES ($1, $2, $3) \
     ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, set_at = excluded.set_at";

/// A user, as a login needs it.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) user: Id,
    pub(crate) email: String,
    /// The stored password, if the user has one and is not disabled.
    pub(crate) hash: Option<String>,
}

// === impl Store ===

impl Store {
    /// Returns the user with this mail address.
    pub(crate) async fn login(&self, email: &str) -> Result<Option<Login>, AccountError> {
        // Another text is no address of a user.
        let Ok(email) = rules::email(email) else {
            return Ok(None);
        };
        let row = self
            .tables
            .row(
                "SELECT u.id, u.email, CASE WHEN u.is_disabled = 0 THEN p.hash END \
                 FROM platform_users u LEFT JOIN platform_passwords p ON p.user_id = u.id \
                 WHERE u.email = $1",
                [email.into()],
            )
            .await?;
        Ok(row.as_ref().map(login).transpose()?)
    }

    /// Returns the id of the user with this mail address.
    ///
    /// # Errors
    /// Fails if there is no such user, or the store fails.
    pub async fn user_of(&self, email: &str) -> Result<Id, AccountError> {
        let found = self.login(email).await?;
        found
            .map(|login| login.user)
            .ok_or(AccountError::NotFound("user"))
    }

    /// Returns the mail address of a user who may sign in, and the tenants.
    pub(crate) async fn holder(
        &self,
        user: Id,
    ) -> Result<Option<(String, Vec<Tenant>)>, AccountError> {
        let rows = self
            .tables
            .rows(
                "SELECT u.email, t.id, t.name, m.claim_groups, m.claim_roles \
                 FROM platform_users u JOIN platform_memberships m ON m.user_id = u.id \
                 JOIN platform_tenants t ON t.id = m.tenant_id \
                 WHERE u.id = $1 AND u.is_disabled = 0 ORDER BY m.created_at, m.id",
                [user.into()],
            )
            .await?;
        let Some(first) = rows.first() else {
            return Ok(None);
        };
        let email = first.get(0)?;
        let tenants: Result<_, StoreError> = rows.iter().map(tenant).collect();
        Ok(Some((email, tenants?)))
    }

    /// Disables or enables a user, and returns the id.
    ///
    /// # Errors
    /// Fails if there is no such user, or the store fails.
    pub async fn disable_user(&self, email: &str, is_disabled: bool) -> Result<Id, AccountError> {
        let email = rules::email(email)?;
        let mut session = self.tables.write().await?;
        let row = session
            .row(
                "UPDATE platform_users SET is_disabled = $2, updated_at = $3 WHERE email = $1 \
                 RETURNING id",
                [
                    email.into(),
                    i64::from(is_disabled).into(),
                    self.now().into(),
                ],
            )
            .await?;
        session.commit().await?;
        let row = row.ok_or(AccountError::NotFound("user"))?;
        Ok(row.id(0)?)
    }

    /// Makes the secret of an address at which a user sets a new password, once and within a day.
    ///
    /// # Errors
    /// Fails if there is no such user, or the store fails.
    pub async fn new_reset(&self, email: &str) -> Result<(Id, SecretString), AccountError> {
        let user = self.user_of(email).await?;
        let token = secret::new_token()?;
        let mut session = self.tables.write().await?;
        session
            .rows(
                "INSERT INTO platform_resets (user_id, token_hash, ends_at) VALUES ($1, $2, $3) \
                 ON CONFLICT (user_id) DO UPDATE SET token_hash = excluded.token_hash, \
                 ends_at = excluded.ends_at",
                [
                    user.into(),
                    digest(token.expose_secret()).into(),
                    self.now().plus(RESET).into(),
                ],
            )
            .await?;
        session.commit().await?;
        Ok((user, token))
    }

    /// Returns the user who may set a new password with this secret.
    pub(crate) async fn reset(&self, token: &str) -> Result<Option<Login>, AccountError> {
        let row = self
            .tables
            .row(
                "SELECT u.id, u.email, NULL FROM platform_resets r \
                 JOIN platform_users u ON u.id = r.user_id \
                 WHERE r.token_hash = $1 AND r.ends_at > $2 AND u.is_disabled = 0",
                [digest(token).into(), self.now().into()],
            )
            .await?;
        Ok(row.as_ref().map(login).transpose()?)
    }

    /// Sets the password of a user with this secret, which is then void. Returns whether it did.
    pub(crate) async fn use_reset(&self, token: &str, hash: &str) -> Result<bool, AccountError> {
        let mut session = self.tables.write().await?;
        let used = session
            .row(
                "DELETE FROM platform_resets WHERE token_hash = $1 AND ends_at > $2 \
                 RETURNING user_id",
                [digest(token).into(), self.now().into()],
            )
            .await?;
        if let Some(row) = &used {
            session
                .rows(
                    KEEP_PASSWORD,
                    [row.id(0)?.into(), hash.into(), self.now().into()],
                )
                .await?;
        }
        session.commit().await?;
        Ok(used.is_some())
    }

    /// Sets the password of a user.
    pub(crate) async fn keep_password(&self, user: Id, hash: &str) -> Result<(), AccountError> {
        let mut session = self.tables.write().await?;
        let values = [user.into(), hash.into(), self.now().into()];
        session.rows(KEEP_PASSWORD, values).await?;
        Ok(session.commit().await?)
    }

    /// Sets the groups and the roles of a member in tokens; `None` leaves them as they are.
    ///
    /// # Errors
    /// Fails if the member does not exist, there are more than 100 in all, or the store fails.
    pub async fn set_claims(
        &self,
        tenant: Id,
        id: Id,
        groups: Option<Vec<String>>,
        roles: Option<Vec<String>>,
    ) -> Result<(), AccountError> {
        let written = [("groups", groups), ("roles", roles)]
            .map(|(member, list)| list.map(|list| claim(member, &list)).transpose());
        let [groups, roles] = written;
        let mut session = self.tables.write().await?;
        let row = session
            .row(
                "UPDATE platform_memberships SET claim_groups = COALESCE($3, claim_groups), \
                 claim_roles = COALESCE($4, claim_roles), updated_at = $5 \
                 WHERE tenant_id = $1 AND id = $2 RETURNING id",
                [
                    tenant.into(),
                    id.into(),
                    groups?.into(),
                    roles?.into(),
                    self.now().into(),
                ],
            )
            .await?;
        session.commit().await?;
        row.map(|_| ()).ok_or(AccountError::NotFound("membership"))
    }
}

/// Checks the texts of a claim, and writes them as JSON.
fn claim(member: &str, list: &[String]) -> Result<String, AccountError> {
    const MOST: usize = 50;
    if list.len() > MOST {
        let message = format!("{member} must be at most {MOST}");
        return Err(AccountError::Invalid(message));
    }
    let names: Result<Vec<_>, _> = list.iter().map(|text| rules::name(member, text)).collect();
    Ok(serde_json::Value::from(names?).to_string())
}

fn login(row: &Row) -> Result<Login, StoreError> {
    Ok(Login {
        user: row.id(0)?,
        email: row.get(1)?,
        hash: row.get(2)?,
    })
}

fn tenant(row: &Row) -> Result<Tenant, StoreError> {
    let claim = |at| -> Result<Vec<String>, StoreError> {
        let text: Option<String> = row.get(at)?;
        Ok(match text {
            Some(text) => serde_json::from_str(&text)?,
            None => Vec::new(),
        })
    };
    Ok(Tenant {
        id: row.get(1)?,
        title: row.get(2)?,
        groups: claim(3)?,
        roles: claim(4)?,
    })
}

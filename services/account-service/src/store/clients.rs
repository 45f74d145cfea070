//! API clients.

use secrecy::{ExposeSecret as _, SecretString};
use ziggurat_layers::bearer::TokenHash;
use ziggurat_state::{Row, StoreError, TablesTransaction};
use ziggurat_tokens::secret;

use crate::{
    AccountError, ApiClient, Id, Role, UnixTime,
    id::credential_id,
    rules,
    store::{Store, columns::Columns as _, digest},
};

/// A client to create.
#[derive(Clone, Debug, Default)]
pub struct ClientDraft {
    /// Name of the client, for people.
    pub name: String,
    /// Purpose of the client.
    pub description: String,
    /// Rights of the client. By default, the first client of a tenant is an admin, and all others
    /// are readers.
    pub role: Option<Role>,
}

/// Changes to a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientChange {
    /// New name, if it changes.
    pub name: Option<String>,
    /// New description, if it changes.
    pub description: Option<String>,
    /// New role, if it changes.
    pub role: Option<Role>,
}

/// A new client.
#[derive(Debug)]
#[non_exhaustive]
pub struct CreatedClient {
    /// Record of the client.
    pub client: ApiClient,
    /// Secret of the client: shown once and never stored.
    pub secret: SecretString,
}

/// An authenticated client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credential {
    /// Record id of the client.
    pub client: Id,
    /// Tenant of the client.
    pub tenant: Id,
}

// === impl Store ===

impl Store {
    /// Lists the clients of a tenant, oldest first.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn clients(&self, tenant: Id) -> Result<Vec<ApiClient>, AccountError> {
        let rows = self
            .tables
            .rows(
                "SELECT credential_id, created_at, description, id, name, role, updated_at \
                 FROM platform_clients WHERE tenant_id = $1 ORDER BY created_at, id",
                [tenant.into()],
            )
            .await?;
        let clients: Result<_, StoreError> = rows.iter().map(client).collect();
        Ok(clients?)
    }

    /// Returns a client.
    ///
    /// # Errors
    /// Fails if the client does not exist, or the store fails.
    pub async fn client(&self, tenant: Id, id: Id) -> Result<ApiClient, AccountError> {
        let mut session = self.tables.read().await?;
        let found = find(&mut session, tenant, id).await?;
        session.commit().await?;
        found.ok_or(AccountError::NotFound("client"))
    }

    /// Makes a client and its secret.
    ///
    /// # Errors
    /// Fails if an input is invalid, there are too many clients, or the store fails.
    pub async fn create_client(
        &self,
        tenant: Id,
        draft: ClientDraft,
    ) -> Result<CreatedClient, AccountError> {
        let now = self.now();
        let mut client = ApiClient {
            credential_id: credential_id()?,
            created_at: now,
            description: rules::description(&draft.description)?,
            id: Id::random()?,
            name: rules::name("name", &draft.name)?,
            role: draft.role.unwrap_or_default(),
            updated_at: now,
        };
        let secret = secret::new_token()?;
        let mut session = self.tables.write().await?;
        let count = session
            .number(
                "SELECT (SELECT count(*) FROM platform_clients WHERE tenant_id = $1) \
                 + (SELECT count(*) FROM platform_revocations \
                 WHERE tenant_id = $1 AND ends_at > $2)",
                [tenant.into(), now.into()],
            )
            .await?;
        if count >= i64::from(self.limits.clients) {
            session.commit().await?;
            let message = "plan does not allow creating clients".to_owned();
            return Err(AccountError::Invalid(message));
        }
        if draft.role.is_none() && is_without_clients(&mut session, tenant).await? {
            client.role = Role::Admin;
        }
        insert(&mut session, tenant, &client, &secret).await?;
        session.commit().await?;
        Ok(CreatedClient { client, secret })
    }

    /// Changes a client and returns its new state.
    ///
    /// # Errors
    /// Fails if the client does not exist, an input is invalid, or the store fails.
    pub(crate) async fn change_client(
        &self,
        tenant: Id,
        id: Id,
        change: ClientChange,
    ) -> Result<ApiClient, AccountError> {
        let name = change.name.map(|name| rules::name("name", &name));
        let name = name.transpose()?;
        let description = change.description.map(|text| rules::description(&text));
        let description = description.transpose()?;
        let mut session = self.tables.write().await?;
        // The time of the last change moves only if a value differs.
        session
            .rows(
                "UPDATE platform_clients SET name = COALESCE($3, name), \
                 description = COALESCE($4, description), role = COALESCE($5, role), \
                 updated_at = $6 WHERE tenant_id = $1 AND id = $2 \
                 AND (name <> COALESCE($3, name) OR description <> COALESCE($4, description) \
                 OR role <> COALESCE($5, role)) RETURNING id",
                [
                    tenant.into(),
                    id.into(),
                    name.into(),
                    description.into(),
                    change.role.map(|role| role.to_string()).into(),
                    self.now().into(),
                ],
            )
            .await?;
        let found = find(&mut session, tenant, id).await?;
        session.commit().await?;
        found.ok_or(AccountError::NotFound("client"))
    }

    /// Deletes a client. Its secret and its tokens become invalid at once.
    ///
    /// # Errors
    /// Fails if the client does not exist, or the store fails.
    pub async fn delete_client(&self, tenant: Id, id: Id) -> Result<(), AccountError> {
        let mut session = self.tables.write().await?;
        let deleted = session
            .row(
                "DELETE FROM platform_clients WHERE tenant_id = $1 AND id = $2 \
                 RETURNING tokens_until",
                [tenant.into(), id.into()],
            )
            .await?;
        if let Some(row) = &deleted {
            let ends = row.get(0)?;
            self.revoke(&mut session, tenant, id, ends).await?;
        }
        session.commit().await?;
        deleted.map(|_| ()).ok_or(AccountError::NotFound("client"))
    }

    /// Authenticates a client, which then gets a token that expires at `ends`.
    ///
    /// Unknown ids take the same code path as wrong secrets, so that timing does not reveal ids.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub(crate) async fn sign_in(
        &self,
        credential_id: &str,
        secret: &str,
        ends: UnixTime,
    ) -> Result<Option<Credential>, AccountError> {
        let given = TokenHash::of(secret);
        // Other characters cannot be in an id, and PostgreSQL accepts no zero byte in a text.
        let is_id = credential_id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric());
        let credential_id = if is_id { credential_id } else { "" };
        let row = self
            .tables
            .row(
                "SELECT id, tenant_id, secret_hash, tokens_until FROM platform_clients \
                 WHERE credential_id = $1",
                [credential_id.into()],
            )
            .await?;
        let kept = match &row {
            Some(row) => row.get(2)?,
            None => digest(""),
        };
        let kept = kept.parse().unwrap_or(TokenHash::from_bytes([0; 32]));
        // Compares in constant time, for unknown ids as well.
        let is_right = kept == given;
        let Some(row) = row.filter(|_| is_right) else {
            return Ok(None);
        };
        let credential = Credential {
            client: row.id(0)?,
            tenant: row.id(1)?,
        };
        if row.time(3)? < ends && !self.record_token(credential, ends).await? {
            // The client was deleted meanwhile.
            return Ok(None);
        }
        Ok(Some(credential))
    }

    /// Returns the role of a client, or `None` if it was deleted.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub(crate) async fn client_role(
        &self,
        tenant: Id,
        client: Id,
    ) -> Result<Option<Role>, AccountError> {
        let row = self
            .tables
            .row(
                "SELECT role FROM platform_clients WHERE tenant_id = $1 AND id = $2",
                [tenant.into(), client.into()],
            )
            .await?;
        let role = row.as_ref().map(|row| role(row, 0));
        Ok(role.transpose()?)
    }

    /// Records when the last token of a client expires, and returns whether the client exists.
    /// Records a slightly later time, so that frequent sign-ins do not all write.
    async fn record_token(
        &self,
        credential: Credential,
        ends: UnixTime,
    ) -> Result<bool, AccountError> {
        const MARGIN_SECONDS: i64 = 300;
        let mut session = self.tables.write().await?;
        let noted = session
            .row(
                "UPDATE platform_clients SET tokens_until = $2 WHERE id = $1 RETURNING id",
                [credential.client.into(), ends.plus(MARGIN_SECONDS).into()],
            )
            .await?;
        session.commit().await?;
        Ok(noted.is_some())
    }
}

pub(super) async fn insert(
    session: &mut TablesTransaction,
    tenant: Id,
    client: &ApiClient,
    secret: &SecretString,
) -> Result<(), StoreError> {
    session
        .rows(
            "INSERT INTO platform_clients (id, tenant_id, name, description, credential_id, \
             secret_hash, tokens_until, created_at, updated_at, role) \
             VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $7, $8)",
            [
                client.id.into(),
                tenant.into(),
                (&client.name).into(),
                (&client.description).into(),
                (&client.credential_id).into(),
                digest(secret.expose_secret()).into(),
                client.created_at.into(),
                client.role.to_string().into(),
            ],
        )
        .await?;
    Ok(())
}

async fn find(
    session: &mut TablesTransaction,
    tenant: Id,
    id: Id,
) -> Result<Option<ApiClient>, StoreError> {
    let row = session
        .row(
            "SELECT credential_id, created_at, description, id, name, role, updated_at \
             FROM platform_clients WHERE tenant_id = $1 AND id = $2",
            [tenant.into(), id.into()],
        )
        .await?;
    row.as_ref().map(client).transpose()
}

fn client(row: &Row) -> Result<ApiClient, StoreError> {
    Ok(ApiClient {
        credential_id: row.get(0)?,
        created_at: row.time(1)?,
        description: row.get(2)?,
        id: row.id(3)?,
        name: row.get(4)?,
        role: role(row, 5)?,
        updated_at: row.time(6)?,
    })
}

fn role(row: &Row, at: usize) -> Result<Role, StoreError> {
    let text: String = row.get(at)?;
    text.parse()
        .map_err(|error: AccountError| sqlx::Error::Decode(error.into()).into())
}

async fn is_without_clients(
    session: &mut TablesTransaction,
    tenant: Id,
) -> Result<bool, StoreError> {
    let count = session
        .number(
            "SELECT count(*) FROM platform_clients WHERE tenant_id = $1",
            [tenant.into()],
        )
        .await?;
    Ok(count == 0)
}

//! Invitations.

use secrecy::{ExposeSecret as _, SecretString};
use ziggurat_layers::bearer::TokenHash;
use ziggurat_state::{Row, StoreError, TablesTransaction};
use ziggurat_tokens::secret;

use crate::{
    AccountError, Id, Invite, Membership, rules,
    store::{Owner, Store, columns::Columns as _, digest, members},
};

/// Default lifetime of an invitation, in hours.
const DEFAULT_HOURS: i64 = 168;

/// Maximum lifetime of an invitation, in hours: a year.
const MAX_HOURS: i64 = 8760;

/// An invitation to create.
#[derive(Clone, Debug, Default)]
pub struct InviteDraft {
    /// Mail address of the invited person.
    pub email: String,
    /// Lifetime in hours.
    pub hours: Option<i64>,
    /// User that makes the invitation, if any.
    pub invited_by: Option<String>,
}

/// A new invitation.
#[derive(Debug)]
#[non_exhaustive]
pub struct CreatedInvite {
    /// Record of the invitation.
    pub invite: Invite,
    /// Token that accepts the invitation: shown once and never stored.
    pub token: SecretString,
}

// === impl CreatedInvite ===

impl CreatedInvite {
    /// Returns the address of the page at which the person joins, at this public address.
    #[must_use]
    pub fn accept_url(&self, issuer: &str) -> String {
        let (id, token) = (self.invite.id, self.token.expose_secret());
        format!("{issuer}/oauth/invite/{id}?token={token}")
    }
}

/// A person who has an invitation.
#[derive(Clone, Debug)]
pub(crate) struct Invited {
    pub(crate) email: String,
    /// The name of the tenant.
    pub(crate) tenant: String,
    pub(crate) account: Account,
}

/// The account of an invited person.
///
/// Members of other tenants prove themselves with their password: the token of an invitation is known
/// to the tenant that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    /// The person has no account, or one without a tenant and a password.
    New,
    WithPassword,
    WithoutPassword,
}

/// Facts about a person who accepts an invitation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accepted {
    pub(crate) first_name: Option<String>,
    pub(crate) last_name: Option<String>,
    /// The password of a new account.
    pub(crate) hash: Option<String>,
}

// === impl Store ===

impl Store {
    /// Lists the invitations of a tenant that can be accepted, oldest first.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn invites(&self, tenant: Id) -> Result<Vec<Invite>, AccountError> {
        let rows = self
            .tables
            .rows(
                "SELECT i.created_at, i.email, i.expires_at, i.id, i.invited_by, t.name, \
                 i.updated_at FROM platform_invites i \
                 JOIN platform_tenants t ON t.id = i.tenant_id \
                 WHERE i.tenant_id = $1 AND i.expires_at > $2 ORDER BY i.created_at, i.id",
                [tenant.into(), self.now().into()],
            )
            .await?;
        let invites: Result<_, StoreError> = rows.iter().map(invite).collect();
        Ok(invites?)
    }

    /// Returns an invitation.
    ///
    /// # Errors
    /// Fails if the invitation does not exist, or the store fails.
    pub async fn invite(&self, tenant: Id, id: Id) -> Result<Invite, AccountError> {
        let mut session = self.tables.read().await?;
        let found = self.find_invite(&mut session, tenant, id).await?;
        session.commit().await?;
        found.ok_or(AccountError::NotFound("invite"))
    }

    /// Makes an invitation and its token.
    ///
    /// # Errors
    /// Fails if an input is invalid, the person is already invited or a member, there are too many
    /// invitations, or the store fails.
    pub async fn create_invite(
        &self,
        tenant: Id,
        draft: InviteDraft,
    ) -> Result<CreatedInvite, AccountError> {
        let email = rules::email(&draft.email)?;
        let hours = draft.hours.unwrap_or(DEFAULT_HOURS);
        if !(1..=MAX_HOURS).contains(&hours) {
            let message = format!("expiration must be between 1 and {MAX_HOURS} hours");
            return Err(AccountError::Invalid(message));
        }
        let (id, token) = (Id::random()?, secret::new_token()?);
        let mut session = self.tables.write().await?;
        let made = self.check_new(&mut session, tenant, &email).await?;
        if let Err(error) = made {
            session.commit().await?;
            return Err(error);
        }
        let now = self.now();
        session
            .rows(
                "INSERT INTO platform_invites (id, tenant_id, email, token_hash, invited_by, \
                 expires_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $7)",
                [
                    id.into(),
                    tenant.into(),
                    (&email).into(),
                    digest(token.expose_secret()).into(),
                    draft.invited_by.as_deref().into(),
                    now.plus(hours * 3600).into(),
                    now.into(),
                ],
            )
            .await?;
        let invite = self.find_invite(&mut session, tenant, id).await?;
        session.commit().await?;
        let invite = invite.ok_or(AccountError::NotFound("invite"))?;
        Ok(CreatedInvite { invite, token })
    }

    /// Withdraws an invitation.
    ///
    /// # Errors
    /// Fails if the invitation does not exist, or the store fails.
    pub async fn delete_invite(&self, tenant: Id, id: Id) -> Result<(), AccountError> {
        let mut session = self.tables.write().await?;
        let deleted = session
            .row(
                "DELETE FROM platform_invites \
                 WHERE tenant_id = $1 AND id = $2 AND expires_at > $3 RETURNING id",
                [tenant.into(), id.into(), self.now().into()],
            )
            .await?;
        session.commit().await?;
        deleted.map(|_| ()).ok_or(AccountError::NotFound("invite"))
    }

    /// Returns the person that an invitation with this token is for.
    pub(crate) async fn invited(
        &self,
        id: Id,
        token: &str,
    ) -> Result<Option<Invited>, AccountError> {
        let row = self
            .tables
            .row(
                "SELECT i.email, t.name, p.user_id, (SELECT count(*) FROM platform_memberships m \
                 WHERE m.user_id = u.id) FROM platform_invites i \
                 JOIN platform_tenants t ON t.id = i.tenant_id \
                 LEFT JOIN platform_users u ON u.email = i.email \
                 LEFT JOIN platform_passwords p ON p.user_id = u.id \
                 WHERE i.id = $1 AND i.token_hash = $2 AND i.expires_at > $3",
                [id.into(), digest(token).into(), self.now().into()],
            )
            .await?;
        let Some(row) = row else { return Ok(None) };
        let password: Option<String> = row.get(2)?;
        let memberships: i64 = row.get(3)?;
        Ok(Some(Invited {
            email: row.get(0)?,
            tenant: row.get(1)?,
            account: match (password, memberships) {
                (Some(_), _) => Account::WithPassword,
                (None, 0) => Account::New,
                (None, _) => Account::WithoutPassword,
            },
        }))
    }

    /// Makes the invited person a member.
    ///
    /// # Errors
    /// Fails if the invitation does not exist, the token is wrong, or the store fails.
    pub async fn accept_invite(
        &self,
        id: Id,
        token: &SecretString,
        first_name: Option<String>,
        last_name: Option<String>,
    ) -> Result<Membership, AccountError> {
        let accepted = Accepted {
            first_name,
            last_name,
            hash: None,
        };
        self.accept(id, token, accepted).await
    }

    /// Makes the invited person a member, and sets the password of a new account.
    pub(crate) async fn accept(
        &self,
        id: Id,
        token: &SecretString,
        accepted: Accepted,
    ) -> Result<Membership, AccountError> {
        let given = TokenHash::of(token.expose_secret());
        let mut session = self.tables.write().await?;
        let row = session
            .row(
                "SELECT tenant_id, email, token_hash FROM platform_invites \
                 WHERE id = $1 AND expires_at > $2",
                [id.into(), self.now().into()],
            )
            .await?;
        let kept = match &row {
            Some(row) => row.get::<String>(2)?,
            None => digest(""),
        };
        let is_right = kept.parse().is_ok_and(|kept: TokenHash| kept == given);
        let Some(row) = row.filter(|_| is_right) else {
            session.commit().await?;
            return Err(AccountError::NotFound("invite"));
        };
        let tenant = row.id(0)?;
        let person = Owner {
            email: row.get(1)?,
            first_name: accepted.first_name,
            last_name: accepted.last_name,
        };
        session
            .rows("DELETE FROM platform_invites WHERE id = $1", [id.into()])
            .await?;
        let member = members::join(&mut session, tenant, &person, false, self.now()).await?;
        if let Some(hash) = accepted.hash {
            session
                .rows(
                    "INSERT INTO platform_passwords (user_id, hash, set_at) VALUES ($1, $2, $3) \
                     ON CONFLICT (user_id) DO NOTHING",
                    [member.user_id.into(), hash.into(), self.now().into()],
                )
                .await?;
        }
        session.commit().await?;
        Ok(member)
    }

    /// Creates a user who comes from another provider as a member of the tenants that have invited the
    /// verified address, and returns the id. The invitations are used up. `None` if there are no
    /// invitations, or a user has this address: an address links no accounts.
    pub(crate) async fn add_invited(&self, email: &str) -> Result<Option<Id>, AccountError> {
        // Another text is no address of an invitation.
        let Ok(email) = rules::email(email) else {
            return Ok(None);
        };
        let now = self.now();
        let mut session = self.tables.write().await?;
        let invites = session
            .rows(
                "DELETE FROM platform_invites WHERE email = $1 AND expires_at > $2 \
                 AND NOT EXISTS (SELECT 1 FROM platform_users WHERE email = $1) \
                 RETURNING tenant_id",
                [(&email).into(), now.into()],
            )
            .await?;
        let person = Owner {
            email,
            ..Owner::default()
        };
        let mut added = None;
        for invite in &invites {
            let tenant = invite.id(0)?;
            let member = members::join(&mut session, tenant, &person, false, now).await?;
            added = Some(member.user_id);
        }
        session.commit().await?;
        Ok(added)
    }

    /// Returns whether a person can be invited. Deletes expired invitations.
    async fn check_new(
        &self,
        session: &mut TablesTransaction,
        tenant: Id,
        email: &str,
    ) -> Result<Result<(), AccountError>, StoreError> {
        session
            .rows(
                "DELETE FROM platform_invites WHERE tenant_id = $1 AND expires_at <= $2",
                [tenant.into(), self.now().into()],
            )
            .await?;
        let known = session
            .rows(
                "SELECT id FROM platform_invites WHERE tenant_id = $1 AND email = $2",
                [tenant.into(), email.into()],
            )
            .await?;
        if !known.is_empty() {
            let message = "an invite for this mail address is pending";
            return Ok(Err(AccountError::Conflict(message)));
        }
        let known = session
            .rows(
                "SELECT m.id FROM platform_memberships m \
                 JOIN platform_users u ON u.id = m.user_id \
                 WHERE m.tenant_id = $1 AND u.email = $2",
                [tenant.into(), email.into()],
            )
            .await?;
        if !known.is_empty() {
            let message = "the user with this mail address is a member already";
            return Ok(Err(AccountError::Conflict(message)));
        }
        let count = session
            .number(
                "SELECT count(*) FROM platform_invites WHERE tenant_id = $1",
                [tenant.into()],
            )
            .await?;
        if count >= i64::from(self.limits.invites) {
            let message = "plan does not allow creating invites".to_owned();
            return Ok(Err(AccountError::Invalid(message)));
        }
        Ok(Ok(()))
    }

    async fn find_invite(
        &self,
        session: &mut TablesTransaction,
        tenant: Id,
        id: Id,
    ) -> Result<Option<Invite>, StoreError> {
        let row = session
            .row(
                "SELECT i.created_at, i.email, i.expires_at, i.id, i.invited_by, t.name, \
                 i.updated_at FROM platform_invites i \
                 JOIN platform_tenants t ON t.id = i.tenant_id \
                 WHERE i.tenant_id = $1 AND i.id = $2 AND i.expires_at > $3",
                [tenant.into(), id.into(), self.now().into()],
            )
            .await?;
        row.as_ref().map(invite).transpose()
    }
}

fn invite(row: &Row) -> Result<Invite, StoreError> {
    Ok(Invite {
        created_at: row.time(0)?,
        email: row.get(1)?,
        expires_at: row.time(2)?,
        id: row.id(3)?,
        invited_by: row.get(4)?,
        team_name: row.get(5)?,
        updated_at: row.time(6)?,
    })
}

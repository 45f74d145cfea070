//! Grants: programs that people allowed to act for them.

use std::collections::HashMap;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_mcp_auth::{Grant, GrantId, Why};
use ziggurat_sign_in_state::SignInStore;

use crate::{AccountError, Id, Store, UnixTime};

/// A program that a person allowed to act for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct PersonGrant {
    /// Id of the program.
    pub client_id: String,
    /// Time the person allowed it.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: UnixTime,
    /// Databases that it may use, if they are not all that the person may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub databases: Option<Vec<String>>,
    /// Time it ends in any case.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: UnixTime,
    /// Id of the grant.
    #[schema(min_length = 22, max_length = 22)]
    pub id: String,
    /// Server that it is for.
    pub resource: String,
    /// Scope, words between blanks.
    pub scope: String,
    /// Time of the last use, to the minute.
    #[schema(value_type = String, format = DateTime)]
    pub used_at: UnixTime,
    /// Mail address of the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user_email: Option<String>,
    /// Id of the person.
    pub user_id: String,
}

/// The grants of people, next to their accounts.
#[derive(Clone, Debug)]
pub struct Grants {
    accounts: Store,
    sign_in: SignInStore,
}

// === impl Grants ===

impl Grants {
    /// Uses the grants of the people of these accounts.
    #[must_use]
    pub fn new(accounts: Store, sign_in: SignInStore) -> Self {
        Self { accounts, sign_in }
    }

    /// Lists the grants for a tenant, the last used first.
    ///
    /// # Errors
    /// Fails if a store fails.
    pub async fn of_tenant(&self, tenant: Id) -> Result<Vec<PersonGrant>, AccountError> {
        let id = tenant.to_string();
        let grants = self.sign_in.grants_in(&id, self.now()).await?;
        let members = self.accounts.memberships(tenant).await?.into_iter();
        let emails: HashMap<_, _> = members
            .map(|member| (member.user_id.to_string(), member.user_email))
            .collect();
        let shown = |grant: Grant| {
            let email = emails.get(&grant.person).cloned();
            PersonGrant::new(grant, email)
        };
        Ok(grants.into_iter().map(shown).collect())
    }

    /// Lists the grants of a person, the last used first.
    pub(crate) async fn of_user(&self, user: Id) -> Result<Vec<PersonGrant>, AccountError> {
        let email = self.accounts.user(user).await?.email;
        let grants = self
            .sign_in
            .grants_of(&user.to_string(), self.now())
            .await?;
        let shown = |grant| PersonGrant::new(grant, Some(email.clone()));
        Ok(grants.into_iter().map(shown).collect())
    }

    /// Ends a grant of a person, or else of a tenant.
    ///
    /// # Errors
    /// Fails if there is no such grant, or a store fails.
    pub async fn end(
        &self,
        id: &str,
        user: Option<Id>,
        tenant: Option<Id>,
    ) -> Result<(), AccountError> {
        let missing = || AccountError::NotFound("grant");
        let id: GrantId = BASE64_URL_SAFE_NO_PAD
            .decode(id)
            .ok()
            .and_then(|id| id.try_into().ok())
            .ok_or_else(missing)?;
        let now = self.now();
        let grant = self
            .sign_in
            .find_grant(id, now)
            .await?
            .ok_or_else(missing)?;
        let is_own = user.is_some_and(|user| grant.person == user.to_string());
        let is_here = tenant.is_some_and(|it| grant.tenant == Some(it.to_string()));
        if !is_own && !is_here {
            return Err(missing());
        }
        self.sign_in.close_grant(id, Why::Revoked, now).await?;
        Ok(())
    }

    /// Ends the grants of a user, of a tenant, or of a user in a tenant.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn end_all(&self, user: Option<Id>, tenant: Option<Id>) -> Result<(), AccountError> {
        let [user, tenant] = [user, tenant].map(|id| id.map(|id| id.to_string()));
        let ended = self
            .sign_in
            .end_of(user.as_deref(), tenant.as_deref(), self.now());
        Ok(ended.await?)
    }

    fn now(&self) -> u64 {
        self.accounts.now().seconds().try_into().unwrap_or_default()
    }
}

// === impl PersonGrant ===

impl PersonGrant {
    fn new(grant: Grant, email: Option<String>) -> Self {
        let time = |at: u64| UnixTime::from_seconds(at.try_into().unwrap_or(i64::MAX));
        Self {
            client_id: grant.client,
            created_at: time(grant.made_at),
            databases: grant.databases,
            expires_at: time(grant.ends_at),
            id: BASE64_URL_SAFE_NO_PAD.encode(grant.id),
            resource: grant.resource,
            scope: grant.scope,
            used_at: time(grant.used_at),
            user_email: email,
            user_id: grant.person,
        }
    }
}

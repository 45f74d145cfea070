//! Records as the API shows them. Fields are in alphabetical order.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{Id, Role, UnixTime};

/// A program that may use the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct ApiClient {
    /// Id that the client uses with its secret to get tokens.
    #[schema(min_length = 32, max_length = 32, pattern = "^[A-Za-z0-9]{32}$")]
    // The name that the published interface has.
    #[serde(rename = "auth0_id")]
    pub credential_id: String,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: UnixTime,
    /// Purpose of the client.
    pub description: String,
    /// Id of the record.
    #[schema(value_type = String, format = "uuid")]
    pub id: Id,
    /// Name of the client, for people.
    pub name: String,
    /// Rights of the client.
    pub role: Role,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: UnixTime,
}

/// A pending invitation to a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct Invite {
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: UnixTime,
    /// Mail address of the invited person.
    pub email: String,
    /// Time the invitation expires.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: UnixTime,
    /// Id of the record.
    #[schema(value_type = String, format = "uuid")]
    pub id: Id,
    /// User that made the invitation, if a person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub invited_by: Option<String>,
    /// Name of the tenant.
    pub team_name: String,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: UnixTime,
}

/// Membership of a user in a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct Membership {
    /// Time the membership began.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: UnixTime,
    /// Id of the record.
    #[schema(value_type = String, format = "uuid")]
    pub id: Id,
    /// Set for the owner of the tenant, who cannot be removed.
    pub is_owner: bool,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: UnixTime,
    /// Mail address of the user.
    pub user_email: String,
    /// Id of the user.
    #[schema(value_type = String, format = "uuid")]
    pub user_id: Id,
    /// Name of the user, or the mail address if the user has no name.
    pub user_name: String,
    /// URL of a picture of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user_picture: Option<String>,
}

/// A customer, which has clients and members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct Tenant {
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: UnixTime,
    /// Domain of the mail addresses of the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub domain: Option<String>,
    /// Id of the tenant in another system.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub external_id: Option<String>,
    /// Id of the record.
    #[schema(value_type = String, format = "uuid")]
    pub id: Id,
    /// Name of the tenant, for people.
    pub name: String,
    /// Plan of the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub plan: Option<String>,
    /// Time the plan expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, nullable = false)]
    pub plan_expires_at: Option<UnixTime>,
    /// Set if the plan is a trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub plan_trial: Option<bool>,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: UnixTime,
}

/// A person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct User {
    /// Creation time of the account.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: UnixTime,
    /// Mail address.
    pub email: String,
    /// First name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub first_name: Option<String>,
    /// Id of the record.
    #[schema(value_type = String, format = "uuid")]
    pub id: Id,
    /// Last name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub last_name: Option<String>,
    /// URL of a picture of the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub picture: Option<String>,
    /// Tenants the person is a member of.
    pub tenants: Vec<Tenant>,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: UnixTime,
}

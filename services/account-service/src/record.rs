//! What is kept, as the interface shows it. Members are in the order of the alphabet.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Id, Moment, Role};

/// A program that may use the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct ApiClient {
    /// What it signs in with, together with its secret.
    #[schema(min_length = 32, max_length = 32, pattern = "^[A-Za-z0-9]{32}$")]
    pub auth0_id: String,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Moment,
    /// What it is for.
    pub description: String,
    /// The name of the record.
    #[schema(value_type = String, format = "uuid")]
    pub id: Id,
    /// What people call it.
    pub name: String,
    /// Its rights.
    pub role: Role,
    /// When one of its members was last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Moment,
}

/// An invitation that nobody has accepted yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct Invite {
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Moment,
    /// Whom it is for.
    pub email: String,
    /// When it can be accepted no more.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Moment,
    /// The name of the record.
    #[schema(value_type = String, format = "uuid")]
    pub id: Id,
    /// Who made it, if that was a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub invited_by: Option<String>,
    /// The name of the tenant.
    pub team_name: String,
    /// When one of its members was last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Moment,
}

/// That somebody belongs to a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct Membership {
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Moment,
    /// The name of the record.
    #[schema(value_type = String, format = "uuid")]
    pub id: Id,
    /// Whether this is the owner of the tenant, who cannot be removed.
    pub is_owner: bool,
    /// When one of its members was last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Moment,
    /// The mail address of the user.
    pub user_email: String,
    /// The user.
    #[schema(value_type = String, format = "uuid")]
    pub user_id: Id,
    /// The name of the user; the mail address of one who has given none.
    pub user_name: String,
    /// Where a picture of the user is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user_picture: Option<String>,
}

/// A customer: whoever has clients and members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct Tenant {
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Moment,
    /// The domain of its mail addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub domain: Option<String>,
    /// What others call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub external_id: Option<String>,
    /// The name of the record.
    #[schema(value_type = String, format = "uuid")]
    pub id: Id,
    /// What people call it.
    pub name: String,
    /// What it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub plan: Option<String>,
    /// Until when it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, nullable = false)]
    pub plan_expires_at: Option<Moment>,
    /// Whether that is for trying it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub plan_trial: Option<bool>,
    /// When one of its members was last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Moment,
}

/// A person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct User {
    /// When the account was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Moment,
    /// The mail address.
    pub email: String,
    /// The first name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub first_name: Option<String>,
    /// The name of the record.
    #[schema(value_type = String, format = "uuid")]
    pub id: Id,
    /// The last name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub last_name: Option<String>,
    /// Where a picture is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub picture: Option<String>,
    /// The tenants it belongs to.
    pub tenants: Vec<Tenant>,
    /// When one of its members was last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Moment,
}

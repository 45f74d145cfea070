//! The rights of clients.

use std::{fmt, str::FromStr};

use serde::Serialize;
use utoipa::ToSchema;

use crate::AccountError;

/// The rights of a client in its tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// Reads, and manages clients, invites, members and the tenant.
    Admin,
    /// Reads only.
    #[default]
    Reader,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Admin => "admin",
            Self::Reader => "reader",
        })
    }
}

impl FromStr for Role {
    type Err = AccountError;

    fn from_str(text: &str) -> Result<Self, AccountError> {
        match text {
            "admin" => Ok(Self::Admin),
            "reader" => Ok(Self::Reader),
            _ => Err(AccountError::Invalid(
                "role must be admin or reader".to_owned(),
            )),
        }
    }
}

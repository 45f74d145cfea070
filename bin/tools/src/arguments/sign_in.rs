//! Commands about the grants and the clients of the sign-in.

use ziggurat_runtime::flags::Flags;

use crate::arguments::Refusal;

/// A command about the sign-in.
#[derive(Debug)]
pub(crate) enum SignInCommand {
    /// List the grants of a user, or of all.
    ListGrants {
        /// The user.
        username: Option<String>,
    },
    /// End a grant.
    RevokeGrant {
        /// Its id.
        id: String,
    },
    /// End all grants and sessions of a user.
    RevokeGrants {
        /// The user.
        username: String,
    },
    /// List the clients.
    ListClients,
    /// Register a client.
    AddClient {
        /// Its name on the pages.
        name: String,
        /// The addresses that it may be sent back to.
        redirect_uris: Vec<String>,
        /// True if it gets a secret.
        has_secret: bool,
    },
    /// Remove a client, and end its grants.
    RemoveClient {
        /// Its id.
        id: String,
    },
    /// Make a new key.
    RotateKey {
        /// True if all tokens, grants and sessions end.
        revokes: bool,
    },
    /// Remove the second factor of a user.
    ResetSecondFactor {
        /// The user.
        username: String,
    },
}

// === impl SignInCommand ===

impl SignInCommand {
    /// Reads the command of a flag; `None` if the flag is of another command.
    pub(super) fn of(name: &str, flags: &Flags) -> Result<Option<Self>, Refusal> {
        let username = || {
            let username = flags.owned("username");
            username.ok_or_else(|| Refusal::usage(format!("-{name} needs -username")))
        };
        let value = || flags.owned(name).unwrap_or_default();
        Ok(Some(match name {
            "list-grants" => Self::ListGrants {
                username: flags.owned("username"),
            },
            "revoke-grant" => Self::RevokeGrant { id: value() },
            "revoke-grants" => Self::RevokeGrants {
                username: username()?,
            },
            "list-clients" => Self::ListClients,
            "add-client" => Self::AddClient {
                name: flags.owned("client-name").unwrap_or_default(),
                redirect_uris: flags.texts("redirect-uri").map(str::to_owned).collect(),
                has_secret: flags.has("secret"),
            },
            "remove-client" => Self::RemoveClient { id: value() },
            "rotate-key" => Self::RotateKey {
                revokes: flags.has("revoke"),
            },
            "reset-second-factor" => Self::ResetSecondFactor {
                username: username()?,
            },
            _ => return Ok(None),
        }))
    }

    /// Returns its flag.
    pub(super) fn flag(&self) -> &'static str {
        match self {
            Self::ListGrants { .. } => "-list-grants",
            Self::RevokeGrant { .. } => "-revoke-grant",
            Self::RevokeGrants { .. } => "-revoke-grants",
            Self::ListClients => "-list-clients",
            Self::AddClient { .. } => "-add-client",
            Self::RemoveClient { .. } => "-remove-client",
            Self::RotateKey { .. } => "-rotate-key",
            Self::ResetSecondFactor { .. } => "-reset-second-factor",
        }
    }
}

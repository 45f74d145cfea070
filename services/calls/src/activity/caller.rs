//! Names of callers.

use ziggurat_tokens::Identity;

use crate::activity::slot::Facts;

/// Kind of the caller without authentication.
const LOCAL: &str = "local";

/// The name of a caller: a user with all its sessions, an API token, or a client of an issuer.
#[derive(Clone, Copy, Debug)]
pub struct CallerName<'a> {
    /// The kind: `user`, `token`, `client` or `local`.
    pub kind: &'static str,
    /// The name within its kind; empty for none.
    pub name: &'a str,
    /// Id of the account, which no later account of the same name has.
    pub account: &'a str,
}

// === impl CallerName ===

impl<'a> CallerName<'a> {
    /// Names the caller of a request; without authentication, the one that all share.
    #[must_use]
    pub fn of(identity: Option<&'a Identity>) -> Self {
        Self {
            kind: identity.map_or(LOCAL, Identity::kind),
            name: identity.map_or("", Identity::name),
            account: identity.map_or("", Identity::account_id),
        }
    }

    /// Returns whether a statement is of this caller.
    pub(crate) fn owns(self, facts: &Facts) -> bool {
        // The name of the caller without authentication may change in a reload.
        self.kind == facts.kind && (self.kind == LOCAL || self.account == facts.account)
    }
}

//! Permissions of people for their clients.

use http::HeaderValue;
use ziggurat_layers::access_token::AccessToken;

/// The permission of a person for a client, which narrows the rights of the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Databases that the person allowed; `None` for all.
    pub databases: Option<Vec<String>>,
    /// False if statements may only read.
    pub may_write: bool,
    /// The challenge for a call that would write, if clients are sent back to the person for it.
    pub step_up: Option<HeaderValue>,
    /// Scopes that name toolsets, where the holder has none of its own.
    pub scopes: Vec<String>,
}

// === impl Grant ===

impl Grant {
    /// Reads the claims of a token that narrow the rights of its holder; `None` if no claim does.
    /// Without a `write_scope` there is no scope for changes.
    #[must_use]
    pub fn of(token: &AccessToken, write_scope: &str) -> Option<Self> {
        let databases = token.claim("databases");
        // A list that cannot be read allows nothing.
        let databases = databases.map(|json| serde_json::from_str(json).unwrap_or_default());
        let may_write = write_scope.is_empty() || token.has_scope(write_scope);
        (databases.is_some() || !may_write).then_some(Self {
            databases,
            may_write,
            step_up: None,
            scopes: Vec::new(),
        })
    }

    /// Adds the challenge that sends a client back to the person for a call that would write, unless
    /// it may write. The challenge names this document, and a scope with all that the token has.
    #[must_use]
    pub fn with_step_up(self, token: &AccessToken, write_scope: &str, document: &str) -> Self {
        if self.may_write || write_scope.is_empty() {
            return self;
        }
        let scope: Vec<_> = token.scopes().chain([write_scope]).collect();
        let scope = scope.join(" ");
        let challenge = format!(
            "Bearer error=\"insufficient_scope\", scope=\"{scope}\", \
             resource_metadata=\"{document}\""
        );
        let step_up = HeaderValue::try_from(challenge).ok();
        Self { step_up, ..self }
    }

    /// Returns whether it allows a database.
    #[must_use]
    pub(crate) fn has_database(&self, name: &str) -> bool {
        let listed = |databases: &Vec<String>| databases.iter().any(|listed| listed == name);
        self.databases.as_ref().is_none_or(listed)
    }
}

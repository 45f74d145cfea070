//! The caller of a request, by the identity that its token proves.

use http::Extensions;
use ziggurat_tokens::{CallerId, Identity};

/// Kind of the caller of a server without authentication.
const LOCAL: &str = "local";

/// Names of a caller for records, which do not depend on its request.
#[derive(Clone, Debug, Default)]
pub(super) struct CallerRecord(Option<Identity>);

/// Returns the name that a caller has in lists of callers, and is counted by. Without authentication
/// it is the local one.
pub(super) fn id(extensions: &Extensions) -> CallerId<'_> {
    identity(extensions).map_or(CallerId::Local, Identity::caller_id)
}

/// Returns the identity of a caller, if it has one.
pub(super) fn identity(extensions: &Extensions) -> Option<&Identity> {
    extensions.get()
}

// === impl CallerRecord ===

impl CallerRecord {
    pub(super) fn of(extensions: &Extensions) -> Self {
        Self(identity(extensions).cloned())
    }

    /// Returns the kind of the caller.
    pub(super) fn kind(&self) -> &'static str {
        self.0.as_ref().map_or(LOCAL, Identity::kind)
    }

    /// Returns the name of the caller; empty for the local one.
    pub(super) fn name(&self) -> &str {
        self.0.as_ref().map_or("", Identity::name)
    }

    /// Returns the first digits of the digest of its token.
    pub(super) fn digits(&self) -> &str {
        self.0.as_ref().map_or("", Identity::digits)
    }

    /// Returns whether the caller has proved who it is.
    pub(super) fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the kind and the name, such as `token:token-1730283330`.
    pub(super) fn shown(&self) -> String {
        match self.name() {
            "" => self.kind().to_owned(),
            name => format!("{}:{name}", self.kind()),
        }
    }
}

//! Features for newer protocol revisions. The reference implementation does not have these keys.

use serde::Deserialize;

/// Section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawProtocol {
    stdio_negotiate: Option<bool>,
    structured_output: Option<bool>,
}

/// Features for newer protocol revisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Protocol {
    /// True if `initialize` on standard input negotiates the revision.
    pub(crate) stdio_negotiate: bool,
    /// True if rows, plans and passages are also sent as structured JSON.
    pub(crate) structured_output: bool,
}

// === impl RawProtocol ===

impl RawProtocol {
    pub(super) fn check(&self) -> Protocol {
        Protocol {
            stdio_negotiate: self.stdio_negotiate.unwrap_or_default(),
            structured_output: self.structured_output.unwrap_or_default(),
        }
    }
}

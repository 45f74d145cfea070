//! What clients of newer revisions of the protocol get. These keys are ours.

use serde::Deserialize;

/// The section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawProtocol {
    stdio_negotiate: Option<bool>,
    structured_output: Option<bool>,
}

/// What clients of newer revisions of the protocol get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Protocol {
    /// Whether an `initialize` on standard input chooses the revision.
    pub(crate) stdio_negotiate: bool,
    /// Whether rows, plans and passages are sent as JSON, too.
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

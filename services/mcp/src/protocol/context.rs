//! Context of a call besides its method.

use std::sync::Arc;

use serde::Deserialize;

use crate::{
    notify::{Notifier, Progress},
    params::Positions,
    protocol::Revision,
};

/// The revision of a call and the capabilities of its client.
///
/// The default is a call from a client that negotiates no revision. It is answered exactly as in
/// revision 2024-11-05, and the client can neither be asked nor notified.
#[derive(Clone, Debug, Default)]
pub struct Context {
    pub(crate) revision: Revision,
    pub(crate) is_negotiated: bool,
    pub(crate) is_http: bool,
    pub(crate) capabilities: Capabilities,
    pub(crate) progress: Option<Arc<Progress>>,
    pub(crate) notifier: Option<Notifier>,
    pub(crate) wants_log: bool,
    pub(crate) params: Positions,
}

/// The requests that a client can answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Requests to fill in a form.
    pub elicitation: bool,
    /// Requests to its model.
    pub sampling: bool,
    /// Requests for the folders it works in.
    pub roots: bool,
}

// === impl Context ===

impl Context {
    /// Returns the revision of the answer.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns whether the client negotiates the revision.
    #[must_use]
    pub fn is_negotiated(&self) -> bool {
        self.is_negotiated
    }

    /// Returns whether headers repeat parts of the message.
    pub(crate) fn has_headers(&self) -> bool {
        self.is_http && self.revision.is_modern()
    }

    /// Returns whether the call continues when its client disconnects. A disconnect cancels a call
    /// only in the modern revision, and over stdio a client cannot disconnect from a single call.
    pub(crate) fn outlives_connection(&self) -> bool {
        self.is_http && !self.revision.is_modern()
    }

    /// Returns the capabilities of the client.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Returns the progress reporter of the call, if the client asked for progress.
    #[must_use]
    pub fn progress(&self) -> Option<&Progress> {
        self.progress.as_deref()
    }

    /// Returns the notifier for messages before the answer, if the transport has one.
    #[must_use]
    pub fn notifier(&self) -> Option<&Notifier> {
        self.notifier.as_ref()
    }

    /// Returns whether the client asked for log messages before the answer.
    #[must_use]
    pub fn wants_log(&self) -> bool {
        self.wants_log
    }
}

// === impl Capabilities ===

impl Capabilities {
    /// Reads the declared capabilities; members of the wrong type are ignored.
    pub(super) fn read(json: &str) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct DeclaredCapabilities {
            elicitation: Option<DeclaredElicitation>,
            sampling: Option<Object>,
            roots: Option<Object>,
        }

        #[derive(Deserialize)]
        struct DeclaredElicitation {
            form: Option<Object>,
            url: Option<Object>,
        }

        #[derive(Deserialize)]
        struct Object {}

        let Ok(declared) = serde_json::from_str::<DeclaredCapabilities>(json) else {
            return Self::default();
        };
        Self {
            // Clients declared forms with an empty object before there were other kinds.
            elicitation: declared
                .elicitation
                .is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none()),
            sampling: declared.sampling.is_some(),
            roots: declared.roots.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_an_object_and_elicitation_means_forms_unless_it_says_otherwise() {
        let cases = [
            ("{}", (false, false, false)),
            (r#"{"elicitation":{}}"#, (true, false, false)),
            (r#"{"elicitation":{"form":{}}}"#, (true, false, false)),
            (r#"{"elicitation":{"url":{}}}"#, (false, false, false)),
            (
                r#"{"elicitation":{"url":{},"form":{}}}"#,
                (true, false, false),
            ),
            (r#"{"elicitation":true}"#, (false, false, false)),
            (
                r#"{"sampling":{},"roots":{"listChanged":true},"x":1}"#,
                (false, true, true),
            ),
        ];
        for (json, (elicitation, sampling, roots)) in cases {
            let expected = Capabilities {
                elicitation,
                sampling,
                roots,
            };
            assert_eq!(Capabilities::read(json), expected, "{json}");
        }
    }
}

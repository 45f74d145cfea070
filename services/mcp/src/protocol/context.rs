//! What is known about a call besides its method and its params.

use std::sync::Arc;

use serde::Deserialize;

use crate::{
    notify::{Notifier, Progress},
    protocol::Revision,
};

/// How a call came in, and what its client can do; in the extensions of the call.
///
/// A call without one is answered exactly as revision 2024-11-05 has it.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) revision: Revision,
    pub(crate) carrier: Carrier,
    pub(crate) capabilities: Capabilities,
    pub(crate) progress: Option<Arc<Progress>>,
    pub(crate) notifier: Option<Notifier>,
    pub(crate) wants_log: bool,
}

/// What a call came in on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Carrier {
    /// HTTP, with headers that repeat what matters.
    Http,
    /// A line of standard input.
    Stdio,
}

/// What a client says it can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// To fill in a form.
    pub elicitation: bool,
    /// To have its model write something.
    pub sampling: bool,
    /// Which folders it works in.
    pub roots: bool,
}

// === impl Context ===

impl Context {
    /// The revision the answer is written in.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// What the call came in on.
    #[must_use]
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// What the client says it can be asked.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// How to tell the client how far the call has come, if it wants to know.
    #[must_use]
    pub fn progress(&self) -> Option<&Progress> {
        self.progress.as_deref()
    }

    /// How to tell the client something before the answer, if there is a way.
    #[must_use]
    pub fn notifier(&self) -> Option<&Notifier> {
        self.notifier.as_ref()
    }

    /// Whether the client asked for log messages along with the answer.
    #[must_use]
    pub fn wants_log(&self) -> bool {
        self.wants_log
    }
}

// === impl Capabilities ===

impl Capabilities {
    /// Reads what is declared; members of the wrong type declare nothing.
    pub(super) fn read(json: &str) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Declared {
            elicitation: Option<Elicitation>,
            sampling: Option<Object>,
            roots: Option<Object>,
        }

        #[derive(Deserialize)]
        struct Elicitation {
            form: Option<Object>,
            url: Option<Object>,
        }

        #[derive(Deserialize)]
        struct Object {}

        let Ok(declared) = serde_json::from_str::<Declared>(json) else {
            return Self::default();
        };
        Self {
            // Forms are what was meant before there was anything else.
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

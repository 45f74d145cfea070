//! Asking a client something in the middle of a call (multi round-trip requests of 2026-07-28).
//!
//! A call that needs an answer ends with an [`Elicitation`], and the client repeats it with the answers.
//! What the server has to remember meanwhile goes to the client and comes back, sealed, so that
//! nobody can make it up, change it, or use it for another call. A state may come back several
//! times, as requests do that are tried again; a tool that must not act twice
//! [uses it up](crate::ToolRequest::spend) first.

mod replay_guard;
mod signed_state;

use std::{borrow::Cow, fmt};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::protocol::Capabilities;

pub use self::signed_state::StateSigner;
pub(super) use self::signed_state::{Opened, StateScope};

/// Questions to a client, each under a key, and what to remember until they are answered.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Elicitation {
    questions: Vec<(Cow<'static, str>, Question)>,
    state: Option<String>,
}

/// A question to a client.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Question {
    /// To its user: a form to fill in.
    Form {
        /// What it is about.
        message: String,
        /// The fields, as JSON Schema.
        schema: Value,
    },
    /// To its model: the params of `sampling/createMessage`.
    Sample(Value),
    /// Which folders it works in.
    Roots,
}

/// The answers of a client, if this is not the first time it makes the call.
#[derive(Clone, Default)]
pub struct Inputs {
    responses: Map<String, Value>,
    opened: Option<Opened>,
}

/// What a client cannot be asked, and would have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unable(pub(super) Capabilities);

// === impl Elicitation ===

impl Elicitation {
    /// Asks nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a question.
    pub fn with(mut self, key: impl Into<Cow<'static, str>>, question: Question) -> Self {
        self.questions.push((key.into(), question));
        self
    }

    /// Sets what [`Inputs::state`] says when the answers come.
    pub fn with_state(mut self, state: impl Into<String>) -> Self {
        self.state = Some(state.into());
        self
    }

    /// Whether a client of such abilities can be asked all of it.
    pub(super) fn check(&self, able: Capabilities) -> Result<(), Unable> {
        let mut missing = Capabilities::default();
        for (_, question) in &self.questions {
            match question {
                Question::Form { .. } => missing.elicitation |= !able.elicitation,
                Question::Sample(_) => missing.sampling |= !able.sampling,
                Question::Roots => missing.roots |= !able.roots,
            }
        }
        if missing == Capabilities::default() {
            Ok(())
        } else {
            Err(Unable(missing))
        }
    }

    /// The members of the result, the state sealed.
    pub(super) fn result(self, seal: impl FnOnce(&str) -> String) -> Value {
        let questions = self.questions.into_iter();
        let requests: Map<_, _> = questions
            .map(|(key, question)| (key.into_owned(), question.request()))
            .collect();
        let mut result = json!({"resultType": "input_required", "inputRequests": requests});
        if let Some(state) = self.state {
            result["requestState"] = Value::String(seal(&state));
        }
        result
    }
}

// === impl Question ===

impl Question {
    /// Makes a form.
    pub fn form(message: impl Into<String>, schema: Value) -> Self {
        Self::Form {
            message: message.into(),
            schema,
        }
    }

    fn request(self) -> Value {
        match self {
            Self::Form { message, schema } => json!({
                "method": "elicitation/create",
                "params": {"mode": "form", "message": message, "requestedSchema": schema},
            }),
            Self::Sample(params) => json!({"method": "sampling/createMessage", "params": params}),
            Self::Roots => json!({"method": "roots/list", "params": {}}),
        }
    }
}

// === impl Inputs ===

impl Inputs {
    pub(super) fn new(responses: Option<&str>, opened: Option<Opened>) -> Self {
        // What is no object answers nothing, and is asked for again.
        let responses = responses.and_then(|json| serde_json::from_str(json).ok());
        Self {
            responses: responses.unwrap_or_default(),
            opened,
        }
    }

    pub(super) fn opened(&self) -> Option<&Opened> {
        self.opened.as_ref()
    }

    /// The answer to a question, if there is one that is an object.
    #[must_use]
    pub fn response(&self, key: &str) -> Option<&Map<String, Value>> {
        self.responses.get(key)?.as_object()
    }

    /// What a user filled into a form; nothing if it is not there or was turned down.
    #[must_use]
    pub fn form(&self, key: &str) -> Option<&Map<String, Value>> {
        let response = self.response(key)?;
        let is_accepted = response.get("action")? == "accept";
        is_accepted.then(|| response.get("content")?.as_object())?
    }

    /// Whether a user turned a form down.
    #[must_use]
    pub fn is_declined(&self, key: &str) -> bool {
        self.response(key)
            .and_then(|response| response.get("action")?.as_str())
            .is_some_and(|action| ["decline", "cancel"].contains(&action))
    }

    /// What the call remembered when it asked. It is ours: no client can make one up.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.opened.as_ref().map(|opened| &*opened.state)
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The answers are left out: they are the user's.
        f.debug_struct("Inputs")
            .field("keys", &self.responses.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

// === impl Unable ===

impl Unable {
    /// The `data` of the error.
    pub(super) fn data(self) -> impl Serialize {
        let Self(missing) = self;
        let names = [
            (missing.elicitation, "elicitation"),
            (missing.sampling, "sampling"),
            (missing.roots, "roots"),
        ];
        let missing = names.into_iter().filter(|(is_missing, _)| *is_missing);
        let required: Map<_, _> = missing
            .map(|(_, name)| (name.to_owned(), json!({})))
            .collect();
        json!({"requiredCapabilities": required})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_asked_only_what_it_can_be_asked() {
        let ask = Elicitation::new()
            .with("a", Question::form("?", json!({})))
            .with("b", Question::Roots);
        let able = |elicitation, roots| Capabilities {
            elicitation,
            sampling: false,
            roots,
        };
        assert_eq!(ask.check(able(true, true)), Ok(()));
        let unable = ask.check(able(true, false)).expect_err("no roots");
        let data = serde_json::to_value(unable.data()).expect("JSON");
        assert_eq!(data, json!({"requiredCapabilities": {"roots": {}}}));
    }

    #[test]
    fn an_answer_that_is_none_is_as_good_as_missing() {
        let cases = [
            (None, false, false),
            (Some("7"), false, false),
            (
                Some(r#"{"b":{"action":"accept","content":{}}}"#),
                false,
                false,
            ),
            (Some(r#"{"a":7}"#), false, false),
            (Some(r#"{"a":{"action":"accept"}}"#), false, false),
            (
                Some(r#"{"a":{"action":"accept","content":{}}}"#),
                true,
                false,
            ),
            (Some(r#"{"a":{"action":"decline"}}"#), false, true),
            (
                Some(r#"{"a":{"action":"cancel","content":{}}}"#),
                false,
                true,
            ),
        ];
        for (json, is_filled, is_declined) in cases {
            let inputs = Inputs::new(json, None);
            assert_eq!(inputs.form("a").is_some(), is_filled, "{json:?}");
            assert_eq!(inputs.is_declined("a"), is_declined, "{json:?}");
        }
    }
}

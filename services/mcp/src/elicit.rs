//! Questions to a client during a call (multi round-trip requests of revision 2026-07-28).
//!
//! A call that needs an answer ends with an [`Elicitation`], and the client repeats it with the
//! answers. The state of the server travels through the client, signed, so that no client can forge
//! it, change it, or use it for another call. A client that retries may send a state several times;
//! a tool that must not act twice [uses it up](crate::ToolRequest::spend) first.

mod replay_guard;
mod sealer;
mod signed_state;

use std::{borrow::Cow, fmt};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::protocol::Capabilities;

use self::signed_state::SignedState;
pub use self::{
    replay_guard::{RecordUnreachable, UsedAnswers},
    sealer::{Seal, Sealer},
    signed_state::StateSigner,
};

/// Questions to a client, each under a key, and the state to keep until they are answered.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Elicitation {
    questions: Vec<(Cow<'static, str>, Question)>,
    state: Option<String>,
    meta: Map<String, Value>,
}

/// A question to a client.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Question {
    /// A form for the user to fill in.
    Form {
        /// The question to show.
        message: String,
        /// The fields, as a JSON Schema.
        schema: Value,
    },
    /// A request to the client's model: the params of `sampling/createMessage`.
    Sample(Value),
    /// A request for the folders that the client works in.
    Roots,
}

/// The answers of a client, if it repeats the call.
#[derive(Clone, Default)]
pub struct Inputs {
    responses: Map<String, Value>,
    /// The state that came with the answers.
    pub(super) state: Option<SignedState>,
}

/// The capabilities that a client lacks for the questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingCapabilities(pub(super) Capabilities);

// === impl Elicitation ===

impl Elicitation {
    /// Makes an elicitation without questions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a question.
    pub fn with(mut self, key: impl Into<Cow<'static, str>>, question: Question) -> Self {
        self.questions.push((key.into(), question));
        self
    }

    /// Sets the state that [`Inputs::state`] returns when the answers arrive.
    pub fn with_state(mut self, state: impl Into<String>) -> Self {
        self.state = Some(state.into());
        self
    }

    /// Adds a member of `_meta`, for clients that know its key.
    pub fn with_meta(mut self, key: impl Into<String>, value: Value) -> Self {
        self.meta.insert(key.into(), value);
        self
    }

    /// Checks that a client with these capabilities can be asked all questions.
    pub(super) fn check(&self, capabilities: Capabilities) -> Result<(), MissingCapabilities> {
        let mut missing = Capabilities::default();
        for (_, question) in &self.questions {
            match question {
                Question::Form { .. } => missing.elicitation |= !capabilities.elicitation,
                Question::Sample(_) => missing.sampling |= !capabilities.sampling,
                Question::Roots => missing.roots |= !capabilities.roots,
            }
        }
        if missing == Capabilities::default() {
            Ok(())
        } else {
            Err(MissingCapabilities(missing))
        }
    }

    /// Returns the members of the result, with the signed state.
    pub(super) fn result(self, sign: impl FnOnce(&str) -> String) -> Value {
        let questions = self.questions.into_iter();
        let requests: Map<_, _> = questions
            .map(|(key, question)| (key.into_owned(), question.request()))
            .collect();
        let mut result = json!({"resultType": "input_required", "inputRequests": requests});
        if let Some(state) = self.state {
            result["requestState"] = Value::String(sign(&state));
        }
        if !self.meta.is_empty() {
            result["_meta"] = Value::Object(self.meta);
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
    pub(super) fn new(responses: Option<&str>, state: Option<SignedState>) -> Self {
        // A value that is not an object counts as no answer, so the tool asks again.
        let responses = responses.and_then(|json| serde_json::from_str(json).ok());
        Self {
            responses: responses.unwrap_or_default(),
            state,
        }
    }

    /// Returns the answer to a question, if it is an object.
    #[must_use]
    pub fn response(&self, key: &str) -> Option<&Map<String, Value>> {
        self.responses.get(key)?.as_object()
    }

    /// Returns the fields of a form, or `None` if the form is missing or was declined.
    #[must_use]
    pub fn form(&self, key: &str) -> Option<&Map<String, Value>> {
        let response = self.response(key)?;
        let is_accepted = response.get("action")? == "accept";
        is_accepted.then(|| response.get("content")?.as_object())?
    }

    /// Returns whether the user declined a form.
    #[must_use]
    pub fn is_declined(&self, key: &str) -> bool {
        self.response(key)
            .and_then(|response| response.get("action")?.as_str())
            .is_some_and(|action| ["decline", "cancel"].contains(&action))
    }

    /// Returns the state that the call set when it asked. It is signed, so no client can forge it.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.state.as_ref().map(|state| &*state.text)
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The answers are left out: they are private data of the user.
        f.debug_struct("Inputs")
            .field("keys", &self.responses.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

// === impl MissingCapabilities ===

impl MissingCapabilities {
    /// Returns the `data` of the error.
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
    fn a_client_is_asked_only_what_its_capabilities_allow() {
        let ask = Elicitation::new()
            .with("a", Question::form("?", json!({})))
            .with("b", Question::Roots);
        let able = |elicitation, roots| Capabilities {
            elicitation,
            sampling: false,
            roots,
        };
        assert_eq!(ask.check(able(true, true)), Ok(()));
        let missing = ask.check(able(true, false)).expect_err("no roots");
        let data = serde_json::to_value(missing.data()).expect("JSON");
        assert_eq!(data, json!({"requiredCapabilities": {"roots": {}}}));
    }

    #[test]
    fn an_invalid_answer_counts_as_missing() {
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

//! Confirmation by the user before data changes.

use serde_json::{Value, json};
use tracing::warn;
use ziggurat_mcp::{
    Elicitation, Error, Question, RecordUnreachable, Reported, ToolRequest, ToolResult,
};

const KEY: &str = "confirm";

/// Member of `_meta` with which a call asks for a preview alone, and with which a question has one.
pub(crate) const PREVIEW: &str = "ziggurat/preview";

/// Most bytes of a question. A user has to see all of what runs.
const MAX_MESSAGE: usize = 16 << 10;

/// A question to the user of a client.
///
/// An answer is valid for one run of one call: a client that sends it a second time is asked again.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// The action that the user confirms, as it is signed; the arguments of the call are signed with
    /// it.
    pub state: String,
    /// The question.
    pub message: String,
    /// The word for the action in the texts for the user: `statement` or `call`.
    pub subject: &'static str,
    /// The changed rows for a client that asks for structures.
    pub structure: Option<Value>,
}

/// Returns whether the client of a call can ask its user.
#[must_use]
pub fn can_ask(request: &ToolRequest) -> bool {
    let context = request.caller().context();
    context.revision().is_modern() && context.capabilities().elicitation
}

/// Returns whether the user has confirmed an action; `None` without an answer.
///
/// # Errors
/// Fails if the user declined.
pub(crate) fn answer(request: &ToolRequest, subject: &str) -> Result<Option<bool>, Reported> {
    let inputs = request.inputs();
    let answer = inputs.form(KEY).and_then(|form| form.get(KEY)?.as_bool());
    if inputs.is_declined(KEY) || answer == Some(false) {
        return Err(Reported::new(format!(
            "The user did not confirm the {subject}, and it was not run."
        )));
    }
    Ok(answer)
}

/// Returns the error for a confirmation of which it is not known if it was used.
pub(crate) fn unknown(subject: &str, error: &RecordUnreachable) -> Reported {
    let error: &dyn std::error::Error = error;
    warn!(error, "cannot mark a confirmation as used");
    Reported::new(format!(
        "It is not known whether this confirmation was used before, and the {subject} was not run. \
         Try again later."
    ))
}

// === impl Confirmation ===

impl Confirmation {
    /// Returns the question, or `None` if the user has confirmed it.
    ///
    /// # Errors
    /// Fails if the user declined, the question is too long, or the client cannot be asked.
    pub async fn question(self, request: &ToolRequest) -> Result<Option<ToolResult>, Error> {
        let subject = self.subject;
        self.check_length()?;
        let mut was_confirmed = false;
        if request.inputs().state() == Some(&self.state) {
            // Without an answer the question is repeated.
            was_confirmed = answer(request, subject)?.unwrap_or_default();
            if was_confirmed && self.use_up(request).await? {
                return Ok(None);
            }
        }
        self.ask_again(request, was_confirmed).map(Some)
    }

    /// Returns the question, whatever the user has answered before.
    ///
    /// # Errors
    /// Fails if the question is too long, or the client cannot be asked.
    pub(crate) fn ask(self, request: &ToolRequest) -> Result<ToolResult, Error> {
        self.check_length()?;
        self.ask_again(request, false)
    }

    fn ask_again(self, request: &ToolRequest, was_confirmed: bool) -> Result<ToolResult, Error> {
        let mut ask = Elicitation::new().with(KEY, self.form(was_confirmed));
        if let Some(structure) = self.structure {
            ask = ask.with_meta(PREVIEW, structure);
        }
        request.ask(ask.with_state(self.state))
    }

    fn check_length(&self) -> Result<(), Reported> {
        let (subject, bytes) = (self.subject, self.message.len());
        if bytes <= MAX_MESSAGE {
            return Ok(());
        }
        Err(Reported::new(format!(
            "The user has to see the whole {subject} to confirm it. The question has {bytes} \
             bytes, and at most {MAX_MESSAGE} can be shown, so the {subject} was not run. Send a \
             shorter one."
        )))
    }

    async fn use_up(&self, request: &ToolRequest) -> Result<bool, Reported> {
        let used = request.use_up().await;
        used.map_err(|error| unknown(self.subject, &error))
    }

    fn form(&self, was_confirmed: bool) -> Question {
        let Self {
            message, subject, ..
        } = self;
        let before = if was_confirmed {
            format!(
                "This confirmation is used up, and the {subject} may have been run with it \
                 already.\n\n"
            )
        } else {
            String::new()
        };
        let schema = json!({
            "type": "object",
            "properties": {KEY: {
                "type": "boolean",
                "title": format!("Run the {subject}"),
                "description": "It may change or remove data.",
            }},
            "required": [KEY],
        });
        Question::form(format!("{before}{message}"), schema)
    }
}

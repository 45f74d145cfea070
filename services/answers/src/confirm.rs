//! Confirmation by the user before data changes.

use serde_json::json;
use tracing::warn;
use ziggurat_mcp::{Elicitation, Error, Question, Reported, ToolRequest, ToolResult};

const KEY: &str = "confirm";

/// Most bytes of a question. A user has to see all of what runs.
const MAX_MESSAGE: usize = 16 << 10;

/// A question to the user of a client.
///
/// An answer is valid for one run of one call: a client that sends it a second time is asked again.
#[derive(Debug)]
pub struct Confirmation {
    /// The action that the user confirms, as it is signed; the arguments of the call are signed with
    /// it.
    pub state: String,
    /// The question.
    pub message: String,
    /// The word for the action in the texts for the user: `statement` or `call`.
    pub subject: &'static str,
}

/// Returns whether the client of a call can ask its user.
#[must_use]
pub fn can_ask(request: &ToolRequest) -> bool {
    let context = request.caller().context();
    context.revision().is_modern() && context.capabilities().elicitation
}

// === impl Confirmation ===

impl Confirmation {
    /// Returns the question, or `None` if the user has confirmed it.
    ///
    /// # Errors
    /// Fails if the user declined, the question is too long, or the client cannot be asked.
    pub async fn question(self, request: &ToolRequest) -> Result<Option<ToolResult>, Error> {
        let subject = self.subject;
        let bytes = self.message.len();
        if bytes > MAX_MESSAGE {
            return Err(Reported::new(format!(
                "The user has to see the whole {subject} to confirm it. The question has {bytes} \
                 bytes, and at most {MAX_MESSAGE} can be shown, so the {subject} was not run. Send a \
                 shorter one."
            ))
            .into());
        }
        let inputs = request.inputs();
        let mut was_confirmed = false;
        if inputs.state() == Some(&self.state) {
            let declined = || {
                Reported::new(format!(
                    "The user did not confirm the {subject}, and it was not run."
                ))
            };
            if inputs.is_declined(KEY) {
                return Err(declined().into());
            }
            match inputs.form(KEY).and_then(|form| form.get(KEY)?.as_bool()) {
                Some(true) if self.use_up(request).await? => return Ok(None),
                Some(true) => was_confirmed = true,
                Some(false) => return Err(declined().into()),
                // Without an answer the question is repeated.
                None => {}
            }
        }
        let ask = Elicitation::new().with(KEY, self.form(was_confirmed));
        request.ask(ask.with_state(self.state)).map(Some)
    }

    async fn use_up(&self, request: &ToolRequest) -> Result<bool, Reported> {
        request.use_up().await.map_err(|error| {
            let error: &dyn std::error::Error = &error;
            warn!(error, "cannot mark a confirmation as used");
            let subject = self.subject;
            Reported::new(format!(
                "It is not known whether this confirmation was used before, and the {subject} was \
                 not run. Try again later."
            ))
        })
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

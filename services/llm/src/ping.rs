//! Whether a provider is there, and lets us in.

use super::{Class, Deadline, Error, Http, Provider, Request, Usage, embedding::voyage};

// === impl Http ===

impl Http {
    /// Asks once for something that costs nothing; of Voyage, which has no such thing, for the
    /// vector of next to nothing, with this model. What it cost is in the answer.
    ///
    /// # Errors
    /// Fails if there is no success in time.
    pub async fn ping(&self, model: Option<&str>, deadline: Deadline) -> Result<Usage, Error> {
        let path: &[&str] = match self.provider() {
            Provider::Voyage => return ping_voyage(self, model, deadline).await,
            Provider::Anthropic | Provider::OpenAi => &["models"],
            Provider::Gemini => &["v1beta", "models"],
            Provider::Ollama => &["api", "tags"],
        };
        self.once(&Request::get(path), deadline).await?;
        Ok(Usage::default())
    }
}

async fn ping_voyage(http: &Http, model: Option<&str>, deadline: Deadline) -> Result<Usage, Error> {
    match voyage::ping(http, model, deadline).await {
        // It is there and knows the key; the rest is between it and the model.
        Err(Error::Refused(refusal))
            if refusal.status().is_client_error()
                && !matches!(refusal.class(), Class::Credentials | Class::RateLimit) =>
        {
            Ok(Usage::default())
        }
        outcome => outcome,
    }
}

//! Checks that a provider is reachable and accepts the credentials.

use crate::{Deadline, Error, Http, Provider, Request, Usage, embedding::ping_voyage};

// === impl Http ===

impl Http {
    /// Sends one free request; for Voyage, which has none, a request for the smallest vector, with
    /// this model. Returns the usage.
    ///
    /// # Errors
    /// Fails if there is no success in time.
    pub async fn ping(&self, model: Option<&str>, deadline: Deadline) -> Result<Usage, Error> {
        let path: &[&str] = match self.provider() {
            Provider::Voyage => return ping_voyage(self, model, deadline).await,
            Provider::Anthropic | Provider::OpenAi => &["models"],
            Provider::Gemini => &["v1beta", "models"],
            Provider::Ollama => &["api", "tags"],
            Provider::Tei => &["health"],
            Provider::Cohere | Provider::Jina => {
                let title = self.provider().title();
                let text = format!("{title} has no free request");
                return Err(Error::Unsupported(text));
            }
        };
        self.once(&Request::get(path), deadline).await?;
        Ok(Usage::default())
    }
}

//! Calls for one question, and their answers.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{known::Known, server::Server};

/// The calls that a model may make for a question.
pub(crate) const MAX_CALLS: usize = 3;

/// The tokens that all their answers may have.
pub(crate) const MAX_TOKENS: usize = 4_000;

/// The calls for a question.
#[derive(Debug)]
pub(crate) struct Conversation<'a> {
    server: &'a Server,
    pub(crate) calls: usize,
    pub(crate) tokens: usize,
    pub(crate) known: Known,
    /// Requests and answers, for people who look for the reason of a miss.
    pub(crate) transcript: String,
}

// === impl Conversation ===

impl<'a> Conversation<'a> {
    /// Begins to ask a server.
    pub(crate) fn new(server: &'a Server) -> Self {
        Self {
            server,
            calls: 0,
            tokens: 0,
            known: Known::default(),
            transcript: String::new(),
        }
    }

    /// Calls a tool, and notes what the answer says.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<String> {
        let answer = self.server.call(tool, arguments).await?;
        self.calls += 1;
        self.tokens += tokens(&answer);
        writeln!(self.transcript, "> {tool} {arguments}\n{answer}")?;
        self.known.read(&answer);
        Ok(answer)
    }

    /// Returns the tokens that answers may still have.
    pub(crate) fn left(&self) -> usize {
        MAX_TOKENS.saturating_sub(self.tokens)
    }
}

/// Returns the number of tokens of a text as the servers count them, whatever the model: a quarter
/// of its bytes, a fifth more because it is no prose, and ten.
fn tokens(text: &str) -> usize {
    (text.len() * 3).div_ceil(10) + 10
}

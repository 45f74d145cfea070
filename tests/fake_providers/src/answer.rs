//! The answer of a fake model.

use serde_json::Value;

/// The answer of a fake model, the same for all providers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// Its text, in the chunks of a stream.
    pub pieces: Vec<String>,
    /// The tools it calls.
    pub tools: Vec<ToolCall>,
    /// True if it stopped at the token limit.
    pub is_cut: bool,
    /// The token counts; `None` if this provider does not count.
    pub usage: Option<Counted>,
}

/// A tool call of a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The id of the call, for providers that have ids.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments.
    pub input: Value,
}

/// Token counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are called what they are")]
pub struct Counted {
    pub prompt: u64,
    pub completion: u64,
    pub cache_creation: u64,
    pub cache_read: u64,
}

// === impl Answer ===

impl Answer {
    /// Answers with this text, word by word.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self {
            pieces: text.split_inclusive(' ').map(str::to_owned).collect(),
            tools: Vec::new(),
            is_cut: false,
            usage: Some(Counted {
                prompt: 10,
                completion: 5,
                cache_creation: 0,
                cache_read: 0,
            }),
        }
    }

    /// Answers with an empty text.
    #[must_use]
    pub fn silent() -> Self {
        Self::text("")
    }

    /// Adds a tool call.
    #[must_use]
    pub fn with_tool(mut self, id: &str, name: &str, input: Value) -> Self {
        self.tools.push(ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            input,
        });
        self
    }

    /// Sets the counts of tokens read and written.
    #[must_use]
    pub fn with_usage(mut self, prompt: u64, completion: u64) -> Self {
        let usage = self.usage.get_or_insert_default();
        usage.prompt = prompt;
        usage.completion = completion;
        self
    }

    /// Sets the counts of tokens written to and read from the prompt cache.
    #[must_use]
    pub fn with_cache(mut self, creation: u64, read: u64) -> Self {
        let usage = self.usage.get_or_insert_default();
        usage.cache_creation = creation;
        usage.cache_read = read;
        self
    }

    /// Removes the counts.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    /// Marks the answer as cut at the token limit.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.is_cut = true;
        self
    }

    /// Returns the whole text.
    #[must_use]
    pub fn whole(&self) -> String {
        self.pieces.concat()
    }

    pub(crate) fn counted(&self) -> Counted {
        self.usage.unwrap_or_default()
    }
}

/// A short greeting.
impl Default for Answer {
    fn default() -> Self {
        Self::text("Ferns like shade.")
    }
}

// === impl Counted ===

impl Counted {
    pub(crate) fn total(self) -> u64 {
        self.prompt + self.completion
    }
}

//! What a model says.

use serde_json::Value;

/// What a model says, whichever provider it is asked through.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// Its words, in the pieces of a stream.
    pub pieces: Vec<String>,
    /// The tools it wants called.
    pub tools: Vec<ToolCall>,
    /// Whether it stopped because it had said enough to fill the limit.
    pub is_cut: bool,
    /// What was counted; nothing if this provider does not count.
    pub usage: Option<Counted>,
}

/// A tool a model wants called.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// Which call it is, where providers number them.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it is called with.
    pub input: Value,
}

/// Tokens.
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
    /// Says this, word by word.
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

    /// Says nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self::text("")
    }

    /// Wants a tool called.
    #[must_use]
    pub fn with_tool(mut self, id: &str, name: &str, input: Value) -> Self {
        self.tools.push(ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            input,
        });
        self
    }

    /// Counts so many tokens read and written.
    #[must_use]
    pub fn with_usage(mut self, prompt: u64, completion: u64) -> Self {
        let usage = self.usage.get_or_insert_default();
        usage.prompt = prompt;
        usage.completion = completion;
        self
    }

    /// Counts so many tokens kept, and read where they were kept.
    #[must_use]
    pub fn with_cache(mut self, creation: u64, read: u64) -> Self {
        let usage = self.usage.get_or_insert_default();
        usage.cache_creation = creation;
        usage.cache_read = read;
        self
    }

    /// Counts nothing.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    /// Stops where the limit is.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.is_cut = true;
        self
    }

    /// All it says.
    #[must_use]
    pub fn whole(&self) -> String {
        self.pieces.concat()
    }

    pub(crate) fn counted(&self) -> Counted {
        self.usage.unwrap_or_default()
    }
}

/// A word of greeting.
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

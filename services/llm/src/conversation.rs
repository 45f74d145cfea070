//! Prompts and replies, independent of any provider.
//!
//! JSON that is only passed on (the arguments of a tool, its schema) stays as written: numbers are
//! not rounded, members not sorted.

#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    hash::{BuildHasher as _, RandomState},
};

use serde_json::value::RawValue;

use crate::Usage;

/// A request to a model.
///
/// ```
/// use ziggurat_llm::{Block, Message, Prompt};
///
/// let prompt = Prompt::new(vec![Message::user("Which tables are there?")])
///     .with_system("You answer questions about a database.");
/// assert_eq!(prompt.messages[0].blocks, [Block::text("Which tables are there?")]);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Prompt {
    /// System prompt; not sent if empty.
    pub system: String,
    /// The conversation so far, the question last.
    pub messages: Vec<Message>,
    /// The tools that it may call.
    pub tools: Vec<ToolSpec>,
    /// Maximum length of the reply, in tokens. If a provider requires one and none is set, it is
    /// [`MAX_TOKENS`].
    pub max_tokens: Option<u32>,
    /// Sampling temperature; not sent if `None`.
    pub temperature: Option<f64>,
}

/// Default for the length of a reply, for providers that require one.
pub const MAX_TOKENS: u32 = 4096;

/// A message of one role.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The content.
    pub blocks: Vec<Block>,
}

/// Author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user; results of tools have this role, too.
    User,
    /// The model.
    Assistant,
}

/// A piece of a message.
#[derive(Clone, Debug)]
pub enum Block {
    /// A text.
    Text {
        /// The text.
        text: String,
        /// Set if the provider should cache the prompt up to here.
        cache: Option<Cache>,
    },
    /// The model calls a tool.
    ToolUse {
        /// Id that the result refers to.
        id: String,
        /// Name of the tool.
        name: String,
        /// Arguments: an object.
        input: Box<RawValue>,
        /// Set if the provider should cache the prompt up to here.
        cache: Option<Cache>,
    },
    /// Result of a tool.
    ToolResult {
        /// Id of the tool call.
        tool_use_id: String,
        /// The result, in one text or several.
        content: Vec<String>,
        /// Set if the tool failed.
        is_error: bool,
        /// Set if the provider should cache the prompt up to here.
        cache: Option<Cache>,
    },
}

/// Time for which a provider caches the beginning of a prompt, if it supports that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// The provider's default.
    Usual,
    /// One hour.
    Hour,
}

/// A tool that a model may call.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// Its description, for the model.
    pub description: String,
    /// Schema of its arguments: a JSON Schema of an object.
    pub schema: Box<RawValue>,
}

/// A reply of a model.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Texts and tool calls, in order.
    pub blocks: Vec<Block>,
    /// Reason why it stopped.
    pub stop: Stop,
    /// Tokens that it used.
    pub usage: Usage,
}

/// A piece of a streamed reply.
#[derive(Clone, Debug)]
pub enum Chunk {
    /// More of the text; never empty.
    Text(String),
    /// The model begins to call a tool. Sent once, before the call with the same id.
    ToolUseStarted {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// The model calls a tool: a complete [`Block::ToolUse`]. A call that was begun and that the
    /// model did not complete is not sent.
    ToolUse(Block),
    /// The reply is complete. Sent once, as the last chunk.
    End {
        /// Reason why the model stopped.
        stop: Stop,
        /// Tokens that the reply used.
        usage: Usage,
    },
}

/// Reason why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The reply is complete.
    EndTurn,
    /// It waits for the result of a tool.
    ToolUse,
    /// The reply reached the maximum length.
    MaxTokens,
    /// The provider blocked the reply, or its rest.
    Filtered,
    /// Any other reason, as the provider names it.
    Other(String),
}

// === impl Prompt ===

impl Prompt {
    /// Creates a prompt with this conversation and nothing else.
    pub fn new(messages: Vec<Message>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }

    /// Sets the system prompt.
    pub fn with_system(mut self, system: impl Into<String>) -> Self {
        self.system = system.into();
        self
    }

    /// Sets the tools.
    pub fn with_tools(mut self, tools: Vec<ToolSpec>) -> Self {
        self.tools = tools;
        self
    }

    /// Limits the length of the reply.
    pub fn with_max_tokens(mut self, max_tokens: Option<u32>) -> Self {
        self.max_tokens = max_tokens;
        self
    }

    /// Sets the sampling temperature.
    pub fn with_temperature(mut self, temperature: Option<f64>) -> Self {
        self.temperature = temperature;
        self
    }
}

// === impl Message ===

impl Message {
    /// Creates a user message.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            blocks: vec![Block::text(text)],
        }
    }

    /// Creates a message of the model.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            role: Role::Assistant,
            blocks: vec![Block::text(text)],
        }
    }

    /// Returns all its texts, joined.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        text(&self.blocks)
    }
}

// === impl Role ===

impl Role {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

// === impl Block ===

impl Block {
    /// Creates a text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            cache: None,
        }
    }

    /// Creates a tool call.
    #[must_use]
    pub fn tool_use(id: impl Into<String>, name: impl Into<String>, input: Box<RawValue>) -> Self {
        Self::ToolUse {
            id: id.into(),
            name: name.into(),
            input,
            cache: None,
        }
    }

    /// Creates a tool result.
    #[must_use]
    pub fn tool_result(tool_use_id: impl Into<String>, content: impl Into<String>) -> Self {
        Self::ToolResult {
            tool_use_id: tool_use_id.into(),
            content: vec![content.into()],
            is_error: false,
            cache: None,
        }
    }

    /// Makes the provider cache the prompt up to here.
    pub fn set_cache(&mut self, wanted: Cache) {
        match self {
            Self::Text { cache, .. }
            | Self::ToolUse { cache, .. }
            | Self::ToolResult { cache, .. } => *cache = Some(wanted),
        }
    }

    pub(super) fn cache(&self) -> Option<Cache> {
        match self {
            Self::Text { cache, .. }
            | Self::ToolUse { cache, .. }
            | Self::ToolResult { cache, .. } => *cache,
        }
    }

    /// Returns whether it is an empty text.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Text { text, .. } if text.is_empty())
    }
}

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        if self.cache() != other.cache() {
            return false;
        }
        match (self, other) {
            (Self::Text { text: one, .. }, Self::Text { text: other, .. }) => one == other,
            (
                Self::ToolUse {
                    id, name, input, ..
                },
                Self::ToolUse {
                    id: other_id,
                    name: other_name,
                    input: other_input,
                    ..
                },
            ) => (id, name, input.get()) == (other_id, other_name, other_input.get()),
            (
                Self::ToolResult {
                    tool_use_id,
                    content,
                    is_error,
                    ..
                },
                Self::ToolResult {
                    tool_use_id: other_id,
                    content: other_content,
                    is_error: other_error,
                    ..
                },
            ) => (tool_use_id, content, is_error) == (other_id, other_content, other_error),
            _ => false,
        }
    }
}

// === impl Reply ===

impl Reply {
    /// Joins the chunks of a complete reply. The last one has the stop reason.
    pub(super) fn of(chunks: impl IntoIterator<Item = Chunk>) -> Self {
        let mut reply = Self {
            blocks: Vec::new(),
            stop: Stop::EndTurn,
            usage: Usage::default(),
        };
        for chunk in chunks {
            match chunk {
                Chunk::Text(more) => match reply.blocks.last_mut() {
                    Some(Block::Text { text, .. }) => text.push_str(&more),
                    _ => reply.blocks.push(Block::text(more)),
                },
                Chunk::ToolUseStarted { .. } => {}
                Chunk::ToolUse(block) => reply.blocks.push(block),
                Chunk::End { stop, usage } => {
                    reply.stop = stop;
                    reply.usage = usage;
                }
            }
        }
        reply
    }

    /// Returns all its texts, joined.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        text(&self.blocks)
    }
}

// === impl Stop ===

impl Stop {
    /// Parses a stop reason in the notation of Anthropic, which the REST interface uses, too.
    pub(super) fn from_word(word: &str) -> Self {
        match word {
            "end_turn" => Self::EndTurn,
            "tool_use" => Self::ToolUse,
            "max_tokens" => Self::MaxTokens,
            "refusal" => Self::Filtered,
            _ => Self::Other(word.to_owned()),
        }
    }

    /// Returns the word for it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::Filtered => "refusal",
            Self::Other(word) => word,
        }
    }
}

/// Converts a conversation for providers that require alternating roles: neighbours of one role are
/// merged, empty messages are left out, and the first message is the user's.
pub(super) fn in_turns(messages: &[Message]) -> Vec<Message> {
    let mut turns: Vec<Message> = Vec::new();
    for message in messages {
        let blocks = message.blocks.iter().filter(|block| !block.is_empty());
        let mut blocks = blocks.cloned().peekable();
        if blocks.peek().is_none() {
            continue;
        }
        match turns.last_mut() {
            Some(last) if last.role == message.role => {
                if let Some(first) = blocks.next() {
                    join(&mut last.blocks, first);
                }
                last.blocks.extend(blocks);
            }
            None if message.role == Role::Assistant => {}
            _ => turns.push(Message {
                role: message.role,
                blocks: blocks.collect(),
            }),
        }
    }
    turns
}

/// Creates an id for a tool call that the provider sent without an id.
pub(super) fn new_id() -> String {
    // Random enough to be unique in one conversation; guessing it gives no advantage.
    let number = RandomState::new().hash_one(0_u8);
    format!("call_{number:016x}")
}

/// Returns the arguments of a tool call; anything but an object becomes `{}`.
pub(super) fn arguments(json: Option<&str>) -> Box<RawValue> {
    json.and_then(object)
        .unwrap_or_else(|| RawValue::from_string("{}".to_owned()).expect("an object"))
}

/// Returns the JSON if it is an object.
pub(super) fn object(text: &str) -> Option<Box<RawValue>> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    raw.get().starts_with('{').then(|| raw.to_owned())
}

fn text(blocks: &[Block]) -> Cow<'_, str> {
    let mut texts = blocks.iter().filter_map(|block| match block {
        Block::Text { text, .. } => Some(text.as_str()),
        Block::ToolUse { .. } | Block::ToolResult { .. } => None,
    });
    let first = texts.next().unwrap_or_default();
    texts.fold(Cow::Borrowed(first), |whole, text| whole + text)
}

/// Appends a block; a blank line separates the texts of two merged messages.
fn join(blocks: &mut Vec<Block>, next: Block) {
    match (blocks.last_mut(), next) {
        (
            Some(Block::Text {
                text,
                cache: cache @ None,
            }),
            Block::Text {
                text: more,
                cache: wanted,
            },
        ) => {
            text.push_str("\n\n");
            text.push_str(&more);
            *cache = wanted;
        }
        (_, next) => blocks.push(next),
    }
}

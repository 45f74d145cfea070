//! What is said to a language model and what it says, in no provider's words.
//!
//! JSON that only passes through (the arguments of a tool, the schema of one) is kept as it was
//! written: numbers are not rounded, members not sorted.

#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    hash::{BuildHasher as _, RandomState},
};

use serde_json::value::RawValue;

use super::Usage;

/// What a model is asked.
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
    /// What it is to be and to mind; nothing if empty.
    pub system: String,
    /// What was said so far, the question last.
    pub messages: Vec<Message>,
    /// What it may ask for.
    pub tools: Vec<ToolSpec>,
    /// The longest answer, in tokens. Where a provider insists on one and none is given it is
    /// [`MAX_TOKENS`].
    pub max_tokens: Option<u32>,
    /// How much is left to chance; if not said, it is not sent.
    pub temperature: Option<f64>,
}

/// The longest answer, where one has to be named and none was.
pub const MAX_TOKENS: u32 = 4096;

/// What one side said in one go.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What was said.
    pub blocks: Vec<Block>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Whoever asks; results of tools come from here too.
    User,
    /// The model.
    Assistant,
}

/// A piece of a message.
#[derive(Clone, Debug)]
pub enum Block {
    /// Something said.
    Text {
        /// The words.
        text: String,
        /// Whether the provider is to remember everything up to here.
        cache: Option<Cache>,
    },
    /// The model asks for a tool.
    ToolUse {
        /// What the result refers to.
        id: String,
        /// Which tool.
        name: String,
        /// What it is to be called with: an object.
        input: Box<RawValue>,
        /// Whether the provider is to remember everything up to here.
        cache: Option<Cache>,
    },
    /// What a tool said.
    ToolResult {
        /// Which use of a tool it belongs to.
        tool_use_id: String,
        /// What it said, in one text or several.
        content: Vec<String>,
        /// Whether the tool failed.
        is_error: bool,
        /// Whether the provider is to remember everything up to here.
        cache: Option<Cache>,
    },
}

/// How long a provider is to remember the beginning of a prompt, if it knows how to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// As long as it usually does.
    Usual,
    /// An hour.
    Hour,
}

/// A tool a model may ask for.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// What it is called.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// What its arguments look like: a JSON Schema of an object.
    pub schema: Box<RawValue>,
}

/// What a model answers.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Texts and uses of tools, in order.
    pub blocks: Vec<Block>,
    /// Why it stopped.
    pub stop: Stop,
    /// What it cost.
    pub usage: Usage,
}

/// A piece of an answer, as it comes.
#[derive(Clone, Debug)]
pub enum Chunk {
    /// More of the text; never empty.
    Text(String),
    /// The model asks for a tool: a [`Block::ToolUse`], whole.
    ToolUse(Block),
    /// The answer is complete. It comes once, as the last.
    End {
        /// Why the model stopped.
        stop: Stop,
        /// What it cost.
        usage: Usage,
    },
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// It had said everything.
    EndTurn,
    /// It waits for a tool.
    ToolUse,
    /// The answer was as long as it may be.
    MaxTokens,
    /// The provider held it back, or the rest of it.
    Filtered,
    /// Anything else, in the provider's word.
    Other(String),
}

// === impl Prompt ===

impl Prompt {
    /// Asks with this conversation and nothing else.
    pub fn new(messages: Vec<Message>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }

    /// Says what the model is to be and to mind.
    pub fn with_system(mut self, system: impl Into<String>) -> Self {
        self.system = system.into();
        self
    }

    /// Offers tools.
    pub fn with_tools(mut self, tools: Vec<ToolSpec>) -> Self {
        self.tools = tools;
        self
    }

    /// Bounds the answer.
    pub fn with_max_tokens(mut self, max_tokens: Option<u32>) -> Self {
        self.max_tokens = max_tokens;
        self
    }

    /// Says how much is left to chance.
    pub fn with_temperature(mut self, temperature: Option<f64>) -> Self {
        self.temperature = temperature;
        self
    }
}

// === impl Message ===

impl Message {
    /// Something the asking side says.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            blocks: vec![Block::text(text)],
        }
    }

    /// Something the model said.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            role: Role::Assistant,
            blocks: vec![Block::text(text)],
        }
    }

    /// All its texts, one behind the other.
    pub(super) fn text(&self) -> Cow<'_, str> {
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
    /// Something said.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            cache: None,
        }
    }

    /// A use of a tool.
    #[must_use]
    pub fn tool_use(id: impl Into<String>, name: impl Into<String>, input: Box<RawValue>) -> Self {
        Self::ToolUse {
            id: id.into(),
            name: name.into(),
            input,
            cache: None,
        }
    }

    /// What a tool said.
    #[must_use]
    pub fn tool_result(tool_use_id: impl Into<String>, content: impl Into<String>) -> Self {
        Self::ToolResult {
            tool_use_id: tool_use_id.into(),
            content: vec![content.into()],
            is_error: false,
            cache: None,
        }
    }

    /// Has the provider remember everything up to here.
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

    /// Whether it is a text that says nothing.
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
    /// An answer that came whole, put together from its pieces. The last says how it ended.
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
                Chunk::ToolUse(block) => reply.blocks.push(block),
                Chunk::End { stop, usage } => {
                    reply.stop = stop;
                    reply.usage = usage;
                }
            }
        }
        reply
    }

    /// All its texts, one behind the other.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        text(&self.blocks)
    }
}

// === impl Stop ===

impl Stop {
    /// Reads it in the words of Anthropic, which are the words of the REST interface too.
    pub(super) fn from_word(word: &str) -> Self {
        match word {
            "end_turn" => Self::EndTurn,
            "tool_use" => Self::ToolUse,
            "max_tokens" => Self::MaxTokens,
            "refusal" => Self::Filtered,
            _ => Self::Other(word.to_owned()),
        }
    }

    /// The word for it.
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

/// A conversation for providers that want the sides to take turns: neighbours of one role are
/// one message, what says nothing is left out, and the asking side begins.
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

/// An id for a use of a tool that its provider gave none.
pub(super) fn new_id() -> String {
    // Random enough never to meet another in one conversation, and nobody gains by guessing it.
    let number = RandomState::new().hash_one(0_u8);
    format!("call_{number:016x}")
}

/// JSON of nothing: what a tool without arguments is called with.
pub(super) fn no_input() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("an object")
}

/// An object, or none if the text is something else.
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

/// Puts a block behind others; two messages in one are told apart by a blank line.
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

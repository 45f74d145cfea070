//! Requests of clients.

#![expect(
    single_use_lifetimes,
    reason = "the derive of a schema repeats the lifetime of its type"
)]

use serde::{Deserialize, de::Error as _};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use ziggurat_http::Malformed;
use ziggurat_llm::{Block, Cache, Message, Prompt, Role, ToolSpec};

/// Default schema of a tool: any object.
const ANY: &str = r#"{"type":"object","properties":{}}"#;

/// A chat for a model to continue.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = QuestionToModel)]
pub(super) struct ChatRequest<'a> {
    /// Messages so far, with the question last.
    #[serde(borrow)]
    messages: Vec<SaidToModel<'a>>,
    /// Tools that the model may call.
    #[serde(borrow)]
    tools: Option<Vec<Tool<'a>>>,
    /// Name of the provider.
    provider: Option<String>,
    /// Name of the model.
    model: Option<String>,
    /// Adds the token usage to the answer.
    debug: Option<bool>,
}

#[derive(Debug, Deserialize, ToSchema)]
struct SaidToModel<'a> {
    role: ChatRole,
    /// A text, or a list of blocks.
    #[serde(borrow)]
    #[schema(value_type = serde_json::Value)]
    content: &'a RawValue,
    cache_control: Option<CacheControl>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Speaker)]
enum ChatRole {
    User,
    Assistant,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ToolForModel)]
struct Tool<'a> {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(borrow, rename = "inputSchema", alias = "input_schema")]
    #[schema(value_type = Option<serde_json::Value>)]
    schema: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct ContentBlock<'a> {
    #[serde(rename = "type")]
    kind: Kind,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    tool_use_id: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
    cache_control: Option<CacheControl>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Text,
    ToolUse,
    ToolResult,
}

/// Part of a tool result.
#[derive(Debug, Deserialize)]
struct ToolResultText {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

/// Lifetime of the provider's cache of the chat up to this point. An empty object has no effect.
#[derive(Debug, Deserialize, ToSchema)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: Option<String>,
    ttl: Option<String>,
}

// === impl ChatRequest ===

impl ChatRequest<'_> {
    pub(super) fn provider(&self) -> Option<&str> {
        self.provider.as_deref().filter(|name| !name.is_empty())
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref().filter(|name| !name.is_empty())
    }

    pub(super) fn debug(&self) -> bool {
        self.debug.unwrap_or(false)
    }

    /// Converts the chat into a prompt.
    pub(super) fn prompt(self) -> Result<Prompt, Malformed> {
        if self.messages.is_empty() {
            return Err(malformed("`messages` is empty"));
        }
        let messages = self.messages.into_iter().map(SaidToModel::message);
        let tools = self.tools.into_iter().flatten().map(Tool::spec);
        let tools = tools.collect::<Result<_, _>>()?;
        Ok(Prompt::new(messages.collect::<Result<_, _>>()?).with_tools(tools))
    }
}

// === impl SaidToModel ===

impl SaidToModel<'_> {
    fn message(self) -> Result<Message, Malformed> {
        let role = match self.role {
            ChatRole::User => Role::User,
            ChatRole::Assistant => Role::Assistant,
        };
        let content = self.content.get();
        let mut blocks = if content.starts_with('"') {
            vec![Block::text(text(content)?)]
        } else {
            let pieces: Vec<ContentBlock<'_>> =
                serde_json::from_str(content).map_err(Malformed::from)?;
            let blocks = pieces.into_iter().map(|piece| piece.block(role));
            blocks.collect::<Result<_, _>>()?
        };
        let cache = self.cache_control.as_ref().and_then(CacheControl::cache);
        if let (Some(last), Some(cache)) = (blocks.last_mut(), cache) {
            last.set_cache(cache);
        }
        Ok(Message { role, blocks })
    }
}

// === impl ContentBlock ===

impl ContentBlock<'_> {
    fn block(self, role: Role) -> Result<Block, Malformed> {
        let cache = self.cache_control.as_ref().and_then(CacheControl::cache);
        match (self.kind, role) {
            (Kind::Text, _) => Ok(Block::Text {
                text: needed(self.text, "text")?,
                cache,
            }),
            (Kind::ToolUse, Role::Assistant) => Ok(Block::ToolUse {
                id: needed(self.id, "id")?,
                name: needed(self.name, "name")?,
                input: object(self.input, "{}")?,
                cache,
            }),
            (Kind::ToolResult, Role::User) => Ok(Block::ToolResult {
                tool_use_id: needed(self.tool_use_id, "tool_use_id")?,
                content: result(self.content)?,
                is_error: self.is_error.unwrap_or(false),
                cache,
            }),
            (Kind::ToolUse | Kind::ToolResult, _) => {
                Err(malformed("a block of the other side of the conversation"))
            }
        }
    }
}

// === impl Tool ===

impl Tool<'_> {
    fn spec(self) -> Result<ToolSpec, Malformed> {
        Ok(ToolSpec {
            name: self.name,
            description: self.description.unwrap_or_default(),
            schema: object(self.schema, ANY)?,
        })
    }
}

// === impl CacheControl ===

impl CacheControl {
    fn cache(&self) -> Option<Cache> {
        match (self.kind.as_deref(), self.ttl.as_deref()) {
            (Some("ephemeral"), Some("1h")) => Some(Cache::Hour),
            (Some("ephemeral"), _) => Some(Cache::Usual),
            _ => None,
        }
    }
}

/// Reads a tool result: a text, several texts, or nothing.
fn result(content: Option<&RawValue>) -> Result<Vec<String>, Malformed> {
    let content = content.map_or("null", RawValue::get);
    if content == "null" {
        return Ok(Vec::new());
    }
    if content.starts_with('"') {
        return Ok(vec![text(content)?]);
    }
    let texts: Vec<ToolResultText> = serde_json::from_str(content).map_err(Malformed::from)?;
    let texts = texts.into_iter().map(|piece| match piece {
        ToolResultText {
            kind,
            text: Some(text),
        } if kind == "text" => Ok(text),
        ToolResultText { .. } => Err(malformed("the result of a tool is text")),
    });
    texts.collect()
}

fn text(json: &str) -> Result<String, Malformed> {
    serde_json::from_str(json).map_err(Malformed::from)
}

fn needed(member: Option<String>, name: &str) -> Result<String, Malformed> {
    member.ok_or_else(|| malformed(format_args!("a block without `{name}`")))
}

/// Returns an object as it was written, or `usual` if it is missing.
fn object(json: Option<&RawValue>, usual: &str) -> Result<Box<RawValue>, Malformed> {
    let json = json.map_or(usual, RawValue::get);
    if !json.starts_with('{') {
        return Err(malformed("expected an object"));
    }
    RawValue::from_string(json.to_owned()).map_err(Malformed::from)
}

fn malformed(what: impl std::fmt::Display) -> Malformed {
    serde_json::Error::custom(what).into()
}

//! The body of a request to the chat completions API of `OpenAI`.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use ziggurat_http::{Malformed, Payload};

use crate::{
    filter::Filter,
    openai::refusal::ChatRefusal,
    request::{FilterShape, Message, Query, QueryRequest},
};

/// A conversation with a pipeline, in the format of the chat completions API of `OpenAI`.
///
/// The last message of the user is the question. Parameters that only tune a model, such as
/// `temperature`, are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChatRequest)]
pub(super) struct ChatRequest {
    /// The name of the pipeline.
    #[schema(required, nullable = false)]
    model: Option<String>,
    /// The conversation. Messages of the roles `system` and `developer` are ignored: the pipeline
    /// has instructions of its own.
    #[schema(required, nullable = false)]
    messages: Option<Vec<ChatMessage>>,
    /// Selects a stream of server-sent events instead of one JSON body.
    #[schema(default = false)]
    stream: Option<bool>,
    #[schema(inline)]
    stream_options: Option<StreamOptions>,
    /// Has the answer cite its sources, if the pipeline permits it.
    #[schema(default = true)]
    citations: Option<bool>,
    /// The maximum number of results, as in `QueryRequest`.
    top_n: Option<i64>,
    /// A filter on the rows that are searched, as in `QueryRequest`.
    #[schema(value_type = Option<FilterShape>)]
    filter: Option<Filter>,
    /// Turns keyword search off, as in `QueryRequest`.
    #[schema(default = false)]
    disable_hybrid: Option<bool>,
    #[serde(skip)]
    unsupported: Unsupported,
}

/// Settings of a stream.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
struct StreamOptions {
    /// Adds a chunk with the token counts at the end.
    #[schema(default = false)]
    include_usage: Option<bool>,
}

/// A message of the conversation.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ChatMessage {
    /// `user` or `assistant`; messages of `system` and `developer` are ignored.
    role: String,
    /// The text, or a list of parts of the type `text`.
    #[schema(value_type = Option<String>)]
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Debug, Deserialize)]
struct ContentPart {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

/// Parameters that may have only the value that asks for nothing.
#[derive(Debug, Default, Deserialize)]
struct Unsupported {
    n: Option<Value>,
    tools: Option<Value>,
    tool_choice: Option<Value>,
    functions: Option<Value>,
    function_call: Option<Value>,
    response_format: Option<Value>,
    modalities: Option<Value>,
    audio: Option<Value>,
    logprobs: Option<Value>,
    top_logprobs: Option<Value>,
    stop: Option<Value>,
    web_search_options: Option<Value>,
}

/// The name and the value of a parameter, and whether the value asks for nothing.
type Check<'a> = (&'static str, &'a Option<Value>, fn(&Value) -> bool);

/// A valid request.
#[derive(Debug)]
pub(super) struct ChatQuery {
    pub(super) query: Query,
    pub(super) has_usage: bool,
}

// === impl ChatRequest ===

impl ChatRequest {
    /// Parses the body of a request.
    pub(super) fn read(payload: &Payload) -> Result<Self, Malformed> {
        Ok(Self {
            unsupported: payload.object()?,
            ..payload.object()?
        })
    }

    /// Takes the name of the pipeline out of the request.
    pub(super) fn take_model(&mut self) -> Result<String, ChatRefusal> {
        let model = self.model.take().filter(|model| !model.is_empty());
        model.ok_or_else(|| ChatRefusal::invalid("model", "model is required"))
    }

    /// Checks the request. The question has at most `max_query` bytes.
    pub(super) fn check(self, max_query: usize) -> Result<ChatQuery, ChatRefusal> {
        self.unsupported.check()?;
        let mut messages = Vec::new();
        for (index, message) in self.messages.unwrap_or_default().into_iter().enumerate() {
            messages.extend(message.read(index)?);
        }
        let question = match messages.pop() {
            Some(message) if message.is_of_user() => message,
            _ => {
                let message = "the last message must be of the role user, with a text";
                return Err(ChatRefusal::invalid("messages", message));
            }
        };
        let request = QueryRequest {
            query: Some(question.into_content()),
            stream: self.stream,
            top_n: self.top_n,
            filter: self.filter,
            citations: Some(self.citations.unwrap_or(true)),
            disable_hybrid: self.disable_hybrid,
            messages: Some(messages),
            ..QueryRequest::default()
        };
        let options = self.stream_options.unwrap_or_default();
        Ok(ChatQuery {
            query: request.check(max_query)?,
            has_usage: options.include_usage.unwrap_or(false),
        })
    }
}

// === impl ChatMessage ===

impl ChatMessage {
    /// Returns the message for the model; `None` if it is ignored.
    fn read(self, index: usize) -> Result<Option<Message>, ChatRefusal> {
        let Self { role, content } = self;
        match &*role {
            "user" | "assistant" => {}
            // They would let a client instruct the model.
            "system" | "developer" => return Ok(None),
            _ => {
                let message = format!(
                    "messages[{index}].role must be user, assistant, system or developer; tools \
                     are not supported"
                );
                return Err(ChatRefusal::invalid("messages", message));
            }
        }
        let text = match content {
            Some(content) => content.into_text(index)?,
            None => String::new(),
        };
        Ok(Some(Message::new(role, text)))
    }
}

// === impl Content ===

impl Content {
    fn into_text(self, index: usize) -> Result<String, ChatRefusal> {
        let parts = match self {
            Self::Text(text) => return Ok(text),
            Self::Parts(parts) => parts,
        };
        let mut texts = Vec::with_capacity(parts.len());
        for part in parts {
            match (&*part.kind, part.text) {
                ("text", Some(text)) => texts.push(text),
                (kind, _) => {
                    let message = format!(
                        "messages[{index}].content has a part of the type {kind:?}; only texts are \
                         supported"
                    );
                    return Err(ChatRefusal::invalid("messages", message));
                }
            }
        }
        Ok(texts.join("\n"))
    }
}

// === impl Unsupported ===

impl Unsupported {
    /// Refuses what no pipeline does; a client would wait for it in vain.
    fn check(&self) -> Result<(), ChatRefusal> {
        let is_one = |value: &Value| value.as_u64() == Some(1);
        let is_empty = |value: &Value| match value {
            Value::Array(list) => list.is_empty(),
            Value::String(text) => text.is_empty(),
            Value::Bool(is_on) => !is_on,
            Value::Number(number) => number.as_u64() == Some(0),
            _ => false,
        };
        let is_no_tool = |value: &Value| matches!(value.as_str(), Some("none" | "auto"));
        let is_text = |value: &Value| value["type"] == "text";
        let is_text_only = |value: &Value| *value == serde_json::json!(["text"]);
        let checks: [Check<'_>; 12] = [
            ("n", &self.n, is_one),
            ("tools", &self.tools, is_empty),
            ("tool_choice", &self.tool_choice, is_no_tool),
            ("functions", &self.functions, is_empty),
            ("function_call", &self.function_call, is_no_tool),
            ("response_format", &self.response_format, is_text),
            ("modalities", &self.modalities, is_text_only),
            ("audio", &self.audio, is_empty),
            ("logprobs", &self.logprobs, is_empty),
            ("top_logprobs", &self.top_logprobs, is_empty),
            ("stop", &self.stop, is_empty),
            ("web_search_options", &self.web_search_options, is_empty),
        ];
        for (name, value, asks_for_nothing) in checks {
            let is_asked = value
                .as_ref()
                .is_some_and(|value| !value.is_null() && !asks_for_nothing(value));
            if is_asked {
                let message = format!("{name} is not supported by this server: leave it out");
                return Err(ChatRefusal::unsupported(name, message));
            }
        }
        Ok(())
    }
}

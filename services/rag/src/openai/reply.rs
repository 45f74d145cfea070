//! Answers in the format of the chat completions API of `OpenAI`.

#![expect(
    single_use_lifetimes,
    reason = "the derive of a schema repeats the lifetime of its type"
)]

use std::{
    hash::{BuildHasher as _, RandomState},
    time::SystemTime,
};

use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_llm::{Stop, Usage};
use ziggurat_serve::sse::Event;

use crate::{answer::Answer, citations::Citation, openai::refusal, stream::StreamEvent};

/// The author of all answers.
const ASSISTANT: &str = "assistant";

/// The last line of a stream.
const DONE: &str = "[DONE]";

/// The members that an answer and all chunks of a stream share.
#[derive(Clone, Debug)]
pub(super) struct Completion {
    id: String,
    /// Seconds since 1970.
    created: u64,
    model: String,
}

/// An answer as one body.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChatCompletion<'a> {
    id: &'a str,
    /// Always `chat.completion`.
    object: &'static str,
    /// The time of the answer, in seconds since 1970.
    created: u64,
    /// The name of the pipeline.
    model: &'a str,
    /// The only answer.
    choices: [Choice<'a>; 1],
    usage: ChatUsage,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatChoice)]
struct Choice<'a> {
    index: u32,
    message: Reply<'a>,
    /// Always null.
    logprobs: Option<u32>,
    /// `stop`, `length` or `content_filter`.
    finish_reason: &'static str,
}

/// The answer of the pipeline.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatReply)]
struct Reply<'a> {
    /// Always `assistant`.
    role: &'static str,
    content: &'a str,
    /// Always null.
    refusal: Option<u32>,
    /// The citations, if the pipeline permits sources.
    annotations: Vec<Annotation<'a>>,
}

/// A citation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatAnnotation)]
struct Annotation<'a> {
    /// Always `url_citation`.
    #[serde(rename = "type")]
    kind: &'static str,
    url_citation: UrlCitation<'a>,
}

#[derive(Debug, Serialize, ToSchema)]
struct UrlCitation<'a> {
    /// The position of the mark in the answer, in characters (Unicode code points).
    start_index: usize,
    /// The position after the mark.
    end_index: usize,
    /// The title of the row, else its id, else empty.
    title: &'a str,
    /// The address of the row; empty if the table has no column for it.
    url: &'a str,
    /// False if the passage probably does not support the claim of the mark; else absent. The API of
    /// `OpenAI` has no such member.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    supported: Option<bool>,
}

/// Tokens of an answer, as counted by the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the API has these names")]
struct ChatUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
}

/// A chunk of a stream.
#[derive(Debug, Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: Vec<ChunkChoice<'a>>,
    #[serde(skip_serializing_if = "ChunkUsage::is_absent")]
    usage: ChunkUsage,
}

/// The member `usage` of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum ChunkUsage {
    /// The request does not ask for it.
    Absent,
    /// The value of all chunks but the last.
    Null,
    Counted(ChatUsage),
}

#[derive(Debug, Serialize)]
struct ChunkChoice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: Option<u32>,
    finish_reason: Option<&'static str>,
}

#[derive(Debug, Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<[Annotation<'a>; 1]>,
}

/// Encodes the events of a stream as chunks.
#[derive(Debug)]
pub(crate) struct ChatEncoder {
    completion: Completion,
    has_usage: bool,
    has_begun: bool,
}

// === impl Completion ===

impl Completion {
    /// Begins an answer of a pipeline.
    pub(super) fn new(model: &str) -> Self {
        // Random enough to tell answers apart; guessing it gives no advantage.
        let number = RandomState::new().hash_one(0_u8);
        Self {
            id: format!("chatcmpl-{number:016x}"),
            created: now(),
            model: model.to_owned(),
        }
    }

    /// Returns the body of a whole answer.
    pub(super) fn body<'a>(&'a self, answer: &'a Answer) -> ChatCompletion<'a> {
        let citations = answer.citations.iter().flatten();
        ChatCompletion {
            id: &self.id,
            object: "chat.completion",
            created: self.created,
            model: &self.model,
            choices: [Choice {
                index: 0,
                message: Reply {
                    role: ASSISTANT,
                    content: &answer.text,
                    refusal: None,
                    annotations: citations.map(Annotation::from).collect(),
                },
                logprobs: None,
                finish_reason: finish_reason(&answer.stop),
            }],
            usage: answer.usage.into(),
        }
    }
}

/// Returns the seconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

// === impl ChatEncoder ===

impl ChatEncoder {
    pub(super) fn new(completion: Completion, has_usage: bool) -> Self {
        Self {
            completion,
            has_usage,
            has_begun: false,
        }
    }

    /// Returns the chunks for an event.
    pub(crate) fn encode(&mut self, event: &StreamEvent<'_>) -> Vec<Event> {
        let mut events = Vec::new();
        match event {
            StreamEvent::Sources { .. } | StreamEvent::Debug(_) => {}
            StreamEvent::Chunk { content } => {
                self.begin(&mut events);
                events.push(self.delta(Delta {
                    content: Some(*content),
                    ..Delta::default()
                }));
            }
            StreamEvent::Citation(citation) => {
                self.begin(&mut events);
                events.push(self.delta(Delta {
                    annotations: Some([Annotation::from(*citation)]),
                    ..Delta::default()
                }));
            }
            StreamEvent::Done { stop, usage, .. } => {
                self.begin(&mut events);
                events.push(self.chunk(Delta::default(), Some(finish_reason(stop))));
                if self.has_usage {
                    events.push(self.usage((*usage).into()));
                }
                events.push(Event::text(DONE));
            }
            StreamEvent::Error { rejection, .. } => {
                let body = refusal::body(rejection, None);
                events.push(Event::json(&body).expect("strings"));
            }
        }
        events
    }

    /// Adds the first chunk, which names the author, unless it was sent.
    fn begin(&mut self, events: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            events.push(self.delta(Delta {
                role: Some(ASSISTANT),
                content: Some(""),
                annotations: None,
            }));
        }
    }

    fn delta(&self, delta: Delta<'_>) -> Event {
        self.chunk(delta, None)
    }

    fn chunk(&self, delta: Delta<'_>, finish_reason: Option<&'static str>) -> Event {
        let choice = ChunkChoice {
            index: 0,
            delta,
            logprobs: None,
            finish_reason,
        };
        let usage = if self.has_usage {
            ChunkUsage::Null
        } else {
            ChunkUsage::Absent
        };
        self.event(vec![choice], usage)
    }

    fn usage(&self, usage: ChatUsage) -> Event {
        self.event(Vec::new(), ChunkUsage::Counted(usage))
    }

    fn event(&self, choices: Vec<ChunkChoice<'_>>, usage: ChunkUsage) -> Event {
        let chunk = Chunk {
            id: &self.completion.id,
            object: "chat.completion.chunk",
            created: self.completion.created,
            model: &self.completion.model,
            choices,
            usage,
        };
        Event::json(&chunk).expect("strings and numbers")
    }
}

// === impl ChunkUsage ===

impl ChunkUsage {
    fn is_absent(&self) -> bool {
        *self == Self::Absent
    }
}

// === impl Annotation ===

impl<'a> From<&'a Citation> for Annotation<'a> {
    fn from(citation: &'a Citation) -> Self {
        let title = citation.title.as_deref().or(citation.id.as_deref());
        Self {
            kind: "url_citation",
            url_citation: UrlCitation {
                start_index: citation.start,
                end_index: citation.end,
                title: title.unwrap_or_default(),
                url: citation.url.as_deref().unwrap_or_default(),
                supported: citation.supported,
            },
        }
    }
}

// === impl ChatUsage ===

impl From<Usage> for ChatUsage {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            total_tokens: usage.total_tokens,
        }
    }
}

fn finish_reason(stop: &Stop) -> &'static str {
    match stop {
        Stop::MaxTokens => "length",
        Stop::Filtered => "content_filter",
        _ => "stop",
    }
}

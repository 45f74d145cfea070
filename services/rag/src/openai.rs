//! The chat completions API of `OpenAI`: each pipeline is a model.
//!
//! The last message of a conversation is the question, and the others are its history. Parameters
//! that only tune a model are ignored; those that ask for something no pipeline does, such as
//! `tools`, are refused.

mod refusal;
mod reply;
mod request;

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{Extensions, Request};
use serde::Serialize;
use tower::{Layer as _, ServiceExt as _, service_fn};
use utoipa::ToSchema;
use ziggurat_calls::{Caller, http::add_trace_id, limits::Allowance};
use ziggurat_http::Payload;
use ziggurat_layers::body_limit::LimitedBody;

use self::{
    refusal::{ChatErrorResponse, ChatRefusal},
    reply::{ChatCompletion, Completion},
    request::{ChatQuery, ChatRequest},
};
use crate::{
    Options,
    pipeline::Pipeline,
    pipelines::{FoundPipeline, Pipelines},
    query,
    question::{Question, check_flood, over_limit},
    reply::{ErrorResponse, Refused, json},
    request::whole,
    stream::Encoder,
};

pub use self::refusal::ChatErrors;
pub(super) use self::reply::ChatEncoder;

/// Path of conversations.
pub(super) const CHAT: &str = "/v1/chat/completions";

/// Path of the list of models.
pub(super) const MODELS: &str = "/v1/models";

/// Path of a model.
pub(super) const MODEL: &str = "/v1/models/{model}";

/// Paths of conversations and models, for a layer that refuses in another format there.
pub const CHAT_PATHS: [&str; 3] = [CHAT, MODELS, "/v1/models/*"];

/// The owner of all models.
const OWNER: &str = "ziggurat";

/// The list of models.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ModelsResponse)]
struct Models {
    /// Always `list`.
    object: &'static str,
    /// The pipelines of the caller, in the order of the configuration.
    #[schema(inline = false)]
    data: Vec<Model>,
}

/// A pipeline as a model.
#[derive(Debug, Serialize, ToSchema)]
struct Model {
    /// The name of the pipeline.
    id: String,
    /// Always `model`.
    object: &'static str,
    /// The time of the response, in seconds since 1970.
    created: u64,
    /// Always `ziggurat`.
    owned_by: &'static str,
}

/// Lists the pipelines as models
///
/// In the format of the API of `OpenAI`. Only with `server.openai_compatible`.
#[utoipa::path(get, path = "/models", tag = "OpenAI", operation_id = "listModels",
    responses(
        (status = 200, description = "The pipelines of the caller", body = Models),
        (status = 401, description = "The server wants a bearer token",
            body = ChatErrorResponse<'static>),
    ),
)]
pub(super) async fn models(State(pipelines): State<Pipelines>, extensions: Extensions) -> Response {
    let seen = pipelines.seen_by(&Caller::of(&extensions));
    let data = seen.iter().map(|pipeline| Model::new(pipeline.name()));
    json(&Models {
        object: "list",
        data: data.collect(),
    })
}

/// Describes a pipeline as a model
///
/// In the format of the API of `OpenAI`. Only with `server.openai_compatible`.
#[utoipa::path(get, path = "/models/{model}", tag = "OpenAI", operation_id = "retrieveModel",
    params(("model" = String, Path, description = "The name of the pipeline")),
    responses(
        (status = 200, description = "The pipeline", body = Model),
        (status = 401, description = "The server wants a bearer token",
            body = ChatErrorResponse<'static>),
        (status = 404, description = "No pipeline of the caller has this name", body = ChatErrorResponse<'static>),
    ),
)]
pub(super) async fn model(State(pipelines): State<Pipelines>, request: Request<Body>) -> Response {
    let name = query::name(request.uri().path());
    match pipelines.find(&name, &Caller::of(request.extensions())) {
        FoundPipeline::Seen(_) | FoundPipeline::Closed => json(&Model::new(&name)),
        FoundPipeline::Hidden | FoundPipeline::Absent => {
            ChatRefusal::no_model(&name).into_response()
        }
    }
}

/// Sends a conversation to a pipeline
///
/// In the format of the API of `OpenAI`. Only with `server.openai_compatible`. With `stream`, the
/// answer is sent as server-sent events, chunks of the kind `chat.completion.chunk`, and the last
/// line is `data: [DONE]`.
#[utoipa::path(post, path = "/chat/completions", tag = "OpenAI",
    operation_id = "createChatCompletion",
    request_body = ChatRequest,
    responses(
        (status = 200, description = "The answer", content(
            (ChatCompletion<'static> = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 400, description = "The request is invalid, or asks for something that is not \
            supported", body = ChatErrorResponse<'static>),
        (status = 401, description = "The server wants a bearer token",
            body = ChatErrorResponse<'static>),
        (status = 403, description = "The database of the pipeline is not open to the caller",
            body = ChatErrorResponse<'static>),
        (status = 404, description = "No pipeline of the caller has this name", body = ChatErrorResponse<'static>),
        (status = 405, description = "The method is not POST", body = ErrorResponse),
        (status = 413, description = "The body is longer than 1048576 bytes",
            body = ChatErrorResponse<'static>),
        (status = 415, description = "The request comes from a web page and its content type is \
            not JSON",
            body = ChatErrorResponse<'static>),
        (status = 429, description = "The caller, or its address, has reached a limit",
            body = ChatErrorResponse<'static>),
        (status = 500, description = "A provider or a database failed", body = ChatErrorResponse<'static>),
        (status = 503, description = "The database is unreachable; only where the server is \
            configured to report it", body = ChatErrorResponse<'static>),
        (status = 504, description = "The request has timed out", body = ChatErrorResponse<'static>),
    ),
)]
pub(super) async fn chat(
    State((pipelines, options)): State<(Pipelines, Arc<Options>)>,
    request: Request<Body>,
) -> Response {
    let allowance = Caller::of(request.extensions()).allowance(&options.limits);
    let chat = Chat {
        pipelines,
        options,
        allowance,
    };
    let mut response = match check_flood(chat.allowance.as_deref(), &chat.options) {
        Ok(()) => chat.ask(request).await,
        Err(refused) => ChatRefusal::from(refused).into_response(),
    };
    if let Some(allowance) = chat.allowance {
        allowance.append_fields(response.headers_mut());
    }
    response
}

/// A conversation that is being answered.
struct Chat {
    pipelines: Pipelines,
    options: Arc<Options>,
    allowance: Option<Arc<Allowance>>,
}

// === impl Chat ===

impl Chat {
    /// Limits the body, and has the question answered.
    async fn ask(&self, request: Request<Body>) -> Response {
        let allowance = self.allowance.as_deref();
        let counted = allowance.map_or(Ok(()), Allowance::call);
        let checked = counted
            .map_err(over_limit)
            .and_then(|()| query::check_content_type(request.headers()));
        let (parts, body) = request.into_parts();
        // Holds what a record needs; the body is read by the service behind the limit.
        let head = Request::from_parts(parts.clone(), ());
        if let Err(refused) = checked {
            let refusal = ChatRefusal::from(refused);
            let question = self.begin(&head, "");
            if let Err(reached) = counted {
                question.call().refuse_for(reached);
            }
            question.refuse(refusal.status());
            return refusal.into_response();
        }
        let mut is_recorded = false;
        let respond = service_fn(|request: Request<LimitedBody<Body>>| {
            is_recorded = true;
            self.respond(&head, request)
        });
        let limit = self.options.body_limit();
        let limited = limit.with_render(ChatErrors).layer(respond);
        let answered = limited.oneshot(Request::from_parts(parts, body)).await;
        let response = answered.unwrap_or_else(ChatRefusal::into_response);
        if !is_recorded {
            self.begin(&head, "").refuse(response.status());
        }
        response
    }

    /// Reads a conversation, and answers its question.
    async fn respond(
        &self,
        head: &Request<()>,
        request: Request<LimitedBody<Body>>,
    ) -> Result<Response, ChatRefusal> {
        let version = request.version();
        let (parts, body) = request.into_parts();
        let read = read(body).await;
        let model = read.as_ref().map_or("", |(model, _)| model.as_str());
        let mut question = self.begin(head, model);
        question.hold_body(&parts.extensions);
        let call = question.call().clone();
        let admitted: Result<_, ChatRefusal> = async {
            let (model, request) = read?;
            let found = self.pipelines.find(&model, &Caller::of(head.extensions()));
            let pipeline = question.find(found, || ChatRefusal::no_model(&model))?;
            let mut chat = request.check(self.options.max_query)?;
            // There is no notice in this format.
            chat.query.citations &= pipeline.allows_sources();
            let admitted = question.admit(&pipeline, &chat.query).await;
            admitted.map_err(ChatRefusal::from)?;
            Ok((pipeline, chat))
        }
        .await;
        let (pipeline, chat) = match admitted {
            Ok(admitted) => admitted,
            Err(refusal) => {
                question.refuse(refusal.status());
                return Err(refusal);
            }
        };
        let mut response = self.answer(pipeline, chat, version, question).await?;
        add_trace_id(&mut response, &call);
        Ok(response)
    }

    async fn answer(
        &self,
        pipeline: Arc<Pipeline>,
        chat: ChatQuery,
        version: http::Version,
        question: Question,
    ) -> Result<Response, ChatRefusal> {
        let options = &self.options;
        let completion = Completion::new(pipeline.name());
        let ChatQuery { query, has_usage } = chat;
        if query.stream {
            let encoder = Encoder::Chat(Box::new(ChatEncoder::new(completion, has_usage)));
            let response = query::stream(&pipeline, query, options, question, encoder, version);
            return Ok(response);
        }
        let written = |answer| json(&completion.body(&answer));
        let response = query::whole_answer(&pipeline, query, options, question, written).await?;
        Ok(response)
    }

    fn begin(&self, head: &Request<()>, pipeline: &str) -> Question {
        let allowance = self.allowance.clone();
        Question::to_chat(&self.options.calls, head, pipeline, allowance)
    }
}

// === impl Model ===

impl Model {
    fn new(name: &str) -> Self {
        Self {
            id: name.to_owned(),
            object: "model",
            created: reply::now(),
            owned_by: OWNER,
        }
    }
}

/// Reads the body, and returns the name of the model and the rest.
async fn read(body: LimitedBody<Body>) -> Result<(String, ChatRequest), ChatRefusal> {
    let payload = Payload::from(whole(body).await?);
    let mut request = ChatRequest::read(&payload)
        .map_err(|malformed| Refused::invalid(format!("invalid request body: {malformed}")))?;
    Ok((request.take_model()?, request))
}

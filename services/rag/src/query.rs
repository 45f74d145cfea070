//! `POST /v1/pipelines/{name}`: a question to a pipeline.

use std::{borrow::Cow, mem, sync::Arc};

use axum::{
    body::{Body, HttpBody as _},
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode, Version, header};
use percent_encoding::percent_decode_str;
use tower::{Layer as _, ServiceExt as _, service_fn};
use ziggurat_audit::Verdict;
use ziggurat_calls::{Caller, http::add_trace_id};
use ziggurat_layers::{body_limit::LimitedBody, reject::Rejection};
use ziggurat_llm::Deadline;
use ziggurat_serve::{is_json, sse::EventStream};

use crate::{
    Options,
    answer::{Answer, Answered, answer},
    pipeline::Pipeline,
    pipelines::Pipelines,
    question::{Question, check_flood, over_limit},
    reply::{ErrorLine, ErrorResponse, Refused, json},
    request::{Query, QueryRequest, whole},
    stream::{Encoder, events},
};

/// Path of a pipeline.
pub(super) const PATH: &str = "/v1/pipelines/{name}";

/// Limit on the body, in bytes.
pub(super) const MAX_BODY: u64 = 1 << 20;

const NOT_JSON: &str = "a request with the header Origin or Sec-Fetch-Site, as web pages send it, \
    must have the header Content-Type: application/json";

pub(super) const TOO_LARGE: &str = "request body exceeds maximum size of 1048576 bytes";

/// Sends a question to a pipeline
///
/// With `stream`, the answer is sent as server-sent events: for each event one line `data: ` with a
/// `StreamEvent` in JSON, and an empty line. The last event is `done` or `error`. After the first
/// checks, errors are sent as such an event, with status 200.
#[utoipa::path(post, path = "/pipelines/{name}", tag = "Pipelines", operation_id = "queryPipeline",
    params(("name" = String, Path, description = "The name of the pipeline")),
    request_body = QueryRequest,
    responses(
        (status = 200, description = "The answer", content(
            (Answered = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 400, description = "The request is invalid", body = ErrorResponse),
        (status = 401, description = "The server wants a bearer token", body = ErrorResponse),
        (status = 403, description = "The database of the pipeline is not open to the caller",
            body = ErrorResponse),
        (status = 404, description = "No pipeline of the caller has this name", body = ErrorResponse),
        (status = 405, description = "The method is not POST", body = ErrorResponse),
        (status = 413, description = "The body is longer than 1048576 bytes",
            body = ErrorResponse),
        (status = 415, description = "The request comes from a web page and its content type is \
            not JSON",
            body = ErrorResponse),
        (status = 429, description = "The caller, or its address, has reached a limit",
            body = ErrorResponse),
        (status = 500, description = "A provider or a database failed", body = ErrorResponse),
        (status = 503, description = "The database is unreachable; only where the server is \
            configured to report it", body = ErrorResponse),
        (status = 504, description = "The request has timed out", body = ErrorResponse),
    ),
)]
pub(super) async fn query(
    State((pipelines, options)): State<(Pipelines, Arc<Options>)>,
    request: Request,
) -> Response {
    let allowance = Caller::of(request.extensions()).allowance(&options.limits);
    let mut response = match check_flood(allowance.as_deref(), &options) {
        Ok(()) => {
            let name = name(request.uri().path());
            let question =
                Question::to_pipeline(&options.calls, &request, &name, allowance.clone());
            let call = question.call().clone();
            drop(name);
            let response = ask(&pipelines, request, &options, question).await;
            let mut response = response.into_response();
            add_trace_id(&mut response, &call);
            response
        }
        Err(refused) => refused.into_response(),
    };
    if let Some(allowance) = allowance {
        allowance.append_fields(response.headers_mut());
    }
    response
}

/// Finds the pipeline of a question, and has it answered.
async fn ask(
    pipelines: &Pipelines,
    request: Request,
    options: &Options,
    mut question: Question,
) -> Result<Response, Refused> {
    // Calls are counted first, so that a limited caller does not learn which pipelines there are.
    // An unknown pipeline is refused before the size of the body is checked.
    let counted = question.call().count_call().map_err(over_limit);
    let pipeline = counted
        .and_then(|()| find(pipelines, &request, &question))
        .inspect_err(|refused| question.refuse(refused.rejection().status()))?;
    let respond = service_fn(|request| {
        let question = mem::take(&mut question);
        respond(&pipeline, request, options, question)
    });
    let limited = options.body_limit().with_render(ErrorLine).layer(respond);
    limited
        .oneshot(request)
        .await
        // The limit has refused a question that is still here.
        .inspect(|response| question.refuse(response.status()))
}

/// Reads a question and answers it.
async fn respond(
    pipeline: &Arc<Pipeline>,
    request: Request<LimitedBody<Body>>,
    options: &Options,
    mut question: Question,
) -> Result<Response, Refused> {
    let version = request.version();
    question.hold_body(request.extensions());
    let admitted = async {
        let body = whole(request.into_body()).await?;
        let query = Query::read(body, options.max_query)?;
        question.admit(pipeline, &query).await?;
        Ok(query)
    };
    let admitted: Result<_, Refused> = admitted.await;
    let query = admitted.inspect_err(|refused| question.refuse(refused.rejection().status()))?;
    if query.stream {
        let encoder = Encoder::Pipeline;
        return Ok(stream(pipeline, query, options, question, encoder, version));
    }
    let written = |answer| json(&Answered::from(answer));
    let response = whole_answer(pipeline, query, options, question, written).await?;
    Ok(response)
}

/// Answers a question that was admitted, as a stream.
pub(super) fn stream(
    pipeline: &Arc<Pipeline>,
    query: Query,
    options: &Options,
    question: Question,
    encoder: Encoder,
    version: Version,
) -> Response {
    let events = events(Arc::clone(pipeline), query, options, question, encoder);
    let events = EventStream::new(events).with_keep_alive(options.keep_alive);
    events.into_response(version).map(Body::new)
}

/// Answers a question that was admitted, with one response.
pub(super) async fn whole_answer(
    pipeline: &Pipeline,
    query: Query,
    options: &Options,
    question: Question,
    write: impl FnOnce(Answer) -> Response,
) -> Result<Response, Rejection> {
    let deadline = Deadline::after(options.timeouts.request);
    // Boxed: the future is large, and every layer that passes it on would need space for it on the
    // stack.
    match Box::pin(answer(pipeline, query, deadline, question.call(), None)).await {
        Ok(answer) => {
            let response = write(answer);
            question
                .call()
                .count_bytes(response.body().size_hint().exact().unwrap_or_default());
            question.end(Verdict::Ok, response.status());
            Ok(response)
        }
        Err(failure) => {
            let rejection = failure.rejection(options.retrieval_error_codes);
            question.end(failure.verdict(), rejection.status());
            failure.log(pipeline.name(), question.trace_id().as_ref());
            Err(rejection)
        }
    }
}

/// Finds the pipeline that a request names.
fn find(
    pipelines: &Pipelines,
    request: &Request,
    question: &Question,
) -> Result<Arc<Pipeline>, Refused> {
    check_content_type(request.headers())?;
    let name = name(request.uri().path());
    let found = pipelines.find(&name, &Caller::of(request.extensions()));
    question.find(found, || {
        let message = format!("pipeline not found: {name}");
        Refused::new(StatusCode::NOT_FOUND, "pipeline_not_found", message)
    })
}

/// Checks that a request of a web page has the content type of JSON.
pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), Refused> {
    if is_of_page(headers) && !is_json(headers) {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Refused::new(status, "unsupported_media_type", NOT_JSON));
    }
    Ok(())
}

/// Returns the last segment of a path, decoded; invalid escapes stay unchanged.
pub(super) fn name(path: &str) -> Cow<'_, str> {
    let (_, name) = path.rsplit_once('/').unwrap_or_default();
    percent_decode_str(name).decode_utf8_lossy()
}

/// Returns whether a browser sent the request for a web page.
///
/// A page may send content types other than JSON to any server without a preflight. `curl -d` also
/// sends one, and must continue to work.
fn is_of_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_decoded_once() {
        for (text, expected) in [
            ("docs", "docs"),
            ("d%6fcs", "docs"),
            ("%64%6F%63%73", "docs"),
            ("a%2Fb", "a/b"),
            ("a%252Fb", "a%2Fb"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%+1", "%zz%+1"),
            ("%c3%bc", "ü"),
            ("%ff", "\u{fffd}"),
        ] {
            let path = format!("/v1/pipelines/{text}");
            assert_eq!(name(&path), expected, "{text}");
        }
    }
}

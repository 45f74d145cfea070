//! `POST /v1/pipelines/{name}`: a question to a pipeline.

use std::{convert::Infallible, error::Error as StdError, future::poll_fn, sync::Arc};

use futures_util::Stream;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body::Body;
use tower_layer::Layer as _;
use tower_service::Service;
use ziggurat_http::{
    EitherBody, is_json,
    sse::{Event, EventStream},
};
use ziggurat_layers::{
    body_limit::{BodyLimitLayer, LimitedBody},
    reject::Rejection,
};
use ziggurat_llm::Deadline;

use super::{
    Options, Responded,
    answer::{Answered, answer},
    ask::{Ask, QueryRequest, whole},
    handler::Handler,
    pipeline::Pipeline,
    pipelines::Pipelines,
    reply::{ErrorLine, ErrorResponse, Refused, json, no_such_method, not_found},
    stream::events,
};

/// Path prefix of the pipelines.
pub(super) const ROOT: &str = "/v1/pipelines/";

/// Limit on the body, in bytes.
const MAX_BODY: u64 = 1 << 20;

const NOT_JSON: &str = "a request with the header Origin or Sec-Fetch-Site, as web pages send it, \
    must have the header Content-Type: application/json";

const TOO_LARGE: &str = "request body exceeds maximum size of 1048576 bytes";

/// Answers questions. The pipeline is looked up before the body is checked, and the size of the
/// body is checked before it is read.
pub(super) fn service<B>(
    pipelines: Pipelines,
    options: Arc<Options>,
) -> impl Service<
    Request<B>,
    Response = Responded<impl Stream<Item = Event> + Send + 'static>,
    Error = Infallible,
    Future: Send + 'static,
> + Clone
+ Send
+ 'static
where
    B: Body<Data: Send, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + 'static,
{
    let ask = Handler(move |mut request: Request<LimitedBody<B>>| {
        let options = Arc::clone(&options);
        async move {
            let pipeline = request.extensions_mut().remove::<Arc<Pipeline>>();
            let pipeline = pipeline.expect("it was found");
            let asked = query(pipeline, request, &options).await;
            Ok::<_, Infallible>(asked.unwrap_or_else(|no| no.into_response(&ErrorLine)))
        }
    });
    let ask = BodyLimitLayer::new(MAX_BODY)
        .with_message(TOO_LARGE)
        .with_render(ErrorLine)
        .layer(ask);
    Handler(move |mut request: Request<B>| {
        let found = find(&pipelines, &request);
        let mut ask = ask.clone();
        async move {
            match found {
                Ok(pipeline) => request.extensions_mut().insert(pipeline),
                Err(rejection) => return Ok(rejection.into_response(&ErrorLine)),
            };
            poll_fn(|cx| Service::<Request<B>>::poll_ready(&mut ask, cx)).await?;
            ask.call(request).await
        }
    })
}

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
        (status = 404, description = "No pipeline has this name", body = ErrorResponse),
        (status = 405, description = "The method is not POST", body = ErrorResponse),
        (status = 413, description = "The body is longer than 1048576 bytes",
            body = ErrorResponse),
        (status = 415, description = "The request comes from a web page and its content type is \
            not JSON",
            body = ErrorResponse),
        (status = 500, description = "A provider or a database failed", body = ErrorResponse),
        (status = 503, description = "The database is unreachable; only where the server is \
            configured to report it", body = ErrorResponse),
        (status = 504, description = "The request has timed out", body = ErrorResponse),
    ),
)]
async fn query<B>(
    pipeline: Arc<Pipeline>,
    request: Request<LimitedBody<B>>,
    options: &Options,
) -> Result<Responded<impl Stream<Item = Event> + Send + use<B>>, Refused>
where
    B: Body<Error: Into<Box<dyn StdError + Send + Sync>>>,
{
    let version = request.version();
    let ask = Ask::read(whole(request.into_body()).await?, options.max_query)?;
    pipeline.check(&ask)?;
    let patience = &options.patience;
    let has_codes = options.retrieval_error_codes;
    if ask.stream {
        // Boxed, here and below: the future is large, and every layer that passes it on would need
        // space for it on the stack.
        let events = events(pipeline, ask, options);
        let events = EventStream::new(Box::pin(events));
        let events = events.with_keep_alive(options.keep_alive);
        return Ok(events.into_response(version).map(EitherBody::second));
    }
    let deadline = Deadline::after(patience.request);
    match Box::pin(answer(&pipeline, ask, deadline)).await {
        Ok(answer) => Ok(json(&answer).map(Into::into)),
        Err(failure) => {
            let rejection = failure.rejection(has_codes);
            failure.log(pipeline.name());
            Err(rejection.into())
        }
    }
}

/// Finds the pipeline that a request names.
fn find<B>(pipelines: &Pipelines, request: &Request<B>) -> Result<Arc<Pipeline>, Refused> {
    let name = request.uri().path().strip_prefix(ROOT).unwrap_or_default();
    if name.is_empty() || name.contains('/') {
        return Err(not_found());
    }
    if request.method() != Method::POST {
        return Err(no_such_method("POST"));
    }
    if is_of_page(request.headers()) && !is_json(request.headers()) {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Rejection::new(status, "unsupported_media_type", NOT_JSON).into());
    }
    let name = decoded(name);
    pipelines.find(&name).ok_or_else(|| {
        let message = format!("pipeline not found: {name}");
        Rejection::new(StatusCode::NOT_FOUND, "pipeline_not_found", message).into()
    })
}

/// Returns whether a browser sent the request for a web page.
///
/// A page may send content types other than JSON to any server without a preflight. `curl -d` also
/// sends one, and must continue to work.
fn is_of_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site")
}

/// Decodes percent escapes in a part of a path; invalid escapes stay unchanged.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |at: usize| {
            let digit = char::from(*after.get(at)?).to_digit(16)?;
            u8::try_from(digit).ok()
        };
        match digit(0).zip(digit(1)) {
            Some((high, low)) if *first == b'%' => {
                bytes.push(high << 4 | low);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
            assert_eq!(decoded(text), expected, "{text}");
        }
    }
}

use std::{future::pending, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{runtime::Builder, time::timeout};
use tower::{Layer as _, ServiceExt as _};
use ziggurat_mcp::{
    Elicitation, Mcp, Placeholders, Prompt, PromptArgument, PromptArguments, Prompts, Property,
    Question, ReadResource, Rendered, ResourceTemplate, Resources, Schema, Server, ServerInfo,
    Tool, ToolRequest, ToolResult, Tools,
    protocol::{ProtocolLayer, Revision},
    stdio::Stdio,
};
use ziggurat_text::events::EventDecoder;

/// A server answers at once, or it hangs.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct Said {
    text: String,
}

/// Sends the body of a request to a server: it answers, and with messages of the protocol only.
/// Returns the status of the answer.
///
/// # Panics
/// Panics if that does not hold.
pub fn over_http(revision: Option<Revision>, body: &[u8]) -> StatusCode {
    let mut request = Request::post("/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json");
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let params = &message["params"];
    let name = params["name"].as_str().or(params["uri"].as_str());
    for (header, value) in [
        ("mcp-protocol-version", revision.map(Revision::as_str)),
        ("mcp-method", message["method"].as_str()),
        ("mcp-name", name),
    ] {
        if let Some(Ok(value)) = value.map(HeaderValue::from_str) {
            request = request.header(header, value);
        }
    }
    let body = Full::new(Bytes::copy_from_slice(body));
    let request = request.body(body).expect("a request");
    let service = Server::of(calls()).into_service().expect("good lists");
    let (status, events, body) = now(async {
        let Ok(response) = service.oneshot(request).await;
        let (parts, body) = response.into_parts();
        let kind = parts.headers.get("content-type");
        let is_stream = kind.is_some_and(|kind| kind == "text/event-stream");
        let body = body.collect().await.expect("a whole body").to_bytes();
        (parts.status, is_stream, body)
    });
    assert!(!status.is_server_error(), "{status}");
    if events {
        let (mut decoder, mut rest) = (EventDecoder::new(), &*body);
        while let Ok(Some(event)) = decoder.decode(&mut rest) {
            check(&event);
        }
    } else if status == StatusCode::OK {
        check(&body);
    }
    status
}

/// Writes lines to a server: it answers in lines, each a message of the protocol.
///
/// # Panics
/// Panics if that does not hold.
pub fn over_stdio(input: &[u8]) {
    let mut output = Vec::new();
    let calls = ProtocolLayer::stdio().with_negotiation(true).layer(calls());
    let served = Stdio::new().serve(calls, input, &mut output, pending());
    now(served).expect("memory does not fail");
    for line in output.split_inclusive(|&byte| byte == b'\n') {
        assert!(line.ends_with(b"\n"));
        check(line);
    }
}

/// Makes a server with an entry of each kind.
fn calls() -> Mcp {
    let schema = Schema::new().with_required("text", Property::string("The words to say."));
    let echo = |said: Said, request: ToolRequest| async move {
        if said.text == "ask" && request.inputs().state().is_none() {
            let question = Question::form("Which?", json!({ "type": "object" }));
            return request.ask(
                Elicitation::new()
                    .with("which", question)
                    .with_state("asked"),
            );
        }
        Ok(ToolResult::text(said.text))
    };
    let read =
        |placeholders: Placeholders| async move { Ok(placeholders.get("city").map(str::to_owned)) };
    let render = |arguments: &PromptArguments| {
        Rendered::new("A review").with_user_text(arguments.text("path").unwrap_or_default())
    };
    let cities = ResourceTemplate::new("city://{city}", "city", "Facts about a city.", read);
    let resources = Resources::new().with_template(cities);
    let tools = Tools::new()
        .with(Tool::with_schema("echo", "Says it again.", schema, echo))
        .with(ReadResource::new(resources.clone()));
    let review = Prompt::new("review", "Reviews a file.", render)
        .with_argument(PromptArgument::required("path", "The file to review."))
        .with_completion(|_, begun| vec![begun.to_owned()]);
    let about = ServerInfo::new("fuzzed", "1.0.0");
    Mcp::new(&about, tools, resources, Prompts::new().with(review)).expect("good lists")
}

fn check(message: &[u8]) {
    let message: Value = serde_json::from_slice(message).expect("JSON");
    let messages = message.as_array();
    for message in messages.map_or(std::slice::from_ref(&message), Vec::as_slice) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
    }
}

fn now<T>(answer: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_time().build();
    let answer = async { timeout(PATIENCE, answer).await.expect("an answer") };
    runtime.expect("a runtime").block_on(answer)
}

//! Servers for tests: a real one, and ones that answer as a test says.

use std::{convert::Infallible, future::pending};

use http::StatusCode;
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
        duplex, split,
    },
    sync::mpsc,
};
use tower::{ServiceBuilder, service_fn};
use ziggurat_layers::json_rpc::JsonRpcLayer;
use ziggurat_mcp::{
    Caller, Elicitation, Error, Mcp, Placeholders, PromptArgument, PromptArguments,
    PromptDescriptor, PromptHandler, Prompts, Property, Question, ReadError, Rendered, Reported,
    ResourceDescriptor, ResourceHandler, ResourceTemplateDescriptor, Resources, Schema, ServerInfo,
    Structure, TemplateHandler, ToolDescriptor, ToolHandler, ToolRequest, ToolResult, Tools,
    protocol::{self, ProtocolLayer},
    stdio::Stdio,
    streamable::StreamableLayer,
};

use super::*;

pub(super) type TestBody = UnsyncBoxBody<Bytes, BoxError>;

struct Echo;
struct Count;
struct Confirm;
struct Regional;
/// Never answers; reports its start and its end.
struct Wait(mpsc::UnboundedSender<&'static str>);
struct Poem;
struct Page;
struct Haiku;

/// Sends when it is dropped.
struct Dropped(mpsc::UnboundedSender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.send("dropped").ok();
    }
}

impl ToolHandler for Echo {
    fn describe(&self) -> ToolDescriptor {
        let schema = Schema::new().with_required("text", Property::string("What to say."));
        let output = Schema::new().with_required("length", Property::integer("How long it is."));
        ToolDescriptor::new("echo", "Says it again.", schema).with_output(output)
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let arguments: Value = request.arguments()?;
        let Some(text) = arguments["text"].as_str() else {
            return Err(Reported::new("no text").into());
        };
        let structure = Structure::new(&json!({"length": text.len()})).ok();
        Ok(ToolResult::text(text.to_owned()).with_structure(structure))
    }
}

impl ToolHandler for Count {
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new("count", "Counts to three.", Schema::new())
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        for step in 1..=3_u8 {
            if let Some(progress) = request.caller().context().progress() {
                progress.report(step.into(), Some(3.0), Some("counting"));
            }
            tokio::task::yield_now().await;
        }
        Ok(ToolResult::text("three"))
    }
}

impl ToolHandler for Confirm {
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new("confirm", "Asks twice.", Schema::new())
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let inputs = request.inputs();
        if inputs.is_declined("first") {
            return Ok(ToolResult::text("declined"));
        }
        let question = Question::form("Sure?", json!({"type": "object"}));
        let ask = match (inputs.state(), inputs.form("first"), inputs.form("second")) {
            (Some("asked once"), Some(_), _) => Elicitation::new()
                .with("second", question)
                .with_state("asked twice"),
            (Some("asked twice"), _, Some(form)) => {
                return Ok(ToolResult::text(form["ok"].to_string()));
            }
            _ => Elicitation::new()
                .with("first", question)
                .with_state("asked once"),
        };
        request.ask(ask)
    }
}

impl ToolHandler for Regional {
    fn describe(&self) -> ToolDescriptor {
        let region = Property::string("Where.").with_header("Region");
        let schema = Schema::new().with_required("region", region);
        ToolDescriptor::new("regional", "Needs a header.", schema)
    }

    async fn call(&self, _: ToolRequest) -> Result<ToolResult, Error> {
        Ok(ToolResult::text("there"))
    }
}

impl ToolHandler for Wait {
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new("wait", "Never answers.", Schema::new())
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let _dropped = Dropped(self.0.clone());
        if let Some(progress) = request.caller().context().progress() {
            progress.report(1.0, None, None);
        }
        self.0.send("started").ok();
        pending().await
    }
}

impl ResourceHandler for Poem {
    fn describe(&self) -> ResourceDescriptor {
        ResourceDescriptor::new("poem://roses", "Roses", "A poem.").with_mime_type("text/plain")
    }

    async fn read(&self, _: Caller) -> Result<String, ReadError> {
        Ok("Roses are red.".to_owned())
    }
}

impl TemplateHandler for Page {
    fn describe(&self) -> ResourceTemplateDescriptor {
        ResourceTemplateDescriptor::new("page://{number}", "Page", "A page.")
    }

    async fn read(&self, values: Placeholders, _: Caller) -> Result<Option<String>, ReadError> {
        Ok(values.get("number").map(str::to_owned))
    }

    async fn complete(&self, _: String, values: Placeholders, _: Caller) -> Vec<String> {
        let begun = values.get("number").unwrap_or_default();
        vec![format!("{begun}0")]
    }
}

impl PromptHandler for Haiku {
    fn describe(&self) -> PromptDescriptor {
        let mood = PromptArgument::optional("mood", "The mood.").with_choices(&["sad", "merry"]);
        PromptDescriptor::new("haiku", "Writes.").with_argument(mood)
    }

    fn render(&self, arguments: &PromptArguments) -> Rendered {
        let mood = arguments.text("mood").unwrap_or("plain");
        Rendered::new("A haiku").with_user_text(format!("A {mood} haiku, please."))
    }
}

/// Returns a server with something of every kind, and what its tool `wait` reports.
pub(super) fn mcp() -> (Mcp, mpsc::UnboundedReceiver<&'static str>) {
    let (waits, waited) = mpsc::unbounded_channel();
    let tools = Tools::new()
        .with(Echo)
        .with(Count)
        .with(Confirm)
        .with(Regional)
        .with(Wait(waits));
    let resources = Resources::new().with(Poem).with_template(Page);
    let about = ServerInfo::new("test", "1.2.3").with_instructions("Be kind.");
    let mcp = Mcp::new(&about, tools, resources, Prompts::new().with(Haiku));
    (mcp.expect("well-formed lists"), waited)
}

/// Returns a client of a server without a socket.
pub(super) fn over_http(mcp: Mcp) -> ClientBuilder {
    let server = ServiceBuilder::new()
        .layer(StreamableLayer::new())
        .layer(JsonRpcLayer::new().with_dialect_of(protocol::dialect_of))
        .layer(ProtocolLayer::http())
        .service(mcp);
    Client::service("http://localhost/mcp", server)
}

/// Serves a client over pipes until its end.
pub(super) async fn over_pipes<T>(mcp: Mcp, talk: impl AsyncFnOnce(ClientBuilder) -> T) -> T {
    let (ours, theirs) = duplex(256);
    let (input, output) = split(theirs);
    let protocol = ProtocolLayer::stdio().with_negotiation(true);
    let service = ServiceBuilder::new().layer(protocol).service(mcp);
    let serving = Box::pin(Stdio::new().serve(service, input, output, pending()));
    let talking = Box::pin(async {
        let (output, input) = split(ours);
        talk(Client::stdio(output, input)).await
    });
    let (served, told) = soon(async { tokio::join!(serving, talking) }).await;
    served.expect("served");
    told
}

/// A request that a scripted server received.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) headers: http::HeaderMap,
    pub(super) message: Value,
}

/// Returns a client of a server that answers `initialize`, accepts notifications, and answers the
/// rest as a test says. Also returns what the server receives.
pub(super) fn scripted(
    answer: impl Fn(&Seen) -> Response<TestBody> + Clone + Send + 'static,
) -> (ClientBuilder, mpsc::UnboundedReceiver<Seen>) {
    let (sender, received) = mpsc::unbounded_channel();
    let service = service_fn(move |request: Request<RequestBody>| {
        let (answer, sender) = (answer.clone(), sender.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.expect("a body").to_bytes();
            let seen = Seen {
                message: serde_json::from_slice(&body).unwrap_or_default(),
                headers: head.headers,
            };
            sender.send(seen.clone()).ok();
            Ok::<_, Infallible>(match seen.message["method"].as_str() {
                Some("initialize") => with_session(json_response(&initialized(&seen.message))),
                Some(method) if !method.starts_with("notifications/") => answer(&seen),
                _ => status(StatusCode::ACCEPTED, ""),
            })
        }
    });
    let builder = Client::service("http://localhost/mcp", service);
    (builder, received)
}

fn with_session(mut response: Response<TestBody>) -> Response<TestBody> {
    let session = http::HeaderValue::from_static("s-1");
    response.headers_mut().insert("mcp-session-id", session);
    response
}

/// Returns the answer to `initialize`, in the revision that was asked for.
pub(super) fn initialized(request: &Value) -> Value {
    result(
        request,
        &json!({
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "0"},
        }),
    )
}

pub(super) fn result(request: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

pub(super) fn status(status: StatusCode, body: impl Into<Bytes>) -> Response<TestBody> {
    let body = Full::new(body.into()).map_err(Into::into).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

pub(super) fn json_response(body: &Value) -> Response<TestBody> {
    status(StatusCode::OK, body.to_string())
}

/// Returns a stream of events with this body.
pub(super) fn events(body: TestBody) -> Response<TestBody> {
    let mut response = Response::new(body);
    let media_type = http::HeaderValue::from_static("Text/Event-Stream; charset=utf-8");
    response.headers_mut().insert("content-type", media_type);
    response
}

/// The server's ends of pipes, in the hands of a test.
pub(super) struct Peer {
    input: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
}

impl Peer {
    /// Returns the next message of the client.
    pub(super) async fn message(&mut self) -> Value {
        let line = soon(self.input.next_line()).await.expect("a pipe");
        serde_json::from_str(&line.expect("a line")).expect("JSON")
    }

    /// Returns the next message, which has to be of this method.
    pub(super) async fn expect(&mut self, method: &str) -> Value {
        let message = self.message().await;
        assert_eq!(message["method"], method, "{message}");
        message
    }

    pub(super) async fn send(&mut self, line: impl fmt::Display) {
        let line = format!("{line}\n");
        soon(self.output.write_all(line.as_bytes()))
            .await
            .expect("a client that reads");
    }

    /// Answers `initialize`.
    pub(super) async fn welcome(&mut self) {
        let request = self.expect("initialize").await;
        self.send(initialized(&request)).await;
        self.expect("notifications/initialized").await;
    }
}

/// Makes pipes with buffers of a size.
pub(super) fn pipes(bytes: usize) -> (ClientBuilder, Peer) {
    let (ours, theirs) = duplex(bytes);
    let (input, output) = split(theirs);
    let peer = Peer {
        input: BufReader::new(input).lines(),
        output,
    };
    let (output, input) = split(ours);
    (Client::stdio(output, input), peer)
}

/// Connects a client in revision 2025-11-25 to a peer.
pub(super) async fn welcomed(builder: ClientBuilder, peer: &mut Peer) -> Client {
    let builder = builder.with_revision(protocol::Revision::V2025_11_25);
    let (client, ()) = tokio::join!(soon(builder.connect()), peer.welcome());
    client.expect("connected")
}

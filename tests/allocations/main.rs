//! Allocation budget of each layer for an admitted request, and of calls of the protocol.
//!
//! A single test, because the counter counts the whole process.

mod followed;
mod hidden;
mod statements;

use std::{
    convert::Infallible,
    fmt::Debug,
    future::{Ready, ready},
    net::SocketAddr,
    num::NonZeroU32,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{Extensions, HeaderValue, Request, Response, Uri, header};
use http_body::Frame;
use http_body_util::Full;
use tower::{Layer, Service, ServiceBuilder, service_fn};
use ziggurat_calls::{
    Calls,
    mcp::{self, Message},
};
use ziggurat_layers::{
    audit::{AuditIdentityLayer, AuditLayer, Queue, Record},
    bearer::{BearerLayer, Hashed, TokenHash},
    body_limit::BodyLimitLayer,
    client_ip::{ClientIp, HopHeader, SetClientIpLayer},
    host::HostLayer,
    idempotency::IdempotencyLayer,
    json_rpc::{Call, Json, JsonRpcLayer, NoStream, Reply},
    link::{LinkLayer, LinkValue},
    mcp::{Access, CheckedBody, McpPolicyLayer},
    origin::OriginLayer,
    rate_limit::{AtOnce, Concurrency, FailureWindow, RateLimitLayer, Steady},
    sanitize::SanitizeLayer,
    shutdown::{CutOff, ShutdownLayer},
};
use ziggurat_mcp::{
    Caller, Error, Mcp, ObservedCall, Observer, Prompts, Resources, Schema, ServerInfo,
    ToolDescriptor, ToolHandler, ToolRequest, ToolResult, Tools, dialect,
    protocol::{self, ProtocolLayer},
};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const TOKEN: &str = "open-sesame";

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quick","arguments":{}}}"#;

/// Answers with a response that has space for one more header.
#[derive(Clone, Copy)]
struct Bare;

impl<B> Service<Request<B>> for Bare {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        let mut response = Response::new(Full::from("{}"));
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        ready(Ok(response))
    }
}

/// A tool that answers at once.
struct Quick;

impl ToolHandler for Quick {
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new("quick", "Answers at once.", Schema::new())
    }

    async fn call(&self, _: ToolRequest) -> Result<ToolResult, Error> {
        Ok(ToolResult::text("done"))
    }
}

/// Observes no call.
struct Off;

impl Observer for Off {
    fn begin(&self, _: &Call, _: &mut Caller) -> Option<Box<dyn ObservedCall>> {
        None
    }
}

/// Observes no call either, and has no key for receipts.
struct WithoutReceipts(Calls);

impl Observer for WithoutReceipts {
    fn begin(&self, call: &Call, caller: &mut Caller) -> Option<Box<dyn ObservedCall>> {
        let message = Message {
            call,
            method: Some(mcp::CALL),
            subject: Some("quick"),
            pipeline: "",
            followed: None,
        };
        let who = ziggurat_calls::Caller::new(None);
        let receipt = self.0.receipt(&message, caller, &who);
        assert!(receipt.is_none(), "there is no key");
        None
    }
}

/// An empty body with an unknown size.
struct Chunked;

impl http_body::Body for Chunked {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }
}

/// A request as a server makes it.
fn request<B>(body: B) -> Request<B> {
    let peer = SocketAddr::from(([10, 0, 0, 7], 4711));
    Request::post(Uri::from_static("/mcp/v1"))
        .header("host", "localhost")
        .header("x-forwarded-for", "203.0.113.9")
        .header("authorization", "Bearer open-sesame")
        .extension(ClientIp::from_peer(peer))
        .body(body)
        .expect("constant parts")
}

fn small() -> Request<Full<Bytes>> {
    request(Full::from(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#))
}

/// A request with an id in its header.
fn numbered() -> Request<Full<Bytes>> {
    let mut request = small();
    let id = HeaderValue::from_static("01JD2Z5W-7");
    request.headers_mut().insert("x-request-id", id);
    request
}

/// A request of a page of this machine.
fn from_page() -> Request<Full<Bytes>> {
    let mut request = small();
    let origin = HeaderValue::from_static("http://localhost:3000");
    request.headers_mut().insert(header::ORIGIN, origin);
    request
}

/// A request with an idempotency key.
fn with_key(key: &str) -> Request<Full<Bytes>> {
    let mut request = small();
    let key = HeaderValue::from_str(key).expect("a number");
    request.headers_mut().insert("idempotency-key", key);
    request
}

fn with_new_key() -> Request<Full<Bytes>> {
    static KEYS: AtomicU64 = AtomicU64::new(0);
    with_key(&KEYS.fetch_add(1, Ordering::Relaxed).to_string())
}

fn list() -> Request<Full<Bytes>> {
    request(Full::from(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
    ))
}

fn call() -> Request<Full<Bytes>> {
    request(Full::from(CALL))
}

/// A call with a body as read from a socket: its bytes are shared already.
fn call_in_one_frame() -> Request<Full<Bytes>> {
    call().map(|_| Full::new(Bytes::from(CALL.to_owned()).slice(..)))
}

fn modern_call() -> Request<Full<Bytes>> {
    let mut request = request(Full::from(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quick","arguments":{},"_meta":{"ziggurat/receipt":true,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    ));
    for (name, value) in [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "quick"),
    ] {
        let value = HeaderValue::from_static(value);
        request.headers_mut().insert(name, value);
    }
    request
}

/// Counts the allocations of one request, after a first one that may fill caches. Returns the least
/// of a few, since the test's watchdog thread also allocates at times.
fn count<S, B>(mut service: S, request: fn() -> Request<B>) -> u64
where
    S: Service<Request<B>, Error: Debug>,
{
    let mut least = u64::MAX;
    for pass in 0..5 {
        let request = request();
        let before = dhat::HeapStats::get().total_blocks;
        let response = pin!(service.call(request)).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(response) = response else {
            panic!("nothing here has to wait")
        };
        drop(response.expect("nothing here fails"));
        let counted = dhat::HeapStats::get().total_blocks - before;
        if pass > 0 {
            least = least.min(counted);
        }
    }
    least
}

/// Counts the allocations that a layer adds to the bare service.
fn added<L, B>(layer: &L, request: fn() -> Request<B>) -> u64
where
    L: Layer<Bare, Service: Service<Request<B>, Error: Debug>>,
{
    count(layer.layer(Bare), request) - count(Bare, request)
}

fn bearer<I: Clone + Send + Sync + 'static>(identity: I) -> BearerLayer<Hashed<I>> {
    BearerLayer::new(Hashed::from_iter([(TokenHash::of(TOKEN), identity)]))
}

fn behind_proxies() -> SetClientIpLayer {
    let trusted = "10.0.0.0/8".parse().expect("networks");
    SetClientIpLayer::new(trusted, HopHeader::XForwardedFor)
}

/// Answers with a list, of which a client may use a part.
fn listed<B>(_: Request<B>) -> Ready<Result<Response<Full<Bytes>>, Infallible>> {
    let list = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"quick"},{"name":"drop"}]}}"#;
    let mut response = Response::new(Full::from(list));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    ready(Ok(response))
}

fn mcp_policy() -> McpPolicyLayer<impl Fn(&Extensions) -> Option<Access> + Clone> {
    let access = Access::nothing().with_tools(["quick"]);
    McpPolicyLayer::new(move |_| Some(access.clone()))
}

fn idempotency() -> IdempotencyLayer<fn(&Extensions) -> Option<&'static str>> {
    let identity_of: fn(&Extensions) -> _ = |_| Some("ali");
    // So few that one part of the store holds all; each part allocates for its first key.
    IdempotencyLayer::new(identity_of).with_max_keys(100)
}

fn link() -> LinkLayer {
    LinkLayer::new([LinkValue::service_desc("/openapi.json").expect("a reference")])
}

#[test]
fn an_admitted_request_allocates_no_more_than_its_budget() {
    let _counting = dhat::Profiler::builder().testing().build();
    let steady = Steady::new("1000 per second".parse().expect("a quota"));
    let failures = FailureWindow::new("10 per hour".parse().expect("a quota"));

    let budgets = [
        ("bearer", 0, added(&bearer(()), small)),
        // The box of a value in `http::Extensions`.
        ("bearer, with an identity", 1, added(&bearer(7_u64), small)),
        ("client ip", 0, added(&behind_proxies(), small)),
        ("steady rate", 0, added(&RateLimitLayer::new(steady), small)),
        ("failures", 0, added(&RateLimitLayer::new(failures), small)),
        ("host", 0, added(&HostLayer::default(), small)),
        ("origin", 0, added(&OriginLayer::default(), from_page)),
        ("idempotency, no key", 0, added(&idempotency(), small)),
        // The digest of the request body, and the stored response: itself, its body, and its
        // header map of three.
        (
            "idempotency, a new key",
            6,
            added(&idempotency(), with_new_key),
        ),
        // The header map, which the bare service makes with as many.
        (
            "idempotency, a duplicate",
            0,
            added(&idempotency(), || with_key("k")),
        ),
        ("body limit", 0, added(&BodyLimitLayer::new(100), small)),
        // The flag shared by the body and the response.
        (
            "body limit, length unknown",
            1,
            added(&BodyLimitLayer::new(100), || request(Chunked)),
        ),
        ("link", 0, added(&link(), small)),
        ("sanitize", 0, added(&SanitizeLayer::new(), small)),
        (
            "shutdown",
            0,
            added(&ShutdownLayer::new(CutOff::default()), small),
        ),
        // The body is one frame, which is checked in place and passed on.
        ("mcp, a call", 0, added(&mcp_policy(), call_in_one_frame)),
        ("mcp, a modern call", 0, added(&mcp_policy(), modern_call)),
        // The positions of the elements and of the cuts, the shorter body and its counter.
        ("mcp, a list", 4, {
            let server = service_fn(listed::<CheckedBody>);
            let filtered = count(mcp_policy().layer(server), list);
            filtered - count(service_fn(listed::<Full<Bytes>>), list)
        }),
    ];
    for (layer, budget, counted) in budgets {
        assert_eq!(counted, budget, "{layer}");
    }

    // The buffer of the answer, the reference counter of its bytes, and two for its header map.
    let pong = |_: Call| {
        ready(Ok::<_, Infallible>(Reply::<NoStream>::from(
            Json::new("pong").expect("a string"),
        )))
    };
    let framing = JsonRpcLayer::new().layer(service_fn(pong));
    let counted = count(framing, small);
    assert!(counted <= 4, "a framed call: {counted}");

    assert_audit_within_budget();
    assert_all_layers_within_budget();
    assert_calls_within_budget();
    hidden::assert_hidden_names_cost_what_invented_ones_do();
    followed::assert_followed_calls_allocate_nothing();
    statements::assert_what_is_off_allocates_nothing();
}

/// Checks requests up to the end of their record.
fn assert_audit_within_budget() {
    let (queue, records) = Queue::bounded(100);
    let optional = AuditLayer::new(drop::<Record>);
    let with_identity = ServiceBuilder::new()
        .layer(optional.clone())
        .layer(bearer(Arc::<str>::from("ali")))
        .layer(AuditIdentityLayer::<Arc<str>>::new())
        .into_inner();
    let budgets = [
        // The shared state, its box in the extensions, and the path.
        ("audit", 3, added(&optional, small)),
        (
            "audit, required",
            3,
            added(&AuditLayer::new(queue).with_required(), small),
        ),
        // The text of the id.
        ("audit, with a request id", 4, added(&optional, numbered)),
        // The box of the identity. Its name is shared.
        ("audit and bearer", 4, added(&with_identity, small)),
    ];
    for (layer, budget, counted) in budgets {
        assert_eq!(counted, budget, "{layer}");
    }
    assert!(records.try_next().is_some(), "the record is counted too");
}

/// Checks a request through all layers, up to the end of its record.
fn assert_all_layers_within_budget() {
    let quota = "1000 per second".parse().expect("a quota");
    let at_once = Concurrency::new(AtOnce(NonZeroU32::MIN));
    let stack = ServiceBuilder::new()
        .layer(behind_proxies())
        .layer(AuditLayer::new(drop::<Record>))
        .layer(SanitizeLayer::new())
        .layer(link())
        .layer(HostLayer::default())
        .layer(OriginLayer::default())
        .layer(RateLimitLayer::new(Steady::new(quota)))
        .layer(bearer(Arc::<str>::from("ali")))
        .layer(AuditIdentityLayer::<Arc<str>>::new())
        .layer(RateLimitLayer::new(Steady::new(quota)).with_extension::<Arc<str>>())
        .layer(RateLimitLayer::new(at_once).with_extension::<Arc<str>>())
        .layer(BodyLimitLayer::new(1000))
        .layer(idempotency())
        .layer(mcp_policy())
        .into_inner();
    let counted = added(&stack, call_in_one_frame);
    // The allocations of `audit` and `bearer`.
    assert_eq!(counted, 4, "all layers");
}

/// Checks calls of the protocol up to the head of their response, framing included.
fn assert_calls_within_budget() {
    let about = ServerInfo::new("test", "0");
    let tools = Tools::new().with(Quick);
    let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new()).expect("one tool");
    assert_calls_have_budgets(mcp.clone());
    // Audit trail, metrics, traces and limits that are all off cost nothing.
    assert_calls_have_budgets(mcp.clone().with_observer(Off));
    // So do receipts without a key, also if a call asks for one.
    assert_calls_have_budgets(mcp.with_observer(WithoutReceipts(Calls::default())));
}

fn assert_calls_have_budgets(mcp: Mcp) {
    let exact = JsonRpcLayer::new()
        .with_dialect(dialect())
        .layer(mcp.clone());
    let negotiated = ServiceBuilder::new()
        .layer(JsonRpcLayer::new().with_dialect_of(protocol::dialect_of))
        .layer(ProtocolLayer::http())
        .service(mcp);
    let budgets = [
        ("a list on /mcp/v1", 3, count(exact.clone(), list)),
        ("a list on /mcp", 4, count(negotiated.clone(), list)),
        ("a tool on /mcp/v1", 7, count(exact, call)),
        ("a tool on /mcp", 8, count(negotiated.clone(), call)),
        (
            "a tool in revision 2026-07-28",
            9,
            count(negotiated, modern_call),
        ),
    ];
    for (kind, budget, counted) in budgets {
        assert!(counted <= budget, "{kind}: {counted}");
    }
}

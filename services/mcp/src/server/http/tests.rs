use std::{
    convert::Infallible,
    future::{pending, ready},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::header::HeaderName;
use http_body_util::{BodyExt as _, Full};
use serde::Deserialize;
use serde_json::{Value, json};
use tower::{
    ServiceExt as _,
    timeout::TimeoutLayer,
    util::{MapErrLayer, MapRequestLayer},
};
use ziggurat_layers::{
    audit::{AuditLayer, TracingSink},
    json_rpc::Call,
    rate_limit::{RateLimitLayer, Steady},
};

use super::*;
use crate::{
    Error, Json, Mcp, Placeholders, Prompt, PromptArgument, PromptArguments, Property, Rendered,
    Resource, ResourceTemplate, Schema, ServerBuilder, State, Tool, ToolRequest,
    protocol::Revision,
};

const LOCAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 80);

#[derive(Deserialize)]
struct Echo {
    text: String,
}

#[derive(Deserialize)]
struct Nothing {}

fn echo() -> Tool {
    let schema = Schema::new().with_required("text", Property::string("What to say."));
    Tool::with_schema("echo", "Says it again.", schema, |echo: Echo| {
        ready(Ok(echo.text))
    })
}

fn nullary<C: crate::ToolClosure<M>, M: 'static>(name: &'static str, closure: C) -> Tool {
    Tool::with_schema(name, "Does it.", Schema::new(), closure)
}

fn server() -> ServerBuilder {
    Server::new("test", "1.0.0")
}

/// Sends a request and returns the status and the body.
async fn send<S, B>(service: S, request: Request<Full<Bytes>>) -> (u16, String)
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>,
    B: http_body::Body<Data = Bytes, Error: fmt::Debug>,
{
    let Ok(response) = service.oneshot(request).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("whole");
    let text = String::from_utf8(body.to_bytes().into()).expect("UTF-8");
    (status, text)
}

fn post(message: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2025-11-25");
    request.body(Full::new(message.into())).expect("a request")
}

fn with(mut request: Request<Full<Bytes>>, name: &str, value: &str) -> Request<Full<Bytes>> {
    let name = HeaderName::try_from(name).expect("a name");
    let value = value.try_into().expect("a value");
    request.headers_mut().insert(name, value);
    request
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "callers write it with `json!`"
)]
fn message(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// Calls a method of a server and returns its answer.
async fn ask<S>(server: Server<S>, method: &str, params: Value) -> Value
where
    S: Service<Call, Response = ziggurat_layers::json_rpc::Reply<crate::ResultBody>>,
    S: Service<Call, Error = Infallible, Future: Unpin> + Clone,
{
    let service = server.into_service().expect("lists without errors");
    let (_, body) = send(service, post(message(method, params))).await;
    serde_json::from_str(&body).expect("JSON")
}

async fn call(tool: Tool, arguments: Value) -> Value {
    let name = tool.descriptor.name.clone();
    let params = json!({"name": name, "arguments": arguments});
    ask(server().tool(tool).build(), "tools/call", params).await
}

// === safe to begin with ===

#[tokio::test]
async fn foreign_hosts_origins_paths_and_methods_are_refused_and_local_calls_served() {
    let http = Http::new(server().tool(echo()).build());
    let service = http.into_service(LOCAL).expect("a loopback address");
    let ping = || post(message("ping", json!({})));
    let cases = [
        (ping(), 200),
        (with(ping(), "host", "127.0.0.1:8080"), 200),
        (with(ping(), "host", "evil.example"), 403),
        (with(ping(), "origin", "https://evil.example"), 403),
        (with(ping(), "origin", "http://localhost:6274"), 200),
        (
            {
                let mut request = ping();
                *request.uri_mut() = "/other".parse().expect("a path");
                request
            },
            404,
        ),
        (
            {
                let mut request = ping();
                *request.method_mut() = http::Method::GET;
                request
            },
            405,
        ),
        (post(vec![b' '; (4 << 20) + 1]), 413),
    ];
    for (request, expected) in cases {
        let asked = format!("{} {:?}", request.uri(), request.headers());
        let (status, body) = send(service.clone(), request).await;
        assert_eq!(status, expected, "{asked}: {body}");
    }
}

#[tokio::test]
async fn hosts_and_origins_that_are_added_are_served_and_no_local_pages_with_them() {
    let http = Http::new(server().build()).with_host("mcp.example.com");
    let http = http.with_origin("https://app.example.com");
    let service = http.into_service(LOCAL).expect("names without errors");
    let ping = || with(post(message("ping", json!({}))), "host", "mcp.example.com");
    for (origin, expected) in [
        ("https://app.example.com", 200),
        ("https://mcp.example.com", 200),
        ("http://localhost:6274", 403),
        ("https://evil.example", 403),
    ] {
        let (status, _) = send(service.clone(), with(ping(), "origin", origin)).await;
        assert_eq!(status, expected, "{origin}");
    }
    for wrong in ["https://app.example.com/page", "app"] {
        let http = Http::new(server().build()).with_origin(wrong);
        assert!(http.into_service(LOCAL).is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn an_address_that_other_machines_reach_needs_tokens_or_a_word() {
    let public = SocketAddr::from(([0, 0, 0, 0], 80));
    let http = || Http::new(server().build());
    let refused = http().into_service(public).map(drop);
    assert!(matches!(refused, Err(ServeError::Open(_))), "{refused:?}");
    assert!(http().without_authentication().into_service(public).is_ok());
    let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), "ali")]);
    assert!(http().verified_by(tokens).into_service(public).is_ok());
}

#[tokio::test]
async fn a_variable_without_a_token_keeps_the_server_from_starting() {
    let http = Http::new(server().build()).bearer("ZIGGURAT_TEST_NO_SUCH_VARIABLE");
    let refused = http.serve("127.0.0.1:0").await.expect_err("no token");
    let expected = "the environment variable ZIGGURAT_TEST_NO_SUCH_VARIABLE has to hold the token of the callers";
    assert_eq!(refused.to_string(), expected);
    // `main` prints it so.
    assert_eq!(format!("{refused:?}"), expected);
}

#[tokio::test]
async fn an_error_in_the_lists_keeps_the_server_from_starting() {
    let twice = || server().tool(echo()).tool(echo()).build();
    let refused = Http::new(twice()).serve("127.0.0.1:0").await;
    assert_eq!(
        refused.expect_err("two tools").to_string(),
        "two tools are named `echo`"
    );
    let expected = SetupError::DuplicateTool("echo".to_owned());
    assert_eq!(twice().into_service().map(drop), Err(expected));
}

#[tokio::test]
async fn callers_need_the_token_and_tools_find_who_they_are() {
    let who = nullary("who", |_: Nothing, request: ToolRequest| async move {
        Ok(request.identity::<&str>().copied().unwrap_or("unknown"))
    });
    let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), "ali")]);
    let http = Http::new(server().tool(who).build()).verified_by(tokens);
    let service = http.into_service(LOCAL).expect("a setup without errors");
    let asking = || post(message("tools/call", json!({"name": "who"})));
    let (status, _) = send(service.clone(), asking()).await;
    assert_eq!(status, 401);
    let known = with(asking(), "authorization", "Bearer open-sesame");
    let (status, body) = send(service, known).await;
    assert_eq!(status, 200);
    assert!(body.contains(r#""text":"ali""#), "{body}");
}

#[tokio::test]
async fn a_listener_is_served_until_the_server_is_stopped() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let http = Http::new(server().tool(echo()).build());
    let serving = http.serve_on(listener, async { drop(stopped.await) });
    let asking = async {
        let connected = tokio::net::TcpStream::connect(address).await;
        let mut stream = connected.expect("a server");
        let call = message(
            "tools/call",
            json!({"name": "echo", "arguments": {"text": "hello"}}),
        );
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{call}",
            call.len()
        );
        let sent = stream.write_all(request.as_bytes()).await;
        sent.expect("a server that reads");
        let mut response = String::new();
        let read = stream.read_to_string(&mut response).await;
        read.expect("a response");
        drop(stop);
        response
    };
    let (served, response) = tokio::join!(serving, asking);
    served.expect("served until it was stopped");
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.contains(r#""text":"hello""#), "{response}");
}

// === closures ===

#[tokio::test]
async fn a_closure_gets_its_arguments_and_wrong_ones_are_told_the_model() {
    let answer = call(echo(), json!({"text": "a\"b"})).await;
    assert_eq!(
        answer["result"],
        json!({"content": [{"type": "text", "text": "a\"b"}]})
    );
    let answer = call(echo(), json!({"text": 7})).await;
    assert_eq!(answer["result"]["isError"], true);
    let told = answer["result"]["content"][0]["text"].as_str();
    assert!(told.expect("text").contains("must be a string"), "{told:?}");
}

#[tokio::test]
async fn a_structure_is_also_sent_as_text() {
    let load = nullary("load", |_: Nothing| ready(Ok(Json(json!({"load": 0.25})))));
    let answer = call(load, json!({})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"load": 0.25}));
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"load":0.25}"#);
}

#[cfg(feature = "schemars")]
#[tokio::test]
async fn a_typed_result_declares_its_schema_to_the_clients_that_take_it() {
    /// The weather.
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Temperature {
        /// In degrees Celsius.
        celsius: f64,
    }

    #[derive(Deserialize, schemars::JsonSchema)]
    struct Empty {}

    let now = || {
        Tool::new("now", "Now.", |_: Empty| {
            ready(Ok(Json(Temperature { celsius: 41.5 })))
        })
    };
    let list = || Tool::new("list", "All.", |_: Empty| ready(Ok(Json(vec![1, 2]))));
    let text = || Tool::new("text", "Text.", |_: Empty| ready(Ok("words")));
    let build = || server().tool(now()).tool(list()).tool(text()).build();
    let answer = ask(build(), "tools/list", json!({})).await;
    let tools = &answer["result"]["tools"];
    // A list is no object, and clients of this revision refuse every tool for such a schema.
    assert_eq!(tools[0]["outputSchema"], Value::Null, "{tools}");
    let expected = json!({
        "type": "object",
        "description": "The weather.",
        "properties": {
            "celsius": {"type": "number", "format": "double", "description": "In degrees Celsius."},
        },
        "required": ["celsius"],
    });
    assert_eq!(tools[1]["outputSchema"], expected, "{tools}");
    assert_eq!(tools[2]["outputSchema"], Value::Null, "{tools}");
    let answer = ask(
        build(),
        "tools/call",
        json!({"name": "now", "arguments": {}}),
    )
    .await;
    assert_eq!(
        answer["result"]["structuredContent"],
        json!({"celsius": 41.5})
    );
}

#[tokio::test]
async fn tools_share_a_state_and_a_missing_one_keeps_the_server_from_starting() {
    struct Cities(Vec<&'static str>);

    let count = || {
        nullary("count", |_: Nothing, cities: State<Cities>| async move {
            Ok(cities.0.len().to_string())
        })
    };
    let first = nullary("first", |_: Nothing, request: ToolRequest| async move {
        let cities = request.state::<Cities>();
        Ok(cities.map_or("none", |cities| cities.0[0]))
    });
    let shared = server().tool(count()).tool(first);
    let shared = shared.with_state(Cities(vec!["Ur", "Uruk"])).build();
    for (name, expected) in [("count", "2"), ("first", "Ur")] {
        let answer = ask(shared.clone(), "tools/call", json!({"name": name})).await;
        assert_eq!(answer["result"]["content"][0]["text"], expected, "{answer}");
    }

    // A layer around the tool does not hide what it needs.
    let tool = count().layer(TimeoutLayer::new(Duration::from_secs(5)));
    let problem = server().tool(tool).build().into_service();
    let problem = problem.expect_err("a state is missing").to_string();
    assert!(
        problem.contains("Cities, but `Tools::with_state` got none"),
        "{problem}"
    );
}

#[tokio::test]
async fn an_internal_error_and_a_panic_tell_the_client_no_cause() {
    let broken = nullary("broken", |_: Nothing| async {
        Err::<String, _>(Error::internal("cannot reach postgres://app:hunter2@db"))
    });
    let answer = call(broken, json!({})).await.to_string();
    assert!(answer.contains("(request id "), "{answer}");
    assert!(!answer.contains("hunter2"), "{answer}");

    let panicking = nullary("panicking", |_: Nothing| async {
        assert!(std::hint::black_box(false), "hunter2");
        Ok(())
    });
    let answer = call(panicking, json!({})).await.to_string();
    assert!(answer.contains("-32603"), "{answer}");
    assert!(!answer.contains("hunter2"), "{answer}");
}

#[tokio::test]
async fn resources_templates_and_prompts_are_closures_too() {
    let server = || {
        let text = |placeholders: Placeholders| async move {
            let city = placeholders.get("city").unwrap_or_default();
            Ok((city == "ur").then(|| "a city".to_owned()))
        };
        let template = ResourceTemplate::new("city://{city}", "city", "A city.", text);
        let prompt = Prompt::new("ask", "Asks.", |arguments: &PromptArguments| {
            let about = arguments.text("about").unwrap_or("all");
            Rendered::new("A question").with_user_text(format!("Tell about {about}."))
        });
        server()
            .resource(Resource::new("a://b", "b", "B.", || async {
                Ok("[1]".to_owned())
            }))
            .template(template.with_completion(|name, _| async move { vec![name] }))
            .prompt(
                prompt
                    .with_argument(PromptArgument::optional("about", "What about."))
                    .with_completion(|argument, begun| vec![format!("{begun}-{argument}")]),
            )
            .build()
    };
    let answer = ask(server(), "resources/read", json!({"uri": "a://b"})).await;
    assert_eq!(answer["result"]["contents"][0]["text"], "[1]");
    let answer = ask(server(), "resources/read", json!({"uri": "city://ur"})).await;
    assert_eq!(answer["result"]["contents"][0]["text"], "a city");
    let answer = ask(server(), "resources/read", json!({"uri": "city://no"})).await;
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
    let params = json!({"name": "ask", "arguments": {"about": "Ur"}});
    let answer = ask(server(), "prompts/get", params).await;
    assert_eq!(
        answer["result"]["messages"][0]["content"]["text"],
        "Tell about Ur."
    );
    for (reference, argument, expected) in [
        (
            json!({"type": "ref/prompt", "name": "ask"}),
            "about",
            "U-about",
        ),
        (
            json!({"type": "ref/resource", "uri": "city://{city}"}),
            "city",
            "city",
        ),
    ] {
        let params = json!({"ref": reference, "argument": {"name": argument, "value": "U"}});
        let answer = ask(server(), "completion/complete", params).await;
        assert_eq!(answer["result"]["completion"]["values"], json!([expected]));
    }
}

// === announced features ===

#[tokio::test]
async fn a_server_announces_only_what_it_has() {
    let opened = |server| {
        ask(
            server,
            "initialize",
            json!({"protocolVersion": "2025-11-25"}),
        )
    };
    let of = |answer: Value| answer["result"]["capabilities"].clone();
    let capabilities = of(opened(server().tool(echo()).build()).await);
    assert_eq!(capabilities, json!({"tools": {}}));
    let resource = Resource::new("a://b", "b", "B.", || async { Ok(String::new()) });
    let capabilities = of(opened(server().resource(resource).build()).await);
    assert_eq!(capabilities, json!({"resources": {}}));
    let prompt = Prompt::new("a", "A.", |_: &PromptArguments| Rendered::new("a"));
    let capabilities = of(opened(server().prompt(prompt).build()).await);
    assert_eq!(capabilities, json!({"completions": {}, "prompts": {}}));
}

#[tokio::test]
async fn revisions_that_were_left_out_are_answered_with_those_that_were_not() {
    let narrowed = || {
        let revisions = [Revision::V2025_06_18, Revision::V2025_03_26];
        server().tool(echo()).with_revisions(revisions).build()
    };
    let asked = json!({"protocolVersion": "2025-11-25"});
    let answer = ask(narrowed(), "initialize", asked).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    // The header of these requests names 2025-11-25.
    let answer = ask(narrowed(), "tools/list", json!({})).await;
    assert_eq!(
        answer["error"]["data"],
        json!({"supported": ["2025-06-18", "2025-03-26"], "requested": "2025-11-25"})
    );
    let modern = server().with_revisions([Revision::V2026_07_28]).build();
    let asked = json!({"protocolVersion": "2024-11-05"});
    let answer = ask(modern, "initialize", asked).await;
    assert_eq!(
        answer["error"]["data"],
        json!({"supported": ["2026-07-28"], "requested": "2024-11-05"})
    );
}

// === layers ===

#[tokio::test]
async fn layers_are_around_http_every_call_and_one_tool() {
    let counts: Arc<[AtomicUsize; 3]> = Arc::default();
    let counting = |place: usize| {
        let counts = Arc::clone(&counts);
        move || {
            counts[place].fetch_add(1, Ordering::Relaxed);
        }
    };
    let (every_request, every, one) = (counting(0), counting(1), counting(2));
    let tool = echo().layer(MapRequestLayer::new(move |request: ToolRequest| {
        one();
        request
    }));
    let server = server()
        .tool(tool)
        .tool(nullary("other", |_: Nothing| ready(Ok(()))));
    let server = server.layer(MapRequestLayer::new(move |call: Call| {
        every();
        call
    }));
    let http = Http::new(server.build()).layer(MapRequestLayer::new(
        move |request: Request<Full<Bytes>>| {
            every_request();
            request
        },
    ));
    let service = http.into_service(LOCAL).expect("a setup without errors");
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "other"})),
        (
            "tools/call",
            json!({"name": "echo", "arguments": {"text": "a"}}),
        ),
    ] {
        let (status, _) = send(service.clone(), post(message(method, params))).await;
        assert_eq!(status, 200);
    }
    let seen = counts.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert_eq!(seen, [3, 3, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_around_a_tool_ends_its_calls_only() {
    let slow = nullary("slow", |_: Nothing| pending::<Result<String, Error>>());
    let slow = slow.layer(TimeoutLayer::new(Duration::from_secs(5)));
    let answer = call(slow, json!({})).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let told = answer["result"]["content"][0]["text"].as_str();
    let told = told.expect("text");
    assert!(
        told.starts_with("The tool did not finish in time"),
        "{told}"
    );
}

/// The error of a layer, with the error of the tool as its source.
#[derive(Debug)]
struct Wrapped(Error);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the layer failed")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[tokio::test]
async fn a_layer_with_boxed_errors_keeps_what_the_tool_tells_the_model_and_hides_the_rest() {
    let limit = TimeoutLayer::new(Duration::from_secs(5));
    let wrong = nullary("wrong", |_: Nothing| async {
        Err::<String, _>(Error::said("Ask for Ur."))
    });
    // Two layers box the error once.
    let answer = call(wrong.layer(limit.clone()).layer(limit.clone()), json!({})).await;
    let expected = json!({"content": [{"type": "text", "text": "Ask for Ur."}], "isError": true});
    assert_eq!(answer["result"], expected, "{answer}");

    // A layer with an error type of its own has the error of the tool as its source.
    let wrapping = |error: Error| crate::BoxError::from(Wrapped(error));
    let wrong = nullary("wrong", |_: Nothing| async {
        Err::<String, _>(Error::said("Ask for Ur."))
    });
    let answer = call(wrong.layer(MapErrLayer::new(wrapping)), json!({})).await;
    assert_eq!(answer["result"], expected, "{answer}");

    let broken = nullary("broken", |_: Nothing| async {
        Err::<String, _>(Error::internal("cannot reach postgres://app:hunter2@db"))
    });
    let answer = call(broken.layer(limit), json!({})).await.to_string();
    assert!(answer.contains("(request id "), "{answer}");
    assert!(!answer.contains("hunter2"), "{answer}");
}

#[tokio::test]
async fn a_record_of_each_request_and_a_limit_go_around_a_server_in_any_order() {
    let limit = || RateLimitLayer::new(Steady::new("600 per minute".parse().expect("a quota")));
    let http = || Http::new(server().tool(echo()).build());
    let audit = || AuditLayer::new(TracingSink);
    let call = || {
        let params = json!({"name": "echo", "arguments": {"text": "hello"}});
        post(message("tools/call", params))
    };
    let outside = http().layer(limit()).layer(audit());
    let inside = http().layer(audit()).layer(limit());
    let (status, body) = send(outside.into_service(LOCAL).expect("a setup"), call()).await;
    assert_eq!((status, body.contains("hello")), (200, true), "{body}");
    let inside = inside.into_service(LOCAL).expect("a setup");
    let (status, body) = send(inside.clone(), call()).await;
    assert_eq!((status, body.contains("hello")), (200, true), "{body}");
    let (status, body) = send(inside, with(call(), "host", "evil.example")).await;
    assert_eq!((status, body.contains("error")), (403, true), "{body}");

    // Served, and not only called: a server needs more of the types.
    let listener = TcpListener::bind((LOCAL.ip(), 0)).await.expect("a port");
    let served = http().layer(limit()).bearer("PATH").layer(audit());
    served.serve_on(listener, ready(())).await.expect("served");
}

#[test]
fn a_server_can_be_shared_and_sent() {
    fn check<T: Clone + Send + Sync + 'static>() {}
    check::<Server>();
    check::<Guarded<Bearer<Calls<Mcp>, Hashed<Arc<str>>>>>();
}

//! A server with one tool and a database for tests.

#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    missing_debug_implementations,
    missing_docs,
    reason = "only tests use it"
)]

use std::fmt::Debug;

use bytes::Bytes;
use http::Request;
use http_body::Body;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::{Layer as _, ServiceBuilder, ServiceExt as _};
use ziggurat_databases::{Configured, Databases};
use ziggurat_layers::json_rpc::JsonRpcLayer;
use ziggurat_mcp::{
    Error, Mcp, Prompts, Resources, Schema, ServerInfo, Tool, ToolHandler, Tools, dialect,
    protocol::{self, ProtocolLayer, Revision},
};
use ziggurat_postgres::{database::Settings, fixture::Fixture};

pub struct TestServer {
    pub fixture: Fixture,
    pub settings: Settings,
}

impl TestServer {
    pub async fn with(sql: &str) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.given(sql).await;
        let settings = fixture.settings.clone();
        Self { fixture, settings }
    }

    /// Calls a tool. Returns the text of the answer, and whether it is an error.
    pub async fn call<T: ToolHandler>(
        &self,
        tool: impl FnOnce(Databases) -> T,
        arguments: Value,
    ) -> (String, bool) {
        call(tool(self.databases()), arguments).await
    }

    pub fn databases(&self) -> Databases {
        let database = self
            .fixture
            .describe(|settings| *settings = self.settings.clone());
        Databases::new(self.fixture.pools.clone(), [Configured::new(database)])
    }
}

/// Tools that answers of others refer to where they are listed.
const OTHERS: [&str; 2] = ["count_rows", "search_schema"];

/// Calls a tool in a negotiated revision, with structured output enabled and with other tools in
/// the list. Returns the body.
pub async fn respond(
    tool: impl ToolHandler,
    revision: Revision,
    arguments: Value,
) -> impl Body<Data = Bytes, Error: Debug> + Unpin {
    let name = tool.describe().name.clone();
    let mut tools = Tools::new().with_structured_output(true).with(tool);
    for other in OTHERS.into_iter().filter(|other| *other != name) {
        let absent = |_: Value| async { Err::<String, _>(Error::said("only listed")) };
        tools = tools.with(Tool::with_schema(
            other,
            "Is listed.",
            Schema::new(),
            absent,
        ));
    }
    let about = ServerInfo::new("test", "0");
    let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new()).expect("one tool");
    let server = ServiceBuilder::new()
        .layer(JsonRpcLayer::new().with_dialect_of(protocol::dialect_of))
        .layer(ProtocolLayer::http())
        .service(mcp);
    let params = json!({"name": name, "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = Request::post("/")
        .header("mcp-protocol-version", revision.as_str())
        .body(Full::<Bytes>::from(call.to_string()));
    let response = server.oneshot(request.expect("constant parts")).await;
    Box::pin(response.expect("infallible").into_body())
}

/// Calls a tool in revision 2025-11-25. Returns the text and the structure of a successful result.
pub async fn structured(tool: impl ToolHandler, arguments: Value) -> (String, Value) {
    let body = respond(tool, Revision::V2025_11_25, arguments).await;
    let answer = body.collect().await.expect("whole").to_bytes();
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    let result = &answer["result"];
    assert_eq!(result.get("isError"), None, "{answer}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    (text.to_owned(), result["structuredContent"].clone())
}

/// Calls a tool. Returns the text of the answer, and whether it is an error.
pub async fn call(tool: impl ToolHandler, arguments: Value) -> (String, bool) {
    let name = tool.describe().name.clone();
    let tools = Tools::new().with(tool);
    let about = ServerInfo::new("test", "0");
    let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new()).expect("one tool");
    let server = JsonRpcLayer::new().with_dialect(dialect()).layer(mcp);

    let params = json!({"name": name, "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = Request::post("/").body(Full::<Bytes>::from(call.to_string()));
    let response = server.oneshot(request.expect("constant parts")).await;
    let body = response.expect("infallible").into_body().collect().await;
    let answer = body.expect("whole").to_bytes();
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("a text in {answer}"));
    (text.to_owned(), result["isError"] == true)
}

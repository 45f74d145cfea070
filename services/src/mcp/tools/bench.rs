//! A server with one tool, in front of a database of its own.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::{Layer as _, ServiceExt as _};
use ziggurat_layers::json_rpc::JsonRpcLayer;

use crate::{
    databases::{Configured, Databases},
    mcp::{Mcp, Prompts, Resources, ServerInfo, Tool, Tools, dialect},
    pg::{database::Settings, fixture::Fixture},
};

pub(super) struct Bench {
    pub(super) fixture: Fixture,
    pub(super) settings: Settings,
}

impl Bench {
    pub(super) async fn with(sql: &str) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.given(sql).await;
        let settings = fixture.settings.clone();
        Self { fixture, settings }
    }

    /// The text of an answer, and whether it is an error.
    pub(super) async fn call<T: Tool>(
        &self,
        tool: impl FnOnce(Databases) -> T,
        arguments: Value,
    ) -> (String, bool) {
        let database = self
            .fixture
            .describe(|settings| *settings = self.settings.clone());
        let pools = self.fixture.pools.clone();
        call(
            tool(Databases::new(pools, [Configured::new(database)])),
            arguments,
        )
        .await
    }
}

/// The text of an answer, and whether it is an error.
pub(super) async fn call(tool: impl Tool, arguments: Value) -> (String, bool) {
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

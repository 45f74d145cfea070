//! Five tools with `rust-mcp-sdk`. Usage: `with-rust-mcp-sdk 127.0.0.1:8080`

use std::{env, net::SocketAddr, sync::Arc};

use async_trait::async_trait;
use rust_mcp_axum::{AxumServerOptions, create_axum_server};
use rust_mcp_sdk::{
    McpServer, RequestContext, ServerDetails, ToMcpServerHandler as _,
    error::SdkResult,
    macros::{JsonSchema, mcp_tool},
    mcp_server::ServerHandler,
    schema::{
        CallToolError, CallToolRequestParams, CallToolResult, Implementation, ListToolsResult,
        ListToolsResultCacheScope, PaginatedRequestParams, RpcError, ServerCapabilities,
        ServerCapabilitiesTools, ServerResult, TextContent, Tool,
    },
    tool_box,
};
use serde::{Deserialize, Serialize};

#[mcp_tool(name = "echo", description = "Says a text again.")]
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub struct Echo {
    /// The text.
    text: String,
}

#[mcp_tool(name = "reverse", description = "Reverses a text.")]
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub struct Reverse {
    /// The text.
    text: String,
}

#[mcp_tool(name = "upper", description = "Says a text in capitals.")]
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub struct Upper {
    /// The text.
    text: String,
}

#[mcp_tool(name = "length", description = "Counts the characters of a text.")]
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub struct Length {
    /// The text.
    text: String,
}

#[mcp_tool(name = "add", description = "Adds two numbers.")]
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub struct Add {
    /// The first number.
    left: i64,
    /// The second number.
    right: i64,
}

tool_box!(Call, [Echo, Reverse, Upper, Length, Add]);

struct FiveTools {
    // Built once, copied for every list.
    tools: Vec<Tool>,
}

#[async_trait]
impl ServerHandler for FiveTools {
    async fn handle_list_tools_request(
        &self,
        _: Option<PaginatedRequestParams>,
        _: &RequestContext,
        _: Arc<dyn McpServer>,
    ) -> Result<ListToolsResult, RpcError> {
        Ok(ListToolsResult {
            tools: self.tools.clone(),
            meta: None,
            next_cursor: None,
            cache_scope: ListToolsResultCacheScope::Private,
            result_type: "complete".to_owned(),
            ttl_ms: 0,
        })
    }

    async fn handle_call_tool_request(
        &self,
        params: CallToolRequestParams,
        _: &RequestContext,
        _: Arc<dyn McpServer>,
    ) -> Result<ServerResult, CallToolError> {
        let text = match Call::try_from(params)? {
            Call::Echo(Echo { text }) => text,
            Call::Reverse(Reverse { text }) => text.chars().rev().collect(),
            Call::Upper(Upper { text }) => text.to_uppercase(),
            Call::Length(Length { text }) => text.chars().count().to_string(),
            Call::Add(Add { left, right }) => left.wrapping_add(right).to_string(),
        };
        let content = vec![TextContent::new(text, None, None)];
        Ok(ServerResult::CallToolResult(CallToolResult::text_content(
            content,
        )))
    }
}

#[tokio::main]
async fn main() -> SdkResult<()> {
    let address = env::args()
        .nth(1)
        .expect("usage: with-rust-mcp-sdk ADDRESS");
    let address: SocketAddr = address.parse().expect("an address with a port");
    let about = ServerDetails {
        server_info: Implementation {
            name: "five-tools".to_owned(),
            version: "1.0.0".to_owned(),
            title: None,
            description: None,
            icons: vec![],
            website_url: None,
        },
        capabilities: ServerCapabilities {
            tools: Some(ServerCapabilitiesTools { list_changed: None }),
            ..ServerCapabilities::default()
        },
        instructions: None,
        meta: None,
    };
    let tools = FiveTools {
        tools: Call::tools(),
    };
    let options = AxumServerOptions {
        host: address.ip().to_string(),
        port: address.port(),
        enable_json_response: Some(true),
        sse_support: false,
        ..AxumServerOptions::default()
    };
    create_axum_server(about, tools.to_mcp_server_handler(), options)
        .start()
        .await?;
    Ok(())
}

//! Five tools with `rmcp`. Usage: `with-rmcp 127.0.0.1:8080 [--sessions]`
//!
//! Without `--sessions`, every request is served on its own and answered in JSON: the settings of
//! `rmcp` that cost least. With it, the settings are the defaults: sessions and event streams.

use std::{env, error::Error, sync::Arc};

use axum::{Router, serve::ListenerExt as _};
use rmcp::{
    ServerHandler,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    schemars, tool, tool_handler, tool_router,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde::Deserialize;
use tokio::net::TcpListener;

#[derive(Deserialize, schemars::JsonSchema)]
struct Text {
    /// The text.
    text: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Numbers {
    /// The first number.
    left: i64,
    /// The second number.
    right: i64,
}

#[derive(Clone)]
struct FiveTools {
    // Built once: the router that the macro asks for by default is built for every call.
    router: Arc<ToolRouter<Self>>,
}

#[tool_router]
impl FiveTools {
    #[tool(description = "Says a text again.")]
    fn echo(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text
    }

    #[tool(description = "Reverses a text.")]
    fn reverse(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text.chars().rev().collect()
    }

    #[tool(description = "Says a text in capitals.")]
    fn upper(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text.to_uppercase()
    }

    #[tool(description = "Counts the characters of a text.")]
    fn length(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text.chars().count().to_string()
    }

    #[tool(description = "Adds two numbers.")]
    fn add(&self, Parameters(Numbers { left, right }): Parameters<Numbers>) -> String {
        left.wrapping_add(right).to_string()
    }
}

#[tool_handler(router = self.router, name = "five-tools", version = "1.0.0")]
impl ServerHandler for FiveTools {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let address = arguments.next().ok_or("usage: with-rmcp ADDRESS")?;
    let has_sessions = arguments.any(|argument| argument == "--sessions");
    let tools = FiveTools {
        router: Arc::new(FiveTools::tool_router()),
    };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(has_sessions)
        .with_json_response(!has_sessions);
    let service = StreamableHttpService::new(
        move || Ok(tools.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let listener = TcpListener::bind(address).await?.tap_io(|stream| {
        stream.set_nodelay(true).ok();
    });
    let router = Router::new().route_service("/mcp", service);
    Ok(axum::serve(listener, router).await?)
}

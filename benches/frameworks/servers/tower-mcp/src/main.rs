//! Five tools with `tower-mcp`. Usage: `with-tower-mcp 127.0.0.1:8080`

use std::env;

use axum::serve::ListenerExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;
use tower_mcp::{BoxError, CallToolResult, HttpTransport, McpRouter, Tool, ToolBuilder};

#[derive(Debug, Deserialize, JsonSchema)]
struct Text {
    /// The text.
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Numbers {
    /// The first number.
    left: i64,
    /// The second number.
    right: i64,
}

fn of_text(name: &str, description: &str, run: fn(String) -> String) -> Tool {
    ToolBuilder::new(name)
        .description(description)
        .handler(move |Text { text }| async move { Ok(CallToolResult::text(run(text))) })
        .build()
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let address = env::args().nth(1).ok_or("usage: with-tower-mcp ADDRESS")?;
    let add = ToolBuilder::new("add")
        .description("Adds two numbers.")
        .handler(|Numbers { left, right }| async move {
            Ok(CallToolResult::text(left.wrapping_add(right).to_string()))
        })
        .build();
    let router = McpRouter::new()
        .server_info("five-tools", "1.0.0")
        .tool(of_text("echo", "Says a text again.", |text| text))
        .tool(of_text("reverse", "Reverses a text.", |text| {
            text.chars().rev().collect()
        }))
        .tool(of_text("upper", "Says a text in capitals.", |text| {
            text.to_uppercase()
        }))
        .tool(of_text(
            "length",
            "Counts the characters of a text.",
            |text| text.chars().count().to_string(),
        ))
        .tool(add);
    let listener = TcpListener::bind(address).await?.tap_io(|stream| {
        stream.set_nodelay(true).ok();
    });
    let router = HttpTransport::new(router).into_router_at("/mcp");
    Ok(axum::serve(listener, router).await?)
}

//! Five tools with `ziggurat-mcp`. Usage: `with-ziggurat 127.0.0.1:8080`

use std::{env, future::ready};

use schemars::JsonSchema;
use serde::Deserialize;
use ziggurat_mcp::{Http, Server, Tool};

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// The text.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    /// The first number.
    left: i64,
    /// The second number.
    right: i64,
}

fn of_text(name: &'static str, description: &'static str, run: fn(String) -> String) -> Tool {
    Tool::new(name, description, move |Text { text }| ready(Ok(run(text))))
}

#[tokio::main]
async fn main() -> ziggurat_mcp::Result {
    let address = env::args().nth(1).unwrap_or("127.0.0.1:8080".to_owned());
    let server = Server::new("five-tools", "1.0.0")
        .tool(of_text("echo", "Says a text again.", |text| text))
        .tool(of_text("reverse", "Reverses a text.", |text| text.chars().rev().collect()))
        .tool(of_text("upper", "Says a text in capitals.", |text| text.to_uppercase()))
        .tool(of_text("length", "Counts the characters of a text.", |text| {
            text.chars().count().to_string()
        }))
        .tool(Tool::new("add", "Adds two numbers.", |Numbers { left, right }| {
            ready(Ok(left.wrapping_add(right).to_string()))
        }))
        .build();
    Http::new(server).serve(address).await
}

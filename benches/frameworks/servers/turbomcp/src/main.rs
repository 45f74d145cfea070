//! Five tools with `turbomcp`. Usage: `with-turbomcp 127.0.0.1:8080`

use std::{env, error::Error, net::SocketAddr};

use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use turbomcp::prelude::*;

#[derive(Clone)]
struct FiveTools;

#[server(name = "five-tools", version = "1.0.0")]
impl FiveTools {
    #[tool("Says a text again.")]
    async fn echo(&self, #[description("The text.")] text: String) -> McpResult<String> {
        Ok(text)
    }

    #[tool("Reverses a text.")]
    async fn reverse(&self, #[description("The text.")] text: String) -> McpResult<String> {
        Ok(text.chars().rev().collect())
    }

    #[tool("Says a text in capitals.")]
    async fn upper(&self, #[description("The text.")] text: String) -> McpResult<String> {
        Ok(text.to_uppercase())
    }

    #[tool("Counts the characters of a text.")]
    async fn length(&self, #[description("The text.")] text: String) -> McpResult<String> {
        Ok(text.chars().count().to_string())
    }

    #[tool("Adds two numbers.")]
    async fn add(
        &self,
        #[description("The first number.")] left: i64,
        #[description("The second number.")] right: i64,
    ) -> McpResult<String> {
        Ok(left.wrapping_add(right).to_string())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1).ok_or("usage: with-turbomcp ADDRESS")?;
    let listener = TcpListener::bind(address).await?.tap_io(|stream| {
        stream.set_nodelay(true).ok();
    });
    let router = FiveTools.builder().into_axum_router();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, service).await?)
}

//! A server with one tool, for callers with a token.

use ziggurat_mcp::{Http, Server, Tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    /// The words to say.
    text: String,
}

#[tokio::main]
async fn main() -> ziggurat_mcp::Result {
    let echo = Tool::new("echo", "Says it again", |echo: Echo| async move {
        Ok(echo.text)
    });
    let server = Server::new("echo", env!("CARGO_PKG_VERSION"))
        .tool(echo.read_only())
        .build();
    Http::new(server)
        .bearer("ECHO_TOKEN")
        .serve("127.0.0.1:8080")
        .await
}

//! An MCP server with one tool, over HTTP at the given address, else over standard input and output.

use std::env;

use ziggurat_mcp::{Http, Server, Tool, stdio::Stdio};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Say {
    /// The words to say.
    text: String,
}

#[tokio::main]
async fn main() -> ziggurat_mcp::Result {
    let say = Tool::new("say", "Says it again", |say: Say| async move { Ok(say.text) });
    let server = Server::new("says", "1").tool(say.read_only()).build();
    match env::args().nth(1) {
        Some(address) => Http::new(server).bearer("SAYS_TOKEN").serve(&address).await,
        None => Stdio::new().run(server).await,
    }
}

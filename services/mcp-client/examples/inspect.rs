//! Lists what a server offers, and calls a tool.
//!
//! ```console
//! $ cargo run -p ziggurat-mcp-client --example inspect http://127.0.0.1:3001/mcp \
//!     echo '{"message": "hi"}'
//! ```

use std::{
    env,
    error::Error,
    io::{self, Write as _},
};

use serde_json::{Map, Value};
use ziggurat_mcp_client::Client;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let address = arguments.next().ok_or("usage: inspect URL [TOOL [JSON]]")?;
    let mut out = io::stdout();
    let mut client = Client::http(&address);
    if let Ok(token) = env::var("TOKEN") {
        client = client.with_bearer(&token);
    }
    let client = client.connect().await?;
    let server = client.server();
    writeln!(
        out,
        "{} {}, revision {}",
        server.name, server.version, server.revision
    )?;
    if server.has("tools") {
        for tool in client.tools().await? {
            writeln!(out, "tool {}", tool.name)?;
        }
    }
    if server.has("resources") {
        for resource in client.resources().await? {
            writeln!(out, "resource {}", resource.uri)?;
        }
    }
    if server.has("prompts") {
        for prompt in client.prompts().await? {
            writeln!(out, "prompt {}", prompt.name)?;
        }
    }
    if let Some(tool) = arguments.next() {
        let json = arguments.next().unwrap_or_else(|| "{}".to_owned());
        let given: Map<String, Value> = serde_json::from_str(&json)?;
        let result = client.call(&tool, &given).await?;
        let kind = if result.is_error { "error" } else { "result" };
        writeln!(out, "{kind}: {}", result.text())?;
    }
    Ok(client.close().await?)
}

//! The Rust SDK, with each of its openings.
//!
//! `INTEROP_TARGET` is the transport to the server as JSON, and `INTEROP_CONVERSATION` the path of
//! the file with the conversation. With `INTEROP_URL` a person signs in, and there is no other
//! conversation.

mod conversation;
mod exchange;
mod sign_in;
mod target;

use std::{env, fs};

use anyhow::{Context as _, Result, ensure};

use crate::{conversation::Conversation, target::Target};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    if let Ok(url) = env::var("INTEROP_URL") {
        return sign_in::run(&url).await;
    }
    let target: Target =
        serde_json::from_str(&env::var("INTEROP_TARGET")?).context("the target")?;
    let conversation = fs::read(env::var("INTEROP_CONVERSATION")?)?;
    let conversation: Conversation =
        serde_json::from_slice(&conversation).context("the conversation")?;
    for opening in target.openings() {
        let mut client = target.connect(opening).await.context(opening)?;
        let info = client
            .peer_info()
            .context("nothing is known of the server")?;
        let name = info.server_info.as_ref().map(|server| &*server.name);
        ensure!(name == Some(&conversation.server), "{opening}: {info:?}");
        let revision = info.protocol_version.as_str();
        ensure!(revision == target.revision(opening), "{opening}: {info:?}");
        exchange::all(&client, &conversation, target.protocol(opening))
            .await
            .context(opening)?;
        client.close().await?;
    }
    Ok(())
}

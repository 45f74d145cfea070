//! The Rust SDK, in each way it opens.
//!
//! `INTEROP_DOOR` says where the server is, and `INTEROP_CONVERSATION` names the file with what is
//! said to it.

mod conversation;
mod door;
mod talk;

use std::{env, fs};

use anyhow::{Context as _, Result, ensure};

use crate::{conversation::Conversation, door::Door};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let door: Door = serde_json::from_str(&env::var("INTEROP_DOOR")?).context("the door")?;
    let conversation = fs::read(env::var("INTEROP_CONVERSATION")?)?;
    let conversation: Conversation =
        serde_json::from_slice(&conversation).context("the conversation")?;
    for opening in door.openings() {
        let mut client = door.connect(opening).await.context(opening)?;
        let info = client
            .peer_info()
            .context("nothing is known of the server")?;
        let name = info.server_info.as_ref().map(|server| &*server.name);
        ensure!(name == Some("ziggurat-tools"), "{opening}: {info:?}");
        let revision = info.protocol_version.as_str();
        ensure!(revision == door.revision(opening), "{opening}: {info:?}");
        talk::all(&client, &conversation, door.face(opening))
            .await
            .context(opening)?;
        client.close().await?;
    }
    Ok(())
}

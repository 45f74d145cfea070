//! Notes in memory: five tools for callers with a token.
//!
//! ```console
//! $ NOTES_TOKEN=open-sesame cargo run -p ziggurat-mcp --features http,schemars --example notes
//! ```

use std::{
    array,
    collections::BTreeMap,
    env,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ziggurat_mcp::{Error, Http, Json, Server, ServerBuilder, Tool};

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<BTreeMap<String, String>>>);

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Named {
    /// The name of the note.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    /// The name of the note, which is replaced if it exists.
    name: String,
    /// Its text.
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Names {
    names: Vec<String>,
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tools(&self) -> [Tool; 5] {
        let [write, read, delete, list, count] = array::from_fn(|_| self.clone());
        let unknown = |name| Error::said(format!("No note is named {name}. Call `list`."));
        [
            Tool::new("write", "Writes a note.", move |note: Note| {
                write.lock().insert(note.name, note.text);
                ready(Ok("written"))
            }),
            Tool::new("read", "Reads a note.", move |Named { name }| {
                let text = read.lock().get(&name).cloned();
                ready(text.ok_or_else(|| unknown(name)))
            })
            .read_only(),
            Tool::new("delete", "Deletes a note.", move |Named { name }| {
                let deleted = delete.lock().remove(&name);
                ready(deleted.ok_or_else(|| unknown(name)))
            }),
            Tool::new("list", "Lists the names of all notes.", move |Nothing {}| {
                let names = list.lock().keys().cloned().collect();
                ready(Ok(Json(Names { names })))
            })
            .read_only(),
            Tool::new("count", "Counts the notes.", move |Nothing {}| {
                ready(Ok(count.lock().len().to_string()))
            })
            .read_only(),
        ]
    }
}

#[tokio::main]
async fn main() -> ziggurat_mcp::Result {
    tracing_subscriber::fmt::init();
    let address = env::args().nth(1);
    let server = Server::new("notes", env!("CARGO_PKG_VERSION"));
    let tools = Notes::default().tools().into_iter();
    let server = tools.fold(server, ServerBuilder::tool).build();
    let http = Http::new(server).bearer("NOTES_TOKEN");
    http.serve(address.as_deref().unwrap_or("127.0.0.1:8080"))
        .await
}

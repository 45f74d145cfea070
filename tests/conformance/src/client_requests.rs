//! Requests of the server to a client of a revision with `initialize`, on the stream of a call.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use ziggurat_mcp::{Error, Reported, ToolRequest};

/// The calls that wait for an answer of the client.
#[derive(Clone, Default)]
pub(crate) struct ClientRequests {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    answers: HashMap<String, oneshot::Sender<Value>>,
}

impl ClientRequests {
    /// Asks the client of a call, and waits until it posts the answer.
    pub(crate) async fn ask(
        &self,
        request: &ToolRequest,
        method: &str,
        params: Value,
    ) -> Result<Value, Error> {
        let notifier = request.caller().context().notifier();
        let notifier = notifier.ok_or_else(|| Reported::new("there is no way to the client"))?;
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.last += 1;
            let id = format!("server-{}", waiting.last);
            waiting.answers.insert(id.clone(), sender);
            id
        };
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        notifier.send(Bytes::from(message.to_string()));
        let answer = answer.await;
        let answer = answer.map_err(|_| Reported::new("the client did not answer"))?;
        Ok(answer["result"].clone())
    }

    /// Passes a message to the call that waits for it; returns whether there is one.
    pub(crate) fn deliver(&self, message: Value) -> bool {
        if message.get("method").is_some() {
            return false;
        }
        let Some(id) = message["id"].as_str() else {
            return false;
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = waiting.answers.remove(id);
        sender.is_some_and(|sender| sender.send(message).is_ok())
    }
}

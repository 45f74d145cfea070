//! What has changed since a client last looked, for those who listen.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::{self, error::RecvError};
use ziggurat_layers::json_rpc::{Call, Error, Id};

use crate::mcp::{Notifier, params::invalid};

/// Changes nobody has taken yet; whoever is slower is told of all kinds.
const MAX_WAITING: usize = 64;

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Tells clients that listen what has changed. Clones tell the same ones.
#[derive(Clone)]
pub struct Changes {
    sender: broadcast::Sender<Change>,
}

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The resource at this URI.
    Resource(String),
}

/// What a client wants to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct Filter {
    #[serde(skip_serializing_if = "is_false")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_subscriptions: Vec<String>,
}

/// A client that listens.
pub(super) struct Listener {
    filter: Filter,
    id: Id,
    notifier: Notifier,
    receiver: broadcast::Receiver<Change>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

// === impl Changes ===

impl Changes {
    /// Nobody listens yet.
    #[must_use]
    pub fn new() -> Self {
        let (sender, _) = broadcast::channel(MAX_WAITING);
        Self { sender }
    }

    /// Tells those who asked for it.
    pub fn tell(&self, change: Change) {
        // It is no fault that nobody listens.
        self.sender.send(change).ok();
    }

    /// A client that begins to listen, if its params are in order.
    pub(super) fn listener(&self, call: &Call, notifier: Notifier) -> Result<Listener, Error> {
        #[derive(Deserialize)]
        struct Params {
            notifications: Filter,
        }

        let params: Params = call
            .params()
            .map_err(|_| invalid("`notifications` must be an object of kinds"))?;
        let id = call.id().cloned().ok_or_else(Error::invalid_request)?;
        Ok(Listener {
            filter: params.notifications,
            id,
            notifier,
            receiver: self.sender.subscribe(),
        })
    }
}

impl Default for Changes {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").finish_non_exhaustive()
    }
}

// === impl Listener ===

impl Listener {
    /// Tells the client what it wants to know until there is nobody to hear it from; then what
    /// belongs into the `_meta` of the answer.
    pub(super) async fn listen(mut self) -> Map<String, Value> {
        let honoured = json!({"notifications": self.filter});
        self.say("notifications/subscriptions/acknowledged", honoured);
        loop {
            match self.receiver.recv().await {
                Ok(change) => self.tell(&change),
                Err(RecvError::Lagged(_)) => {
                    for change in [Change::Tools, Change::Prompts, Change::Resources] {
                        self.tell(&change);
                    }
                    for uri in self.filter.resource_subscriptions.clone() {
                        self.tell(&Change::Resource(uri));
                    }
                }
                Err(RecvError::Closed) => return self.meta(),
            }
        }
    }

    fn tell(&self, change: &Change) {
        let wanted = &self.filter;
        match change {
            Change::Tools if wanted.tools_list_changed => {
                self.say("notifications/tools/list_changed", json!({}));
            }
            Change::Prompts if wanted.prompts_list_changed => {
                self.say("notifications/prompts/list_changed", json!({}));
            }
            Change::Resources if wanted.resources_list_changed => {
                self.say("notifications/resources/list_changed", json!({}));
            }
            Change::Resource(uri) if wanted.resource_subscriptions.contains(uri) => {
                self.say("notifications/resources/updated", json!({"uri": uri}));
            }
            _ => {}
        }
    }

    fn say(&self, method: &str, mut params: Value) {
        params["_meta"] = Value::Object(self.meta());
        self.notifier.notify(method, &params);
    }

    /// All messages of several subscriptions may share a pipe.
    fn meta(&self) -> Map<String, Value> {
        // Numbers keep their value, which is all a client compares.
        let id = serde_json::from_str(self.id.as_json()).unwrap_or_default();
        Map::from_iter([(SUBSCRIPTION.to_owned(), id)])
    }
}

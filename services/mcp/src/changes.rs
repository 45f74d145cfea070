//! Notifications about changes, for clients that subscribe to them.

use std::fmt;

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::{self, error::RecvError};
use ziggurat_layers::json_rpc::{Call, Error, Id};

use crate::{Notifier, params::invalid};

/// Limit on changes waiting for a slow client; beyond it the client gets all changes of its filter.
const MAX_WAITING: usize = 64;

/// Notifies subscribed clients of changes. Clones notify the same clients.
#[derive(Clone)]
pub struct Changes {
    sender: broadcast::Sender<Change>,
}

/// A change that clients can subscribe to.
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

/// The changes a client subscribes to.
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

/// The params of a notification to a subscribed client.
#[derive(Serialize)]
struct Said<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    notifications: Option<&'a Filter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Serialize)]
struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    subscription: &'a Id,
}

/// A subscribed client.
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
    /// Makes a sender without listeners.
    #[must_use]
    pub fn new() -> Self {
        let (sender, _) = broadcast::channel(MAX_WAITING);
        Self { sender }
    }

    /// Notifies the clients that subscribed to this change.
    pub fn tell(&self, change: Change) {
        // Sending fails if no client listens, which is normal.
        self.sender.send(change).ok();
    }

    /// Subscribes a client, if its params are valid.
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
    /// Notifies the client of its changes until all senders are dropped; then returns the id of the
    /// subscription, for the answer.
    pub(super) async fn listen(mut self) -> Id {
        let honoured = Said {
            notifications: Some(&self.filter),
            ..self.nothing()
        };
        self.say("notifications/subscriptions/acknowledged", &honoured);
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
                Err(RecvError::Closed) => return self.id,
            }
        }
    }

    fn tell(&self, change: &Change) {
        let wanted = &self.filter;
        let nothing = self.nothing();
        match change {
            Change::Tools if wanted.tools_list_changed => {
                self.say("notifications/tools/list_changed", &nothing);
            }
            Change::Prompts if wanted.prompts_list_changed => {
                self.say("notifications/prompts/list_changed", &nothing);
            }
            Change::Resources if wanted.resources_list_changed => {
                self.say("notifications/resources/list_changed", &nothing);
            }
            Change::Resource(uri) if wanted.resource_subscriptions.contains(uri) => {
                let uri = Some(&**uri);
                self.say("notifications/resources/updated", &Said { uri, ..nothing });
            }
            _ => {}
        }
    }

    fn say(&self, method: &str, params: &Said<'_>) {
        self.notifier.notify(method, params);
    }

    /// Returns the params that every message has: the id tells subscriptions on one pipe apart.
    fn nothing(&self) -> Said<'_> {
        Said {
            notifications: None,
            uri: None,
            meta: Meta {
                subscription: &self.id,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use bytes::Bytes;
    use futures_util::FutureExt as _;
    use http::Request;
    use serde_json::{Value, json};
    use ziggurat_layers::json_rpc::Incoming;

    use super::*;

    /// A client that listens to `filter` under an id with many digits.
    fn listener(changes: &Changes, filter: &Value) -> Result<(Listener, Notifier), Error> {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":123456789012345678901,"method":"x","params":{{"notifications":{filter}}}}}"#
        );
        let incoming = crate::dialect().read(Request::new(Bytes::from(message)));
        let Incoming::Call(call) = incoming else {
            panic!("a call");
        };
        let notifier = Notifier::new();
        Ok((changes.listener(&call, notifier.clone())?, notifier))
    }

    fn heard(notifier: &Notifier) -> Vec<String> {
        let mut messages = Vec::new();
        while let Some(message) = poll_fn(|cx| notifier.poll_next(cx)).now_or_never() {
            messages.push(String::from_utf8(message.into()).expect("text"));
        }
        messages
    }

    fn message(method: &str, more: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{more}"_meta":{{"io.modelcontextprotocol/subscriptionId":123456789012345678901}}}}}}"#
        )
    }

    #[test]
    fn a_client_gets_an_acknowledgement_and_then_the_changes_of_its_filter() {
        let changes = Changes::new();
        let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["a://b"]});
        let (listener, notifier) = listener(&changes, &filter).expect("in order");
        let mut listening = Box::pin(listener.listen());
        assert!((&mut listening).now_or_never().is_none());
        let honoured =
            r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["a://b"]},"#;
        assert_eq!(
            heard(&notifier),
            [message("subscriptions/acknowledged", honoured)]
        );
        for change in [
            Change::Tools,
            Change::Prompts,
            Change::Resources,
            Change::Resource("a://c".to_owned()),
            Change::Resource("a://b".to_owned()),
        ] {
            changes.tell(change);
        }
        assert!((&mut listening).now_or_never().is_none());
        let expected = [
            message("tools/list_changed", ""),
            message("resources/updated", r#""uri":"a://b","#),
        ];
        assert_eq!(heard(&notifier), expected);
        drop(changes);
        let id = listening
            .now_or_never()
            .expect("there is nobody to hear from");
        assert_eq!(id.as_json(), "123456789012345678901");
    }

    #[test]
    fn a_client_that_is_too_slow_gets_every_change_of_its_filter() {
        let changes = Changes::new();
        let filter = json!({"promptsListChanged": true});
        let (listener, notifier) = listener(&changes, &filter).expect("in order");
        for _ in 0..=MAX_WAITING {
            changes.tell(Change::Tools);
        }
        assert!(Box::pin(listener.listen()).now_or_never().is_none());
        assert_eq!(heard(&notifier)[1..], [message("prompts/list_changed", "")]);
    }

    #[test]
    fn a_filter_is_an_object_of_kinds() {
        let changes = Changes::new();
        for filter in [json!(7), json!({"toolsListChanged": "yes"})] {
            let refused = listener(&changes, &filter).map(drop);
            assert_eq!(refused.expect_err("refused").code(), Error::INVALID_PARAMS);
        }
    }
}

//! Passes the messages of a server to the requests that wait for them.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    mem,
    task::Poll,
};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{error::ClientError, message::Message};

/// The requests that wait, oldest first.
pub(super) struct Waiting {
    requests: BTreeMap<u64, Received>,
    /// The largest id so far, from which on ids are unknown.
    last_id: u64,
    max_bytes: usize,
    /// The error of all requests from now on.
    ended: Option<ClientError>,
    /// The requests that have something new.
    woken: BTreeSet<u64>,
}

/// The messages for a request.
#[derive(Default)]
struct Received {
    /// The messages and the length of their lines.
    messages: VecDeque<(usize, Message)>,
    /// The length of all lines.
    bytes: usize,
    failure: Option<ClientError>,
}

// === impl Waiting ===

impl Waiting {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            requests: BTreeMap::new(),
            last_id: 0,
            max_bytes,
            ended: None,
            woken: BTreeSet::new(),
        }
    }

    pub(super) fn add(&mut self, id: u64) {
        self.last_id = self.last_id.max(id);
        self.requests.insert(id, Received::default());
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.requests.remove(&id);
    }

    /// Returns the next message for a request.
    pub(super) fn next(&mut self, id: u64) -> Poll<Result<Message, ClientError>> {
        let received = self.requests.get_mut(&id);
        if let Some(received) = received {
            if let Some((length, message)) = received.messages.pop_front() {
                received.bytes -= length;
                return Poll::Ready(Ok(message));
            }
            if let Some(failure) = received.failure.take() {
                return Poll::Ready(Err(failure));
            }
        }
        match &self.ended {
            Some(error) => Poll::Ready(Err(error.clone())),
            None => Poll::Pending,
        }
    }

    /// Passes a message to its request. Progress names its request; other messages of the server go
    /// to the oldest request, because over pipes they name none.
    pub(super) fn deliver(&mut self, length: usize, message: Result<Message, ClientError>) {
        let message = match message {
            Ok(message) => message,
            Err(error) => return self.fail_all(&error),
        };
        let id = match &message {
            Message::Answer { id: Some(id), .. } => match id.parse() {
                Ok(id) if id <= self.last_id => Some(id),
                _ => {
                    let problem = format!("an answer with the id {id}, which no request has");
                    return self.fail_all(&ClientError::Unexpected(problem));
                }
            },
            // The server could not read a request, and does not say which.
            Message::Answer {
                outcome: Err(error),
                ..
            } => return self.fail_all(&error.clone()),
            Message::Answer { .. } => None,
            Message::Notification { method, params } if method == "notifications/progress" => {
                progress_token(params.as_deref())
            }
            Message::Notification { .. } | Message::Request { .. } => {
                self.requests.keys().next().copied()
            }
        };
        // An answer to a request that was cancelled reaches none.
        let Some((id, received)) = id.and_then(|id| Some((id, self.requests.get_mut(&id)?))) else {
            return;
        };
        // One message is never too long here.
        if received.messages.is_empty() || received.bytes + length <= self.max_bytes {
            received.bytes += length;
            received.messages.push_back((length, message));
        } else {
            let max_bytes = self.max_bytes;
            received.failure = Some(ClientError::TooLarge { max_bytes });
        }
        self.woken.insert(id);
    }

    /// Fails the requests that wait now.
    pub(super) fn fail_all(&mut self, error: &ClientError) {
        for (id, received) in &mut self.requests {
            received.failure.get_or_insert_with(|| error.clone());
            self.woken.insert(*id);
        }
    }

    /// Fails all requests from now on.
    pub(super) fn end(&mut self, error: &ClientError) {
        if self.ended.is_none() {
            self.ended = Some(error.clone());
            self.woken.extend(self.requests.keys());
        }
    }

    /// Takes the requests that have something new.
    pub(super) fn take_woken(&mut self) -> BTreeSet<u64> {
        mem::take(&mut self.woken)
    }
}

fn progress_token(params: Option<&RawValue>) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ProgressParams {
        progress_token: u64,
    }

    let params: ProgressParams = serde_json::from_str(params?.get()).ok()?;
    Some(params.progress_token)
}

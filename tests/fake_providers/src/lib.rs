//! Fake model providers that answer in the real formats, and fail on request, for tests.
//!
//! One [`Fake`] serves all of them on one port, each under its own path. It answers every request
//! like the provider, and records it. A [`Turn`] scripts the answer to the next request: a refusal,
//! a body that breaks off, a stream in odd chunks, an answer that waits at a [`Gate`].
//!
//! ```
//! use ziggurat_fake_providers::{Api, Fake, Turn};
//!
//! let fake = Fake::start();
//! fake.next(Turn::refusal(429).with_header("Retry-After", "1"));
//! assert!(fake.url(Api::OpenAi).ends_with("/openai/v1"));
//! assert!(fake.requests().is_empty());
//! ```
//!
//! Vectors are made from the words of a text, so that the same text has the same vector and texts
//! that share words are close.

mod answer;
mod api;
mod gate;
mod plan;
mod request_log;
mod script;
mod server;
mod turn;
mod vector;
mod wire;

use std::{net::SocketAddr, sync::Arc};

pub use self::{
    answer::{Answer, Counted, ToolCall},
    api::Api,
    gate::Gate,
    request_log::RecordedRequest,
    turn::Turn,
};
use self::{request_log::RequestLog, script::Script, server::Server};

/// All fake providers on one port; stopped on drop.
#[derive(Debug)]
pub struct Fake {
    script: Arc<Script>,
    request_log: Arc<RequestLog>,
    server: Server,
}

// === impl Fake ===

impl Fake {
    /// Starts the server on a free port of loopback.
    ///
    /// # Panics
    /// Panics if there is no free port, or no thread.
    #[must_use]
    pub fn start() -> Self {
        let script = Arc::<Script>::default();
        let request_log = Arc::<RequestLog>::default();
        let server = Server::start(script.clone(), request_log.clone());
        Self {
            script,
            request_log,
            server,
        }
    }

    /// The address of the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The base URL of a provider, with the version if the real one has it.
    #[must_use]
    pub fn url(&self, api: Api) -> String {
        format!("{}{}", self.root(api), api.version())
    }

    /// The base URL of a provider, without a version.
    #[must_use]
    pub fn root(&self, api: Api) -> String {
        format!("http://{}/{}", self.address(), api.name())
    }

    /// Scripts the answer to the next request that has no script yet.
    pub fn next(&self, turn: Turn) {
        self.script.push(None, turn);
    }

    /// Scripts the answer to the next request to this provider.
    pub fn next_of(&self, api: Api, turn: Turn) {
        self.script.push(Some(api), turn);
    }

    /// Scripts the answers to all requests without another script.
    pub fn always(&self, turn: Turn) {
        self.script.set_default(None, turn);
    }

    /// Scripts the answers to all requests to this provider without another script.
    pub fn always_of(&self, api: Api, turn: Turn) {
        self.script.set_default(Some(api), turn);
    }

    /// Sets the length of vectors (8 by default).
    pub fn set_dimensions(&self, dimensions: usize) {
        self.script.set_dimensions(dimensions);
    }

    /// Sets the vector of a text.
    pub fn set_vector(&self, text: &str, vector: &[f32]) {
        self.script.set_vector(text, vector);
    }

    /// Returns all requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.request_log.requests()
    }

    /// Returns the only request so far.
    ///
    /// # Panics
    /// Panics if there was no request, or more than one.
    #[must_use]
    pub fn request(&self) -> RecordedRequest {
        let mut all = self.requests();
        assert_eq!(all.len(), 1, "one request: {all:?}");
        all.remove(0)
    }

    /// Waits for this number of requests. Blocks its thread; in a task, await
    /// [`asked`](Self::asked).
    ///
    /// # Panics
    /// Panics if they do not come within three minutes.
    pub fn wait_for(&self, requests: usize) {
        self.request_log.wait(|count| count.requests >= requests);
    }

    /// Waits for this number of requests.
    pub async fn asked(&self, requests: usize) {
        self.request_log
            .reached(|count| count.requests >= requests)
            .await;
    }

    /// Waits until this number of clients disconnected before the end of their answers. Blocks its
    /// thread; in a task, await [`left`](Self::left).
    ///
    /// # Panics
    /// Panics if they do not disconnect within three minutes.
    pub fn wait_for_leaving(&self, clients: usize) {
        self.request_log.wait(|count| count.left >= clients);
    }

    /// Waits until this number of clients disconnected before the end of their answers.
    pub async fn left(&self, clients: usize) {
        self.request_log
            .reached(|count| count.left >= clients)
            .await;
    }
}

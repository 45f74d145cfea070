//! Providers of models that answer in the true formats, and fail on request, for tests.
//!
//! One [`Fake`] is all of them at once, each under a path of its own, on a port of its own. It
//! answers every request as the provider would, and keeps what it was asked. What happens to
//! the next request can be scripted with a [`Turn`]: a refusal, a body that breaks off, a
//! stream in odd pieces, an answer that waits at a [`Gate`].
//!
//! ```
//! use ziggurat_fake_providers::{Face, Fake, Turn};
//!
//! let fake = Fake::start();
//! fake.next(Turn::refusal(429).with_header("Retry-After", "1"));
//! assert!(fake.url(Face::OpenAi).ends_with("/openai/v1"));
//! assert!(fake.requests().is_empty());
//! ```
//!
//! Vectors are made of the words of a text, so that the same text has the same vector and texts
//! that share words are close.

mod answer;
mod face;
mod gate;
mod journal;
mod plan;
mod script;
mod server;
mod turn;
mod vector;
mod wire;

use std::{net::SocketAddr, sync::Arc};

pub use self::{
    answer::{Answer, Counted, ToolCall},
    face::Face,
    gate::Gate,
    journal::Seen,
    turn::Turn,
};
use self::{journal::Journal, script::Script, server::Server};

/// All providers, on a port of their own, until it is dropped.
#[derive(Debug)]
pub struct Fake {
    script: Arc<Script>,
    journal: Arc<Journal>,
    server: Server,
}

// === impl Fake ===

impl Fake {
    /// Starts them on a free port of this machine.
    ///
    /// # Panics
    /// Panics if there is no port, or no thread.
    #[must_use]
    pub fn start() -> Self {
        let script = Arc::<Script>::default();
        let journal = Arc::<Journal>::default();
        let server = Server::start(script.clone(), journal.clone());
        Self {
            script,
            journal,
            server,
        }
    }

    /// Where they are.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The base address of a provider, with its version where its usual address has one.
    #[must_use]
    pub fn url(&self, face: Face) -> String {
        format!("{}{}", self.root(face), face.version())
    }

    /// The address of a provider without a version.
    #[must_use]
    pub fn root(&self, face: Face) -> String {
        format!("http://{}/{}", self.address(), face.name())
    }

    /// Says what happens to the next request that nothing was said about yet.
    pub fn next(&self, turn: Turn) {
        self.script.push(None, turn);
    }

    /// Says what happens to the next request to this provider.
    pub fn next_of(&self, face: Face, turn: Turn) {
        self.script.push(Some(face), turn);
    }

    /// Says what happens to all requests nothing else was said about.
    pub fn always(&self, turn: Turn) {
        self.script.settle(None, turn);
    }

    /// Says what happens to all requests to this provider nothing else was said about.
    pub fn always_of(&self, face: Face, turn: Turn) {
        self.script.settle(Some(face), turn);
    }

    /// Makes vectors of this many numbers from now on; 8 until then.
    pub fn set_dimensions(&self, dimensions: usize) {
        self.script.set_dimensions(dimensions);
    }

    /// Gives a text this vector from now on.
    pub fn set_vector(&self, text: &str, vector: &[f32]) {
        self.script.set_vector(text, vector);
    }

    /// What they were asked so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Seen> {
        self.journal.all()
    }

    /// The only request so far.
    ///
    /// # Panics
    /// Panics if there was none, or more than one.
    #[must_use]
    pub fn request(&self) -> Seen {
        let mut all = self.requests();
        assert_eq!(all.len(), 1, "one request: {all:?}");
        all.remove(0)
    }

    /// Waits until there were so many requests. It blocks its thread; in a task, await
    /// [`asked`](Self::asked).
    ///
    /// # Panics
    /// Panics if they do not come within half a minute.
    pub fn wait_for(&self, requests: usize) {
        self.journal.wait(|count| count.requests >= requests);
    }

    /// Waits until there were so many requests.
    pub async fn asked(&self, requests: usize) {
        self.journal.reach(|count| count.requests >= requests).await;
    }

    /// Waits until so many clients went away before the end of their answers. It blocks its
    /// thread; in a task, await [`left`](Self::left).
    ///
    /// # Panics
    /// Panics if they do not leave within half a minute.
    pub fn wait_for_leaving(&self, clients: usize) {
        self.journal.wait(|count| count.left >= clients);
    }

    /// Waits until so many clients went away before the end of their answers.
    pub async fn left(&self, clients: usize) {
        self.journal.reach(|count| count.left >= clients).await;
    }
}

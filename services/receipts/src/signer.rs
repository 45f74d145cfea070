//! Signs payloads, many with one signature.

use std::{fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use tokio::{
    sync::{mpsc, oneshot},
    time,
};

use crate::{
    Digest, Keys, Receipt,
    receipt::{VERSION, message},
    tree,
};

/// Largest batch.
const MAX_BATCH: usize = 1024;

/// Time for which a batch waits for more payloads while they come. The clock of the runtime ticks each
/// millisecond, and the wait ends at the next tick.
const PATIENCE: Duration = Duration::from_micros(1);

/// Signs payloads. Clones share the key and the batches.
#[derive(Clone)]
pub struct Signer {
    queue: mpsc::Sender<Waiting>,
    keys: Arc<ArcSwap<Keys>>,
}

/// The task that makes the signatures.
#[must_use = "nothing is signed unless it runs"]
pub struct SignerTask {
    queue: mpsc::Receiver<Waiting>,
    keys: Arc<ArcSwap<Keys>>,
}

/// A payload that waits for its batch.
struct Waiting {
    leaf: Digest,
    answer: oneshot::Sender<Place>,
}

/// The place of a payload in a signed tree.
struct Place {
    index: u64,
    size: u64,
    path: Vec<Digest>,
    signature: Arc<str>,
    kid: Arc<str>,
}

// === impl Signer ===

impl Signer {
    /// Makes a signer, and the task that it needs.
    pub fn new(keys: Keys) -> (Self, SignerTask) {
        let keys = Arc::new(ArcSwap::from_pointee(keys));
        let (sender, receiver) = mpsc::channel(MAX_BATCH);
        let task = SignerTask {
            queue: receiver,
            keys: Arc::clone(&keys),
        };
        let queue = sender;
        (Self { queue, keys }, task)
    }

    /// Replaces the keys: from now on the new one signs.
    pub fn replace(&self, keys: Keys) {
        self.keys.store(Arc::new(keys));
    }

    /// Returns the keys.
    #[must_use]
    pub fn keys(&self) -> Arc<Keys> {
        self.keys.load_full()
    }

    /// Signs a payload, together with those that are ready at the same time. Returns `None` if the
    /// task has ended.
    pub async fn sign(&self, payload: Vec<u8>) -> Option<Receipt> {
        let (answer, place) = oneshot::channel();
        let leaf = tree::leaf(&payload);
        self.queue.send(Waiting { leaf, answer }).await.ok()?;
        let place = place.await.ok()?;
        let encoded = |digest: &Digest| BASE64_URL_SAFE_NO_PAD.encode(digest);
        Some(Receipt {
            v: VERSION,
            payload: BASE64_URL_SAFE_NO_PAD.encode(payload),
            index: place.index,
            size: place.size,
            path: place.path.iter().map(encoded).collect(),
            signature: place.signature.to_string(),
            kid: place.kid.to_string(),
        })
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("keys", &self.keys.load())
            .finish_non_exhaustive()
    }
}

// === impl SignerTask ===

impl SignerTask {
    /// Signs batches until there is no signer any more.
    pub async fn run(mut self) {
        let mut batch = Vec::new();
        let mut was_shared = false;
        while self.queue.recv_many(&mut batch, MAX_BATCH).await > 0 {
            if was_shared {
                self.gather(&mut batch).await;
            }
            was_shared = batch.len() > 1;
            self.sign(&mut batch);
        }
    }

    /// Adds the payloads that come within a millisecond.
    async fn gather(&mut self, batch: &mut Vec<Waiting>) {
        time::sleep(PATIENCE).await;
        while batch.len() < MAX_BATCH
            && let Ok(waiting) = self.queue.try_recv()
        {
            batch.push(waiting);
        }
    }

    fn sign(&self, batch: &mut Vec<Waiting>) {
        let leaves: Vec<_> = batch.iter().map(|waiting| waiting.leaf).collect();
        let (root, paths) = tree::grow(&leaves);
        let keys = self.keys.load();
        let key = keys.signing();
        let signature: Arc<str> = key.sign(&message(&root)).into();
        let size = leaves.len() as u64;
        for (index, (waiting, path)) in (0..).zip(batch.drain(..).zip(paths)) {
            // A call that was cancelled does not wait any more.
            waiting
                .answer
                .send(Place {
                    index,
                    size,
                    path,
                    signature: Arc::clone(&signature),
                    kid: Arc::clone(key.public().id()),
                })
                .ok();
        }
    }
}

impl fmt::Debug for SignerTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignerTask").finish_non_exhaustive()
    }
}

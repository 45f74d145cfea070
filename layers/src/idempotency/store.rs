//! The keys that are in use, and the responses to their first requests.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, response::Parts};

use crate::{
    bounded_map::{BoundedMap, HashedKey, Shard, Slot},
    idempotency::digest::{BodyDigest, Digest},
};

/// Number of ended keys that are dropped whenever a new one comes.
///
/// More than one, so that the store shrinks; a constant, so that no request waits for a full sweep.
const DROPPED_PER_KEY: usize = 2;

/// Memory of a stored response besides its texts, and of one of its headers; an estimate.
const RESPONSE_OVERHEAD: usize = 256;
const HEADER_OVERHEAD: usize = 128;

/// Marks a response that is repeated, as Stripe and others do.
static REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Keys and responses, both with a maximum.
pub(super) struct Store {
    keys: BoundedMap<Digest, KeyEntry>,
    responses: Mutex<Responses>,
    max_keys: usize,
    max_bytes: usize,
}

/// The responses in the order in which they were stored. Keys refer to them weakly, so that dropping
/// one needs no access to its key.
#[derive(Default)]
struct Responses {
    queue: VecDeque<Arc<StoredResponse>>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct KeyEntry {
    head: Digest,
    body: RequestBody,
    progress: RequestProgress,
}

#[derive(Debug, Default)]
enum RequestProgress {
    #[default]
    Running,
    Done {
        ends: Duration,
        response: Weak<StoredResponse>,
    },
}

/// The body of the first request, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum RequestBody {
    #[default]
    Reading,
    Failed,
    Read(BodyDigest),
}

/// The answer to a request with a key.
pub(super) enum Begin {
    First(Claim),
    Duplicate(BodyDigest, Arc<StoredResponse>),
    Running,
    OtherHead,
    NotStored,
    Full,
}

/// An entry of the store, under this key or not there any more.
#[derive(Clone)]
pub(super) struct EntryRef {
    store: Arc<Store>,
    key: HashedKey<Digest>,
    serial: u64,
}

/// The only running request with a key. When it is dropped, the request was abandoned.
pub(super) struct Claim {
    entry: EntryRef,
    on_drop: OnDrop,
}

/// The end of a request without a response to repeat.
#[derive(Clone, Copy, Debug)]
pub(super) enum OnDrop {
    /// A duplicate is a first request again.
    Forget,
    /// Duplicates are refused until this time.
    KeepUntil(Duration),
    Nothing,
}

/// The response to the first request with a key.
pub(super) struct StoredResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

// === impl Store ===

impl Store {
    pub(super) fn new(max_keys: usize, max_bytes: usize) -> Self {
        Self {
            keys: BoundedMap::new(max_keys),
            responses: Mutex::default(),
            max_keys,
            max_bytes,
        }
    }

    pub(super) fn with_max_keys(&self, max_keys: usize) -> Self {
        Self::new(max_keys, self.max_bytes)
    }

    pub(super) fn with_max_bytes(&self, max_bytes: usize) -> Self {
        Self::new(self.max_keys, max_bytes)
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Finds the first request with this key, or begins it.
    pub(super) fn begin(
        self: &Arc<Self>,
        key: Digest,
        head: Digest,
        now: Duration,
        on_drop: OnDrop,
    ) -> Begin {
        let key = self.keys.hashed(key);
        let mut keys = self.keys.lock(&key);
        if let Some(slot) = keys.find(&key) {
            let entry = keys.value(slot);
            if !entry.has_ended(now) {
                return entry.answer(&head);
            }
            keys.remove(slot);
        }
        drop_ended(&mut keys, now);
        let entry = KeyEntry {
            head,
            ..KeyEntry::default()
        };
        let Some(slot) = keys.insert_held(key, entry) else {
            return Begin::Full;
        };
        let store = Arc::clone(self);
        let serial = keys.serial(slot);
        Begin::First(Claim {
            entry: EntryRef { store, key, serial },
            on_drop,
        })
    }

    /// Keeps a response, and drops the oldest ones if there are too many bytes.
    fn keep(&self, response: StoredResponse) -> Weak<StoredResponse> {
        let size = response.size();
        if size > self.max_bytes {
            return Weak::new();
        }
        let response = Arc::new(response);
        let kept = Arc::downgrade(&response);
        let mut responses = self
            .responses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        while let Some(oldest) = responses.queue.front() {
            // Without a key that refers to it, it cannot be sent again.
            let is_unused = Arc::weak_count(oldest) == 0;
            if !is_unused && responses.bytes + size <= self.max_bytes {
                break;
            }
            responses.bytes -= oldest.size();
            responses.queue.pop_front();
        }
        responses.bytes += size;
        responses.queue.push_back(response);
        kept
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let responses = self
            .responses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let sum: usize = responses.queue.iter().map(|kept| kept.size()).sum();
        assert_eq!(sum, responses.bytes);
        sum
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The responses are left out: they are not for the log.
        f.debug_struct("Store")
            .field("keys", &self.keys)
            .field("max_keys", &self.max_keys)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

fn drop_ended(keys: &mut Shard<Digest, KeyEntry>, now: Duration) {
    for _ in 0..DROPPED_PER_KEY {
        match keys.oldest() {
            Some(oldest) if keys.value(oldest).has_ended(now) => {
                keys.remove(oldest);
            }
            _ => break,
        }
    }
}

// === impl KeyEntry ===

impl KeyEntry {
    fn has_ended(&self, now: Duration) -> bool {
        matches!(self.progress, RequestProgress::Done { ends, .. } if ends <= now)
    }

    fn answer(&self, head: &Digest) -> Begin {
        if self.head != *head {
            return Begin::OtherHead;
        }
        let RequestProgress::Done { response, .. } = &self.progress else {
            return Begin::Running;
        };
        match (self.body, response.upgrade()) {
            (RequestBody::Read(body), Some(response)) => Begin::Duplicate(body, response),
            _ => Begin::NotStored,
        }
    }
}

// === impl EntryRef ===

impl EntryRef {
    /// Records the request body, once it is known.
    pub(super) fn record(&self, body: RequestBody) {
        self.with(|keys, slot| keys.value_mut(slot).body = body);
    }

    fn body(&self) -> RequestBody {
        let body = self.with(|keys, slot| keys.value(slot).body);
        body.unwrap_or_default()
    }

    fn finish(&self, progress: RequestProgress) {
        self.with(|keys, slot| {
            keys.value_mut(slot).progress = progress;
            keys.renew(slot);
        });
    }

    fn remove(&self) {
        self.with(|keys, slot| drop(keys.remove(slot)));
    }

    /// Does nothing if the entry is gone, and perhaps replaced by another with the same key.
    fn with<T>(&self, change: impl FnOnce(&mut Shard<Digest, KeyEntry>, Slot) -> T) -> Option<T> {
        let mut keys = self.store.keys.lock(&self.key);
        let slot = keys.find(&self.key)?;
        (keys.serial(slot) == self.serial).then(|| change(&mut keys, slot))
    }
}

// === impl Claim ===

impl Claim {
    pub(super) fn entry(&self) -> &EntryRef {
        &self.entry
    }

    /// Returns the body of the request, as far as the handler read it.
    pub(super) fn request_body(&self) -> RequestBody {
        self.entry.body()
    }

    /// Ends the request as if it had never been sent.
    pub(super) fn forget(mut self) {
        self.on_drop = OnDrop::Forget;
    }

    /// Ends the request with a response to store, or with `None` if it cannot be stored. Returns
    /// whether it is stored.
    pub(super) fn settle(mut self, response: Option<StoredResponse>, ends: Duration) -> bool {
        self.on_drop = OnDrop::Nothing;
        let store = &self.entry.store;
        let response = response.map_or_else(Weak::new, |response| store.keep(response));
        let is_stored = response.strong_count() > 0;
        self.entry.finish(RequestProgress::Done { ends, response });
        is_stored
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        match self.on_drop {
            OnDrop::Forget => self.entry.remove(),
            OnDrop::KeepUntil(ends) => {
                let response = Weak::new();
                self.entry.finish(RequestProgress::Done { ends, response });
            }
            OnDrop::Nothing => {}
        }
    }
}

// === impl StoredResponse ===

impl StoredResponse {
    /// Copies a response: a slice of a larger buffer would keep all of it in memory.
    pub(super) fn copy(head: &Parts, names: &[HeaderName], body: &[u8]) -> Self {
        let mut headers = HeaderMap::new();
        for name in names {
            for value in head.headers.get_all(name) {
                headers.append(name, copy(value));
            }
        }
        // Only duplicates get this copy; with the mark in it, they need no larger map.
        headers.insert(&REPLAYED, HeaderValue::from_static("true"));
        Self {
            status: head.status,
            headers,
            body: Bytes::copy_from_slice(body),
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    pub(super) fn body(&self) -> &Bytes {
        &self.body
    }

    fn size(&self) -> usize {
        let headers = self.headers.values();
        let headers: usize = headers.map(|value| HEADER_OVERHEAD + value.len()).sum();
        RESPONSE_OVERHEAD + headers + self.body.len()
    }
}

fn copy(value: &HeaderValue) -> HeaderValue {
    let copied = HeaderValue::from_bytes(value.as_bytes());
    let mut copied = copied.expect("the bytes of a value make a value");
    copied.set_sensitive(value.is_sensitive());
    copied
}

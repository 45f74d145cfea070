//! Copies of documents of clients: kept while they are fresh, and longer when fetching fails.

use std::error::Error;

use tracing::warn;

use crate::{
    events::{Event, EventKind},
    keys::Keys,
    people::{People, Unavailable},
    service::{Read, Shared},
    store::{KeptDocument, Seconds, Store},
};

/// Time for which a copy is good that cannot be fetched anew.
const OVERTIME: Seconds = 86_400;

/// Time after a failure in which a document is not fetched.
const PAUSE: Seconds = 60;

/// A document that a request needs.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) url: &'a str,
    pub(crate) read: &'a Read,
    /// The age from which on a copy is fetched anew, even if it is fresh.
    pub(crate) oldest: Seconds,
}

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Returns whether documents are fetched.
    pub(crate) fn is_fetching(&self) -> bool {
        let registration = &self.settings.registration;
        registration.metadata_documents && registration.fetch && self.fetches.is_set()
    }

    /// Returns a document: a copy, or a new one if it passes the check.
    pub(crate) async fn copy<E>(
        &self,
        wanted: Wanted<'_>,
        check: impl Fn(&str) -> Result<(), E> + Send,
    ) -> Result<Option<String>, Unavailable>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let Wanted { url, read, oldest } = wanted;
        let now = read.now;
        let kept = self.store.document(url).await?.unwrap_or_default();
        if kept.is_settled(oldest, now) {
            return Ok(kept.usable(now));
        }
        // One request fetches; the others wait for it here.
        let turn = self.fetches.turn(url);
        let _turn = turn.lock().await;
        let kept = self.store.document(url).await?.unwrap_or_default();
        if kept.is_settled(oldest, now) || self.limits.document(read.address).is_err() {
            return Ok(kept.usable(now));
        }
        let fetched = self.fetches.fetched(url).await;
        let checked = fetched.and_then(|it| check(&it.text).map(|()| it).map_err(Into::into));
        match checked {
            Ok(fetched) => {
                let event = Event::new(EventKind::ClientFetched);
                self.record(read, event.with_client(url));
                let document = KeptDocument {
                    text: Some(fetched.text.clone()),
                    fetched_at: now,
                    fresh_until: now + fetched.lifetime,
                    failed_at: None,
                };
                self.store.keep_document(url, document).await?;
                Ok(Some(fetched.text))
            }
            Err(error) => {
                warn!(
                    url,
                    error = &*error as &dyn Error,
                    "a document of a client could not be read"
                );
                let event = Event::new(EventKind::ClientRefused).with_client(url);
                self.record(read, event.with_reason("the document could not be read"));
                self.store.document_failed(url, now).await?;
                Ok(kept.usable(now))
            }
        }
    }
}

// === impl KeptDocument ===

impl KeptDocument {
    /// Returns whether nothing has to be fetched now.
    fn is_settled(&self, oldest: Seconds, now: Seconds) -> bool {
        let is_paused = self.failed_at.is_some_and(|at| now < at + PAUSE);
        is_paused || now < self.fresh_until.min(self.fetched_at.saturating_add(oldest))
    }

    /// Returns the copy, if it is good, or was a day ago.
    fn usable(self, now: Seconds) -> Option<String> {
        self.text.filter(|_| now < self.fresh_until + OVERTIME)
    }
}

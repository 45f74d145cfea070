//! The data of an issuer, and the tokens that were verified with it.

use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use event_listener::{Event, EventListener};

use crate::{
    access_token::{
        endpoints::Endpoints,
        keys::KeySet,
        revoked::{Revoked, TokenNames},
    },
    bearer::TokenHash,
    bounded_map::BoundedMap,
};

/// The data of an issuer, shared by all clones of a verifier.
pub(super) struct State<I> {
    published: RwLock<Published>,
    progress: Mutex<FetchProgress>,
    remembered: BoundedMap<TokenHash, Option<Arc<Verified<I>>>>,
    /// Set by a request with an unknown key.
    is_missed: AtomicBool,
    missed: Event,
    /// Notified after each fetch of the keys.
    fetched: Event,
    waiting: AtomicUsize,
}

/// The documents of the issuer as of the last fetch.
#[derive(Clone, Default)]
pub(super) struct Published {
    pub(super) keys: Option<Arc<KeySet>>,
    pub(super) revoked: Arc<Revoked>,
    /// Time of the last fetch of the list; `None` without a list to fetch.
    pub(super) list: Option<ListAge>,
}

/// Freshness of the list of revoked tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListAge {
    NeverFetched,
    FetchedAt(Duration),
}

/// Notes of the task that fetches.
#[derive(Clone, Default)]
pub(super) struct FetchProgress {
    pub(super) endpoints: Option<Endpoints>,
    pub(super) list_tag: Option<String>,
    pub(super) is_fetching: bool,
    /// Time of the last fetch of the keys, and of the last that succeeded.
    pub(super) tried_at: Option<Duration>,
    pub(super) succeeded_at: Option<Duration>,
}

/// A token with a valid signature and valid claims.
pub(super) struct Verified<I> {
    pub(super) identity: I,
    pub(super) names: TokenNames,
    /// Time since 1970 at which it is refused.
    pub(super) ends: Duration,
    /// The keys that it was verified with; after a change it is verified again.
    pub(super) keys: Arc<KeySet>,
}

/// The place of a request that waits for keys.
pub(super) struct Place<'a>(&'a AtomicUsize);

impl<I> State<I> {
    pub(super) fn new(max_remembered: usize) -> Self {
        Self {
            published: RwLock::default(),
            progress: Mutex::default(),
            remembered: BoundedMap::new(max_remembered),
            is_missed: AtomicBool::new(false),
            missed: Event::new(),
            fetched: Event::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    pub(super) fn published(&self) -> Published {
        let published = self.published.read();
        published.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn publish(&self, change: impl FnOnce(&mut Published)) {
        let published = self.published.write();
        change(&mut published.unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn progress(&self) -> FetchProgress {
        let progress = self.progress.lock();
        progress.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn note(&self, change: impl FnOnce(&mut FetchProgress)) {
        let progress = self.progress.lock();
        change(&mut progress.unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn find(&self, token: TokenHash) -> Option<Arc<Verified<I>>> {
        let token = self.remembered.hashed(token);
        let tokens = self.remembered.lock(&token);
        tokens.value(tokens.find(&token)?).clone()
    }

    pub(super) fn remember(&self, token: TokenHash, verified: Arc<Verified<I>>) {
        let token = self.remembered.hashed(token);
        let mut tokens = self.remembered.lock(&token);
        if let Some(slot) = tokens.find(&token) {
            *tokens.value_mut(slot) = Some(verified);
            tokens.renew(slot);
        } else {
            tokens.insert(token, Some(verified));
        }
    }

    /// Forgets the tokens that are not good any more.
    pub(super) fn sweep(&self, is_good: impl Fn(&Verified<I>) -> bool) {
        self.remembered
            .retain(|verified| verified.as_deref().is_some_and(&is_good));
    }

    pub(super) fn remembered(&self) -> usize {
        self.remembered.len()
    }

    /// Takes one of the places for requests that wait, if there is one.
    pub(super) fn place(&self, max_waiting: usize) -> Option<Place<'_>> {
        let taken = self.waiting.fetch_add(1, Ordering::Relaxed);
        let place = Place(&self.waiting);
        (taken < max_waiting).then_some(place)
    }

    /// Asks the task that fetches for the keys.
    pub(super) fn ask(&self) {
        self.is_missed.store(true, Ordering::SeqCst);
        self.missed.notify(1);
    }

    /// Returns whether a request has asked for the keys since the last call.
    pub(super) fn was_asked(&self) -> bool {
        self.is_missed.swap(false, Ordering::SeqCst)
    }

    pub(super) fn next_question(&self) -> EventListener {
        self.missed.listen()
    }

    pub(super) fn next_fetch(&self) -> EventListener {
        self.fetched.listen()
    }

    pub(super) fn tell_waiting(&self) {
        self.fetched.notify(usize::MAX);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

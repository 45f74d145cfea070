//! The options of the layer.

use std::{fmt, hash::Hash, sync::Arc, time::Duration};

use http::{Extensions, HeaderName, Method, header};
use tower_layer::Layer;

use crate::{
    clock::{Clock, Monotonic},
    idempotency::{Idempotency, IdempotencyLayer, IdempotencyRules, store::Store},
    reject::ErrorString,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const DEFAULT_MAX_KEYS: usize = 100_000;
const DEFAULT_MAX_BYTES: usize = 64 << 10;
const DEFAULT_MAX_TOTAL_BYTES: usize = 64 << 20;

/// Headers that describe the result of a request, or that a client needs to handle it.
const DEFAULT_HEADERS: [HeaderName; 13] = [
    header::CACHE_CONTROL,
    header::CONTENT_DISPOSITION,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LOCATION,
    header::CONTENT_TYPE,
    header::ETAG,
    header::LAST_MODIFIED,
    header::LINK,
    header::LOCATION,
    header::RETRY_AFTER,
    header::VARY,
    header::WWW_AUTHENTICATE,
];

// === impl IdempotencyLayer ===

impl<I> IdempotencyLayer<I> {
    /// Keeps the keys of each identity apart.
    ///
    /// The function reads the identity from the extensions of the request, where authentication
    /// put it. It must be the same for all requests of a client, so leave out expiry times and the
    /// like. Requests with a key but without an identity are refused.
    ///
    /// ```
    /// use http::Extensions;
    /// use ziggurat_layers::idempotency::IdempotencyLayer;
    ///
    /// #[derive(Clone)]
    /// struct User { tenant: u64, id: u64 }
    ///
    /// let per_user = IdempotencyLayer::new(|request: &Extensions| {
    ///     request.get::<User>().map(|user| (user.tenant, user.id))
    /// });
    /// // All clients share their keys, and may see each other's responses.
    /// let shared = IdempotencyLayer::new(|_: &Extensions| Some(()));
    /// # let _ = (per_user, shared);
    /// ```
    pub fn new<T: Hash>(identity_of: I) -> Self
    where
        I: Fn(&Extensions) -> Option<T>,
    {
        Self {
            identity_of,
            clock: Monotonic,
            render: ErrorString,
            rules: Arc::new(IdempotencyRules {
                methods: vec![Method::POST, Method::PATCH],
                headers: DEFAULT_HEADERS.into(),
                lifetime: DAY,
                max_bytes: DEFAULT_MAX_BYTES,
                is_required: false,
                is_at_most_once: false,
            }),
            store: Arc::new(Store::new(DEFAULT_MAX_KEYS, DEFAULT_MAX_TOTAL_BYTES)),
        }
    }
}

impl<I, C, R> IdempotencyLayer<I, C, R> {
    /// Replaces the methods that use keys (POST and PATCH).
    ///
    /// With other methods the header is ignored.
    ///
    /// ```
    /// use http::{Extensions, Method};
    /// use ziggurat_layers::idempotency::IdempotencyLayer;
    ///
    /// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied())
    ///     .with_methods([Method::POST, Method::PUT]);
    /// # let _ = layer;
    /// ```
    pub fn with_methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        Arc::make_mut(&mut self.rules).methods = methods.into_iter().collect();
        self
    }

    /// Refuses requests with these methods that have no key, with 400.
    ///
    /// ```
    /// use http::Extensions;
    /// use ziggurat_layers::idempotency::IdempotencyLayer;
    ///
    /// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied())
    ///     .with_required();
    /// # let _ = layer;
    /// ```
    pub fn with_required(mut self) -> Self {
        Arc::make_mut(&mut self.rules).is_required = true;
        self
    }

    /// Sets the time for which a response is repeated (24 hours by default).
    ///
    /// ```
    /// use http::Extensions;
    /// use std::time::Duration;
    /// use ziggurat_layers::idempotency::IdempotencyLayer;
    ///
    /// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied())
    ///     .with_lifetime(Duration::from_secs(3600));
    /// # let _ = layer;
    /// ```
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        Arc::make_mut(&mut self.rules).lifetime = lifetime;
        self
    }

    /// Replaces the response headers that duplicates get.
    ///
    /// By default these are `Cache-Control`, `ETag`, `Last-Modified`, `Link`, `Location`,
    /// `Retry-After`, `Vary`, `WWW-Authenticate`, `Content-Type` and the other `Content-*` headers of the representation.
    /// `Set-Cookie` is never stored, because it is a credential.
    ///
    /// ```
    /// use http::{Extensions, header};
    /// use ziggurat_layers::idempotency::IdempotencyLayer;
    ///
    /// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied())
    ///     .with_headers([header::CONTENT_TYPE, header::LOCATION]);
    /// # let _ = layer;
    /// ```
    pub fn with_headers(mut self, headers: impl IntoIterator<Item = HeaderName>) -> Self {
        let rules = Arc::make_mut(&mut self.rules);
        rules.headers.clear();
        for name in headers {
            if name != header::SET_COOKIE && !rules.headers.contains(&name) {
                rules.headers.push(name);
            }
        }
        self
    }

    /// Sets the size of the largest response body that is stored (64 KiB by default).
    ///
    /// The bodies that are stored are collected before the response begins.
    ///
    /// ```
    /// use http::Extensions;
    /// use ziggurat_layers::idempotency::IdempotencyLayer;
    ///
    /// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied())
    ///     .with_max_bytes(1 << 20);
    /// # let _ = layer;
    /// ```
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        Arc::make_mut(&mut self.rules).max_bytes = max_bytes;
        self
    }

    /// Sets the memory for all stored responses, in bytes (64 MiB by default).
    ///
    /// This forgets all keys: set it before the layer is in use.
    ///
    /// ```
    /// use http::Extensions;
    /// use ziggurat_layers::idempotency::IdempotencyLayer;
    ///
    /// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied())
    ///     .with_max_total_bytes(1 << 30);
    /// # let _ = layer;
    /// ```
    pub fn with_max_total_bytes(mut self, max_bytes: usize) -> Self {
        self.store = Arc::new(self.store.with_max_bytes(max_bytes));
        self
    }

    /// Sets the number of keys that are remembered (100,000 by default, at least one).
    ///
    /// This forgets all keys: set it before the layer is in use.
    ///
    /// ```
    /// use http::Extensions;
    /// use ziggurat_layers::idempotency::IdempotencyLayer;
    ///
    /// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied())
    ///     .with_max_keys(1_000_000);
    /// # let _ = layer;
    /// ```
    pub fn with_max_keys(mut self, max_keys: usize) -> Self {
        self.store = Arc::new(self.store.with_max_keys(max_keys));
        self
    }

    /// Never runs a handler again that may have had an effect.
    ///
    /// Server faults (5xx) are stored like other responses. If a request was abandoned (the client
    /// disconnected, or the handler panicked or failed), duplicates are refused with 409
    /// `idempotency_response_not_stored`. For handlers that cannot make all their changes in one
    /// transaction.
    ///
    /// ```
    /// use http::Extensions;
    /// use ziggurat_layers::idempotency::IdempotencyLayer;
    ///
    /// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied())
    ///     .with_at_most_once();
    /// # let _ = layer;
    /// ```
    pub fn with_at_most_once(mut self) -> Self {
        Arc::make_mut(&mut self.rules).is_at_most_once = true;
        self
    }

    /// Reads the time from another clock.
    ///
    /// ```
    /// use http::Extensions;
    /// use ziggurat_layers::{clock::ManualClock, idempotency::IdempotencyLayer};
    ///
    /// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied())
    ///     .with_clock(ManualClock::new());
    /// # let _ = layer;
    /// ```
    pub fn with_clock<T: Clock>(self, clock: T) -> IdempotencyLayer<I, T, R> {
        IdempotencyLayer {
            identity_of: self.identity_of,
            clock,
            render: self.render,
            rules: self.rules,
            store: self.store,
        }
    }

    /// Replaces the body of the refusals.
    ///
    /// ```
    /// use http::Extensions;
    /// use ziggurat_layers::{idempotency::IdempotencyLayer, reject::Problem};
    ///
    /// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied())
    ///     .with_render(Problem);
    /// # let _ = layer;
    /// ```
    pub fn with_render<T>(self, render: T) -> IdempotencyLayer<I, C, T> {
        IdempotencyLayer {
            identity_of: self.identity_of,
            clock: self.clock,
            render,
            rules: self.rules,
            store: self.store,
        }
    }

    /// Returns the number of keys that are remembered; the lifetime of some may be over.
    ///
    /// ```
    /// use http::Extensions;
    /// use ziggurat_layers::idempotency::IdempotencyLayer;
    ///
    /// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied());
    /// assert_eq!(layer.len(), 0);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Returns whether no key is remembered.
    ///
    /// ```
    /// use http::Extensions;
    /// use ziggurat_layers::idempotency::IdempotencyLayer;
    ///
    /// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied());
    /// assert!(layer.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<S, I: Clone, C: Clone, R: Clone> Layer<S> for IdempotencyLayer<I, C, R> {
    type Service = Idempotency<S, I, C, R>;

    fn layer(&self, inner: S) -> Self::Service {
        let layer = self.clone();
        Idempotency { inner, layer }
    }
}

impl<I, C, R> fmt::Debug for IdempotencyLayer<I, C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyLayer")
            .field("rules", &self.rules)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

//! Verifies access tokens of an OAuth 2.0 authorization server (RFC 9068).
//!
//! [`AccessTokens`] is a [`Verify`] for the [bearer layer](crate::bearer): it checks the signature
//! and the claims of a token by itself, with keys that it fetches from the issuer in the
//! background. No request of a client causes one to the issuer, but for a token with a key that is
//! not known yet.
//!
//! ```
//! use std::time::Duration;
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::{
//!     access_token::{AccessToken, AccessTokens, Fetch, FetchError, FetchRequest, Fetched, Rules},
//!     bearer::BearerLayer,
//! };
//!
//! # struct Unreachable;
//! # impl Fetch for Unreachable {
//! #     async fn fetch(&self, _: FetchRequest<'_>) -> Result<Fetched, FetchError> {
//! #         Err(FetchError::new("refused"))
//! #     }
//! #     async fn sleep(&self, _: Duration) {}
//! # }
//! # tokio_test::block_on(async {
//! let rules = Rules::new("https://accounts.example", ["https://api.example"])?;
//! # let fetch = Unreachable;
//! // `fetch` is a `ReqwestFetch`, or a `Fetch` of your own.
//! let tokens = AccessTokens::new(rules, fetch);
//! // In the program: tokio::spawn(tokens.clone().run());
//!
//! let service = ServiceBuilder::new()
//!     .layer(BearerLayer::new(tokens))
//!     .service(service_fn(|request: Request<Full<Bytes>>| async move {
//!         let token = request.extensions().get::<AccessToken>().expect("behind the layer");
//!         let subject = Bytes::from(token.subject().to_owned());
//!         Ok::<_, std::convert::Infallible>(Response::new(subject))
//!     }));
//!
//! let request = Request::get("/")
//!     .header("authorization", "Bearer not.a.token")
//!     .body(Full::default())?;
//! let response = service.oneshot(request).await?;
//! assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Which tokens are accepted
//!
//! | Part | Rule |
//! | --- | --- |
//! | length | at most 8 KiB |
//! | `typ` | `at+jwt`, with or without `application/`; others only [`with_plain_jwt`](Rules::with_plain_jwt) |
//! | `alg` | one of the [listed ones](Rules::with_algorithms) that the key is for; never `none` or HMAC |
//! | `crit` | refused |
//! | `jku`, `jwk`, `x5u`, `x5c` | not read: keys come from the issuer only |
//! | `kid` | names the key; without it exactly one key must fit |
//! | signature | valid; RSA keys have 2,048 to 8,192 bits |
//! | `iss` | the issuer, to the letter |
//! | `aud` | contains one of the audiences |
//! | `exp` | required, in the future |
//! | `nbf`, `iat` | at most 60 seconds in the future |
//! | `sub` | required |
//! | `client_id` | required, but for plain JWTs |
//! | `scope` | has the required scopes, else 403 |
//! | any member | not twice; dates are whole numbers |
//!
//! A token that breaks a rule is refused like an unknown one; the client is not told which rule.
//!
//! # Keys
//!
//! They come from the `jwks_uri` of the issuer's metadata (RFC 8414, `OpenID` Connect) or from
//! [`with_jwks`](Rules::with_jwks), over https; plain http serves this machine only. A document
//! has at most 1 MiB and 100 keys. Keys for another `use`, without the operation `verify` in their
//! `key_ops`, or of the wrong kind are left out. The keys are fetched every ten minutes, and for a
//! token with an unknown key at most once in ten seconds, whatever arrives. Such a request waits at
//! most three seconds. When fetching fails, the last good keys stay in use.
//!
//! # Revocation
//!
//! If the issuer publishes a list of revoked tokens
//! ([`with_revocations`](Rules::with_revocations)), it is fetched every 30 seconds. It has this
//! form, where each entry has one of the members or several:
//!
//! ```json
//! {"issuer": "https://accounts.example", "revoked": [{"client_id": "…"}, {"sub": "…"}, {"jti": "…"}],
//!  "revoked_grants": [{"grant": "…"}]}
//! ```
//!
//! `revoked_grants` may be absent. It ends all tokens with one of these as their `grant_id`.
//!
//! It holds for remembered tokens as well. While it cannot be fetched, tokens are refused with 503
//! from a [certain age](Rules::with_stale_after) on, unless the rules
//! [say otherwise](Rules::with_outage).
//!
//! # Deployment
//!
//! - [`run`](AccessTokens::run) must run, or no key is ever fetched. It ends when it is dropped.
//! - Point clients to the issuer with [`ProtectedResource`] and
//!   [`Challenge::with_resource_metadata`](crate::bearer::Challenge::with_resource_metadata).
//! - The audience is what keeps a token for another server out. It should be the URL of this one.
//!
//! # Memory
//!
//! At most 10,000 verified tokens are remembered by their digest; a remembered token costs a hash
//! of its text and no allocation. The identity of a token is kept with it: use
//! [`with_identity`](AccessTokens::with_identity) to keep less than all claims. At most 1,000
//! requests wait for keys at a time.

mod algorithm;
mod claims;
mod endpoints;
mod fetch;
mod jws;
mod keys;
mod members;
mod public_keys;
mod refresh;
#[cfg(feature = "access-token-reqwest")]
mod reqwest_fetch;
mod resource;
mod revoked;
mod rules;
mod state;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use self::{
    jws::Jws,
    keys::{KeySet, Signature},
    refresh::either,
    revoked::TokenNames,
    state::{ListAge, Published, State, Verified},
};
use crate::{
    bearer::{Denied, TokenHash, Verify},
    clock::{Calendar, Clock, System},
};

#[cfg(feature = "access-token-reqwest")]
pub use self::reqwest_fetch::ReqwestFetch;
pub use self::{
    algorithm::Algorithm,
    claims::AccessToken,
    fetch::{Fetch, FetchError, FetchRequest, Fetched},
    members::{Members, WrongType},
    public_keys::{PublicKeys, Unproved},
    resource::ProtectedResource,
    rules::{InvalidRules, Outage, Rules},
};

/// Minimum time between two fetches of the keys, however many unknown ones are named.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum time for which a request waits for keys.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// Verifies the access tokens of an issuer. Clones share its keys and the remembered tokens.
///
/// `I` is the identity that a token proves, an [`AccessToken`] by default.
///
/// ```
/// # use std::time::Duration;
/// # use ziggurat_layers::access_token::{Fetch, FetchError, FetchRequest, Fetched};
/// # struct Unreachable;
/// # impl Fetch for Unreachable {
/// #     async fn fetch(&self, _: FetchRequest<'_>) -> Result<Fetched, FetchError> {
/// #         Err(FetchError::new("refused"))
/// #     }
/// #     async fn sleep(&self, _: Duration) {}
/// # }
/// # let fetch = Unreachable;
/// use ziggurat_layers::{
///     access_token::{AccessTokens, Rules},
///     bearer::{BearerLayer, Challenge},
/// };
///
/// let rules = Rules::new("https://accounts.example", ["https://api.example"])?;
/// let metadata = "https://api.example/.well-known/oauth-protected-resource";
/// let layer = BearerLayer::new(AccessTokens::new(rules, fetch))
///     .with_challenge(Challenge::new().with_resource_metadata(metadata)?);
/// # let _ = layer;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct AccessTokens<F, I = AccessToken, C = System> {
    rules: Arc<Rules>,
    fetch: Arc<F>,
    identity: IdentityOf<I>,
    clock: C,
    state: Arc<State<I>>,
}

// Boxed: called once for each new token, not for each request.
type IdentityOf<I> = Arc<dyn Fn(&AccessToken) -> Result<I, Denied> + Send + Sync>;

/// Future of the check of a token with an unknown key.
///
/// ```
/// use ziggurat_layers::{access_token::{AccessToken, VerifyFuture}, bearer::Denied};
///
/// async fn subject(check: VerifyFuture<AccessToken>) -> Result<String, Denied> {
///     Ok(check.await?.subject().to_owned())
/// }
/// # let _ = subject;
/// ```
// Boxed: only a request with an unknown key has one.
pub struct VerifyFuture<I>(Pin<Box<dyn Future<Output = Result<I, Denied>> + Send>>);

// === impl AccessTokens ===

impl<F: Fetch> AccessTokens<F> {
    /// Accepts tokens by these rules. Fetches nothing before it [runs](Self::run).
    ///
    /// ```
    /// use ziggurat_layers::{
    ///     access_token::{AccessTokens, Fetch, InvalidRules, Rules},
    ///     bearer::BearerLayer,
    /// };
    ///
    /// fn layer<F: Fetch>(fetch: F) -> Result<BearerLayer<AccessTokens<F>>, InvalidRules> {
    ///     let rules = Rules::new("https://accounts.example", ["https://api.example"])?;
    ///     Ok(BearerLayer::new(AccessTokens::new(rules, fetch)))
    /// }
    /// ```
    pub fn new(rules: Rules, fetch: F) -> Self {
        Self {
            state: Arc::new(State::new(rules.max_remembered)),
            rules: Arc::new(rules),
            fetch: Arc::new(fetch),
            identity: Arc::new(|token| Ok(token.clone())),
            clock: System,
        }
    }
}

impl<F, I, C> AccessTokens<F, I, C> {
    /// Makes another identity of a verified token, or refuses it.
    ///
    /// Called once for each new token; its result is kept as long as the token is remembered. Set
    /// it before the verifier is cloned or in use.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::{AccessTokens, Fetch};
    /// use ziggurat_layers::bearer::Denied;
    ///
    /// #[derive(Clone)]
    /// struct User(String);
    ///
    /// # fn of_users(tokens: AccessTokens<impl Fetch>) {
    /// let tokens = tokens.with_identity(|token| match token.subject().strip_prefix("user:") {
    ///     Some(name) => Ok(User(name.to_owned())),
    ///     None => Err(Denied::Invalid),
    /// });
    /// # let _ = tokens;
    /// # }
    /// ```
    pub fn with_identity<T>(
        self,
        identity: impl Fn(&AccessToken) -> Result<T, Denied> + Send + Sync + 'static,
    ) -> AccessTokens<F, T, C> {
        AccessTokens {
            state: Arc::new(State::new(self.rules.max_remembered)),
            rules: self.rules,
            fetch: self.fetch,
            identity: Arc::new(identity),
            clock: self.clock,
        }
    }

    /// Reads the time and the date from another clock.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::{AccessTokens, Fetch};
    /// use ziggurat_layers::clock::ManualClock;
    ///
    /// # fn in_a_test(tokens: AccessTokens<impl Fetch>) {
    /// let clock = ManualClock::new();
    /// let tokens = tokens.with_clock(clock.clone());
    /// # let _ = tokens;
    /// # }
    /// ```
    pub fn with_clock<T>(self, clock: T) -> AccessTokens<F, I, T> {
        AccessTokens {
            rules: self.rules,
            fetch: self.fetch,
            identity: self.identity,
            clock,
            state: self.state,
        }
    }

    /// Returns the number of tokens that are remembered.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::{AccessTokens, Fetch};
    /// # fn show(tokens: AccessTokens<impl Fetch>) {
    /// println!("{} tokens in use", tokens.remembered());
    /// # }
    /// ```
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.state.remembered()
    }
}

impl<F, I, C: Clock> AccessTokens<F, I, C> {
    fn elapsed(&self, since: Duration) -> Duration {
        self.clock.now().saturating_sub(since)
    }

    /// Returns whether the keys may be fetched now.
    fn may_fetch(&self) -> bool {
        let tried_at = self.state.progress().tried_at;
        tried_at.is_none_or(|at| self.elapsed(at) >= MIN_FETCH_INTERVAL)
    }

    /// Returns whether the list of revoked tokens is too old.
    fn is_stale(&self, published: &Published) -> bool {
        self.rules.outage == Outage::Refuse
            && match published.list {
                None => false,
                Some(ListAge::NeverFetched) => true,
                Some(ListAge::FetchedAt(at)) => self.elapsed(at) > self.rules.stale_after,
            }
    }

    /// Returns the refusal of a token with an unknown key.
    fn unknown(&self) -> Denied {
        match self.state.published().keys {
            Some(_) => Denied::Invalid,
            None => Denied::Unavailable,
        }
    }
}

impl<F, I: Clone, C: Clock + Calendar> AccessTokens<F, I, C> {
    /// Verifies a token; returns `None` if its key is unknown.
    fn check(&self, token: &str) -> Option<Result<I, Denied>> {
        if token.len() > self.rules.max_token_bytes {
            return Some(Err(Denied::Invalid));
        }
        let published = self.state.published();
        let digest = TokenHash::of(token);
        let known = self.state.find(digest).filter(|known| {
            let keys = published.keys.as_ref();
            keys.is_some_and(|keys| Arc::ptr_eq(keys, &known.keys))
        });
        let verdict = match known {
            Some(verified) => self
                .admit(&verified.names, verified.ends, &published)
                .map(|()| verified.identity.clone()),
            None => self.check_new(token, &published)?.map(|verified| {
                let identity = verified.identity.clone();
                self.state.remember(digest, Arc::new(verified));
                identity
            }),
        };
        Some(verdict)
    }

    /// Checks what may have changed since a token was verified.
    fn admit(
        &self,
        names: &TokenNames,
        ends: Duration,
        published: &Published,
    ) -> Result<(), Denied> {
        if ends <= self.clock.date() || published.revoked.has(names) {
            return Err(Denied::Invalid);
        }
        if self.is_stale(published) {
            return Err(Denied::Unavailable);
        }
        Ok(())
    }

    /// Verifies a token that is not remembered; returns `None` if its key is unknown.
    fn check_new(&self, token: &str, published: &Published) -> Option<Result<Verified<I>, Denied>> {
        let types = if self.rules.takes_plain_jwt {
            &["at+jwt", "JWT"][..]
        } else {
            &["at+jwt"]
        };
        let Some(jws) = Jws::parse(token, types) else {
            return Some(Err(Denied::Invalid));
        };
        if !self.rules.algorithms.contains(&jws.header.algorithm) {
            return Some(Err(Denied::Invalid));
        }
        let keys = published.keys.as_ref()?;
        match keys.check(&jws) {
            Signature::Valid => Some(self.accept(jws, keys, published)),
            Signature::Invalid => Some(Err(Denied::Invalid)),
            Signature::UnknownKey => None,
        }
    }

    fn accept(
        &self,
        jws: Jws<'_>,
        keys: &Arc<KeySet>,
        published: &Published,
    ) -> Result<Verified<I>, Denied> {
        let token = AccessToken::check(jws, &self.rules, self.clock.date())?;
        let names = TokenNames::of(&token);
        let ends = token.expires().saturating_add(self.rules.expiry_leeway);
        // First, so that a revoked token takes no place and makes no identity.
        self.admit(&names, ends, published)?;
        Ok(Verified {
            identity: (self.identity)(&token)?,
            names,
            ends,
            keys: Arc::clone(keys),
        })
    }
}

impl<F, I, C> Verify for AccessTokens<F, I, C>
where
    F: Fetch,
    I: Clone + Send + Sync + 'static,
    C: Clock + Calendar + Clone + Send + Sync + 'static,
{
    type Identity = I;
    type Future = VerifyFuture<I>;

    fn verify(&self, token: &str) -> VerifyFuture<I> {
        let (tokens, token) = (self.clone(), token.to_owned());
        VerifyFuture(Box::pin(async move {
            let place = tokens.state.place(tokens.rules.max_waiting);
            let _place = place.ok_or(Denied::Unavailable)?;
            let fetched = tokens.state.next_fetch();
            // The keys may have been fetched in between.
            if let Some(verdict) = tokens.check(&token) {
                return verdict;
            }
            tokens.state.ask();
            either(fetched, tokens.fetch.sleep(MAX_WAIT)).await;
            let verdict = tokens.check(&token);
            verdict.unwrap_or_else(|| Err(tokens.unknown()))
        }))
    }

    fn verify_now(&self, token: &str) -> Option<Result<I, Denied>> {
        let verdict = self.check(token);
        // Waiting is of use only if a fetch is running or allowed.
        if verdict.is_none() && !self.state.progress().is_fetching && !self.may_fetch() {
            return Some(Err(self.unknown()));
        }
        verdict
    }
}

impl<F, I, C: Clone> Clone for AccessTokens<F, I, C> {
    fn clone(&self) -> Self {
        Self {
            rules: Arc::clone(&self.rules),
            fetch: Arc::clone(&self.fetch),
            identity: Arc::clone(&self.identity),
            clock: self.clock.clone(),
            state: Arc::clone(&self.state),
        }
    }
}

impl<F, I, C> fmt::Debug for AccessTokens<F, I, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessTokens")
            .field("rules", &self.rules)
            .field("remembered", &self.remembered())
            .finish_non_exhaustive()
    }
}

// === impl VerifyFuture ===

impl<I> Future for VerifyFuture<I> {
    type Output = Result<I, Denied>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl<I> fmt::Debug for VerifyFuture<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyFuture").finish_non_exhaustive()
    }
}

//! Fetching keys and revoked tokens in the background.

use std::{error::Error, future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use tracing::{error, info};

use crate::{
    access_token::{
        AccessTokens, Outage,
        endpoints::{self, Endpoints},
        fetch::{Fetch, FetchError, FetchRequest},
        keys::{InvalidKeys, KeySet},
        revoked::Revoked,
        state::ListAge,
    },
    clock::{Calendar, Clock},
};

/// Time between two regular fetches of the keys.
pub(super) const KEY_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Maximum size of the list of revoked tokens.
const MAX_LIST_BYTES: usize = 4 << 20;

impl<F: Fetch, I, C: Clock + Calendar> AccessTokens<F, I, C> {
    /// Fetches keys and revoked tokens again and again. Never ends; drop the future to stop.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::{AccessTokens, Fetch};
    /// # fn start(tokens: AccessTokens<impl Fetch>) {
    /// tokio::spawn(tokens.clone().run());
    /// # }
    /// ```
    pub async fn run(self) {
        loop {
            self.poll().await;
            let question = self.state.next_question();
            let mut is_asked = self.state.was_asked();
            if !is_asked {
                either(question, self.fetch.sleep(self.rules.poll_interval)).await;
                is_asked = self.state.was_asked();
            }
            if is_asked && self.may_fetch() {
                self.fetch_keys().await;
            }
        }
    }

    /// Fetches the revoked tokens once, and the keys if they are due, as [`run`](Self::run) does
    /// again and again. For programs with a timer of their own.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::{AccessTokens, Fetch};
    /// # async fn start(tokens: AccessTokens<impl Fetch>) {
    /// // Before the first request arrives.
    /// tokens.poll().await;
    /// # }
    /// ```
    pub async fn poll(&self) {
        let succeeded_at = self.state.progress().succeeded_at;
        if succeeded_at.is_none_or(|at| self.elapsed(at) >= KEY_INTERVAL) {
            self.fetch_keys().await;
        }
        if let Err(failure) = self.fetch_revoked().await {
            self.log(&failure, "cannot fetch the revoked tokens of the issuer");
        }
        let now = self.clock.date();
        let revoked = self.state.published().revoked;
        self.state
            .sweep(|token| token.ends > now && !revoked.has(&token.names));
    }

    /// Fetches the keys and the revoked tokens once, and returns a failure instead of logging it. For
    /// programs that check their configuration.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::{AccessTokens, Fetch, FetchError};
    /// # async fn start(tokens: AccessTokens<impl Fetch>) -> Result<(), FetchError> {
    /// tokens.fetch_once().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the issuer cannot be reached, or sends something else.
    pub async fn fetch_once(&self) -> Result<(), FetchError> {
        self.fetch_changed_keys().await?;
        self.fetch_revoked().await
    }

    async fn fetch_keys(&self) {
        match self.fetch_changed_keys().await {
            Ok(true) => {
                let issuer = self.rules.issuer.as_str();
                info!(issuer, "the keys of the issuer have changed");
            }
            Ok(false) => {}
            Err(failure) => self.log(&failure, "cannot fetch the keys of the issuer"),
        }
        self.state.note(|progress| progress.is_fetching = false);
        self.state.tell_waiting();
    }

    /// Returns whether the keys have changed.
    async fn fetch_changed_keys(&self) -> Result<bool, FetchError> {
        let now = self.clock.now();
        self.state.note(|progress| {
            progress.is_fetching = true;
            progress.tried_at = Some(now);
        });
        let endpoints = self.endpoints().await?;
        let request = FetchRequest {
            url: &endpoints.jwks,
            tag: None,
            max_bytes: endpoints::MAX_BYTES,
        };
        let document = self.fetch.fetch(request).await?.body.unwrap_or_default();
        let before = self.state.published().keys;
        let is_same = before.is_some_and(|keys| keys.is_of(&document));
        if !is_same {
            let keys = KeySet::parse(&document, &self.rules.algorithms)?;
            if self.state.progress().succeeded_at.is_none() {
                // Fetched too, because without it the first tokens would be refused.
                let fetched = self.fetch_revoked().await;
                if self.rules.outage == Outage::Refuse {
                    fetched?;
                }
            }
            self.state
                .publish(|published| published.keys = Some(Arc::new(keys)));
        }
        self.state
            .note(|progress| progress.succeeded_at = Some(now));
        Ok(!is_same)
    }

    async fn fetch_revoked(&self) -> Result<(), FetchError> {
        let Some(url) = self.endpoints().await?.revocations else {
            return Ok(());
        };
        self.state.publish(|published| {
            published.list.get_or_insert(ListAge::NeverFetched);
        });
        let now = self.clock.now();
        let tag = self.state.progress().list_tag;
        let request = FetchRequest {
            url: &url,
            tag: tag.as_deref(),
            max_bytes: MAX_LIST_BYTES,
        };
        let fetched = self.fetch.fetch(request).await?;
        let revoked = match &fetched.body {
            Some(document) => Some(Arc::new(Revoked::parse(document, &self.rules.issuer)?)),
            None => None,
        };
        self.state.publish(|published| {
            published.list = Some(ListAge::FetchedAt(now));
            if let Some(revoked) = revoked {
                published.revoked = revoked;
            }
        });
        if fetched.body.is_some() {
            self.state.note(|progress| progress.list_tag = fetched.tag);
        }
        Ok(())
    }

    async fn endpoints(&self) -> Result<Endpoints, FetchError> {
        if let Some(known) = self.state.progress().endpoints {
            return Ok(known);
        }
        let found = Endpoints::find(&self.rules, &*self.fetch).await?;
        self.state
            .note(|progress| progress.endpoints = Some(found.clone()));
        Ok(found)
    }

    fn log(&self, failure: &FetchError, what: &'static str) {
        let issuer = self.rules.issuer.as_str();
        let failure: &dyn Error = failure;
        error!(error = failure, issuer, "{what}");
    }
}

// === impl FetchError ===

impl From<InvalidKeys> for FetchError {
    fn from(invalid: InvalidKeys) -> Self {
        Self::malformed(match invalid {
            InvalidKeys::NoSet => "the document is not a set of keys",
            InvalidKeys::TooMany => "the set has more than 100 keys",
            InvalidKeys::NoneUsable => "the set has no usable key",
        })
    }
}

/// Waits until one of two futures ends.
pub(super) async fn either(one: impl Future, other: impl Future) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|cx| {
        let is_over = one.as_mut().poll(cx).is_ready() || other.as_mut().poll(cx).is_ready();
        if is_over {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

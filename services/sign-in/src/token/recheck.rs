//! The person of a grant, whom another provider confirms from time to time.

use crate::{
    answer::OAuthError,
    events::{Event, EventKind},
    keys::Keys,
    people::{People, Unavailable},
    providers::{
        NoTokens, Signer,
        configured::Upstream,
        id_token::{self, Bound},
        mapping::Claims,
    },
    service::{Entitled, Profile, Read, Shared},
    store::{Grant, Link, Seconds, Store},
};

/// Time for which one request has the turn to ask a provider, in seconds.
const TURN: Seconds = 15;

/// Number of intervals after which nothing is given for a provider that cannot be reached.
const PATIENCE: Seconds = 4;

/// Results of a question to a provider about a person.
enum Answered {
    /// The provider confirmed the person. It may have said more, and have given another refresh token.
    Confirmed(Option<Claims>, Option<String>),
    /// The provider refused.
    Refused,
    /// The provider cannot be reached, or its answer cannot be relied on.
    Unreachable,
}

/// States of a person of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Confirmed,
    Gone,
    /// The provider could not be asked for too long.
    Unknown,
}

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Returns the person of a grant, who may still use it and is still in its tenant.
    pub(super) async fn holder(
        &self,
        read: &Read,
        grant: &Grant,
    ) -> Result<Option<Entitled>, OAuthError> {
        let origin = grant.origin.as_ref();
        let upstream = origin.and_then(|origin| self.settings.upstream(&origin.provider));
        if let Some(upstream) = upstream {
            match self.standing(read, upstream, grant).await? {
                Standing::Confirmed => {}
                Standing::Gone => return Ok(None),
                Standing::Unknown => return Err(OAuthError::unavailable()),
            }
        }
        let found = self.entitled(&grant.person, origin).await?;
        Ok(found.and_then(|person| person.within(grant.tenant.as_deref())))
    }

    /// Asks the provider about a person who was not confirmed for some time.
    async fn standing(
        &self,
        read: &Read,
        upstream: &Upstream,
        grant: &Grant,
    ) -> Result<Standing, Unavailable> {
        let Some(origin) = &grant.origin else {
            return Ok(Standing::Confirmed);
        };
        let Some(link) = self.store.link(origin).await? else {
            return Ok(Standing::Gone);
        };
        if is_fresh(&link, upstream, read.now) {
            return Ok(Standing::Confirmed);
        }
        if self.keys.seal().open_refresh(&link).is_none() {
            let ends_at = link.checked_at + upstream.without_refresh.as_secs();
            let is_gone = link.is_refused() || ends_at <= read.now;
            return Ok(if is_gone {
                Standing::Gone
            } else {
                Standing::Confirmed
            });
        }
        let until = read.now + TURN;
        let Some(link) = self.store.begin_check(origin, until, read.now).await? else {
            // Another request asks, and a refresh token of the provider may be good once.
            return Ok(overdue(&link, upstream, read.now));
        };
        if is_fresh(&link, upstream, read.now) {
            return Ok(Standing::Confirmed);
        }
        let answered = self.asked_again(read, upstream, &link).await;
        self.judged(read, upstream, grant, link, answered).await
    }

    /// Keeps the answer of a provider about a person.
    async fn judged(
        &self,
        read: &Read,
        upstream: &Upstream,
        grant: &Grant,
        link: Link,
        answered: Answered,
    ) -> Result<Standing, Unavailable> {
        let (claims, refresh) = match answered {
            Answered::Unreachable => return Ok(overdue(&link, upstream, read.now)),
            Answered::Refused => return self.gone(read, grant, link, "the provider refused").await,
            Answered::Confirmed(claims, refresh) => (claims, refresh),
        };
        let profile =
            claims.map(|claims| Profile::read(&claims, &upstream.rules, upstream.provision));
        let claims = match profile {
            Some(Ok(profile)) => profile.text()?,
            Some(Err(reason)) => return self.gone(read, grant, link, reason.name()).await,
            None => link.claims,
        };
        let refresh = match refresh {
            Some(token) => {
                let sealed = self.keys.seal().close_refresh(&link.origin, &token);
                Some(sealed.map_err(|_| Unavailable)?)
            }
            None => link.refresh,
        };
        let link = Link {
            claims,
            refresh,
            checked_at: read.now,
            ..link
        };
        self.store.keep_link(link).await?;
        self.record(read, Event::new(EventKind::UpstreamOk).with_grant(grant));
        Ok(Standing::Confirmed)
    }

    /// Notes that a provider does not confirm a person any more.
    async fn gone(
        &self,
        read: &Read,
        grant: &Grant,
        link: Link,
        reason: &'static str,
    ) -> Result<Standing, Unavailable> {
        let event = Event::new(EventKind::UpstreamRefused).with_grant(grant);
        self.record(read, event.with_reason(reason));
        let refused = Link {
            refresh: None,
            checked_at: 0,
            ..link
        };
        self.store.keep_link(refused).await?;
        Ok(Standing::Gone)
    }

    /// Asks a provider with its refresh token.
    async fn asked_again(&self, read: &Read, upstream: &Upstream, link: &Link) -> Answered {
        let signer = Signer::Login(upstream);
        let token = self.keys.seal().open_refresh(link);
        let documents = self.providers.documents(signer, false, read.now).await;
        let metadata = documents.as_ref().and_then(|it| it.metadata.as_ref());
        let (Some(token), Some(metadata)) = (token, metadata) else {
            return Answered::Unreachable;
        };
        let form = [("grant_type", "refresh_token"), ("refresh_token", &*token)];
        let tokens = match self.providers.tokens(upstream, metadata, &form).await {
            Ok(tokens) => tokens,
            Err(NoTokens::Refused) => return Answered::Refused,
            Err(NoTokens::Unreachable) => return Answered::Unreachable,
        };
        // A provider may leave the ID token out of a refresh.
        let Some(id_token) = tokens.id_token else {
            return Answered::Confirmed(None, tokens.refresh_token);
        };
        let Ok(payload) = self.providers.payload(signer, &id_token, read.now).await else {
            return Answered::Unreachable;
        };
        let bound = Bound::Subject(&link.origin.subject);
        let claims = Claims::read(&payload);
        let is_good = |claims: &Claims| id_token::check(claims, upstream, bound, read.now).is_ok();
        match claims.filter(is_good) {
            Some(claims) => Answered::Confirmed(Some(claims), tokens.refresh_token),
            None => Answered::Unreachable,
        }
    }
}

/// Returns whether a person was confirmed a short time ago.
fn is_fresh(link: &Link, upstream: &Upstream, now: Seconds) -> bool {
    now < link.checked_at + upstream.recheck.as_secs()
}

/// Returns the standing of a person whom the provider cannot be asked about now.
fn overdue(link: &Link, upstream: &Upstream, now: Seconds) -> Standing {
    if now < link.checked_at + PATIENCE * upstream.recheck.as_secs() {
        Standing::Confirmed
    } else {
        Standing::Unknown
    }
}

//! Cache of valid tokens.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ziggurat_layers::bearer::TokenHash;

use crate::Identity;

/// Limit on cached tokens. A token that was removed is validated again.
const MAX_TOKENS: usize = 4096;

/// A token with a validated signature.
#[derive(Debug)]
pub(super) struct ValidToken {
    pub(super) subject: String,
    pub(super) identity: Identity,
    /// Expiry time in seconds since 1970.
    pub(super) ends: i64,
    /// Epoch of the keys that validated it.
    pub(super) epoch: u64,
}

/// Cache of valid tokens. Replaced on every change and never modified, so that lookups never wait.
#[derive(Debug, Default)]
pub(super) struct TokenCache {
    by_token: HashMap<TokenHash, Arc<ValidToken>>,
}

// === impl TokenCache ===

impl TokenCache {
    pub(super) fn find(&self, token: TokenHash) -> Option<&Arc<ValidToken>> {
        self.by_token.get(&token)
    }

    /// Returns a copy with one more token, and the sessions that end by that.
    pub(super) fn with(
        &self,
        token: TokenHash,
        good: Arc<ValidToken>,
        now: i64,
    ) -> (Self, Vec<TokenHash>) {
        let mut by_token = self.by_token.clone();
        if by_token.len() >= MAX_TOKENS {
            by_token.retain(|_, good| good.ends > now);
        }
        if by_token.len() >= MAX_TOKENS {
            let first = by_token.iter().min_by_key(|(_, good)| good.ends);
            let first = first.map(|(token, _)| *token);
            first.and_then(|token| by_token.remove(&token));
        }
        by_token.insert(token, good);
        self.to(by_token)
    }

    /// Returns a copy with the tokens that match `is_good`, and the sessions that end by that.
    pub(super) fn swept(&self, is_good: impl Fn(&ValidToken) -> bool) -> (Self, Vec<TokenHash>) {
        let mut by_token = self.by_token.clone();
        by_token.retain(|_, good| is_good(good));
        self.to(by_token)
    }

    /// A session ends when none of its tokens is left.
    fn to(&self, by_token: HashMap<TokenHash, Arc<ValidToken>>) -> (Self, Vec<TokenHash>) {
        let is_gone = |(token, _): &(&TokenHash, &Arc<ValidToken>)| !by_token.contains_key(*token);
        let mut gone: HashSet<_> = self
            .by_token
            .iter()
            .filter(is_gone)
            .map(|(_, good)| good.identity.token())
            .collect();
        if !gone.is_empty() {
            for good in by_token.values() {
                gone.remove(&good.identity.token());
            }
        }
        (Self { by_token }, gone.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Holder;

    fn good(subject: &str, ends: i64) -> Arc<ValidToken> {
        let holder = Holder::Client {
            subject: subject.into(),
            client: None,
            tenant: None,
            databases: Arc::new([]),
        };
        Arc::new(ValidToken {
            subject: subject.to_owned(),
            identity: Identity::new(TokenHash::of(subject), holder),
            ends,
            epoch: 0,
        })
    }

    #[test]
    fn the_cache_is_bounded_and_a_session_ends_with_its_last_token() {
        let mut known = TokenCache::default();
        for number in 0..MAX_TOKENS {
            let token = TokenHash::of(&number.to_string());
            let subject = if number < 2 { "early" } else { "late" };
            let ends = 1000 + i64::try_from(number).expect("small");
            let (next, gone) = known.with(token, good(subject, ends), 0);
            assert!(gone.is_empty());
            known = next;
        }
        let (known, gone) = known.with(TokenHash::of("a"), good("late", 9999), 0);
        assert_eq!(
            (known.by_token.len(), gone),
            (MAX_TOKENS, vec![]),
            "one is left"
        );
        let (known, gone) = known.with(TokenHash::of("b"), good("late", 9999), 0);
        assert_eq!(gone, [TokenHash::of("early")]);
        let (known, gone) = known.with(TokenHash::of("c"), good("late", 9999), 9000);
        assert_eq!(known.by_token.len(), 3, "what has ended goes first");
        assert!(gone.is_empty());
        let (_, gone) = known.swept(|_| false);
        assert_eq!(gone, [TokenHash::of("late")]);
    }
}

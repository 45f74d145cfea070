//! Every good token, as one look-up.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use ziggurat_layers::bearer::TokenHash;

use crate::accounts::{
    identity::{Holder, Identity},
    sessions::Sessions,
    tokens::Tokens,
    users::Users,
};

/// The tokens that are good at a moment, and what they prove. Made anew for every change and
/// never changed, so that checking a token waits for nobody.
#[derive(Default)]
pub(super) struct Known {
    by_token: HashMap<TokenHash, Good>,
}

struct Good {
    identity: Identity,
    ends: Option<Timestamp>,
}

// === impl Known ===

impl Known {
    /// Puts together what is known; ends the sessions that have nobody behind them.
    pub(super) fn new(
        now: Timestamp,
        tokens: &Tokens,
        users: &Users,
        sessions: &mut Sessions,
    ) -> Self {
        let users: HashMap<_, _> = users.records().map(|user| (&*user.name, user)).collect();
        sessions.retain_good(now, &users);

        let mut by_token = HashMap::new();
        for token in tokens.records().filter(|token| !token.is_expired(now)) {
            let database = token.database.as_deref().map(Arc::from);
            let identity = Identity::new(token.hash, Holder::Program { database });
            let ends = token.expires_at;
            by_token.insert(token.hash, Good { identity, ends });
        }
        for (&token, session) in sessions.iter() {
            let user = users[&*session.user];
            let holder = Holder::User {
                name: Arc::from(&*user.name),
                databases: Arc::from(&*user.databases),
            };
            let identity = Identity::new(token, holder);
            let ends = Some(session.ends);
            by_token.insert(token, Good { identity, ends });
        }
        Self { by_token }
    }

    /// What a token proves, if it is good.
    pub(super) fn identity(
        &self,
        token: TokenHash,
        now: impl FnOnce() -> Timestamp,
    ) -> Option<Identity> {
        let good = self.by_token.get(&token)?;
        match good.ends {
            Some(ends) if ends <= now() => None,
            _ => Some(good.identity.clone()),
        }
    }

    /// When the first of them ends.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.by_token.values().filter_map(|good| good.ends).min()
    }

    /// The tokens that are good no more, or for another database.
    pub(super) fn gone_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = TokenHash> {
        let is_gone = |(token, old): &(&TokenHash, &Good)| {
            let new = self.by_token.get(*token);
            !new.is_some_and(|new| new.is_as_good_as(old))
        };
        before
            .by_token
            .iter()
            .filter(is_gone)
            .map(|(&token, _)| token)
    }

    pub(super) fn len(&self) -> usize {
        self.by_token.len()
    }
}

// === impl Good ===

impl Good {
    /// A user may be given another list of databases and keeps the session.
    fn is_as_good_as(&self, old: &Self) -> bool {
        self.identity.user().is_some() || self.identity == old.identity
    }
}

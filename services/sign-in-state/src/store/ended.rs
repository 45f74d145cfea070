//! Grants that have ended while their access tokens may still be good.

use std::{collections::HashMap, time::Duration};

use arc_swap::ArcSwap;
use tokio::{sync::watch, time};
use ziggurat_mcp_auth::{GrantId, Seconds};
use ziggurat_state::StoreError;

use crate::store::{
    SignInStore,
    columns::{Columns as _, moment},
};

/// Interval between two looks at a file, which another process may have changed.
const LOCAL: Duration = Duration::from_millis(500);

/// Interval between two looks at the database that replicas share.
const REPLICATED: Duration = Duration::from_secs(5);

/// Time by which clocks of replicas may differ, in seconds.
const LEEWAY: Seconds = 300;

/// Grants that have ended. A check is a lookup in an immutable map.
#[derive(Debug, Default)]
pub struct EndedGrants {
    /// By grant, the moment of the end.
    ended: ArcSwap<HashMap<GrantId, Seconds>>,
    changes: watch::Sender<()>,
}

// === impl EndedGrants ===

impl EndedGrants {
    /// Returns whether a grant has ended.
    #[must_use]
    pub fn contains(&self, grant: GrantId) -> bool {
        self.ended.load().contains_key(&grant)
    }

    /// Returns the grants that have ended, each with the moment of the end, in a fixed order.
    #[must_use]
    pub fn list(&self) -> Vec<(GrantId, Seconds)> {
        let ended = self.ended.load();
        let mut list: Vec<_> = ended.iter().map(|(grant, at)| (*grant, *at)).collect();
        list.sort_unstable();
        list
    }

    /// Tells of each change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Adds grants that this process ended.
    pub(crate) fn add(&self, grants: &[GrantId], now: Seconds) {
        if grants.is_empty() {
            return;
        }
        self.ended.rcu(|before| {
            let mut ended = HashMap::clone(before);
            ended.extend(grants.iter().map(|grant| (*grant, now)));
            ended
        });
        self.changes.send_replace(());
    }

    /// Replaces the grants by the ones of the store. Grants that ended here meanwhile stay, until their
    /// tokens have expired.
    fn replace(&self, stored: &HashMap<GrantId, Seconds>, since: Seconds) {
        let is_same = |before: &HashMap<_, _>| {
            before.len() == stored.len() && stored.keys().all(|it| before.contains_key(it))
        };
        if is_same(&self.ended.load()) {
            return;
        }
        self.ended.rcu(|before| {
            let mut ended = stored.clone();
            let kept = before.iter().filter(|(_, at)| **at > since);
            ended.extend(kept.map(|(grant, at)| (*grant, *at)));
            ended
        });
        self.changes.send_replace(());
    }
}

// === impl SignInStore ===

impl SignInStore {
    /// Reads the grants that have ended, while tokens of theirs may be good, which have this
    /// lifetime.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn read_ended(&self, lifetime: Duration, now: Seconds) -> Result<(), StoreError> {
        let since = now.saturating_sub(lifetime.as_secs() + LEEWAY);
        let select = "SELECT id, ended_at FROM oauth_grants WHERE ended_at > $1";
        let rows = self.tables.rows(select, [moment(since)]).await?;
        let stored = rows.iter().map(|row| Ok((row.bytes(0)?, row.moment(1)?)));
        let stored = stored.collect::<Result<_, StoreError>>()?;
        self.ended.replace(&stored, since);
        Ok(())
    }

    /// Follows the grants that other processes end. Never ends; drop the future to stop.
    pub async fn follow(self, lifetime: Duration, now: impl Fn() -> Seconds) {
        let interval = if self.is_replicated() {
            REPLICATED
        } else {
            LOCAL
        };
        loop {
            // A store that cannot be read is noticed where it is written, too.
            self.read_ended(lifetime, now()).await.ok();
            time::sleep(interval).await;
        }
    }
}

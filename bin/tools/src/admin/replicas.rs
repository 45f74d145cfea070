//! Locked accounts that all replicas share.

use anyhow::Context as _;
use jiff::Timestamp;
use tokio::task::JoinSet;
use ziggurat_accounts::UserRecord;
use ziggurat_postgres::pool::Pools;
use ziggurat_state::{Shared, StateDatabase, StoreError};

use crate::configuration::State;

/// Locked accounts, each with its creation time.
#[derive(Debug, Default)]
pub(super) struct Locked(Vec<(String, Option<Timestamp>)>);

// === impl Locked ===

impl Locked {
    /// Reads the locked accounts from the state database.
    pub(super) fn read(state: &State) -> anyhow::Result<Self> {
        with_shared(state, async |shared| shared.locked().await).map(Self)
    }

    pub(super) fn contains(&self, user: &UserRecord) -> bool {
        let second = |at: Option<Timestamp>| at.map(Timestamp::as_second);
        let is_it = |(name, made): &(String, Option<Timestamp>)| {
            // The creation time differs if the account was deleted and created again.
            *name == user.name && second(*made) == second(user.created_at)
        };
        self.0.iter().any(is_it)
    }
}

/// Unlocks an account.
pub(super) fn unlock(state: &State, name: &str) -> anyhow::Result<()> {
    with_shared(state, async |shared| shared.unlock(name).await)
}

fn with_shared<T>(
    state: &State,
    work: impl AsyncFnOnce(&Shared) -> Result<T, StoreError>,
) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let database = state.database().context("state.url")?;
    runtime.block_on(async {
        let (pools, reaper) = Pools::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(reaper.run());
        let (shared, _batcher) = Shared::new(StateDatabase::new(&pools, database));
        let done = work(&shared).await;
        done.context("state.url")
    })
}

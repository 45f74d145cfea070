//! State that all replicas share.

use anyhow::Context as _;
use tokio::task::JoinSet;
use ziggurat_postgres::pool::Pools;
use ziggurat_state::{Shared, StateDatabase, StoreError};

use crate::configuration::State;

/// Does something with the state.
///
/// # Errors
/// Fails if the database cannot be used.
pub(super) fn with_shared<T>(
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

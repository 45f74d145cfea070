//! State of a server, or that all replicas share.

use anyhow::Context as _;
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
};
use ziggurat_postgres::pool::Pools;
use ziggurat_sign_in_state::SignInStore;
use ziggurat_state::{Conversations, Shared, StateDatabase, StateSettings, StoreError};

use crate::admin::AdminContext;

/// Does something with the state that replicas share.
///
/// # Errors
/// Fails if the database cannot be used.
pub(super) fn with_shared<T>(
    state: &StateSettings,
    work: impl AsyncFnOnce(&Shared) -> Result<T, StoreError>,
) -> anyhow::Result<T> {
    with_database(state, async |database| {
        let (shared, _batcher) = Shared::new(database);
        work(&shared).await
    })
}

/// Deletes the conversations and the library of an account.
///
/// # Errors
/// Fails if their database or their file cannot be used.
pub(super) fn delete_state(account: &str, admin_context: &AdminContext<'_>) -> anyhow::Result<()> {
    let configuration = admin_context.configuration;
    if let Some(state) = &configuration.state {
        return with_database(state, async |database| {
            let conversations = Conversations::replicated(database);
            conversations.delete_account(account).await
        });
    }
    let folder = &configuration.data_folder;
    if !Conversations::are_in(folder) {
        return Ok(());
    }
    runtime()?.block_on(async {
        let (conversations, writer) = Conversations::local(folder).await?;
        // The writer ends when the conversations are dropped.
        let deletion = async move { conversations.delete_account(account).await };
        let (deleted, ()) = tokio::join!(deletion, writer.run());
        Ok(deleted?)
    })
}

/// Does something with the store of the sign-in.
///
/// # Errors
/// Fails if the store cannot be used.
pub(super) fn with_sign_ins<T>(
    admin_context: &AdminContext<'_>,
    work: impl AsyncFnOnce(&SignInStore) -> Result<T, StoreError>,
) -> anyhow::Result<T> {
    let configuration = admin_context.configuration;
    if let Some(state) = &configuration.state {
        return with_database(state, async |database| {
            work(&SignInStore::replicated(database)).await
        });
    }
    let folder = &configuration.data_folder;
    runtime()?.block_on(async {
        let store = SignInStore::open(folder).await?;
        let done = work(&store).await;
        store.close().await;
        Ok(done?)
    })
}

fn with_database<T>(
    state: &StateSettings,
    work: impl AsyncFnOnce(StateDatabase) -> Result<T, StoreError>,
) -> anyhow::Result<T> {
    let database = state.database().context(state.key())?;
    runtime()?.block_on(async {
        let (pools, reaper) = Pools::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(reaper.run());
        let done = work(StateDatabase::new(&pools, database)).await;
        done.context(state.key())
    })
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

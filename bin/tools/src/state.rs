//! What the server remembers, by itself or together with its replicas.

use tokio::task::JoinSet;
use tracing::{error, info, warn};
use ziggurat_http::serve::Readiness;
use ziggurat_postgres::pool::Pools;
use ziggurat_state::{Postgres, Shared, Sqlite, StateDatabase, StoreError};

use crate::configuration::{Configuration, State};

/// What the server remembers.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// What replicas know together, if there are several.
    pub(crate) shared: Option<Shared>,
    /// Where conversations are, if they are kept at all.
    pub(crate) conversations: Option<Conversations>,
}

/// Where conversations are.
#[derive(Clone, Debug)]
pub(crate) enum Conversations {
    /// In a file of this machine.
    Here(Sqlite),
    /// Where all replicas have theirs.
    Shared(Postgres),
}

// === impl Memory ===

impl Memory {
    /// Opens what there is for a server whose users sign in; `tasks` are what looks after it,
    /// and `keepers` those of them that end by themselves when the last request has.
    ///
    /// A store that cannot be opened is logged and does without. A database that cannot be
    /// reached yet is tried again whenever it is needed.
    ///
    /// # Errors
    /// If the file of the store is that of another program: its conversations are not to go
    /// missing without a word.
    pub(crate) async fn open(
        configuration: &Configuration,
        readiness: &Readiness,
        tasks: &mut JoinSet<()>,
        keepers: &mut JoinSet<()>,
    ) -> anyhow::Result<Self> {
        match &configuration.state {
            Some(state) => Ok(Self::shared(state, readiness.clone(), tasks).await),
            None => Self::alone(configuration, keepers).await,
        }
    }

    async fn shared(state: &State, readiness: Readiness, tasks: &mut JoinSet<()>) -> Self {
        let database = match state.database() {
            Ok(database) => database,
            Err(error) => {
                // It was good when the configuration was read.
                error!(%error, "the state database cannot be used");
                return Self::default();
            }
        };
        let (pools, reaper) = Pools::new();
        tasks.spawn(reaper.run());
        let state = StateDatabase::new(&pools, database);
        match state.open().await {
            Ok(()) => info!("sessions and conversations are shared through state.url"),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                warn!(error, "the state database cannot be reached yet");
            }
        }
        let looked_at = state.clone();
        tasks.spawn(readiness.watch_shared(move || {
            let state = looked_at.clone();
            async move { state.check().await }
        }));
        let (shared, clerk) = Shared::new(state.clone());
        // The clerk holds the pools as long as it runs.
        tasks.spawn(async move {
            clerk.run().await;
            drop(pools);
        });
        Self {
            shared: Some(shared),
            conversations: Some(Conversations::Shared(Postgres::new(state))),
        }
    }

    async fn alone(
        configuration: &Configuration,
        keepers: &mut JoinSet<()>,
    ) -> anyhow::Result<Self> {
        let folder = &configuration.data_folder;
        let conversations = match Sqlite::open(folder).await {
            Ok((store, writer)) => {
                keepers.spawn(writer.run());
                info!("conversations are kept in {}", folder.display());
                Some(Conversations::Here(store))
            }
            Err(error @ StoreError::Foreign { .. }) => return Err(error.into()),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                warn!(error, "there are no conversations");
                None
            }
        };
        Ok(Self {
            shared: None,
            conversations,
        })
    }
}

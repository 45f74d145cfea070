//! State of the server, kept locally or shared by its replicas.

pub(crate) mod replica;
mod usage;

use anyhow::Context as _;
use tokio::task::JoinSet;
use tracing::{error, info, warn};
use ziggurat_http::Readiness;
use ziggurat_postgres::pool::Pools;
use ziggurat_sign_in_state::SignInStore;
use ziggurat_state::{Conversations, Shared, StateDatabase, StateSettings, StoreError};

use crate::{configuration::Configuration, observation::Observation};

/// State of the server.
#[derive(Debug, Default)]
pub(crate) struct ServerState {
    /// State that replicas share, if there are several.
    pub(crate) shared: Option<Shared>,
    /// Store of conversations, if they are kept.
    pub(crate) conversations: Option<Conversations>,
    /// The grants of the sign-in, if it is on.
    pub(crate) sign_in: Option<SignInStore>,
}

// === impl ServerState ===

impl ServerState {
    /// Makes the state of a server without authentication, which keeps none.
    pub(crate) fn without_accounts(configuration: &Configuration) -> Self {
        if configuration.state.is_some() {
            warn!("state.url has no effect without authentication");
        }
        Self::default()
    }

    /// Opens the state of a server with authentication. `tasks` gets the tasks that maintain it,
    /// and `keepers` those that end by themselves after the last request.
    ///
    /// If the store cannot be opened, this is logged, and no conversations are kept. A state
    /// database that cannot be reached yet is tried again on each use.
    ///
    /// # Errors
    /// Fails if the file of the store belongs to another program, or to a later version of this one:
    /// its conversations must not be lost.
    pub(crate) async fn open(
        configuration: &Configuration,
        readiness: &Readiness,
        observation: &Observation,
        tasks: &mut JoinSet<()>,
        keepers: &mut JoinSet<()>,
    ) -> anyhow::Result<Self> {
        let state = match &configuration.state {
            Some(state) => Self::replicated(state, readiness.clone(), observation, tasks).await,
            None => Self::local(configuration, keepers).await?,
        };
        if configuration.auth.oauth.is_none() {
            return Ok(Self {
                sign_in: None,
                ..state
            });
        }
        if state.sign_in.is_some() {
            return Ok(state);
        }
        let folder = &configuration.data_folder;
        let store = SignInStore::open(folder).await.context("http.auth.oauth")?;
        Ok(Self {
            sign_in: Some(store),
            ..state
        })
    }

    async fn replicated(
        state: &StateSettings,
        readiness: Readiness,
        observation: &Observation,
        tasks: &mut JoinSet<()>,
    ) -> Self {
        let database = match state.database() {
            Ok(database) => database,
            Err(error) => {
                // The settings were valid when the configuration was read.
                error!(%error, "the state database cannot be used");
                return Self::default();
            }
        };
        let (pools, reaper) = Pools::new();
        tasks.spawn(reaper.run());
        let tracer = observation.calls.tracer.clone();
        let state = StateDatabase::new(&pools, database).with_tracer(tracer);
        match state.open().await {
            Ok(()) => info!("sessions and conversations are shared through state.url"),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                warn!(
                    error,
                    "the state database is unreachable; the server keeps trying"
                );
            }
        }
        let checked = state.clone();
        tasks.spawn(readiness.watch_shared(move || {
            let state = checked.clone();
            async move { state.check().await }
        }));
        let (shared, batcher) = Shared::new(state.clone());
        // The batcher needs the pools as long as it runs.
        tasks.spawn(async move {
            batcher.run().await;
            drop(pools);
        });
        let limits = &observation.limits;
        tasks.spawn(usage::exchange(limits.clone(), shared.clone()));
        tasks.spawn(usage::lease_calls(limits.clone(), shared.clone()));
        Self {
            shared: Some(shared),
            sign_in: Some(SignInStore::replicated(state.clone())),
            conversations: Some(Conversations::replicated(state)),
        }
    }

    async fn local(
        configuration: &Configuration,
        keepers: &mut JoinSet<()>,
    ) -> anyhow::Result<Self> {
        let folder = &configuration.data_folder;
        let conversations = match Conversations::local(folder).await {
            Ok((store, writer)) => {
                keepers.spawn(writer.run());
                info!("conversations are kept in {}", folder.display());
                Some(store)
            }
            Err(error @ (StoreError::Foreign { .. } | StoreError::Later { .. })) => {
                return Err(error.into());
            }
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                warn!(error, "conversations are disabled");
                None
            }
        };
        Ok(Self {
            shared: None,
            conversations,
            sign_in: None,
        })
    }
}

//! The store and the keys, opened for a server or for a command.

use anyhow::Context as _;
use tokio::task::JoinSet;
use ziggurat_account_service::Store;
use ziggurat_postgres::pool::Pools;
use ziggurat_sign_in_state::{KeyFile, SignInStore};
use ziggurat_state::StateDatabase;
use ziggurat_telemetry::Metrics;

use crate::{configuration::Configuration, sign_in::Grants};

/// The store, the keys, and the tasks they need.
pub(crate) struct Services {
    pub(crate) store: Store,
    pub(crate) keys: KeyFile,
    /// Grants of people, if they sign in here.
    pub(crate) sign_in: Option<SignInStore>,
    pools: Option<Pools>,
    tasks: JoinSet<()>,
}

// === impl Services ===

impl Services {
    /// Opens the configured store and keys. Does not connect to a database yet.
    ///
    /// # Errors
    /// Fails if a file cannot be used.
    pub(crate) async fn open(
        configuration: &Configuration,
        metrics: &Metrics,
    ) -> anyhow::Result<Self> {
        let folder = &configuration.data_folder;
        let keys = KeyFile::open(folder).context("the signing keys cannot be used")?;
        let mut tasks = JoinSet::new();
        let has_sign_in = configuration.sign_in.is_some();
        let (store, sign_in, pools) = match &configuration.state {
            None => {
                let store = Store::open(folder).await.with_context(|| {
                    let folder = folder.display();
                    format!("the accounts in {folder} cannot be used")
                })?;
                let sign_in = if has_sign_in {
                    Some(SignInStore::open(folder).await.context("sign_in")?)
                } else {
                    None
                };
                (store, sign_in, None)
            }
            Some(state) => {
                let database = state.database()?;
                let (pools, reaper) = Pools::with_metrics(metrics.clone());
                tasks.spawn(reaper.run());
                let state = StateDatabase::new(&pools, database);
                let sign_in = has_sign_in.then(|| SignInStore::replicated(state.clone()));
                (Store::replicated(state), sign_in, Some(pools))
            }
        };
        Ok(Self {
            store: store
                .with_limits(configuration.limits)
                .with_clock(configuration.tests.clock.clone()),
            keys,
            sign_in,
            pools,
            tasks,
        })
    }

    /// Returns the grants of people, if they sign in here.
    pub(crate) fn grants<'a>(&'a self, configuration: &'a Configuration) -> Option<Grants<'a>> {
        let (settings, store) = (configuration.sign_in.as_ref()?, self.sign_in.as_ref()?);
        Some(Grants { settings, store })
    }

    /// Closes everything in order.
    pub(crate) async fn close(mut self) {
        self.store.close().await;
        if let Some(sign_in) = &self.sign_in {
            sign_in.close().await;
        }
        if let Some(pools) = self.pools.take() {
            pools.close_all();
        }
        self.tasks.shutdown().await;
    }
}

//! Connections that the server would make: to databases, an issuer and providers of models.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use tokio::{task::JoinSet, time};
use ziggurat_databases::Databases;
use ziggurat_llm::{self as llm, Deadline};
use ziggurat_postgres::pool::Pools;
use ziggurat_postgres_tools::Embedder;
use ziggurat_tokens::issuer::Issuer;

use crate::{
    app,
    configuration::Configuration,
    providers::{Providers, proxy},
};

/// Time limit of each connection. A database has a shorter one.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Connections that are tried, all at once.
#[derive(Default)]
struct Attempts(JoinSet<(usize, Attempt)>);

/// Connection that was tried.
pub(crate) struct Attempt {
    /// The place of the connection in the configuration, or the database.
    pub(crate) what: String,
    /// The cause of a failure.
    pub(crate) failure: Option<anyhow::Error>,
}

/// Tries all connections, and returns a sentence about each one that fails.
pub(super) async fn problems(configuration: &Configuration, pools: &Pools) -> Vec<String> {
    let mut attempts = Attempts::default();
    let databases = Databases::new(pools.clone(), app::configured(configuration));
    for entry in &configuration.databases {
        let (databases, name) = (databases.clone(), entry.database.name().to_owned());
        attempts.add(format!("database '{name}'"), async move {
            match databases.test(&name).await {
                Some(Err(error)) => Err(error.into()),
                _ => databases
                    .refusal(&name)
                    .await
                    .map_or(Ok(()), |why| Err(anyhow!(why))),
            }
        });
    }
    if let Some(state) = configuration.state.clone() {
        let pools = pools.clone();
        // Not through the store, which would create or migrate its tables.
        attempts.add(state.key().to_owned(), async move {
            let pool = pools.pool("state", &Arc::new(state.database()?));
            let lease = pool.lease().await;
            lease.map(drop).map_err(|error| anyhow!(error.cause()))
        });
    }
    attempts.add_others(configuration);
    let failed = attempts.outcomes().await.into_iter();
    let sentence = |Attempt { what, failure }| Some(format!("{what}: {:#}", failure?));
    failed.filter_map(sentence).collect()
}

/// Tries the issuer and the providers of models.
pub(crate) async fn others(configuration: &Configuration) -> Vec<Attempt> {
    let mut attempts = Attempts::default();
    attempts.add_others(configuration);
    attempts.outcomes().await
}

// === impl Attempts ===

impl Attempts {
    fn add(
        &mut self,
        what: String,
        attempt: impl Future<Output = anyhow::Result<()>> + Send + 'static,
    ) {
        let place = self.0.len();
        self.0.spawn(async move {
            let outcome = time::timeout(TIMEOUT, attempt).await;
            let outcome = outcome.context("no answer in time").flatten();
            let failure = outcome.err();
            (place, Attempt { what, failure })
        });
    }

    /// Returns the outcomes in the order of the attempts.
    async fn outcomes(self) -> Vec<Attempt> {
        let mut outcomes = self.0.join_all().await;
        outcomes.sort_unstable_by_key(|(place, _)| *place);
        outcomes.into_iter().map(|(_, attempt)| attempt).collect()
    }

    fn add_others(&mut self, configuration: &Configuration) {
        if let Some(trusted) = configuration.auth.issuer.clone() {
            self.add("http.auth.issuer".to_owned(), async move {
                let issuer = Issuer::new(trusted.settings()?, |_| {})?;
                Ok(issuer.check().await?)
            });
        }
        self.add_providers(configuration);
    }

    fn add_providers(&mut self, configuration: &Configuration) {
        let providers = Providers::default();
        let (deadline, knowledge) = (Deadline::after(TIMEOUT), &configuration.knowledgebase);
        let mut add = |what: &str, embedder: anyhow::Result<llm::Embedder>| {
            self.add(what.to_owned(), async move {
                Ok(embedder?.ping(deadline).await?)
            });
        };
        match providers.embedder(&configuration.embedding) {
            Embedder::Ready(embedder) => add("embedding", Ok(embedder)),
            Embedder::Unusable(reason) => add("embedding", Err(anyhow!("{reason}"))),
            _ => {}
        }
        if knowledge.is_enabled {
            add("knowledgebase", providers.vectors(&knowledge.vectors, None));
        }
        if let Some(http) = proxy::chosen(&configuration.llm, &providers) {
            self.add("llm".to_owned(), async move {
                http?.ping(None, deadline).await?;
                Ok(())
            });
        }
    }
}

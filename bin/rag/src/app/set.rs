//! The pipelines of one configuration.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::Context as _;
use secrecy::ExposeSecret;
use tracing::{info, warn};
use ziggurat_postgres::{
    database::Database,
    pool::{Pool, Pools},
};
use ziggurat_rag_service::{Parts, Pipeline as Served, retrieval::Library};

use super::opening::Opening;
use crate::{
    clients::{BuildContext, Clients, HttpClients},
    configuration::{ConfigSources, Configuration, Pipeline},
    secrets::Secrets,
};

/// Builds sets of pipelines, and owns the parts that outlive a set.
#[derive(Debug)]
pub(crate) struct PipelineBuilder {
    pools: Pools,
    outside: HttpClients,
    around: ConfigSources,
    secrets: Secrets,
    /// Number of databases so far, which makes the names of pools unique.
    count: AtomicU64,
}

/// The pipelines of one configuration, ready to be served, with their clients and databases.
#[derive(Debug, Default)]
pub(crate) struct Set {
    /// Clients by the name of the pipeline.
    clients: BTreeMap<String, Clients>,
    bases: Vec<Base>,
    pipelines: Vec<Served>,
    openings: Vec<Opening>,
}

/// A database and its only connection pool.
#[derive(Clone, Debug)]
struct Base {
    /// Unique name of the pool, since two databases may have the same name.
    caller: String,
    database: Arc<Database>,
    pool: Pool,
}

// === impl PipelineBuilder ===

impl PipelineBuilder {
    pub(crate) fn new(pools: Pools, around: ConfigSources, secrets: Secrets) -> Self {
        Self {
            pools,
            outside: HttpClients::default(),
            around,
            secrets,
            count: AtomicU64::new(0),
        }
    }

    pub(crate) fn around(&self) -> &ConfigSources {
        &self.around
    }

    /// Builds the clients of a pipeline, or reuses unchanged ones.
    pub(crate) fn clients(
        &self,
        pipeline: &Pipeline,
        configuration: &Configuration,
        before: Option<&Clients>,
    ) -> anyhow::Result<Clients> {
        let means = BuildContext {
            outside: &self.outside,
            around: &self.around,
            secrets: &self.secrets,
            idle: configuration.server.stream_idle_timeout,
        };
        Clients::of(pipeline, means, before)
            .with_context(|| format!("failed to create pipeline {}", pipeline.name))
    }

    /// Builds a set and reuses the unchanged parts of `before`. It reads files but opens no
    /// connection.
    ///
    /// # Errors
    /// Fails if a key is missing, or if a provider cannot be used as configured.
    pub(crate) fn make(
        &self,
        configuration: &Configuration,
        before: &Reusable,
    ) -> anyhow::Result<Set> {
        let mut set = Set::default();
        for pipeline in &configuration.pipelines {
            let kept = before.clients.get(&pipeline.name);
            let clients = self.clients(pipeline, configuration, kept)?;
            set.clients.insert(pipeline.name.clone(), clients);
        }
        for pipeline in &configuration.pipelines {
            self.add(&mut set, pipeline, before);
        }
        Ok(set)
    }

    fn add(&self, set: &mut Set, pipeline: &Pipeline, before: &Reusable) {
        let name = &pipeline.name;
        let pool = self.pool(set, &pipeline.database, &before.bases);
        let library = Library::new(pool, name, pipeline.tables.clone(), pipeline.manner);
        let position = set.bases.iter().position(|base| is_base(base, pipeline));
        if let Some(opening) = position.and_then(|position| set.openings.get_mut(position)) {
            opening.libraries.push((name.clone(), library.clone()));
        }
        let clients = &set.clients[name];
        let (embedding, completion) = (pipeline.embedding.maker, pipeline.completion.maker);
        for (part, maker) in [("embedding_llm", embedding), ("rag_llm", completion)] {
            if maker.is_local() {
                warn!(
                    pipeline = name,
                    part, "provider local stands in for a model: it is for trying things out"
                );
            }
        }
        info!(
            name,
            embedding_provider = embedding.name(),
            completion_provider = completion.name(),
            "pipeline created"
        );
        set.pipelines.push(Served::new(Parts {
            name: name.clone(),
            description: pipeline.description.clone(),
            library,
            embedder: clients.embedder(),
            completer: clients.completer(),
            reranker: clients.reranker(),
            top_n: pipeline.top_n,
            token_budget: pipeline.token_budget,
            system_prompt: pipeline.system_prompt.clone(),
            allow_include_sources: pipeline.allow_include_sources,
            max_tokens: Some(pipeline.max_tokens),
            temperature: pipeline.temperature,
        }));
    }

    /// Returns the pool of a database: one for all pipelines with the same settings.
    fn pool(&self, set: &mut Set, database: &Arc<Database>, before: &[Base]) -> Pool {
        let is_same = |base: &&Base| base.database.is_same(database);
        if let Some(base) = set.bases.iter().find(is_same) {
            return base.pool.clone();
        }
        let base = before.iter().find(is_same).cloned().unwrap_or_else(|| {
            self.secrets
                .add(database.passwords().map(ExposeSecret::expose_secret));
            let number = self.count.fetch_add(1, Ordering::Relaxed);
            let caller = format!("pipelines-{number}");
            Base {
                pool: self.pools.pool(&caller, database),
                database: Arc::clone(database),
                caller,
            }
        });
        let pool = base.pool.clone();
        set.openings.push(Opening {
            pool: pool.clone(),
            libraries: Vec::new(),
        });
        set.bases.push(base);
        pool
    }
}

fn is_base(base: &Base, pipeline: &Pipeline) -> bool {
    base.database.is_same(&pipeline.database)
}

/// The parts that the next set may reuse.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reusable {
    clients: BTreeMap<String, Clients>,
    bases: Vec<Base>,
}

// === impl Set ===

impl Set {
    /// Returns the parts that the next set may reuse.
    pub(crate) fn kept(&self) -> Reusable {
        Reusable {
            clients: self.clients.clone(),
            bases: self.bases.clone(),
        }
    }

    /// Returns the files that hold the keys, or would hold them.
    pub(super) fn key_files(&self) -> BTreeSet<PathBuf> {
        let files = self.clients.values().flat_map(|clients| &clients.key_files);
        files.cloned().collect()
    }

    pub(super) fn take_pipelines(&mut self) -> Vec<Served> {
        mem::take(&mut self.pipelines)
    }

    pub(super) fn take_openings(&mut self) -> Vec<Opening> {
        mem::take(&mut self.openings)
    }

    /// Closes the pools of databases that the other set does not use.
    pub(super) fn retire_all_but(&self, other: &Self, pools: &Pools) {
        for base in &self.bases {
            if !other.bases.iter().any(|kept| kept.caller == base.caller) {
                pools.retire(&base.caller);
            }
        }
    }
}

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
use ziggurat_callers::{Callers, KnownCallers, KnownRoles};
use ziggurat_postgres::{
    database::Database,
    pool::{Pool, Pools},
};
use ziggurat_rag_service::{
    Parts, Pipeline as Served,
    retrieval::{AskerMasks, Askers, Retriever},
};
use ziggurat_sync::Worker;
use ziggurat_telemetry::Metrics;
use ziggurat_tokens::LocalCaller;

use crate::{
    app::first_connection::FirstConnection,
    clients::{BuildContext, Clients, HttpClients, row_embedder},
    configuration::{ConfigSources, Configuration, Pipeline},
    secrets::Secrets,
};

/// Builds sets of pipelines, and owns the parts that outlive a set.
#[derive(Debug)]
pub(crate) struct PipelineBuilder {
    pools: Pools,
    http_clients: HttpClients,
    sources: ConfigSources,
    secrets: Secrets,
    metrics: Metrics,
    /// Number of databases so far, which makes the names of pools unique.
    count: AtomicU64,
}

/// The pipelines of one configuration, ready to be served, with their clients and databases.
#[derive(Debug, Default)]
pub(crate) struct PipelineSet {
    /// Clients by the name of the pipeline.
    clients: BTreeMap<String, Clients>,
    databases: Vec<PooledDatabase>,
    /// Databases of the roles that write vectors.
    writers: Vec<PooledDatabase>,
    /// Workers that keep vectors in step, by the name of the pipeline.
    workers: BTreeMap<String, Vec<Worker>>,
    pipelines: Vec<Served>,
    /// One for each database, in their order.
    first_connections: Vec<FirstConnection>,
}

/// A database and its only connection pool.
#[derive(Clone, Debug)]
struct PooledDatabase {
    /// Unique name of the pool, since two databases may have the same name.
    caller: String,
    database: Arc<Database>,
    pool: Pool,
    /// The roles of askers, by the rules of all pipelines. Files of roles are read again by a reload.
    roles: KnownRoles,
}

// === impl PooledDatabase ===

impl PooledDatabase {
    /// Returns the name of the pools of askers.
    fn askers(&self) -> String {
        format!("{}-askers", self.caller)
    }
}

// === impl PipelineBuilder ===

impl PipelineBuilder {
    pub(crate) fn new(
        pools: Pools,
        sources: ConfigSources,
        secrets: Secrets,
        metrics: Metrics,
    ) -> Self {
        Self {
            pools,
            http_clients: HttpClients::default(),
            sources,
            secrets,
            metrics,
            count: AtomicU64::new(0),
        }
    }

    pub(crate) fn sources(&self) -> &ConfigSources {
        &self.sources
    }

    /// Builds the clients of a pipeline, or reuses unchanged ones.
    pub(crate) fn clients(
        &self,
        pipeline: &Pipeline,
        configuration: &Configuration,
        before: Option<&Clients>,
    ) -> anyhow::Result<Clients> {
        Clients::of(pipeline, self.context(configuration), before)
            .with_context(|| format!("failed to create pipeline {}", pipeline.name))
    }

    fn context(&self, configuration: &Configuration) -> BuildContext<'_> {
        BuildContext {
            http_clients: &self.http_clients,
            sources: &self.sources,
            secrets: &self.secrets,
            metrics: &self.metrics,
            idle: configuration.server.stream_idle_timeout,
        }
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
    ) -> anyhow::Result<PipelineSet> {
        let mut set = PipelineSet::default();
        for pipeline in &configuration.pipelines {
            let reusable = before.clients.get(&pipeline.name);
            let clients = self.clients(pipeline, configuration, reusable)?;
            set.clients.insert(pipeline.name.clone(), clients);
            let workers = self.workers(&mut set, pipeline, configuration, before)?;
            set.workers.insert(pipeline.name.clone(), workers);
        }
        for pipeline in &configuration.pipelines {
            self.add(&mut set, pipeline, &configuration.identities.local, before);
        }
        Ok(set)
    }

    fn add(
        &self,
        set: &mut PipelineSet,
        pipeline: &Pipeline,
        local: &LocalCaller,
        before: &Reusable,
    ) {
        let name = &pipeline.name;
        let position = self.position(set, &pipeline.database, &before.databases);
        let pool = set.databases[position].pool.clone();
        let retriever = Retriever::new(pool, name, pipeline.tables.clone(), pipeline.search);
        let retriever = retriever.with_metrics(self.metrics.clone());
        let retriever = self.for_askers(retriever, pipeline, &set.databases[position], local);
        let first = &mut set.first_connections[position];
        first.retrievers.push((name.clone(), retriever.clone()));
        let clients = &set.clients[name];
        let (embedding, completion) = (pipeline.embedding.maker, pipeline.completion.maker);
        for (part, maker) in [("embedding_llm", embedding), ("rag_llm", completion)] {
            if maker.is_local() {
                warn!(
                    pipeline = name,
                    part, "provider local replaces a model: use it for trials only"
                );
            }
        }
        info!(
            name,
            embedding_provider = embedding.name(),
            completion_provider = completion.name(),
            "pipeline created"
        );
        let synced = set.workers[name].iter().map(Worker::watched).collect();
        let served = Served::new(Parts {
            name: name.clone(),
            description: pipeline.description.clone(),
            callers: pipeline.callers.clone(),
            retriever,
            embedder: clients.embedder(),
            completer: clients.completer(),
            rewriter: pipeline.rewriter.as_deref().map(|model| match model {
                "" => clients.completer(),
                model => clients.completer().with_model(model),
            }),
            reranker: clients.reranker(),
            top_n: pipeline.top_n,
            token_budget: pipeline.token_budget,
            system_prompt: pipeline.system_prompt.clone(),
            allow_include_sources: pipeline.allow_include_sources,
            allow_debug: pipeline.allow_debug,
            min_score: pipeline.min_score,
            no_answer: pipeline.no_answer.clone(),
            max_tokens: Some(pipeline.max_tokens),
            temperature: pipeline.temperature,
        });
        set.pipelines.push(served.with_synced(synced));
    }

    /// Gives askers roles and settings of their own, and masks columns for them, as the pipeline says.
    fn for_askers(
        &self,
        mut retriever: Retriever,
        pipeline: &Pipeline,
        pooled: &PooledDatabase,
        local: &LocalCaller,
    ) -> Retriever {
        if let Some(askers) = &pipeline.askers {
            let askers = Callers {
                local: local.clone(),
                ..askers.clone()
            };
            let known = KnownCallers::new(askers).with_known(pooled.roles.clone());
            let askers = Askers::new(self.pools.clone(), &pooled.askers(), known);
            retriever = retriever.with_askers(askers);
        }
        match pipeline.masks.clone() {
            Some(masks) => retriever.with_masks(AskerMasks::new(masks, &pooled.database)),
            None => retriever,
        }
    }

    /// Makes the workers of a pipeline, if the server keeps its tables in step.
    fn workers(
        &self,
        set: &mut PipelineSet,
        pipeline: &Pipeline,
        configuration: &Configuration,
        before: &Reusable,
    ) -> anyhow::Result<Vec<Worker>> {
        let sync = pipeline.sync.as_ref().filter(|sync| sync.in_server);
        let (Some(sync), Some(ingest)) = (sync, &pipeline.ingest) else {
            return Ok(Vec::new());
        };
        let embedder = row_embedder(pipeline, self.context(configuration))
            .with_context(|| format!("failed to create pipeline {}", pipeline.name))?;
        let is_same = |pooled: &&PooledDatabase| pooled.database.is_same(&ingest.database);
        let mut known = set.writers.iter().chain(&before.writers);
        let pooled = known.find(is_same).cloned();
        let pooled = pooled.unwrap_or_else(|| self.pooled("writers", &ingest.database));
        let tables = sync.written_by(&pooled.pool).into_iter();
        let workers = tables.map(|one| Worker::new(one, embedder.clone(), sync.settings));
        set.writers.push(pooled);
        Ok(workers.collect())
    }

    /// Makes a pool with a name of its own.
    fn pooled(&self, purpose: &str, database: &Arc<Database>) -> PooledDatabase {
        self.secrets
            .add(database.passwords().map(ExposeSecret::expose_secret));
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let caller = format!("{purpose}-{number}");
        PooledDatabase {
            pool: self.pools.pool(&caller, database),
            database: Arc::clone(database),
            caller,
            roles: KnownRoles::default(),
        }
    }

    /// Returns the position of a database in the set: one for all pipelines with the same settings.
    fn position(
        &self,
        set: &mut PipelineSet,
        database: &Arc<Database>,
        before: &[PooledDatabase],
    ) -> usize {
        let is_same = |pooled: &PooledDatabase| pooled.database.is_same(database);
        if let Some(position) = set.databases.iter().position(is_same) {
            return position;
        }
        let reusable = before.iter().find(|pooled| is_same(pooled));
        let reusable = reusable.map(|pooled| PooledDatabase {
            roles: KnownRoles::default(),
            ..pooled.clone()
        });
        let pooled = reusable.unwrap_or_else(|| self.pooled("pipelines", database));
        set.first_connections.push(FirstConnection {
            pool: pooled.pool.clone(),
            retrievers: Vec::new(),
        });
        set.databases.push(pooled);
        set.databases.len() - 1
    }
}

/// The parts that the next set may reuse.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reusable {
    clients: BTreeMap<String, Clients>,
    databases: Vec<PooledDatabase>,
    writers: Vec<PooledDatabase>,
}

// === impl PipelineSet ===

impl PipelineSet {
    /// Returns the parts that the next set may reuse.
    pub(crate) fn reusable(&self) -> Reusable {
        Reusable {
            clients: self.clients.clone(),
            databases: self.databases.clone(),
            writers: self.writers.clone(),
        }
    }

    /// Returns the files that hold the keys, or would hold them.
    pub(super) fn key_files(&self) -> BTreeSet<PathBuf> {
        let files = self.clients.values().flat_map(|clients| &clients.key_files);
        files.cloned().collect()
    }

    pub(crate) fn take_pipelines(&mut self) -> Vec<Served> {
        mem::take(&mut self.pipelines)
    }

    pub(super) fn take_workers(&mut self) -> BTreeMap<String, Vec<Worker>> {
        mem::take(&mut self.workers)
    }

    pub(super) fn take_first_connections(&mut self) -> Vec<FirstConnection> {
        mem::take(&mut self.first_connections)
    }

    /// Closes the pools of databases that the other set does not use.
    pub(super) fn retire_unused(&self, other: &Self, pools: &Pools) {
        for pooled in self.databases.iter().chain(&self.writers) {
            let mut kept = other.databases.iter().chain(&other.writers);
            if !kept.any(|kept| kept.caller == pooled.caller) {
                pools.retire(&pooled.caller);
                pools.retire(&pooled.askers());
            }
        }
    }
}

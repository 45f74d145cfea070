//! The parts of a running server, and their shutdown.

mod first_connection;
mod pipeline_set;
mod sync_figures;

use std::{collections::BTreeSet, convert::Infallible, path::PathBuf, time::Duration};

use tokio::{sync::watch, task::JoinSet, time};
use tracing::warn;
use ziggurat_calls::limits::{self, Limits};
use ziggurat_postgres::pool::{Pools, Reaper};
use ziggurat_rag_service::{
    Options, Pipelines,
    mcp::{DocumentTools, Settings},
};
use ziggurat_sync::Worker;

use self::{first_connection::FirstConnection, sync_figures::SyncFigures};
use crate::{configuration::Server, observation::VERSION};

pub(crate) use self::pipeline_set::{PipelineBuilder, PipelineSet, Reusable};

/// Time for connections to PostgreSQL to close properly.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Time for the workers that keep vectors in step to write what they have.
const SYNC_TIMEOUT: Duration = Duration::from_secs(6);

/// The pipelines that are served, the limits of callers, and the background tasks.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) pipelines: Pipelines,
    pub(crate) limits: Limits,
    set: PipelineSet,
    pools: Pools,
    reaper: JoinSet<()>,
    connecting: JoinSet<()>,
    /// The workers that keep vectors in step, and workers of earlier sets that are about to stop.
    syncing: JoinSet<()>,
    stop_syncing: watch::Sender<bool>,
    pub(crate) sync_figures: SyncFigures,
    watcher: JoinSet<Infallible>,
}

// === impl App ===

impl App {
    /// Serves a set, starts to connect to its databases and to check its pipelines. Callers need
    /// identities if the server authenticates them.
    pub(crate) fn new(
        mut set: PipelineSet,
        limits: limits::Settings,
        pools: Pools,
        reaper: Reaper,
        server: &Server,
    ) -> Self {
        let mut pipelines = Pipelines::new(set.take_pipelines());
        if server.auth.is_some() {
            pipelines = pipelines.with_authentication();
        }
        let mut app = Self {
            watcher: JoinSet::from_iter([pipelines.clone().watch(server.ping_timeout)]),
            pipelines,
            limits: Limits::new(limits),
            set,
            pools,
            reaper: JoinSet::from_iter([reaper.run()]),
            connecting: JoinSet::new(),
            syncing: JoinSet::new(),
            stop_syncing: watch::Sender::new(false),
            sync_figures: SyncFigures::default(),
        };
        app.open();
        app
    }

    /// Returns the set that is served now.
    pub(crate) fn set(&self) -> &PipelineSet {
        &self.set
    }

    /// Returns the tools of the pipelines, for clients of the Model Context Protocol.
    pub(crate) fn tools(&self, options: Options, settings: Settings) -> DocumentTools {
        DocumentTools::new(self.pipelines.clone(), options, settings, VERSION)
    }

    /// Returns the key files that the set depends on.
    pub(crate) fn key_files(&self) -> BTreeSet<PathBuf> {
        self.set.key_files()
    }

    /// Replaces the set and the limits at once. Parts that both sets share are kept; the other old
    /// parts are dropped after the last request that uses them.
    pub(crate) fn replace(&mut self, mut set: PipelineSet, limits: limits::Settings) {
        self.limits.replace(limits);
        self.pipelines.replace(set.take_pipelines());
        self.set.retire_unused(&set, &self.pools);
        self.set = set;
        self.open();
    }

    /// Connects to the databases in the background, and checks the tables of each.
    fn open(&mut self) {
        let first_connections = self.set.take_first_connections().into_iter();
        // Replacing the tasks cancels the tasks of the previous set.
        self.connecting = first_connections.map(FirstConnection::run).collect();
        // Workers of the previous set finish their batches, and leave the rest to the new ones.
        self.stop_syncing.send_replace(true);
        self.stop_syncing = watch::Sender::new(false);
        while self.syncing.try_join_next().is_some() {}
        let workers = self.set.take_workers();
        let watched = workers.iter().map(|(pipeline, workers)| {
            let watched = workers.iter().map(Worker::watched);
            (pipeline.clone(), watched.collect())
        });
        self.sync_figures.replace(watched.collect());
        for worker in workers.into_values().flatten() {
            let stop = self.stop_syncing.subscribe();
            self.syncing.spawn(async move { worker.run(stop).await });
        }
    }

    /// Stops all tasks and closes the connections last.
    pub(crate) async fn shut_down(self) {
        let Self {
            pipelines,
            limits: _,
            set,
            pools,
            mut reaper,
            mut connecting,
            mut syncing,
            stop_syncing,
            sync_figures: _,
            mut watcher,
        } = self;
        stop_syncing.send_replace(true);
        let ending = async { while syncing.join_next().await.is_some() {} };
        if time::timeout(SYNC_TIMEOUT, ending).await.is_err() {
            warn!("vectors that were being made are left to others");
        }
        syncing.shutdown().await;
        connecting.shutdown().await;
        watcher.shutdown().await;
        pools.close_all();
        pipelines.replace(Vec::new());
        drop((pipelines, set, pools));
        let closing = async { while reaper.join_next().await.is_some() {} };
        if time::timeout(CLOSE_TIMEOUT, closing).await.is_err() {
            warn!("connections to PostgreSQL were not closed in time");
        }
    }
}

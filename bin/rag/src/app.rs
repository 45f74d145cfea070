//! The parts of a running server, and their shutdown.

mod opening;
mod set;

use std::{collections::BTreeSet, convert::Infallible, path::PathBuf, time::Duration};

use tokio::{task::JoinSet, time};
use tracing::warn;
use ziggurat_postgres::pool::{Pools, Reaper};
use ziggurat_rag_service::Pipelines;

use self::opening::Opening;

pub(crate) use self::set::{PipelineBuilder, Reusable, Set};

/// Time for connections to PostgreSQL to close properly.
const FAREWELL: Duration = Duration::from_secs(2);

/// The pipelines that are served, and the background tasks for them.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) pipelines: Pipelines,
    set: Set,
    pools: Pools,
    reaper: JoinSet<()>,
    openers: JoinSet<()>,
    watcher: JoinSet<Infallible>,
}

// === impl App ===

impl App {
    /// Serves a set, starts to connect to its databases and to check its pipelines. `ping` is the
    /// time limit for a ping of a provider.
    pub(crate) fn new(mut set: Set, pools: Pools, reaper: Reaper, ping: Duration) -> Self {
        let pipelines = Pipelines::new(set.take_pipelines());
        let mut app = Self {
            watcher: JoinSet::from_iter([pipelines.clone().watch(ping)]),
            pipelines,
            set,
            pools,
            reaper: JoinSet::from_iter([reaper.run()]),
            openers: JoinSet::new(),
        };
        app.open();
        app
    }

    /// Returns the set that is served now.
    pub(crate) fn set(&self) -> &Set {
        &self.set
    }

    /// Returns the key files that the set depends on.
    pub(crate) fn key_files(&self) -> BTreeSet<PathBuf> {
        self.set.key_files()
    }

    /// Replaces the set at once. Parts that both sets share are kept; the other old parts are
    /// dropped after the last request that uses them.
    pub(crate) fn replace(&mut self, mut set: Set) {
        self.pipelines.replace(set.take_pipelines());
        self.set.retire_all_but(&set, &self.pools);
        self.set = set;
        self.open();
    }

    /// Connects to the databases in the background, and checks the tables of each.
    fn open(&mut self) {
        let openings = self.set.take_openings().into_iter();
        // Replacing the tasks cancels those of the previous set.
        self.openers = openings.map(Opening::run).collect();
    }

    /// Stops all tasks and closes the connections last.
    pub(crate) async fn take_down(self) {
        let Self {
            pipelines,
            set,
            pools,
            mut reaper,
            mut openers,
            mut watcher,
        } = self;
        openers.shutdown().await;
        watcher.shutdown().await;
        pools.close_all();
        pipelines.replace(Vec::new());
        drop((pipelines, set, pools));
        let farewell = async { while reaper.join_next().await.is_some() {} };
        if time::timeout(FAREWELL, farewell).await.is_err() {
            warn!("connections to PostgreSQL were cut off");
        }
    }
}
